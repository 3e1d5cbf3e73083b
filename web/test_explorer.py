"""The explorer's numbers, read off the page in a browser, are the library's to ten digits."""

import itertools
from fractions import Fraction
from functools import cache
from math import comb, floor, isfinite, log10

import mpmath
import numpy as np
import pytest

from attnsep.extensions import golden_ratio
from attnsep.paper import gains, tokens
from attnsep.paper.tokens import TokenData
from attnsep.probability import sign_sums
from web.conftest import BUILT, Tab

WORKED = {"n": 1024, "d": 258, "m": 10, "a0": "0.05", "a1": "0.7", "c": "0.5", "gap": "0.1", "kernel": "softmax"}
SIGNS = list(itertools.product((1, -1), repeat=3))
SET_AND_READ = """fields => {
  const form = document.getElementById("explorer");
  for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
  form.dispatchEvent(new Event("input"));
  return Object.fromEntries([...form.querySelectorAll("[data-show]")].map(e => [e.dataset.show, e.textContent]));
}"""


def corners():
    """Return points at the ends of every range, and points of the book."""
    yield {}
    yield {"n": 53, "d": 55, "m": 1, "a1": "0.75", "c": "0.35"}
    yield {"n": 65536, "d": 1026, "a1": "0.6"}
    for kernel in ("softmax", "softmax:2", "linear", "polynomial:8", "polynomial:60", "hard"):
        yield {"n": 512, "d": 130, "a0": "0.1", "a1": "0.8", "kernel": kernel}
    for kernel in ("softmax", "softmax:0", "softmax:100", "softmax:1/3", "linear", "polynomial:1", "hard"):
        for n, d in ((2, 3), (2, 4), (10**300, 3), (10**300, 1002), (9998 * 10**296, 10000)):
            yield {"n": n, "d": d, "m": 20, "kernel": kernel}
    for degree in (2, 1000, 10**6):
        yield {"n": 10**300, "d": 102, "kernel": f"polynomial:{degree}"}
    for a in ("0", "1", "100", "1e-30", "0.618033988749894848204586834365", "0.61803398874989484820458683437"):
        yield {"n": 10**300, "d": 252, "a0": "0", "a1": a}
        yield {"n": 256, "d": 66, "a0": a, "a1": a, "kernel": "softmax:0.5"}
    for m in (1, 10**6, 10**15):
        for c in ("1e-9", "0.999999999", "2/3"):
            yield {"n": 9998, "d": 10000, "m": m, "c": c}
            yield {"n": 40, "d": 12, "m": m, "c": c}
    for gap in ("0.3", "0.45", "0.49"):  # probabilities that no double can hold
        yield {"n": 9998, "d": 10000, "gap": gap}
    yield {"n": 256, "d": 66, "a1": "1/8", "c": "5/16", "gap": "1/16"}  # a tie with the rational gain 256^(1/8)
    for gap in ("0", "0.7", "100"):
        yield {"n": 64, "d": 18, "gap": gap}
        yield {"n": 64, "d": 18, "gap": gap, "kernel": "hard"}


def tied():
    """Return points with a tie: rational gains of every kind, and sums in which the gain cancels."""
    rng = np.random.default_rng(9)
    found = 0
    while found < 60:
        t, d, kernel = int(rng.integers(1, 9)), int(rng.integers(3, 30)), str(rng.choice(["softmax", "linear", "hard"]))
        point = {"n": t * (d - 2), "d": d, "m": int(rng.integers(1, 50)), "kernel": kernel}
        point |= {name: str(int(rng.integers(0, 9)) / 8) for name in ("a0", "a1")}
        point |= {name: str(int(rng.integers(1, 8)) / 8) for name in ("c", "gap")}
        if point["n"] >= 2 and any(ties for _, ties in patterns(WORKED | point, point["a1"])):
            found += 1
            yield point
    yield {"n": 16, "d": 6, "a0": "0.5", "a1": "0.5", "gap": "0.6", "c": "0.7"}


