"""The pictures that carry the book: the data, the crowd, the network, the eight patterns."""

import math
from typing import NamedTuple

import numpy as np

from attnsep.arrays import to_numpy
from attnsep.attention.attend import values
from attnsep.figures._drawing import WIDTH, draw_rule, finished, ink, style, typeset
from attnsep.figures.grammar import BOUND, BOUND_DASH, CROWD, MARK, PLAIN, Curve, Rule, axis_name, look_of
from attnsep.figures.plots import chart
from attnsep.paper.network import network
from attnsep.paper.tokens import PATTERNS, Law

CLASS, CONSTANT = "#BDBDBD", "#E8E8E8"  # entries of a token that are no mark


def in_words(share):
    """Return a share as a reader would say it: in percent, or as one in so many.

    Examples
    --------
    >>> [in_words(share) for share in (0.789, 0.0174, 0.0017, 1.7e-6, 0.0)]
    ['79 %', '1.7 %', '1 in 590', '1 in 590,000', '0 %']
    """
    if share >= 0.1 or share == 0:
        return f"{share:.0%}".replace("%", " %")
    if share >= 0.01:
        return f"{share:.1%}".replace("%", " %")
    inverse = 1 / share
    step = 10 ** max(0, math.floor(math.log10(inverse)) - 1)
    return f"1 in {round(inverse / step) * step:,}"


def _named(axis, mechanism, more=""):
    """Write a mechanism's name over an axis, in its colour."""
    axis.set_title(f"{mechanism}{more}", color=ink(look_of(mechanism).colour), fontweight="bold")


def _bar(axis, row, share, words):
    """Draw the mark's share as a bar, the crowd's behind it, and words."""
    inside = share > 0.35
    axis.barh(row, 1 - share, left=share, color=CROWD, height=0.8)
    axis.barh(row, share, color=MARK.colour, height=0.8)
    look = {"color": "white" if inside else "black", "verticalalignment": "center"}
    axis.text(0.03 if inside else share + 0.03, row, words, **look)
    axis.set_xlim(0, 1)
    axis.grid(False)


def crowd(n, shares, *, title):
    """Draw how much of its own row's weight the mark has, and how much the crowd of all other tokens.

    Parameters
    ----------
    n : sequence of int, length k
        Numbers of tokens, one bar for each.
    shares : dict of str to array, shape (k,)
        By mechanism, the weight of the marked token.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with style() as plt:
        size = (WIDTH, 1.1 + 0.42 * len(n))
        figure, axes = plt.subplots(1, len(shares), figsize=size, sharey=True, squeeze=False)
        for axis, (mechanism, found) in zip(axes[0], shares.items(), strict=True):
            for row, share in enumerate(found):
                _bar(axis, row, share, in_words(share))
            _named(axis, mechanism)
            axis.set_xticks([0, 0.5, 1], ["0", "½", "1"])
            axis.set_yticks(range(len(n)), [f"{size:,}" for size in n])
        axes[0, 0].invert_yaxis()
        axes[0, 0].set_ylabel(axis_name("n"))
        figure.supxlabel("share of the mark in its own row; grey: all other tokens", fontsize=11)
        return finished(figure, title)


def _percent(share):
    """Return a share in percent, in so many digits that what is not all does not read 100 %.

    Examples
    --------
    >>> [_percent(share) for share in (0.25, 0.99922, 0.999913, 1, 1 + 2**-52)]
    ['25 %', '99.92 %', '99.991 %', '100 %', '100 %']
    """
    digits = 0 if share >= 1 else max(0, math.ceil(-math.log10(1 - share)) - 2)
    return f"{100 * share:.{digits}f} %"


def proportions(marked, shares, *, level, title):
    """Draw what share of all tokens is marked, and what share of the weight the marked ones get together.

    Parameters
    ----------
    marked : dict of str to float
        By what a row is called, the share of all tokens that are marked.
    shares : dict of str to array, shape (k,)
        By mechanism, the share of the weight for each row.
    level : Rule
        A threshold of the weight, upright; its words stand where no bar is.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with style() as plt:
        size = (WIDTH, 1.25 + 0.42 * len(marked))
        figure, axes = plt.subplots(1, 1 + len(shares), figsize=size, sharey=True, squeeze=False)
        for axis, found in zip(axes[0], [[*marked.values()], *shares.values()], strict=True):
            for row, share in enumerate(found):
                _bar(axis, row, share, _percent(share))
            axis.set_xticks([0, 0.5, 1], ["0", "½", "1"])
        axes[0, 0].set_title("the tokens", fontweight="bold")
        for axis, mechanism in zip(axes[0, 1:], shares, strict=True):
            _named(axis, mechanism)
            line = [level.x] * 2, [-0.5, len(marked) - 0.5]
            axis.plot(*line, color="white", linewidth=3)  # the bars are too dark for a grey line alone
            axis.plot(*line, color=BOUND, linestyle=BOUND_DASH, linewidth=1.4)
            axis.text(level.x, -0.58, level.words, color=ink(BOUND), horizontalalignment="center")
        axes[0, 0].set_yticks(range(len(marked)), [*marked])
        axes[0, 0].set_ylim(len(marked) - 0.5, -1)
        figure.supxlabel("share of the marked tokens (pink), left by number, else by weight", fontsize=11)
        return finished(figure, title)


