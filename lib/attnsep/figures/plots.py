"""Plots that several pages need: objects of the grammar come in, a closed figure comes out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attnsep.figures._drawing import (
    DRAWN,
    WIDTH,
    draw_curve,
    draw_rule,
    each,
    finished,
    require_seen,
    style,
    typeset,
    wrapped,
)
from attnsep.figures.grammar import (
    BOUND,
    BOUND_DASH,
    DASHES,
    MARK,
    PLAIN,
    SHARES,
    Band,
    Curve,
    Histogram,
    Rule,
    axis_name,
    labels,
    look_of,
    shades,
)

BESIDE = 0.3  # how far, in rows, single differences lie above their interval, which would hide them
FEW_SIZES = 8  # so many fit under the logarithmic axes of a row, each with its number


def chart(
    things, *, title, x, y, x_scale="linear", y_scale="linear", x_range=None, y_range=None, columns=2, height=None
):
    """Draw curves and what helps to read them, in one panel or several.

    Parameters
    ----------
    things : sequence of Curve, Rule, Region, Window, Spot, Band or Histogram
        What to draw, in any order; panels stand in the order in which curves name them.
    title : str
        The question that the figure answers.
    x, y : str, or dict of str to str
        Quantities of the axes, from `QUANTITIES`; or the quantity of each panel.
    x_scale, y_scale : str
        linear or log; or that of each panel.
    x_range, y_range : pair of float, optional
        Where the axes end; from large to small, such as for an error, if the first is the larger.  Or by panel.
    columns : int
        So many panels stand side by side.
    height : float, optional
        Of the figure, in inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If a quantity, a mechanism or a panel is unknown, or if `y_range` hides more than a quarter of a curve's points,
        or nearly all of a bound's.
    """
    owners = [thing for thing in things if isinstance(thing, Curve | Band | Histogram)]
    names = [*dict.fromkeys(thing.panel for thing in owners)]
    for thing in things:
        if thing.panel is not None and thing.panel not in names:
            raise ValueError(f"panel {thing.panel!r}: no curve stands there; there are {', '.join(map(repr, names))}")
    curves = [thing for thing in things if isinstance(thing, Curve)]
    looks = dict(zip(map(id, curves), zip(shades(curves), labels(curves), strict=True), strict=True))
    rows, columns = -(-len(names) // columns), min(columns, len(names))
    with style() as plt:
        size = (WIDTH, height or 3.4 * rows)
        alike = {f"share{axis}": not isinstance(q, dict) for axis, q in (("x", x), ("y", y))}
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, **alike)
        for index, (axis, name) in enumerate(zip(axes.flat, names, strict=False)):
            axis.set(xscale=each(x_scale, name), yscale=each(y_scale, name), title=typeset(name))
            if not alike["sharex"] or index + columns >= len(names):
                axis.set_xlabel(axis_name(each(x, name)))
            if not alike["sharey"] or index % columns == 0:
                axis.set_ylabel(axis_name(each(y, name)))
            later = {looks[id(c)][1] for c in curves if c.panel in names[index + 1 : (index // columns + 1) * columns]}
            for thing in things:
                if isinstance(thing, Curve) and thing.panel == name:
                    colour, label = looks[id(thing)]
                    draw_curve(axis, thing, colour, "" if label in later else label)
                elif isinstance(thing, Rule) and thing.panel in (None, name):
                    draw_rule(axis, thing, last=index + 1 == len(names) or (index + 1) % columns == 0)
                elif not isinstance(thing, Curve) and thing.panel in (None, name):
                    DRAWN[type(thing)](axis, thing)
            if (limits := each(x_range, name)) is not None:
                axis.set_xlim(*limits)
            if (limits := each(y_range, name)) is not None:
                axis.set_ylim(*limits)
                require_seen(axis, [curve for curve in curves if curve.panel == name])
            if each(y, name) in SHARES and axis.get_yscale() == "linear":
                (low, high), ticks = axis.get_ylim(), axis.get_yticks()
                if (ticks > 1.01).any():  # 1 itself may come rounded
                    axis.set_yticks([tick for tick in ticks if low <= tick <= min(high, 1.01)])
            sizes = sorted({place for c in curves if c.panel == name for place in c.x})
            if axis.get_xscale() == "log" and len(sizes) * columns <= FEW_SIZES and sizes[-1] < 10**4:
                axis.set_xticks(sizes, _apart(sizes))
                axis.minorticks_off()
        for axis in axes.flat[len(names) :]:
            axis.remove()
        return finished(figure, title)


def _apart(sizes):
    """Return the labels of sizes on a logarithmic axis; one that would run into the label before it is left empty.

    Examples
    --------
    >>> _apart([8, 32, 45, 8385])
    ['8', '32', '', '8385']
    """
    least, found, last = 0.06 * math.log(sizes[-1] / sizes[0]), [], -math.inf
    for size in sizes:
        found.append(f"{size:g}" if math.log(size) - last >= least else "")
        last = math.log(size) if found[-1] else last
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Map:
    """A number over two others, to draw as shades; ``x_scale`` and ``y_scale`` are linear or log.

    ``values`` has shape (l, k) for x of length k and y of length l; x_name and y_name are from `QUANTITIES`.
    """

    x: Sequence
    y: Sequence
    values: Sequence
    x_name: str
    y_name: str
    panel: str = ""
    x_scale: str = "linear"
    y_scale: str = "linear"


def level_maps(things, *, title, levels, line, name="worst error"):
    """Draw maps in shades of grey, the better the lighter, side by side on one scale, with one contour line.

    Parameters
    ----------
    things : sequence of Map, Region or Spot
        One map for each panel, and words and points in them.
    levels : sequence of float
        Ascending borders of the shades.
    line : float
        Value of the contour line.
    name : str
        What the shades show, from `QUANTITIES`.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.colors import BoundaryNorm

    maps = [thing for thing in things if isinstance(thing, Map)]
    with style() as plt:
        figure, axes = plt.subplots(1, len(maps), figsize=(WIDTH, 4.4), squeeze=False)
        norm = BoundaryNorm(levels, 256)
        for axis, drawn in zip(axes[0], maps, strict=True):
            mesh = axis.pcolormesh(
                drawn.x, drawn.y, drawn.values, cmap="Greys", norm=norm, shading="nearest", rasterized=True
            )
            axis.contour(drawn.x, drawn.y, drawn.values, levels=[line], colors="white", linewidths=3)
            axis.contour(drawn.x, drawn.y, drawn.values, levels=[line], colors="black", linewidths=1.5)
            axis.set(title=wrapped(drawn.panel, 26), xlabel=axis_name(drawn.x_name), ylabel=axis_name(drawn.y_name))
            axis.set(xscale=drawn.x_scale, yscale=drawn.y_scale)
            axis.grid(False)
            for thing in things:
                if not isinstance(thing, Map) and thing.panel in (None, drawn.panel):
                    DRAWN[type(thing)](axis, thing)
        bar = figure.colorbar(mesh, ax=axes, location="bottom", aspect=40, format="%g", ticks=levels)
        bar.set_label(f"{axis_name(name)}; black line: {line:g}")
        return finished(figure, title)


