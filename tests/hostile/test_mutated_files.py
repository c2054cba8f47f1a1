"""Files of other formats with one thing wrong each: read, or refused in three parts.

A text in place of a number, and a misspelled name of an element, attribute or key, must be refused
or noted: what a file says is not left out in silence. ``make test`` tries the same few of 20 000
each time, ``pytest --long`` all of them.
"""

import json
import os
import random
import re
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner
from mutated_files import Mutation, mutated

import noslip as ns
from noslip import sweeps
from noslip.bridges.robots import facets_of
from noslip.cli import main
from noslip.model import model_to_toml, parse_model

HERE = Path(__file__).parent
CORPUS, MODELS = HERE / "corpus", HERE / "models"
LIBRARY = Path(ns.__file__).parent / "library"
#: Mutations of each file in a usual run, each of a few ms.
USUAL = 60
#: s of CPU of one.
PATIENCE = 20
UNDERCARRIAGE = """
wheels = {left = 0.08, right = 0.08}
casters = ["fork"]
slides = ["right"]
rollers = {}
driven = ["left_joint", "right_joint"]
locked = {swivel = 0.1}
base = "planar"
"""

#: What was read, for comparison, and the notes.
Read = tuple[str, set[str]]


class Kind(NamedTuple):
    """A file, how it is read, and which of its places say nothing about the mechanism.

    `unread` is a pattern of places and values: ``place: what was done``.
    """

    text: str
    kind: str
    read: Callable[[str, Path], Read]
    unread: str = "$^"


def robot(name: str) -> Callable[[str, Path], Read]:
    def read(text: str, folder: Path) -> Read:
        (folder / name).write_text(text, "utf-8")
        model, notes = ns.import_robot(folder / name)
        return model_to_toml(model), set(notes)

    return read


def order(text: str, folder: Path) -> Read:
    (folder / "order.json").write_text(text, "utf-8")
    mission = ns.read_order(folder / "order.json")
    return repr(mission.legs), set(mission.notes)


def mesh(text: str, folder: Path) -> Read:
    (folder / "mesh.dae").write_text(text, "utf-8")
    return repr(facets_of("mesh.dae", folder / "robot.urdf", (1.0, 1.0, 1.0))), set()


def undercarriage(text: str, folder: Path) -> Read:
    (folder / "cart.urdf").write_bytes((CORPUS / "urdf" / "good").read_bytes())
    (folder / "cart.rolling.toml").write_text(text, "utf-8")
    model, notes = ns.import_robot(folder / "cart.urdf")
    return model_to_toml(model), set(notes)


def table(measured: Any) -> Read:
    columns = {name: values.tolist() for name, (_, values) in measured.columns.items()}
    return repr((measured.t.tolist(), columns)), set()


def columns(text: str, folder: Path) -> Read:
    (folder / "log.csv").write_bytes((CORPUS / "measured" / "good").read_bytes())
    (folder / "log.columns.toml").write_text(text, "utf-8")
    return table(ns.read_measured(folder / "log.csv"))


def measured(text: str, folder: Path) -> Read:
    (folder / "measured.csv").write_text(text, "utf-8")
    units = dict.fromkeys(("pos_x", "pos_y", "heading"), "mm")
    return table(ns.read_measured(folder / "measured.csv", units=units))


def model(text: str, folder: Path) -> Read:
    made, findings = parse_model(text)
    return model_to_toml(made), {str(finding) for finding in findings}


def corpus(name: str) -> str:
    return (CORPUS / name / "good").read_text("utf-8")


#: Keys of the header of a VDA 5050 message, and those that are for other programs.
_HEADER = r"(headerId|timestamp|manufacturer|serialNumber|orderUpdateId|orderId|.*mapId)\b"
KINDS: dict[str, Kind] = {
    # limits of a motor are noted as left out, names of transmissions are for other programs
    "URDF": Kind(
        (MODELS / "robot.urdf").read_text("utf-8"), "xml", robot("robot.urdf"),
        r"<limit (effort|velocity)>.*inf|<(transmission|actuator|joint|type)\b.*(misspelled|group)",
    ),
    # attributes of actuators are noted as not carried over
    "MJCF": Kind(
        (MODELS / "robot.xml").read_text("utf-8"), "xml", robot("robot.xml"),
        r"<(motor gear|position kp)>",
    ),
    # an empty field is zero, or the default
    "DH table": Kind(corpus("dh"), "csv", robot("arm.dh.csv"), r".* is ('|'\\u2028)'"),
    "factsheet": Kind(
        corpus("factsheet"), "json", robot("robot.factsheet.json"),
        rf"{_HEADER}|typeSpecification\.|physicalParameters\.(minimumSpeed|maximumHeight)",
    ),
    "order": Kind(corpus("order"), "json", order, rf"{_HEADER}|.*\.actionId"),
    # only drawn
    "Collada": Kind(corpus("dae"), "xml", mesh, ".*"),
    "undercarriage": Kind(UNDERCARRIAGE, "toml", undercarriage),
    "columns": Kind(corpus("measured_columns"), "toml", columns),
    # an empty cell is a missing value
    "measured": Kind(corpus("measured"), "csv", measured, r".* is '(nan)?'"),
    **{
        # numbers are expressions too, and parts and forces have the names one gives them
        path.stem: Kind(
            path.read_text("utf-8"), "toml", model,
            r".* is '1'|(parts|scenario\.plant\.forces)\.\w+: misspelled",
        )
        for path in (LIBRARY / "forklift.toml", LIBRARY / "mecanum_base.toml", MODELS / "tow.toml")
    },
}  # fmt: skip


