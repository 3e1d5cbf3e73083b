"""The main theorem: with which probabilities the networks fire, and the sizes that make them certain."""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product

from attnsep.attention.attend import values
from attnsep.claims.one_column import SHAPES, stated_bound
from attnsep.claims.one_query_weights import BOUND_ROUNDING
from attnsep.claims.token_datasets import A0, A1, GAP, C
from attnsep.ledger.framework import BESIDE, STAY, Case, at_least, at_most, claim, equal, exactly, generator, to_digits
from attnsep.ledger.sampled import LEVEL, inside_clopper_pearson
from attnsep.paper import tokens
from attnsep.paper.network import fires, signs
from attnsep.paper.tokens import TokenData

CHAPTER = "main-theorem"

# The main theorem


@claim(
    "main-theorem-softmax-fires",
    mark="completed",
    source="section 1.1",
    level="computed",
    chapter=CHAPTER,
    statement=r"If $a_1 p > 0.1$, then $\pi \ge \frac18$ for softmax, with equality at $n = 2$, $d = 3$, $a_1 = 0.7$, "
    r"$c = 0.5$. So $P[F_{\exp} \text{ fires on } D_1] \ge 1 - (7/8)^m \ge 1 - e^{-m/8}$.",
    uses=["column-law", "def-network-tokens"],
    assumes="a p > 0.1",
    control="a is lower than 0.7 by this, at n = 65536 and d = 16386",
    violations=(0.145, 0.15),
    tests=(tokens.law, tokens.Law.column_probability, tokens.weights),
    coarse=[("0.7 0.5", BESIDE)],
)
def main_theorem_softmax_fires(xp, broken=None):
    shapes = ((3, 2), (3, 7), *SHAPES) if broken is None else ((16386, 4),)
    strengths = (A1, 1, 2, 10) if broken is None else (A1 - Fraction(str(broken)),)
    for (d, t), a, c in product(shapes, strengths, (Fraction(1, 100), Fraction(1, 10), C, Fraction(99, 100))):
        pi = tokens.law((d - 2) * t, d, a, c).column_probability()
        yield at_least(pi, 0.125, 1e-12, n=(d - 2) * t, d=d, t=t, a=float(a), c=float(c))
    if broken is None:
        yield at_most(
            tokens.law(2, 3, A1, C).column_probability(), 0.125, 1e-12, n=2, d=3, t=2, a=float(A1), c=float(C)
        )
        for d, t in ((3, 2), (10, 1), (60, 16), (258, 4)):
            a = _least_seen((d - 2) * t)
            pi = tokens.law((d - 2) * t, d, a, C).column_probability()
            yield at_least(pi, 0.125, 1e-12, n=(d - 2) * t, d=d, t=t, a=float(a), c=float(C))
        for m in (1, 10, 50):
            proved = 1 - (7 / 8) ** m
            yield at_least(tokens.law(2, 3, A1, C).fires(m), proved, 1e-12, n=2, d=3, m=m)
            yield at_least(proved, -math.expm1(-m / 8), 1e-12, m=m)


def _least_seen(n):
    """Return the least a, to 9 decimals, with a p > 0.1."""
    low, high = 0, 10**9
    while high - low > 1:
        middle = (low + high) // 2
        a = Fraction(middle, 10**9)
        low, high = (low, middle) if a * Fraction(tokens.weights(n, a).p) > GAP else (middle, high)
    return Fraction(high, 10**9)


LEAST_P = 0.627


