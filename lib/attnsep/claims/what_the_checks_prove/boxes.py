"""Claims of other chapters whose statement is a box of real parameters: certified on all of it, for every n.

A slack is the bound minus the extreme value, times something positive; the chapter proves where the extreme lies.
Every formula that was rewritten so that a factor 0 stands in front is compared with the definition, as an identity.
"""

from fractions import Fraction

from attnsep.claims.sensitivity import BOX, PERCENT
from attnsep.claims.what_the_checks_prove.certified import (
    A0,
    A1,
    CHAPTER,
    FAR,
    amount,
    case,
    mark_is_seen,
    over,
    proved,
    proved_from,
    weight_growth,
)
from attnsep.ledger.framework import END, claim
from attnsep.probability.intervals import Interval, certify, certify_identity, interval


def weight(n, exponent):
    """Weight of one token whose gain is n^exponent; interval arithmetic loses nothing, each end stands once."""
    return 1 / (1 + ((n - 1).log() - exponent * n.log()).exp())


def linear_weight(n, a):
    """(1 + a)/(n + a), with a written once."""
    return 1 - (n - 1) / (n + a)


# Mechanism 1 and the mark on D_0

AMPLIFIES_AT_TWO = Fraction("0.2746"), Fraction("0.2747")


@claim(
    "certified-amplifies",
    mark="completed",
    source="Mechanism 1",
    level="certified",
    chapter=CHAPTER,
    statement=rf"For every $n \ge 3$ and every $a \in (0, {FAR}]$: $n^{{a(1+a)}} > 1 + a$. For $n = 2$: $n^{{a(1+a)}} "
    rf"< 1 + a$ for every $a \in (0, {float(AMPLIFIES_AT_TWO[0])}]$, and $n^{{a(1+a)}} > 1 + a$ for every $a \in "
    rf"[{float(AMPLIFIES_AT_TWO[1])}, {FAR}]$.",
    uses=["mechanism-1-amplifies", "mechanism-1-from-three-tokens"],
    control="both boxes at n = 2 reach further by this",
    violations=(5.4e-6, 6.1e-6),
    tests=(certify,),
    coarse=[(str(FAR), END)],
)
def certified_amplifies(xp, broken=None):
    e, (low, high) = amount(broken), AMPLIFIES_AT_TWO
    yield proved_from(3, amplifies, [(lambda a: 1 + a, {"a": (0, FAR)})], {"a": (0, FAR)})
    yield proved(lambda a: -amplifies(interval(2), a), {"a": (0, low + e)})
    yield proved(lambda a: amplifies(interval(2), a), {"a": (high - e, FAR)})


def amplifies(n, a):
    """(log n^{a(1+a)} − log(1 + a))/a."""
    return (1 + a) * n.log() - chord(a)


def chord(a):
    """log(1 + a)/a for a ≥ 0: it falls as a grows, from 1 at a = 0."""
    low, high = (interval(1) if end.is_zero() else Interval(end, end) for end in (a.low, a.high))
    return Interval(_chord_at(high, a.high).low, _chord_at(low, a.low).high)


def _chord_at(point, end):
    return point if end.is_zero() else point.log1p() / point


ON_D0, ALL_SILENT = "0.0524", 37


