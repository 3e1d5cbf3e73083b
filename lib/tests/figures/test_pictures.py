"""The pictures hold the library's numbers, and the mark has its own colour in each."""

import math
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest

from attnsep import figures
from attnsep.figures import pictures
from attnsep.figures.grammar import BOUND, CROWD, MARK, PLAIN, axis_name, look_of
from attnsep.paper import tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import PATTERNS, TokenData

pytestmark = pytest.mark.usefixtures("nothing_set")

MAGENTA, BLUE, ORANGE = "#C2007B", "#006BA4", "#C85200"
INKS = (BLUE, ORANGE)


def colour(patch):
    return mpl.colors.to_hex(patch.get_facecolor()).upper()


def ticks(axis):
    """Return the numbers or names that stand along an axis of axes, and where."""
    return [(label.get_text(), float(x)) for label, x in zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True)]


HALVES = [("0", 0), ("½", 0.5), ("1", 1)]


def words_on_bars(axis):
    """Return what stands on or beside each bar: the words, the row, where they begin, and their colour."""
    found = [(text.get_text(), *text.get_position()[::-1], text.get_color()) for text in axis.texts]
    return [(words, row, pytest.approx(x), ink) for words, row, x, ink in found]


def test_the_mark_is_no_mechanisms_colour():
    assert MARK.colour == MAGENTA


def test_shares_are_said_in_percent_or_as_one_in_so_many():
    said = [pictures.in_words(share) for share in (1, 0.5, 0.1, 0.05, 0.01, 0.0099, 1 / 1234567)]
    assert said == ["100 %", "50 %", "10 %", "5.0 %", "1.0 %", "1 in 100", "1 in 1,200,000"]


def test_the_crowd_fills_what_the_mark_leaves():
    shares = {"softmax": [0.6, 0.36], "linear": [0.35, 0.01]}
    figure = figures.crowd([10, 1000], shares, title="Who is loud?")
    for axis, (name, found), ink in zip(figure.axes, shares.items(), INKS, strict=True):
        bars = {(colour(bar), round(bar.get_y() + 0.4)): (bar.get_x(), bar.get_width()) for bar in axis.patches}
        for row, share in enumerate(found):
            assert bars[MAGENTA, row] == pytest.approx((0, share))
            assert bars[CROWD.upper(), row] == pytest.approx((share, 1 - share))
        assert (axis.get_title(loc="left"), axis._left_title.get_color()) == (name, ink)
        assert (axis.get_xlim(), ticks(axis.xaxis), axis.yaxis_inverted()) == ((0, 1), HALVES, True)
    # Words stand in white on what the mark has, where there is room, and else in black beside it.
    assert words_on_bars(figure.axes[0]) == [("60 %", 0, 0.03, "white"), ("36 %", 1, 0.03, "white")]
    assert words_on_bars(figure.axes[1]) == [("35 %", 0, 0.38, "black"), ("1.0 %", 1, 0.04, "black")]
    assert ticks(figure.axes[0].yaxis) == [("10", 0), ("1,000", 1)]
    assert (figure.axes[0].get_ylabel(), figure.get_suptitle()) == (axis_name("n"), "Who is loud?")
    assert figure.get_supxlabel() == "share of the mark in its own row; grey: all other tokens"


