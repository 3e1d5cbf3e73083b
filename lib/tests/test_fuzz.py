"""Every public function meets at least a fixed number of inputs, most of them with something bad in them."""

import importlib
import inspect
import json
import math
import pkgutil
from fractions import Fraction
from itertools import product

import array_api_compat
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import attnsep
from attnsep import arrays, checks, figures
from attnsep.arrays import to_numpy
from attnsep.attention import attend, kernels, reference
from attnsep.bench import cost, measure
from attnsep.claims import the_cards_words
from attnsep.extensions import (
    any_readout,
    break_conditions,
    golden_ratio,
    limitations,
    mechanisms,
    recall,
    scaling,
    sensitivity,
    where_linear_wins,
    which_attentions,
)
from attnsep.learn import model, table, tasks
from attnsep.ledger import framework, graph, record, tables
from attnsep.paper import gains, network, one_query, tokens
from attnsep.probability import intervals, sign_sums
from lib.tests.fuzzing import ENTRIES, SETTINGS, attempt, drawn, fuzz, hurry, name_of, number, spoiled, strict

pytestmark = pytest.mark.usefixtures("nothing_set")

# What good arguments are made of


def some(*values):
    return st.sampled_from(values)


SEED = st.integers(0, 2**32 - 1)
RNG = SEED.map(np.random.default_rng)
POSITIVE = st.one_of(st.floats(1e-3, 50), some(1, 3, Fraction(1, 3), np.float64(0.5), 1e-300, 1e300, 5e-324))
STRENGTH = st.one_of(
    st.floats(0, 4), some(0, 1, "0.7", "0.05", Fraction(2, 3), 1e-300, np.float64(0.5), "1e-900", 100, "1e300")
)
SHARE = st.one_of(st.floats(0.01, 0.99), some("0.5", Fraction(1, 3), "1e-30", 1 - 2**-53, "0.9"))
GAP = some(0.1, "0.1", 0, 1, Fraction(1, 7), "1e-200", 1e200)
PAIR = some("softmax", "linear")
COLUMNS = some(1, 2, 7, 1000, 10**300, np.int64(5))
FIXED = [name for name, kernel in kernels.KERNELS.items() if not kernel.usage().startswith(f"{name}:")]
KERNEL = st.sampled_from(
    [
        *FIXED,
        "softmax:2",
        "softmax:1/8",
        "polynomial:3",
        "polynomial:2",
        "topk:1",
        "topk:3",
        "window:1",
        "performer:4",
        kernels.TopK(2),
    ]
)
WITH_LAW = KERNEL.filter(gains.has_gain)
XP = st.sampled_from([None, np, arrays.namespace("numpy"), arrays.namespace("array_api_strict")])
LARGEST = 2**1000


@st.composite
def sizes(draw, most_d=8, most_t=4, huge=True):
    d = draw(st.integers(3, most_d))
    t = draw(st.integers(1 if d > 3 else 2, most_t))
    if huge and draw(st.integers(0, 4)) == 0:
        d, t = draw(some((d, 10**3), (d, 10**15), (d, 10**290), (10**4, 1), (10**7, 1), (10**290, 2)))
    return {"n": (d - 2) * t, "d": d}


@st.composite
def token_data(draw, most_t=4, huge=True):
    made = draw(sizes(most_t=most_t, huge=huge))
    marked = draw(st.integers(0, min(made["n"], 40) - 1))
    return tokens.TokenData(**made, a=draw(STRENGTH), c=draw(SHARE), gap=draw(GAP), marked=draw(some(0, marked)))


@st.composite
def query_data(draw):
    n, low = draw(st.integers(2, 12)), draw(st.floats(0.1, 3))
    spike = draw(some(None, 0.1, 2.0, 1e3))
    return one_query.QueryData(
        n=n,
        low=low,
        high=low + draw(st.floats(0, 3)),
        spike=spike,
        position=draw(st.integers(0, n - 1)),
        d=draw(st.integers(1, 5)),
    )


@st.composite
def matrices(draw, *shapes, scale=1.0, **lengths):
    """Draw real matrices of these shapes, lengths by letters, on one library and in one dtype."""
    rng = np.random.default_rng(draw(SEED))
    size = {letter: draw(st.integers(1, 6)) for letter in "nmdkr"}
    kind, place = draw(some(np.float64, np.float64, np.float32)), draw(some(np.asarray, np.asarray, strict))
    scale = scale * draw(some(1.0, 1.0, 1e-30, 30.0, 0.0))
    made = {}
    for name, shape in shapes:
        values = rng.standard_normal([size[letter] for letter in shape])
        made[name] = place((scale * (np.sign(values) if draw(some(0, 0, 1)) else values)).astype(kind))
    return made


# Checks that several functions share


def probability(result):
    assert isinstance(result, float)
    assert 0 <= result <= 1


def interval(result):
    low, high = result
    assert 0 <= low <= high <= 1


def rows_sum_to_one(result, scores):
    f, given = to_numpy(result), to_numpy(scores)
    assert f.shape == given.shape
    assert f.dtype == given.dtype
    assert np.all(np.isfinite(f))
    size = np.sum(np.abs(f), axis=-1)
    assert np.all(np.abs(np.sum(f, axis=-1) - 1) <= 64 * np.finfo(f.dtype).eps * f.shape[-1] * size)


def grows_with_the_score(result, scores):
    rows_sum_to_one(result, scores)
    f, s = to_numpy(result), to_numpy(scores)
    assert np.all((f >= 0) & (f <= 1 + 1e-6))
    order = np.argsort(s, axis=-1, kind="stable")
    assert np.all(np.diff(np.take_along_axis(f, order, axis=-1), axis=-1) >= -1e-6)


def near(result, wanted, tolerance=1e-9):
    assert math.isclose(result, wanted, rel_tol=tolerance, abs_tol=1e-300), (result, wanted)


def brute(A, kernel, tau):
    """Return bounds of the share of all sign columns that exceed τ in some row of the attention output."""
    rows = attend.values(A, A, A, np.ones((A.shape[1],) * 2), kernel)
    signs = np.array(list(product((1, -1), repeat=A.shape[1]))).T
    largest = np.max(rows @ signs, axis=0)
    slack = 1e-9 * (tau + np.max(np.sum(np.abs(rows), axis=1)))
    return float(np.mean(largest > tau + slack)), float(np.mean(largest > tau - slack))


def like_matrices(result, found, kernel):
    """Check π against all sign columns of real matrices, where they are small and no score is far out."""
    probability(result)
    if found.n <= 40 and found.d <= 8 and found.a <= 10 and found.gap < 10 and kernel in kernels.PAIR:
        low, high = brute(found.matrix(np), kernel, found.tau)
        assert low - 1e-12 <= result <= high + 1e-12


# arrays


@fuzz(arrays.namespace, backend=some("numpy", "array_api_strict", "auto", None))
def _(result, backend):
    assert float(result.sum(result.asarray([1.0, 2.0]))) == 3


@fuzz(arrays.backend_name, xp=XP.filter(lambda xp: xp is not None))
def _(result, xp):
    assert result in arrays.BACKENDS


@fuzz(arrays.common_namespace, matrices(("A", "nd"), ("x", "d")))
def _(result, A, x):
    if A.ndim == 2 and A.shape[1:] == x.shape and A.dtype == x.dtype:
        with np.errstate(all="ignore"):
            assert result.matmul(A, x) is not None


ARRAYS = [x for x in spoiled(np.ones((2, 3))) if isinstance(x, np.ndarray)]
SPOILED = st.sampled_from([x for x in ARRAYS if type(x) is np.ndarray])  # as `common_namespace` lets them through


@fuzz(checks.require_floating, A=SPOILED, xp=st.just(np), kept={"A", "xp"})
def _(result, A, xp):
    assert A.dtype in (np.float64, np.float32)


@fuzz(
    checks.require_finite,
    result=SPOILED.filter(lambda x: x.dtype != object),
    xp=st.just(np),
    names=st.just("result"),
    kept={"result", "xp", "names"},
)
def _(found, result, xp, names):
    assert found is result
    assert np.all(np.isfinite(result))


@fuzz(checks.require_plain, name=st.just("array"), array=st.sampled_from(ARRAYS), kept={"name", "array"})
def _(found, name, array):
    assert found is None
    assert type(array) in (np.ndarray, np.memmap)


@fuzz(
    checks.require_shape,
    name=st.just("array"),
    array=SPOILED,
    shape=some((2, 3), ("n", 3)),
    kept={"name", "array", "shape"},
)
def _(result, name, array, shape):
    assert array.shape == (2, 3) or shape == ("n", 3) == ("n", array.shape[1])


@fuzz(arrays.given_namespace, xp=XP)
def _(result, xp):
    assert result.float64


@fuzz(
    checks.require_choice,
    name=st.just("value"),
    value=some("row", "column"),
    choices=st.just(("row", "column")),
    kept={"name", "choices"},
)
def _(result, name, value, choices):
    assert result == value in choices


@fuzz(arrays.require_real_dtype, xp=XP.filter(lambda xp: xp is not None), dtype=some(None), kept={"xp"})
def _(result, xp, dtype):
    assert xp.isdtype(result, "real floating")


@fuzz(checks.text_of, value=some(1, "x"))
def _(result, value):
    assert isinstance(result, str)


@fuzz(arrays.to_numpy, matrices(("array", "nd")), passes_nan=True)
def _(result, array):
    assert isinstance(result, np.ndarray)


# data


@fuzz(checks.require_integer, name=st.just("value"), value=st.integers(), least=some(-5, 0, 1), kept={"name", "least"})
def _(result, name, value, least):
    assert type(result) is int
    assert result == value >= least


@fuzz(checks.require_positive, name=st.just("value"), value=POSITIVE, kept={"name"})
def _(result, name, value):
    assert type(result) is float
    assert 0 < result < math.inf
    near(result, float(value))


@fuzz(checks.require_generator, rng=RNG)
def _(result, rng):
    assert isinstance(rng, np.random.Generator)


@fuzz(
    checks.require_decimal,
    name=st.just("value"),
    value=st.one_of(STRENGTH, st.floats(0, 1e300)),
    least=some(0, 1),
    kept={"name", "least"},
)
def _(result, name, value, least):
    assert isinstance(result, Fraction)
    assert least <= result == number(value) <= 10**300


