"""One random column: its exact law, and bounds of it."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention import reference
from attnsep.attention.attend import values
from attnsep.claims.lemma_d2 import _scaled_matrix
from attnsep.claims.one_query_weights import BOUND_ROUNDING
from attnsep.claims.token_datasets import A0, A1, GAP, C, _reached
from attnsep.ledger.framework import BESIDE, WHOLE, Case, at_most, claim, definition, equal, exactly, generator
from attnsep.ledger.sampled import LEVEL, inside_clopper_pearson
from attnsep.paper import gains as exact_gains
from attnsep.paper import tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData

CHAPTER = "one-column"

# One random column


definition(
    "def-network-tokens",
    mark="completed",
    source="section 1.1: four-layer networks",
    chapter=CHAPTER,
    statement=r"$Y \in \{\pm 1\}^{d \times m}$ is uniform, and "
    r"$F = \mathrm{ReLU}\bigl(\sum_{j \le n} \sum_y \mathrm{ReLU}_\tau(\langle o_j, y \rangle)\bigr)$, where $y$ runs "
    r"through the $m$ columns of $Y$: $F_{\exp}$ with softmax, $F_{\mathrm{lin}}$ with linear attention. $F$ fires if "
    r"$F > 0$. A column $y$ has the entries $y_1, \dots, y_d$; $y_{k^*}$ is the one that meets the class $k^*$ of "
    r"$j^*$.",
)


# (n, d, a, c) for which every weight of softmax is rational, so that Fractions can enumerate; many have ties.
RATIONAL = (
    (2, 3, "1", "0.5"),
    (5, 7, "0", "0.5"),
    (5, 7, "0", "0.9"),
    (8, 6, "0", "0.3"),
    (6, 5, "1", "0.9"),
    (6, 5, "2", "0.2"),
    (4, 6, "1", "0.1"),
    (16, 6, "0.5", "0.6"),
    (16, 6, "0.5", "0.5"),
)


def rational_columns():
    """Yield the data, the kernel, and in Fractions R and all ⟨o_j, y⟩/√L of both rows."""
    for (n, d, a, c), kernel in product(RATIONAL, tokens.KERNELS):
        data, A = TokenData(n=n, d=d, a=a, c=c), _scaled_matrix(TokenData(n=n, d=d, a=a, c=c))
        gains = [fraction(R) for R in exact_gains.gains(n, a, kernel)]
        weights = [[R / (R + n - 1), *[1 / (R + n - 1)] * (n - 1)] for R in gains]
        rows = reference.matmul(weights, A)
        columns = {y: [sum(x * s for x, s in zip(row, y, strict=True)) for row in rows] for y in all_signs(d)}
        yield data, kernel, gains, columns


def fraction(R):
    """Return base^exponent as a Fraction, for whole results of floating-point powers that are checked."""
    value = Fraction(round(float(R.base) ** float(R.exponent))) if R.exponent != 1 else Fraction(R.base)
    if value**R.exponent.denominator != R.base**R.exponent.numerator:
        raise ArithmeticError(f"{R}: not a whole number")
    return value


def all_signs(d):
    return product((1, -1), repeat=d)


@claim(
    "column-threshold",
    mark="completed",
    source="section 6: τ",
    level="exact",
    chapter=CHAPTER,
    statement=r"In row $j$ let the marked token's weight be $R$ times any other (its gain), and let $S$ be the sum of "
    r"the $d-3$ signs of the other classes. Then $\langle o_j, y \rangle > \tau$ if and only if "
    r"$b\,t\,S > G(n-1) - b(t-1)y_{k^*}$ $+\, R\,(G - a y_1 - b y_{k^*})$ with $G = 0.1 + c(1 - y_d)$.",
    uses=["values-in-closed-form", "def-network-tokens", "def-threshold"],
    control="G is smaller by this, so that ties exceed",
    violations=(0, 1e-9),
    tests=(reference.matmul,),
)
def column_threshold(xp, broken=None):
    for data, _, gains, columns in rational_columns():
        for y, sums in columns.items():
            first, own, *others, last = y
            G = GAP + data.c * (1 - last) - exactly(broken)
            left = data.b * data.t * sum(others)
            for R, total in zip(gains, sums, strict=True):
                right = G * (data.n - 1) - data.b * (data.t - 1) * own + R * (G - data.a * first - data.b * own)
                same = (total > data.c + data.gap) == (left > right)
                yield Case(0 if same else -1, reached=_reached(data))


@claim(
    "column-law",
    mark="completed",
    source="Foundational Learning: Hoeffding inequality, made exact",
    level="exact",
    chapter=CHAPTER,
    statement=r"$\pi = P[\langle o_j, y \rangle > \tau \text{ for some } j]$ $= \frac18 \sum P\bigl[B > "
    r"\frac{d-3+S_*}{2}\bigr]$, summed over the eight patterns of the signs $(y_1, y_{k^*}, y_d)$. Here $B$ is "
    r"binomial with $d-3$ trials and probability $\frac12$, and $S_*$ is the smallest value of "
    r"$\frac{G(n-1) - b(t-1)y_{k^*}}{b\,t}$ $+\, R\,\frac{G - a y_1 - b y_{k^*}}{b\,t}$ for the gains $R$ of all rows, "
    r"with $G = 0.1 + c(1 - y_d)$. A tie $\langle o_j, y \rangle = \tau$ does not fire.",
    uses=["column-threshold"],
    assumes="checked against all sign vectors, ties among them",
    control="the law's gap is smaller by this, so that ties fire",
    violations=(0, 1e-9),
    tests=(exact_gains.gains, reference.matmul, tokens.Law.column_probability),
    coarse=[("0.125 0.5", WHOLE)],
)
def column_law(xp, broken=None):
    gap = GAP - exactly(broken)
    for data, kernel, gains, columns in rational_columns():
        fired = Fraction(sum(max(sums) > data.c + data.gap for sums in columns.values()), len(columns))
        stated = Fraction(0)
        for first, own, last in all_signs(3):
            G = gap + data.c * (1 - last)
            level, slope = G * (data.n - 1) - data.b * (data.t - 1) * own, G - data.a * first - data.b * own
            least = min((level + R * slope) / (data.b * data.t) for R in gains)
            plus = (k for k in range(data.d - 2) if k > (data.d - 3 + least) / 2)
            stated += Fraction(sum(math.comb(data.d - 3, k) for k in plus), 8 * 2 ** (data.d - 3))
        yield equal(stated, fired, **_reached(data))
        law = tokens.Law(replace(data, gap=gap), kernel).column_probability()
        yield equal(Fraction(law), fired, **_reached(data))  # such shares are doubles


# (n, t, a, c, signs y_1, y_k*, y_d) with a y_1 + b y_k* = 0.1 + c (1 − y_d).
TIES = (
    (53, 1, "0.75", "0.35", (1, -1, 1)),
    (52, 4, "0.4", "0.5", (-1, 1, 1)),
    (4, 1, "0.6", "0.1", (-1, 1, -1)),
)


@claim(
    "column-ties",
    mark="extension",
    source="none: about ties",
    level="exact",
    chapter=CHAPTER,
    statement=r"Let $G = 0.1 + c(1 - y_d)$. If $a y_1 + b y_{k^*} = G$, the gain $R$ cancels: whether the weights are "
    r"rational or not, each row ties exactly if $b\,t\,S = G(n-1) - b(t-1)y_{k^*}$. With $a = 0.75$, $c = 0.35$, "
    r"$n = 53$, $d = 55$ and $y_1 = y_d = 1 = -y_{k^*}$ this is $S = 8$: of the 52 other signs 31 plus signs fire, 30 "
    r"tie, and any number smaller than $0.1$ in $\tau = (c + 0.1)\sqrt{L}$ lets 30 fire.",
    uses=["column-threshold"],
    control="c is larger by this",
    violations=(0, 1e-12),
    tests=(tokens.Law.least_plus,),
)
def column_ties(xp, broken=None):
    for n, t, a, c, (first, own, last) in TIES:
        a, c = Fraction(a), Fraction(c) + exactly(broken)
        b, G = 1 - c, GAP + c * (1 - last)
        S = (G * (n - 1) - b * (t - 1) * own) / (b * t)  # no R in it: the same for every row
        for R in (Fraction(1), Fraction(7, 3), Fraction(10**9)):
            w, r = R / (R + n - 1), 1 / (R + n - 1)
            reached = {"n": n, "t": t, "a": float(a), "c": float(c)}
            total = a * w * first + b * (w + (t - 1) * r) * own + b * t * r * S + c * last
            yield Case(-abs(total - c - GAP), reached=reached)
            for other in (S - 2, S + 2):  # the neighbouring sums of signs
                total = a * w * first + b * (w + (t - 1) * r) * own + b * t * r * other + c * last
                yield Case(-int(total == c + GAP), reached=reached)
    c = Fraction(35, 100) + exactly(broken)
    for kernel, smaller in product(tokens.KERNELS, (Fraction(0), Fraction(1, 10**30), Fraction(1, 10**6))):
        data = TokenData(n=53, d=55, a="0.75", c=c, gap=GAP - smaller)
        least = tokens.Law(data, kernel).least_plus(tokens.Signs(1, -1, 1))
        yield Case(-abs(least - (30 if smaller else 31)), reached=_reached(data))


@claim(
    "column-law-simulated",
    mark="completed",
    source="Foundational Learning: Hoeffding inequality",
    level="sampled",
    chapter=CHAPTER,
    statement=r"Over 20000 random columns at $(n, d) = (40, 22)$ and $(98, 100)$, $a_0 = 0.05$, $a_1 = 0.7$, $c = "
    r"0.6$, "
    r"matrices of $D_0$ and $D_1$ under both attentions exceed $\tau$ as often as the exact law says: each $\pi$ lies "
    r"in the Clopper–Pearson interval of level $1 - 10^{-9}$ around its frequency.",
    uses=["column-law"],
    control="the law's gap is larger by this",
    violations=(0, 0.012, 0.015, 0.1),
    tests=(TokenData.matrix, values, signs, tokens.law, tokens.Law.column_probability),
    coarse=[("20000 0.05 0.7 0.6", BESIDE), LEVEL],
)
def column_law_simulated(xp, broken=None):
    rng, draws = generator(3500), 20_000
    for (n, d), a, kernel in product(((40, 22), (98, 100)), (A0, A1), tokens.KERNELS):
        data = TokenData(n=n, d=d, a=a, c="0.6", marked=n // 3)
        A = data.matrix(xp)
        rows = to_numpy(values(A, A, A, data.X(xp), kernel))
        fired = int(np.sum(np.max(rows @ signs(rng, d, draws, np), axis=0) > data.tau))
        law = tokens.law(n, d, a, data.c, kernel, GAP + exactly(broken)).column_probability()
        yield inside_clopper_pearson(fired, draws, law, **_reached(data), law=law, frequency=fired / draws)


@claim(
    "column-hoeffding",
    mark="completed",
    source="Foundational Learning: Hoeffding inequality",
    level="computed",
    chapter=CHAPTER,
    statement=r"While $a w < 0.1$ in every row: "
    r"$\pi \le \sum_w \exp\bigl(-\frac{(0.1 - a w)^2}{2 b^2 Q_w}\bigr)$, "
    r"$Q_w = (w + (t-1)r)^2 + (d-3)(t r)^2$ with $r = \frac{1-w}{n-1}$, summed over the weights $w$ "
    r"of the marked token: two for softmax, in its own row and in the others, and one for linear attention.",
    uses=["column-law", "hoeffding-one-sided"],
    assumes="a w < 0.1 in every row",
    control="the law's gap is smaller by this",
    violations=(7e-4, 8e-4),
    tests=(tokens.law, tokens.Law.column_bounds),
)
def column_hoeffding(xp, broken=None):
    constants = (Fraction(1, 10), C, Fraction(4, 5))
    for (d, t), a, c, kernel in product(SHAPES, (0, A0, GAP, A1, 3, 40), constants, tokens.KERNELS):
        n = (d - 2) * t
        bound = stated_bound(n, t, [(t, d - 3)], a, c, kernel)
        if 0 < bound < 1:
            reached = {"n": n, "d": d, "t": t, "a": float(a), "c": float(c)}
            yield equal(tokens.law(n, d, a, c, kernel).column_bounds()[1], bound, BOUND_ROUNDING, **reached)
            pi = tokens.law(n, d, a, c, kernel, GAP - exactly(broken)).column_probability()
            yield at_most(pi, bound, **reached)


def stated_bound(n, own, others, a, c, kernel):
    """Return the sum of the statements, or 1 where some a w is 0.1 or more; `others`: pairs (size, number of classes).

    The inequality alone would not notice a constant that is off by a per cent: Hoeffding's bound is not sharp.
    """
    a, b, total = float(a), 1 - float(c), 0.0
    softmax = {1 / (1 + (n - 1) * n ** (-a * (1 + a))), 1 / (1 + (n - 1) * n**-a)}  # one number if a = 0
    for w in softmax if kernel == "softmax" else {(1 + a) / (n + a)}:
        if a * w >= 0.1:
            return 1.0
        r = (1 - w) / (n - 1)
        Q = (w + (own - 1) * r) ** 2 + sum(number * (size * r) ** 2 for size, number in others)
        total += math.exp(-((0.1 - a * w) ** 2) / (2 * b**2 * Q))
    return total


# The widest one is there because Hoeffding's exponent is nearly right only where it is large.
SHAPES = ((4, 1), (10, 1), (60, 1), (60, 16), (258, 4), (1500, 1), (1500, 10**9), (34_000, 1))
