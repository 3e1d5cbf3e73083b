"""The system's Chromium, which tries the pages and prints them."""

import shutil

NAMES = (
    "chromium",
    "google-chrome",
    "chromium-browser",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def chromium():
    """Return its path, or None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)
