"""What a reader sees and does, on every page.

``tools.pages`` reads the same files without a browser: alt texts, links and anchors, raw TeX.
"""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from tools.files import ROOT
from tools.pages import listed
from web.conftest import BUILT, Tab

PAGES = sorted({path.relative_to(BUILT).as_posix() for path in BUILT.rglob("*.html")} - {"index.html"})
# Of the pages with the library's source, which sphinx.ext.viewcode makes all alike, one is enough; of Coq's files too.
PAGES = [name for name in PAGES if not name.startswith(("_static/", "_modules/", "proofs/"))]
PAGES += ["_modules/attnsep/kinds.html", "proofs/Formulas.html"]
SEEN = [(1280, "light"), (400, "light"), (400, "dark")]  # in the dark what cells show has a frame of its own
# axe-core: the rule that depends on colours, where a page has a kind of text that no earlier one had, and on the widest
# screen all of its rules.  The narrow screen comes first, because the page has it already, and the wide one last,
# because the next page begins with it.
CONTRAST = {"runOnly": ["color-contrast"]}
CHECKED = {(400, "dark"): CONTRAST, (1280, "light"): {}}
UNSET = """() => [...document.querySelectorAll("span.math, div.math")]
  .filter(e => !e.querySelector("mjx-container") || e.querySelector("mjx-merror, [data-mjx-error]"))
  .map(e => e.textContent.slice(0, 80))"""
# What scrolls sideways can be reached by a key, or holds what can; the theme sees to it a third of a second after a
# change.  On the narrow screen nothing else looks at that.
REACHABLE = """() => [...document.querySelectorAll("article *")]
  .filter(e => e.scrollWidth > e.clientWidth && ["auto", "scroll"].includes(getComputedStyle(e).overflowX))
  .every(e => [e, ...e.querySelectorAll("*")].some(part => part.tabIndex >= 0 && part.checkVisibility()))"""
# axe-core looks at each element for itself.  Of what is made alike - formulas, the buttons and the equally coloured
# words of cells, entries, rows - few are enough for it.
THIN = """() => {
  for (const entry of [...document.querySelectorAll("dl.py")].slice(20)) entry.remove();
  for (const row of document.querySelectorAll("tr:nth-child(n + 20)")) row.remove();
  for (const button of [...document.querySelectorAll("button.copybtn")].slice(5)) button.remove();
  const formulas = document.querySelectorAll("span.math, mjx-container:not(span.math *)");
  for (const formula of formulas) formula.replaceWith("x");
  const words = [...document.querySelectorAll("pre span[class]:not(:has(*))")], kinds = new Set();
  const kindOf = e => e.className + getComputedStyle(e.closest("pre")).backgroundColor;
  for (const [word, kind] of words.map(e => [e, kindOf(e)])) {
    if (kinds.has(kind)) word.replaceWith(word.textContent);
    kinds.add(kind);
  }
}"""
# Contrast costs it more than all else together.  It depends on the text's colour, on whether it is large, and on what
# is painted below, down to the first colour that lets nothing through: of the texts that agree in all of this, the
# first and the last are marked, and it looks at those, unless an earlier page has shown that this kind can be read.
# What is faded, filtered or taken out of the flow agrees with its own kind alone, and so does what lies in it.
MARK = """known => {
  const below = new Map([[null, ["", ""]]]);
  const painted = e => {
    if (!below.has(e)) {
      const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode, position } = getComputedStyle(e);
      const [colours, effects] = painted(e.parentElement);
      const image = backgroundImage === "none" ? "" : backgroundImage;
      const clear = backgroundColor === "rgba(0, 0, 0, 0)" && !image;
      const opaque = backgroundColor.startsWith("rgb(") && !image;
      const own = [opacity, filter, mixBlendMode].join(" ");
      below.set(e, [
        opaque ? backgroundColor : clear ? colours : `${backgroundColor} ${image} on ${colours}`,
        (own === "1 none normal" ? "" : `${own} before ${colours} in `)
          + (position === "static" ? "" : `${e.getAttribute("class")} over `) + effects]);
    }
    return below.get(e);
  };
  const first = new Map(), last = new Map();
  for (const e of document.querySelectorAll("body *")) {
    delete e.dataset.contrast;
    const says = e.matches("input, select, textarea") || [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!says || !e.checkVisibility()) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(e);
    const large = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.7 : 24);  // 14 and 18 points
    const kind = [color, large, textShadow, ...painted(e)].join();
    if (!first.has(kind)) first.set(kind, e);
    last.set(kind, e);
  }
  const fresh = [...first.keys()].filter(kind => !known.includes(kind));
  for (const kind of fresh) for (const e of [first.get(kind), last.get(kind)]) e.dataset.contrast = "";
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-contrast]" }] });
  return fresh;
}"""
MISSING = """() => [...document.images].filter(e => e.complete && !e.naturalWidth).map(e => e.src.slice(-80))"""
# What sticks out to the right, unless a box around it scrolls; a box that hides it cuts it off.
OVERFLOW = """() => {
  const edge = document.documentElement.clientWidth + 1;
  if (document.documentElement.scrollWidth > edge) return ["the page itself"];
  const scrolls = e => e && (["auto", "scroll"].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  return [...document.querySelectorAll("article *")]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().width > 1)
    .filter(e => e.getBoundingClientRect().right > edge && !scrolls(e) && !e.closest("mjx-assistive-mml"))
    .map(e => e.outerHTML.slice(0, 120));
}"""

