"""The explorer's numbers, words and pictures, read off the page in a browser, are the library's.

Whatever changes after an input must be compared: the page is watched, and a test fails where something changed that it
did not read.  `web.explorer` reads and compares.
"""

import re

import numpy as np
import pytest

from attnsep.figures.grammar import look_of
from attnsep.paper import tokens
from web.conftest import BUILT, Tab
from web.explorer import (
    SIGNS,
    WORKED,
    Page,
    assert_rounded,
    check_all,
    check_numbers,
    check_pictures,
    compare,
    fields_of,
    kernels,
    match,
    meets,
    patterns,
    says_chance,
    strengths,
    ticks,
)


def corners():
    """Return points at the ends of every range, and points of the book."""
    yield {}
    yield {"n": 53, "d": 55, "m": 1, "a1": "0.75", "c": "0.35"}
    yield {"n": 65536, "d": 1026, "a1": "0.6"}
    yield {"n": 1024, "a0": f"1/{'3' * 58}", "a1": "7E-1", "c": ".5", "gap": "010e-2"}  # a number in other words
    for kernel in ("softmax:2", "polynomial:8", "polynomial:60", "hard"):
        yield {"n": 512, "d": 130, "a0": "0.1", "a1": "0.8", "kernel": kernel}
    for kernel in ("softmax:0", "softmax:100", "softmax:1/3", "polynomial:1", "hard"):
        for n, d in ((2, 3), (2, 4), (10**300, 3), (10**300, 1002), (9998 * 10**296, 10000)):
            yield {"n": n, "d": d, "m": 20, "kernel": kernel}
    for degree in (2, 1000, 10**6):
        yield {"n": 10**300, "d": 102, "kernel": f"polynomial:{degree}"}
    for a in ("0", "1", "100", "1e-30", "0.618033988749894848204586834365", "0.61803398874989484820458683437"):
        yield {"n": 10**300, "d": 252, "a0": "0", "a1": a}
        yield {"n": 256, "d": 66, "a0": a, "a1": a, "kernel": "softmax:0.5"}
    for m, c in ((1, "1e-9"), (10**6, "0.999999999"), (10**15, "2/3"), (10**15, "1e-9")):
        yield {"n": 9998, "d": 10000, "m": m, "c": c}
        yield {"n": 40, "d": 12, "m": m, "c": c}
    for gap in ("0.3", "0.45", "0.49"):  # probabilities that no double can hold
        yield {"n": 9998, "d": 10000, "gap": gap}
    for end in ("286", "287"):  # on both sides of a sum of softmax, so near that its gain is needed with many digits
        yield {"n": 40, "d": 12, "gap": f"0.169544830967917576716763998{end}"}
    yield {"n": 256, "d": 66, "a1": "1/8", "c": "5/16", "gap": "1/16"}  # a tie with the rational gain 256^(1/8)
    for gap in ("0", "0.7", "100"):
        yield {"n": 64, "d": 18, "gap": gap, "kernel": "hard"}


def tied():
    """Return points with a tie: rational gains of every kind, and sums in which the gain cancels."""
    rng = np.random.default_rng(9)
    found = 0
    while found < 25:
        t, d, kernel = int(rng.integers(1, 9)), int(rng.integers(3, 30)), str(rng.choice(["softmax", "linear", "hard"]))
        point = {"n": t * (d - 2), "d": d, "m": int(rng.integers(1, 50))}
        point |= {name: str(int(rng.integers(0, 9)) / 8) for name in ("a0", "a1")}
        point |= {name: str(int(rng.integers(1, 8)) / 8) for name in ("c", "gap")}
        if point["n"] >= 2 and any(ties for _, ties in patterns(WORKED | point, point["a1"], kernel)):
            found += 1
            yield point | {"kernel": "hard" if kernel == "hard" else "none"}
    yield {"n": 16, "d": 6, "a0": "0.5", "a1": "0.5", "gap": "0.6", "c": "0.7"}


