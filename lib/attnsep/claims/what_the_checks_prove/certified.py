"""Claims that interval arithmetic or algebra proves for whole boxes of real parameters, and every n from some n on.

Each inequality is written as a slack that must not be negative, as a rule log(bound / extreme value).  The extreme
value is the exact one over the data set; the chapter proves which score vector attains it.
"""

import math
from fractions import Fraction

from attnsep.ledger.framework import END, Case, claim, exactly
from attnsep.probability.intervals import certify, certify_from, certify_identity, interval

CHAPTER = "what-the-checks-prove"


A0, A1, C_BOX = ("0", "0.1"), ("0.7", "1.5"), ("0.05", "0.95")


MOST_RATIO, MOST_SPIKE = 20, 40  # h/ℓ or e^{h−ℓ}, and κ/ℓ


FAR = 1000  # the end of a box where a parameter has no largest value


LOW, RATIO, KAPPA = ("0.1", "1"), ("1", "2"), ("1.5", "4")


def case(found, n0=None, **box):
    """Return a certificate as a case: its box, first n and number of boxes are what it reached."""
    reached = {name: tuple(float(Fraction(end)) for end in ends) for name, ends in box.items()}
    reached |= {"boxes": found.boxes} | ({} if n0 is None else {"n0": n0})
    # A margin that a certificate proves is the lower end of an enclosure: a double, and exact as such.
    return Case(math.nan if found.verdict == "undecided" else Fraction(found.margin), reached=reached)


def proved(slack, box):
    """Certify a slack on a box, and return the certificate as a case."""
    return case(certify(slack, box), **box)


def proved_from(n0, slack, growths, box):
    """Certify a slack on a box for every n ≥ n0, and return the certificate as a case."""
    return case(certify_from(n0, slack, growths, box), n0, **box)


def over(n0):
    """Return the box of u = 1/n for every n ≥ n0, with the limit 0."""
    return 0, Fraction(1, n0)


def amount(broken):
    """Return a violation as the decimal that it shows."""
    return exactly(broken)


# Lemma 4.1 and one random column


@claim(
    "certified-flat-weights",
    mark="completed",
    source="Lemma 4.1",
    level="certified",
    chapter=CHAPTER,
    statement=r"Let $\Lambda$ be $e^{h-\ell}$ (softmax) or $h/\ell$ (linear). For every $\Lambda \in [1, e^5]$ and "
    r"every $n \ge 2$, all weights on $V_0$ lie in $[\frac{1}{\Lambda n}, \frac{\Lambda}{n}]$.",
    uses=["lemma-4-1-softmax-flat", "lemma-4-1-linear-flat", "lemma-4-1-sharp"],
    control="one score's u is larger than allowed, by the factor e^this",
    violations=(1e-12,),
    tests=(certify,),
)
def certified_flat_weights(xp, broken=None):
    e, box = amount(broken), {"log_r": (0, 5), "u": over(2)}
    yield proved(lambda log_r, u: flat_above(log_r, u, e), box)
    yield proved(lambda log_r, u: flat_below(log_r, u, e), box)


def flat_above(log_r, u, e=0):
    """log of (r/n over the largest weight r'/(r' + n − 1)), r' = r e^e, u = 1/n."""
    return (u * (log_r + e).expm1()).log1p() - e


def flat_below(log_r, u, e=0):
    """log of (the smallest weight 1/(1 + (n−2) r + r e^e) over 1/(r n)), u = 1/n."""
    return -(u * ((-log_r).expm1() + interval(e).expm1())).log1p()


@claim(
    "certified-factor-two",
    mark="completed",
    source="Lemma 4.1",
    level="certified",
    chapter=CHAPTER,
    statement=r"Let $\Lambda$ be $e^{h-\ell}$ (softmax) or $h/\ell$ (linear). For every $\Lambda \in [1, 2]$ and every "
    r"$n \ge 2$, all weights on $V_0$ lie in $[\frac{1}{2n}, \frac{2}{n}]$.",
    uses=["certified-flat-weights", "softmax-flat-factor-two", "linear-flat-factor-two"],
    assumes="h − ℓ ≤ log 2 (softmax), h ≤ 2ℓ (linear)",
    control="Λ may exceed 2 by this",
    violations=(1e-12,),
    tests=(certify,),
)
def certified_factor_two(xp, broken=None):
    box = {"r": (1, 2 + amount(broken)), "u": over(2)}
    yield proved(two_above, box)
    yield proved(two_below, box)