# What goes on beyond the edge of its box, and does not fade there (pages.js): a reader takes it for whole.
UNSEEN = """() => [...document.querySelectorAll("article *")]
  .filter(e => e.checkVisibility() && e.clientWidth && e.scrollWidth > e.clientWidth + 1)
  .filter(e => getComputedStyle(e).overflowX !== "visible" && !e.closest("mjx-assistive-mml"))
  .filter(e => !e.dataset.goesOn || getComputedStyle(e).maskImage === "none")
  .map(e => e.outerHTML.slice(0, 120))"""
# Code and formulas that do not fit on a wide page; the reference of the library has long examples.
CUT = """() => location.href.includes("api-") ? [] :
  [...document.querySelectorAll("article .cell :is(pre, .text_html)")]
  .filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.outerHTML.slice(0, 120))"""
# Punctuation that begins a line, torn from the formula before it.
TORN = """() => [...document.querySelectorAll("article span.math")].filter(formula => {
  const after = formula.nextSibling;
  if (after?.nodeType !== Node.TEXT_NODE || !/^[.,;:!?)]/.test(after.data)) return false;
  const range = document.createRange();
  range.setStart(after, 0);
  range.setEnd(after, 1);
  const [sign, box] = [range.getBoundingClientRect(), formula.getBoundingClientRect()];
  return sign.width > 0 && sign.top > box.bottom - 1;
}).map(e => e.parentElement.textContent.slice(0, 120))"""

# A bar takes room from what scrolls.
BARS = """() => [...document.querySelectorAll("article .math, article .math *")]
  .filter(e => e.clientHeight && e.offsetHeight - e.clientHeight > 5)
  .map(e => e.outerHTML.slice(0, 120))"""


# Chapters that ask a question show its answer at once, but for those that are tables of evidence, and those on trained
# models and speed, which are written anew with their measurements.
WITHOUT_PICTURE = {"the-cards-words", "ledger", "map", "gpu", "cost", "recall", "edge-learnt", "benchmarks"}
WITHOUT_PICTURE |= {"theory-and-training", "what-the-checks-prove", "for-lecturers"}
CHAPTERS = [name for name in listed() if (ROOT / f"{name}.ipynb").is_file()]
ANSWER_FIRST = [name for name in CHAPTERS if name.removeprefix("chapters/") not in WITHOUT_PICTURE]
PICTURE = """() => {
  const box = document.querySelector("article figure img").getBoundingClientRect();
  return [box.top, (innerHeight - box.top) / box.height];
}"""


@pytest.fixture(scope="module")
def tab(browser):
    return Tab(browser, viewport={"width": 1280, "height": 900})


@pytest.fixture(scope="module")
def readable():
    """Return the kinds of text whose contrast is known to be enough."""
    return set()


