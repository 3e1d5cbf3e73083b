"""The card's Limitations as claims: wrong entries, several strengths, and the strength itself."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import row_scores, values
from attnsep.attention.kernels import weights
from attnsep.claims.any_readout import noise_free_output
from attnsep.claims.one_query_weights import EPS, rounding
from attnsep.claims.token_datasets import A0, A1, C
from attnsep.extensions import any_readout, limitations
from attnsep.ledger.framework import LIBRARY, Case, at_least, at_most, claim, definition, equal, exactly, generator, tex
from attnsep.ledger.sampled import inside_clopper_pearson, not_above, surely_inside
from attnsep.paper import tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData

CHAPTER = "limitations"


INSTANCE = {"n": 64, "d": 66, "c": Fraction(9, 10)}


definition(
    "def-perturbed-data",
    mark="extension",
    source="Limitations: idealized conditions",
    chapter=CHAPTER,
    statement=r"$A' = A + \varepsilon\sqrt{L}\,E$ with any $E \in [-1, 1]^{n \times d}$, in place of $A$ on "
    r"all three "
    r"sides; $A$ is from $D_0$ or $D_1$, $\eta = \varepsilon d$.",
)


def errors_of(n, d):
    """Yield E: the two that move the mark most, one that makes another token rival it, and a random one."""
    least = np.ones((n, d))
    least[0] = -1
    rival = -np.ones((n, d))
    rival[1] = 1
    yield from (least, -least, rival, generator(5300).uniform(-1, 1, (n, d)))


def _perturbed(xp, data, E, eps):
    return data.matrix(xp) + xp.asarray(float(eps) * math.sqrt(data.log_n) * E)


@claim(
    "perturbed-weights",
    mark="extension",
    source="Limitations: idealized conditions",
    level="verified",
    chapter=CHAPTER,
    statement=r"If $\eta < 1$, softmax on $A'$ gives $j^*$ at most $w = 1/(1 + (n-1)n^{-(1+a+\eta)(a+2\eta)})$ "
    r"in any row, every other token at most $r_{\max} =$ $1/(1 + (n-2)n^{-2\eta(1+a+\eta)})$, and, if $2\eta \le a$, "
    r"$j^*$ at least $1/(1 + (n-1)n^{-(1+a-\eta)(a-2\eta)})$ in its own row. Linear rows stay equal, and "
    r"$w = \frac{1+a+\eta}{1+a+\eta+(n-1)(1-\eta)}$, $r_{\max} = \frac{1+\eta}{1+\eta+(n-1)(1-\eta)}$. What is said "
    r"of $j^*$ is attained.",
    uses=["def-perturbed-data", "all-ones-scores"],
    assumes="|E| ≤ 1 in every entry",
    control="the entries of E reach 1 + this",
    violations=(1e-18, 1e-9),
    tests=(limitations.weight_bounds, TokenData.matrix, row_scores, weights),
)
def perturbed_weights(xp, broken=None):
    errors = [(a, min(size, float(a) / 2)) for a, size in product((A0, A1), (0.02, 0.3))]
    errors += [(Fraction(0), 0.02), (A0, 0.3), (A1, 0.9)]  # more than a/2: only the bounds from above are left
    for (n, d), (a, eta), name in product(((4, 4), (12, 8), (64, 66)), errors, tokens.KERNELS):
        data, is_small = TokenData(n=n, d=d, a=a, c=C), 2 * eta <= a
        bound = limitations.weight_bounds(TokenData(n=n, d=d, a=a, c=C), eta / d, name)
        stated, slack = _stated_bounds(n, float(a), eta, name), 16 * d * rounding(4 * data.log_n)
        reached = {"n": n, "d": d, "a": float(a), "eta": eta}
        bounded = 3 if name == "softmax" and is_small else 2  # without the least weight where nothing is said of it
        yield equal(np.array(bound[-bounded:]), np.array(stated[-bounded:]), slack, **reached)
        for number, E in enumerate(errors_of(n, d)):
            A = _perturbed(xp, data, E * (1 + (broken or 0.0)), eta / d)
            f = to_numpy(weights(row_scores(A, A, data.X(xp)), name))
            if is_small:
                yield at_least(f[0, 0], bound.marked_low, slack, **reached)
            yield at_most(f[:, 0], bound.marked_high, slack, **reached)
            yield at_most(f[:, 1:], bound.other_high, slack, **reached)
            if number == 1 or (number == 0 and is_small):
                end = (bound.marked_low, bound.marked_high)[number]
                yield equal(float(f[0, 0]), end, slack, **reached)


def _stated_bounds(n, a, eta, kernel):
    """Return the bounds as the statement has them: least and largest weight of j*, and v; for linear w and v."""
    if kernel == "linear":
        return [x / (x + (n - 1) * (1 - eta)) for x in (1 + a + eta, 1 + eta)]
    exponents = (1 + a - eta) * (a - 2 * eta), (1 + a + eta) * (a + 2 * eta), 2 * eta * (1 + a + eta)
    return [1 / (1 + k * n**-x) for k, x in zip((n - 1, n - 1, n - 2), exponents, strict=True)]


def _fired(xp, data, kernel, E, eps, m, draws, rng):
    """Return how often the network with m columns fires on A'."""
    A = _perturbed(xp, data, E, eps)
    rows = to_numpy(values(A, A, A, data.X(xp), kernel))
    above = np.max(rows @ signs(rng, data.d, m * draws, np), axis=0) > data.tau
    return int(np.sum(np.any(above.reshape(draws, m), axis=1)))


