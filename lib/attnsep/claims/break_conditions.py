"""The break conditions of the card's mechanisms, with verdicts."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import row_scores, values
from attnsep.claims.mechanisms import FAR_OFF, SHAPES, TRIED, M
from attnsep.claims.one_column import all_signs, stated_bound
from attnsep.claims.one_query_weights import BOUND_ROUNDING, rounding
from attnsep.claims.token_datasets import A0, A1, GAP, C
from attnsep.ledger.framework import BESIDE, Case, at_least, at_most, claim, definition, equal, exactly, generator
from attnsep.ledger.sampled import inside_clopper_pearson
from attnsep.paper import gains as exact_gains
from attnsep.paper import tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData

CHAPTER = "break-conditions"

# Break conditions


@claim(
    "break-1-strong-mark",
    mark="extension",
    source="Break condition of Mechanism 1",
    level="computed",
    chapter=CHAPTER,
    statement=r"If $10a(1+a) > n + a$, linear attention fires as well: $\pi \ge \frac18$. "
    r"Every $a \ge \sqrt{n/10}$ is enough.",
    uses=["column-law", "linear-rows-equal"],
    assumes="10a(1+a) > n + a",
    control="a is multiplied by 1 minus this, at n = 16384, d = 4098",
    violations=(0, 0.01, 0.015, 0.5),
    tests=(tokens.law, tokens.Law.column_probability),
)
def break_1_strong_mark(xp, broken=None):
    shapes = ((2, 3), (8, 10), (240, 62), *SHAPES) if broken is None else (SHAPES[-1],)
    for (n, d), c in product(shapes, (Fraction(1, 10), C, Fraction(9, 10))):
        a = Fraction(math.ceil(100 * math.sqrt(n / 10)), 100) * (1 - exactly(broken))
        if broken is None and 10 * a * (1 + a) <= n + a:
            raise ArithmeticError(f"a = {a}: too small for n = {n}")
        pi = tokens.law(n, d, a, c, "linear").column_probability()
        yield at_least(pi, 0.125, 1e-12, n=n, d=d, a=float(a), c=float(c))
    if broken is None:
        for n, d in SHAPES:  # the least a, to 9 decimals, with 10a(1+a) > n + a, that is 10a² + 9a > n
            a = Fraction(math.isqrt((81 + 40 * n) * 10**18) - 9 * 10**9, 20 * 10**9) + Fraction(1, 10**9)
            pi = tokens.law(n, d, a, C, "linear").column_probability()
            yield at_least(pi, 0.125, 1e-12, n=n, d=d, a=float(a), c=float(C))
    # Two tokens of one class: 10a(1+a) = 2.4 > n + a = 2.2, and the bound is attained.
    pi = tokens.law(2, 3, Fraction(1, 5), Fraction(9, 10), "linear").column_probability()
    yield at_least(pi, 0.125, 1e-12, n=2, d=3, a=0.2)


@claim(
    "break-1-linear-separates",
    mark="extension",
    source="Break condition of Mechanism 1",
    level="computed",
    chapter=CHAPTER,
    statement=r"With $a_1 = \sqrt{n/5}$ instead of $0.7$ normalised linear attention separates at the card's $\tau$, "
    rf"with no exponential: at {TRIED}, $a_0 = 0.05$, $c = 0.5$ it fires "
    r"on $D_1$ with more than $0.94$ and on $D_0$ with less than $0.004$.",
    uses=["break-1-strong-mark"],
    assumes="a_1 = √(n/5), rounded to two decimals",
    control="a_1 is multiplied by 1 minus this",
    violations=(0.1, 0.12),
    tests=(tokens.Law.fires,),
)
def break_1_linear_separates(xp, broken=None):
    for n, d in SHAPES:
        a = Fraction(round(100 * math.sqrt(n / 5)), 100) * (1 - exactly(broken))
        yield at_least(tokens.law(n, d, a, C, "linear").fires(M), 0.94, n=n, d=d, a=float(a))
        yield at_most(tokens.law(n, d, A0, C, "linear").fires(M), 0.004, n=n, d=d, a=float(A0))


@claim(
    "break-2-sum-of-scores",
    mark="extension",
    source="Break condition of Mechanism 2",
    level="verified",
    chapter=CHAPTER,
    statement=r"A linear function of the query-key products tells $D_0$ and $D_1$ apart: their sum is $(n+a)^2 L$, "
    r"above $(n+0.4)^2 L$ on $D_1$ and below it on $D_0$, for every $n$.",
    uses=["all-ones-scores"],
    assumes="a_0 ≤ 0.1, a_1 ≥ 0.7",
    control="a_0 exceeds 0.1 by this",
    violations=(0.29, 0.31),
    tests=(TokenData.matrix, row_scores),
)
def break_2_sum_of_scores(xp, broken=None):
    more = exactly(broken)
    for (n, d), c in product(((2, 3), (6, 5), (40, 22), (248, 64)), (Fraction(1, 10), C, Fraction(9, 10))):
        for a in (Fraction(0), A0, GAP + more, A1, Fraction(3)):
            data = TokenData(n=n, d=d, a=a, c=c, marked=n // 2)
            A = data.matrix(xp)
            total, closed = float(xp.sum(row_scores(A, A, data.X(xp)))), (n + float(a)) ** 2 * data.log_n
            yield equal(total, closed, rounding((1 + float(a)) ** 2 * data.log_n) * d, n=n, d=d, a=float(a))
            root = math.sqrt(total / data.log_n) - n
            yield Case(0.4 - root if a < A1 else root - 0.4, reached={"n": n, "d": d, "a": float(a)})


definition(
    "def-ragged-data",
    mark="extension",
    source="Break condition of Mechanism 3",
    chapter=CHAPTER,
    statement=r"Class $k$ has $t_k \ge 1$ tokens, $n = \sum_k t_k$; all else as in $D_0$ and $D_1$. "
    r"The concentration is $Q = \sum_k (t_k/n)^2$: $\frac{1}{d-2}$ for equal classes, 1 for a single class.",
)


@claim(
    "ragged-law",
    mark="extension",
    source="Break condition of Mechanism 3",
    level="exact",
    chapter=CHAPTER,
    statement=r"With $w = R/(R+n-1)$ a row exceeds $\tau$ if and only if $b\sum_{k \ne k^*} t_k y_k$ exceeds the sum "
    r"of $G(n-1) - b(t_{k^*}-1)y_{k^*}$ and $R\,(G - a y_1 - b y_{k^*})$, $G = 0.1 + c(1-y_d)$. "
    r"So $\pi$ is the mean over eight signs of the tail of a weighted sum of signs: one binomial for each class size.",
    uses=["def-ragged-data", "column-threshold"],
    assumes="checked against all sign vectors, ties among them",
    control="the law's gap is smaller by this, so that ties fire",
    violations=(0, 1e-9),
    tests=(TokenData.classes, tokens.Law.column_probability),
)
def ragged_law(xp, broken=None):
    for sizes, a, c, kernel in product(
        ((2, 1), (5,), (3, 1, 1), (1, 4, 2, 1), (2, 2, 3, 1, 1), (6, 2, 1)), (0, 1, 2), ("0.5", "0.9"), tokens.KERNELS
    ):
        data, n = TokenData(class_sizes=sizes, a=a, c=c, marked=len(sizes) - 1), sum(sizes)
        A = [[0, *(data.b * (k == own) for own in range(len(sizes))), data.c] for k in data.classes(np).tolist()]
        A[data.marked][0] = data.a
        gains = [Fraction(R.base) ** int(R.exponent) for R in exact_gains.gains(n, a, kernel)]
        rows = [
            [sum(x * (R if i == data.marked else 1) for i, x in enumerate(column)) for column in zip(*A, strict=True)]
            for R in gains
        ]
        rows = [[x / (R + n - 1) for x in row] for row, R in zip(rows, gains, strict=True)]
        tops = [max(sum(x * s for x, s in zip(row, y, strict=True)) for row in rows) for y in all_signs(data.d)]
        fired = Fraction(sum(top > data.c + GAP for top in tops), len(tops))
        less = TokenData(class_sizes=sizes, a=a, c=c, marked=len(sizes) - 1, gap=GAP - exactly(broken))
        yield equal(Fraction(tokens.Law(less, kernel).column_probability()), fired, n=n, d=data.d, a=a, c=float(data.c))


def _one_large(n, share, a, c=C):
    """Return data with one class of share × n tokens and all others alone, one of them marked."""
    large = round(n * share)
    return TokenData(class_sizes=(large, *[1] * (n - large)), a=a, c=c, marked=1)


RAGGED = (
    (5, 4, 4, 4),
    (1,) * 30 + (2,) * 30,
    (512,) + (1,) * 512,
    (2,) * 100 + (6,) * 20,
    (7,),
    (300, 200) + (1,) * 300,
)


@claim(
    "ragged-softmax-fires",
    mark="extension",
    source="Break condition of Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"Half of the theorem never needed $n = (d-2)t$: if $a p > 0.1$, softmax fires with $\pi \ge \frac18$ "
    r"whatever the class sizes.",
    uses=["ragged-law", "main-theorem-mark-is-seen"],
    assumes="a p > 0.1",
    control="a is lower than 0.7 by this, at one token in each of 4096 classes",
    violations=(0.16, 0.17),
    tests=(tokens.Law.column_probability,),
)
def ragged_softmax_fires(xp, broken=None):
    shapes = ((2,), *RAGGED) if broken is None else ((1,) * 4096,)  # (2,) attains the bound at c = 0.5
    for sizes, c in product(shapes, (Fraction(1, 10), C, Fraction(9, 10))):
        for k in {0, len(sizes) - 1}:
            data = TokenData(class_sizes=sizes, a=A1 - exactly(broken), c=c, marked=k)
            yield at_least(tokens.Law(data).column_probability(), 0.125, 1e-12, n=data.n, d=data.d, c=float(c))


@claim(
    "ragged-silent",
    mark="extension",
    source="Break condition of Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"While $a w < 0.1$ in every row: $\pi \le \sum_w \exp\bigl(-\frac{(0.1 - a w)^2}{2b^2Q_w}\bigr)$ "
    r"with $Q_w$ the sum of $(w + (t_{k^*}-1)r)^2$ and $r^2\sum_{k \ne k^*} t_k^2$, $r = \frac{1-w}{n-1}$. So the "
    r"theorem survives whenever $Q \to 0$.",
    uses=["ragged-law", "column-hoeffding"],
    assumes="a w < 0.1 in every row; the bound is checked, its limit follows by hand",
    control="the law's gap is smaller by this",
    violations=(7e-4, 8e-4),
    tests=(tokens.Law.column_bounds,),
)
def ragged_silent(xp, broken=None):
    # Of many classes one is larger: only where the exponent is large is Hoeffding's nearly right.
    for sizes, a, c, kernel in product(
        (*RAGGED, (5, *[3] * 30_000)), (0, A0, A1, 3), (C, Fraction(4, 5)), tokens.KERNELS
    ):
        bound = stated_bound(sum(sizes), sizes[0], Counter(sizes[1:]).items(), a, c, kernel)
        if 0 < bound < 1:
            data = TokenData(class_sizes=sizes, a=a, c=c, gap=GAP - exactly(broken))
            reached = {"n": data.n, "d": data.d, "c": float(c)}
            ours = tokens.Law(TokenData(class_sizes=sizes, a=a, c=c), kernel).column_bounds()[1]
            yield equal(ours, bound, BOUND_ROUNDING, **reached)
            yield at_most(tokens.Law(data, kernel).column_probability(), bound, **reached)


@claim(
    "ragged-half-in-one-class",
    mark="extension",
    source="Break condition of Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"With half of all tokens in one class and the others alone ($Q \to \frac14$) the theorem fails: on "
    r"$D_0$, $c = 0.5$, $a_0 = 0.05$, both attentions fire with $|\pi - \frac14| < 10^{-6}$ for "
    r"$n = 1024$, $4096$, $16384$.",
    uses=["ragged-law"],
    assumes="Q → 1/4 is arithmetic; π is checked at these three n",
    control="the large class has this part of n fewer tokens",
    violations=(0.18, 0.2),
    tests=(tokens.Law.column_probability,),
)
def ragged_half_in_one_class(xp, broken=None):
    for (n, _), kernel in product(SHAPES, tokens.KERNELS):
        data = _one_large(n, 0.5 - (broken or 0.0), A0)
        yield at_most(abs(tokens.Law(data, kernel).column_probability() - 0.25), 1e-6, n=n, d=data.d)


@claim(
    "ragged-threshold-share",
    mark="extension",
    source="Break condition of Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"$Q \to 0$ is not necessary: what counts is whether the classes that do not vanish hold more than "
    r"$0.1/b$ of all tokens. With $c = 0.5$ and one large class, $D_0$ falls silent at a share of $0.15$, though "
    r"$Q \to 0.0225$: for both attentions $\pi < 10^{-4}$ at $n = 4096$ and $< 10^{-12}$ at $n = 16384$. At a share of "
    r"$0.25$ it fires: $\pi > 0.249$ at both.",
    uses=["ragged-law"],
    assumes="the first share has b × share < 0.1, the second one more; π is checked at the two n",
    control="the share is larger by this",
    violations=(7.4e-4, 8.1e-4),
    tests=(tokens.Law.column_probability,),
)
def ragged_threshold_share(xp, broken=None):
    for (n, bound), kernel in product(((4096, 1e-4), (16384, 1e-12)), tokens.KERNELS):
        data = _one_large(n, 0.15 + (broken or 0.0), A0)
        yield at_most(tokens.Law(data, kernel).column_probability(), bound, n=n, d=data.d)
        if broken is None:
            more = _one_large(n, 0.25, A0)
            yield at_least(tokens.Law(more, kernel).column_probability(), 0.249, n=n, d=more.d)


@claim(
    "break-3-sizes-must-match",
    mark="completed",
    source="Break condition of Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"A strict reading of “(n = (d-2)t, specific parameter bounds) are violated”, that every violation "
    r"breaks the separation: with one token more than $n = 4(d-2)$, "
    r"$P[F_{\exp} \text{ fires on } D_1]$ exceeds $P[F_{\exp} \text{ fires on } D_0]$ by at most $0.1$ "
    r"($d = 258$, $1026$, $m = 10$, $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$).",
    expect="refuted",
    uses=["ragged-law"],
    control="one class has more tokens, by this times 4(d − 2)",
    violations=(0, 0.28, 0.3),
    tests=(tokens.Law.column_probability,),
    coarse=[("0.1", FAR_OFF), ("4 258 1026 10 0.05 0.7 0.5", BESIDE), ("paper.tokens.Law.column_probability", FAR_OFF)],
)
def break_3_sizes_must_match(xp, broken=None):
    for d in (258, 1026):
        more = round((broken or 0) * 4 * (d - 2)) + 1
        found = []
        for a in (A0, A1):
            data = TokenData(class_sizes=(4 + more, *[4] * (d - 3)), a=a, c=C, marked=1)
            found.append(tokens.Law(data).fires(M))
        yield at_most(found[1] - found[0], 0.1, n=data.n, d=d, m=M)


@claim(
    "break-3-bounds-must-hold",
    mark="completed",
    source="Break condition of Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"A strict reading of “specific parameter bounds”, with the bound $a_0 \le 0.1$ that we completed, that "
    r"every violation breaks the separation: with $a_0 = 0.3$, "
    r"$P[F_{\exp} \text{ fires on } D_1]$ exceeds $P[F_{\exp} \text{ fires on } D_0]$ by at most $0.1$ "
    rf"({TRIED}, $a_1 = 0.7$, $c = 0.5$).",
    expect="refuted",
    uses=["column-law"],
    control="a_0 is larger than 0.3 by this",
    violations=(0.35, 0.4),
    tests=(tokens.law, tokens.Law.fires),
    coarse=[
        ("0.1", FAR_OFF),
        ("0.3 10 0.7 0.5", BESIDE),
        ("paper.tokens.law paper.tokens.Law.fires", FAR_OFF),
        ("control", "with a_0 = a_1 both probabilities are one number"),
    ],
)
def break_3_bounds_must_hold(xp, broken=None):
    for n, d in SHAPES:
        a0 = Fraction(3, 10) + exactly(broken)
        on_d0, on_d1 = (tokens.law(n, d, a, C).fires(M) for a in (a0, A1))
        yield at_most(on_d1 - on_d0, 0.1, n=n, d=d, m=M)


@claim(
    "ragged-simulated",
    mark="extension",
    source="Break condition of Mechanism 3",
    level="sampled",
    chapter=CHAPTER,
    statement=r"Over 20000 random columns, matrices with ragged classes (one of 60 tokens and 60 alone; 20 pairs and "
    r"10 "
    r"of five; 9, 1 and 4) exceed $\tau$ as often as the law says, for $a = 0.05$ and $0.7$, $c = 0.6$, under both "
    r"attentions: each $\pi$ lies in the Clopper–Pearson interval of level $1 - 10^{-9}$ around its frequency.",
    uses=["ragged-law"],
    control="the law's gap is larger by this",
    violations=(0, 0.0013, 0.0015, 0.1),
    tests=(TokenData.matrix, values, signs, tokens.Law.column_probability),
)
def ragged_simulated(xp, broken=None):
    rng, draws = generator(4300), 20_000
    for sizes, a, kernel in product(((60, *[1] * 60), (2,) * 20 + (5,) * 10, (9, 1, 4)), (A0, A1), tokens.KERNELS):
        data = TokenData(class_sizes=sizes, a=a, c="0.6", marked=1)
        A = data.matrix(xp)
        X = xp.ones((data.d, data.d), dtype=xp.float64)
        largest = np.max(to_numpy(values(A, A, A, X, kernel)) @ signs(rng, data.d, draws, np), axis=0)
        fired = int(np.sum(largest > data.tau))
        shifted = TokenData(class_sizes=sizes, a=a, c="0.6", marked=1, gap=GAP + exactly(broken))
        law = tokens.Law(shifted, kernel).column_probability()
        yield inside_clopper_pearson(fired, draws, law, n=data.n, d=data.d, a=float(a))
