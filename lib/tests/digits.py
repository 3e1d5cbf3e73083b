"""Sixty digits, with which doubles are compared."""

from fractions import Fraction

import pytest

mp = pytest.importorskip("mpmath").mp.clone()  # a machine that lends its GPU may lack it; nothing here needs a GPU
mp.dps = 60


def number(x):
    """Return a number or the text of one in sixty digits; a double counts as the decimal that it prints."""
    x = Fraction(str(x) if isinstance(x, float) else x)
    return mp.mpf(x.numerator) / x.denominator