@claim(
    "perturbed-fires",
    mark="extension",
    source="Limitations: idealized conditions",
    level="sampled",
    chapter=CHAPTER,
    statement=r"Softmax on $D_1$: if the least weight $w$ of $j^*$ in its own row has $a_1 w > 0.1 + "
    r"2\varepsilon$, then "
    r"$P[F_{\exp} \text{ fires}] \ge 1 - (7/8)^m$, whatever $E$. The constant $\frac78$ is attained.",
    uses=["perturbed-weights", "main-theorem-softmax-fires"],
    assumes="n = 64, d = 66, c = 0.9, m = 10; four E, 1000 draws each; attained at n = 2, d = 3, c = 0.6, all 8 "
    "columns",
    control="the entries of E reach 1 + this",
    violations=(0.05, 0.11, 0.13, 0.25),
    tests=(limitations.fires_bounds, TokenData.matrix, values, signs),
    coarse=[("0.1", LIBRARY)],
)
def perturbed_fires(xp, broken=None):
    rng, draws, m, data = generator(5301), 1000, 10, TokenData(a=A1, **INSTANCE)
    # Up to ε = 0.0024 the condition holds here; at 0.003 it must not, since errors that conspire end firing there.
    for eps, E in product((1e-3, 0.0024, 0.003), errors_of(data.n, data.d)):
        low, _ = limitations.fires_bounds(data, m, eps)
        if low > 0:
            fired = _fired(xp, data, "softmax", E * (1 + (broken or 0)), eps, m, draws, rng)
            reached = {"eps": eps, "bound": low, "frequency": fired / draws}
            yield not_above(draws - fired, draws, 1 - low, **reached)
    small, columns = TokenData(n=2, d=3, a=A1, c=Fraction(3, 5)), np.array(list(product((1, -1), repeat=3))).T
    for E in errors_of(2, 3):
        A = _perturbed(xp, small, E, 1e-3)
        rows = to_numpy(values(A, A, A, small.X(xp)))
        pi = np.mean(np.max(rows @ columns, axis=0) > small.tau)
        yield Case(-abs(float(pi) - (1 - 7 / 8)), reached={"eps": 1e-3, "bound": 1 / 8, "frequency": float(pi)})


