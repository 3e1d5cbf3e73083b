"""Exact laws of sums of random signs, and the exact firing probabilities that follow from them."""

import math
import numbers
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, product
from typing import Any

from attnsep.checks import require_integer, require_items, require_positive, require_probability, require_real, text_of
from attnsep.kinds import Exact, Number


def hoeffding(s: float, norm_squared: float) -> float:
    """Return Hoeffding's bound: how likely it is, at most, that a weighted sum of random signs reaches s.

    Parameters
    ----------
    s : float
        Threshold, above 0.
    norm_squared : float
        ‖u‖², above 0.

    Returns
    -------
    float
        exp(−s²/(2‖u‖²)), at least P[⟨u, σ⟩ ≥ s]; twice it bounds ``P[|⟨u, σ⟩| ≥ s]``.

    Raises
    ------
    ValueError, TypeError
        If an argument is no finite number above 0.

    Notes
    -----
    Source: Foundational Learning, Hoeffding inequality.  Claims: hoeffding-one-sided, hoeffding-two-sided.

    Examples
    --------
    >>> hoeffding(2.0, 4.0) == math.exp(-0.5)
    True
    """
    s, norm_squared = require_positive("s", s), require_positive("norm_squared", norm_squared)
    return math.exp(-s / norm_squared * s / 2)  # s * s may be inf, and then a NaN the ratio


def _hoeffding_or_one(s: float, norm_squared: float) -> float:
    """Return Hoeffding's bound, or 1 where the bound of ‖u‖² is too large for a double and says nothing."""
    return hoeffding(s, norm_squared) if norm_squared < math.inf else float(require_positive("s", s) > 0)


EPS = 2.0**-52


TABLE_SUMS = 200_000


MOST_SUMS = 20_000  # in the law of several groups


MOST_COLUMNS = 10**300


SHORT = 2**1000  # a double can hold what is smaller


MOST_ROW = 1000  # trials of a binomial all of whose probabilities are kept: needed again and again, 8 MB in all
MOST_TRIALS = 10**9  # of a binomial, whose tail has about √n terms that count


def sum_law(weights: Sequence[Exact]) -> dict[Fraction, int]:
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
        wider: dict[int, int] = defaultdict(int)
        for plus, ways in enumerate(_binomials(count)):
            for value, number in law.items():
                wider[value + weight * (2 * plus - count)] += number * ways
        law = wider
    return {Fraction(value, scale): number for value, number in law.items()}


def tail(weights: Sequence[Exact], s: Exact, *, strict: bool = False) -> Fraction:
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


def binomial_tail(n: int, r: int, p: Number = 0.5) -> float:
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
    if n <= MOST_ROW and p == Fraction(1, 2):
        return _row(n)[1][r]
    if r <= n * p:
        return 1 - binomial_tail(n, n - r + 1, 1 - p)
    term, terms, odds = 1.0, [], float(p / (1 - p))
    while term > 1e-18:
        terms.append(term)
        term *= (n - r) / (r + 1) * odds
        r += 1
    return _mass(n, r - len(terms), p) * math.fsum(terms)


def clopper_pearson(hits: int, draws: int, alarm: float) -> tuple[float, float]:
    """Return an interval for a probability, from how often its event came out in independent draws.

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
def _interval(hits: int, draws: int, half: float) -> tuple[float, float]:
    low = _crossing(lambda p: binomial_tail(draws, hits, p) >= half) if hits else 0.0
    high = _crossing(lambda p: binomial_tail(draws, draws - hits, 1 - Fraction(p)) < half) if hits < draws else 1.0
    return low, high


def _crossing(rises: Callable[[float], bool]) -> float:
    """Return where a condition that holds from some p in (0, 1) on starts to hold."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if rises(middle) else (middle, high)
    return high


