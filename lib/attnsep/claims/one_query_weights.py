"""One query's weights, the data sets V_0 and V_1, and Lemma 4.1."""

import math
from fractions import Fraction
from functools import partial

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import query_scores
from attnsep.attention.kernels import Linear, Softmax, linear, softmax, weights
from attnsep.ledger.framework import BESIDE, Case, at_least, at_most, claim, definition, equal, generator, within
from attnsep.paper import one_query
from attnsep.paper.one_query import QueryData

CHAPTER = "one-query-weights"


EPS = float(np.finfo(float).eps)


# Of a Hoeffding bound: exponents up to 700 are rounded in doubles, and exp turns that into relative errors.
BOUND_ROUNDING = 1e-11


E_LOW, E_HIGH, SPIKE = 1.2, 1.4, 4


LOW, HIGH = math.log(E_LOW), math.log(E_HIGH)


definition(
    "def-softmax-normaliser",
    mark="source",
    source="section 3.3",
    chapter=CHAPTER,
    statement=r"$\alpha_{\exp}(A,x) = \langle u_{\exp}(A,x), \mathbf{1}_n \rangle$.",
)


definition(
    "def-softmax-weights",
    mark="completed",
    source="section 3.3",
    chapter=CHAPTER,
    statement=r"$u_{\exp}(A,x) = \exp(Ax)$ entrywise, and $f_{\exp} = u_{\exp} / \alpha_{\exp}$.",
)


definition(
    "def-linear-weights",
    mark="completed",
    source="Lemma 4.1 names f_lin, Lemma D.2 names u_lin",
    chapter=CHAPTER,
    statement=r"$u_{\mathrm{lin}}(A,x) = Ax$, "
    r"$\alpha_{\mathrm{lin}} = \langle u_{\mathrm{lin}}, \mathbf{1}_n \rangle$, and "
    r"$f_{\mathrm{lin}} = u_{\mathrm{lin}} / \alpha_{\mathrm{lin}}$, undefined where $\alpha_{\mathrm{lin}} = 0$.",
)


definition(
    "def-query-data",
    mark="completed",
    source="Lemma 4.1",
    chapter=CHAPTER,
    statement=r"Let $0 < \ell \le h$, $\kappa > 0$ and $n \ge 2$. $V_0$: $(Ax)_i \in [\ell, h]$ for all $i$. "
    r"$V_1$: one index $j^*$ has $(Ax)_{j^*} = \kappa \log n$, and $(Ax)_i \in [\ell, h]$ for all $i \ne j^*$.",
)


def rounding(scores):
    """Return the relative rounding to allow a weight: a few ε for sums and ratios, ε ``|S|`` for exp of a score S."""
    return 16 * EPS * (1 + float(np.max(np.abs(scores))))


def ranges(rng):
    """Yield (ℓ, h): the defaults, borders with ℓ = h, tiny, huge and wide ones, and random draws."""
    yield LOW, HIGH
    yield from ((1e-6, 1e-6), (1.0, 1.0), (1e-6, 1.0), (0.5, 1.0), (0.01, 30.0), (300.0, 300.5))
    for _ in range(4):
        low, high = sorted(np.exp(rng.uniform(-6, 3, 2)).tolist())
        yield low, high


def query_cases(spike):
    """Yield data sets of V_0 (or of V_1 with `spike`) and a score vector each: corners, borders, random draws."""
    rng = generator(2300)
    for n in (2, 3, 10, 1000, 100_000):
        for low, high in ranges(rng):
            # κ log n stays below 500, so that e^h n^{−κ} is a normal double and a relative margin means something.
            kappas = (1e-3, 0.5, 1.0, 1.1, 4.0, 500 / math.log(n)) if spike and n < 100_000 else (0.9, 4.0)
            fills = ("uniform", "low", "high", "one-low", "one-high") if n < 100_000 else ("one-low", "one-high")
            for number, fill in enumerate(fills):
                kappa = kappas[(number + n) % len(kappas)] if spike else None
                data = QueryData(n=n, low=low, high=high, spike=kappa, position=number % n, d=3)
                yield data, data.scores(rng, fill=fill), rng


def _weights(kernel, data, v, rng, xp):
    """Return the weights on the host, made from a real matrix with A x = v."""
    return to_numpy(kernel(query_scores(*data.matrix(rng, scores=v, xp=xp))))