def drawn():
    """Return points spread over the ranges of the page."""
    rng = np.random.default_rng(2026)
    kernels = ("softmax", "softmax", "linear", "polynomial", "hard")
    for _ in range(100):
        d = round(10 ** rng.uniform(0.5, 3.3))
        kernel = str(rng.choice(kernels))
        if kernel == "polynomial":
            kernel += f":{rng.integers(1, 80)}"
        elif rng.random() < 0.3 and kernel == "softmax":
            kernel += f":{rng.uniform(0.1, 3):.2f}"
        yield {
            "n": 2 * (d - 2) * int(10 ** rng.uniform(0, 6)) * 10 ** int(rng.choice([0, 0, 0, 30, 200])),
            "d": d,
            "m": round(10 ** rng.uniform(0, 4)),
            "a0": f"{rng.uniform(0, 0.3):.3f}",
            "a1": f"{rng.uniform(0.3, 1.5):.3f}",
            "c": f"{rng.uniform(0.02, 0.98):.2f}",
            "gap": f"{rng.uniform(0.01, 0.4):.2f}",
            "kernel": kernel,
        }


def patterns(point, a):
    """Return, for each pattern of signs, the plus signs needed and how many numbers of them tie with the threshold."""
    gap = Fraction(point["gap"])
    sides = []
    for shift in (0, Fraction(1, 10**900)) if gap else (0,):  # a sum that ties exceeds a threshold a little lower
        data = TokenData(n=point["n"], d=point["d"], a=a, c=point["c"], gap=gap - shift)
        sides.append([tokens.Law(data, point["kernel"]).least_plus(tokens.Signs(*signs)) for signs in SIGNS])
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


def same(text, value, precise):
    """Assert that a shown number is the library's, or below the range of doubles the precise one."""
    if text in ("0", "1"):
        assert precise() == int(text)
    elif text.startswith("10^"):
        assert value < 1e-290
        assert_rounded(text[3:], float(mpmath.log10(precise())))
    else:
        assert_rounded(text, value if value > 1e-290 else float(precise()))


def assert_rounded(text, value):
    """Assert that a text is the value rounded to ten digits; the library promises twelve."""
    unit = 10.0 ** (floor(log10(abs(value))) - 9) if value else 0
    assert abs(float(text) - value) <= 0.51 * unit, f"{text} for {value}"


def precisely(x):
    return mpmath.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mpmath.mpf(x)


def check_law(shown, point, name, a, kernel):
    """Compare the law of one column and the probabilities of the network."""
    n, d, m, c, gap = (point[key] for key in ("n", "d", "m", "c", "gap"))
    found = patterns(point | {"kernel": kernel}, a)
    pi = sum(tail(d - 3, least) for least, _ in found) / 8
    value = tokens.law(n, d, a, c, kernel, gap).column_probability()
    same(shown[f"pi-{name}"], value, lambda: precisely(pi))
    same(shown[f"not-pi-{name}"], float(1 - pi), lambda: precisely(1 - pi))
    exponent = m * mpmath.log1p(-precisely(pi)) if pi < 1 else -mpmath.inf
    same(shown[f"fires-{name}"], sign_sums.fires_probability(value, m), lambda: -mpmath.expm1(exponent))
    same(shown[f"silent-{name}"], sign_sums.silent_probability(value, m), lambda: mpmath.exp(exponent))
    return found


def check_row(shown, point, i, a):
    """Compare the weights and the values of the chosen kernel."""
    n, d, kernel = point["n"], point["d"], point["kernel"]
    w = tokens.weights(n, a, kernel)
    rows = gains.gains(n, a, kernel)
    values = tokens.law(n, d, a, point["c"], kernel).values()
    root, b, t = mpmath.sqrt(mpmath.log(n)), precisely(1 - Fraction(point["c"])), n // (d - 2)
    for row, R, p, rest, value in zip(("marked", "other"), rows, w[:2], w[2:], values, strict=True):
        odds = odds_of(R, n)
        share, left = (mpmath.mpf(1), mpmath.mpf(0)) if odds == mpmath.inf else (odds / (1 + odds), 1 / (1 + odds))
        same(shown[f"weight-{row}-{i}"], p, lambda share=share, left=left: share if left else 1)
        same(shown[f"rest-{row}-{i}"], rest, lambda left=left: left)
        entries = {
            "first": precisely(Fraction(a)) * share,
            "own": b * (share + left * (t - 1) / (n - 1)),
            "other": b * left * t / (n - 1),
            "last": precisely(Fraction(point["c"])),
        }
        for (entry, precise), library in zip(entries.items(), value, strict=True):
            same(shown[f"{entry}-{row}-{i}"], library, lambda precise=precise: precise * root)