@claim(
    "perturbed-silent",
    mark="extension",
    source="Limitations: idealized conditions",
    level="sampled",
    chapter=CHAPTER,
    statement=r"With $w$ and $r_{\max}$ as above, $n_{\mathrm{rows}} = n$ for softmax and $1$ for linear attention, "
    r"and $a w + 2\varepsilon < 0.1$: $P[F \text{ fires}]$ is at most $m\,n_{\mathrm{rows}}$ "
    r"$\exp\bigl(-\frac{(0.1 - a w - 2\varepsilon)^2}{2(b\sqrt{w + t\,r_{\max}} + \varepsilon\sqrt{d-2})^2}\bigr)$, "
    r"whatever $E$.",
    uses=["perturbed-weights", "main-theorem-softmax-silent", "main-theorem-linear-silent"],
    assumes="n = 32 to 256, d = 34 to 130, m = 1; four E, 20000 draws each; linear attention fires in up to 7 % of "
    "them, against bounds of 14 to 78 %",
    # Where the event is seen at all the bound is several times too large, so only far larger errors break it. Its
    # constants are not left to that: they are compared with the library's to 10⁻¹².
    control="the entries of E reach 1 + this",
    violations=(12, 13, 16),
    tests=(limitations.fires_bounds, TokenData.matrix, values, signs),
)
def perturbed_silent(xp, broken=None):
    rng, draws = generator(5302), 20_000
    for kernel, a, n, d, c, eps in SILENT:
        data = TokenData(n=n, d=d, a=a, c=c)
        high = limitations.fires_bounds(TokenData(n=n, d=d, a=a, c=c), 1, eps, kernel)[1]
        yield equal(high, _stated_silence(data, eps, kernel), 1e-12, eps=eps, bound=high)
        for E in errors_of(n, d):
            fired = _fired(xp, data, kernel, E * (1 + (broken or 0)), eps, 1, draws, rng)
            yield not_above(fired, draws, high, eps=eps, bound=high, frequency=fired / draws)


# Where the event happens and the bound is still below 1: kernel, a, n, d, c and ε.
SILENT = (
    ("softmax", A0, 64, 66, "0.9", 3e-4),
    ("linear", A0, 32, 34, "0.5", 1e-3),
    ("linear", A1, 64, 34, "0.6", 1e-3),
    ("linear", A0, 128, 130, "0.6", 1e-5),
    ("linear", A1, 256, 130, "0.6", 3e-4),
)


def _stated_silence(data, eps, kernel):
    """Return the bound for one column as the statement has it, with its own w, v and k."""
    a, b = float(data.a), float(data.b)
    *_, w, v = _stated_bounds(data.n, a, eps * data.d, kernel)
    norm = b * math.sqrt(min(1.0, w + data.t * v)) + eps * math.sqrt(data.d - 2)
    return (data.n if kernel == "softmax" else 1) * math.exp(-((0.1 - a * w - 2 * eps) ** 2) / (2 * norm**2))


RIGHT, STILL_FIRES, NO_LONGER_SILENT = 80, 60, 50  # per cent


