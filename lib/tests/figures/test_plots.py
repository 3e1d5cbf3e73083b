"""What the drawn artists look like, and that they hold what was given."""

import io
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot
import numpy as np
import pytest

from attnsep import figures
from attnsep.figures import Band, Curve, Histogram, Map, Region, Rule, Spot, Window
from attnsep.figures._drawing import require_seen, wrapped
from attnsep.figures.grammar import BOUND, CROWD, MARK, MECHANISMS, PLAIN, axis_name

BLUE, ORANGE = "#006BA4", "#C85200"
DASHED, SOLID = (0, (3, 1.4)), "-"
AXES = {"x": "n", "y": "fires", "title": "Why?"}
FOUR = [
    Curve(x=[1, 2, 3], y=[place, place, place], mechanism=kernel, data=data)
    for place, (kernel, data) in enumerate(
        (kernel, data) for kernel in ("softmax", "linear") for data in ("D_1", "D_0")
    )
]


def lines(axis):
    return [line for line in axis.get_lines() if len(line.get_xdata()) > 2 or line.get_label()[0] != "_"]


def ends(axis):
    """Return the labels at the ends of lines: their words, their colour, and the point that they belong to."""
    return {text.get_text(): (text.get_color(), text.xy) for text in axis.texts if text.get_gid() == "end"}


def is_dashed(line):
    return line._unscaled_dash_pattern[1] is not None


def ticks(axis):
    """Return the numbers or names that stand along an axis of axes, and where."""
    return [(label.get_text(), float(x)) for label, x in zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True)]


def test_a_dashed_line_lies_above_a_solid_one_at_the_same_place():
    """Else nobody sees it: on many pages three of the four curves end at 0."""
    bound = Curve(x=[1, 2, 3], y=[0, 0, 0], role="bound", words="at most")
    (axis,) = figures.chart([*FOUR, bound], **AXES).axes
    *curves, below = lines(axis)
    above = {dashed: [line.zorder for line in curves if is_dashed(line) == dashed] for dashed in (True, False)}
    assert min(above[True]) > max(above[False]) > below.zorder, "a bound lies below all of them"


def test_a_bound_is_thin_where_it_moves_in_steps_too():
    bound = Curve(x=[1, 2, 3], y=[2, 1, 0], role="bound", words="at most", steps="post")
    (axis,) = figures.chart([bound, Curve(x=[1, 2, 3], y=[1, 1, 0], steps="post")], **AXES).axes
    assert [line.get_linewidth() for line in lines(axis)] == [1.0, 1.6]


@pytest.mark.slow
def test_labels_are_moved_apart_in_every_panel():
    curves = [
        Curve(x=[1, 2, 3], y=[0, end, end], mechanism=kernel, panel=panel)
        for panel in ("first", "second")
        for kernel, end in (("softmax", 1), ("linear", 0.99))
    ]
    for axis in figures.chart(curves, **AXES, columns=1).axes:
        linear, softmax = sorted(text.get_position()[1] for text in axis.texts if text.get_gid() == "end")
        assert softmax - linear > 0.02, "a label is much higher than a hundredth of the axis, and so would overlap"
        assert softmax > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_colour_is_mechanism_and_dash_is_data_in_any_order(order):
    (axis,) = figures.chart([FOUR[k] for k in order], **AXES).axes
    looks = {line.get_ydata()[0]: (line.get_color(), is_dashed(line), line.get_linewidth()) for line in lines(axis)}
    assert looks == {0: (BLUE, False, 2), 1: (BLUE, True, 2), 2: (ORANGE, False, 2), 3: (ORANGE, True, 2)}


@pytest.mark.slow
@pytest.mark.parametrize("limits", [(0, 1.2), (-0.03, 1.15), (0, 1.25)])
@pytest.mark.parametrize(("quantity", "most"), [("fires", 1), ("size", 1.2)])
def test_an_axis_of_probabilities_has_no_number_above_1(quantity, most, limits):
    (axis,) = figures.chart(FOUR[:2], **AXES | {"y": quantity}, y_range=limits).axes
    assert axis.get_yticks()[axis.get_yticks() < 1.25].max() == pytest.approx(most)
    assert axis.get_ylim() == limits


def ranged(y, role, **axes):
    """Return a chart of one curve whose axis ends at 1 and at 0."""
    curve = Curve(x=range(1, np.shape(y)[-1] + 1), y=y, role=role, mechanism="linear", data="D_1", words="all")
    return figures.chart([curve], **AXES | {"y": "size"}, y_range=(1, 0), **axes)


@pytest.mark.slow
@pytest.mark.parametrize(("role", "hidden"), [("exact", 1), ("sampled", 1), ("bound", 3)])
def test_an_end_of_a_curve_may_leave_the_picture(role, hidden):
    """What lies beyond the ends of the abscissa, or is no number, was left out on purpose."""
    y = [9.0] * hidden + [0.5] * (4 - hidden)
    for figure in (ranged(y, role), ranged([9.0] * 9 + y, role, x_range=(9.5, 14)), ranged([*y, np.nan, np.nan], role)):
        assert figure.axes[0].get_ylim() == (1, 0)


