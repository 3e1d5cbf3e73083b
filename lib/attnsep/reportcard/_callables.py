"""Somebody's attention, of any array library and layout, called as the card needs it."""

import copy
import importlib
import math
import sys
from contextlib import contextmanager, nullcontext
from itertools import product
from time import monotonic

import numpy as np

from attnsep.checks import require_choice, text_of

LAYOUTS = ("nd", "bhnd", "bnhd")  # n tokens of width d; a batch b and heads h before or between them
DTYPES = ("float64", "float32", "float16", "bfloat16")
SPACINGS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LIBRARIES = ("numpy", "cupy", "torch", "jax")
LONGEST = 160  # characters of an error's message that are shown
LENGTHS = (24, 64, 512)  # tokens of the inputs on which an attention's layout and manners are tried, till one is taken
ROWS = 6  # of them are looked at
SAME = 1e-5  # share of the outputs by which answers to equal inputs may differ: sums on many cores have no fixed order


class Misfit(ValueError):
    """The attention broke a rule that every attention must keep, or raised an error of its own."""


class Final(Misfit):
    """A rule that is broken in whatever layout and dtype."""


class Foreign(Final):
    """The attention answers with arrays of another library than it was given.

    Attributes
    ----------
    library : str
        The one whose arrays it returns.
    """

    def __init__(self, says, library):
        super().__init__(says)
        self.library = library


class Late(Exception):
    """The time is spent, or too short for the next call."""


class Budget:
    """The time for one card, and for the part of it that is at work.

    Parameters
    ----------
    seconds : float
        For the whole card, from now on.
    """

    def __init__(self, seconds):
        self.end = self.stop = monotonic() + seconds
        self._costs = {}

    def left(self):
        """Return the seconds that the part at work still has."""
        return self.stop - monotonic()

    @contextmanager
    def part(self, share):
        """Give what is inside a share of the time that is left, and end it where this is spent."""
        before = self.stop
        self.stop = min(before, monotonic() + share * max(self.left(), 0))
        try:
            yield
        except Late:
            pass
        finally:
            self.stop = before

    def require(self, tokens):
        """Raise Late unless a call on so many tokens fits into the time that is left."""
        if self.left() <= self.expected(tokens):
            raise Late

    def expected(self, tokens):
        """Return what a call on so many tokens will cost: beyond those known, by the power of their number seen last.

        The first call of a size may compile, so one alone says nothing.  Where no power is known it is taken to be two,
        which none exceeds.
        """
        known = sorted(n for n, costs in self._costs.items() if n <= tokens and len(costs) > 1)
        if not known:
            return 0.0
        last, cost, power = known[-1], min(self._costs[known[-1]]), 2.0
        if len(known) > 1:
            before = min(self._costs[known[-2]])
            growth = math.log(max(cost, 1e-9) / max(before, 1e-9)) / math.log(last / known[-2])
            power = min(max(growth, 0.0), 2.0)
        return cost * (tokens / last) ** power

    def forget(self):
        """Forget all costs: those of other layouts were those of other numbers of tokens."""
        self._costs = {}

    def note(self, tokens, seconds):
        """Keep what a call cost."""
        self._costs.setdefault(tokens, []).append(seconds)


class _NumPy:
    """Arrays of NumPy."""

    dtypes = ("float64", "float32", "float16")

    def put(self, x, dtype):
        """Return an array of the library with this dtype."""
        return x.astype(dtype)

    def get(self, out):
        """Return float64 in NumPy, or raise a TypeError if this is no array of the library."""
        if not isinstance(out, np.ndarray):
            raise TypeError(f"returns {type(out).__name__}, no NumPy array")
        _require_floats(out.dtype, out.dtype.kind == "f")
        return out.astype(np.float64)

    def quiet(self):
        """Return a context in which nothing is recorded for gradients, and overflow is no warning."""
        return np.errstate(all="ignore")


class _CuPy(_NumPy):
    def __init__(self):
        self.cupy = importlib.import_module("cupy")

    def put(self, x, dtype):
        return self.cupy.asarray(x.astype(dtype))

    def get(self, out):
        if not isinstance(out, self.cupy.ndarray):
            raise TypeError(f"returns {type(out).__name__}, no CuPy array")
        return super().get(self.cupy.asnumpy(out))