def two_above(r, u):
    """(2/n minus the largest weight r/(r + n − 1)), times r + n − 1, with u = 1/n."""
    return (2 - r) + 2 * u * (r - 1)


def two_below(r, u):
    """(The smallest weight 1/(1 + (n−1) r) minus 1/(2n)), times 2(1 + (n−1) r), with u = 1/n."""
    return (2 - r) + u * (r - 1)


@claim(
    "certified-spike-weights",
    mark="completed",
    source="Lemma 4.1",
    level="certified",
    chapter=CHAPTER,
    statement=r"For every $\ell \in [0.1, 1]$, $h \in [\ell, \ell + 1]$, $\kappa \ge 1$ and $n \ge 2$, on $V_1$ "
    r"for every $i \ne j^*$: $f_{\exp,i} \le e^h n^{-\kappa}$ and $f_{\mathrm{lin},i} \le "
    r"\frac{h}{(n-1)\ell + \kappa L}$; the bounds of $f_{\exp,j^*}$ and $f_{\mathrm{lin},j^*}$ are attained.",
    uses=["lemma-4-1-softmax-spike", "lemma-4-1-linear-spike", "lemma-4-1-sharp"],
    control="one score lies above h by this",
    violations=(1e-12,),
    tests=(certify, certify_identity),
    coarse=[("0.1", END)],
)
def certified_spike_weights(xp, broken=None):
    e = amount(broken)
    box = {"low": LOW, "gap": (0, 1), "y": (0, 1), "u": over(2)}
    yield proved(lambda low, gap, y, u: spike_others(low, gap, y, u, e), box)
    box = {"low": LOW, "gap": (0, 1), "inverse": (0, 2)}
    yield proved(lambda low, gap, inverse: linear_others(low, gap, inverse, e), box)
    for identity in _marked_weights(e):
        yield case(certify_identity(identity, {"n": 9, "marked": 5, "low": "0.2", "high": "1.3"}))


def spike_others(low, gap, y, u, e=0):
    """log of (e^h n^−κ over the weight of one score h + e among ℓ), with y = n^{1−κ}, u = 1/n and h = ℓ + gap."""
    return (y * (u * (low + gap + e).exp() + (1 - 2 * u) * low.exp())).log1p() - e


def linear_others(low, gap, inverse, e=0):
    """log of (h/T over the weight of one score h + e among ℓ), with inverse = 1/T, T = (n−1)ℓ + κL > 1/2."""
    return ((gap + e) * inverse).log1p() - (e / (low + gap)).log1p()


def _marked_weights(e):
    """Yield bound minus weight of the marked token: others at h, one at h + e (softmax); others at ℓ (linear)."""
    import sympy

    n, marked, low, high = sympy.symbols("n marked low high", positive=True)  # marked: n^κ or κL, high: e^h
    above = high * sympy.exp(sympy.Rational(str(e)))
    yield 1 / (1 + (n - 1) * high / marked) - marked / (marked + (n - 2) * high + above)
    yield marked / (marked + (n - 1) * low) - 1 / (1 + (n - 1) * low / marked)


@claim(
    "certified-one-column",
    mark="completed",
    source="Lemma 4.1; Foundational Learning: Hoeffding inequality",
    level="certified",
    chapter=CHAPTER,
    statement=r"Let $\Lambda$ be $e^{h-\ell}$ (softmax) or $h/\ell$ (linear). "
    rf"For every $\Lambda \in [1, {MOST_RATIO}]$ and every $n \ge 2$, "
    r"$\|f\|^2 \le \frac{\Lambda}{n}$ on $V_0$, so $P[\langle f, \sigma \rangle \ge s] \le \exp(-\frac{s^2 "
    r"n}{2\Lambda})$ for one column and every $s > 0$.",
    uses=["softmax-column-flat", "linear-column-flat", "norm-worst", "hoeffding-one-sided"],
    control="the large scores' u is larger than allowed by the factor 1 + this",
    violations=(1e-9,),
    tests=(certify, certify_identity),
    coarse=[("20", END)],
)
def certified_one_column(xp, broken=None):
    import sympy

    e = amount(broken)
    yield proved(lambda s, x: column_norm(s, x, e), {"s": (0, MOST_RATIO - 1), "x": (0, 1)})
    s, x = sympy.symbols("s x")
    r, top = 1 + s, (1 + s) * (1 + sympy.Rational(e.numerator, e.denominator))
    direct = r * (1 - x + x * top) ** 2 - (1 - x + x * top**2)
    yield case(
        certify_identity(direct - column_norm(s, x, sympy.Rational(e.numerator, e.denominator)), {"s": 1, "x": 1})
    )