def matrices(arrays, *, title, blocks=None):
    """Draw matrices with few entries side by side: each entry's number, the darker the farther it is from 0.

    Parameters
    ----------
    arrays : dict of str to array, shape (k, l)
        By title.
    blocks : dict of str to (str, int), optional
        By title, what a block of rows is called and how many rows it has; a line stands between two blocks.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with style() as plt:
        ratios = [np.shape(array)[1] + 0.6 for array in arrays.values()]
        tall = 0.9 + 0.92 * WIDTH * max(len(array) for array in arrays.values()) / sum(ratios)
        size = (WIDTH, min(4.4, tall))
        figure, axes = plt.subplots(1, len(arrays), figsize=size, width_ratios=ratios, squeeze=False)
        for axis, (name, array) in zip(axes[0], arrays.items(), strict=True):
            array = np.asarray(array)
            axis.imshow(np.abs(array), cmap="Greys", vmin=0, vmax=1.6 * (np.max(np.abs(array)) or 1))
            for (i, j), entry in np.ndenumerate(array):
                words = f"{entry:g}".replace("-", "−")
                axis.text(j, i, words, horizontalalignment="center", verticalalignment="center")
            axis.set(title=name, xticks=[], yticks=[])
            axis.grid(False)
            if name in (blocks or {}):
                word, rows = blocks[name]
                starts = np.arange(0, len(array), rows)
                axis.set_yticks(starts + (rows - 1) / 2, [f"{word} {k + 1}" for k in range(len(starts))])
                for start in starts[1:]:
                    axis.axhline(start - 0.5, color=PLAIN.colour, linewidth=1.2)
        return finished(figure, title)


def heat_maps(arrays, *, title, mechanisms=None, marked=None, most=None, y="token", x="entry", columns=None):
    """Draw matrices side by side, each from white at 0 to its largest number; weights in their mechanism's colour.

    Parameters
    ----------
    arrays : dict of str to array, shape (n, k)
        By title.
    mechanisms : dict of str to str, optional
        By title, whose weights they are; grey without.
    marked : dict of str to int, or int, optional
        The marked token's row.
    most : float, optional
        What is drawn darkest in all of them; else the largest number of each.
    y, x : str
        What rows and columns are, from `QUANTITIES`.
    columns : int, optional
        So many stand side by side; else all.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.colors import LinearSegmentedColormap

    columns = columns or len(arrays)
    rows = -(-len(arrays) // columns)
    with style() as plt:
        figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, 3.6 if rows == 1 else 2.3 * rows), squeeze=False)
        for axis, (name, array) in zip(axes.flat, arrays.items(), strict=False):
            colour = look_of((mechanisms or {}).get(name)).colour
            shades_ = LinearSegmentedColormap.from_list("shades", ["white", colour])
            axis.imshow(array, cmap=shades_, vmin=0, vmax=most, aspect="auto", interpolation="nearest")
            axis.set_title(name)
            axis.grid(False)
            axis.spines[["top", "right"]].set_visible(True)
            if (row := each(marked, name)) is not None:
                axis.plot(
                    1.05,
                    1 - (row + 0.5) / len(array),
                    MARK.marker,
                    color=MARK.colour,
                    markersize=9,
                    clip_on=False,
                    transform=axis.transAxes,
                    zorder=6,
                )
        for axis in axes[:, 1:].flat:
            axis.set_yticks([])
        for axis in axes[:, 0]:
            axis.set_ylabel(axis_name(y))
        for axis in axes[-1]:
            axis.set_xlabel(axis_name(x))
        return finished(figure, title)