def odds_of(R, n):
    """Return R/(n − 1), which no double need hold."""
    if not hasattr(R, "base"):
        return mpmath.inf
    return mpmath.exp(precisely(Fraction(R.exponent)) * mpmath.log(precisely(Fraction(R.base)))) / (n - 1)


def check_curve(shown, point, i, a):
    """Compare the point on the curve of the golden ratio."""
    name, _, beta = point["kernel"].partition(":")
    if name == "softmax":
        x = golden_ratio.collapsed(point["n"], a, Fraction(beta or 1))
    else:
        R = gains.gains(point["n"], a, point["kernel"])[0]
        x = float(mpmath.log(odds_of(R, point["n"]) * (point["n"] - 1) / point["n"]))
    if isfinite(x):
        assert_rounded(shown[f"x-{i}"], x)
    else:
        assert shown[f"x-{i}"] == "∞"
    assert shown[f"p-{i}"] == shown[f"weight-marked-{i}"]


@pytest.fixture(scope="module")
def tab(browser):
    return Tab(browser)


def text_of(point):
    name, _, parameter = point["kernel"].partition(":")
    return {key: str(value) for key, value in point.items()} | {"kernel": name, "parameter": parameter or "1"}


def test_every_number_is_the_library_s(tab):
    page = tab.open("chapters/explorer.html", wait=False)
    ties, points = 0, [WORKED | point for point in (*corners(), *tied(), *drawn())]
    with mpmath.workdps(60):
        for point in points:
            shown = page.evaluate(SET_AND_READ, text_of(point))
            rival = "softmax" if point["kernel"] == "linear" else "linear"
            try:
                for i, a in enumerate((point["a0"], point["a1"])):
                    ties += check_chosen(shown, point, i, a)
                    check_law(shown, point, f"rival-{i}", a, rival)
                tau = precisely(Fraction(point["c"]) + Fraction(point["gap"])) * mpmath.sqrt(mpmath.log(point["n"]))
                assert_rounded(shown["tau"], float(tau))
            except AssertionError as error:
                raise AssertionError(f"{point}: {error}") from error
    assert len(points) >= 200
    assert ties >= 100
    assert tab.problems == []


def check_chosen(shown, point, i, a):
    """Compare all that is shown of the chosen kernel; return the number of patterns that can tie."""
    check_row(shown, point, i, a)
    check_curve(shown, point, i, a)
    signs = point["d"] - 3
    found = check_law(shown, point, f"chosen-{i}", a, point["kernel"])
    for j, (least, tie) in enumerate(found):
        words = {0: "always", signs + 1: "never"}.get(least, f"{least} or more")
        assert shown[f"least-{i}-{j}"] == words
        above, mass = tail(signs, least), tail(signs, least - tie) - tail(signs, least)
        same(shown[f"above-{i}-{j}"], float(above), lambda above=above: precisely(above))
        if Fraction(point["gap"]):
            same(shown[f"tied-{i}-{j}"], float(mass), lambda mass=mass: precisely(mass))
    return sum(tie > 0 for _, tie in found)


def test_a_link_brings_the_parameters_back(tab):
    page = tab.open(
        "chapters/explorer.html?n=512&d=130&m=7&a0=1/10&a1=0.8&c=0.5&gap=0.1&kernel=polynomial:16", wait=False
    )
    assert page.input_value("#explorer-n") == "512"
    assert page.input_value("#explorer-parameter") == "16"
    value = tokens.law(512, 130, "0.1", "0.5", "polynomial:16").fires(7)
    assert_rounded(page.text_content("[data-show=fires-chosen-0]"), value)
    page.fill("#explorer-m", "8")
    page.wait_for_url("**/explorer.html?n=512&d=130&m=8&a0=1%2F10&a1=0.8&c=0.5&gap=0.1&kernel=polynomial%3A16")
    shown = page.text_content("[data-show=fires-chosen-1]")
    page.reload()
    assert page.text_content("[data-show=fires-chosen-1]") == shown
    page.click("text=Back to the worked instance")
    page.wait_for_url("**/explorer.html?n=1024&d=258&m=10&a0=0.05&a1=0.7&c=0.5&gap=0.1&kernel=softmax")
    assert tab.problems == []


