"""What a colour, a dash, a shade and a label mean, from tables written down here once more."""

import re
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from attnsep.claims.which_attentions import SIMULATED
from attnsep.figures import grammar
from attnsep.figures.grammar import MARK, MECHANISMS, PLAIN, QUANTITIES, Band, Curve, Histogram, Rule

COLOURS = {name: look.colour for name, look in MECHANISMS.items()} | {"mark": MARK.colour}
DRAWN_TOGETHER = ("softmax", "linear", "elu+1", "exp, not normalised", "linear, not normalised", "mark")
BOOK_CSS = Path(__file__).parents[3] / "assets/book.css"

# Viénot, Brettel and Mollon 1999: what is left of linear RGB without the red, or without the green receptors.
EYES = {
    "all": np.eye(3),
    "no red": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "no green": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}
# Ottosson 2020, OKLab: distances in it are those that eyes see.
LMS = np.array(
    [[0.4122215, 0.5363325, 0.0514460], [0.2119035, 0.6806995, 0.1073970], [0.0883025, 0.2817188, 0.6299787]]
)
LAB = np.array(
    [[0.2104543, 0.7936178, -0.0040720], [1.9779985, -2.4285922, 0.4505937], [0.0259040, 0.7827718, -0.8086758]]
)


def seen(colour, eye):
    c = np.array(mpl.colors.to_rgb(colour))
    light = np.asarray(EYES[eye]) @ np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return LAB @ np.cbrt(LMS @ np.clip(light, 0, 1))


def difference(one, other):
    """Return how far apart two mechanisms' colours are for the eyes that see the least of it."""
    return min(np.linalg.norm(seen(COLOURS[one], eye) - seen(COLOURS[other], eye)) for eye in EYES)


def test_blue_is_softmax_and_orange_is_linear():
    assert COLOURS["softmax"] == "#006BA4"
    assert COLOURS["linear"] == "#C85200"


def test_every_kernel_of_the_book_has_a_look_of_its_own_and_so_has_the_mark():
    assert {kernel.split(":")[0] for kernel in SIMULATED} <= set(MECHANISMS)
    looks = [*MECHANISMS.values(), MARK, PLAIN]
    assert len({look.colour for look in looks}) == len(looks)
    assert len({look.marker for look in looks[:-1]}) == len(looks) - 1  # what has no mechanism shares a dot


def test_every_colour_stands_out_from_white():
    for name, colour in COLOURS.items():
        assert grammar.contrast(colour) >= 4.5, name


def test_colours_drawn_together_differ_for_colour_blind_eyes():
    assert min(difference(*pair) for pair in combinations(DRAWN_TOGETHER, 2)) > 0.1
    others = [name for name in COLOURS if name not in DRAWN_TOGETHER]
    assert min(difference(name, one) for name in others for one in ("softmax", "linear", "mark")) > 0.05


def test_the_pages_have_the_same_colours_and_lighter_ones_on_dark():
    blocks = re.findall(r"([^{}]*)\{([^{}]*)\}", BOOK_CSS.read_text(encoding="utf-8"))
    found = [dict(re.findall(r"--colour-([a-z0-9-]+): (#\w{6});", body)) for _, body in blocks]
    light, dark = (colours for colours in found if colours)
    assert light == {re.sub("[^a-z0-9]+", "-", name): colour for name, colour in COLOURS.items()}
    assert dark.keys() == light.keys()
    on_dark = grammar.contrast("#14181e")  # the theme's dark page
    for name, colour in dark.items():
        hues = [mpl.colors.rgb_to_hsv(mpl.colors.to_rgb(one))[0] for one in (colour, light[name])]
        assert hues[0] == pytest.approx(hues[1], abs=0.02), name
        assert on_dark / grammar.contrast(colour) >= 4.5, name


