"""Exact laws of sums of random signs, and the exact firing probabilities that follow from them."""

import math
import numbers
from collections import Counter, defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, product

from attnsep.arrays import require_choice, text_of
from attnsep.bounds import QueryErrors, require_probability
from attnsep.data import QueryData, require_integer, require_items, require_positive, require_real

EPS = 2.0**-52
TABLE_SUMS = 200_000
MOST_SUMS = 20_000  # in the law of several groups
MOST_COLUMNS = 10**300
MOST_TRIALS = 10**9  # of a binomial, whose tail has about √n terms that count
LARGEST_SCORE = 1e100  # whose square is a double
FARTHEST = 300  # between two scores whose exponentials are compared
SHAPES = ("flat", "extreme")


def sum_law(weights):
    """Exact law of a sum of random signs with these weights.

    Parameters
    ----------
    weights : sequence of int, Fraction or str, length n
        u; a string is read as a decimal or a ratio.  No floats: their ties would be those of rounded numbers.

    Returns
    -------
    dict of Fraction to int
        For each value of ⟨u, σ⟩, the number of sign vectors σ ∈ {±1}^n that give it; the numbers add up to 2^n.

    Raises
    ------
    ValueError, TypeError
        If a weight is no such number, or there could be more than 200000 different sums.

    Notes
    -----
    Equal ``|u_i|`` are one group, whose law is a binomial; groups are convolved.  Claim: sign-sum-law.

    Examples
    --------
    >>> {int(value): count for value, count in sum_law([1, 1, 2]).items()}
    {-4: 1, -2: 2, 0: 2, 2: 2, 4: 1}
    """
    exact = [_rational("weights", weight) for weight in require_items("weights", weights)]
    scale = math.lcm(*(weight.denominator for weight in exact))
    groups = Counter(abs(int(weight * scale)) for weight in exact)
    sums = min(math.prod(count + 1 for count in groups.values()), sum(map(math.prod, groups.items())) + 1)
    if sums > TABLE_SUMS:
        raise ValueError(f"weights: up to {sums} different sums, must be at most {TABLE_SUMS}")
    law = {0: 1}
    for weight, count in sorted(groups.items()):
        wider = defaultdict(int)
        for plus, ways in enumerate(_binomials(count)):
            for value, number in law.items():
                wider[value + weight * (2 * plus - count)] += number * ways
        law = wider
    return {Fraction(value, scale): number for value, number in law.items()}


def tail(weights, s, *, strict=False):
    """Exact upper tail of a sum of random signs.

    Parameters
    ----------
    weights : sequence of int, Fraction or str, length n
        As in `sum_law`.
    s : int, Fraction or str
        Threshold.
    strict : bool
        Whether a sum equal to s stays out.

    Returns
    -------
    Fraction
        P[⟨u, σ⟩ ≥ s], or P[⟨u, σ⟩ > s] if strict.

    Raises
    ------
    ValueError, TypeError
        As in `sum_law`.

    Examples
    --------
    >>> tail(["0.5", "0.25", "0.25"], "0.5"), tail(["0.5", "0.25", "0.25"], "0.5", strict=True)
    (Fraction(3, 8), Fraction(1, 8))
    """
    s = _rational("s", s)
    inside = sum(number for value, number in sum_law(weights).items() if value > s or (value == s and not strict))
    return Fraction(inside, 2 ** len(weights))


def binomial_tail(n, r, p=0.5):
    """Upper tail of a binomial, to 12 digits for n up to 10^6.

    Parameters
    ----------
    n : int
        Number of trials, from 0 to 10^9.
    r : int
        Smallest number of successes that counts.
    p : float, Fraction or str
        Probability of success, strictly between 0 and 1; a float stands for its exact binary value.

    Returns
    -------
    float
        P[B ≥ r], B ~ Bin(n, p).  The lower tail P[B ≤ k] is ``binomial_tail(n, n - k, 1 - p)``.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    The first term beyond the mean comes from 40-digit logarithms, since log n! in doubles has an error of 10^-10 at
    n = 10^6; the others follow by ratios, all below one.

    Examples
    --------
    >>> binomial_tail(4, 3), binomial_tail(4, 3, "0.1").__round__(15)
    (0.3125, 0.0037)
    """
    n, r = require_integer("n", n, least=0, most=MOST_TRIALS), require_integer("r", r, least=-MOST_COLUMNS)
    p = require_probability("p", p)
    if not 0 < r <= n:
        return float(r <= 0)
    if n <= 1000 and p == Fraction(1, 2):
        return _row(n)[1][r]
    if r <= n * p:
        return 1 - binomial_tail(n, n - r + 1, 1 - p)
    term, terms, odds = 1.0, [], float(p / (1 - p))
    while term > 1e-18:
        terms.append(term)
        term *= (n - r) / (r + 1) * odds
        r += 1
    return _mass(n, r - len(terms), p) * math.fsum(terms)


