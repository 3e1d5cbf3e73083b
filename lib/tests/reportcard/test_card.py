"""The whole card: as text, as data, as one page; in time, and the same for the same seed."""

import json
import os
import random
import struct
import sys
import warnings
from base64 import b64decode
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import numpy as np
import pytest
from bs4 import BeautifulSoup

from attnsep.paper import tokens
from attnsep.reportcard import _callables, _lines, card
from attnsep.reportcard._callables import Late, Misfit
from attnsep.reportcard.card import Card, Line, failed, named, report
from lib.tests.reportcard import stand_ins
from lib.tests.reportcard.stand_ins import Clock


@pytest.fixture(scope="module")
def whole():
    return report(stand_ins.softmax, width=18, library="numpy", seconds=1000, n=512, name="mine <1>")


@pytest.mark.slow
def test_a_card_is_shown_as_text_with_the_chapters(whole):
    text = str(whole)
    assert text.startswith("mine <1> (library numpy, layout nd, dtype float64, width 18, seed 0)\n")
    assert [line.name for line in whole.lines] == list(_lines.LINES)
    for line in whole.lines:
        assert f"{line.says} See: {card.TITLES[line.chapter]}." in text


def test_a_small_card_is_shown_as_a_whole(monkeypatch):
    lines = (Line("sees", "not judged", "a < b.", {}), Line("numerics", "partly", "So so.", {}))
    small = Card("mine & <yours>", {"library": "<numpy>", "seed": 3}, lines)
    assert str(small) == (
        "mine & <yours> (library <numpy>, seed 3)\n"
        "sees the mark           not judged\n  a < b. See: The golden ratio.\n"
        "keeps its digits        partly\n  So so. See: Your own attention."
    )

    def missing(_):
        raise PackageNotFoundError

    monkeypatch.setattr(card, "metadata", missing)  # as where the package runs from its folder
    page = small.html()
    assert "<h1>Report card: mine &amp; &lt;yours&gt;</h1>\n<p>library &lt;numpy&gt;, seed 3</p>\n" in page
    assert page.partition("<tbody>\n")[2].partition("</tbody>")[0] == (
        '<tr><th scope="row">sees the mark</th><td class="not-judged">not judged</td>'
        "<td>a &lt; b. See The golden ratio.</td></tr>\n"
        '<tr><th scope="row">keeps its digits</th><td class="partly">partly</td>'
        "<td>So so. See Your own attention.</td></tr>\n"
    )


def test_each_line_has_its_share_of_the_time_that_is_left(monkeypatch):
    """A line that needs less leaves the rest to the others, and the last one has all of it."""
    clock, left = Clock(), {}
    monkeypatch.setattr(_callables, "monotonic", clock)

    def looking(name):
        def look(judge):
            left[name] = judge.attention.budget.left()
            if name == "counts":
                clock.now += 50
                raise Late
            if name == "sees":
                raise Misfit("rule: broken")
            return Line(name, "yes", "", {})

        return look

    for name in _lines.LINES:
        monkeypatch.setitem(_lines.LINES, name, looking(name))
    found = report(stand_ins.softmax, library="numpy", seconds=100, lines=["selects", "sees", "counts", "numerics"])
    share = card.SHARES
    assert left == pytest.approx(
        {
            "selects": 100 * share["selects"] / sum(share[name] for name in left),
            "sees": 100 * share["sees"] / (share["sees"] + share["counts"] + share["numerics"]),
            "counts": 100 * share["counts"] / (share["counts"] + share["numerics"]),
            "numerics": 50,
        }
    )
    assert [line.verdict for line in found.lines] == ["yes", "not judged", "not judged", "yes"]
    assert found["sees"] == Line("sees", "not judged", "It could not be judged: rule: broken.", {})
    assert found["counts"] == Line("counts", "not judged", "The time was too short for it.", {})
    assert found.called == {"library": "numpy", "layout": "nd", "dtype": "float64", "width": 130, "seed": 0}


def test_a_card_is_data_that_json_holds(whole):
    data = json.loads(json.dumps(whole.as_dict(), allow_nan=False))
    assert data["attention"] == "mine <1>"
    assert [line["name"] for line in data["lines"]] == list(_lines.LINES)
    assert data["lines"][0]["numbers"]["growth"] == whole["sees"].numbers["growth"]


