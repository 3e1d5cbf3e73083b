"""From which n: the size from which on 35 columns err in at most one case of a hundred."""

from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import floor

from attnsep.claims.token_datasets import A0, A1, C
from attnsep.ledger.framework import Case, claim
from attnsep.paper import tokens

CHAPTER = "from-which-n"


COLUMNS, LIMIT = 35, Fraction(1, 100)


LAST_FAILURE, FIRST, LAST = 269, 270, 1604  # from LAST on certified-finite-main-theorem promises it


def _column_probability(law, at_least_plus):
    """Return π as a fraction; at_least_plus[k] counts the signs of the other classes with k plus signs or more."""
    fires = sum(at_least_plus[law.least_plus(signs)] for signs in tokens.PATTERNS)
    return Fraction(fires, 2**law.data.d)


@cache
def _column_probabilities(n):
    """Return with what probability a column exceeds τ on D_1 under softmax, and the largest of the three others."""
    others = n - 1  # of the n classes all but the marked token's
    exactly_plus = accumulate(range(others), lambda many, k: many * (others - k) // (k + 1), initial=1)
    at_least_plus = [*[*accumulate(exactly_plus)][::-1], 0]  # as many have k plus signs as k minus signs
    laws = ((A1, "softmax"), (A0, "softmax"), (A0, "linear"), (A1, "linear"))
    right, *wrong = (_column_probability(tokens.law(n, n + 2, a, C, kernel), at_least_plus) for a, kernel in laws)
    return right, max(wrong)


def _worst_error(n, m):
    """Return the largest of the four errors as a fraction, one token in each class."""
    right, wrong = _column_probabilities(n)
    return max((1 - right) ** m, 1 - (1 - wrong) ** m)


def _case(slack, n, m):
    """Return a case whose slack is rounded down to nine decimals, since its denominator has thousands of digits."""
    return Case(Fraction(floor(10**9 * slack), 10**9), reached={"n": n, "d": n + 2, "m": m})


@claim(
    "one-percent-from-270-on",
    mark="extension",
    source="none: about sizes",
    level="exact",
    chapter=CHAPTER,
    statement=rf"Let $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$ and $t = 1$. With $m = {COLUMNS}$ columns all four errors of "
    rf"the main theorem are at most $1\,\%$ at every $n$ from ${FIRST}$ to ${LAST}$; at $n = {LAST_FAILURE}$ one of "
    r"them is not.",
    uses=["column-law", "column-threshold"],
    control="m is larger by this",
    violations=(0, 1),
    tests=(tokens.Law.least_plus, tokens.Law.floor),
)
def one_percent_from_270_on(xp, broken=None):
    m = COLUMNS + int(broken or 0)
    yield _case(_worst_error(LAST_FAILURE, m) / LIMIT - 1, LAST_FAILURE, m)
    for n in range(FIRST, LAST + 1):
        yield _case(1 - _worst_error(n, m) / LIMIT, n, m)