def drawn(count, seed):
    """Return points spread over the ranges of the page."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        d = round(10 ** rng.uniform(0.5, 3.3))
        kernel = str(rng.choice(["none", "softmax", "polynomial", "hard"]))
        if kernel == "polynomial":
            kernel += f":{rng.integers(1, 80)}"
        elif kernel == "softmax":
            kernel += f":{rng.uniform(0.1, 3):.2f}"
        yield {
            "n": 2 * (d - 2) * int(10 ** rng.uniform(0, 6)) * 10 ** int(rng.choice([0, 0, 0, 30, 200])),
            "d": d,
            "m": round(10 ** rng.uniform(0, 4)),
            "a0": f"{rng.uniform(0, 1.5):.3f}",
            "a1": f"{rng.uniform(0, 1.5):.3f}",
            "c": f"{rng.uniform(0.02, 0.98):.2f}",
            "gap": f"{rng.uniform(0.01, 0.4):.2f}",
            "kernel": kernel,
            "seed": int(rng.integers(2**32)),
        }


@pytest.fixture(scope="module")
def tab(browser):
    return Tab(browser)


@pytest.fixture(scope="module")
def opened(browser):
    tab = Tab(browser)
    tab.open("chapters/explorer.html", wait=False)
    return tab


@pytest.fixture
def undrawn(opened):
    """Return a page that draws no pictures, because nobody sees them: its fields answer quickly."""
    style = opened.page.add_style_tag(content="[data-live] { display: none }")
    yield opened.page
    style.evaluate("style => style.remove()")


@pytest.fixture(scope="module")
def phone(browser):
    tab = Tab(browser, viewport={"width": 400, "height": 800}, reduced_motion="reduce")
    tab.open("chapters/explorer.html", wait=False)
    return tab


def test_every_number_is_the_library_s(tab):
    page = tab.open("chapters/explorer.html", wait=False)
    page.add_style_tag(content="[data-live] { display: none }")  # what is not seen is not drawn
    points = [WORKED | point for point in (*corners(), *tied(), *drawn(12, 2026))]
    for point in points:
        assert compare(page, point, check_numbers, "number/") == []
    laws = sum(2 * len(kernels(point)) for point in points)
    with_ties = sum(
        tie > 0
        for point in points
        for kernel in kernels(point).values()
        for _, a in strengths(point)
        for _, tie in patterns(point, a, kernel)
    )
    assert laws >= 400
    assert with_ties >= 100
    assert tab.problems == []


def pictured():
    """Return points whose pictures differ in everything that a picture depends on."""
    yield {"m": 30}  # softmax is silent in one case of 5600
    yield {"n": 40, "d": 12, "gap": "0.2"}  # the gain of the mark cancels for the signs + − +: a + b(−1) = gap
    yield {"n": 512, "d": 130, "a0": "0.1", "a1": "0.8", "kernel": "polynomial:16", "seed": 7, "m": 60}
    yield {"n": 2, "d": 3, "kernel": "hard", "gap": "0"}
    yield {"n": 24, "d": 10, "a1": "1.3", "gap": "9", "m": 3, "kernel": "softmax:0.5"}  # the crowd has 1 part in 600
    yield {"n": 10**300, "d": 102, "a1": "0.61"}
    yield {"n": 1000, "d": 102, "a1": "0.61"}  # the same curves, but for a shorter axis
    yield {"n": 9998, "d": 10000, "m": 5, "gap": "0.05"}
    yield {"n": 64, "d": 18, "a0": "3", "gap": "0.2"}  # the mark of D_0 is the larger one
    yield from drawn(2, 23)


def test_everything_that_changes_is_compared(opened):
    for point in pictured():
        assert compare(opened.page, WORKED | point, check_all) == []
    assert opened.problems == []


@pytest.mark.parametrize(
    ("fault", "noticed"),
    [
        ("form.append(document.createElement('br'))", "<br> text"),
        ("is('crowd').append(document.createElement('br'))", "<br> text"),
        ("form.title = 'new'", "<form "),
        ("is('length').title = 'new'", "length title"),
        ("is('length').textContent = '1025'", "assert '1025' == '1024'"),
        ("is('slider/c').value = '0.7'", "< 0.006"),
        ("is('crowd/linear/share-1').setAttribute('width', 2.5)", "is not the place of 0.00165"),
        ("is('crowd/linear/words-1').textContent = '1 in 610'", "610 for 602.76"),
        ("is('bells/softmax/bell-1-3').setAttribute('d', 'M100 100L101 90L102 100')", "assert "),
        ("is('bells/softmax/column-3').setAttribute('cx', 90)", "90 is not the place of"),
        ("is('network/softmax/box-1-2').setAttribute('class', 'box')", "assert 'box' =="),
        ("is('firing/softmax').setAttribute('aria-label', 'softmax')", "'' is not as expected"),
        ("is('number/pi-softmax-1').textContent = '0.2500006460'", "0.2500006460 for 0.25000064"),
        ("is('network/softmax/name').setAttribute('x', -1)", "network/softmax/name leaves its picture"),
    ],
)
def test_what_is_wrong_or_not_compared_is_noticed(opened, fault, noticed):
    opened.page.evaluate(
        f"""() => {{
          const form = document.getElementById("explorer");
          const is = name => form.querySelector(`[data-is="${{name}}"], [data-live="${{name}}"]`);
          form.addEventListener("input", () => {{ {fault}; }}, {{ once: true }});
        }}"""
    )
    try:
        found = compare(opened.page, WORKED, check_all)
    except AssertionError as error:
        found = [str(error)]
    assert any(noticed in text for text in found), found


def test_what_is_kept_is_made_anew_where_one_parameter_changes(opened):
    def kept(point):
        """Return both curves, and the bells on which the columns of the network stand."""
        put(opened.page, WORKED | point)
        shapes = "all => all.map(shape => shape.getAttribute('cy') ?? shape.dataset.value)"
        strong, weak, *rings = opened.page.locator(
            "[data-is^='firing/softmax/curve-'], [data-is^='bells/softmax/column-']"
        ).evaluate_all(shapes)
        return {"strong": strong, "weak": weak, "columns": rings}

    for change in ({"m": 11}, {"c": "0.4"}, {"gap": "0.4"}, {"a0": "0.3"}, {"a1": "0.8"}, {"d": 130}, {"seed": 2}):
        before, after = kept({}), kept(change)
        assert len(after["columns"]) == change.get("m", 10)
        changed = [name for name in before if before[name] != after[name]]
        assert changed == {
            "m": ["strong", "weak", "columns"],
            "d": ["strong", "weak", "columns"],
            "a0": ["weak"],
            "a1": ["strong"],
            "seed": ["columns"],
        }.get(next(iter(change)), ["strong", "weak"]), change


def entries_of(row):
    """Return the numbers of one kind of row by their names, with the words beside them."""
    words = {"weight": "weight of the mark", "rest": "weight of all others", "first": "first entry"}
    words |= {"own": "class of the marked token", "other": "each other class", "last": "last entry"}
    return {f"{name}-{row}": said for name, said in words.items()}


ROWS = {
    "the network": {"fires": "fires", "silent": "stays silent"},
    "one random column exceeds the threshold in some row": {"pi": "π", "not-pi": "1 − π"},
    "marked token's row": entries_of("marked"),
    "every other row": entries_of("other"),
    "place on the golden-ratio curve": {"x": "ξ = log(R/n)"},
}


def expected_tables():
    """Yield what stands at each table, and its rows, each cell as its scope, size, class, and name or words."""
    slots = ("softmax", "linear", "third")
    class_of = {"third": "third"}
    of_all = [(slot, i, class_of.get(slot, "")) for slot in slots for i in (0, 1)]
    rows = [
        [["", "1×1", "", ""], *(["colgroup", "2×1", class_of.get(slot, ""), f"number/head-{slot}"] for slot in slots)],
        [["", "1×1", "", ""], *(["col", "1×1", kind, f"D{i}"] for _, i, kind in of_all)],
    ]
    for title, words in ROWS.items():
        rows.append([["rowgroup", "7×1", "", title]])
        for name, said in words.items():
            cells = [["", "1×1", kind, f"number/{name}-{slot}-{i}"] for slot, i, kind in of_all]
            rows.append([["row", "1×1", "", said], *cells])
    about = "Exact numbers, rounded to ten digits"
    yield ["scroll", "region", "Numbers of all kernels", 0, 1, [3, 3, 7, 7, 2], about, rows]
    for slot in slots:
        heads = [["col", "1×1", "", words] for words in ("plus signs", "fires", "ties")]
        sets = [["colgroup", "3×1", "", f"D{i}"] for i in (0, 1)]
        rows = [[["", "1×2", "", "mark, class, constant"], *sets], 2 * heads]
        for j, signs in enumerate(SIGNS):
            names = [f"number/{name}-{slot}-{i}-{j}" for i in (0, 1) for name in ("least", "above", "tied")]
            words = " ".join("+" if sign > 0 else "−" for sign in signs)
            rows.append([["row", "1×1", "", words], *(["", "1×1", "", name] for name in names)])
        about = f"number/caption-{slot}: plus signs needed among the other classes, and the probabilities of "
        about += "that and of a tie"
        yield [f"scroll {slot}", "region", f"Patterns of signs, {slot}", 0, 1, [8], about, rows]


def test_the_words_of_the_tables_stand_beside_their_numbers(opened):
    found = opened.page.evaluate(
        """() => [...document.querySelectorAll("#explorer .numbers > div")].map((place) => {
          const { caption, rows, tBodies } = place.querySelector("table"), name = caption.querySelector("[data-is]");
          const words = [...caption.childNodes].map(x => (x === name ? x.dataset.is : x.data)).join("");
          return [place.className.trim(), place.role, place.ariaLabel, place.tabIndex, place.childNodes.length,
            [...tBodies].map(body => body.rows.length), words.replace(/\\s+/g, " "),
            [...rows].map(row => [...row.cells].map(cell => [cell.scope, `${cell.colSpan}×${cell.rowSpan}`,
              cell.className, cell.dataset.is ?? cell.textContent]))];
        })"""
    )
    for table, expected in zip(found, expected_tables(), strict=True):
        assert table == expected


def test_colours_are_those_of_the_figures(opened):
    put(opened.page, WORKED | {"kernel": "polynomial:16"})
    colours = opened.page.locator("[data-live=firing] svg, [data-live=crowd] .mark").evaluate_all(
        "all => all.map(e => getComputedStyle(e)[e.tagName === 'svg' ? 'color' : 'fill'])"
    )
    shown = {f"#{''.join(f'{int(part):02X}' for part in re.findall('[0-9]+', colour))}" for colour in colours}
    assert shown == {look_of(name).colour for name in ("softmax", "linear", "polynomial", "mark")}


def test_the_pictures_follow_the_width_of_the_page(phone):
    page = phone.page
    page.set_viewport_size({"width": 400, "height": 800})
    page.reload(wait_until="domcontentloaded")
    assert not page.is_visible("#explorer-d")  # the fold above the pictures is closed
    assert compare(page, WORKED | {"n": 2048}, check_all) == []
    page.set_viewport_size({"width": 1000, "height": 800})
    page.wait_for_function(
        """() => [...document.querySelectorAll("[data-live] svg")].every(svg =>
          !svg.clientWidth || svg.clientWidth === svg.viewBox.baseVal.width)"""
    )
    page.wait_for_function(
        """() => {
          const line = document.querySelector("[data-is='bells/softmax/tau']").getAttribute("d");
          return Math.abs(parseFloat(document.querySelector(".handle").style.left) - parseFloat(line.slice(1))) < 0.02;
        }""",
        timeout=10_000,
    )  # the handle of the threshold follows its line
    assert compare(page, WORKED | {"n": 2048}, check_all) == []
    assert phone.problems == []


def put(page, point):
    """Put a point into the fields, and read nothing."""
    Page(page, fields_of(point), "nothing is called so")


def number_in(page, name):
    return page.locator(f"[data-is='number/{name}']").text_content()


def test_a_link_brings_the_parameters_back(tab):
    page = tab.open(
        "chapters/explorer.html?n=512&d=130&m=7&a0=1/10&a1=0.8&c=0.5&gap=0.1&kernel=polynomial:16&seed=5", wait=False
    )
    assert page.input_value("#explorer-n") == "512"
    assert page.input_value("#explorer-parameter") == "16"
    value = tokens.law(512, 130, "0.1", "0.5", "polynomial:16").fires(7)
    assert_rounded(number_in(page, "fires-third-0"), value)
    entries = page.evaluate("history.length")
    page.fill("#explorer-m", "8")
    page.wait_for_url("**/explorer.html?n=512&d=130&m=8&a0=1%2F10&a1=0.8&c=0.5&gap=0.1&kernel=polynomial%3A16&seed=5")
    assert page.evaluate("history.length") == entries, "the way back would lead through every value of a slider"
    shown = number_in(page, "fires-third-1")
    page.reload()
    assert number_in(page, "fires-third-1") == shown
    page.click("text=back to the worked instance")
    page.wait_for_url("**/explorer.html?n=1024&d=258&m=10&a0=0.05&a1=0.7&c=0.5&gap=0.1&kernel=none&seed=1")
    assert tab.problems == []


def test_the_keyboard_is_enough_and_a_screen_reader_hears_the_result(tab):
    page = tab.open("chapters/explorer.html", wait=False)
    page.evaluate(
        """() => new MutationObserver(records => records.forEach(({ target }) => {
          window.later = [...window.later ?? [], (target.closest?.("[data-is]") ?? target).dataset?.is];
        })).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })"""
    )
    page.focus("#explorer-d")
    page.keyboard.press("Tab")  # to the slider of d
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.input_value("#explorer-d") == "4"
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type("2")
    # Four values at once, however slow the machine: only the last one is said, when all else is still.
    page.evaluate(
        """() => {
          window.later = [];
          for (const m of ["4", "3", "2", "1"]) {
            document.activeElement.value = m;
            document.activeElement.dispatchEvent(new Event("input", { bubbles: true }));
          }
        }"""
    )
    value = tokens.law(1024, 4, "0.7", "0.5").fires(1)
    assert_rounded(number_in(page, "fires-softmax-1"), value)
    page.wait_for_function("window.later.at(-1) === 'status'")
    assert page.evaluate("window.later").count("status") == 1
    shown, _ = match(
        r"The network fires with probability: softmax: (.*?) on D₁, .*; (linear.*)\.",
        page.text_content("[role=status]"),
    )
    says_chance(shown, value, 1 - value)
    page.keyboard.press("Backspace")
    page.fill("#explorer-c", "1")
    page.wait_for_function(
        """() => document.querySelector("[role=status]").textContent ===
          "No result: m = nothing: write a number such as 0.7 or 7/10. c = 1: must lie strictly between 0 and 1.\""""
    )
    assert "&m=1&" in page.url, "an address with which there is no result is no use"
    assert tab.problems == []


