"""Every parameter matters: two calls that differ in it alone have different results.

A function that is fuzzed has a strategy for its arguments.  `search` draws from it and changes one argument at a time,
and one field at a time where an argument is a dataclass, until a result differs.
"""

import copy
import dataclasses
import inspect
import re
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from itertools import count
from types import ModuleType
from unittest import SkipTest

import array_api_compat
import numpy as np
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text

from attnsep.arrays import namespace, to_numpy
from lib.tests import fuzzing
from lib.tests.fuzzing import CASES, name_of
from lib.tests.test_fuzz import covered

HELP = """\
Use the parameter, or cut it; for a new one add a point to POINTS, of a figure in
lib/tests/figures/test_figures_parameters.py, else in lib/tests/test_parameters.py"""
TRIES = 40  # pairs of inputs drawn for a function, at most
TRIES_FOR_FIELDS = 4  # for a field, which other functions may depend on
SETTINGS = settings(fuzzing.SETTINGS, max_examples=TRIES, derandomize=False, phases=[Phase.generate])
IN_MESSAGES = {"name", "names", "missing"}  # of what is refused; no result has them


def trace(x):
    """Return what tells two results apart: kinds, shapes, numbers and texts, down to the last bit."""
    if isinstance(x, ModuleType):
        return x.__name__
    if array_api_compat.is_array_api_obj(x):
        y = to_numpy(x)
        return type(x).__module__, str(y.dtype), y.shape, repr(y.tolist()) if y.dtype == object else y.tobytes()
    if isinstance(x, np.random.Generator):
        return repr(x.bit_generator.state)
    if isinstance(x, Figure):
        plt.close(x)
        return [_drawn(artist) for artist in _artists(x)]
    if isinstance(x, dict):
        return [(trace(key), trace(value)) for key, value in x.items()]
    if isinstance(x, list | tuple | Iterator):
        return [type(x).__name__, *map(trace, x)]
    if isinstance(x, set | frozenset):
        return sorted(map(repr, x))
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return [type(x).__name__, *(trace(getattr(x, field.name)) for field in dataclasses.fields(x))]
    if callable(x):  # a bound method shows its object, and with it fields that do nothing
        return getattr(x, "__qualname__", type(x).__qualname__)
    return re.sub(r" at 0x\w+", "", f"{type(x).__name__} {x!r}")


def _artists(artist):
    """Yield an artist and all that it is made of, but ticks: to ask for them makes them, which takes half the time."""
    yield artist
    inside = [artist.label] if isinstance(artist, Axis) else artist.get_children()
    for child in inside:
        yield from _artists(child)


def _drawn(artist):
    """Return what an artist shows: words, points, paths and values, and how it looks."""
    if isinstance(artist, Axis):
        places = list(getattr(artist.get_major_locator(), "locs", ()))  # those that the library chooses
        return artist.get_scale(), places, artist.get_major_formatter().format_ticks(places)
    asked = ["get_xydata", "get_array", "get_offsets", "get_paths", "get_verts", "get_xscale", "get_yscale"]
    asked += ["get_color", "get_facecolor", "get_linestyle", "get_drawstyle", "get_marker", "get_alpha", "get_clim"]
    asked += ["get_xlim", "get_ylim", "get_size_inches"]
    words = artist.get_text() if isinstance(artist, Text) else ""
    shown = [
        words,
        repr(getattr(artist, "xy", "")),
        *(getattr(artist, name)() for name in asked if hasattr(artist, name)),
    ]
    return type(artist).__name__, [repr(x.tolist()) if isinstance(x, np.ndarray) else trace(x) for x in shown]


def fresh(arguments):
    """Return arguments whose generators have drawn nothing yet."""
    return {name: copy.deepcopy(x) if isinstance(x, np.random.Generator) else x for name, x in arguments.items()}


def outcome(entry, arguments, *, refused=False):
    """Return the trace of a result, or None where the arguments are refused; with `refused` the other way round."""
    try:
        found = fuzzing.call(entry, fresh(arguments))
    except Exception as error:
        return f"{type(error).__name__} {error}" if refused else None
    return None if refused else trace(found)