def test_the_keyboard_is_enough_and_a_screen_reader_hears_the_result(tab):
    page = tab.open("chapters/explorer.html", wait=False)
    page.focus("#explorer-d")
    page.keyboard.press("Tab")  # to the slider of d
    page.keyboard.press("Home")
    assert page.input_value("#explorer-d") == "3"
    assert page.get_attribute("[data-for=d]", "aria-valuetext") == "3"
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("1")
    value = tokens.law(1024, 3, "0.7", "0.5").fires(1)
    assert_rounded(page.text_content("[data-show=fires-chosen-1]"), value)
    page.wait_for_function(
        """p => document.querySelector("[role=status]").textContent.includes(p)""", arg=f"{value:.3g}"
    )
    page.select_option("#explorer-kernel", "hard")
    page.wait_for_function("""() => document.querySelector("[role=status]").textContent.includes("hard on D₀")""")
    assert tab.problems == []


def test_a_length_that_does_not_divide_is_said(tab):
    page = tab.open("chapters/explorer.html?n=1e3&d=258", wait=False)
    assert "1e3 is no multiple of d − 2 = 256, so the one next to it is used: n = 1024" in page.inner_text("#explorer")
    page.fill("#explorer-d", "5000")
    assert "n = 4998 = 4998 classes of 1 token." in page.inner_text("#explorer")


@pytest.fixture(scope="module")
def opened(browser):
    tab = Tab(browser)
    tab.open("chapters/explorer.html", wait=False)
    return tab


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("n", "1", "whole number from 2 to 10^300"),
        ("n", "10^301", "whole number from 2 to 10^300"),
        ("n", "2.5", "whole number from 2 to 10^300"),
        ("d", "2", "whole number from 3 to 10000"),
        ("m", "0", "whole number from 1 to 10^15"),
        ("a0", "-0.1", "write a number such as 0.7 or 7/10"),
        ("a1", "101", "between 0 and 100"),
        ("a1", "1/0", "write a number such as 0.7 or 7/10"),
        ("c", "1", "strictly between 0 and 1"),
        ("gap", "0,1", "write a number such as 0.7 or 7/10"),
        ("gap", "", "write a number such as 0.7 or 7/10"),
        ("gap", "1e-31", "at most 30 digits after the point"),
        ("kernel", "softmax:-1", "write a number such as 0.7 or 7/10"),
        ("kernel", "polynomial:1.5", "whole number from 1 to 10^6"),
    ],
)
def test_a_parameter_that_breaks_a_rule_gives_no_numbers(opened, name, text, rule):
    shown = opened.page.evaluate(SET_AND_READ, text_of(WORKED | {name: text}))
    assert set(shown.values()) == {"–"}
    says_why(opened.page, name, rule)
    assert opened.problems == []


@pytest.mark.parametrize("kernel", ["entmax", "hard:2", "toString"])
def test_a_link_with_another_kernel_gives_no_numbers(tab, kernel):
    page = tab.open(f"chapters/explorer.html?kernel={kernel}", wait=False)
    assert set(page.locator("#explorer [data-show]").all_text_contents()) == {"–"}
    says_why(page, "kernel", "is no kernel of this page")
    assert tab.problems == []


def says_why(page, name, rule):
    """Assert that the broken rule stands beside its field alone, and that a screen reader hears it."""
    problems = page.locator("#explorer span.problem, #explorer p.problem")
    assert [text for text in problems.all_text_contents() if text] == [page.text_content(f"#{name}-problem")]
    assert rule in page.text_content(f"#{name}-problem")
    invalid = page.locator("#explorer [aria-invalid=true]")
    assert invalid.count() == 1
    assert invalid.get_attribute("aria-describedby") == f"{name}-problem"
    page.wait_for_function(
        """rule => { const said = document.querySelector("[role=status]").textContent;
          return said.startsWith("No result: ") && said.includes(rule); }""",
        arg=rule,
    )


def test_without_javascript_the_page_says_what_to_do(browser):
    page = Tab(browser, java_script_enabled=False).page
    page.goto((BUILT / "chapters/explorer.html").as_uri())
    assert page.is_hidden("#explorer")
    assert page.locator("noscript code").first.is_visible()
