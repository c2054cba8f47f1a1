"""The animation in a real browser, from a file and without a network."""

import contextlib
import io

import numpy as np
import pytest
from PIL import Image
from watch import Watch

import noslip as ns
from noslip.scene import camera, frames, scene
from noslip.scene.overlays import CameraView
from noslip.scene.stage import ASPECT

SIZE = {"width": 360, "height": 260}
#: A software renderer on a busy machine draws a picture a second.
PATIENCE = 90_000
#: How often a page is asked: not with each picture, since those are few.
OFTEN = {"polling": 100}

NODE = "name => (window.__viserMutable.current ?? window.__viserMutable).nodeRefFromName[name]"
POSE = f"name => {{ const n = ({NODE})(name); return [...n.position.toArray(), n.quaternion.w,"
POSE += " n.quaternion.x, n.quaternion.y, n.quaternion.z]; }"
NEAR = f"""([name, pose]) => {{
  const node = ({NODE})(name);
  return node && ({POSE})(name).every((x, k) => Math.abs(x - pose[k]) < 1e-6);
}}"""


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """A ball of a color of its own that rolls along: its file, its scene and its frames."""
    b = ns.ModelBuilder(name="ball", gravity=(0.0, 0.0, -9.81))
    b.body(
        "ball",
        mass=1.0,
        inertia=(0.1, 0.1, 0.1),
        shapes=(ns.shapes.Sphere(radius=0.5, color="#ff00ff"),),
    )
    b.joint("ball", ns.joints.Free(), parent="world", child="ball")
    b.contact(ns.contacts.Rolling(name="ground", body="ball", wheel=ns.surfaces.Ball(radius=0.5)))
    system = ns.compile(ns.derive(b.build()))
    start = {"ball.z": 0.5, "ball.wy": 2.0, "ball.wx": 0.5}
    run = ns.simulate(system, duration=4.0, start=start)
    path = tmp_path_factory.mktemp("animation") / "ball.html"
    ns.animate(run, path, system=system, rate=10.0, velocities=True)
    return path, scene(run.model), frames(system, run, rate=10.0)


@pytest.fixture(scope="module")
def loaded(film, new_context):
    """The page, with its network cut and the motion loaded, and what watches it."""
    context = new_context(viewport=SIZE, offline=True)
    page = context.new_page()
    watch = Watch(page)
    page.set_default_timeout(PATIENCE)
    page.goto(film[0].as_uri())
    page.wait_for_function(f"() => window.__viserMutable && ({NODE})('/noslip/ball')", **OFTEN)
    # the viewer warns that there is no graphics card here, over the picture
    page.locator("button.mantine-Notification-closeButton").evaluate("button => button.click()")
    page.wait_for_selector(".mantine-Notification-root", state="detached")
    yield page, watch
    context.close()


@pytest.fixture
def player(loaded):
    """The page, which plays; it must have behaved."""
    page, watch = loaded
    yield page
    watch.check()


def clock(page):
    return float(page.locator("[role=slider]").get_attribute("aria-valuenow"))


@contextlib.contextmanager
def paused(page):
    """Context in which the motion stands still."""
    button = page.locator("button.mantine-ActionIcon-root").first
    button.evaluate("button => button.click()")
    try:
        yield
    finally:
        button.evaluate("button => button.click()")


def seek(page, film, index):
    """Go to a frame with the time's own field, and wait until the body is where it should be."""
    _, _, motion = film
    field = page.locator("input[inputmode=decimal]")
    field.fill(f"{motion.times[index] + 0.01:.2f}", force=True)
    field.press("Enter")
    pose = [*motion.positions[index, 0].tolist(), *motion.quaternions[index, 0].tolist()]
    page.wait_for_function(NEAR, arg=["/noslip/ball", pose], **OFTEN)


def pieces(page, index):
    """How many pieces of the ball's path are shown, once they are those of a frame."""
    count = """() => { const nodes = (window.__viserMutable.current ?? window.__viserMutable)
      .nodeRefFromName; return Object.keys(nodes).filter(n => /traces.*contact\\/piece\\d+$/.test(n)
        && nodes[n].visible).length }"""
    page.wait_for_function(
        f"([least, most]) => {{ const n = ({count})(); return least <= n && n <= most }}",
        arg=[index - 1, index + 1],
        **OFTEN,
    )
    return page.evaluate(count)


def screenshot(page):
    """The picture of the scene as numbers, once it has faded in."""
    canvas = page.locator("canvas[data-engine]")
    page.wait_for_function(
        "() => getComputedStyle(document.querySelector('canvas[data-engine]')).opacity > 0.99",
        **OFTEN,
    )
    # two more pictures, so that what was moved is also drawn
    page.evaluate("() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")
    box = canvas.bounding_box()
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), dtype=int)
    return shot[: int(box["height"]), : int(box["width"])]


def magenta(picture):
    """Where the ball is seen, whatever light falls on it."""
    r, g, b = np.moveaxis(picture, -1, 0)
    return (r > 60) & (b > 60) & (g < 0.5 * np.minimum(r, b))


def test_it_plays(player):
    """Time passes and the body moves without anybody's doing."""
    before, pose = clock(player), player.evaluate(POSE, "/noslip/ball")
    player.wait_for_function(
        f"([pose]) => Math.abs(({POSE})('/noslip/ball')[0] - pose[0]) > 0.2", arg=[pose], **OFTEN
    )
    assert clock(player) != before


def test_poses_are_those_of_the_frames_and_pictures_show_them(player, film):
    """Forward and back again; in the picture the ball is where our own camera sees it.

    Pieces of its path that lie ahead are hidden, and hidden again after going back.
    """
    with paused(player):
        pictures, shown = look_at(player, film)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        assert np.mean(np.abs(pictures[a] - pictures[b]).max(axis=2) > 60) > 0.005
    assert shown[0] < shown[2] < shown[1]
    assert len(np.unique(pictures[0].reshape(-1, 3), axis=0)) > 50


def look_at(player, film):
    """Pictures of some frames, in which the ball is where it should be, and pieces shown."""
    _, look, motion = film
    pictures, shown = [], []
    for index in (5, 35, 20):
        seek(player, film, index)
        shown.append(pieces(player, index))
        picture = screenshot(player)
        pictures.append(picture)
        height, width = picture.shape[:2]
        seen = magenta(picture)
        # a ball of 1 m across: neither nothing nor everything
        assert 0.001 < seen.mean() < 0.3
        rows, columns = np.nonzero(seen)
        lens = CameraView(camera=camera(look, motion, aspect=ASPECT), width=width, height=height)
        expected = lens.pixels(lens.seen(motion.positions[index, 0]))
        middle = [(columns.min() + columns.max()) / 2, (rows.min() + rows.max()) / 2]
        assert np.abs(np.array(middle) - expected).max() < 0.02 * width
    return pictures, shown


def test_it_looks_as_it_did(player, film, references):
    with paused(player):
        seek(player, film, 30)
        pieces(player, 30)
        for width, height in ((390, 300), (1024, 640)):
            player.set_viewport_size({"width": width, "height": height})
            screenshot(player)
            references.check(player, f"animation-{width}")
    player.set_viewport_size(SIZE)