@claim(
    "main-theorem-mark-is-seen",
    mark="completed",
    source="section 1.1",
    level="computed",
    chapter=CHAPTER,
    statement=rf"For $a_1 \ge 0.7$ and every $n \ge 2$: $p \ge {LEAST_P}$, so $a_1 p > 0.1$. "
    r"The smallest $p$ at $a_1 = 0.7$ is at $n = 6$.",
    uses=["lemma-d-2-weights"],
    assumes="a ≥ 0.7; p grows with a, and with n from 7 on",
    control="a is lower by this",
    violations=(7.4e-4, 8.1e-4),
    tests=(tokens.weights,),
    coarse=[("0.7", BESIDE), ("0.1", "the gap of τ, which is what is needed; a p is at least 0.438")],
)
def main_theorem_mark_is_seen(xp, broken=None):
    for a in (A1, Fraction(71, 100), 1, 5):
        ps = {n: tokens.weights(n, a - exactly(broken)).p for n in (*range(2, 300), 10**4, 10**50, 10**300)}
        yield at_least(min(ps.values()), LEAST_P, a=float(a), n=min(ps, key=ps.get))
        yield at_least(float(a) * min(ps.values()), float(GAP), a=float(a), n=min(ps, key=ps.get))
        if a == A1:
            yield at_most(ps[6], min(p for n, p in ps.items() if n != 6), a=float(a), n=6)


@claim(
    "main-theorem-softmax-silent",
    mark="completed",
    source="section 1.1",
    level="computed",
    chapter=CHAPTER,
    statement=r"$P[F_{\exp} \text{ fires on } D_0] \le "
    r"m \sum_{w \in \{p, q\}} \exp\bigl(-\frac{(0.1 - a_0 w)^2}{2 b^2 Q_w}\bigr)$, with "
    r"$Q_w = (w + (t-1)r)^2 + (d-3)(t r)^2$ and $r = \frac{1-w}{n-1}$.",
    uses=["column-hoeffding", "def-network-tokens"],
    assumes="checked where the bound is below 1",
    control="the threshold's gap is smaller by this",
    violations=(7e-4, 8e-4),
    tests=(tokens.law, tokens.Law.fires_bounds),
)
def main_theorem_softmax_silent(xp, broken=None):
    yield from _silent((0, A0, GAP), "softmax", broken)


@claim(
    "main-theorem-linear-silent",
    mark="completed",
    source="section 1.1",
    level="computed",
    chapter=CHAPTER,
    statement=r"On $D_0$, and on $D_1$ for $n > 9a_1 + 10a_1^2$: $P[F_{\mathrm{lin}} \text{ fires}] \le "
    r"m \exp\bigl(-\frac{(0.1 - a w)^2}{2 b^2 Q_w}\bigr)$ with $w = (1+a)/(n+a)$ and "
    r"the same $Q_w$ as in (ii).",
    uses=["column-hoeffding", "linear-rows-equal"],
    assumes="n > 9a + 10a²; checked where the bound is below 1",
    control="the threshold's gap is smaller by this",
    violations=(7e-4, 8e-4),
    tests=(tokens.law, tokens.Law.fires_bounds),
)
def main_theorem_linear_silent(xp, broken=None):
    yield from _silent((0, A0, GAP, A1, 1, 3), "linear", broken)
    for a in (A1, Fraction(3, 2), Fraction(3)):  # where the condition ends, a w is 0.1
        for n in range(math.floor(_seen_up_to(a)) - 1, math.floor(_seen_up_to(a)) + 3):
            same = (a * (1 + a) / (n + a) < GAP) == (n > _seen_up_to(a))
            yield Case(1 if same else -1, reached={"n": n, "a": float(a)})


def _seen_up_to(a):
    return 9 * a + 10 * a**2


def _silent(strengths, kernel, broken):
    for (d, t), a, c, m in product(SHAPES, strengths, (Fraction(1, 5), C, Fraction(4, 5)), (1, 10)):
        n = (d - 2) * t
        if kernel == "softmax" or n > _seen_up_to(a):
            bound = m * stated_bound(n, t, [(t, d - 3)], a, c, kernel)
            if not 0 < bound < 1:  # 1 is true of every probability and says nothing, 0 is below the least double
                continue
            reached = {"n": n, "d": d, "t": t, "m": m, "a": float(a), "c": float(c)}
            yield equal(tokens.law(n, d, a, c, kernel).fires_bounds(m)[1], bound, BOUND_ROUNDING, **reached)
            error = tokens.law(n, d, a, c, kernel, GAP - exactly(broken)).fires(m)
            yield at_most(error, bound, **reached)