@claim(
    "perturbed-silence-breaks-first",
    mark="extension",
    source="Limitations: idealized conditions",
    level="sampled",
    chapter=CHAPTER,
    statement=r"For $E$ uniform on $[-1,1]^{n \times d}$, $n = 64$, $d = 66$, $c = 0.9$, $a_0 = 0.05$, $a_1 = "
    r"0.7$, $m = 10$: at "
    rf"$\varepsilon = 0.01$ each of the four networks is right in more than {RIGHT} % of its draws; at $\varepsilon = "
    rf"0.1$ softmax still fires on $D_1$ in more than {STILL_FIRES} %, but on $D_0$ in more than {NO_LONGER_SILENT} % "
    r"of them.",
    uses=["perturbed-fires", "perturbed-silent"],
    assumes="400 drawn E, one draw of y each, 150 at ε = 0.1; each share is above its number with confidence 1 − 10⁻⁹",
    # The shares are far from 80 % at ε = 0.01, as they must be for 400 draws to be sure of it.
    control="E is multiplied by 1 + this",
    violations=(3.4, 5),
    tests=(TokenData.matrix, values, signs),
)
def perturbed_silence_breaks_first(xp, broken=None):
    rng, draws, scale = generator(5303), 400, 1 + (broken or 0)
    data = {a: TokenData(a=a, **INSTANCE) for a in (A0, A1)}
    for kernel, a in product(tokens.KERNELS, (A0, A1)):
        fired = _fired_on_drawn(xp, data[a], kernel, 0.01 * scale, draws, rng)
        right = fired if (kernel, a) == ("softmax", A1) else draws - fired
        yield surely_inside(right, draws, RIGHT / 100, 1, eps=0.01, frequency=right / draws)
    draws = 150
    for a, least in ((A1, STILL_FIRES / 100), (A0, NO_LONGER_SILENT / 100)):
        fired = _fired_on_drawn(xp, data[a], "softmax", 0.1 * scale, draws, rng)
        yield surely_inside(fired, draws, least, 1, eps=0.1, frequency=fired / draws)


def _fired_on_drawn(xp, data, kernel, eps, draws, rng):
    drawn = (rng.uniform(-1, 1, (data.n, data.d)) for _ in range(draws))
    return sum(_fired(xp, data, kernel, E, eps, 10, 1, rng) for E in drawn)


# Several strengths


@claim(
    "many-strengths-bounds",
    mark="extension",
    source="Limitations: binary classification tasks",
    level="sampled",
    chapter=CHAPTER,
    statement=r"Let the strengths of a finite set $\mathcal A$ be equally likely, noise $\nu$ on every entry, and "
    r"$\mathrm{TV}_{a,a'}$ the total variation of the noisy outputs of two of them. The nearest output is right with "
    r"probability at least $1 - \frac{1}{|\mathcal A|} \sum_a \sum_{a' \ne a} \frac{1 - \mathrm{TV}_{a,a'}}{2}$, and "
    r"no readout with more than $\frac{1}{|\mathcal A|}\bigl(1 + \sum_a \mathrm{TV}_{a,a'}\bigr)$, for any $a'$.",
    uses=["any-readout"],
    assumes="real matrices, four strengths, 4000 draws each",
    control="the noise has standard deviation (1 + this) ν",
    violations=(0.05, 0.09, 0.11, 0.2),
    tests=(TokenData.matrix, values, any_readout.distance_table, any_readout.several),
)
def many_strengths_bounds(xp, broken=None):
    rng, draws, strengths = generator(5304), 4000, (A0, A1, Fraction(1), Fraction(3, 2))
    for (n, d), kernel, ratio in product(((6, 5), (12, 8)), tokens.KERNELS, (0.3, 5.0)):
        M = np.array([noise_free_output(xp, TokenData(n=n, d=d, a=a, c=C), kernel).ravel() for a in strengths])
        table = any_readout.distance_table(n, d, strengths, C, kernel)
        s = ratio * min(x for row in table for x in row if x > 0)
        low, high = any_readout.several(table, s)
        truth = rng.integers(0, 4, draws)
        Y = M[truth] + s * (1 + (broken or 0)) * rng.standard_normal((draws, n * d))
        right = int(np.sum(np.argmax(Y @ M.T - np.sum(M**2, axis=1) / 2, axis=1) == truth))
        reached = {"n": n, "d": d, "noise": s, "frequency": right / draws}
        yield not_above(right, draws, high, **reached)
        yield not_above(draws - right, draws, 1 - low, **reached)


STRENGTHS = ("0.05", "0.6", "0.7", "0.8", "0.9", "1", "1.1", "1.2")


TOLD_APART = (10**6, 10**8, 10**10, 10**100)


MISSED = 1e-9


BEYOND_GUESSING = {10**6: 1e-3, 10**10: 1.3e-5}  # n, and by how much linear attention's accuracy may exceed 1/8


