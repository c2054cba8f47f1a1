"""Every model of the library: it builds, has its freedoms, runs, and all formulations agree."""

import functools
import importlib
import re
from pathlib import Path

import pytest

import noslip as ns

#: Degrees of freedom and redundant rows.
FREEDOMS = {
    "rolling-disk": (3, 0),
    "agv": (2, 1),
    "tractor-trailer": (1, 0),
    "tractor-trailer-slip": (4, 0),
    "lhd": (4, 0),
    "lhd-noslip": (2, 0),
    "manipulator-2r": (2, 0),
    "manipulator-3r": (3, 0),
    "manipulator-6r": (6, 0),
    "knife-edge": (2, 0),
    "tricycle": (2, 0),
    "heavy-body": (3, 0),
    "sled-with-rotor": (3, 0),
    "chaplygin-sleigh": (2, 0),
    "vertical-disk": (2, 0),
    "carriage": (2, 1),
    "whipple-bicycle": (3, 0),
    "differential-robot": (2, 1),
    "ackermann-car": (1, 2),
    "forklift": (2, 1),
    "mecanum-base": (3, 0),
    "omni-base": (3, 0),
    "truck-trailers": (1, 5),
    "tractor-trailer-tires": (9, 5),
    "snakeboard": (2, 0),
    "roller-racer": (1, 4),
    "balancing-robot": (3, 1),
    "mobile-manipulator": (5, 1),
    "crane": (2, 4),
    "cartesian-crane": (4, 0),
    "rattleback": (3, 0),
    "ball-in-bowl": (3, 0),
    "ball-on-dish": (4, 0),
    "coin-in-funnel": (3, 0),
    "spherical-robot": (5, 0),
    "bicycle-on-hills": (3, 0),
    "vehicle-on-hills": (1, 0),
    "tippe-top": (3, 0),
    "eulers-disk": (3, 0),
    "braking-forklift": (1, 2),
    "split-friction-robot": (2, 2),
}

#: Energy that is lost or gained over the largest energy that moves, at tolerance 1e-11.
DRIFT = 1e-9

models = pytest.mark.parametrize("name", FREEDOMS)


@functools.cache
def model_of(name):
    return ns.load(name)


@functools.cache
def report_of(name):
    return ns.check(model_of(name))


@models
def test_its_bodies_are_possible(name):
    """Moments of inertia that no distribution of mass has are warned of, and not shipped."""
    assert not [w for w in report_of(name).warnings if "no body has" in w.what]


def test_every_model_is_listed_here():
    assert set(FREEDOMS) == set(ns.MODELS)


@models
def test_its_name_is_the_one_it_is_loaded_by(name):
    assert model_of(name).name == name


@models
def test_degrees_of_freedom(name):
    report = report_of(name)
    assert (report.degrees_of_freedom, len(report.redundant_rows)) == FREEDOMS[name]
    # what is unusual about a model is meant: a massless fork, an inertia given by a paper
    unused = [w.what for w in report.warnings if "never used" in w.what]
    assert unused == []


@models
def test_everything_has_a_unit_and_is_described(name):
    model = model_of(name)
    assert model.description and model.references and model.scenario.description
    for part in (*model.parameters, *model.inputs):
        assert part.unit and part.description, part.name
    for joint in model.joints:
        if name != "rolling-disk":
            assert joint.description, joint.name
    for body in model.bodies:
        assert body.shapes, body.name


@models
def test_its_references_are_in_the_bibliography(name):
    bibliography = Path(__file__).parents[3] / "docs" / "references.bib"
    keys = set(re.findall(r"@\w+\{(\w+),", bibliography.read_text()))
    assert set(model_of(name).references) <= keys


@models
def test_it_survives_a_file(name, tmp_path):
    path = tmp_path / "model.toml"
    ns.save_model(model_of(name), path)
    assert ns.load(path) == model_of(name)


@pytest.mark.slow
@models
def test_its_scenario_runs(name, system_of):
    run = ns.run_scenario(system_of(name), rtol=1e-11, atol=1e-11)
    assert run.success and run.doubts == ()
    assert run.t[-1] == model_of(name).scenario.duration
    assert run.energy_drift < DRIFT
    assert run.slip < 1e-12
    assert run.tracking_error < 1e-7


@models
def test_its_chapter_has_a_function_of_its_name_to_build_it(name):
    if ns.MODELS[name].endswith(".toml"):
        return
    module, function = ns.MODELS[name].split(":")
    assert function == name.replace("-", "_")
    built = getattr(importlib.import_module(f"noslip.library.{module}"), function)()
    assert isinstance(built, ns.Model) and built.name == name
