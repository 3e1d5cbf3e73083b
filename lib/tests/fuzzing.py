"""Fuzzing: functions meet drawn arguments, good, extreme and bad ones, and must be right or refuse them by name.

An entry names a function, draws good arguments for it and checks what comes back.  In most inputs one or two of the
arguments are replaced by values that have no place there.
"""

import dataclasses
import inspect
import math
import numbers
import os
import re
import signal
import warnings
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import cache

import array_api_compat
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.bench import measure
from attnsep.ledger import framework

LONG = os.environ.get("ATTNSEP_FUZZ", "")
if LONG and not LONG.isdecimal():
    raise ValueError(f"ATTNSEP_FUZZ = {LONG!r}: must be a number of inputs")
INPUTS = int(LONG or 10)  # drawn for each function
SECONDS = 3  # of processor time that one call may take
SETTINGS = settings(
    max_examples=INPUTS,
    derandomize=not LONG,
    database=None,
    print_blob=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

NUMBERS = [
    *(0, 1, -1, 2, 3, 7, 10**9, 10**300, 10**301, -(10**301), 10**400, 10**5000, True, False),
    *(0.0, -0.0, 0.5, 1.0, 1.5, -1.5, 5e-324, 1e-300, 1e300, 1.7e308, math.nan, math.inf, -math.inf, 2.0**53),
    *(Fraction(1, 3), Fraction(-1, 3), Fraction(10**400), Fraction(1, 10**400), Fraction(1, 10**5000)),
    *(Decimal("0.3"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e400"), Decimal("1e-2000")),
    *(np.float64(0.5), np.float64("nan"), np.float32(0.7), np.float16(0.5), np.longdouble(0.5)),
    *(np.int64(3), np.int8(-3), np.uint8(200), np.bool_(True), np.complex128(1j), 1j),
]
WORDS = [
    "",
    "x",
    "0.5",
    "3",
    "-1",
    "nan",
    "inf",
    "1/3",
    "1/0",
    "1e400",
    "1e-2000",
    "1e1000000",
    " 1 ",
    "1_0",
    "٣",
    "\0",
]
KERNELS = [
    *("softmax", "linear", "SOFTMAX", "softmax ", "softmax:", "softmax:nan", "softmax:-1", "softmax:1/0"),
    *("softmax:1e400", "softmax:0", "linear:2", "polynomial", "polynomial:0", "polynomial:1.5", "polynomial:2"),
    *("polynomial:" + "9" * 310, "topk:0", "topk:1", "topk:99999", "topk:٣", "window:1", "window:-1", "performer:0"),
    *("performer:2", "hard", "sparsemax", "entmax", "sigmoid", "relu", "elu+1", "squared-relu", ":", "cosine"),
]
THINGS = [None, [], [1], {}, (), b"1", object(), len, np.float64, np.datetime64("2024-01-01")]
ARRAYS = [
    *(
        np.array(1.0),
        np.array([]),
        np.array([1.0]),
        np.array(["x"]),
        np.array([1j]),
        np.array([None]),
        np.array([True]),
    ),
    *(np.ones((2, 2)), np.ones((0, 3)), np.ones((3, 0)), np.ones((2, 2, 2)), np.full((2, 2), np.nan)),
    *(np.arange(3), np.ones(3, dtype=np.float16), np.array([np.inf, 1.0]), np.array([10**400], dtype=object)),
]
BAD = [*NUMBERS, *WORDS, *KERNELS, *THINGS, *ARRAYS]
FLAGS = [True, False, 0, 1, None, np.True_]
IS_FLAG = {"normalised", "strict", "unique", "cancellation", "progress"}


def strict(array):
    """Return the array in a second library."""
    return array_api_compat.array_namespace(_strict().ones(1)).asarray(array)


def _strict():
    import array_api_strict

    return array_api_strict


def spoiled(array):
    """Return the ways in which an array can be wrong, or nearly."""
    x = to_numpy(array)
    with_one = []
    if x.size and x.dtype.kind == "f":
        for value in (np.nan, np.inf, -np.inf, 0, -1, 1e300, 1e-300):
            copy = x.astype(np.float64)
            copy.flat[-1] = value
            with_one.append(copy)
    return [
        *with_one,
        *(
            x[None],
            x[..., :-1] if x.ndim else x,
            x[:0] if x.ndim else x,
            x.T,
            np.ma.masked_array(x, mask=x == x),
            x.tolist(),
            strict(x),
            x * 0,
            -x,
            x[..., None],
        ),
        *(
            x.astype(kind)
            for kind in (np.float32, np.float16, np.int64, bool, complex, object)
            if np.all(np.isfinite(x))
        ),
    ]


@dataclasses.dataclass(frozen=True)
class Entry:
    """A function, a strategy that draws good arguments by name, those never to be spoiled, and the check.

    `passes_nan`: a NaN may come back.  `about_several`: a refusal may name any argument, not only what was replaced.
    """

    function: object
    good: object
    kept: frozenset
    check: object
    passes_nan: bool
    about_several: bool
    inputs: int


FUZZED = set()  # names of functions
CASES = {}  # entries by their check


def name_of(function):
    """Return module and name, such as paper.tokens.TokenData.matrix."""
    return f"{function.__module__.removeprefix('attnsep.')}.{function.__qualname__}"


def fuzz(function, *joint, kept=(), passes_nan=False, about_several=False, inputs=INPUTS, **arguments):
    """Make the decorated check a test: the function is right about what is drawn, or refuses it by name.

    `joint` strategies draw several arguments at once.  A check that is decorated more than once, in a loop, is one test
    with a case for each function.
    """

    def register(check):
        good = st.tuples(*joint, st.fixed_dictionaries(arguments)).map(
            lambda parts: {k: v for p in parts for k, v in p.items()}
        )
        cases = CASES.setdefault((check.__module__, check.__qualname__), [])
        cases.append(Entry(function, good, frozenset({"self", *kept}), check, passes_nan, about_several, inputs))
        FUZZED.add(name_of(function))

        @pytest.mark.fuzz
        @pytest.mark.parametrize("entry", list(cases), ids=lambda entry: name_of(entry.function))
        def test(nothing_set, monkeypatch, entry):
            meet(entry, monkeypatch)

        return test

    return register


def meet(entry, monkeypatch):
    """Let the function of an entry meet as many inputs as the entry says; at least one must be accepted."""
    accepted = 0
    monkeypatch.setattr(framework, "LEDGER", dict(framework.LEDGER))
    hurry(monkeypatch)

    @settings(SETTINGS, max_examples=entry.inputs)
    @given(st.data())
    def spoiled_or_not(draws):
        nonlocal accepted
        arguments, changed, good = drawn(draws, entry)
        accepted += attempt(entry, arguments, changed, good)

    @settings(SETTINGS, max_examples=entry.inputs)
    @given(entry.good)
    def good(arguments):
        nonlocal accepted
        accepted += attempt(entry, arguments, [], arguments)

    spoiled_or_not()
    if not accepted:
        good()
    assert accepted, "no input was accepted, so nothing was checked"


def values_in_place_of(name, value):
    """Return a strategy of what else could stand for this argument."""
    if name in IS_FLAG:
        return st.sampled_from(FLAGS)
    if array_api_compat.is_array_api_obj(value):
        return st.one_of(st.sampled_from(spoiled(value)), st.sampled_from(BAD))
    if name == "kernel":
        return st.one_of(st.sampled_from(KERNELS), st.sampled_from(BAD))
    return st.sampled_from(BAD)


def drawn(data, entry):
    """Draw arguments, the names of those that were replaced, and the good arguments before that."""
    good = data.draw(entry.good)
    arguments = dict(good)
    names = [] if "*" in entry.kept else sorted(set(arguments) - entry.kept)
    changed = data.draw(st.sampled_from([0, 1, 1, 1, 1, 2])) if names else 0
    changed = data.draw(st.permutations(names))[:changed]
    for name in changed:
        arguments[name] = data.draw(values_in_place_of(name, arguments[name]), label=name)
    return arguments, changed, good


class TooSlow(AssertionError):
    """No answer in time.  A TimeoutError is an OSError, which the command line takes for a full disk."""


@contextmanager
def time_limit():
    """Raise TooSlow after SECONDS of processor time."""

    def stop(*_):
        raise TooSlow(f"no answer after {SECONDS} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def hurry(monkeypatch):
    """Let `bench` measure as little as it can, whatever `seconds` says; the machine stays the same."""
    for name, value in (("LEAST_TURNS", 1), ("MOST_TURNS", 1), ("WIDEST", math.inf)):
        monkeypatch.setattr(measure, name, value)
    monkeypatch.setattr(measure, "_limits", _limits)
    monkeypatch.setattr(measure, "REST", 0.001)
    monkeypatch.setattr(measure, "SPIN", 0.001)


_limits = cache(measure._limits)


def named(message):
    """Return the words that a message speaks about: what stands before an equals sign or a colon."""
    return {word for words in re.findall(r"((?:\w+, )*\w+)(?: = |: | in \[)", message) for word in words.split(", ")}


def attempt(entry, arguments, changed, good):
    """Call the function; return whether it accepted the arguments.  Raise where it is wrong, or refuses namelessly."""
    try:
        result = call(entry, arguments)
    except (ValueError, TypeError) as error:
        message, about = str(error), _may_be_named(entry, arguments, changed, good)
        if not named(message) & about:
            raise AssertionError(f"names none of {', '.join(about)}: {error!r}") from error
        return False
    assert entry.passes_nan or not has_nan(result), f"NaN in {result!r}"
    assert not any(isinstance(x, np.ma.MaskedArray) for x in arguments.values()), "a mask was ignored"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entry.check(result, **arguments)
    return True


def call(entry, arguments):
    """Return what the function returns; a warning is an error, and so is a call that takes too long."""
    parameters = inspect.signature(entry.function).parameters.values()
    first = [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]
    with warnings.catch_warnings(), time_limit():
        warnings.simplefilter("error")
        # What a library has to change for a newer one of another project; what we have to change is an error.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"(?!attnsep\b)")
        others = {name: value for name, value in arguments.items() if name not in first}
        return entry.function(*(arguments[name] for name in first), **others)


def _may_be_named(entry, arguments, changed, good):
    """Return the names that a refusal may give: what was replaced, or all where that was not the (only) reason.

    Shapes, libraries and dtypes are about several arrays.  An object stands for its fields.
    """
    several = entry.about_several or any(map(array_api_compat.is_array_api_obj, good.values()))
    if changed and not several:
        try:
            call(entry, good)
            return set(changed)
        except (ValueError, TypeError):
            pass
    return {*arguments, *(field for x in arguments.values() for field in getattr(x, "__dataclass_fields__", ()))}


def has_nan(result):
    """Return whether a NaN is anywhere in a result."""
    if isinstance(result, dict):
        return any(map(has_nan, result.values()))
    if isinstance(result, (tuple, list)):
        return any(map(has_nan, result))
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return any(has_nan(getattr(result, field.name)) for field in dataclasses.fields(result))
    if array_api_compat.is_array_api_obj(result):
        x = to_numpy(result)
        return x.dtype.kind == "f" and bool(np.any(np.isnan(x)))
    return isinstance(result, numbers.Number) and result != result


def number(value):
    """Return what a number, or the text of one, stands for."""
    return Fraction(value) if isinstance(value, (int, Fraction)) else Fraction(str(value))
