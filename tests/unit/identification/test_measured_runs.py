"""Measured runs: files, datasets, units, missing values and what is refused."""

import math

import numpy as np
import pytest
import xarray
from small_mechanisms import cart

import noslip as ns
from noslip.expressions import UnitError, read_unit
from noslip.identification.measured import conversion, measured_runs, unwrapped

TEXT = """# logged on a bench
time [ms],cart.position [mm],cart.speed [m/s],F,note [K]
0,0,0,4,293
500,120,0.5,4,293
1000,,1.0,4,293
2000,2000,2.0,5,293
"""


@pytest.fixture(scope="module")
def system():
    return ns.compile(ns.derive(cart()))


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(TEXT)
    return path


def test_a_table_with_units_gaps_and_remarks_is_read(log):
    (run,) = measured_runs(log, start={"cart.speed": 0.1})
    assert run.times.tolist() == [0.0, 0.5, 1.0, 2.0]
    assert run.in_unit("cart.position", "m")[[0, 1, 3]].tolist() == [0.0, 0.12, 2.0]
    assert math.isnan(run.columns["cart.position"][2])
    assert run.table("F", "N").values.tolist() == [4.0, 4.0, 4.0, 5.0]
    assert run.start == {"cart.speed": 0.1} and run.name == "log.csv"


def test_files_datasets_arrays_and_runs_hold_the_same(system, tmp_path):
    """One motion in six forms leads to one fit."""
    times = np.linspace(0.0, 2.0, 21)
    truth = ns.simulate(
        system, duration=2.0, inputs={"F": "4 + t"}, parameters={"m": 2.6}, samples=times
    )
    truth.save(tmp_path / "run.nc")
    truth.save(tmp_path / "run.csv")
    forms = [
        truth,
        tmp_path / "run.nc",
        str(tmp_path / "run.csv"),
        truth.to_xarray(),
        ns.read_measured(tmp_path / "run.csv"),
        {"time": times, "cart.position": truth["cart.position"], "F": truth["F"]},
    ]
    for data in forms:
        found = ns.fit(system, data, parameters=["m"], columns={"cart.position": "cart.position"})
        assert found["m"] == pytest.approx(2.6, rel=1e-6)


def test_a_dataset_with_units_is_converted():
    data = xarray.Dataset(
        {"cart.position": ("time", [0.0, 30.0], {"units": "cm"})},
        coords={"time": ("time", [0.0, 1.0], {"units": "min"})},
    )
    (run,) = measured_runs(data)
    assert run.times.tolist() == [0.0, 60.0]
    assert run.in_unit("cart.position", "m").tolist() == [0.0, 0.3]


@pytest.mark.parametrize(
    ("unit", "coherent", "factor"),
    [
        ("mm/s", "m/s", 1e-3),
        ("deg/s", "rad/s", math.pi / 180),
        ("rpm", "rad/s", math.pi / 30),
        ("Nm", "N*m", 1.0),
        ("kN*cm", "N*m", 10.0),
        ("1", "1", 1.0),
    ],
)
def test_units_are_converted(unit, coherent, factor):
    plain, scale = conversion(unit)
    assert read_unit(plain) == read_unit(coherent) and scale == pytest.approx(factor, rel=1e-15)


def test_units_that_are_not_known_are_refused():
    with pytest.raises(UnitError, match="'furlong' is not a known unit"):
        conversion("furlong/s")


def test_a_wrong_dimension_is_told_with_the_column(system):
    run = ns.MeasuredRun(
        times=[0.0, 1.0], columns={"cart.position": [0.0, 1.0]}, units={"cart.position": "deg/s"}
    )
    with pytest.raises(ns.SimulationError) as told:
        ns.fit(system, run, parameters=["m"])
    assert told.value.what == "it is in 'deg/s', but the quantity it measures is in 'm'"
    assert "column 'cart.position'" in told.value.where


def test_an_angle_goes_on_over_a_turn():
    angle = np.linspace(0.0, 20.0, 50)
    wrapped = (angle + math.pi) % (2 * math.pi) - math.pi
    wrapped[7] = math.nan
    found = unwrapped(wrapped)
    assert math.isnan(found[7])
    assert np.allclose(np.delete(found, 7), np.delete(angle, 7), atol=1e-12)
    for still in ([0.1, -0.2, 2.5], [0.0, 4.0, 8.0]):
        assert unwrapped(np.array(still)).tolist() == still


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,y\n1,2\n", "there is no column of times; there are x, y"),
        ("time,x\n0,1\n1,2,3\n", "the line has 3 values, expected 2"),
        ("time,x\n0,one\n", "the line is not numeric"),
        ("time,x,x\n0,1,2\n", "two columns are named 'x'"),
        ("time,x\n0,1\n0,2\n", "the times do not increase: 0 s comes after 0 s"),
        ("time,x\n0,1\n", "the times have the shape"),
        ("time,x\n0,1\n1,inf\n", "has values that are infinite"),
        ("time,gps\n0,1\n1,2\n", "no column is a coordinate, speed or angle"),
        ("time,cart.position\n0,\n1,\n", "column 'cart.position' contains no numbers"),
        ("", "there is no column of times"),
    ],
)
def test_tables_with_mistakes_are_told(system, tmp_path, text, said):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ns.SimulationError, match=said):
        ns.fit(system, path, parameters=["m"])


@pytest.mark.parametrize("data", [[], 3.0, [3.0], {"x": [0.0, 1.0]}])
def test_what_is_no_measured_run_is_refused(system, data):
    with pytest.raises((ns.SimulationError, TypeError)):
        ns.fit(system, data, parameters=["m"])


def test_the_file_beside_the_data_says_names_and_units(tmp_path):
    (tmp_path / "log.csv").write_text("stamp,pos\n0,100\n500,\n1000,300\n")
    (tmp_path / "log.columns.toml").write_text(
        'time = {column = "stamp", unit = "ms"}\ncolumns.pos = {name = "base.x", unit = "mm"}\n'
    )
    (run,) = measured_runs(tmp_path / "log.csv")
    assert run.times.tolist() == [0.0, 0.5, 1.0]
    found = run.in_unit("base.x", "m")
    assert found[[0, 2]].tolist() == [0.1, 0.3] and np.isnan(found[1])