def test_a_key_moves_a_size_by_12_percent_and_not_beyond_the_ends_of_its_slider(undrawn):
    page = undrawn
    for start, key, moved in [
        ({"m": 1000}, "ArrowRight", 1122), ({"m": 1122}, "ArrowLeft", 1000), ({"m": 1000}, "ArrowUp", 1122),
        ({"m": 1122}, "ArrowDown", 1000), ({"m": 1000}, "PageUp", 3162),
        ({"m": 3162}, "PageDown", 1000), ({"m": 9500}, "ArrowUp", 10000), ({"m": 10000}, "PageUp", 10000),
        ({"m": 2}, "ArrowLeft", 1), ({"m": 1}, "ArrowLeft", 1), ({"d": 4}, "PageDown", 3), ({"d": 3}, "ArrowDown", 3),
        ({"n": 5000, "d": 252}, "ArrowLeft", 4500), ({"n": 3, "d": 3}, "PageDown", 2), ({"n": 2, "d": 3}, "ArrowUp", 3),
        ({"n": 256}, "ArrowLeft", 256), ({"n": 10**7, "d": 12}, "PageUp", 10**7), ({"n": 512, "c": "x"}, "PageUp", 512),
        ({"n": 9_500_160, "d": 258}, "ArrowUp", 9_999_872), ({"n": 9_999_872, "d": 258}, "ArrowUp", 9_999_872),
    ]:  # fmt: skip
        put(page, WORKED | start)
        name = next(iter(start))
        page.press(f"[data-for={name}]", key)
        assert page.input_value(f"#explorer-{name}") == str(moved), f"{start}: {key}"


