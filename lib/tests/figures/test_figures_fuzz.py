"""attnsep.figures meets drawn arguments: it is right about them, or refuses them by name."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from attnsep import figures
from attnsep.figures import Curve, Map, grammar, pictures
from attnsep.figures.grammar import MECHANISMS, QUANTITIES
from attnsep.paper import tokens
from attnsep.paper.tokens import TokenData
from lib.tests.fuzzing import fuzz
from lib.tests.strategies import some

pytestmark = pytest.mark.slow

# Figures draw what they are given, so it is given what has the right shape and is extreme.
LINE_OF = st.sampled_from([np.linspace(0.1, 1, 5), np.array([1e-12, 1.0, 2, 3, 4]), np.geomspace(1, 1e12, 5)])
FORMS = {"inputs": 2, "kept": {"*"}, "title": some("Why?", "How?")}
COLOURS = st.sampled_from([look.colour for look in MECHANISMS.values()])
CURVES = st.builds(
    Curve,
    x=LINE_OF,
    y=LINE_OF,
    mechanism=some(None, "linear", "polynomial:3"),
    data=some(None, "D_0", "V_1"),
    at=some(None, {"n": 3}, {"n": Fraction(1, 3)}),
    steps=some(None, "mid"),
    words=some("", "own row"),
)


def is_figure(result, **given):
    assert result.axes


@fuzz(grammar.axis_name, quantity=st.sampled_from([*QUANTITIES]))
def test_a_quantity_has_a_name(result, quantity):
    assert result == QUANTITIES[quantity]


@fuzz(grammar.look_of, mechanism=some("softmax:2", "mark", "linear"))
def test_a_mechanism_has_a_look(result, mechanism):
    assert result in (*MECHANISMS.values(), grammar.MARK, grammar.PLAIN)


@fuzz(grammar.contrast, kept={"*"}, colour=COLOURS)
def test_contrast_with_white(result, colour):
    assert 1 <= result <= 21


@fuzz(grammar.with_contrast, kept={"*"}, colour=COLOURS, wanted=some(1.5, 4.5, 12))
def test_a_mixture_has_the_wanted_contrast(result, colour, wanted):
    assert abs(grammar.contrast(result) - wanted) < 0.1 * wanted


@fuzz(grammar.ramp, kept={"*"}, colour=COLOURS, k=some(1, 2, 7))
def test_a_ramp_has_k_shades(result, colour, k):
    assert len(set(result)) == k


@fuzz(grammar.number, kept={"*"}, value=some(3, 10**300, Fraction(1, 3), 1e-9, 0.5))
def test_a_size_is_written(result, value):
    assert result


@fuzz(Curve, kept={"*"}, x=some([1.0, 2.0]), y=some([1.0, 2.0], [[1.0, 2.0]]), role=some("exact", "sampled"))
def test_a_curve_keeps_its_numbers(result, x, y, role):
    assert (result.x, result.y, result.role) == (x, y, role)


@fuzz(grammar.Rule, kept={"*"}, words=some("τ"), x=some(0.5))
def test_a_rule_keeps_its_place(result, words, x):
    assert (result.words, result.x) == (words, x)


@fuzz(grammar.shades, kept={"*"}, curves=st.lists(CURVES, min_size=1, max_size=4))
def test_every_curve_has_a_shade(result, curves):
    assert len(result) == len(curves)


@fuzz(grammar.labels, kept={"*"}, curves=st.lists(CURVES, min_size=1, max_size=4))
def test_every_curve_has_a_label(result, curves):
    assert len(result) == len(curves)


@fuzz(
    grammar.spread,
    st.lists(st.floats(0, 1), max_size=9).map(lambda wanted: {"wanted": wanted, "heights": [0.1] * len(wanted)}),
    kept={"*"},
)
def test_labels_are_apart(result, wanted, heights):
    assert np.all(np.diff(np.sort(result)) >= 0.1 - 1e-9)


@fuzz(pictures.in_words, kept={"*"}, share=some(1.0, 0.2, 1e-5, 1e-300))
def test_a_share_is_said(result, share):
    assert result


@fuzz(pictures.bells, kept={"*"}, law=some(tokens.law(8, 4, 0.7, 0.5), tokens.law(12, 6, 0, 0.9, "linear")))
def test_there_are_eight_bells(result, law):
    assert len(result) == 8
    assert all(0 <= bell.beyond <= 1 for bell in result)


@fuzz(
    pictures.one_pass,
    kept={"*"},
    data=some(TokenData(n=4, d=4, a=1, c="0.5")),
    y=some(np.ones((4, 3))),
    kernel=some("softmax", "linear"),
)
def test_a_pass_has_numbers(result, data, y, kernel):
    assert len(result.sums) == 3


AXES = {"x": some("n"), "y": some("fires"), "x_scale": some("linear", "log")}
LAW = tokens.law(8, 4, 0.7, 0.5)
PASS = pictures.Pass(0.8, (0.6, 0.4, 0.1, 0.5), np.array([1.5, -0.2]), 1.0)
FIGURES = {
    figures.areas: {"sizes": some({"n = 2": {"softmax": (2, 2), "linear": (2, 10**6)}})},
    figures.boxes: {"panels": some({"one": [(0, 1, 0, 1e-9, "holds")]}), "x": some("x", "n"), "y": some("bound", "n")},
    figures.circle: {"weights": some({"softmax": np.ones(3), "linear": np.eye(3)[0] + 1e-9}), "asked": some(0, 1)},
    figures.images: {"arrays": some({"0": np.zeros((2, 2)), "1": np.eye(3)}), "columns": some(1, 5)},
    figures.crowd: {"n": some([2, 10**6]), "shares": some({"softmax": [1.0, 0.5], "linear": [0.1, 1e-300]})},
    figures.proportions: {
        "marked": some({"a half": 0.5, "all": 1.0}),
        "shares": some({"softmax": [1.0, 0.5], "linear": [0.1, 1e-300]}),
        "level": some(figures.Rule(x=0.3, words="enough")),
    },
    figures.in_a_crowd: {
        "n": some([64, 128]),
        "own": some([0.5, 1.0]),
        "known": some({"softmax": [0.6, 0.7]}, {"linear": [0.1, 0.01]}),
    },
    figures.pairs_that_come_back: {
        "pairs": some([4, 16]),
        "losses": some([0.1, 0.6]),
        "floors": some([0.0, 0.1]),
    },
    figures.placed: {"points": some({"mine": (0.1, 1.0)}, {"mine": (float("inf"), 0.0), "yours": (1.2, 0.9)})},
    figures.datasets: {
        "arrays": some({"D_0": np.eye(4), "D_1": np.ones((6, 4))}),
        "marked": some(1),
        "symbols": some(True, False),
    },
    figures.eight_patterns: {"laws": some({"softmax": LAW}, {"softmax": LAW, "linear": LAW})},
    figures.four_layers: {"passes": some({"softmax": PASS, "linear": PASS}), "tau": some(0.6)},
    figures.kronecker: {
        "A1": some(np.ones((2, 2)), np.zeros((2, 2))),
        "X": some(np.eye(2), np.ones((2, 2))),
        "A2": some(np.eye(2), -np.ones((2, 2))),
        "row": some(0, 1),
    },
    figures.chart: {"things": st.lists(CURVES, min_size=1, max_size=4)} | AXES,
    figures.level_maps: {
        "things": some(
            [Map(x=[0.0, 1.0], y=[0.0, 1.0], values=np.array([[0.0, 1.0], [0.3, 0.6]]), x_name="d", y_name="m")]
        ),
        "levels": some([0, 0.5, 1]),
        "line": some(0.5),
        "name": some("worst error"),
    },
    figures.matrices: {
        "arrays": some({"K": np.ones((4, 4)), "x": np.zeros((4, 1))}),
        "blocks": some({"K": ("row", 2)}),
    },
    figures.heat_maps: {
        "arrays": some({"a": np.ones((2, 3)), "b": np.eye(2)}),
        "mechanisms": some({"a": "softmax"}),
        "marked": some(1, {"a": None, "b": 0}),
    },
    figures.forest: {
        "panels": some({"one": {"which?": {"linear": (0.1, 0.2, [0.0, 0.2]), "elu+1": (0.5, 0.0, [0.5])}}}),
        "x": some("ahead", "n"),
    },
    figures.firing_dots: {
        "panels": some({p: {"softmax": {"D_0": (0.1, 0, 0.2)}, "topk:3": {"D_1": (1, 0.9, 1)}} for p in "ab"})
    },
}
for function, arguments in FIGURES.items():
    test_a_figure_is_drawn = fuzz(function, **arguments, **FORMS)(is_figure)
