"""Ragged classes against all sign vectors at 60 digits, equal classes, and every guard."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention.attend import values
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData
from lib.tests.digits import mp, number


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
@pytest.mark.parametrize("sizes", [(2,), (3, 1), (1, 5, 2), (4, 4, 1, 1, 1), (2, 3, 4, 5, 6)])
@pytest.mark.parametrize(("a", "c", "k"), [("0.7", "0.5", 0), ("0.05", "0.8", -1), ("0", "0.3", 0)])
def test_law_is_that_of_all_sign_vectors(sizes, a, c, k, kernel):
    data = TokenData(class_sizes=sizes, a=a, c=c, marked=k % len(sizes))
    n, own = sum(sizes), 1 + number(data.a)
    tops = []
    for s in (own, mp.mpf(1)):
        R = mp.power(n, s * number(data.a)) if kernel == "softmax" else own
        w, r = R / (R + n - 1), 1 / (R + n - 1)
        shares = [size * r + (w - r) * (j == data.marked_class) for j, size in enumerate(sizes)]
        row = [number(data.a) * w, *(number(data.b) * share for share in shares), number(data.c)]
        tops.append([mp.fsum(x * y for x, y in zip(row, ys, strict=True)) for ys in product((1, -1), repeat=data.d)])
    tau = number(data.c + data.gap)
    fired = sum(max(pair) > tau + mp.mpf(10) ** -50 for pair in zip(*tops, strict=True))
    assert tokens.Law(data, kernel).column_probability() == pytest.approx(fired / 2**data.d, abs=1e-15)


def test_equal_classes_give_the_law_of_the_token_data():
    for (d, t), a, c, kernel in product(
        ((3, 2), (10, 1), (258, 4)), (0, "0.05", "0.7"), ("0.5", "0.9"), tokens.KERNELS
    ):
        data = TokenData(class_sizes=[t] * (d - 2), a=a, c=c, marked=d - 3)
        ragged, equal = tokens.Law(data, kernel), tokens.law((d - 2) * t, d, a, c, kernel)
        assert ragged.visible == equal.visible
        assert ragged.column_probability() == equal.column_probability()
        assert ragged.column_bounds() == equal.column_bounds()
        assert ragged.values() == equal.values()
        assert np.array_equal(data.matrix(np), TokenData(n=data.n, d=d, a=a, c=c, marked=d - 3).matrix(np))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(2,), (3, 1), (1, 5, 2), (4, 4, 1, 1, 1), (2, 3, 4)])
@pytest.mark.parametrize(("a", "c"), [("0.7", "0.5"), ("0", "0.3"), ("1", "0.9")])
def test_top_k_of_ragged_classes_is_that_of_matrices(sizes, a, c):
    data = TokenData(class_sizes=sizes, a=a, c=c)
    A, X = data.matrix(np), data.X(np)
    columns = np.array(list(product((1, -1), repeat=data.d))).T
    for k in range(1, data.n + 1):
        law = tokens.Law(data, f"topk:{k}")
        sums = np.max(values(A, A, A, X, f"topk:{k}") @ columns, axis=0) / np.log(data.n) ** 0.5
        level = float(data.c + data.gap)
        assert np.mean(sums > level + 1e-12) <= law.column_probability() + 1e-15
        assert law.column_probability() <= np.mean(sums > level - 1e-12) + 1e-15
        fired = [law.fires_on(column[:, None]) for column in columns.T]
        assert np.mean(fired) == pytest.approx(law.column_probability(), abs=1e-15)


def test_matrix_and_values(xp):
    data = TokenData(class_sizes=(3, 1, 2), a="0.7", c="0.4", marked=2)
    A = np.zeros((6, 5))
    A[[0, 1, 2, 3, 4, 5], [1, 2, 3, 1, 3, 1]], A[:, -1], A[2, 0] = 0.6, 0.4, 0.7
    found = data.matrix(xp)
    np.testing.assert_allclose(to_numpy(found), A * np.log(6) ** 0.5, rtol=1e-14)
    own = A.sum(axis=1)
    u = np.exp(np.log(6) * np.outer(own, own))
    wanted = u / u.sum(axis=1, keepdims=True) @ A * np.log(6) ** 0.5
    X = xp.ones((5, 5), dtype=xp.float64)
    np.testing.assert_allclose(to_numpy(values(found, found, found, X)), wanted, rtol=1e-12)
    assert (data.n, data.d, data.marked_class) == (6, 5, 2)
    assert data.tau == pytest.approx(0.5 * np.log(6) ** 0.5)
    assert data.concentration == Fraction(14, 36)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_sizes": (2, 0)}, "class_sizes = 0"),
        ({"class_sizes": (1,)}, "at least 2 tokens"),
        ({"class_sizes": ()}, "at least 2 tokens"),
        ({"a": -1}, "a = -1"),
        ({"c": 1}, "c = 1"),
        ({"marked": 2}, "marked = 2: must be below 2, the number of class_sizes"),
        ({"marked": 3}, "marked = 3: must be below n = 3"),
        ({"marked": -1}, "marked = -1"),
        ({"n": 4}, "n = 4: must be 3 with these class_sizes, or left out"),
        ({"d": 5}, "d = 5: must be 4 with these class_sizes, or left out"),
        ({"gap": -1}, "gap = -1"),
    ],
)
def test_bad_parameters_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        TokenData(**{"class_sizes": (2, 1), "a": 1, "c": "0.5", **change})


def test_other_bad_input_is_rejected():
    data = TokenData(class_sizes=(2, 1), a=1, c="0.5")
    with pytest.raises(TypeError, match="class_sizes"):
        TokenData(class_sizes=(2.5, 1), a=1, c="0.5")
    with pytest.raises(ValueError, match="kernel"):
        tokens.Law(data, "cosine").column_probability()
    with pytest.raises(ValueError, match="m = 0"):
        tokens.Law(data).fires(0)
    assert tokens.Law(TokenData(class_sizes=(2, 1), a=5, c="0.5")).column_bounds()[1] == 1
    with pytest.raises(TypeError, match="n = None"):
        TokenData(a=1, c="0.5")
    with pytest.raises(ValueError, match=r"class_sizes = \(2, 1\): differ, so they have no common t"):
        _ = data.t
    three = tokens.Law(TokenData(class_sizes=(2, 1, 3), a=1, c="0.5"))
    for call in (three.values, lambda: three.least_plus(tokens.PATTERNS[0])):
        with pytest.raises(ValueError, match="kernel = 'softmax'"):
            call()
