"""A studio as a program of its own, and what a person sees and does on its page."""

import contextlib
import re
import signal
import subprocess
import sys

import numpy as np
from playwright.sync_api import expect

#: Milliseconds for anything that the page must do.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)

CURVE = """name => {
    for (const {chart} of Object.values(window.__viserTestpoints?.uplots ?? {})) {
        const k = chart.series.findIndex(s => s.label === name);
        if (k > 0) return [Array.from(chart.data[0]), Array.from(chart.data[k])];
    }
    return null;
}"""

POSE = """([name, below]) => {
    const nodes = window.__viserMutable.nodeRefFromName;
    const form = new RegExp("^/noslip\\\\d+/" + below + "[^/]+$");
    const path = Object.keys(nodes).find(n => nodes[n] && form.test(n) && n.endsWith("/" + name));
    if (!path) return null;
    return nodes[path].matrix.elements;
}"""

#: Where the middle of a node is on the screen, from the left and from the top.
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


class Server:
    """`noslip studio` in a process of its own."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "noslip.cli", "studio", *arguments, "--no-browser"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/\S+", line)
        assert found, line + self.process.stderr.read()
        self.address, self.port = found.group(0), int(found.group(1))

    def interrupt(self):
        """Ctrl-C; returns exit code and what it wrote on its way out."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@contextlib.contextmanager
def server(*arguments):
    running = Server(*arguments)
    try:
        yield running
    finally:
        running.end()


class Studio:
    """The page, as a person uses it."""

    def __init__(self, page, address, *, is_paused=True):
        self.page, self.address = page, address
        page.set_default_timeout(PATIENCE)
        page.goto(address)
        self.wait_for_text("computed in")
        if is_paused:  # nothing to draw, so that other things go faster
            page.keyboard.press("p")
            page.get_by_role("button", name="Play", exact=True).wait_for()
        warning = page.locator("#webgl-software-rendering button")
        if warning.count():
            warning.click()

    def curve(self, name):
        """Times and values of a curve that is drawn, with the points of the cursor."""
        found = self.page.evaluate(CURVE, name)
        return None if found is None else (np.array(found[0]), np.array(found[1]))

    def wait_for_curve(self, name, run):
        """Until a curve has the samples of a run; they are compared to the last bit."""
        drawn = None
        for _ in range(PATIENCE // 200):
            drawn = self.curve(name)
            if drawn is not None and self._is(drawn, run.t, run[name]):
                return
            self.page.wait_for_timeout(200)
        raise AssertionError(f"{name} is drawn as {drawn}, expected {run[name]}")

    @staticmethod
    def _is(drawn, t, values):
        at = np.isin(drawn[0], t)
        kept, first = np.unique(drawn[0][at], return_index=True)
        return np.array_equal(kept, t) and np.array_equal(drawn[1][at][first], values)

    def wait_until(self, holds):
        """Until something holds."""
        for _ in range(PATIENCE // 100):
            if holds():
                return
            self.page.wait_for_timeout(100)
        raise AssertionError("it did not come to hold")

    def pose(self, body, below=""):
        """Axes of a body as columns, then where its frame is in the scene, (3, 4)."""
        for _ in range(PATIENCE // 100):
            found = self.page.evaluate(POSE, [body, below])
            if found is not None:
                return np.array(found).reshape(4, 4).T[:3]
            self.page.wait_for_timeout(100)
        raise AssertionError(f"there is no body '{body}' in the scene")

    def place(self, body):
        """Where a body's frame is in the scene."""
        return self.pose(body)[:, 3]

    def screen(self, name):
        """Where a node is on the screen, pixels; None where there is none."""
        return self.page.evaluate(SCREEN, name)

    def rest(self, name):
        """Where a node is on the screen once it, and the camera, have come to rest."""
        seen = []

        def stands():
            seen.append(self.screen(name))
            return len(seen) > 3 and seen[-1] is not None and seen[-4:] == [seen[-1]] * 4

        self.wait_until(stands)
        return seen[-1]

    def drag(self, name, right, down):
        """Take a node of the scene by the pointer and let it go elsewhere."""
        x, y = self.screen(name)
        mouse = self.page.mouse
        mouse.move(x, y)
        mouse.down()
        for share in (0.2, 0.4, 0.6, 0.8, 1.0):
            mouse.move(x + share * right, y + share * down)
        mouse.up()

    def ghost(self, body):
        """Where a body of the kept run is in the scene."""
        return self.pose(body, "kept/")[:, 3]

    def box(self, label):
        """The field beside a label in which a number or text is typed."""
        found = self.page.locator("label").filter(has_text=re.compile(f"^{re.escape(label)}$"))
        return found.last.locator("xpath=ancestor::*[.//input][1]//input").last

    def thumb(self, label):
        """Middle of the thumb of a slider."""
        found = self.page.locator("label").filter(has_text=re.compile(f"^{re.escape(label)}$"))
        row = found.last.locator("xpath=ancestor::*[.//*[@role='slider']][1]")
        where = row.get_by_role("slider").bounding_box()
        return where["x"] + where["width"] / 2, where["y"] + where["height"] / 2

    def type(self, label, text):
        field = self.box(label)
        field.fill(str(text))
        field.press("Enter")

    def pick(self, label, option):
        self.page.get_by_label(label, exact=True).first.click()
        self.page.get_by_role("option", name=option, exact=True).click()

    def show_model(self, name):
        """A model as it is at first, paused, with its curves."""
        self.tab("Plots")
        self.box("find").fill("")
        if self.page.get_by_label("model", exact=True).first.input_value() == name:
            buttons = self.page.get_by_role("button", name="Reset").all()
            for button in buttons:
                there = [other.element_handle() for other in buttons]
                button.click()
                # all groups are made anew, one after the other
                for old in there:
                    old.wait_for_element_state("hidden", timeout=PATIENCE)
                for other in buttons:
                    other.wait_for()
        else:
            self.pick("model", name)
        play = self.page.get_by_role("button", name=re.compile("^(Play|Pause)$"))
        if play.inner_text() == "Pause":
            play.click()

    def tab(self, name):
        self.page.get_by_text(name, exact=True).first.click()

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def wait_for_text(self, text):
        self.page.get_by_text(text).first.wait_for(timeout=PATIENCE)

    def picture(self):
        """The middle of the page as an array of colors."""
        from io import BytesIO

        from PIL import Image

        clip = {"x": 360, "y": 160, "width": 420, "height": 420}
        image = Image.open(BytesIO(self.page.screenshot(clip=clip)))
        return np.asarray(image.convert("RGB"))
