"""A real browser for the tests of the report: Debian's Chromium, driven by Playwright."""

import os
import shutil
import time
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="session")
def browser():
    if CHROMIUM is None:
        # where everything is checked, a missing browser must not pass for a page that works
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def wait_until():
    """Wait for JavaScript to be true; Playwright's own way of waiting needs eval, which the page forbids."""

    def wait(page, expression, seconds=10):
        end = time.monotonic() + seconds
        while not page.evaluate(expression):
            assert time.monotonic() < end, f"{expression} did not become true"
            page.wait_for_timeout(20)

    return wait


class Visit:
    """A page in a window of its own, with all that went wrong and all that was asked for."""

    def __init__(self, context, path):
        self.page = context.new_page()
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.path = path
        self.page.goto(path.as_uri())

    def ready(self):
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page


@pytest.fixture
def visit(browser):
    """Open a report: visit(path, width=..., dark=..., scripts=...)."""
    contexts = []

    def open_page(path, *, width=1200, height=900, dark=False, scripts=True):
        contexts.append(
            browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                java_script_enabled=scripts,
            )
        )
        return Visit(contexts[-1], Path(path))

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def shoot(tmp_path):
    """Save a picture of a page, where LATENTSIMPLEX_SCREENSHOTS says if it does, and return its path."""
    folder = Path(os.environ.get("LATENTSIMPLEX_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)

    def save(page, name, whole=True):
        if whole:  # what sticks to the top of the window would be in the middle of the picture
            page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=folder / f"{name}.png", full_page=whole)
        return folder / f"{name}.png"

    return save