@pytest.mark.parametrize(
    ("role", "y", "share"),
    [
        ("exact", [0.5, 0.5, 9, 9], 50),
        ("sampled", [[0.5, -9, -9], [0.5, 0.5, 0.5]], 33),
        ("bound", [9, 9, 9, 9], 100),
    ],
)
def test_a_range_that_hides_a_curve_is_refused(role, y, share):
    with pytest.raises(ValueError, match=rf"y_range = \(0, 1\): hides {share}% of the points of linear, D_1, all, of"):
        ranged(y, role)


@pytest.mark.parametrize(("y", "share"), [([2, 2, 0.5], 67), ([-2, -2, 0.5], 67), ([-2, 2, 0.5], 67), ([-1, 0, 1], 33)])
def test_what_lies_above_and_what_lies_below_is_hidden(y, share):
    (axis,) = figures.chart(FOUR[:1], **AXES).axes
    axis.set_ylim(0, 1)
    curve = Curve(x=[1, 2, 3], y=y, role="sampled", mechanism="linear")
    with pytest.raises(ValueError, match=rf"^y_range = \(0, 1\): hides {share}% of the points of linear, of which"):
        require_seen(axis, [curve])


def test_steps_end_where_the_numbers_end():
    gone = Curve(x=[1, 2, 3, 4], y=[1, 0.5, np.nan, np.nan], mechanism="softmax", steps="mid", words="short")
    (axis,) = figures.chart([gone], **AXES).axes
    assert lines(axis)[0].get_xdata().tolist() == [1, 2]
    assert ends(axis)["short"][1] == (2, 0.5)


def test_labels_stand_at_the_lines_that_they_name_in_their_colour():
    (axis,) = figures.chart(FOUR, **AXES).axes
    assert ends(axis) == {
        "softmax on $D_1$": (BLUE, (3, 0)),
        "softmax on $D_0$": (BLUE, (3, 1)),
        "linear on $D_1$": (ORANGE, (3, 2)),
        "linear on $D_0$": (ORANGE, (3, 3)),
    }
    assert not axis.figure.legends
    assert axis.get_legend() is None


@pytest.mark.parametrize(("end", "is_early"), [(8, True), (8.5, False)])
def test_a_label_stands_where_its_line_ends(end, is_early):
    """Right of the axes; and where the line ends early, beside its end."""
    short = Curve(x=[0, end], y=[0.1, 0.7], mechanism="linear", words="short")
    (axis,) = figures.chart([short], **AXES, x_range=(0, 9.0), y_range=(0, 1)).axes
    (text,) = axis.texts
    assert text.xyann == (pytest.approx(end / 9 if is_early else 1), pytest.approx(0.7))
    assert (text.arrow_patch.get_edgecolor(), text.get_color()) == (mpl.colors.to_rgba(ORANGE), ORANGE)


@pytest.mark.parametrize(("y", "place"), [(1.2, 1), (-0.2, 0)])
def test_the_label_of_a_line_that_leaves_the_picture_stays_beside_it(y, place):
    curve = Curve(x=[1, 2, 3, 4], y=[0.5, 0.5, 0.5, y], mechanism="linear", words="leaves")
    (axis,) = figures.chart([curve], **AXES | {"y": "size"}, y_range=(0, 1)).axes
    assert axis.texts[0].xyann[1] == pytest.approx(place, abs=0.02)


@pytest.mark.parametrize(
    ("words", "width", "lines"),
    [
        ("one two", 7, "one two"),
        ("one two", 6, "one\ntwo"),
        ("an incomprehensibility", 9, "an\nincomprehensibility"),
        ("a so-called one", 6, "a\nso-called\none"),
        ("a = 1, b = 2", 9, "a = 1,\nb = 2"),
        ("D_0 and 10^12, $a b$ too", 12, "D_0 and\n10^12, $a b$\ntoo"),
        ("D_0 and 10^12 too", 6, "$D_{0}$ and\n$10^{12}$\ntoo"),
    ],
)
def test_words_are_wrapped_at_spaces_and_formulas_stay_whole(words, width, lines):
    assert wrapped(words, width) == lines


def test_labels_of_lines_that_end_together_do_not_overlap():
    curves = [Curve(x=[1, 2], y=[k, 0], mechanism="linear", at={"d": k}) for k in range(6)]
    figure = figures.chart(curves, **AXES)
    figure.canvas.draw()
    boxes = sorted(
        (mpl.text.Text.get_window_extent(text) for text in figure.axes[0].texts if text.get_gid() == "end"),
        key=lambda box: box.y0,
    )
    assert len(boxes) == 6
    assert all(low.y1 <= high.y0 for low, high in pairwise(boxes))


def test_sizes_are_shades_of_their_mechanism_from_light_to_dark():
    curves = [Curve(x=[1, 2], y=[n, n], mechanism="softmax", at={"n": n}, data="D_0") for n in (100, 1, 10)]
    (axis,) = figures.chart(curves, **AXES).axes
    by_size = sorted(axis.get_lines(), key=lambda line: line.get_ydata()[0])
    hsv = [mpl.colors.rgb_to_hsv(mpl.colors.to_rgb(line.get_color())) for line in by_size]
    assert [hue for hue, _, _ in hsv] == pytest.approx(
        [mpl.colors.rgb_to_hsv(mpl.colors.to_rgb(BLUE))[0]] * 3, abs=0.02
    )
    assert hsv[0][2] > hsv[1][2] > hsv[2][2]
    assert all(map(is_dashed, by_size))
    assert set(ends(axis)) == {"n = 1", "n = 10", "n = 100"}


