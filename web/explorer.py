"""What stands on the explorer's page, compared with the library.

Pictures are read as a reader reads them: the numbers at an axis say which number a place stands for.
"""

import itertools
import json
import re
from fractions import Fraction
from functools import cache
from math import comb, floor, isfinite, log, log10, sqrt

import mpmath
import numpy as np

from attnsep.extensions import golden_ratio
from attnsep.paper import gains, tokens
from attnsep.probability import sign_sums

WORKED = {
    "n": 1024, "d": 258, "m": 10, "a0": "0.05", "a1": "0.7", "c": "0.5", "gap": "0.1", "kernel": "none", "seed": 1,
}  # fmt: skip
SIGNS = tuple(tokens.Signs(*signs) for signs in itertools.product((1, -1), repeat=3))
ROOM = 0.011  # places are written with two digits after the point
NARROW, RAISED = "\u202f", str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")

# Puts the fields, and returns [name, attribute] of all that changed, "text" and "value" among the attributes, and
# {name: {attribute: value}} of all elements whose names begin as asked.
PUT = """([fields, prefix]) => {
  const form = document.getElementById("explorer"), values = new Map();
  const inputs = [...form.querySelectorAll("input, select")];
  const observer = new MutationObserver(() => {});
  for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
  for (const input of inputs) values.set(input, input.value);
  observer.observe(document.body,
    { subtree: true, childList: true, characterData: true, attributes: true, attributeOldValue: true });
  form.dispatchEvent(new Event("input"));
  const changed = new Set();
  const said = (node, what) => {
    const element = node.nodeType === 1 ? node : node.parentElement;
    if (what !== "data-is") changed.add(`${element.dataset.is ?? element.outerHTML.slice(0, 200)} ${what}`);
  };
  for (const { type, target, attributeName, oldValue, addedNodes } of observer.takeRecords()) {
    if (type === "characterData") said(target, "text");
    else if (type === "attributes" && target.getAttribute(attributeName) !== oldValue) said(target, attributeName);
    for (const node of addedNodes) {
      if (node.nodeType !== 1) said(target, "text");
      else for (const one of [node, ...node.querySelectorAll("*")]) {
        for (const { name } of one.attributes) said(one, name);
        if (one.textContent || !one.dataset.is) said(one, "text");
      }
    }
  }
  for (const input of inputs) if (values.get(input) !== input.value) said(input, "value");
  const found = {};
  for (const element of document.querySelectorAll("[data-is]")) {
    if (!element.dataset.is.startsWith(prefix)) continue;
    if (element.dataset.is in found) throw new Error(`two elements are called ${element.dataset.is}`);
    const entry = found[element.dataset.is] = { text: element.textContent };
    for (const { name, value } of element.attributes) entry[name] = value;
    if ("value" in element) entry.value = element.value;
  }
  return JSON.stringify([[...changed], found]);
}"""


class Page:
    """What stands on the page after an input; keeps account of what was read of that which changed."""

    def __init__(self, page, fields, prefix=""):
        changed, self.found = json.loads(page.evaluate(PUT, [fields, prefix]))
        self.unread = {what for what in changed if what.startswith(prefix)}
        self.last = ""

    def read(self, name, attribute="text"):
        """Return an attribute of the element of that name, or its text; None where there is no such attribute."""
        self.last = f"{name} {attribute}"
        self.unread.discard(self.last)
        return self.found[name].get(attribute)

    def number(self, name, attribute="data-value"):
        return float(self.read(name, attribute))

    def names(self, beginning):
        return [name for name in self.found if name.startswith(beginning)]


def kernels(point):
    """Return the kernels that the page shows, by their places on it."""
    third = {} if point["kernel"] == "none" else {"third": point["kernel"]}
    return {"softmax": "softmax", "linear": "linear"} | third


def strengths(point):
    return (0, point["a0"]), (1, point["a1"])


# Numbers of the library


def law_of(point, a, kernel, n=None):
    return _law(n or point["n"], point["d"], a, point["c"], kernel, point["gap"])


_law = cache(tokens.law)


def patterns(point, a, kernel):
    """Return, for each pattern of signs, the plus signs needed and how many numbers of them tie with the threshold."""
    return _patterns(*(point[name] for name in ("n", "d", "c", "gap")), a, kernel)


@cache
def _patterns(n, d, c, gap, a, kernel):
    gap = Fraction(gap)
    sides = []
    for shift in (0, Fraction(1, 10**900)) if gap else (0,):  # a sum that ties exceeds a threshold a little lower
        law = _law(n, d, a, c, kernel, gap - shift)
        sides.append([law.least_plus(signs) for signs in SIGNS])
    return [(least, least - lower) for least, lower in zip(sides[0], sides[-1], strict=True)]


@cache
def tail(count, plus):
    """Return P[plus or more of so many signs are +] exactly."""
    upper = max(plus, count - plus + 1)
    ways, total = comb(count, upper) if 0 <= upper <= count else 0, 0
    for number in range(upper, count + 1):
        total += ways
        ways = ways * (count - number) // (number + 1)
    share = Fraction(total, 2**count)
    return share if upper == plus else 1 - share


