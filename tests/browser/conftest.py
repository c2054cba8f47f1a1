"""A real browser: Chromium without a window, WebGL in software, no request beyond this machine."""

import shutil

import pytest
from reference_pictures import References
from watch import Watch

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
#: A page draws ten pictures a second: WebGL in software would fill the processor with all it can.
FEWER_PICTURES = """(() => {
    const ask = requestAnimationFrame.bind(window), drop = cancelAnimationFrame.bind(window);
    const asked = new Map();
    window.requestAnimationFrame = draw => {
        const id = setTimeout(() => asked.set(id, ask(t => { asked.delete(id); draw(t); })), 100);
        return id;
    };
    window.cancelAnimationFrame = id => {
        clearTimeout(id);
        if (asked.has(id)) drop(asked.get(id));
        asked.delete(id);
    };
})()"""
#: WebGL that draws nothing: of loading a page of the studio, drawing is two thirds.
NO_PICTURES = """(() => {
    for (const name of Object.getOwnPropertyNames(WebGL2RenderingContext.prototype))
        if (/^(draw(?!ingBuffer)|clear$)/.test(name))
            WebGL2RenderingContext.prototype[name] = () => {};
})()"""
#: WebGL in software; the page around it is put together without, which takes a fraction of it.
FLAGS = (
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-gpu-compositing",
)


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


@pytest.fixture(scope="session")
def new_context(chromium):
    """A function that opens a browser session of its own, whose pages draw few pictures.

    Where the scene is not looked at, `pictures=False` leaves it blank; its nodes, their poses and
    the camera are there all the same.
    """

    def open_context(*, pictures=True, **options):
        context = chromium.new_context(**options)
        context.add_init_script(FEWER_PICTURES)
        if not pictures:
            context.add_init_script(NO_PICTURES)
        return context

    return open_context


@pytest.fixture
def new_page(new_context):
    """A function that opens a page of its own; at the end each page must have behaved."""
    opened = []

    def open_page(**options):
        context = new_context(**options)
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


@pytest.fixture(scope="session")
def references(pytestconfig):
    """Kept pictures of pages; what differs is left in ``build/screenshots``."""
    accept = pytestconfig.getoption("--accept-screenshots")
    return References(pytestconfig.rootpath / "build" / "screenshots", accept=accept)
