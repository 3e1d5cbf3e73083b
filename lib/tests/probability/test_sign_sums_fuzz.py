"""attnsep.probability.sign_sums meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from attnsep.probability import sign_sums
from lib.tests.fuzzing import fuzz, number
from lib.tests.strategies import COLUMNS, POSITIVE, RATIONAL, REAL, SHARE, interval, near, probability, some


@fuzz(sign_sums.hoeffding, s=POSITIVE, norm_squared=POSITIVE)
def test_the_bound_falls_with_the_distance(result, s, norm_squared):
    probability(result)
    assert sign_sums.hoeffding(min(2 * float(s), 1e300), norm_squared) <= result or float(s) >= 1e300


WEIGHTS = st.lists(RATIONAL, max_size=6)


@fuzz(sign_sums.sum_law, weights=WEIGHTS)
def test_the_law_of_a_sum_is_symmetric_and_whole(result, weights):
    assert sum(result.values()) == 2 ** len(weights)
    assert all(result[-value] == count for value, count in result.items())


@fuzz(sign_sums.tail, weights=WEIGHTS, s=RATIONAL, strict=some(True, False))
def test_a_tail_is_that_of_all_signs(result, weights, s, strict):
    exact_weights = [number(w) for w in weights]
    sums = [
        sum(w * y for w, y in zip(exact_weights, signs, strict=True)) for signs in product((1, -1), repeat=len(weights))
    ]
    assert result == Fraction(sum(x > number(s) or (x == number(s) and not strict) for x in sums), len(sums))


@fuzz(sign_sums.binomial_tail, n=some(0, 1, 10, 999, 1001, 10**6), r=some(-3, 0, 1, 5, 500, 10**6), p=SHARE)
def test_a_binomial_tail_is_the_sum_of_its_terms(result, n, r, p):
    probability(result)
    if n <= 10:
        p = Fraction(p)
        n, r = int(n), int(r)
        near(result, float(sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(r, 0), n + 1))))


@fuzz(sign_sums.clopper_pearson, hits=some(0, 1, 10, 50), draws=some(10, 50, 100), alarm=some("0.05", 1e-9, 0.5))
def test_the_interval_has_the_frequency(result, hits, draws, alarm):
    interval(result)
    assert result[0] <= hits / draws <= result[1]


@fuzz(sign_sums.column_probability, groups=st.lists(st.tuples(REAL, st.integers(0, 5)), max_size=3), threshold=REAL)
def test_a_column_of_groups_has_a_probability(result, groups, threshold):
    probability(result)


PI = st.one_of(st.floats(0, 1), some(0, 1, 1e-300, 5e-324, 1 - 2**-53, Fraction(1, 3)))


@fuzz(sign_sums.fires_probability, pi=PI, m=COLUMNS)
def test_more_columns_fire_more_often(result, pi, m):
    assert 0 <= pi * (1 - 1e-12) <= result <= 1


@fuzz(sign_sums.silent_probability, pi=PI, m=COLUMNS)
def test_silent_is_what_does_not_fire(result, pi, m):
    assert 0 <= result <= 1
    assert math.isclose(result + sign_sums.fires_probability(pi, m), 1, rel_tol=1e-9)


@fuzz(sign_sums.fewest_columns, pi=PI, limit=some(0.1, 0.5, Fraction(1, 3), 1.5))
def test_fewer_columns_are_silent_too_often(result, pi, limit):
    if result is not None:
        assert sign_sums.silent_probability(pi, result) <= float(limit) * (1 + 1e-9)
        assert result == 1 or sign_sums.silent_probability(pi, result - 1) >= float(limit) * (1 - 1e-9)


@fuzz(sign_sums.error_limit, delta=some(0.1, "0.5", Fraction(1, 3), 1e-300))
def test_the_limit_is_the_error_but_for_rounding(result, delta):
    near(result, float(number(delta)))


@fuzz(
    sign_sums.smallest_size,
    sizes=st.just(range(1, 9)),
    columns=some(lambda n: n, lambda n: None if n < 5 else 2),
    suffice=some(lambda n, m: n + m > 4),
    missing=st.just("sizes: none is enough"),
    kept={"*"},
)
def test_no_smaller_size_is_enough(result, sizes, columns, suffice, missing):
    size, m = result
    assert m == columns(size)
    assert suffice(size, m)
    assert not any(columns(n) and suffice(n, columns(n)) for n in range(1, size))