@fuzz(
    one_query.QueryData,
    n=some(2, 3, 10**6, 10**300),
    low=some(0.1, 1),
    high=some(1.0, 2, 700.0),
    spike=some(None, 1.0, 1e300),
    position=some(0, 1),
    d=some(1, 8),
)
def _(result, **given):
    assert 0 < result.low <= result.high < math.inf
    assert result.position < result.n
    assert result.spike is None or 0 < result.spike_score < math.inf


@fuzz(
    one_query.QueryData.scores, self=query_data(), rng=RNG, fill=some("uniform", "low", "high", "one-low", "one-high")
)
def _(result, self, rng, fill):
    others = np.delete(result, self.position) if self.spike is not None else result
    assert np.all((self.low <= others) & (others <= self.high))
    assert self.spike is None or result[self.position] == self.spike_score


@fuzz(one_query.QueryData.matrix, self=query_data(), rng=RNG, scores=some(None, np.arange(2.0)), xp=XP)
def _(result, self, rng, scores, xp):
    A, x = map(to_numpy, result)
    assert A.shape == (self.n, self.d)
    assert np.all(np.isfinite(A @ x))


@fuzz(tokens.TokenData, sizes(), a=STRENGTH, c=SHARE, gap=GAP, marked=some(0, 1))
def _(result, **given):
    assert result.n == (result.d - 2) * result.t
    assert result.b + result.c == 1 > result.c > 0
    assert (result.a, result.c, result.gap) == tuple(number(given[name]) for name in ("a", "c", "gap"))
    assert 0 <= result.tau < math.inf
    assert 0 <= result.marked_class < result.d - 2


@fuzz(tokens.TokenData.classes, self=token_data(huge=False), xp=XP)
def _(result, self, xp):
    assert np.bincount(to_numpy(result)).tolist() == [self.t] * (self.d - 2)


@fuzz(tokens.TokenData.matrix, self=token_data(huge=False), xp=XP, dtype=some(None))
def _(result, self, xp, dtype):
    A, root = to_numpy(result), math.sqrt(self.log_n)
    assert A.shape == (self.n, self.d)
    assert np.all(np.isfinite(A))
    assert np.allclose(A[:, 1:-1].sum(axis=1), float(self.b) * root)
    assert np.count_nonzero(A[:, 0]) == (float(self.a) * root > 0)


@fuzz(tokens.TokenData.X, self=token_data(huge=False), xp=XP, dtype=some(None))
def _(result, self, xp, dtype):
    assert np.all(to_numpy(result) == np.ones((self.d, self.d)))


@fuzz(checks.require_real, name=st.just("value"), value=st.floats(-1e308, 1e308), kept={"name"})
def _(result, name, value):
    assert type(result) is float
    assert result == float(value)


@fuzz(
    checks.require_instance,
    name=st.just("value"),
    value=token_data(),
    kind=st.just(tokens.TokenData),
    kept={"name", "kind"},
)
def _(result, name, value, kind):
    assert type(result) is kind


@fuzz(checks.require_items, name=st.just("value"), value=some([], (1, 2)), kept={"name"}, passes_nan=True)
def _(result, name, value):
    assert len(result) == len(value)


@fuzz(checks.require_size, n=st.integers(0, 10**4), d=st.integers(0, 10**4), kept={"n", "d"})
def _(result, n, d):
    assert n * d <= 10**8


@fuzz(checks.shown_integer, value=st.integers(-(10**9), 10**9), kept={"value"})
def _(result, value):
    assert result


# spec


@fuzz(kernels.require_kernel, kernel=KERNEL)
def _(result, kernel):
    assert result == kernels.Kernel.parse(str(result))
    assert str(result).partition(":")[0] == str(kernel).partition(":")[0]


@fuzz(kernels.require_pair, kernel=PAIR)
def _(result, kernel):
    assert result == kernel in kernels.PAIR


# kernels: each class is made with its parameter, and has its weights

SCORES = matrices(("scores", "rn"))
ROWS = matrices(("q", "nd"), ("k", "nd"))


def each_query_has_weights(result, q, k, self, positions):
    assert result.shape == (q.shape[0], k.shape[0])
    assert np.all(to_numpy(result) >= 0)
    assert np.allclose(np.sum(to_numpy(result), axis=1), 1, rtol=1e-4)


IN_PROPORTION = ("softmax", "sigmoid", "hard", "sparsemax", "entmax", "squared-relu")
for _name, _kernel in kernels.KERNELS.items():
    _parameter = {"beta": some(2, "0.5")} if _name == "softmax" else {}
    if ":" in (_usage := _kernel.usage()) and not _parameter:
        _parameter = {_usage.partition(":")[2]: some(1, 2, 3, 10**6, np.int64(2))}
    fuzz(_kernel, **_parameter)(lambda result, **parameter: result == kernels.Kernel.parse(str(result)))
    _made = st.sampled_from([_kernel(1) if _parameter else _kernel()])
    if issubclass(_kernel, kernels.OfScores):
        _check = grows_with_the_score if _name in IN_PROPORTION else rows_sum_to_one
        fuzz(_kernel.weights, SCORES, self=_made)(lambda result, scores, self, check=_check: check(result, scores))
    elif "weights" in vars(_kernel):
        fuzz(_kernel.weights, ROWS, self=_made, positions=st.none())(each_query_has_weights)


@fuzz(kernels.FeatureMap.weights, ROWS, self=some(kernels.Elu(), kernels.Relu()), positions=st.none())
def _(result, q, k, self, positions):
    each_query_has_weights(result, q, k, self, positions)


for _kernel in (kernels.softmax, kernels.linear):
    fuzz(_kernel, SCORES)(rows_sum_to_one)


@fuzz(kernels.weights, SCORES, kernel=KERNEL)
def _(result, scores, kernel):
    rows_sum_to_one(result, scores)


# attention


@fuzz(attend.query_scores, matrices(("A", "nd"), ("x", "d")))
def _(result, A, x):
    assert np.allclose(to_numpy(result), to_numpy(A) @ to_numpy(x), rtol=1e-4)


@fuzz(attend.row_scores, matrices(("A1", "nd"), ("A2", "nd"), ("X", "dd")))
def _(result, A1, A2, X):
    assert np.allclose(
        to_numpy(result),
        to_numpy(A1) @ to_numpy(X) @ to_numpy(A2).T,
        rtol=1e-3,
        atol=1e-3 * np.max(np.abs(to_numpy(result))),
    )


def between_the_values(result, v, signed):
    c, v = to_numpy(result), to_numpy(v)
    assert c.shape[1] == v.shape[1]
    if not signed and v.size:
        size = 1e-5 * np.max(np.abs(v))
        assert np.all((np.min(v, axis=0) - size <= c) & (c <= np.max(v, axis=0) + size))


@fuzz(
    attend.attend,
    matrices(("q", "rd"), ("k", "nd"), ("v", "nm")),
    kernel=KERNEL,
    unique=some(True, False),
    scale=some(1.0, 0.5, "0.1", Fraction(1, 3)),
    cancellation=some(False, False, True),
    rng=st.one_of(st.none(), st.none(), RNG),
)
def _(result, q, k, v, kernel, scale, unique, cancellation, rng):
    output = result[0] if cancellation else result
    assert np.all(np.isfinite(to_numpy(output)))
    between_the_values(output, v, signed=kernel in ("linear", "polynomial:3"))


@fuzz(attend.distinct_rows, matrices(("q", "rd")), passes_nan=True)
def _(result, q):
    distinct, place = map(to_numpy, (result[0], q if result[1] is None else result[1]))
    assert np.array_equal(distinct if result[1] is None else distinct[place], to_numpy(q), equal_nan=True)


@fuzz(
    attend.values,
    matrices(("A1", "nd"), ("A2", "nd"), ("A3", "nd"), ("X", "dd")),
    kernel=KERNEL,
    rng=st.one_of(st.none(), st.none(), RNG),
)
def _(result, A1, A2, A3, X, kernel, rng):
    between_the_values(result, A3, signed=kernel in ("linear", "polynomial:3"))


# network


@fuzz(network.signs, rng=RNG, n=st.integers(1, 5), m=st.integers(1, 5), xp=XP)
def _(result, rng, n, m, xp):
    assert to_numpy(result).shape == (n, m)
    assert np.all(np.abs(to_numpy(result)) == 1)


@fuzz(network.relu, matrices(("z", "nd")), passes_nan=True)
def _(result, z):
    assert np.array_equal(to_numpy(result), np.clip(to_numpy(z), 0, None), equal_nan=True)


@fuzz(network.shifted_relu, matrices(("z", "nd")), tau=some(0, 0.5, -1.5, Fraction(1, 3)), passes_nan=True)
def _(result, z, tau):
    with np.errstate(over="ignore"):  # where float32 cannot hold this τ
        wanted = np.clip(to_numpy(z) - float(tau), 0, None)
    assert np.allclose(to_numpy(result), wanted, equal_nan=True)


def by_hand(f, y, tau):
    f = np.atleast_2d(to_numpy(f)).astype(np.float64)
    with np.errstate(invalid="ignore"):  # an infinite product may be below τ
        return np.sum(np.clip(f @ to_numpy(y).astype(np.float64) - float(tau), 0, None))


@fuzz(network.network, matrices(("f", "rn"), ("y", "nm")), tau=some(0, 0.5, -1.5, Fraction(1, 3)))
def _(result, f, y, tau):
    assert np.allclose(float(result), by_hand(f, y, tau), rtol=1e-4, atol=1e-4)


@fuzz(network.fires, matrices(("f", "rn"), ("y", "nm")), tau=some(0, 0.5, -1.5, Fraction(1, 3)))
def _(result, f, y, tau):
    sizes = [np.max(np.abs(to_numpy(x)), initial=0) for x in (f, y)]
    size = 1e-4 * (float(abs(tau)) + float(sizes[0]) * float(sizes[1])) + 1e-37  # float32 has no smaller ones
    assert result == (by_hand(f, y, tau) > 0) or by_hand(f, y, tau) < size


# bounds

