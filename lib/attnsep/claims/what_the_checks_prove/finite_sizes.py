"""Finite sizes: asymptotic statements with constants, certified from their first n on and refuted just before it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from attnsep.claims.what_the_checks_prove.boxes import above_the_window
from attnsep.claims.what_the_checks_prove.certified import (
    A0,
    A1,
    C_BOX,
    CHAPTER,
    KAPPA,
    LOW,
    RATIO,
    amount,
    case,
    log_odds,
    mark_is_seen,
    over,
    weight_at_least,
    weight_growth,
)
from attnsep.ledger.framework import END, STAY, Case, claim
from attnsep.probability.intervals import certify, certify_from, interval
from attnsep.tables import Table

SHOWN = {"low": "ℓ", "high": "h", "ratio": "h/ℓ", "kappa": "κ"}


@dataclass(frozen=True)
class FiniteSize:
    """An asymptotic statement with a constant, and the first n from which it holds for a whole box.

    Parameters
    ----------
    what : str
        The statement in words, with its constant.
    n0 : int
        The first n.
    parts : callable
        Takes n0; returns (slack, growths, box) for every inequality of the statement.
    worst : dict
        A point of the box at which some inequality fails at the n before.
    step : int
        Allowed n are multiples of it.
    """

    what: str
    n0: int
    parts: Callable
    worst: dict
    step: int = 1

    def from_n0(self):
        """Return one certificate for each inequality: it holds for every n ≥ n0."""
        return [certify_from(self.n0, *part) for part in self.parts(self.n0)]

    def before(self, n=None):
        """Return {names: certificate} at the worst point and the n before n0, for the inequalities whose box has it."""
        n = self.n0 - self.step if n is None else n
        found = {}
        for slack, _, box in self.parts(self.n0):
            point = {name: Fraction(self.worst[name]) for name in box}
            if all(Fraction(low) <= point[name] <= Fraction(high) for name, (low, high) in box.items()):
                ends = {name: (value, value) for name, value in point.items()}
                found.setdefault(tuple(box), []).append(
                    certify(lambda slack=slack, **at: slack(interval(n), **at), ends)
                )
        return {names: min(certificates, key=lambda one: one.margin) for names, certificates in found.items()}

    def cases(self):
        """Yield what a claim needs: every inequality from n0 on, and one that is refuted just before."""
        for found, (_, _, box) in zip(self.from_n0(), self.parts(self.n0), strict=True):
            yield case(found, self.n0, **box)
        yield from self.refuted_before()

    def refuted_before(self):
        """Yield the case that some inequality is false at the n before n0."""
        found = min(self.before().values(), key=lambda one: one.margin)
        margin = -Fraction(found.margin) if found.verdict == "refuted" else math.nan
        yield Case(margin, reached={"false at n": self.n0 - self.step})


def _softmax_spike(s, high=("0.1", "2"), kappa=KAPPA):
    """f_exp,j* ≥ s on V_1 (least weight: all others at h)."""

    def slack(n, high, kappa):
        return kappa * n.log() - high - (n - 1).log() - log_odds(s)

    return lambda n0: [
        (
            slack,
            [(lambda kappa, u: kappa - 1 / (1 - u), {"kappa": kappa, "u": over(n0)})],
            {"high": high, "kappa": kappa},
        )
    ]


def _linear_spike(s):
    """f_lin,j* ≤ s on V_1 (largest weight: all others at ℓ); 1/L < 1 for n ≥ 3."""

    def slack(n, low, kappa):
        return (n - 1).log() + low.log() - kappa.log() - n.log().log() + log_odds(s)

    return lambda n0: [
        (slack, [(lambda u, v: 1 / (1 - u) - v, {"u": over(n0), "v": (0, 1)})], {"low": LOW, "kappa": KAPPA})
    ]


def _marked_at_least(s, a):
    """p ≥ s."""
    return lambda n0: [(lambda n, a: weight_at_least(n, a, s), [(weight_growth, {"a": a, "u": over(n0)})], {"a": a})]


def _marked_at_most(s, a):
    """p ≤ s, which is also above the weight q of other rows."""
    return lambda n0: [
        (
            lambda n, a: -weight_at_least(n, a, s),
            [(lambda a, u: -weight_growth(a, u), {"a": a, "u": over(n0)})],
            {"a": a},
        )
    ]


def _linear_at_most(s, a):
    """p_lin ≤ s, with the odds (1 + a)/(n − 1)."""
    return lambda n0: [
        (
            lambda n, a: (n - 1).log() - (1 + a).log() + log_odds(s),
            [(lambda u: 1 / (1 - u), {"u": over(n0)})],
            {"a": a},
        )
    ]


TAU = Fraction(1, 2)


def _limit(m, delta):
    """log(2 log(m/δ)/τ²): exp(−τ²/(2N)) ≤ δ/m if and only if log(1/N) is at least this."""
    return (2 / TAU**2 * (m / interval(delta)).log()).log()


ONE = [(lambda: interval(1), {})]  # the slack is log n plus what does not depend on n


def _query_separates(delta, m, low=LOW):
    """The four bounds of the one-query theorem at τ = 1/2 are ≤ δ, with s²/2 = 1/8."""

    def softmax(n, low, ratio):
        return n.log() - (ratio - 1) * low - _limit(m, delta)

    def linear(n, ratio):
        return n.log() - ratio.log() - _limit(m, delta)

    def spike(n, low, ratio, kappa):
        total = (n - 1) + kappa / low * n.log()  # T/ℓ
        squares = (kappa / low * n.log()) * (kappa / low * n.log()) + (n - 1) * ratio * ratio
        return 2 * total.log() - squares.log() - _limit(m, delta)

    def spike_growth(k, u, y):
        return 2 * (1 + k * u) / ((1 - u) + k * y) - 1 / (1 - u)

    def parts(n0):
        wide = {"k": (1, Fraction(KAPPA[1]) / Fraction(low[0])), "u": over(n0), "y": (0, _log_over(n0))}
        alone = {"low": low, "ratio": RATIO}
        return [
            *_softmax_spike((1 + TAU) / 2)(n0),
            (lambda n: m * interval(2).log() + interval(delta).log(), [(lambda: interval(0), {})], {}),  # 2^−m ≤ δ
            (softmax, ONE, alone),
            (linear, ONE, {"ratio": RATIO}),
            (spike, [(spike_growth, wide)], alone | {"kappa": KAPPA}),
        ]

    return parts


def _log_over(n0):
    """Return a rational y0 ≥ log n/n for every n ≥ n0 ≥ 3."""
    return Fraction(math.ceil(10**6 * math.log(n0) / n0) + 1, 10**6)


def column_exponent(n, t, a, c, exponent=None):
    """log of (0.1 − a w)²/(2 b² Q_w), d − 2 = n/t; odds of w: n^exponent/(n − 1), or (1 + a)/(n − 1) for linear."""
    odds = (1 + a) / (n - 1) if exponent is None else (exponent * n.log() - (n - 1).log()).exp()
    w = 1 / (1 + 1 / odds)
    own = w * (n - t) / (n - 1) + (t - 1) / (n - 1)  # w + (t − 1)(1 − w)/(n − 1)
    other = t * (1 - w) / (n - 1)
    norm = own * own + (n - t) / t * other * other
    return 2 * ("0.1" - a * w).log() - 2 * (1 - c).log() - norm.log() - interval(2).log()


def softmax_silent(n, a, c, t, m, delta):
    """log of δ over the bound m Σ exp(−…) of P[F_exp fires on D_0]: rows with n^{a(1+a)} and n^a."""
    rows = [column_exponent(n, t, a, c, exponent).exp() for exponent in (a * (1 + a), a)]
    return (interval(delta) / m).log() - ((-rows[0]).exp() + (-rows[1]).exp()).log()


def linear_silent(n, a, c, t, m, delta):
    """log of (δ over the bound m exp(−…) of P[F_lin fires])."""
    return (interval(delta) / m).log() + column_exponent(n, t, a, c).exp()


def norm_falls(t, u):
    """Minus the derivative of log(t(n − t)/(n − 1)²) in log n."""
    return 2 / (1 - u) - 1 / (1 - t * u)


def _silent(slack, a, delta, m, t, c=C_BOX):
    """One error of the main theorem by bound; w falls and Q_w falls at fixed w as n grows."""

    def weight_falls(a, u):
        return 1 / (1 - u) - a * (1 + a) if slack is softmax_silent else 1 / (1 - u)

    return lambda n0: [
        (
            lambda n, a, c: slack(n, a, c, t, m, delta),
            [(weight_falls, {"a": a, "u": over(n0)}), (lambda u: norm_falls(t, u), {"u": over(n0)})],
            {"a": a, "c": c},
        )
    ]


def _main_theorem(delta, m, t, c=C_BOX):
    """All four errors of the main theorem are ≤ δ by bound; the first one needs a p > 0.1 and (7/8)^m ≤ δ."""
    return lambda n0: [
        (mark_is_seen, [(weight_growth, {"a": A1, "u": over(n0)})], {"a": A1}),
        (lambda n: m * (interval(8) / 7).log() + interval(delta).log(), [(lambda: interval(0), {})], {}),
        *_silent(softmax_silent, A0, delta, m, t, c)(n0),
        *_silent(linear_silent, A0, delta, m, t, c)(n0),
        *_silent(linear_silent, A1, delta, m, t, c)(n0),
    ]


def counting_silent(n, a, c, m, delta):
    """log of s²(d − 2)/(2b²) over log(m/δ), with d − 2 = n/4 and s = 4a(1+a)/((4+a)(4+3a))."""
    s = 4 * a * (1 + a) / ((4 + a) * (4 + 3 * a))
    exponent = 2 * s.log() + n.log() - interval(8).log() - 2 * (1 - c).log()
    return exponent - (m / interval(delta)).log().log()


def _counting(delta, m, c=C_BOX):
    """The counting theorem's errors at t = 4: m E(s) ≤ δ, (7/8)^m ≤ δ, and softmax above the window."""
    return lambda n0: [
        (lambda n, a, c: counting_silent(n, a, c, m, delta), ONE, {"a": A1, "c": c}),
        (lambda n: m * (interval(8) / 7).log() + interval(delta).log(), [(lambda: interval(0), {})], {}),
        (above_the_window, [(lambda a: a * (1 + a), {"a": A1})], {"a": A1}),
    ]


