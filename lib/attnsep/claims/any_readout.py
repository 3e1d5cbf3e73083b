"""What any readout of a noisy or rounded attention output can still tell."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import row_scores, values
from attnsep.claims.one_column import fraction
from attnsep.claims.one_query_weights import rounding
from attnsep.claims.token_datasets import A0, A1, SMALL, C
from attnsep.extensions import any_readout as readout
from attnsep.ledger.framework import Case, at_least, at_most, claim, definition, equal, exactly, generator
from attnsep.ledger.sampled import inside_clopper_pearson, not_above
from attnsep.paper import gains, tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData

CHAPTER = "any-readout"


TENTH = Fraction(1, 10)


# (n, d, t): small ones with every t, and far beyond any matrix.
SIZES = ((2, 3), (3, 5), (6, 5), (12, 3), (1024, 258), (10**6, 10**6 + 2), (10**30, 3), (10**300, 10**299 + 2))


PAIRS = ((Fraction(0), A1), (A0, A1), (TENTH, A1), (Fraction(1, 2), Fraction(3, 2)), (Fraction(0), Fraction(20)))


def _added(value, more):
    return value + Fraction(str(more or 0))


definition(
    "def-noisy-readout",
    mark="extension",
    source="none: repairs Mechanism 3",
    chapter=CHAPTER,
    statement=r"A fair coin chooses $D_0$ or $D_1$, with strengths $a_0 \ne a_1$ and all else equal. The attention "
    r"output, $O_0$ or $O_1 \in \mathbb{R}^{n \times d}$ (rows $o_1, \dots, o_n$), is seen as $\tilde O = O + \nu Z$, "
    r"where $O$ is the one of the two, the $nd$ entries of $Z$ are independent standard Gaussians and $\nu > 0$. A "
    r"readout is any function of $\tilde O$ that answers 0 or 1. It may know $j^*$ and every parameter. Its accuracy "
    r"is the probability that it is right. $\Delta = \|O_1 - O_0\|$ is the root of the sum of the squared differences.",
)


@claim(
    "any-readout",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="sampled",
    chapter=CHAPTER,
    statement=r"The best readout has accuracy $\frac{1 + \mathrm{TV}}{2}$ with "
    r"$\mathrm{TV} = \mathrm{erf}\bigl(\frac{\Delta}{2\sqrt{2}\,\nu}\bigr)$. It answers 1 if and only if "
    r"$\langle \tilde O - \frac{O_0 + O_1}{2}, O_1 - O_0 \rangle > 0$.",
    uses=["def-noisy-readout", "values-in-closed-form"],
    assumes="real matrices, 6000 draws each; the likelihood ratio, single entries and the network as readouts",
    control="the noise has standard deviation (1 + this) ν",
    violations=(0.02, 0.07, 0.08, 0.15),
    tests=(TokenData.matrix, values, readout.distances, readout.accuracy),
)
def any_readout(xp, broken=None):
    rng, draws = generator(4300), 6000
    for (n, d, kernel), ratio in product(((6, 5, "linear"), (12, 8, "softmax"), (12, 8, "linear")), (0.5, 0.25)):
        data = [TokenData(n=n, d=d, a=a, c=C, marked=n - 1) for a in (A0, A1)]
        M0, M1 = (to_numpy(values(x.matrix(xp), x.matrix(xp), x.matrix(xp), x.X(xp), kernel)) for x in data)
        distance = readout.distances(n, d, A0, A1, C, kernel).output
        best, s = readout.accuracy(distance, ratio * distance), ratio * distance
        truth = rng.integers(0, 2, draws)
        Y = np.where(truth[:, None, None] == 1, M1, M0)
        Y += s * (1 + (broken or 0)) * rng.standard_normal(Y.shape)
        ratio_says = np.tensordot(Y - (M0 + M1) / 2, M1 - M0, axes=2) > 0
        right = int(np.sum(ratio_says == truth))
        yield inside_clopper_pearson(right, draws, best, n=n, d=d, best=best, frequency=right / draws)
        for answer in _other_readouts(rng, Y, (M0 + M1) / 2, data[1].tau):
            yield not_above(int(np.sum(answer == truth)), draws, best, n=n, d=d, best=best)


def _other_readouts(rng, Y, middle, tau):
    """Yield answers: the marked token's first entry, the first column's mean, and the network with 5 columns."""
    yield Y[:, -1, 0] > middle[-1, 0]
    yield np.mean(Y[:, :, 0], axis=1) > np.mean(middle[:, 0])
    y = signs(rng, Y.shape[2], 5, np)
    yield np.max(Y @ y, axis=(1, 2)) > tau


@claim(
    "random-position-is-harder",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="sampled",
    chapter=CHAPTER,
    statement=r"If $j^*$ is random, with the same law on $D_0$ and $D_1$, and unknown to the readout, then no "
    r"readout has an "
    r"accuracy above $\frac{1 + \mathrm{TV}}{2}$.",
    uses=["any-readout"],
    assumes="the same law of j* on both; checked with the best readout of the mixture, 6000 draws each",
    control="with this share j* is among the first half on D_0, among the second half on D_1",
    violations=(0, 0.3, 0.33, 1),
    tests=(TokenData.matrix, readout.accuracy),
)
def random_position_is_harder(xp, broken=None):
    rng, draws, (n, d), share = generator(4301), 6000, (6, 8), broken or 0
    half = np.where(np.arange(n) < n // 2, 2 / n, 0.0)
    laws = [(1 - share) / n + share * part for part in (half, half[::-1])]
    for kernel, a0 in product(tokens.KERNELS, (Fraction(3, 5), Fraction(13, 20))):
        M = [
            [noise_free_output(xp, TokenData(n=n, d=d, a=a, c=C, marked=j), kernel) for j in range(n)] for a in (a0, A1)
        ]
        means, s = np.reshape(M, (2, n, n * d)), readout.distances(n, d, a0, A1, C, kernel).output
        truth = rng.integers(0, 2, draws)
        place = np.where(truth == 1, *(rng.choice(n, draws, p=law) for law in laws[::-1]))
        Y = means[truth, place] + s * rng.standard_normal((draws, n * d))
        logs = [(Y @ m.T - np.sum(m**2, axis=1) / 2) / s**2 for m in means]
        top = np.max(logs)
        like = [np.exp(log - top) @ law for log, law in zip(logs, laws, strict=True)]
        right, best = int(np.sum((like[1] > like[0]) == truth)), readout.accuracy(s, s)
        yield not_above(right, draws, best, n=n, d=d, best=best, frequency=right / draws)


def noise_free_output(xp, data, kernel):
    A = data.matrix(xp)
    return to_numpy(values(A, A, A, data.X(xp), kernel))


@claim(
    "readout-distance",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="verified",
    chapter=CHAPTER,
    statement=r"Let a row give $j^*$ the weight $w_0$ on $D_0$ and $w_1$ on $D_1$. The two rows have the distance "
    r"$\sqrt{L}\,\bigl[(a_1 w_1 - a_0 w_0)^2$ $+\ b^2 \frac{n(n-t)}{(n-1)^2} (w_1 - w_0)^2\bigr]^{1/2}$, and "
    r"$\Delta^2$ is "
    r"the sum of the squares over the marked row and $n - 1$ equal others.",
    uses=["values-in-closed-form", "def-noisy-readout"],
    control="the matrices have a1 larger by this",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, values, readout.distances),
)
def readout_distance(xp, broken=None):
    for (n, d), (a0, a1), kernel in product(SMALL, PAIRS[:4], tokens.KERNELS):
        M0, M1 = (noise_free_output(xp, TokenData(n=n, d=d, a=a, c=C), kernel) for a in (a0, _added(a1, broken)))
        rows, closed = np.linalg.norm(M1 - M0, axis=1), readout.distances(n, d, a0, a1, C, kernel)
        found = np.array([rows[0], rows[-1], np.linalg.norm(M1 - M0)])
        allowed = 4 * rounding((1 + float(a1)) ** 2 * math.log(n)) * n
        yield equal(found, np.array(closed), allowed, n=n, d=d, a0=float(a0), a1=float(a1))


@claim(
    "readout-linear-fades",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="exact",
    chapter=CHAPTER,
    statement=r"For linear attention and $a_1 > a_0$: $\Delta^2 = \frac{nL\,(a_1-a_0)^2}{(n+a_0)^2(n+a_1)^2}$ "
    r"$\bigl[(n(1+a_0+a_1) + a_0a_1)^2$ $+\ b^2 n(n-t)\bigr]$, so $\Delta$ is at least $(a_1-a_0)\sqrt{L/n}$ "
    r"and at most $\sqrt{(1+a_0+a_1)^2 + b^2}$ times as large: it fades.",
    uses=["readout-distance", "linear-rows-equal"],
    assumes="normalised linear attention",
    control="D_1 has a1 larger by this",
    violations=(0, 1e-12),
    tests="it computes the distance in fractions; readout-distance has the library's",
)
def readout_linear_fades(xp, broken=None):
    for (n, d), (a0, a1), c in product(SIZES, PAIRS, (TENTH, C, Fraction(9, 10))):
        t, b, reached = n // (d - 2), 1 - c, {"n": n, "a0": float(a0), "a1": float(a1), "c": float(c)}
        found = _linear_distance_squared(n, t, a0, _added(a1, broken), b)
        step, total = (a1 - a0) ** 2, 1 + a0 + a1
        closed = n * step * ((n * total + a0 * a1) ** 2 + b**2 * n * (n - t)) / ((n + a0) * (n + a1)) ** 2
        yield Case(-abs(found / closed - 1), reached=reached)
        yield Case(found * n / step - 1, reached=reached)
        yield Case(1 - found * n / (step * (total**2 + b**2)), reached=reached)


def _linear_distance_squared(n, t, a0, a1, b):
    """Return Δ²/L from the entries of the rows, in Fractions."""
    rows = []
    for a in (a0, a1):
        w = (1 + a) / (n + a)
        rest = (1 - w) / (n - 1)
        rows.append((a * w, b * (w + (t - 1) * rest), b * t * rest))
    first, own, other = ((y - x) ** 2 for x, y in zip(*rows, strict=True))
    return n * (first + own + (n // t - 1) * other)


@claim(
    "readout-softmax-marked-row",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"For softmax, $a_0 \le 0.1$ and $a_1 \ge 0.7$, the two marked rows alone are at least "
    r"$0.4\sqrt{L}$ apart, "
    r"at every $n \ge 2$.",
    uses=["readout-distance", "main-theorem-mark-is-seen"],
    assumes="a0 ≤ 0.1 and a1 ≥ 0.7",
    control="a1 is lower by this",
    violations=(0.0129, 0.0142),
    tests=(tokens.weights,),
)
def readout_softmax_marked_row(xp, broken=None):
    for n, a0, a1 in product((*range(2, 60), 10**3, 10**6, 10**300), (0, A0, TENTH), (A1, 1, 3)):
        strong, weak = a1 - exactly(broken), tokens.weights(n, a0).p
        apart = float(strong) * tokens.weights(n, strong).p - float(a0) * weak
        yield at_least(apart, 0.4, n=n, a0=float(a0), a1=float(strong))


@claim(
    "readout-softmax-growth",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"For softmax and $0 \le a_0 < a_1 < 1$, $t$ fixed: $\Delta \sim \sqrt{(a_1^2+b^2)L}\;n^{a_1 - 1/2}$. "
    r"For $a_0 < 1$: $\Delta \sim \frac12 \sqrt{(a_1^2+b^2)\,nL}$ at $a_1 = 1$ and "
    r"$\Delta \sim \sqrt{(a_1^2+b^2)\,nL}$ for $a_1 > 1$.",
    uses=["readout-distance"],
    assumes="checked to 10⁻⁹ at n = 10³⁰⁰",
    control="D_1 has a1 larger by this",
    violations=(1e-12, 1e-11),
    tests=(readout.distances,),
)
def readout_softmax_growth(xp, broken=None):
    n, log_n = 10**300, 300 * math.log(10)
    for a0, a1, t in product(("0", "0.05", "0.1"), ("0.2", "0.5", "0.55", "0.7", "0.9", "1", "1.2"), (1, 10)):
        distance = readout.distances(n, n // t + 2, a0, _added(Fraction(a1), broken), C).output
        a = float(a1)
        rate = math.exp((min(a, 1) - 0.5) * log_n) * (0.5 if a1 == "1" else 1)
        wanted = math.sqrt((a**2 + 0.25) * log_n) * rate
        yield equal(distance, wanted, 1e-9, a0=float(a0), a1=a, t=t)


@claim(
    "readout-threshold-half",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $a_0 < a_1$, and let $t$ stay fixed as $n \to \infty$. For the best readout of softmax the "
    r"threshold is $a_1 = \frac12$: with noise $\nu = 1$ its accuracy tends to $\frac12$ below and to 1 from $\frac12$ "
    r"on. For $\frac12 \le a_1 < \frac{\sqrt5 - 1}{2}$ the unmarked rows tell, while the marked row's weight $p$ "
    r"tends to 0.",
    uses=["readout-softmax-growth", "any-readout"],
    assumes="the limits are proved; tried at n = 10¹⁰⁰, 10²⁰⁰, 10³⁰⁰ with a0 = 0.05, c = 0.5, t = 1 and 10: TV, the "
    "error and p stay below what the proof gives, which tends to 0 (TV and p up to the factor 1 + 10⁻⁹)",
    control="a1 is larger by this",
    violations=(1e-13, 1e-10),
    tests=(readout.distances, readout.total_variation, readout.accuracy, tokens.weights),
)
def readout_threshold_half(xp, broken=None):
    for power, t, a1 in product((100, 200, 300), (1, 10), map(Fraction, ("0.1", "0.3", "0.49", "0.5", "0.55", "0.61"))):
        n, a, log_n = 10**power, a1 + exactly(broken), power * math.log(10)
        distance, reached = readout.distances(n, n // t + 2, A0, a, C).output, {"n": n, "t": t, "a1": float(a1)}
        square = float(a1**2 + (1 - C) ** 2) * log_n  # Δ² over n^{2 a1 − 1}
        if a1 < C:
            most = math.sqrt(square / (2 * math.pi)) * math.exp(float(a1 - C) * log_n)  # erf(x) < 2x/√π
            yield at_most(readout.total_variation(distance, 1), most, 1e-9, **reached)
        else:
            yield at_least(readout.accuracy(distance, 1), 1 - math.exp(-square / 8) / 2, 1e-12, **reached)
            most = math.exp(float(a1**2 + a1 - 1) * log_n)  # R/(R + n − 1) ≤ R/n
            yield at_most(tokens.weights(n, a).p, most, 1e-9, **reached)


@claim(
    "readout-separation",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $a_0 \le 0.1$, $a_1 \ge 0.7$. No readout of normalised linear attention has an accuracy above "
    r"$\frac12 + \frac{(a_1-a_0)(1+a_0+a_1+b)}{2\sqrt{2\pi}\,\nu}\sqrt{\frac{L}{n}}$, and the best readout of "
    r"softmax has at "
    r"least $1 - \frac12 n^{-1/(50\nu^2)}$.",
    uses=["any-readout", "readout-linear-fades", "readout-softmax-marked-row"],
    control="softmax takes linear attention's place with this probability",
    violations=(0, 1e-9),
    tests=(readout.total_variation,),
)
def readout_separation(xp, broken=None):
    for (n, d), (a0, a1), s in product(SIZES, PAIRS[:3], (0.01, 0.1, 1, 10)):
        reached = {"n": n, "a0": float(a0), "a1": float(a1), "noise": s}
        linear, softmax = (
            readout.total_variation(readout.distances(n, d, a0, a1, C, kernel).output, s)
            for kernel in ("linear", "softmax")
        )
        linear += (broken or 0) * (softmax - linear)
        factor = float((a1 - a0) * (1 + a0 + a1 + 1 - C)) / math.sqrt(2 * math.pi) / s
        yield at_most(linear, factor * math.sqrt(math.log(n) / n), 1e-12, **reached)
        # Accuracy ≥ 1 − e/2 if and only if TV ≥ 1 − e.
        yield at_least(softmax, 1 - math.exp(-math.log(n) / (50 * s**2)), 1e-12, **reached)


@claim(
    "unnormalised-linear-readable",
    mark="extension",
    source="none: repairs Mechanism 2 and Mechanism 3",
    level="verified",
    chapter=CHAPTER,
    statement=r"Without its normaliser, linear attention hides nothing from a readout: for the outputs "
    r"$A_3^\top u_{\mathrm{lin}}$ "
    r"the distance is at least $\sqrt{n-1}\,\bigl(a_1(1+a_1) - a_0(1+a_0)\bigr)$ $\cdot\, L^{3/2}$, "
    r"which grows without bound.",
    uses=["def-noisy-readout", "lemma-d-2-scores"],
    # The bound counts the first entries alone, and the others add to the distance: this is the room that they leave.
    control="every row is divided by the power α^this of its normaliser",
    violations=(0.077, 0.084),
    tests=(TokenData.matrix,),
)
def unnormalised_linear_readable(xp, broken=None):
    for (n, d), (a0, a1) in product((*SMALL, (256, 66)), PAIRS[:4]):
        M = []
        for a in (a0, a1):
            A = TokenData(n=n, d=d, a=a, c=C).matrix(xp)
            u = row_scores(A, A, xp.ones((d, d), dtype=xp.float64))
            u = u / xp.sum(u, axis=1, keepdims=True) ** (broken or 0.0)
            M.append(to_numpy(xp.matmul(u, A)))
        wanted = math.sqrt(n - 1) * float(a1 * (1 + a1) - a0 * (1 + a0)) * math.log(n) ** 1.5
        yield at_least(float(np.linalg.norm(M[1] - M[0])), wanted, n=n, d=d, a0=float(a0), a1=float(a1))


# Finite precision


@claim(
    "preactivations-close",
    mark="extension",
    source="none: about finite precision",
    level="exact",
    chapter=CHAPTER,
    statement=r"For linear attention, $a_1 > a_0$ and any one $y \in \{\pm1\}^d$, the pre-activations "
    r"$\langle o_j, y \rangle$ "
    r"on $D_0$ and on $D_1$ differ by at most $(a_1 - a_0)(1 + a_0 + a_1 + 2b)\frac{\sqrt{L}}{n}$.",
    uses=["values-in-closed-form", "linear-rows-equal"],
    assumes="every sign pattern, every sum of the other classes",
    control="D_1 has a1 larger by this",
    violations=(0.0109, 0.0119),
    tests=(gains.gains,),
)
def preactivations_close(xp, broken=None):
    for (n, d), (a0, a1), c in product(SMALL, PAIRS[:4], (TENTH, C, Fraction(9, 10))):
        b, bound = 1 - c, (a1 - a0) * (1 + a0 + a1 + 2 * (1 - c)) / n
        rows = [_class_rows(n, d, a, b) for a in (a0, _added(a1, broken))]
        change = [y - x for x, y in zip(*rows, strict=True)]
        for first, own, others in product((1, -1), (1, -1), range(3 - d, d - 2, 2)):
            gap = abs(first * change[0] + own * change[1] + others * change[2])
            yield Case(1 - gap / bound, reached={"n": n, "d": d, "a1": float(a1), "c": float(c)})


def _class_rows(n, d, a, b):
    """Return the entries of o_lin/√L in Fractions: first, own class, each other class."""
    R, t = fraction(gains.gains(n, a, "linear")[0]), n // (d - 2)
    return a * R / (R + n - 1), b * (R + t - 1) / (R + n - 1), b * t / (R + n - 1)


@claim(
    "finite-precision-hides",
    mark="extension",
    source="none: about finite precision",
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$, $t = 4$, and round $\langle o_{\mathrm{lin}}, y "
    r"\rangle$ to bfloat16, "
    r"float16 or float32, with spacing $\varepsilon_{\mathrm{mach}} = 2^{-7}, 2^{-10}, 2^{-23}$ at 1. Of all sign "
    r"columns $y$, more than "
    r"99 % get different numbers on $D_0$ and $D_1$ at $n = 1/\varepsilon_{\mathrm{mach}}$, and fewer than 40 % at "
    r"$n \approx 10/\varepsilon_{\mathrm{mach}}$; "
    r"in the two short formats fewer than 5 % at $n \approx 100/\varepsilon_{\mathrm{mach}}$.",
    uses=["preactivations-close"],
    assumes="closed form, rounded once at the end; checked at the multiples of 4 just below these n",
    # The numbers of the statement are round: this is the room between them and the shares.
    control="D_1 has a1 larger by this",
    violations=(0.069, 0.075),
    tests=(readout.share_told_apart,),
)
def finite_precision_hides(xp, broken=None):
    for form, bits in (("bfloat16", 7), ("float16", 10), ("float32", 23)):
        share = {}
        for factor in (1, 10, 100)[: 2 if form == "float32" else 3]:
            n = 4 * (factor * 2**bits // 4)
            share[factor] = readout.share_told_apart(n, n // 4 + 2, A0, _added(A1, broken), C, form)
        yield at_least(share[1], 0.99, n=2**bits)
        yield at_most(share[10], 0.4, n=n)
        if 100 in share:
            yield at_most(share[100], 0.05, n=n)


@claim(
    "first-entry-survives-rounding",
    mark="extension",
    source="none: about finite precision",
    level="computed",
    chapter=CHAPTER,
    statement=r"The first entry of $o_{\mathrm{lin}}$ alone, rounded to float16, bfloat16 or float32, still "
    r"differs between "
    r"$a_0 = 0.05$ and $a_1 = 0.7$ at every power of ten up to $n = 10^8$, $10^{41}$, $10^{46}$: "
    r"it is small, and so is its spacing.",
    uses=["first-coordinate-separates"],
    assumes="c = 0.5, t = 1",
    control="the power is larger by this",
    violations=(0, 1),
    tests=(readout.rounded,),
)
def first_entry_survives_rounding(xp, broken=None):
    for form, last in (("float16", 8), ("bfloat16", 41), ("float32", 46)):
        for power in range(1, last + 1 + (broken or 0)):
            rows = [tokens.law(10**power, 10**power + 2, a, C, "linear").values()[0] for a in (A0, A1)]
            first, second = (float(readout.rounded(row.first, form)) for row in rows)
            yield Case(0 if first != second else -1, reached={"n": 10**power})
