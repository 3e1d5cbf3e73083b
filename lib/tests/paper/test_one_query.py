"""The bounds against formulas written a second time, in 50 digits."""

from fractions import Fraction

import pytest

from attnsep.paper import one_query
from attnsep.probability import sign_sums

mpmath = pytest.importorskip("mpmath")  # a machine that lends its GPU may lack it; nothing here needs a GPU
mp = mpmath.mp.clone()
mp.dps = 50
RANGES = [(0.2, 0.3), (1.0, 1.0), (0.01, 30.0), (1e-6, 1e-6)]
FLAT = (one_query.softmax_flat, one_query.linear_flat)
close = pytest.approx


def precise(*values):
    return [mp.mpf(value) for value in values]


@pytest.mark.parametrize("n", [2, 3, 1000, 10**6])
@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("spike", [0.5, 1.0, 4.0])
def test_lemma_4_1(n, low, high, spike):
    l, h, k = precise(low, high, spike)
    L = mp.log(n)
    assert one_query.softmax_flat(n, low, high) == close(
        (float(mp.exp(l - h) / n), float(mp.exp(h - l) / n)), rel=1e-13
    )
    assert one_query.linear_flat(n, low, high) == close((float(l / (h * n)), float(h / (l * n))), rel=1e-13)
    power = mp.exp(h) * mp.mpf(n) ** (-k)
    assert one_query.softmax_spike(n, high, spike) == close((float(1 / (1 + (n - 1) * power)), float(power)), rel=1e-12)
    total = k * L + (n - 1) * l
    assert one_query.linear_spike(n, low, high, spike) == close((float(k * L / total), float(h / total)), rel=1e-13)
    for end in (low, high):
        weight = 1 / (1 + (n - 1) * mp.exp(end) * mp.mpf(n) ** (-k))
        assert one_query.spike_weight(float(L), end, spike) == close(float(weight), rel=1e-12)


def test_spike_weight_far_beyond_matrices():
    n = mp.mpf(10) ** 300
    for spike in (0.9, 1.0, 1.1):
        weight = 1 / (1 + (n - 1) * mp.exp(mp.mpf(0.3)) * n ** (-mp.mpf(spike)))
        assert one_query.spike_weight(float(mp.log(n)), 0.3, spike) == close(float(weight), rel=1e-12)


def test_what_no_double_holds_is_0_or_1_or_inf():
    assert [one_query.spike_weight(1e4, 0.0, spike) for spike in (0.0, 1.0, 3.0)] == [0.0, 0.5, 1.0]
    assert one_query.softmax_flat(2, 1.0, 1000.0) == (float(mp.exp(-999) / 2), float("inf"))
    assert one_query.softmax_spike(2, 1000.0, 1.0) == (float(2 * mp.exp(-1000)), float("inf"))
    assert [sign_sums.hoeffding(*pair) for pair in ((1e300, 1.7e308), (1e-300, 5e-324), (1e-10, 1.7e308))] == [0, 1, 1]


@pytest.mark.parametrize("n", [2, 60, 1000])
@pytest.mark.parametrize(("low", "high"), RANGES[:3])
@pytest.mark.parametrize("s", [1e-3, 0.5, 1.0])
def test_column_bounds(n, low, high, s):
    l, h, x = precise(low, high, s)
    assert sign_sums.hoeffding(s, 0.25) == close(float(mp.exp(-2 * x * x)), rel=1e-14)
    assert one_query.softmax_flat_column(n, low, high, s) == close(
        float(mp.exp(-x * x * n / (2 * mp.exp(h - l)))), rel=1e-12
    )
    assert one_query.linear_flat_column(n, low, high, s) == close(float(mp.exp(-x * x * n * l / (2 * h))), rel=1e-12)
    M = 4 * mp.log(n)
    norm = (M**2 + (n - 1) * h**2) / (M + (n - 1) * l) ** 2
    assert one_query.linear_spike_norm(n, low, high, 4.0) == close(float(norm), rel=1e-13)
    assert one_query.linear_spike_column(n, low, high, 4.0, s) == close(float(mp.exp(-x * x / (2 * norm))), rel=1e-12)


