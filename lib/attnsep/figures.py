"""Every plot of the book, in one style.  Functions take the arrays to draw and return a closed figure.

Each imports matplotlib when it draws: whoever only builds the pages, which list these functions, needs none.
"""

import re
from contextlib import contextmanager
from textwrap import fill

import numpy as np

SOFTMAX, LINEAR = "#006BA4", "#C85200"  # the two attentions, everywhere in the book
OTHERS = ("#333333", "#7A3E9D", "#00795A", "#B3246B")  # every colour has a contrast of at least 4 with white
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
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


@contextmanager
def _style():
    """Yield pyplot in the book's style, whatever a matplotlibrc says."""
    from matplotlib import pyplot

    colours = {"axes.prop_cycle": pyplot.cycler(color=(SOFTMAX, LINEAR, *OTHERS))}
    with pyplot.style.context(["default", STYLE | colours]):
        yield pyplot


def _asking(title, figure):
    """Return the figure under its question, closed for pyplot: so a notebook shows it once, as the cell's value."""
    from matplotlib import pyplot

    figure.suptitle(fill(title, 52), x=0.01, horizontalalignment="left")
    pyplot.close(figure)
    return figure


def _colours(labels):
    """Return one colour for each label: an attention has its own, whatever else is drawn."""
    names = {"softmax": SOFTMAX, "exp": SOFTMAX, "linear": LINEAR}  # exp is softmax without its normaliser
    owners = [next((name for name in names if label.startswith(name)), None) for label in labels]
    others = iter(OTHERS if any(owners) else (SOFTMAX, LINEAR, *OTHERS))
    return [names[owner] if owner else next(others) for owner in owners]


def _typeset(label):
    """Return a label that notebooks also print, such as D_0 or 10^4, as mathematics."""
    return label if "$" in label else re.sub(r"\b([DV]_|10\^)(\d+)", r"$\1{\2}$", label)


def four_panels(weights, *, title):
    """Draw n times the weights of one query, attention by data set.

    Parameters
    ----------
    weights : dict of str to tuple of array, shape (n,)
        For ``softmax`` and ``linear`` the weights on V_0 and on V_1.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 4.8), sharex=True, sharey=True)
        for row, (name, pair) in enumerate(weights.items()):
            colour, marker = ((SOFTMAX, "o"), (LINEAR, "s"))[row]
            for column, f in enumerate(pair):
                axis, n = axes[row, column], len(f)
                axis.semilogy(np.arange(n), n * np.asarray(f), marker, color=colour, markersize=2.5, linestyle="none")
                axis.axhline(1, color="black", linewidth=0.8)
                axis.set_title(f"{name}, $V_{column}$: max {np.max(f):.2g}")
        for axis in axes[:, 0]:
            axis.set_ylabel("$n \\times$ weight")
        for axis in axes[1]:
            axis.set_xlabel("token")
        return _asking(title, figure)


def why_and_whence(n, weights, fires, *, title, since):
    """Draw the marked token's weight beside the networks' probability to fire, both against n.

    Parameters
    ----------
    n : array, shape (k,)
        Numbers of tokens.
    weights : dict of str to array, shape (k,)
        For ``softmax`` and ``linear`` the weight of the marked token.
    fires : dict of str to array, shape (k,)
        Probabilities by label, at most six; a label begins with its attention.
    title : str
        The question that the figure answers.
    since : int
        Number of tokens from which on the answer holds.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.4), sharey=True)
        for axis, name, series in ((left, "the mark's weight", weights), (right, "the network fires", fires)):
            for (label, y), colour, dash in zip(series.items(), _colours(series), DASHES, strict=False):
                style = "-" if axis is left else dash
                axis.plot(n, y, color=colour, linestyle=style, linewidth=2.5, label=_typeset(label))
            axis.set(xscale="log", xlabel="number of tokens $n$", title=name, ylim=(-0.03, 1.05))
        left.set_ylabel("weight, probability")
        right.axvline(since, color="black", linewidth=1, linestyle=":")
        right.text(since, 0.5, f" $n$ = {since}")
        figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
        return _asking(title, figure)


