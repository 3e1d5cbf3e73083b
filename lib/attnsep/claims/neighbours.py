"""Neighbouring results: for each of them one consequence that can be checked on small matrices or in closed form."""

import math
from fractions import Fraction
from itertools import product

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import query_scores
from attnsep.attention.kernels import Softmax, softmax
from attnsep.claims.one_query_weights import rounding
from attnsep.claims.token_datasets import A0, A1, C
from attnsep.ledger.framework import Case, at_least, at_most, claim, equal, exactly, generator
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData

CHAPTER = "neighbours"


SOURCE = "none: about neighbouring results"


def _dot(x, y):
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def _shares(u):
    """Return u over its sum, or None where the sum is 0: integers and Fractions alone, so nothing is rounded."""
    total = sum(u, Fraction(0))
    return [x / total for x in u] if total else None


def _softmax2(scores):
    """Return softmax of the scores times log 2, exactly; the scores must be whole numbers."""
    return _shares([Fraction(2) ** int(s) for s in scores])


def _integers(rng, *shape):
    return rng.integers(-3, 4, shape).tolist()


def _true(statement, **reached):
    return Case(0 if statement else -1, reached=reached)


# Injectivity


@claim(
    "scaled-queries-look-alike",
    mark="extension",
    source=SOURCE,
    level="exact",
    chapter=CHAPTER,
    statement=r"Let $\mathbf K \in \mathbb{R}^{n \times d}$ have the keys as rows. Linear attention gives $\mathbf q$ "
    r"and $\lambda \mathbf q$ the same weights for every $\lambda \ne 0$, where $\langle \mathbf K \mathbf q, "
    r"\mathbf{1}_n \rangle \ne 0$. Softmax gives $\mathbf q$ and $\mathbf q'$ the same weights if and only if all "
    r"entries of $\mathbf K(\mathbf q' - \mathbf q)$ are equal.",
    uses=["linear-ignores-scale", "softmax-ignores-shifts"],
    assumes="whole numbers; for softmax times log 2, so that its weights are rational",
    control="the first entry of λq is larger by this",
    violations=(1e-12, 1),
    tests="its weights are fractions, made in the check",
)
def scaled_queries_look_alike(xp, broken=None):
    rng = generator(6401)
    for n, d in product((2, 3, 7), (2, 4)):
        # A last column of ones, so that one direction of the query is invisible to softmax.
        K = [[*row, 1] for row in _integers(rng, n, d - 1)]
        K[0][0] = K[1][0] + 1
        for q, change in ((_integers(rng, d), _integers(rng, d)) for _ in range(4)):
            for factor in (Fraction(-2), Fraction(1, 2), Fraction(3)):
                scaled = [factor * x for x in q]
                scaled[0] += exactly(broken)
                f, f_scaled = (_shares([_dot(k, p) for k in K]) for p in (q, scaled))
                if f is not None:
                    yield _true(f == f_scaled, n=n, d=d, factor=float(factor))
            for step in (change, [0] * (d - 1) + [1]):
                moves = [_dot(k, step) for k in K]
                scores = [_dot(k, q) for k in K]
                same = _softmax2(scores) == _softmax2([s + x for s, x in zip(scores, moves, strict=True)])
                yield _true(same == (len(set(moves)) == 1), n=n, d=d)


# Bounded entries: dispersion, fast algorithms, long prompts