def test_errors_collect_the_column_bounds():
    data = (50, 3, 0.5, 0.2, 0.3, 4.0)
    errors = one_query.query_errors_bound(*data)
    assert errors == (
        0.125,
        3 * one_query.softmax_flat_column(50, 0.2, 0.3, 0.5),
        3 * one_query.linear_flat_column(50, 0.2, 0.3, 0.5),
        3 * one_query.linear_spike_column(50, 0.2, 0.3, 4.0, 0.5),
    )


def test_the_theorem_says_nothing_from_its_threshold_on():
    reach = 2 * one_query.softmax_spike(5, 0.3, 2.0)[0] - 1
    assert one_query.query_errors_bound(5, 3, reach * (1 - 1e-9), 0.2, 0.3, 2.0).softmax_silent_on_v1 == 0.125
    assert one_query.query_errors_bound(5, 3, reach, 0.2, 0.3, 2.0).softmax_silent_on_v1 == 1.0


def test_columns_needed_is_exact():
    for k in range(1, 1100):
        power = Fraction(1, 2**k)
        assert one_query.columns_needed(power) == k
        assert one_query.columns_needed(power * Fraction(999999999, 10**9)) == k + 1
    for k in range(1, 1074):
        assert one_query.columns_needed(2.0**-k) == k
    assert [one_query.columns_needed(d) for d in ("0.1", "0.01", "0.001", 0.999)] == [4, 7, 10, 1]


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0.3", 0.125, "0.01"])
@pytest.mark.parametrize("tau", ["0.5", 0.9])
@pytest.mark.parametrize(("low", "high", "spike"), [(0.2, 0.3, 4.0), (1.0, 1.0, 2.0)])
def test_sizes_by_bound_are_smallest(delta, tau, low, high, spike):
    n, m = one_query.query_sizes_bound(delta, tau, low, high, spike)

    def enough(n, m):
        return max(one_query.query_errors_bound(n, m, float(tau), low, high, spike)) <= Fraction(delta)

    assert enough(n, m)
    assert not any(enough(n, fewer) for fewer in range(1, m))
    assert not any(enough(smaller, any_m) for smaller in range(2, n) for any_m in range(1, 12))


def test_the_last_size_that_may_be_tried_is_tried():
    data = ("0.1", "0.5", 0.2, 0.3, 4.0)
    n, m = one_query.query_sizes_bound(*data)
    assert one_query.query_sizes_bound(*data, n_max=n) == one_query.query_sizes_bound(*data, n_max=10**6) == (n, m)
    with pytest.raises(ValueError, match=f"n_max = {n - 1}: no n up to it has all four bounds at most delta = 0.1$"):
        one_query.query_sizes_bound(*data, n_max=n - 1)
    assert one_query.query_sizes_bound("0.7", "0.9", 0.1, 0.1, 9.0, n_max=2) == (2, 1)


