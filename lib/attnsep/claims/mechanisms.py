"""The card's three mechanisms, with verdicts."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import row_scores, values
from attnsep.attention.kernels import PAIR, Linear, linear, weights
from attnsep.claims.one_column import all_signs
from attnsep.claims.one_query_weights import EPS, rounding
from attnsep.claims.token_datasets import A0, A1, GAP, C, token_cases
from attnsep.extensions import mechanisms
from attnsep.ledger.framework import (
    BESIDE,
    Case,
    at_least,
    at_most,
    claim,
    definition,
    equal,
    exactly,
    generator,
    to_digits,
)
from attnsep.ledger.sampled import inside_clopper_pearson
from attnsep.paper import tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import TokenData

CHAPTER = "mechanisms"

MECHANISMS, BREAKS = "mechanisms", "break-conditions"


FOUR = tuple(product(tokens.KERNELS, (True, False)))


T, M = 4, 10


SHAPES = tuple((n, n // T + 2) for n in (1024, 4096, 16384))


TRIED = rf"$n = {'$, $'.join(str(n) for n, _ in SHAPES)}$, $t = {T}$, $m = {M}$"  # of these shapes, in statements


FAR_OFF = "the difference is far from it: the same reading with a number near to this one is refuted as well"


def _paper_tau(n):
    return 0.6 * math.sqrt(math.log(n))


def _advantage(n, d, m, a1, tau, kernel, normalised):
    """Return P[fires on D_1] − P[fires on D_0] at c = 0.5 and a_0 = 0.05."""
    on_d0, on_d1 = (
        mechanisms.fires_probability(TokenData(n=n, d=d, a=a, c=C), m, tau, kernel, normalised) for a in (A0, a1)
    )
    return on_d1 - on_d0


# Mechanism 1


WEAK = 0.2


@claim(
    "mechanism-1-amplifies",
    mark="completed",
    source="Mechanism 1",
    level="verified",
    chapter=CHAPTER,
    statement=r"In the marked row the marked token's softmax weight is $n^{a(1+a)}$ times any other weight, "
    r"its linear weight $1 + a$ times; in every other row $n^a$ times and $1 + a$ times.",
    uses=["lemma-d-2-weights"],
    control="the matrices have a larger by this",
    violations=(1e-18, 1e-12, 0.1),
    tests=(TokenData.matrix, row_scores, weights),
)
def mechanism_1_amplifies(xp, broken=None):
    for data in token_cases():
        more = exactly(broken)
        A = TokenData(n=data.n, d=data.d, a=data.a + more, c=data.c, marked=data.marked).matrix(xp)
        scores, a, j, other = row_scores(A, A, data.X(xp)), float(data.a), data.marked, (data.marked + 1) % data.n
        for name in PAIR:
            f = to_numpy(weights(scores, name))
            own, rest = (data.n ** (a * (1 + a)), data.n**a) if name == "softmax" else (1 + a, 1 + a)
            for row, wanted in ((j, own), (other, rest)):
                off = abs(f[row, j] / f[row, other] - wanted) / wanted
                yield Case(-float(off), rounding((1 + a) ** 2 * data.log_n), {"n": data.n, "a": a})


@claim(
    "mechanism-1-from-three-tokens",
    mark="completed",
    source="Mechanism 1",
    level="computed",
    chapter=CHAPTER,
    statement=r"For $n \ge 3$ and every $a > 0$ the exponential amplifies: $n^{a(1+a)} > 1 + a$. "
    rf"For $n = 2$ and $0 < a \le {WEAK}$ it does not.",
    assumes="n ≥ 3; both sides move one way in a, so the end a = 0.2 decides",
    control="n is smaller than 3 by this, for small a",
    violations=(0, 1),
    tests="an inequality between two formulas",
)
def mechanism_1_from_three_tokens(xp, broken=None):
    weak = (1e-9, 1e-3, 0.05, 0.1, WEAK)
    for n, a in product((3, 4, 1024, 10**300) if broken is None else (3 - broken,), (*weak, 0.7, 1.0, 10.0)):
        yield Case((1 + a) * math.log(n) - math.log1p(a) / a, reached={"n": n, "a": a})
    if broken is None:
        for a in weak:
            yield Case(math.log1p(a) / a - (1 + a) * math.log(2), reached={"n": 2, "a": a})


# Mechanism 2


definition(
    "def-four-mechanisms",
    mark="completed",
    source="Mechanism 2; section 3.3",
    chapter=CHAPTER,
    statement=r"$u_j = \exp(\mathsf{A}_j x)$ (exp) or $\mathsf{A}_j x$ (linear); normalised: $o_j = A^\top f_j$ with "
    r"$f_j = u_j/\alpha_j$; not normalised: $o_j = A^\top u_j$. The network and its threshold come after, as before. "
    r"Exp normalised is softmax attention, linear normalised is $F_{\mathrm{lin}}$'s attention.",
)


@claim(
    "raw-values-in-closed-form",
    mark="completed",
    source="Lemma D.2",
    level="verified",
    chapter=CHAPTER,
    statement=r"Without normalisation, let the entry of $u_j$ be $u_*$ at $j^*$ and $u_o$ elsewhere. Then "
    r"$o_j/\sqrt{L}$ has the first entry $a u_*$, the last entry $c(u_* + (n-1)u_o)$, and between them "
    r"$b(u_* + (t-1)u_o)$ at the class of $j^*$ and $b\,t\,u_o$ at every other class.",
    uses=["lemma-d-2-scores", "def-four-mechanisms"],
    control="the matrices have a larger by this",
    violations=(1e-18, 1e-12, 0.1),
    tests=(TokenData.matrix, mechanisms.outputs, mechanisms.values_closed),
)
def raw_values_in_closed_form(xp, broken=None):
    for data, (kernel, normalised) in product(token_cases(), FOUR):
        more = exactly(broken)
        A = TokenData(n=data.n, d=data.d, a=data.a + more, c=data.c, marked=data.marked).matrix(xp)
        found, wanted = to_numpy(mechanisms.outputs(A, data.X(xp), kernel, normalised)), np.empty((data.n, data.d))
        pair = mechanisms.values_closed(data, kernel, normalised)
        for j in range(data.n):
            value = pair[j != data.marked]
            wanted[j], wanted[j, data.marked_class + 1] = value.others, value.own
            wanted[j, 0], wanted[j, -1] = value.first, value.last
        off = np.max(np.abs(found - wanted), axis=1) / np.max(np.abs(wanted), axis=1)
        allowed = rounding((1 + float(data.a)) ** 2 * data.log_n) * data.d
        yield Case(-float(np.max(off)), allowed, {"n": data.n, "d": data.d, "a": float(data.a)})


@claim(
    "raw-column-law",
    mark="completed",
    source="Mechanism 2",
    level="verified",
    chapter=CHAPTER,
    statement=r"All rows but the marked one are equal. For each of the eight signs $(y_1, y_{k^*}, y_d)$ some row "
    r"exceeds $\tau$ if and only if the sum $S$ of the other $d - 3$ signs exceeds the smaller of two bounds, one for "
    r"each kind of row. So $\pi$ is the mean of eight binomial tails for each of the four kinds of attention.",
    uses=["raw-values-in-closed-form", "def-network-tokens"],
    assumes="checked on matrices against all sign vectors",
    control="the matrices have a larger by this",
    violations=(1e-18, 0.0059, 0.0065),
    tests=(TokenData.matrix, mechanisms.outputs, mechanisms.values_closed, mechanisms.column_probability),
    coarse=[("3", "the check has these signs themselves")],
)
def raw_column_law(xp, broken=None):
    for (n, d, a, c), (kernel, normalised) in product(
        ((6, 5, "0.7", "0.5"), (24, 8, "0.05", "0.3"), (16, 10, "0.9", "0.45")), FOUR
    ):
        A = TokenData(n=n, d=d, a=Fraction(a) + exactly(broken), c=c, marked=n // 2).matrix(xp)
        data = TokenData(n=n, d=d, a=a, c=c, marked=n // 2)
        rows = to_numpy(mechanisms.outputs(A, data.X(xp), kernel, normalised))
        scale, reached = float(np.max(np.abs(rows))), {"n": n, "d": d, "a": float(a)}
        others = np.delete(rows, data.marked, axis=0)
        apart = float(np.max(np.abs(others - others[0]))) / scale
        yield Case(-apart, rounding((1 + float(data.a)) ** 2 * data.log_n) * d, reached)
        y = np.array([*all_signs(d)], dtype=float).T
        largest, own = np.max(rows @ y, axis=0), y[data.marked_class + 1]
        S = np.sum(y[1:-1], axis=0) - own
        for tau in (_paper_tau(n), 0.31 * scale, 0.73 * scale, 1.37 * scale):
            bounds = [
                (tau - v.first * y[0] - v.own * own - v.last * y[-1]) / v.others
                for v in mechanisms.values_closed(TokenData(n=n, d=d, a=a, c=c), kernel, normalised)
            ]
            wrong = int(np.sum((largest > tau) != (np.minimum(*bounds) < S)))
            yield Case(float(-wrong), reached=reached)
            law = mechanisms.column_probability(TokenData(n=n, d=d, a=a, c=c), tau, kernel, normalised)
            yield Case(-abs(float(np.mean(largest > tau)) - law), 1e-14, reached)


@claim(
    "mechanism-2-no-normaliser",
    mark="completed",
    source="Mechanism 2",
    level="verified",
    chapter=CHAPTER,
    statement=r"A reading of “linear attention's lack of this normalization”, with $f_{\mathrm{lin}} = "
    r"u_{\mathrm{lin}}/\alpha_{\mathrm{lin}}$: on $D_0$ and $D_1$ its weights do not sum to 1.",
    expect="refuted",
    uses=["def-self-attention", "normaliser-keeps-ratios"],
    assumes="f_lin is normalised, as its name beside f_exp suggests",
    control="α_lin is replaced by its power with exponent 1 − this",
    violations=(1e-18, 1e-13),
    tests=(Linear.weights,),
)
def mechanism_2_no_normaliser(xp, broken=None):
    for data in token_cases():
        A = data.matrix(xp)
        u = row_scores(A, A, data.X(xp))
        f = linear(u) * xp.sum(u, axis=1, keepdims=True) ** (broken or 0.0)
        off = np.min(np.abs(to_numpy(xp.sum(f, axis=1)) - 1))
        if abs(float(np.min(np.log(to_numpy(xp.sum(u, axis=1)))))) > 0.1:  # α = 1 would hide any exponent
            yield at_least(float(off), 8 * EPS * data.n, n=data.n, d=data.d, a=float(data.a))


@claim(
    "mechanism-2-normalising-preserves",
    mark="completed",
    source="Mechanism 2",
    level="computed",
    chapter=CHAPTER,
    statement=r"A reading of “softmax attention's normalization factor preserves information about relative attention "
    r"magnitudes that linear attention loses”: to keep the ratios of the weights is enough to separate $D_0$ from "
    r"$D_1$, so at the card's $\tau$ normalised linear attention, which keeps them too, has a "
    r"$P[\text{fires on } D_1] - P[\text{fires on } D_0]$ of at least $0.9$ "
    rf"({TRIED}, $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$).",
    expect="refuted",
    uses=["column-law", "mechanism-2-no-normaliser"],
    # The reading is off by 0.9, so no small change can make it hold: only the other attention does.
    control="the exponential is switched to this, where 1 is on and 0 is off",
    violations=(0, 1),
    tests=(tokens.law,),
    coarse=[("0.9", FAR_OFF), ("10 0.05 0.7 0.5", BESIDE), ("paper.tokens.law", FAR_OFF)],
)
def mechanism_2_normalising_preserves(xp, broken=None):
    for n, d in SHAPES:
        kernel = "softmax" if broken else "linear"
        on_d0, on_d1 = (tokens.law(n, d, a, C, kernel).fires(M) for a in (A0, A1))
        yield at_least(on_d1 - on_d0, 0.9, n=n, d=d, m=M)


@claim(
    "mechanism-2-information-lost",
    mark="completed",
    source="Mechanism 2",
    level="computed",
    chapter=CHAPTER,
    statement=r"A reading of “linear attention's lack of this normalization causes information loss”, with $o_j = "
    r"A^\top u_j$: at every threshold $P[\text{fires on } D_1] - P[\text{fires on } D_0]$ is at most $0.05$ "
    rf"({TRIED}, $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$).",
    expect="refuted",
    uses=["raw-column-law"],
    # The reading is off by nearly 1, so no small change can make it hold: only the other weights do.
    control="the normaliser is switched to this, where 1 is on and 0 is off",
    violations=(0, 1),
    tests=(mechanisms.best_threshold,),
    coarse=[("10 0.05 0.7 0.5", BESIDE)],
)
def mechanism_2_information_lost(xp, broken=None):
    for n, d in SHAPES:
        best = mechanisms.best_threshold(
            TokenData(n=n, d=d, a=A0, c=C), TokenData(n=n, d=d, a=A1, c=C), M, "linear", normalised=bool(broken)
        )
        yield at_most(best.on_d1 - best.on_d0, 0.05, n=n, d=d, m=M)


def _raw_linear_tau(n):
    return float(C) * math.sqrt(float((1 + A0) * (1 + A1))) * n * math.log(n) ** 1.5


def _raw_tau(n, kernel):
    return _raw_linear_tau(n) if kernel == "linear" else n**2.4 * math.sqrt(math.log(n))


RAW_ADVANTAGE = 0.9989


RAW_WORKED = {
    ("linear", A0): 3.59658497e-5,
    ("linear", A1): 0.999020695,
    ("softmax", A0): 0,
    ("softmax", A1): 0.999023438,
}


@claim(
    "raw-worked-instance",
    mark="extension",
    source="none: repairs Mechanism 2",
    level="computed",
    chapter=CHAPTER,
    statement=r"Without normalisation both separate at a threshold that grows with $n$: linear at "
    r"$\tau' = c\sqrt{(1+a_0)(1+a_1)}\,n L^{3/2}$, exp at $\tau' = n^{2.4}\sqrt{L}$. With $m = 10$, $a_0 = 0.05$, "
    r"$a_1 = 0.7$, $c = 0.5$ the probabilities to fire on $D_0$ and $D_1$ are, at $n = 1024$, $d = 258$, "
    r"$3.59658497 \cdot 10^{-5}$ and $0.999020695$ for linear, $0$ and $0.999023438$ for exp. For both they differ "
    rf"by more than ${RAW_ADVANTAGE}$ at $n = 1024$, $4096$, $16384$, $t = 4$.",
    uses=["raw-column-law"],
    # The laws are step functions of τ' and of every parameter: nothing nearer moves one of their steps.
    control="τ' is larger by this part of itself",
    violations=(6.6e-4, 7.3e-4),
    tests=(mechanisms.fires_probability,),
    coarse=[("0.05 0.7 0.5", "the probabilities are step functions of it")],
)
def raw_worked_instance(xp, broken=None):
    n, factor = 1024, 1 + (broken or 0.0)
    for (kernel, a), digits in RAW_WORKED.items():
        found = mechanisms.fires_probability(
            TokenData(n=n, d=258, a=a, c=C), M, factor * _raw_tau(n, kernel), kernel, normalised=False
        )
        yield to_digits(found, digits, 9, n=n, d=258, m=M, a=float(a))
    for (n, d), kernel in product(SHAPES, tokens.KERNELS):
        advantage = _advantage(n, d, M, A1, factor * _raw_tau(n, kernel), kernel, False)
        yield at_least(advantage, RAW_ADVANTAGE, n=n, d=d, m=M)


SEPARATED, TOGETHER, SILENT = 0.94, 0.001, 0.0035


@claim(
    "only-exp-normalised-separates",
    mark="extension",
    source="none: repairs Mechanism 2",
    level="computed",
    chapter=CHAPTER,
    statement=r"At the card's $\tau$, of the four only exp normalised separates: "
    rf"$P[\text{{fires on }} D_1] - P[\text{{fires on }} D_0]$ is above ${SEPARATED}$ for it, and its absolute value "
    rf"is below ${TOGETHER}$ for the other three "
    rf"({TRIED}, $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$). "
    rf"Linear normalised fires on either with less than ${SILENT}$; the unnormalised ones fire on both, with "
    r"$\pi = \frac12$ on $D_0$, and on $D_1$ with $\frac12$ (linear) and $\frac58$ (exp), to nine digits.",
    uses=["raw-column-law", "main-theorem-worked-instance"],
    assumes="half of the way to τ', no sum of signs comes near the threshold: the laws stay as they are until then",
    control="the unnormalised linear threshold goes this part of the way from τ to τ'",
    violations=(0.47, 0.5),
    tests=(tokens.Law.fires, mechanisms.column_probability),
    coarse=[("0.05 0.7", BESIDE)],
)
def only_exp_normalised_separates(xp, broken=None):
    for (n, d), (kernel, normalised) in product(SHAPES, FOUR):
        tau, reached = _paper_tau(n), {"n": n, "d": d, "m": 10}
        if normalised:
            on_d0, on_d1 = (tokens.law(n, d, a, C, kernel).fires(M) for a in (A0, A1))
            if kernel == "softmax":
                yield at_least(on_d1 - on_d0, SEPARATED, **reached)
            else:
                yield at_most(max(on_d0, on_d1), SILENT, **reached)
                yield at_most(abs(on_d1 - on_d0), TOGETHER, **reached)
            continue
        if kernel == "linear":
            tau += (broken or 0.0) * (_raw_linear_tau(n) - tau)
        yield at_most(abs(_advantage(n, d, M, A1, tau, kernel, False)), TOGETHER, **reached)
        for a, pi in ((A0, 0.5), (A1, 0.5 if kernel == "linear" else 0.625)):
            found = mechanisms.column_probability(TokenData(n=n, d=d, a=a, c=C), tau, kernel, False)
            yield to_digits(found, pi, 9, **reached)


@claim(
    "ablation-best-threshold",
    mark="extension",
    source="none: repairs Mechanism 2",
    level="computed",
    chapter=CHAPTER,
    statement=r"At the best threshold for each $n$ three of the four separate. With $t = 4$, $m = 10$, $a_0 = 0.05$, "
    r"$a_1 = 0.7$, $c = 0.5$ the largest $P[\text{fires on } D_1] - P[\text{fires on } D_0]$ is above $0.85$ for exp "
    r"normalised, exp, and linear at $n = 248$, $1024$, $4096$, $16384$; for linear normalised it is below "
    r"$1.24/\sqrt{n}$. Normalising is what hides the mark of linear attention from this network.",
    uses=["raw-column-law"],
    assumes="thresholds between values of the two laws that differ by more than 10⁻⁹ of the largest",
    control="linear is normalised by α to the power 1 − this",
    violations=(2.2e-4, 2.4e-4),
    tests=(mechanisms.best_threshold,),
    coarse=[("0.05 0.7 0.5", BESIDE)],
)
def ablation_best_threshold(xp, broken=None):
    for (n, d), (kernel, normalised) in product(((248, 64), *SHAPES), FOUR):
        reached = {"n": n, "d": d, "m": M}
        if kernel == "linear" and normalised:
            advantage = _partly_normalised_advantage(n, d, 1 - (broken or 0))
            yield at_most(advantage, 1.24 / math.sqrt(n), **reached)
        else:
            best = mechanisms.best_threshold(
                TokenData(n=n, d=d, a=A0, c=C), TokenData(n=n, d=d, a=A1, c=C), M, kernel, normalised
            )
            yield at_least(best.on_d1 - best.on_d0, 0.85, **reached)


def _partly_normalised_advantage(n, d, power):
    """Largest P[fires on D_1] − P[fires on D_0] of linear attention that is divided by α to this power."""
    if power == 1:
        best = mechanisms.best_threshold(TokenData(n=n, d=d, a=A0, c=C), TokenData(n=n, d=d, a=A1, c=C), M, "linear")
        return best.on_d1 - best.on_d0
    laws = []
    for a in (A0, A1):
        _, mass, rows, _ = mechanisms.column_law(TokenData(n=n, d=d, a=a, c=C), "linear")
        alpha = np.array([[1 + float(a)], [1]]) * (n + float(a)) * math.log(n)  # of the marked row and of the others
        left = alpha ** (1 - power)
        laws.append((np.max(rows * left, axis=0), mass))
    steps = np.unique(np.concatenate([largest for largest, _ in laws]))
    tried = ((steps[1:] + steps[:-1]) / 2)[np.diff(steps) > mechanisms.APART * np.max(np.abs(steps))]
    on_d0, on_d1 = (1 - (1 - mechanisms.upper_tail(*law, tried)) ** M for law in laws)
    return float(np.max(on_d1 - on_d0))


ONE_EIGHTH = 0.1251  # the gain of exp tends to 1/8


LOW = 2


# At the first three sizes alone exp separates at θ = 2.4 · 10⁸; at the last one its outputs on D_0 pass every θ that
# those on D_1 reach at the first.
ONE_THRESHOLD = (*SHAPES, (36_000, 9002))


@claim(
    "one-threshold-for-every-n",
    mark="extension",
    source="none: repairs Mechanism 2",
    level="computed",
    chapter=CHAPTER,
    statement=r"Let $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$, $t = 4$. One threshold $\tau = \theta\sqrt{L}$ for "
    r"$n = 1024$, $4096$, $16384$ and $36000$ needs amplification and normalisation together. Exp normalised has a "
    rf"$P[\text{{fires on }} D_1] - P[\text{{fires on }} D_0]$ above ${SEPARATED}$ at each of these $n$, for "
    r"$\theta = c + 0.1$ and $m = 10$. For exp, linear and linear normalised, $m \in \{1, 10, 50\}$ and every "
    rf"$\theta > 0$ the difference is at most ${ONE_EIGHTH}$ at one or more of these $n$, and for $\theta \le {LOW}$ "
    r"at each of them.",
    uses=["only-exp-normalised-separates"],
    assumes="θ does not grow with n; thresholds between values of the laws that differ by more than 10⁻⁹ of θ",
    # A smaller c brings every output down together; the differences stay in their limits until steps change places.
    control="c is smaller by this",
    violations=(0.08, 0.087),
    tests=(mechanisms.column_law, mechanisms.upper_tail),
    coarse=[
        ("0.05 0.7 0.5 50", BESIDE),
        ("0.1", "the card's τ, which the library has; with a number near to it exp normalised separates as well"),
    ],
)
def one_threshold_for_every_n(xp, broken=None):
    c = C - exactly(broken)
    for kernel, normalised in FOUR[1:]:
        laws = [
            [mechanisms.column_law(TokenData(n=n, d=d, a=a, c=c), kernel, normalised)[:2] for a in (A0, A1)]
            for n, d in ONE_THRESHOLD
        ]
        roots = [math.sqrt(math.log(n)) for n, _ in ONE_THRESHOLD]
        laws = [[(v / root, mass) for v, mass in pair] for pair, root in zip(laws, roots, strict=True)]
        steps = np.unique(np.concatenate([[0.0], *(v[v > 0] for pair in laws for v, _ in pair)]))
        thetas, low = (steps[1:] + steps[:-1]) / 2, steps[:-1] < LOW
        told_apart = np.diff(steps) > mechanisms.APART * thetas
        thetas, low = thetas[told_apart], low[told_apart]
        tails = [[mechanisms.upper_tail(*law, thetas) for law in pair] for pair in laws]
        for m in (1, 10, 50):
            gains = np.array([(1 - pi0) ** m - (1 - pi1) ** m for pi0, pi1 in tails])
            yield at_most(float(np.max(np.min(gains, axis=0))), ONE_EIGHTH, n=(1024, 36_000), m=m)
            yield at_most(float(np.max(gains[:, low])), ONE_EIGHTH, n=(1024, 36_000), m=m)
    for n, d in ONE_THRESHOLD:
        on_d0, on_d1 = (tokens.law(n, d, a, C).fires(M) for a in (A0, A1))
        yield at_least(on_d1 - on_d0, SEPARATED, n=n, d=d, m=M)


@claim(
    "ablation-simulated",
    mark="extension",
    source="none: checks the four laws on matrices",
    level="sampled",
    chapter=CHAPTER,
    statement=r"Over 20000 random columns at $n = 104$, $d = 28$, $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$, matrices of "
    r"$D_0$ and $D_1$ exceed the threshold as often as the law says, under all four kinds of attention, at the card's "
    r"$\tau$ and at the best one: each $\pi$ lies in the Clopper–Pearson interval of level $1 - 10^{-9}$ around its "
    r"frequency.",
    uses=["raw-column-law"],
    control="the law's a is larger by this",
    violations=(0, 0.015, 0.02, 0.5),
    tests=(TokenData.matrix, mechanisms.outputs, signs, mechanisms.column_probability),
)
def ablation_simulated(xp, broken=None):
    rng, draws, (n, d) = generator(4100), 20_000, (104, 28)
    for kernel, normalised in FOUR:
        best = mechanisms.best_threshold(
            TokenData(n=n, d=d, a=A0, c=C), TokenData(n=n, d=d, a=A1, c=C), M, kernel, normalised
        ).tau
        for a in (A0, A1):
            data = TokenData(n=n, d=d, a=a, c=C, marked=n // 3)
            rows = to_numpy(mechanisms.outputs(data.matrix(xp), data.X(xp), kernel, normalised))
            largest = np.max(rows @ signs(rng, d, draws, np), axis=0)
            for tau in (_paper_tau(n), best):
                fired = int(np.sum(largest > tau))
                more = a + exactly(broken)
                law = mechanisms.column_probability(TokenData(n=n, d=d, a=more, c=C), tau, kernel, normalised)
                yield inside_clopper_pearson(fired, draws, law, n=n, d=d, a=float(a))


# Mechanism 3


def _first(n, a):
    """Return the first coordinate of normalised linear attention's output, a(1+a)/(n+a), over √L."""
    return a * (1 + a) / (n + a)