def _weights_rows(e=0):
    """Statements about one weight; the control widens the boxes of κ and a downwards by e."""
    kappa, a1 = (Fraction(KAPPA[0]) - e, KAPPA[1]), (Fraction(A1[0]) - e, A1[1])
    worst = {"high": "2", "kappa": "1.5", "low": "0.1"}
    return [
        FiniteSize(
            "f_exp,j* ≥ 1/2 on V_1, h ≤ 1", 5, _softmax_spike("0.5", ("0.1", "1"), kappa), worst | {"high": "1"}
        ),
        FiniteSize("f_exp,j* ≥ 0.9 on V_1, h ≤ 2", 4421, _softmax_spike("0.9", kappa=kappa), worst),
        FiniteSize("f_exp,j* ≥ 0.99 on V_1, h ≤ 2", 535115, _softmax_spike("0.99", kappa=kappa), worst),
        FiniteSize("f_lin,j* ≤ 0.1 on V_1", 2867, _linear_spike("0.1"), worst | {"kappa": "4"}),
        FiniteSize("f_lin,j* ≤ 0.01 on V_1", 42174, _linear_spike("0.01"), worst | {"kappa": "4"}),
        FiniteSize("p ≥ 0.9 for a ≥ 0.7", 105271, _marked_at_least("0.9", a1), {"a": "0.7"}),
        FiniteSize("p ≥ 0.99 for a ≥ 0.7", 31867143014, _marked_at_least("0.99", a1), {"a": "0.7"}),
        FiniteSize("p ≥ 0.9 for a ≥ 0.65", 14519967605431, _marked_at_least("0.9", ("0.65", "1.5")), {"a": "0.65"}),
        FiniteSize("p ≤ 0.1 for a ≤ 0.6", 9**25 + 25, _marked_at_most("0.1", ("0", "0.6")), {"a": "0.6"}),
        FiniteSize("p ≤ 0.1 for a ≤ 0.1", 13, _marked_at_most("0.1", A0), {"a": "0.1"}),
        FiniteSize("p ≤ 0.01 for a ≤ 0.1", 176, _marked_at_most("0.01", A0), {"a": "0.1"}),
        FiniteSize("p_lin ≤ 0.1 for a ≤ 1.5", 24, _linear_at_most("0.1", ("0", "1.5")), {"a": "1.5"}),
        FiniteSize("p_lin ≤ 0.01 for a ≤ 1.5", 249, _linear_at_most("0.01", ("0", "1.5")), {"a": "1.5"}),
    ]