@claim(
    "certified-mark-is-hidden",
    mark="completed",
    source="section 1.1",
    level="certified",
    chapter=CHAPTER,
    statement=rf"For every $a \in [0, {A0[1]}]$ and every $n \ge 2$, in every row under both attentions: $a w \le "
    rf"{ON_D0}$ "
    r"for the weight $w$ of $j^*$. Under linear attention $a w < 0.1$ is the same as $n > 9a + 10a^2$, and this holds "
    rf"for every $a \in [0, {A1[1]}]$ and every $n \ge {ALL_SILENT}$; at $n = {ALL_SILENT - 1}$ and $a = {A1[1]}$ it "
    r"is an equality.",
    uses=["lemma-d-2-weights", "main-theorem-softmax-silent", "main-theorem-linear-silent"],
    control="a on D_0 may exceed 0.1 by this",
    violations=(3.3e-5, 3.7e-5),
    tests=(certify_identity,),
    coarse=[("36", "it is the number before 37, and in the check as such")],
)
def certified_mark_is_hidden(xp, broken=None):
    import sympy

    box = {"a": (0, Fraction(A0[1]) + amount(broken))}
    falls = [(lambda a, u: -weight_growth(a, u), box | {"u": over(2)})]
    yield proved_from(2, lambda n, a: ON_D0 - a * weight(n, a * (1 + a)), falls, box)
    falls = [(lambda u: 1 / (1 - u), {"u": over(2)})]
    yield proved_from(2, lambda n, a: ON_D0 - a * linear_weight(n, a), falls, box)
    n, a = sympy.symbols("n a", positive=True)
    tenth = sympy.Rational(1, 10)
    yield case(certify_identity(10 * (n + a) * (tenth - a * (1 + a) / (n + a)) - below_a_tenth(n, a), {"n": 9, "a": 2}))
    one = [(lambda: interval(1), {})]
    yield proved_from(ALL_SILENT, below_a_tenth, one, {"a": (0, A1[1])})
    yield case(certify_identity(below_a_tenth(sympy.Integer(ALL_SILENT - 1), sympy.Rational(A1[1])), {}))


def below_a_tenth(n, a):
    """10 (n + a)(0.1 − a w) with w = (1 + a)/(n + a)."""
    return n - 9 * a - 10 * a * a


# The largest norm on V_0


@claim(
    "certified-largest-norm",
    mark="extension",
    source="none: which score vector is the hardest for the bound",
    level="certified",
    chapter=CHAPTER,
    statement=r"Let $\Lambda$ be $e^{h-\ell}$ (softmax) or $h/\ell$ (linear). $n\|f\|^2 \le "
    r"\frac{(1+\Lambda)^2}{4\Lambda}$ on $V_0$ for every $\Lambda \ge 1$ and every $n \ge 2$. If a share $\chi$ of the "
    r"tokens is at $h$ and all others are at $\ell$, then, as an identity, $(1+\Lambda)^2 \bar u^2 - 4\Lambda(1 - \chi "
    r"+ \chi\Lambda^2)$ ${} = ((1+\Lambda)\bar u - 2\Lambda)^2$ with the mean $\bar u = 1 - \chi + \chi\Lambda$; so "
    r"the bound is attained for $\chi = \frac{1}{1+\Lambda}$.",
    uses=["certified-one-column", "norm-worst"],
    control="the large scores' u is larger than allowed by the factor 1 + this",
    violations=(1e-12, 1e-3, 1),
    tests=(certify_identity,),
)
def certified_largest_norm(xp, broken=None):
    import sympy

    r, x, u = sympy.symbols("r x u", positive=True)
    large = r * (1 + sympy.Rational(str(amount(broken))))
    mean, square = 1 - x + x * large, 1 - x + x * large**2
    values = {"r": 3, "x": "0.4", "u": 2}
    yield case(certify_identity((1 + r) ** 2 * mean**2 - 4 * r * square - ((1 + r) * mean - 2 * r) ** 2, values))
    # One token's u: (u − 1)(r − u) ≥ 0 bounds u² by (1 + r)u − r, and the mean of that is (1 + r) times the mean − r.
    yield case(certify_identity((1 + r) * u - r - u**2 - (u - 1) * (r - u), values))
    yield case(certify_identity((1 + r) ** 2 * u**2 - 4 * r * ((1 + r) * u - r) - ((1 + r) * u - 2 * r) ** 2, values))
    yield case(certify_identity((mean - 2 * r / (1 + r)).subs(x, 1 / (1 + r)), values))


# What a readout sees

MOST = 20


PAIR_OF_STRENGTHS = {"low": (0, MOST), "step": (0, MOST), "b": (0, 1), "x": (0, 1), "u": over(2)}


