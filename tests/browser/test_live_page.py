"""Live pages in a real browser: offline, quiet, and with Python's numbers wherever knobs are."""

import dataclasses
import re
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from watch import PALE

import noslip as ns
from conftest import FLAGS
from noslip.analysis import scenario_start
from noslip.web import live_run
from noslip.web.page import client_files, page_html

pytestmark = pytest.mark.slow
KNOBS = {"m": (1.0, 4.0), "r": (0.3, 0.8), "disk.tilt": (0.0, 1.57), "disk.spin_rate": (-12, -4)}
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"
)
#: The longest that the page may keep a reader's browser busy, ms, and of what a phone is slower.
BUSY, SLOWER = 100.0, 4


@pytest.fixture(scope="module")
def live(system_of):
    return live_run(system_of("rolling-disk"), knobs=KNOBS, plots=["disk.tilt"])


@pytest.fixture(scope="module")
def address(live, tmp_path_factory):
    """The page, of a model whose texts would like to be more than texts."""
    evil = "</script><script>window.broken=1</script><img src=x onerror='window.broken=1'>{data}"
    model = dataclasses.replace(live.system.model, description=evil)
    system = dataclasses.replace(
        live.system.equations,
        kinematics=dataclasses.replace(live.system.equations.kinematics, model=model),
    )
    path = tmp_path_factory.mktemp("live") / "disk.html"
    path.write_text(page_html(dataclasses.replace(live, system=ns.compile(system))), "utf-8")
    assert path.stat().st_size < 2.5e6
    return path.as_uri()


def opened(page, address):
    page.goto(address)
    wait(page, 1)
    return page


def until(page, expression):
    """Wait for a page whose policy lets nobody evaluate texts within it."""
    for _ in range(400):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"it never came: {expression}")


def wait(page, runs):
    until(page, f"(live.runs ?? 0) >= {runs} && !document.body.classList.contains('waits')")


def put(page, name, value):
    """Write a number into the box of a knob; how many runs there were before."""
    runs = page.evaluate("live.runs ?? 0")
    box = page.get_by_label(f"{name} [", exact=False).and_(page.locator("input[type=number]"))
    box.fill(str(value))
    box.press("Enter")
    return runs


def python_run(live, parameters, start, columns, rtol=1e-9):
    """The same run in Python."""
    scenario, plan = live.scenario, live.portable.plan
    task = {p.name: p.value for p in scenario.parameters}
    values = live.system.model.parameter_values() | parameters
    begun = scenario_start(scenario, values | task) | start
    return ns.simulate_batch(
        live.system,
        duration=plan["duration"],
        start=begun,
        parameters=parameters,
        inputs=dict(live.inputs),
        definitions={**scenario.definitions, **task},
        stop=dict(scenario.stop),
        outputs=dict(scenario.outputs),
        samples=plan["samples"],
        columns=columns,
        keep=["samples"],
        count=1,
        rtol=rtol,
        atol=rtol,
    )


def compare(page, live, parameters, start):
    """The run of the page is that of Python: the same steps, the same samples.

    Motions that amplify errors differ by less than ten times what a tenth of the tolerance does.
    """
    found = page.evaluate(
        "({steps: live.result.steps, table: [...live.result.table], width: live.width})"
    )
    columns = [*live.choices, "kinetic_energy", "potential_energy", "work"]
    run = python_run(live, parameters, start, columns)
    assert found["steps"] == run.steps[0]
    table = np.array(found["table"]).reshape(-1, found["width"])
    turning = {n for n in columns if n in page.evaluate("live.data.angles")}
    finer = None
    for k, name in enumerate(columns):

        def gap(samples, turns=name in turning, own=table[:, k]):
            off = own - samples
            return np.max(np.abs(off - (2 * np.pi * np.round(off / (2 * np.pi)) if turns else 0)))

        exact = run.samples[name][0][: len(table)]
        if gap(exact) < 1e-9:
            continue
        if finer is None:
            finer = python_run(live, parameters, start, columns, rtol=1e-10)
        amplified = gap(finer.samples[name][0][: len(table)])
        assert gap(exact) < 10 * amplified, name


def test_page_is_quiet_offline_and_exact(page, address, live):
    opened(page, address)
    assert page.evaluate("window.broken") is None
    assert "onerror" in page.locator("header p").inner_text()
    compare(page, live, {}, {})
    runs = put(page, "r", 0.42)
    wait(page, runs + 1)
    compare(page, live, {"r": 0.42}, {})
    runs = put(page, "disk.tilt", 0.9)
    wait(page, runs + 1)
    compare(page, live, {"r": 0.42}, {"disk.tilt": 0.9})
    assert "--set r=0.42 --set disk.tilt=0.9" in page.locator("#command").text_content()
    until(page, "location.hash.includes('r=0.42')")
    assert page.evaluate("live.ghost !== null")


