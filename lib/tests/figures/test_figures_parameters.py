"""No parameter of a figure is ignored: for each there are two calls that differ in it alone and draw other things."""

import numpy as np
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine

from attnsep import figures
from attnsep.figures import Curve, Map, Rule, grammar
from lib.tests.parameters import HELP, defaults_without_point, entries_of, of_points, unseen, without_effect
from lib.tests.test_fuzz import IN_OTHER_TESTS


@pytest.fixture(autouse=True)
def without_layout(monkeypatch):
    """Let no figure be laid out: that takes a third of the time, and no parameter is about it."""
    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", lambda self, figure: None)


def charted(**fields):
    """Return a chart of a curve with these fields beside another one."""
    fields = {"x": [1, 2], "y": [1, 2], "panel": "one"} | fields
    other = Curve(x=[1, 2], y=[2, 1], mechanism="linear", data="D_1", at={"n": 9}, panel="one")
    return figures.chart([Curve(**fields), other], x="n", y="fires", title="Why?")


def ruled(**fields):
    """Return a chart with a threshold that has these fields, in one of two panels or in both."""
    curves = [Curve(x=[1, 2], y=[1, 2], panel=panel) for panel in ("one", "two")]
    return figures.chart([*curves, Rule(**fields)], x="n", y="fires", title="Why?")


def banded(**fields):
    """Return a chart with a band that has these fields, in one of two panels."""
    fields = {"x": [1, 2], "low": [0, 0], "high": [1, 1], "words": "a", "panel": "one"} | fields
    curves = [Curve(x=[1, 2], y=[1, 2], panel=panel) for panel in ("one", "two")]
    return figures.chart([*curves, grammar.Band(**fields)], x="n", y="fires", title="Why?")


def counted(**fields):
    """Return a chart with a histogram that has these fields, in one of two panels."""
    fields = {"values": [0.5, 1.5], "bins": [0, 1, 2], "mechanism": "softmax", "panel": "one"} | fields
    curves = [Curve(x=[1, 2], y=[1, 2], panel=panel) for panel in ("one", "two")]
    return figures.chart([*curves, grammar.Histogram(**fields)], x="n", y="fires", title="Why?")


PAIR = [Curve(x=[1, 2], y=[1, 2], mechanism=name, panel=name) for name in ("softmax", "linear", "relu")]
CHART = {"things": PAIR, "x": "n", "y": "fires", "title": "Why?"}
CHART_OTHERWISE = {"things": PAIR[:1], "x": "m", "y": "weight", "title": "How?", "x_scale": "log", "y_scale": "log"}
CHART_OTHERWISE |= {"x_range": (0, 9), "y_range": (0, 9), "columns": 1, "height": 9}
PLAIN_MAP = {"x": [0.0, 1.0], "y": [0.0, 1.0], "x_name": "d", "y_name": "m"}
MAP = Map(**PLAIN_MAP, values=np.array([[0.0, 1.0], [0.3, 0.6]]))
MAPS = {"things": [MAP], "levels": [0, 0.5, 1], "line": 0.5, "title": "Why?"}
MAPS_OTHERWISE = {"things": [MAP, MAP], "levels": [0, 0.7, 1], "line": 0.4, "name": "x", "title": "How?"}
HEAT = {"arrays": {"a": np.eye(2), "b": np.eye(2)}, "title": "Why?"}
HEAT_OTHERWISE = {
    "arrays": {"a": np.eye(2)},
    "mechanisms": {"a": "cosine"},  # is none; how colours look: figures/test_plots.py
    "marked": 1,
    "most": 9,
    "y": "x",
    "x": "x",
}
HEAT_OTHERWISE |= {"columns": 1, "title": "How?"}
CURVE_OTHERWISE = {
    "x": [1, 3],
    "y": [1, 3],
    "mechanism": "softmax",
    "data": "D_0",
    "at": {"n": 3},
    "role": "bound",
    "words": "more",
    "panel": "two",
    "steps": "mid",
    "dots": True,
}
POINTS = [
    ("figures.grammar.Band", banded, {"words": "a"}, {"mechanism": "softmax", "panel": "two"}),
    ("figures.grammar.Histogram", counted, {"values": [0.5, 1.5]}, {"panel": "two"}),
    ("figures.grammar.Curve", charted, {"words": "a"}, CURVE_OTHERWISE),
    ("figures.grammar.Curve", charted, {"words": "a", "low": [0, 0], "high": [3, 3]}, {"low": [0, 1], "high": [3, 4]}),
    ("figures.grammar.Curve", charted, {"words": "a"}, {"label": False}),
    ("figures.grammar.Rule", ruled, {"words": "τ", "x": 1.5}, {"words": "g", "x": 1, "panel": "two", "along": 0.5}),
    ("figures.grammar.Rule", ruled, {"words": "τ", "y": 1.5}, {"y": 1}),
    (
        "figures.grammar.spread",
        grammar.spread,
        {"wanted": [0.0, 1.0], "heights": [0.1, 0.1]},
        {"low": 0.2, "high": 0.8},
    ),
    ("figures.plots.chart", figures.chart, CHART, CHART_OTHERWISE),
    ("figures.plots.level_maps", figures.level_maps, MAPS, MAPS_OTHERWISE),
    ("figures.plots.heat_maps", figures.heat_maps, HEAT, HEAT_OTHERWISE),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "function", "base", "others"), POINTS)
def test_at_its_point_a_parameter_changes_the_picture(name, function, base, others):
    ignored = without_effect(function, base, others)
    assert not ignored, f"{name}: {', '.join(ignored)} changes nothing. {HELP}"


@pytest.mark.slow
def test_every_parameter_of_a_figure_changes_it(nothing_set):
    entries = {name: cases for name, cases in entries_of().items() if name.startswith("figures.")}
    missing = unseen(entries, of_points(POINTS))
    assert not missing, f"{', '.join(missing)}: no change of it changed the picture. {HELP}"


def test_every_default_of_what_is_drawn_and_not_fuzzed_has_a_point():
    names = [name for name in sorted(IN_OTHER_TESTS) if name.startswith("figures.")]
    missing = defaults_without_point(names, of_points(POINTS))
    assert not missing, f"{', '.join(missing)}: nothing says what it changes. {HELP}"
