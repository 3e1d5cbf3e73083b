"""Section 1.2 of the book: sums of random signs, Hoeffding's inequality and how much of it is needed."""

import math
from fractions import Fraction
from itertools import product

from attnsep.ledger.framework import WHOLE, Case, at_least, at_most, claim, definition, equal, generator
from attnsep.probability.sign_sums import binomial_tail, hoeffding, sum_law, tail

CHAPTER = "random-signs"


SOURCE = "Foundational Learning: Hoeffding inequality"


definition(
    "def-random-signs",
    mark="completed",
    source="section 1.1: the randomness is over the weights of the network",
    chapter=CHAPTER,
    statement=r"$\sigma$ is uniform on $\{\pm 1\}^n$: "
    r"its entries are independent, each $\pm 1$ with probability $\frac12$.",
)


def weight_vectors():
    """Yield integer weights: equal ones, one large among equal ones, and random ones."""
    rng = generator(1200)
    for n in (1, 2, 3, 4, 7, 10, 41, 200):
        yield [1] * n
    for n in (2, 3, 10, 100):
        for marked in (0, 2, n - 1, n, 10 * n):
            yield [marked] + [1] * (n - 1)
    for n in (2, 3, 6, 12, 16):
        yield [int(weight) or 1 for weight in rng.integers(-30, 31, n)]


def positive_tails(weights, two_sided=False):
    """Yield (s, P[⟨u, σ⟩ ≥ s]) for every attained s > 0, or the two-sided tail.

    No other s needs a look: up to the next attained value the tail stays and the bound falls.
    """
    inside, law = 0, sum_law(weights)
    for s in sorted((value for value in law if value > 0), reverse=True):
        inside += law[s] + (law[-s] if two_sided else 0)
        yield s, inside / 2 ** len(weights)


