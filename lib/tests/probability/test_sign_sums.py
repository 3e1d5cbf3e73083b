"""The exact laws against enumeration, against 60 digits, and the sizes against every smaller choice."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from attnsep.attention.kernels import linear, softmax
from attnsep.paper import one_query
from attnsep.probability import sign_sums
from lib.tests.digits import mp, precise_tail

LOW, HIGH = math.log(1.2), math.log(1.4)
close = pytest.approx

WEIGHTS = [
    [1],
    [1, 1],
    [1] * 7,
    [5, 1, 1, 1, 1],
    [3, -2, 2, 0, 1],
    [0, 0, 4],
    ["0.1", "0.2", "0.3", "0.3"],
    [Fraction(1, 3), Fraction(1, 6), Fraction(1, 2), Fraction(-1, 2)],
    [9, 7, 7, 5, 3, 3, 3, 1, 1, 2],
]


def enumerated(weights):
    """The law of ⟨w, σ⟩, one sign vector at a time."""
    exact_weights = [Fraction(w) for w in weights]
    return Counter(
        sum((w * sign for w, sign in zip(exact_weights, signs, strict=True)), Fraction(0))
        for signs in product((-1, 1), repeat=len(weights))
    )


@pytest.mark.parametrize("weights", WEIGHTS)
def test_law_and_tail_are_the_enumeration(weights):
    law, total = enumerated(weights), 2 ** len(weights)
    assert sign_sums.sum_law(weights) == law
    for s in {*law, Fraction(1, 7), Fraction(100), Fraction(-100)}:  # ties and gaps
        assert sign_sums.tail(weights, s) == Fraction(sum(k for v, k in law.items() if v >= s), total)
        assert sign_sums.tail(weights, s, strict=True) == Fraction(sum(k for v, k in law.items() if v > s), total)


def test_large_laws_are_binomials():
    law = sign_sums.sum_law([2] * 3000)
    assert law[Fraction(0)] == math.comb(3000, 1500)
    assert sum(law.values()) == 2**3000
    two_valued = sign_sums.sum_law([7] + [3] * 400)
    assert two_valued[Fraction(7 + 3 * 100)] == math.comb(400, 250)
    assert len(two_valued) == 802


@pytest.mark.quartered
@pytest.mark.parametrize("n", [1, 2, 9, 1000, 1001, 10_000, 10**6])
@pytest.mark.parametrize("deviations", [-1.0, 0.0, 0.01, 1.0, 7.0, 36.7])
def test_binomial_tail_to_twelve_digits(n, deviations):
    r = math.ceil(n / 2 + deviations * math.sqrt(n) / 2)  # 7 deviations: about 1e-12; 36.7: about 1e-300
    if 0 <= r <= n:
        wanted = precise_tail(n, r)
        assert abs(mp.mpf(sign_sums.binomial_tail(n, r)) / wanted - 1) < 1e-12
        if n >= 10_000 and deviations >= 7:
            assert {7.0: 1e-13, 36.7: 1e-305}[deviations] < wanted < {7.0: 1e-11, 36.7: 1e-290}[deviations]


@pytest.mark.quartered
@pytest.mark.parametrize("n", [1, 7, 300, 1000, 4000])
@pytest.mark.parametrize("p", ["0.001", Fraction(1, 3), 0.5, 0.93])
def test_binomial_tail_for_any_p(n, p):
    chance = Fraction(p)
    for r in {0, 1, n // 3, n // 2, int(n * 0.93), n, *(max(int(n * chance) + step, 0) for step in (-9, 0, 1, 40))}:
        if r <= n:
            wanted = precise_tail(n, r, chance)
            assert sign_sums.binomial_tail(n, r, p) == close(float(wanted), rel=1e-12, abs=1e-320)
    assert sign_sums.binomial_tail(n, -3, p) == 1.0
    assert sign_sums.binomial_tail(n, n + 1, p) == 0.0


@pytest.mark.parametrize("weights", [[("0.5", 1), ("0.25", 6)], [(1, 9)], [(3, 4), (2, 5), (7, 1)], [(1, 0), (2, 3)]])
def test_column_probability_is_the_exact_tail(weights):
    flat = [Fraction(w) for w, k in weights for _ in range(k)]
    floats = [(float(Fraction(w)), k) for w, k in weights]
    for s in {*sign_sums.sum_law(flat), Fraction(1, 7)}:  # every tie
        wanted = float(sign_sums.tail(flat, s, strict=True))
        assert sign_sums.column_probability(weights, s) == close(wanted, rel=1e-13)
        assert sign_sums.column_probability(floats, float(s)) == close(wanted, rel=1e-13)


@pytest.mark.parametrize("n", [3, 7, 10, 49, 1000, 10**6])
def test_ties_of_rounded_weights(n):
    # 1/n and most multiples of it are no doubles; the tie has to be seen all the same, and it must not fire.
    for plus in (n // 2 + 1, n // 2 + n // 10 + 1, n):
        tau = Fraction(2 * plus - n, n)
        wanted = float(precise_tail(n, plus + 1)) if plus < n else 0.0
        for one, threshold in ((Fraction(1, n), tau), (1 / n, float(tau)), (1 / n, (2 * plus - n) * (1 / n))):
            assert sign_sums.column_probability([(one, n)], threshold) == close(wanted, rel=1e-12)


def test_ties_after_cancellation():
    # 0.901 − 0.9 is off by far more than an ε of 0.001.
    for marked in range(1, 1000):
        exactly = sign_sums.column_probability([(Fraction(marked, 1000), 1), ("0.001", 9)], Fraction(marked + 3, 1000))
        assert sign_sums.column_probability([(marked / 1000, 1), (0.001, 9)], (marked + 3) / 1000) == exactly


def test_floats_that_cannot_decide_are_refused():
    with pytest.raises(ValueError, match="threshold: doubles cannot tell"):
        sign_sums.column_probability([(1.0, 1), (1e-17, 10)], 1.0)
    assert sign_sums.column_probability([(1, 1), (Fraction(1, 10**17), 10)], 1) == float(Fraction(386, 2048))
    assert sign_sums.column_probability([(1.0, 1), (1e-17, 10)], 0.5) == 0.5
    assert sign_sums.column_probability([(1.0, 1), (1e-17, 10)], 1.5) == 0.0
    assert sign_sums.column_probability([(1.0, 1), (1e-320, 10)], -0.5) == 0.5


@pytest.mark.parametrize("n", [2, 100, 10**4, 10**6])
def test_a_spike_far_above_the_rest_decides_alone(n):
    assert one_query.query_errors_exact(n, 7, "0.3", LOW, HIGH, 9.0).softmax_silent_on_v1 == 2.0**-7


def test_zero_and_negative_weights():
    assert sign_sums.column_probability([(0, 5)], -1) == 1.0
    assert sign_sums.column_probability([(0, 5)], 0) == 0.0
    assert sign_sums.column_probability([("-0.5", 2), (0, 1)], "0.9") == 0.25


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 5, 1000, 10**6])
@pytest.mark.parametrize("m", [1, 10, 10**9])
def test_query_fires_to_twelve_digits(n, m):
    # Weights of a spike: f_marked + (n−1) f_other = 1 with f_marked = 1/4; thresholds from likely to 1e-300.
    marked, other = Fraction(1, 4), Fraction(3, 4 * (n - 1))
    for deviations in (0, 3, 7, 36):
        plus = math.ceil((n - 1) / 2 + deviations * math.sqrt(n) / 2)
        if plus <= n - 1:
            tau = marked + other * (2 * plus - n + 1)  # a tie of the marked +1, decided in integers
            pi = (precise_tail(n - 1, plus + 1) if plus < n - 1 else mp.mpf(0)) / 2
            least = math.floor((n - 1 + (tau + marked) / other) / 2) + 1
            pi += precise_tail(n - 1, least) / 2 if least <= n - 1 else 0
            wanted = -mp.expm1(m * mp.log1p(-pi)) if pi else mp.mpf(0)
            found = one_query.query_fires_probability(marked, other, n, m, tau)
            assert found == close(float(wanted), rel=1e-12, abs=0)
            assert one_query.query_fires_probability(float(marked), float(other), n, m, float(tau)) == close(
                found, rel=1e-12
            )


def test_tiny_and_certain_probabilities():
    for pi in (1e-300, 1e-12, 1e-3, 0.49, 0.5, 0.75, 1.0):
        for m in (1, 2, 1000):
            silent = (1 - mp.mpf(pi)) ** m
            assert sign_sums.fires_probability(pi, m) == close(
                float(1 - silent if pi > 1e-60 else m * mp.mpf(pi)), rel=1e-14
            )
            assert sign_sums.silent_probability(pi, m) == close(float(silent), rel=1e-12, abs=1e-310)
    assert [sign_sums.silent_probability(0.5, m) for m in range(1, 1000)] == [2.0**-m for m in range(1, 1000)]


def precise_column(u, tau):
    """P[⟨f, σ⟩ > τ] for weights proportional to u, by all sign vectors of the values that differ, in 60 digits."""
    groups = Counter(u)
    pi, total = mp.mpf(0), sum(value * count for value, count in groups.items())
    for plus in product(*(range(count + 1) for count in groups.values())):
        s = sum(value * (2 * b - count) for b, (value, count) in zip(plus, groups.items(), strict=True))
        if s - tau * total > mp.mpf(10) ** -40:
            pi += math.prod(math.comb(count, b) for b, count in zip(plus, groups.values(), strict=True))
    return pi / mp.mpf(2) ** len(u)


def precise_columns(n, tau, low, high, spike, shape):
    """The four column probabilities from score vectors written out, for `flat` and `extreme`."""
    low, high = mp.mpf(low), mp.mpf(high)
    marked = spike * mp.log(n)
    corners = [[low] * (n - k) + [high] * k for k in range(n + 1)]

    def norm(u):
        return sum(value**2 for value in u) / sum(u) ** 2

    def worst(choices):
        return max(choices, key=norm)

    if shape == "flat":
        v = [low] * (n - 1)
        scores = ([marked, *v], [low, *v], [low, *v], [marked, *v])
    else:
        softmax_v0 = worst([[mp.exp(value - low) for value in v] for v in corners])
        linear_v1 = worst([[marked, *v[:-1]] for v in corners[:-1]] + [[marked] + [high] * (n - 1)])
        scores = ([marked] + [high] * (n - 1), [low + mp.log(value) for value in softmax_v0], worst(corners), linear_v1)
    exponentials = [[mp.exp(value - low) for value in v] for v in scores[:2]]
    exponentials = [[mp.nstr(value, 50) for value in v] for v in exponentials]  # equal scores must stay equal
    return [precise_column([mp.mpf(value) for value in u], tau) for u in (*exponentials, *scores[2:])]


@pytest.mark.parametrize("n", [2, 3, 6, 11])
@pytest.mark.parametrize("shape", one_query.SHAPES)
@pytest.mark.parametrize("tau", ["0.5", "0.123", "0.9"])
@pytest.mark.parametrize(("low", "high", "spike"), [(LOW, HIGH, 4.0), (1.0, 1.0, 1.2), (0.5, 4.0, 2.0)])
def test_query_errors_are_those_of_the_written_out_scores(n, shape, tau, low, high, spike):
    pis = precise_columns(n, mp.mpf(tau), low, high, spike, shape)
    for m in (1, 5):
        found = one_query.query_errors_exact(n, m, tau, low, high, spike, shape)
        wanted = [(1 - pis[0]) ** m, *(1 - (1 - pi) ** m for pi in pis[1:])]
        assert found == close([float(error) for error in wanted], rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("delta", "tau", "size"), [("0.1", "0.75", (43, 4)), (0.125, "0.75", (39, 3)), ("0.2", 0.8, None)]
)
def test_exact_sizes_are_smallest(delta, tau, size):
    n, m = one_query.query_sizes_exact(delta, tau, LOW, HIGH, 4.0)
    assert size in (None, (n, m))
    largest = mp.mpf(Fraction(delta).numerator) / Fraction(delta).denominator

    def enough(pis, m):
        errors = ((1 - pis[0]) ** m, *(1 - (1 - pi) ** m for pi in pis[1:]))
        return max(errors) <= largest * (1 + mp.mpf(10) ** -30)

    pis = precise_columns(n, mp.mpf(tau), LOW, HIGH, 4.0, "flat")
    assert enough(pis, m)
    assert not any(enough(pis, fewer) for fewer in range(1, m))
    for smaller in range(2, n):
        pis = precise_columns(smaller, mp.mpf(tau), LOW, HIGH, 4.0, "flat")
        assert not any(enough(pis, any_m) for any_m in range(1, 30))


def test_the_last_size_that_may_be_tried_is_tried():
    data = ("0.1", "0.75", LOW, HIGH, 4.0)
    assert one_query.query_sizes_exact(*data, n_max=43) == one_query.query_sizes_exact(*data, n_max=10**6) == (43, 4)
    with pytest.raises(ValueError, match=r"n_max = 1000001: must be at most 10\^6"):
        one_query.query_sizes_exact(*data, n_max=10**6 + 1)
    with pytest.raises(ValueError, match=r"n_max = 42: no n up to it has all four errors at most delta = 0.1"):
        one_query.query_sizes_exact(*data, n_max=42)
    with pytest.raises(ValueError, match="n_max = 1: must be at least 2"):
        one_query.query_sizes_exact(*data, n_max=1)
    assert one_query.query_sizes_exact("0.8", "0.9", LOW, HIGH, 9.0, n_max=2) == (2, 1)


def test_extreme_sizes_are_smallest():
    delta, tau, data = "0.2", "0.8", (0.5, 1.5, 3.0, "extreme")
    n, m = one_query.query_sizes_exact(delta, tau, *data)
    for smaller in range(2, n):
        assert all(max(one_query.query_errors_exact(smaller, any_m, tau, *data)) > 0.2 for any_m in range(1, 30))
    assert max(one_query.query_errors_exact(n, m, tau, *data)) <= 0.2
    assert all(max(one_query.query_errors_exact(n, fewer, tau, *data)) > 0.2 for fewer in range(1, m))


def test_sizes_at_a_power_of_two_use_the_tie():
    # Softmax is silent with probability exactly 2^-m, which is allowed at δ = 2^-m.
    assert [one_query.query_sizes_exact(2.0**-k, "0.9", LOW, HIGH, 4.0)[1] for k in (1, 2, 3, 10)] == [1, 2, 3, 10]


def test_a_size_without_enough_columns_is_passed_over():
    columns = {2: None, 3: 1, 4: None, 5: 2}.get
    assert sign_sums.smallest_size(range(2, 6), columns, lambda size, m: size > 3, "none") == (5, 2)


def test_worst_scores_are_worst():
    for n, high, marked in product(
        (1, 2, 3, 5), (1, Fraction(7, 6), 2, 3), (0, Fraction(1, 2), 1, Fraction(3, 2), Fraction(7, 2), 50)
    ):

        def norm(scores, marked=marked):
            return (marked**2 + sum(u**2 for u in scores)) / Fraction(marked + sum(scores)) ** 2

        found = [u for u, count in one_query.worst_scores(n, Fraction(1), Fraction(high), marked) for _ in range(count)]
        assert len(found) == n
        grid = [1 + (high - 1) * Fraction(step, 5) for step in range(6)]
        assert norm(found) == max(map(norm, combinations_with_replacement(grid, n)))


def test_the_worst_norm_need_not_fire_most():
    flat, extreme = (one_query.query_errors_exact(5, 1, "0.5", LOW, HIGH, 4.0, shape) for shape in one_query.SHAPES)
    assert flat.linear_fires_on_v0 == close(3 / 16)
    assert extreme.linear_fires_on_v0 == close(1 / 8)


def test_weights_of_the_kernels_go_straight_in():
    import numpy as np

    v = np.full(20, LOW)
    v[0] = 4 * math.log(20)
    for kernel, error in ((softmax, lambda e: 1 - e.softmax_silent_on_v1), (linear, lambda e: e.linear_fires_on_v1)):
        f = kernel(v)
        found = one_query.query_fires_probability(float(f[0]), float(f[1]), 20, 3, 0.37)
        assert found == close(error(one_query.query_errors_exact(20, 3, 0.37, LOW, HIGH, 4.0)), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: sign_sums.sum_law([0.5, 0.5]), TypeError, "weights = 0.5"),
        (lambda: sign_sums.sum_law(["half"]), TypeError, "weights = 'half'"),
        (lambda: sign_sums.sum_law([True]), TypeError, "weights = True"),
        (lambda: sign_sums.sum_law([7**k for k in range(30)]), ValueError, "must be at most 200000"),
        (lambda: sign_sums.tail([1], 0.5), TypeError, "s = 0.5"),
        (lambda: sign_sums.binomial_tail(-1, 0), ValueError, "n = -1"),
        (lambda: sign_sums.binomial_tail(3, 1.5), TypeError, "r = 1.5"),
        (lambda: sign_sums.binomial_tail(3, 1, 1.0), ValueError, "p = 1.0"),
        (lambda: sign_sums.column_probability([(1.0, 2)], float("inf")), ValueError, "threshold = inf"),
        (lambda: sign_sums.column_probability([(None, 2)], 1), TypeError, "groups: weight = None"),
        (lambda: sign_sums.column_probability([(1, -1)], 1), ValueError, "groups: count = -1"),
        (lambda: one_query.query_fires_probability(0.5, 0.5, 1, 1, 0.1), ValueError, "n = 1"),
        (
            lambda: one_query.query_fires_probability(0.0, 1.0, 10**300, 1, 0),
            ValueError,
            "n, f_marked, f_other, tau: thres",
        ),
        (lambda: one_query.query_fires_probability(0.5, 0.5, 2, 0, 0.1), ValueError, "m = 0"),
        (lambda: one_query.query_errors_exact(1, 1, 0.5, 1.0, 1.0, 4.0), ValueError, "n = 1"),
        (
            lambda: one_query.query_errors_exact(10**9 + 1, 1, 0.5, 1.0, 1.0, 4.0),
            ValueError,
            "^n = 1000000001: must be at most",
        ),
        (lambda: one_query.query_errors_exact(4, 1, 0.5, 1.0, 0.5, 4.0), ValueError, "low = 1.0, high = 0.5"),
        (lambda: one_query.query_errors_exact(4, 1, 0.5, 1.0, 1.0, None), TypeError, "spike = None"),
        (lambda: one_query.query_errors_exact(4, 1, 0.5, 1.0, 1.0, 4.0, "round"), ValueError, "shape = 'round'"),
        (lambda: one_query.query_sizes_exact(1.0, 0.5, 1.0, 1.0, 4.0), ValueError, "delta = 1.0"),
        (lambda: one_query.query_sizes_exact(0.1, 0.0, 1.0, 1.0, 4.0), ValueError, "tau = 0.0"),
        (lambda: one_query.query_sizes_exact(0.1, 0.5, 1.0, 1.0, 4.0, n_max=9), ValueError, "n_max = 9"),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_sizes_where_an_error_on_v0_decides():
    """A scan that only watched the errors on V_1 would stop at n = 83 or before."""
    data = ("0.6", 1.0, 3.0, 1.5, "extreme")
    n, m = one_query.query_sizes_exact("0.1", *data)
    assert n == 134
    assert max(one_query.query_errors_exact(n, m, *data)) <= 0.1
    early = one_query.query_errors_exact(83, m, *data)
    assert max(early.softmax_silent_on_v1, early.linear_fires_on_v1) <= 0.1 < max(early)


@pytest.mark.parametrize("pi", [2e-6, 1e-12, 0.3, 0.7])
def test_fires_probability_keeps_its_digits(pi):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        wanted = float(1 - (1 - mpmath.mpf(pi)) ** 3)
    assert sign_sums.fires_probability(pi, 3) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sign_sums.fires_probability(1.5, 1), "pi = 1.5: must be a probability"),
        (lambda: sign_sums.fires_probability(0.5, 10**301), "must be at most 10\\^300"),
        (lambda: one_query.query_sizes_exact("1e-400", "0.5", 0.1, 0.2, 4.0), "delta = '1e-400': must not be so small"),
        (lambda: one_query.query_sizes_exact("1/0", "0.5", 0.1, 0.2, 4.0), "delta = '1/0'"),
    ],
)
def test_more_guards(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow
def test_the_limits_are_where_they_are_said_to_be():
    powers = [2**k for k in range(17)]
    assert len(sign_sums.sum_law([*powers, 199_999 - sum(powers)])) <= 200_000
    with pytest.raises(ValueError, match="weights: up to 200001 different sums, must be at most 200000"):
        sign_sums.sum_law([*powers, 200_000 - sum(powers)])
    with pytest.raises(ValueError, match=f"weights: up to {3**30} different sums"):
        sign_sums.sum_law([7**k for k in range(30)] * 2)
    assert sign_sums.column_probability([(1, 24), (2, 24), (3, 31), (5, 40)], 999) == 0.0  # 25 × 25 × 32 = 20000
    with pytest.raises(ValueError, match="groups: 20001 sums of all but the largest, must be at most 20000"):
        sign_sums.column_probability([(1, 2), (2, 58), (3, 112), (5, 200)], 999)
    assert sign_sums.fires_probability(0.5, 10**300) == 1.0


@pytest.mark.parametrize("n", [0, 1, 2, 255, 256, 257, 300, 1000, 10**6])
def test_logarithms_of_factorials_to_eighteen_digits(n):
    assert abs(mp.mpf(str(sign_sums._log_factorial(n))) - mp.loggamma(n + 1)) < mp.mpf(10) ** -20


@pytest.mark.parametrize("value", ["1/0", "1e400", "words"])
def test_numbers_that_no_double_holds_are_named(value):
    with pytest.raises(TypeError, match=f"f_marked = '{value}'"):
        one_query.query_fires_probability(value, "0.1", 5, 2, "0.5")


def test_numpy_scalars_are_numbers():
    import numpy as np

    low, high = np.float32(0.125), np.float32(0.25)
    assert one_query.worst_scores(9, low, high) == [(0.125, 6), (0.25, 3)]
    assert one_query.query_errors_exact(5, 2, 0.5, low, high, 4.0) == one_query.query_errors_exact(
        5, 2, 0.5, 0.125, 0.25, 4.0
    )


def test_floats_tie_within_their_rounding_and_no_further():
    """The sum 2 of four signs: a threshold 400 ε below it is below it, one 40 ε below it is a tie."""
    eps = 2.0**-52
    assert sign_sums.column_probability([(1.0, 4)], 2 - 400 * eps) == 5 / 16
    assert sign_sums.column_probability([(1.0, 4)], 2 - 40 * eps) == 1 / 16


@pytest.mark.quartered
@pytest.mark.parametrize(("hits", "draws"), [(0, 1), (1, 1), (1, 2), (3, 10), (1, 150), (90, 150), (149, 150)])
@pytest.mark.parametrize("alarm", [0.05, 1e-9, "1e-6"])
def test_the_interval_ends_where_each_tail_is_half_the_alarm(hits, draws, alarm):
    low, high = sign_sums.clopper_pearson(hits, draws, alarm)
    half, step = mp.mpf(float(alarm)) / 2, Fraction(1, 10**13)
    if hits == 0:
        assert low == 0
    else:
        below, above = (precise_tail(draws, hits, Fraction(low) * (1 + by)) for by in (-step, step))
        assert below < half < above
    if hits == draws:
        assert high == 1
    else:
        miss = 1 - Fraction(high)
        near = max(step * miss, Fraction(3, 10**16))  # high is a double
        # At most `hits` successes are at least draws − hits failures.
        below, above = (precise_tail(draws, draws - hits, miss + by) for by in (-near, near))
        assert below < half < above


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 5, 0.1), "hits = -1: must be at least 0"),
        ((6, 5, 0.1), "hits = 6: must be at most draws = 5"),
        ((0, 0, 0.1), "draws = 0: must be at least 1"),
        ((1, 5, 0), "alarm = "),
        ((1, 5, 1), "alarm = "),
    ],
)
def test_intervals_of_nothing_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        sign_sums.clopper_pearson(*arguments)


def test_a_law_that_would_take_hours_is_refused():
    with pytest.raises(ValueError, match="groups: 90000 sums of all but the largest, must be at most 20000"):
        sign_sums.column_probability([(1, 299), (2, 299), (3, 300)], 5)


def test_every_size_that_enters_is_rounded():
    """Threshold 1, weights 2 × 1 and 3 × 1: sizes 6, so 192 ε."""
    eps, groups = 2.0**-52, [(1.0, 2), (1.0, 3)]
    assert sign_sums.column_probability(groups, 1.0) == 6 / 32
    assert sign_sums.column_probability(groups, 1 - 189 * eps) == 6 / 32
    assert sign_sums.column_probability(groups, 1 - 195 * eps) == 16 / 32


def test_where_doubles_cannot_decide_is_where_a_sum_may_be():
    """The rounding is 0.71: sums of ten signs may meet rests of up to 10 + 2 × 0.71."""
    groups = [(1e14, 1), (1.0, 10)]
    for rest in (-11, -8, 0, 8, 11):
        with pytest.raises(ValueError, match="threshold: doubles cannot tell"):
            sign_sums.column_probability(groups, 1e14 + rest)
    assert sign_sums.column_probability(groups, 1e14 + 12) == 0.0
    assert sign_sums.column_probability(groups, 1e14 - 12) == 0.5


def test_a_threshold_that_no_sum_exceeds_is_no_size():
    with pytest.raises(ValueError, match="n_max = 5: no n up to it"):
        one_query.query_sizes_exact("0.1", "0." + 30 * "9", LOW, HIGH, 4.0, n_max=5)


def test_long_rows_whose_ends_are_below_the_least_double():
    found = sign_sums.column_probability([(1, 1100), (1, 1200)], 40)
    assert found == close(float(precise_tail(2300, 1171)), rel=1e-12)


def test_silence_of_very_many_columns():
    assert sign_sums.silent_probability(1e-17, 10**17) == close(math.exp(-1), rel=1e-14)
    for function in (sign_sums.silent_probability, sign_sums.fires_probability):
        for pi in (-0.1, -1.0, 1.1):
            with pytest.raises(ValueError, match=f"pi = {pi}: must be a probability"):
                function(pi, 1)


def test_an_error_of_almost_one_still_needs_a_column():
    assert one_query.query_sizes_exact("0.9999999999999", "0.5", LOW, HIGH, 4.0) == (2, 1)


def test_scores_must_not_be_too_far_apart():
    near, far = (one_query.query_errors_exact(3, 1, "0.5", low, 301.0, 1e-9) for low in (299.5, 299.0))
    assert near == close(far)
    for shape, low, high in (("flat", 300.5, 301.0), ("extreme", 0.1, 300.2), ("extreme", 300.4, 300.5)):
        with pytest.raises(
            ValueError, match=f"low = {low}, high = {high}, spike = 1e-09: no two scores must be more than"
        ):
            one_query.query_errors_exact(3, 1, "0.5", low, high, 1e-9, shape)
    assert one_query.query_errors_exact(2, 1, "0.5", 1.0, 1.0, 500.0).softmax_silent_on_v1 == 0.5
    assert one_query.query_errors_exact(2, 1, "0.5", 160.0, 200.0, 300.0, "extreme").softmax_silent_on_v1 == 0.5
    with pytest.raises(ValueError, match="no two scores"):
        one_query.query_errors_exact(3, 1, "0.5", 0.1, 301.0, 4.0, "extreme")


def test_scores_whose_squares_are_no_doubles_are_refused():
    for low, high, marked in ((1e-101, 1.0, 0.0), (1.0, 1e101, 0.0), (1.0, 2.0, -1.0), (1.0, 2.0, 1e101)):
        with pytest.raises(
            ValueError, match=f"low = {low}, high = {high}, marked = {marked}: must be of sizes".replace("+", r"\+")
        ):
            one_query.worst_scores(4, low, high, marked)
    assert one_query.worst_scores(4, 1e-100, 1e-100, 0) == [(1e-100, 4), (1e-100, 0)]
    assert one_query.worst_scores(1, 1e100, 1e100, 1e100) == [(1e100, 1), (1e100, 0)]
    with pytest.raises(ValueError, match="n = 0: must be at least 1"):
        one_query.worst_scores(0, 1.0, 2.0)
    with pytest.raises(ValueError, match="n = 1000000001: must be at most"):
        one_query.worst_scores(10**9 + 1, 1.0, 2.0)
    assert sum(count for _, count in one_query.worst_scores(10**9, 1e-100, 1e100, 1e100)) == 10**9
    with pytest.raises(ValueError, match=r"low = 2.0, high = 1.0"):
        one_query.worst_scores(3, 2.0, 1.0)


def test_the_most_trials():
    assert sign_sums.binomial_tail(10**9, 10**9 + 1) == 0.0
    assert sign_sums.binomial_tail(10**9, 0) == 1.0
    with pytest.raises(ValueError, match="n = 1000000001: must be at most"):
        sign_sums.binomial_tail(10**9 + 1, 0)
    with pytest.raises(ValueError, match="draws = 1000000001: must be at most"):
        sign_sums.clopper_pearson(0, 10**9 + 1, 0.05)


@pytest.mark.parametrize("groups", [5, [5], [(1, 2, 3)], [(1,)], [(1, 2), "x"]])
def test_groups_are_pairs(groups):
    with pytest.raises(TypeError, match=r"groups = .*: must be pairs of a weight and a count"):
        sign_sums.column_probability(groups, 1)


def test_what_a_column_refuses_is_said_of_the_scores():
    with pytest.raises(ValueError, match=r"tau = 1\.0, low, high, spike: threshold: doubles cannot tell"):
        one_query.query_errors_exact(4, 1, 1.0, LOW, HIGH, 60.0)


def test_a_norm_beyond_all_doubles_bounds_nothing():
    assert sign_sums._hoeffding_or_one(0.5, math.inf) == 1
    assert sign_sums._hoeffding_or_one(0.5, 0.25) == sign_sums.hoeffding(0.5, 0.25) < 1
    for norm_squared in (0.25, math.inf):
        with pytest.raises(ValueError, match=r"s = 0\.0: must be finite and above 0"):
            sign_sums._hoeffding_or_one(0.0, norm_squared)


def test_rows_of_up_to_a_thousand_trials_are_kept_and_a_few_longer_ones():
    short, long = [sign_sums._row(n) for n in (999, 1000)], sign_sums._row(1001)
    assert sign_sums._row(1001) is long
    for n in range(1002, 1018):
        sign_sums._row(n)
    assert [sign_sums._row(n) is row for n, row in zip((999, 1000), short, strict=True)] == [True, True]
    assert sign_sums._row(1001) is not long, "sixteen longer ones came after it"