def test_proportions_stand_beside_what_they_ought_to_be():
    marked, shares = {"a tenth": 0.1, "half": 0.5}, {"softmax": [0.9, 0.9996], "linear": [0.3, 1]}
    level = figures.Rule(x=0.4, words="enough")
    figure = figures.proportions(marked, shares, level=level, title="How many?")
    said = [["10 %", "50 %"], ["90 %", "99.96 %"], ["30 %", "100 %"]]
    for axis, found, words in zip(figure.axes, [[*marked.values()], *shares.values()], said, strict=True):
        bars = {(colour(bar), round(bar.get_y() + 0.4)): (bar.get_x(), bar.get_width()) for bar in axis.patches}
        for row, share in enumerate(found):
            assert bars[MAGENTA, row] == pytest.approx((0, share))
            assert bars[CROWD.upper(), row] == pytest.approx((share, 1 - share))
        assert [text.get_text() for text in axis.texts][:2] == words
    for axis, (name, ink) in zip(figure.axes[1:], zip(shares, INKS, strict=True), strict=True):
        assert (axis.get_title(loc="left"), axis._left_title.get_color()) == (name, ink)
        lines = [(line.get_color(), *map(list, line.get_data())) for line in axis.lines]
        assert lines == [("white", [0.4, 0.4], [-0.5, 1.5]), (BOUND, [0.4, 0.4], [-0.5, 1.5])], "grey on white"
        assert [line.get_linestyle() for line in axis.lines] == ["-", "--"]
        level = axis.texts[-1]
        assert (level.get_text(), level.get_position()[0], level.get_horizontalalignment()) == ("enough", 0.4, "center")
        assert axis.get_ylim()[1] < level.get_position()[1] < -0.5, "the words stand between the bars and the top"
    assert ticks(figure.axes[0].yaxis) == [("a tenth", 0), ("half", 1)]
    assert figure.axes[0].get_ylim() == (1.5, -1)
    assert [ticks(axis.xaxis) for axis in figure.axes] == [HALVES] * 3
    assert (figure.axes[0].get_title(loc="left"), figure.get_suptitle()) == ("the tokens", "How many?")
    assert figure.get_supxlabel() == "share of the marked tokens (pink), left by number, else by weight"
    assert not figure.axes[0].lines


@pytest.mark.slow
def test_a_figure_is_as_tall_as_its_rows_need():
    def heights(draw, *given):
        return [draw(rows).get_figheight() for rows in given]

    level = figures.Rule(x=0.4, words="enough")
    two, three = heights(lambda n: figures.crowd(n, {"softmax": [0.5] * len(n)}, title="Who?"), [1, 2], [1, 2, 3])
    assert 0 < two < three
    marked = {"a": 0.1, "b": 0.2}, {"a": 0.1, "b": 0.2, "c": 0.3}
    two, three = heights(lambda rows: figures.proportions(rows, {}, level=level, title="How many?"), *marked)
    assert 0 < two < three
    low, high = np.eye(4), np.ones((6, 4))
    four, six, mixed = heights(
        lambda pair: figures.datasets(dict(zip("ab", pair, strict=True)), marked=0, title="Which?"),
        (low, low), (high, high), (low, high),
    )  # fmt: skip
    assert 0 < four < six == mixed, "the highest matrix decides"