def test_a_slider_writes_into_its_field(undrawn):
    page = undrawn
    put(page, WORKED)
    for name in ("a0", "a1", "c", "gap"):
        page.fill(f"[data-for={name}]", "0.3")
        assert page.input_value(f"#explorer-{name}") == "0.3"
    # A size is a power of ten; n is a multiple of d − 2, where there is one, whatever stood in its own field.
    sizes = (("258", "n", 3.5, 3072), ("258", "n", 7, 9_999_872), ("x", "n", 3.5, 3162), ("x", "d", 2.5, 316))
    for d, name, exponent, size in sizes:
        put(page, WORKED | {"n": "x", "m": "x", "d": d})
        page.fill(f"[data-for={name}]", str(exponent))
        assert page.input_value(f"#explorer-{name}") == str(size)


def test_only_keys_that_move_something_are_kept_from_the_browser(opened):
    page = opened.page
    put(page, WORKED)
    kept = page.evaluate(
        """(keys) => ["[data-for=m]", "[data-for=c]", "#explorer-m", ".handle"].map(where => keys.filter(key =>
          !document.querySelector(where).dispatchEvent(
            new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })))).map(String)""",
        ["Tab", "a", "Home", "ArrowUp", "PageDown"],
    )
    assert kept == ["ArrowUp,PageDown", "", "", "Home,ArrowUp,PageDown"]
    assert page.input_value("#explorer-gap") == "0"
    assert page.evaluate("""() => ["submit", "reset"].map(name => document.getElementById("explorer").dispatchEvent(
        new Event(name, { cancelable: true })))""") == [False, False], "the browser would empty the fields"  # fmt: skip