@pytest.mark.parametrize("address", [*PAGES, "chapters/explorer.html?c=1"])  # the last one shows an error
def test_a_page_is_whole_at_every_width_and_in_the_dark(tab, readable, address):
    page = tab.open(address)
    assert looks(page, UNSET, MISSING) == [[], []]
    if address.removesuffix(".html") in ANSWER_FIRST:
        show(page, 1280, "light")
        top, visible = page.evaluate(PICTURE)
        assert top <= 700, "what stands before the first picture is too long"
        assert visible >= 0.5, "half of the first picture lies below the first screen"
    open_all(page)
    for width, scheme in SEEN:
        show(page, width, scheme)
        # On a narrow screen code is scrolled, and a long formula is moved with a finger.
        checks = (UNSEEN, OVERFLOW, TORN, CUT, BARS) if width > 400 else (UNSEEN, OVERFLOW, TORN)
        found = looks(page, *checks)
        if found[0]:  # a size has to be reported before an edge fades
            page.wait_for_function(f"({UNSEEN})().length === 0 || performance.now() > 20000")
            found = looks(page, *checks)
        assert found == [[]] * len(checks), (width, scheme)
    page.evaluate(THIN)
    for (width, scheme), rules in CHECKED.items():
        show(page, width, scheme)
        page.wait_for_function(REACHABLE)
        assert violations(page, rules, readable) == [], (width, scheme)
    assert tab.problems == []


def test_every_page_of_the_book_is_opened_on_these_screens():
    """Written once more: who leaves out a page, a screen or a rule does it twice."""
    assert {f"{name}.html" for name in listed()} <= set(PAGES)
    assert {(1280, "light"), (400, "light"), (400, "dark")} <= set(SEEN)
    assert {"chapters/index", "chapters/main-theorem", "chapters/one-column"} <= set(ANSWER_FIRST)
    assert CHECKED[1280, "light"] == {}  # all rules
    assert CHECKED[400, "dark"] == {"runOnly": ["color-contrast"]}


def show(page, width, scheme):
    """Give the page that width and colour scheme."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_function("scheme => document.documentElement.dataset.theme === scheme", arg=scheme)


def looks(page, *checks):
    """Return what the checks find, in one visit to the page."""
    return page.evaluate(f"() => [{', '.join(f'({check})()' for check in checks)}]")


def open_all(page):
    """Open the first dropdown by a click, and the others, which are made alike, at once."""
    closed = page.locator("article details:not([open]) > summary")
    if closed.count():
        first = closed.first.element_handle()
        first.click()
        assert first.evaluate("e => e.parentElement.open")
    page.evaluate("document.querySelectorAll('article details').forEach(details => { details.open = true; })")
    page.mouse.move(0, 0)


def violations(page, rules, readable):
    """Return what axe-core calls serious or critical; kinds of text that it finds readable are added to the known."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    fresh = page.evaluate(MARK, list(readable))
    if rules == CONTRAST and not fresh:
        return []
    found = page.evaluate("options => axe.run(options)", {"resultTypes": ["violations"], "preload": False, **rules})
    if all(row["id"] != "color-contrast" for row in found["violations"]):
        readable.update(fresh)
    return [
        f"{row['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for row in found["violations"]
        if row["impact"] in ("serious", "critical")
        for node in row["nodes"]
    ]


def test_the_first_page_leads_on(tab):
    page = tab.open("index.html", wait=False)  # it is left at once, so there is nothing to wait for on it
    page.wait_for_url("**/chapters/index.html")
    assert tab.problems == []


@pytest.mark.parametrize("width", [1280, 400])
def test_the_search_finds_the_golden_ratio(tab, width):
    page = tab.open("chapters/index.html")
    page.set_viewport_size({"width": width, "height": 900})
    page.locator(".search-button, .search-button__button, .search-button-field").locator("visible=true").first.click()
    page.locator("input[type=search]").locator("visible=true").first.fill("golden ratio")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=golden+ratio*")
    found = page.locator("#search-results li a", has_text=re.compile("golden ratio", re.IGNORECASE)).first
    found.click()
    page.wait_for_url("**/chapters/golden-ratio.html*")
    assert "golden ratio" in page.inner_text("h1").lower()
    assert tab.problems == []


@pytest.mark.parametrize("name", ["pi", "Q_w", "F_exp"])  # the first is in many words
def test_the_search_finds_a_symbol_s_row_first(tab, name):
    page = tab.open(f"search.html?q={name}", wait=False)
    first = page.locator("#search-results li a").first
    first.wait_for()
    place = first.get_attribute("href")
    assert place.startswith("chapters/symbols.html#index-")
    page.goto(page.url.partition("search.html")[0] + place)
    row = page.locator("tr", has=page.locator(f"#{place.partition('#')[2]}"))
    assert name in row.inner_text()
    assert tab.problems == []