def test_newest_of_many_changes_wins(page, address, live, rng):
    opened(page, address)
    values = rng.uniform(1.0, 4.0, 60).round(3).tolist()
    page.evaluate(
        """values => { const knob = live.data.knobs.find(k => k.name === "m");
        for (const value of values) live.set(knob, value); }""",
        values,
    )
    wait(page, 2)
    compare(page, live, {"m": values[-1]}, {})
    assert page.evaluate("live.runs") < 6  # those in between were left out


def test_impossible_start_is_refused(page, address, live):
    opened(page, address)
    with pytest.raises(ns.NoslipError) as refused:
        start = scenario_start(live.scenario, live.values) | {"disk.tilt": 0.0}
        ns.complete_start(live.system, start)
    put(page, "disk.tilt", 0)
    page.wait_for_selector("#status.refused")
    said = "row 'rim.normal' is not defined at this start, as for a wheel that lies flat"
    assert page.locator("#status").inner_text() == said == refused.value.what
    runs = put(page, "disk.tilt", 1.2)
    wait(page, runs + 1)
    compare(page, live, {}, {"disk.tilt": 1.2})


def test_link_carries_the_state(page, address, live):
    opened(page, address + "#m=3&disk.spin_rate=-6")
    compare(page, live, {"m": 3.0}, {"disk.spin_rate": -6.0})
    page.get_by_role("button", name="Reset").click()
    wait(page, 2)
    compare(page, live, {}, {})


def test_policy_allows_only_what_the_page_needs(address):
    text = Path(urlsplit(address).path).read_text("utf-8")
    assert f'http-equiv="Content-Security-Policy" content="{POLICY}"' in text
    own = text[text.index("function runProgram") :]
    assert not re.search(r"\beval\b|new Function|innerHTML|document\.write|import\(", own)
    assert not re.search(r"(?:src|href)=[\"'](?!data:)", text.partition("<body>")[0])


def test_pages_of_a_site_share_one_program(new_page, live, tmp_path):
    (tmp_path / "disk.html").write_text(page_html(live, client="", equations=False), "utf-8")
    for name, data in client_files(live.system).items():
        (tmp_path / name).write_bytes(data)
    page = opened(new_page(), (tmp_path / "disk.html").as_uri())
    compare(page, live, {}, {})
    assert page.evaluate("getComputedStyle(document.body).maxWidth") == "1440px"


def test_noise_of_sliders_neither_leaks_nor_blocks(chromium, address, rng, request):
    """On a processor as slow as a phone's; time of the page's own thread, whatever else runs.

    Pictures are put together as a graphics card does: without, each is copied to the page's thread.
    """
    seconds = 60.0 if request.config.getoption("--long") else 5.0
    flags = [flag for flag in FLAGS if flag != "--disable-gpu-compositing"]
    browser = chromium.browser_type.launch(
        executable_path=shutil.which("chromium") or shutil.which("chromium-browser"), args=flags
    )
    try:
        page = browser.new_page(viewport={"width": 390, "height": 800})
        opened(page, address)
        session = page.context.new_cdp_session(page)

        def kept():
            session.send("HeapProfiler.collectGarbage")
            count = session.send("Memory.getDOMCounters")
            return session.send("Runtime.getHeapUsage")["usedSize"], count["nodes"]

        def noise(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                k, part = int(rng.integers(len(KNOBS))), float(rng.uniform())
                page.evaluate(
                    """([k, part]) => {
                        const slider = document.querySelectorAll(".knob input[type=range]")[k];
                        slider.value = Number(slider.min) + part * (slider.max - slider.min);
                        slider.dispatchEvent(new Event("input"));
                    }""",
                    [k, part],
                )
                page.wait_for_timeout(30)

        noise(1.0)
        size, nodes = kept()
        tasks, ended = [], []
        session.on("Tracing.dataCollected", lambda data: tasks.extend(data["value"]))
        session.on("Tracing.tracingComplete", lambda data: ended.append(data))
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
        categories = {"includedCategories": ["toplevel"], "excludedCategories": ["*"]}
        session.send("Tracing.start", {"traceConfig": categories, "transferMode": "ReportEvents"})
        noise(seconds)
        session.send("Tracing.end")
        while not ended:
            page.wait_for_timeout(20)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 1})
        runs = page.evaluate("live.runs")
        names = {
            (e["pid"], e["tid"]): e["args"]["name"] for e in tasks if e["name"] == "thread_name"
        }
        busy = [
            e["tdur"] / 1e3
            for e in tasks
            if "tdur" in e and names.get((e["pid"], e["tid"])) == "CrRendererMain"
        ]
        assert runs > 3 * seconds and len(busy) > 10 * seconds
        assert max(busy) < BUSY
        more, now = kept()
        assert more - size < 0.5e6 and now - nodes < 50
    finally:
        browser.close()