N = some(2, 3, 100, 10**6, 10**300)
LOW, HIGH, SPIKE = some(0.1, 1, Fraction(1, 3), 1e-300), some(1.0, 2, 700.0, 1e300), some(0.1, 2, 4.0, 1e300)


@fuzz(one_query.softmax_flat, n=N, low=LOW, high=HIGH)
def _(result, n, low, high):
    assert 0 <= result[0] <= float(Fraction(1, n)) <= result[1]


@fuzz(one_query.linear_flat, n=N, low=LOW, high=HIGH)
def _(result, n, low, high):
    assert 0 <= result[0] <= float(Fraction(1, n)) * (1 + 1e-15) <= result[1] * (1 + 2e-15)


@fuzz(one_query.softmax_spike, n=N, high=HIGH, spike=SPIKE)
def _(result, n, high, spike):
    assert 0 <= result[0] <= 1
    assert result[1] >= 0


@fuzz(one_query.linear_spike, n=N, low=LOW, high=HIGH, spike=SPIKE)
def _(result, n, low, high, spike):
    assert 0 <= result[0] <= 1
    assert result[1] >= 0


@fuzz(
    one_query.spike_weight,
    log_n=some(0.7, 1, 690.0, 1e6, Fraction(7, 3)),
    other=some(0, 0.5, -3.0, 700.0, 1e300),
    spike=some(0, 0.5, 2, -1.0, 1e200),
)
def _(result, log_n, other, spike):
    probability(result)


@fuzz(sign_sums.hoeffding, s=POSITIVE, norm_squared=POSITIVE)
def _(result, s, norm_squared):
    probability(result)
    assert sign_sums.hoeffding(min(2 * float(s), 1e300), norm_squared) <= result or float(s) >= 1e300


@fuzz(one_query.softmax_flat_column, n=N, low=LOW, high=HIGH, s=POSITIVE)
def _(result, n, low, high, s):
    probability(result)


@fuzz(one_query.linear_flat_column, n=N, low=LOW, high=HIGH, s=POSITIVE)
def _(result, n, low, high, s):
    probability(result)


@fuzz(one_query.linear_spike_norm, n=N, low=LOW, high=HIGH, spike=SPIKE)
def _(result, n, low, high, spike):
    assert result >= 0


@fuzz(one_query.linear_spike_column, n=N, low=LOW, high=HIGH, spike=SPIKE, s=POSITIVE)
def _(result, n, low, high, spike, s):
    probability(result)


@fuzz(one_query.query_errors_bound, n=N, m=COLUMNS, tau=POSITIVE, low=LOW, high=HIGH, spike=SPIKE)
def _(result, n, m, tau, low, high, spike):
    assert all(error >= 0 for error in result)


@fuzz(checks.require_probability, name=st.just("value"), value=SHARE, kept={"name"})
def _(result, name, value):
    assert 0 < result == Fraction(value) < 1


@fuzz(one_query.columns_needed, delta=SHARE)
def _(result, delta):
    assert Fraction(1, 2**result) <= Fraction(delta) < Fraction(2, 2**result)


@fuzz(
    one_query.query_sizes_bound,
    delta=some("0.4", 0.5, Fraction(1, 3)),
    tau=some("0.5", 0.7),
    low=some(1, 1.0),
    high=some(1.0, 1.5),
    spike=some(4, 6.0),
    n_max=some(1000, 2000),
    about_several=True,
)
def _(result, delta, tau, n_max, **given):
    n, m = result
    assert max(one_query.query_errors_bound(n, m, float(number(tau)), **given)) <= number(delta)


# exact

RATIONAL = some(0, 1, -2, "0.5", "1/3", Fraction(3, 7), "1e-300", np.int64(3))
REAL = st.one_of(RATIONAL, st.floats(-3, 3))
WEIGHTS = st.lists(RATIONAL, max_size=6)


@fuzz(sign_sums.sum_law, weights=WEIGHTS)
def _(result, weights):
    assert sum(result.values()) == 2 ** len(weights)
    assert all(result[-value] == count for value, count in result.items())


@fuzz(sign_sums.tail, weights=WEIGHTS, s=RATIONAL, strict=some(True, False))
def _(result, weights, s, strict):
    exact_weights = [number(w) for w in weights]
    sums = [
        sum(w * y for w, y in zip(exact_weights, signs, strict=True)) for signs in product((1, -1), repeat=len(weights))
    ]
    assert result == Fraction(sum(x > number(s) or (x == number(s) and not strict) for x in sums), len(sums))


@fuzz(sign_sums.binomial_tail, n=some(0, 1, 10, 999, 1001, 10**6), r=some(-3, 0, 1, 5, 500, 10**6), p=SHARE)
def _(result, n, r, p):
    probability(result)
    if n <= 10:
        p = Fraction(p)
        n, r = int(n), int(r)
        near(result, float(sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(r, 0), n + 1))))


@fuzz(sign_sums.clopper_pearson, hits=some(0, 1, 10, 50), draws=some(10, 50, 100), alarm=some("0.05", 1e-9, 0.5))
def _(result, hits, draws, alarm):
    interval(result)
    assert result[0] <= hits / draws <= result[1]


@fuzz(sign_sums.column_probability, groups=st.lists(st.tuples(REAL, st.integers(0, 5)), max_size=3), threshold=REAL)
def _(result, groups, threshold):
    probability(result)


@fuzz(one_query.query_fires_probability, f_marked=REAL, f_other=REAL, n=some(2, 3, 100), m=COLUMNS, tau=REAL)
def _(result, f_marked, f_other, n, m, tau):
    probability(result)
    one = one_query.query_fires_probability(f_marked, f_other, n, 1, tau)
    near(result, sign_sums.fires_probability(one, m))


PI = st.one_of(st.floats(0, 1), some(0, 1, 1e-300, 5e-324, 1 - 2**-53, Fraction(1, 3)))


@fuzz(sign_sums.fires_probability, pi=PI, m=COLUMNS)
def _(result, pi, m):
    assert 0 <= pi * (1 - 1e-12) <= result <= 1


@fuzz(sign_sums.silent_probability, pi=PI, m=COLUMNS)
def _(result, pi, m):
    assert 0 <= result <= 1
    assert math.isclose(result + sign_sums.fires_probability(pi, m), 1, rel_tol=1e-9)


@fuzz(
    one_query.query_errors_exact,
    n=some(2, 3, 30),
    m=COLUMNS,
    tau=some("0.5", 0.9, 0, -1, 2.0),
    low=LOW,
    high=some(1.0, 2, 30.0),
    spike=some(0.1, 2, 4.0),
    shape=some("flat", "extreme"),
    about_several=True,
)
def _(result, **given):
    assert all(0 <= error <= 1 for error in result)


@fuzz(
    one_query.query_sizes_exact,
    delta=some("0.1", 0.5, Fraction(1, 3)),
    tau=some("0.5", 0.9),
    low=some(1, 1.0),
    high=some(1.0, 1.5),
    spike=some(4, 6.0),
    shape=some("flat", "extreme"),
    n_max=some(10, 60),
    about_several=True,
)
def _(result, delta, tau, low, high, spike, shape, n_max):
    assert max(one_query.query_errors_exact(*result, tau, low, high, spike, shape)) <= number(delta) * (
        1 + Fraction(1, 10**9)
    )


@fuzz(one_query.worst_scores, n=some(1, 2, 9, 1000), low=some(0.1, 1), high=some(1, 2.5), marked=some(0.0, 3.0))
def _(result, n, low, high, marked):
    (first, fewer), (second, more) = result
    assert (first, second) == (low, high)
    assert fewer + more == n


# gains


@fuzz(gains.has_gain, kernel=KERNEL)
def _(result, kernel):
    assert result == (kernels.require_kernel(kernel).name in gains.GAINS)


@fuzz(gains.gains, n=some(2, 16, 10**6, 10**300), a=STRENGTH, kernel=WITH_LAW, d=some(3, 10, 10**6))
def _(result, n, a, kernel, d):
    for R in result:
        shares = R.shares(Fraction(n - 1))
        assert all(0 <= share <= 1 for share in shares)
        near(sum(shares), 1)


@st.composite
def gain(draw):
    kernel = draw(st.sampled_from(["softmax", "linear", "sigmoid", "elu+1", "polynomial:3", "entmax", "sparsemax"]))
    return draw(
        st.sampled_from(gains.gains(draw(some(2, 16, 10**6)), draw(some(0, "0.01", "0.5", 1, "0.7")), kernel, d=5))
    )


def with_kind(kind):
    return gain().filter(lambda R: isinstance(R, kind))


for _kind in (gains.Power, gains.SigmoidRatio, gains.LogGain):

    @fuzz(_kind.enclosure, self=with_kind(_kind), digits=some(20, 50, 200), kept={"digits"})
    def _(result, self, digits):
        assert 0 < result[0] <= result[1]

    @fuzz(_kind.rational, self=with_kind(_kind))
    def _(result, self):
        if result is not None:
            low, high = self.enclosure(50)
            assert low <= result <= high

    @fuzz(_kind.shares, self=with_kind(_kind), rest=some(1, Fraction(1, 3), 10**300))
    def _(result, self, rest):
        near(sum(result), 1)


@fuzz(gains.Infinite.shares, self=st.just(gains.Infinite()), rest=some(1, 10**300))
def _(result, self, rest):
    assert result == (1.0, 0.0)


@fuzz(gains.log_enclosure, n=some(2, 10, 10**300), digits=some(20, 50), kept={"n", "digits"})
def _(result, n, digits):
    near(float(result[0]), math.log(n))


SLOPE = st.fractions(-50, 50, max_denominator=40)


@fuzz(
    gains.floor_linear, shift=SLOPE, slope=SLOPE, R=gain(), top=st.integers(0, 40), kept={"shift", "slope", "R", "top"}
)
def _(result, shift, slope, R, top):
    assert -1 <= result <= top
    if not isinstance(R, gains.Infinite):
        low, high = (shift + slope * Fraction(end) for end in R.enclosure(60))
        low, high = sorted((low, high))
        assert max(-1, min(top, math.floor(low))) <= result <= max(-1, min(top, math.floor(high)))