def exact_pi(point, a, kernel):
    return sum(tail(point["d"] - 3, least) for least, _ in patterns(point, a, kernel)) / 8


def fires_and_silent(point, a, kernel):
    """Return both probabilities as precise numbers."""
    pi = exact_pi(point, a, kernel)
    exponent = point["m"] * mpmath.log1p(-precisely(pi)) if pi < 1 else -mpmath.inf
    return -mpmath.expm1(exponent), mpmath.exp(exponent)


def shares(point, a, kernel):
    """Return the mark's share of its own row and what it leaves, as precise numbers."""
    odds = odds_of(gains.gains(point["n"], a, kernel)[0], point["n"])
    return (mpmath.mpf(1), mpmath.mpf(0)) if odds == mpmath.inf else (odds / (1 + odds), 1 / (1 + odds))


def odds_of(R, n):
    """Return R/(n − 1), which no double need hold."""
    if not hasattr(R, "base"):
        return mpmath.inf
    return mpmath.exp(precisely(Fraction(R.exponent)) * mpmath.log(precisely(Fraction(R.base)))) / (n - 1)


def precisely(x):
    return mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpmath.mpf(x)


# Texts


def match(pattern, text):
    """Return what stands in the groups of a pattern that the whole text has."""
    found = re.fullmatch(pattern, text)
    assert found, f"{text!r} is not as expected"
    return found.groups()


def same(text, value, precise):
    """Assert that a shown number is the library's, or below the range of doubles the precise one."""
    if text in ("0", "1"):
        assert precise() == int(text)
    elif text.startswith("10^"):
        assert value < 1e-290
        assert_rounded(text[3:], float(mpmath.log10(precise())))
    else:
        assert_rounded(text, value if value > 1e-290 else float(precise()))


def assert_rounded(text, value, digits=10):
    """Assert that a text is the value rounded to some digits, ten unless told otherwise; the library has twelve."""
    assert len(re.sub(r"e.*|\D", "", text).lstrip("0")) <= digits, f"{text} has more than {digits} digits"
    unit = 10.0 ** (floor(log10(abs(value))) - digits + 1) if value else 0
    assert abs(float(text) - value) <= 0.51 * unit, f"{text} for {value}"


def spoken(text):
    """Return the number that a text such as 600 000 or 2·10⁻⁸ says, as a precise one."""
    pattern = rf"(?:([0-9]{{1,3}}(?:{NARROW}[0-9]{{3}})*|[0-9]+\.[0-9]+)|(?:(?!1·)([0-9.]+)·)?10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))"
    plain, factor, exponent = match(pattern, text)
    if plain:
        return mpmath.mpf(plain.replace(NARROW, ""))
    return mpmath.mpf(factor or 1) * mpmath.mpf(10) ** int(exponent.translate(RAISED))


def says(text, value, digits=3):
    """Assert that a text says a precise number with so many digits."""
    if not value:
        assert text == "0"
        return
    unit = mpmath.mpf(10) ** (int(mpmath.floor(mpmath.log10(value))) - digits + 1)
    assert abs(spoken(text) - value) <= 0.51 * unit, f"{text} for {value}"
    written = re.sub(rf"(^|·)10[{''.join(map(chr, RAISED))}]+$|{NARROW}", "", text)
    assert len(written.replace(".", "").strip("0")) <= digits, f"{text} has more than {digits} digits"
    # From 0.0001 to ten million no power of ten is needed; on the border, where the value is rounded, both will do.
    assert (written != text.replace(NARROW, "")) == (not 0.0001 <= value <= 10**7) or value in (0.0001, 10**7), text


def says_chance(text, p, rest):
    """Assert that a text says a probability; close to 1 it says what that leaves."""
    if text.startswith("1 − "):
        assert rest < 1e-3
        says(text[4:], rest)
    else:
        assert not rest or rest > 9e-4, f"{text} for {p}: what it leaves would say more"
        says(text, p)


def says_share(text, p, rest):
    """Assert that a text says the mark's share."""
    if text in ("all", "nothing"):
        assert p == (text == "all")
    elif text.startswith("all but 1 in "):
        assert rest < 0.01
        says(text[13:], 1 / rest, 2)
    elif text.startswith("1 in "):
        assert p <= 0.1 + 1e-12
        says(text[5:], 1 / p, 2)
    else:
        assert text.endswith(" %")
        assert p > 0.1 - 1e-12
        assert rest > 0.01 - 1e-12
        says(text.removesuffix(" %"), 100 * p, 2)


def says_whole(text, number):
    """Assert that a text says a whole number, a long one with ten digits."""
    if number < 10**15:
        assert text == str(number)
    else:
        assert_rounded(text.removeprefix("about "), float(number))


def words_of(kernel):
    name, _, parameter = kernel.partition(":")
    if name in ("linear", "hard"):
        return f"{name} attention"
    if not parameter:
        return name
    return f"{name}, {'β' if name == 'softmax' else 'degree'} = {float(Fraction(parameter)):.16g}"


# The tables