def test_parameters_beyond_their_range_are_refused(page, address, live):
    page.goto(address + "#m=-1")
    page.wait_for_selector("#status.refused")
    assert "m [kg] = −1 is beyond the range of this page, 1 to 4" in page.inner_text("#status")
    runs = put(page, "m", 2.5)
    wait(page, runs + 1)
    compare(page, live, {"m": 2.5}, {})
    with pytest.raises(ns.NoslipError, match="mass"):
        live_run(live.system, knobs={"m": (-1.0, 4.0)})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_and_is_reachable(new_page, address, scheme):
    page = new_page(viewport={"width": 1440, "height": 800}, color_scheme=scheme)
    opened(page, address)
    for width in (390, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        until(page, f"innerWidth === {width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(PALE) == []
    paper = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (int(re.search(r"\d+", paper)[0]) > 200) == (scheme == "light")
    unnamed = page.evaluate(
        """[...document.querySelectorAll("input, select, button, canvas, summary")].filter(e =>
        !(e.labels?.length || e.getAttribute("aria-label") || e.textContent.trim()))
        .map(e => e.outerHTML.slice(0, 200))"""
    )
    assert unnamed == []
    page.locator("#scene").focus()
    before = page.evaluate("live.picture.camera.azimuth")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("live.picture.camera.azimuth") != before
    page.locator("body").click(position={"x": 3, "y": 3})
    page.keyboard.press("Space")
    until(page, "live.time > 0.05")
    page.keyboard.press("Space")
    assert not page.evaluate("live.isPlaying")


def test_vehicle_is_driven_by_keys(new_page, system_of, tmp_path):
    """It moves while a key is held, stays finite, and is left by the button it was entered by."""
    system = system_of("differential-robot")
    names = ["left.torque", "right.torque"]
    path = ns.share(system, tmp_path / "robot.html", drive=names)
    page = opened(new_page(viewport={"width": 390, "height": 700}), path.as_uri())
    page.get_by_role("button", name="Drive").click()
    until(page, "live.moment !== null && live.moment !== undefined")
    page.keyboard.down("ArrowUp")
    until(page, "live.moment.time > 0.6 && live.stick[0] === 1")
    page.keyboard.up("ArrowUp")
    assert page.evaluate("live.stick[0]") == 0
    drift, size, residual = page.evaluate(
        "(({drift, size, residual}) => [drift, size, residual])(live.driven)"
    )
    assert 0 < size and drift < 1e-8 * size and residual < 1e-12  # tolerance 1e-9, rounding
    column = "live.moment.row[live.column('base.angle')]"
    assert page.evaluate("live.moment.row.every(Number.isFinite)")
    before = page.evaluate("live.moment.time")
    assert before > 0 and abs(page.evaluate(column)) > 1e-6
    page.get_by_role("button", name="Drive").click()
    assert page.evaluate("live.moment") is None


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in ns.MODELS if n != "bicycle-on-hills"])
def test_page_of_every_model(new_page, tmp_path, name):
    model = ns.load(name)
    scenario = model.scenario
    if scenario is None or scenario.contact != "ideal":
        with pytest.raises(ns.SimulationError, match="live page"):
            ns.share(model, tmp_path / "page.html")
        return
    live = live_run(model)
    path = tmp_path / "page.html"
    path.write_text(page_html(live), "utf-8")
    assert path.stat().st_size < 2.5e6
    page = opened(new_page(viewport={"width": 1024, "height": 800}), path.as_uri())
    assert page.evaluate("live.result.isFinished")
    assert page.locator("#status").inner_text() == ""
    if live.law is not None:
        return  # tests/unit/simulation/test_portable_runs.py
    compare(page, live, {}, {})
    first = next((k.knob for k in live.knobs if k.kind == "parameters"), None)
    if first is not None:
        value = 1.02 * first.value
        page.evaluate("([n, x]) => live.set(live.inputs.get(n).knob, x)", [first.name, value])
        wait(page, 2)
        compare(page, live, {first.name: value}, {})


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_module_runs_in_node(system_of, tmp_path):
    system = system_of("chaplygin-sleigh")
    done = ns.export(system, tmp_path / "sleigh.wasm", to="wasm")
    assert [f.name for f in done.files] == [
        "sleigh.wasm",
        "sleigh.mjs",
        "sleigh.d.mts",
        "sleigh.md",
    ]
    program = """import {open} from "./sleigh.mjs";
const run = await open(), all = run.simulate();
let now = run.begin({});
while (now.time < all.end - 1e-9) now = run.step(0.05);
console.log(all.steps, ...all.final.slice(0, 3), ...now.row.slice(0, 3));
"""
    (tmp_path / "try.mjs").write_text(program)
    out = subprocess.run(
        ["node", "try.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    steps, *numbers = map(float, out.stdout.split())
    start = scenario_start(system.model.scenario, system.model.parameter_values())
    columns = live_run(system, with_picture=False).choices[:3]
    run = ns.simulate_batch(system, duration=5.0, start=start, count=1, columns=columns)
    assert steps == run.steps[0]
    expected = [run.final[name][0] for name in columns]
    np.testing.assert_allclose(numbers[:3], expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(numbers[3:], expected, rtol=1e-7, atol=1e-7)