def _reached(data):
    found = {"n": data.n, "low": data.low, "high": data.high}
    return found if data.spike is None else found | {"spike": data.spike}


def _ordinary(data):
    """Return an index of an ordinary token: the one that `QueryData.scores` uses for one-low and one-high."""
    return data.n - 2 if data.position == data.n - 1 and data.spike is not None else data.n - 1


def _split(f, data):
    """Return the marked token's weight and the largest ordinary one."""
    others = np.delete(f, data.position)
    return float(f[data.position]), float(np.max(others))


# Definitions: what the normaliser does


@claim(
    "normaliser-keeps-ratios",
    mark="completed",
    source="Foundational Learning, quick check 2; section 3.3",
    level="verified",
    chapter=CHAPTER,
    statement=r"Let all scores be positive. Under softmax and linear attention alike $\sum_i f_i = 1$ "
    r"and $f_i / f_{i'} = u_i / u_{i'}$: the normaliser scales all weights alike and leaves their ratios "
    r"as $u$ made them.",
    uses=["def-softmax-weights", "def-linear-weights"],
    assumes="all scores positive",
    control="one token is divided by α times 1 + this",
    violations=(1e-18, 1e-12),
    tests=(QueryData.matrix, weights),
)
def normaliser_keeps_ratios(xp, broken=None):
    for data, v, rng in query_cases(spike=True):
        scores = query_scores(*data.matrix(rng, scores=v, xp=xp))
        for name, u in (("softmax", xp.exp(scores - xp.max(scores))), ("linear", scores)):
            f, u = to_numpy(weights(scores, name)).copy(), to_numpy(u)
            f[_ordinary(data)] /= 1 + (broken or 0.0)
            gap = max(np.max(np.abs(f - u * (f[0] / u[0]))) / np.max(f), abs(np.sum(f) - 1))
            yield Case(-float(gap), rounding(v), _reached(data))


@claim(
    "softmax-ignores-shifts",
    mark="completed",
    source="section 3.3",
    level="verified",
    chapter=CHAPTER,
    statement=r"Adding one number to all scores leaves $f_{\exp}$ as it is: only differences of scores count.",
    uses=["def-softmax-weights"],
    control="one token's shift is larger by this",
    violations=(1e-18, 1e-12),
    tests=(Softmax.weights,),
)
def softmax_ignores_shifts(xp, broken=None):
    for data, v, _ in query_cases(spike=True):
        for shift in (-700.0, 0.3, 700.0):
            moved = v + shift
            moved[data.position] += broken or 0.0
            f = to_numpy(softmax(xp.asarray(v)))
            # Rounding of the moved score acts on its exponential: ε |v + shift|.
            yield equal(to_numpy(softmax(xp.asarray(moved))), f, rounding(moved), **_reached(data))


@claim(
    "linear-ignores-scale",
    mark="completed",
    source="Foundational Learning, quick check 2",
    level="verified",
    chapter=CHAPTER,
    statement=r"Where $\alpha_{\mathrm{lin}} \ne 0$, multiplying all scores by one number other than 0 "
    r"leaves $f_{\mathrm{lin}}$ as it is: "
    r"only ratios of scores count.",
    uses=["def-linear-weights"],
    control="one token's factor is larger by this times itself",
    violations=(1e-18, 1e-13),
    tests=(Linear.weights,),
    coarse=[
        ("attention.kernels.Linear.weights", "the faults tried are factors, and weights with a factor ignore scale too")
    ],
)
def linear_ignores_scale(xp, broken=None):
    for data, v, _ in query_cases(spike=True):
        for factor in (-3.0, 1e-6, 1e6):
            scaled = v * factor
            scaled[data.position] *= 1 + (broken or 0.0)
            f = to_numpy(linear(xp.asarray(v)))
            yield equal(to_numpy(linear(xp.asarray(scaled))), f, rounding(1.0), **_reached(data))