def test_spaces_around_a_number_do_not_belong_to_it(undrawn):
    put(undrawn, WORKED | {"n": " 2048 ", "kernel": "polynomial: 16 "})
    assert undrawn.locator("#explorer [aria-invalid]").count() == 0
    assert undrawn.text_content("[data-is=length]") == "2048"
    assert undrawn.text_content("[data-is='summary/third']").startswith("polynomial, degree = 16: ")
    put(undrawn, WORKED | {"kernel": "softmax: 1"})  # of two that are equal each has a name of its own
    assert undrawn.text_content("[data-is='summary/third']").startswith("softmax, β = 1: ")


def test_a_kernel_that_is_chosen_brings_a_parameter(undrawn):
    page = undrawn
    put(page, WORKED)
    for kernel, parameter, words in (
        ("softmax", "2", "softmax, β = 2"),
        ("polynomial", "16", "polynomial, degree = 16"),
        ("hard", "", "hard attention"),
        ("none", "", ""),
    ):
        page.select_option("#explorer-kernel", kernel)
        assert page.input_value("#explorer-parameter") == parameter
        assert page.is_visible("#explorer-parameter") == bool(parameter)
        assert page.text_content("[data-is='summary/third']").partition(":")[0] == words


@pytest.mark.parametrize("name", ["n", "d", "m"])
def test_every_key_moves_the_slider_of_a_size(opened, name):
    page = opened.page
    put(page, WORKED)
    page.focus(f"[data-for={name}]")
    page.keyboard.press("Home")
    seen = [int(page.input_value(f"#explorer-{name}"))]
    for key in ["ArrowRight", "ArrowUp"] * 2 + ["PageUp"]:
        page.keyboard.press(key)
        seen.append(int(page.input_value(f"#explorer-{name}")))
    assert seen == sorted(set(seen))
    assert seen[0] == {"n": 256, "d": 3, "m": 1}[name]
    assert name != "n" or all(n % 256 == 0 for n in seen)
    for key in ("ArrowLeft", "ArrowDown", "PageDown"):
        page.keyboard.press(key)
        assert seen[0] <= int(page.input_value(f"#explorer-{name}")) < seen[-1], f"{key} makes it smaller"
        seen[-1] = int(page.input_value(f"#explorer-{name}"))


def test_the_threshold_can_be_dragged_and_moved_by_keys(opened):
    page = opened.page
    put(page, WORKED)
    handle = page.locator(".handle").first
    assert page.locator(".handle").evaluate_all("all => all.map(e => [e.role, e.ariaLabel, e.tabIndex])") == [
        ["slider", "threshold τ", focus]
        for focus in (0, -1, -1)  # one of them is enough for the keyboard
    ]
    assert handle.locator("xpath=preceding-sibling::*").get_attribute("data-is") == "bells/softmax"
    gap = 0.1  # a hundredth for an arrow, ten for a page, and both ends
    moves = {
        "ArrowRight": 0.01,
        "ArrowUp": 0.01,
        "PageUp": 0.1,
        "ArrowLeft": -0.01,
        "ArrowDown": -0.01,
        "PageDown": -0.1,
    }
    for key, move in [*moves.items(), ("End", 1), ("Home", -1)]:
        handle.press(key)
        gap = round(min(1, max(0, gap + move)), 2)
        assert float(page.input_value("#explorer-gap")) == gap, f"{key}: the gap should be {gap} now"
    handle.blur()
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y)
    page.mouse.up()
    page.mouse.move(x + 60, y)  # it was let go
    assert page.evaluate("document.activeElement.dataset.is") == "handle/0", "the keys go on where the pointer stopped"
    gap = float(page.input_value("#explorer-gap"))
    shown = Page(page, {})
    axis = ticks(shown, "bells/softmax", lambda text: float(text.replace("−", "-")))
    assert abs(axis.slope * gap - 30) < axis.slope * 0.006
    meets(shown, WORKED | {"gap": str(gap)}, check_all)
    assert opened.problems == []