def test_attentions_are_placed_by_growth_and_recall():
    points = {"one": (0.1, 1.0), "two": (0.0, 0.9), "three": (1.2, 0.0), "four": (float("inf"), 1.0)}
    (axis,) = figures.placed(points, title="Who sees?").axes
    dots = [tuple(map(float, line.get_xydata()[0])) for line in axis.lines if len(line.get_xydata()) == 1]
    assert dots == [(0.1, 1.0), (0.0, 0.9), (1.2, 0.0), (3.0, 1.0)]
    words = {text.get_text(): text.xy for text in axis.texts if hasattr(text, "xy")}
    assert words == {"one\ntwo": (0.1, 1.0), "three": (1.2, 0.0), "four": (3.0, 1.0)}
    assert ticks(axis.xaxis) == [("0", 0), ("1", 1), ("2", 2), ("infinite", 3)]
    assert axis.get_yticks().tolist() == [0, 0.5, 1]
    assert (axis.get_xlabel(), axis.get_ylabel()) == (axis_name("growth"), axis_name("recalled"))
    (crowd,) = [line for line in axis.lines if len(line.get_xdata()) == 2]
    assert (*crowd.get_xdata(), crowd.get_linestyle()) == (1, 1, "--")
    (beside,) = [text for text in axis.texts if not hasattr(text, "xy")]
    assert (beside.get_text(), beside.get_position()) == ("the crowd grows\nwith power 1", (1.04, 0.5))
    (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
    assert (left < 0, right > 3, low < 0, high > 1) == (True,) * 4, "no point stands at the edge of the picture"


def test_names_at_the_top_stand_below_and_above_their_points_in_turn():
    points = {name: (growth, 1.0) for growth, name in enumerate(("zero", "one", "two"))}
    points |= {f"{name} at the foot": (growth, 0.0) for growth, name in enumerate(("zero", "one"))}
    (axis,) = figures.placed(points | {"far": (math.inf, 1.0)}, title="Who sees?").axes
    names = {text.get_text(): text for text in axis.texts if hasattr(text, "xy")}
    sides = {word: (text.xyann[1] > 0, text.get_verticalalignment()) for word, text in names.items()}
    above, below = (True, "bottom"), (False, "top")
    assert sides == {
        "far": below, "two": above, "one at the foot": above, "one": below, "zero at the foot": above, "zero": below,
    }  # fmt: skip


def test_names_at_the_foot_stand_above_their_points_and_take_no_turns():
    (axis,) = figures.placed({name: (growth, 0.0) for growth, name in enumerate("abc")}, title="Who sees?").axes
    names = {text.get_text(): text.get_verticalalignment() for text in axis.texts if hasattr(text, "xy")}
    assert names == dict.fromkeys("abc", "bottom")


def test_ones_own_attention_stands_beside_known_ones():
    n, own, known = [64, 128, 256], [0.5, 0.4, 0.3], {"softmax": [0.6, 0.7, 0.8], "linear": [0.03, 0.02, 0.01]}
    figure = figures.in_a_crowd(n, own, known, title="How loud?")
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale(), figure.get_suptitle()) == ("log", "log", "How loud?")
    lines = {line.get_color(): line.get_xydata().tolist() for line in axis.lines}
    for ink, weights in [(PLAIN.colour, own), *((look_of(name).colour, found) for name, found in known.items())]:
        assert lines[ink] == [[*map(float, point)] for point in zip(n, weights, strict=True)]
    assert {text.get_text() for text in axis.texts} == {"this one", "softmax", "linear", "half of the weight"}
    assert (axis.get_xlabel(), axis.get_ylabel()) == (axis_name("n"), axis_name("weight"))
    assert [0.5, 0.5] in [[*line.get_ydata()] for line in axis.lines]


def test_what_comes_back_is_twice_the_loss_less_and_never_below_nothing():
    pairs, losses, floors = [4, 16, 64], [0.0, 0.25, 0.75], [0.0, 0.125, 0.375]
    figure = figures.pairs_that_come_back(pairs, losses, floors, title="How much?")
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale(), figure.get_suptitle()) == ("log", "linear", "How much?")
    lines = {line.get_color(): line.get_xydata().tolist() for line in axis.lines}
    assert lines[PLAIN.colour] == [[4.0, 1.0], [16.0, 0.5], [64.0, 0.0]]
    assert lines[BOUND] == [[4.0, 1.0], [16.0, 0.75], [64.0, 0.25]]
    assert axis.get_ylim() == (-0.05, 1.05)
    assert (axis.get_xlabel(), axis.get_ylabel()) == (axis_name("pairs"), axis_name("recalled"))
    assert {text.get_text() for text in axis.texts} == {"this one", "most for its rank"}


