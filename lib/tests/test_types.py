"""The front door has types: each parameter and each result, down to the methods of its classes."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import subprocess
import sys
from functools import cached_property
from importlib.resources import files
from pathlib import Path

import pytest

import attnsep

PROJECT = Path(__file__).parents[2]
CLASSES = [thing for name in attnsep.__all__ if inspect.isclass(thing := getattr(attnsep, name))]


def untyped(function):
    """Return the parameters of a function that have no type, and "return" where its result has none."""
    signature = inspect.signature(function)
    named = [name for name in signature.parameters if name not in ("self", "cls")]
    found = [name for name in named if signature.parameters[name].annotation is inspect.Parameter.empty]
    return found + (["return"] if signature.return_annotation is inspect.Signature.empty else [])


def functions_of(thing):
    """Return {name: function} of a function itself, or of all public methods and properties of a class."""
    if not inspect.isclass(thing):
        return {thing.__name__: thing}
    found = {}
    for base in thing.__mro__[:-1]:
        for name, part in vars(base).items():
            if name.startswith("_"):
                continue
            if isinstance(part, property):
                part = part.fget
            elif isinstance(part, cached_property):
                part = part.func
            elif isinstance(part, staticmethod | classmethod):
                part = part.__func__
            if inspect.isfunction(part):
                found.setdefault(f"{thing.__name__}.{name}", part)
    return found


def type_problems(thing):
    """Return what of a function or class lacks a type, as in ``Law.fires: m, return``."""
    return [f"{name}: {', '.join(lacks)}" for name, f in functions_of(thing).items() if (lacks := untyped(f))]


@pytest.mark.parametrize("name", attnsep.__all__)
def test_all_that_is_public_has_types(name):
    assert type_problems(getattr(attnsep, name)) == []


def test_type_checkers_are_told_that_there_are_types():
    assert files("attnsep").joinpath("py.typed").is_file()


class Halves:
    """Lacks a type in each kind of place."""

    def typed(self, x: int) -> int:
        return x

    def parameter(self, x, *rest: int) -> int:
        return x

    def result(self, x: int):
        return x

    @property
    def kept(self):
        return 1

    @cached_property
    def stored(self):
        return 1

    @classmethod
    def made(cls, x):
        return x

    def _private(self, x):
        return x


class Quarters(Halves):
    """Has what it inherits."""


def test_what_has_no_type_is_noticed():
    lacks = ["parameter: x", "result: return", "kept: return", "stored: return", "made: x, return"]
    assert type_problems(Halves) == [f"Halves.{part}" for part in lacks]
    assert type_problems(Quarters) == [f"Quarters.{part}" for part in lacks]
    assert type_problems(strip := lambda x: x) == [f"{strip.__name__}: x, return"]


def for_type_checkers(kind):
    """Return the constructor that a class shows to type checkers alone, or None."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    blocks = [node for node in body.body if isinstance(node, ast.If) and node.test.id == "TYPE_CHECKING"]
    return blocks[0].body[0] if blocks else None


def differences(shown, real):
    """Return the parameters that a constructor shown to type checkers has not in common with the real one."""
    takes = {part.arg for part in (*shown.args.args, *shown.args.kwonlyargs)}
    optional = {
        part.arg for part, default in zip(shown.args.kwonlyargs, shown.args.kw_defaults, strict=True) if default
    }
    optional |= {part.arg for part in shown.args.args[len(shown.args.args) - len(shown.args.defaults) :]}
    parameters = inspect.signature(real).parameters
    needed = {name for name, part in parameters.items() if part.default is not inspect.Parameter.empty}
    return (takes ^ parameters.keys()) | (optional ^ needed)


def test_type_checkers_see_the_constructors_that_there_are():
    shown = {kind: found for kind in CLASSES if (found := for_type_checkers(kind))}
    assert {kind.__name__ for kind in shown} == {"Softmax", "TokenData"}
    assert [differences(found, kind.__init__) for kind, found in shown.items()] == [set(), set()]


def test_another_constructor_is_noticed():
    (shown,) = ast.parse("def __init__(self, a, *, b, c=1): ...").body
    assert differences(shown, lambda self, a, *, b, c=1: None) == set()
    assert differences(shown, lambda self, a, *, b, d=1: None) == {"c", "d"}
    assert differences(shown, lambda self, a, *, b=1, c=1: None) == {"b"}
    assert differences(shown, lambda self, a=1, *, b, c=1: None) == {"a"}


WRONG = """
attend([[1.0]], k, v)
attend(q, k, v, kernel=3)
TokenData(n=8, d=6, a=None, c="0.5")
law.fires("10")
Softmax(beta=[2])
attnsep.attention_output
"""


@pytest.mark.slow
def test_a_type_checker_takes_the_examples_and_refuses_what_has_another_type(tmp_path):
    pytest.importorskip("mypy", reason="comes with dev")
    examples = doctest.DocTestParser().get_examples(attnsep.__doc__)
    program = "".join(f"{example.source}" for example in examples) + "import attnsep\n"
    (tmp_path / "program.py").write_text(program + WRONG, encoding="utf-8")
    # With what the step `types` has stored of the library, where it ran before: to read all of it takes six seconds.
    command = [sys.executable, "-m", "mypy", str(tmp_path / "program.py")]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    places = {int(line.split(":")[1]) for line in run.stdout.splitlines() if ": error: " in line}
    first = program.count("\n") + 2
    assert sorted(places) == list(range(first, first + WRONG.count("\n") - 1)), run.stdout + run.stderr


def dataclasses_of(package):
    """Yield every dataclass that a module of a package defines."""
    for path in sorted(Path(package.__file__).parent.rglob("*.py")):
        name = ".".join([package.__name__, *path.relative_to(Path(package.__file__).parent).with_suffix("").parts])
        for thing in vars(importlib.import_module(name.removesuffix(".__init__"))).values():
            if dataclasses.is_dataclass(thing) and isinstance(thing, type) and thing.__module__ == name:
                yield thing


def test_what_is_made_of_fields_stays_as_it_was_made():
    """A law, a kernel or a case is a key of caches, and is checked when it is made."""
    found = [*dataclasses_of(attnsep)]
    assert {"Case", "Law", "Softmax", "Table", "TokenData"} <= {kind.__name__ for kind in found}
    assert [kind for kind in found if not kind.__dataclass_params__.frozen] == []
