"""The list of ready models, a catalog of `load`, and model files to start from.

**Model files to start from: a commented vehicle of parts, with sizes and masses of one's own.**

To add a kind: a function that writes parts and scenario for its sizes, and a line in `KINDS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from noslip import Model, ModelError
from noslip.base import nearest
from noslip.model import add_catalog

#: Name of a model → module of this package and function that build it, or its model file.
MODELS: dict[str, str] = {
    "differential-robot": "differential_robot.toml",
    "rolling-disk": "saha_angeles:rolling_disk",
    "agv": "saha_angeles:agv",
    "tractor-trailer": "desantis_machines:tractor_trailer",
    "tractor-trailer-slip": "desantis_machines:tractor_trailer_slip",
    "lhd": "desantis_machines:lhd",
    "lhd-noslip": "desantis_machines:lhd_noslip",
    "manipulator-2r": "desantis_machines:manipulator_2r",
    "manipulator-3r": "desantis_machines:manipulator_3r",
    "manipulator-6r": "desantis_machines:manipulator_6r",
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
    "cartesian-crane": "cartesian_crane.toml",
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


@dataclass(frozen=True, slots=True)
class AskedSize:
    """A number to ask for: what it is, its unit, its usual value, and the range it must be in."""

    description: str
    unit: str
    usual: float
    least: float
    most: float

    @property
    def bounds(self) -> str:
        """The range, with its unit."""
        return f"{self.least:g} to {self.most:g} {self.unit}"


@dataclass(frozen=True, slots=True)
class VehicleKind:
    """A kind of vehicle: what it is, what is asked for, and the function that writes the file.

    Its equations are written in `speeds`, which are regular in every position.
    """

    description: str
    sizes: Mapping[str, AskedSize]
    write: Callable[[Mapping[str, float]], str]
    speeds: tuple[str, ...]


def template_text(kind: str, name: str, sizes: Mapping[str, float]) -> str:
    """The text of a model file that runs.

    Parameters
    ----------
    kind : one of `KINDS`.
    name : name of the model.
    sizes : numbers by the names of the kind's sizes; the usual ones for those left out.

    Raises
    ------
    ModelError : there is no such kind or size, or a number is out of range.
    """
    if kind not in KINDS:
        raise ModelError(f"there is no kind '{kind}'", "kind", nearest(kind, KINDS))
    known = KINDS[kind].sizes
    for size, value in sizes.items():
        if size not in known:
            raise ModelError(f"a {kind} has no '{size}'", size, nearest(size, known))
        if not known[size].least <= value <= known[size].most:
            said = f"{size} is {value:g} {known[size].unit}"
            raise ModelError(said, size, f"give {known[size].bounds}")
    numbers = {size: float(sizes.get(size, facts.usual)) for size, facts in known.items()}
    speeds = ", ".join(f'{{name = "{speed}"}}' for speed in KINDS[kind].speeds)
    head = _HEAD.format(description=KINDS[kind].description, name=name, speeds=speeds)
    parameters = "".join(
        f'{size} = {{value = {_number(numbers[size])}, unit = "{facts.unit}", '
        f'description = "{facts.description}"}}\n'
        for size, facts in known.items()
    )
    gravity = 'g = {value = 9.81, unit = "m/s^2", description = "gravitational acceleration"}\n'
    return head + parameters + gravity + KINDS[kind].write(numbers)


_HEAD = """\
# {description}.
#
#   noslip check {name}.toml    what it consists of, and its degrees of freedom
#   noslip studio {name}.toml   drive it with sliders and the keyboard
#   noslip run {name}.toml      simulate the scenario below and write a report
#
# Axes: x forward, y to the left, z up; the origin is on the ground. SI units, angles in rad.
format = 1
name = "{name}"
description = "{description}"
gravity = [0, 0, "-g"]
# The equations of motion are written in these speeds; the constraints give all others.
independent_speeds = [{speeds}]