def test_bounds_and_thresholds_are_thin_grey_dashes_with_their_words():
    bound = Curve(x=[1, 2], y=[3, 4], role="bound", words="Hoeffding's bound")
    things = (FOUR[0], bound, Rule(y=0.5, words="a coin"), Rule(x=2, words="n = 2"))
    (axis,) = figures.chart(things, **AXES).axes
    _, *grey = axis.get_lines()
    assert len(grey) == 3
    for line in grey:
        assert (line.get_color(), is_dashed(line), line.get_linewidth()) == (BOUND, True, 1)
    assert [list(grey[1].get_ydata()), list(grey[2].get_xdata())] == [[0.5, 0.5], [2, 2]]
    words = {text.get_text() for text in axis.texts}
    assert {"Hoeffding's bound", "a coin", "n = 2"} <= words
    assert all(text.get_color() == BOUND or text.get_text() == "softmax on $D_1$" for text in axis.texts)


def test_the_words_of_a_rule_stand_at_its_end_or_as_far_along_it_as_is_said():
    rules = [Rule(y=0.5, words="D_1 above"), Rule(y=0.25, words="on it", along=0.3), Rule(x=2, words="n = 2")]
    rules.append(Rule(x=3, words="low", along=0.1))
    (axis,) = figures.chart([FOUR[0], *rules], **AXES, y_range=(0, 1)).axes
    found = {text.get_text(): text for text in axis.texts}
    assert [found[word].xy for word in ("$D_{1}$ above", "on it", "n = 2", "low")] == [
        (1, 0.5), (0.3, 0.25), (2, 0.97), (3, 0.1),
    ]  # fmt: skip
    across, along = axis.get_yaxis_transform(), axis.get_xaxis_transform()
    assert [found[word].xycoords for word in ("$D_{1}$ above", "on it", "n = 2", "low")] == [across] * 2 + [along] * 2
    assert [found[word].get_gid() for word in ("$D_{1}$ above", "on it", "n = 2", "low")] == ["end", None, None, None]
    assert found["$D_{1}$ above"].xyann[1] == pytest.approx(0.5)


def test_steps_are_steps():
    styles = [Curve(x=[1, 2], y=[1, 2], steps=steps) for steps in (None, "mid", "post")]
    (axis,) = figures.chart(styles, **AXES).axes
    looks = [(line.get_drawstyle(), line.get_marker(), line.get_linewidth()) for line in axis.get_lines()]
    assert looks == [("default", "o", 2), ("steps-mid", "None", 1.6), ("steps-post", "None", 1.6)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("role", "points", "marker"),
    [("exact", 14, "s"), ("exact", 15, "None"), ("sampled", 15, "s"), ("bound", 2, "None")],
)
def test_the_points_of_a_line_are_shown_where_they_are_few_or_sampled(role, points, marker):
    curve = Curve(x=range(points), y=range(points), role=role, mechanism="linear", words="all")
    (axis,) = figures.chart([curve], **AXES | {"y": "size"}).axes
    assert axis.get_lines()[0].get_marker() == marker


def test_what_is_sampled_shows_dots_and_intervals():
    curve = Curve(x=[1, 2], y=[0.2, 0.4], low=[0.1, 0.3], high=[0.3, 0.6], role="sampled", mechanism="linear")
    (axis,) = figures.chart([curve], **AXES).axes
    (line,), (bars,) = axis.get_lines(), axis.collections
    assert line.get_marker() == MECHANISMS["linear"].marker
    assert [segment.tolist() for segment in bars.get_segments()] == [[[1, 0.1], [1, 0.3]], [[2, 0.3], [2, 0.6]]]
    assert mpl.colors.same_color(bars.get_color()[0][:3], ORANGE)


def test_several_runs_are_dots_and_a_line_through_their_means():
    runs = np.array([[0.1, 0.5], [0.3, 0.7], [0.8, 0.6]])  # whose medians are others
    (axis,) = figures.chart([Curve(x=[20, 40], y=runs, mechanism="elu+1", role="sampled")], **AXES).axes
    mean, *single = axis.get_lines()
    assert mean.get_ydata() == pytest.approx([0.4, 0.6])
    assert [line.get_ydata().tolist() for line in single] == runs.tolist()
    colour, marker = MECHANISMS["elu+1"]
    looks = {(*line.get_xdata(), line.get_linestyle(), line.get_color(), line.get_marker()) for line in single}
    assert looks == {(20, 40, "None", colour, marker)}
    assert {line.get_markerfacecolor() for line in single} == {"none"}, "where two lie together both are seen"


def test_dots_have_no_line():
    (axis,) = figures.chart([Curve(x=[1, 2], y=[1, 2], dots=True, mechanism="linear")], **AXES).axes
    (line,) = axis.get_lines()
    assert (line.get_linestyle(), line.get_marker()) == ("None", "s")