def test_datasets_show_every_entry_and_differ_in_the_mark_alone():
    arrays = {}
    for name, a in (("D_0", 0.05), ("D_1", 0.7)):
        data = TokenData(n=6, d=5, a=a, c=0.5, marked=4)
        arrays[name] = np.round(data.matrix() / math.sqrt(data.log_n), 9)
    figure = figures.datasets(arrays, marked=4, title="In which number do they differ?")
    drawn = []
    for axis, array in zip(figure.axes, arrays.values(), strict=True):
        shown = {}
        for text in axis.texts:
            x, y = text.get_position()
            shown[y - 0.5, x - 0.5] = text.get_text()
        assert shown == {place: f"{entry:g}" for place, entry in np.ndenumerate(array) if entry}
        marks = [(p.get_y(), p.get_x()) for p in axis.patches if colour(p) == MAGENTA and p.get_fill()]
        assert marks == [(4, 0)]
        star, *parting = axis.lines
        assert (star.get_marker(), star.get_color(), star.get_ydata()[0]) == ("*", MARK.colour, 4.5)
        assert star.get_xdata()[0] > 5, "the star stands beside the marked row"
        assert not star.get_clip_on(), "and outside the axes, where it must not be cut off"
        assert [line.get_ydata()[0] for line in parting] == [3], "a line parts the copies of the classes"
        (frame,) = (patch for patch in axis.patches if not patch.get_fill())
        assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((0, 4), 5, 1)
        cells = {(p.get_y(), p.get_x()): (p.get_width(), p.get_height(), colour(p)) for p in axis.patches[:-1]}
        columns = [MARK.colour, *[pictures.CLASS] * 3, pictures.CONSTANT]
        assert cells == {(i, j): (1, 1, columns[j]) for i, j in np.argwhere(array)}
        assert ticks(axis.xaxis) == [("mark\n$a$", 0.5), ("class\n$b = 1 - c$", 2.5), ("const.\n$c$", 4.5)]
        assert (axis.get_ylim()[0], axis.yaxis_inverted(), axis.get_xlim()[1]) == (6, True, 5)
        drawn.append(shown)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["$D_{0}$", "$D_{1}$"]
    # The name of a copy stands beside the middle of its rows, and once.
    assert [ticks(axis.yaxis) for axis in figure.axes] == [[("copy 1", 1.5), ("copy 2", 4.5)], []]
    # A weak mark is pale, with a black number on it; a strong one is not, and its number is white.
    strong = {axis: next(p for p in axis.patches if colour(p) == MAGENTA and p.get_fill()) for axis in figure.axes}
    assert [mark.get_alpha() for mark in strong.values()] == pytest.approx([0.25 + 0.75 / 14, 1])
    inks = [{text.get_text(): text.get_color() for text in axis.texts} for axis in figure.axes]
    assert inks == [dict.fromkeys(("0.05", "0.5"), "black"), {"0.7": "white", "0.5": "black"}]
    assert {place for place in drawn[0] if drawn[0][place] != drawn[1][place]} == {(4, 0)}


@pytest.mark.parametrize(
    ("symbols", "below"), [(True, ["mark\n$a$", "class\n$b = 1 - c$"]), (False, ["mark", "class"])]
)
def test_symbols_stand_only_where_readers_have_met_them(symbols, below):
    figure = figures.datasets({"D_0": np.eye(4)}, marked=1, title="Which?", symbols=symbols)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()][:2] == below
    shown = {text.get_position(): text.get_text() for text in figure.axes[0].texts}
    assert shown == {(k + 0.5, k + 0.5): "1" for k in range(4)} | {(0.5, 1.5): "0"}, "a mark of 0 is shown as well"


def test_bells_are_the_law_of_the_marked_row():
    law = tokens.law(6, 5, 0.7, 0.5)
    row, root = law.values()[0], math.sqrt(law.data.log_n)
    for bell, alone in zip(pictures.bells(law), PATTERNS, strict=True):
        sums = [row.meets(alone, first + second) / root for first in (1, -1) for second in (1, -1)]
        assert bell.signs == tuple(alone)
        assert (bell.values @ bell.chances, bell.chances.sum()) == pytest.approx((np.mean(sums), 1))
        assert bell.beyond == pytest.approx(np.mean(np.array(sums) > law.data.tau / root))