def test_a_theorem_s_link_leads_to_the_theorem(tab):
    page = tab.open("chapters/explorer.html")
    link = page.get_by_role("link", name=re.compile(r"^Lemma [\d.]+$")).first
    number, target = link.inner_text(), link.get_attribute("href")
    link.click()
    page.wait_for_url(f"**/{target}")
    statement = page.locator(f"[id='{target.partition('#')[2]}']")
    statement.wait_for()
    page.wait_for_function(
        "e => { const top = e.getBoundingClientRect().top; return top >= 0 && top < innerHeight; }",
        arg=statement.element_handle(),
    )
    assert number in statement.inner_text()
    assert tab.problems == []


def test_a_table_shows_the_rows_that_are_chosen_and_sorts_by_any_column(tab):
    page = tab.open("chapters/ledger.html")
    box = page.locator(".book-table[data-filters]").first
    rows, bar = box.locator("tbody tr"), page.locator(".table-filters").first
    all_rows = rows.count()
    assert bar.locator("output").inner_text() == f"{all_rows} of {all_rows} rows"
    for choice in bar.locator("select").all():
        options = choice.locator("option").all_text_contents()
        assert options[0] == "all"
        assert len(options) == len({*options}), "the same can be chosen twice"
    bar.locator("select").nth(2).select_option("exact")
    bar.locator("input").fill("LEMMA")
    shown = rows.locator("visible=true").all_inner_texts()
    assert 0 < len(shown) < all_rows
    assert all("exact" in row and "lemma" in row.lower() for row in shown), "the filters show other rows"
    assert bar.locator("output").inner_text() == f"{len(shown)} of {all_rows} rows"
    first = box.locator("thead th").first
    for order in ("ascending", "descending"):
        first.locator("button").click()
        assert first.get_attribute("aria-sort") == order
        words = box.locator("tbody tr td:first-child").all_text_contents()
        ranked = page.evaluate("words => words.toSorted((one, other) => one.localeCompare(other, 'en'))", words)
        assert words == (ranked if order == "ascending" else ranked[::-1]), f"rows are not in {order} order"
    spare = box.locator("thead th", has_text="to spare")
    for order in ("ascending", "descending"):
        spare.locator("button").click()
        cells = box.locator("tbody tr td:nth-child(5)").all_text_contents()
        numbers = [float(found[0]) for cell in cells if (found := re.match(r"-?\d+(\.\d+)?(e[+-]?\d+)?", cell))]
        assert len({*numbers}) > 20
        assert numbers == sorted(numbers, reverse=order == "descending"), f"numbers are not in {order} order of size"
    assert box.locator("th[aria-sort]").all_inner_texts() == ["to spare"], "sorted by another column, a reader hears"
    assert tab.problems == []


def test_the_rows_of_what_was_refuted_are_marked_and_no_others(tab):
    page = tab.open("chapters/ledger.html")
    edges = page.locator(".book-table[data-filters] tbody tr").evaluate_all(
        """rows => rows.map(({ cells }) =>
            [cells[3].textContent, parseFloat(getComputedStyle(cells[0]).borderLeftWidth)])"""
    )
    assert {verdict for verdict, _ in edges} == {"holds", "refuted"}
    wrong = [number for number, (verdict, edge) in enumerate(edges, start=1) if (verdict == "refuted") != (edge > 2)]
    assert wrong == [], "these rows have a red edge and hold, or have none and were refuted"
    assert tab.problems == []


def test_a_mark_of_the_map_shows_its_name_and_its_lines_both_ways(tab):
    page = tab.open("chapters/map.html")
    drawing = page.locator(".claims-map svg").first
    lines = drawing.locator("path[data-from]").evaluate_all("all => all.map(({ dataset: { from, to } }) => [from, to])")
    both = sorted({start for start, _ in lines} & {end for _, end in lines})[0]
    drawing.locator(f"a[data-id='{both}']").focus()
    assert drawing.locator("text.name").text_content() == both
    assert drawing.locator("path.near").count() == sum(both in line for line in lines), "lines of the mark stay grey"
    assert drawing.locator("text.name").get_attribute("aria-hidden") == "true"  # the mark's title says it already
    other = next(mark for mark in sorted({start for start, _ in lines}) if all({mark, both} != {*x} for x in lines))
    drawing.locator(f"a[data-id='{other}']").focus()
    assert drawing.locator("path.near").count() == sum(other in line for line in lines), "lines of the last mark stay"
    assert tab.problems == []


