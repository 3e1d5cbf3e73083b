"""The front door: what `attnsep` exports, that it costs nothing until it is used, and that each name has an example."""

import ast
import doctest
import inspect
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import attnsep

MOST_NAMES = 25


def examples(thing):
    """Return the examples in a docstring, which the doctests run."""
    return [example.source for example in doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")]


def without_example(names, module):
    """Return the names that no example uses, in the docstring of the module or in their own."""
    found = []
    for name in names:
        trees = map(ast.parse, [*examples(module), *examples(getattr(module, name))])
        used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
        found += [] if name in used else [name]
    return found


def imported_for_type_checkers():
    """Return {name: module} of what attnsep imports where a type checker reads it."""
    (block,) = (node for node in ast.parse(inspect.getsource(attnsep)).body if isinstance(node, ast.If))
    return {alias.name: node.module for node in block.body for alias in node.names}


def test_the_front_door_has_few_names():
    assert len(attnsep.__all__) == len(set(attnsep.__all__)) <= MOST_NAMES


@pytest.mark.parametrize("name", attnsep.__all__)
def test_a_name_is_the_object_of_its_module(name):
    module = import_module(imported_for_type_checkers()[name])
    assert getattr(attnsep, name) is getattr(module, name)


def test_people_and_type_checkers_see_the_same_names():
    assert imported_for_type_checkers().keys() == set(attnsep.__all__)
    assert set(attnsep.__all__) <= set(dir(attnsep))


def test_a_name_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(AttributeError, match=r"^module 'attnsep' has no attribute 'attention_output'$"):
        _ = attnsep.attention_output


def test_no_name_hides_a_module():
    assert not set(attnsep.__all__) & {part.name for part in pkgutil.iter_modules(attnsep.__path__)}


def test_every_name_has_an_example():
    assert without_example(attnsep.__all__, attnsep) == []


def test_the_examples_in_readme_run(doctest_namespace):
    readme = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```\n(>>> .*?)^```$", readme, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest(lines, doctest_namespace, "README", "README.md", 0)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_a_name_without_an_example_is_noticed():
    assert without_example(["examples", "without_example"], sys.modules[__name__]) == ["examples", "without_example"]
    assert without_example(["text_of"], import_module("attnsep.checks")) == []


LIGHT = """
import sys
before = set(sys.modules)
import attnsep
print(*sorted(set(sys.modules) - before))
from attnsep import *
print(sorted(name for name in globals() if name in attnsep.__all__) == sorted(attnsep.__all__))
"""


@pytest.mark.slow
def test_to_import_the_library_loads_nothing_else(surroundings):
    run = subprocess.run([sys.executable, "-c", LIGHT], env=surroundings, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["attnsep", "True"]