@pytest.mark.parametrize("kernel", ["softmax", "linear"])
def test_bells_together_are_the_columns_law_where_the_marked_row_decides(kernel):
    law = tokens.law(1024, 258, 0.7, 0.5, kernel)
    pi = np.mean([bell.beyond for bell in pictures.bells(law)])
    assert pi == pytest.approx(law.column_probability(), rel=1e-5)


def test_patterns_beyond_the_threshold_have_their_mechanisms_colour():
    laws = {kernel: tokens.law(1024, 258, 0.7, 0.5, kernel) for kernel in ("softmax", "linear")}
    softmax, linear = figures.eight_patterns(laws, title="Which fire?").axes
    colours = [
        [mpl.colors.to_hex(bell.get_facecolor()[0]).upper() for bell in axis.collections] for axis in (softmax, linear)
    ]
    assert [row for row, found in enumerate(colours[0]) if found == BLUE] == [5, 7]  # + − + and + + +, from below
    assert ORANGE not in colours[1]
    assert [text.get_text() for text in softmax.get_yticklabels()][-3:] == ["+  −  +", "+  +  −", "+  +  +"]
    assert (softmax.get_title(loc="left"), linear.get_title(loc="left")) == ("softmax: π = 0.25", "linear: π = 0.00032")
    for axis in (softmax, linear):
        (threshold,) = (line for line in axis.get_lines() if line.get_xdata()[0] == line.get_xdata()[1])
        assert threshold.get_xdata()[0] == pytest.approx(0.6)
        assert [text.get_text() for text in axis.texts] == ["τ"]
        assert axis.get_xlabel() == "sum of the marked row\n(in units of $\\sqrt{\\log n}$)"
    assert (softmax.get_ylabel(), softmax.figure.get_suptitle()) == ("signs of mark, class, constant", "Which fire?")
    assert [place for _, place in ticks(softmax.yaxis)] == [*range(8)]
    for axis, law in ((softmax, laws["softmax"]), (linear, laws["linear"])):
        low, high = axis.get_ylim()
        for row, (shape, bell) in enumerate(zip(axis.collections, reversed(pictures.bells(law)), strict=True)):
            (left, foot), (right, top) = shape.get_paths()[0].get_extents().get_points()
            deviation = math.sqrt(bell.chances @ (bell.values - bell.values @ bell.chances) ** 2)
            assert ((left + right) / 2, foot) == pytest.approx((bell.values @ bell.chances, row), abs=1e-9)
            assert right - left == pytest.approx(max(8 * deviation, 0.096)), "8 deviations, or the least"
            assert low < row < top < min(row + 1, high), "no bell reaches into the next row"


def test_a_pass_is_the_law_and_the_network():
    data = TokenData(n=64, d=18, a=0.7, c=0.5, marked=5)
    y, own, root = signs(np.random.default_rng(7), 18, 4, np), data.marked_class + 1, math.sqrt(data.log_n)
    others = y[1:-1].sum(axis=0) - y[own]
    for kernel in ("softmax", "linear"):
        found, law = pictures.one_pass(data, y, kernel), tokens.Law(data, kernel)
        row = law.values()[0]
        assert found.weight == law.weights().p
        wanted = np.array((row.first, row.own, row.others, row.last)) / root
        np.testing.assert_allclose(
            found.entries, wanted, rtol=1e-12, err_msg="not the entries of the marked token's row"
        )
        sums = [row.meets(tokens.Signs(*y[[0, own, -1], i]), others[i]) / root for i in range(4)]
        np.testing.assert_allclose(found.sums, sums, rtol=1e-12, err_msg="not the sums of the marked token's row")
        assert (found.F > 0) == law.fires_on(y)


