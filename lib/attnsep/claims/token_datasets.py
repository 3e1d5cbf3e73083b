"""The token data: its weights and outputs, each beside real matrices."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import row_scores
from attnsep.attention.kernels import Softmax, softmax
from attnsep.claims.one_query_weights import EPS, rounding
from attnsep.ledger.framework import BESIDE, Case, at_most, claim, definition, equal
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData

CHAPTER = "token-datasets"


A0, A1, C, GAP = Fraction(1, 20), Fraction(7, 10), Fraction(1, 2), Fraction(1, 10)


SMALL = ((2, 3), (3, 5), (6, 5), (12, 6), (40, 22))


STRENGTHS = (Fraction(0), A0, Fraction(1, 2), A1, Fraction(3, 2))


definition(
    "def-token-data",
    mark="completed",
    source="Limitations (n = (d − 2)t); section 6 (τ); section 1.1",
    chapter=CHAPTER,
    statement=r"Let $0 < c < 1$, $b = 1 - c$, $a \ge 0$, $n = (d-2)t \ge 2$, $L = \log n$. "
    r"$A = A_1 = A_2 = A_3 \in \mathbb{R}^{n \times d}$ has first column $a\sqrt{L}\,e_{j^*}$ for one marked token "
    r"$j^*$, then $t$ stacked copies of $b\sqrt{L}\,I_{d-2}$, and last column $c\sqrt{L}\,\mathbf{1}_n$; "
    r"$X = \mathbf{1}_d \mathbf{1}_d^\top$. $D_0$: $a = a_0 \in [0, 0.1]$. $D_1$: $a = a_1 \ge 0.7$.",
)


definition(
    "def-threshold",
    mark="source",
    source="section 6",
    chapter=CHAPTER,
    statement=r"$\tau = (c + 0.1)\sqrt{\log n}$.",
)


definition(
    "def-self-attention",
    mark="completed",
    source="section 3.3; Lemma D.2",
    chapter=CHAPTER,
    statement=r"With $x = \mathrm{vec}(X)$ and the blocks $\mathsf{A}_j$ of $A_1 \otimes A_2$: "
    r"$u_j = \exp(\mathsf{A}_j x)$ (softmax) or $\mathsf{A}_j x$ (linear), "
    r"$\alpha_j = \langle u_j, \mathbf{1}_n \rangle$, $f_j = u_j / \alpha_j$, $o_j = A_3^\top f_j \in \mathbb{R}^d$.",
)


def token_cases():
    """Yield token data of every small size, strength and constant, the marked token at varying places."""
    for number, ((n, d), a, c) in enumerate(product(SMALL, STRENGTHS, (Fraction(1, 10), C, Fraction(9, 10)))):
        yield TokenData(n=n, d=d, a=a, c=c, marked=number % n)


def _reached(data):
    return {"n": data.n, "d": data.d, "t": data.t, "a": float(data.a), "c": float(data.c)}


def _own(data):
    """Return every token's row sum divided by √L: 1 + a for the marked token, else 1."""
    return [1 + data.a * (i == data.marked) for i in range(data.n)]


# The data


@claim(
    "token-classes-equal",
    mark="completed",
    source="Break condition of Mechanism 3: n = (d − 2)t",
    level="exact",
    chapter=CHAPTER,
    statement=r"Every one of the $d-2$ classes has exactly $t$ of the $n = (d-2)t$ tokens.",
    uses=["def-token-data"],
    control="n = (d − 2)t + this, with d ≥ 4",
    violations=(0, 1),
    tests=(TokenData.classes,),
)
def token_classes_equal(xp, broken=None):
    for data in token_cases():
        if broken is None or data.d > 3:
            classes = [*map(int, to_numpy(data.classes(xp))), *range(broken or 0)]
            off = max(abs(classes.count(k) - data.t) for k in range(data.d - 2))
            yield Case(-off, reached=_reached(data))


@claim(
    "all-ones-scores",
    mark="completed",
    source="Lemma D.2",
    level="verified",
    chapter=CHAPTER,
    statement=r"With $X = \mathbf{1}_d\mathbf{1}_d^\top$ the score of token $i$ for token $j$ is $\gamma_j "
    r"\gamma_i L$, the product of two row sums of $A$: $\gamma_i\sqrt{L}$ with $\gamma_i = 1+a$ for the marked token "
    r"and $1$ for all others.",
    uses=["def-token-data", "tensor-trick"],
    control="X = 1 1ᵀ + this × I",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, row_scores),
)
def all_ones_scores(xp, broken=None):
    for data in token_cases():
        A, own = data.matrix(xp), np.array(_own(data), dtype=float)
        X = data.X(xp) + (broken or 0.0) * xp.eye(data.d, dtype=xp.float64)
        found = to_numpy(row_scores(A, A, X))
        yield equal(found, data.log_n * np.outer(own, own), 8 * EPS * data.d, **_reached(data))


@claim(
    "identity-weight",
    mark="completed",
    source="Break condition of Mechanism 3",
    level="verified",
    chapter=CHAPTER,
    statement=r"With $X = I$ the marked row gives itself the weight $1/(1 + (t-1)n^{-a^2} + (n-t)n^{-a^2-b^2})$.",
    uses=["def-token-data", "def-self-attention"],
    control="X = I + this × 1 1ᵀ",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, row_scores, Softmax.weights),
)
def identity_weight(xp, broken=None):
    for data in token_cases():
        if data.a > 0:
            A, n, a, b = data.matrix(xp), data.n, float(data.a), float(data.b)
            X = xp.eye(data.d, dtype=xp.float64) + (broken or 0.0) * data.X(xp)
            found = to_numpy(softmax(row_scores(A, A, X)))[data.marked, data.marked]
            wanted = 1 / (1 + (data.t - 1) * n ** -(a**2) + (n - data.t) * n ** -(a**2 + b**2))
            yield equal(found, wanted, rounding(8 * data.log_n), **_reached(data))


@claim(
    "identity-weights-fail",
    mark="completed",
    source="Break condition of Mechanism 3",
    level="computed",
    chapter=CHAPTER,
    statement=r"With $X = I$ the marked row would give itself the weight "
    r"$1/(1 + (t-1)n^{-a^2} + (n-t)n^{-a^2-b^2})$, which tends to 0 if $a^2 + b^2 < 1$: "
    r"for $a = 0.7$, $c \ge 0.3$ and $t \le 1000$ it is below $1.01 \cdot 10^{-6}$ at $n = 10^{300}$, "
    r"where $X = \mathbf{1}_d\mathbf{1}_d^\top$ gives more than $1 - 1.01 \cdot 10^{-57}$.",
    uses=["def-token-data", "identity-weight"],
    assumes="a² + b² < 1; the weight falls as c or t grows, so c = 0.3 and t = 1 decide; checked at n = 10³⁰⁰",
    control="c is lower than 0.3 by this",
    violations=(9e-6, 1.1e-5),
    tests=(tokens.weights,),
    coarse=[("0.7 1000 10^300", BESIDE)],
)
def identity_weights_fail(xp, broken=None):
    log_n = 300 * math.log(10)
    for c, t in product((0.3, 0.5, 0.9) if broken is None else (0.3 - broken,), (1, 4, 1000)):
        b, a = 1 - c, float(A1)
        log_others = math.log((t - 1) * math.exp(-(a**2) * log_n) + math.exp((1 - a**2 - b**2) * log_n))
        yield at_most(math.exp(-max(log_others, 0)), 1.01e-6, c=c, t=t)
        yield at_most(tokens.weights(10**300, A1).not_p, 1.01e-57, c=c, t=t)