@claim(
    "silent-for-certain",
    mark="completed",
    source="section 6: τ",
    level="exact",
    chapter=CHAPTER,
    statement=r"If $a + b \le 0.1$, no signs make either network fire, whatever $n$ and $d$.",
    uses=["column-law"],
    assumes="a + b ≤ 0.1",
    control="c is lower by this",
    violations=(0, 1e-9),
    tests=(tokens.law, tokens.Law.column_probability),
)
def silent_for_certain(xp, broken=None):
    for (d, t), a, kernel in product(((3, 2), *SHAPES[:3]), (0, A0, Fraction(9, 100)), tokens.KERNELS):
        c = 1 - GAP + a - exactly(broken)
        pi = tokens.law((d - 2) * t, d, a, c, kernel).column_probability()
        yield Case(-Fraction(pi), reached={"n": (d - 2) * t, "d": d, "a": float(a), "c": float(c)})


WORKED = {
    (A0, "softmax"): 0.00346450383,
    (A1, "softmax"): 0.943686969,
    (A0, "linear"): 0.00346450383,
    (A1, "linear"): 0.00321684311,
}


@claim(
    "main-theorem-worked-instance",
    mark="completed",
    source="section 1.1",
    level="computed",
    chapter=CHAPTER,
    statement=r"At $n = 1024$, $d = 258$, $m = 10$, $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$ the "
    r"probabilities to fire are, "
    rf"to nine digits, ${WORKED[A0, 'softmax']}$ ($F_{{\exp}}$ on $D_0$), ${WORKED[A1, 'softmax']}$ "
    rf"($F_{{\exp}}$ on $D_1$), ${WORKED[A0, 'linear']}$ ($F_{{\mathrm{{lin}}}}$ on $D_0$), "
    rf"${WORKED[A1, 'linear']}$ ($F_{{\mathrm{{lin}}}}$ on $D_1$).",
    uses=["column-law", "def-network-tokens"],
    # The laws are step functions of every parameter: nothing nearer moves one of their steps.
    control="the threshold's gap is larger by this",
    violations=(6.6e-4, 7.3e-4),
    tests=(tokens.law, tokens.Law.fires),
    coarse=[("0.05 0.7 0.5", "the probabilities are step functions of it")],
)
def main_theorem_worked_instance(xp, broken=None):
    for (a, kernel), digits in WORKED.items():
        found = tokens.law(1024, 258, a, C, kernel, GAP + exactly(broken)).fires(10)
        yield to_digits(found, digits, 9, n=1024, d=258, m=10, a=float(a))


RIGHT = {"softmax": "0.920", "linear": "0.512"}


