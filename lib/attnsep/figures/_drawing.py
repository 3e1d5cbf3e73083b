"""How objects of the grammar become lines, areas and words on axes.

matplotlib is imported when something is drawn: whoever only builds the pages, which list the functions, needs none.
"""

import re
from contextlib import contextmanager
from textwrap import fill

import numpy as np

from attnsep.figures.grammar import (
    BOUND,
    BOUND_DASH,
    CROWD,
    DASHED,
    DASHES,
    PLAIN,
    Band,
    Histogram,
    Region,
    Rule,
    Spot,
    Window,
    contrast,
    look_of,
    spread,
    with_contrast,
)

STYLE = {
    # A page 40 characters wide, as on a phone, still shows these letters at the size of its small print.
    "figure.dpi": 160,
    "figure.facecolor": "white",
    "font.size": 11,
    "figure.titlesize": 12.5,
    "figure.titleweight": "bold",
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.constrained_layout.use": True,
}
WIDTH = 5.6  # inches
THIN, STEPPED, THICK = 1.0, 1.6, 2.0  # points: bounds, what moves in steps, all other lines
FEW = 15  # so many points of a line are shown as dots too
EARLY = 0.9  # a line that ends left of this share of the axis has its label there
DARK = 4.5  # contrast with white that letters need
MOST_HIDDEN = {"exact": 0.25, "sampled": 0.25, "bound": 0.95}  # of a curve's points, above or below the picture


@contextmanager
def style():
    """Yield pyplot in the book's style, whatever a matplotlibrc says.

    Figures are closed for pyplot in the end, drawn or not: so a notebook shows one once, as the cell's value.
    """
    from matplotlib import pyplot

    open_before = set(pyplot.get_fignums())
    with pyplot.style.context(["default", STYLE]):
        try:
            yield pyplot
        finally:
            for number in set(pyplot.get_fignums()) - open_before:
                pyplot.close(number)


def typeset(label):
    """Return a label in which D_0 or 10^4, which notebooks also print, is mathematics.

    Examples
    --------
    >>> typeset("softmax on D_0, n = 10^4")
    'softmax on $D_{0}$, n = $10^{4}$'
    """
    return label if "$" in label else re.sub(r"\b([DV]_|10\^)(\d+)", r"$\1{\2}$", label)


def wrapped(words, width):
    r"""Return words in lines of at most so many letters; mathematics stays whole, and counts as long as it is read.

    Examples
    --------
    >>> wrapped(r"softmax, n = $2 \cdot 10^{50}$, own row", 11)
    'softmax,\nn = $2 \\cdot 10^{50}$,\nown row'
    """
    formulas = []

    def kept(found):
        formulas.append(found.group())
        return chr(0xE000 + len(formulas) - 1) * max(1, len(_letters(found.group())))

    whole = re.sub(r"\$[^$]*\$", kept, typeset(words)).replace(" = ", "\xa0=\xa0")
    lines = fill(whole, width, break_long_words=False, break_on_hyphens=False).replace("\xa0", " ")
    return re.sub(r"([\ue000-\uf8ff])\1*", lambda found: formulas[ord(found[1]) - 0xE000], lines)


def _letters(formula):
    r"""Return about what a formula looks like, to count its letters.

    Examples
    --------
    >>> _letters(r"$2 \cdot 10^{50}$")
    '2·1050'
    """
    return re.sub(r"[${}^_\\\s]", "", re.sub(r"\\[a-z]+", "·", formula))


def ink(colour):
    """Return a colour dark enough for letters, as near to the given one as can be."""
    return colour if contrast(colour) >= DARK else with_contrast(colour, DARK)


def finished(figure, title):
    """Return the figure under its question.

    Raises
    ------
    ValueError
        If the title asks nothing.
    """
    if not title.endswith("?"):
        raise ValueError(f"title {title!r}: a figure's title is the question that it answers, with a question mark")
    figure.suptitle(wrapped(title, 50), x=0.01, horizontalalignment="left")
    for axis in figure.axes:
        _apart(axis)
    return figure


