"""What is drawn is what was given: the data inside the figures, not their looks."""

import io

import matplotlib as mpl
import numpy as np
import pytest

from attnsep import figures


def lines(axis):
    return [line.get_xydata() for line in axis.get_lines()]


def test_four_panels_draw_n_times_the_weights():
    pair = (np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    figure = figures.four_panels({"softmax": pair, "linear": pair[::-1]}, title="Why?")
    drawn = [lines(axis)[0][:, 1].tolist() for axis in figure.axes]
    assert drawn == [[0.5, 1.5], [1.0, 1.0], [1.0, 1.0], [0.5, 1.5]]
    assert figure.axes[1].get_title(loc="left") == "softmax, $V_1$: max 0.5"


def test_kronecker_panels_hold_the_matrices():
    K, x, scores = np.arange(16.0).reshape(4, 4), np.arange(4.0), np.ones((2, 2))
    figure = figures.kronecker(K, x, scores, title="Why?")
    drawn = [axis.get_images()[0].get_array() for axis in figure.axes]
    assert [array.shape for array in drawn] == [(4, 4), (4, 1), (2, 2)]
    assert np.array_equal(drawn[0], K)


def test_flat_bands_draw_weights_and_bands():
    f = np.array([0.2, 0.3, 0.5])
    figure = figures.flat_bands(
        {"softmax": f, "linear": f}, {"softmax": (0.1, 0.6), "linear": (0.2, 0.5)}, title="Why?"
    )
    for axis, (low, high) in zip(figure.axes, ((0.3, 1.8), (0.6, 1.5)), strict=True):
        assert lines(axis)[0][:, 1] == pytest.approx(3 * f)
        band = axis.patches[0]
        assert (band.get_y(), band.get_y() + band.get_height()) == pytest.approx((low, high))


def test_spike_against_n_draws_ranges_and_marks():
    n = np.array([2.0, 10.0])
    ranges = {"softmax": ([0.8, 0.9], [0.9, 1.0]), "linear": ([0.5, 0.2], [0.6, 0.3])}
    measured = {"softmax": [(2, 0.85)], "linear": [(10, 0.25)]}
    axis = figures.spike_against_n(n, ranges, measured, title="Why?").axes[0]
    assert [data.tolist() for data in lines(axis)[1::2]] == [[[2, 0.85]], [[10, 0.25]]]
    assert lines(axis)[0][:, 1].tolist() == [0.8, 0.9]


def test_curves_name_every_line_and_draw_falling_x_from_large_to_small():
    labels = {"x_label": "δ", "y_label": "n", "title": "Why?"}
    figure = figures.curves([0.1, 0.01], {"first": [1, 2], "second": [3, 4]}, **labels, x_scale="log")
    axis = figure.axes[0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["first", "second"]
    assert [data[:, 1].tolist() for data in lines(axis)] == [[1, 2], [3, 4]]
    assert axis.xaxis_inverted()
    assert not figures.curves([1, 2], {"one": [1, 2]}, **labels).axes[0].xaxis_inverted()


def test_seeds_draw_every_run_their_mean_and_the_lines():
    values = np.array([[0.1, 0.5, 0.9], [0.3, 0.7, 0.9]])
    panels = {"one": {"elu+1": values}, "two": {"softmax": values}}
    figure = figures.seeds([20, 40, 80], panels, lines={"floor": values[0]}, x_label="N", y_label="loss", title="Why?")
    for axis in figure.axes:
        mean, *runs, line = (drawn.get_ydata() for drawn in axis.lines)
        np.testing.assert_allclose(mean, [0.2, 0.6, 0.9])
        np.testing.assert_array_equal(runs, values)
        np.testing.assert_array_equal(line, values[0])
    assert [text.get_text() for text in figure.legends[0].texts] == ["elu+1", "floor"]


def test_heat_maps_hold_the_matrices():
    figure = figures.heat_maps({"a": np.eye(2), "b": np.ones((2, 3))}, title="Why?")
    assert [axis.get_images()[0].get_array().tolist() for axis in figure.axes] == [
        np.eye(2).tolist(),
        np.ones((2, 3)).tolist(),
    ]


def test_tail_against_bound_draws_both_and_the_ratio_of_their_logarithms():
    figure = figures.tail_against_bound([1, 2], [0.25, 0.01], [0.5, 0.1], title="Why?")
    left, right = figure.axes
    assert [data[:, 1].tolist() for data in lines(left)] == [[0.5, 0.1], [0.25, 0.01]]
    assert lines(right)[0][:, 1] == pytest.approx([2.0, 2.0])


def test_signed_sums_say_how_many_exceed_the_threshold():
    figure = figures.signed_sums(
        {"softmax": ([0.0, 0.9], [0.9, 0.9]), "linear": ([0.0, 0.0], [-0.9, 0.2])}, 0.5, title="Why?"
    )
    shares = [axis.get_title(loc="left").split("in ")[1] for axis in figure.axes]
    assert shares == ["50.0%", "100.0%", "0.0%", "0.0%"]
    assert [sum(bar.get_height() for bar in axis.patches) for axis in figure.axes] == [2, 2, 2, 2]


def test_curve_panels_draw_every_curve_in_every_panel():
    panels = {"left": {"one": [0.1, 0.2], "two": [0.3, 0.4]}, "right": {"one": [0.5, 0.6], "two": [0.7, 0.8]}}
    figure = figures.curve_panels([10, 100], panels, x_label="n", y_label="P", title="Why?")
    assert [[data[:, 1].tolist() for data in lines(axis)] for axis in figure.axes] == [
        [*series.values()] for series in panels.values()
    ]
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["left", "right"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]


def test_collapse_draws_the_same_weights_twice():
    points = {
        "n = 2": (np.array([-1.0, 1.0]), np.array([0.3, 0.7])),
        "n = 3": (np.array([-2.0, 2.0]), np.array([0.1, 0.9])),
    }
    figure = figures.collapse(np.array([0.5, 0.7]), points, threshold=0.6, title="Why?")
    left, right = figure.axes
    for axis, where in ((left, ([0.5, 0.7], [0.5, 0.7])), (right, ([-1, 1], [-2, 2]))):
        for data, x, (_, p) in zip(lines(axis)[:2], where, points.values(), strict=True):
            assert data[:, 0].tolist() == list(x)
            assert np.array_equal(data[:, 1], p)
    assert lines(left)[2][:, 0].tolist() == [0.6, 0.6]
    curve = lines(right)[2]
    assert np.allclose(curve[:, 1], 1 / (1 + np.exp(-curve[:, 0])))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["n = 2", "n = 3"]


def test_level_maps_draw_the_map_and_its_line():
    x, y, values = np.array([1.0, 10.0, 100.0]), np.array([0.0, 1.0]), np.array([[0.0, 0.2, 1.0], [0.1, 0.3, 0.9]])
    panels = {"first": (x, y, values, {"xlabel": "a", "xscale": "log"}), "second": (x, y, 1 - values, {})}
    figure = figures.level_maps(panels, levels=[0, 0.25, 0.5, 1], line=0.5, label="error", title="Why?")
    first, second = figure.axes[:2]
    assert np.array_equal(first.collections[0].get_array(), values)
    assert np.array_equal(second.collections[0].get_array(), 1 - values)
    assert (first.get_xscale(), first.get_xlabel(), first.get_title(loc="left")) == ("log", "a", "first")
    assert [list(contour.levels) for contour in first.collections[1:]] == [[0.5], [0.5]]
    assert figure.axes[2].get_xlabel() == "error; dashed line: 0.5"


def test_firing_dots_show_predictions_and_intervals():
    pair = [(0.1, 0.05, 0.2), (0.9, 0.8, 1.0)]
    figure = figures.firing_dots(
        {"small": {"softmax": pair, "hard": pair[::-1]}, "large": {"softmax": pair, "hard": pair}}, title="Why?"
    )
    lines = [line.get_xdata() for line in figure.axes[0].lines]
    assert [list(x) for x in lines] == [[0.05, 0.2], [0.1], [0.8, 1.0], [0.9], [0.8, 1.0], [0.9], [0.05, 0.2], [0.1]]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["softmax", "hard"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["on $D_0$", "on $D_1$"]


def test_why_and_whence_draws_both_panels_and_where_the_answer_holds():
    n, weights = [10, 100], {"softmax": [0.6, 0.7], "linear": [0.2, 0.1]}
    fires = {"softmax on D_1": [1.0, 1.0], "linear on D_1": [0.9, 0.0]}
    figure = figures.why_and_whence(n, weights, fires, title="Why?", since=50)
    left, right = figure.axes
    assert [data[:, 1].tolist() for data in lines(left)] == [*weights.values()]
    assert [data[:, 1].tolist() for data in lines(right)[:2]] == [*fires.values()]
    assert lines(right)[2][:, 0].tolist() == [50, 50]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["softmax on $D_{1}$", "linear on $D_{1}$"]


def test_a_figure_asks_its_question_and_an_attention_keeps_its_colour():
    series = {"linear, n = 10^4": [1, 2], "other": [3, 4], "softmax": [5, 6]}
    figure = figures.curves([1, 2], series, title="Which is it?", x_label="x", y_label="y")
    assert figure.get_suptitle() == "Which is it?"
    colours = [line.get_color() for line in figure.axes[0].get_lines()]
    assert colours == [figures.LINEAR, figures.OTHERS[0], figures.SOFTMAX]
    assert figure.legends[0].get_texts()[0].get_text() == "linear, n = $10^{4}$"


# Viénot, Brettel and Mollon 1999: what is left of linear RGB without the red, or without the green receptors.
DICHROMATS = (
    [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
)


def linear_rgb(colour):
    c = np.array(mpl.colors.to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def test_every_colour_stands_out_from_white():
    for colour in (figures.SOFTMAX, figures.LINEAR, *figures.OTHERS):
        luminance = linear_rgb(colour) @ [0.2126, 0.7152, 0.0722]
        assert 1.05 / (luminance + 0.05) >= 4, colour


@pytest.mark.parametrize("receptors", [np.eye(3), *map(np.array, DICHROMATS)], ids=["all", "no red", "no green"])
def test_the_two_attentions_differ_for_colour_blind_eyes(receptors):
    softmax, linear = (receptors @ linear_rgb(colour) for colour in (figures.SOFTMAX, figures.LINEAR))
    assert np.linalg.norm(softmax - linear) > 0.25


def test_a_readers_matplotlibrc_changes_no_figure():
    def drawn():
        figure = figures.curves([1, 2], {"first": [1, 2]}, x_label="n", y_label="m", title="Why?")
        figure.savefig(pixels := io.BytesIO(), format="rgba")
        return pixels.getvalue()

    wanted = drawn()
    with mpl.rc_context(
        {"lines.linewidth": 9, "axes.facecolor": "black", "figure.figsize": (2, 2), "font.family": "serif"}
    ):
        assert drawn() == wanted