class _Torch:
    dtypes = DTYPES

    def __init__(self, function):
        self.torch = importlib.import_module("torch")
        weights = next(function.parameters(), None) if isinstance(function, self.torch.nn.Module) else None
        self.device = None if weights is None else weights.device

    def put(self, x, dtype):
        return self.torch.tensor(x, dtype=getattr(self.torch, dtype), device=self.device)

    def get(self, out):
        if not isinstance(out, self.torch.Tensor):
            raise TypeError(f"returns {type(out).__name__}, no PyTorch tensor")
        _require_floats(out.dtype, out.is_floating_point())
        return out.detach().to(self.torch.float64).cpu().numpy()

    def quiet(self):
        return self.torch.no_grad()


class _Jax:
    def __init__(self):
        self.jax = importlib.import_module("jax")
        precise = bool(self.jax.config.jax_enable_x64)  # a flag of the user's, which is not ours to change
        self.dtypes = DTYPES if precise else DTYPES[1:]

    def put(self, x, dtype):
        return self.jax.numpy.asarray(x, dtype=getattr(self.jax.numpy, dtype))

    def get(self, out):
        if not isinstance(out, self.jax.Array):
            raise TypeError(f"returns {type(out).__name__}, no JAX array")
        _require_floats(out.dtype, self.jax.numpy.issubdtype(out.dtype, self.jax.numpy.floating))
        return np.asarray(out.astype(self.jax.numpy.float32) if out.dtype.itemsize < 4 else out).astype(np.float64)

    def quiet(self):
        return nullcontext()


def _require_floats(dtype, are_floats):
    if not are_floats:
        raise TypeError(f"returns numbers of dtype {str(dtype).removeprefix('torch.')}, no floating-point ones")


def _library(name, function):
    """Return what puts arrays into a library and gets them out of it."""
    try:
        return {"numpy": _NumPy, "cupy": _CuPy, "jax": _Jax}[name]() if name != "torch" else _Torch(function)
    except ImportError:
        raise ValueError(f"library = {name!r}: is not installed") from None


def _candidates(function):
    """Return the libraries whose arrays the function may take: its own one, or NumPy and those that are loaded."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(function, torch.nn.Module):
        return ("torch",)
    own = _root(getattr(function, "__module__", None) or type(function).__module__)
    if own in LIBRARIES:
        return (own,)
    return ("numpy", *(name for name in LIBRARIES[1:] if name in sys.modules))


def _root(module):
    """Return the library that a module belongs to."""
    root = str(module).split(".")[0]
    return {"jaxlib": "jax"}.get(root, root)


def _shaped(x, layout):
    """Return rows (n, d), or (heads, n, d), in a layout with one batch."""
    if layout == "nd":
        return x
    heads = x if x.ndim == 3 else x[None]
    return heads[None] if layout == "bhnd" else heads.transpose(1, 0, 2)[None]


def _rows(out, layout):
    """Return the heads (h, n, d) of a layout's first batch."""
    if layout == "nd":
        return out[None]
    return out[0] if layout == "bhnd" else out[0].transpose(1, 0, 2)