@claim(
    "bounded-entries-disperse",
    mark="extension",
    source=SOURCE,
    level="verified",
    chapter=CHAPTER,
    statement=r"Take $A/\sqrt{L}$ in place of $A$: its largest entry is $\max(a, b, c)$, whatever $n$. Then "
    r"softmax gives $j^*$ the weight $\frac{1}{1+(n-1)e^{-a(1+a)}} \le \frac{1}{n}e^{a(1+a)}$ in its own row, and "
    r"$\frac{1}{1+(n-1)e^{-a}}$ in every other.",
    uses=["all-ones-scores", "lemma-4-1-softmax-flat"],
    control="A is divided by the power (1 − this)/2 of L instead",
    violations=(1e-18, 1e-12, 1),
    tests=(TokenData.matrix, query_scores, Softmax.weights),
)
def bounded_entries_disperse(xp, broken=None):
    for (n, d), a in product(((2, 3), (3, 5), (12, 8), (6000, 62)), (Fraction(0), A0, A1, Fraction(3, 2))):
        data = TokenData(n=n, d=d, a=a, c=C)
        A = data.matrix(xp) / math.sqrt(data.log_n) ** (1 - (broken or 0.0))
        largest = float(max(a, data.b, data.c))
        yield equal(float(xp.max(A)), largest, rounding(1.0), n=n, d=d, a=float(a))
        for row, exponent in ((0, a * (1 + a)), (1, a)):
            query = xp.sum(A[row, :]) * xp.ones(d, dtype=A.dtype)  # X times the row
            f, wanted = to_numpy(softmax(query_scores(A, query))), 1 / (1 + (n - 1) * math.exp(-exponent))
            slack, reached = d * rounding(float((1 + a) ** 2)), {"n": n, "d": d, "a": float(a)}
            yield equal(float(f[0]), wanted, slack, **reached)
            yield at_most(float(f[0]), math.exp(exponent) / n, slack, **reached)


def _largest_weights(B, n, d):
    """Yield queries and keys with entries of size at most B: the extreme ones and two drawn pairs."""
    rng = generator(6402)
    keys = np.full((n, d), -B)
    keys[0] = B
    yield np.full(d, B), keys
    yield from ((rng.uniform(-B, B, d), rng.uniform(-B, B, (n, d))) for _ in range(2))


@claim(
    "spike-needs-root-log-entries",
    mark="extension",
    source=SOURCE,
    level="verified",
    chapter=CHAPTER,
    statement=r"Let $\mathbf q, \mathbf k_1, \dots, \mathbf k_n \in [-\Gamma, \Gamma]^d$ and let the scores be "
    r"$\langle \mathbf q, \mathbf k_i \rangle / d$. No softmax weight exceeds "
    r"$\frac{1}{1 + (n-1)e^{-2\Gamma^2}} \le \frac{1}{n} e^{2\Gamma^2}$, and some $\mathbf q, \mathbf k_i$ attain the "
    r"first bound. So a weight $w$ with $wn \ge 1$ needs $\Gamma \ge \sqrt{\frac12 \log(wn)}$.",
    uses=["lemma-4-1-sharp"],
    assumes="all entries in [−Γ, Γ]",
    control="the entries reach (1 + this) Γ",
    violations=(1e-18, 1e-11, 0.5),
    tests=(query_scores, Softmax.weights),
)
def spike_needs_root_log_entries(xp, broken=None):
    for B, n, d in product((0.1, 1.0, 2.5), (2, 10, 3000), (1, 8)):
        bound, reached = 1 / (1 + (n - 1) * math.exp(-2 * B**2)), {"B": B, "n": n, "d": d}
        for number, (q, keys) in enumerate(_largest_weights(B * (1 + (broken or 0.0)), n, d)):
            f = to_numpy(softmax(query_scores(xp.asarray(keys), xp.asarray(q)) / d))
            w, slack = float(np.max(f)), d * rounding(B**2)
            yield (equal if number == 0 else at_most)(w, bound, slack, **reached)
            yield at_least(B, math.sqrt(max(0.0, math.log(w * n)) / 2), math.sqrt(slack), **reached)