def test_dots_are_open_on_d0_and_filled_on_d1():
    pair = [Curve(x=[1, 2], y=[1, 2], dots=True, data=data, mechanism="linear") for data in ("D_0", "D_1")]
    (axis,) = figures.chart(pair, **AXES).axes
    assert [line.get_markerfacecolor() for line in axis.get_lines()] == ["white", ORANGE]


def test_panels_stand_as_named_and_a_label_stands_in_the_last_of_its_row():
    curves = [
        Curve(x=[1, 2], y=[k, k], mechanism=m, panel=p) for k, p in enumerate("ab") for m in ("softmax", "linear")
    ]
    figure = figures.chart(curves, x="n", y={"a": "weight", "b": "fires"}, title="Why?")
    first, second = figure.axes
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["a", "b"]
    assert (first.get_ylabel(), second.get_ylabel()) == ("weight of the marked token", "probability to fire")
    assert ends(first) == {}
    assert set(ends(second)) == {"softmax", "linear"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "columns", "size", "below", "left", "last"),
    [
        ("abc", 2, (2, 2), "bc", "ac", "bc"),
        ("ab", 1, (2, 1), "b", "ab", "ab"),
        ("ab", 3, (1, 2), "ab", "a", "b"),
    ],
)
def test_panels_share_the_names_of_their_axes_and_each_row_its_labels(names, columns, size, below, left, last):
    curves = [Curve(x=[1, 2], y=[0, 1], mechanism=m, panel=p) for p in names for m in ("softmax", "linear")]
    figure = figures.chart([*curves, Rule(y=0.5, words="a half")], columns=columns, **AXES)
    grid = figure.axes[0].get_gridspec()
    assert ((grid.nrows, grid.ncols), len(figure.axes)) == (size, len(names)), "a place without a panel stays empty"
    axes = dict(zip(names, figure.axes, strict=True))
    assert [axis.get_title(loc="left") for axis in figure.axes] == [*names]
    assert {name: axis.get_xlabel() for name, axis in axes.items()} == {
        name: axis_name("n") if name in below else "" for name in names
    }
    assert {name: axis.get_ylabel() for name, axis in axes.items()} == {
        name: axis_name("fires") if name in left else "" for name in names
    }
    assert {name: set(ends(axis)) for name, axis in axes.items()} == {
        name: {"softmax", "linear", "a half"} if name in last else set() for name in names
    }
    assert figure.get_figheight() == pytest.approx(3.4 * size[0])


@pytest.mark.slow
def test_each_panel_may_have_axes_of_its_own():
    curves = [Curve(x=[1, 2], y=[0.5, 1], mechanism="linear", panel=p) for p in ("a", "b")]
    there = Rule(x=1.5, words="only in b", panel="b"), Rule(y=0.75, words="level in a", panel="a")
    figure = figures.chart(
        [*curves, *there], x={"a": "n", "b": "d"}, y="size", x_scale={"a": "log", "b": "linear"},
        y_scale={"a": "linear", "b": "log"}, x_range={"b": (0, 9)}, y_range={"a": (0, 3)}, height=3, title="Why?",
    )  # fmt: skip
    a, b = figure.axes
    assert [(axis.get_xlabel(), axis.get_ylabel()) for axis in (a, b)] == [
        (axis_name("n"), axis_name("size")), (axis_name("d"), ""),
    ]  # fmt: skip
    assert [axis.get_xscale() for axis in (a, b)] == ["log", "linear"]
    assert (b.get_xlim(), a.get_ylim()) == ((0, 9), (0, 3))
    assert a.get_xlim() != b.get_xlim()
    assert figure.get_figheight() == 3
    assert [{text.get_text() for text in axis.texts} & {rule.words for rule in there} for axis in (a, b)] == [
        {"level in a"}, {"only in b"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "panels", "are_ticks"),
    [
        ([2**k for k in range(8)], 1, True),
        ([2**k for k in range(9)], 1, False),
        ([2**k for k in range(4)], 2, True),
        ([2**k for k in range(5)], 2, False),
        ([1, 10, 9999], 1, True),
        ([1, 10, 10_000], 1, False),
    ],
)
def test_few_sizes_are_the_ticks_of_a_logarithmic_axis(sizes, panels, are_ticks):
    curves = [Curve(x=sizes, y=sizes, panel=panel) for panel in "ab"[:panels]]
    (axis, *_) = figures.chart(curves, **AXES | {"y": "size"}, x_scale="log").axes
    assert ([*axis.get_xticks()] == sizes) is are_ticks
    assert (len(axis.get_xticks(minor=True)) == 0) is are_ticks