def check_numbers(page, point):
    """Compare every number of the tables."""
    for slot, kernel in kernels(point).items():
        assert page.read(f"number/head-{slot}") == words_of(kernel)
        assert page.read(f"number/caption-{slot}") == words_of(kernel)
        for i, a in strengths(point):
            place = f"{slot}-{i}"
            check_law(page, point, place, a, kernel)
            check_row(page, point, place, a, kernel)
            check_curve(page, point, place, a, kernel)
    tau = precisely(Fraction(point["c"]) + Fraction(point["gap"])) * mpmath.sqrt(mpmath.log(point["n"]))
    assert_rounded(page.read("number/tau"), float(tau))
    check_threshold(page.read("number/threshold"), point["kernel"])


def check_law(page, point, place, a, kernel):
    """Compare the law of one column, the probabilities of the network and the patterns of signs."""
    m, pi, law = point["m"], exact_pi(point, a, kernel), law_of(point, a, kernel)
    value, (fires, silent) = law.column_probability(), fires_and_silent(point, a, kernel)
    same(page.read(f"number/pi-{place}"), value, lambda: precisely(pi))
    same(page.read(f"number/not-pi-{place}"), float(1 - pi), lambda: precisely(1 - pi))
    same(page.read(f"number/fires-{place}"), sign_sums.fires_probability(value, m), lambda: fires)
    same(page.read(f"number/silent-{place}"), sign_sums.silent_probability(value, m), lambda: silent)
    signs = point["d"] - 3
    for j, (least, tie) in enumerate(patterns(point, a, kernel)):
        words = {0: "always", signs + 1: "never"}.get(least, f"{least} or more")
        assert page.read(f"number/least-{place}-{j}") == words
        above, mass = tail(signs, least), tail(signs, least - tie) - tail(signs, least)
        same(page.read(f"number/above-{place}-{j}"), float(above), lambda above=above: precisely(above))
        shown = page.read(f"number/tied-{place}-{j}")
        if Fraction(point["gap"]):
            same(shown, float(mass), lambda mass=mass: precisely(mass))


def check_row(page, point, place, a, kernel):
    """Compare the weights and the entries of both kinds of row."""
    n, d = point["n"], point["d"]
    w = tokens.weights(n, a, kernel)
    root, b, t = mpmath.sqrt(mpmath.log(n)), precisely(1 - Fraction(point["c"])), n // (d - 2)
    rows, values = gains.gains(n, a, kernel), law_of(point, a, kernel).values()
    for row, R, p, rest, value in zip(("marked", "other"), rows, w[:2], w[2:], values, strict=True):
        odds = odds_of(R, n)
        share, left = (mpmath.mpf(1), mpmath.mpf(0)) if odds == mpmath.inf else (odds / (1 + odds), 1 / (1 + odds))
        same(page.read(f"number/weight-{row}-{place}"), p, lambda share=share, left=left: share if left else 1)
        same(page.read(f"number/rest-{row}-{place}"), rest, lambda left=left: left)
        entries = {
            "first": precisely(Fraction(a)) * share,
            "own": b * (share + left * (t - 1) / (n - 1)),
            "other": b * left * t / (n - 1),
            "last": precisely(Fraction(point["c"])),
        }
        for (entry, precise), library in zip(entries.items(), value, strict=True):
            same(page.read(f"number/{entry}-{row}-{place}"), library, lambda precise=precise: precise * root)


def check_curve(page, point, place, a, kernel):
    """Compare the place on the curve of the golden ratio."""
    name, _, beta = kernel.partition(":")
    if name == "softmax":
        x = golden_ratio.collapsed(point["n"], a, Fraction(beta or 1))
    else:
        R = gains.gains(point["n"], a, kernel)[0]
        x = float(mpmath.log(odds_of(R, point["n"]) * (point["n"] - 1) / point["n"]))
    text = page.read(f"number/x-{place}")
    if isfinite(x):
        assert_rounded(text, x)
    else:
        assert text == "∞"


def check_threshold(text, kernel):
    """Compare from which strength on softmax of another temperature sees the mark."""
    name, _, beta = kernel.partition(":")
    if name != "softmax":
        assert text == ""
    elif not Fraction(beta):
        assert text == "With β = 0 all weights are equal, and no strength is enough."
    else:
        shown, strength = match(r"With β = (\S+) this strength is (\S+)\.", text)
        assert float(shown) == float(Fraction(beta))
        assert_rounded(strength, golden_ratio.threshold_strength(Fraction(beta)))


# Pictures, read as a reader reads them: places are turned into numbers by the axes that are drawn


class Axis:
    """The numbers that places stand for, from two places whose numbers are known."""

    def __init__(self, places):
        (self.value, self.place), *_, (other, place) = sorted(places.items())
        self.slope = (place - self.place) / (other - self.value)
        for number, where in places.items():
            assert abs(self.at(number) - where) < ROOM

    def at(self, value):
        return self.place + (float(value) - self.value) * self.slope

    def meets(self, place, value):
        assert abs(float(place) - self.at(value)) < 2 * ROOM, f"{place} is not the place of {value}"


def ticks(page, here, read):
    """Return the axis that the numbers below a picture stand on."""
    names = page.names(f"{here}/tick-")
    assert {(page.read(name, "class"), page.read(name, "y")) for name in names} == {("tick", page.read(names[0], "y"))}
    return Axis({read(page.read(name)): page.number(name, "x") for name in names})