def test_every_name_of_the_map_has_room(tab):
    page = tab.open("chapters/map.html")
    for place in page.locator(".claims-map svg").all():
        cut = place.evaluate(
            """drawing => [...drawing.querySelectorAll("a[data-id]")].filter(mark => {
                mark.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
                const { left, right, top } = drawing.querySelector("text.name").getBoundingClientRect();
                const box = drawing.getBoundingClientRect();
                const circle = mark.querySelector("circle").getBoundingClientRect();
                const beside = left <= circle.right + 1 && right >= circle.left - 1 && top < circle.top;
                return left < box.left || right > box.right || top < box.top || !beside;
            }).map(mark => mark.dataset.id)"""
        )
        assert cut == [], "the names of these marks are cut off, or stand elsewhere"
    assert tab.problems == []


def test_the_first_touch_of_a_mark_shows_its_name_and_the_second_one_follows_it(browser):
    tab = Tab(browser, viewport={"width": 1280, "height": 900}, has_touch=True)
    page = tab.open("chapters/map.html")
    drawing = page.locator(".claims-map svg").first
    one, other = (drawing.locator("a[data-id]").nth(number) for number in (0, 1))
    for mark in (one, other):
        mark.locator("circle").first.tap()
        assert drawing.locator("text.name").text_content() == mark.get_attribute("data-id")
        assert page.url.endswith("/chapters/map.html")
    target = other.get_attribute("href")
    other.locator("circle").first.tap()
    page.wait_for_url(f"**/{target}")
    assert tab.problems == []


def test_a_touch_that_became_a_scroll_leaves_the_next_click_alone(tab):
    page = tab.open("chapters/map.html")
    mark = page.locator(".claims-map svg a[data-id]").first
    target = mark.get_attribute("href")
    for kind in ("pointerdown", "pointercancel"):
        mark.evaluate(
            "(e, kind) => e.dispatchEvent(new PointerEvent(kind, { bubbles: true, pointerType: 'touch' }))", kind
        )
    mark.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{target}")
    assert tab.problems == []


def test_what_goes_on_fades_on_the_side_where_it_does(tab):
    page = tab.open("chapters/ledger.html")
    page.set_viewport_size({"width": 400, "height": 900})
    box = page.locator(".book-table").filter(visible=True).first
    most = box.evaluate("e => e.scrollWidth - e.clientWidth")
    assert most > 100
    for left, sides in ((0, "right"), (most // 2, "left right"), (most, "left"), (0, "right")):
        box.evaluate("(e, left) => { e.scrollLeft = left; }", left)
        page.wait_for_function(
            "([e, sides]) => e.dataset.goesOn === sides", arg=[box.element_handle(), sides], timeout=5000
        )
        assert box.evaluate("e => getComputedStyle(e).maskImage") != "none"
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("document.querySelectorAll('.book-table').forEach(e => { e.style.width = '20000px'; })")
    page.wait_for_function("e => e.dataset.goesOn === ''", arg=box.element_handle(), timeout=5000)
    assert tab.problems == []


def test_the_copy_button_copies_the_cell(tab):
    page = tab.open("chapters/main-theorem.html")
    cell = page.locator("article div.highlight", has=page.locator("button.copybtn")).nth(2)
    cell.hover()
    cell.locator("button.copybtn").click()
    page.evaluate("""() => {
      const area = document.createElement("textarea");
      document.querySelector("article").append(area);
      area.focus();
    }""")
    page.keyboard.press("Control+v")
    copied = page.locator("article > textarea").input_value()
    assert copied.strip()
    assert copied.strip() == cell.locator("pre").inner_text().strip()
    assert tab.problems == []


@pytest.mark.parametrize(
    ("element", "check"),
    [
        ('<span class="math">\\(x\\)</span>', UNSET),
        ('<img alt="A picture" src="none.png">', MISSING),
        ('<p style="width: 3000px">wide</p>', OVERFLOW),
        ('<div style="overflow: hidden"><p style="width: 3000px">cut off</p></div>', OVERFLOW),
        ('<p><span class="math" style="display: inline-block; overflow: scroll">x</span></p>', BARS),
        ('<pre style="width: 3em; overflow: auto">a long line of code</pre>', UNSEEN),
        ('<div class="cell"><pre style="width: 3em; overflow: auto">a long line of code</pre></div>', CUT),
        ('<p style="width: 1em"><span class="math" style="display: inline-block; width: 1em">x</span>.</p>', TORN),
    ],
)
def test_a_check_finds_what_is_wrong(browser, tmp_path, element, check):
    page = bad_page(Tab(browser), tmp_path, element)
    assert page.evaluate(check)


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ("<script>nothing.at.all</script>", "script error: nothing is not defined"),
        ("<script>console.error('no')</script>", "console error: no"),
        ("<script>console.warn('no')</script>", "console warning: no"),
        ('<img alt="A picture" src="https://example.org/a.png">', "asks for https://example.org/a.png"),
        ('<img alt="A picture" src="none.png">', "failed: "),
    ],
)
def test_a_tab_hears_what_goes_wrong(browser, tmp_path, element, problem):
    tab = Tab(browser)
    bad_page(tab, tmp_path, element)
    assert [found for found in tab.problems if found.startswith(problem)]