def halo():
    """Return the effect that keeps words readable on top of lines."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=3, foreground="white")]


def label_end(axis, x, y, words, colour):
    """Write a label right of the axes, joined to the point where its line ends; `finished` moves labels apart."""
    from matplotlib.transforms import ScaledTranslation

    beside = axis.transAxes + ScaledTranslation(10 / 72, 0, axis.figure.dpi_scale_trans)
    return axis.annotate(
        wrapped(words, 19),
        (x, y),
        (1, 0.5),
        textcoords=beside,
        color=ink(colour),
        verticalalignment="center",
        linespacing=1.05,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            "color": colour,
            "linewidth": 0.8,
            "shrinkA": 1,
            "shrinkB": 0,
            "relpos": (0, 0.5),
        },
        gid="end",
    )


def _place(axis, text):
    """Return where on the canvas the point lies that a label belongs to."""
    return (axis.transData if text.xycoords == "data" else text.xycoords).transform(text.xy)


def _apart(axis):
    """Move the end labels of one axes to the heights of their lines' ends, and apart from each other."""
    ends = [text for text in axis.texts if text.get_gid() == "end"]
    if not ends:
        return
    from matplotlib.text import Text

    axis.figure.draw_without_rendering()
    ends_at = axis.transAxes.inverted().transform([_place(axis, text) for text in ends])
    wanted = np.clip(np.nan_to_num(ends_at[:, 1]), 0, 1)
    heights = [Text.get_window_extent(text).height / axis.bbox.height * 1.06 for text in ends]  # without the leader
    for text, place, across in zip(ends, spread(wanted, heights, -0.08, 1.03), ends_at[:, 0], strict=True):
        text.set_y(place)
        if across < EARLY:
            text.set_x(across)


def draw_curve(axis, curve, colour, label):
    """Draw one curve of the grammar and its label."""
    x, y = np.asarray(curve.x, float), np.asarray(curve.y, float)
    marker, level = look_of(curve.mechanism).marker, y if y.ndim == 1 else y.mean(axis=0)
    seen = np.flatnonzero(np.isfinite(level))[-1]
    drawn = x[: seen + 1], level[: seen + 1]  # a step would go on half way to a number that is none
    thin = curve.role == "bound"
    look = {"color": colour, "label": label or "_", "gid": curve.data}
    look["zorder"] = 2 if thin else 3.5 if DASHES[curve.data] == DASHED else 3  # dashes let a line below them be seen
    if curve.dots:
        size = 10 if curve.mechanism == "mark" else 2.5 if len(x) > 200 else 4.5
        inside = "white" if DASHES[curve.data] == DASHED else colour
        axis.plot(
            *drawn,
            linestyle="none",
            marker=marker,
            markersize=size,
            markerfacecolor=inside,
            **look,
        )
    else:
        shown = marker if not thin and (len(x) < FEW or curve.role == "sampled") and not curve.steps else None
        axis.plot(
            *drawn,
            linestyle=curve.dash,
            linewidth=THIN if thin else STEPPED if curve.steps else THICK,
            marker=shown,
            markersize=4.5,
            drawstyle=f"steps-{curve.steps}" if curve.steps else "default",
            **look,
        )
    for run in y if y.ndim == 2 else ():
        single = {"markersize": 5.5, "alpha": 0.5, "markerfacecolor": "none"}
        axis.plot(x, run, linestyle="none", marker=marker, color=colour, **single)
    if curve.low is not None:
        axis.vlines(x, curve.low, curve.high, color=colour, linewidth=4, alpha=0.35, zorder=2)
    if label:
        label_end(axis, x[seen], level[seen], label, colour)