@claim(
    "certified-linear-fades",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="certified",
    chapter=CHAPTER,
    statement=rf"Linear attention, $a_0 \in [0, {MOST}]$, $a_1 - a_0 \in (0, {MOST}]$, $c \in (0, 1)$, every $t \ge "
    rf"1$ "
    r"and $n \ge 2$: $(a_1-a_0)\sqrt{L/n} \le \Delta \le \bar\Delta$ with $\bar\Delta = "
    r"(a_1-a_0)\sqrt{(1+a_0+a_1)^2+b^2}$ ${} \cdot \sqrt{L/n}$. So no readout has an accuracy above $\frac12 + "
    r"\frac{\bar\Delta}{2\sqrt{2\pi}\,\nu}$, for every $\nu > 0$.",
    uses=["any-readout", "readout-distance", "readout-linear-fades"],
    assumes="normalised linear attention",
    control="D_1 has a1 larger by this",
    violations=(1e-9, 1e-3),
    tests=(certify, certify_identity),
)
def certified_linear_fades(xp, broken=None):
    import sympy

    e, box = amount(broken), PAIR_OF_STRENGTHS
    yield proved(lambda low, step, b, x, u: fades_above(low, step, b, x, u, e), box)
    yield proved(fades_below, box)
    symbols = low, step, b, x, u = sympy.symbols("low step b x u", positive=True)
    more, high = sympy.Rational(str(e)), low + step + sympy.Rational(str(e))
    scale, squared = ((1 + u * low) * (1 + u * high)) ** 2, _squared_distance(low, high, b, x, u)
    point = {"low": "0.1", "step": 2, "b": "0.3", "x": "0.25", "u": "0.125"}
    bound = step**2 * ((1 + 2 * low + step) ** 2 + b**2)
    yield case(certify_identity(scale * (bound - squared) - fades_above(*symbols, more), point))
    scale, squared = ((1 + u * low) * (1 + u * (low + step))) ** 2, _squared_distance(low, low + step, b, x, u)
    yield case(certify_identity(scale * (squared - step**2) - step**2 * fades_below(*symbols), point))
    # The best readout's accuracy at x = Δ/ν is concave, so it lies below its tangent at 0.
    accuracy = (1 + sympy.erf(x / (2 * sympy.sqrt(2)))) / 2
    root = sympy.sqrt(2 * sympy.pi)
    yield case(certify_identity(sympy.diff(accuracy, x).subs(x, 0) - 1 / (2 * root), {}))
    yield case(certify_identity(sympy.diff(accuracy, x, 2) + x * sympy.exp(-(x**2) / 8) / (8 * root), {"x": 2}))


def _squared_distance(low, high, b, x, u):
    """n Δ²/L from the entries of the rows, with x = t/n and u = 1/n: first entry, own class, (n − t)/t others."""
    rows = []
    for a in (low, high):
        w = (1 + a) * u / (1 + a * u)
        rest = (1 - w) * u / (1 - u)
        rows.append((a * w, b * (w + (x / u - 1) * rest), b * x / u * rest))
    first, own, other = ((y - z) ** 2 for y, z in zip(*rows, strict=True))
    return (first + own + (1 - x) / x * other) / u**2


def _two_strengths(low, high, u):
    """Return T = 1 + S, Q = (1 + u a0)(1 + u a1), the first entry's T + uP and T Q minus it; S, P sum and product."""
    total, product = low + high, low * high
    first = 1 + total + u * product
    gain = u * (total + low * low + product + high * high + (1 + total) * u * product)
    return 1 + total, 1 + u * total + u * u * product, first, gain


def fades_above(low, step, b, x, u, e=0):
    """(Δ̄² − Δ²) n Q²/L, where D_1's strength is a0 + step + e; everything in front of e is at least 0."""
    high = low + step + e
    T, Q, first, gain = _two_strengths(low, high, u)
    less_than_one = u * (low + high) + u * u * low * high  # Q − 1
    holds = gain * (T * Q + first) + b * b * (less_than_one * (1 + Q) + x)
    return step * step * holds - e * (step * step * (2 * T - e) * Q * Q + (2 * step + e) * _entries(first, b, x))


def _entries(first, b, x):
    return first * first + b * b * (1 - x)