def test_what_is_not_finite_is_none_in_data():
    line = Line("sees", "no", "", {"a": float("nan"), "b": (np.float64("inf"), np.int64(2))})
    assert Card("x", {}, (line,)).as_dict()["lines"][0]["numbers"] == {"a": None, "b": [None, 2]}


@pytest.mark.slow
def test_the_page_needs_no_other_file_and_no_script(whole):
    text = whole.html()
    page = BeautifulSoup(text, "html.parser")
    assert page.title.text == "Report card: mine <1>"
    assert len(page.select("tbody tr")) == 6
    assert not page.select("script, link, iframe, [onload]")
    assert page.select("img")
    assert all(image["src"].startswith("data:image/png;base64,") and image["alt"] for image in page.select("img"))
    assert "url(" not in text
    assert "@import" not in text


@pytest.mark.slow
def test_the_pictures_show_the_numbers_of_the_card(whole):
    (crowd, heard), (back, recalled) = card._drawn(whole)
    assert heard == whole["sees"].says + " For comparison softmax and linear attention."
    assert recalled == whole["recalls"].says
    sizes, pairs = whole["sees"].numbers["sizes"], whole["recalls"].numbers["sizes"]
    own = [[row["n"], row["weight"]] for row in sizes]
    softmax, linear = (
        [[row["n"], tokens.weights(row["n"], "0.7", kernel).p] for row in sizes] for kernel in ("softmax", "linear")
    )
    drawn = [line.get_xydata().tolist() for line in crowd.axes[0].lines]
    assert all(line in drawn for line in (own, softmax, linear))
    drawn = [line.get_xydata().tolist() for line in back.axes[0].lines]
    assert [[row["pairs"], 1 - 2 * row["loss"]] for row in pairs] in drawn
    assert [[row["pairs"], 1 - 2 * row["floor"]] for row in pairs] in drawn
    images = BeautifulSoup(whole.html(), "html.parser").select("img")
    assert [image["alt"] for image in images] == [heard, recalled]
    sizes = [struct.unpack(">II", b64decode(image["src"].partition(",")[2])[16:24]) for image in images]
    assert {width for width, _ in sizes} == {int(5.6 * 120)}


def test_a_card_that_recalls_and_has_no_crowd_has_one_picture_whose_bound_is_the_floor():
    sizes = [{"pairs": 4, "loss": 0.25, "floor": 0.125}, {"pairs": 16, "loss": 0.375, "floor": 0.25}]
    ((drawn, words),) = card._drawn(Card("x", {}, (Line("recalls", "no", "So.", {"sizes": sizes}),)))
    assert words == "So."
    ends = {text.get_text(): tuple(map(float, text.xy)) for text in drawn.axes[0].texts}
    assert ends == {"this one": (16, 1 - 2 * 0.375), "most for its rank": (16, 1 - 2 * 0.25)}


def test_what_a_picture_shows_is_escaped(monkeypatch):
    words = 'it has "weights" < 0 & more'
    monkeypatch.setattr(card, "_drawn", lambda _: [(SimpleNamespace(savefig=lambda *_, **__: None), words)])
    (image,) = BeautifulSoup(Card("x", {}, ()).html(), "html.parser").select("img")
    assert image.attrs == {"src": "data:image/png;base64,", "alt": words}


def test_a_card_without_numbers_or_without_matplotlib_has_no_pictures(whole, monkeypatch):
    assert card._drawn(Card("x", {}, (Line("sees", "not judged", "", {}), Line("selects", "no", "", {})))) == []
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = BeautifulSoup(whole.html(), "html.parser")
    assert not page.select("img")
    assert len(page.select("tbody tr")) == 6


def test_a_page_links_to_the_chapters_where_the_address_is_known(whole, monkeypatch):
    monkeypatch.setattr(card, "_pictures", lambda _: "")
    monkeypatch.setattr(card, "metadata", lambda _: _Urls([]))
    assert not BeautifulSoup(whole.html(), "html.parser").select("a")
    monkeypatch.setattr(
        card,
        "metadata",
        lambda _: _Urls(["docs, https://example.org/d", "source, https://example.org/a/b", "source, c"]),
    )
    links = [link["href"] for link in BeautifulSoup(whole.html(), "html.parser").select("a")]
    assert links[0] == "https://example.org/a/b/blob/HEAD/chapters/golden-ratio.ipynb"
    assert len(links) == 6


class _Urls:
    def __init__(self, urls):
        self.urls = urls

    def get_all(self, _):
        return self.urls


