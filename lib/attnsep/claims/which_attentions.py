"""Open Question 1: which attentions separate D_0 and D_1."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import attend, distinct_rows, values
from attnsep.claims.one_column import all_signs
from attnsep.claims.one_query_weights import EPS
from attnsep.claims.token_datasets import GAP, C
from attnsep.extensions import which_attentions
from attnsep.ledger.framework import Case, at_least, at_most, claim, definition, equal, exactly, generator
from attnsep.ledger.sampled import inside_clopper_pearson, same_probability, surely_inside
from attnsep.paper import gains, tokens
from attnsep.paper.gains import Infinite
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData

CHAPTER = "which-attentions"


QUESTION = "Open Question 1"


WEAK, STRONG, M = Fraction(1, 10), Fraction(4, 5), 10


# Every row gives all ordinary tokens the same weight, so one gain per row is all there is to know.
ONE_GAIN = (
    "softmax",
    "softmax:12",
    "linear",
    "relu",
    "elu+1",
    "sigmoid",
    "squared-relu",
    "taylor",
    "polynomial:8",
    "polynomial:16",
    "polynomial:60",
    "sparsemax",
    "entmax",
    "hard",
)


definition(
    "def-kernels",
    mark="extension",
    source="none: kernels beyond softmax and linear",
    chapter=CHAPTER,
    statement=r"A kernel turns a row's scores $v_i$ into weights that sum to one. Proportional to $u(v_i)$: softmax "
    r"$e^{\beta v}$, linear $v$, degree $\beta$ $v^\beta$, squared ReLU $\max(v,0)^2$, Taylor $1+v+\frac12v^2$, "
    r"sigmoid $1/(1+e^{-v})$. To "
    r"$\langle\psi(\mathbf q),\psi(\mathbf k_i)\rangle$: elu+1, ReLU, performer ($M$ random features). Softmax over "
    r"fewer tokens: top-k (ties to the lowest index), window (a number of places to either side). Projections: "
    r"sparsemax, 1.5-entmax. Hard: the largest scores share.",
)


@claim(
    "kernel-weights",
    mark="extension",
    source=QUESTION,
    level="verified",
    chapter=CHAPTER,
    statement=r"On matrices of the token data every kernel but window and performer gives the marked token the weight "
    r"$w = \frac{R}{R+n-1}$, with one gain $R$ for its own row ($\gamma = 1+a$) and one for all others ($\gamma = "
    r"1$). $R$ is $n^{\beta \gamma a}$ for softmax; $1+a$ for linear and ReLU; $(1+a)^\beta$ for degree $\beta$ "
    r"(squared ReLU: 2); $\frac{u(\gamma(1+a)L)}{u(\gamma L)}$ with $u(v) = 1+v+\frac12v^2$ for Taylor; "
    r"$\frac{d+(1+a)\sqrt L}{d+\sqrt L}$ for elu+1; $\frac{1+n^{-\gamma}}{1+n^{-\gamma(1+a)}}$ for "
    r"sigmoid. Sparsemax has $w = \min(1, \frac{1+(n-1)\gamma aL}{n})$; 1.5-entmax has $\sqrt w - "
    r"\sqrt{\frac{1-w}{n-1}} = \frac{\gamma aL}{2}$ if $\gamma aL < 2$, else $w = 1$; hard attention has $w = 1$ if "
    r"$a > 0$. Top-k: as softmax, with the number $k_{\mathrm{top}}$ of kept tokens in place of $n$ in the weight.",
    uses=["def-kernels", "lemma-d-2-weights"],
    control="the matrix has a larger a by this",
    violations=(1e-18, 1e-9),
    tests=(TokenData.matrix, tokens.weights, attend),
)
def kernel_weights(xp, broken=None):
    for (n, d), a, kernel in product(((12, 8), (128, 34)), (0, WEAK, STRONG), (*ONE_GAIN, "topk:1", "topk:7")):
        data = TokenData(n=n, d=d, a=a + exactly(broken), c=C)
        A, library = data.matrix(xp), tokens.weights(n, a, kernel, d=d)
        mark = xp.astype(xp.arange(n)[:, None] == 0, xp.float64)  # as values, so that the outputs are its weights
        found = to_numpy(attend(xp.matmul(A, data.X(xp)), A, mark, kernel=kernel))
        # A score s is off by at most d ε s.  The exponential, or the power below 100, passes that on to the weight.
        tolerance = 100 * d * EPS * (1 + float(1 + a) ** 2 * data.log_n)
        for weight, own, known in ((found[0, 0], 1 + a, library.p), (found[n - 1, 0], 1, library.q)):
            stated = _stated_weight(n, d, float(a), float(own), kernel)
            for wanted in (stated, known):
                yield equal(float(weight), wanted, tolerance, n=n, d=d, a=float(a))


def _stated_weight(n, d, a, o, kernel):
    """Return w in a row with the factor o, as the statement has it; the library has formulas of its own."""
    L, (name, _, parameter) = math.log(n), kernel.partition(":")
    beta, visible = float(parameter or 1), int(parameter) if name == "topk" else n
    gap = o * a * L
    if name == "sparsemax":
        return min(1.0, (1 + (n - 1) * gap) / n)
    if name == "entmax":  # √w = x and √((1 − w)/(n − 1)) = x − Δ/2
        return 1.0 if gap >= 2 else (((n - 1) * gap / 2 + math.sqrt(n - (n - 1) * gap**2 / 4)) / n) ** 2
    if name == "hard":
        return 1.0 if a > 0 else 1 / n
    root, low, high = math.sqrt(L), o * L, o * (1 + a) * L
    R = {
        "softmax": n ** (beta * o * a),
        "topk": n ** (o * a),
        "linear": 1 + a,
        "relu": 1 + a,
        "polynomial": (1 + a) ** beta,
        "squared-relu": (1 + a) ** 2,
        "taylor": (1 + high + high**2 / 2) / (1 + low + low**2 / 2),
        "elu+1": (d + (1 + a) * root) / (d + root),
        "sigmoid": (1 + n**-o) / (1 + n ** (-o * (1 + a))),
    }[name]
    return R / (R + visible - 1)


# (n, d) and a for which all gains below are rational, so that whole numbers can enumerate all sign vectors.
RATIONAL = ("softmax", "softmax:2", "linear", "polynomial:3", "squared-relu", "sigmoid", "hard")


@claim(
    "kernel-law-exact",
    mark="extension",
    source=QUESTION,
    level="exact",
    chapter=CHAPTER,
    statement=r"With its gains $R$ every kernel but window, performer and top-k has the exact law of one column "
    r"that softmax has with $n^{a(1+a)}$ and $n^a$: eight signs times a binomial sum. For top-k the sum runs over the "
    r"$k_{\mathrm{top}}$ tokens that are kept, class by class. Checked against all $2^d$ sign vectors where $R$ is "
    r"rational.",
    uses=["kernel-weights", "column-law", "ragged-law"],
    control="the law's gap is smaller by this, so that ties fire",
    violations=(0, 1e-9),
    tests=(tokens.law, tokens.Law.column_probability, gains.gains, gains.Power.rational, gains.SigmoidRatio.rational),
)
def kernel_law_exact(xp, broken=None):
    tops = ("topk:1", "topk:2", "topk:5", "topk:10", "topk:11", "topk:16")
    for d, a, c, kernel in product((4, 6, 10), (0, Fraction(1, 2), 1), ("0.5", "0.6"), (*RATIONAL, *tops)):
        data = TokenData(n=16, d=d, a=a, c=c)
        law = tokens.law(16, d, a, c, kernel, GAP - exactly(broken)).column_probability()
        yield equal(Fraction(law), _enumerated(data, kernel), n=16, d=d, a=float(a), c=float(data.c))


def _enumerated(data, kernel):
    """Return the share of all sign vectors for which some row exceeds the threshold, in whole numbers."""
    kept = int(kernel[5:]) if kernel.startswith("topk") else data.n
    others = [0] * (data.d - 2)
    for i in range(1, kept):
        others[i % (data.d - 2)] += 1
    sums = []
    for R in gains.gains(data.n, data.a, kernel):
        R, rest = (1, [0] * (data.d - 2)) if isinstance(R, Infinite) else (R.rational(), others)
        total = R + sum(rest)
        own = data.b * (R + rest[0])
        row = [data.a * R, own, *(data.b * size for size in rest[1:]), data.c * total]
        threshold = (data.c + GAP) * total
        scale = math.lcm(*(Fraction(x).denominator for x in (*row, threshold)))
        y = np.array(list(all_signs(data.d)))
        sums.append(y @ np.array([int(x * scale) for x in row]) > int(threshold * scale))
    return Fraction(int(np.sum(np.logical_or(*sums))), 2**data.d)


GRID = tuple(product(((128, 34), (512, 130), (2048, 514), (2046, 2048)), (0, "0.05", WEAK, "0.3", STRONG, 2), ONE_GAIN))


@claim(
    "mark-decides-fires",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"If $(a+b)w > 0.1$ in some row, that is $a + b > 0.1$ and $R > \frac{n-1}{10(a+b)-1}$, then $\pi \ge "
    r"\frac1{16}$, so that $P[F \text{ fires}] \ge 1 - (\frac{15}{16})^m$: for every kernel whose rows give all "
    r"ordinary tokens that they see the same weight (top-k and windows: the number of tokens seen in place of "
    r"$n$). The constant $\frac1{16}$ is attained.",
    uses=["kernel-law-exact"],
    control="a is smaller by this where hard attention has a + b = 0.11",
    violations=(0.0099, 0.01),
    tests=(tokens.weights, tokens.Law.column_probability),
)
def mark_decides_fires(xp, broken=None):
    for (n, d), a, kernel in (*GRID, *product(((512, 130),), (WEAK, STRONG), ("topk:1", "topk:16", "topk:200"))):
        p, q, not_p, not_q = tokens.weights(n, a, kernel, d=d)
        weight, rest = max((p, not_p), (q, not_q))
        visible, reach = int(kernel[5:]) if kernel.startswith("topk") else n, Fraction(a) + 1 - C
        gain, reached = (
            weight * (visible - 1) / rest if rest else math.inf,
            {"n": n, "d": d, "a": float(a), "w": weight},
        )
        is_seen = reach * Fraction(weight) > GAP
        says = reach > GAP and gain > _needed_gain(visible, reach)
        yield Case(0 if says == is_seen else -1, reached=reached)
        if reach > GAP and visible > 1:  # at this gain (a + b) w is 0.1
            R = _needed_gain(visible, reach)
            yield equal(reach * R / (R + visible - 1), GAP, **reached)
        if is_seen:
            yield at_least(tokens.law(n, d, a, C, kernel).column_probability(), 1 / 16, **reached)
            yield at_least(tokens.law(n, d, a, C, kernel).fires(M), 1 - (15 / 16) ** M, **reached)
    for d in (3, 4, 30, 1000):
        a = Fraction("0.05") - exactly(broken)
        yield at_least(
            tokens.law(4 * (d - 2), d, a, "0.94", "hard").column_probability(), 1 / 16, n=4 * (d - 2), d=d, w=1.0
        )
    # Only all plus signs fire: w = 11/21, so 0.22 w > 0.1, but a minus at any class or at y_1 leaves too little.
    yield equal(tokens.law(2, 4, WEAK, "0.88", "linear").column_probability(), 1 / 16, 1e-12, n=2, d=4)
    yield from _rows_of_windows()


def _rows_of_windows():
    """Yield cases for rows of softmax windows that see the mark, from all sign vectors."""
    strengths = Fraction(1, 4), Fraction(1, 2), Fraction(1)
    for (n, d), width, a, c in product(((16, 4), (16, 6), (14, 9)), (1, 3, 8), strengths, ("0.5", "0.9")):
        data, y = TokenData(n=n, d=d, a=a, c=c, marked=4), np.array(list(all_signs(d)))
        for row in range(max(0, data.marked - width), min(n, data.marked + width + 1)):
            seen = [i for i in range(n) if abs(i - row) <= width]
            R = n ** float(a * (1 + a) if row == data.marked else a)
            if _needed_gain(len(seen), a + data.b) < R:
                classes, total = np.zeros(d - 2), R + len(seen) - 1
                for i in seen:
                    classes[i % (d - 2)] += float(data.b) * (R if i == data.marked else 1)
                sums = y @ np.array([float(a) * R, *classes, float(data.c) * total])
                share = np.mean(sums > float(data.c + GAP) * total * (1 + 64 * EPS))
                yield at_least(float(share), 1 / 16, n=n, d=d, a=float(a), c=float(data.c), width=width)


def _needed_gain(visible, reach):
    """Return the gain above which a mark is seen, for the number of tokens that the row sees and a + b."""
    return (visible - 1) / (10 * reach - 1)


@claim(
    "mark-decides-silent",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"If $(a+b)w < 0.1$ in every row, with rows that see all tokens and give ordinary ones the same "
    r"weight, then $\pi \le \sum_w e^{-s_w^2/2}$ over the distinct rows, with $s_w = \frac{0.1-(a+b)w}{b}\,\sqrt{d-2}"
    r"\,(1-\frac1n)$.",
    uses=["kernel-law-exact", "hoeffding-one-sided"],
    control="the bound's exponent is larger by the factor 1 + this",
    violations=(0.01, 0.012),
    tests=(tokens.law,),
)
def mark_decides_silent(xp, broken=None):
    # Far out, where π is 10⁻²⁷¹, the factor in front of the exponential no longer covers for a wrong exponent.
    far = product(((10**5, 10**5 + 2), (2 * 10**5, 10**5 + 2)), (0, WEAK), ("linear", "polynomial:8"), ("0.1",))
    for (n, d), a, kernel, c in (*((*point, C) for point in GRID), *far):
        b, rows = 1 - Fraction(c), tokens.weights(n, a, kernel, d=d)[:2]
        slacks = [float(GAP) - float(Fraction(a) + b) * w for w in {*rows}]
        if min(slacks) > 0:
            exponents = [(s * (1 - 1 / n)) ** 2 * (d - 2) / (2 * float(b) ** 2) for s in slacks]
            bound = sum(math.exp(-x * (1 + (broken or 0))) for x in exponents)
            yield at_most(tokens.law(n, d, a, c, kernel).column_probability(), bound, n=n, d=d, a=float(a), w=rows[0])


# At n = 8192, d = 2050 none of these lies near its bound, for a = 0.1 and a = 0.8.
CLEAR = (*ONE_GAIN, "softmax:2", "polynomial:100")


OFTEN, SELDOM = 0.89, -12  # at least, and below 10 to this power


@claim(
    "which-attentions-separate",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"For large $d$ a kernel whose rows see all tokens and give ordinary ones the same weight separates "
    r"$a_0$ and $a_1$ if its larger gain exceeds $\frac{n-1}{10(a+b)-1}$ at $a_1$ and stays below it at $a_0$ ($a_0 "
    r"+ b > 0.1$). At $n = 8192$, $d = 2050$, $a_0 = 0.1$, $a_1 = 0.8$, $c = 0.5$, $m = 10$ this rule is right for "
    rf"{len(CLEAR)} kernels: $P[F \text{{ fires}}]$ is at least ${OFTEN}$ where it says so, and below "
    rf"$10^{{{SELDOM}}}$ elsewhere.",
    uses=["mark-decides-fires", "mark-decides-silent"],
    # The next gain above its bound is that of 1.5-entmax at a0, 1.71 times the bound; a kernel nearer to it may fire
    # with any probability between the two numbers, since the rule is about large d.
    control="the rule compares R with the bound times 1 + this",
    violations=(0.7, 0.72),
    tests=(tokens.law, tokens.Law.fires),
)
def which_attentions_separate(xp, broken=None):
    n, d = 8192, 2050
    for kernel, a in product(CLEAR, (WEAK, STRONG)):
        # w = R/(R + n − 1), so R = w(n − 1)/(1 − w).
        p, q, not_p, not_q = tokens.weights(n, a, kernel, d=d)
        w, rest = max((p, not_p), (q, not_q))
        fires = w * (n - 1) > rest * float(_needed_gain(n, a + 1 - C)) * (1 + (broken or 0))
        P, reached = tokens.law(n, d, a, C, kernel).fires(M), {"n": n, "d": d, "a": float(a)}
        yield at_least(P, OFTEN, **reached) if fires else at_most(P, 10.0**SELDOM, **reached)


SIMULATED = (*ONE_GAIN, "topk:16", "topk:100")


@claim(
    "kernels-simulated",
    mark="extension",
    source=QUESTION,
    level="sampled",
    chapter=CHAPTER,
    statement=r"Over 400 random networks with $m = 10$, matrices of $D_0$ ($a_0 = 0.1$) and $D_1$ ($a_1 = 0.8$) with "
    r"$(n, d) = (128, 34)$, $(512, 130)$, $(2048, 130)$ and $c = 0.5$ make 16 kernels fire as often as the exact law "
    r"says: each of the 96 probabilities lies in the Clopper–Pearson interval of level $1 - 10^{-9}$ around its "
    r"frequency.",
    uses=["kernel-law-exact"],
    control="the networks have more columns than the law, by this",
    violations=(3, 4, 8),
    tests=(signs, TokenData.matrix, values, distinct_rows, tokens.law),
)
def kernels_simulated(xp, broken=None):
    rng, draws = generator(6100), 400
    for n, d in ((128, 34), (512, 130), (2048, 130)):
        y = signs(rng, d, (M + (broken or 0)) * draws, np)
        for a, kernel in product((WEAK, STRONG), SIMULATED):
            fired = _fired(y, draws, TokenData(n=n, d=d, a=a, c=C), kernel, xp)
            law = tokens.law(n, d, a, C, kernel).fires(M)
            yield inside_clopper_pearson(fired, draws, law, n=n, d=d, a=float(a), law=law)


def _fired(y, draws, data, kernel, xp):
    """Return how many of so many networks, that share the columns of y, fire on the matrix of the data."""
    A = data.matrix(xp)
    rows = to_numpy(distinct_rows(values(A, A, A, data.X(xp), kernel))[0])
    tops = np.reshape(np.max(rows @ y, axis=0), (draws, -1))
    # Sums within rounding of the threshold are ties, which do not fire.
    return int(np.sum(np.max(tops, axis=1) > data.tau * (1 + 64 * EPS)))


@claim(
    "sampled-kernels",
    mark="extension",
    source=QUESTION,
    level="sampled",
    chapter=CHAPTER,
    statement=r"Windows and random features have no closed law here. Frequencies drawn from their weights, without a "
    r"matrix, agree with those of matrices: their Clopper–Pearson intervals of level $1 - 10^{-9}$ meet, for windows "
    r"of width 4 and 40 and for 16 features, at $n = 128$, $d = 34$, $m = 10$, $c = 0.5$, on $D_0$ ($a_0 = 0.1$) and "
    r"$D_1$ ($a_1 = 0.8$).",
    uses=["def-kernels"],
    control="the gap of the drawn frequencies is larger by this",
    violations=(0.04, 0.059, 0.065, 0.1),
    tests=(signs, TokenData.matrix, values, distinct_rows, which_attentions.fired_networks),
)
def sampled_kernels(xp, broken=None):
    rng, (n, d), draws, gap = generator(6200), (128, 34), 300, GAP + exactly(broken)
    for a, kernel in product((WEAK, STRONG), ("window:4", "window:40", "performer:16")):
        data = TokenData(n=n, d=d, a=a, c=C)
        if kernel.startswith("window"):
            measured = _fired(signs(rng, d, M * draws, np), draws, data, kernel, xp)
        else:
            measured = sum(_fired_with_features(rng, data, kernel, xp) for _ in range(draws))
        drawn = which_attentions.fired_networks(rng, TokenData(n=n, d=d, a=a, c=C, gap=gap), M, kernel, draws=draws)
        yield same_probability(measured, drawn, draws, n=n, d=d, a=float(a), frequency=measured / draws)


def _fired_with_features(rng, data, kernel, xp):
    A = data.matrix(xp)
    rows = to_numpy(values(A, A, A, data.X(xp), kernel, rng=rng))
    return bool(np.max(rows @ signs(rng, data.d, M, np)) > data.tau)


# Selection


@claim(
    "selection-sees-which",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $c = \frac12$. Hard attention gives the marked token the weight 1 for every $a > 0$: for all $n$ "
    r"and $d$ it has $\pi = \frac14$ if $0 < a < 0.4$, and $\pi = \frac38$ at $a = 0.8$. For $0 < a \le 0.3$ and at "
    r"$a = 0.8$ sparsemax has the same $\pi$ from $\log n \ge \frac1{a(1+a)}$ on, 1.5-entmax from $\log n \ge "
    r"\frac2{a(1+a)}$ on. They see which token is marked, and hardly how much.",
    uses=["kernel-weights", "kernel-law-exact"],
    assumes="all n and d by the proof; every n ≤ 5 at a = 0.8, and n = (d − 2)t for other t, d are tried",
    control="a is 0.4 + this for hard attention",
    violations=(-1e-9, 0),
    tests=(tokens.law, tokens.Law.column_probability, tokens.weights),
)
def selection_sees_which(xp, broken=None):
    weak = ("1e-9", WEAK, "0.3", "0.399999999") if broken is None else (Fraction("0.4") + exactly(broken),)
    for d, a, t in product((3, 4, 34, 514), (*weak, STRONG), (2, 4, 10**6)):
        yield from _selects((d - 2) * t, d, a, "hard")
    for a, (kernel, factor), d in product(
        (WEAK, Fraction("0.3"), STRONG), (("sparsemax", 1), ("entmax", 2)), (3, 4, 5, 6, 7, 1002)
    ):
        first = math.exp(factor / float(a * (1 + a)))
        below = math.floor(first / (d - 2)) * (d - 2)
        if below > 1:
            reached = {"n": below, "d": d, "a": float(a)}
            yield Case(0 if tokens.weights(below, a, kernel).not_p > 0 else -1, reached=reached)
        small = (n for n in range(2, 6) if a == STRONG and n >= first and n % (d - 2) == 0)
        for n in {below + d - 2, 10 * (below + d - 2), *small}:
            yield from _selects(n, d, a, kernel)


def _selects(n, d, a, kernel):
    """Cases for π = 3/8 at a = 0.8 and 1/4 else, and for the whole weight on the marked token in its own row."""
    reached = {"n": n, "d": d, "a": float(a)}
    yield equal(tokens.law(n, d, a, C, kernel).column_probability(), 0.375 if a == STRONG else 0.25, 1e-12, **reached)
    yield equal(tokens.weights(n, a, kernel).not_p, 0, 1e-12, **reached)


@claim(
    "selection-needs-a-small-b",
    mark="extension",
    source=QUESTION,
    level="exact",
    chapter=CHAPTER,
    statement=r"If $a_0 + b \le 0.1 < a_1 - b$ and $a_1 \le 1$, hard attention never fires on $D_0$ and fires on "
    r"$D_1$ with $\pi = \frac14$: then selection separates too.",
    uses=["selection-sees-which", "silent-for-certain"],
    assumes="a0 + b ≤ 0.1 < a1 − b, a1 ≤ 1",
    control="b is larger by this than 0.1 − a0",
    violations=(0, 1e-9),
    tests=(tokens.law, tokens.Law.column_probability),
)
def selection_needs_a_small_b(xp, broken=None):
    for d, a0 in product((3, 4, 34, 514), ("0.01", "0.05", "0.09")):
        n, c = 4 * (d - 2), 1 - (GAP - Fraction(a0)) - exactly(broken)
        reached = {"n": n, "d": d, "a0": float(Fraction(a0)), "c": float(c)}
        yield Case(-Fraction(tokens.law(n, d, a0, c, "hard").column_probability()), reached=reached)
        for a1 in (GAP + 1 - c + Fraction(1, 10**9), STRONG, 1):
            yield equal(Fraction(tokens.law(n, d, a1, c, "hard").column_probability()), Fraction(1, 4), **reached)


TOP_16, TOP_256, TOP_STRONG = 0.7, 0.004, 0.99


@claim(
    "top-k-lies-between",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"Top-k must keep many tokens: few do not average out. At $n = 8192$, $d = 2050$, $a_0 = 0.1$, "
    r"$a_1 = 0.8$, $c = 0.5$, $m = 10$ it fires on $D_0$ with probability above "
    rf"${TOP_16}$ for $k_{{\mathrm{{top}}}} = 16$, below ${TOP_256}$ from $k_{{\mathrm{{top}}}} = 256$ on (powers of "
    rf"two), and on $D_1$ with probability above ${TOP_STRONG}$.",
    uses=["kernel-law-exact"],
    control="256 kept tokens are fewer by this",
    violations=(6, 7),
    tests=(tokens.law, tokens.Law.fires),
)
def top_k_lies_between(xp, broken=None):
    n, d, less = 8192, 2050, int(broken or 0)
    laws = {k: tokens.law(n, d, WEAK, C, f"topk:{k}").fires(M) for k in (16, 256 - less, 512, 1024, 2048, 4096, 8192)}
    for k, P in laws.items():
        reached = {"n": n, "d": d, "k": k}
        yield at_least(P, TOP_16, **reached) if k == 16 else at_most(P, TOP_256, **reached)
        yield at_least(tokens.law(n, d, STRONG, C, f"topk:{k}").fires(M), TOP_STRONG, **reached)


# Degrees


@claim(
    "polynomial-window",
    mark="extension",
    source=QUESTION,
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $0 < a_0 < a_1$ and $a_0 + b > 0.1$. Degree $\beta$ has $(a_1+b)w > 0.1$ on $D_1$ beyond $\beta_1 "
    r"= \log\frac{n-1}{10(a_1+b)-1} \big/ \log(1+a_1)$, and on $D_0$ beyond $\beta_0 = \log\frac{n-1}{10(a_0+b)-1} "
    r"\big/ \log(1+a_0)$. Both ends move with $\log n$, so every fixed degree falls out of the window: for $n - 1 "
    r"> (10(a_1+b)-1)(1+a_1)^\beta$ the bound of silence holds on both.",
    uses=["mark-decides-fires", "mark-decides-silent"],
    control="the ends move with log n to the power 1 + this",
    violations=(1e-16, 1e-12),
    tests=(tokens.weights, tokens.law, tokens.Law.column_probability),
)
def polynomial_window(xp, broken=None):
    for (n, d), (a0, a1) in product(
        ((128, 34), (8192, 2050), (10**12, 10**4 + 2), (10**300, 102)), ((WEAK, STRONG), ("0.05", 1))
    ):
        for a in map(Fraction, (a0, a1)):
            if n % (d - 2):
                raise ArithmeticError(f"n = {n}, d = {d}")
            log = math.log(n - 1) ** (1 + (broken or 0)) - math.log(10 * (a + 1 - C) - 1)
            edge = log / math.log1p(a)
            # At the edge itself, which is no whole number, (a + b) w is 0.1; log R is up to 700, with its rounding.
            rest = (n - 1) / math.exp(edge * math.log1p(a))
            yield equal(float(a + 1 - C) / (1 + rest), 0.1, 1e-11, n=n, a=float(a), degree=edge)
            for degree, fires in ((math.floor(edge), False), (math.floor(edge) + 1, True)):
                w, reached = tokens.weights(n, a, f"polynomial:{degree}").p, {"n": n, "a": float(a), "degree": degree}
                seen = float(a + 1 - C) * w
                yield at_least(seen, 0.1, **reached) if fires else at_most(seen, 0.1, **reached)
                pi = tokens.law(n, d, a, C, f"polynomial:{degree}").column_probability()
                if fires:
                    yield at_least(pi, 1 / 16, **reached)
            # A fixed degree, far beyond its window.
            w, bound = tokens.weights(n, a, "polynomial:2").p, (d - 2) * (1 - 1 / n) ** 2 / (2 * float(1 - C) ** 2)
            bound = math.exp(-((0.1 - float(a + 1 - C) * w) ** 2) * bound) if float(a + 1 - C) * w < 0.1 else 1.0
            yield at_most(tokens.law(n, d, a, C, "polynomial:2").column_probability(), bound, n=n, a=float(a), degree=2)
    # The largest n at which a fixed degree still sees the mark of D_1, and the next one; d = 3, so that every n is one.
    for a, degree in product((STRONG, Fraction(1)), (1, 2, 8)):
        last = math.floor((10 * (a + 1 - C) - 1) * (1 + a) ** degree * (1 + exactly(broken)) + 1)
        for n in (last, last + 1):
            seen = (a + 1 - C) * Fraction(tokens.weights(n, a, f"polynomial:{degree}", d=3).p)
            yield (at_least if n == last else at_most)(seen, GAP, 1e-14, n=n, a=float(a), degree=degree)


# Random features and windows, by sampling


LOTS = 0.2, 0.75


@claim(
    "random-features-draw-lots",
    mark="extension",
    source=QUESTION,
    level="sampled",
    chapter=CHAPTER,
    statement=r"With 256 positive random features at $n = 512$, $d = 130$, $a_0 = 0.1$, $a_1 = 0.8$, $c = 0.5$, $m = "
    rf"10$ the network fires on $D_0$ and on $D_1$ with a probability between ${LOTS[0]}$ and ${LOTS[1]}$: it does not "
    r"separate.",
    uses=["sampled-kernels"],
    assumes="500 networks, fresh features for each; intervals of level 1 − 10⁻⁹",
    # 500 networks tell no fewer columns apart with intervals of level 1 − 10⁻⁹, and a run of them takes seconds.
    control="the network has more columns, by this",
    violations=(20, 48),
    tests=(which_attentions.fired_networks,),
)
def random_features_draw_lots(xp, broken=None):
    rng, (n, d), draws = generator(6300), (512, 130), 500
    for a in (WEAK, STRONG):
        hits = which_attentions.fired_networks(
            rng, TokenData(n=n, d=d, a=a, c=C), M + (broken or 0), "performer:256", draws=draws
        )
        yield surely_inside(hits, draws, *LOTS, n=n, d=d, a=float(a), frequency=hits / draws)


NARROW, WIDE, LOUD, QUIET = 16, 256, 0.8, 0.2


@claim(
    "windows-must-be-wide",
    mark="extension",
    source=QUESTION,
    level="sampled",
    chapter=CHAPTER,
    statement=r"At $n = 2048$, $d = 514$, $a_0 = 0.1$, $a_1 = 0.8$, $c = 0.5$, $m = 10$ softmax over the tokens at "
    rf"most ${NARROW}$ places away fires on $D_0$ with probability above ${LOUD}$, and over those at most ${WIDE}$ "
    rf"places away with probability below ${QUIET}$; on $D_1$ above ${LOUD}$ for both. Many rows average few signs "
    r"each, and one of them is enough.",
    uses=["sampled-kernels"],
    assumes="200 networks; intervals of level 1 − 10⁻⁹",
    control="the wide window is smaller by this",
    violations=(150, 160),
    tests=(which_attentions.fired_networks,),
)
def windows_must_be_wide(xp, broken=None):
    rng, (n, d), draws = generator(6400), (2048, 514), 200
    for a, width in product((WEAK, STRONG), (NARROW, WIDE - (broken or 0))):
        hits = which_attentions.fired_networks(rng, TokenData(n=n, d=d, a=a, c=C), M, f"window:{width}", draws=draws)
        ends = (LOUD, 1) if (a, width) != (WEAK, WIDE - (broken or 0)) else (0, QUIET)
        yield surely_inside(hits, draws, *ends, n=n, d=d, a=float(a), width=width, frequency=hits / draws)