@fuzz(
    gains.lowest_floor,
    shift=SLOPE,
    slope=SLOPE,
    rows=st.tuples(gain()).map(lambda one: one * 2),
    top=st.integers(0, 40),
    kept={"shift", "slope", "rows", "top"},
)
def _(result, shift, slope, rows, top):
    assert result == min(gains.floor_linear(shift, slope, R, top) for R in rows)


@fuzz(gains.logistic, z=st.floats(-1e308, 1e308), kept={"z"})
def _(result, z):
    probability(result)
    near(result + gains.logistic(-z), 1)


# tokens


LAW = {"a": STRENGTH, "c": SHARE, "kernel": WITH_LAW, "gap": GAP}


@fuzz(tokens.weights, n=some(2, 16, 10**6, 10**300), a=STRENGTH, kernel=WITH_LAW, d=some(3, 10))
def _(result, n, a, kernel, d):
    assert all(0 <= w <= 1 for w in result)
    near(result.p + result.not_p, 1)
    near(result.q + result.not_q, 1)


@fuzz(tokens.seen, data=token_data(), kernel=WITH_LAW)
def _(result, data, kernel):
    assert result.own + sum(size * count for size, count in result.others) == result.tokens


@fuzz(tokens.values_closed, sizes(), a=STRENGTH, c=SHARE, kernel=WITH_LAW)
def _(result, n, d, a, c, kernel):
    root = math.sqrt(math.log(n))
    for row in result:
        assert all(math.isfinite(x) and x >= 0 for x in row)
        near(row.last, float(number(c)) * root)
        near(row.own + (d - 3) * row.others, float(1 - number(c)) * root)


@fuzz(tokens.column_probability, sizes(), **LAW)
def _(result, n, d, a, c, kernel, gap):
    like_matrices(result, tokens.TokenData(n=n, d=d, a=a, c=c, gap=gap), kernel)


LAW_PARTS = {"data", "rows", "sight", "y_first", "y_own", "y_last", "found"}


@st.composite
def law_parts(draw, *more):
    found, kernel = draw(token_data()), draw(WITH_LAW.filter(lambda kernel: not str(kernel).startswith("topk")))
    rows = draw(st.just(0).map(lambda _: _gains_or_none(found, kernel)))
    if rows is None:
        kernel, rows = "linear", gains.gains(found.n, found.a, "linear")
    made = {"data": found, "rows": rows, "sight": tokens.seen(found, kernel)}
    if "found" in more:
        made["found"] = tokens.weights(found.n, found.a, kernel, d=found.d)
    if "signs" in more:
        made |= {name: draw(some(1, -1)) for name in ("y_first", "y_own", "y_last")}
    return made


def _gains_or_none(found, kernel):
    try:
        return gains.gains(found.n, found.a, kernel, d=found.d)
    except ValueError:
        return None


@fuzz(tokens.class_law, law_parts(), kept=LAW_PARTS)
def _(result, data, rows, sight):
    probability(result)


@fuzz(tokens.class_floor, law_parts("signs"), kept=LAW_PARTS)
def _(result, sight, **given):
    assert -sight.tokens - 1 <= result <= sight.tokens


@fuzz(
    tokens.least_plus,
    law_parts("signs").map(lambda made: {k: v for k, v in made.items() if k != "sight"}),
    kept=LAW_PARTS,
)
def _(result, data, **given):
    assert 0 <= result <= data.d - 2


@fuzz(tokens.class_bound, law_parts("found"), kept=LAW_PARTS)
def _(result, data, rows, sight, found):
    probability(result)
    assert data.d > tokens.MOST_WIDTH or result >= tokens.class_law(data, rows, sight) - 1e-12


@st.composite
def drawn_instance(draw):
    found = draw(token_data().filter(lambda data: data.d <= 1000))
    return {"data": found, "y": network.signs(draw(RNG), found.d, draw(st.integers(1, 6)), np)}


@fuzz(tokens.instance_fires, drawn_instance(), kernel=WITH_LAW)
def _(result, y, data, kernel):
    assert isinstance(result, bool)


@fuzz(tokens.fires_probability, sizes(), m=COLUMNS, **LAW)
def _(result, n, d, m, **given):
    probability(result)
    near(result, sign_sums.fires_probability(tokens.column_probability(n, d, **given), m))


def bounds_hold(result, law, d, **given):
    interval(result)
    if d <= tokens.MOST_WIDTH:
        assert result[0] - 1e-12 <= law(d=d, **given) <= result[1] + 1e-12


@fuzz(tokens.column_bounds, sizes(), **LAW)
def _(result, **given):
    bounds_hold(result, tokens.column_probability, **given)


@fuzz(tokens.kernel_bounds, sizes(), **LAW)
def _(result, **given):
    bounds_hold(result, tokens.column_probability, **given)


@fuzz(tokens.fires_bounds, sizes(), m=COLUMNS, **LAW)
def _(result, **given):
    bounds_hold(result, tokens.fires_probability, **given)


@fuzz(tokens.errors, sizes(), m=COLUMNS, a0=STRENGTH, a1=STRENGTH, c=SHARE, gap=GAP, by=some("exact", "bound"))
def _(result, **given):
    assert all(0 <= error <= 1 for error in result)
    near(
        result.softmax_silent_on_d1 + 1,
        2 - tokens.fires_probability(*(given[x] for x in ("n", "d", "m", "a1", "c")), gap=given["gap"]),
    ) if given["by"] == "exact" else None


@fuzz(
    tokens.sizes,
    delta=some("0.1", 0.4, Fraction(1, 3)),
    a0=some(0.05, "0.1", 0),
    a1=some(0.7, "1.5"),
    c=some("0.5", 0.9),
    t=some(1, 2),
    gap=some(0.1, "0.2"),
    by=some("exact", "bound"),
    d_max=some(20, 60),
    about_several=True,
)
def _(result, delta, a0, a1, c, t, gap, by, d_max):
    n, d, m = result
    assert n == (d - 2) * int(t)
    assert d <= d_max
    assert max(tokens.errors(n, d, m, a0, a1, c, gap, by=by)) <= number(delta) * (1 + Fraction(1, 10**9))


# sampling


@fuzz(
    which_attentions.fired_networks,
    sizes(huge=False),
    rng=RNG,
    m=some(1, 3),
    a=some(0, "0.7", 2, 0.05),
    c=SHARE,
    kernel=some("window:0", "window:2", "performer:3"),
    gap=some(0.1, 0, 1e200),
    draws=some(1, 20),
)
def _(result, draws, **given):
    assert 0 <= result <= draws


# ablation


@fuzz(mechanisms.outputs, matrices(("A", "nd"), ("X", "dd")), kernel=PAIR, normalised=some(True, False))
def _(result, A, X, kernel, normalised):
    assert tuple(result.shape) == tuple(A.shape)


ABLATION = {"a": some(0, "0.7", 2, 0.05, "1e300"), "c": SHARE, "kernel": PAIR, "normalised": some(True, False)}


@fuzz(mechanisms.values_closed, sizes(), **ABLATION, about_several=True)
def _(result, **given):
    assert all(math.isfinite(x) and x >= 0 for row in result for x in row)


@fuzz(mechanisms.column_law, sizes(), **ABLATION, about_several=True)
def _(result, d, **given):
    largest, mass, rows, _ = result
    near(float(mass.sum()), 1)
    assert np.array_equal(np.max(rows, axis=0), largest)
    assert len(largest) == 8 * (d - 2)


TAU = st.one_of(st.floats(0.01, 30), some(1, 1e-300, 1e300, Fraction(1, 3)))


@fuzz(mechanisms.column_probability, sizes(), **ABLATION, tau=TAU, about_several=True)
def _(result, **given):
    probability(result)


@fuzz(mechanisms.fires_probability, sizes(), **ABLATION, tau=TAU, m=COLUMNS, about_several=True)
def _(result, **given):
    probability(result)


@fuzz(
    mechanisms.best_threshold,
    sizes(),
    m=COLUMNS,
    a0=some(0, 0.05, 3),
    a1=some("0.7", 2),
    c=SHARE,
    kernel=PAIR,
    normalised=some(True, False),
    about_several=True,
)
def _(result, **given):
    assert 0 <= result.on_d0 <= 1
    assert 0 <= result.on_d1 <= 1


@fuzz(
    mechanisms.upper_tail,
    values=some(np.array([2.0, 1.0]), np.array([0.0, 0.0])),
    mass=some(np.array([0.25, 0.75])),
    thresholds=some(np.array([0.5, 1.5]), np.array([-1.0])),
    passes_nan=True,
)
def _(result, values, mass, thresholds):
    assert np.all((result >= 0) & (result <= 1))


# ragged


