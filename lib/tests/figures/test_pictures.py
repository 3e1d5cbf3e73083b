"""The pictures hold the library's numbers, and the mark has its own colour in each."""

import math

import matplotlib as mpl
import numpy as np
import pytest

from attnsep import figures
from attnsep.figures import pictures
from attnsep.figures.grammar import BOUND, CROWD, MARK, PLAIN, look_of
from attnsep.paper import tokens
from attnsep.paper.network import signs
from attnsep.paper.tokens import PATTERNS, TokenData

pytestmark = pytest.mark.usefixtures("nothing_set")

MAGENTA, BLUE, ORANGE = "#C2007B", "#006BA4", "#C85200"
INKS = (BLUE, ORANGE)


def colour(patch):
    return mpl.colors.to_hex(patch.get_facecolor()).upper()


def test_the_mark_is_no_mechanisms_colour():
    assert MARK.colour == MAGENTA


def test_shares_are_said_in_percent_or_as_one_in_so_many():
    said = [pictures.in_words(share) for share in (1, 0.5, 0.1, 0.05, 0.01, 0.0099, 1 / 1234567)]
    assert said == ["100 %", "50 %", "10 %", "5.0 %", "1.0 %", "1 in 100", "1 in 1,200,000"]


def test_the_crowd_fills_what_the_mark_leaves():
    shares = {"softmax": [0.6, 0.7], "linear": [0.2, 0.01]}
    figure = figures.crowd([10, 1000], shares, title="Who is loud?")
    for axis, (name, found), ink in zip(figure.axes, shares.items(), INKS, strict=True):
        bars = {(colour(bar), round(bar.get_y() + 0.4)): (bar.get_x(), bar.get_width()) for bar in axis.patches}
        for row, share in enumerate(found):
            assert bars[MAGENTA, row] == pytest.approx((0, share))
            assert bars[CROWD.upper(), row] == pytest.approx((share, 1 - share))
        assert (axis.get_title(loc="left"), axis._left_title.get_color()) == (name, ink)
        assert [text.get_text() for text in axis.texts] == [pictures.in_words(share) for share in found]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["10", "1,000"]


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
        assert [[*line.get_xdata()] for line in axis.lines] == [[0.4, 0.4]] * 2
        assert axis.texts[-1].get_text() == "enough"
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a tenth", "half"]
    assert not figure.axes[0].lines


def test_attentions_are_placed_by_growth_and_recall():
    points = {"one": (0.1, 1.0), "two": (0.0, 0.9), "three": (1.2, 0.0), "four": (float("inf"), 1.0)}
    (axis,) = figures.placed(points, title="Who sees?").axes
    dots = [tuple(map(float, line.get_xydata()[0])) for line in axis.lines if len(line.get_xydata()) == 1]
    assert dots == [(0.1, 1.0), (0.0, 0.9), (1.2, 0.0), (3.0, 1.0)]
    words = {text.get_text(): text.xy for text in axis.texts if hasattr(text, "xy")}
    assert words == {"one\ntwo": (0.1, 1.0), "three": (1.2, 0.0), "four": (3.0, 1.0)}
    assert [label.get_text() for label in axis.get_xticklabels()][-1] == "infinite"


def test_ones_own_attention_stands_beside_known_ones():
    n, own, known = [64, 128, 256], [0.5, 0.4, 0.3], {"softmax": [0.6, 0.7, 0.8], "linear": [0.03, 0.02, 0.01]}
    figure = figures.in_a_crowd(n, own, known, title="How loud?")
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale(), figure.get_suptitle()) == ("log", "log", "How loud?")
    lines = {line.get_color(): line.get_xydata().tolist() for line in axis.lines}
    for ink, weights in [(PLAIN.colour, own), *((look_of(name).colour, found) for name, found in known.items())]:
        assert lines[ink] == [[*map(float, point)] for point in zip(n, weights, strict=True)]
    assert {text.get_text() for text in axis.texts} == {"this one", "softmax", "linear", "half of the weight"}
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
            shown[round(y - 0.5), round(x - 0.5)] = text.get_text()
        assert shown == {place: f"{entry:g}" for place, entry in np.ndenumerate(array) if entry}
        marks = [(p.get_y(), p.get_x()) for p in axis.patches if colour(p) == MAGENTA and p.get_fill()]
        assert marks == [(4, 0)]
        assert [line.get_ydata()[0] for line in axis.lines[1:]] == [3], "a line parts the copies of the classes"
        drawn.append(shown)
    axis = figure.axes[0].yaxis
    names = {label.get_text(): place for label, place in zip(axis.get_ticklabels(), axis.get_ticklocs(), strict=True)}
    assert names == {"copy 1": 1.5, "copy 2": 4.5}, "the name of a copy stands beside the middle of its rows"
    assert {place for place in drawn[0] if drawn[0][place] != drawn[1][place]} == {(4, 0)}


