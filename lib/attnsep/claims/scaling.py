"""What the weights and the firing probabilities do as n and d grow."""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import values
from attnsep.claims.golden_ratio import FAR, _marked_weight
from attnsep.claims.token_datasets import A0, A1, GAP, C
from attnsep.extensions import scaling
from attnsep.ledger.framework import BESIDE, Case, at_least, at_most, claim, equal, exactly
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData

CHAPTER = "scaling"

# Scaling

QUESTION = "Open Question 2"


@claim(
    "scaling-matrices",
    mark="extension",
    source=QUESTION,
    level="verified",
    chapter=CHAPTER,
    statement=r"On matrices of $n = 1024$ and $n = 65536$ tokens every row of the output is the closed form, for both "
    r"attentions, on $D_0$ and on $D_1$.",
    uses=["values-in-closed-form"],
    control="the closed form's a is larger by this",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, values, tokens.law, tokens.Law.values),
)
def scaling_matrices(xp, broken=None):
    for (n, d), a, kernel in product(((1024, 34), (65536, 10)), (A0, A1), tokens.KERNELS):
        data = TokenData(n=n, d=d, a=a, c=C, marked=n // 2)
        A = data.matrix(xp)
        found = to_numpy(values(A, A, A, data.X(xp), kernel))
        is_marked = np.arange(n) == data.marked
        for rows, closed in zip(
            (found[is_marked], found[~is_marked]),
            tokens.law(n, d, a + exactly(broken), C, kernel).values(),
            strict=True,
        ):
            wanted = np.full(d, closed.others)
            wanted[0], wanted[data.marked_class + 1], wanted[-1] = closed.first, closed.own, closed.last
            # Sums of n terms, added in blocks; their rounding stays far below n ε.
            yield equal(rows, np.broadcast_to(wanted, rows.shape), 1e-12, n=n, d=d, t=data.t, a=float(a))


@claim(
    "scaling-in-d",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $a_0 \le 0.1$, $a_1 > \frac1\varphi$, $c$, $t$ and $m$ be fixed, $\pi_\infty$ the share of "
    r"the eight "
    r"patterns with "
    r"$a_1 y_1 + b y_{k^*} + c(y_d - 1) > 0.1$, and no pattern with equality. As $d \to \infty$: "
    r"$P[F_{\exp} \text{ fires on } D_1]$ $\to 1 - (1 - \pi_\infty)^m$, the other three errors $\to 0$, "
    r"and softmax is right more often than linear attention by $\frac12\bigl(1 - (1-\pi_\infty)^m\bigr)$ in the limit.",
    uses=["column-law", "golden-ratio-threshold", "main-theorem-softmax-silent", "main-theorem-linear-silent"],
    assumes="the limits are proved; tried at d = 10⁶, t = 1 and 10⁹, m = 1 and 10, up to 10⁻⁹, "
    "and for a1 = 0.62 at t = 10²⁹⁰",
    control="the data's a1 is lower by this",
    violations=(0.002, 0.003),
    tests=(scaling.column_limit, tokens.errors, scaling.accuracies),
    coarse=[("0.1", "a_0 may be larger, up to 1/φ; the threshold's 0.1 is in the library, whose tests try others")],
)
def scaling_in_d(xp, broken=None):
    d = 10**6
    strengths = tuple(product((Fraction(0), GAP), (A1, Fraction(3, 4), 1, Fraction(5, 2))))
    # Just above 1/φ the weight of the mark is slow; where b is small, 0.9 of it is enough.
    near = product(("0.7", "0.9"), product((Fraction(0), GAP), (Fraction("0.62"),)), (10**290,), (1, 10))
    for c, (a0, a1), t, m in (*product((C, "0.7", "0.9"), strengths, (1, 10**9), (1, 10)), *near):
        n, limit = (d - 2) * t, scaling.column_limit(a1, c)
        errors = tokens.errors(n, d, m, a0, a1 - exactly(broken), c)
        gap = np.subtract(*scaling.accuracies(n, d, m, a0, a1 - exactly(broken), c))
        silent = float((1 - limit) ** m)
        reached = {"n": n, "d": d, "t": t, "m": m, "a1": float(a1)}
        yield equal(errors.softmax_silent_on_d1, silent, 1e-9, **reached)
        yield equal(max(errors[1:]), 0, 1e-9, **reached)
        yield equal(float(gap), 0.5 * (1 - silent), 1e-9, **reached)


# Sizes, π and to how many digits.
BEFORE_STEP, AFTER_STEP = ((16384, 65536, 262144), 0.25, 12), ((1048576, 2097152), 0.375, 6)


def _listed(sizes):
    return ", ".join(map(str, sizes))


@claim(
    "scaling-late-step",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"With $a_1 = 0.7$, $c = 0.5$, $t = 4$ one column fires on $D_1$ with "
    rf"$\pi = {BEFORE_STEP[1]}$ to {BEFORE_STEP[2]} digits for $n = {_listed(BEFORE_STEP[0])}$, and with the limit "
    rf"$\pi_\infty = \frac38$ to {AFTER_STEP[2]} digits for $n = {_listed(AFTER_STEP[0])}$. The pattern "
    r"$y_1 = y_{k^*} = 1 = -y_d$ joins only where $p > \frac{1.1}{1.2}$, which begins between $n = 3.0 \cdot 10^5$ "
    r"and $3.1 \cdot 10^5$.",
    uses=["scaling-in-d"],
    assumes="checked at these five n",
    control="a1 is larger by this",
    violations=(5e-5, 6e-5),
    tests=(tokens.weights, tokens.law, tokens.Law.column_probability),
    coarse=[
        ("0.7 0.5", BESIDE),
        ("12 6", "the law is nearer still"),
        ("300000 310000", "the ends of a bracket, wide enough to be read"),
    ],
)
def scaling_late_step(xp, broken=None):
    before, after = (tokens.weights(n, A1 + exactly(broken)).p for n in (300_000, 310_000))
    yield at_most(before, 1.1 / 1.2, n=300_000)
    yield at_least(after, 1.1 / 1.2, n=310_000)
    for sizes, limit, digits in (BEFORE_STEP, AFTER_STEP):
        for n in sizes:
            pi = tokens.law(n, n // 4 + 2, A1 + exactly(broken), C).column_probability()
            yield equal(pi, limit, 10.0**-digits, n=n, d=n // 4 + 2)


@claim(
    "scaling-in-n",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $d$ be fixed and $t \to \infty$. A row that loses sight of the mark has in the limit "
    r"$\pi_{\mathrm{flat}} = P\bigl[\frac{b}{d-2}\sum_{k=2}^{d-1} y_k$ $+\ c(y_d - 1) > 0.1\bigr]$. If "
    r"no sum attains 0.1, "
    r"$P[\text{fires}] \to 1 - (1 - \pi_{\mathrm{flat}})^m$ for $F_{\mathrm{lin}}$ on $D_0$ and on $D_1$, and for "
    r"$F_{\exp}$ on $D_0$. For $b > 0.1$ this limit is above 0, so their errors do not vanish.",
    uses=["column-law", "golden-ratio-threshold", "linear-rows-equal"],
    assumes="a0 < 1/φ; checked at n = (d − 2)10⁶⁰ to (d − 2)10²⁹⁰, and on D_1 for softmax with the union of "
    "the two rows",
    control="d is 7 + this, at c = 0.5: a multiple of 5 makes d − 2 classes tie",
    violations=(-1, 0),
    tests=(scaling.width_limit, tokens.law, tokens.Law.column_probability),
)
def scaling_in_n(xp, broken=None):
    widths = (3, 4, 6, 13, 34, 66, 200, 1025) if broken is None else (7 + broken,)
    strengths = tuple(product((A0, C, A1, 1, 2), ("softmax",))) + tuple(product((A0, A1), ("linear",)))
    for d, (a, kernel), c in product(widths, strengths, (C, "0.71", "0.88") if broken is None else (C,)):
        limit = _width_limit(d, a, c, kernel)
        yield Case(1 if limit else -1, reached={"d": d, "c": float(c)})
        for t in (10**60, 10**290):
            pi = tokens.law((d - 2) * t, d, a, c, kernel).column_probability()
            yield equal(pi, limit, 1e-12, n=(d - 2) * t, d=d, a=float(a), c=float(c))


def _width_limit(d, a, c, kernel):
    """Return the limit; at a tie, which it excludes, the limit for a gap that is larger by next to nothing."""
    try:
        return scaling.width_limit(d, a, c, kernel)
    except ValueError:
        return scaling.width_limit(d, a, c, kernel, GAP + Fraction(1, 10**9))


@claim(
    "scaling-width-floor",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"If $b > 0.1$, $\pi \ge 2^{-d}$ for both attentions, every $a$ and every $n$: with all signs plus a row "
    r"exceeds $\tau$. So at a fixed $d$ no $n$ brings the errors on $D_0$, or those of $F_{\mathrm{lin}}$, "
    r"below $1 - (1 - 2^{-d})^m$.",
    uses=["column-threshold"],
    assumes="b > 0.1",
    control="c is larger by this, which brings b from 0.101 to 0.1",
    violations=(9e-4, 0.0011),
    tests=(tokens.law, tokens.Law.column_probability),
)
def scaling_width_floor(xp, broken=None):
    for d, t, a, kernel in product((3, 4, 7, 30), (2, 100, 10**290), (0, A0, A1), tokens.KERNELS):
        for c in (Fraction(1, 10), C, Fraction(7, 10), Fraction(899, 1000)):
            c = min(c + exactly(broken), Fraction(999, 1000))
            pi = tokens.law((d - 2) * t, d, a, c, kernel).column_probability()
            yield at_least(pi, 2.0**-d, 1e-12, n=(d - 2) * t, d=d, a=float(a), c=float(c))


@claim(
    "scaling-rate",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $a_0 \le 0.1$, $b > 0.1$, $t$ fixed, $d \to \infty$, and "
    r"$\mathcal I(s) = \frac12\bigl((1+s)\log(1+s)$ $+\ (1-s)\log(1-s)\bigr)$. "
    r"Then $-\frac1d \log \pi \to \mathcal I(\frac{0.1}{b})$ for $F_{\exp}$ on $D_0$ and for "
    r"$F_{\mathrm{lin}}$ on $D_0$ and $D_1$.",
    uses=["column-law", "column-hoeffding"],
    assumes="checked at b = 0.8, 0.5, 0.3, 0.2 from d = 100 on, up to π near 10⁻²⁶⁰, with (log d)/d as the distance "
    "from the limit; Hoeffding's exponent is further away than that where b is 0.3 or 0.2",
    control="the threshold's gap is larger by this",
    violations=(2e-4, 3e-4),
    tests=(tokens.law,),
)
def scaling_rate(xp, broken=None):
    data_sets = ((0, "softmax"), (A0, "softmax"), (GAP, "softmax"), (A0, "linear"), (A1, "linear"))
    for c in ("0.2", C, "0.7", "0.8"):
        rate = _rate(0.1 / (1 - float(c)))
        last = int(600 / rate)  # a little further on π is below the smallest double
        for t, (a, kernel), d in product((1, 4), data_sets, (100, 1000, 10_000, last)):
            if d <= last:
                pi = tokens.law((d - 2) * t, d, a, c, kernel, GAP + exactly(broken)).column_probability()
                off = abs(-math.log(pi) / d - rate)
                yield at_most(off, math.log(d) / d, n=(d - 2) * t, d=d, a=float(a), c=float(c))


def _rate(x):
    """Return the statement's rate function at x."""
    return ((1 + x) * math.log1p(x) + (1 - x) * math.log1p(-x)) / 2


@claim(
    "scaling-smallest-sizes",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $a_0 \le 0.1$, $a_1$, $c$ and $\pi_\infty$ be as in the limit in the width, $b > 0.1$, $t$ fixed, "
    r"and $\delta \to 0$. The smallest $d$ and the smallest $m$ that goes with it grow like $\log\frac1\delta$: "
    r"$d \sim \log\frac1\delta / \mathcal I(\frac{0.1}{b})$ and "
    r"$m \sim \log\frac1\delta / \log\frac{1}{1-\pi_\infty}$.",
    uses=["scaling-rate", "scaling-in-d", "main-theorem-sizes"],
    assumes="checked for a0 = 0.05, a1 = 0.7, c = 0.7 and 0.8, δ = 10⁻²⁰ to 10⁻³⁰⁰, t = 1 and 4: this d does not "
    "suffice, nor 0.3, 0.5 or 0.8 times it; 1.15 times it does at 10⁻²⁰ and 1.01 times at 10⁻³⁰⁰, and m is within 1",
    control="the threshold's gap is smaller by this",
    violations=(7.8e-5, 8.8e-5),
    tests=(tokens.Law.column_probability,),
)
def scaling_smallest_sizes(xp, broken=None):
    for c, t, power in product(("0.7", "0.8"), (1, 4), (20, 50, 100, 200, 300)):
        rate, need, delta = _rate(0.1 / (1 - float(c))), power * math.log(10), 10.0**-power
        enough = 1 + 3 / power
        for factor in (0.3, 0.5, 0.8, 1, enough):
            d = int(factor * need / rate)
            n, gap = (d - 2) * t, GAP - exactly(broken)
            pi = tokens.law(n, d, A1, c, "softmax", gap).column_probability()
            m = math.ceil(need / -math.log1p(-pi))
            worst = max(tokens.errors(n, d, m, A0, A1, c, gap)[1:])
            reached = {"n": n, "d": d, "t": t, "m": m, "delta": delta}
            yield at_most(worst, delta, **reached) if factor == enough else at_least(worst, delta, **reached)
        yield at_most(abs(m - need / math.log(4 / 3)), 1, **reached)


@claim(
    "scaling-margin-linear",
    mark="extension",
    source=QUESTION,
    level="exact",
    chapter=CHAPTER,
    statement=r"For $a_0 < a_1$ and $n \ge 2$ the weight margin of linear attention is "
    r"$p_{\mathrm{lin}}(a_1) - p_{\mathrm{lin}}(a_0)$ $= \frac{(a_1 - a_0)(n-1)}{(n+a_1)(n+a_0)}$ "
    r"$< \frac{a_1 - a_0}{n}$.",
    uses=["linear-rows-equal"],
    control="a1 is larger by this in the weights",
    violations=(1e-20, 1),
    tests="an identity between fractions of n and a",
)
def scaling_margin_linear(xp, broken=None):
    for n, a0, a1 in product(FAR, (Fraction(0), A0, GAP), (A1, Fraction(1), Fraction(5))):
        weight = {a: (1 + a) / (n + a) for a in (a0, a1 + exactly(broken))}
        margin = weight[a1 + exactly(broken)] - weight[a0]
        wanted = (a1 - a0) * (n - 1) / ((n + a1) * (n + a0))
        yield Case(-abs(margin / wanted - 1), reached={"n": n, "a1": float(a1)})
        yield Case(1 - margin * n / (a1 - a0), reached={"n": n, "a1": float(a1)})


@claim(
    "scaling-margin-softmax",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"The weight margin of softmax is at least $1 - n^{-(a_1^2 + a_1 - 1)} - n^{-(1 - a_0 - a_0^2)}$, and "
    r"both exponents are exact: $1 - p(a_1) \sim n^{-(a_1^2+a_1-1)}$ for $a_1 > \frac1\varphi$, "
    r"$p(a_0) \sim n^{-(1-a_0-a_0^2)}$ for $a_0 < \frac1\varphi$. At $a_1 = 0.7$ the first one is only $0.19$.",
    uses=["golden-ratio-law"],
    assumes="∼ is checked as: at n = 10³⁰⁰ the ratio is within 10⁻⁹ of 1",
    control="the weights have an a1 that is lower by this",
    violations=(1e-12, 0.2),
    tests="it needs more digits than the library's doubles have",
)
def scaling_margin_softmax(xp, broken=None):
    for n, a0, a1 in product((*FAR, 10**6), (Fraction(0), A0, GAP), (A1, Fraction(9, 10), Fraction(1))):
        left = _marked_weight(n, (a1 - exactly(broken)) * (1 + a1 - exactly(broken)), 400)[1]
        right = _marked_weight(n, a0 * (1 + a0), 400)[0]
        with localcontext(Context(prec=400, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            L = Decimal(n).ln()
            power_1, power_0 = ((e.numerator * L / e.denominator).exp() for e in (1 - a1 - a1**2, a0 + a0**2 - 1))
            yield Case(Fraction(1 - (left + right) / (power_1 + power_0)), reached={"n": n, "a1": float(a1)})
            if n == 10**300:
                off = max(abs(left / power_1 - 1), abs(right / power_0 - 1))
                yield equal(float(off), 0, 1e-9, n=n, a0=float(a0), a1=float(a1))
