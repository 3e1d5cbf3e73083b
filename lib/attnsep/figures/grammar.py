"""What a colour, a line and a word mean in every figure of the book.

The colour says the mechanism and nothing else, the dash says the data set, a ramp from light to dark says a size.  What
is drawn is an object that knows its mechanism, data set, size and role; line, colour, marker and label follow from it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np

from attnsep.checks import require_choice


class Look(NamedTuple):
    """A mechanism's colour, which nothing else has, and its marker, for eyes that see no difference of colours."""

    colour: str
    marker: Any  # as matplotlib names it


# Each colour has a contrast of at least 4.5 with white.  The first six differ for colour-blind eyes; a kernel further
# down differs from softmax, linear and the mark, and from its neighbours by its marker.  assets/book.css has the same.
MECHANISMS = {
    "softmax": Look("#006BA4", "o"),
    "linear": Look("#C85200", "s"),
    "elu+1": Look("#14532D", "^"),
    "exp, not normalised": Look("#2D0A6E", "D"),
    "linear, not normalised": Look("#3B1204", "P"),
    "relu": Look("#2E7D32", "v"),
    "squared-relu": Look("#00505C", ">"),
    "polynomial": Look("#8D4AF5", "h"),
    "taylor": Look("#5B2A86", "p"),
    "sigmoid": Look("#7F1D1D", "d"),
    "performer": Look("#2F4FB5", "H"),
    "topk": Look("#9B1B30", "<"),
    "sparsemax": Look("#880E4F", "8"),
    "entmax": Look("#6D004B", "X"),
    "hard": Look("#3E0A1E", (4, 0, 45)),
    "window": Look("#4F5560", (4, 1, 45)),
}
MARK = Look("#C2007B", "*")  # the marked token, its weight, its row
PLAIN = Look("#333333", "o")  # what belongs to no mechanism
BOUND = "#707070"  # bounds, thresholds, and what surrounds the data
CROWD = "#D9D9D9"  # all other tokens together; grey areas behind the data
SOLID, DASHED = "-", (0, (3, 1.4))
DASHES = {None: SOLID, "D_1": SOLID, "V_1": SOLID, "D_0": DASHED, "V_0": DASHED}
BOUND_DASH = (0, (3, 2))
ROLES = ("exact", "bound", "sampled")

# One name for each quantity, on every axis.
QUANTITIES = {
    "n": "number of tokens $n$",
    "d": "width $d$",
    "t": "tokens per class $t$",
    "m": "number of columns $m$",
    "token": "token",
    "a": "strength of the mark $a$",
    "a0": "weak mark $a_0$",
    "a1": "strong mark $a_1$",
    "a / √n": "strength of the mark $a / \\sqrt{n}$",
    "c": "constant entry $c$",
    "gap": "gap of the threshold τ",
    "θ": "threshold τ / $\\sqrt{\\log n}$",
    "β": "inverse temperature $\\beta$",
    "degree": "degree $\\beta$",
    "ξ = (a² + a − 1) log n": "$\\xi = (a^2 + a - 1)\\,\\log n$",
    "fires": "probability to fire",
    "share that fires": "share of networks that fire",
    "lead": "probability to fire, $D_1$ minus $D_0$",
    "weight": "weight of the marked token",
    "mass": "weight of all marks together",
    "margin": "margin of the weight",
    "1 − margin": "1 − margin of the weight",
    "n weight": "$n \\times$ weight of the token",
    "column": "probability that one column fires",
    "error": "error, softmax on $D_0$",
    "worst error": "worst of the four errors",
    "δ": "allowed error δ",
    "log 1/δ": "allowed error, $\\log_{10}(1/\\delta)$",
    "size": "smallest size",
    "smallest n": "smallest sufficient $n$",
    "accuracy": "accuracy",
    "best accuracy": "best accuracy of any readout",
    "right": "share of right answers",
    "ahead": "softmax ahead by",
    "largest weight": "largest weight in a row",
    "loss": "best evaluation loss",
    "recalled": "share that is recalled",
    "growth": "power of $n$ with which the gain of the mark grows",
    "pairs": "number of pairs $n$",
    "features": "number of features $M$",
    "n ε": "$n$ times the format's spacing, $n\\varepsilon_{\\mathrm{mach}}$",
    "told apart": "columns that tell $D_0$ from $D_1$",
    "ε": "error of the entries ε",
    "share of class": "share of the large class",
    "x": "share $\\chi$ of large scores",
    "slack": "slack of the bound",
    "s": "threshold $s$",
    "tail": "probability of a sum $\\geq s$",
    "log ratio": "log exact / log bound",
    "sum": "one column's sum $\\langle f, \\sigma\\rangle$",
    "sum of signs": "sum with random signs",
    "density": "how often, per unit of the sum",
    "added": "entries added",
    "so far": "sum so far, over $\\sqrt{\\log n}$",
    "draws": "number of draws",
    "time": "median time / ms",
    "entry": "entry of the row",
    "times": "times the weight of another token",
    "raw": "before the normaliser",
    "along": "along the difference / ν",
    "across": "across it / ν",
    "class terms": "sum of the class terms / $\\sqrt{\\log n}$",
    "bound": "bound $C$",
}