def clopper_pearson(hits, draws, alarm):
    """Interval for a probability, from a frequency.

    Parameters
    ----------
    hits, draws : int
        How many of how many draws came out; 0 ≤ hits ≤ draws, draws ≥ 1.
    alarm : float
        Probability, at most, that the interval misses the truth; strictly between 0 and 1.

    Returns
    -------
    tuple of float
        (low, high), to about 15 digits.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Clopper and Pearson: low solves P[Bin(draws, p) ≥ hits] = alarm/2, high P[Bin(draws, p) ≤ hits] = alarm/2.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 10, 0.05)
    >>> low, round(high, 12) == round(1 - 0.025**0.1, 12)
    (0.0, True)
    """
    draws, hits = require_integer("draws", draws, least=1, most=MOST_TRIALS), require_integer("hits", hits, least=0)
    if hits > draws:
        raise ValueError(f"hits = {hits}: must be at most draws = {draws}")
    return _interval(hits, draws, float(require_probability("alarm", alarm)) / 2)


@cache
def _interval(hits, draws, half):
    low = _crossing(lambda p: binomial_tail(draws, hits, p) >= half) if hits else 0.0
    high = _crossing(lambda p: binomial_tail(draws, draws - hits, 1 - Fraction(p)) < half) if hits < draws else 1.0
    return low, high