@claim(
    "main-theorem-classifies",
    mark="completed",
    source="First experiments 2; section 1.1",
    level="sampled",
    chapter=CHAPTER,
    statement=r"Over 1000 draws of $Y$ at $n = 104$, $d = 106$, $m = 9$, $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$, real "
    r"matrices of $D_0$ and $D_1$ make both networks fire as often as the exact law says: each probability lies in "
    r"the Clopper–Pearson interval of level "
    r"$1 - 10^{-9}$ around its frequency. By that law the rule “$D_1$ if it fires” is right with probability "
    rf"${RIGHT['softmax']}$ with $F_{{\exp}}$, and with probability ${RIGHT['linear']}$ with $F_{{\mathrm{{lin}}}}$, "
    rf"to three "
    r"digits.",
    uses=["column-law", "def-network-tokens", "values-in-closed-form"],
    control="the network has more columns than the law, by this",
    violations=(2, 3, 40),
    tests=(TokenData.matrix, values, signs, fires, tokens.law, tokens.Law.fires),
    coarse=[("1000 0.05 0.7 0.5", BESIDE), LEVEL],
)
def main_theorem_classifies(xp, broken=None):
    rng, draws, (n, d, m) = generator(3600), 1000, (104, 106, 9)
    for kernel in tokens.KERNELS:
        right = 0
        for a in (A0, A1):
            data = TokenData(n=n, d=d, a=a, c=C, marked=n // 2)
            A = data.matrix(xp)
            rows = values(A, A, A, data.X(xp), kernel)
            fired = sum(fires(rows, signs(rng, d, m + (broken or 0), xp), data.tau) for _ in range(draws))
            law = tokens.law(n, d, a, C, kernel).fires(m)
            yield inside_clopper_pearson(fired, draws, law, n=n, d=d, m=m, a=float(a), law=law)
            right += (law if a == A1 else 1 - law) / 2
        yield Case(-float(f"{right:.3f}" != RIGHT[kernel]), reached={"n": n, "d": d, "m": m})


SIZES = {
    ("0.1", "0.5", 1): (106, 108, 9),
    ("0.1", "0.5", 4): (376, 96, 8),
    ("0.01", "0.5", 1): (236, 238, 17),
    ("0.01", "0.5", 4): (916, 231, 17),
    ("0.001", "0.5", 1): (361, 363, 25),
    ("0.001", "0.5", 4): (1416, 356, 25),
    ("0.1", "0.9", 1): (19, 21, 9),
    ("0.01", "0.9", 1): (25, 27, 17),
    ("0.001", "0.9", 1): (31, 33, 25),
}


SIZES_BY_BOUND = {
    ("0.1", "0.5", 1): (296, 298, 18),
    ("0.01", "0.5", 1): (445, 447, 35),
    ("0.001", "0.5", 1): (580, 582, 52),
}


def _listed(table, c, t):
    return ", ".join(f"${sizes}$" for (_, *shape), sizes in table.items() if shape == [c, t])


@claim(
    "main-theorem-sizes",
    mark="completed",
    source="section 1.1",
    level="computed",
    chapter=CHAPTER,
    statement=r"With $a_0 = 0.05$, $a_1 = 0.7$ and $\delta = 0.1, 0.01, 0.001$ the smallest "
    rf"sufficient $(n, d, m)$ is exactly {_listed(SIZES, '0.5', 1)} at $c = 0.5$, $t = 1$; "
    rf"{_listed(SIZES, '0.5', 4)} at $c = 0.5$, $t = 4$; {_listed(SIZES, '0.9', 1)} at $c = 0.9$, $t = 1$. "
    rf"By the bound it is {_listed(SIZES_BY_BOUND, '0.5', 1)} at $c = 0.5$, $t = 1$.",
    uses=["main-theorem-softmax-fires", "main-theorem-softmax-silent", "main-theorem-linear-silent", "column-law"],
    # Sizes are whole numbers, and the laws behind them step functions of a1: nothing nearer changes one of them.
    control="a1 is lower by this",
    violations=(0.0086, 0.0094),
    tests=(tokens.sizes,),
    coarse=[("0.05 0.7 0.1 0.01 0.001 0.5 0.9", STAY)],
)
def main_theorem_sizes(xp, broken=None):
    for by, table in (("exact", SIZES), ("bound", SIZES_BY_BOUND)):
        for (delta, c, t), wanted in table.items():
            found = tokens.sizes(delta, A0, A1 - exactly(broken), c, t, by=by)
            n, d, m = found
            yield Case(0 if found == wanted else -1, reached={"n": n, "d": d, "m": m, "t": t, "delta": float(delta)})


@lru_cache
def _sizes_by_bound(delta, a0, a1, c, t):
    return tokens.sizes(delta, a0, a1, c, t, by="bound")


@claim(
    "main-theorem",
    mark="completed",
    source="section 1.1",
    level="computed",
    chapter=CHAPTER,
    statement=r"For $a_0 \le 0.1$, $a_1 \ge 0.7$, $0 < c < 1$, $t \ge 1$ and every $\delta > 0$ some "
    r"$d$, $n = (d-2)t$ and $m$ "
    r"make all four errors at most $\delta$: with probability at least $1 - \delta$ each, $F_{\exp}$ "
    r"fires on $D_1$, is silent "
    r"on $D_0$, and $F_{\mathrm{lin}}$ is silent on both. $F_{\exp}$ distinguishes $D_0$ and $D_1$, "
    r"$F_{\mathrm{lin}}$ does not.",
    uses=[
        "main-theorem-softmax-fires",
        "main-theorem-mark-is-seen",
        "main-theorem-softmax-silent",
        "main-theorem-linear-silent",
    ],
    assumes="checked for a0 ≤ 0.1, a1 ≥ 0.7, δ ≥ 0.001 at the sizes that the bounds promise",
    # At the sizes that the bounds promise the exact errors are far below δ, so there is this much room.
    control="d is smaller by the factor 1 + this, at the same t and m",
    violations=(0.14, 0.155),
    tests=(tokens.sizes, tokens.errors),
    coarse=[("0.1", "the theorem is true for every a_0 below 1/φ; the sizes that are tried need a_0 w < 0.1 alone")],
)
def main_theorem(xp, broken=None):
    constants = ((C, 1), (C, 4), ("0.9", 1), ("0.9", 4), ("0.2", 1))
    for delta, (a0, a1), (c, t) in product((0.1, 0.001), ((0, A1), (A0, A1), (GAP, 2)), constants):
        _, d, m = _sizes_by_bound(delta, a0, a1, c, t)
        d = 2 + max(2, math.floor((d - 2) / (1 + (broken or 0))))
        n = (d - 2) * t
        yield at_most(max(tokens.errors(n, d, m, a0, a1, c)), delta, n=n, d=d, m=m, t=t, delta=delta, a1=float(a1))


@claim(
    "token-sizes-not-monotone",
    mark="extension",
    source="none: about sizes",
    level="computed",
    chapter=CHAPTER,
    statement=r"With $a_0 = 0.05$, $a_1 = 0.7$, $c = 0.5$, $t = 4$ and $\delta = 0.1$, $m = 8$ "
    r"columns suffice at $d = 96$; "
    r"at $d = 97$ no $m$ does.",
    uses=["main-theorem-sizes"],
    control="the second d is larger by this",
    violations=(1,),
    tests=(tokens.errors,),
)
def token_sizes_not_monotone(xp, broken=None):
    delta, d = 0.1, 97 + (broken or 0)
    yield at_most(max(tokens.errors(376, 96, 8, A0, A1, C)), delta, d=96)
    # The first m that softmax needs on D_1; from it on the other errors only grow.
    m = next(m for m in range(1, 100) if tokens.errors(4 * (d - 2), d, m, A0, A1, C).softmax_silent_on_d1 <= delta)
    yield at_least(max(tokens.errors(4 * (d - 2), d, m, A0, A1, C)[1:]), delta, d=d)


@claim(
    "a-half-is-too-weak",
    mark="completed",
    source="First experiments 3: a1 is varied, no range is shown",
    level="computed",
    chapter=CHAPTER,
    statement=r"With $a_1 = 0.5$, $c = 0.5$, $t = 4$, $m = 10$ the probability that $F_{\exp}$ fires "
    r"on $D_1$ sinks below "
    r"$0.73$, $0.65$, $0.006$, $3\cdot 10^{-29}$ at $n = 1024, 4096, 16384, 65536$.",
    uses=["column-law"],
    assumes="a1 = 0.5",
    control="a1 is larger by this",
    violations=(3.8e-5, 4.3e-5),
    tests=(tokens.law, tokens.Law.fires),
    coarse=[("0.5", BESIDE)],
)
def a_half_is_too_weak(xp, broken=None):
    for n, limit in ((1024, 0.73), (4096, 0.65), (16384, 0.006), (65536, 3e-29)):
        a = C + exactly(broken)
        yield at_most(tokens.law(n, n // 4 + 2, a, C).fires(10), limit, n=n, d=n // 4 + 2, a=float(a))