def _listed(sizes):
    return ", ".join(map(tex, sizes))


def _bounded():
    return ", nor above ".join(rf"$\frac18 + {tex(more)}$ at $n = {tex(n)}$" for n, more in BEYOND_GUESSING.items())


@claim(
    "many-strengths",
    mark="extension",
    source="Limitations: binary classification tasks",
    level="computed",
    chapter=CHAPTER,
    statement=rf"Eight strengths ${', '.join(STRENGTHS[:3])}, \dots, {STRENGTHS[-1]}$, $\nu = 1$, $t = 1$, "
    rf"$c = {float(C)}$: the best readout of softmax tells them apart "
    rf"with accuracy above $1 - {tex(MISSED)}$ at $n = {_listed(TOLD_APART)}$. For "
    rf"linear attention no readout has an accuracy above {_bounded()}.",
    uses=["many-strengths-bounds", "readout-softmax-growth", "readout-linear-fades"],
    assumes="at most one strength below 1/2",
    control="every strength is lower by this (never below 0)",
    violations=(1.15e-4, 1.25e-4),
    tests=(any_readout.distance_table, any_readout.several),
)
def many_strengths(xp, broken=None):
    strengths = [max(Fraction(0), Fraction(x) - exactly(broken)) for x in STRENGTHS]
    for n in TOLD_APART:
        yield at_least(any_readout.several(any_readout.distance_table(n, n + 2, strengths, C), 1)[0], 1 - MISSED, n=n)
    for n, more in BEYOND_GUESSING.items():
        table = any_readout.distance_table(n, n + 2, strengths, C, "linear")
        yield at_most(any_readout.several(table, 1)[1], 1 / 8 + more, n=n)


# The strength itself


@claim(
    "strength-from-linear-entry",
    mark="extension",
    source="Limitations: regression problems",
    level="verified",
    chapter=CHAPTER,
    statement=r"Without noise the strength can be read from linear attention: if $s\sqrt{L}$ is the first entry of "
    r"$o_{\mathrm{lin}}$, then $a = \frac12\bigl(s - 1 + \sqrt{(s-1)^2 + 4ns}\bigr)$.",
    uses=["first-coordinate-separates"],
    control="the matrices have a larger by this",
    violations=(1e-18, 1e-9, 0.1),
    tests=(TokenData.matrix, values),
)
def strength_from_linear_entry(xp, broken=None):
    for (n, d), a in product(((2, 3), (12, 8), (256, 66)), (A0, A1, Fraction(2))):
        data = TokenData(n=n, d=d, a=a + exactly(broken), c=C)
        v = float(noise_free_output(xp, data, "linear")[-1, 0]) / math.sqrt(data.log_n)
        found = (v - 1 + math.sqrt((v - 1) ** 2 + 4 * n * v)) / 2
        # (v − 1)² + 4 n v is about 1 where a is small, so its rounding is that of 1/a.
        yield equal(found, float(a), 64 * EPS * d / float(a), n=n, d=d, a=float(a))


