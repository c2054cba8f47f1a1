"""The studio in a real browser, against the real server in a process of its own."""

import dataclasses
import http.server
import os
import re
import socket
import threading
from functools import cache
from urllib.parse import urlsplit

import msgspec
import numpy as np
import pytest
import xarray
from playwright.sync_api import expect
from studio_page import PATIENCE, Server, Studio, server
from watch import Watch

import noslip as ns
from noslip.control.controlled_runs import run_scenario
from noslip.scene import scene
from noslip.studio import read_link
from noslip.studio.choice import Mechanism, PageLink, changed_choice, first_points, write_link
from noslip.studio.session import Cancel, perform


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("studio") / "blade.toml"
    ns.save_model(ns.load("knife-edge"), path)
    return path


@pytest.fixture(scope="module")
def address(file):
    with server(str(file)) as running:
        yield running.address


@pytest.fixture(scope="module")
def shared():
    """The page that the tests below share, with its watch: loading one takes three seconds."""
    pages = []
    yield pages
    for studio, _ in pages:
        studio.page.context.close()


@pytest.fixture
def studio(request, shared, new_context, address, file):
    """A studio as it is at its start, but paused, its scene blank; its page must have behaved.

    A page on which a test failed is closed: the next test opens another.
    """
    if not shared:
        page = new_context(pictures=False, viewport={"width": 1000, "height": 620}).new_page()
        watch = Watch(page)
        shared.append((Studio(page, address), watch))
    failed, has_behaved = request.session.testsfailed, False
    studio, watch = shared[0]
    try:
        studio.show_model(file.name)
        studio.wait_for_curve("skate.x", blade())
        yield studio
        watch.check()
        has_behaved = request.session.testsfailed == failed
    finally:
        if not has_behaved:
            shared.clear()
            studio.page.context.close()


def blank_page(new_page):
    """A page whose scene is not looked at."""
    return new_page(pictures=False, viewport={"width": 1000, "height": 620})


def save(path, text):
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


@cache
def knife_edge():
    return ns.compile(ns.derive(ns.load("knife-edge")))


def blade(**changes):
    """The run by the functions alone."""
    model = knife_edge().model
    start = {n: changes.pop(n) for n in list(changes) if "." in n}
    return ns.simulate(
        knife_edge(),
        duration=model.scenario.duration,
        start={**model.scenario.start, **start},
        parameters=changes,
        samples=model.scenario.samples,
    )


def test_its_picture_moves_and_looks_as_it_did(new_page, address, references):
    """Scene, playback and plots; of the controls, which grow, only what a phone shows first."""
    page = new_page(viewport={"width": 1024, "height": 640})
    studio = Studio(page, address, is_paused=False)
    studio.wait_until(lambda: studio.place("skate")[0] > 0.1)
    first = studio.picture()
    studio.press("Pause")
    page.get_by_role("button", name="Play", exact=True).wait_for(timeout=PATIENCE)
    studio.type("t [s]", 4)
    studio.wait_until(lambda: studio.place("skate")[:2] == pytest.approx(path_at(200), abs=1e-4))
    studio.rest("/skate")
    second = studio.picture()
    for picture in (first, second):
        assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 50, "the picture is blank"
    assert np.mean(np.any(first != second, axis=-1)) > 0.002
    for size, options in (
        ({"width": 1024, "height": 640}, {"left": 290}),
        ({"width": 390, "height": 740}, {"height": 560}),
    ):
        page.set_viewport_size(size)
        page.wait_for_timeout(1500)
        references.check(page, f"studio-{size['width']}", masked=("text=computed in",), **options)


def path_at(sample):
    """Where the blade is at a sample."""
    run = blade()
    return run["skate.x"][sample], run["skate.y"][sample]