@claim(
    "query-data-matrices",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=r"Every score vector $v$ of $V_0$ and $V_1$ is attained by real matrices: for any $x \ne 0$ and any "
    r"$A_\perp$ with $A_\perp x = 0$, $A = v x^\top / \|x\|^2 + A_\perp$ has $Ax = v$.",
    uses=["def-query-data"],
    control="A_⊥ x = this × ‖x‖² instead of 0, in every row",
    violations=(1e-24, 1e-17),
    tests=(QueryData.matrix, query_scores),
)
def query_data_matrices(xp, broken=None):
    for spike in (False, True):
        for data, v, rng in query_cases(spike):
            A, x = data.matrix(rng, scores=v, xp=xp)
            if broken is not None:
                A = A + broken * x
            gap = np.max(np.abs(to_numpy(query_scores(A, x)) - v) / v)
            # d + 2 roundings of products whose sizes add up to at most ‖A_i‖‖x‖.
            size = float(np.max(np.linalg.norm(to_numpy(A), axis=1) * np.linalg.norm(to_numpy(x)) / v))
            yield Case(-float(gap), (data.d + 2) * EPS * size, _reached(data))


# Lemma 4.1


@claim(
    "lemma-4-1-softmax-flat",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=r"On $V_0$: $\dfrac{e^{\ell-h}}{n} \le f_{\exp,i} \le \dfrac{e^{h-\ell}}{n}$ for every $i$.",
    uses=["def-softmax-weights", "def-query-data", "query-data-matrices"],
    assumes="every score in [ℓ, h]",
    control="one score lies above h by this, the others at ℓ",
    violations=(1e-18, 1e-12),
    tests=(QueryData.matrix, query_scores, Softmax.weights, one_query.softmax_flat),
)
def softmax_is_flat(xp, broken=None):
    yield from _flat(softmax, one_query.softmax_flat, xp, broken)


@claim(
    "lemma-4-1-linear-flat",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=r"On $V_0$: $\dfrac{\ell/h}{n} \le f_{\mathrm{lin},i} \le \dfrac{h/\ell}{n}$ for every $i$.",
    uses=["def-linear-weights", "def-query-data", "query-data-matrices"],
    assumes="every score in [ℓ, h]",
    control="one score lies above h by this, the others at ℓ",
    violations=(1e-24, 1e-18),
    tests=(QueryData.matrix, query_scores, Linear.weights, one_query.linear_flat),
)
def linear_is_flat(xp, broken=None):
    yield from _flat(linear, one_query.linear_flat, xp, broken)


def _flat(kernel, band, xp, broken):
    for data, v, rng in query_cases(spike=False):
        if broken is not None:
            v = np.full(data.n, data.low)
            v[-1] = data.high + broken
        f = _weights(kernel, data, v, rng, xp)
        yield within(f, *band(data.n, data.low, data.high), rounding(v), **_reached(data))


@claim(
    "lemma-4-1-softmax-spike",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=r"On $V_1$: $f_{\exp,j^*} \ge \dfrac{1}{1+(n-1)\,e^h n^{-\kappa}}$, and "
    r"$f_{\exp,i} \le e^h n^{-\kappa}$ for every $i \ne j^*$.",
    uses=["def-softmax-weights", "def-query-data", "query-data-matrices"],
    assumes="(Ax)_j* = κ log n, every other score in [ℓ, h]",
    control="the marked score lies below κ log n by this, the others at h",
    violations=(1e-18, 1e-12),
    tests=(QueryData.matrix, query_scores, Softmax.weights, one_query.softmax_spike),
)
def softmax_sees_the_spike(xp, broken=None):
    for data, v, rng in query_cases(spike=True):
        if broken is not None:
            v = data.scores(rng, fill="high")
            v[data.position] -= broken
        marked, other = _split(_weights(softmax, data, v, rng, xp), data)
        at_least_marked, at_most_other = one_query.softmax_spike(data.n, data.high, data.spike)
        yield at_least(marked, at_least_marked, rounding(v), **_reached(data))
        yield at_most(other, at_most_other, rounding(v), **_reached(data))