def check_pictures(page, point):
    """Compare everything in the four pictures."""
    for picture, check in {
        "crowd": check_crowd,
        "bells": check_bells,
        "network": check_network,
        "firing": check_firing,
    }.items():
        shown = kernels(point)
        for slot in ("softmax", "linear", "third"):
            assert (page.read(f"{picture}/{slot}/panel", "hidden") is None) == (slot in shown)
        for slot, kernel in shown.items():
            here = f"{picture}/{slot}"
            assert page.read(f"{here}/name") == words_of(kernel)
            assert page.read(here, "class") == f"kernel-{kernel.partition(':')[0]}"
            words, said = page.read(here, "aria-label").split(words_of(kernel), 1)
            assert not words
            check(page, here, point, kernel, said)
            check_frame(page, picture, slot)


def check_frame(page, picture, slot):
    """Compare what the width alone decides, and in the other panels all that is left with softmax's panel."""
    here = f"{picture}/{slot}"
    _, _, width, height = page.read(here, "viewBox").split()
    assert page.read(here, "height") == height
    check_inside(page, here, float(width), float(height))
    assert [page.read(f"{here}/name", where) for where in ("x", "y", "class")] == ["0", "12", "name"]
    for i in (0, 1):
        if picture != "bells":
            assert page.read(f"{here}/{'label' if picture == 'firing' else 'set'}-{i}") == f"D{'₀₁'[i]}"
        if picture == "crowd":
            bar = f"{here}/crowd-{i}"
            assert page.number(bar, "x") + page.number(bar, "width") == float(width)
            assert page.read(f"{here}/share-{i}", "x") == page.read(bar, "x")
        if picture == "network":
            assert page.read(f"{here}/answer-{i}", "x") == width
            ends = [page.number(box, "x") + page.number(box, "width") for box in page.names(f"{here}/box-{i}-")]
            assert max(ends) <= float(width) - OF_AN_ANSWER, f"{here}: the boxes of D_{i} run over its answer"
    check_looks(page, picture, here)
    if picture in ("bells", "firing"):
        level = path_points(page.read(f"{here}/{'base-0' if picture == 'bells' else 'frame'}", "d"))
        assert level[-1][0] < float(width)
        assert abs(page.number(f"{here}/axis", "x") - (level[0][0] + level[-1][0]) / 2) < ROOM
    if picture == "bells":
        rows = [path_points(page.read(f"{here}/base-{j}", "d"))[0][1] for j in range(8)]
        assert rows == sorted(rows), "the patterns stand in another order than in the book's figures"
        for signs, j in zip(SIGNS, range(8), strict=True):
            assert [page.read(f"{here}/sign-{j}-{k}") for k in range(3)] == ["+" if sign > 0 else "−" for sign in signs]
    for what in [what for what in page.unread if slot != "softmax" and what.startswith(f"{here}/")]:
        name, attribute = what.split()
        assert page.read(name, attribute) == page.found[name.replace(here, f"{picture}/softmax")][attribute]


OF_AN_ANSWER = 36  # pixels that "silent" takes, and a gap before it

# How the shapes look whose look no number decides, by the beginnings of their names; see assets/book.css
CLASSES = {
    "crowd": {"set": "set", "crowd": "crowd"},
    "bells": {"base": "axis", "sign": "sign", "veil": "veil", "push": "push", "tau": "bound", "tau-name": "tick"}
    | {"silent": "before", "fires": "after", "axis": "tick"},
    "network": {"set": "set", "answer": "answer"},
    "firing": {"frame": "axis", "level": "level", "axis": "tick", "here": "bound", "label": "set"},
}