def others(value):
    """Yield values of the same kind that could stand in the place of this one."""
    if isinstance(value, ModuleType) or value is None:
        yield from (namespace("array_api_strict"), np)
    elif array_api_compat.is_array_api_obj(value):
        yield from _other_arrays(value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | np.integer):
        yield from (value + 1, 2 * value, value - 1, value + 7, 3, 4, 6)
    elif isinstance(value, float | Fraction):
        yield from (value / 2, value + 1, 2 * value, -value)
    elif isinstance(value, str):
        yield from (
            f"x{value}",  # first, because words of a picture may end as they did
            "log",
            "bare",
            "linear",
            "softmax",
            "polynomial:2",
            "performer:2",
            "hard",
            "0.25",
            "0.75",
            f"{value}x",
        )
    elif isinstance(value, list | tuple):
        yield from () if hasattr(value, "_make") else (value[:-1], value[::-1])
        for index in range(min(len(value), 4)):
            for item in others(value[index]):
                made = [*value[:index], item, *value[index + 1 :]]
                yield value._make(made) if hasattr(value, "_make") else type(value)(made)
    elif isinstance(value, dict):
        for key in value:
            for item in others(value[key]):
                yield value | {key: item}
    elif isinstance(value, np.random.Generator):
        yield np.random.default_rng(7)


def _other_arrays(array):
    x = to_numpy(array)
    like = np.asarray if isinstance(array, np.ndarray) else fuzzing.strict
    if x.size and x.dtype.kind in "fiu":
        for place in (0, -1):
            copied = x.copy()
            copied.flat[place] = copied.flat[place] * 2 + 1
            yield like(copied)
    if x.size and x.dtype.kind == "b":
        yield like(~x)
    if x.dtype == np.float64:
        yield like(x.astype(np.float32))
    yield like(x[::-1].copy()) if x.ndim else array


def fields_of(value):
    """Return the names of the fields of an object of the library's dataclasses, else nothing."""
    is_ours = dataclasses.is_dataclass(value) and type(value).__module__.startswith("attnsep.")
    return [field.name for field in dataclasses.fields(value)] if is_ours else []


def home(kind, field):
    """Return the class that brings a field in, with the field: where a subclass changes a default, it is no new one."""
    declared = [base for base in kind.__mro__ if field in inspect.get_annotations(base)]
    return f"{name_of(declared[-1])}.{field}"


def changed(arguments, other, name):
    """Yield (names of what was changed, arguments) for each way to change one argument, or a field of it."""
    value = arguments[name]
    for field in fields_of(value):
        candidates = [getattr(other.get(name), field, None), *others(getattr(value, field))]
        for candidate in candidates:
            try:
                tried = arguments | {name: dataclasses.replace(value, **{field: candidate})}
            except (ValueError, TypeError, AttributeError):
                continue
            yield {home(type(value), field), name}, tried
    candidates = [other[name]] if name in other else []
    for candidate in candidates if fields_of(value) else [*candidates, *others(value)]:
        yield {name}, arguments | {name: candidate}


class Enough(SkipTest):
    """Nothing is left to look for; Hypothesis ends at such an exception, and does not try it again."""


def search(entry, wanted, fields=frozenset()):
    """Return those of the names for which a change of the result was found.

    Parameters
    ----------
    entry : fuzzing.Entry
        Function and strategy.
    wanted : set of str
        Parameters of this function.
    fields : set of str
        Fields of dataclasses, by their homes, that are looked for where such an object is drawn.
    """
    found, rounds = set(), count()

    @seed(20231017)
    @SETTINGS
    @given(st.tuples(entry.good, entry.good))
    def draw(pair):
        arguments, other = pair
        for name in IN_MESSAGES & (wanted - found) & arguments.keys():
            found.update({name} if _named(entry, arguments, name) else ())
        looked_for = wanted | fields if next(rounds) < TRIES_FOR_FIELDS else wanted
        todo = (looked_for - found) & _names(arguments)
        if not todo and wanted <= found:
            raise Enough
        if not todo or (base := outcome(entry, arguments)) is None:
            return
        for name in arguments:
            if todo & _names({name: arguments[name]}):
                for names, tried in changed(arguments, other, name):
                    new = names & (todo - found)
                    if new and outcome(entry, tried) not in (None, base):
                        found.update(new)

    with suppress(Enough):
        draw()
    return found