def test_four_layers_colour_what_exceeds_the_threshold():
    passes = {
        "softmax": pictures.Pass(0.8, (0.5, 0.4, 0.001, 0.5), np.array([0.7, -0.2, 0.5]), 0.1),
        "linear": pictures.Pass(0.001, (0.001, 0.002, 0.001, 0.6), np.array([0.5, 0.1, -0.7]), 0.0),
    }
    axes = np.reshape(figures.four_layers(passes, tau=0.6, title="What do they do?").axes, (5, 2))
    words = ("F = 0.1 > 0: fires", "F = 0: silent")
    for column, (name, found), ink, word in zip(axes.T, passes.items(), INKS, words, strict=True):
        head, weights, entries, sums, end = column
        assert (head.get_title(loc="left"), head._left_title.get_color()) == (name, ink)
        assert [bar.get_width() for bar in weights.patches if colour(bar) == MAGENTA] == [found.weight]
        assert [bar.get_height() for bar in entries.patches] == list(found.entries)
        assert [*map(colour, entries.patches)] == [MAGENTA, pictures.CLASS, pictures.CLASS, pictures.CONSTANT]
        assert [word for word, _ in ticks(entries.xaxis)] == ["mark", "own\nclass", "other\nclass", "const."]
        assert [text.get_text() for text in entries.texts] == [f"{entry:g}" for entry in found.entries]
        assert entries.get_ylim() == (0, pytest.approx(1.3 * 0.6)), "one scale for all, with room for the numbers"
        assert [text.get_text() for text in weights.texts] == [pictures.in_words(found.weight)]
        assert [bar.get_x() + bar.get_width() / 2 for bar in sums.patches] == pytest.approx([1, 2, 3])
        assert ([*sums.get_xticks()], sums.get_xlabel()) == ([1, 3], "columns of signs")
        zero, threshold = sums.lines
        assert ([*zero.get_ydata()], [*threshold.get_ydata()]) == ([0, 0], [0.6, 0.6])
        assert (zero.get_linestyle(), threshold.get_linestyle()) == ("-", "--")
        assert (end.texts[0].get_color(), end.texts[0].get_position()) == (ink, (0.5, 0.5))
        assert [bar.get_height() for bar in sums.patches] == found.sums.tolist()
        assert [colour(bar) == ink for bar in sums.patches] == (found.sums > 0.6).tolist()
        assert end.texts[0].get_text() == word
        assert [len(axis.get_yticks()) for axis in (head, weights, entries, end)] == [0] * 4
        assert [len(axis.get_xticks()) for axis in (head, weights, end)] == [0] * 3
    assert [[text.get_text() for text in sums.texts] for sums in axes[3]] == [[], ["τ"]]
    steps = ["1  attention: whose weight?", "its output, entry by entry"]
    steps += ["2  signs, and what exceeds τ", "3, 4  sum and ReLU"]
    assert [axis.get_title(loc="left") for axis in axes[1:, 0]] == steps


def test_areas_are_to_scale_and_say_the_largest_numbers():
    sizes = {"n = 2": {"softmax": (2, 2), "linear": (2, 1)}, "n = 40": {"softmax": (40, 40), "linear": (40, 1)}}
    (axis,) = figures.areas(sizes, title="How much?").axes
    assert [(colour(p), p.get_height(), p.get_width()) for p in axis.patches] == [
        (BLUE, 2, 2),
        (ORANGE, 2, 1),
        (BLUE, 40, 40),
        (ORANGE, 40, 1),
    ]
    two, forty, *largest = axis.texts
    assert [(text.get_text(), text.get_color()) for text in largest] == [
        ("softmax: 1,600", BLUE),
        ("linear: 40", ORANGE),
    ]
    assert largest[0].get_position()[1] > largest[1].get_position()[1] > 0
    edges = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axis.patches]
    assert all(right < left for (_, right), (left, _) in pairwise(edges)), "no rectangle lies over another"
    assert [patch.get_y() for patch in axis.patches] == [0] * 4
    for name, text, ((left, _), (_, right)) in (("n = 2", two, edges[:2]), ("n = 40", forty, edges[2:])):
        assert text.get_text() == name
        assert left < text.get_position()[0] < right
        assert axis.get_ylim()[0] < text.get_position()[1] < 0
    assert (axis.get_xlim()[0], axis.get_xlim()[1] > edges[-1][1], axis.get_ylim()[1] > 40) == (0, True, True)
    assert (axis.get_aspect(), axis.axison) == (1, False)