@pytest.mark.slow
def test_the_same_seed_gives_the_same_card_and_another_one_others():
    lines = ["separates", "recalls", "selects"]
    first, again, other = (
        report(stand_ins.scaled, width=18, library="numpy", seconds=1000, seed=seed, lines=lines) for seed in (1, 1, 2)
    )
    assert first == again
    assert first["separates"].numbers["fires"] != other["separates"].numbers["fires"]
    alone = report(stand_ins.scaled, width=18, library="numpy", seconds=1000, seed=1, lines=["recalls"])
    assert alone["recalls"] == first["recalls"]


def test_the_judge_is_told_the_seed_and_the_largest_number_of_tokens(monkeypatch):
    asked = []

    def judge(attention, seed, most):
        asked.append((attention.name, seed, most))
        raise InterruptedError

    monkeypatch.setattr(card, "Judge", judge)
    for named_so in ({"seed": 5, "n": 256}, {}):
        with pytest.raises(InterruptedError):
            report(stand_ins.softmax, name="x", **named_so)
    assert asked == [("x", 5, 256), ("x", 0, 8192)]


@pytest.mark.slow
@pytest.mark.parametrize(("cost", "seconds"), [(0.001, 5), (0.01, 20), (0.05, 20), (1.0, 60), (200.0, 60)])
def test_the_time_is_kept_but_for_one_call(monkeypatch, cost, seconds):
    clock = Clock(cost)
    monkeypatch.setattr(_callables, "monotonic", clock)
    if cost < 100:
        assert len(report(clock.slow(stand_ins.softmax), width=18, seconds=seconds, n=512).lines) == 6
    else:
        with pytest.raises(ValueError, match=r"seconds = 60: is too short to find out how this attention is called$"):
            report(clock.slow(stand_ins.softmax), width=18, seconds=seconds, n=512)
    assert clock.now <= seconds + max(clock.calls)


def test_with_too_little_time_what_was_seen_so_far_is_said(monkeypatch):
    clock = Clock(1.0)
    monkeypatch.setattr(_callables, "monotonic", clock)
    with pytest.raises(ValueError, match=r"is too short .* \(so far: attention: returns the shape \(23, 130\)"):
        report(clock.slow(lambda q, k, v: v[:-1]), seconds=0.5)


def test_what_was_not_looked_at_is_no_yes(monkeypatch):
    clock = Clock(0.5)
    monkeypatch.setattr(_callables, "monotonic", clock)
    found = report(clock.slow(stand_ins.softmax), width=18, seconds=4, n=512, lines=["numerics"])["numerics"]
    assert found.verdict == "not judged"
    assert found.says.startswith("No fault was found, but not all was looked at. The time was too short for all about ")


@pytest.mark.slow
def test_nothing_global_changes():
    """No flag, no global generator, no setting of NumPy, and nothing of JAX, whether float64 is on there or not."""
    jax = pytest.importorskip("jax")

    def attention(q, k, v):  # each size is compiled, and JAX's own attention takes four times as long to compile
        return jax.nn.softmax(q @ k.T) @ v

    before = jax.config.jax_enable_x64

    def state():
        drawn = np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002 - whether it was used is asked
        settings = np.geterr(), np.get_printoptions(), warnings.filters[:], dict(os.environ), sys.path[:]
        return drawn, settings, dict(jax.config.values)

    try:
        for precise in (False, True):
            jax.config.update("jax_enable_x64", precise)
            kept = state()
            found = report(attention, library="jax", width=18, seconds=1000, lines=["selects"], n=128)
            assert state() == kept
            assert found.called["dtype"] == ("float64" if precise else "float32")
    finally:
        jax.config.update("jax_enable_x64", before)


def test_with_little_time_it_looks_at_fewer_tokens_and_says_so(monkeypatch):
    clock = Clock(0.5)
    monkeypatch.setattr(_callables, "monotonic", clock)
    found = report(clock.slow(stand_ins.softmax), width=18, seconds=100, n=512)
    assert found["sees"].numbers["sizes"][-1]["n"] < 512
    assert found["separates"].numbers["n"] < 512
    assert all(line.says for line in found.lines)