@st.composite
def ragged_data(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    return break_conditions.RaggedData(
        class_sizes=sizes,
        a=draw(STRENGTH),
        c=draw(SHARE),
        gap=draw(GAP),
        marked_class=draw(st.integers(0, len(sizes) - 1)),
    )


@fuzz(
    break_conditions.RaggedData,
    class_sizes=some((2, 1), [1] * 4, (10**300, 1)),
    a=STRENGTH,
    c=SHARE,
    gap=GAP,
    marked_class=some(0, 1),
)
def _(result, **given):
    assert result.n == sum(result.class_sizes) >= 2
    assert 0 < result.concentration <= 1
    assert 0 <= result.tau < math.inf
    assert 0 <= result.marked < result.n


@fuzz(break_conditions.RaggedData.matrix, self=ragged_data(), xp=XP)
def _(result, self, xp):
    assert np.count_nonzero(to_numpy(result)[:, 1:-1], axis=0).tolist() == list(self.class_sizes)


@fuzz(break_conditions.column_probability, data=ragged_data(), kernel=PAIR)
def _(result, data, kernel):
    like_matrices(result, data, kernel)


@fuzz(break_conditions.fires_probability, data=ragged_data(), m=COLUMNS, kernel=PAIR)
def _(result, data, m, kernel):
    near(result, sign_sums.fires_probability(break_conditions.column_probability(data, kernel), m))


@fuzz(break_conditions.column_bound, data=ragged_data(), kernel=PAIR)
def _(result, data, kernel):
    assert break_conditions.column_probability(data, kernel) - 1e-12 <= result <= 1


# readout

READ = {"a0": STRENGTH, "a1": STRENGTH, "c": SHARE, "kernel": PAIR}


@fuzz(any_readout.distances, sizes(), **READ)
def _(result, n, **given):
    assert all(0 <= x < math.inf for x in result)
    near(result.output, math.hypot(result.marked, math.sqrt(n - 1) * result.other))


DISTANCE = st.one_of(st.floats(0, 1e3), some(0, 1, 1e-300, 1e300, Fraction(1, 3)))


@fuzz(any_readout.total_variation, distance=DISTANCE, noise=POSITIVE)
def _(result, distance, noise):
    assert 0 <= result <= 1


@fuzz(any_readout.accuracy, distance=DISTANCE, noise=POSITIVE)
def _(result, distance, noise):
    near(result, (1 + any_readout.total_variation(distance, noise)) / 2)


@fuzz(any_readout.distance_table, sizes(), strengths=some((0, 1), ["0.7"], ()), c=SHARE, kernel=PAIR)
def _(result, strengths, **given):
    assert len(result) == len(strengths)
    assert all(
        result[i][j] == result[j][i] >= result[i][i] == 0 for i in range(len(result)) for j in range(len(result))
    )


@fuzz(
    any_readout.several,
    table=some([[0, 1], [1, 0]], [[0]], [[0, 99.0, 5], [99.0, 0, 1e300], [5, 1e300, 0]]),
    noise=POSITIVE,
)
def _(result, table, noise):
    assert 0 <= result[0] <= result[1] + 1e-12 <= 1 + 1e-12


@fuzz(
    any_readout.recovery_probability,
    n=some(2, 1000, 10**300),
    a=some("0.7", 2, 1e300),
    within=some(0, "0.05", 0.7),
    noise=POSITIVE,
    kernel=PAIR,
)
def _(result, **given):
    probability(result)


@fuzz(
    any_readout.rounded,
    x=st.one_of(st.floats(-6e4, 6e4), st.just(np.array([1.003, -0.0, 1e-41]))),
    form=st.sampled_from([*any_readout.FORMATS]),
)
def _(result, x, form):
    x = np.asarray(x, dtype=np.float64)
    assert np.array_equal(any_readout.rounded(result, form), result)
    assert np.all(np.abs(result - x) <= np.maximum(np.abs(x) * 2.0**-8, 2.0**-24))
    if form != "bfloat16":
        assert np.array_equal(result, x.astype(form).astype(np.float64))


@fuzz(
    any_readout.share_told_apart,
    sizes(),
    a0=STRENGTH,
    a1=STRENGTH,
    c=SHARE,
    form=st.sampled_from([*any_readout.FORMATS]),
    kernel=PAIR,
)
def _(result, **given):
    assert 0 <= result <= 1 + 1e-12


# perturbed

EPS = some(1e-5, 0.01, 1, 1e-300, 1e300, Fraction(1, 1000))


@fuzz(limitations.weight_bounds, sizes(), a=STRENGTH, c=SHARE, eps=EPS, kernel=PAIR)
def _(result, n, d, a, c, eps, kernel):
    assert 0 <= result.marked_low <= result.marked_high <= 1
    assert 0 <= result.other_high <= 1
    true = tokens.weights(n, a, kernel)
    assert result.marked_low * (1 - 1e-9) <= true.p
    assert max(true.p, true.q) <= result.marked_high * (1 + 1e-9)


@fuzz(limitations.fires_bounds, sizes(), m=COLUMNS, a=STRENGTH, c=SHARE, eps=EPS, kernel=PAIR, gap=GAP)
def _(result, eps, **given):
    bounds_hold(result, tokens.fires_probability, **given)


# scaling


@fuzz(golden_ratio.collapsed, n=some(2, 16, 10**300), a=STRENGTH, beta=some(1, "4/3", 0, 0.125))
def _(result, n, a, beta):
    p = tokens.weights(n, a, f"softmax:{number(beta)}").p
    near(p, gains.logistic(result - math.log1p(float(Fraction(-1, n)))), 1e-6)


@fuzz(golden_ratio.threshold_strength, beta=POSITIVE)
def _(result, beta):
    near(result * (1 + result), 1 / float(beta)) if 1e-300 < float(beta) < 1e300 else None
    assert result > 0


@fuzz(scaling.column_limit, a=STRENGTH, c=SHARE, gap=GAP)
def _(result, a, c, gap):
    assert 0 <= result <= 1
    assert (result * 8).denominator == 1


@fuzz(scaling.width_limit, d=some(3, 4, 10, 1000), a=STRENGTH, c=SHARE, kernel=PAIR, gap=GAP, about_several=True)
def _(result, **given):
    probability(result)


@fuzz(scaling.sign_rate, x=some(0, 1, 0.5, 1e-300, 1 - 2**-53, Fraction(1, 3)))
def _(result, x):
    assert float(x) ** 2 / 2 <= result * (1 + 1e-15) <= math.log(2) * (1 + 1e-14)


@fuzz(scaling.accuracies, sizes(), m=COLUMNS, a0=STRENGTH, a1=STRENGTH, c=SHARE, gap=GAP)
def _(result, **given):
    assert 0 <= result.softmax <= 1
    assert 0 <= result.linear <= 1


# sensitivity


GRID = {"a": st.one_of(STRENGTH, some([0, "0.7"], np.array([0.1, 2.0]), ())), "c": SHARE, "kernel": PAIR, "gap": GAP}


def first(x):
    x = to_numpy(x) if array_api_compat.is_array_api_obj(x) else x
    return next(np.asarray(x, dtype=object).flat) if isinstance(x, (np.ndarray, list, tuple)) else x


@fuzz(sensitivity.column_map, sizes(), **GRID)
def _(result, **given):
    assert np.all((result >= 0) & (result <= 1))
    if result.size:
        near(float(result.flat[0]), tokens.column_probability(**{name: first(x) for name, x in given.items()}))


@fuzz(sensitivity.fires_map, sizes(), m=COLUMNS, **GRID)
def _(result, **given):
    assert np.all((result >= 0) & (result <= 1))
    if result.size:
        near(float(result.flat[0]), tokens.fires_probability(**{name: first(x) for name, x in given.items()}))


@fuzz(sensitivity.error_map, sizes(), m=COLUMNS, a0=STRENGTH, a1=GRID["a"], c=SHARE, gap=GAP)
def _(result, **given):
    for index, error in enumerate(result):
        assert np.all((error >= 0) & (error <= 1))
        if error.size:
            near(float(error.flat[0]), tokens.errors(**{name: first(x) for name, x in given.items()})[index])


ERRORS = some(sensitivity.error_map(4, 4, [1, 2, 3, 4], 0, 1, "0.5"))


@fuzz(sensitivity.worst, errors=ERRORS)
def _(result, errors):
    assert all(np.all(error <= result) for error in errors)


@fuzz(
    sensitivity.steps_within,
    errors=ERRORS,
    limit=some(0.5, "0.4", Fraction(9, 10)),
    start=some(0, 1, 3),
    about_several=True,
)
def _(result, errors, limit, start):
    assert 0 <= result[0] <= start <= result[1] < 4


# counting


@st.composite
def count_data(draw):
    d = draw(st.integers(3, 8))
    return where_linear_wins.CountData(
        n=(d - 2) * draw(some(4, 8, 4 * 10**6)),
        d=d,
        a=draw(some(1, "0.7", 0.05, 3, "1e300", "1e-300")),
        c=draw(SHARE),
        share=draw(some("1/4", 0.75, "0.5")),
        gap=draw(some(None, 0.1, 0, 1e200)),
    )


@fuzz(
    where_linear_wins.CountData,
    n=some(8, 16, 8 * 10**290),
    d=some(3, 4),
    a=some(1, "0.7", "1e300"),
    c=SHARE,
    share=some("1/4", 0.75),
    gap=some(None, 0.1, 0),
)
def _(result, **given):
    assert 0 < result.marked == result.share * result.n < result.n
    assert 0 <= result.tau < math.inf
    assert result.b + result.c == 1


@fuzz(where_linear_wins.CountData.matrix, self=count_data().filter(lambda made: made.n < 100), xp=XP)
def _(result, self, xp):
    A = to_numpy(result)
    assert np.all(np.isfinite(A))
    assert np.count_nonzero(A[:, 0]) == self.marked


@fuzz(where_linear_wins.CountData.X, self=count_data(), xp=XP)
def _(result, self, xp):
    assert np.all(to_numpy(result) == np.ones((self.d, self.d)))


@fuzz(where_linear_wins.midpoint, a=STRENGTH)
def _(result, a):
    assert 0 <= result <= number(a)


@fuzz(
    where_linear_wins.marked_mass,
    n=some(2, 16, 10**300),
    a=STRENGTH,
    share=SHARE,
    kernel=some("softmax", "linear", "softmax:2"),
)
def _(result, n, a, share, kernel):
    assert 0 <= float(result[1]) <= float(result[0]) <= 1
    assert float(result[1]) >= float(number(share)) * (1 - 1e-12)


@st.composite
def mass(draw):
    return where_linear_wins.marked_mass(
        draw(some(4, 16, 10**6)), draw(some("0.7", 1, 3)), draw(some("1/4", "1/3")), draw(PAIR)
    )[0]


@fuzz(where_linear_wins.Mass.enclosure, self=mass(), digits=some(30, 60), kept={"digits"})
def _(result, self, digits):
    assert 0 < result[0] <= result[1] <= 1


@fuzz(where_linear_wins.Mass.rational, self=mass())
def _(result, self):
    assert result is None or math.isclose(result, float(self))


SOFT = some("softmax", "linear", "softmax:2")


@st.composite
def count_parts(draw):
    found = draw(count_data().filter(lambda made: made.a < 10))
    return {"data": found, "masses": where_linear_wins.marked_mass(found.n, found.a, found.share, draw(SOFT))}


@fuzz(
    where_linear_wins.least_plus,
    count_parts(),
    y_first=some(1, -1),
    y_last=some(1, -1),
    kept={"data", "masses", "y_first", "y_last"},
)
def _(result, data, **given):
    assert 0 <= result <= data.d - 1


@fuzz(where_linear_wins.column_probability, data=count_data(), kernel=SOFT)
def _(result, data, kernel):
    like_matrices(result, data, kernel)


@fuzz(where_linear_wins.fires_probability, data=count_data(), m=COLUMNS, kernel=SOFT)
def _(result, data, m, kernel):
    near(result, sign_sums.fires_probability(where_linear_wins.column_probability(data, kernel), m))


@fuzz(where_linear_wins.differ_probability, data=count_data(), kernel=SOFT)
def _(result, data, kernel):
    assert 0 <= result <= 1
    assert result <= where_linear_wins.any_threshold_bound(data, kernel) + 1e-12


@fuzz(where_linear_wins.critical_gain, a=STRENGTH)
def _(result, a):
    middle = where_linear_wins.midpoint(a) / number(a) if number(a) else Fraction(1, 2)
    assert result == middle / (1 - middle)


@fuzz(where_linear_wins.slack, data=count_data(), kernel=SOFT)
def _(result, data, kernel):
    assert 0 <= result < math.inf


@fuzz(where_linear_wins.miss_bound, data=count_data(), s=st.one_of(POSITIVE, some(0, -1, -1e300)))
def _(result, data, s):
    assert 0 <= result <= 1


@fuzz(where_linear_wins.differ_bound, data=count_data())
def _(result, data):
    probability(result)


@fuzz(where_linear_wins.any_threshold_bound, data=count_data(), kernel=SOFT)
def _(result, data, kernel):
    probability(result)


# bench

ROWS = [
    {"mechanism": name, "library": "attnsep", "n": n, "d": 8, "dtype": "float64"}
    | dict.fromkeys(("median", "min", "max"), time)
    for name, times in (("softmax", (1.0, 2.0, 9.0)), ("linear", (2.0, 1.0, 1.0)))
    for n, time in zip((4, 8, 16), times, strict=True)
]


@fuzz(cost.multiply_adds, n=some(1, 16, 10**300), d=some(1, 64), kernel=PAIR)
def _(result, n, d, kernel):
    n, d = int(n), int(d)  # a product of small NumPy integers wraps around
    assert result == (2 * n * n * d if kernel == "softmax" else 2 * n * d * d + 2 * n * d)


@fuzz(
    measure.bench,
    n=some([1], (3, 2)),
    d=some([4]),
    dtype=some(["float64"], ("float32", "float64")),
    seconds=some(1e-9, 0.001),
    most_work=some(1e3, 10**9),
    progress=some(False),
    xp=some(None, np),
)
def _(result, n, d, dtype, seconds, most_work, progress, xp):
    ours = [row["mechanism"] for row in result["rows"] if row["library"] == "attnsep"]
    assert ours.count("linear") == len(n) * len(d) * len(dtype)
    assert ours.count("softmax") == sum(int(x) ** 2 * int(y) <= most_work for x in n for y in d) * len(dtype)
    assert all(0 < row["min"] <= row["median"] <= row["max"] for row in result["rows"])


@fuzz(cost.crossover, rows=some(ROWS, ROWS[::2]), d=some(8), dtype=some("float64"))
def _(result, rows, d, dtype):
    assert result in (None, 4, 8, 16)


@fuzz(cost.medians, rows=some(ROWS), d=some(8), dtype=some("float64"))
def _(result, rows, d, dtype):
    assert list(result) == [4, 8, 16]


@fuzz(cost.exponent, sizes=some([1, 2], (1.0, 10.0, 100.0)), numbers=some([3, 4], (5.0, 5.0, 5.0)))
def _(result, sizes, numbers):
    assert math.isfinite(result)


@fuzz(
    cost.least_seconds,
    limits=some({"multiply_adds": 1e9, "powers": 2e8}),
    n=some(1, 4096),
    d=some(1, 64),
)
def _(result, limits, n, d):
    assert result == pytest.approx(2 * int(n) ** 2 * int(d) / 1e9 + int(n) ** 2 / 2e8)


@fuzz(cost.table, result=some({"rows": ROWS}, {"rows": []}))
def _(text, result):
    assert len(text.splitlines()) == 1 + len(result["rows"])


# recall


@fuzz(recall.recall_floor, pairs=some(1, 20, 10**300), features=some(1, 64))
def _(result, pairs, features):
    assert result == max(0, Fraction(int(pairs) - int(features), 2 * int(pairs)))


# learn

LEARN = some(*model.KERNELS)
DRAWN = {
    kind: tasks.task(name, settings)
    for kind, name, settings in (
        (tasks.Sequences, "edge", {"n": 32, "batch": 2, "width": 2, "tests": 1}),
        (tasks.Tokens, "counting", {"n": 32, "batch": 2, "tests": 1}),
        (tasks.Retrieval, "retrieval", {"pairs": 3, "batch": 2, "width": 2, "tests": 1}),
        (tasks.Recall, "mqar", {"pairs": 2, "batch": 2, "width": 2, "d": 3, "tests": 1}),
    )
}
ROW = {
    **{"task": "mqar", "kernel": "softmax", "seed": 0, "settings": DRAWN[tasks.Recall].settings, "steps": 1},
    **{"result": {"all": 0.5}, "versions": {}, "machine": {}, "seconds": 1.0},
}


@fuzz(model.require_learn_kernel, kernel=LEARN)
def _(result, kernel):
    assert result == kernel


@fuzz(model.weights, q=some(np.ones((2, 3))), k=some(np.ones((4, 3))), kernel=LEARN, kept={"q", "k"})
def _(result, q, k, kernel):
    assert np.allclose(result, 1 / 4)


@fuzz(model.initial_block, rng=RNG, d=some(1, 4), width=some(2), hidden=some(3), kind=some("full", "bare"))
def _(result, rng, d, width, hidden, kind):
    assert result["up"].shape == (d, hidden)


BLOCK = model.initial_block(np.random.default_rng(1), d=2, width=2, hidden=3)


@fuzz(model.block, p=some(BLOCK), x=some(np.ones((1, 2, 2))), kernel=LEARN, kept={"p", "x"})
def _(result, p, x, kernel):
    assert result.shape == x.shape


@fuzz(model.gaussian, rng=RNG, rows=some(1, 5), columns=some(1, 3))
def _(result, rng, rows, columns):
    assert result.shape == (rows, columns)


@fuzz(tasks.task, name=some("edge", "mqar"), settings=some(None, {}, {"steps": "200"}))
def _(result, name, settings):
    assert isinstance(result, tasks.TASKS[name])


@fuzz(tasks.cross_entropy, outputs=some(np.zeros((2, 3))), targets=some(np.array([0, -1])), kept={"*"}, inputs=2)
def _(result, outputs, targets):
    near(float(result), math.log(3))


BUDGET = {"steps": some(0, 100), "batch": some(1), "rate": some(0.001), "every": some(100), "clip": some(0, 1.5)}
WIDTHS = {"width": some(1, 8), "tests": some(1, 5)}
DATA = {"n": some(32, 64), "d": some(10, 4), "a": STRENGTH, "c": SHARE, "noise": some(0, 0.5)}
for kind, more in (
    (tasks.Task, {}),
    (tasks.Sequences, {"layers": some(1, 2), "width": some(1), "block": some("full", "bare")}),
    (tasks.Tokens, WIDTHS | DATA),
    (tasks.Counting, WIDTHS | DATA),
    (tasks.Edge, WIDTHS | DATA | {"a0": STRENGTH}),
    (tasks.Digits, WIDTHS),
    (tasks.Retrieval, WIDTHS | {"pairs": some(1, 20)}),
    (tasks.Recall, WIDTHS | {"pairs": some(1, 20), "d": some(3, 8)}),
):

    @fuzz(kind, **BUDGET, **more, about_several=True)
    def _(result, **given):
        json.dumps(result.settings, allow_nan=False)


@fuzz(tasks.Task.source, self=some(*DRAWN.values()), rng=RNG)
def _(result, self, rng):
    draw, tests = result
    assert all(len(y) == 1 for _, y in tests.values())
    assert len(draw(rng)[1]) == self.batch


@fuzz(tasks.Digits.source, self=some(tasks.task("digits", {"batch": 3})), rng=RNG, inputs=2)
def _(result, self, rng):
    assert len(result[0](rng)[1]) == 3


for kind, self in DRAWN.items():
    GIVEN, ANSWERS = self.draw(np.random.default_rng(2))
    P = self.initial(np.random.default_rng(3))
    OUT = self.predict(P, GIVEN, "softmax")

    @fuzz(kind.initial, self=some(self), rng=RNG)
    def _(result, self, rng):
        assert result

    @fuzz(kind.predict, st.just({"inputs": GIVEN}), self=some(self), p=some(P), kernel=LEARN, kept={"p", "inputs"})
    def _(result, self, p, inputs, kernel):
        assert result.dtype == np.float32

    @fuzz(kind.loss, self=some(self), outputs=some(OUT), targets=some(ANSWERS), kept={"*"}, inputs=2)
    def _(result, self, outputs, targets):
        assert result >= 0

    @fuzz(kind.score, self=some(self), outputs=some(OUT), targets=some(ANSWERS), kept={"*"}, inputs=2)
    def _(result, self, outputs, targets):
        assert len(result) == self.batch

    if kind is not tasks.Sequences:
        counted = {"count": some(None, 2)} if kind is not tasks.Tokens else {}

        @fuzz(kind.draw, self=some(self), rng=RNG, **counted)
        def _(result, self, rng, count=None):
            assert len(result[1]) == (count or 2)

        @fuzz(kind.held_out, self=some(self), rng=RNG)
        def _(result, self, rng):
            assert all(len(y) == 1 for _, y in result.values())


@fuzz(table.rows_text, rows=some([ROW], []))
def _(result, rows):
    assert len(result.splitlines()) == len(rows)


@fuzz(table.run_of, row=some(ROW))
def _(result, row):
    assert json.loads(result)[0] == "mqar"


@fuzz(table.command, row=some(ROW))
def _(result, row):
    assert result.startswith("attnsep learn mqar --kernel softmax --seed 0 --set ")


@fuzz(table.scores, rows=some([ROW]), name=some("mqar"), test=some("all"), kernel=some("softmax"), kept={"kernel"})
def _(result, rows, name, test, kernel):
    assert result == [0.5]


@fuzz(table.student, degrees=st.integers(1, 9), comparisons=some(1, 8, 1000))
def _(result, degrees, comparisons):
    assert 1.9 < result < 1e5


@fuzz(table.interval, values=some([0.5, 1], [1e9, 0, -3.5]), comparisons=some(1, 8, 1000))
def _(result, values, comparisons):
    assert min(values) <= result[0] <= max(values)
    assert result[1] >= 0


# reference

NESTED = st.integers(1, 3).flatmap(
    lambda k: st.lists(st.lists(st.integers(-3, 3), min_size=k, max_size=k), min_size=1, max_size=3)
)
SQUARE = some([[1, 2], [3, 4]], [[0.5, 0.25], [1.0, -2.0]], [[Fraction(1, 3), 1], [2, 0]])
LINE = st.lists(st.one_of(st.floats(-5, 5), st.integers(-5, 5)), min_size=1, max_size=4)


@fuzz(reference.kronecker, A1=NESTED, A2=NESTED)
def _(result, A1, A2):
    assert np.array_equal(result, np.kron(A1, A2))


@fuzz(reference.vec, X=NESTED, order=some("row", "column"))
def _(result, X, order):
    assert sorted(result) == sorted(entry for row in X for entry in row)


@fuzz(reference.transpose, X=NESTED)
def _(result, X):
    assert np.array_equal(result, np.transpose(X))


@fuzz(reference.matmul, A=SQUARE, B=SQUARE)
def _(result, A, B):
    assert np.allclose(np.array(result, float), np.array(A, float) @ np.array(B, float))


@fuzz(reference.kronecker_scores, A1=SQUARE, A2=SQUARE, X=SQUARE, order=some("row", "column"))
def _(result, A1, A2, X, order):
    X = np.array(X, float) if order == "row" else np.array(X, float).T
    assert np.allclose(np.array(result, float), np.array(A1, float) @ X @ np.array(A2, float).T)


def line_sums_to_one(result, scores):
    assert math.isclose(sum(result), 1, abs_tol=1e-6 * sum(map(abs, result)))


@fuzz(reference.weights, scores=LINE, kernel=KERNEL)
def _(result, scores, kernel):
    line_sums_to_one(result, scores)


@fuzz(reference.attend, q=SQUARE, k=SQUARE, v=SQUARE, kernel=KERNEL)
def _(result, q, k, v, kernel):
    assert len(result) == len(q)


@fuzz(reference.values, A1=SQUARE, A2=SQUARE, A3=SQUARE, X=SQUARE, kernel=KERNEL)
def _(result, A1, A2, A3, X, kernel):
    assert len(result) == len(A1)


@fuzz(reference.network, rows=SQUARE, y=some([[1, -1], [1, 1]]), tau=some(0.25, 0, Fraction(1, 3)))
def _(result, rows, y, tau):
    assert result >= 0


# certify

EXACT = some(0, 1, "0.5", Fraction(-1, 3), "-2")
INTERVAL = some(
    intervals.interval(0, 1), intervals.interval("0.5", 2), intervals.interval(-1, "1e300"), intervals.interval(3)
)


@fuzz(intervals.exact_fraction, name=st.just("value"), value=EXACT, kept={"name"})
def _(result, name, value):
    assert result == number(value)


@fuzz(intervals.interval, low=some(0, "-0.5", Fraction(-1, 3)), high=some(None, 0, 1, "2.5"))
def _(result, low, high):
    assert result.low <= result.high


def contains(operation):
    def check(result, self):
        for end in (self.low, self.high):
            value = operation(float(end)) if float(end) > -1 else math.nan
            assert not float(result.high) < value * (1 - 1e-9) - 1e-9
            assert not float(result.low) > value * (1 + 1e-9) + 1e-9

    return check


def guarded(operation):
    def value(x):
        try:
            return operation(x)
        except (ValueError, OverflowError):
            return math.nan

    return value


for _name in ("exp", "expm1", "log", "log1p"):
    fuzz(getattr(intervals.Interval, _name), self=INTERVAL)(contains(guarded(getattr(math, _name))))


def parabola(x):
    return x * x - x + "0.3"


@fuzz(
    intervals.certify,
    slack=st.just(parabola),
    box=some({"x": (0, 1)}, {"x": ("0.5", "0.5")}),
    most_boxes=some(64, 4096),
    kept={"slack"},
)
def _(result, slack, box, most_boxes):
    assert result.verdict in ("holds", "undecided")
    assert most_boxes < 64 or (result.verdict == "holds" and 0 <= result.margin <= 0.05 + 1e-12)


@fuzz(
    intervals.certify_from,
    n0=some(2, 3),
    slack=st.just(lambda n, x: n - x),
    growths=st.just([(lambda: intervals.interval(1), {})]),
    box=some({"x": (0, 1)}),
    most_boxes=some(64),
    kept={"box", "slack", "growths"},
    about_several=True,
)
def _(result, n0, box, **given):
    assert result.verdict == "holds"


@fuzz(
    intervals.certify_identity,
    difference=st.just(sympy.Symbol("x") * 0),
    point=some({"x": 3}, {"x": "0.5"}),
    kept={"difference"},
)
def _(result, difference, point):
    assert result.verdict == "holds"


# claims: the framework, the record, the tables

CLAIM = framework.find("tensor-trick")
EVIDENCE = framework.run(CLAIM, np)
TEXT = some("a b", "x")
CARD = {"mark": st.sampled_from(framework.MARKS), "source": TEXT, "statement": TEXT, "chapter": TEXT}


@fuzz(
    framework.Case,
    margin=some(0.0, -1.0, 1e300),
    tolerance=some(0.0, 1e-9),
    reached=some({}),
    upper=some(None, 2.0),
    kept={"reached"},
    passes_nan=True,
)
def _(result, **given):
    assert result.verdict in ("holds", "refuted", "undecided")


@fuzz(framework.Evidence.to_json, self=st.just(EVIDENCE))
def _(result, self):
    assert json.loads(json.dumps(result))["id"] == CLAIM.id


@fuzz(
    framework.control_words,
    expect=some("holds", "refuted"),
    smallest_failing=some(None, 1, 1e-9),
    largest_passing=some(None, 0, 0.5),
)
def _(result, **given):
    assert result


@st.composite
def new_id(draw):
    return f"fuzz-{draw(st.integers(0, 10**9))}"


@fuzz(framework.definition, id=new_id(), **CARD)
def _(result, **given):
    assert result.id == given["id"]


@fuzz(
    framework.claim,
    id=new_id(),
    **CARD,
    level=st.sampled_from(framework.LEVELS),
    control=TEXT,
    violations=some((1,), [0, 0.5]),
    assumes=some(""),
    uses=some(()),
    expect=some("holds", "refuted"),
)
def _(result, **given):
    def cases(xp, *, broken):
        yield framework.at_most(broken or 0, 0)

    assert result(cases) is cases
    del framework.LEDGER[given["id"]]


@fuzz(framework.run, claim=some(CLAIM), xp=XP)
def _(result, claim, xp):
    assert result.as_expected


@fuzz(framework.kept, claim=some(CLAIM), xp=XP)
def _(result, claim, xp):
    assert result is None


@fuzz(framework.shown, number=st.one_of(st.floats(-1e308, 1e308), some(0, 10**14, Fraction(1, 3))))
def _(result, number):
    assert math.isclose(float(result), float(number), rel_tol=6e-3) or math.isnan(number)


@fuzz(framework.tex, number=st.one_of(st.floats(-1e300, 1e300), some(0, 10**14, Fraction(1, 3))))
def _(result, number):
    digits, _, power = result.rpartition("10^")
    value = float((digits.replace(r" \cdot ", "") or "1") + "e" + power.strip("{}"))
    assert math.isclose(value, float(number), rel_tol=1e-15)


@fuzz(framework.find, id=some("tensor-trick", "def-vec"))
def _(result, id):
    assert result.id == id


@fuzz(graph.rests_on, id=some("tensor-trick", "def-vec"))
def _(result, id):
    assert id not in result


@fuzz(framework.check, id=some("tensor-trick"))
def _(result, id):
    assert result is None


@fuzz(
    framework.verify,
    ids=some(["tensor-trick"], [], "tensor-trick", ["x"], [1], 3, [None], [[]]),
    kept={"ids"},
    xp=XP,
    progress=some(False),
)
def _(result, ids, xp, progress):
    assert [item.claim.id for item in result] == [*ids]


def as_float(x):
    return np.asarray(x if np.ndim(x) == 0 else to_numpy(x), dtype=np.float64)


VALUE = st.one_of(st.floats(-1e3, 1e3), some(0, 1, np.array([0.5, 0.25]), strict(np.array([1.0]))))
TOLERANCE = some(0.0, 1e-9)


@fuzz(framework.at_most, value=VALUE, bound=some(1.0, 0, -2.5, 1e300), tolerance=TOLERANCE, passes_nan=True)
def _(result, value, bound, tolerance):
    assert (result.margin >= 0) == (math.isfinite(bound) and bool(np.all(as_float(value) <= float(bound))))


@fuzz(framework.at_least, value=VALUE, bound=some(1.0, 0, -2.5, 1e300), tolerance=TOLERANCE, passes_nan=True)
def _(result, value, bound, tolerance):
    assert (result.margin >= 0) == (math.isfinite(bound) and bool(np.all(as_float(value) >= float(bound))))


@fuzz(framework.within, value=VALUE, low=some(-1, 0.0), high=some(1, 2.5), tolerance=TOLERANCE, passes_nan=True)
def _(result, value, low, high, tolerance):
    inside = bool(np.all((as_float(value) >= float(low)) & (as_float(value) <= float(high))))
    assert (result.margin >= 0) == (math.isfinite(low) and math.isfinite(high) and inside)


@fuzz(
    framework.equal,
    value=some(1.0, 2, np.ones(2)),
    wanted=some(1.0, 0, np.ones(2)),
    tolerance=TOLERANCE,
    passes_nan=True,
)
def _(result, value, wanted, tolerance):
    wanted = as_float(wanted)
    assert (result.margin >= 0) == bool(np.all(np.isfinite(wanted)) and np.all(as_float(value) == wanted))


@fuzz(
    framework.to_digits,
    value=st.floats(-1e3, 1e3),
    wanted=st.one_of(st.floats(-1e3, 1e3), some(0, 12.5)),
    number=some(1, 9),
    passes_nan=True,
)
def _(result, value, wanted, number):
    half = 0.5 * 10.0 ** (math.floor(math.log10(abs(wanted))) + 1 - number) if wanted else 0
    off = abs(value - wanted)
    if not math.isfinite(off) or abs(off - half) > 1e-9 * abs(wanted):  # nearer than that rounding decides
        assert (result.verdict == "holds") == (off <= half)


ROW = EVIDENCE.to_json()


@fuzz(record.require_record, record=some({}, {"tensor-trick": ROW}), fields=st.just({"verdict"}), kept={"fields"})
def _(result, record, fields):
    assert result is record


@fuzz(tables.certified_table, record=some(None, {}))
def _(result, record):
    assert result.header


@fuzz(record.record_text, evidence=some([EVIDENCE], []))
def _(result, evidence):
    assert [row["id"] for row in json.loads(result)] == ["tensor-trick"] * len(evidence)


@fuzz(framework.generator, seed=some(0, 2500, 10**30))
def _(result, seed):
    assert 0 <= result.random() < 1


@fuzz(framework.exactly, broken=some(None, 0.5, 10**30), kept={"broken"})
def _(result, broken):
    assert result == Fraction(str(broken or 0))


@fuzz(framework.alarm_sentence, alarms=some([], [1e-9, 0.0]), kept={"alarms"})
def _(result, alarms):
    assert result.endswith(".")


@fuzz(record.differences, evidence=some([EVIDENCE], []), record=some({}, {"tensor-trick": ROW}))
def _(result, evidence, record):
    assert all(isinstance(sentence, str) for sentence in result)


@fuzz(tables.card, chapter=some("tensor-trick", "one-query-weights"))
def _(result, chapter):
    assert repr(result).count(chapter) or result.rows


@fuzz(tables.claims_table, record=some(None, {}))
def _(result, record):
    assert len(result.rows) == len(framework.claims())


@fuzz(tables.status_line, record=some(None, {}))
def _(result, record):
    assert f"of {len(framework.claims())} claims" in result


@fuzz(the_cards_words.card_words, part=some(*the_cards_words.PARTS), record=some(None, {}))
def _(result, part, record):
    assert {sentence.part for sentence in result.sentences} == {part}
    assert all(sentence.words in repr(result) for sentence in result.sentences)


# figures draw what they are given, so it is given what has the right shape and is extreme

LINE_OF = st.sampled_from([np.linspace(0.1, 1, 5), np.array([1e-12, 1.0, 2, 3, 4]), np.geomspace(1, 1e12, 5)])
FORMS = {"inputs": 2, "kept": {"*"}, "title": some("Why?")}


def is_figure(result, **given):
    assert result.axes


fuzz(
    figures.four_panels,
    weights=some({"softmax": (np.ones(4) / 4, np.eye(4)[0] + 1e-9), "linear": (np.ones(4) / 4,) * 2}),
    **FORMS,
)(is_figure)
fuzz(figures.kronecker, K=some(np.ones((4, 4))), x=some(np.ones(4)), scores=some(np.ones((2, 2))), **FORMS)(is_figure)
fuzz(
    figures.flat_bands,
    weights=some({"softmax": np.ones(4) / 4, "linear": np.ones(4) / 4}),
    bands=some({"softmax": (0.2, 0.3), "linear": (0.2, 0.3)}),
    **FORMS,
)(is_figure)
fuzz(
    figures.spike_against_n,
    n=some(np.array([2, 10**6])),
    ranges=some({"softmax": (np.zeros(2), np.ones(2)), "linear": (np.zeros(2), np.ones(2))}),
    measured=some({"softmax": [(2, 0.5)], "linear": [(4, 0.1)]}),
    **FORMS,
)(is_figure)
fuzz(
    figures.curves,
    x=LINE_OF,
    series=some({"one": np.ones(5), "two": np.arange(5.0)}),
    x_label=some("x"),
    y_label=some("y"),
    x_scale=some("linear", "log"),
    y_scale=some("linear"),
    **FORMS,
)(is_figure)
fuzz(
    figures.seeds,
    x=some([20, 40, 80]),
    panels=some({"a": {"softmax": np.ones((2, 3))}}, {"a": {"linear": np.eye(3)}, "b": {"elu+1": np.eye(3)}}),
    lines=some(None, {"floor": np.zeros(3)}),
    x_label=some("x"),
    y_label=some("y"),
    **FORMS,
)(is_figure)
fuzz(figures.heat_maps, matrices=some({"a": np.ones((2, 3)), "b": np.eye(2)}), **FORMS)(is_figure)
fuzz(
    figures.tail_against_bound,
    s=some(np.array([1.0, 2.0])),
    exact=some(np.array([0.1, 1e-300])),
    bound=some(np.array([0.5, 1e-200])),
    **FORMS,
)(is_figure)
fuzz(
    figures.signed_sums,
    samples=some({"softmax": (np.zeros(9), np.ones(9)), "linear": (np.zeros(9), np.zeros(9))}),
    tau=some(0.5, -2.0),
    **FORMS,
)(is_figure)
fuzz(
    figures.curve_panels,
    x=LINE_OF,
    panels=some({"a": {"one": np.ones(5)}, "b": {"one": np.zeros(5)}}),
    x_label=some("x"),
    y_label=some("y"),
    **FORMS,
)(is_figure)
fuzz(figures.collapse, a=LINE_OF, points=some({"one": (np.arange(5.0), np.ones(5))}), threshold=some(0.6), **FORMS)(
    is_figure
)
fuzz(
    figures.firing_dots,
    panels=some({"a": {"softmax": [(0.1, 0, 0.2), (1, 0.9, 1)]}, "b": {"softmax": [(0, 0, 0), (1, 1, 1)]}}),
    **FORMS,
)(is_figure)
fuzz(
    figures.why_and_whence,
    n=some(np.array([2, 10**6])),
    weights=some({"softmax": np.ones(2), "linear": np.zeros(2)}),
    fires=some({"softmax on D_1": np.ones(2)}),
    since=some(3),
    **FORMS,
)(is_figure)
fuzz(
    figures.level_maps,
    panels=some({"a": (np.arange(2.0), np.arange(2.0), np.array([[0.0, 1.0], [0.3, 0.6]]), {"xlabel": "x"})}),
    levels=some([0, 0.5, 1]),
    line=some(0.5),
    label=some("z"),
    **FORMS,
)(is_figure)


# What takes no argument, or only files

WITHOUT_ARGUMENTS = [
    kernels.Kernel,
    kernels.OfScores,
    kernels.OfRows,
    kernels.FeatureMap,
    kernels.usages,
    arrays.quiet,
    measure.cpu,
    table.table_path,
    table.grid_path,
    framework.claims,
    graph.claims_map,
    record.record_path,
    record.read_record,
    tables.definitions_table,
    tables.noticed_table,
]
WITH_FILES = {"bench.cost.read_result", "bench.cost.write_result", "ledger.tables.gpu_table"}
WITH_FILES |= {
    f"files.{name}" for name in ("read", "write", "require_writable", "naming", "locked", "why", "from_json", "is_same")
}
WITH_FILES |= {"learn.table.read_rows", "learn.table.add_row", "learn.grid.read_grid"}
IN_OTHER_TESTS = (
    {
        "processes.FreshProcesses.submit": "test_processes.py",
        "cli.main": "test_fuzz_cli.py",
        "learn.train.train": "training/test_training.py",
        "learn.train.trained_or_stored": "training/test_training.py",
        "learn.grid.run_grid": "training/test_grid.py",
    }
    | {
        f"ledger.ratchet.{name}": "ledger/test_ratchet.py"
        for name in (
            "ratchet_path",
            "read_ratchet",
            "ratchet_text",
            "problems",
            "extended",
            "reasons_from",
            "digest",
            "parts",
        )
    }
    | {
        f"ledger.sampled.{name}": "ledger/test_sampled.py"
        for name in ("inside_clopper_pearson", "not_above", "surely_inside", "same_probability")
    }
)


@pytest.mark.parametrize("function", WITHOUT_ARGUMENTS, ids=name_of)
def test_without_arguments(function):
    assert function() is not None


CALLED = dict.fromkeys(ENTRIES, 0)


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_right_or_refused_by_name(name, monkeypatch):
    entry, accepted = ENTRIES[name], 0
    monkeypatch.setattr(framework, "LEDGER", dict(framework.LEDGER))
    hurry(monkeypatch)

    @settings(SETTINGS, max_examples=entry.inputs)
    @given(st.data())
    def run(draws):
        nonlocal accepted
        arguments, changed, good = drawn(draws, entry)
        CALLED[name] += 1
        accepted += attempt(entry, arguments, changed, good)

    run()
    assert accepted, "no input was accepted, so nothing was checked"


def public():
    """Return the names of the library's public functions, classes and methods, but for the checks of the claims."""
    found = set()
    for part in pkgutil.walk_packages(attnsep.__path__, "attnsep."):
        if "._" in part.name:
            continue
        module = importlib.import_module(part.name)
        if part.name.startswith("attnsep.claims.") and module is not the_cards_words:
            continue
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", "") != part.name or not callable(thing):
                continue
            if not inspect.isclass(thing):
                found.add(name_of(thing))
                continue
            if hasattr(thing, "__post_init__"):
                found.add(name_of(thing))
            found |= {name_of(m) for k, m in vars(thing).items() if not k.startswith("_") and inspect.isfunction(m)}
    return found


def test_every_public_function_is_fuzzed():
    fuzzed = {*ENTRIES, *map(name_of, WITHOUT_ARGUMENTS), *WITH_FILES, *IN_OTHER_TESTS}
    assert public() - fuzzed == set()
    assert fuzzed - public() == set()


def test_there_were_at_least_two_thousand_inputs():
    if not all(CALLED.values()):
        pytest.skip("only some of the functions were run")
    assert sum(CALLED.values()) >= 2000
