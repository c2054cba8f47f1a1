"""Files are data: none of them names code that is run."""

import ast
import contextlib
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import noslip as ns
from noslip.cli.main import main

SOURCE = Path(ns.__file__).parent

#: Calls that run code by its name, or make objects of bytes.
RUNNING = re.compile(
    r"import_module|__import__|exec|eval|load_plugin|find_function|spec_from_file_location|"
    r"exec_module|run_path|run_module|system|popen|Popen|CDLL|LoadLibrary|external|"
    r"loads?_pickle|read_pickle"
)
#: (file, call) → what names the code.
ALLOWED = {
    ("cli/main.py", "import_module"): "the package itself",
    ("library/models.py", "import_module"): "the package itself: a table of ready models",
    ("engines/system.py", "import_module"): "the package itself: what reads expressions",
    ("model/catalogs.py", "import_module"): "the package itself: its own catalogs",
    ("model/checks.py", "import_module"): "the package itself",
    ("show/equations/derivations.py", "import_module"): "the package itself",
    ("base/public.py", "import_module"): "the package itself: names that its stubs list",
    ("base/families.py", "import_module"): "the package itself, and load_plugin",
    ("base/families.py", "spec_from_file_location"): "load_plugin",
    ("base/families.py", "exec_module"): "load_plugin",
    ("cli/options.py", "load_plugin"): "the command line",
    ("sweeps/store.py", "load_plugin"): "the call of ns.sweep",
    ("sweeps/store.py", "find_function"): "the call of ns.sweep",
    ("sweeps/execute.py", "load_plugin"): "the call of ns.sweep, by the message of its client",
    ("sweeps/tasks.py", "load_plugin"): "the call of ns.sweep",
    ("sweeps/tasks.py", "import_module"): "the call of ns.sweep",
    ("sweeps/tasks.py", "find_function"): "the call of ns.sweep",
    ("engines/cuda_driver.py", "CDLL"): "the driver of the card",
    ("base/files.py", "CDLL"): "the C library",
    ("scene/film.py", "Popen"): "ffmpeg",
}
#: Modules that make objects of bytes, which may run anything.
UNSAFE = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "runpy", "code", "yaml"}


def calls_and_imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if RUNNING.fullmatch(name) and not _is_compiled(node):
                yield name
            if any(k.arg == "allow_pickle" for k in node.keywords):
                yield "allow_pickle"
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in UNSAFE)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in UNSAFE:
            yield node.module


def _is_compiled(node):
    """`system` as a method of an object of this package."""
    function = node.func
    owner = getattr(function, "value", None)
    return getattr(function, "attr", "") == "system" and getattr(owner, "id", "") != "os"


def test_no_other_place_runs_code_by_its_name():
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.py")
        for name in calls_and_imports(path)
    }
    assert found == set(ALLOWED)


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """Module and file that leave a mark when they are run; the mark."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    mark = tmp_path / "mark"
    code = f"import pathlib; pathlib.Path({str(mark)!r}).touch()\ndef f(point):\n    return 1.0\n"
    (tmp_path / "evil_by_name.py").write_text(code)
    (tmp_path / "study").mkdir()
    return mark


def changed(folder, change):
    """Rewrite sweep.json."""
    path = folder / "sweep.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def name_plugin(data):
    data["request"]["plugins"] = ["evil_by_name", "evil_by_name.py"]


def name_function(data):
    data["request"] |= {"work": "function"}
    data["request"]["settings"] = {"function": "evil_by_name.py:f"}


def name_module(data):
    data["request"] |= {"work": "function"}
    data["request"]["settings"] = {"function": "evil_by_name:f"}


def name_in_layer(data):
    name_plugin(data)
    data["request"] |= {"work": "function"}
    for layer in data["layers"]:
        layer["settings"] = {"function": "evil_by_name:f"}


def open_it(folder):
    ns.open_sweep(folder)


def resume_it(folder):
    ns.sweep(ns.load("knife-edge"), folder=folder, **WISH)


def report_it(folder):
    from noslip.show.report.study_reports import run_of_point
    from noslip.sweeps.store import StoreReader, read_store

    run_of_point(StoreReader(read_store(folder)), {"slope": 0.1})


def studio_it(folder):
    from noslip.studio.page.sweep_panel import SweepPoints

    points = SweepPoints(folder)
    points.table(points.measures[0])


def work_on_it(folder):
    from noslip.sweeps import execute

    spec = {"folder": str(folder), "device": "cpu", "plugins": [], "function": None}
    found = execute.work_at_store(json.dumps(spec), 0, 0, False)
    if "error" in found:
        raise ns.SimulationError(*found["error"])


WISH = {"vary": {"slope": "0.1:0.4:2"}, "measures": ["final:skate.x"], "duration": 0.1, "chunk": 1}


@pytest.mark.parametrize("use", [open_it, resume_it, report_it, studio_it, work_on_it])
@pytest.mark.parametrize("change", [name_plugin, name_function, name_module, name_in_layer])
def test_the_folder_of_a_sweep_runs_nothing(evil, use, change):
    pytest.importorskip("xarray")
    folder = Path("study")
    ns.sweep(ns.load("knife-edge"), folder=folder, **WISH)
    for chunk in list(folder.glob("chunks/*/*/*"))[:1]:
        chunk.unlink()  # so that there is work to do
    changed(folder, change)
    with contextlib.suppress(ns.NoslipError):
        use(folder)
    assert not evil.exists()


@pytest.mark.parametrize(
    "text",
    [
        'plugins = ["evil_by_name.py"]',
        'work = "evil_by_name.py:f"',
        'work = "evil_by_name:f"',
        'work = "function"\nsettings = {function = "evil_by_name:f"}',
    ],
)
def test_a_request_as_a_file_names_no_code(evil, text):
    body = '\nmodel = "knife-edge"\nmeasures = ["cost"]\nvary = {slope = "0.1:0.2:2"}\n'
    Path("study.toml").write_text(text + body)
    done = CliRunner().invoke(main, ["sweep", "--file", "study.toml", "-o", "out", "--no-report"])
    assert done.exit_code == 1 and "fix" in done.output and "--" in done.output
    assert not evil.exists() and not Path("out").exists()


def test_code_that_the_user_names_is_run_again_on_resuming(evil):
    command = ["sweep", "knife-edge", "--work", "evil_by_name.py:f", "--vary", "slope=0.1:0.2:2"]
    command += ["--measure", "cost", "-o", "out", "--no-report", "--chunk", "1"]
    for _ in range(2):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        for chunk in list(Path("out").glob("chunks/*/*/*"))[:1]:
            chunk.unlink()
    assert evil.exists()