def kronecker(K, x, scores, *, title):
    """Draw block j of A1 ⊗ A2 times vec(X) as row j of the score matrix.

    Parameters
    ----------
    K : array, shape (n², d²)
        The Kronecker product.
    x : array, shape (d²,)
        vec(X).
    scores : array, shape (n, n)
        The scores of all rows.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    n = len(scores)
    with _style() as plt:
        ratios = [K.shape[1], 1, n]
        figure, axes = plt.subplots(
            1, 3, figsize=(WIDTH, 4.5), width_ratios=[max(2.2, 8 * r / sum(ratios)) for r in ratios]
        )
        titles = (f"$A_1 \\otimes A_2$: {K.shape[0]} × {K.shape[1]}", f"vec(X): {len(x)}", f"scores: {n} × {n}")
        for axis, array, name in zip(axes, (K, np.reshape(x, (-1, 1)), scores), titles, strict=True):
            limit = np.max(np.abs(array))
            axis.imshow(array, cmap="PuOr", vmin=-limit, vmax=limit)
            axis.set(title=name, xticks=[])
            axis.grid(False)
        axes[0].set_yticks([n * j + (n - 1) / 2 for j in range(n)], [f"block {j + 1}" for j in range(n)])
        axes[1].set_yticks([])
        axes[2].set_yticks(range(n), [f"row {j + 1}" for j in range(n)])
        for j in range(1, n):
            axes[0].axhline(n * j - 0.5, color="black", linewidth=1.2)
            axes[2].axhline(j - 0.5, color="black", linewidth=1.2)
        return _asking(title, figure)


def flat_bands(weights, bands, *, title):
    """Draw n times the weights on V_0 inside their proved bands, one panel for each attention.

    Parameters
    ----------
    weights : dict of str to array, shape (n,)
        By attention, ``softmax`` first.
    bands : dict of str to tuple of float
        Lower and upper bound of each attention's weights.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 3.2), sharey=True)
        for axis, (name, f), colour, marker in zip(axes, weights.items(), (SOFTMAX, LINEAR), "os", strict=True):
            n, (low, high) = len(f), bands[name]
            axis.axhspan(n * low, n * high, color=colour, alpha=0.15, label="proved band")
            axis.plot(np.arange(n), n * np.asarray(f), marker, color=colour, markersize=2.5, label="weights")
            axis.axhline(1, color="black", linewidth=0.8)
            axis.set(title=f"{name}: {n * np.min(f):.2f} to {n * np.max(f):.2f}", xlabel="token")
        axes[0].set_ylabel("$n \\times$ weight")
        axes[0].legend(loc="upper right", framealpha=1)
        return _asking(title, figure)


def spike_against_n(n, ranges, measured, *, title):
    """Draw the marked token's weight against n: proved ranges as bands, weights of real matrices as marks.

    Parameters
    ----------
    n : array, shape (k,)
        Numbers of tokens of the bands.
    ranges : dict of str to tuple of array, shape (k,)
        By attention, smallest and largest weight of the marked token that V_1 allows.
    measured : dict of str to list of (int, float)
        By attention, pairs of n and the weight of one drawn matrix.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, axis = plt.subplots(figsize=(WIDTH, 3.8))
        for (name, (low, high)), colour, marker in zip(ranges.items(), (SOFTMAX, LINEAR), "os", strict=True):
            axis.fill_between(n, low, high, color=colour, alpha=0.25)
            axis.plot(n, low, color=colour, linewidth=1)
            axis.plot(*zip(*measured[name], strict=True), marker, color=colour, label=f"{name}, drawn matrices")
        axis.set(xscale="log", xlabel="number of tokens $n$", ylabel="weight of the marked token", ylim=(-0.03, 1.05))
        axis.legend(loc="center right", framealpha=1)
        return _asking(title, figure)


def curves(x, series, *, title, x_label, y_label, x_scale="linear", y_scale="linear"):
    """Draw several curves over one axis.

    Parameters
    ----------
    x : array, shape (k,)
        Where the curves were computed.
    series : dict of str to array, shape (k,)
        Curves by label, at most six.
    x_label, y_label : str
        What the axes show.
    x_scale, y_scale : str
        linear or log; a logarithmic x that falls, such as an error, is drawn from large to small.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.ticker import AutoMinorLocator

    with _style() as plt:
        figure, axis = plt.subplots(figsize=(WIDTH, 3.8))
        for (label, y), colour, dash, mark in zip(series.items(), _colours(series), DASHES, "os^Dv*", strict=False):
            size = 4 if len(x) < 15 else 0
            axis.plot(
                x, y, color=colour, linestyle=dash, linewidth=2, marker=mark, markersize=size, label=_typeset(label)
            )
        axis.set(xlabel=x_label, ylabel=y_label, xscale=x_scale, yscale=y_scale)
        if y_scale == "linear":
            axis.set_ylim(bottom=min(0, axis.get_ylim()[0]))
            axis.yaxis.set_minor_locator(AutoMinorLocator(5))
        if x[0] > x[-1]:
            axis.invert_xaxis()
        axis.grid(True, which="minor", alpha=0.1)
        figure.legend(loc="outside lower center", ncols=min(len(series), 2), frameon=False)
        return _asking(title, figure)