def require_seen(axis, curves):
    """Raise a ValueError where the limits of the ordinate hide more of a curve than an end of it; bounds may leave."""
    (left, right), (low, high) = sorted(axis.get_xlim()), sorted(axis.get_ylim())
    for curve in curves:
        x, y = np.broadcast_arrays(np.asarray(curve.x, float), np.asarray(curve.y, float))
        y = y[(left <= x) & (x <= right) & np.isfinite(y)]
        hidden = np.mean((y < low) | (y > high)) if len(y) else 0.0
        if hidden > MOST_HIDDEN[curve.role]:
            name = ", ".join(filter(None, (curve.mechanism, curve.data, curve.words, curve.panel))) or "a curve"
            raise ValueError(
                f"y_range = ({low:g}, {high:g}): hides {hidden:.0%} of the points of {name}, of which at most "
                f"{MOST_HIDDEN[curve.role]:.0%} may be hidden; make it wider, or draw less"
            )


def draw_rule(axis, rule, last=True):
    """Draw a threshold, and its words on it or where it ends; those of a level one in every panel stand at the last."""
    line = {"color": BOUND, "linestyle": BOUND_DASH, "linewidth": THIN, "zorder": 1.5}
    words = typeset(rule.words)
    if rule.x is not None:
        axis.axvline(rule.x, **line)
        along = 0.97 if rule.along is None else rule.along
        axis.annotate(
            words,
            (rule.x, along),
            (3, 0),
            xycoords=axis.get_xaxis_transform(),
            textcoords="offset points",
            color=ink(BOUND),
            verticalalignment="top",
            path_effects=halo(),
            zorder=5,
        )
    else:
        axis.axhline(rule.y, **line)
        if rule.along is None and (last or rule.panel is not None):
            label_end(axis, 1, rule.y, words, BOUND).xycoords = axis.get_yaxis_transform()
        elif rule.along is not None:
            axis.annotate(
                words,
                (rule.along, rule.y),
                (0, 2),
                xycoords=axis.get_yaxis_transform(),
                textcoords="offset points",
                color=ink(BOUND),
                verticalalignment="bottom",
                path_effects=halo(),
                zorder=5,
            )


def _draw_region(axis, region):
    """Write what happens in a region."""
    look = {"horizontalalignment": "center", "verticalalignment": "center", "fontstyle": "italic"}
    axis.text(region.x, region.y, region.words, color=PLAIN.colour, path_effects=halo(), zorder=5, **look)


def _draw_window(axis, window):
    """Tint a stretch of the abscissa, and write its words into it."""
    axis.axvspan(window.low, window.high, color=CROWD, alpha=0.5, linewidth=0, zorder=0)
    log = axis.get_xscale() == "log"
    middle = (window.low * window.high) ** 0.5 if log else (window.low + window.high) / 2
    look = {"horizontalalignment": "center", "verticalalignment": "top", "fontstyle": "italic"}
    where = axis.get_xaxis_transform()
    axis.text(middle, 0.98, window.words, transform=where, path_effects=halo(), zorder=5, **look)


def _draw_spot(axis, spot):
    """Mark one point, with its words beside it."""
    axis.plot(
        spot.x, spot.y, "o", color="white", markeredgecolor=PLAIN.colour, markeredgewidth=2, markersize=8, zorder=6
    )
    look = {"textcoords": "offset points", "path_effects": halo(), "zorder": 6}
    axis.annotate(spot.words, (spot.x, spot.y), (7, 5), **look)


def _draw_band(axis, band):
    """Tint what is possible between two bounds."""
    axis.fill_between(band.x, band.low, band.high, color=look_of(band.mechanism).colour, alpha=0.2, linewidth=0)
    for edge in (band.low, band.high):
        axis.plot(band.x, edge, color=BOUND, linestyle=BOUND_DASH, linewidth=THIN, zorder=1.5)
    if band.words:
        label_end(axis, band.x[-1], (band.low[-1] + band.high[-1]) / 2, band.words, BOUND)


def _draw_histogram(axis, histogram):
    """Draw how often values fall into bins."""
    axis.hist(histogram.values, bins=histogram.bins, color=look_of(histogram.mechanism).colour)


DRAWN = {Rule: draw_rule, Region: _draw_region, Window: _draw_window, Spot: _draw_spot, Band: _draw_band}
DRAWN[Histogram] = _draw_histogram


def each(value, panel):
    """Return what a setting is in one panel: settings are the same for all, or given by panel."""
    return value.get(panel) if isinstance(value, dict) else value