def column_probability(groups: Sequence[tuple[Any, int]], threshold: Any) -> float:
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
    groups = [(weight, count) for weight, count in groups if weight and count] or [(1, 0)]
    sizes = abs(threshold) + sum(weight * count for weight, count in groups)
    rounding = 16 * EPS * sizes if isinstance(sizes, float) else 0
    # All sums of the smaller groups are listed, and each leaves a binomial tail for the largest group.
    groups.sort(key=lambda group: group[1])
    smaller, (weight_of_largest, trials) = groups[:-1], groups[-1]
    if (cost := math.prod(count + 1 for _, count in smaller)) > MOST_SUMS:
        raise ValueError(f"groups: {cost} sums of all but the largest, must be at most {MOST_SUMS}")
    terms = []
    for plus in product(*(range(count + 1) for _, count in smaller)):
        listed = list(zip(plus, smaller, strict=True))
        mass = math.prod(_row(count)[0][successes] for successes, (_, count) in listed)
        if not mass:
            continue  # most of a long row is below the least double
        rest = threshold - sum(weight * (2 * successes - count) for successes, (weight, count) in listed)
        terms.append(mass * binomial_tail(trials, _least_plus(trials, weight_of_largest, rest, rounding)))
    return math.fsum(terms)


def _least_plus(n: int, weight: Any, s: Any, rounding: float) -> int:
    """Smallest number r of plus signs with weight (2r − n) > s, where sums within the rounding of s are ties."""
    if not rounding:
        return (n + min(max(int(s // weight), -n - 2), n + 2)) // 2 + 1
    if rounding > weight / 4 and abs(s) <= weight * n + 2 * rounding:
        raise ValueError("threshold: doubles cannot tell it from the sums next to it; pass Fractions or strings")
    x = min(max(s / weight, -n - 2), n + 2)  # beyond all sums, where rounding does not matter either
    return math.floor((n + x) / 2 + min(rounding / weight, 0.25)) + 1


def fires_probability(pi: float, m: int) -> float:
    """Return 1 − (1 − π)^m: some of m independent columns exceeds the threshold.

    Examples
    --------
    >>> fires_probability(0.5, 3), fires_probability(1e-300, 3)
    (0.875, 3e-300)
    """
    pi, m = _require_columns(pi, m)
    return 1 - (1 - pi) ** m if pi >= 0.5 else -math.expm1(m * math.log1p(-pi))


def _require_columns(pi: float, m: int) -> tuple[float, int]:
    if not 0 <= (probability := require_real("pi", pi)) <= 1:
        raise ValueError(f"pi = {pi!r}: must be a probability")
    return probability, require_integer("m", m, least=1, most=MOST_COLUMNS)


def silent_probability(pi: float, m: int) -> float:
    """Return (1 − π)^m: none of m independent columns exceeds the threshold.

    Examples
    --------
    >>> silent_probability(0.5, 3), silent_probability(1e-300, 3)
    (0.125, 1.0)
    """
    pi, m = _require_columns(pi, m)
    return (1 - pi) ** m if pi >= 0.5 else math.exp(m * math.log1p(-pi))  # 1 − π is exact from 1/2 on


def fewest_columns(pi: float, limit: float) -> int | None:
    """Return the smallest number m of columns with (1 − π)^m ≤ limit, or None if none up to 10^300 is enough.

    Examples
    --------
    >>> fewest_columns(0.5, 0.1), fewest_columns(1.0, 0.1), fewest_columns(0.0, 0.1)
    (4, 1, None)
    """
    pi, _ = _require_columns(pi, 1)
    limit = require_positive("limit", limit)
    if pi == 0:
        return None
    m = math.log(limit) / math.log1p(-pi) if pi < 1 else 1  # inf where π is the least double
    return max(1, math.ceil(m)) if m <= MOST_COLUMNS else None


def error_limit(delta: Number) -> float:
    """Return δ as a double that is larger by 10^-12 of it, the accuracy of the laws: an error that equals δ is allowed.

    Examples
    --------
    >>> error_limit("0.1") - 0.1 < 1e-12
    True
    """
    limit = float(require_probability("delta", delta)) * (1 + 1e-12)
    if limit == 0:
        raise ValueError(f"delta = {text_of(delta)}: must not be so small that a double takes it for 0")
    return limit


def smallest_size(
    sizes: Iterable[int],
    columns: Callable[[int], int | None],
    suffice: Callable[[int, int], bool],
    missing: str,
) -> tuple[int, int]:
    """Smallest size at which a network with the fewest columns that fire where they must is silent where it must.

    Parameters
    ----------
    sizes : iterable of int
        Sizes to try, in order.
    columns : callable
        Takes a size; returns the fewest columns m, or None if no number is enough.  Fewer leave the network silent too
        often, more only raise the other errors.
    suffice : callable
        Takes a size and m; returns whether the other errors are small enough.
    missing : str
        What to say if no size is enough.

    Returns
    -------
    tuple of int
        The size and m.

    Raises
    ------
    ValueError
        If no size is enough.

    Examples
    --------
    >>> smallest_size(range(2, 9), lambda n: n // 2, lambda n, m: n * m > 10, "none up to 8")
    (6, 3)
    """
    for size in sizes:
        m = columns(size)
        if m is not None and suffice(size, m):
            return size, m
    raise ValueError(missing)


def _number(name: str, value: Any) -> Any:
    """Return a finite float and an integer as they are, any other real number or string as a Fraction."""
    if type(value) is int and abs(value) < SHORT:
        return value  # a Fraction would take ten times as long
    if not isinstance(value, float):
        return _rational(name, value)
    if not math.isfinite(value):
        raise ValueError(f"{name} = {value!r}: must be finite")
    return value


def _rational(name: str, value: Any) -> Fraction:
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


def _binomials(n: int) -> list[int]:
    """Return C(n, 0), …, C(n, n)."""
    half = list(accumulate(range(n // 2), lambda ways, b: ways * (n - b) // (b + 1), initial=1))
    return half + half[n // 2 - 1 + n % 2 :: -1] if n else half


def _row(n: int) -> tuple[Sequence[float], Sequence[float]]:
    """Return P[B = b] and P[B ≥ b] for every b, B ~ Bin(n, 1/2), rounded once from integers."""
    return (_short_row if n <= MOST_ROW else _long_row)(n)


def _computed_row(n: int) -> tuple[Sequence[float], Sequence[float]]:
    ways, whole = _binomials(n), 2**n
    return array("d", [w / whole for w in ways]), array("d", [w / whole for w in accumulate(reversed(ways))][::-1])


_short_row = cache(_computed_row)
_long_row = lru_cache(maxsize=16)(_computed_row)


def _mass(n: int, r: int, p: Fraction) -> float:
    """Return P[B = r], B ~ Bin(n, p)."""
    log_success, log_failure = _log_chances(p)
    with localcontext(prec=40):
        ways = _log_factorial(n) - _log_factorial(r) - _log_factorial(n - r)
        return float((ways + r * log_success + (n - r) * log_failure).exp())


@lru_cache(maxsize=64)
def _log_chances(p: Fraction) -> tuple[Decimal, Decimal]:
    """Return log p and log(1 − p) to 40 digits."""
    with localcontext(prec=40):
        chance = Decimal(p.numerator) / p.denominator
        return chance.ln(), (1 - chance).ln()


@lru_cache(maxsize=4096)
def _log_factorial(n: int) -> Decimal:
    """Return log n! to more than 18 digits after the point."""
    with localcontext(prec=40):
        z = Decimal(n)
        if n < 256:
            return Decimal(math.factorial(n)).ln()
        half_log_2pi = Decimal("0.9189385332046727417803297364056176398614")
        series = 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5)  # the next term is below 10^-20
        return (z + Decimal("0.5")) * z.ln() - z + half_log_2pi + series
