"""attnsep.paper.tokens meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.paper import gains, network, tokens
from attnsep.probability import sign_sums
from lib.tests.fuzzing import fuzz, number
from lib.tests.strategies import (
    COLUMNS,
    GAP,
    RNG,
    SHARE,
    STRENGTH,
    WITH_LAW,
    XP,
    bounds_hold,
    like_matrices,
    near,
    probability,
    sizes,
    some,
    token_data,
)


@fuzz(tokens.TokenData, sizes(), a=STRENGTH, c=SHARE, gap=GAP, marked=some(0, 1))
def test_the_data_keep_their_numbers_exactly(result, **given):
    assert result.n == (result.d - 2) * result.t
    assert result.b + result.c == 1 > result.c > 0
    assert (result.a, result.c, result.gap) == tuple(number(given[name]) for name in ("a", "c", "gap"))
    assert 0 <= result.tau < math.inf
    assert 0 <= result.marked_class < result.d - 2


@fuzz(tokens.TokenData.classes, self=token_data(huge=False), xp=XP)
def test_every_class_has_t_tokens(result, self, xp):
    assert np.bincount(to_numpy(result)).tolist() == [self.t] * (self.d - 2)


@fuzz(tokens.TokenData.matrix, self=token_data(huge=False), xp=XP, dtype=some(None))
def test_the_matrix_has_one_mark_and_rows_of_equal_sum(result, self, xp, dtype):
    A, root = to_numpy(result), math.sqrt(self.log_n)
    assert A.shape == (self.n, self.d)
    assert np.all(np.isfinite(A))
    assert np.allclose(A[:, 1:-1].sum(axis=1), float(self.b) * root)
    assert np.count_nonzero(A[:, 0]) == (float(self.a) * root > 0)


@fuzz(tokens.TokenData.X, self=token_data(huge=False), xp=XP, dtype=some(None))
def test_every_entry_of_x_is_one(result, self, xp, dtype):
    assert np.all(to_numpy(result) == np.ones((self.d, self.d)))


LAW = {"a": STRENGTH, "c": SHARE, "kernel": WITH_LAW, "gap": GAP}


@fuzz(tokens.weights, n=some(2, 16, 10**6, 10**300), a=STRENGTH, kernel=WITH_LAW, d=some(3, 10))
def test_weights_and_their_complements_add_up(result, n, a, kernel, d):
    assert all(0 <= w <= 1 for w in result)
    near(result.p + result.not_p, 1)
    near(result.q + result.not_q, 1)


@fuzz(tokens.seen, data=token_data(), kernel=WITH_LAW)
def test_own_and_other_tokens_are_all_that_are_seen(result, data, kernel):
    assert result.own + sum(size * count for size, count in result.others) == result.tokens


@fuzz(tokens.values_closed, sizes(), a=STRENGTH, c=SHARE, kernel=WITH_LAW)
def test_outputs_keep_the_last_entry_and_the_sum_of_the_classes(result, n, d, a, c, kernel):
    root = math.sqrt(math.log(n))
    for row in result:
        assert all(math.isfinite(x) and x >= 0 for x in row)
        near(row.last, float(number(c)) * root)
        near(row.own + (d - 3) * row.others, float(1 - number(c)) * root)


@fuzz(tokens.column_probability, sizes(), **LAW)
def test_a_columns_probability_is_that_of_all_sign_columns(result, n, d, a, c, kernel, gap):
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
def test_the_law_of_the_classes_is_a_probability(result, data, rows, sight):
    probability(result)


@fuzz(tokens.class_floor, law_parts("signs"), kept=LAW_PARTS)
def test_the_floor_lies_among_the_tokens(result, sight, **given):
    assert -sight.tokens - 1 <= result <= sight.tokens


@fuzz(
    tokens.least_plus,
    law_parts("signs").map(lambda made: {k: v for k, v in made.items() if k != "sight"}),
    kept=LAW_PARTS,
)
def test_the_least_number_of_plus_signs_is_one_of_classes(result, data, **given):
    assert 0 <= result <= data.d - 2


@fuzz(tokens.class_bound, law_parts("found"), kept=LAW_PARTS)
def test_the_bound_is_above_the_law(result, data, rows, sight, found):
    probability(result)
    assert data.d > tokens.MOST_WIDTH or result >= tokens.class_law(data, rows, sight) - 1e-12


@st.composite
def drawn_instance(draw):
    found = draw(token_data().filter(lambda data: data.d <= 1000))
    return {"data": found, "y": network.signs(draw(RNG), found.d, draw(st.integers(1, 6)), np)}


@fuzz(tokens.instance_fires, drawn_instance(), kernel=WITH_LAW)
def test_an_instance_fires_or_not(result, y, data, kernel):
    assert isinstance(result, bool)


@fuzz(tokens.fires_probability, sizes(), m=COLUMNS, **LAW)
def test_the_network_fires_as_its_columns_do(result, n, d, m, **given):
    probability(result)
    near(result, sign_sums.fires_probability(tokens.column_probability(n, d, **given), m))


@fuzz(tokens.column_bounds, sizes(), **LAW)
def test_bounds_enclose_the_columns_probability(result, **given):
    bounds_hold(result, tokens.column_probability, **given)


@fuzz(tokens.kernel_bounds, sizes(), **LAW)
def test_bounds_enclose_the_columns_probability_under_every_kernel(result, **given):
    bounds_hold(result, tokens.column_probability, **given)


@fuzz(tokens.fires_bounds, sizes(), m=COLUMNS, **LAW)
def test_bounds_enclose_the_networks_probability(result, **given):
    bounds_hold(result, tokens.fires_probability, **given)


@fuzz(tokens.errors, sizes(), m=COLUMNS, a0=STRENGTH, a1=STRENGTH, c=SHARE, gap=GAP, by=some("exact", "bound"))
def test_errors_are_those_of_the_firing_probabilities(result, **given):
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
def test_sizes_keep_the_error(result, delta, a0, a1, c, t, gap, by, d_max):
    n, d, m = result
    assert n == (d - 2) * int(t)
    assert d <= d_max
    assert max(tokens.errors(n, d, m, a0, a1, c, gap, by=by)) <= number(delta) * (1 + Fraction(1, 10**9))