def check_looks(page, picture, here):
    """Compare the looks of shapes, and that words stand beside what they are about."""
    for name in page.names(f"{here}/"):
        kind, *numbers = re.fullmatch(r"([a-z-]+?)(?:-(\d+))?(?:-(\d+))?", name.removeprefix(f"{here}/")).groups()
        if kind in CLASSES[picture]:
            of_mark = " of-mark" if kind == "sign" and numbers[1] == "0" else ""
            assert page.read(name, "class") == CLASSES[picture][kind] + of_mark, f"{name} looks like something else"

    def place(name, axis="y"):
        return page.number(f"{here}/{name}", axis)

    for words, bar in {
        "crowd": [("set-{}", "crowd-{}"), ("words-{}", "crowd-{}"), ("share-{}", "crowd-{}")],
        "network": [("set-{}", "box-{}-0"), ("answer-{}", "box-{}-0")],
    }.get(picture, []):
        for i in (0, 1):
            name, top, height = words.format(i), place(bar.format(i)), place(bar.format(i), "height")
            if name.startswith("share"):
                assert (place(name), place(name, "height")) == (top, height)
            else:
                assert top + height / 2 < place(name) < top + height, f"{here}/{name} is not beside its bar"
        assert place(bar.format(1)) + place(bar.format(1), "height") < place(bar.format(0)), "D_1 stands above D_0"
    if picture == "bells":
        (_, top), (_, bottom) = path_points(page.read(f"{here}/tau", "d"))
        bases = [path_points(page.read(f"{here}/base-{j}", "d"))[0] for j in range(8)]
        assert top <= bases[0][1] - 15, "the line of the threshold begins below the top of a bell"
        assert bottom > bases[7][1]
        veil = [place("veil", what) for what in ("x", "y", "height")]
        assert veil == [bases[0][0], top, bottom - top]
        for j, (left, base) in enumerate(bases):
            signs = [place(f"sign-{j}-{k}", "x") for k in range(3)]
            assert signs == sorted(signs)
            assert signs[2] < left
            assert {place(f"sign-{j}-{k}") for k in range(3)} == {base}
        assert place("tau-name") == place("silent") == place("fires") < top
        assert bottom < place("tick-0") < place("axis")
    if picture == "firing":
        (left, top), (_, bottom), _ = path_points(page.read(f"{here}/frame", "d"))
        for k, words in enumerate("0½1"):
            assert page.read(f"{here}/level-{k}") == words
            assert place(f"level-{k}", "x") < left
            assert abs(place(f"level-{k}") - 4 - (bottom + (top - bottom) * k / 2)) < ROOM, f"{words} has another place"
        assert page.read(f"{here}/axis") == "number of tokens n"
        assert place("here-name") < top
        (_, upper), (_, lower) = path_points(page.read(f"{here}/here", "d"))
        assert (upper < top, lower) == (True, bottom)
        assert bottom < place(page.names(f"{here}/tick-")[0].removeprefix(f"{here}/")) < place("axis")


def check_inside(page, here, width, height):
    """Assert that no shape leaves its picture, where nobody sees it."""
    for name in page.names(f"{here}/"):
        shape = page.found[name]
        if not shape["text"] and shape.get("class") == "after":
            continue  # a word that is left out, beyond the end of an axis
        places = path_points(shape.get("d", ""))
        x, y = (float(shape.get(f"c{axis}", shape.get(axis, 0))) for axis in "xy")
        places += [(x, y), (x + float(shape.get("width", 0)), y + float(shape.get("height", 0)))]
        outside = [place for place in places if not (-ROOM < place[0] < width + ROOM and 0 <= place[1] <= height)]
        assert not outside, f"{name} leaves its picture of {width:g} by {height:g} pixels, at {outside[0]}"


def check_crowd(page, here, point, kernel, said):
    """Compare the bars, and their words."""
    strong, weak = match(r": the weight of the mark in its own row is (.*) on D₁ and (.*) on D₀\.", said)
    for i, a in strengths(point):
        left, width = page.number(f"{here}/crowd-{i}", "x"), page.number(f"{here}/crowd-{i}", "width")
        bar, axis = f"{here}/share-{i}", Axis({0: left, 1: left + width})
        p, rest = shares(point, a, kernel)
        same(page.read(bar, "data-value"), tokens.weights(point["n"], a, kernel).p, lambda p=p: p)
        end = left + page.number(bar, "width")
        axis.meets(end, p)
        assert page.read(bar, "class") == ("mark weak", "mark strong")[i]
        text, place = page.read(f"{here}/words-{i}"), page.number(f"{here}/words-{i}", "x")
        says_share(text, p, rest)
        assert (weak, strong)[i] == text
        assert page.read(f"{here}/words-{i}", "class") == ("on" if left <= place < end else "beside")


def deciding(point, a, signs):
    """Return the row that comes nearest to firing: 0 for the marked token's own, 1 for any other."""
    data = law_of(point, a, "linear").data
    return 0 if tokens.shortfall(data, signs, total=1, marked=1, own=1) < 0 else 1


def bells(point, a, kernel):
    """Return (row, what the mark adds, centre, half a step between sums) of each pattern, in units of √log n."""
    values, root = law_of(point, a, kernel).values(), sqrt(log(point["n"]))
    for signs in SIGNS:
        value = values[row := deciding(point, a, signs)]
        yield row, value.first * signs.first / root, value.meets(signs, 0) / root, value.others / root