def test_play_moves_the_body_and_scrubbing_shows_a_moment(studio):
    page = studio.page
    studio.press("Play")
    run = blade()
    path = np.column_stack([run["skate.x"], run["skate.y"]])
    studio.wait_for_curve("skate.x", run)
    places = []
    for _ in range(200):
        place = studio.place("skate")
        if not places or np.linalg.norm(place - places[-1]) > 1e-3:
            places.append(place)
        if len(places) > 3:
            break
        page.wait_for_timeout(50)
    assert len(places) > 3, "the body does not move"
    for place in places:
        # on the path that was simulated
        assert np.min(np.linalg.norm(path - place[:2], axis=1)) < 0.02
    studio.press("Pause")
    # times that were on their way when it was pressed are shown by then
    page.get_by_role("button", name="Play", exact=True).wait_for(timeout=PATIENCE)
    studio.type("t [s]", 4)
    # not by wait_for_function, which the content policy of the page refuses
    studio.wait_until(lambda: page.evaluate(_near, [float(run["skate.x"][200]), 1e-4]))
    assert run.t[200] == 4.0
    there = pytest.approx(path[200], abs=1e-4)
    studio.wait_until(lambda: studio.place("skate")[:2] == there)


_near = """([x, close]) => {
    const nodes = window.__viserMutable.nodeRefFromName;
    return Object.keys(nodes).some(n => /^\\/noslip\\d+\\/skate$/.test(n) && nodes[n]
        && Math.abs(nodes[n].matrix.elements[12] - x) < close);
}"""


def test_undo_find_and_a_link_that_opens_the_state_on_a_phone(studio, new_page):
    page, before = studio.page, blade()
    studio.type("m [kg]", 2.5)
    studio.wait_for_curve("skate.x", blade(m=2.5))
    studio.press("Undo")
    studio.wait_for_curve("skate.x", before)
    studio.press("Redo")
    studio.wait_for_curve("skate.x", blade(m=2.5))
    # a name in a folded group, and a section
    studio.box("find").fill("skate.rate")
    expect(studio.box("skate.rate [rad/s]")).to_be_visible()
    assert page.get_by_text("slope [rad]", exact=True).count() == 0
    studio.box("find").fill("energy")
    page.locator("[data-open=Verdicts]").click()
    studio.wait_for_text("Constraint residual")
    studio.box("find").fill("")
    expect(page.get_by_text("slope [rad]", exact=True)).to_be_visible()
    expect(studio.box("skate.rate [rad/s]")).not_to_be_visible()  # folded again
    studio.tab("Plots")
    first = page.get_by_label("plot 1", exact=True).first.input_value()
    studio.pick("plot 1", "energy [J]")
    studio.type("t [s]", 3)
    studio.wait_until(lambda: link_of(page).view.time == 3.0)
    studio.wait_until(lambda: link_of(page).view.plots[:1] == ("energy [J]",))
    phone = new_page(
        pictures=False,
        viewport={"width": 390, "height": 844},
        color_scheme="dark",
        has_touch=True,
    )
    other = Studio(phone, page.url, is_paused=False)
    expect(phone.get_by_role("button", name="Play", exact=True)).to_be_visible()
    expect(other.box("t [s]")).to_have_value(re.compile(r"^3(\.0*)?$"))
    other.wait_until(lambda: phone.url == page.url)
    # the picture is above the panels, which have the whole width
    panels = phone.locator(".mantine-Paper-root").first.bounding_box()
    canvas = phone.locator("canvas[data-engine]").first.bounding_box()
    assert panels["width"] == 390
    assert canvas["y"] + canvas["height"] <= panels["y"] + 30
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    scheme = "document.documentElement.dataset.mantineColorScheme"
    assert phone.evaluate(scheme) == "dark"
    # plots are one tap away
    phone.get_by_text("Plots · Verdicts").click()
    other.wait_until(lambda: other.curve("kinetic_energy") is not None)
    expect(phone.get_by_label("plot 1", exact=True).first).to_have_value("energy [J]")
    # and not wider than the screen, once they have found their width
    phone.wait_for_timeout(500)
    widths = phone.locator(".uplot").evaluate_all("all => all.map(p => p.offsetWidth)")
    assert len(widths) == 3 and max(widths) < 390
    studio.pick("plot 1", first)  # as the other tests have it