@claim(
    "lemma-4-1-linear-spike",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=r"On $V_1$, with $L = \log n$: $f_{\mathrm{lin},j^*} \le \dfrac{\kappa L}{\kappa L + (n-1)\ell}$, and "
    r"$f_{\mathrm{lin},i} \le \dfrac{h}{(n-1)\ell + \kappa L}$ for every $i \ne j^*$.",
    uses=["def-linear-weights", "def-query-data", "query-data-matrices"],
    assumes="(Ax)_j* = κ log n, every other score in [ℓ, h]",
    control="the other scores lie below ℓ by this × ℓ",
    violations=(1e-18, 1e-13),
    tests=(QueryData.matrix, query_scores, Linear.weights, one_query.linear_spike),
)
def linear_misses_the_spike(xp, broken=None):
    for data, v, rng in query_cases(spike=True):
        if broken is not None:
            v = data.scores(rng, fill="low") * (1 - broken)
            v[data.position] = data.spike_score
        marked, other = _split(_weights(linear, data, v, rng, xp), data)
        at_most_marked, at_most_other = one_query.linear_spike(data.n, data.low, data.high, data.spike)
        yield at_most(marked, at_most_marked, rounding(1.0), **_reached(data))
        yield at_most(other, at_most_other, rounding(1.0), **_reached(data))


@claim(
    "lemma-4-1-sharp",
    mark="extension",
    source="none: about our constants",
    level="verified",
    chapter=CHAPTER,
    statement=r"Let $\Lambda$ be $e^{h-\ell}$ for softmax and $h/\ell$ for linear attention. "
    r"The largest weight on $V_0$ is $\dfrac{\Lambda}{\Lambda+n-1}$ and the smallest is $\dfrac{1}{1+(n-1)\Lambda}$; "
    r"the bounds of (a) and (b) miss them by the factors $1 + \frac{\Lambda-1}{n}$ and "
    r"$\frac{n\Lambda}{1+(n-1)\Lambda}$. "
    r"On $V_1$ both bounds of $f_{j^*}$ are attained, and the bounds of $f_i$ exceed the weight of one score $h$ among "
    r"scores $\ell$ by the factors $1 + (e^h + (n-2)e^\ell)\,n^{-\kappa}$ (softmax) and "
    r"$1 + \frac{h-\ell}{(n-1)\ell + \kappa L}$ (linear).",
    uses=["lemma-4-1-softmax-flat", "lemma-4-1-linear-flat", "lemma-4-1-softmax-spike", "lemma-4-1-linear-spike"],
    assumes="the score vector is a corner of the data set",
    control="the one differing score is this × (h − ℓ) away from its corner",
    violations=(1e-24, 1e-12),
    tests=(
        one_query.softmax_flat,
        QueryData.matrix,
        query_scores,
        Softmax.weights,
        one_query.linear_flat,
        Linear.weights,
        one_query.softmax_spike,
        one_query.linear_spike,
    ),
)
def lemma_is_sharp(xp, broken=None):
    ranges_and_sizes = {(data.n, data.low, data.high): (data, rng) for data, _, rng in query_cases(spike=False)}
    for data, rng in ranges_and_sizes.values():  # the corners are made here, so one case of each is enough
        inward = (broken or 0.0) * (data.high - data.low)
        top, bottom = data.scores(rng, fill="one-high"), data.scores(rng, fill="one-low")
        top[-1] -= inward
        bottom[-1] += inward
        for kernel, band, r in (
            (softmax, one_query.softmax_flat, math.exp(data.high - data.low)),
            (linear, one_query.linear_flat, data.high / data.low),
        ):
            n, (low, high) = data.n, band(data.n, data.low, data.high)
            largest = float(np.max(_weights(kernel, data, top, rng, xp)))
            smallest = float(np.min(_weights(kernel, data, bottom, rng, xp)))
            yield equal(largest, r / (r + n - 1), rounding(top), **_reached(data))
            yield equal(smallest, 1 / (1 + (n - 1) * r), rounding(top), **_reached(data))
            yield equal(high / largest, 1 + (r - 1) / n, rounding(top), **_reached(data))
            yield equal(smallest / low, n * r / (1 + (n - 1) * r), rounding(top), **_reached(data))
    for data, _, rng in query_cases(spike=True):
        inward = (broken or 0.0) * (data.high - data.low)
        for kernel, fill, sign, bound in (
            (softmax, "high", -1, one_query.softmax_spike(data.n, data.high, data.spike)[0]),
            (linear, "low", 1, one_query.linear_spike(data.n, data.low, data.high, data.spike)[0]),
        ):
            v = data.scores(rng, fill=fill)
            v[_ordinary(data)] += sign * inward
            f = _weights(kernel, data, v, rng, xp)
            yield equal(float(f[data.position]), bound, rounding(v), **_reached(data))
        n, low, high, power = data.n, data.low, data.high, math.exp(-data.spike_score)
        v = data.scores(rng, fill="one-high")
        v[_ordinary(data)] -= inward
        for kernel, bound, factor in (
            (
                softmax,
                one_query.softmax_spike(n, high, data.spike)[1],
                (math.exp(high) + (n - 2) * math.exp(low)) * power,
            ),
            (
                linear,
                one_query.linear_spike(n, low, high, data.spike)[1],
                (high - low) / ((n - 1) * low + data.spike_score),
            ),
        ):
            weight = float(_weights(kernel, data, v, rng, xp)[_ordinary(data)])
            yield equal(bound / weight, 1 + factor, rounding(v), **_reached(data))