@pytest.mark.parametrize(
    ("symbols", "below"), [(True, ["mark\n$a$", "class\n$b = 1 - c$"]), (False, ["mark", "class"])]
)
def test_symbols_stand_only_where_readers_have_met_them(symbols, below):
    figure = figures.datasets({"D_0": np.eye(4)}, marked=0, title="Which?", symbols=symbols)
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()][:2] == below


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


def test_a_pass_is_the_law_and_the_network():
    data = TokenData(n=64, d=18, a=0.7, c=0.5, marked=5)
    y, own, root = signs(np.random.default_rng(7), 18, 4, np), data.marked_class + 1, math.sqrt(data.log_n)
    others = y[1:-1].sum(axis=0) - y[own]
    for kernel in ("softmax", "linear"):
        found, law = pictures.one_pass(data, y, kernel), tokens.Law(data, kernel)
        row = law.values()[0]
        assert found.weight == law.weights().p
        assert found.entries == pytest.approx(np.array((row.first, row.own, row.others, row.last)) / root)
        sums = [row.meets(tokens.Signs(*y[[0, own, -1], i]), others[i]) / root for i in range(4)]
        assert found.sums == pytest.approx(sums)
        assert (found.F > 0) == law.fires_on(y)


def test_four_layers_colour_what_exceeds_the_threshold():
    passes = {
        "softmax": pictures.Pass(0.8, (0.5, 0.4, 0.001, 0.5), np.array([0.7, -0.2, 0.5]), 0.1),
        "linear": pictures.Pass(0.001, (0.001, 0.002, 0.001, 0.5), np.array([0.5, 0.1, -0.7]), 0.0),
    }
    axes = np.reshape(figures.four_layers(passes, tau=0.6, title="What do they do?").axes, (5, 2))
    words = ("F = 0.1 > 0: fires", "F = 0: silent")
    for column, (name, found), ink, word in zip(axes.T, passes.items(), INKS, words, strict=True):
        head, weights, entries, sums, end = column
        assert (head.get_title(loc="left"), head._left_title.get_color()) == (name, ink)
        assert [bar.get_width() for bar in weights.patches if colour(bar) == MAGENTA] == [found.weight]
        assert [bar.get_height() for bar in entries.patches] == list(found.entries)
        assert colour(entries.patches[0]) == MAGENTA
        assert [bar.get_height() for bar in sums.patches] == found.sums.tolist()
        assert [colour(bar) == ink for bar in sums.patches] == (found.sums > 0.6).tolist()
        assert end.texts[0].get_text() == word


def test_areas_are_to_scale_and_say_the_largest_numbers():
    sizes = {"n = 2": {"softmax": (2, 2), "linear": (2, 1)}, "n = 40": {"softmax": (40, 40), "linear": (40, 1)}}
    (axis,) = figures.areas(sizes, title="How much?").axes
    assert [(colour(p), p.get_height(), p.get_width()) for p in axis.patches] == [
        (BLUE, 2, 2),
        (ORANGE, 2, 1),
        (BLUE, 40, 40),
        (ORANGE, 40, 1),
    ]
    assert {text.get_text() for text in axis.texts} == {"n = 2", "n = 40", "softmax: 1,600", "linear: 40"}
    assert axis.get_aspect() == 1


def test_rays_of_the_circle_are_as_long_as_their_weights():
    found = {"softmax": np.array([0.7, 0.1, 0.1, 0.1])}
    (axis,) = figures.circle(found, asked=0, title="Where?").axes
    rays = [line for line in axis.get_lines() if line.get_color() == BLUE]
    lengths = [np.hypot(*np.diff(ray.get_xydata(), axis=0)[0]) for ray in rays]
    assert lengths == pytest.approx(0.8 * found["softmax"] / 0.7)
    assert [text.get_text() for text in axis.texts] == ["right key:\n70 %"]


def test_boxes_look_as_their_verdict():
    heights = {"holds": 0.0, "refuted": 1.0, "undecided": 2.0}
    panels = {"one": [(0.0, 1.0, low, low + 1, verdict) for verdict, low in heights.items()]}
    figure = figures.boxes(panels, x="x", y="bound", title="What is proved?")
    light, hatched, dark = figure.axes[0].patches
    assert [patch.get_bbox().y0 for patch in (light, hatched, dark)] == [0, 1, 2]
    assert 1 > light.get_facecolor()[0] > 0.9 > 0.3 > dark.get_facecolor()[0]
    assert (light.get_hatch(), hatched.get_hatch(), dark.get_hatch()) == (None, "////", None)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(heights)


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
    labels = [text.get_text() for text in axis.texts if text.get_horizontalalignment() == "right"]
    assert labels == ["1$A_2$  2$A_2$", "3$A_2$  −1$A_2$"]