def test_a_kept_run_is_drawn_beside_the_next_one_and_opened_by_a_link(studio, new_page):
    page, before, after = studio.page, blade(), blade(slope=0.4)
    studio.press("Keep this run")
    studio.wait_for_text("This run is kept")
    studio.type("slope [rad]", 0.4)
    expect(page.get_by_text("slope (rad)")).to_be_visible()
    expect(page.get_by_text("final skate.x (m)")).to_be_visible()
    studio.tab("Plots")
    studio.wait_for_curve("skate.x", after)
    both = Studio._is
    studio.wait_until(lambda: both(studio.curve("skate.x, kept"), before.t, before["skate.x"]))
    # the ghost stands where the kept run is
    studio.type("t [s]", 4)
    for place, run in ((studio.ghost, before), (studio.place, after)):
        there = pytest.approx(float(run["skate.x"][200]), abs=1e-4)
        studio.wait_until(lambda place=place, there=there: place("skate")[0] == there)
    studio.wait_until(lambda: link_of(page).kept is not None)
    other = Studio(blank_page(new_page), page.url, is_paused=False)
    other.wait_until(lambda: other.curve("skate.x, kept") is not None)
    assert both(other.curve("skate.x, kept"), before.t, before["skate.x"])
    studio.press("Clear")
    studio.wait_until(lambda: studio.curve("skate.x, kept") is None)


def test_a_point_is_dragged_on_the_floor_and_its_path_followed(studio):
    page, mechanism = studio.page, Mechanism(ns.load("agv"))

    def followed():
        """The run of what the page has in its address."""
        choice = changed_choice(mechanism.first_choice(), link_of(page).changes)
        choice = dataclasses.replace(choice, numbers={"timing.duration": 20.0})  # as it is at first
        return perform(mechanism.system("complement"), "agv", choice, Cancel()).run

    before = [list(p) for p in first_points(scene(mechanism.model).length)]
    studio.pick("model", "agv")
    studio.pick("task", "Follow a path")
    studio.pick("path", "drawn")
    studio.wait_until(lambda: link_of(page).changes.get("points") == before)
    studio.wait_for_curve("platform.x", followed())
    x, y = studio.rest("/2")
    studio.drag("/2", 20, -30)
    studio.wait_until(lambda: link_of(page).changes["points"][1] != before[1])
    assert link_of(page).changes["points"][2] == before[2]
    # it stays where it was let go, and the vehicle drives there
    assert studio.rest("/2") == pytest.approx([x + 20, y - 30], abs=4)
    run = followed()
    assert run.path_errors.largest < 1e-8
    studio.wait_for_curve("platform.x", run)
    studio.press("Undo")
    studio.wait_until(lambda: link_of(page).changes["points"] == before)
    studio.wait_until(lambda: studio.screen("/2") == pytest.approx([x, y], abs=2))
    # nothing of it stays with another task
    studio.pick("task", "Scenario of the model")
    studio.wait_until(lambda: studio.screen("/2") is None)


def link_of(page):
    """The state that the address of a page holds; an empty one before it holds any."""
    text = page.url.partition("/=")[2].strip("/")
    return read_link(text) if text else PageLink(model="")


def test_two_browsers_at_once_have_their_own_state(studio, new_page, address):
    one, two = studio, Studio(blank_page(new_page), address)
    for studio in (one, two):
        studio.wait_for_curve("skate.x", blade())
    one.type("m [kg]", 3.0)
    two.type("slope [rad]", 0.5)
    one.wait_for_curve("skate.x", blade(m=3.0))
    two.wait_for_curve("skate.x", blade(slope=0.5))
    assert float(two.box("m [kg]").input_value()) == 1.2