@claim(
    "regression-simulated",
    mark="extension",
    source="Limitations: regression problems",
    level="sampled",
    chapter=CHAPTER,
    statement=r"The first entries of the unmarked rows have the mean $\mu(a) + \nu Z/\sqrt{n-1}$ with $\mu(a) = a q "
    r"\sqrt{L}$ and "
    r"one standard Gaussian $Z$. So $\hat a = \mu^{-1}(\text{mean})$ is within $\delta$ of $a$ with probability "
    r"$P[\mu(a-\delta) \le \mu(a) + \nu Z/\sqrt{n-1}$ $\le \mu(a+\delta)]$.",
    uses=["def-noisy-readout", "values-in-closed-form"],
    assumes="real matrices, 4000 draws each",
    control="the noise has standard deviation (1 + this) ν",
    violations=(0.03, 0.07, 0.08, 0.15),
    tests=(TokenData.matrix, values, any_readout.recovery_probability),
)
def regression_simulated(xp, broken=None):
    rng, draws, within = generator(5305), 4000, Fraction(1, 5)
    for (n, d), a, kernel in product(((12, 8), (64, 34)), (A1, Fraction(1)), tokens.KERNELS):
        ends = [
            noise_free_output(xp, TokenData(n=n, d=d, a=x, c=C), kernel)[-1, 0] for x in (a - within, a, a + within)
        ]
        s = math.sqrt(n - 1) * float(ends[2] - ends[1])
        noise = np.mean(rng.standard_normal((draws, n - 1)), axis=1) * s * (1 + (broken or 0))
        hits = int(np.sum((ends[0] <= ends[1] + noise) & (ends[1] + noise <= ends[2])))
        law, h = (
            any_readout.recovery_probability(n, a, within, s, kernel),
            _stated_means(n, (a - within, a, a + within), kernel),
        )
        yield equal(np.array(ends), h, 16 * d * rounding(4 * math.log(n)), n=n, d=d)
        stated = sum(math.erf(step * math.sqrt(n - 1) / s / math.sqrt(2)) for step in np.diff(h)) / 2
        yield equal(law, stated, 1e-12, n=n, d=d)
        yield inside_clopper_pearson(hits, draws, law, n=n, d=d, law=law, frequency=hits / draws)


def _stated_means(n, strengths, kernel):
    """Return μ(a) = a q √L for each strength, as the statement has it."""
    qs = [
        1 / (1 + (n - 1) * n ** -float(a)) if kernel == "softmax" else (1 + float(a)) / (n + float(a))
        for a in strengths
    ]
    return np.array([float(a) * q * math.sqrt(math.log(n)) for a, q in zip(strengths, qs, strict=True)])


REGRESSED = (10**6, 10**8, 10**100, 10**300)


WITHIN, FAILS, SOFTMAX_GRID = "0.05", 1e-6, ("0.6", "0.7", "0.8", "0.9", "1", "1.1", "1.2")


LINEAR_N, LINEAR_MEETS, LINEAR_GRID = (
    10**6,
    0.103,
    ("0.1", "0.3", "0.5", "0.7", "0.9", "1.1", "1.3", "1.5", "1.7", "1.9"),
)


def _grid(strengths):
    return rf"\{{{', '.join(strengths[:2])}, \dots, {strengths[-1]}\}}"


@claim(
    "regression",
    mark="extension",
    source="Limitations: regression problems",
    level="computed",
    chapter=CHAPTER,
    statement=rf"With noise $\nu = 1$, $t = 1$ and $c = {float(C)}$, "
    rf"$\hat a$ from softmax is within ${WITHIN}$ of each $a \in {_grid(SOFTMAX_GRID)}$ "
    rf"with probability above $1 - {tex(FAILS)}$ at $n = {_listed(REGRESSED)}$. For linear attention and any estimator "
    rf"whatever, some $a \in {_grid(LINEAR_GRID)}$ is met to within $0.09$ with probability at most ${LINEAR_MEETS}$ "
    rf"at $n = {tex(LINEAR_N)}$.",
    uses=["regression-simulated", "many-strengths-bounds"],
    control="every strength is lower by this (softmax)",
    violations=(2.5e-4, 2.8e-4),
    tests=(any_readout.recovery_probability, any_readout.distance_table, any_readout.several),
)
def regression(xp, broken=None):
    for n, strength in product(REGRESSED, SOFTMAX_GRID):
        a = Fraction(strength) - exactly(broken)
        yield at_least(any_readout.recovery_probability(n, a, Fraction(WITHIN), 1), 1 - FAILS, n=n, a=float(a))
    grid, n = [Fraction(strength) for strength in LINEAR_GRID], LINEAR_N
    # To meet every one of them within 0.09 is to tell all ten apart.
    yield at_most(any_readout.several(any_readout.distance_table(n, n + 2, grid, C, "linear"), 1)[1], LINEAR_MEETS, n=n)