def test_regions_windows_and_spots_have_their_words():
    things = (
        FOUR[0],
        Region(words="fires by chance", x=1.5, y=0.5),
        Window(words="only $D_1$ fires", low=1, high=2),
        Spot(words="start", x=2, y=0),
        Band(x=[1, 2], low=[0, 1], high=[1, 2], words="proved", mechanism="linear"),
    )
    (axis,) = figures.chart(things, **AXES).axes
    found = {text.get_text(): text for text in axis.texts}
    places = {"fires by chance": (1.5, 0.5), "only $D_1$ fires": (1.5, 0.98)}
    assert {words: found[words].get_position() for words in places} == places
    assert {words: found[words].xy for words in ("start", "proved")} == {"start": (2, 0), "proved": (2, 1.5)}
    (tint,) = axis.collections
    corners = {tuple(corner) for corner in tint.get_paths()[0].vertices.tolist()}
    assert corners == {(1, 0), (1, 1), (2, 1), (2, 2)}, "the tint goes from the lower edge to the upper one"
    window = axis.patches[0]
    assert (window.get_x(), window.get_width()) == (1, 1)
    assert mpl.colors.same_color(window.get_facecolor()[:3], CROWD)
    _, spot, *edges = axis.get_lines()
    assert (spot.get_xydata().tolist(), spot.get_marker(), spot.get_markerfacecolor()) == ([[2, 0]], "o", "white")
    assert spot.get_markeredgecolor() == PLAIN.colour
    assert [(edge.get_color(), is_dashed(edge), *edge.get_ydata()) for edge in edges] == [
        (BOUND, True, 0, 1),
        (BOUND, True, 1, 2),
    ]
    (tint,) = axis.collections
    assert mpl.colors.same_color(tint.get_facecolor()[0][:3], ORANGE)
    assert tint.get_paths()[0].get_extents().extents.tolist() == [1, 0, 2, 2]


def test_the_words_of_a_window_stand_in_its_middle_on_a_logarithmic_axis_too():
    things = FOUR[0], Window(words="here", low=1, high=100)
    for scale, middle in (("linear", 50.5), ("log", 10)):
        (axis,) = figures.chart(things, **AXES, x_scale=scale).axes
        assert axis.texts[0].get_position() == (pytest.approx(middle), 0.98)


@pytest.mark.parametrize("panel", [None, "b"])
def test_a_thing_of_one_panel_stands_there_alone(panel):
    curves = [Curve(x=[1, 2], y=[0, 1], mechanism="linear", panel=name) for name in "ab"]
    things = [thing(words="word", panel=panel, **place) for thing, place in (
        (Region, {"x": 1.5, "y": 0.5}), (Window, {"low": 1, "high": 2}), (Spot, {"x": 1, "y": 0}), (Rule, {"x": 1.5}),
    )]  # fmt: skip
    for thing in things:
        figure = figures.chart([*curves, thing], **AXES)
        found = [[text.get_text() for text in axis.texts].count("word") for axis in figure.axes]
        assert found == ([0, 1] if panel else [1, 1])


def test_an_axis_can_run_from_large_to_small():
    (axis,) = figures.chart([FOUR[0]], **AXES, x_scale="log", x_range=(3, 1)).axes
    assert (axis.get_xlim(), axis.get_xscale()) == ((3, 1), "log")


def test_a_histogram_holds_its_values():
    (axis,) = figures.chart(
        [Histogram(values=[0.1, 0.9, 0.9], bins=[0, 0.5, 1], mechanism="linear")], x="sum", y="draws", title="Why?"
    ).axes
    assert [bar.get_height() for bar in axis.patches] == [1, 2]
    assert {mpl.colors.to_hex(bar.get_facecolor()).upper() for bar in axis.patches} == {ORANGE}


@pytest.mark.parametrize(
    ("given", "message"),
    [({"title": "An answer."}, "question mark"), ({"x": "N"}, "quantity = 'N'"), ({"y": "p"}, "quantity = 'p'")],
)
def test_a_chart_asks_and_names_its_axes_as_all_do(given, message):
    with pytest.raises(ValueError, match=message):
        figures.chart([FOUR[0]], **AXES | given)


def test_a_chart_that_fails_leaves_no_figure_open():
    before = mpl.pyplot.get_fignums()
    with pytest.raises(ValueError, match="quantity"):
        figures.chart([FOUR[0]], **AXES | {"y": "p"})
    figures.chart([FOUR[0]], **AXES)
    assert mpl.pyplot.get_fignums() == before


def test_figures_of_the_readers_own_stay_open():
    own = mpl.pyplot.figure()
    try:
        figures.chart([FOUR[0]], **AXES)
        assert own.number in mpl.pyplot.get_fignums()
    finally:
        mpl.pyplot.close(own)


def test_a_panel_that_is_nowhere_is_refused():
    with pytest.raises(ValueError, match="panel 'b': no curve stands there; there are ''"):
        figures.chart([FOUR[0], Rule(x=1, words="τ", panel="b")], **AXES)


