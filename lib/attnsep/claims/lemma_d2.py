"""Lemma D.2: what softmax and linear attention make of the token data."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention import kernels, reference
from attnsep.attention.attend import attend, row_scores, values
from attnsep.attention.kernels import PAIR
from attnsep.claims.one_query_weights import EPS, rounding
from attnsep.claims.token_datasets import A1, C, _own, _reached, token_cases
from attnsep.ledger.framework import BESIDE, Case, at_least, claim, equal, exactly, generator
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData

CHAPTER = "lemma-d2"


def _scaled_matrix(data):
    """Return A/√L in Fractions, entry by entry from the definition."""
    return [
        [data.a * (i == data.marked), *(data.b * (i % (data.d - 2) == k) for k in range(data.d - 2)), data.c]
        for i in range(data.n)
    ]


# Lemma D.2


@claim(
    "lemma-d-2-scores",
    mark="completed",
    source="Lemma D.2",
    level="verified",
    chapter=CHAPTER,
    statement=r"Row $j^*$: $u_{\exp} = n^{(1+a)^2}$ at $j^*$ and $n^{1+a}$ elsewhere, "
    r"$u_{\mathrm{lin}} = (1+a)^2 L$ and $(1+a)L$. "
    r"Every other row: $u_{\exp} = n^{1+a}$ at $j^*$ and $n$ elsewhere, $u_{\mathrm{lin}} = (1+a)L$ and $L$. So "
    r"$\alpha_{\exp} = n^{(1+a)^2} + (n-1)n^{1+a}$ or $n^{1+a} + (n-1)n$, "
    r"$\alpha_{\mathrm{lin}} = (1+a)(n+a)L$ or $(n+a)L$.",
    uses=["all-ones-scores", "def-self-attention"],
    control="the matrices have a larger by this",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, row_scores),
)
def lemma_d_2_scores(xp, broken=None):
    for data in token_cases():
        A = _changed(data, a=broken).matrix(xp)
        scores = row_scores(A, A, data.X(xp))
        own, n, a = np.array(_own(data), dtype=float), data.n, float(data.a)
        for u, wanted, alpha in (
            (xp.exp(scores), n ** np.outer(own, own), n ** (own * (1 + a)) + (n - 1) * n**own),
            (scores, np.outer(own, own) * data.log_n, own * (n + a) * data.log_n),
        ):
            allowed = rounding((1 + a) ** 2 * data.log_n) * data.d
            yield Case(-_relative_gap(to_numpy(u), wanted), allowed, _reached(data))
            yield Case(-_relative_gap(to_numpy(xp.sum(u, axis=1)), alpha), allowed, _reached(data))


def _changed(data, a=None):
    """Return the data with a larger a."""
    more = Fraction(str(a or 0))
    return TokenData(n=data.n, d=data.d, a=data.a + more, c=data.c, marked=data.marked)


def _relative_gap(found, wanted):
    return float(np.max(np.abs(found - wanted) / wanted))


@claim(
    "lemma-d-2-weights",
    mark="completed",
    source="Lemma D.2",
    level="verified",
    chapter=CHAPTER,
    statement=r"Softmax gives the marked token the weight $p = 1/(1+(n-1)n^{-a(1+a)})$ in its own row and "
    r"$q = 1/(1+(n-1)n^{-a})$ in every other; linear attention gives it $p_{\mathrm{lin}} = (1+a)/(n+a)$ in every row. "
    r"All other tokens of a row share the rest equally.",
    uses=["lemma-d-2-scores"],
    control="the matrices have a larger by this",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, row_scores, kernels.weights, tokens.weights),
)
def lemma_d_2_weights(xp, broken=None):
    for data, name in product(token_cases(), PAIR):
        A, j = _changed(data, a=broken).matrix(xp), data.marked
        f, closed = to_numpy(kernels.weights(row_scores(A, A, data.X(xp)), name)), tokens.weights(data.n, data.a, name)
        wanted = np.full_like(f, closed.not_q / (data.n - 1))
        wanted[j, :], wanted[:, j], wanted[j, j] = closed.not_p / (data.n - 1), closed.q, closed.p
        allowed = rounding((1 + float(data.a)) ** 2 * data.log_n) * data.d
        yield Case(-_relative_gap(f, wanted), allowed, _reached(data))


@claim(
    "linear-rows-equal",
    mark="completed",
    source="Lemma D.2",
    level="exact",
    chapter=CHAPTER,
    statement=r"Under linear attention all rows $f_j$ are equal, and so are all outputs $o_j$: "
    r"the scores $\gamma_j \gamma_i L$ have rank one, and normalising removes $\gamma_j$. It cannot see which "
    r"token asks.",
    uses=["all-ones-scores", "def-self-attention"],
    control="X = 1 1ᵀ + this × I",
    violations=(0, 1e-12),
    tests=(reference.matmul, reference.transpose, reference.weights),
)
def linear_rows_equal(xp, broken=None):
    for data in token_cases():
        if data.n <= 12:
            A, X = (
                _scaled_matrix(data),
                [[1 + exactly(broken) * (p == q) for q in range(data.d)] for p in range(data.d)],
            )
            scores = reference.matmul(reference.matmul(A, X), reference.transpose(A))
            rows = [reference.weights(row, "linear") for row in scores]
            outputs = reference.matmul(rows, A)
            gammas = [1 + data.a * (i == data.marked) for i in range(data.n)]
            shares = [gamma / Fraction(sum(gammas)) for gamma in gammas]
            output = [
                sum(share * entry for share, entry in zip(shares, column, strict=True))
                for column in zip(*A, strict=True)
            ]
            products = [[first * second for second in gammas] for first in gammas]
            pairs = (scores, products), (rows, [shares] * data.n), (outputs, [output] * data.n)
            yield Case(-max(_gap(*pair) for pair in pairs), reached=_reached(data))


def _gap(found, wanted):
    """Return the largest difference of two matrices, entry by entry."""
    return max(abs(x - y) for rows in zip(found, wanted, strict=True) for x, y in zip(*rows, strict=True))


@claim(
    "values-in-closed-form",
    mark="completed",
    source="section 6; Lemma D.2",
    level="verified",
    chapter=CHAPTER,
    statement=r"With weight $w$ on $j^*$ and $r = (1-w)/(n-1)$ on every other token: "
    r"$o_j/\sqrt{L} = (a w,\ \dots,\ c)$, with $b(w + (t-1)r)$ at the class $k^*$ of $j^*$ and "
    r"$b\,t\,r$ at every other class.",
    uses=["lemma-d-2-weights"],
    control="the matrices have a larger by this",
    violations=(1e-18, 1e-12),
    tests=(TokenData.matrix, values, tokens.Law.values),
)
def values_in_closed_form(xp, broken=None):
    for data, kernel in product(token_cases(), tokens.KERNELS):
        A = _changed(data, a=broken).matrix(xp)
        found, wanted = to_numpy(values(A, A, A, data.X(xp), kernel)), np.empty((data.n, data.d))
        for j in range(data.n):
            value = tokens.Law(data, kernel).values()[j != data.marked]
            wanted[j], wanted[j, data.marked_class + 1] = value.others, value.own
            wanted[j, 0], wanted[j, -1] = value.first, value.last
        yield equal(found, wanted, rounding((1 + float(data.a)) ** 2 * data.log_n) * data.d, **_reached(data))


@claim(
    "attention-streams",
    mark="extension",
    source="none: how the book computes",
    level="verified",
    chapter=CHAPTER,
    statement=r"All $o_j$ come from blocks of scores (softmax) or from $A_2^\top A_3$ (linear), "
    r"and equal rows of $A_1 X$ are computed once: "
    r"the results are those of the $n^2 \times d^2$ matrix $A_1 \otimes A_2$ and of all $n^2$ weights.",
    uses=["scores-without-kronecker", "def-self-attention"],
    control="the scores are multiplied by 1 + this (softmax), or one token's value is (linear)",
    violations=(1e-18, 1e-12),
    tests=(reference.values, attend),
)
def attention_streams(xp, broken=None):
    rng = generator(3300)
    for n, d in ((1, 1), (2, 3), (5, 4), (9, 3)):
        A1, A2, A3, X = (rng.uniform(0, 1, shape) for shape in ((n, d), (n, d), (n, d), (d, d)))
        A1[-1] = A1[0]
        for kernel, unique in product(tokens.KERNELS, (True, False)):
            literal = np.asarray(reference.values(A1, A2, A3, X, kernel))
            q, v = A1 @ X * (1 + (broken or 0.0)), A3.copy()
            v[0] *= 1 + (broken or 0.0)
            found = to_numpy(attend(xp.asarray(q), xp.asarray(A2), xp.asarray(v), kernel=kernel, unique=unique))
            yield equal(found, literal, 8 * n * d**2 * EPS, n=n, d=d)


DIFFER = 0.587


@claim(
    "mechanisms-differ",
    mark="completed",
    source="First experiments 1",
    level="verified",
    chapter=CHAPTER,
    statement=r"On $D_1$ the two kinds of attention give different outputs: with $a_1 = 0.7$, the first "
    r"entries of their $o_{j^*}$ "
    rf"differ by $a_1\sqrt{{L}}\,(p - p_{{\mathrm{{lin}}}})$, more than ${DIFFER}\,a_1\sqrt{{L}}$ for $n \ge 24$.",
    uses=["values-in-closed-form"],
    assumes="a = 0.7; p grows from n = 7 on and p_lin falls, so n = 24 decides",
    control="the matrices have a lower by this",
    violations=(1e-18, 1e-12, 0.1),
    tests=(TokenData.matrix, values, tokens.weights),
    coarse=[("0.7", BESIDE)],
)
def mechanisms_differ(xp, broken=None):
    for n, d in ((24, 26), (96, 26), (1024, 258)):
        data = TokenData(n=n, d=d, a=A1, c=C)
        A, X = _changed(data, a=-(broken or 0)).matrix(xp), data.X(xp)
        softmax, linear = (float(values(A, A, A, X, kernel)[0, 0]) for kernel in tokens.KERNELS)
        scale, allowed = float(A1) * math.sqrt(math.log(n)), rounding((1 + float(A1)) ** 2 * math.log(n)) * d
        p, p_lin = (tokens.weights(n, A1, kernel).p for kernel in tokens.KERNELS)
        yield equal(softmax - linear, scale * (p - p_lin), allowed, n=n, d=d)
        yield at_least(softmax - linear, DIFFER * scale, n=n, d=d)
    for n in (*range(24, 200), 10**6, 10**300):
        p, p_lin = (tokens.weights(n, A1, kernel).p for kernel in tokens.KERNELS)
        yield at_least(p - p_lin, DIFFER, n=n)