def test_a_kernels_parameter_changes_neither_colour_nor_marker():
    assert grammar.look_of("softmax:0.18") == MECHANISMS["softmax"]
    assert grammar.look_of("mark") == MARK
    with pytest.raises(ValueError, match="mechanism = 'cosine': must be one of softmax"):
        grammar.look_of("cosine")


@pytest.mark.parametrize(
    "drawn",
    [
        lambda **panel: Curve(x=[1], y=[1], **panel),
        lambda **panel: Band(x=[1], low=[1], high=[2], words="", **panel),
        lambda **panel: Histogram(values=[1], bins=[0, 2], **panel),
    ],
)
def test_nothing_is_drawn_in_a_panel_of_another_mechanism(drawn):
    assert drawn(panel="linear, not divided", mechanism="linear, not normalised")
    assert drawn(panel="exp", mechanism="softmax")
    with pytest.raises(
        ValueError, match="panel 'elu\\+1 on D_1': is about elu\\+1, and what is drawn there is of relu"
    ):
        drawn(panel="elu+1 on D_1", mechanism="relu")


def test_a_quantity_has_one_name():
    assert len(set(QUANTITIES.values())) == len(QUANTITIES)
    with pytest.raises(ValueError, match="quantity = 'probability': must be one of n"):
        grammar.axis_name("probability")


def test_a_ramp_is_one_hue_from_light_to_dark():
    for colour in COLOURS.values():
        shades = grammar.ramp(colour, 5)
        contrasts = [grammar.contrast(shade) for shade in shades]
        assert contrasts == pytest.approx(np.geomspace(3, 12, 5), rel=0.02)
        hues = [mpl.colors.rgb_to_hsv(mpl.colors.to_rgb(shade))[0] for shade in (colour, *shades)]
        assert hues == pytest.approx([hues[0]] * 6, abs=0.03)


def curve(**given):
    return Curve(**{"x": [1, 2], "y": [1, 2]} | given)


def test_the_sizes_of_another_mechanism_shade_nothing():
    sizes = [("softmax", 9), ("linear", 4), ("softmax", 2)]
    curves = [Curve(x=[1], y=[1], mechanism=name, at={"n": n}) for name, n in sizes]
    light, dark = grammar.ramp(MECHANISMS["softmax"].colour, 2)
    assert grammar.shades(curves) == [dark, MECHANISMS["linear"].colour, light]


def test_shades_follow_sizes_whatever_the_order():
    small, large, bound = (
        curve(mechanism="linear", at={"n": n}, role=r, words="b")
        for n, r in ((9, "exact"), (99, "exact"), (50, "bound"))
    )
    light, dark = grammar.shades([small, large])
    assert grammar.contrast(light) < grammar.contrast(dark)
    assert grammar.shades([large, bound, small]) == [dark, grammar.BOUND, light]


def test_the_mark_on_one_of_two_data_sets_says_on_which():
    found = [("softmax", "D_0"), ("softmax", "D_1"), ("mark", "D_1")]
    curves = [curve(mechanism=name, data=data) for name, data in found]
    assert grammar.labels(curves) == ["$D_0$", "$D_1$", "the mark on $D_1$"]


def test_labels_say_what_differs_and_nothing_else():
    four = [curve(mechanism=kernel, data=data) for kernel in ("softmax", "linear") for data in ("D_0", "D_1")]
    assert grammar.labels(four) == ["softmax on $D_0$", "softmax on $D_1$", "linear on $D_0$", "linear on $D_1$"]
    sizes = [curve(mechanism="polynomial:16", data="D_0", at={"n": n}) for n in (256, 10**6)]
    assert grammar.labels(sizes) == ["n = 256", "n = $10^{6}$"]
    bound = curve(role="bound", words="Hoeffding", mechanism="linear")
    assert grammar.labels([curve(mechanism="softmax", words="exact"), bound]) == ["exact", "Hoeffding"]
    assert grammar.labels([curve(), curve(label=False)]) == ["", ""]