def test_the_threshold_is_not_dragged_beyond_the_end_of_its_axis(opened):
    page = opened.page
    put(page, WORKED | {"a1": "0.8", "c": "0.9"})
    handle = page.locator(".handle").first
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(page.viewport_size["width"] - 1, box["y"])
    page.mouse.up()
    assert page.input_value("#explorer-gap") == "0.99"  # 1.05 (1 + 0.8) − 0.9; keys go on to 1


LOOKS = """() => [...document.querySelectorAll("#explorer [data-live] [data-is][class]")].map((shape) => {
    const { strokeDasharray, fill } = getComputedStyle(shape);
    return [shape.tagName, [...shape.classList], strokeDasharray !== "none", fill];
})"""


def test_weak_is_dashed_or_hollow_and_what_fires_is_filled(opened):
    put(opened.page, WORKED)
    shapes = opened.page.evaluate(LOOKS)
    lines = {(kind, dashed) for tag, kinds, dashed, _ in shapes if tag != "circle" for kind in kinds}
    assert {x for x in lines if x[0] in ("weak", "strong")} == {("weak", True), ("strong", False)}, (
        "on D_0 lines are dashed, on D_1 solid; see assets/book.css"
    )
    for full, kind in (("strong", "dot"), ("fires", "box"), ("fires", "column")):
        fills = {(full in kinds, fill) for _, kinds, _, fill in shapes if kind in kinds}
        filled, hollow = ({fill for is_full, fill in fills if is_full == wanted} for wanted in (True, False))
        assert min(len(filled), len(hollow)) > 0
        assert filled.isdisjoint(hollow), f"{kind}: what is {full} looks as the others do; see assets/book.css"


def test_to_a_screen_reader_each_picture_is_one_image_with_a_sentence(opened):
    put(opened.page, WORKED)
    drawn = opened.page.locator("#explorer [data-live] .panel:not([hidden]) svg")
    assert drawn.evaluate_all("all => all.map(e => [e.getAttribute('role'), e.ariaLabel.split(/[: ]/)[0]])") == [
        *4 * [["img", "softmax"], ["img", "linear"]]
    ]


def test_a_mark_lies_over_the_crowd_and_the_veil_over_the_bells_alone(opened):
    put(opened.page, WORKED)
    shapes = opened.page.locator("[data-is='crowd/softmax'] > *, [data-is='bells/softmax'] > *")
    names = shapes.evaluate_all("all => all.map(shape => shape.dataset.is.split('/')[2])")  # the last one is on top
    for i in (0, 1):
        assert names.index(f"crowd-{i}") < names.index(f"share-{i}") < names.index(f"words-{i}")
    veil = names.index("veil")
    assert {name.partition("-")[0] for name in names[:veil]} >= {"base", "sign", "bell"}
    assert {name.partition("-")[0] for name in names[veil:]} >= {"push", "tau", "column"}
    assert not [name for name in names[veil:] if name.startswith("bell-")]


# From where to where a slider moves its field, and in what steps; a size is the decimal logarithm of its field.
SLIDERS = {"a0": (0, 1.5, "0.01"), "a1": (0, 1.5, "0.01"), "c": (0.01, 0.99, "0.01"), "gap": (0, 1, "0.01")}
SLIDERS |= {"n": (2, 10**7, "any"), "d": (3, 10**4, "any"), "m": (1, 10**4, "any")}


def test_a_slider_reaches_from_the_least_to_the_largest_number(opened):
    found = {}
    for slider in opened.page.locator("input[data-for]").all():
        name, step = slider.get_attribute("data-for"), slider.get_attribute("step")
        ends = (float(slider.get_attribute(end)) for end in ("min", "max"))
        found[name] = *(round(10**end, 3) if step == "any" else end for end in ends), step
    assert found == SLIDERS, "chapters/explorer.md has other sliders than SLIDERS here; if it is meant, change both"