@claim(
    "gaussian-prompt-limit",
    mark="extension",
    source=SOURCE,
    level="verified",
    chapter=CHAPTER,
    statement=r"Let $\mathbf k$ be Gaussian with mean 0 and covariance $\Sigma$. Then $\mathbb E[e^{\langle \mathbf q, "
    r"\mathbf k \rangle} \mathbf k] / \mathbb E[e^{\langle \mathbf q, \mathbf k \rangle}] = \Sigma \mathbf q$: over "
    r"independent such tokens, each its own key and value, softmax attention tends to $\Sigma \mathbf q$ almost surely "
    r"as $n \to \infty$, and so does $\frac1n \sum_i \langle \mathbf q, \mathbf k_i \rangle \mathbf k_i$.",
    uses=["def-softmax-weights"],
    assumes="Gaussian tokens; the expectations are checked by quadrature in two dimensions, "
    "the limits follow by the law of large numbers",
    control="this share of the law of k is replaced by independent fair signs",
    violations=(1e-18, 1e-10, 1),
    tests="an integral over Gaussian tokens, which the library does not have",
)
def gaussian_prompt_limit(xp, broken=None):
    nodes, mass = np.polynomial.hermite_e.hermegauss(48)
    z = np.concatenate([np.array(list(product(nodes, nodes))), np.array(list(product((1.0, -1.0), repeat=2)))])
    share = broken or 0.0
    weight = np.concatenate([(1 - share) * np.outer(mass, mass).ravel() / (2 * np.pi), np.full(4, share / 4)])
    for root in (np.eye(2), np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([[0.5, 0.0], [-0.2, 0.3]])):
        k = z @ root.T
        for q in ([1.0, 0.0], [0.5, -1.0], [2.0, 1.5]):
            tilted, wanted = weight * np.exp(k @ np.array(q)), root @ root.T @ np.array(q)
            yield equal(tilted @ k / np.sum(tilted), wanted, 1e-12, q=max(q))
            # The other limit, E[⟨q, k⟩ k], has no exponential.
            yield equal((weight * (k @ np.array(q))) @ k, wanted, 1e-12, q=max(q))


# Polynomial attention


DEGREES = {1024: (14, 142), 10**6: (27, 283), 10**12: (53, 566)}


def _degrees(n):
    """Return the first and the last degree at n, as the statement prints them."""
    return "${}$ to ${}$".format(*DEGREES[n])


@claim(
    "polynomial-degree-window",
    mark="extension",
    source=SOURCE,
    level="exact",
    chapter=CHAPTER,
    statement=r"Weights proportional to score$^\beta$ give $j^*$ in every row the weight $\frac{R}{R+n-1}$, $R = "
    r"(1+a)^\beta$, which is at least $\frac12$ if and only if $R \ge n - 1$. It is so at $a = 0.7$ and not at "
    rf"$a = 0.05$ for the degrees {_degrees(1024)} at $n = 1024$, {_degrees(10**6)} at $n = 10^6$ and "
    rf"{_degrees(10**12)} at $n = 10^{{12}}$, and for no others.",
    uses=["all-ones-scores"],
    assumes="β a whole number",
    control="every score is larger by this times L before it is raised to β",
    violations=(1e-12, 1),
    tests="its weights are fractions, made in the check",
)
def polynomial_degree_window(xp, broken=None):
    shift = exactly(broken)
    for n, a, degree, own in product((2, 5, 40), (Fraction(0), A0, A1), (1, 2, 9, 30), (True, False)):
        s = 1 + a if own else Fraction(1)
        f = _shares([(s * (1 + a) + shift) ** degree, *[(s + shift) ** degree] * (n - 1)])
        R = (1 + a) ** degree
        yield _true(f[0] == R / (R + n - 1) and (2 * f[0] >= 1) == (n - 1 <= R), n=n, degree=degree, a=float(a))
    for n, (first, last) in DEGREES.items():
        right = [(1 + A1) ** k >= n - 1 > (1 + A0) ** k for k in range(1, last + 100)]
        yield _true(right == [first <= k <= last for k in range(1, last + 100)], n=n)


# Recall


def _null_vector(K):
    """Return a z ≠ 0 with Kᵀz = 0, or None if the rows of K are linearly independent; exact elimination."""
    rows = [[Fraction(x) for x in k] + [Fraction(i == j) for j in range(len(K))] for i, k in enumerate(K)]
    done, d = 0, len(K[0])
    for column in range(d):
        pivot = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if pivot is not None:
            rows[done], rows[pivot] = rows[pivot], rows[done]
            for i in range(done + 1, len(rows)):
                ratio = rows[i][column] / rows[done][column]
                rows[i] = [x - ratio * y for x, y in zip(rows[i], rows[done], strict=True)]
            done += 1
    return rows[-1][d:] if done < len(rows) else None


