"""Tests of the built pages in the system's Chromium, without a network and without a window."""

import pytest
from playwright.sync_api import sync_playwright

from tools.browser import chromium
from tools.files import ROOT
from tools.steps import NOT_RUN

BUILT = ROOT / "_build/html"
pytest.register_assert_rewrite("web.explorer")
# Colours that fade from one to the other would be looked at halfway.  A rule for ::before and ::after would give both
# to each of the ten thousand elements of a page.
STILL = """addEventListener("DOMContentLoaded", () => {
  const style = document.createElement("style");
  style.textContent = "* { transition: none !important; animation: none !important }";
  document.head.append(style);
})"""


def pytest_sessionstart(session):
    if chromium() is None:
        pytest.exit("No Chromium here (on Debian: apt install chromium): no page was opened", returncode=NOT_RUN)
    if not (BUILT / "index.html").is_file():
        pytest.exit("No built pages: run `make book` first", returncode=1)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        # Playwright hides scroll bars unless told not to; most readers' systems draw them.
        browser = playwright.chromium.launch(executable_path=chromium(), ignore_default_args=["--hide-scrollbars"])
        yield browser
        browser.close()


class Tab:
    """A tab that keeps what went wrong in it: errors of scripts, and requests that leave the folder of the book."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(offline=True, **options)
        self.context.add_init_script(STILL)
        self.page = self.context.new_page()
        self.problems = []
        self.page.on("pageerror", lambda error: self.problems.append(f"script error: {error}"))
        self.page.on("console", self._heard)
        self.page.on("request", self._asked)
        self.page.on("requestfailed", self._failed)

    def _failed(self, request):
        if request.failure != "net::ERR_ABORTED":  # what a page had still asked for when it was left
            self.problems.append(f"failed: {request.url}")

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text}")

    def _asked(self, request):
        if not request.url.startswith((BUILT.as_uri(), "data:", "blob:")):
            self.problems.append(f"asks for {request.url}")

    def open(self, address, *, wait=True):
        """Open a built page, and unless told otherwise wait until all is loaded and the mathematics is set."""
        self.problems.clear()
        path, mark, query = address.partition("?")
        self.page.mouse.move(0, 0)
        self.page.goto((BUILT / path).as_uri() + mark + query, wait_until="load" if wait else "domcontentloaded")
        if not wait:
            return self.page
        self.page.wait_for_function(
            "!window.MathJax || (MathJax.startup?.promise && document.readyState === 'complete')"
        )
        self.page.evaluate("window.MathJax && MathJax.startup.promise.then(() => null)")
        return self.page