def test_maps_are_grey_and_hold_the_numbers_and_their_line():
    values = np.array([[0.0, 0.2, 1.0], [0.1, 0.3, 0.9]])
    given = {"x": [1.0, 10.0, 100.0], "y": [0.0, 1.0], "x_name": "d", "y_name": "m", "x_scale": "log"}
    first, second = (Map(values=v, panel=p, **given) for p, v in (("one", values), ("two", 1 - values)))
    spot = Spot(words="start", x=10, y=0.5, panel="two")
    figure = figures.level_maps(
        [first, second, spot], levels=[0, 0.25, 0.5, 1], line=0.5, name="worst error", title="Why?"
    )
    one, two, bar = figure.axes
    assert [np.array_equal(axis.collections[0].get_array(), v) for axis, v in ((one, values), (two, 1 - values))] == [
        True
    ] * 2
    assert one.collections[0].get_cmap().name == "Greys"
    assert [list(contour.levels) for contour in one.collections[1:]] == [[0.5], [0.5]]
    white, black = (contour.get_edgecolor()[0] for contour in one.collections[1:])
    assert [mpl.colors.to_hex(line) for line in (white, black)] == ["#ffffff", "#000000"], "black, with a white edge"
    assert one.collections[1].get_linewidth()[0] > one.collections[2].get_linewidth()[0]
    assert [list(axis.collections[0].norm.boundaries) for axis in (one, two)] == [[0, 0.25, 0.5, 1]] * 2
    assert bar.get_xticks().tolist() == [0, 0.25, 0.5, 1]
    assert [(axis.get_title(loc="left"), axis.get_xlabel(), axis.get_ylabel()) for axis in (one, two)] == [
        (name, axis_name("d"), axis_name("m")) for name in ("one", "two")
    ]
    assert [(axis.get_xscale(), axis.get_yscale()) for axis in (one, two)] == [("log", "linear")] * 2
    assert bar.get_xlabel() == "worst of the four errors; black line: 0.5"
    assert ([text.get_text() for text in one.texts], [text.get_text() for text in two.texts]) == ([], ["start"])


def test_matrices_show_every_entry_and_their_blocks():
    arrays = {"K": np.arange(-4, 4).reshape(4, 2), "x": np.ones((2, 1))}
    first, second = figures.matrices(arrays, blocks={"K": ("block", 2)}, title="Why?").axes
    words = {text.get_position(): text.get_text() for text in first.texts}
    assert words == {(j, i): f"{entry}".replace("-", "−") for (i, j), entry in np.ndenumerate(arrays["K"])}
    low, high = first.get_images()[0].get_clim()
    assert (low, high > 4) == (0, True), "so grey that its number can be read"
    assert [axis.get_title(loc="left") for axis in (first, second)] == ["K", "x"]
    assert ([*first.get_xticks()], [*second.get_yticks()], second.get_lines()[:]) == ([], [], [])
    assert np.array_equal(first.get_images()[0].get_array(), np.abs(arrays["K"]))
    assert [tick.get_text() for tick in first.get_yticklabels()] == ["block 1", "block 2"]
    assert first.get_yticks().tolist() == [0.5, 2.5], "the name of a block stands beside its middle"
    assert [line.get_ydata()[0] for line in first.get_lines()] == [1.5], "a line parts the blocks"
    assert [text.get_text() for text in second.texts] == ["1", "1"]


def test_heat_maps_run_from_white_to_their_mechanisms_colour_and_star_the_marked_token():
    arrays = {"scores": np.eye(2), "weights": np.eye(2)}
    figure = figures.heat_maps(
        arrays, mechanisms={"weights": "softmax"}, marked={"scores": None, "weights": 1}, title="Why?"
    )
    grey, blue = (axis.get_images()[0] for axis in figure.axes)
    assert [mpl.colors.to_hex(blue.cmap(share)).upper() for share in (0.0, 1.0)] == ["#FFFFFF", BLUE]
    assert mpl.colors.to_hex(grey.cmap(1.0)) == "#333333"
    assert [len(axis.get_lines()) for axis in figure.axes] == [0, 1]
    (star,) = figure.axes[1].get_lines()
    assert (star.get_color(), star.get_marker(), star.get_ydata()) == (MARK.colour, "*", [0.25])
    assert (star.get_xdata()[0] > 1, star.get_clip_on()) == (True, False)
    assert star.get_transform() == figure.axes[1].transAxes
    assert [axis.get_images()[0].get_clim() for axis in figure.axes] == [(0, 1)] * 2
    assert [np.array_equal(axis.get_images()[0].get_array(), np.eye(2)) for axis in figure.axes] == [True] * 2


def test_heat_maps_can_have_one_scale():
    arrays = {"a": np.eye(2), "b": np.eye(2) / 2}
    figure = figures.heat_maps(arrays, most=2, columns=1, title="Why?")
    assert [axis.get_images()[0].get_clim() for axis in figure.axes] == [(0, 2), (0, 2)]
    figure = figures.heat_maps(arrays, marked=0, title="Why?")
    assert [axis.get_images()[0].get_clim() for axis in figure.axes] == [(0, 1), (0, 0.5)]
    assert [axis.get_lines()[0].get_ydata() for axis in figure.axes] == [[0.75], [0.75]]


