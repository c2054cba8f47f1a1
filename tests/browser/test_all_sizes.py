"""Every kind of page on a desk, a tablet and a phone, light and dark: nothing is cut or covered.

The pictures are left in ``build/screenshots/all``, to be looked at.
"""

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from studio_page import Studio, server
from test_notebook_displays import PAGE

import noslip as ns
from noslip.show import displays, equations_html, write_sweep_report

sys.path.insert(0, str(Path(__file__).parent.parent / "unit" / "show"))

from runs_to_plot import audited, run_of, system_of, tracked

#: Widths of pages and their heights, pixels.
SIZES = {1440: 900, 1024: 768, 390: 844}
#: Texts of a page that are cut: beyond the window, or beyond what hides the rest of them. Beyond a
#: box that scrolls they are reached; what is there for screen readers alone has no size.
CUT = """() => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
        const holder = node.parentElement;
        if (!node.data.trim() || holder.closest("style, script, noscript, title")) continue;
        if (!holder.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect();
        if (!box.width || !box.height) continue;
        let seen = { left: 0, right: innerWidth }, hidden = false;
        for (let e = holder; e && e !== document.body; e = e.parentElement) {
            const style = getComputedStyle(e), edge = e.getBoundingClientRect();
            if (style.clipPath !== "none" || edge.width <= 1) { hidden = true; break; }
            // parts of an SVG have no overflow of their own
            const flow = e instanceof SVGElement && e.tagName !== "svg" ? "" : style.overflowX;
            if (/auto|scroll/.test(flow)) { seen = null; break; }
            if (/hidden|clip/.test(flow) && style.textOverflow !== "ellipsis") {
                const { left, right } = seen;
                seen = { left: Math.max(left, edge.left), right: Math.min(right, edge.right) };
            }
        }
        if (hidden || !seen) continue;
        const beyond = Math.max(box.right - seen.right, seen.left - box.left);
        if (beyond > 1.5) found.push(`${node.data.trim().slice(0, 60)}: ${beyond.toFixed(1)} px`);
    }
    return found;
}"""
#: Texts of a figure that lie on each other: names, numbers and titles.
COVERED = """() => {
    const found = [];
    for (const svg of document.querySelectorAll("svg")) {
        const texts = [...svg.querySelectorAll("text")]
            .filter(t => t.textContent.trim() && t.checkVisibility())
            .map(t => [t.textContent.trim(), t.getBoundingClientRect()]);
        for (let i = 0; i < texts.length; i++) for (let j = 0; j < i; j++) {
            const [[one, a], [other, b]] = [texts[i], texts[j]];
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const tall = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            // boxes have room above and below their letters
            const least = Math.min(a.height, b.height, a.width, b.width);
            if (wide > 0.25 * least && tall > 0.25 * least)
                found.push(`${svg.getAttribute("aria-label")}: ${one} on ${other}`);
        }
    }
    return found;
}"""


def faults(page) -> list[str]:
    """What cannot be read on a page of this size."""
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    sideways = [f"the page scrolls sideways by {wide} px"] if wide > 0 else []
    return sideways + page.evaluate(CUT) + page.evaluate(COVERED)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A function that writes a kind of page and returns its address."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}

    def address(kind):
        if kind not in made:
            path = folder / f"{kind}.html"
            made[kind] = (PAGES[kind](path) or path).as_uri()
        return made[kind]

    return address


def run_page(path):
    system = system_of("agv")
    ns.write_report(system, run_of("agv"), path)


def filter_page(path):
    """A run along a circle, whose controller sees what a filter makes of noisy sensors."""
    plant = ns.Plant(
        sensors=(ns.sensors.PoseSensor(body="platform", sigma=0.02, angle_sigma=0.02, every=2),),
        actuators=tuple(ns.Actuator(of=name, sigma=0.02) for name in ("torque1", "torque2")),
        estimator=ns.sensors.ExtendedKalman(start_sigma={"platform.x": 0.05}),
        seed=1,
    )
    loop = ns.ControlLoop(controller=ns.controllers.PoseTracking(), period=0.05)
    run = ns.track(
        system_of("agv"),
        ns.paths.Circle(radius=2.0),
        timing=ns.timing.ConstantSpeed(0.3),
        controller=loop,
        plant=plant,
        duration=10.0,
    )
    ns.write_report(plant.driven(system_of("agv")), run, path)