@claim(
    "mechanism-3-no-linear-classifier",
    mark="completed",
    source="Mechanism 3",
    level="exact",
    chapter=CHAPTER,
    statement=r"Linear attention's outputs on $D_0$ and $D_1$ overlap so that no linear classifier separates them: "
    r"along every direction, the first coordinate among them, the largest value on $D_0$ is at least the smallest "
    r"on $D_1$.",
    expect="refuted",
    uses=["values-in-closed-form", "linear-rows-equal"],
    control="a_1 is lower than 0.7 by this",
    violations=(0.5, 0.599, 0.6),
    tests="it computes one entry in fractions; values-in-closed-form has the library's",
)
def mechanism_3_no_linear_classifier(xp, broken=None):
    for n in (2, 3, 10, 1024, 10**6, 10**300):
        on_d0 = [_first(n, Fraction(a, 1000)) for a in (0, 1, 50, 99, 100)]
        on_d1 = [_first(n, a - exactly(broken)) for a in (A1, Fraction(1), Fraction(10), Fraction(n))]
        overlap = max(on_d0) / min(on_d1) - 1
        yield Case(overlap, reached={"n": n})


@claim(
    "first-coordinate-separates",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="verified",
    chapter=CHAPTER,
    statement=r"In exact arithmetic there is, for every $n$, one linear classifier of one row that is right on all of "
    r"$D_0$ and $D_1$, whatever $d$, $c$ and $j^*$ are: every $o_j$ of linear attention has first coordinate "
    r"$\frac{a(1+a)}{n+a}\sqrt{L}$, which increases with $a$, so $\frac{0.4}{n}\sqrt{L}$ lies above it on $D_0$ "
    r"and below it on $D_1$.",
    uses=["values-in-closed-form"],
    assumes="a_0 ≤ 0.1, a_1 ≥ 0.7",
    control="a_0 exceeds 0.1 by this",
    violations=(0.2, 0.21, 0.3),
    tests=(TokenData.matrix, values),
    coarse=[("0.4", BESIDE)],
)
def first_coordinate_separates(xp, broken=None):
    more, rng = exactly(broken), generator(4200)
    for (n, d), c in product(((2, 3), (6, 5), (40, 22), (248, 64)), (Fraction(1, 10), C, Fraction(9, 10))):
        theta = 0.4 / n * math.sqrt(math.log(n))
        for a in (Fraction(0), A0, GAP + more, A1, Fraction(3), Fraction(40)):
            data = TokenData(n=n, d=d, a=a, c=c, marked=int(rng.integers(n)))
            A = data.matrix(xp)
            first = to_numpy(values(A, A, A, data.X(xp), "linear"))[:, 0]
            closed = np.full(n, float(_first(n, a)) * math.sqrt(data.log_n))
            reached = {"n": n, "d": d, "a": float(a), "c": float(c)}
            yield equal(first, closed, rounding((1 + float(a)) ** 2 * data.log_n) * d, **reached)
            right = theta - first if a < A1 else first - theta
            yield Case(float(np.min(right)) / theta, reached=reached)