def _crossing(rises):
    """Return where a condition that holds from some p in (0, 1) on starts to hold."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if rises(middle) else (middle, high)
    return high


def column_probability(groups, threshold):
    """P[Σ_k w_k S_k > threshold], where S_k is a sum of count_k random signs, all independent.

    Parameters
    ----------
    groups : sequence of (weight, count)
        Real weights and whole numbers of signs.
    threshold : float, int, Fraction or str
        The sum must exceed it; a tie does not.

    Returns
    -------
    float
        To 12 digits.

    Raises
    ------
    ValueError, TypeError
        If an argument is no such number, doubles cannot tell the threshold from the sums next to it, or the cost is
        above 20000.

    Notes
    -----
    If every weight and the threshold are int, Fraction or str, ties are decided exactly.  As soon as one is a float,
    sums within its rounding of the threshold (32 ε times the sizes that enter) count as ties: so 0.3 is a tie with
    3 × 0.1, though the doubles differ.
    Cost: the product of count + 1 over all groups but the largest.

    Examples
    --------
    >>> column_probability([("0.1", 4)], "0.2"), column_probability([(0.1, 4)], 0.2)
    (0.0625, 0.0625)
    """
    threshold = _number("threshold", threshold)
    try:
        groups = [(weight, count) for weight, count in require_items("groups", groups)]
    except (TypeError, ValueError):
        raise TypeError(f"groups = {text_of(groups)}: must be pairs of a weight and a count") from None
    try:
        groups = [(abs(_number("weight", w)), require_integer("count", k, least=0)) for w, k in groups]
    except (TypeError, ValueError) as error:
        raise type(error)(f"groups: {error}") from None
    *few, (last, count) = sorted(((w, k) for w, k in groups if w and k), key=lambda group: group[1]) or [(1, 0)]
    if (cost := math.prod(k + 1 for _, k in few)) > MOST_SUMS:
        raise ValueError(f"groups: {cost} sums of all but the largest, must be at most {MOST_SUMS}")
    sizes = abs(threshold) + last * count + sum(weight * k for weight, k in few)
    rounding = 0 if isinstance(sizes, Fraction) else 16 * EPS * sizes
    terms = []
    for plus in product(*(range(k + 1) for _, k in few)):
        if not (mass := math.prod(_row(k)[0][b] for b, (_, k) in zip(plus, few, strict=True))):
            continue  # most of a long row is below the least double
        rest = threshold - sum(weight * (2 * b - k) for b, (weight, k) in zip(plus, few, strict=True))
        terms.append(mass * binomial_tail(count, _least_plus(count, last, rest, rounding)))
    return math.fsum(terms)


def _least_plus(n, weight, s, rounding):
    """Smallest number r of plus signs with weight (2r − n) > s, where sums within the rounding of s are ties."""
    if rounding > weight / 4 and abs(s) <= weight * n + 2 * rounding:
        raise ValueError("threshold: doubles cannot tell it from the sums next to it; pass Fractions or strings")
    x = min(max(s / weight, -n - 2), n + 2)  # beyond all sums, where rounding does not matter either
    return math.floor((n + x) / 2 + min(rounding / weight, 0.25)) + 1


def query_fires_probability(f_marked, f_other, n, m, tau):
    """Exact P[F fires] for one query with one marked weight and n − 1 equal ones.

    Parameters
    ----------
    f_marked, f_other : float, Fraction or str
        Weight of the marked token and of every other one.
    n, m : int
        Numbers of tokens (at least 2) and of sign columns (at least 1).
    tau : float, Fraction or str
        Threshold τ; firing is strict, and ties are decided as in `column_probability`.

    Returns
    -------
    float
        1 − (1 − π)^m with π = P[⟨f, σ⟩ > τ], to 12 digits also where it is tiny.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules.

    Notes
    -----
    Completed.  Claims: fires-iff-a-column-exceeds, firing-frequency.

    Examples
    --------
    >>> query_fires_probability("0.5", "0.25", 3, 2, "0.5")
    0.234375
    """
    others = require_integer("n", n, least=2) - 1
    f_marked, f_other = _number("f_marked", f_marked), _number("f_other", f_other)
    tau = _number("tau", tau)
    try:
        pi = column_probability([(f_marked, 1), (f_other, others)], tau)
    except ValueError as error:  # which speaks of a threshold and of groups
        raise ValueError(f"n, f_marked, f_other, tau: {error}") from None
    return fires_probability(pi, m)


def fires_probability(pi, m):
    """Return 1 − (1 − π)^m: some of m independent columns exceeds the threshold.

    Examples
    --------
    >>> fires_probability(0.5, 3), fires_probability(1e-300, 3)
    (0.875, 3e-300)
    """
    pi, m = _require_columns(pi, m)
    return 1 - (1 - pi) ** m if pi >= 0.5 else -math.expm1(m * math.log1p(-pi))


def _require_columns(pi, m):
    if not 0 <= (probability := require_real("pi", pi)) <= 1:
        raise ValueError(f"pi = {pi!r}: must be a probability")
    return probability, require_integer("m", m, least=1, most=MOST_COLUMNS)


def silent_probability(pi, m):
    """Return (1 − π)^m: none of m independent columns exceeds the threshold.

    Examples
    --------
    >>> silent_probability(0.5, 3), silent_probability(1e-300, 3)
    (0.125, 1.0)
    """
    pi, m = _require_columns(pi, m)
    return (1 - pi) ** m if pi >= 0.5 else math.exp(m * math.log1p(-pi))  # 1 − π is exact from 1/2 on


def query_errors_exact(n, m, tau, low, high, spike, shape="flat"):
    """The four errors of the one-query separation, exactly, for stated score vectors.

    Parameters
    ----------
    n, m : int
        Numbers of tokens (from 2 to 10^9) and of sign columns (at least 1).
    tau : float, Fraction or str
        Threshold τ.
    low, high, spike : float
        ℓ, h and κ of V_0 and V_1.
    shape : str
        ``flat``: every ordinary score is ℓ.  ``extreme``: ordinary scores are ℓ or h, see Notes.

    Returns
    -------
    QueryErrors
        To 12 digits.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules or those of `QueryData`.

    Notes
    -----
    Extreme, softmax on V_1: all ordinary scores h, which makes f_j least.  Proved: where τ < 2f_j − 1 for this f_j,
    one column exceeds τ with probability 1/2 on all of V_1 (claim spike-column-half).
    Extreme, elsewhere: the number of scores h that makes ‖f‖² largest.  Proved: no vector of the set has a larger
    ‖f‖² (claim norm-worst), so it is the worst one for Hoeffding's bound.  Not proved, and not true in general: that
    none fires with a larger probability.

    Examples
    --------
    >>> [round(error, 12) for error in query_errors_exact(4, 2, "0.5", 1.0, 1.0, 4.0)]
    [0.25, 0.12109375, 0.12109375, 0.68359375]
    """
    silent, *fires = (_column(u, tau) for u in _query_groups(n, low, high, spike, shape))
    return QueryErrors(silent_probability(silent, m), *(fires_probability(pi, m) for pi in fires))


def query_sizes_exact(delta, tau, low, high, spike, shape="flat", *, n_max=10_000):
    """Smallest sizes at which the one-query networks separate stated score vectors.

    Parameters
    ----------
    delta : float, Fraction or str
        Largest error allowed, strictly between 0 and 1.
    tau : float, Fraction or str
        Threshold τ, strictly between 0 and 1.
    low, high, spike, shape
        As in `query_errors_exact`.
    n_max : int
        Largest n to try.

    Returns
    -------
    tuple of int
        (n, m): the smallest n for which some m makes all four errors at most δ, then the smallest such m.

    Raises
    ------
    ValueError, TypeError
        If a parameter breaks one of these rules, or no n up to n_max is enough.

    Notes
    -----
    A larger n may fail again (claim one-query-not-monotone), so all smaller n are tried.  Errors equal to δ within
    10^-12, their accuracy, count as equal.  Completed.  Claim: one-query-sizes.

    Examples
    --------
    >>> query_sizes_exact("0.1", "0.5", math.log(1.2), math.log(1.4), 4.0)
    (150, 4)
    """
    largest = float(require_probability("delta", delta)) * (1 + 1e-12)
    if largest == 0:
        raise ValueError(f"delta = {delta!r}: must not be so small that a double takes it for 0")
    require_probability("tau", tau)
    for n in range(2, require_integer("n_max", n_max, least=2, most=10**6) + 1):
        marked, *others = _query_groups(n, low, high, spike, shape)
        if (pi := _column(marked, tau)) > 0:
            # Fewer columns leave softmax silent too often, more only raise the other errors.
            m = max(1, math.ceil(math.log(largest) / math.log1p(-pi)))  # π ≤ 1/2, since τ > 0
            # Linear attention on V_1 comes first: as a rule it is what fails, so the others are rarely computed.
            if m <= MOST_COLUMNS and all(fires_probability(_column(u, tau), m) <= largest for u in reversed(others)):
                return n, m
    raise ValueError(f"n_max = {n_max}: no n up to it has all four errors at most delta = {float(delta):g}")


def _query_groups(n, low, high, spike, shape):
    """Return (u, count) groups of the four score vectors, in the order of `QueryErrors`."""
    n = require_integer("n", n, least=2, most=MOST_TRIALS)
    data = QueryData(n=n, low=low, high=high, spike=require_positive("spike", spike))
    n, low, high, marked = data.n, data.low, data.high, data.spike_score
    flat = require_choice("shape", shape, SHAPES) == "flat"
    if (low - marked if flat else high - min(low, marked)) > FARTHEST:
        raise ValueError(
            f"n = {n}, low = {low}, high = {high}, spike = {spike}: no two scores must be more than {FARTHEST} apart"
        )
    if flat:
        softmax_v1, linear_v1 = [(1.0, 1), (math.exp(low - marked), n - 1)], [(marked, 1), (low, n - 1)]
        return softmax_v1, [(1, n)], [(1, n)], linear_v1
    softmax_v1, linear_v1 = [(1.0, 1), (math.exp(high - marked), n - 1)], worst_scores(n - 1, low, high, marked)
    softmax_v0, linear_v0 = worst_scores(n, 1.0, math.exp(high - low)), worst_scores(n, low, high)
    return softmax_v1, softmax_v0, linear_v0, [(marked, 1), *linear_v1]


def _column(groups, tau):
    """Return P[⟨f, σ⟩ > τ] for weights proportional to u."""
    tau = _number("tau", tau)
    try:
        return column_probability(groups, tau * sum(u * count for u, count in groups))
    except ValueError as error:  # which speaks of the weights
        raise ValueError(f"tau = {tau}, low, high, spike: {error}") from None


def worst_scores(n, low, high, marked=0.0):
    """Scores in [ℓ, h] that make ‖f‖² largest for weights proportional to the scores.

    Parameters
    ----------
    n : int
        Number of ordinary tokens, from 1 to 10^9.
    low, high : float
        ℓ and h, 0 < ℓ ≤ h.
    marked : float
        Score of one more token, which stays as it is; 0 for none.

    Returns
    -------
    list of (score, count)
        (ℓ, n − k) and (h, k).

    Notes
    -----
    A norm over a positive linear form is quasi-convex, so a corner of [ℓ, h]^n attains the maximum.  With
    Q = M² + (n−k)ℓ² + kh² and D = M + (n−k)ℓ + kh the sign of d(Q/D²)/dk is that of (h+ℓ)D − 2Q, which decreases
    in k: so Q/D² rises up to k = ((h+ℓ)D_0 − 2Q_0)/(h²−ℓ²) and falls after it.  Without M this is n/(1 + h/ℓ).
    Claim: norm-worst.

    Examples
    --------
    >>> worst_scores(9, 1, 2)
    [(1, 6), (2, 3)]
    """
    n, marked = require_integer("n", n, least=1, most=MOST_TRIALS), require_real("marked", marked)
    QueryData(n=n + 1, low=low, high=high)  # it names what breaks its rules
    low, high = (float(x) if hasattr(x, "dtype") else x for x in (low, high))  # a float32 would overflow
    if not (low >= 1 / LARGEST_SCORE and high <= LARGEST_SCORE and 0 <= marked <= LARGEST_SCORE):
        raise ValueError(f"low = {low}, high = {high}, marked = {marked}: must be of sizes from 1e-100 to 1e100")
    if low == high:
        return [(low, n), (high, 0)]
    Q, D = marked**2 + n * low**2, marked + n * low
    top = min(max(((high + low) * D - 2 * Q) / (high**2 - low**2), 0), n)
    k = max(
        (math.floor(top), math.ceil(top)),
        key=lambda k: (Q + k * (high**2 - low**2)) / (D + k * (high - low)) ** 2,
    )
    return [(low, n - k), (high, k)]


def _number(name, value):
    """Return a finite float as it is, any other real number or string as a Fraction."""
    if not isinstance(value, float):
        return _rational(name, value)
    if not math.isfinite(value):
        raise ValueError(f"{name} = {value!r}: must be finite")
    return value


def _rational(name, value):
    if isinstance(value, (bool, float)):
        raise TypeError(f"{name} = {value!r}: must be an integer, a Fraction or a decimal string")
    try:
        number = Fraction(int(value) if isinstance(value, numbers.Integral) else value)  # NumPy's would overflow
        held = float(number)  # what no double can hold overflows later on
    except (TypeError, ValueError, ArithmeticError):
        raise TypeError(f"{name} = {text_of(value)}: must be an integer, a Fraction or a decimal string") from None
    if number and not held:
        raise ValueError(f"{name} = {text_of(value)}: must be 0, or not so small that a double takes it for 0")
    return number


def _binomials(n):
    """Return C(n, 0), …, C(n, n)."""
    return list(accumulate(range(n), lambda ways, b: ways * (n - b) // (b + 1), initial=1))


@lru_cache(maxsize=16)
def _row(n):
    """Return P[B = b] and P[B ≥ b] for every b, B ~ Bin(n, 1/2), rounded once from integers."""
    ways = _binomials(n)
    return [w / 2**n for w in ways], [w / 2**n for w in accumulate(reversed(ways))][::-1]


def _mass(n, r, p):
    """Return P[B = r], B ~ Bin(n, p)."""
    log_success, log_failure = _log_chances(p)
    with localcontext(prec=40):
        ways = _log_factorial(n) - _log_factorial(r) - _log_factorial(n - r)
        return float((ways + r * log_success + (n - r) * log_failure).exp())


@lru_cache(maxsize=64)
def _log_chances(p):
    """Return log p and log(1 − p) to 40 digits."""
    with localcontext(prec=40):
        chance = Decimal(p.numerator) / p.denominator
        return chance.ln(), (1 - chance).ln()


@lru_cache(maxsize=4096)
def _log_factorial(n):
    """Return log n! to more than 18 digits after the point."""
    with localcontext(prec=40):
        z = Decimal(n)
        if n < 256:
            return Decimal(math.factorial(n)).ln()
        half_log_2pi = Decimal("0.9189385332046727417803297364056176398614")
        series = 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5)  # the next term is below 10^-20
        return (z + Decimal("0.5")) * z.ln() - z + half_log_2pi + series
