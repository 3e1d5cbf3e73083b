"""Ragged classes against all sign vectors at 60 digits, equal classes, and every guard."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from attnsep.arrays import to_numpy
from attnsep.attention.attend import values
from attnsep.extensions import break_conditions
from attnsep.extensions.break_conditions import RaggedData
from attnsep.paper import tokens
from lib.tests.digits import mp, number


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
@pytest.mark.parametrize("sizes", [(2,), (3, 1), (1, 5, 2), (4, 4, 1, 1, 1), (2, 3, 4, 5, 6)])
@pytest.mark.parametrize(("a", "c", "k"), [("0.7", "0.5", 0), ("0.05", "0.8", -1), ("0", "0.3", 0)])
def test_law_is_that_of_all_sign_vectors(sizes, a, c, k, kernel):
    data = RaggedData(class_sizes=sizes, a=a, c=c, marked_class=k % len(sizes))
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
    assert break_conditions.column_probability(data, kernel) == pytest.approx(fired / 2**data.d, abs=1e-15)


def test_equal_classes_give_the_law_of_the_token_data():
    for (d, t), a, c, kernel in product(
        ((3, 2), (10, 1), (258, 4)), (0, "0.05", "0.7"), ("0.5", "0.9"), tokens.KERNELS
    ):
        data = RaggedData(class_sizes=[t] * (d - 2), a=a, c=c, marked_class=d - 3)
        assert break_conditions.column_probability(data, kernel) == pytest.approx(
            tokens.column_probability((d - 2) * t, d, a, c, kernel), rel=1e-12
        )
        assert break_conditions.column_bound(data, kernel) == pytest.approx(
            tokens.column_bounds((d - 2) * t, d, a, c, kernel)[1], rel=1e-12
        )


def test_matrix_and_values(xp):
    data = RaggedData(class_sizes=(3, 1, 2), a="0.7", c="0.4", marked_class=2)
    A = np.zeros((6, 5))
    A[[0, 1, 2, 3, 4, 5], [1, 1, 1, 2, 3, 3]], A[:, -1], A[4, 0] = 0.6, 0.4, 0.7
    found = data.matrix(xp)
    np.testing.assert_allclose(to_numpy(found), A * np.log(6) ** 0.5, rtol=1e-14)
    own = A.sum(axis=1)
    u = np.exp(np.log(6) * np.outer(own, own))
    wanted = u / u.sum(axis=1, keepdims=True) @ A * np.log(6) ** 0.5
    X = xp.ones((5, 5), dtype=xp.float64)
    np.testing.assert_allclose(to_numpy(values(found, found, found, X)), wanted, rtol=1e-12)
    assert (data.n, data.d, data.marked) == (6, 5, 4)
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
        ({"marked_class": 2}, "marked_class = 2"),
        ({"marked_class": -1}, "marked_class = -1"),
        ({"gap": -1}, "gap = -1"),
    ],
)
def test_bad_parameters_are_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        RaggedData(**{"class_sizes": (2, 1), "a": 1, "c": "0.5", **change})


def test_other_bad_input_is_rejected():
    data = RaggedData(class_sizes=(2, 1), a=1, c="0.5")
    with pytest.raises(TypeError, match="class_sizes"):
        RaggedData(class_sizes=(2.5, 1), a=1, c="0.5")
    with pytest.raises(ValueError, match="kernel"):
        break_conditions.column_probability(data, "cosine")
    with pytest.raises(ValueError, match="m = 0"):
        break_conditions.fires_probability(data, 0)
    assert break_conditions.column_bound(RaggedData(class_sizes=(2, 1), a=5, c="0.5")) == 1