def column_norm(s, x, e=0):
    """(r/n − ‖f‖²) n (1 − x + x r')² for a share x of large scores, r = 1 + s, r' = (1 + s)(1 + e)."""
    r = 1 + s
    return s * (1 + x * s + s * x * x + x * x * s * s) + e * x * r * r * (2 * x * s + e * (x * r - 1))


@claim(
    "certified-spiked-column",
    mark="completed",
    source="Lemma 4.1; Foundational Learning: Hoeffding inequality",
    level="certified",
    chapter=CHAPTER,
    statement=rf"For every $\frac{{h}}{{\ell}} \in [1, {MOST_RATIO}]$, $\frac{{\kappa}}{{\ell}} \in (0, {MOST_SPIKE}]$ "
    r"and $n \ge 2$: "
    r"$\|f_{\mathrm{lin}}\|^2 \le N$ on $V_1$, with $N = \bigl(\frac{\kappa L}{\kappa L + "
    r"(n-1)\ell}\bigr)^2$ ${} + (n-1)\bigl(\frac{h}{(n-1)\ell + \kappa L}\bigr)^2$; so $P[\langle "
    r"f_{\mathrm{lin}}, \sigma \rangle \ge s] \le e^{-s^2/(2N)}$ for one column and every $s > 0$.",
    uses=["linear-spike-norm", "linear-column-spike", "norm-worst", "hoeffding-one-sided"],
    control="the small scores lie below ℓ by this × ℓ",
    violations=(1e-12,),
    tests=(certify_identity,),
    coarse=[("20 40", END)],
)
def certified_spiked_column(xp, broken=None):
    import sympy

    e = amount(broken)
    # log n/(n − 1) ≤ log 2 < 7/10, so μ ≤ 7/10 κ/ℓ.
    box = {"s": (0, MOST_RATIO - 1), "x": (0, 1), "mu": (0, Fraction(7, 10) * MOST_SPIKE)}
    growth = [(lambda s, x, mu: spiked_norm_growth(s, x, mu, e), box)]
    yield proved_from(2, lambda n, s, x, mu: spiked_norm(n, s, x, mu, e), growth, box)
    n, s, x, mu, e = *sympy.symbols("n s x mu"), sympy.Rational(str(e))
    nu, h = n - 1, 1 + s
    marked, total, sum_of_all = nu * mu, nu * (1 + mu), nu * (mu + (1 - x) * (1 - e) + x * h)
    ours = (marked**2 + nu * h**2) * sum_of_all**2
    theirs = total**2 * (marked**2 + nu * ((1 - x) * (1 - e) ** 2 + x * h**2))
    point = {"s": 1, "x": "0.5", "mu": 2, "n": 4}
    yield case(certify_identity(ours - theirs - nu**3 * spiked_norm(n, s, x, mu, e), point))


def spiked_norm(n, s, x, mu, e=0):
    """(N − ‖f‖²) T² T'²/((n−1)³ℓ⁴), for a share x of scores h among scores (1 − e)ℓ.

    h = (1 + s)ℓ, μ = κL/((n−1)ℓ), T = (n−1)ℓ + κL, and T' is the sum of all scores.
    """
    more = x * s - e * (1 - x)  # T'/((n−1)ℓ) is 1 + μ + more
    rest = (1 + mu) * (1 + mu) * (1 - x) * (s + e) * (2 + s - e) + (1 + s) * (1 + s) * more * (2 * (1 + mu) + more)
    return rest + (n - 1) * spiked_norm_growth(s, x, mu, e)


def spiked_norm_growth(s, x, mu, e=0):
    """Derivative of `spiked_norm` in n, at fixed s, x and μ."""
    more = x * s - e * (1 - x)
    return mu * mu * more * (2 * (1 + mu) + more)


# Lemma D.2 and the main theorem

SEEN = "0.627"