def _names(arguments):
    """Return what can be changed: arguments and their fields."""
    fields = {home(type(value), field) for value in arguments.values() for field in fields_of(value)}
    return {*arguments, *fields}


def _named(entry, arguments, name):
    """Return whether a refusal changes with this parameter: what else was given is no value at all."""
    kept = {"name", "names", "xp", "kind", "shape", "choices", "least"}
    nothing = {key: object() for key in arguments if key not in kept}
    messages = {outcome(entry, arguments | nothing | {name: text}, refused=True) for text in ("one", "two")}
    return len(messages) == 2


def called(function, arguments):
    """Return what a function returns; keywords of any name, such as `reached`, are one argument."""
    kinds = {p.name: p.kind for p in inspect.signature(function).parameters.values()}
    first = [name for name, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_ONLY]
    rest = {}
    for name in arguments.keys() - first:
        free = kinds.get(name) is inspect.Parameter.VAR_KEYWORD
        rest |= arguments[name] if free else {name: arguments[name]}
    return function(*(arguments[name] for name in first), **rest)


def at_point(function, arguments):
    """Return the trace of a result, or of a refusal: what a parameter forbids is seen where it forbids."""
    try:
        return trace(called(function, fresh(arguments)))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        return f"{type(error).__name__}: {error}"


def without_effect(function, base, others):
    """Return the parameters whose other values change nothing."""
    before = at_point(function, base)
    return [name for name, value in others.items() if at_point(function, base | {name: value}) == before]


def entries_of():
    """Return the entries of fuzzing by function, without those that only draw, and those of classes apart."""
    covered()
    found = {}
    for cases in CASES.values():
        for entry in cases:
            found.setdefault(name_of(entry.function), []).append(entry)
    return found


def wanted_of(function):
    """Return the parameters of a function that have to matter; an object's fields are looked at one by one."""
    return set(inspect.signature(function).parameters) - {"self"}


def fields_brought_in(kind):
    """Return the fields that a dataclass has and its parents have not."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    homes = {home(kind, field.name) for field in fields if field.init}
    return {place for place in homes if place.rpartition(".")[0] == name_of(kind)}


def unseen(entries, known):
    """Return the parameters, and the fields of dataclasses, of which no change was found to change a result."""
    kinds = {cases[0].function for cases in entries.values() if inspect.isclass(cases[0].function)}
    fields = set().union(*map(fields_brought_in, kinds)) - known
    missing = []
    for name, cases in entries.items():
        if cases[0].function in kinds:
            continue
        left = {x for x in wanted_of(cases[0].function) if f"{name}.{x}" not in known}
        for entry in cases:
            found = search(entry, left, fields)
            left, fields = left - found, fields - found
        missing += [f"{name}.{parameter}" for parameter in sorted(left)]
    return missing + sorted(fields)


def of_name(name):
    """Return the public function of this name."""
    *place, last = name.split(".")
    while True:
        try:
            found = import_module(".".join(["attnsep", *place]))
            break
        except ModuleNotFoundError:
            last = f"{place.pop()}.{last}"
    for part in last.split("."):
        found = getattr(found, part)
    return found


def of_points(points):
    """Return the parameters that points are about."""
    plain = (getattr(point, "values", point) for point in points)  # some are marked as slow
    return {f"{name}.{parameter}" for name, _, _, others in plain for parameter in others}


def defaults_without_point(names, known):
    """Return the parameters with a default, of functions given by name, that are not among the known ones."""
    return [
        f"{name}.{p.name}"
        for name in names
        for p in inspect.signature(of_name(name)).parameters.values()
        if p.default is not p.empty and f"{name}.{p.name}" not in known
    ]