# Numbers with names: sliders in the studio, --set NAME=VALUE on the command line.
[parameters]
"""


def _number(value: float) -> str:
    text = f"{value:.12g}"
    return text if any(c in text for c in ".e") else f"{text}.0"


def _torque(sizes: Mapping[str, float], wheels: int) -> float:
    """Torque of each driven wheel that accelerates the vehicle by about 0.3 m/s²."""
    return float(f"{0.3 * 1.2 * sizes['mass'] * sizes['wheel_radius'] / wheels:.2g}")


_BASE = """
# Parts: a parent comes before its children. `noslip expand` shows what they expand to;
# the page "Parts" of the documentation lists all kinds and keys.
[parts]
# A box; its position is that of its middle. Mass center and inertia follow from it.
base = {{type = "base", mass = "mass", size = ["length", "width", "height"], position = {position}}}
"""

_SCENARIO = """
# What `noslip run` simulates: where it starts, and the inputs as functions of time t.
[scenario]
duration = {duration}
samples = 401
{start}inputs = {{{inputs}}}
description = "{description}"
"""


def _differential(sizes: Mapping[str, float]) -> str:
    torque = _torque(sizes, 2)
    caster = min(0.6 * sizes["wheel_radius"], 0.1 * sizes["length"])
    wheels = "".join(
        f'{side} = {{type = "driven_wheel", parent = "base", position = [0, "{y}", "wheel_radius"],'
        f' radius = "wheel_radius", mass = "wheel_mass", damping = {_number(torque / 10)}}}\n'
        for side, y in (("left", "wheel_separation/2"), ("right", "-wheel_separation/2"))
    )
    return (
        _BASE.format(position='["0.25*length", 0, "wheel_radius + height/2"]')
        + "# Driven wheels roll without slipping; each has a motor, the inputs left.torque and "
        "right.torque.\n" + wheels + "# A caster trails behind its swivel axis by the trail.\n"
        f'caster = {{type = "caster", parent = "base", position = ["0.6*length", 0, '
        f"{_number(caster)}], radius = {_number(caster)}, trail = {_number(caster / 2)}, "
        'mass = "0.2*wheel_mass", fork_mass = "0.2*wheel_mass"}\n'
        + _SCENARIO.format(
            duration="10.0",
            start="",
            inputs=f'"left.torque" = "{torque:g}*(1 - 0.5*cos(0.9*t))", '
            f'"right.torque" = "{torque:g}*(1 + 0.5*cos(0.9*t))"',
            description="It starts and weaves to both sides",
        )
    )


def _car(sizes: Mapping[str, float]) -> str:
    torque = _torque(sizes, 1)
    axle = (
        'wheel_separation = "wheel_separation", wheel_radius = "wheel_radius", '
        'wheel_mass = "wheel_mass"'
    )
    return (
        _BASE.format(position='["wheelbase/2", 0, "wheel_radius + height/2"]')
        + "# The motor drives the differential, input rear.torque.\n"
        'rear = {type = "differential_axle", parent = "base", position = [0, 0, "wheel_radius"], '
        + axle
        + ', cage_inertia = "0.05*wheel_mass*wheel_radius^2"}\n'
        "# Both front wheels point to one center of rotation; input front.steering_rate.\n"
        'front = {type = "ackermann_axle", parent = "base", position = ["wheelbase", 0, '
        '"wheel_radius"], wheelbase = "wheelbase", '
        + axle
        + ', knuckle_mass = "0.3*wheel_mass", steering = "rate"}\n'
        + _SCENARIO.format(
            duration="8.0",
            start='start = {"base.vx" = 1.0}\n',
            inputs=f'"rear.torque" = "{torque:g}*cos(0.5*t)", '
            '"front.steering_rate" = "0.25*cos(0.8*t)"',
            description="It accelerates and weaves to both sides",
        )
    )


def _tricycle(sizes: Mapping[str, float]) -> str:
    torque = _torque(sizes, 1)
    return (
        _BASE.format(position='["wheelbase/2", 0, "wheel_radius + height/2"]')
        + "# Two wheels that turn freely.\n"
        'rear = {type = "axle", parent = "base", position = [0, 0, "wheel_radius"], '
        'wheel_separation = "wheel_separation", wheel_radius = "wheel_radius", '
        'wheel_mass = "wheel_mass"}\n'
        "# The front wheel is driven and steered: inputs front.torque and front.steering_rate.\n"
        'front = {type = "steered_driven_wheel", parent = "base", position = ["wheelbase", 0, '
        '"wheel_radius"], radius = "wheel_radius", mass = "wheel_mass", '
        'fork_mass = "0.5*wheel_mass", steering = "rate"}\n'
        + _SCENARIO.format(
            duration="10.0",
            start='start = {"base.vx" = 0.5}\n',
            inputs=f'"front.torque" = "{torque:g}*cos(0.5*t)", '
            '"front.steering_rate" = "0.3*cos(0.8*t)"',
            description="It weaves to both sides",
        )
    )


def _mecanum(sizes: Mapping[str, float]) -> str:
    torque = _torque(sizes, 4)
    wheels, inputs = "", []
    for x, row in (("wheelbase/2", "front"), ("-wheelbase/2", "rear")):
        for y, side in (("wheel_separation/2", "left"), ("-wheel_separation/2", "right")):
            is_minus = (row, side) in (("front", "left"), ("rear", "right"))
            wheels += (
                f'{row}_{side} = {{type = "mecanum_wheel", parent = "base", position = ["{x}", '
                f'"{y}", "wheel_radius"], radius = "wheel_radius", mass = "wheel_mass", '
                f'roller_angle = "{"-" if is_minus else ""}pi/4", '
                f"damping = {_number(torque / 10)}}}\n"
            )
            sign = "-" if is_minus else "+"
            inputs.append(f'"{row}_{side}.torque" = "{torque:g}*(cos(0.6*t) {sign} sin(0.6*t))"')
    return (
        _BASE.format(position='[0, 0, "wheel_radius + height/2"]')
        + "# Each wheel holds along its rollers' axis only; inputs front_left.torque and so on.\n"
        + wheels
        + _SCENARIO.format(
            duration="10.0",
            start="",
            inputs=", ".join(inputs),
            description="It drives around a loop, forward and sideways, at a constant heading",
        )
    )


def _sizes(
    mass: float, box: tuple[float, float, float], radius: float, separation: float, **more: float
) -> dict[str, AskedSize]:
    """Sizes that vehicles share, with their usual values."""
    found = {
        "mass": AskedSize("mass of the base", "kg", mass, 1e-3, 1e6),
        "length": AskedSize("length of the base", "m", box[0], 1e-3, 100.0),
        "width": AskedSize("width of the base", "m", box[1], 1e-3, 100.0),
        "height": AskedSize("height of the base", "m", box[2], 1e-3, 100.0),
        "wheel_radius": AskedSize("radius of the wheels", "m", radius, 1e-3, 10.0),
        "wheel_mass": AskedSize("mass of each wheel", "kg", more["wheel_mass"], 1e-4, 1e5),
        "wheel_separation": AskedSize(
            "distance between left and right wheel", "m", separation, 1e-3, 100.0
        ),
    }
    if "wheelbase" in more:
        found["wheelbase"] = AskedSize(
            "distance between rear and front wheels", "m", more["wheelbase"], 1e-3, 100.0
        )
    return found


#: VehicleKind → what it is, its sizes and its file.
KINDS: dict[str, VehicleKind] = {
    "differential": VehicleKind(
        "Robot with two driven wheels and a caster",
        _sizes(15.0, (0.5, 0.32, 0.14), 0.1, 0.4, wheel_mass=1.2),
        _differential,
        ("base.vx", "base.rate"),
    ),
    "car": VehicleKind(
        "Car with a differential and Ackermann steering",
        _sizes(1200.0, (3.9, 1.2, 0.5), 0.32, 1.5, wheel_mass=18.0, wheelbase=2.6),
        _car,
        ("base.vx",),
    ),
    "tricycle": VehicleKind(
        "Tricycle with a driven and steered front wheel",
        _sizes(60.0, (1.0, 0.5, 0.3), 0.12, 0.5, wheel_mass=2.0, wheelbase=0.8),
        _tricycle,
        ("front.rate",),
    ),
    "mecanum": VehicleKind(
        "Base on four mecanum wheels, which drives in any direction",
        _sizes(40.0, (0.85, 0.36, 0.16), 0.1, 0.5, wheel_mass=1.5, wheelbase=0.6),
        _mecanum,
        ("base.vx", "base.vy", "base.rate"),
    ),
}