def check_bells(page, here, point, kernel, said):
    """Compare the bells, the threshold, what the mark adds, and the columns."""
    axis = ticks(page, here, lambda text: float(text.replace("−", "-")))
    words = [page.read(name).replace("−", "-") for name in page.names(f"{here}/tick-")]
    numbers = sorted(map(float, words))
    assert len(numbers) in (3, 5)
    assert f"{numbers[-1] / (len(numbers) // 2):e}"[:8] in ("1.000000", "2.000000", "5.000000"), f"{here}: {words}"
    N, tau = point["d"] - 3, float(Fraction(point["c"]) + Fraction(point["gap"]))
    bases = [path_points(page.read(f"{here}/base-{j}", "d"))[0] for j in range(8)]
    for i, a in strengths(point):
        for j, (row, push, centre, half) in enumerate(bells(point, a, kernel)):
            bell = f"{here}/bell-{i}-{j}"
            assert page.read(bell, "class") == f"bell {('weak', 'strong')[i]}"
            assert page.read(bell, "data-row") == ("marked", "other")[row]
            assert abs(page.number(bell) - centre) < 1e-9
            same(page.read(bell, "data-step"), half, lambda half=half: half)
            check_bell(path_points(page.read(bell, "d")), axis, bases[j][1], N, centre, half)
            if i:
                assert abs(page.number(f"{here}/push-{j}") - push) < 1e-9
                (start, y), (end, _) = path_points(page.read(f"{here}/push-{j}", "d"))
                axis.meets(start, centre - push)
                axis.meets(end, centre)
                assert y == bases[j][1]
    check_tau(page, here, axis, tau)
    check_columns(page, here, axis, bases, point, kernel)
    beyond = sum(tail(N, least) > Fraction(1, 2) for least, _ in patterns(point, point["a1"], kernel))
    count, threshold, strong, weak = match(
        r" on D₁: (\d) of 8 bells lie beyond the threshold τ = (\S+)\. "
        r"One column fires with probability (.*), on D₀ with (.*)\.",
        said,
    )
    assert int(count) == beyond
    says(threshold, tau)
    for text, a in ((strong, point["a1"]), (weak, point["a0"])):
        pi = exact_pi(point, a, kernel)
        says_chance(text, precisely(pi), precisely(1 - pi))


def path_points(d):
    """Return the corners of a path of lines."""
    points = []
    for letter, rest in re.findall(r"([MLHV])([-\d. e]+)", d):
        numbers = [float(text) for text in rest.split()]
        if letter == "H":
            numbers = [numbers[0], points[-1][1]]
        elif letter == "V":
            numbers = [points[-1][0], numbers[0]]
        points.append(tuple(numbers))
    return points


def check_bell(points, axis, base, N, centre, half):
    """Compare a bell with the binomial: every corner lies over a sum, and is as high as it is probable."""
    x, y = np.array(points).T
    if N <= 40:  # a needle for each sum
        assert np.all(y[::2] == base)
        assert np.all(x[::2] == x[1::2])
        x, y = x[1::2], y[1::2]
    else:
        assert y[0] == y[-1] == base
        x, y = x[1:-1], y[1:-1]
    stride = max(1, floor(sqrt(N) / 8 + 0.5))  # every so many sums have a corner, and so has the middle
    plus = N // 2 + stride * (np.arange(len(x)) - np.argmin(y))
    off = x - axis.at(1) - (centre + half * (2 * plus - N) - 1) * axis.slope
    assert np.max(np.abs(off)) < 2 * ROOM, "a corner of a bell does not lie over a sum of its signs"
    highest = 15 * np.array([ratio_to_middle(N, int(k)) for k in plus])
    assert np.max(np.abs(base - y - highest)) < ROOM, "a bell is not as high over a sum as that sum is probable"
    for k in (plus[0] - stride, plus[-1] + stride):  # drawn is what is above 0.004 of the top
        rare = not 0 <= k <= N or ratio_to_middle(N, int(k)) < 0.0041
        assert rare, f"a bell leaves out {k} plus signs of {N}, which are not rare yet"


