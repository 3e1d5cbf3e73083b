"""The golden-ratio law: from which strength on softmax sees the mark."""

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from itertools import product

from attnsep.arrays import to_numpy
from attnsep.attention.attend import values
from attnsep.claims.one_query_weights import EPS
from attnsep.claims.token_datasets import A0, A1, C
from attnsep.extensions import golden_ratio
from attnsep.ledger.framework import BESIDE, Case, at_least, at_most, claim, equal, exactly, to_digits
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData

CHAPTER = "golden-ratio"


FAR = (2, 3, 100, 65536, 10**12, 10**300)


MARKS = [Fraction(step, 1000) for step in (0, 50, 300, 500, 600, 618, 619, 700, 1000)]


def _marked_weight(n, exponent, digits):
    """Return p and 1 − p for the gain n^exponent, to about this many digits, by decimals alone."""
    with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        R = (Decimal(exponent.numerator) / exponent.denominator * Decimal(n).ln()).exp()
        return R / (R + n - 1), (n - 1) / (R + n - 1)


# The golden-ratio law


@claim(
    "golden-ratio-law",
    mark="extension",
    source="none: about Lemma D.2",
    level="computed",
    chapter=CHAPTER,
    statement=r"$p = \frac{1}{1 + e^{-z}}$ with $z = (a^2 + a - 1) \log n - \log(1 - \frac1n)$. "
    r"The library's $p$ and $1 - p$ agree with it to 12 digits.",
    uses=["lemma-d-2-weights"],
    control="the constant 1 of a² + a − 1 is smaller by this",
    violations=(1e-20, 1e-12),
    tests=(golden_ratio.collapsed, tokens.weights),
)
def golden_ratio_law(xp, broken=None):
    for n, a in product(FAR, MARKS):
        z = golden_ratio.collapsed(n, a) + float(exactly(broken)) * math.log(n) - math.log1p(-1 / n)
        law = 1 / (1 + math.exp(-z)), 1 / (1 + math.exp(z))
        found = tokens.weights(n, a)
        for formula, weight, wanted in zip(
            law, (found.p, found.not_p), _marked_weight(n, a * (1 + a), 60), strict=True
        ):
            for value in (formula, weight):
                yield equal(value, float(wanted), 1e-12, n=n, a=float(a))


@claim(
    "golden-ratio-threshold",
    mark="extension",
    source="none: about Lemma D.2",
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $a$ be fixed. As $n \to \infty$, $p \to 0$ if $a < \frac1\varphi$ and $p \to 1$ if $a > "
    r"\frac1\varphi$, "
    r"$\frac1\varphi = \frac{\sqrt5 - 1}{2}$. At $a = \frac1\varphi$, $p = \frac{1}{2 - 1/n}$; for every $n$, "
    r"a smaller $a$ has a smaller $p$ and a larger $a$ a larger one.",
    uses=["golden-ratio-law"],
    assumes="checked for ratios of Fibonacci numbers next to 1/φ on both sides, and at n = 10³⁰⁰",
    control="a is larger by this",
    violations=(1e-17, 2e-17),
    tests=(tokens.weights,),
    coarse=[
        ("5", "1/φ lies between ratios of Fibonacci numbers, which come as near to it as doubles can tell"),
        ("paper.tokens.weights", "bounded here, far from the threshold; golden-ratio-law compares it"),
    ],
)
def golden_ratio_threshold(xp, broken=None):
    for n, (low, high) in product(FAR, _fibonacci_ratios()):
        (below, _), (above, _) = (_marked_weight(n, a * (1 + a), 60) for a in (low + exactly(broken), high))
        yield Case(Fraction(Decimal(n) / (2 * n - 1) - below), reached={"n": n, "a": float(low)})
        yield Case(Fraction(above - Decimal(n) / (2 * n - 1)), reached={"n": n, "a": float(high)})
        # p has the slope (2a + 1) log n p (1 − p) in a, less than log n, and high − low is 1/(F F') for denominators F.
        near = math.log(n) * float(high - low)
        yield at_most(float(abs(above - Decimal(n) / (2 * n - 1))), near, n=n, a=float(high))
    far = [tokens.weights(10**300, Fraction(a) + exactly(broken)) for a in ("0.6", "0.63")]
    yield at_most(far[0].p, 1e-11, n=10**300, a=0.6)
    yield at_most(far[1].not_p, 1e-7, n=10**300, a=0.63)