@claim(
    "certified-mark-is-seen",
    mark="completed",
    source="section 1.1; Lemma D.2",
    level="certified",
    chapter=CHAPTER,
    statement=rf"For every $a \in [{A1[0]}, {FAR}]$ and every $n \ge 2$: $p \ge {SEEN}$ and $a p > 0.1$; and "
    r"$\log\frac87 \ge \frac18$. These are the numbers that the proof by hand of "
    r"$P[F_{\exp} \text{ fires on } D_1] \ge 1 - (7/8)^m$ ${} \ge 1 - e^{-m/8}$, for every $c \in (0, 1)$, rests on.",
    uses=["main-theorem-softmax-fires", "main-theorem-mark-is-seen"],
    assumes="a ≥ 0.7",
    control="a may be smaller than 0.7 by this",
    violations=(7.4e-4, 8.1e-4),
    tests=(certify,),
    coarse=[("1000", END), ("0.1", "the gap of τ, which is what is needed; a p is at least 0.438")],
)
def certified_mark_is_seen(xp, broken=None):
    box = {"a": (Fraction(A1[0]) - amount(broken), FAR)}
    for slack in (lambda n, a: weight_at_least(n, a, SEEN), mark_is_seen):
        for n in range(2, 7):  # p falls up to n = 6
            yield case(certify(lambda a, slack=slack, n=n: slack(interval(n), a), box), n, **box)
        yield proved_from(7, slack, [(weight_growth, box | {"u": over(7)})], box)
    yield proved(lambda: interval(Fraction(8, 7)).log() - Fraction(1, 8), {})


def log_odds(s):
    """log(s/(1−s))."""
    return (interval(s) / (1 - interval(s))).log()


def weight_at_least(n, a, s):
    """log-odds of p, minus those of s: ≥ 0 if and only if p ≥ s."""
    return a * (1 + a) * n.log() - (n - 1).log() - log_odds(s)


def weight_growth(a, u):
    """Derivative of the log-odds of p in log n."""
    return a * (1 + a) - 1 / (1 - u)


def mark_is_seen(n, a, gap="0.1"):
    """log-odds of p, minus those of gap/a: > 0 if and only if a p > gap."""
    return a * (1 + a) * n.log() - (n - 1).log() + (a / interval(gap) - 1).log()


@claim(
    "certified-golden-ratio",
    mark="extension",
    source="none: about Lemma D.2",
    level="certified",
    chapter=CHAPTER,
    statement=r"For every $n \ge 2$: $p > \frac{n}{2n-1}$ for every $a \in [0.6181, 1.5]$, and $p < "
    r"\frac{n}{2n-1}$ for every $a \in [0, 0.618]$.",
    uses=["golden-ratio-law", "golden-ratio-threshold"],
    control="the first box reaches lower by this, the second one higher",
    violations=(3.3e-5, 3.7e-5),
    tests="its formulas stand in the check, and what certifies them has tests of its own",
)
def certified_golden_ratio(xp, broken=None):
    e = amount(broken)
    for sign, box in ((1, {"a": (Fraction("0.6181") - e, "1.5")}), (-1, {"a": ("0", Fraction("0.618") + e)})):
        # The log-odds of n/(2n−1) are log n − log(n−1): what is left is (a² + a − 1) log n.
        yield proved_from(
            2,
            lambda n, a, sign=sign: sign * (a * a + a - 1) * n.log(),
            [(lambda a, sign=sign: sign * (a * a + a - 1), box)],
            box,
        )


# Identities


def _identities(expressions, point):
    for difference in expressions:
        yield case(certify_identity(difference, point))


@claim(
    "certified-weights",
    mark="completed",
    source="Lemma D.2",
    level="certified",
    chapter=CHAPTER,
    statement=r"For all real $a > 0$, $n > 1$, as identities: the quotients $u/\alpha$ of Lemma D.2 are $p = "
    r"1/(1+(n-1)n^{-a(1+a)})$, $q = 1/(1+(n-1)n^{-a})$ and, for linear attention in every row, "
    r"$p_{\mathrm{lin}} = (1+a)/(n+a)$.",
    uses=["lemma-d-2-weights", "linear-rows-equal"],
    control="the marked token's u is larger by the factor e^this",
    violations=(1e-12, 1e-3, 1),
    tests=(certify_identity,),
)
def certified_weights(xp, broken=None):
    import sympy

    a, L = sympy.symbols("a L", positive=True)
    n, e = sympy.exp(L), sympy.Rational(str(broken or 0))

    def weight(own_own, own_other):
        return sympy.exp(e) * own_own / (sympy.exp(e) * own_own + (n - 1) * own_other)

    linear = (1 + a) / (n + a)
    identities = [
        weight(sympy.exp((1 + a) ** 2 * L), sympy.exp((1 + a) * L)) - 1 / (1 + (n - 1) * sympy.exp(-a * (1 + a) * L)),
        weight(sympy.exp((1 + a) * L), n) - 1 / (1 + (n - 1) * sympy.exp(-a * L)),
        weight((1 + a) ** 2 * L, (1 + a) * L) - linear,
        weight((1 + a) * L, L) - linear,
    ]
    yield from _identities(identities, {"a": "0.7", "L": 3})