@cache
def ratio_to_middle(N, k):
    return float(Fraction(comb(N, k), comb(N, N // 2)))


def check_tau(page, here, axis, tau):
    """Compare the threshold's line, its name, and what lies on both sides."""
    (place, _), _ = path_points(page.read(f"{here}/tau", "d"))
    assert_rounded(page.read(f"{here}/tau", "data-value"), tau)
    (_, _), (right, _) = path_points(page.read(f"{here}/base-0", "d"))
    if axis.at(tau) < right:
        axis.meets(place, tau)
    else:
        assert place == right
    assert abs(page.number(f"{here}/veil", "x") + page.number(f"{here}/veil", "width") - place) < ROOM
    assert abs(page.number(f"{here}/tau-name", "x") - place) < ROOM
    assert page.number(f"{here}/silent", "x") < place < page.number(f"{here}/fires", "x")
    assert page.read(f"{here}/silent") == "silent"
    assert page.read(f"{here}/fires") == ("fires" if place < right else "")
    says(page.read(f"{here}/axis").removeprefix("sum / √log n, τ = "), tau)


@cache
def network_signs(seed, d, count):
    """Return the signs of the page's random network: mulberry32, column after column."""
    state = np.uint32(seed) + np.arange(1, d * count + 1, dtype=np.uint32) * np.uint32(0x6D2B79F5)
    z = (state ^ state >> np.uint32(15)) * (state | np.uint32(1))
    z ^= z + (z ^ z >> np.uint32(7)) * (z | np.uint32(61))
    z ^= z >> np.uint32(14)
    return np.where(z >> np.uint32(31), 1, -1).reshape(count, d).T


def columns(point):
    return network_signs(point["seed"], point["d"], min(point["m"], 40))


def fired(point, a, kernel):
    """Return which columns of the random network fire."""
    y, needed = columns(point), patterns(point, a, kernel)
    rows = [SIGNS.index((first, own, last)) for first, own, last in y[[0, 1, -1]].T.tolist()]
    found = [plus >= needed[j][0] for plus, j in zip((y[2:-1] > 0).sum(axis=0), rows, strict=True)]
    assert any(found) == law_of(point, a, kernel).fires_on(y)
    return found


def check_columns(page, here, axis, bases, point, kernel):
    """Compare the rings: each column of the network on D_1, on the line of its signs, at its sum."""
    law, y = law_of(point, point["a1"], kernel), columns(point)
    values, root = law.values(), sqrt(log(point["n"]))
    assert len(page.names(f"{here}/column-")) == y.shape[1]
    for k, fires in enumerate(fired(point, point["a1"], kernel)):
        ring, signs = f"{here}/column-{k}", tokens.Signs(*(int(y[row, k]) for row in (0, 1, -1)))
        sums = values[deciding(point, point["a1"], signs)].meets(signs, int(y[2:-1, k].sum())) / root
        assert abs(page.number(ring) - sums) < 1e-9
        axis.meets(page.read(ring, "cx"), sums)
        assert float(page.read(ring, "cy")) == bases[SIGNS.index(signs)][1]
        assert page.read(ring, "class") == ("column fires" if fires else "column")
        assert page.read(ring, "r") == "3"


def check_network(page, here, point, kernel, said):
    """Compare which columns of one random network fire."""
    count = columns(point).shape[1]
    which, number, *lists = match(r": of (all|the first) (\d+) columns, these fire on D₁: (.*); on D₀: (.*)\.", said)
    assert (which, int(number)) == ("all" if point["m"] == count else "the first", count)
    for i, a in strengths(point):
        shown = fired(point, a, kernel)
        assert len(page.names(f"{here}/box-{i}-")) == count
        ends = []
        for k, fires in enumerate(shown):
            box = f"{here}/box-{i}-{k}"
            assert page.read(box, "data-value") == str(int(fires))
            assert page.read(box, "class") == ("box fires" if fires else "box")
            ends += [x := page.number(box, "x"), x + page.number(box, "width")]
            assert page.read(box, "height") == "15"
            assert page.read(box, "y") == page.read(f"{here}/box-{i}-0", "y")
        assert ends == sorted(ends)
        assert page.read(f"{here}/answer-{i}") == ("fires" if any(shown) else "silent")
        names = ", ".join(str(k + 1) for k, fires in enumerate(shown) if fires) or "none"
        assert lists[1 - i] == names, f"{here} aria-label: the columns that fire on D_{i} have other numbers"


def check_firing(page, here, point, kernel, said):
    """Compare the curves against n, and the point where the page is on them."""
    x = ticks(page, here, lambda text: 1.0 if text == "10" else float(mpmath.log10(spoken(text))))
    assert 2 <= len(page.names(f"{here}/tick-")) <= 5
    (left, top), (_, bottom), (right, _) = path_points(page.read(f"{here}/frame", "d"))
    y = Axis({0: bottom, 1: top})
    n, place = point["n"], x.at(mpmath.log10(point["n"]))
    assert page.read(f"{here}/here", "data-value") == str(n)
    assert all(abs(x_here - place) < 2 * ROOM for x_here, _ in path_points(page.read(f"{here}/here", "d")))
    says(page.read(f"{here}/here-name").removeprefix("n = "), mpmath.mpf(n), 8 if n < 10**7 else 3)
    flipped = page.read(f"{here}/here-name", "class") == "before"
    assert (page.number(f"{here}/here-name", "x") < place) == flipped
    assert flipped == (place > (left + right) / 2), "the words beside n stand on the side with less room"
    length, *chances = match(r": at n = (.*) the network fires with probability (.*) on D₁ and (.*) on D₀\.", said)
    assert length == page.read(f"{here}/here-name").removeprefix("n = ")
    ends = []
    for i, a in strengths(point):
        p, rest = fires_and_silent(point, a, kernel)
        says_chance(chances[1 - i], p, rest)
        dot, curve = f"{here}/dot-{i}", f"{here}/curve-{i}"
        assert page.read(dot, "class") == f"dot {('weak', 'strong')[i]}"
        assert page.read(curve, "class") == f"curve {('weak', 'strong')[i]}"
        same(page.read(dot, "data-value"), law_of(point, a, kernel).fires(point["m"]), lambda p=p: p)
        x.meets(page.read(dot, "cx"), mpmath.log10(n))
        y.meets(page.read(dot, "cy"), p)
        points = path_points(page.read(curve, "d"))
        listed = [pair.split(":") for pair in page.read(curve, "data-value").split()]
        lengths = [int(length) for length, _ in listed]
        check_lengths(lengths, point)
        assert abs(points[0][0] - left) < ROOM
        assert abs(points[-1][0] - right) < 3  # the last n is the multiple of d − 2 next to the end
        for k, ((place_x, place_y), (_, text), length) in enumerate(zip(points, listed, lengths, strict=True)):
            x.meets(place_x, log10(length))
            y.meets(place_y, 0 if text.startswith("10^") else text)
            if k % 5 == i:
                at = law_of(point, a, kernel, length).fires(point["m"])
                same(text, at, lambda length=length, a=a: fires_and_silent(point | {"n": length}, a, kernel)[0])
        label = page.number(f"{here}/label-{i}", "y")
        assert abs(label - 4 - points[-1][1]) < 17, f"{here}/label-{i} is far from the end of its line"
        ends.append((points[-1][1], label))
        assert page.number(f"{here}/label-{i}", "x") > right
    (weak, weak_label), (strong, strong_label) = ends
    assert abs(weak_label - strong_label) > 12 - ROOM
    assert max(weak_label, strong_label) <= bottom + ROOM, f"{here}: a label of a curve lies on the numbers below"
    assert (strong_label < weak_label) == (strong <= weak)


def check_lengths(lengths, point):
    """Assert that a curve goes from the smallest n to 10^7 or to this n, in steps that are no longer than needed."""
    least, width = max(2, point["d"] - 2), point["d"] - 2
    most = max(7.0, log10(point["n"]))
    assert lengths[0] == least
    assert abs(log10(lengths[-1]) - most) < log10((10**most + width) / 10**most) + 1e-9
    assert all(length % width == 0 for length in lengths)
    step = (most - log10(least)) / 60
    for one, other in itertools.pairwise(lengths):
        assert 0 < log10(other) - log10(one) <= 2 * step + log10((one + width) / one)


# The words around the pictures, and the fields


def check_words(page, point):
    """Compare summary, length, sizes and fields."""
    width = point["d"] - 2
    length, classes, copies, word = match(r"n = (.*) = (\d+) classes of (.*) (tokens?)\.", page.read("sizes"))
    assert page.read("length") == length
    says_whole(length, point["n"])
    says_whole(copies, point["n"] // width)
    assert (int(classes), word) == (width, "token" if point["n"] == width else "tokens")
    assert page.read("columns") == (f"The first 40 of its {point['m']} columns:" if point["m"] > 40 else "")
    shown = kernels(point)
    for slot in ("softmax", "linear", "third"):
        text = page.read(f"summary/{slot}")
        if slot not in shown:
            assert (text, page.read(f"summary/{slot}", "class")) == ("", "")
            continue
        kernel = shown[slot]
        assert page.read(f"summary/{slot}", "class") == f"kernel-{kernel.partition(':')[0]}"
        words, strong, weak = match(r"(.*): (.*) on D₁, (.*) on D₀", text)
        assert words == words_of(kernel)
        says_chance(strong, *fires_and_silent(point, point["a1"], kernel))
        says_chance(weak, *fires_and_silent(point, point["a0"], kernel))
    assert page.read("stale") == ""
    assert page.read("pictures", "data-stale") == "false"
    assert page.read("numbers", "data-kernels") == str(len(shown))
    check_fields(page, point)


def check_fields(page, point):
    """Compare sliders, the handles of the threshold, and the field of a kernel's parameter."""
    for name in ("n", "d", "m", "a0", "a1", "c", "gap"):
        slider = f"slider/{name}"
        assert page.read(slider, "aria-valuetext") == str(point[name])
        value = log10(point[name]) if name in ("n", "d", "m") else float(Fraction(point[name]))
        low, high = page.number(slider, "min"), page.number(slider, "max")
        assert abs(page.number(slider, "value") - min(max(value, low), high)) < 0.006
    name, _, parameter = point["kernel"].partition(":")
    assert (page.read("parameter", "hidden") is None) == bool(parameter)
    labels = {"softmax": "inverse temperature β", "polynomial": "degree"}
    assert page.read("parameter/label") == labels.get(name, "")
    tau = float(Fraction(point["c"]) + Fraction(point["gap"]))
    for k, slot in enumerate(kernels(point)):
        handle = f"handle/{k}"
        place = path_points(page.read(f"bells/{slot}/tau", "d"))[0][0]
        (left,) = match(r"left: ([\d.]+)px;", page.read(handle, "style"))
        assert abs(float(left) - place) < ROOM
        assert_rounded(page.read(handle, "aria-valuenow"), tau, 6)
        assert page.read(handle, "aria-valuetext") == f"τ = {page.read(handle, 'aria-valuenow')} √log n"
        assert page.number(handle, "aria-valuemin") == (c := float(Fraction(point["c"])))
        assert page.number(handle, "aria-valuemax") == max(page.number(handle, "aria-valuenow"), c + 1)
    if len(kernels(point)) == 2:
        for attribute in ("style", "aria-valuenow", "aria-valuetext", "aria-valuemin", "aria-valuemax"):
            page.read("handle/2", attribute)  # in a panel that is hidden


def fields_of(point):
    name, _, parameter = point["kernel"].partition(":")
    return {key: str(value) for key, value in point.items()} | {"kernel": name, "parameter": parameter}


def meets(shown, point, check):
    """Compare what a page shows with the library; a failure says for which point, and what was read last."""
    with mpmath.workdps(60):
        try:
            check(shown, point)
        except AssertionError as error:
            raise AssertionError(f"{point}: {shown.last}, or what was read before it: {error}") from error


def compare(page, point, check, prefix=""):
    """Put a point into the fields, compare, and return what changed and was not compared."""
    shown = Page(page, fields_of(point), prefix)
    meets(shown, point, check)
    return sorted(shown.unread)


def check_all(page, point):
    check_words(page, point)
    check_pictures(page, point)
    check_numbers(page, point)