def _fibonacci_ratios():
    """Yield (low, high) with low < 1/φ < high, ever closer: a² + a − 1 = ∓1/F² for a ratio with denominator F."""
    before, after = 1, 2
    for _ in range(20):
        yield Fraction(before, after), Fraction(after, before + after)
        before, after = before + after, before + 2 * after


@claim(
    "golden-ratio-collapse",
    mark="extension",
    source="none: about Lemma D.2",
    level="computed",
    chapter=CHAPTER,
    statement=r"With $\xi = (a^2 + a - 1)\log n$: $0 < p - \frac{1}{1 + e^{-\xi}} \le \frac{1}{4(n-1)}$. "
    r"So the curves of all $n$ are one curve over $\xi$, up to $\frac{1}{4(n-1)}$.",
    uses=["golden-ratio-law"],
    control="ξ is computed with a² + a − 1 + this",
    violations=(1e-310, 1e-300),
    tests="it needs more digits than the library's doubles have",
)
def golden_ratio_collapse(xp, broken=None):
    for n, a in product(FAR, MARKS):
        digits = 60 + len(str(n))  # the difference is of size 1/n
        p, _ = _marked_weight(n, a * (1 + a), digits)
        with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            factor = a * (1 + a) - 1 + exactly(broken)
            off = p - 1 / (1 + (-Decimal(factor.numerator) / factor.denominator * Decimal(n).ln()).exp())
            slacks = off * (n - 1), 1 - 4 * (n - 1) * off
        yield Case(Fraction(min(slacks)), reached={"n": n, "a": float(a)})