@pytest.mark.parametrize(("columns", "size"), [(None, (1, 3)), (1, (3, 1)), (2, (2, 2)), (3, (1, 3))])
def test_rows_and_columns_of_heat_maps_are_named_at_the_edges(columns, size):
    arrays = {name: np.eye(2) for name in "abc"}
    figure = figures.heat_maps(arrays, columns=columns, x="d", y="n", title="Why?")
    axes = np.reshape(figure.axes, size)
    assert [axis.get_title(loc="left") for axis in figure.axes][:3] == ["a", "b", "c"]
    for (row, column), axis in np.ndenumerate(axes):
        assert axis.get_ylabel() == (axis_name("n") if column == 0 else "")
        assert axis.get_xlabel() == (axis_name("d") if row == size[0] - 1 else "")
        assert (len(axis.get_yticks()) == 0) == (column > 0)
    axis = figures.heat_maps(arrays, title="Why?").axes[0]
    assert (axis.get_xlabel(), axis.get_ylabel()) == (axis_name("entry"), axis_name("token"))


def test_each_panel_with_an_axis_of_its_own_has_the_sizes_of_its_own_curves():
    curves = [Curve(x=x, y=[0, 1], panel=panel) for panel, x in (("a", [8, 32]), ("b", [16, 64]))]
    one, two = figures.chart(curves, **AXES | {"x": {"a": "n", "b": "d"}}, x_scale="log").axes
    assert (ticks(one.xaxis), ticks(two.xaxis)) == ([("8", 8), ("32", 32)], [("16", 16), ("64", 64)])


def test_what_has_no_panel_stands_on_every_map():
    maps = [Map(x=[1, 2], y=[1, 2], values=[[0, 1], [1, 2]], x_name="n", y_name="d", panel=name) for name in "ab"]
    words = [Region(words="here", x=1, y=1), Region(words="there", x=2, y=2, panel="b")]
    one, two, *_ = figures.level_maps([*maps, *words], title="Where?", levels=[0, 1, 2], line=0.5).axes
    found = [[text.get_text() for text in axis.texts] for axis in (one, two)]
    assert found == [["here"], ["here", "there"]]


def test_shades_begin_at_0_and_end_at_the_largest_number_of_either_sign():
    (axis,) = figures.matrices({"one": [[-2.0, 1.0]]}, title="Why?").axes
    (image,) = axis.get_images()
    assert (image.norm.vmin, image.norm.vmax, image.get_array().tolist()) == (0, 1.6 * 2, [[2, 1]])
    (axis,) = figures.heat_maps({"one": np.array([[0.5, 0.75]])}, title="Why?").axes
    assert axis.get_images()[0].norm.vmin == 0


def test_images_hold_the_arrays():
    figure = figures.images({str(k): np.full((2, 2), k) for k in range(3)}, columns=2, title="Why?")
    drawn = [axis for axis in figure.axes if axis.get_images()]
    assert figure.axes[0].get_gridspec().get_geometry() == (2, 2)
    assert not any(axis.axison for axis in figure.axes), "an image has no axes, and no frame where it is missing"
    assert [axis.get_images()[0].get_array().tolist() for axis in drawn] == [[[k, k], [k, k]] for k in range(3)]
    assert [axis.get_title(loc="left") for axis in drawn] == ["0", "1", "2"]
    least, largest = (drawn[0].get_images()[0].cmap(share)[:3] for share in (0.0, 1.0))
    assert min(least) == 1, "white is nothing"
    assert max(largest) == 0, "the darker the larger a number"


def test_firing_dots_are_filled_on_d1_and_open_and_dashed_on_d0():
    found = {"D_0": (0.1, 0.05, 0.2), "D_1": (0.9, 0.8, 1.0)}
    kernels = {"softmax": found, "linear": dict(reversed(found.items())), "topk:3": {"D_1": found["D_1"]}}
    figure = figures.firing_dots({"small": kernels, "large": kernels}, title="Why?")
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["small", "large"]
    for axis in figure.axes:
        drawn = {(line.get_color(), *line.get_xdata()): line for line in axis.get_lines()}
        for colour in (BLUE, ORANGE):
            assert not is_dashed(drawn[colour, 0.8, 1.0])
            assert is_dashed(drawn[colour, 0.05, 0.2])
            assert drawn[colour, 0.1].get_markerfacecolor() == "white"
            assert drawn[colour, 0.9].get_markerfacecolor() == colour
            for row, name in enumerate(("softmax", "linear")):
                if MECHANISMS[name].colour == colour:  # D_0 above D_1, bars and marks at one height
                    places = [(0.05, 0.2, -0.2), (0.1, -0.2), (0.8, 1.0, 0.2), (0.9, 0.2)]
                    for *x, shift in places:
                        height = [*drawn[(colour, *x)].get_ydata()]
                        assert height == [row + shift] * len(x), f"{name} is not drawn in the row of its label"
                    assert drawn[colour, 0.9].get_marker() == MECHANISMS[name].marker
        assert (axis.get_xlabel(), axis.yaxis_inverted()) == (axis_name("fires"), True)
        assert axis.get_xticks().tolist() == [0, 0.5, 1]
        assert axis.get_xlim() == (-0.06, 1.06), "marks at 0 and 1 are whole"
    assert ticks(figure.axes[0].yaxis) == [("softmax", 0), ("linear", 1), ("topk 3", 2)]
    names = [label.get_color() for label in figure.axes[0].get_yticklabels()]
    assert names == [MECHANISMS[name].colour for name in ("softmax", "linear", "topk")]
    open_, filled = figure.legends[0].legend_handles
    assert (open_.get_markerfacecolor(), is_dashed(open_), open_.get_label()) == ("white", True, "on $D_0$: open")
    assert (is_dashed(filled), filled.get_label()) == (False, "on $D_1$: filled")
    assert {handle.get_color() for handle in (open_, filled)} == {filled.get_markerfacecolor()} == {PLAIN.colour}