@pytest.mark.parametrize("inf", [float("inf"), float("-inf"), float("nan")])
def test_spike_weight_needs_finite_numbers(inf):
    far = 1.7e308  # finite, but not twice of it
    rounded = [(1e200, 0.3, 1e200), (1.0, far, far)]
    for case in [(inf, 0.3, 1.0), (1.0, inf, 1.0), (1.0, 0.3, inf), (0.69, 0.3, 1.0), *rounded]:
        with pytest.raises(ValueError, match=r"(log_n|other|spike) = .*: must be finite"):
            one_query.spike_weight(*case)
    assert one_query.spike_weight(float(mp.log(2)), 0.0, 0.0) == 0.5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sign_sums.hoeffding(0.0, 1.0), "s = 0.0"),
        (lambda: sign_sums.hoeffding(1.0, -1.0), "norm_squared = -1.0"),
        (lambda: one_query.query_errors_bound(1, 3, 0.5, 0.2, 0.3, 4.0), "n = 1"),
        (lambda: one_query.query_errors_bound(9, 0, 0.5, 0.2, 0.3, 4.0), "m = 0"),
        (lambda: one_query.query_errors_bound(9, 3, 0.0, 0.2, 0.3, 4.0), "tau = 0.0"),
        (lambda: one_query.query_errors_bound(9, 3, 0.5, 0.4, 0.3, 4.0), "low = 0.4"),
        (lambda: one_query.query_errors_bound(9, 3, 0.5, 0.2, 0.3, 1.0), "spike = 1.0"),
        (lambda: one_query.columns_needed(1), "delta = 1"),
        (lambda: one_query.columns_needed("a tenth"), "delta = 'a tenth'"),
        (lambda: one_query.columns_needed(float("nan")), "delta = nan"),
        (lambda: one_query.query_sizes_bound(0, 0.5, 0.2, 0.3, 4.0), "delta = 0"),
        (lambda: one_query.query_sizes_bound("0.1", "1", 0.2, 0.3, 4.0), "tau = '1'"),
        (lambda: one_query.query_sizes_bound("0.1", "0.5", 0.2, 0.3, 4.0, n_max=50), "n_max = 50"),
        (lambda: one_query.query_sizes_bound("0.1", "0.5", 0.2, 0.3, 4.0, n_max=1), "n_max = 1: must be at least 2"),
        *((lambda flat=flat: flat(1, 0.2, 0.3), "n = 1: must be at least 2") for flat in FLAT),
        *((lambda flat=flat: flat(9, 0.4, 0.3), "low = 0.4, high = 0.3: must satisfy") for flat in FLAT),
        (lambda: one_query.linear_spike(9, 0.4, 0.3, 4.0), "low = 0.4, high = 0.3: must satisfy"),
        (lambda: one_query.softmax_spike(9, -0.3, 4.0), "high = -0.3: must be finite and above 0"),
        (lambda: one_query.query_errors_bound(9, 3, 0.5, 0.2, -0.3, 4.0), "^high = -0.3: must be finite and above 0"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_no_spike_is_refused():
    with pytest.raises(TypeError, match="spike = None"):
        one_query.query_errors_bound(9, 3, 0.5, 0.2, 0.3, None)


def test_probabilities_of_many_digits():
    assert one_query.columns_needed("0." + 3990 * "1") == 4
    assert one_query.columns_needed(Fraction(1, 10**3990)) == 13255


def test_bounds_that_say_nothing_are_one_and_no_warning():
    wide = (1e-300, 1e300)
    assert one_query.linear_flat(2, *wide)[1] == float("inf")
    assert one_query.linear_flat_column(2, *wide, 0.5) == 1.0
    assert one_query.softmax_flat_column(2, 1.0, 1000.0, 0.5) == 1.0
    assert one_query.linear_spike_column(2, *wide, 1.0, 0.5) == 1.0
    for call in (
        lambda s: one_query.linear_flat_column(2, *wide, s),
        lambda s: one_query.softmax_flat_column(2, 1.0, 1e3, s),
    ):
        with pytest.raises(ValueError, match=r"s = 0\.0: must be finite and above 0"):
            call(0.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: one_query.linear_spike(10**9, 1e308, 1e308, 1.0), "the sum of the scores is too large for a double"),
        (lambda: one_query.linear_spike_norm(10**200, 1e-200, 1e-200, 1e-200), "the norm is too small for a double"),
        (lambda: one_query.columns_needed("0." + 4001 * "1"), "delta = .*: must have at most 4000 digits"),
        (
            lambda: one_query.query_sizes_bound("0.1", "0.5", 0.2, 0.3, 4.0, n_max=10**6 + 1),
            r"n_max = 1000001: must be at most 10\^6",
        ),
    ],
)
def test_what_no_double_holds_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
