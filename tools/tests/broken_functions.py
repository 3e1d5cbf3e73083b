"""The tool that breaks the library's functions and asks whether a claim notices."""

from dataclasses import replace

import pytest

import attnsep.claims  # noqa: F401  fills the ledger
from attnsep.attention import kernels
from attnsep.attention.kernels import Linear
from attnsep.extensions import golden_ratio
from attnsep.ledger import framework
from attnsep.ledger.framework import Case, equal
from attnsep.paper import network, tokens
from tools import broken

pytestmark = pytest.mark.usefixtures("nothing_set")
SOME = framework.find("tensor-trick")


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Break each function in fewer places than the tool does: each takes a process."""
    monkeypatch.setattr(broken, "PLACES", 4)


def reported(cases, *functions, expect="holds", violations=(1,)):
    """Return what breaking these functions does to a check."""
    claim = replace(SOME, cases=cases, tests=functions, expect=expect, violations=violations)
    found, moves_control, _ = broken.report(claim)
    return [found[broken.name_of(function)] for function in functions], moves_control


def threshold(xp, broken=None):
    """Check a number of the library against one that is written down, and through the module's own name."""
    yield equal(golden_ratio.threshold_strength(), 0.6180339887498949 + (broken or 0.0), 1e-15)


def test_a_check_that_compares_refutes_a_broken_function_and_so_does_its_control():
    (found,), moves_control = reported(threshold, golden_ratio.threshold_strength)
    assert found.refuted > found.tried // 2
    assert moves_control


def test_a_check_that_always_holds_is_moved_by_nothing():
    def always(xp, broken=None):
        golden_ratio.threshold_strength()
        yield Case(0 if broken is None else -1)

    (found,), moves_control = reported(always, golden_ratio.threshold_strength)
    assert (found.refuted, found.moved) == (0, 0)
    assert found.tried
    assert not moves_control


def test_a_control_that_looks_at_nothing_is_moved_by_nothing():
    def trivial(xp, broken=None):
        if broken:
            yield Case(-broken)
        else:
            yield from threshold(xp)

    (found,), moves_control = reported(trivial, golden_ratio.threshold_strength)
    assert found.refuted
    assert not moves_control


def test_another_check_does_not_notice_the_function():
    (found,), _ = reported(threshold, network.relu)
    assert (found.refuted, found.moved, found.tried) == (0, 0, 0)  # it does not even run through it


def test_a_wide_tolerance_lets_less_refute():
    def wide(xp, broken=None):
        yield equal(golden_ratio.threshold_strength(), 0.6180339887498949, 0.3)

    (near,), _ = reported(threshold, golden_ratio.threshold_strength)
    (far,), _ = reported(wide, golden_ratio.threshold_strength)
    assert far.refuted < near.refuted
    assert far.moved == near.moved


def test_a_break_reaches_methods_cached_functions_and_helpers_of_private_modules():
    def law(xp, broken=None):
        wanted = 0.25000106 + (broken or 0)
        yield equal(tokens.law(1024, 258, "0.7", "0.5").column_probability(), wanted, 1e-6)

    def shares(xp, broken=None):
        yield equal(kernels.linear(xp.asarray([1.0, 3.0])), xp.asarray([0.25, 0.75 + (broken or 0)]), 1e-15)

    assert tokens.law(1024, 258, "0.7", "0.5").column_probability()  # this process has it in its cache
    (found,), _ = reported(law, tokens.Law.column_probability)
    assert found.refuted
    assert ("attnsep.paper.tokens", "_column_probability") in broken._used(tokens.Law.column_probability)
    (found,), _ = reported(shares, Linear.weights)
    assert found.refuted
    assert ("attnsep.attention._rows", "_over_sum") in broken._used(Linear.weights)


def test_of_a_sentence_that_is_refuted_no_counterexample_must_be_left():
    def two(xp, broken=None):
        yield equal(golden_ratio.threshold_strength(), 1.0)
        yield equal(2.0, 1.0)

    (found,), _ = reported(two, golden_ratio.threshold_strength, expect="refuted")
    assert (found.refuted, found.moved) == (0, found.tried)


def test_this_process_keeps_the_functions_as_they_are():
    before = golden_ratio.threshold_strength.__code__
    reported(threshold, golden_ratio.threshold_strength)
    assert golden_ratio.threshold_strength.__code__ is before
    assert not hasattr(golden_ratio, broken.OTHER)


def test_a_check_that_does_not_end_or_needs_too_much_says_nothing_and_a_mistake_of_the_tool_is_told():
    def endless():
        while True:
            pass

    def too_much():
        raise MemoryError

    assert broken._in_a_child(endless, 0.05) is None
    assert broken._in_a_child(too_much, 10) is None
    assert broken._in_a_child(lambda: 1, 10) == 1
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        broken._in_a_child(lambda: 1 / 0, 10)


SOURCE = '''\
def area(a, b):
    """Return 1."""
    if a < 0:
        raise ValueError("a is below 0")
    return _side(a) * b
'''


def test_the_digest_is_of_code_and_not_of_words():
    _, text = broken._parts("attnsep.extensions.golden_ratio")["threshold_strength"]
    assert text.startswith("defthreshold_strength(beta=1):")
    assert "Examples" not in text
    assert broken.digest(golden_ratio.threshold_strength) != broken.digest(golden_ratio.collapsed)


def test_what_refuses_inputs_is_left_alone():
    import ast

    (node,) = ast.parse(SOURCE).body
    found = {(ast.unparse(place), ast.unparse(ast.fix_missing_locations(new))) for place, new in broken._changes(node)}
    assert ("_side(a) * b", "_side(a) / b") in found
    assert ("_side(a)", f"_side({broken.OTHER}(a, 1))") in found
    assert ("return _side(a) * b", f"return {broken.OTHER}(_side(a) * b, -1)") in found
    assert not [new for place, new in found if place in ("0", "a < 0")]