def test_rays_of_the_circle_are_as_long_as_their_weights():
    found = {"softmax": np.array([0.7, 0.1, 0.2, 0.0])}
    (axis,) = figures.circle(found, asked=1, title="Where?").axes
    *rays, keys, asked = axis.get_lines()
    assert {ray.get_color() for ray in rays} == {BLUE}
    ends = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    reach = 1 + 0.8 * found["softmax"] / 0.7
    for ray, key, far in zip(rays, ends, reach, strict=True):
        assert ray.get_xydata() == pytest.approx(np.array([key, np.multiply(key, far)]), abs=1e-12)
    assert keys.get_xydata() == pytest.approx(np.array(ends), abs=1e-12)
    assert asked.get_xydata() == pytest.approx(np.array([(0, 0.8)]), abs=1e-12)
    triangle = asked._marker
    tip = triangle.get_transform().transform_path(triangle.get_path()).vertices[0]
    assert (tip[0], tip[1] > 0) == (pytest.approx(0, abs=1e-12), True), "it points to the key that is asked for"
    assert [(text.get_text(), text.get_position()) for text in axis.texts] == [("right key:\n10 %", (0, 0))]
    assert (axis.get_title(loc="left"), axis.get_aspect(), axis.axison) == ("softmax", 1, False)
    assert min(axis.get_xlim()[1], -axis.get_xlim()[0], axis.get_ylim()[1], -axis.get_ylim()[0]) > 1.8


def test_boxes_look_as_their_verdict():
    heights = {"holds": 0.0, "refuted": 1.0, "undecided": 2.0}
    panels = {"on D_0": [(0.0, 4.0, low, low + 1, verdict) for verdict, low in heights.items()]}
    panels["other"] = [(2.0, 2.5, 1.0, 3.0, "holds"), (1.0, 2.0, 0.0, 1.0, "holds")]
    figure = figures.boxes(panels, x="x", y="bound", title="What is proved?")
    light, hatched, dark = figure.axes[0].patches
    drawn = [[patch.get_bbox().extents.tolist() for patch in axis.patches] for axis in figure.axes]
    assert drawn == [[[0, 0, 4, 1], [0, 1, 4, 2], [0, 2, 4, 3]], [[2, 1, 2.5, 3], [1, 0, 2, 1]]]
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["on $D_{0}$", "other"]
    assert [axis.get_ylabel() for axis in figure.axes] == [axis_name("bound"), ""]
    assert [axis.get_xlabel() for axis in figure.axes] == ["", axis_name("x")]
    assert 1 > light.get_facecolor()[0] > 0.9 > 0.3 > dark.get_facecolor()[0]
    assert (light.get_hatch(), hatched.get_hatch(), dark.get_hatch()) == (None, "////", None)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(heights)
    keys = figure.legends[0].legend_handles
    assert [(colour(key), key.get_hatch()) for key in keys] == [
        (colour(patch), patch.get_hatch()) for patch in (light, hatched, dark)
    ]


def test_a_plane_ends_where_its_boxes_do_and_the_edges_of_small_ones_are_thin():
    found = [(2.0, 2.5, 1.0, 3.0, "holds"), (1.0, 2.0, 0.5, 1.0, "refuted"), (2.5, 21.0, 0.5, 3, "holds")]
    (axis,) = figures.boxes({"one": found}, x="x", y="bound", title="What is proved?").axes
    assert (axis.get_xlim(), axis.get_ylim()) == ((1, 21), (0.5, 3))
    assert [patch.get_linewidth() for patch in axis.patches] == pytest.approx([0.2, 0.4, 0.5])


