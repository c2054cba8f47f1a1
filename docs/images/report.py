"""Draws report.png: two places of the report that `make run` leaves, side by side.

Needs Chromium and Playwright, as the tests in a browser do: python docs/images/report.py.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

TARGET = Path(__file__).with_suffix(".png")
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 820, "height": 1170}
#: Pixels between the two places.
GAP = 20


def main() -> None:
    """Run the vehicle, open the page it leaves, and put both places together."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = Path(folder) / "agv"
        command = [sys.executable, "-m", "noslip.cli", "run", "agv", "--friction", "0.6"]
        subprocess.run([*command, "-o", str(run)], check=True, capture_output=True)
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport=SIZE)
        page.set_default_timeout(120_000)
        page.goto((run / "report.html").as_uri())
        shots = places(page)
        browser.close()
    width, height = SIZE["width"], SIZE["height"]
    both = Image.new("RGB", (2 * width + GAP, height), (222, 226, 232))
    for k, shot in enumerate(shots):
        both.paste(shot, (k * (width + GAP), 0))
    both.quantize(128, dither=Image.Dither.NONE).save(TARGET, optimize=True)


def places(page: Page) -> list[Image.Image]:
    """The top, while the motion plays, and the plots."""
    motion = page.frame_locator("iframe").first
    motion.locator("canvas").first.wait_for()
    # what the browser says about drawing without a graphics card
    remark = motion.locator(".mantine-Notification-closeButton")
    if remark.count() and remark.first.is_visible():
        remark.first.click()
    page.wait_for_timeout(20_000)  # it appears slowly
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(500)
    top = shot(page)
    page.get_by_role("heading", name="Plots", exact=True).evaluate("h => h.scrollIntoView()")
    page.wait_for_timeout(1000)
    return [top, shot(page)]


def shot(page: Page) -> Image.Image:
    """What is in view."""
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


if __name__ == "__main__":
    main()