def wide_tail(n, s):
    """Return P[a sum of n signs ≥ s] for n far beyond `positive_tails`; n + s must be even."""
    return binomial_tail(n, (n + s) // 2)


# Hoeffding's exponent is nearly right only for many weights and an s far below n: there a constant shows to 1 %.
WIDE = ((10**6, 36_000), (10**6, 20_000), (250_000, 18_000))


def share_a_sign(weights, number):
    """Return weights whose sum has the law of ⟨u, σ⟩ when the first `number` signs are one and the same."""
    return [sum(weights[:number]), *weights[number:]]


def norm_squared(weights):
    return sum(weight**2 for weight in weights)


@claim(
    "sign-sum-law",
    mark="completed",
    source=SOURCE,
    level="exact",
    chapter=CHAPTER,
    statement=r"For weights $u_1 > 0$ and $u_2 = \dots = u_n > 0$, and $B \sim \mathrm{Bin}(n-1, \frac12)$: "
    r"$P[u_1\sigma_1 + u_2 \sum_{i>1} \sigma_i \ge s]$ "
    r"$= \frac12 P[B \ge \frac12(n-1+\frac{s-u_1}{u_2})]$ $+ \frac12 P[B \ge \frac12(n-1+\frac{s+u_1}{u_2})]$.",
    uses=["def-random-signs"],
    assumes="independent signs",
    control="the signs 1 to this are one and the same",
    violations=(1, 2),
    tests=(tail,),
    coarse=[("0.5", WHOLE)],
)
def sign_sum_law(xp, broken=None):
    for n in range(2, 9):
        for p, q in ((1, 1), (2, 1), (3, 2), (n, 1), (1, 5)):
            shared = share_a_sign([p] + [q] * (n - 1), broken or 1)
            sums = [sum(w * sign for w, sign in zip(shared, signs, strict=True)) for signs in all_signs(len(shared))]
            for s in range(-p - q * n, p + q * n + 1):
                ways = sum(math.comb(n - 1, b) for b in range(n) for x in (s - p, s + p) if q * (2 * b - (n - 1)) >= x)
                gap = abs(sum(value >= s for value in sums) * 2**n - ways * len(sums))
                yield Case(-gap, reached={"n": n, "p": p, "q": q})
                yield equal(tail(shared, s), Fraction(ways, 2**n), n=n, p=p, q=q)


def all_signs(n):
    return product((-1, 1), repeat=n)


@claim(
    "hoeffding-one-sided",
    mark="completed",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=r"For $u \in \mathbb{R}^n$, $u \ne 0$, and $s > 0$: "
    r"$P[\langle u, \sigma \rangle \ge s] \le e^{-s^2/(2\|u\|^2)}$.",
    uses=["def-random-signs"],
    assumes="independent signs",
    control="the signs 1 to this are one and the same",
    violations=(1, 2, 10),
    tests=(sum_law, hoeffding),
)
def hoeffding_one_sided(xp, broken=None):
    for w in weight_vectors():
        for s, probability in positive_tails(share_a_sign(w, broken or 1)):
            yield at_most(probability, hoeffding(s, norm_squared(w)), n=len(w), s=float(s))
    for n, s in WIDE:
        yield at_most(wide_tail(n, s), hoeffding(s, n), n=n, s=float(s))


@claim(
    "hoeffding-two-sided",
    mark="completed",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=r"For $u \ne 0$ and $s > 0$: $P[|\langle u, \sigma \rangle| \ge s] \le 2\,e^{-s^2/(2\|u\|^2)}$.",
    uses=["hoeffding-one-sided"],
    assumes="independent signs",
    control="the factor 2 is lowered by this",
    violations=(0.35, 0.352, 1),
    tests=(sum_law, hoeffding),
)
def hoeffding_two_sided(xp, broken=None):
    for w in weight_vectors():
        for s, probability in positive_tails(w, two_sided=True):
            bound = (2 - (broken or 0)) * hoeffding(s, norm_squared(w))
            yield at_most(probability, bound, n=len(w), s=float(s))
    for n, s in WIDE:
        yield at_most(2 * wide_tail(n, s), (2 - (broken or 0)) * hoeffding(s, n), n=n, s=float(s))


EVEN, LAST = 6, 200


@claim(
    "hoeffding-needs-its-factor",
    mark="extension",
    source="none: about the control of the two-sided bound",
    level="computed",
    chapter=CHAPTER,
    statement=r"For $u = \mathbf{1}_n$ the bound $P[|\langle u, \sigma \rangle| \ge s] \le e^{-s^2/(2n)}$, "
    r"without the factor 2, fails at $s = 1$ for every odd $n$ and at $s = 2$ for $n = 2, 4$; "
    rf"for even $n$ from {EVEN} to {LAST} it holds at every $s > 0$.",
    uses=["hoeffding-two-sided"],
    assumes="for even n: n ≥ 6",
    control="the even n start lower by this",
    violations=(1, 2),
    tests=(sum_law, hoeffding),
)
def hoeffding_needs_its_factor(xp, broken=None):
    for n in range(1, LAST + 1):
        tails = dict(positive_tails([1] * n, two_sided=True))
        if n % 2 == 0 and n >= EVEN - (broken or 0):
            for s, probability in tails.items():
                yield at_most(probability, hoeffding(s, n), n=n, s=float(s))
        else:
            s = 1 + (n + 1) % 2  # the least attained s > 0
            yield at_least(tails[s], hoeffding(s, n), n=n, s=float(s))


@claim(
    "equal-signs-break-hoeffding",
    mark="extension",
    source="none: about the control of the one-sided bound",
    level="computed",
    chapter=CHAPTER,
    statement=r"If all signs are equal and $u \ne 0$, the one-sided bound fails for some $s > 0$ exactly when "
    r"$(\sum_i u_i)^2 > 2 \log 2 \cdot \|u\|^2$.",
    uses=["hoeffding-one-sided"],
    assumes="all signs equal",
    control="the number of signs that are independent of the others is this",
    violations=(0, 1),
    tests=(sum_law, hoeffding),
)
def equal_signs_break_hoeffding(xp, broken=None):
    cancelling = ([1, -1], [2, -1], [3, 1, -2], [5, -1], [1] * 9 + [-1] * 5)
    near = ([6340, 1274], [6763, 1359])  # (Σ u)² / ‖u‖² is 2 log 2 to seven digits, above and below
    for w in (*weight_vectors(), *cancelling, *near):
        shared = share_a_sign(w, max(len(w) - (broken or 0), 1))
        fails = any(probability > hoeffding(s, norm_squared(w)) for s, probability in positive_tails(shared))
        condition = sum(w) ** 2 > 2 * math.log(2) * norm_squared(w)
        yield Case(0 if fails == condition else -1, reached={"n": len(w)})


@claim(
    "hoeffding-exponent",
    mark="extension",
    source="none: how tight the bound is",
    level="computed",
    chapter=CHAPTER,
    statement=r"For $u = \mathbf{1}_n$ and every attained $s$ from 0 to $n$: "
    r"$\frac{1}{n+1}\, 2^{-s^2/n} \le P[\langle u, \sigma \rangle \ge s]$. "
    r"So Hoeffding's exponent $\frac{s^2}{2n}$ is short by a factor $2 \log 2 < 1.39$ at most, up to $\log(n+1)$.",
    uses=["hoeffding-one-sided"],
    assumes="s attained, so at most n",
    # At s = n the sides are 2^-n and 2^-n/(n + 1): the factor n + 1 covers for a base that is lower by less than this.
    control="the base 2 is lower by this",
    violations=(0.0135, 0.014),
    tests="it counts the signs itself, in whole numbers",
)
def hoeffding_exponent(xp, broken=None):
    base = 2 - (broken or 0)
    for n in (1, 2, 3, 4, 7, 10, 41, 200, 1000):
        ways = 0
        for s in range(n, -1, -2):  # the attained ones
            ways += math.comb(n, (n + s) // 2)
            yield at_least(ways / 2**n, base ** (-s * s / n) / (n + 1), n=n, s=s)
    yield at_most(2 * math.log(2), 1.39)