def test_a_faulty_file_is_shown_and_downloads_hold_what_is_shown(studio, file, tmp_path):
    page = studio.page
    studio.type("m [kg]", 2.0)
    studio.wait_for_curve("skate.x", blade(m=2.0))
    good = file.read_text()
    try:
        save(file, good.replace("moment =", "momnet =", 1))
        studio.wait_for_text("momnet")
        studio.wait_for_text("the last good model stays")
        studio.type("m [kg]", 2.2)
        studio.wait_for_curve("skate.x", blade(m=2.2))
        # mended, with another start: the slider keeps its value
        save(file, good.replace('rate" = 1.5', 'rate" = 0.7'))
        studio.wait_for_curve("skate.x", blade(m=2.2, **{"skate.rate": 0.7}))
        assert page.get_by_text("momnet").count() == 0
        assert float(studio.box("m [kg]").input_value()) == 2.2
    finally:
        save(file, good)
    download_everything(studio, tmp_path)


def download_everything(studio, tmp_path):
    """Every file holds the run that is shown."""
    page = studio.page
    studio.type("m [kg]", 1.9)
    studio.wait_for_curve("skate.x", blade(m=1.9))
    studio.tab("Files")
    files = {}
    for label in ("Model (TOML)", "Data (NetCDF)", "Report (HTML)", "Animation (HTML)"):
        with page.expect_download(timeout=PATIENCE) as caught:
            studio.press(label)
        files[label] = tmp_path / caught.value.suggested_filename
        caught.value.save_as(files[label])
    model = ns.load(files["Model (TOML)"])
    assert model.parameter_values()["m"] == 1.9
    own = run_scenario(ns.compile(ns.derive(model)))
    assert np.array_equal(own["skate.x"], blade(m=1.9)["skate.x"])
    with xarray.open_dataset(files["Data (NetCDF)"], engine="h5netcdf") as data:
        assert np.array_equal(data["skate.x"].values, own["skate.x"])
    assert "Energy" in files["Report (HTML)"].read_text()
    assert "__VISER_EMBED_DATA__" in files["Animation (HTML)"].read_text()


def test_sliders_and_another_model_show_what_a_simulation_gives(studio):
    page = studio.page
    studio.type("m [kg]", 2.5)
    studio.type("slope [rad]", 0.4)
    studio.wait_for_curve("skate.x", blade(m=2.5, slope=0.4))
    # back again
    page.get_by_role("button", name="Reset").nth(1).click()
    studio.wait_for_curve("skate.x", blade())
    # dragged: many values, and the last one is what is drawn
    x, y = studio.thumb("m [kg]")
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 30):
        page.mouse.move(x + step, y)
    page.mouse.up()
    expect(studio.box("m [kg]")).not_to_have_value("1.2")
    value = float(studio.box("m [kg]").input_value())
    assert value > 1.2
    studio.wait_for_curve("skate.x", blade(m=value))
    show_another_model(studio)


def show_another_model(studio):
    """Model switch, verdicts, equations, and a fault that comes and goes."""
    page = studio.page
    studio.pick("model", "agv")
    run = run_scenario(ns.compile(ns.derive(ns.load("agv"))))
    studio.wait_for_curve("platform.x", run)
    # the scene follows the curves
    near = pytest.approx(1.0, abs=1e-3)
    studio.wait_until(lambda: np.hypot(*studio.place("platform")[:2]) == near)
    assert page.get_by_text("R [m]", exact=True).count() == 1
    assert page.get_by_text("slope [rad]", exact=True).count() == 0
    studio.tab("Verdicts")
    for words in ("Energy drift", "Constraint residual", "5 formulations", "friction coefficient"):
        studio.wait_for_text(words)
    studio.tab("Equations")
    page.locator("math").first.wait_for(timeout=PATIENCE)
    assert page.locator("math").count() >= 2
    # a fault is shown with its three parts, and mended it goes away
    studio.tab("Plots")
    studio.type("set", "l = -1")
    studio.wait_for_text("fix")
    studio.type("set", "l = 0.5")
    changed = run_scenario(ns.compile(ns.derive(ns.load("agv"))), changes={"l": 0.5})
    studio.pick("plot 2", "wheel angles [rad]")
    studio.wait_for_curve("wheel1.angle", changed)
    assert page.locator(".fault").count() == 0