# Corollaries


def _factor_two_cases(ratio):
    """Yield V_0 data whose ratio r is at most 2, 2 itself included, for score ranges made by `ratio`."""
    rng = generator(2305)
    for n in (2, 3, 7, 1000, 100_000):
        for r in (1.0, 1.3, 2.0):
            for low in (1e-3, 1.0, 20.0):
                data = QueryData(n=n, low=low, high=ratio(low, r), d=3)
                for fill in ("one-low", "one-high", "uniform"):
                    yield data, data.scores(rng, fill=fill), rng


def _factor_two(kernel, ratio, xp, broken):
    for data, v, rng in _factor_two_cases(ratio):
        if broken is not None:
            v = np.full(data.n, data.high)
            v[0] = ratio(data.low, 1 / (1 + broken))
        f = _weights(kernel, data, v, rng, xp)
        yield within(f, 1 / (2 * data.n), 2 / data.n, rounding(v), **_reached(data))


@claim(
    "softmax-flat-factor-two",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=r"If $h - \ell \le \log 2$, then on $V_0$ every softmax weight lies in $[\frac{1}{2n}, \frac{2}{n}]$, "
    r"for every $n \ge 2$.",
    uses=["lemma-4-1-softmax-flat"],
    assumes="h − ℓ ≤ log 2",
    control="one score lies below ℓ by log(1 + this), the others at h",
    violations=(4.5e-6, 5.5e-6),
    tests=(QueryData.matrix, query_scores, Softmax.weights),
)
def softmax_within_factor_two(xp, broken=None):
    yield from _factor_two(softmax, lambda low, r: low + math.log(r), xp, broken)


@claim(
    "linear-flat-factor-two",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=r"If $h \le 2\ell$, then on $V_0$ every linear weight lies in $[\frac{1}{2n}, \frac{2}{n}]$, "
    r"for every $n \ge 2$.",
    uses=["lemma-4-1-linear-flat"],
    assumes="h ≤ 2ℓ",
    control="one score lies below ℓ by a factor 1 + this, the others at h",
    violations=(4.5e-6, 5.5e-6),
    tests=(QueryData.matrix, Linear.weights),
)
def linear_within_factor_two(xp, broken=None):
    yield from _factor_two(linear, lambda low, r: low * r, xp, broken)


@claim(
    "factor-two-breaks",
    mark="extension",
    source="none: about our constants",
    level="exact",
    chapter=CHAPTER,
    statement=r"Let $\Lambda$ be $e^{h-\ell}$ for softmax and $h/\ell$ for linear attention. "
    r"If $\Lambda > 2$, some weight on $V_0$ lies below $\frac{1}{2n}$ "
    r"exactly when $n > \frac{\Lambda-1}{\Lambda-2}$, and some weight lies above $\frac{2}{n}$ "
    r"exactly when $n > \frac{2(\Lambda-1)}{\Lambda-2}$.",
    uses=["lemma-4-1-sharp"],
    assumes="the corner with one small score below, the corner with one large score above",
    control="the corners are exchanged for mixtures of both: this × the wrong one",
    violations=(4.8e-7, 5.1e-7),
    tests="it is about fractions; that they are the library's weights is lemma-4-1-sharp",
)
def factor_two_breaks(xp, broken=None):
    swap = Fraction(broken or 0)
    for r in (Fraction(2001, 1000), Fraction(21, 10), Fraction(5, 2), Fraction(3), Fraction(7, 2), Fraction(100)):
        from_below, from_above = (r - 1) / (r - 2), 2 * (r - 1) / (r - 2)
        for n in range(2, 2100):
            one_small, one_large = 1 + (n - 1) * r, r + n - 1  # sums of a row in units of its smallest score
            small, large = 1 / one_small, r / one_large
            if swap:  # the wrong corner's extreme weights: one large score leaves 1/(r+n−1), one small r/(1+(n−1)r)
                small += swap * (1 / one_large - small)
                large += swap * (r / one_small - large)
            below = (small < Fraction(1, 2 * n)) == (n > from_below)
            above = (large > Fraction(2, n)) == (n > from_above)
            yield Case(0 if below and above else -1, reached={"n": n, "r": float(r)})