def _query_rows(e=0):
    low, worst = (Fraction(LOW[0]) - e, LOW[1]), {"high": "2", "kappa": "4", "low": "0.1", "ratio": "2"}
    sizes = (("0.1", 4, 1325), ("0.01", 7, 1990), ("0.001", 10, 2510))
    what = "V_0, V_1: all bounds ≤ {}, m = {}"
    return [FiniteSize(what.format(d, m), n0, _query_separates(d, m, low), worst) for d, m, n0 in sizes]


def _main_rows(e=0):
    c, softest = (Fraction(C_BOX[0]) - e, C_BOX[1]), {"a": "0.1", "c": "0.05"}
    alone = (
        ("F_exp fires on D_0", softmax_silent, A0, 1068, softest),
        ("F_lin fires on D_0", linear_silent, A0, 940, softest),
        ("F_lin fires on D_1", linear_silent, A1, 1013, {"a": "1.5", "c": "0.05"}),
    )
    sizes = (
        ("0.1", 18, 1, 1068),
        ("0.01", 35, 1, 1604),
        ("0.001", 52, 1, 2092),
        ("0.1", 18, 4, 4256),
        ("0.01", 35, 4, 6400),
        ("0.001", 52, 4, 8348),
    )
    return [
        *(
            FiniteSize(f"{what}: ≤ 0.1, m = 18, t = 1", n0, _silent(slack, a, "0.1", 18, 1, c), worst)
            for what, slack, a, n0, worst in alone
        ),
        *(
            FiniteSize(f"D_0, D_1: all bounds ≤ {d}, m = {m}, t = {t}", n0, _main_theorem(d, m, t, c), softest, step=t)
            for d, m, t, n0 in sizes
        ),
    ]