def test_labels_are_those_of_a_panel_and_the_mark_is_called_so():
    apart = [curve(mechanism=kernel, panel=kernel, words="sum") for kernel in ("softmax", "linear")]
    assert grammar.labels(apart) == ["sum", "sum"]
    assert grammar.labels([*apart, curve(mechanism="mark", panel="linear")]) == ["sum", "sum", "the mark"]


def test_d0_is_dashed_and_d1_solid_and_a_bound_thin_dashes():
    assert curve(data="D_1").dash == curve(data="V_1").dash == curve().dash == "-"
    assert curve(data="D_0").dash == curve(data="V_0").dash == (0, (3, 1.4))
    assert curve(data="D_0", role="bound", words="b").dash == grammar.BOUND_DASH


def test_dashes_of_softmax_bridge_the_gaps_of_others():
    offset, (on, off) = curve(data="D_0", mechanism="softmax").dash
    gap_of_others = (on + offset, on + off + offset)  # in the pattern of softmax
    assert on + off < gap_of_others[0] < gap_of_others[1] < on + off + on


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mechanism": "cosine"}, "mechanism = 'cosine'"),
        ({"data": "D0"}, "data = 'D0': must be one of D_0"),
        ({"role": "dashed"}, "role = 'dashed': must be one of exact"),
        ({"steps": "pre"}, "steps = 'pre'"),
        ({"role": "bound"}, "a bound needs words"),
        ({"at": {"n": 1, "d": 2}}, "at must be one size"),
        ({"y": [1, 2, 3]}, r"x has shape \(2,\) and y \(3,\)"),
        ({"low": [0, 0]}, "an interval has two ends"),
    ],
)
def test_a_curve_that_says_too_little_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        curve(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"words": "τ"}, "give one of the two"),
        ({"words": "", "x": 1}, "needs words"),
        ({"words": "$n = 1024$", "x": 2048}, "a rule at 2048 says .*: move the line"),
        ({"words": "τ = 0.6", "y": 0.7}, "a rule at 0.7 says 'τ = 0.6'"),
        ({"words": "n = 269", "x": 270}, "a rule at 270 says 'n = 269'"),  # in a picture one line
        ({"words": "τ = 0.66", "x": 2 / 3}, "says 'τ = 0.66'"),  # cut off, not rounded
    ],
)
def test_a_rule_without_place_or_words_or_with_other_words_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Rule(**given)


def test_a_rule_may_say_where_it_stands():
    assert [Rule(words=words, x=x).x for words, x in (("τ = 0.67", 2 / 3), ("n = 270", 270), ("1/φ", 0.6))] == [
        2 / 3,
        270,
        0.6,
    ]


def test_sizes_are_written_as_powers_of_ten():
    written = [grammar.number(value) for value in (2000, 9999, 10**4, 3 * 10**5, 12345, 0.5, Fraction(3, 4))]
    assert written == ["2000", "9999", "$10^{4}$", "$3 \\cdot 10^{5}$", "12345", "0.5", "3/4"]


def test_labels_are_moved_apart_and_not_farther_than_needed():
    wanted, heights = np.array([0.0, 0.02, 0.9, 0.5, 0.0]), np.full(5, 0.1)
    places = grammar.spread(wanted, heights)
    order = np.argsort(places)
    assert (np.diff(places[order]) >= 0.1 - 1e-12).all()
    assert (places[order][0], places[3], places[2]) == pytest.approx((0.05, 0.5, 0.9))
    assert grammar.spread(wanted[2:4], heights[:2]).tolist() == [0.9, 0.5]
    # Labels that touch move together: three that want one place, and two others, stay as near as they can.
    assert grammar.spread([0.2, 0.2, 0.2, 0.8, 0.8], [0.1] * 5).tolist() == pytest.approx([0.1, 0.2, 0.3, 0.75, 0.85])
    assert grammar.spread([1, 1], [0.2, 0.2]).tolist() == pytest.approx([0.7, 0.9])
