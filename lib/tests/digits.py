"""Sixty digits, with which doubles are compared."""

from fractions import Fraction

import pytest

mp = pytest.importorskip("mpmath").mp.clone()  # a machine that lends its GPU may lack it; nothing here needs a GPU
mp.dps = 60


def number(x):
    """Return a number or the text of one in sixty digits; a double counts as the decimal that it prints."""
    x = Fraction(str(x) if isinstance(x, float) else x)
    return mp.mpf(x.numerator) / x.denominator


def precise_tail(n, r, p=Fraction(1, 2)):
    """Return P[Bin(n, p) ≥ r] in fifty digits: all terms from r on while they count, whatever the side of the mean.

    The first one is a unit, and the others are whole numbers of its 10^60-th part, so that none is a slow number.
    """
    if not 0 < r <= n:
        return mp.mpf(r <= 0)
    first = mp.loggamma(n + 1) - mp.loggamma(r + 1) - mp.loggamma(n - r + 1)
    first = mp.exp(first + r * mp.log(number(p)) + (n - r) * mp.log(number(1 - p)))
    total, term = 0, 10**60
    largest = term
    while r <= n and term * 10**40 > largest:
        total, largest = total + term, max(term, largest)
        term = term * p.numerator * (n - r) // ((p.denominator - p.numerator) * (r + 1))
        r += 1
    return first * total / 10**60