def test_n_grows_until_it_is_stopped(opened):
    page = opened.page
    put(page, WORKED)
    button = page.get_by_role("button", name="let n grow")
    button.click()
    page.wait_for_function("""() => document.getElementById("explorer-n").value > 2000""")
    page.fill("#explorer-m", "10")  # another field does not stop it, but n itself and its slider do
    stop = page.get_by_role("button", name="stop", pressed=True)
    for name in ("#explorer-n", "[data-for=n]"):
        assert stop.is_visible()
        page.fill(name, "3.3")
        assert page.get_attribute("[data-is=play]", "aria-pressed") == "false", f"{name} does not stop the growth of n"
        put(page, WORKED)
        button.click()
    stop.click()
    n = int(page.input_value("#explorer-n"))
    assert n % 256 == 0
    assert button.get_attribute("aria-pressed") == "false"
    assert compare(page, WORKED | {"n": n}, check_all) == []
    # At the end it stops by itself, and then begins anew.
    put(page, WORKED | {"n": 7900000, "d": 12})
    button.click()
    page.wait_for_function(
        """() => document.getElementById("explorer-n").value === "10000000" &&
          document.querySelector("[data-is=play]").textContent === "let n grow\""""
    )
    button.click()
    page.wait_for_function("""() => document.getElementById("explorer-n").value < 1000000""")
    stop.click()
    put(page, WORKED | {"c": "x"})
    button.click()
    assert page.get_attribute("[data-is=play]", "aria-pressed") == "false"
    assert opened.problems == []


def test_the_worked_instance_is_brought_back_and_stays_while_n_grows(undrawn):
    page = undrawn
    put(page, WORKED | {"n": 2048, "m": 20})
    page.click("[data-is=play]")
    page.click("text=back to the worked instance")
    assert page.get_attribute("[data-is=play]", "aria-pressed") == "false"
    assert [page.input_value(f"#explorer-{name}") for name in ("n", "m")] == ["1024", "10"]


def test_who_wants_less_motion_gets_steps(phone):
    page = phone.page
    put(page, WORKED)
    for n in (10240, 102400, 1024000, 9999872, 256):
        page.get_by_role("button", name="n × 10").click()
        assert page.input_value("#explorer-n") == str(n)
    assert phone.problems == []


def test_another_network_is_drawn(opened):
    page = opened.page
    put(page, WORKED | {"seed": 4294967295})
    page.click("text=draw another")
    assert page.input_value("#explorer-seed") == "0"
    meets(Page(page, {}), WORKED | {"seed": 0}, check_pictures)
    for seed, wrong, then in (("x", {}, "1"), ("5", {"a1": "x"}, "6")):  # whatever stands in the other fields
        put(page, WORKED | {"seed": seed} | wrong)
        page.click("text=draw another")
        assert page.input_value("#explorer-seed") == then


def test_a_length_that_does_not_divide_is_said(opened):
    page = Page(opened.page, fields_of(WORKED | {"n": "1e3"}))
    said, length = "1e3 is no multiple of d − 2 = 256, so the one next to it is used: ", "n = 1024 = 256 classes of 4"
    assert page.read("sizes") == f"{said}{length} tokens."
    assert page.read("length") == "1024"
    meets(page, WORKED, check_pictures)
    meets(page, WORKED, check_numbers)
    for n, d, used in (("1151", 258, 1024), ("1152", 258, 1280), ("1e3", 5000, 4998), ("10^3", 252, 1000)):
        assert Page(opened.page, fields_of(WORKED | {"n": n, "d": d})).read("length") == str(used)
    assert Page(opened.page, fields_of(WORKED | {"m": "1e3"})).read("columns") == "The first 40 of its 1e3 columns:"
    said = Page(opened.page, fields_of(WORKED | {"n": "1e3", "d": 5000})).read("sizes")
    assert said == (
        "1e3 is no multiple of d − 2 = 4998, so the one next to it is used: n = 4998 = 4998 classes of 1 token."
    )


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("n", "1", "must be a whole number from 2 to 10^300"),
        ("n", "10^301", "must be a whole number from 2 to 10^300"),
        ("n", "2.5", "must be a whole number from 2 to 10^300"),
        ("d", "2", "must be a whole number from 3 to 10000"),
        ("d", "10001", "must be a whole number from 3 to 10000"),
        ("m", "0", "must be a whole number from 1 to 10^15"),
        ("m", "1000000000000001", "must be a whole number from 1 to 10^15"),
        ("a0", "-0.1", "write a number such as 0.7 or 7/10"),
        ("a0", ".", "write a number such as 0.7 or 7/10"),
        ("a0", f"1/{'3' * 59}", "write a number such as 0.7 or 7/10"),
        ("a1", "100.1", "must lie between 0 and 100"),
        ("a1", "1/0", "write a number such as 0.7 or 7/10"),
        ("c", "1", "must lie strictly between 0 and 1"),
        ("c", "0", "must lie strictly between 0 and 1"),
        ("gap", "0,1", "write a number such as 0.7 or 7/10"),
        ("gap", "", "write a number such as 0.7 or 7/10"),
        ("gap", "1e-31", "at most 30 digits after the point"),
        ("kernel", "softmax:-1", "write a number such as 0.7 or 7/10"),
        ("kernel", "softmax:101", "must lie between 0 and 100"),
        ("kernel", "polynomial:1.5", "must be a whole number from 1 to 10^6"),
        ("kernel", "polynomial:0", "must be a whole number from 1 to 10^6"),
        ("kernel", "polynomial:1000001", "must be a whole number from 1 to 10^6"),
        ("seed", "4294967296", "must be a whole number from 0 to 4294967295"),
    ],
)
def test_a_field_that_breaks_a_rule_says_why_and_the_last_result_stays(opened, name, text, rule):
    put(opened.page, WORKED)
    shown = Page(opened.page, fields_of(WORKED | {name: text}))
    wrong = "parameter" if name == "kernel" else name
    assert shown.read(f"field/{wrong}", "aria-invalid") == "true"
    assert shown.read(f"field/{wrong}", "aria-describedby") == f"{name}-problem"
    assert shown.read(f"problem/{name}") == rule
    assert shown.read("pictures", "data-stale") == "true"
    assert shown.read("stale") == (
        "What is written now has no result. The pictures and numbers stand for n = 1024, d = 258, m = 10, a0 = 0.05, "
        "a1 = 0.7, c = 0.5, gap = 0.1, kernel = none, seed = 1."
    )
    assert shown.read("sizes") == ""
    if name == "kernel":
        assert shown.read("parameter", "hidden") is None
        assert shown.read("parameter/label") == ("degree" if "polynomial" in text else "inverse temperature β")
    elif name != "seed":
        assert shown.read(f"slider/{name}", "aria-valuetext") == text
    assert shown.unread == set()  # all else stays as it was
    # A slider follows its own field, whatever stands in the others.
    other, slider = ("c", "slider/c") if name != "c" else ("a1", "slider/a1")
    shown = Page(opened.page, fields_of(WORKED | {name: text, other: "0.3"}))
    assert shown.number(slider, "value") == 0.3, f"the slider of {other} stays behind while {name} is wrong"
    assert shown.read(slider, "aria-valuetext") == "0.3"
    assert opened.problems == []