def fades_below(low, step, b, x, u):
    """(Δ² n/L − (a1 − a0)²) Q²/(a1 − a0)²."""
    _, Q, first, _ = _two_strengths(low, low + step, u)
    high = low + step
    return (1 - u) * (low + high + u * low * high) * (first + Q) + b * b * (1 - x)


@claim(
    "certified-preactivations-close",
    mark="extension",
    source="none: about finite precision",
    level="certified",
    chapter=CHAPTER,
    statement=rf"Linear attention, $a_0 \in [0, {MOST}]$, $a_1 - a_0 \in (0, {MOST}]$, $c \in (0, 1)$, every $t \ge "
    r"1$, $n \ge 2$ and $y \in \{\pm1\}^d$: $\langle o_j, y \rangle$ on $D_0$ and on $D_1$ differ by at most $(a_1 - "
    r"a_0)(1 + a_0 + a_1 + 2b)\frac{\sqrt{L}}{n}$.",
    uses=["preactivations-close", "values-in-closed-form"],
    assumes="normalised linear attention",
    control="D_1 has a1 larger by this",
    violations=(1e-9, 1e-3),
    tests=(certify, certify_identity),
)
def certified_preactivations_close(xp, broken=None):
    import sympy

    e = amount(broken)
    yield proved(lambda low, step, b, x, u: close_enough(low, step, b, x, u, e), PAIR_OF_STRENGTHS)
    symbols = low, step, b, x, u = sympy.symbols("low step b x u", positive=True)
    high = low + step + sympy.Rational(str(e))
    rows = []
    for a in (low, high):
        w = (1 + a) * u / (1 + a * u)
        rows.append((a * w, w, (1 - w) * u / (1 - u)))
    first, own, rest = (y - z for z, y in zip(*rows, strict=True))
    # The class of j* gains own + (t − 1) rest, each of the (n − t)/t others loses t rest; own > 0 > rest.
    change = (first + b * (own + (x / u - 1) * rest) - b * (1 - x) / u * rest) / u
    bound = step * (1 + 2 * low + step + 2 * b)
    difference = (1 + u * low) * (1 + u * high) * (bound - change) - close_enough(*symbols, sympy.Rational(str(e)))
    yield case(certify_identity(difference, {"low": "0.1", "step": 2, "b": "0.3", "x": "0.25", "u": "0.125"}))


def close_enough(low, step, b, x, u, e=0):
    """(Bound minus the largest change) n Q/√L, where D_1's strength is a0 + step + e."""
    high = low + step + e
    _, Q, first, gain = _two_strengths(low, high, u)
    less_than_one = u * (low + high) + u * u * low * high  # Q − 1
    holds = gain + 2 * b * (less_than_one + x)
    return step * holds - e * (step * Q + first + 2 * b * (1 - x))


APART, AT_MOST, EXPONENT = "0.416", "0.4162", "0.0216"  # 0.416²/8 > 0.0216


@claim(
    "certified-marked-rows-apart",
    mark="extension",
    source="none: repairs Mechanism 3",
    level="certified",
    chapter=CHAPTER,
    statement=rf"Softmax, $a_0 \in [0, {A0[1]}]$, $a_1 \in [{A1[0]}, {FAR}]$, $c \in (0, 1)$, every $t \ge 1$ and $n "
    rf"\ge 2$: the two marked rows alone are at least ${APART}\sqrt{{L}}$ apart, and at $n = 4$, $d = 3$, $a_0 = 0.1$, "
    rf"$a_1 = 0.7$ less than ${AT_MOST}\sqrt{{L}}$. So the best readout has an accuracy of at least $1 - \frac12 "
    rf"n^{{-{EXPONENT}/\nu^2}}$, for every $\nu > 0$.",
    uses=["any-readout", "readout-distance", "readout-softmax-marked-row"],
    control="a1 may be smaller than 0.7 by this",
    violations=(8.4e-5, 9.2e-5),
    tests=(certify_identity,),
)
def certified_marked_rows_apart(xp, broken=None):
    import sympy

    box = {"low": A0, "high": (Fraction(A1[0]) - amount(broken), FAR)}
    for n in range(2, 7):  # p on D_1 falls up to n = 6
        yield case(certify(lambda low, high, n=n: rows_apart(interval(n), low, high), box), n, **box)
    growths = [
        (lambda high, u: weight_growth(high, u), {"high": box["high"], "u": over(7)}),
        (lambda low, u: -weight_growth(low, u), {"low": box["low"], "u": over(7)}),
    ]
    yield proved_from(7, rows_apart, growths, box)
    least = {"low": (A0[1], A0[1]), "high": (A1[0], A1[0])}
    yield proved(lambda low, high: AT_MOST - first_entries(interval(4), low, high), least)
    yield proved(lambda: interval(APART) * APART - 8 * interval(EXPONENT), {})
    x = sympy.Symbol("x", positive=True)  # 1 − erf x ≤ e^{−x²}: both ends agree, and the difference rises, then falls
    slope = sympy.diff(sympy.exp(-(x**2)) - sympy.erfc(x), x)
    yield case(certify_identity(slope - 2 * sympy.exp(-(x**2)) * (1 / sympy.sqrt(sympy.pi) - x), {"x": 2}))