def sweep_page(path):
    study = path.parent / "study"
    ns.sweep(
        ns.load("knife-edge"),
        ["final:skate.x", "max:skate.vx"],
        vary={"slope": np.linspace(0.1, 0.4, 5).tolist(), "m": [1.0, 2.0, 4.0]},
        duration=2.0,
        folder=study,
    )
    return write_sweep_report(study, motions=False)


def fit_page(path):
    """Two parameters of a vehicle from its noisy places, one with a prior."""
    system, torques = system_of("agv"), {"torque1": "0.3*sin(3*t)", "torque2": "0.2*cos(2*t)"}
    times = np.linspace(0.0, 4.0, 41)
    true = {"m_platform": 33.5, "I_z": 0.8}
    options = {"duration": 4.0, "inputs": torques, "parameters": true, "samples": times}
    truth = ns.simulate(system, **options)
    noise = np.random.default_rng(1)
    log = {"time": times}
    for name in ("platform.x", "platform.y", "platform.angle"):
        log[name] = truth[name] + noise.normal(0.0, 0.003, times.size)
    wanted = ["m_platform", ns.FitParameter(of="I_z", lower=0.1, upper=2.0, mean=0.8, sigma=0.2)]
    found = ns.fit(system, log, parameters=wanted, inputs=torques)
    ns.write_fit_report(found, path, command="noslip fit agv log.csv -p m_platform -p I_z")


def equations_page(path):
    path.write_text(ns.equations_text(ns.derive(ns.load("rolling-disk")), "html"), "utf-8")


def notebook_page(path):
    parts = [
        displays.model_html(ns.load("agv")),
        displays.check_html(ns.check(ns.load("tractor-trailer"))),
        equations_html(ns.derive(ns.load("chaplygin-sleigh"))),
        displays.trajectory_html(tracked()),
        displays.audit_html(audited()),
        ns.plot(tracked())._repr_html_(),
        ns.plot(tracked(), "path")._repr_html_(),
    ]
    path.write_text(PAGE.format("".join(f"<article>{part}</article>" for part in parts)), "utf-8")


PAGES = {
    "equations": equations_page,
    "run": run_page,
    "filter": filter_page,
    "sweep": sweep_page,
    "fit": fit_page,
    "notebook": notebook_page,
}


@pytest.fixture
def keep(pytestconfig):
    """A function that leaves a picture of a page, at half its size."""
    folder = pytestconfig.rootpath / "build" / "screenshots" / "all"
    folder.mkdir(parents=True, exist_ok=True)

    def picture(page, name):
        data = page.screenshot(full_page=True, style="iframe { visibility: hidden }")
        Image.open(io.BytesIO(data)).convert("RGB").reduce(2).save(folder / f"{name}.png")

    return picture


@pytest.mark.parametrize(
    "kind", ["equations", *(pytest.param(k, marks=pytest.mark.long) for k in [*PAGES][1:])]
)
def test_nothing_is_cut_or_covered(files, new_page, keep, kind):
    found = {}
    for scheme in ("light", "dark"):
        page = new_page(java_script_enabled=False, offline=True, color_scheme=scheme)
        for width, height in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.goto(files(kind))
            keep(page, f"{kind}-{width}-{scheme}")
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            found[width, scheme] = faults(page)
    assert {at: what for at, what in found.items() if what} == {}


@pytest.mark.long
def test_nothing_is_cut_in_the_studio(new_page, keep):
    found = {}
    with server("agv") as running:
        for scheme in ("light", "dark"):
            page = new_page(pictures=False, color_scheme=scheme)
            studio = Studio(page, running.address)
            # viser's notice of software rendering leaves slowly
            studio.wait_until(lambda p=page: not p.locator("#webgl-software-rendering").count())
            for width, height in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                page.wait_for_timeout(1000)  # panels are laid out anew
                keep(page, f"studio-{width}-{scheme}")
                found[width, scheme] = faults(page)
    assert {at: what for at, what in found.items() if what} == {}


def test_what_is_cut_covered_or_too_wide_is_found(page):
    page.set_content(
        "<div style='width: 90px; overflow: hidden; white-space: nowrap'>words that go on</div>"
        "<div style='width: 90px; overflow: auto; white-space: nowrap'>others that scroll</div>"
        "<svg aria-label='figure' width='99' height='40'><text x='5' y='20'>1.0</text>"
        "<text x='9' y='20'>2.0</text></svg><div style='width: 3000px'>-</div>"
    )
    assert [what.split(":")[0] for what in faults(page)] == [
        f"the page scrolls sideways by {3000 + 8 - 1200} px", "words that go on", "figure",
    ]  # fmt: skip