class Attention:
    """An attention with all that is needed to call it on rows of float64.

    Attributes
    ----------
    function : callable
        What takes q, k and v.
    name : str
        What the card calls it.
    library, layout, dtype : str
        Which arrays it takes.
    width : int
        Width of queries, keys and values.
    length : int
        A number of tokens that it takes.
    budget : Budget
        Asked before each call.
    """

    def __init__(self, function, name, library, layout, dtype, width, length, budget):
        self.function, self.name, self.library, self.layout, self.dtype = function, name, library, layout, dtype
        self.width, self.length, self.budget = width, length, budget
        self._arrays, self._further = _library(library, function), {}

    @property
    def dtypes(self):
        """The dtypes of its library, the most precise one first."""
        return self._arrays.dtypes

    def __call__(self, q, k, v, dtype=None):
        """Return the outputs for rows of queries, keys and values, each of shape (n, width), as float64.

        Raises
        ------
        Misfit
            If it raises an error, or its output has another shape.
        Late
            If the time is spent, or too short for this call.
        """
        return self.heads(*(x[None] for x in (q, k, v)), dtype=dtype)[0]

    def heads(self, q, k, v, dtype=None):
        """Return the outputs of several heads at once, each argument of shape (heads, n, width)."""
        nd = self.layout == "nd"
        return _rows(self._called([_shaped(x[0] if nd else x, self.layout) for x in (q, k, v)], dtype), self.layout)

    def batches(self, q, k, v):
        """Return the outputs of a batch of prompts, each argument of shape (batch, n, width), the layout not nd."""
        heads = 1 if self.layout == "bhnd" else 2
        return self._called([np.expand_dims(x, heads) for x in (q, k, v)]).squeeze(heads)

    def _called(self, shaped, dtype=None):
        """Return what the function returns for arrays in its layout, if it is an array like them."""
        given = [self._arrays.put(np.ascontiguousarray(x), dtype or self.dtype) for x in shaped]
        return self._answer(given, shaped[0].shape[1 if self.layout == "bnhd" else -2])

    def _answer(self, given, tokens):
        """Return what the function returns for arrays of its library, if the time suffices for so many tokens."""
        self.budget.require(tokens)
        start = monotonic()
        try:
            with self._arrays.quiet(), np.errstate(all="ignore"):
                out = self.function(*given, **self._further)
        except (Exception, SystemExit) as error:
            raise Misfit(
                f"attention: raises {type(error).__name__} ({first_line(error)}) for q, k, v of shape "
                f"{tuple(given[0].shape)} and dtype {str(given[0].dtype).removeprefix('torch.')}{_needs(error)}"
            ) from error
        try:
            found = self._arrays.get(out)
        except TypeError as error:
            says = f"attention: {error}; it must return one array like v{_first_of(out)}"
            theirs = _root(type(out).__module__)
            raise Foreign(says, theirs) if theirs in LIBRARIES and theirs != self.library else Misfit(says) from None
        self.budget.note(tokens, monotonic() - start)
        if found.shape != tuple(given[2].shape):
            raise Misfit(
                f"attention: returns the shape {found.shape} for v of shape {tuple(given[2].shape)}; must be equal"
            )
        return found

    def require_untouched(self, q, k, v):
        """Raise a Misfit if a call changes one of its inputs, each of shape (n, width)."""
        given = [self._arrays.put(_shaped(x, self.layout), self.dtype) for x in (q, k, v)]
        kept = [self._arrays.get(x).copy() for x in given]
        self._answer(given, len(q))
        for which, before, after in zip("qkv", kept, given, strict=True):
            if not np.array_equal(before, self._arrays.get(after)):
                raise Misfit(f"attention: changes {which} in place; it must leave its inputs alone")

    def with_mask(self, name, keep):
        """Return this attention with a mask of Booleans, shape (n, n), as a further argument of this name."""
        masked = copy.copy(self)
        masked._further = {name: self._arrays.put(keep, "bool")}
        return masked


def _needs(error):
    """Return what an error shows that the attention must not need, or must take."""
    if "grad" in str(error):
        return "; it is called without gradients and must not need them"
    if isinstance(error, TypeError) and "argument" in str(error):
        return "; it is called as attention(q, k, v)"
    return ""


def _first_of(out):
    """Return what to do with a tuple of which one entry is the outputs."""
    if isinstance(out, tuple | list) and out:
        return ", such as lambda q, k, v: attention(q, k, v)[0]"
    return ""