@pytest.mark.parametrize("row", [0, 1])
def test_both_products_of_the_tensor_trick_show_every_entry_and_outline_the_same_scores(row):
    A1, X, A2 = np.array([[1, 2], [3, -1]]), np.array([[1, 5], [2, 3]]), np.array([[2, 0], [-1, 4]])
    (axis,) = figures.kronecker(A1, X, A2, row=row, title="How?").axes
    numbers = {text.get_position(): text.get_text() for text in axis.texts if text.get_text().lstrip("−").isdigit()}

    def inside(box):
        (left, top), (right, bottom) = box.get_bbox().get_points()
        found = sorted((y, x, word) for (x, y), word in numbers.items() if left < x < right and top < y < bottom)
        return [int(word.replace("−", "-")) for _, _, word in found]

    boxes = [inside(patch) for patch in axis.patches if not patch.get_fill()]
    scores, K = A1 @ X @ A2.T, np.kron(A1, A2)
    block = K[2 * row : 2 * row + 2].ravel().tolist()
    assert boxes == [A1[row].tolist(), scores[row].tolist(), block, scores[row].tolist()]
    shown = sorted(int(word.replace("−", "-")) for word in numbers.values())
    assert shown == sorted(np.concatenate([a.ravel() for a in (A1, X, A2, scores, K, X, scores)]).tolist())
    labels = {text.get_text(): text.get_position() for text in axis.texts if text.get_text() not in numbers.values()}
    assert not axis.axison
    cells = {(patch.get_x(), patch.get_y()): patch.get_facecolor()[0] for patch in axis.patches if patch.get_fill()}
    assert numbers.keys() == {(x + 0.5, y + 0.5) for x, y in cells}, "a number stands in the middle of its cell"
    named = {"$A_1$": A1, "$X$": X, "$A_2^{\\top}$": A2.T, "scores": scores, "$A_1 \\otimes A_2$": K}
    named |= {"vec($X$)": X.reshape(4, 1), "scores, row by row": scores.reshape(4, 1)}
    ends = {}
    for name, array in named.items():  # each under its name, the darker the farther from 0
        middle, top = labels[name][0], labels[name][1] + 0.2
        ends.setdefault(round(top, 6), []).extend(middle + half * array.shape[1] / 2 for half in (-1, 1))
        for (i, j), entry in np.ndenumerate(array):
            place = middle - array.shape[1] / 2 + j, top + i
            (cell,) = [corner for corner in cells if corner == pytest.approx(place)]
            assert numbers[cell[0] + 0.5, cell[1] + 0.5] == f"{entry}".replace("-", "−")
            assert cells[cell] == pytest.approx(1 - 0.5 * abs(entry) / np.max(np.abs(array)))
    assert [sorted(row) == row for row in ends.values()] == [True] * 2, "no matrix lies over its neighbour"
    foot = labels["$A_1 \\otimes A_2$"][1] + 0.2  # where the second product begins
    blocks = {"1$A_2$  2$A_2$": 1, "3$A_2$  −1$A_2$": 3}
    assert {word: labels[word][1] - foot for word in blocks} == pytest.approx(blocks), "beside the middle of its rows"
    assert max(labels[word][0] for word in blocks) < 0
    (parting,) = axis.lines
    ends = [labels["$A_1 \\otimes A_2$"][0] + half for half in (-2, 2)]
    assert ([*parting.get_xdata()], [*parting.get_ydata()]) == (ends, pytest.approx([foot + 2] * 2))
    equal = [text.get_position() for text in axis.texts if text.get_text() == "="]
    assert [y for _, y in equal] == pytest.approx([1, foot + 2])
    for x, _ in equal:
        assert max(labels[name][0] for name in ("$A_2^{\\top}$", "vec($X$)")) < x < labels["scores"][0] - 1
    (left, right), (low, high) = axis.get_xlim(), axis.get_ylim()
    assert all(left < x < right and high < y < low for x, y in numbers), "nothing is cut off"
