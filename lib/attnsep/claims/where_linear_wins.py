"""At one threshold linear attention counts where softmax saturates."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import values
from attnsep.attention.kernels import PAIR
from attnsep.claims.one_query_weights import EPS, rounding
from attnsep.extensions import where_linear_wins
from attnsep.extensions.where_linear_wins import SHARES, CountData
from attnsep.ledger.framework import (
    at_least,
    at_most,
    claim,
    definition,
    equal,
    exactly,
    generator,
    tex,
    to_digits,
    within,
)
from attnsep.ledger.sampled import inside_clopper_pearson
from attnsep.paper.network import signs
from attnsep.probability import sign_sums

CHAPTER = "where-linear-wins"


SOURCE = "Open Question 3"


STRENGTHS = tuple(map(Fraction, ("0.2", "0.7", "1", "2", "5")))


CLASSES = (1, 2, 8, 33, 256)


definition(
    "def-count-data",
    mark="extension",
    source=SOURCE,
    chapter=CHAPTER,
    statement=r"Fix $a > 0$. $A_\rho$ is as in $D_1$, but its first $\rho n$ tokens are marked, $\rho t$ an integer: "
    r"they have the first entry $a\sqrt{L}$. The question is whether $\rho = \frac14$ or $\frac34$. The threshold is "
    r"$\tau = (c + g)\sqrt{L}$ with $g = \frac a2 (w_{1/4} + w_{3/4})$, $w_\rho = \rho(1+a)/(1+\rho a)$.",
)


def _reached(data, **more):
    return {"n": data.n, "d": data.d, "a": float(data.a), "c": float(data.c)} | more


def _pair(classes, t, a, c, gap=None):
    """Return the data with ρ = 1/4 and with ρ = 3/4."""
    return [CountData(n=classes * t, d=classes + 2, a=a, c=c, share=share, gap=gap) for share in SHARES]


@claim(
    "count-values",
    mark="extension",
    source=SOURCE,
    level="verified",
    chapter=CHAPTER,
    statement=r"Every row of the attention output is $\sqrt{L}\,(aw, \frac{b}{d-2}, \dots, \frac{b}{d-2}, c)$ with "
    r"the mass $w = \rho R/(\rho R + 1 - \rho)$ of the marked tokens: $R = n^{a(1+a)}$ in marked rows and $n^a$ in "
    r"others for softmax, $R = 1 + a$ in every row for linear attention.",
    uses=["def-count-data", "all-ones-scores"],
    assumes="ρt an integer",
    control="the first unmarked token has this strength too",
    violations=(1e-18, 1e-12),
    tests=(CountData.matrix, values, where_linear_wins.marked_mass),
)
def count_values(xp, broken=None):
    for (classes, t), a, c, share, kernel in product(
        ((1, 4), (3, 8), (16, 4)), STRENGTHS[:4], ("0.2", "0.5"), SHARES, PAIR
    ):
        data = CountData(n=classes * t, d=classes + 2, a=a, c=c, share=share)
        A, root = data.matrix(xp), math.sqrt(data.log_n)
        A[data.marked, 0] += (broken or 0) * root
        found = to_numpy(values(A, A, A, data.X(xp), kernel))
        masses = [float(P) for P in where_linear_wins.marked_mass(data.n, a, share, kernel)]
        first = float(a) * np.where(np.arange(data.n) < data.marked, *masses)
        wanted = np.full((data.n, data.d), float(data.b) / classes)
        wanted[:, 0], wanted[:, -1] = first, float(data.c)
        yield equal(found, root * wanted, rounding((1 + float(a)) ** 2 * data.log_n) * data.d, **_reached(data))


@claim(
    "count-law",
    mark="extension",
    source=SOURCE,
    level="exact",
    chapter=CHAPTER,
    statement=r"$\pi$ is the mean, over the four pairs of signs $y_1, y_d = \pm 1$, of the probability that "
    r"$\frac{b}{d-2} S > g + c(1 - y_d) - a y_1 w$, with a sum $S$ of $d - 2$ signs; $w$ is the mass in marked rows "
    r"for $y_1 = 1$ and in unmarked rows for $y_1 = -1$. Equality does not fire.",
    uses=["count-values"],
    assumes="checked where all weights are rational: a = 1, 2, 4, and all sign vectors",
    control="the law's g is lower by this",
    violations=(0, 1e-30, 0.1),
    tests=(where_linear_wins.column_probability,),
)
def count_law(xp, broken=None):
    for (classes, t), a, c, kernel in product(((1, 4), (2, 4), (4, 4), (5, 8)), (1, 2, 4), ("0.375", "0.5"), PAIR):
        for data in _pair(classes, t, a, c):
            law = where_linear_wins.column_probability(replace(data, gap=data.gap - exactly(broken)), kernel)
            yield equal(Fraction(law), _enumerated(data, kernel), **_reached(data))


def _enumerated(data, kernel):
    """Return π from all sign vectors and the definition of attention, in Fractions."""
    a, fired = int(data.a), 0
    own = [1 + a] * data.marked + [1] * (data.n - data.marked)
    rows = []
    for asking in {1 + a, 1}:
        u = [data.n ** (asking * s) for s in own] if kernel == "softmax" else [asking * s for s in own]
        f = [Fraction(x, sum(u)) for x in u]
        of_classes = [data.b * sum(f[k :: data.d - 2]) for k in range(data.d - 2)]
        rows.append([a * sum(f[: data.marked]), *of_classes, data.c])
    for y in product((1, -1), repeat=data.d):
        fired += any(sum(x * s for x, s in zip(row, y, strict=True)) > data.c + data.gap for row in rows)
    return Fraction(fired, 2**data.d)


@claim(
    "count-law-simulated",
    mark="extension",
    source=SOURCE,
    level="sampled",
    chapter=CHAPTER,
    statement=r"Over 2000 random networks of $m = 3$ columns, matrices $A_{1/4}$ and $A_{3/4}$ under both attentions "
    r"fire as often as the exact law says: each probability lies in the Clopper–Pearson interval of level $1 - "
    r"10^{-9}$ around its frequency.",
    uses=["count-law"],
    assumes="checked at (n, d) = (24, 8) and (80, 22), a = 0.7 and 2, c = 0.5",
    control="the law's g is larger by this",
    violations=(1e-4, 6e-4, 7e-4, 0.01),
    tests=(CountData.matrix, values, signs, where_linear_wins.fires_probability),
)
def count_law_simulated(xp, broken=None):
    rng, draws, m = generator(5310), 2000, 3
    for (classes, t), a, kernel in product(((6, 4), (20, 4)), (Fraction(7, 10), Fraction(2)), PAIR):
        for data in _pair(classes, t, a, "0.5"):
            A = data.matrix(xp)
            rows = to_numpy(values(A, A, A, data.X(xp), kernel))
            # Sums within rounding of the threshold are ties, which do not fire.
            above = np.max(rows @ signs(rng, data.d, m * draws, np), axis=0) > data.tau * (1 + 64 * EPS)
            fired = int(np.sum(np.any(above.reshape(draws, m), axis=1)))
            shifted = replace(data, gap=data.gap + exactly(broken))
            law = where_linear_wins.fires_probability(shifted, m, kernel)
            yield inside_clopper_pearson(fired, draws, law, **_reached(data), law=law, frequency=fired / draws)


# The theorem


def _sizes(a, c):
    """Yield pairs of data with t = 4 and more."""
    for classes, t in product(CLASSES, (4, 8)):
        yield _pair(classes, t, a, c)


@claim(
    "counting-linear",
    mark="extension",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=r"With $s = \frac a2 (w_{3/4} - w_{1/4})$ and $H(s) = e^{-s^2(d-2)/(2b^2)}$, linear attention fires on "
    r"$A_{1/4}$ with probability at most $m\,H(s)$. On $A_{3/4}$ one column makes it fire with probability $\pi \ge "
    r"\max\bigl(\frac18, \frac14(1 - H(s))\bigr)$, so it fires with probability at least $1 - (7/8)^m$. The constant "
    r"$\frac18$ is attained.",
    uses=["count-law", "hoeffding-one-sided"],
    assumes="a > 0",
    control="the network's g is larger by this",
    violations=(0.0066, 0.0071),  # at 0.004 the first probability falls below 1/8, by less than doubles can tell
    tests=(
        where_linear_wins.slack,
        where_linear_wins.miss_bound,
        where_linear_wins.fires_probability,
        where_linear_wins.column_probability,
        where_linear_wins.midpoint,
    ),
)
def counting_linear(xp, broken=None):
    shift = exactly(broken)
    for a, c, m in product(STRENGTHS, ("0.1", "0.5", "0.9"), (1, 10)):
        for low, high in _sizes(a, c):
            E = where_linear_wins.miss_bound(low, where_linear_wins.slack(low, "linear"))
            moved = _pair(low.d - 2, low.t, a, c, low.gap + shift)
            yield at_most(
                where_linear_wins.fires_probability(moved[0], m, "linear"), min(1.0, m * E), 1e-12, m=m, **_reached(low)
            )
            least = max(1 / 8, (1 - E) / 4)
            yield at_least(where_linear_wins.column_probability(moved[1], "linear"), least, 1e-12, **_reached(high))
    attained = _pair(1, 4, "0.7", "0.5", where_linear_wins.midpoint("0.7") + shift)[1]
    yield equal(where_linear_wins.column_probability(attained, "linear"), 1 / 8, 1e-12, **_reached(attained))


def first_size(classes, a, factor=1):
    """Return the smallest t = 4, 8, … with n^{a(1+a)} > 3K for n = (d − 2)t, times `factor`."""
    a = Fraction(a)
    least = float(3 * where_linear_wins.critical_gain(a)) ** float(1 / (a * (1 + a)))
    return 4 * max(1, math.floor(least / (4 * classes)) + 1) * factor


@claim(
    "counting-softmax",
    mark="extension",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $K = (1+a)(8+3a)/(8+5a)$ and $n^{a(1+a)} > 3K$, that is $n > n_0(a) = (3K)^{1/(a(1+a))}$. Then "
    r"softmax has $\pi \ge \max\bigl(\frac18, \frac14(1 - H(s))\bigr)$ on $A_{1/4}$ and on $A_{3/4}$, where $s = aw "
    r"- g > 0$ for its own mass $w$ in marked rows: it fires on both with probability at least $1 - (7/8)^m$.",
    uses=["count-law", "hoeffding-one-sided"],
    assumes="n > n₀(a)",
    control="the inverse temperature is 1 − this",
    violations=(0.004, 0.005),
    tests=(
        where_linear_wins.critical_gain,
        where_linear_wins.slack,
        where_linear_wins.miss_bound,
        where_linear_wins.column_probability,
    ),
)
def counting_softmax(xp, broken=None):
    kernel = f"softmax:{Fraction(1) - exactly(broken)}"
    for classes, a, c, factor in product(CLASSES, STRENGTHS, ("0.1", "0.5", "0.9"), (1, 2)):
        for data in _pair(classes, first_size(classes, a, factor), a, c):
            least = max(1 / 8, (1 - where_linear_wins.miss_bound(data, where_linear_wins.slack(data))) / 4)
            yield at_least(where_linear_wins.column_probability(data, kernel), least, 1e-12, **_reached(data))


@claim(
    "counting-softmax-cannot",
    mark="extension",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $n > n_0(a)$ and $2c > a - g$. With the same signs $y$, softmax answers $A_{1/4}$ and $A_{3/4}$ "
    r"differently (fires on one, is silent on the other) with probability at most $\frac m4$ times $H(s) + 2H(g) + "
    r"H(2c + g - a)$, where $s = aw_{1/4} - g$ for its own mass in marked rows.",
    uses=["counting-softmax"],
    assumes="n > n₀(a), 2c > a − g",
    control="the inverse temperature is 1 − this",
    violations=(0.04, 0.05),
    tests=(where_linear_wins.differ_probability, where_linear_wins.differ_bound, sign_sums.fires_probability),
)
def counting_softmax_cannot(xp, broken=None):
    kernel = f"softmax:{Fraction(1) - exactly(broken)}"
    for classes, a, c, factor in product(CLASSES, STRENGTHS, ("0.1", "0.5", "0.9"), (1, 2)):
        low, _ = _pair(classes, first_size(classes, a, factor), a, c)
        if 2 * low.c > low.a - low.gap:
            differ, bound = where_linear_wins.differ_probability(low, kernel), where_linear_wins.differ_bound(low)
            for m in (1, 10):
                yield at_most(sign_sums.fires_probability(differ, m), m * bound, 1e-12, m=m, **_reached(low))


@claim(
    "counting-any-threshold",
    mark="extension",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=r"Softmax with any $g \ge 0$, not only the midpoint: with the same signs one column answers $A_{1/4}$ "
    r"and $A_{3/4}$ differently with probability at most $\frac12(J_1 + J_2)\,P_{\max}$. Here $P_{\max}$ is the "
    r"largest probability of one value of $S$, and $J = \lceil \frac{a(d-2)}{2b}(w_{3/4} - w_{1/4}) \rceil$ with its "
    r"masses in marked rows ($J_1$) and in unmarked rows ($J_2$). The bound is attained.",
    uses=["count-law"],
    assumes="any g",
    control="where the bound is attained a is 1.1 + this",
    violations=(0.013, 0.0142),
    tests=(where_linear_wins.any_threshold_bound, where_linear_wins.marked_mass, where_linear_wins.differ_probability),
)
def counting_any_threshold(xp, broken=None):
    for (classes, t), a, c in product(((2, 4), (33, 4), (256, 4)), STRENGTHS, ("0.1", "0.5", "0.9")):
        bound = where_linear_wins.any_threshold_bound(_pair(classes, t, a, c)[0])
        middle = [sum(float(a * Fraction(float(P))) for P in row) / 2 for row in _masses(classes * t, a)]
        for gap in (0, *middle, float(where_linear_wins.midpoint(a)), float(2 * a)):
            data = _pair(classes, t, a, c, Fraction(gap))[0]
            yield at_most(where_linear_wins.differ_probability(data), bound, **_reached(data))
    # One class, a threshold of c√L alone and a small c: for each of the four signs y_1, y_d one of S = ±1 differs.
    attained = _pair(1, 4, Fraction("1.1") + exactly(broken), "0.001", 0)[0]
    bound = where_linear_wins.any_threshold_bound(attained)
    yield equal(where_linear_wins.differ_probability(attained), bound, 1e-12, **_reached(attained))


def _masses(n, a):
    """Return the masses of 1/4 and 3/4 in marked rows, and in unmarked ones."""
    return zip(*(where_linear_wins.marked_mass(n, a, share) for share in SHARES), strict=True)


WORKED = {
    ("linear", Fraction(1, 4)): 1.03130315e-7,
    ("linear", Fraction(3, 4)): 0.943686478,
} | dict.fromkeys([("softmax", Fraction(1, 4)), ("softmax", Fraction(3, 4))], 0.943686485)


COLUMNS, INSTANCE = 10, {"n": 1024, "d": 258, "a": "0.7", "c": "0.5"}


@claim(
    "counting-worked-instance",
    mark="extension",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=rf"At $n = {INSTANCE['n']}$, $d = {INSTANCE['d']}$, $m = {COLUMNS}$, $a = {INSTANCE['a']}$, "
    rf"$c = {INSTANCE['c']}$ the probabilities to fire are, to nine digits, "
    rf"${tex(WORKED['linear', SHARES[0]])}$ (linear attention on $A_{{1/4}}$), "
    rf"${WORKED['linear', SHARES[1]]}$ (linear attention on $A_{{3/4}}$) and "
    rf"${WORKED['softmax', SHARES[0]]} = 1 - (3/4)^{{{COLUMNS}}}$ (softmax on both).",
    uses=["counting-linear", "counting-softmax"],
    assumes="these parameters",
    # The laws are step functions of every parameter: nothing nearer moves one of their steps.
    control="a is larger by this",
    # The law is a step function of a: no smaller step changes a probability.
    violations=(0.008, 0.01),
    tests=(where_linear_wins.fires_probability,),
)
def counting_worked_instance(xp, broken=None):
    for (kernel, share), digits in WORKED.items():
        data = CountData(**INSTANCE | {"a": Fraction(INSTANCE["a"]) + exactly(broken)}, share=share)
        yield to_digits(
            where_linear_wins.fires_probability(data, COLUMNS, kernel), digits, 9, n=data.n, d=data.d, m=COLUMNS
        )
    yield to_digits(1 - (3 / 4) ** COLUMNS, digits, 9, m=COLUMNS)


@claim(
    "counting-window",
    mark="extension",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=r"Softmax with inverse temperature $\beta \ge 0$ has $R = n^{\beta a(1+a)}$ and masses $w_\rho$ in "
    r"marked rows. Let $K_{1/4} = 3K$, $K_{3/4} = K/3$. On $A_\rho$: if $R < K_\rho$, then $\pi \le H(g - aw_\rho)$; "
    r"if $R > K_\rho$, then $\pi \ge \max\bigl(\frac18, \frac14(1 - H(aw_\rho - g))\bigr)$. Linear attention has $R "
    r"= 1 + a$, and $K/3 < 1 + a < 3K$.",
    uses=["counting-linear", "counting-softmax"],
    assumes="a > 0, β ≥ 0; β at which R is within 10⁻⁶ of K_ρ among them",
    control="the network's β is smaller by this, or 0",
    violations=(4.5e-9, 5e-9),
    tests=(where_linear_wins.column_probability, where_linear_wins.slack, where_linear_wins.miss_bound),
)
def counting_window(xp, broken=None):
    betas = [Fraction(x, 100) for x in (0, 1, 10, 18, 19, 100)]
    for classes, a, c in product((1, 8, 33, 256), STRENGTHS, ("0.1", "0.5")):
        for data in _pair(classes, 4, a, c):
            for beta in (*betas, *_at_the_edge(data)):
                pi = where_linear_wins.column_probability(data, f"softmax:{max(beta - exactly(broken), 0)}")
                yield _window_case(data, f"softmax:{beta}", float(beta * a * (1 + a)) * data.log_n, pi, beta=beta)
    for a in STRENGTHS:
        (low, high), K = _pair(33, 4, a, "0.5"), (1 + a) * (8 + 3 * a) / (8 + 5 * a)
        yield within(1 + a, K / 3, 3 * K, **_reached(low))
        for data in (low, high):
            pi = where_linear_wins.column_probability(data, "linear")
            yield _window_case(data, "linear", math.log(1 + a), pi, beta=0)


def _log_edge(data):
    """Return log K_ρ, as the statement has it."""
    K = (1 + data.a) * (8 + 3 * data.a) / (8 + 5 * data.a)
    return math.log({Fraction(1, 4): 3 * K, Fraction(3, 4): K / 3}[data.share])


def _at_the_edge(data):
    """Yield β ≥ 0 with R = n^{βa(1+a)} just below and just above K_ρ."""
    for part in (-1e-6, 1e-6):
        beta = (_log_edge(data) + part) / (float(data.a * (1 + data.a)) * data.log_n)
        if beta >= 0:
            yield Fraction(beta).limit_denominator(10**12)


def _window_case(data, kernel, log_gain, pi, beta):
    """Case for the side of K_ρ on which the gain lies, here by their logarithms."""
    E = where_linear_wins.miss_bound(data, where_linear_wins.slack(data, kernel))
    reached = _reached(data, beta=float(beta))
    if log_gain > _log_edge(data):
        return at_least(pi, max(1 / 8, (1 - E) / 4), 1e-12, **reached)
    return at_most(pi, E, 1e-12, **reached)