# Of these nothing exceeds 1, and so no axis has a number above it, however much room is left for words.
SHARES = {"fires", "share that fires", "column", "weight", "mass", "accuracy", "best accuracy", "right", "recalled"}
SHARES |= {"told apart"}


def axis_name(quantity):
    """Return what an axis says of a quantity, from `QUANTITIES`.

    Raises
    ------
    ValueError
        If the table has no such quantity: a new one gets its line there, so that all figures call it the same.

    Examples
    --------
    >>> axis_name("fires")
    'probability to fire'
    """
    return QUANTITIES[require_choice("quantity", quantity, tuple(QUANTITIES))]


def look_of(mechanism):
    """Return the colour and the marker of a mechanism; a kernel's parameter changes neither.

    Parameters
    ----------
    mechanism : str or None
        A name from `MECHANISMS`, which may have a parameter after a colon; ``mark``; None for no mechanism.

    Raises
    ------
    ValueError
        If the table has no such mechanism: a new one gets its line there, and in assets/book.css.

    Examples
    --------
    >>> look_of("softmax:2").colour, look_of(None).colour
    ('#006BA4', '#333333')
    """
    if mechanism is None:
        return PLAIN
    name = str(mechanism).split(":")[0]
    return MARK if name == "mark" else MECHANISMS[require_choice("mechanism", name, (*MECHANISMS, "mark"))]


def require_own_panel(panel, mechanism):
    """Raise a ValueError where a panel's title begins with the name of another mechanism than what is drawn there.

    Examples
    --------
    >>> require_own_panel("softmax on D_1", "softmax"), require_own_panel("softmax on D_1", "mark")
    (None, None)
    >>> require_own_panel("linear: what is left", "softmax")
    Traceback (most recent call last):
    ...
    ValueError: panel 'linear: what is left': is about linear, and what is drawn there is of softmax; one is wrong
    """
    named = [name for name in MECHANISMS if re.match(re.escape(name) + r"(?![\w+-])", panel)]
    if named and mechanism not in (None, "mark") and not str(mechanism).startswith(named[0]):
        raise ValueError(
            f"panel {panel!r}: is about {named[0]}, and what is drawn there is of {mechanism}; one is wrong"
        )