def placed(points, *, title):
    """Place attentions by the power of n with which their gain grows, and by the share that they recall.

    Parameters
    ----------
    points : dict of str to pair of float
        By name, growth and recall; an infinite growth stands at the right edge.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure

    Notes
    -----
    One point for each; names of points that lie close together stand below each other, at the rightmost.
    """
    edge = 3.0
    with style() as plt:
        figure, axis = plt.subplots(figsize=(WIDTH, 4.6))
        groups = {}
        for name, (growth, recalled) in points.items():
            x = edge if math.isinf(growth) else growth
            axis.plot([x], [recalled], "o", color=PLAIN.colour, markersize=6)
            groups.setdefault((round(x), round(recalled)), []).append((x, recalled, name))
        below = False
        for (_, high), members in sorted(groups.items(), reverse=True):  # names of neighbours at the top take turns
            below = bool(high) and not below
            x, y, _ = max(members)
            axis.annotate(
                "\n".join(name for *_, name in members), (x, y), (0, -10 if below else 10), textcoords="offset points",
                verticalalignment="top" if below else "bottom", horizontalalignment="left", fontsize=10,
                linespacing=1.25, bbox={"facecolor": axis.get_facecolor(), "edgecolor": "none", "pad": 1},
            )  # fmt: skip
        axis.axvline(1, color=PLAIN.colour, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        axis.text(1.04, 0.5, "the crowd grows\nwith power 1", verticalalignment="center", fontsize=10)
        axis.set(xlim=(-0.25, edge + 0.7), ylim=(-0.1, 1.3), xlabel=axis_name("growth"), ylabel=axis_name("recalled"))
        axis.set_xticks([0, 1, 2, edge], ["0", "1", "2", "infinite"])
        axis.set_yticks([0, 0.5, 1])
        return finished(figure, title)


def in_a_crowd(n, own, known, *, title):
    """Draw the weight of the mark under somebody's attention as the crowd grows, beside attentions that are known.

    Parameters
    ----------
    n : sequence of int, length k
        Numbers of tokens.
    own : sequence of float, length k
        The mark's weight in its own row.
    known : dict of str to sequence of float
        The same by mechanism.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    others = [Curve(x=n, y=weights, mechanism=name) for name, weights in known.items()]
    half = Rule(y=0.5, words="half of the weight")
    things = [*others, Curve(x=n, y=own, words="this one"), half]
    return chart(things, x="n", y="weight", x_scale="log", y_scale="log", title=title)


def pairs_that_come_back(pairs, losses, floors, *, title):
    """Draw which share of a value comes back with its key, beside the most that the rank of the weights allows.

    Parameters
    ----------
    pairs : sequence of int, length k
        How many pairs are told apart.
    losses, floors : sequence of float, length k
        Half the mean squared distance of an answer from its value, and the least one for the rank; ½ is nothing.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    own, most = ([max(0.0, 1 - 2 * loss) for loss in found] for found in (losses, floors))
    bound = Curve(x=pairs, y=most, role="bound", words="most for its rank")
    things, axes = [bound, Curve(x=pairs, y=own, words="this one")], {"x": "pairs", "y": "recalled"}
    return chart(things, **axes, x_scale="log", y_range=(-0.05, 1.05), title=title)  # so that 0.9999 looks like all


def _cell(axis, row, column, entry, colour):
    """Draw one entry of a matrix with its number; a mark is the paler the weaker."""
    from matplotlib.patches import Rectangle

    strength = 0.25 + 0.75 * min(1, entry / 0.7) if colour == MARK.colour else 1.0
    axis.add_patch(Rectangle((column, row), 1, 1, color=colour, alpha=strength, linewidth=0))
    dark = colour == MARK.colour and strength > 0.6
    look = {"horizontalalignment": "center", "verticalalignment": "center", "fontsize": 9}
    axis.text(column + 0.5, row + 0.5, f"{entry:g}", color="white" if dark else "black", **look)


def datasets(arrays, *, title, marked, symbols=True):
    """Draw small token matrices beside each other, entry by entry, with the copies of their classes.

    Parameters
    ----------
    arrays : dict of str to array, shape (n, d)
        By title, in units of √log n: the mark, d − 2 classes, the constant.
    marked : int
        The marked token's row.
    title : str
        The question that the figure answers.
    symbols : bool
        Whether a, b and c stand under the names of their columns, for readers who have met them.

    Returns
    -------
    matplotlib.figure.Figure
    """
    names = {"mark": "$a$", "class": "$b = 1 - c$", "const.": "$c$"}
    below = [f"{name}\n{symbol}" if symbols else name for name, symbol in names.items()]
    rows = max(len(array) for array in arrays.values())
    with style() as plt:
        figure, axes = plt.subplots(1, len(arrays), figsize=(WIDTH, 1.4 + 0.27 * rows), squeeze=False)
        for axis, (name, array) in zip(axes[0], arrays.items(), strict=True):
            n, d = np.shape(array)
            for (i, j), entry in np.ndenumerate(np.asarray(array, float)):
                if entry or (i, j) == (marked, 0):
                    _cell(axis, i, j, entry, MARK.colour if j == 0 else CONSTANT if j == d - 1 else CLASS)
            axis.add_patch(plt.Rectangle((0, marked), d, 1, fill=False, edgecolor=MARK.colour, linewidth=2, zorder=4))
            axis.plot(d + 0.35, marked + 0.5, marker=MARK.marker, color=MARK.colour, markersize=10, clip_on=False)
            for start in range(d - 2, n, d - 2):
                axis.axhline(start, color=PLAIN.colour, linewidth=0.8)
            axis.set_title(typeset(name))
            axis.set(xlim=(-0.05, d), ylim=(n, -0.05))
            axis.set_xticks([0.5, d / 2, d - 0.5], below)
            starts = np.arange(0, n, d - 2)
            axis.set_yticks(starts + (d - 2) / 2, [f"copy {k + 1}" for k in range(len(starts))])
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
            axis.grid(False)
            if axis is not axes[0, 0]:
                axis.set_yticks([])
        return finished(figure, title)


class Bell(NamedTuple):
    """What one sign pattern makes of a row's sum: its values in units of √log n, their chances, and those beyond τ."""

    signs: tuple
    values: np.ndarray
    chances: np.ndarray
    beyond: float


def bells(law):
    """Return for each of the eight patterns of signs the law of the marked token's row against a random column.

    Parameters
    ----------
    law : attnsep.paper.tokens.Law
        The data and the kernel; all classes of one size.

    Returns
    -------
    list of Bell
        In the order of ``PATTERNS``: signs of the mark, of the marked token's class and of the constant.

    Notes
    -----
    The other d − 3 signs add up to a binomial S, so that the bell stands at a w y_1 + b w_* y_{k*} + c y_d and has the
    standard deviation b w_o √(d − 3).  Only the marked token's row is looked at; the law of a column takes all rows.

    Examples
    --------
    >>> from attnsep.paper import tokens
    >>> [round(bell.beyond, 3) for bell in bells(tokens.law(1024, 258, 0.7, 0.5))]
    [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    count, root = law.data.d - 3, math.sqrt(law.data.log_n)
    plus = np.arange(count + 1)
    ways = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in plus]
    chances = np.exp(np.array(ways) - count * math.log(2))
    row, found = law.values()[0], []
    for signs in PATTERNS:
        values = row.meets(signs, 2 * plus - count) / root
        found.append(Bell(tuple(signs), values, chances, float(chances[values > law.data.tau / root].sum())))
    return found


NARROW = 0.012  # standard deviation below which nobody would see a bell


def _bell(axis, row, bell, colour):
    """Draw one bell upon a row: the normal law with the mean and, if that can be seen, the deviation of its pattern."""
    middle = bell.values @ bell.chances
    width = max(math.sqrt(bell.chances @ (bell.values - middle) ** 2), NARROW)
    x = np.linspace(-4, 4, 81)
    axis.fill_between(middle + width * x, row, row + 0.75 * np.exp(-(x**2) / 2), color=colour, linewidth=0.5, zorder=3)


def eight_patterns(laws, *, title):
    """Draw the eight patterns of signs as bells against the threshold; those beyond it in their mechanism's colour.

    Parameters
    ----------
    laws : dict of str to attnsep.paper.tokens.Law
        By mechanism, with one threshold.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with style() as plt:
        figure, axes = plt.subplots(1, len(laws), figsize=(WIDTH, 4.6), sharey=True, sharex=True, squeeze=False)
        for axis, (mechanism, law) in zip(axes[0], laws.items(), strict=True):
            found = bells(law)
            for row, bell in enumerate(reversed(found)):
                _bell(axis, row, bell, look_of(mechanism).colour if bell.beyond > 0.5 else CLASS)
                axis.axhline(row, color=CROWD, linewidth=0.6, zorder=1)
            _named(axis, mechanism, f": π = {law.column_probability():.2g}")
            axis.set_xlabel("sum of the marked row\n(in units of $\\sqrt{\\log n}$)")
            axis.set_ylim(-0.2, len(found) + 0.3)
            axis.grid(False)
            draw_rule(axis, Rule(x=law.data.tau / math.sqrt(law.data.log_n), words="τ", along=0.99))
        words = ["  ".join("+" if sign > 0 else "−" for sign in bell.signs) for bell in reversed(found)]
        axes[0, 0].set_yticks(range(len(words)), words)
        axes[0, 0].set_ylabel("signs of mark, class, constant")
        return finished(figure, title)


class Pass(NamedTuple):
    """One input's way through the network, for a picture of it; all but the weight in units of √log n.

    ``weight`` is the marked token's in its own row, ``entries`` are four of that row's output (mark, own class, another
    class, constant), ``sums`` the row's sums with each column of signs, and ``F`` is the network's output.
    """

    weight: float
    entries: tuple
    sums: np.ndarray
    F: float


def one_pass(data, y, kernel):
    """Send data through the network and keep what `four_layers` shows.

    Parameters
    ----------
    data : attnsep.paper.tokens.TokenData
        The input.
    y : array, shape (d, m)
        Signs.
    kernel : str
        The attention.

    Returns
    -------
    Pass
        Computed with matrices.

    Examples
    --------
    >>> from attnsep.paper.tokens import TokenData
    >>> found = one_pass(TokenData(n=4, d=4, a=1, c="0.5"), np.ones((4, 1)), "softmax")
    >>> round(found.weight, 6), found.sums.round(6).tolist(), found.F > 0
    (0.842105, [1.842105], True)
    """
    A, root = data.matrix(), math.sqrt(data.log_n)
    rows = to_numpy(values(A, A, A, data.X(), kernel))
    row, own = rows[data.marked] / root, data.marked_class + 1
    another = next(k for k in range(1, data.d) if k != own)
    F = float(network(rows, y, data.tau)) / root
    return Pass(Law(data, kernel).weights().p, tuple(row[[0, own, another, -1]].tolist()), row @ to_numpy(y), F)


def four_layers(passes, *, tau, title):
    """Draw one input's way through the network's four layers, attention by attention, with its numbers.

    Parameters
    ----------
    passes : dict of str to Pass
        By mechanism, for one input and one draw of the signs.
    tau : float
        Threshold τ in units of √log n.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    most = max(entry for found in passes.values() for entry in found.entries)
    with style() as plt:
        figure, axes = plt.subplots(
            5,
            len(passes),
            figsize=(WIDTH, 6.8),
            sharey="row",
            squeeze=False,
            gridspec_kw={"height_ratios": [0.15, 0.45, 1, 1.4, 0.4]},
        )
        for (head, weights, entries, sums, end), (mechanism, found) in zip(axes.T, passes.items(), strict=True):
            _named(head, mechanism)
            _bar(weights, 0, found.weight, in_words(found.weight))
            names = ("mark", "own\nclass", "other\nclass", "const.")
            bars = entries.bar(names, found.entries, color=(MARK.colour, CLASS, CLASS, CONSTANT))
            entries.bar_label(bars, [f"{entry:.2g}" for entry in found.entries])
            entries.set_ylim(0, 1.3 * most)
            places = np.arange(1, len(found.sums) + 1)
            beyond = [look_of(mechanism).colour if total > tau else CLASS for total in found.sums]
            sums.bar(places, found.sums, color=beyond)
            sums.axhline(0, color=PLAIN.colour, linewidth=0.8)
            draw_rule(sums, Rule(y=tau, words="τ"), last=sums is axes[3, -1])
            sums.set(xticks=[places[0], places[-1]], xlabel="columns of signs")
            words = f"F = {found.F:.2g} > 0: fires" if found.F > 0 else "F = 0: silent"
            look = {"fontweight": "bold", "horizontalalignment": "center", "verticalalignment": "center"}
            end.text(0.5, 0.5, words, color=ink(look_of(mechanism).colour), transform=end.transAxes, **look)
            for axis in (head, weights, entries, end):
                axis.set_yticks([])
                axis.spines[:].set_visible(False)
                axis.grid(False)
            for axis in (head, weights, end):
                axis.set_xticks([])
            entries.tick_params(length=0)
            sums.grid(False)
        steps = ["1  attention: whose weight?", "its output, entry by entry"]
        steps += ["2  signs, and what exceeds τ", "3, 4  sum and ReLU"]
        for axis, words in zip(axes[1:, 0], steps, strict=True):
            axis.set_title(words)
        return finished(figure, title)


def areas(sizes, *, title):
    """Draw products of two numbers as rectangles on one scale, side by side, from the smallest group to the largest.

    Parameters
    ----------
    sizes : dict of str to dict of str to (int, int)
        By title of a group and mechanism: height and width.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.patches import Rectangle

    with style() as plt:
        figure, axis = plt.subplots(figsize=(WIDTH, 3.2))
        most = max(max(size) for group in sizes.values() for size in group.values())
        x = 0.0
        for name, group in sizes.items():
            start = x
            for mechanism, (height, width) in group.items():
                colour = look_of(mechanism).colour
                axis.add_patch(Rectangle((x, 0), width, height, color=colour, linewidth=0))
                x += width + 0.04 * most
            axis.text(
                (start + x) / 2, -0.04 * most, typeset(name), horizontalalignment="center", verticalalignment="top"
            )
            x += 0.12 * most
        for place, (mechanism, (height, width)) in enumerate(list(sizes.values())[-1].items()):
            words = f"{mechanism}: {height * width:,}"
            axis.text(
                0, (0.95 - 0.11 * place) * most, words, color=ink(look_of(mechanism).colour), verticalalignment="top"
            )
        axis.set(xlim=(0, x), ylim=(-0.2 * most, 1.02 * most), aspect="equal")
        axis.set_axis_off()
        return finished(figure, title)


def circle(weights, *, asked, title):
    """Draw keys evenly spaced on a circle, and as rays how much weight each gets from a query at one of them.

    Parameters
    ----------
    weights : dict of str to array, shape (n,)
        By mechanism, the weights of one query.
    asked : int
        The key that the query asks for.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.markers import MarkerStyle

    with style() as plt:
        figure, axes = plt.subplots(1, len(weights), figsize=(WIDTH, 3.3), squeeze=False)
        for axis, (mechanism, found) in zip(axes[0], weights.items(), strict=True):
            angle = 2 * np.pi * np.arange(len(found)) / len(found)
            x, y = np.cos(angle), np.sin(angle)
            for a, b, share in zip(x, y, found, strict=True):
                reach = 1 + 0.8 * share / max(found)
                axis.plot([a, reach * a], [b, reach * b], color=look_of(mechanism).colour, linewidth=3)
            axis.plot(x, y, "o", color=PLAIN.colour, markersize=3)
            towards = MarkerStyle(">").rotated(rad=angle[asked])
            axis.plot(0.8 * x[asked], 0.8 * y[asked], marker=towards, color=PLAIN.colour, markersize=7)
            axis.text(
                0, 0, f"right key:\n{in_words(found[asked])}", horizontalalignment="center", verticalalignment="center"
            )
            _named(axis, mechanism)
            axis.set(xlim=(-1.9, 1.9), ylim=(-1.9, 1.9), aspect="equal")
            axis.set_axis_off()
        return finished(figure, title)


VERDICTS = {  # of a box: its colour, the colour of its edge, a hatch
    "holds": (CONSTANT, BOUND, None),
    "refuted": ("white", BOUND, "////"),
    "undecided": (PLAIN.colour, PLAIN.colour, None),
}


def boxes(panels, *, title, x, y):
    """Draw boxes of a plane: those on which something holds are light, refuted ones hatched, undecided ones dark.

    Parameters
    ----------
    panels : dict of str to list of (float, float, float, float, str)
        By title: left, right, lower and upper end of each box, and its verdict as `certify` says it.
    x, y : str
        Quantities of the axes.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.patches import Patch, Rectangle

    with style() as plt:
        figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, 3.4), sharex=True, sharey=True, squeeze=False)
        for axis, (name, found) in zip(axes[0], panels.items(), strict=True):
            ends = np.array([box[:4] for box in found])
            width = ends[:, 1].max() - ends[:, 0].min()
            for left, right, low, high, verdict in found:
                colour, edge, hatch = VERDICTS[verdict]
                thin = min(0.5, 8 * (right - left) / width)  # the edges of small boxes would hide the boxes
                look = {"facecolor": colour, "edgecolor": edge, "hatch": hatch, "linewidth": thin}
                axis.add_patch(Rectangle((left, low), right - left, high - low, **look))
            axis.set(xlim=(ends[:, 0].min(), ends[:, 1].max()), ylim=(ends[:, 2].min(), ends[:, 3].max()))
            axis.set_title(typeset(name))
            axis.grid(False)
        axes[0, 0].set_ylabel(axis_name(y))
        axes[0, len(panels) // 2].set_xlabel(axis_name(x))
        keys = [
            Patch(facecolor=colour, edgecolor=BOUND, hatch=hatch, linewidth=0.4, label=verdict)
            for verdict, (colour, _, hatch) in VERDICTS.items()
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False)
        return finished(figure, title)


def _entries(axis, left, top, array, name):
    """Draw a matrix into one axes, each entry a grey cell with its number, and its name over it."""
    from matplotlib.patches import Rectangle

    most = np.max(np.abs(array)) or 1
    for (i, j), entry in np.ndenumerate(array):
        shade = str(1 - 0.5 * abs(entry) / most)
        axis.add_patch(Rectangle((left + j, top + i), 1, 1, facecolor=shade, edgecolor="white", linewidth=1))
        words = f"{entry:g}".replace("-", "−")
        axis.text(left + j + 0.5, top + i + 0.5, words, horizontalalignment="center", verticalalignment="center")
    middle = left + np.shape(array)[1] / 2
    axis.text(middle, top - 0.2, name, horizontalalignment="center", verticalalignment="bottom")


def kronecker(A1, X, A2, *, row, title):
    """Draw the scores of small matrices twice: as a product of three, and as a Kronecker product times vec(X).

    Parameters
    ----------
    A1, A2 : array, shape (n, d)
        The tokens that ask, and those that answer.
    X : array, shape (d, d)
        The weights that compare them.
    row : int
        The asking token whose row, block and scores are outlined, counted from 0.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    A1, X, A2 = np.asarray(A1), np.asarray(X), np.asarray(A2)
    n, d = A1.shape
    K, x, scores = np.kron(A1, A2), X.reshape(-1, 1), A1 @ X @ A2.T
    start, below = -1.6 * d, n + 2.2  # where the first product begins, and the second
    far = max(d * d + 4, start + 2 * d + n + 3.4)  # where the results stand
    places = {  # name: matrix, left, top, rows of the outline
        "$A_1$": (A1, start, 0, (row, 1)),
        "$X$": (X, start + d + 0.9, 0, None),
        "$A_2^{\\top}$": (A2.T, start + 2 * d + 1.8, 0, None),
        "scores": (scores, far, 0, (row, 1)),
        "$A_1 \\otimes A_2$": (K, 0, below, (row * n, n)),
        "vec($X$)": (x, d * d + 1.2, below, None),
        "scores, row by row": (K @ x, far + 1, below, (row * n, n)),
    }
    with style() as plt:
        figure, axis = plt.subplots(figsize=(WIDTH, 0.5 + 0.29 * (below + n * n)))
        for name, (array, left, top, outline) in places.items():
            _entries(axis, left, top, array, name)
            if outline:
                box = ((left, top + outline[0]), array.shape[1], outline[1])
                axis.add_patch(plt.Rectangle(*box, fill=False, edgecolor=PLAIN.colour, linewidth=2, zorder=4))
        for block, entries in enumerate(A1):
            words = "  ".join(f"{entry:g}$A_2$".replace("-", "−") for entry in entries)
            axis.text(-0.3, below + n * (block + 0.5), words, horizontalalignment="right", verticalalignment="center")
        for middle in (n / 2, below + n * n / 2):
            axis.text(far - 0.8, middle, "=", horizontalalignment="center", verticalalignment="center")
        for block in range(1, n):
            axis.plot([0, d * d], [below + n * block] * 2, color=PLAIN.colour, linewidth=0.8)
        axis.set(xlim=(start - 0.1, far + n + 0.3), ylim=(below + n * n + 0.1, -1))
        axis.set_axis_off()
        return finished(figure, title)