def test_a_required_line_that_is_not_yes_is_named(whole):
    assert failed(whole, ["sees", "counts", "selects"]) == ["counts"]
    with pytest.raises(ValueError, match="required = 'hears'"):
        failed(whole, ["hears"])
    with pytest.raises(ValueError, match="name = 'hears'"):
        whole["hears"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lines": []}, "lines = "),
        ({"lines": ["sees", "sees"]}, "lines = "),
        ({"width": 7}, "width = 7"),
        ({"seconds": 0}, "seconds = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"width": 10**4 + 1}, "width = 10001"),
        ({"n": 127}, "n = 127"),
        ({"n": 2**20 + 1}, "n = 1048577"),
        ({"name": 3}, "name = 3"),
    ],
)
def test_a_wrong_parameter_is_named(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        report(stand_ins.softmax, library="numpy", **given)


def test_an_error_in_a_line_is_said_in_the_card():
    def fussy(q, k, v):
        if np.abs(v).sum() == 1:
            raise OverflowError("one alone")
        return stand_ins.softmax(q, k, v)

    line = report(fussy, width=18, library="numpy", lines=["sees"], seconds=1000, n=512)["sees"]
    assert line.verdict == "not judged"
    assert "raises OverflowError (one alone)" in line.says


def test_a_module_of_the_current_folder_is_found_behind_the_standard_library(tmp_path, monkeypatch):
    (tmp_path / "my_own.py").write_text("from lib.tests.reportcard.stand_ins import softmax as mine\n")
    (tmp_path / "json.py").write_text("dumps = None\n")
    (tmp_path / "my_bad.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path != os.getcwd()])
    assert named("my_own:mine") is stand_ins.softmax
    assert named("json:dumps") is json.dumps
    with pytest.raises(ValueError, match=r"importing 'my_bad' raises ZeroDivisionError \(division by zero\)"):
        named("my_bad:mine")
    with pytest.raises(ValueError, match="attention = 'my_own:yours': the module my_own has no name yours"):
        named("my_own:yours")
    (tmp_path / "my_end.py").write_text("raise SystemExit(3)\n")
    with pytest.raises(ValueError, match=r"attention = 'my_end:x': importing 'my_end' raises SystemExit \(3\)"):
        named("my_end:x")
    assert (sys.path.count(os.getcwd()), sys.path[-1]) == (1, os.getcwd())
    monkeypatch.delitem(sys.modules, "my_own")


def test_a_kernel_is_named_by_its_text():
    rows = np.random.default_rng(0).standard_normal((3, 9, 4))
    half = stand_ins.weights(0.5 * rows[0] @ rows[1].T) @ rows[2]
    assert np.allclose(named("softmax:0.5")(*rows), half)
    drawing = named("performer:16")
    assert np.array_equal(drawing(*rows), named("performer:16")(*rows))
    assert np.array_equal(drawing(*rows), named("performer:16")(*rows)), "nothing is drawn anew by the second call"
    words = "attention = 'softmx': is no module:name, and as a kernel must be one of softmax"
    with pytest.raises(ValueError, match=words):
        named("softmx")
    with pytest.raises(
        ValueError, match="attention = 'a: b': is no module:name, and as a kernel must be one of softmax"
    ):
        named("a: b")
    with pytest.raises(ValueError, match="'softmax:-1': is no module:name, and as a kernel beta = '-1': must be at l"):
        named("softmax:-1")
    assert (named("softmax:0.5").__qualname__, named("softmax:0.5").__module__) == ("softmax:1/2", "numpy")


def test_the_largest_sizes_are_taken():
    """The rule that this attention breaks is the first that is tried."""
    rng = np.random.default_rng(0)
    with pytest.raises(_callables.Misfit, match="answers equal inputs differently"):
        report(lambda q, k, v: v * rng.uniform(), library="numpy", width=10**4, n=2**20)


def test_progress_is_a_bar_where_it_is_asked_for(monkeypatch):
    bars = []
    stand_in = SimpleNamespace(tqdm=lambda lines, **given: bars.append(given) or lines)
    monkeypatch.setitem(sys.modules, "tqdm", stand_in)
    for progress, expected in ((False, []), (True, [{"unit": "line", "leave": False, "disable": None}])):
        found = report(stand_ins.softmax, width=18, library="numpy", lines=["selects"], n=128, progress=progress)
        assert (len(found.lines), bars) == (1, expected)


def test_progress_is_shown_only_where_asked_and_possible(monkeypatch, capsys):
    report(stand_ins.softmax, width=18, library="numpy", lines=["selects"], seconds=1000, n=512, progress=True)
    assert capsys.readouterr().out == ""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    report(stand_ins.softmax, width=18, library="numpy", lines=["selects"], seconds=1000, n=512, progress=True)
    assert capsys.readouterr() == ("", "")