def _linear(colour):
    """Return a colour's shares of red, green and blue light."""
    from matplotlib.colors import to_rgb

    c = np.array(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(colour):
    """Return the contrast of a colour with white, from 1 to 21, as WCAG 2 defines it.

    Examples
    --------
    >>> contrast("white"), contrast("black"), round(contrast("#006BA4"), 2)
    (1.0, 21.0, 5.77)
    """
    return round(float(1.05 / (_linear(colour) @ [0.2126, 0.7152, 0.0722] + 0.05)), 6)


def with_contrast(colour, wanted):
    """Return the mixture of a colour with white, or with black, that has the wanted contrast with white.

    Examples
    --------
    >>> round(contrast(with_contrast("#006BA4", 3)), 2)
    3.0
    """
    from matplotlib.colors import to_hex, to_rgb

    base, other = np.array(to_rgb(colour)), np.full(3, float(contrast(colour) > wanted))
    low, high = 0.0, 1.0
    for _ in range(30):
        share = (low + high) / 2
        here = contrast(base + share * (other - base))
        low, high = (share, high) if (here > wanted) == (other[0] == 1) else (low, share)
    return to_hex(base + high * (other - base))


def ramp(colour, k):
    """Return k shades of one hue from light to dark; the lightest still has a contrast of 3 with white.

    Examples
    --------
    >>> [round(contrast(shade)) for shade in ramp("#006BA4", 3)]
    [3, 6, 12]
    >>> ramp("#006BA4", 1)
    ['#006BA4']
    """
    if k == 1:  # nothing to tell apart
        return [colour]
    return [with_contrast(colour, wanted) for wanted in np.geomspace(3, 12, k)]


def number(value):
    """Return a size as figures write it.

    Examples
    --------
    >>> [number(value) for value in (256, 10**4, 2 * 10**50, 0.05, Fraction(1, 4))]
    ['256', '$10^{4}$', '$2 \\\\cdot 10^{50}$', '0.05', '1/4']
    """
    if isinstance(value, Rational) and value.denominator == 1:
        digits = str(int(value))
        if len(digits) > 4 and not digits[1:].strip("0"):
            factor = "" if digits[0] == "1" else f"{digits[0]} \\cdot "
            return f"${factor}10^{{{len(digits) - 1}}}$"
        return digits
    return str(value) if isinstance(value, Fraction) else f"{value:g}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Numbers to draw, with all that decides how they look.

    Parameters
    ----------
    x : array, shape (k,)
        Where they were computed.
    y : array, shape (k,), or (runs, k)
        The numbers; of several runs each is a dot, and a line goes through their means.
    mechanism : str, optional
        Decides colour and marker.
    data : str, optional
        D_0 or V_0 is dashed, D_1 or V_1 solid.
    at : dict of str to number, optional
        One size, such as {"n": 256}: light for the smallest in its figure, dark for the largest.
    role : str
        exact: a line.  bound: thin, grey and dashed.  sampled: dots, with intervals if ``low`` and ``high`` are given.
    words : str
        What a label says beyond mechanism, data set and size; a bound needs some.
    panel : str
        Title of the panel; panels stand in the order in which they are met.
    steps : str, optional
        mid or post: the quantity moves in steps, in the middle between the x or at each of them.
    dots : bool
        Draw dots without a line, for what has no order or is one of many; open ones on D_0 and V_0.
    low, high : array, shape (k,), optional
        Ends of the intervals.
    label : bool
        Without one if False, as where another panel has it.

    Raises
    ------
    ValueError
        If mechanism, data set or role is unknown, if a bound has no words, or if numbers do not belong together.
    """

    x: Sequence
    y: Sequence
    mechanism: str | None = None
    data: str | None = None
    at: dict[str, Any] | None = None
    role: str = "exact"
    words: str = ""
    panel: str = ""
    steps: str | None = None
    dots: bool = False
    low: Sequence | None = None
    high: Sequence | None = None
    label: bool = True

    def __post_init__(self):
        """Refuse what cannot be drawn."""
        look_of(self.mechanism)
        require_own_panel(self.panel, self.mechanism)
        require_choice("role", self.role, ROLES)
        if self.data is not None:
            require_choice("data", self.data, ("D_0", "D_1", "V_0", "V_1"))
        if self.steps is not None:
            require_choice("steps", self.steps, ("mid", "post"))
        if self.role == "bound" and not self.words:
            raise ValueError("a bound needs words: its label says what it bounds")
        if self.at is not None and len(self.at) != 1:
            raise ValueError(f"at must be one size, such as {{'n': 256}}, not {self.at}")
        if np.shape(self.y)[-1:] != np.shape(self.x):
            raise ValueError(f"x has shape {np.shape(self.x)} and y {np.shape(self.y)}: one y for each x is needed")
        if (self.low is None) != (self.high is None):
            raise ValueError("an interval has two ends: give both low and high, or neither")

    @property
    def dash(self):
        """Return the line style, which is the data set's, or that of a bound.

        Softmax's dashes bridge the gaps of the others', so that two dashed lines at one place are both seen.
        """
        if self.role == "bound":
            return BOUND_DASH
        dash = DASHES[self.data]
        return (2.2, DASHED[1]) if dash == DASHED and look_of(self.mechanism) == MECHANISMS["softmax"] else dash

    @property
    def size(self):
        """Return the name and the value of its size, or None."""
        return None if self.at is None else next(iter(self.at.items()))


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A threshold or a bound that is one number: a thin grey dashed line, upright at x or level at y, with its words.

    ``along`` says where on the line the words stand, from 0 to 1; None is its end.
    """

    words: str
    x: float | None = None
    y: float | None = None
    panel: str | None = None  # None: in every panel
    along: float | None = None

    def __post_init__(self):
        """Refuse a rule that is no line, has no words, or says another number than the one it stands at."""
        if (self.x is None) == (self.y is None):
            raise ValueError("a rule is upright at x or level at y: give one of the two")
        if not self.words:
            raise ValueError("a rule needs words that say what it stands for")
        place, said = self.y if self.x is None else self.x, re.search(r"= (\d+(?:\.(\d+))?)\$?$", self.words)
        if said and f"{place:.{len(said[2] or '')}f}" != said[1]:
            raise ValueError(f"a rule at {place:g} says {self.words!r}: move the line, or change its words")


@dataclass(frozen=True, kw_only=True)
class Region:
    """Words that say what happens in a region, around the point (x, y)."""

    words: str
    x: float
    y: float
    panel: str | None = None


@dataclass(frozen=True, kw_only=True)
class Window:
    """A grey stretch of the abscissa from low to high, with its words at the top."""

    words: str
    low: float
    high: float
    panel: str | None = None


@dataclass(frozen=True, kw_only=True)
class Spot:
    """One point that matters, such as the defaults from which one starts."""

    words: str
    x: float
    y: float
    panel: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Band:
    """All that is proved possible: between low and high, tinted with the mechanism's colour, its edges bounds."""

    x: Sequence
    low: Sequence
    high: Sequence
    words: str
    mechanism: str | None = None
    panel: str = ""

    def __post_init__(self):
        """Refuse another mechanism's panel."""
        require_own_panel(self.panel, self.mechanism)


@dataclass(frozen=True, kw_only=True, eq=False)
class Histogram:
    """How often drawn values fall into bins."""

    values: Sequence
    bins: Sequence
    mechanism: str
    panel: str = ""

    def __post_init__(self):
        """Refuse another mechanism's panel."""
        require_own_panel(self.panel, self.mechanism)


def shades(curves):
    """Return the colour of each curve: its mechanism's, or the shade of it that its size has among all of them.

    Examples
    --------
    >>> series = [Curve(x=[1], y=[1], mechanism="linear", at={"n": n}) for n in (9, 1)]
    >>> [round(contrast(colour)) for colour in shades(series)]  # the larger n is darker, wherever it stands
    [12, 3]
    """
    found = []
    for curve in curves:
        colour = look_of(curve.mechanism).colour
        if curve.role == "bound":
            found.append(BOUND)
        elif curve.size is None:
            found.append(colour)
        else:
            alike = {c.size[1] for c in curves if c.size and c.mechanism == curve.mechanism and c.role != "bound"}
            found.append(ramp(colour, len(alike))[sorted(alike).index(curve.size[1])])
    return found


def labels(curves):
    """Return the label of each curve: of mechanism, data set and size what differs within its panel, and its words.

    Examples
    --------
    >>> pair = [Curve(x=[1], y=[1], mechanism="softmax", data=data, words="own row") for data in ("D_1", "D_0")]
    >>> labels(pair)
    ['$D_1$, own row', '$D_0$, own row']
    """
    return [_label(curve, [other for other in curves if other.panel == curve.panel]) for curve in curves]


def _label(curve, neighbours):
    """Return the label of a curve among those of its panel."""
    if curve.role == "bound" or not curve.label:
        return curve.words if curve.label else ""
    drawn = [other for other in neighbours if other.role != "bound" and other.mechanism != "mark"]
    several = {key: len({getattr(other, key) for other in drawn}) > 1 for key in ("mechanism", "data", "size")}
    mechanism = (curve.mechanism or "").replace(":", " ") if several["mechanism"] else ""
    data = f"${curve.data}$" if several["data"] and curve.data else ""
    if curve.mechanism == "mark":
        mechanism = "the mark"
    head = f"{mechanism} on {data}" if mechanism and data else mechanism or data
    size = f"{curve.size[0]} = {number(curve.size[1])}" if several["size"] and curve.size else ""
    return ", ".join(part for part in (head, size, curve.words) if part)


def spread(wanted, heights, low=0.0, high=1.0):
    """Return places near the wanted ones for labels of given heights, so that none overlap.

    Parameters
    ----------
    wanted, heights : array, shape (k,)
        Where each label's middle should be, and how high it is.
    low, high : float
        Between which all labels lie, if there is room for them.

    Returns
    -------
    array, shape (k,)
        Their middles, in the order of ``wanted``; the sum of squared moves is the least possible.

    Examples
    --------
    >>> spread([0.5, 0.5, 0.9], [0.2, 0.2, 0.1]).round(2).tolist()
    [0.4, 0.6, 0.9]
    """
    wanted, heights = np.asarray(wanted, float), np.asarray(heights, float)
    order = np.argsort(wanted, kind="stable")
    tall = heights[order]
    below = np.cumsum(tall) - tall / 2  # where the middles are if the labels are stacked without gaps
    blocks = []  # of labels that touch: [sum of their wanted bases, how many]
    for base in wanted[order] - below:
        blocks.append([base, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1] = [blocks[-1][0] + total, blocks[-1][1] + count]
    bases = np.concatenate([np.full(count, total / count) for total, count in blocks]) if blocks else np.zeros(0)
    places = np.empty(len(wanted))
    places[order] = np.clip(bases, low, max(low, high - tall.sum())) + below
    return places