def first_entries(n, low, high):
    """(a1 p1 − a0 p0): the distance of the first entries over √L."""
    return high * weight(n, high * (1 + high)) - low * weight(n, low * (1 + low))


def rows_apart(n, low, high):
    """The distance of the first entries over √L, minus the least that is claimed."""
    return first_entries(n, low, high) - APART


# The window of gains

ABOVE_FROM, FIRST = Fraction("0.647"), 4


@claim(
    "certified-counting-window",
    mark="extension",
    source="Open Question 3",
    level="certified",
    chapter=CHAPTER,
    statement=r"Let $K = (1+a)(8+3a)/(8+5a)$, $K_\rho = K(1-\rho)/\rho$, $w_\rho = \rho R/(\rho R + 1 - \rho)$ and $g$ "
    r"be the counting data's gap. For every real $a > 0$, $\frac35 < \frac{K}{1+a} < 1$, so that $K/3 < 1 + a < 3K$; "
    r"and $w_\rho - \frac ga = \rho\,(1 - \frac ga)\,\frac{R - K_\rho}{\rho R + 1 - \rho}$ as an identity in $a$, "
    rf"$\rho$ and $R$, with $0 < \frac ga < 1$. For every $a \in [{float(ABOVE_FROM)}, {FAR}]$ and every $n \ge "
    rf"{FIRST}$ softmax has $R = n^{{a(1+a)}} > 3K$: it lies above the window.",
    uses=["counting-window", "counting-softmax"],
    control=f"a may be smaller than {float(ABOVE_FROM)} by this",
    violations=(7e-4, 7.8e-4),
    tests=(certify, certify_identity),
)
def certified_counting_window(xp, broken=None):
    import sympy

    every = {"x": (0, 1)}  # x = a/(1 + a): all a ≥ 0, and the limit
    yield proved(below_one, every)
    yield proved(above_three_fifths, every)
    a, share, R, x = sympy.symbols("a rho R x", positive=True)
    K = (1 + a) * (8 + 3 * a) / (8 + 5 * a)
    ratio = (K / (1 + a)).subs(a, x / (1 - x))
    point = {"a": "0.7", "rho": "0.25", "R": 9, "x": "0.4"}
    yield case(certify_identity(1 - ratio - below_one(x), point))
    yield case(certify_identity(ratio - sympy.Rational(3, 5) - above_three_fifths(x), point))
    mean = sum(rho * (1 + a) / (1 + rho * a) for rho in (sympy.Rational(1, 4), sympy.Rational(3, 4))) / 2
    sides = share * R / (share * R + 1 - share) - mean
    yield case(
        certify_identity(sides - share * (1 - mean) * (R - K * (1 - share) / share) / (share * R + 1 - share), point)
    )
    yield case(certify_identity((1 - mean) * (4 + a) * (4 + 3 * a) - 8 - 5 * a, point))
    box = {"a": (ABOVE_FROM - amount(broken), FAR)}
    yield proved_from(FIRST, above_the_window, [(lambda a: a * (1 + a), box)], box)


