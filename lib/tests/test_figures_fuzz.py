"""attnsep.figures meets drawn arguments: it is right about them, or refuses them by name."""

import numpy as np
from hypothesis import strategies as st

from attnsep import figures
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some

# Figures draw what they are given, so it is given what has the right shape and is extreme.
LINE_OF = st.sampled_from([np.linspace(0.1, 1, 5), np.array([1e-12, 1.0, 2, 3, 4]), np.geomspace(1, 1e12, 5)])
FORMS = {"inputs": 2, "kept": {"*"}, "title": some("Why?")}


def is_figure(result, **given):
    assert result.axes


FIGURES = {
    figures.four_panels: {
        "weights": some({"softmax": (np.ones(4) / 4, np.eye(4)[0] + 1e-9), "linear": (np.ones(4) / 4,) * 2})
    },
    figures.kronecker: {"K": some(np.ones((4, 4))), "x": some(np.ones(4)), "scores": some(np.ones((2, 2)))},
    figures.flat_bands: {
        "weights": some({"softmax": np.ones(4) / 4, "linear": np.ones(4) / 4}),
        "bands": some({"softmax": (0.2, 0.3), "linear": (0.2, 0.3)}),
    },
    figures.spike_against_n: {
        "n": some(np.array([2, 10**6])),
        "ranges": some({"softmax": (np.zeros(2), np.ones(2)), "linear": (np.zeros(2), np.ones(2))}),
        "measured": some({"softmax": [(2, 0.5)], "linear": [(4, 0.1)]}),
    },
    figures.curves: {
        "x": LINE_OF,
        "series": some({"one": np.ones(5), "two": np.arange(5.0)}),
        "x_label": some("x"),
        "y_label": some("y"),
        "x_scale": some("linear", "log"),
        "y_scale": some("linear"),
    },
    figures.seeds: {
        "x": some([20, 40, 80]),
        "panels": some({"a": {"softmax": np.ones((2, 3))}}, {"a": {"linear": np.eye(3)}, "b": {"elu+1": np.eye(3)}}),
        "lines": some(None, {"floor": np.zeros(3)}),
        "x_label": some("x"),
        "y_label": some("y"),
    },
    figures.heat_maps: {"matrices": some({"a": np.ones((2, 3)), "b": np.eye(2)})},
    figures.tail_against_bound: {
        "s": some(np.array([1.0, 2.0])),
        "exact": some(np.array([0.1, 1e-300])),
        "bound": some(np.array([0.5, 1e-200])),
    },
    figures.signed_sums: {
        "samples": some({"softmax": (np.zeros(9), np.ones(9)), "linear": (np.zeros(9), np.zeros(9))}),
        "tau": some(0.5, -2.0),
    },
    figures.curve_panels: {
        "x": LINE_OF,
        "panels": some({"a": {"one": np.ones(5)}, "b": {"one": np.zeros(5)}}),
        "x_label": some("x"),
        "y_label": some("y"),
    },
    figures.collapse: {"a": LINE_OF, "points": some({"one": (np.arange(5.0), np.ones(5))}), "threshold": some(0.6)},
    figures.firing_dots: {
        "panels": some({"a": {"softmax": [(0.1, 0, 0.2), (1, 0.9, 1)]}, "b": {"softmax": [(0, 0, 0), (1, 1, 1)]}})
    },
    figures.why_and_whence: {
        "n": some(np.array([2, 10**6])),
        "weights": some({"softmax": np.ones(2), "linear": np.zeros(2)}),
        "fires": some({"softmax on D_1": np.ones(2)}),
        "since": some(3),
    },
    figures.level_maps: {
        "panels": some({"a": (np.arange(2.0), np.arange(2.0), np.array([[0.0, 1.0], [0.3, 0.6]]), {"xlabel": "x"})}),
        "levels": some([0, 0.5, 1]),
        "line": some(0.5),
        "label": some("z"),
    },
}
for function, arguments in FIGURES.items():
    test_a_figure_is_drawn = fuzz(function, **arguments, **FORMS)(is_figure)