class Stuck(BaseException):
    """A file that is read for longer than it may."""


def _stuck(*_: object) -> None:
    raise Stuck


def outcome(kind: Kind, mutation: Mutation, good: Read, folder: Path) -> str:
    """What is wrong with the answer to a file; empty if nothing is."""
    usual = signal.signal(signal.SIGPROF, _stuck)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            said, notes = kind.read(mutation.text, folder)
    except ns.NoslipError as error:
        is_whole = all(fault.what and fault.where and fault.fix for fault in error.faults)
        return "" if is_whole else f"a part is missing: {error}"
    except Stuck:
        return f"no end after {PATIENCE} s"
    except Exception as error:
        return repr(error)[:200]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, usual)
    is_unread = re.match(kind.unread, f"{mutation.place}: {mutation.what}", re.DOTALL)
    if mutation.is_nonsense and not is_unread and not notes - good[1]:
        return "left out in silence" if (said, notes) == good else "read as something"
    return ""


#: A request of a sweep, as `noslip sweep --file` reads it.
STUDY = """
model = "knife-edge"
measures = ["final:skate.x", "history:skate.y"]
zip = [["slope", "m"]]
where = ["slope*J < 10"]
draws = 3
sampling = "lhs"
seed = 7
[vary]
slope = "0.1:0.3:3"
m = [1.0, 2.0, 3.0]
[sample]
a = "gauss:0.2,0.01"
[settings]
duration = 0.1
samples = 3
set = {J = 0.5}
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A sweep that has grown by points and by a measure: of three layers."""
    pytest.importorskip("xarray")
    folder = tmp_path_factory.mktemp("stored") / "study"
    given = {"folder": folder, "duration": 0.1, "samples": 3, "chunk": 2}
    given |= {"sample": {"m": "uniform:1,2"}, "draws": 2, "where": ["slope < m"]}
    sizes = ["final:skate.x"]
    ns.sweep(ns.load("knife-edge"), sizes, vary={"slope": [0.1, 0.2]}, **given)
    sizes.append("history:skate.y")
    ns.sweep(ns.load("knife-edge"), sizes, vary={"slope": [0.1, 0.2, 0.3]}, **given)
    return folder


def dataset(folder: Path) -> Callable[[str, Path], Read]:
    def read(text: str, _: Path) -> Read:
        (folder / "sweep.json").write_text(text, "utf-8")
        data = ns.open_sweep(folder)
        found = {name: (x.values.tolist(), x.attrs) for name, x in data.variables.items()}
        return repr((found, data.attrs)), set()

    return read


@pytest.mark.slow
def test_stores_of_sweeps_with_one_thing_wrong_are_read_or_refused(stored, tmp_path, pytestconfig):
    text = (stored / "sweep.json").read_text("utf-8")
    assert len(json.loads(text)["layers"]) == 3
    # settings and the target are told, and used when the sweep goes on; a time may be anything
    unread = r"(request\.settings|target|layers\.\d\.settings)|.*coordinate\.\d: .*\de\+?\d+"
    check(Kind(text, "json", dataset(stored), unread), tmp_path, pytestconfig)


class Asked(BaseException):
    """A request that would be run."""


@pytest.mark.slow
def test_requests_of_sweeps_with_one_thing_wrong_are_read_or_refused(
    tmp_path, pytestconfig, monkeypatch
):
    def stop(request: Any, *_: object, **__: object) -> None:
        raise Asked(json.dumps(request.to_json()))

    monkeypatch.setattr(sweeps, "run_request", stop)

    def read(text: str, folder: Path) -> Read:
        (folder / "study.toml").write_text(text, "utf-8")
        words = ["sweep", "--file", str(folder / "study.toml"), "--no-report"]
        try:
            ended = CliRunner().invoke(main, [*words, "-o", str(folder / "out")])
        except Asked as request:
            return str(request), set()
        if isinstance(ended.exception, SystemExit):
            assert "fix" in ended.output or ended.exit_code == 2
            raise ns.SimulationError("it is refused", "here", "see the output")
        raise ended.exception or AssertionError(ended.output)

    check(Kind(STUDY, "toml", read, r".* is 1e\+308"), tmp_path, pytestconfig)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_files_with_one_thing_wrong_are_read_or_refused(name, tmp_path, pytestconfig):
    check(KINDS[name], tmp_path, pytestconfig)


def check(kind: Kind, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Try mutations of a file."""
    folder = tmp_path / "files"
    folder.mkdir()
    good = kind.read(kind.text, folder)
    every = list({m.text: m for m in mutated(kind.text, kind.kind)}.values())
    if not pytestconfig.getoption("--long"):
        every = random.Random(38).sample(every, min(USUAL, len(every)))
    before, wrong = sorted(os.listdir(folder)), []
    for mutation in every:
        if said := outcome(kind, mutation, good, folder):
            wrong.append(f"{mutation.place}: {mutation.what}: {said}")
    assert not wrong, f"{len(wrong)} of {len(every)}:\n" + "\n".join(wrong[:40])
    assert sorted(os.listdir(folder)) == before