def seeds(x, panels, *, title, lines=None, x_label, y_label):
    """Draw one dot for every trained model, and a line through the means of each kernel.

    Parameters
    ----------
    x : sequence of int, length k
        Sizes, on a logarithmic axis.
    panels : dict of str to dict of str to array, shape (seeds, k)
        By title and kernel, one number for each seed and size.
    lines : dict of str to array, shape (k,), optional
        What the dots are compared with, in every panel.
    x_label, y_label : str
        What the axes show.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    colours = {"softmax": (SOFTMAX, "o"), "elu+1": (LINEAR, "s"), "linear": (OTHERS[0], "^")}
    with _style() as plt:
        figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, 3.8), sharey=True, squeeze=False)
        for axis, (name, kernels) in zip(axes[0], panels.items(), strict=True):
            for kernel, values in kernels.items():
                colour, marker = colours[kernel]
                axis.plot(x, np.mean(values, axis=0), color=colour, linewidth=2, marker=marker, label=kernel)
                for run in values:
                    axis.plot(x, run, marker, color=colour, markersize=5, alpha=0.5, markerfacecolor="none")
            for (label, y), dash in zip((lines or {}).items(), ("--", ":", "-."), strict=False):
                axis.plot(x, y, color="black", linestyle=dash, linewidth=1.2, label=label)
            axis.set(title=name, xlabel=x_label, xscale="log")
            axis.set_xticks(x, [str(value) for value in x])
            axis.minorticks_off()
        axes[0, 0].set_ylabel(y_label)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        return _asking(title, figure)


def heat_maps(matrices, *, title):
    """Draw matrices side by side, each on its own scale.

    Parameters
    ----------
    matrices : dict of str to array, shape (n, k)
        By title.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, axes = plt.subplots(1, len(matrices), figsize=(WIDTH, 3.6))
        for axis, (name, matrix) in zip(axes, matrices.items(), strict=True):
            axis.imshow(matrix, cmap="cividis", aspect="auto")
            axis.set(title=name, xlabel="column")
            axis.grid(False)
        axes[0].set_ylabel("token")
        return _asking(title, figure)


def tail_against_bound(s, exact, bound, *, title):
    """Draw the exact tail of a sum of equal-weight signs beside Hoeffding's bound, and the ratio of their exponents.

    Parameters
    ----------
    s : array, shape (k,)
        Attained thresholds above 0.
    exact, bound : array, shape (k,)
        P[sum ≥ s] and its bound.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 3.2))
        left.semilogy(s, bound, "--", color="black", label="Hoeffding's bound")
        left.semilogy(s, exact, "o", color=SOFTMAX, markersize=3, label="exact")
        left.set(title="probability of a sum ≥ s", xlabel="s", ylim=(max(np.min(exact) / 10, 1e-40), 3))
        left.legend(loc="lower left", framealpha=1)
        right.plot(s, np.log(exact) / np.log(bound), "o", color=SOFTMAX, markersize=3)
        right.axhline(1, color="black", linewidth=0.8)
        right.axhline(2 * np.log(2), color="black", linewidth=0.8, linestyle=":")
        right.set(title="log exact / log bound", xlabel="s", ylim=(0.9, 3))
        return _asking(title, figure)


def signed_sums(samples, tau, *, title):
    """Draw histograms of ⟨f, σ⟩, attention by data set, with the threshold.

    Parameters
    ----------
    samples : dict of str to tuple of array, shape (k,)
        For ``softmax`` and ``linear`` the drawn sums on V_0 and on V_1.
    tau : float
        Threshold τ.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 4.2), sharex=True, sharey=True)
        for row, (name, pair) in enumerate(samples.items()):
            for column, sums in enumerate(pair):
                axis, share = axes[row, column], float(np.mean(np.asarray(sums) > tau))
                axis.hist(sums, bins=np.linspace(-1.05, 1.05, 85), color=(SOFTMAX, LINEAR)[row])
                axis.axvline(tau, color="black", linestyle="--", linewidth=1)
                axis.set(yscale="log", title=f"{name} on $V_{column}$: above τ in {share:.1%}")
        for axis in axes[1]:
            axis.set_xlabel("one column's sum $\\langle f, \\sigma \\rangle$")
        for axis in axes[:, 0]:
            axis.set_ylabel("draws")
        return _asking(title, figure)


