"""Cases whose evidence is a sample: how often an event came out in so many independent draws.

Each states its `alarm`: the probability, at most, that other draws refute it although it is true.
"""

import math
from dataclasses import replace
from fractions import Fraction

from attnsep.ledger.framework import Case, at_most
from attnsep.probability import sign_sums

ALARM = 1e-9


LEVEL = "1e-09", "the level of all these intervals; it says how rare a false alarm is, not what is true"  # see `coarse`


LEAST = 1e-15  # a law of 0 or 1 stands for a probability that near to it


def inside_clopper_pearson(k, draws, p, alarm=ALARM, **reached):
    """Case for a probability of p: both tails at k of `draws` exceed alarm/2, so p is in the interval around k/draws.

    Examples
    --------
    >>> inside_clopper_pearson(50, 100, 0.5).verdict, inside_clopper_pearson(90, 100, 0.5).verdict
    ('holds', 'refuted')
    """
    p = min(max(p, LEAST), 1 - LEAST)
    tails = sign_sums.binomial_tail(draws, k, p), sign_sums.binomial_tail(draws, draws - k, 1 - Fraction(p))
    return _no_rarer(min(tails), alarm / 2, alarm, reached)


def not_above(k, draws, p, alarm=ALARM, **reached):
    """Case for a probability of at most p after k of `draws`: the upper tail at k is not below `alarm`.

    Examples
    --------
    >>> not_above(0, 100, 0.5).verdict, not_above(90, 100, 0.5).verdict
    ('holds', 'refuted')
    """
    return _no_rarer(sign_sums.binomial_tail(draws, k, min(max(p, LEAST), 1 - LEAST)), alarm, alarm, reached)


def _no_rarer(tail, least, alarm, reached):
    return replace(at_most(math.log(max(tail, 1e-300)) / math.log(least), 1.0, **reached), alarm=alarm)


def surely_inside(k, draws, low, high, alarm=ALARM, **reached):
    """Case for a probability in [low, high]: it holds, or is refuted, where the interval around k/draws says so.

    An interval of level 1 − alarm that reaches over an end leaves the case undecided.

    Examples
    --------
    >>> [surely_inside(k, 1000, 0.4, 1.0).verdict for k in (100, 450, 600)]
    ['refuted', 'undecided', 'holds']
    """
    least, most = sign_sums.clopper_pearson(k, draws, alarm)
    ends = ((least - low, most - low, low > 0), (high - most, high - least, high < 1))
    slacks = [slack for *slack, is_asked in ends if is_asked]
    margin, upper = map(min, zip(*slacks, strict=True))
    return Case(margin, reached=reached, upper=upper, alarm=alarm)


def same_probability(k, other, draws, alarm=ALARM, **reached):
    """Case for two events of one probability, each after so many draws: their intervals of level 1 − alarm meet.

    Examples
    --------
    >>> same_probability(50, 60, 100).verdict, same_probability(10, 90, 100).verdict
    ('holds', 'refuted')
    """
    (low, high), (least, most) = (sign_sums.clopper_pearson(hits, draws, alarm) for hits in (k, other))
    return replace(at_most(max(low, least), min(high, most), **reached), alarm=2 * alarm)
