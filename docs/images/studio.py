"""Draws studio.png: the guided vehicle in the studio, with the ghost of the run before;
studio_riding.png: the bicycle in a turn; and studio_path.png: a path that was dragged on the floor.

Needs Chromium and Playwright, as the tests in a browser do. Run it from the top of the checkout.
"""

from __future__ import annotations

import io
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1500, "height": 860}
#: Where a node of the scene is on the screen, pixels.
SCREEN = """name => {
    const {nodeRefFromName: nodes, camera, canvas} = window.__viserMutable;
    const path = Object.keys(nodes).find(n => nodes[n] && n.endsWith(name));
    if (!path) return null;
    nodes[path].updateWorldMatrix(true, false);
    camera.updateMatrixWorld();
    const at = nodes[path].getWorldPosition(nodes[path].position.clone()).project(camera);
    const {left, top, width, height} = canvas.getBoundingClientRect();
    return [left + (at.x + 1) / 2 * width, top + (1 - at.y) / 2 * height];
}"""


def main() -> None:
    draw("agv", circle, HERE / "studio.png")
    draw("whipple-bicycle", ride, HERE / "studio_riding.png")
    draw("agv", path, HERE / "studio_path.png")


def draw(model: str, arrange: Callable[[Page], None], target: Path) -> None:
    """A picture of the page of a model, after something was done there."""
    command = [sys.executable, "-m", "noslip.cli", "studio", model, "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found is not None
        with sync_playwright() as playwright:
            chromium = shutil.which("chromium") or shutil.which("chromium-browser")
            browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
            page = browser.new_page(viewport=SIZE)
            page.goto(found.group(0))
            page.get_by_text("computed in").wait_for(timeout=120_000)
            page.locator(".mantine-Notification-closeButton").click()
            arrange(page)
            # nothing below the pointer, which would be lit or explain itself
            page.mouse.move(SIZE["width"] / 2, 60)
            page.wait_for_timeout(700)
            picture = Image.open(io.BytesIO(page.screenshot()))
            browser.close()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
    small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(target, optimize=True)


def ride(page: Page) -> None:
    """Turn to the left, and then to the right."""
    page.get_by_label("task", exact=True).first.click()
    page.get_by_role("option", name="Drive it yourself", exact=True).click()
    page.get_by_text("keep balance").wait_for(timeout=60_000)
    page.wait_for_timeout(3000)
    set_number(page, "turning [rad/s]", "0.5")
    page.wait_for_timeout(4000)
    set_number(page, "turning [rad/s]", "-0.5")
    page.wait_for_timeout(5000)


def circle(page: Page) -> None:
    """Make the circle larger after a while, and stop at a good moment."""
    page.wait_for_timeout(3000)
    set_number(page, "R [m]", "1.3")
    page.get_by_text("before").first.wait_for(timeout=60_000)
    page.get_by_role("button", name="Pause").click()
    set_number(page, "t [s]", "37")
    page.get_by_text("View", exact=True).first.click()
    page.get_by_role("button", name="Fit the view").click()
    page.wait_for_timeout(5000)


def path(page: Page) -> None:
    """Keep the run on the first path, drag its second point, and stop half-way."""
    for label, option in (("task", "Follow a path"), ("path", "drawn")):
        page.get_by_label(label, exact=True).first.click()
        page.get_by_role("option", name=option, exact=True).click()
    page.get_by_text("Drag the orange points").wait_for(timeout=60_000)
    page.wait_for_timeout(5000)
    page.get_by_role("button", name="Keep this run").click()
    page.get_by_role("button", name="Pause").click()
    set_number(page, "t [s]", "7")
    page.wait_for_timeout(3000)
    x, y = page.evaluate(SCREEN, "/2")
    page.mouse.move(x, y)
    page.mouse.down()
    for share in (0.25, 0.5, 0.75, 1.0):
        page.mouse.move(x + 10 * share, y - 60 * share)
    page.mouse.up()
    page.wait_for_timeout(6000)
    page.get_by_text("Plots", exact=True).first.click()
    page.wait_for_timeout(3000)


def set_number(page: Page, label: str, text: str) -> None:
    found = page.locator("label").filter(has_text=re.compile(f"^{re.escape(label)}$"))
    field = found.last.locator("xpath=ancestor::*[.//input][1]//input").last
    field.fill(text)
    field.press("Enter")


if __name__ == "__main__":
    main()