def curve_panels(x, panels, *, title, x_label, y_label):
    """Draw the same curves in panels side by side, over a logarithmic axis.

    Parameters
    ----------
    x : array, shape (k,)
        Where the curves were computed.
    panels : dict of str to dict of str to array, shape (k,)
        By title, curves by label, at most four; the labels are those of the first panel.
    x_label, y_label : str
        What the axes show.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, 3.8), sharey=True)
        for axis, (name, series) in zip(axes, panels.items(), strict=True):
            for (label, y), colour, marker, dash in zip(series.items(), _colours(series), "osv^", DASHES, strict=False):
                axis.plot(x, y, color=colour, linestyle=dash, marker=marker, markersize=4, linewidth=2, label=label)
            axis.set(xscale="log", xlabel=x_label, title=name, ylim=(-0.05, 1.05))
        axes[0].set_ylabel(y_label)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
        return _asking(title, figure)


def collapse(a, points, *, title, threshold):
    """Draw weights of the marked token for several n, against a and against (a² + a − 1) log n.

    Parameters
    ----------
    a : array, shape (k,)
        Strengths.
    points : dict of str to tuple of array, shape (k,)
        By label, x = (a² + a − 1) log n and the weight p, at most six.
    threshold : float
        Strength at which all curves cross.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH, 4), sharey=True)
        for (label, (x, p)), marker in zip(points.items(), "os^Dv*", strict=False):
            left.plot(a, p, marker=marker, markersize=3, linewidth=1, label=label)
            right.plot(x, p, marker=marker, markersize=4, linestyle="none", alpha=0.7)
        curve = np.linspace(-8, 8, 200)
        right.plot(curve, 1 / (1 + np.exp(-curve)), color="black", linewidth=1, zorder=0, label="logistic curve")
        left.axvline(threshold, color="black", linestyle=":", linewidth=1)
        left.set(title="against $a$", xlabel="$a$", ylabel="weight $p$ of the marked token")
        right.set(title="against $x$", xlabel="$x = (a^2 + a - 1)\\,\\log n$", xlim=(-8, 8))
        right.legend(loc="lower right", framealpha=1)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
        return _asking(title, figure)


def firing_dots(panels, *, title):
    """Draw predicted firing probabilities as open marks and measured intervals as bars, kernel by kernel.

    Parameters
    ----------
    panels : dict of str to dict of str to list of (float, float, float)
        By title and kernel, for D_0 and then D_1: the predicted probability and the ends of the measured interval.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    with _style() as plt:
        figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, 6), sharey=True)
        for axis, (name, kernels) in zip(axes, panels.items(), strict=True):
            for row, pair in enumerate(kernels.values()):
                for (p, low, high), colour, marker, shift in zip(
                    pair, (LINEAR, SOFTMAX), "so", (-0.18, 0.18), strict=True
                ):
                    axis.plot([low, high], [row + shift] * 2, color=colour, linewidth=4, alpha=0.35)
                    axis.plot(p, row + shift, marker, color=colour, markersize=6, markerfacecolor="white")
            axis.set(title=name, xlabel="probability to fire", xlim=(-0.04, 1.04), xticks=[0, 0.5, 1])
            axis.set_yticks(range(len(kernels)), kernels)
        axes[0].invert_yaxis()
        handles = [
            plt.Line2D(
                [], [], color=colour, marker=marker, markerfacecolor="white", linewidth=4, alpha=0.8, label=label
            )
            for colour, marker, label in ((LINEAR, "s", "on $D_0$"), (SOFTMAX, "o", "on $D_1$"))
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False)
        return _asking(title, figure)


def level_maps(panels, *, title, levels, line, label):
    """Draw maps in bands of a few levels, side by side on one scale, with one contour line.

    Parameters
    ----------
    panels : dict of str to tuple
        By title: x (k,), y (l,), the map (l, k), and what ``Axes.set`` takes, such as ``xlabel`` or ``xscale``.
    levels : sequence of float
        Ascending borders of the bands.
    line : float
        Value of the contour line.
    label : str
        What the colours show.
    title : str
        The question that the figure answers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.colors import BoundaryNorm

    with _style() as plt:
        figure, axes = plt.subplots(1, len(panels), figsize=(WIDTH, 4.2), squeeze=False)
        norm = BoundaryNorm(levels, 256)
        for axis, (name, (x, y, values, settings)) in zip(axes[0], panels.items(), strict=True):
            mesh = axis.pcolormesh(x, y, values, cmap="cividis", norm=norm, shading="nearest", rasterized=True)
            axis.contour(x, y, values, levels=[line], colors="white", linewidths=2.5)
            axis.contour(x, y, values, levels=[line], colors="black", linewidths=1, linestyles="--")
            axis.set(title=name, **settings)
            axis.grid(False)
        bar = figure.colorbar(mesh, ax=axes, location="bottom", aspect=40, format="%g", ticks=levels)
        bar.set_label(f"{label}; dashed line: {line:g}")
        return _asking(title, figure)