@claim(
    "spike-with-defaults",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=rf"With $\ell = \log {E_LOW}$, $h = \log {E_HIGH}$, $\kappa = {SPIKE}$ and every $n \ge 2$, on $V_1$: "
    r"$f_{\exp,j^*} \ge \frac12$, while $f_{\mathrm{lin},i} \le \frac2n$ for every $i \ne j^*$.",
    uses=["lemma-4-1-softmax-spike", "lemma-4-1-linear-spike"],
    assumes="κ = 4",
    control="κ is lower by this",
    violations=(2, 2.89, 2.91),
    tests=(QueryData.matrix, Linear.weights),
    coarse=[("1.2 1.4 4", BESIDE), ("0.5", "a half is what a separation needs; the least weight is 0.919, at n = 2")],
)
def spike_with_defaults(xp, broken=None):
    rng = generator(2306)
    for n in (*range(2, 12), 100, 1000, 10_000, 100_000):
        data = QueryData(n=n, low=LOW, high=HIGH, spike=SPIKE - (broken or 0), d=3)
        for fill in ("high", "low", "one-high", "uniform"):
            v = data.scores(rng, fill=fill)
            marked, _ = _split(_weights(softmax, data, v, rng, xp), data)
            _, other = _split(_weights(linear, data, v, rng, xp), data)
            yield at_least(marked, 0.5, rounding(v), **_reached(data))
            yield at_most(other, 2 / n, rounding(v), **_reached(data))


@claim(
    "softmax-spike-threshold",
    mark="completed",
    source="Lemma 4.1",
    level="verified",
    chapter=CHAPTER,
    statement=r"On $V_1$: $f_{\exp,j^*} \ge \dfrac{1}{1+(n-1)\,e^h n^{-\kappa}}$ and "
    r"$f_{\exp,j^*} \le \dfrac{1}{1+(n-1)\,e^\ell n^{-\kappa}}$. So $f_{\exp,j^*} \to 1$ if $\kappa > 1$ "
    r"and $f_{\exp,j^*} \to 0$ if $\kappa < 1$, as $n \to \infty$.",
    uses=["lemma-4-1-softmax-spike"],
    assumes="every ordinary score in [ℓ, h]; the limits checked at n = 10³⁰⁰ and |κ − 1| ≥ 0.05, to 10⁻⁶",
    control="the ordinary scores lie below ℓ by this",
    violations=(1e-18, 1e-12),
    tests=(QueryData.matrix, query_scores, Softmax.weights, one_query.spike_weight),
)
def softmax_spike_threshold(xp, broken=None):
    for data, v, rng in query_cases(spike=True):
        if broken is not None:
            v = data.scores(rng, fill="low") - broken
            v[data.position] = data.spike_score
        marked, _ = _split(_weights(softmax, data, v, rng, xp), data)
        ends = partial(one_query.spike_weight, math.log(data.n), spike=data.spike)
        yield within(marked, ends(data.high), ends(data.low), rounding(v), **_reached(data))
    if broken is None:
        # The limits, far beyond any matrix: at n = 10^300 the corners are within 10^-6 of them for |κ − 1| ≥ 0.05.
        for kappa in (0.05, 0.5, 0.95, 1.05, 1.5, 4.0):
            for low, high in ((1e-3, 1e-3), (math.log(1.2), math.log(1.4)), (0.01, 10.0)):
                limit = float(kappa > 1)
                gap = max(abs(one_query.spike_weight(300 * math.log(10), end, kappa) - limit) for end in (low, high))
                yield at_most(gap, 1e-6, n=1e300, low=low, high=high, spike=kappa)