def below_one(x):
    """1 − K/(1 + a) at a = x/(1 − x)."""
    return 2 * x / (8 - 3 * x)


def above_three_fifths(x):
    """K/(1 + a) − 3/5 at a = x/(1 − x)."""
    return 16 * (1 - x) / (5 * (8 - 3 * x))


def above_the_window(n, a):
    """log(n^{a(1+a)}/(3K)), with (8 + 3a)/(8 + 5a) written so that a stands once."""
    return a * (1 + a) * n.log() - (1 + a).log() - ("0.6" + "3.2" / (8 + 5 * a)).log() - interval(3).log()


# The robust region

WIDEST, LEAST = Fraction(1, BOX["d"][0] - 2), BOX["d"][0] - 2  # 1/(d − 2) and n at the least d


@claim(
    "certified-robust-region",
    mark="extension",
    source="First experiments 3; Next checks 2",
    level="certified",
    chapter=CHAPTER,
    statement=rf"All four errors are at most ${PERCENT}\,\%$ for all real $0 \le a_0 \le "
    rf"{float(BOX['a0'][1]):g}$, ${float(BOX['a1'][0]):g} \le a_1 \le {float(BOX['a1'][1]):g}$, "
    rf"${float(BOX['c'][0]):g} \le c < 1$, every gap of $\tau$ from ${float(BOX['gap'][0]):g}$ to "
    rf"${float(BOX['gap'][1]):g}$, and all whole $d \ge {BOX['d'][0]}$, $t \ge 1$, $n = (d-2)t$ and ${BOX['m'][0]} \le "
    rf"m \le {BOX['m'][1]}$.",
    uses=["robust-region", "main-theorem-softmax-fires", "column-hoeffding"],
    assumes="all seven ranges",
    control="the gap may be smaller by this",
    violations=(3.1e-4, 3.4e-4),
    tests="its formulas stand in the check, and what certifies them has tests of its own",
)
def certified_robust_region(xp, broken=None):
    gap = BOX["gap"][0] - amount(broken), BOX["gap"][1]
    box = {"a": BOX["a1"], "gap": gap}
    yield proved_from(LEAST, mark_is_seen, [(weight_growth, {"a": BOX["a1"], "u": over(LEAST)})], box)
    yield proved(lambda m: m * (interval(8) / 7).log() + interval(Fraction(PERCENT, 100)).log(), {"m": BOX["m"]})
    for linear, a in ((False, BOX["a0"]), (True, BOX["a0"]), (True, BOX["a1"])):
        box = {"a": a, "b": (0, 1 - BOX["c"][0]), "gap": gap, "v": (0, WIDEST), "m": BOX["m"]}
        falls = [(lambda a, u, linear=linear: weight_falls(a, u, linear), {"a": a, "u": over(LEAST)})]
        yield proved_from(LEAST, lambda n, a, b, gap, v, m, k=linear: silent(n, a, b, gap, v, m, k), falls, box)
        alone = {"a": a, "gap": gap}
        yield proved_from(LEAST, lambda n, a, gap, linear=linear: free(n, a, gap, linear), falls, alone)


def largest_weight(n, a, linear):
    """Weight of j* in its own row."""
    return linear_weight(n, a) if linear else weight(n, a * (1 + a))


def free(n, a, gap, linear):
    """The gap minus a w: what the classes must contribute for a row to exceed τ."""
    return gap - a * largest_weight(n, a, linear)


def silent(n, a, b, gap, v, m, linear):
    """(gap − a w)² − 2 b² Q log(k m/δ), Q = v + (1 − v)w² ≥ Q_w with v = 1/(d − 2), for k = 2 kinds of rows or 1."""
    w, needed = largest_weight(n, a, linear), free(n, a, gap, linear)
    norm = 1 - (1 - v) * (1 - w * w)
    kinds = 1 if linear else 2
    return needed * needed - 2 * b * b * norm * (kinds * m / interval(Fraction(PERCENT, 100))).log()


def weight_falls(a, u, linear):
    """Minus the derivative of the log-odds of w in log n."""
    return 1 / (1 - u) if linear else -weight_growth(a, u)