COUNTING = (("0.1", 18, 343), ("0.01", 35, 537), ("0.001", 52, 714))  # δ, m and the first d


def _counting_rows(e=0):
    c, worst = (Fraction(C_BOX[0]) - e, C_BOX[1]), {"a": "0.7", "c": "0.05"}
    what = "A_1/4, A_3/4: all bounds ≤ {}, m = {}, t = 4"
    return [
        FiniteSize(what.format(d, m), 4 * (width - 2), _counting(d, m, c), worst, step=4) for d, m, width in COUNTING
    ]


@claim(
    "certified-finite-weights",
    mark="extension",
    source="none: about Lemma 4.1 and Lemma D.2",
    level="certified",
    chapter=CHAPTER,
    statement=r"On $V_1$ with $\kappa \in [1.5, 4]$: $f_{\exp,j^*} \ge 0.99$ from $n = 535115$ on ($0.1 \le h \le "
    r"2$), $f_{\mathrm{lin},j^*} \le 0.01$ from $n = 42174$ on ($0.1 \le \ell \le 1$). $p \ge 0.9$ from "
    r"$n = 105271$ on ($0.7 \le a \le 1.5$), $p \le 0.01$ from $n = 176$ on ($0 \le a \le 0.1$). Each "
    r"is the first such $n$ for its whole box.",
    uses=["certified-spike-weights", "certified-weights", "certified-logistic"],
    control="κ and a1 may be smaller than 1.5 and 0.7 by this",
    violations=(1e-9, 1e-5, 0.1),
    tests="its formulas stand in the check, and what certifies them has tests of its own",
)
def certified_finite_weights(xp, broken=None):
    for row in _weights_rows(amount(broken)):
        yield from row.cases()