def images(arrays, *, title, columns=5):
    """Draw small pictures, such as digits, the darker the larger a number.

    Parameters
    ----------
    arrays : dict of str to array, shape (k, l)
        By title.
    columns : int
        So many stand side by side.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = -(-len(arrays) // columns)
    with style() as plt:
        figure, axes = plt.subplots(rows, columns, figsize=(WIDTH, 0.5 + 1.4 * rows), squeeze=False)
        for axis in axes.flat:
            axis.set_axis_off()
        for axis, (name, array) in zip(axes.flat, arrays.items(), strict=False):
            axis.imshow(array, cmap="Greys", interpolation="nearest")
            axis.set_title(name)
        return finished(figure, title)


def firing_dots(panels, *, title):
    """Draw predicted firing probabilities as marks and measured intervals as bars, kernel by kernel.

    Parameters
    ----------
    panels : dict of str to dict of str to dict of str to (float, float, float)
        By title, kernel, and data set, D_0 or D_1: the predicted probability and the ends of the measured interval.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with style() as plt:
        figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, 6.4), sharey=True, squeeze=False)
        for axis, (name, kernels) in zip(axes[0], panels.items(), strict=True):
            for row, (kernel, found) in enumerate(kernels.items()):
                colour, marker = look_of(kernel)
                for data, (p, low, high) in found.items():
                    place = row + {"D_0": -0.2, "D_1": 0.2}[data]
                    inside = {"D_0": "white", "D_1": colour}[data]
                    bar = {"linestyle": DASHES[data], "linewidth": 1.6, "gid": data}
                    axis.plot([low, high], [place] * 2, color=colour, **bar)
                    axis.plot(
                        p, place, marker=marker, color=colour, markersize=6, markerfacecolor=inside, gid=data, zorder=4
                    )
            axis.set(title=name, xlabel=axis_name("fires"), xlim=(-0.06, 1.06), xticks=[0, 0.5, 1])
            axis.set_yticks(range(len(kernels)), [kernel.replace(":", " ") for kernel in kernels])
        for text, kernel in zip(axes[0, 0].get_yticklabels(), kernels, strict=True):
            text.set_color(look_of(kernel).colour)
        axes[0, 0].invert_yaxis()
        handles = [
            plt.Line2D(
                [], [], color=PLAIN.colour, marker="o", markerfacecolor=inside, linestyle=DASHES[data], label=label
            )
            for data, inside, label in (("D_0", "white", "on $D_0$: open"), ("D_1", PLAIN.colour, "on $D_1$: filled"))
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
        return finished(figure, title)


def forest(panels, *, title, x):
    """Draw differences with their intervals, question below question, beside a line at 0.

    Parameters
    ----------
    panels : dict of str to dict of str to dict of str to (float, float, sequence of float)
        By title, question, and mechanism: the mean of the differences, the half-width of its interval, and the single
        differences, small dots above it.  The marker is open where the interval holds 0.
    x : str
        Quantity of the axis.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    rows = max(sum(map(len, questions.values())) + len(questions) for questions in panels.values())
    mechanisms = dict.fromkeys(name for questions in panels.values() for found in questions.values() for name in found)
    with style() as plt:
        size = (WIDTH, 1.3 + 0.27 * rows)
        figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False)
        for axis, (name, questions) in zip(axes[0], panels.items(), strict=True):
            row, places = 0, {}
            for question, found in questions.items():
                places[question] = row + (len(found) - 1) / 2
                for mechanism, (mean, half, single) in found.items():
                    colour, marker = look_of(mechanism)
                    axis.plot([mean - half, mean + half], [row] * 2, color=colour, linewidth=1.6)
                    axis.plot(single, [row - BESIDE] * len(single), ".", color=colour, markersize=4, alpha=0.6)
                    inside = "white" if abs(mean) <= half else colour
                    look = {"marker": marker, "color": colour, "markerfacecolor": inside, "markersize": 6, "zorder": 4}
                    axis.plot(mean, row, **look)
                    row += 1
                row += 1
            axis.axvline(0, color=BOUND, linestyle=BOUND_DASH, linewidth=1)
            axis.set(title=typeset(name), xlabel=axis_name(x))
            axis.set_yticks([*places.values()], [typeset(question) for question in places])
            axis.invert_yaxis()
        handles = [
            plt.Line2D([], [], color=look_of(name).colour, marker=look_of(name).marker, label=name)
            for name in mechanisms
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
        return finished(figure, title)
