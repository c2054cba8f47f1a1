"""The list of ready models, a catalog of `load`."""

from __future__ import annotations

import importlib
from pathlib import Path

from noslip import Model
from noslip.model import add_catalog

#: Name of a model → module of this package and function that build it, or its model file.
MODELS: dict[str, str] = {
    "differential-robot": "differential_robot.toml",
    "rolling-disk": "saha_angeles:rolling_disk",
    "agv": "saha_angeles:agv",
    "tractor-trailer": "desantis:tractor_trailer",
    "lhd": "desantis:lhd",
    "lhd-noslip": "desantis:lhd_noslip",
    "manipulator-2r": "desantis:manipulator_2r",
    "manipulator-3r": "desantis:manipulator_3r",
    "manipulator-6r": "desantis:manipulator_6r",
    "knife-edge": "cameron_book:knife_edge",
    "tricycle": "cameron_book:tricycle",
    "heavy-body": "cameron_book:heavy_body",
    "sled-with-rotor": "cameron_book:sled_with_rotor",
    "chaplygin-sleigh": "antunes_sigaud_moraes:chaplygin_sleigh",
    "vertical-disk": "antunes_sigaud_moraes:vertical_disk",
    "carriage": "antunes_sigaud_moraes:carriage",
    "whipple-bicycle": "bicycles:whipple_bicycle",
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
    "rattleback": "rolling_bodies:rattleback",
    "ball-in-bowl": "rolling_bodies:ball_in_bowl",
    "ball-on-dish": "rolling_bodies:ball_on_dish",
    "coin-in-funnel": "rolling_bodies:coin_in_funnel",
    "spherical-robot": "rolling_bodies:spherical_robot",
    "bicycle-on-hills": "bicycles:bicycle_on_hills",
    "vehicle-on-hills": "bicycles:vehicle_on_hills",
    "tippe-top": "rolling_bodies:tippe_top",
    "eulers-disk": "rolling_bodies:eulers_disk",
    "braking-forklift": "braking_forklift:braking_forklift",
    "split-friction-robot": "split_friction_robot.toml",
}


def build(name: str) -> Model:
    """The model that a name of :data:`MODELS` stands for."""
    if MODELS[name].endswith(".toml"):
        from noslip.model import load_model

        return load_model(Path(__file__).with_name(MODELS[name]))
    module, _, function = MODELS[name].partition(":")
    return getattr(importlib.import_module(f"noslip.library.{module}"), function)()


add_catalog(MODELS, build)