@claim(
    "certified-finite-one-query",
    mark="completed",
    source="Lemma 4.1",
    level="certified",
    chapter=CHAPTER,
    statement=r"Let $\tau = \frac12$, $\ell \in [0.1, 1]$, $h \in [\ell, 2\ell]$, $\kappa \in [1.5, 4]$. With $m "
    r"= 4, 7, 10$ columns all four bounds of the one-query theorem are at most $\delta = 0.1, 0.01, "
    r"0.001$ for every $n \ge 1325, 1990, 2510$. Each $n$ is the smallest: at $n - 1$ some point of the box violates "
    r"a bound.",
    uses=["one-query-theorem", "certified-one-column", "certified-spiked-column"],
    control="ℓ may be smaller than 0.1 by this",
    violations=(4.8e-6, 5.3e-6),
    tests=(certify,),
    coarse=[("0.5 0.01 0.001", STAY)],
)
def certified_finite_one_query(xp, broken=None):
    for row in _query_rows(amount(broken)):
        yield from row.cases()


@claim(
    "certified-finite-main-theorem",
    mark="completed",
    source="section 1.1",
    level="certified",
    chapter=CHAPTER,
    statement=r"For every $a_0 \in [0, 0.1]$, $a_1 \in [0.7, 1.5]$, $c \in [0.05, 0.95]$: with $m = 18, 35, 52$ "
    r"all four bounds of the main theorem are at most $\delta = 0.1, 0.01, 0.001$ for every $n \ge "
    r"1068, 1604, 2092$ at $t = 1$ and every $n \ge 4256, 6400, 8348$ at $t = 4$. Each $n$ is the smallest: at $n - "
    r"t$ some point of the box violates a bound.",
    uses=["main-theorem", "certified-mark-is-seen", "certified-values"],
    control="c may be smaller than 0.05 by this",
    violations=(4.5e-5, 4.9e-5),
    tests=(certify,),
    coarse=[
        ("0.95", END),
        ("0.01 0.001", STAY),
        ("6400 8348", "n is a multiple of 4 here, and 4 more or less is noticed"),
    ],
)
def certified_finite_main_theorem(xp, broken=None):
    for row in _main_rows(amount(broken)):
        yield from row.cases()


def _listed(position):
    return ", ".join(str(row[position]) for row in COUNTING)


@claim(
    "certified-finite-counting",
    mark="extension",
    source="Open Question 3",
    level="certified",
    chapter=CHAPTER,
    statement=rf"For every $a \in [{A1[0]}, {A1[1]}]$, $c \in [{C_BOX[0]}, {C_BOX[1]}]$ and every multiple $t$ of 4: "
    rf"with $m = {_listed(1)}$ all four bounds of the counting theorems (linear attention is silent on $A_{{1/4}}$ and "
    rf"fires on $A_{{3/4}}$, softmax fires on both) leave an error of at most $\delta = {_listed(0)}$ for every $d \ge "
    rf"{_listed(2)}$. Each $d$ is the smallest: at $d - 1$ some point of the box violates a bound.",
    uses=["counting-linear", "counting-softmax", "certified-counting-window"],
    control="c may be smaller than 0.05 by this",
    violations=(5.4e-4, 6e-4),
    tests=(certify,),
)
def certified_finite_counting(xp, broken=None):
    for row in _counting_rows(amount(broken)):
        yield from row.cases()


def finite_sizes():
    """Return the finite-size statements with their certificates, run now.

    Returns
    -------
    Table
        One row for each statement: its first n, the verdict on every larger n, the verdict just before, and what the
        certificates took.
    """
    rows = []
    for row in (*_weights_rows(), *_query_rows(), *_main_rows(), *_counting_rows()):
        found = row.from_n0()
        names, before = min(row.before().items(), key=lambda item: item[1].margin)
        whole = "holds" if all(one.verdict == "holds" for one in found) else "NOT PROVED"
        point = ", ".join(f"{SHOWN.get(name, name)} = {row.worst[name]}" for name in names)
        at_point = f"{'false' if before.verdict == 'refuted' else 'NOT REFUTED'} at {point}"
        first = row.n0 if row.n0 < 10**15 else f"{row.n0:.4g}"
        rows.append((row.what, first, whole, at_point, sum(one.boxes for one in found)))
    return Table(("statement", "first n", "from it on", "the n before", "boxes"), tuple(rows))