def first_line(error):
    """Return the first line of an error's message that is not empty, shortened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return "no message"
    return lines[0].rstrip(".") if len(lines[0]) <= LONGEST else f"{lines[0][:LONGEST]} …"


def adapted(attention, *, name=None, library=None, layout=None, dtype=None, width, budget):
    """Find out how an attention is called, and whether it keeps the rules.

    Parameters
    ----------
    attention : callable
        Takes q, k and v, returns the outputs.
    name : str, optional
        What the card calls it; left out, its own name.
    library : str, optional
        numpy, cupy, torch or jax; left out, the library that it comes from, else the first that is loaded and works.
    layout : str, optional
        nd, bhnd or bnhd; left out, the only one in which it mixes tokens and leaves heads alone.
    dtype : str, optional
        float64, float32, float16 or bfloat16; left out, the most precise one that it takes.
    width : int
        Width of queries, keys and values.
    budget : Budget
        Asked before each call.

    Returns
    -------
    Attention

    Raises
    ------
    ValueError, TypeError
        If it is not callable, or breaks a rule; the message is one sentence that names the rule.

    Examples
    --------
    >>> adapted(lambda q, k, v: v, width=8, budget=Budget(9))
    Traceback (most recent call last):
    ...
    attnsep.reportcard._callables.Misfit: attention: its output for a token depends on no other token; it must mix them
    """
    if not callable(attention):
        raise TypeError(f"attention = {text_of(attention)}: must be a function of q, k and v")
    if isinstance(attention, type):
        raise TypeError(f"attention = {attention.__qualname__}: is a class; must be a function, or one of its objects")
    for what, given, choices in (
        ("library", library, LIBRARIES),
        ("layout", layout, LAYOUTS),
        ("dtype", dtype, DTYPES),
    ):
        if given is not None:
            require_choice(what, given, choices)
    name = name or getattr(attention, "__qualname__", None) or type(attention).__name__
    failures, found = {}, None
    candidates = list(_candidates(attention) if library is None else (library,))
    while candidates and found is None:
        arrays = candidates.pop(0)
        try:
            found = _in_library(attention, name, arrays, layout, dtype, width, budget)
        except Foreign as error:
            failures[arrays] = error
            if error.library in candidates:
                candidates = [error.library]
                failures.clear()
        except Misfit as error:
            failures[arrays] = error
    if found is None:
        meant = {arrays: error for arrays, error in failures.items() if not isinstance(error.__cause__, TypeError)}
        failures = meant or failures  # a TypeError says that other arrays are meant
        if len(set(map(str, failures.values()))) == 1:  # all libraries say the same, or there is one
            raise next(iter(failures.values()))
        raise Misfit("; ".join(f"with arrays of {arrays} the {error}" for arrays, error in failures.items()))
    budget.forget()
    found.require_untouched(*np.random.default_rng(1).standard_normal((3, found.length, width)))
    return found


def _in_library(function, name, library, layout, dtype, width, budget):
    """Return the attention in the first dtype and the only layout in which it works."""
    dtypes = _library(library, function).dtypes if dtype is None else (dtype,)
    failures = []
    for chosen, length in product(dtypes, LENGTHS):
        working = []
        for shape in LAYOUTS if layout is None else (layout,):
            tried = Attention(function, name, library, shape, chosen, width, length, budget)
            try:
                _require_mixing(tried)
                working.append(tried)
            except Final:
                raise
            except Misfit as error:
                failures.append(error)
            except Late as error:
                if not failures:
                    raise
                raise Late(str(_telling(failures))) from error
        if len(working) > 1 and working[0].layout != "nd":  # whoever takes plain rows takes them for tokens
            layouts = " and ".join(one.layout for one in working)
            raise Misfit(f"attention: mixes tokens in the layouts {layouts}; say which, layout=…")
        if working:
            return working[0]
    raise _telling(failures)


def _telling(failures):
    """Return the failure that tells most: one of our rules before an error of its own, the first layout first."""
    return min(failures, key=lambda error: error.__cause__ is not None)


def _require_mixing(attention):
    """Raise a Misfit unless outputs of one head depend on other tokens of it, and those of others on none of them."""
    rng = np.random.default_rng(0)
    heads = 1 if attention.layout == "nd" else 2
    q, k, v = rng.standard_normal((3, heads, attention.length, attention.width))
    q = q / np.sqrt(attention.width)
    before, mixes = attention.heads(q, k, v), False
    same = max(SAME, 8 * SPACINGS[attention.dtype]) * np.abs(before).max()
    if not np.isfinite(before).all():
        raise Misfit("attention: returns NaN or inf for standard normal q, k and v; its outputs must be finite")
    if np.abs(attention.heads(q, k, v) - before).max() > same:
        raise Final(
            "attention: answers equal inputs differently; it must not draw anything anew: "
            "switch off dropout (.eval()), and keep random features"
        )
    for row in np.linspace(0, attention.length - 1, ROWS).astype(int):
        changed = v.copy()
        changed[0, np.arange(attention.length) != row] += 1
        moved = np.abs(attention.heads(q, k, changed) - before).max(axis=2) > 1e-6
        if moved[1:].any():
            raise Misfit("attention: its output for a head depends on another head; it must keep heads apart")
        mixes |= bool(moved[0, row])
    if not mixes:
        raise Misfit("attention: its output for a token depends on no other token; it must mix them")
