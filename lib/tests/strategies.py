"""What good arguments are made of, and checks that several functions share."""

import math
from fractions import Fraction
from itertools import product

import array_api_compat
import numpy as np
from hypothesis import strategies as st

from attnsep import arrays
from attnsep.arrays import to_numpy
from attnsep.attention import attend, kernels
from attnsep.claims import LEDGER
from attnsep.extensions import where_linear_wins
from attnsep.learn import model, tasks
from attnsep.ledger import framework
from attnsep.paper import gains, tokens
from lib.tests.fuzzing import strict


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
WITH_NUMBER = ["softmax:2", "softmax:1/8", "polynomial:3", "polynomial:2"]
WITH_NUMBER += ["topk:1", "topk:3", "window:1", "performer:4"]
KERNEL = st.sampled_from([*FIXED, *WITH_NUMBER, kernels.TopK(2)])
WITH_LAW = KERNEL.filter(gains.has_gain)
XP = st.sampled_from([None, np, arrays.namespace("numpy"), arrays.namespace("array_api_strict")])


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
def ragged_data(draw):
    class_sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    marked = draw(st.integers(0, len(class_sizes) - 1))
    return tokens.TokenData(class_sizes=class_sizes, a=draw(STRENGTH), c=draw(SHARE), gap=draw(GAP), marked=marked)


def small_data():
    return st.one_of(token_data(huge=False), ragged_data())


def any_data():
    return st.one_of(token_data(), ragged_data())


@st.composite
def laws(draw, most_d=10**300):
    """Draw a law of data that it takes: a kernel may have no gain for a huge n, and top-k needs the first token."""
    found = draw(any_data().filter(lambda data: data.d <= most_d))
    try:
        return tokens.Law(found, draw(WITH_LAW))
    except ValueError:
        return tokens.Law(found, "linear")


SIGNS = st.sampled_from(tokens.PATTERNS)


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


def probability(result):
    assert isinstance(result, float)
    assert 0 <= result <= 1


def interval(result):
    low, high = result
    assert 0 <= low <= high <= 1


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


RATIONAL = some(0, 1, -2, "0.5", "1/3", Fraction(3, 7), "1e-300", np.int64(3))
REAL = st.one_of(RATIONAL, st.floats(-3, 3))


def bounds_hold(result, law, m=1):
    interval(result)
    if law.data.d <= tokens.MOST_WIDTH:
        assert result[0] - 1e-12 <= law.fires(m) <= result[1] + 1e-12


def first(x):
    x = to_numpy(x) if array_api_compat.is_array_api_obj(x) else x
    return next(np.asarray(x, dtype=object).flat) if isinstance(x, (np.ndarray, list, tuple)) else x


@st.composite
def mass(draw):
    return where_linear_wins.marked_mass(
        draw(some(4, 16, 10**6)), draw(some("0.7", 1, 3)), draw(some("1/4", "1/3")), draw(PAIR)
    )[0]


LEARN = some(*model.KERNELS)
DRAWN = {
    kind: tasks.task(name, settings)
    for kind, name, settings in (
        (tasks.Sequences, "edge", {"n": 32, "batch": 2, "width": 2, "tests": 1}),
        (tasks.Tokens, "counting", {"n": 32, "batch": 2, "tests": 1}),
        (tasks.Retrieval, "retrieval", {"pairs": 3, "batch": 2, "width": 2, "tests": 1}),
        (tasks.Recall, "mqar", {"pairs": 2, "n": 32, "words": 34, "batch": 2, "width": 2, "d": 3, "tests": 1}),
    )
}
CLAIM = LEDGER["tensor-trick"]
EVIDENCE = framework.run(CLAIM, np)