def memories():
    """Yield distinct keys, and whether they are independent: fewer than d, exactly d, and more than d of them."""
    yield from (([[1, 0, 0], [0, 1, 0]], True), ([[2, 1], [1, 1]], True))
    yield from (([[1, 0, 2], [2, 0, 4]], False), ([[1, 1, 0], [0, 1, 1], [1, 2, 1]], False))
    rng = generator(6403)
    for n, d in ((2, 1), (3, 2), (5, 3), (9, 3), (6, 5)):
        yield [[i + 1, *row] for i, row in enumerate(_integers(rng, n, d - 1))], False


@claim(
    "linear-state-collision",
    mark="extension",
    source=SOURCE,
    level="exact",
    chapter=CHAPTER,
    statement=r"Linear attention answers from $(\mathbf K^\top \mathbf V, \mathbf K^\top \mathbf{1}_n)$: for values of "
    r"width $d_v$ these are $d(d_v+1)$ numbers, however large $n$. Two memories $\mathbf V \ne \mathbf V'$ with the "
    r"same keys and the same such state exist if and only if the keys are linearly dependent, so whenever $n > d$. If "
    r"the keys are distinct, softmax answers some query differently.",
    uses=["attention-streams"],
    assumes="distinct keys, whole numbers; softmax at log 2 times whole scores",
    control="one entry of V' − V is larger by this",
    violations=(1e-12, 1),
    tests="its weights are fractions, made in the check",
)
def linear_state_collision(xp, broken=None):
    for K, independent in memories():
        n, d, z = len(K), len(K[0]), _null_vector(K)
        yield _true((z is None) == independent and (z is None or any(z)), n=n, d=d)
        if z is None:
            continue
        V = [Fraction(i * i) for i in range(n)]
        other = [v + x for v, x in zip(V, z, strict=True)]
        other[0] += exactly(broken)
        queries = [list(q) for q in product((-1, 1, 2), repeat=d)]
        for q in queries:
            f = _shares([_dot(k, q) for k in K])
            if f is not None:
                yield _true(_dot(f, V) == _dot(f, other), n=n, d=d)
        answers = ([_dot(_softmax2([_dot(k, q) for k in K]), W) for q in queries] for W in (V, other))
        yield _true(next(answers) != next(answers), n=n, d=d)


# Spikiness


def entropy(n, w, rest):
    """Return the entropy of n weights: w, and n − 1 equal ones that share rest = 1 − w."""
    return -w * math.log(w) - (rest * (math.log(rest) - math.log(n - 1)) if rest else 0.0)


OTHERS, LINEAR = 0.93, 0.999  # the least entropy of other rows, over log n


@claim(
    "one-spiky-row",
    mark="extension",
    source=SOURCE,
    level="computed",
    chapter=CHAPTER,
    statement=r"On $D_1$ with $a = 0.7$ softmax is spiky in one row only. As $n \to \infty$ the entropy of the marked "
    r"row tends to 0: it is below $2$, $1.2$, $0.2$, $2 \cdot 10^{-4}$ at $n = 10^3, 10^6, 10^{12}, 10^{30}$. That of "
    rf"every other row is above ${OTHERS} \log n$ there, that of every row of linear attention above "
    rf"${LINEAR} \log n$.",
    uses=["lemma-d-2-weights", "golden-ratio-threshold"],
    assumes="closed form; the limit, which holds for 1/φ < a < 1, is checked at these four n",
    control="a is lower by this",
    violations=(5.4e-4, 6e-4),
    tests=(tokens.weights,),
)
def one_spiky_row(xp, broken=None):
    a = A1 - exactly(broken)
    for power, most in ((3, 2), (6, 1.2), (12, 0.2), (30, 2e-4)):
        n = 10**power
        soft, lin = tokens.weights(n, a), tokens.weights(n, a, "linear")
        yield at_most(entropy(n, soft.p, soft.not_p), most, n=n)
        yield at_least(entropy(n, soft.q, soft.not_q), OTHERS * math.log(n), n=n)
        yield at_least(entropy(n, lin.p, lin.not_p), LINEAR * math.log(n), n=n)
