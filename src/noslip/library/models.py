"""The list of ready models, and `load`."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from noslip import Model, ModelError
from noslip.base import ArgumentError, nearest

#: Name of a model → module of this package that builds it, or its model file.
MODELS: dict[str, str] = {
    "differential-robot": "differential_robot.toml",
    "rolling-disk": "rolling_disk",
    "agv": "agv",
    "tractor-trailer": "tractor_trailer",
    "lhd": "lhd",
    "lhd-noslip": "lhd_noslip",
    "manipulator-2r": "manipulator_2r",
    "manipulator-3r": "manipulator_3r",
    "manipulator-6r": "manipulator_6r",
    "knife-edge": "knife_edge",
    "tricycle": "tricycle",
    "heavy-body": "heavy_body",
    "sled-with-rotor": "sled_with_rotor",
    "chaplygin-sleigh": "chaplygin_sleigh",
    "vertical-disk": "vertical_disk",
    "carriage": "carriage",
    "whipple-bicycle": "whipple_bicycle",
    "ackermann-car": "ackermann_car.toml",
    "forklift": "forklift.toml",
    "mecanum-base": "mecanum_base.toml",
    "omni-base": "omni_base.toml",
    "truck-trailers": "truck_trailers.toml",
    "tractor-trailer-tires": "tractor_trailer_tires.toml",
    "snakeboard": "snakeboard.toml",
    "roller-racer": "roller_racer.toml",
    "balancing-robot": "balancing_robot.toml",
    "mobile-manipulator": "mobile_manipulator.toml",
    "crane": "crane.toml",
    "rattleback": "rattleback",
    "ball-in-bowl": "ball_in_bowl",
    "ball-on-dish": "ball_on_dish",
    "coin-in-funnel": "coin_in_funnel",
    "spherical-robot": "spherical_robot",
    "bicycle-on-hills": "bicycle_on_hills",
    "vehicle-on-hills": "vehicle_on_hills",
    "tippe-top": "tippe_top",
    "braking-forklift": "braking_forklift",
    "split-friction-robot": "split_friction_robot.toml",
}


def load(source: str | Path) -> Model:
    """A model by its library name, or from a model file.

    Parameters
    ----------
    source : a name of :data:`MODELS`, such as ``"agv"``, or the path of a model file.

    Raises
    ------
    ModelError : if there is no such model or file, or the file has faults (all are listed).
    """
    if isinstance(source, str) and source in MODELS:
        if MODELS[source].endswith(".toml"):
            from noslip.model import load_model

            return load_model(Path(__file__).with_name(MODELS[source]))
        return importlib.import_module(f"noslip.library.{MODELS[source]}").build()
    if not isinstance(source, str | Path):
        raise ArgumentError(
            f"load takes a name of the library or a path, got {type(source).__name__}",
            "source, argument of load",
            'write load("agv") or load("robot.toml")',
        )
    path = Path(source)
    from noslip.model import is_model_file, load_model, meant_file, model_suffixes

    if os.path.exists(path) or is_model_file(path):
        return load_model(path)
    fix = nearest(str(source), MODELS, more="`noslip list` shows all")
    fix += f", or give the path of a {model_suffixes()} file"
    if meant := meant_file(path):
        fix = f"did you mean '{meant}'?"
    raise ModelError(f"there is no model '{source}'", "the library and this folder", fix)