def test_driving_with_keys_and_with_sliders(studio):
    page = studio.page
    studio.pick("model", "tractor-trailer")
    studio.pick("task", "Drive it yourself")
    studio.wait_for_text("Stop and show the run")
    start = studio.place("tractor")
    page.mouse.click(480, 120)
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    # five notches of ten, up to 6 m/s: ahead is x
    studio.wait_until(lambda: float(studio.box("speed [m/s]").input_value()) == 3.0)
    studio.wait_until(lambda: studio.place("tractor")[0] - start[0] > 1.0)
    studio.type("steer.angle [rad]", 0.3)
    studio.wait_until(lambda: studio.place("tractor")[1] - start[1] > 0.3)  # to the left
    page.mouse.click(480, 120)
    page.keyboard.press("Space")
    studio.wait_until(lambda: float(studio.box("speed [m/s]").input_value()) == 0.0)
    studio.press("Stop and show the run")
    # the whole drive, from its start
    studio.wait_until(lambda: studio.curve("tractor.x")[0][0] == 0.0)
    assert studio.curve("tractor.x")[1].max() > 1.0
    ride_a_bicycle(studio)


def ride_a_bicycle(studio):
    """It leans into a turn, falls when somebody jerks the handlebar, and rides again."""
    page = studio.page
    studio.pick("model", "whipple-bicycle")
    studio.wait_for_text("it rights itself")
    studio.pick("task", "Drive it yourself")
    studio.wait_for_text("keep balance")
    # it cannot stand, so that it rolls: ahead is x
    studio.wait_until(lambda: studio.place("rear_frame")[0] > 1.0)
    page.mouse.click(480, 120)
    for _ in range(5):
        page.keyboard.press("ArrowLeft")
    studio.wait_until(lambda: float(studio.box("turning [rad/s]").input_value()) == 0.5)
    turn = ns.steady(
        ns.compile(ns.derive(ns.load("whipple-bicycle"))),
        {"speed": 4.6, "frame.yaw_rate": 0.5},
        find=["steer_torque", "drive_torque"],
    )
    studio.wait_until(lambda: abs(lean(studio) - turn.values["frame.lean"]) < 2e-3)
    assert lean(studio) < -0.2  # to the left
    height = pytest.approx(turn.values["frame.z"], abs=1e-3)
    studio.wait_until(lambda: studio.place("rear_frame")[2] == height)
    page.keyboard.press("Space")
    studio.wait_until(lambda: abs(lean(studio)) < 0.05)
    assert float(studio.box("speed [m/s]").input_value()) == 4.6
    page.get_by_text("keep balance").click()
    studio.wait_for_text("steer_torque [N·m]")
    studio.type("steer_torque [N·m]", -2)
    studio.wait_for_text("it has fallen over")
    studio.wait_until(lambda: abs(lean(studio)) > 1.0)
    page.get_by_text("keep balance").click()
    studio.wait_for_text("turning [rad/s]")
    studio.press("Start again")
    expect(page.locator(".fault")).to_have_text([])  # which names those that there are
    studio.wait_until(lambda: studio.place("rear_frame")[0] > 0.5 and abs(lean(studio)) < 1e-6)
    studio.press("Stop and show the run")
    page.get_by_role("button", name="Play", exact=True).wait_for(timeout=PATIENCE)


def lean(studio):
    """Of the bicycle that is seen, rad, positive to the right."""
    return float(np.arcsin(studio.pose("rear_frame")[2, 1]))


#: Opens a socket to a studio; says how it ended, or that it is open.
CONNECT = """([address, protocol]) => new Promise(resolve => {
    const socket = window.studio = new WebSocket(address, protocol);
    socket.onopen = () => resolve("open");
    socket.onmessage = () => { window.heard = (window.heard ?? 0) + 1; };
    socket.onerror = () => resolve("refused");
})"""


def open_refusal(page, address):
    """The one page of the studio's own origin that is there without its token: a sentence."""
    answer = page.goto(f"http://{urlsplit(address).netloc}/")
    assert answer.status == 403


def connect(page, address):
    """Open a socket from a page, as the studio's own page does; how that ends."""
    import viser

    reached = address.replace("http", "ws").rstrip("/")
    return page.evaluate(CONNECT, [reached, f"viser-v{viser.__version__}"])