def test_axe_and_the_keyboard_find_what_is_wrong(browser, tmp_path):
    cell = '<pre style="overflow: auto; width: 3em" tabindex="-1">a long line of code</pre>'
    texts = "<p>black on white</p>" * 3
    faint = '<p style="color: #ccc">faint</p><div style="background: #222"><p>black on black</p></div>'
    large = '<p style="color: #888; font-size: 40px">large</p>'
    grey = f'{large}<p style="color: #888">small</p>{large}'
    layers = '<div style="background: #222"><div style="background: #fff"><p>black on white again</p></div></div>'
    faded = '<div style="opacity: 0.4; background: #fff"><p>faded on white</p></div>'
    on_black = f'<div style="background: #000">{faded}</div>'
    parts = (cell, texts, faint, grey, layers, faded, on_black, faded, texts)
    page = bad_page(Tab(browser), tmp_path, f'<div style="background: #fff">{"".join(parts)}</div>')
    assert not page.evaluate(REACHABLE)
    both = {"runOnly": ["color-contrast", "scrollable-region-focusable"]}
    found = violations(page, both, known := set())
    assert known == set(), "one kind of text here cannot be read, and nobody knows which"
    wrong = ["faint", "black on black", "small"] + 3 * ["faded on white"]
    expected = [("color-contrast", text) for text in wrong]
    expected.append(("scrollable-region-focusable", "a long line of code"))
    for problem, (rule, text) in zip(found, expected, strict=True):
        assert problem.startswith(f"{rule}: ")
        assert f">{text}</" in problem
    page = bad_page(Tab(browser), tmp_path, "<p>black on white</p>")
    assert violations(page, CONTRAST, known) == []
    assert len(known) == 1
    page = bad_page(Tab(browser), tmp_path, f"<p>black on white</p>{grey}")
    assert len(violations(page, CONTRAST, known)) == 1, "a kind that no page has shown to be readable"


@pytest.mark.parametrize(
    ("box", "reachable"),
    [
        ("<pre {}>x</pre>", False),
        ('<pre tabindex="0" {}>x</pre>', True),
        ('<div tabindex="-1" {}>x</div>', False),
        ('<div {}><a href="#">x</a></div>', True),
        ('<div {}>x<a href="#" style="display: none">hidden</a></div>', False),
        ('<div {}>x</div><a href="#">beside</a>', False),
    ],
)
def test_what_scrolls_is_reached_by_a_key_or_holds_what_is(browser, tmp_path, box, reachable):
    wide = box.replace("x<", '<span style="display: inline-block; width: 9em">x</span><')
    page = bad_page(Tab(browser), tmp_path, wide.format('style="overflow: auto; width: 3em"'))
    assert page.evaluate(REACHABLE) == reachable


def bad_page(tab, folder, element):
    path = folder / "bad.html"
    path.write_text(f"<!doctype html><html lang=en><title>Bad</title><article>{element}</article></html>")
    return tab.open(str(path))