@claim(
    "certified-values",
    mark="completed",
    source="section 1.1",
    level="certified",
    chapter=CHAPTER,
    statement=r"With $w = \frac{R}{R+n-1}$, $r = \frac{1-w}{n-1}$, $n = (d-2)t$, as identities: the class weights "
    r"$w + (t-1)r$ and $d - 3$ times $tr$ sum to 1, the first exceeds $tr$ by $w - r$, and a row exceeds $\tau$ "
    r"exactly when $b t S > G(n-1) - b(t-1)y_{k^*}$ ${} + R(G - a y_1 - b y_{k^*})$, $G = 0.1 + c(1-y_d)$.",
    uses=["values-in-closed-form", "column-threshold"],
    control="the threshold's gap is larger than 0.1 by this in the linearised condition",
    violations=(1e-12, 1e-3, 1),
    tests=(certify_identity,),
    coarse=[("0.1", "it comes from τ, and with any other gap there the identity has that one")],
)
def certified_values(xp, broken=None):
    import sympy

    R, d, t, a, c, S, first, own, last = sympy.symbols("R d t a c S first own last")
    n, b, gap = (d - 2) * t, 1 - c, sympy.Rational(1, 10)
    w = R / (R + n - 1)
    r = (1 - w) / (n - 1)
    own_class, other_class = w + (t - 1) * r, t * r
    row = a * w * first + b * (own_class * own + other_class * S) + c * last - (c + gap)
    g = gap + sympy.Rational(str(broken or 0)) + c * (1 - last)
    linearised = b * t * S - g * (n - 1) + b * (t - 1) * own - R * (g - a * first - b * own)
    values = {"R": 5, "d": 6, "t": 2, "a": "0.7", "c": "0.5", "S": 3, "first": 1, "own": -1, "last": 1}
    identities = [
        own_class + (d - 3) * other_class - 1,
        own_class - other_class - (w - r),  # the own class has one more token of weight w instead of r
        (R + n - 1) * row - linearised,
    ]
    yield from _identities(identities, values)


@claim(
    "certified-logistic",
    mark="extension",
    source="none: about Lemma D.2",
    level="certified",
    chapter=CHAPTER,
    statement=r"As identities: $p = \frac{1}{1+e^{-z}}$ with $z = (a^2+a-1)L - \log(1-\frac1n)$; at $a = "
    r"\frac1\varphi$, $p = \frac{1}{2 - 1/n}$; $\frac{dz}{dL} = a(1+a) - \frac{1}{1-1/n}$.",
    uses=["golden-ratio-law"],
    control="the constant 1 of a² + a − 1 is smaller by this",
    violations=(1e-12, 1e-3, 0.5),
    tests=(certify_identity,),
)
def certified_logistic(xp, broken=None):
    import sympy

    a, L = sympy.symbols("a L", positive=True)
    n, golden = sympy.exp(L), (sympy.sqrt(5) - 1) / 2
    constant = 1 - sympy.Rational(str(broken or 0))
    p = 1 / (1 + (n - 1) * sympy.exp(-a * (1 + a) * L))
    identities = [
        p - 1 / (1 + (1 - 1 / n) * sympy.exp(-(a**2 + a - constant) * L)),
        1 / (1 + (n - 1) * sympy.exp(-sympy.expand(golden * (1 + golden)) * constant * L)) - 1 / (2 - 1 / n),
        sympy.diff((a**2 + a - constant) * L - sympy.log(1 - 1 / n), L) - (a * (1 + a) - 1 / (1 - 1 / n)),
    ]
    yield from _identities(identities, {"a": "0.7", "L": 3})