def test_a_page_of_another_site_gets_nothing(new_context, address):
    """No watch: the browser prints that it was refused."""
    other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Blank)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    context = new_context()
    try:
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{other.server_port}/")
        assert connect(page, address) == "refused"
        read = "url => fetch(url).then(answer => answer.text(), () => 'refused')"
        assert page.evaluate(read, address) == "refused"
        # one of the studio itself is let in
        open_refusal(page, address)
        assert connect(page, address) == "open"
    finally:
        context.close()
        other.shutdown()
        other.server_close()


class _Blank(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_ctrl_c_ends_it_while_a_browser_is_open(new_context):
    """A page with its session: the server has sent it the panels."""
    running = Server("vertical-disk")
    # no watch: a page whose server ends says so on its console
    context = new_context()
    try:
        page = context.new_page()
        open_refusal(page, running.address)
        assert connect(page, running.address) == "open"
        page.evaluate("data => window.studio.send(new Uint8Array(data))", list(CAMERA))
        for _ in range(PATIENCE // 100):
            if (page.evaluate("window.heard") or 0) > 5:
                break
            page.wait_for_timeout(100)
        else:
            pytest.fail("nothing is heard of the server")
        assert running.process.poll() is None
        code, out, err = running.interrupt()
    finally:
        context.close()
        running.end()
    assert code == 0
    assert err == ""
    assert "Traceback" not in out
    # the port is free again
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", running.port))


#: What a page tells first: where it looks from.
CAMERA = msgspec.msgpack.encode(
    {
        "type": "ViewerCameraMessage", "wxyz": [1.0, 0.0, 0.0, 0.0], "position": [3.0, 3.0, 3.0],
        "fov": 0.8, "near": 0.01, "far": 1000.0, "image_height": 600, "image_width": 800,
        "look_at": [0.0, 0.0, 0.0], "up_direction": [0.0, 0.0, 1.0],
    }
)  # fmt: skip


def test_only_this_machine_can_reach_it_and_a_taken_port_is_told(address):
    import subprocess
    import sys

    port = str(urlsplit(address).port)
    own = next(
        (a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), ""
    )
    if own and not own.startswith("127."):
        with socket.socket() as probe, pytest.raises(OSError):
            probe.settimeout(2.0)
            probe.connect((own, int(port)))
    command = [sys.executable, "-m", "noslip.cli", "studio", "agv", "--port", port, "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert f"port {port} cannot be opened" in done.stderr
    assert "where" in done.stderr and "--port" in done.stderr


def test_the_command_opens_the_state_of_an_earlier_page(new_page):
    """At another port, with another token: the curve is that of the changed values."""
    state = write_link(PageLink(model="knife-edge", changes={"changes": {"slope": 0.4}}))
    with server("--link", f"http://127.0.0.1:1/older/={state}/") as running:
        assert running.address.endswith(f"/={state}/")
        opened = Studio(blank_page(new_page), running.address)
        opened.wait_for_curve("skate.x", blade(slope=0.4))


@pytest.mark.slow
def test_a_sweep_is_opened_and_a_point_of_it_is_clicked(new_page, tmp_path):
    """The curve that appears is the motion at that point, by another call."""
    vary = {"slope": [0.1, 0.2, 0.3], "m": [1.0, 2.0]}
    found = ns.sweep(
        ns.load("knife-edge"), ["final:skate.x"], vary=vary, duration=0.5, folder=tmp_path / "s"
    )
    system = ns.compile(ns.derive(ns.load("knife-edge")))
    run = run_scenario(system, changes={"slope": 0.3, "m": 1.0}, duration=0.5)
    text = f"{float(found['final:skate.x'].sel(slope=0.3, m=1.0)):.4g}"
    with server(str(tmp_path / "s")) as running:
        studio = Studio(blank_page(new_page), running.address)
        studio.page.get_by_text(text, exact=True).first.click(timeout=PATIENCE)
        studio.wait_for_curve("skate.x", run)
        expect(studio.page.get_by_text("slope = 0.3 rad, m = 1 kg: finished")).to_be_visible()
