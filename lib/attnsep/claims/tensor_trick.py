"""Section 1.1 of the book: scores by the Kronecker product, and without it."""

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention import reference
from attnsep.attention.attend import row_scores
from attnsep.ledger.framework import Case, claim, definition, equal, generator

CHAPTER = "tensor-trick"


SIZES = ((1, 1), (2, 1), (1, 3), (2, 2), (3, 2), (2, 3), (4, 3), (5, 4))


definition(
    "def-kronecker",
    mark="completed",
    source="Foundational Learning: A1 ⊗ A2",
    chapter=CHAPTER,
    statement=r"The entry of $A_1 \otimes A_2$ in row $(j-1)n+i$ and column $(k-1)d+k'$ is "
    r"$(A_1)_{j,k}\,(A_2)_{i,k'}$, for $i,j \in [n]$ and $k,k' \in [d]$.",
)


definition(
    "def-vec",
    mark="completed",
    source="Foundational Learning: A1 ⊗ A2",
    chapter=CHAPTER,
    statement=r"$x = \mathrm{vec}(X) \in \mathbb{R}^{d^2}$ stacks the rows of $X$: $x_{(k-1)d+k'} = X_{k,k'}$.",
)


def _integers(rng, *shape):
    return rng.integers(-9, 10, shape)


def _symmetric_part_plus(X, amount):
    """Return X + Xᵀ + amount (X − Xᵀ): integer, symmetric exactly when amount (X − Xᵀ) = 0."""
    return X + X.T + amount * (X - X.T)


def _gap(first, second):
    return max(abs(a - b) for row1, row2 in zip(first, second, strict=True) for a, b in zip(row1, row2, strict=True))


@claim(
    "kronecker-shape",
    mark="completed",
    source="Foundational Learning, quick check 1",
    level="exact",
    chapter=CHAPTER,
    statement=r"For $A_1, A_2 \in \mathbb{R}^{n \times d}$: $A_1 \otimes A_2 \in \mathbb{R}^{n^2 \times d^2}$.",
    uses=["def-kronecker"],
    assumes="both matrices are n × d",
    control="A2 has more rows than A1, by this",
    violations=(1, 2),
    tests=(reference.kronecker,),
)
def kronecker_shape(xp, broken=None):
    for n, d in SIZES:
        K = reference.kronecker(np.zeros((n, d), int), np.zeros((n + (broken or 0), d), int))
        off = abs(len(K) - n**2) + abs(len(K[0]) - d**2)
        yield Case(-off, reached={"n": n, "d": d})


@claim(
    "tensor-trick",
    mark="completed",
    source="Foundational Learning: A1 ⊗ A2",
    level="exact",
    chapter=CHAPTER,
    statement=r"Rows $(j-1)n+1, \dots, jn$ of $A_1 \otimes A_2$ form a block $\mathsf{A}_j$ with "
    r"$\mathsf{A}_j x = A_2 X^\top (A_1)_j^\top$, which is row $j$ of $A_1 X A_2^\top$.",
    uses=["def-kronecker", "def-vec"],
    assumes="vec stacks rows",
    control="vec stacks columns of X + Xᵀ + this × (X − Xᵀ)",
    violations=(0, 1),
    tests=(reference.kronecker_scores, reference.matmul, reference.transpose),
)
def tensor_trick(xp, broken=None):
    rng = generator(1101)
    for n, d in SIZES:
        A1, A2, X = _integers(rng, n, d).tolist(), _integers(rng, n, d).tolist(), _integers(rng, d, d)
        if broken is not None:
            X = _symmetric_part_plus(X, broken)
        literal = reference.kronecker_scores(A1, A2, X.tolist(), order="row" if broken is None else "column")
        direct = reference.matmul(reference.matmul(A1, X.tolist()), reference.transpose(A2))
        yield Case(-_gap(literal, direct), reached={"n": n, "d": d})


@claim(
    "vec-order-matters",
    mark="extension",
    source="none: the card does not fix an order",
    level="exact",
    chapter=CHAPTER,
    statement=r"Stacking columns instead of rows gives $A_1 X^\top A_2^\top$, the same scores if and only if "
    r"$A_1 (X - X^\top) A_2^\top = 0$.",
    uses=["tensor-trick"],
    control="the simpler condition X = Xᵀ in its place, on an X with an unseen antisymmetric part times this",
    violations=(0, 1),
    tests=(reference.kronecker_scores,),
)
def vec_order_matters(xp, broken=None):
    rng = generator(1102)
    for n, d in SIZES:
        for visible in (True, False):
            A1, A2, X = _integers(rng, n, d), _integers(rng, n, d), _integers(rng, d, d)
            if not visible:
                A1[:, 1:] = A2[:, 1:] = 0  # the tokens use the first coordinate alone, where X − Xᵀ is 0
            X = _symmetric_part_plus(X, 1 if broken is None else broken)
            columns = reference.kronecker_scores(A1.tolist(), A2.tolist(), X.tolist(), order="column")
            transposed = (A1 @ X.T @ A2.T).tolist()
            same = _gap(columns, (A1 @ X @ A2.T).tolist()) == 0
            condition = not (A1 @ (X - X.T) @ A2.T).any() if broken is None else not (X - X.T).any()
            yield Case(-_gap(columns, transposed) - (same != condition), reached={"n": n, "d": d})


@claim(
    "scores-without-kronecker",
    mark="completed",
    source="Foundational Learning: A1 ⊗ A2",
    level="verified",
    chapter=CHAPTER,
    statement=r"All $n^2$ scores are the entries of $A_1 X A_2^\top$, so they need two thin matrix products "
    r"and never the $n^2 \times d^2$ matrix.",
    uses=["tensor-trick"],
    control="the thin products get an X with one entry off by this",
    violations=(1e-20, 1e-12),
    tests=(reference.kronecker_scores, row_scores),
)
def scores_without_kronecker(xp, broken=None):
    rng = generator(1103)
    for n, d in SIZES:
        A1, A2, X = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((d, d))
        literal = np.asarray(reference.kronecker_scores(A1, A2, X))
        X[0, 0] += broken or 0.0
        thin = to_numpy(row_scores(xp.asarray(A1), xp.asarray(A2), xp.asarray(X)))
        # Each entry is a sum of d² products, rounded at most d² + 2 times; its terms are bounded by |A1||X||A2|ᵀ.
        size = np.max(np.abs(A1) @ np.abs(X) @ np.abs(A2).T) / np.max(np.abs(literal))
        yield equal(thin, literal, tolerance=float((d**2 + 2) * np.finfo(float).eps * size), n=n, d=d)
