"""A real browser: Chromium without a window, WebGL in software, no request beyond this machine."""

from __future__ import annotations

import shutil

import pytest
from watch import Watch

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
FLAGS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def pytest_collection_modifyitems(items):
    if CHROMIUM is None:
        reason = "needs Chromium (Debian: apt install chromium); make test installs it when it may"
        for item in items:
            if "browser" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def new_page(chromium):
    """A function that opens a page of its own; at the end each page must have behaved."""
    opened = []

    def open_page(**options):
        context = chromium.new_context(**options)
        page = context.new_page()
        opened.append((context, Watch(page)))
        return page

    yield open_page
    watches = [watch for _, watch in opened]
    for context, _ in opened:
        context.close()
    for watch in watches:
        watch.check()


@pytest.fixture
def page(new_page):
    return new_page(viewport={"width": 1200, "height": 800})