def test_it_is_said_for_what_the_last_result_stands(opened):
    put(opened.page, WORKED | {"n": 2048, "kernel": "hard", "seed": 7})
    shown = Page(opened.page, fields_of(WORKED | {"n": 4096, "c": "x"}))
    assert shown.read("stale") == (
        "What is written now has no result. The pictures and numbers stand for n = 2048, d = 258, m = 10, a0 = 0.05, "
        "a1 = 0.7, c = 0.5, gap = 0.1, kernel = hard, seed = 7."
    )


def test_the_fold_of_a_wrong_field_opens(phone):
    page = phone.page
    page.evaluate("document.querySelector('[data-is=others]').open = false")
    put(page, WORKED | {"a1": "7 apples"})  # this field stands above the fold
    assert not page.is_visible("#explorer-c")
    put(page, WORKED | {"c": "2"})
    assert page.is_visible("#c-problem")


@pytest.mark.parametrize("kernel", ["hard:2", "toString"])
def test_a_link_with_another_kernel_is_refused(tab, kernel):
    page = tab.open(f"chapters/explorer.html?n=2048&kernel={kernel}", wait=False)
    invalid = page.locator("#explorer [aria-invalid=true]")
    assert invalid.count() == 1
    assert invalid.get_attribute("aria-describedby") == "kernel-problem"
    assert page.text_content("#kernel-problem") == "is no kernel of this page"
    assert "stand for n = 1024" in page.text_content(
        "[data-is=stale]"
    )  # there is no earlier result than the worked one
    assert tab.problems == []


def test_a_link_with_a_second_parameter_of_a_kernel_is_refused(tab):
    page = tab.open("chapters/explorer.html?n=2048&kernel=polynomial:16:3", wait=False)
    invalid = page.locator("#explorer [aria-invalid=true]")
    assert invalid.count() == 1
    assert invalid.input_value() == "16:3"
    assert "stand for n = 1024" in page.text_content("[data-is=stale]")
    assert tab.problems == []


def embedding(tmp_path, element):
    scripts = "".join(
        f'<script src="{(BUILT / "_static/explorer" / name).as_uri()}.js"></script>'
        for name in ("exact", "model", "pictures")
    )
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><html lang=en><title>Page</title>{element}{scripts}</html>")
    return path.as_uri()


def test_another_page_can_have_live_pictures(browser, tmp_path):
    tab, pictures = Tab(browser), ("crowd", "bells", "network", "firing")
    elements = [f'<div data-live="{name}" data-n="100" data-d="12" data-kernel="hard"></div>' for name in pictures]
    tab.page.goto(embedding(tmp_path, "".join(elements)))
    names = tab.page.locator("svg").evaluate_all("all => all.map(e => e.ariaLabel)")
    assert [name.split()[0].strip(":") for name in names] == 4 * ["softmax", "linear", "hard"]
    text = tab.page.get_attribute("[data-is='crowd/linear/share-1']", "data-value")
    assert_rounded(text, tokens.weights(100, "0.7", "linear").p)
    assert [problem for problem in tab.problems if "asks for" not in problem] == []


def test_a_live_picture_refuses_what_it_cannot_show(browser, tmp_path):
    tab = Tab(browser)
    tab.page.goto(embedding(tmp_path, '<div data-live="crowd" data-n="1"></div>'))
    assert any("data-live: n must be a whole number from 2 to 10^300" in problem for problem in tab.problems)


def test_without_javascript_the_page_says_what_to_do(browser):
    page = Tab(browser, java_script_enabled=False).page
    page.goto((BUILT / "chapters/explorer.html").as_uri())
    assert page.is_hidden("#explorer")
    assert page.locator("noscript code").first.is_visible()
