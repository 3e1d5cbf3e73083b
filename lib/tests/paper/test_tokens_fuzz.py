"""attnsep.paper.tokens meets drawn arguments: it is right about them, or refuses them by name."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from attnsep.arrays import to_numpy
from attnsep.paper import network, tokens
from attnsep.probability import sign_sums
from lib.tests.fuzzing import fuzz, number
from lib.tests.strategies import (
    COLUMNS,
    GAP,
    RNG,
    SHARE,
    SIGNS,
    STRENGTH,
    WITH_LAW,
    XP,
    any_data,
    bounds_hold,
    laws,
    like_matrices,
    near,
    probability,
    sizes,
    small_data,
    some,
)

CLASSES = some((2, 1), [1] * 4, (10**300, 1)).map(lambda found: {"class_sizes": found})


@fuzz(tokens.TokenData, st.one_of(sizes(), CLASSES), a=STRENGTH, c=SHARE, gap=GAP, marked=some(0, 1))
def test_the_data_keep_their_numbers_exactly(result, **given):
    assert result.n == ((result.d - 2) * result.t if result.class_sizes is None else sum(result.class_sizes))
    assert result.b + result.c == 1 > result.c > 0
    assert (result.a, result.c, result.gap) == tuple(number(given[name]) for name in ("a", "c", "gap"))
    assert 0 <= result.tau < math.inf
    assert 0 <= result.marked_class < result.d - 2
    assert 0 < result.concentration <= 1
    assert all(
        x * result.strengths.b == result.b * whole
        for x, whole in zip(
            (result.a, result.c, result.gap),
            (result.strengths.a, result.strengths.c, result.strengths.gap),
            strict=True,
        )
    )


@fuzz(tokens.TokenData.classes, self=small_data(), xp=XP)
def test_every_class_has_its_tokens(result, self, xp):
    assert np.bincount(to_numpy(result)).tolist() == list(self.class_sizes or [self.t] * (self.d - 2))


@fuzz(tokens.TokenData.matrix, self=small_data(), xp=XP, dtype=some(None))
def test_the_matrix_has_one_mark_and_rows_of_equal_sum(result, self, xp, dtype):
    A, root = to_numpy(result), math.sqrt(self.log_n)
    assert A.shape == (self.n, self.d)
    assert np.all(np.isfinite(A))
    assert np.array_equal(np.argmax(A[:, 1:-1], axis=1), to_numpy(self.classes(np)))
    assert np.allclose(A[:, 1:-1].sum(axis=1), float(self.b) * root)
    assert np.count_nonzero(A[:, 0]) == (float(self.a) * root > 0)


@fuzz(tokens.Scaled.X, self=small_data(), xp=XP, dtype=some(None))
def test_every_entry_of_x_is_one(result, self, xp, dtype):
    assert np.all(to_numpy(result) == np.ones((self.d, self.d)))


LAW = {"a": STRENGTH, "c": SHARE, "kernel": WITH_LAW, "gap": GAP}


@fuzz(tokens.weights, n=some(2, 16, 10**6, 10**300), a=STRENGTH, kernel=WITH_LAW, d=some(3, 10))
def test_weights_and_their_complements_add_up(result, n, a, kernel, d):
    assert all(0 <= w <= 1 for w in result)
    near(result.p + result.not_p, 1)
    near(result.q + result.not_q, 1)


@fuzz(
    tokens.shortfall,
    data=any_data(),
    signs=SIGNS,
    total=st.integers(0, 9),
    marked=st.integers(0, 9),
    own=st.integers(0, 9),
    kept={"*"},
)
def test_what_is_missing_is_the_threshold_without_what_is_met(result, data, signs, total, marked, own):
    met = data.a * marked * signs.first + data.b * own * signs.own + data.c * total * signs.last
    assert result == (data.c + data.gap) * total - met


@fuzz(
    tokens.output,
    data=any_data(),
    total=st.floats(0, 1),
    marked=st.floats(0, 1),
    own=st.floats(0, 1),
    others=st.floats(0, 1),
    kept={"*"},
)
def test_an_output_is_not_negative_and_keeps_the_last_entry(result, data, total, **given):
    assert all(math.isfinite(x) and x >= 0 for x in result)
    near(result.last, float(data.c) * math.sqrt(data.log_n) * total)


@fuzz(
    tokens.TokenValue.meets,
    self=st.builds(tokens.TokenValue, *[st.floats(-9, 9)] * 4),
    signs=SIGNS,
    others=st.integers(-9, 9),
    kept={"*"},
)
def test_an_output_meets_a_column_entry_by_entry(result, self, signs, others):
    near(result, float(np.dot(self, [signs.first, signs.own, others, signs.last])))


@fuzz(tokens.Law, data=any_data(), kernel=WITH_LAW, about_several=True)
def test_own_and_other_tokens_are_all_that_are_visible(result, data, kernel):
    visible = result.visible
    assert visible.own + sum(size * count for size, count in visible.others) == visible.tokens <= data.n
    assert all(size % visible.unit == 0 for size, _ in visible.others)


@fuzz(tokens.law, sizes(), **LAW)
def test_the_short_form_is_the_law(result, n, d, a, c, kernel, gap):
    assert result == tokens.Law(tokens.TokenData(n=n, d=d, a=a, c=c, gap=gap), kernel)


@fuzz(tokens.Law.weights, self=laws())
def test_the_laws_weights_and_their_complements_add_up(result, self):
    assert all(0 <= w <= 1 for w in result)
    near(result.p + result.not_p, 1)
    near(result.q + result.not_q, 1)


@fuzz(tokens.Law.values, self=laws())
def test_outputs_keep_the_last_entry_and_the_sum_of_the_classes(result, self):
    data, root = self.data, math.sqrt(self.data.log_n)
    for row in result:
        assert all(math.isfinite(x) and x >= 0 for x in row)
        near(row.last, float(data.c) * root)
        near(row.own + (data.d - 3) * row.others, float(data.b) * root)


@fuzz(tokens.Law.floor, self=laws(), signs=SIGNS, kept={"signs"})
def test_the_floor_lies_among_the_sums(result, self, signs):
    most = sum(size * count for size, count in self.visible.others) // self.visible.unit
    assert -most - 1 <= result <= most
    assert result == tokens.sum_floor(self.data, self.visible, self.gains, signs)


@fuzz(
    tokens.sum_floor,
    laws().map(lambda law: {"data": law.data, "visible": law.visible, "gains": law.gains}),
    signs=SIGNS,
    kept={"*"},
)
def test_the_floor_lies_among_the_tokens(result, visible, **given):
    assert -visible.tokens - 1 <= result <= visible.tokens


@fuzz(tokens.Law.least_plus, self=laws(), signs=SIGNS, kept={"signs"})
def test_the_least_number_of_plus_signs_is_one_of_classes(result, self, signs):
    assert 0 <= result <= self.data.d - 2


@fuzz(tokens.Law.column_probability, self=laws())
def test_a_columns_probability_is_that_of_all_sign_columns(result, self):
    like_matrices(result, self.data, self.kernel)


@fuzz(tokens.Law.fires, self=laws(), m=COLUMNS)
def test_the_network_fires_as_its_columns_do(result, self, m):
    probability(result)
    near(result, sign_sums.fires_probability(self.column_probability(), m))


@st.composite
def drawn_instance(draw):
    found = draw(laws(most_d=1000))
    return {"self": found, "y": network.signs(draw(RNG), found.data.d, draw(st.integers(1, 6)), np)}


@fuzz(tokens.Law.fires_on, drawn_instance())
def test_an_instance_fires_or_not(result, self, y):
    assert isinstance(result, bool)


@fuzz(tokens.Law.column_bounds, self=laws(), by=some("theorem", "mark"))
def test_bounds_enclose_the_columns_probability(result, self, by):
    bounds_hold(result, self)


@fuzz(tokens.Law.fires_bounds, self=laws(), m=COLUMNS, by=some("theorem", "mark"))
def test_bounds_enclose_the_networks_probability(result, self, m, by):
    bounds_hold(result, self, m)


@fuzz(tokens.errors, sizes(), m=COLUMNS, a0=STRENGTH, a1=STRENGTH, c=SHARE, gap=GAP, by=some("exact", "bound"))
def test_errors_are_those_of_the_firing_probabilities(result, **given):
    assert all(0 <= error <= 1 for error in result)
    near(
        result.softmax_silent_on_d1 + 1,
        2 - tokens.law(*(given[x] for x in ("n", "d", "a1", "c")), gap=given["gap"]).fires(given["m"]),
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