def test_in_a_forest_an_interval_that_holds_0_is_open():
    found = {"elu+1": (0.3, 0.1, [0.25, 0.35]), "linear": (0.05, 0.1, [0.0, 0.1])}
    figure = figures.forest({"on D_0": {"long inputs": found, "10^4 tokens": found}}, x="ahead", title="Why?")
    (axis,) = figure.axes
    assert (axis.get_title(loc="left"), axis.get_xlabel()) == ("on $D_{0}$", axis_name("ahead"))
    # Two rows for a question, then an empty one; single differences stand a little above their row.
    placed = [(line.get_marker(), *line.get_ydata()) for line in axis.get_lines()[:-1]]
    rows = [(0, "^"), (1, "s"), (3, "^"), (4, "s")]
    shown = [(("None", row, row), (".", row - 0.3, row - 0.3), (marker, row)) for row, marker in rows]
    assert placed == [line for lines in shown for line in lines]
    assert axis.yaxis_inverted()
    zero = axis.get_lines()[-1]
    assert ([*zero.get_xdata()], zero.get_color(), is_dashed(zero)) == ([0, 0], BOUND, True)
    dots = [[*line.get_xdata()] for line in axis.get_lines() if line.get_marker() == "."]
    assert dots == [[0.25, 0.35], [0.0, 0.1]] * 2
    marks = {line.get_color(): line for line in axis.get_lines() if line.get_marker() in ("^", "s")}
    assert marks["#14532D"].get_markerfacecolor() == "#14532D"
    assert marks[ORANGE].get_markerfacecolor() == "white"
    bars = [line for line in axis.get_lines() if line.get_linewidth() == 1.6]
    ends = [tuple(line.get_xdata()) for line in bars if len(line.get_xdata()) > 1]
    assert ends == [(0.3 - 0.1, 0.3 + 0.1), (0.05 - 0.1, 0.05 + 0.1)] * 2
    assert ticks(axis.yaxis) == [("long inputs", 0.5), ("$10^{4}$ tokens", 3.5)]
    handles = figure.legends[0].legend_handles
    assert [handle.get_label() for handle in handles] == ["elu+1", "linear"]
    assert [(handle.get_color(), handle.get_marker()) for handle in handles] == [("#14532D", "^"), (ORANGE, "s")]


def test_a_forest_names_each_mechanism_once_whichever_question_and_panel_has_it():
    found = {name: (0.3, 0.1, [0.3]) for name in ("softmax", "linear", "elu+1")}
    panels = {
        "one": {"long": {"linear": found["linear"]}, "short": {"softmax": found["softmax"], "linear": found["linear"]}},
        "two": {"long": {"elu+1": found["elu+1"]}},
    }
    (legend,) = figures.forest(panels, x="ahead", title="Why?").legends
    assert [text.get_text() for text in legend.get_texts()] == ["linear", "softmax", "elu+1"]


@pytest.mark.parametrize(
    ("mean", "is_open"), [(0.3, False), (-0.3, False), (0.05, True), (-0.05, True), (0.1, True), (-0.1, True)]
)
def test_a_difference_is_open_where_its_interval_holds_0_on_either_side(mean, is_open):
    figure = figures.forest({"learnt": {"long": {"linear": (mean, 0.1, [mean])}}}, x="ahead", title="Why?")
    (mark,) = [line for line in figure.axes[0].get_lines() if line.get_marker() == "s"]
    assert mark.get_markerfacecolor() == ("white" if is_open else ORANGE)


@pytest.mark.slow
def test_a_readers_matplotlibrc_changes_no_figure():
    def drawn():
        figure = figures.chart(FOUR, **AXES)
        figure.savefig(pixels := io.BytesIO(), format="rgba")
        return pixels.getvalue()

    wanted = drawn()
    with mpl.rc_context(
        {"lines.linewidth": 9, "axes.facecolor": "black", "figure.figsize": (2, 2), "font.family": "serif"}
    ):
        assert drawn() == wanted


def test_a_label_that_would_run_into_another_is_left_empty():
    curve = Curve(x=(8, 32, 45, 128, 8385), y=(0.1, 0.2, 0.3, 0.4, 0.5), mechanism="elu+1")
    drawn = figures.chart([curve], x="features", y="right", x_scale="log", title="How many?")
    assert [*drawn.axes[0].get_xticks()] == [8, 32, 45, 128, 8385]
    assert [label.get_text() for label in drawn.axes[0].get_xticklabels()] == ["8", "32", "", "128", "8385"]
    # What is left empty takes no room from the next one.
    curve = Curve(x=(100, 110, 120, 130, 140, 400), y=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6), mechanism="elu+1")
    drawn = figures.chart([curve], x="features", y="right", x_scale="log", title="How many?")
    labels = [label.get_text() for label in drawn.axes[0].get_xticklabels()]
    assert labels == ["100", "110", "120", "", "140", "400"]