@claim(
    "golden-ratio-matrices",
    mark="extension",
    source="none: about Lemma D.2",
    level="verified",
    chapter=CHAPTER,
    statement=r"On matrices the first entry of the marked row's output, divided by $a\sqrt{L}$, is this $p$.",
    uses=["golden-ratio-law", "values-in-closed-form"],
    control="X = (1 + this) 1 1ᵀ",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, values, golden_ratio.collapsed),
)
def golden_ratio_matrices(xp, broken=None):
    for (n, d), a in product(((2, 3), (100, 12), (1000, 6), (16384, 4)), MARKS[1:]):
        found = _measured_weight(TokenData(n=n, d=d, a=a, c=C, marked=n // 3), 1 + (broken or 0), xp)
        z = golden_ratio.collapsed(n, a) - math.log1p(-1 / n)
        # Scores of a few log n, rounded, are exponentiated; the sums have n equal terms.
        yield equal(found, 1 / (1 + math.exp(-z)), 64 * EPS * math.log(n), n=n, d=d, a=float(a))


def _measured_weight(data, beta, xp):
    """Return the marked token's weight in its own row, read from the output of a real matrix."""
    A = data.matrix(xp)
    C_j = values(A, A, A, beta * data.X(xp))[data.marked, :]
    return float(C_j[0]) / (float(data.a) * math.sqrt(data.log_n))


@claim(
    "golden-ratio-width",
    mark="extension",
    source="none: about Lemma D.2",
    level="computed",
    chapter=CHAPTER,
    statement=r"$p = s$ at $a_s = \frac12\bigl(\sqrt{1 + 4(1 + z_s/L)} - 1\bigr)$, "
    r"$z_s = \log\frac{s}{1-s} + \log(1 - \frac1n)$, if $L + z_s \ge 0$; else no $a \ge 0$ has this $p$. The step "
    r"from $p = 0.1$ to $p = 0.9$ has the width $\frac{2 \log 9}{L\,(a_{0.1} + a_{0.9} + 1)}$, which is "
    r"$\frac{2\log 9}{\sqrt5\,L}\,(1 + O(\frac1L))$.",
    uses=["golden-ratio-law"],
    assumes="checked from n = 100 on, with 1/L for O(1/L)",
    control="the upper end is p = 0.9 + this",
    violations=(1e-12, 1e-10),
    tests=(tokens.weights,),
)
def golden_ratio_width(xp, broken=None):
    for n in FAR[2:]:
        L, s_high = math.log(n), 0.9 + (broken or 0)
        low, high = (_strength_for(s, n) for s in (0.1, s_high))
        for a, s in ((low, 0.1), (high, s_high)):
            # p is steep: a's rounding, 10^-16, is magnified by (2a + 1) L, which is below 2000.
            yield equal(tokens.weights(n, a).p, s, 1e-11, n=n, a=a)
        width = 2 * math.log(9) / (L * (low + high + 1))
        yield equal(high - low, width, 1e-11, n=n)
        yield at_most(abs((high - low) * math.sqrt(5) * L / (2 * math.log(9)) - 1), 1 / L, n=n)
    for n, s in ((2, 0.1), (9, 0.1), (4, 0.2)):  # here L + z_s < 0: even a = 0 has a larger p
        yield Case(-math.log(n) - math.log(s / (1 - s)) - math.log1p(-1 / n), reached={"n": n})
        yield at_least(tokens.weights(n, 0).p, s, n=n, a=0.0)


def _strength_for(s, n):
    z = math.log(s / (1 - s)) + math.log1p(-1 / n)
    return (math.sqrt(1 + 4 * (1 + z / math.log(n))) - 1) / 2


@claim(
    "golden-ratio-is-slow",
    mark="extension",
    source="none: about the main theorem",
    level="computed",
    chapter=CHAPTER,
    statement=r"$a = 0.6$ lies below $\frac1\varphi$. Yet with $c = 0.5$, $t = 4$, $m = 10$ and $n = 65536$ "
    r"the network "
    r"$F_{\exp}$ fires with probability $0.737$, and at $d = 20002$ one column has $\pi > 0.12$ up to $n = 10^{20}$. "
    r"From $n = 10^{28}$ on $\pi < 10^{-6}$.",
    uses=["column-law", "golden-ratio-threshold"],
    assumes="checked at n = 20000 · 10^k",
    control="a is lower by this",
    violations=(0.001, 0.01),
    tests=(tokens.law, tokens.Law.fires, tokens.Law.column_probability),
)
def golden_ratio_is_slow(xp, broken=None):
    a, d = Fraction(3, 5) - exactly(broken), 20_002
    found = tokens.law(65536, 16386, a, C).fires(10)
    yield to_digits(found, 0.737, 3, n=65536, d=16386)
    for power in (*range(5, 21, 3), *range(28, 300, 30)):
        n = (d - 2) * 10 ** (power - 4)
        pi = tokens.law(n, d, a, C).column_probability()
        yield at_least(pi, 0.12, n=n, d=d) if n < 10**20 * 3 else at_most(pi, 1e-6, n=n, d=d)


@claim(
    "inverse-temperature",
    mark="extension",
    source="none: about the temperature",
    level="verified",
    chapter=CHAPTER,
    statement=r"With $X = \beta\,\mathbf{1}_d\mathbf{1}_d^\top$, $\beta > 0$, every score is multiplied by "
    r"$\beta$, and "
    r"$p = \frac{1}{1 + e^{-z}}$ with $z = (\beta a(1+a) - 1) \log n - \log(1 - \frac1n)$. "
    r"Linear attention does not change.",
    uses=["golden-ratio-law", "linear-rows-equal"],
    control="X has a β that is larger by the factor 1 + this",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, values, tokens.weights),
)
def inverse_temperature(xp, broken=None):
    for (n, d), a, beta in product(((2, 3), (100, 12), (4096, 18)), MARKS[1::3], ("0.125", "0.7", "1.5", "3")):
        data = TokenData(n=n, d=d, a=a, c=C, marked=n // 3)
        found = _measured_weight(data, float(beta) * (1 + (broken or 0)), xp)
        reached = {"n": n, "d": d, "a": float(a), "beta": float(beta)}
        yield equal(found, tokens.weights(n, a, f"softmax:{beta}").p, 256 * EPS * math.log(n), **reached)
        if n < 1000:
            A, X = data.matrix(xp), data.X(xp)
            hot, one = (to_numpy(values(A, A, A, scale * X, "linear")) for scale in (float(beta), 1.0))
            yield equal(hot, one, 8 * EPS * n, **reached)


@claim(
    "inverse-temperature-threshold",
    mark="extension",
    source="none: about the temperature",
    level="computed",
    chapter=CHAPTER,
    statement=r"The threshold is $a(1+a) = \frac1\beta$: there $p = \frac{1}{2 - 1/n}$ for every $n$. "
    r"At $\beta = \frac{1}{\sqrt d}$ it is $a(1+a) = \sqrt d$: $a = 2.37$ at $d = 64$, and $a "
    r"\approx d^{1/4}$ for large $d$.",
    uses=["inverse-temperature"],
    assumes="≈ is checked as: within d^(−1/4) of 1 as a quotient, at d = 10⁸, 10¹², 10¹⁶",
    control="β is larger by the factor 1 + this",
    violations=(1e-20, 1e-12),
    tests=(tokens.weights, golden_ratio.threshold_strength),
)
def inverse_temperature_threshold(xp, broken=None):
    for n, a in product(FAR, (Fraction(1, 20), C, A1, Fraction(1), Fraction(7, 2))):
        beta = (1 + exactly(broken)) / (a * (1 + a))
        p = tokens.weights(n, a, f"softmax:{beta}").p
        yield equal(p, n / (2 * n - 1), 1e-12, n=n, a=float(a), beta=float(beta))
        yield equal(golden_ratio.threshold_strength(float(beta)), float(a), 1e-12, a=float(a))
    yield to_digits(golden_ratio.threshold_strength((1 + (broken or 0)) / 8), 2.37, 3, d=64)
    for d in (10**8, 10**12, 10**16):
        ratio = golden_ratio.threshold_strength(1 / math.sqrt(d)) / d**0.25
        yield at_most(abs(ratio - 1), d**-0.25, d=d)


@claim(
    "temperature-window",
    mark="extension",
    source="none: about the temperature",
    level="computed",
    chapter=CHAPTER,
    statement=r"With $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$, $F_{\exp}$ separates $D_0$ and $D_1$ for large $d$ "
    r"and $n$ if "
    r"$\frac{1}{a_1(1+a_1)} < \beta < \frac{1}{a_0(1+a_0)}$; the window contains $0.8404 \le \beta \le 19.047$. Below "
    r"the window it fires on neither, above it on both.",
    uses=["inverse-temperature-threshold", "column-law"],
    assumes="checked at d = 20002, n = 2·10²⁹⁹, m = 10: more than 0.94 counts as firing, less than 10⁻⁶ as silence",
    control="β is larger by the factor 1 + this",
    violations=(0.0025, 0.0028),
    tests=(tokens.law,),
    coarse=[("0.05 0.7 0.5", BESIDE)],
)
def temperature_window(xp, broken=None):
    n, d, m = 2 * 10**299, 20_002, 10
    low, high = 1 / (A1 * (1 + A1)), 1 / (A0 * (1 + A0))
    yield Case(float(min(Fraction("0.8404") - low, high - Fraction("19.047"))))
    for beta, fires_0, fires_1 in (
        ("0.1", 0, 0),
        ("0.7", 0, 0),
        ("0.83", 0, 0),
        ("0.841", 0, 1),
        ("1", 0, 1),
        (4, 0, 1),
        (16, 0, 1),
        ("18.95", 0, 1),
        ("19.05", 1, 1),
        (24, 1, 1),
        (90, 1, 1),
    ):
        b = Fraction(beta) * (1 + exactly(broken))
        for a, fires in ((A0, fires_0), (A1, fires_1)):
            found = tokens.law(n, d, a, C, f"softmax:{b}").fires(m)
            reached = {"n": n, "d": d, "m": m, "a": float(a), "beta": float(b)}
            yield at_least(found, 0.94, **reached) if fires else at_most(found, 1e-6, **reached)


WIDTHS = (256, 1024, 4096)


@claim(
    "root-d-hides-the-mark",
    mark="extension",
    source="none: about the temperature",
    level="computed",
    chapter=CHAPTER,
    statement=r"With $\beta = \frac{1}{\sqrt d}$, $a_0 = 0.05$, $c = 0.5$, $t = 4$, $m = 10$ "
    rf"and $d = {', '.join(map(str, WIDTHS))}$ "
    r"the network $F_{\exp}$ fires on $D_1$ with $a_1 = 0.7$ with probability below $0.005$, as on $D_0$. "
    r"With $a_1(1+a_1) = 1.19\sqrt d$ it fires with probability above $0.999$ again.",
    uses=["inverse-temperature-threshold", "column-law"],
    # 1/√d is 1/16 or less, and the mark of a1 = 0.7 shows from about 1/4 on: nothing nearer can turn the verdict.
    control="β is 1/√d + this",
    violations=(0.2, 0.21),
    tests=(tokens.Law.fires,),
    coarse=[("0.05 0.5 256 1024 4096 0.7 1.19", BESIDE)],
)
def root_d_hides_the_mark(xp, broken=None):
    for d in WIDTHS:
        root = math.isqrt(d)
        beta = Fraction(1, root) + exactly(broken)
        strong = (math.sqrt(1 + 4 * 1.19 * root) - 1) / 2
        for a in (A0, A1, strong):
            found = tokens.law(4 * (d - 2), d, a, C, f"softmax:{beta}").fires(10)
            reached = {"n": 4 * (d - 2), "d": d, "m": 10, "a": float(a)}
            yield at_least(found, 0.999, **reached) if a == strong else at_most(found, 0.005, **reached)
