"""Equations in the angles that a model names: closed forms, chosen speeds, and their check."""

from dataclasses import replace
from functools import cache

import pytest
import sympy
from sled_with_rotor import METHODS, REDUCED

import noslip as ns
from noslip.show.equations.derivations import Derivation, derivation
from noslip.show.equations.layout import Lines, to_text
from noslip.show.equations.subject import ANGLES, Subject, printed_equations

NONSPINNING = (
    "w1 = disk.tilt_rate",
    "w2 = disk.yaw_rate*sin(disk.tilt)",
    "w3 = disk.spin_rate + disk.yaw_rate*cos(disk.tilt)",
)


@cache
def derived(name: str, method: str, speeds: tuple[str, ...] = ()) -> Derivation:
    return derivation(ns.derive(ns.load(name), METHODS[method]), speeds=speeds)


def motion_lines(done: Derivation) -> list[str]:
    """The equations of motion as lines of plain text."""
    section = next(s for s in done.sections if s.title == "Equations of motion")
    lines = next(block for block in section.blocks if isinstance(block, Lines))
    return [f"{to_text(x.left)} {x.sign} {to_text(x.right)}" for x in lines.lines]


def rows_of(done: Derivation) -> list[sympy.Expr]:
    """Left minus right of the printed rows, with labels put in."""
    rows = [left - right for left, right in done.motion]
    for symbol, meaning in reversed(done.meanings.items()):
        rows = [row.xreplace({symbol: meaning}) for row in rows]
    return rows


@pytest.mark.parametrize("method", [f.word for f in REDUCED])
def test_the_rolling_disk_has_the_three_equations_of_textbooks(method):
    done = derived("rolling-disk", method)
    assert done.is_confirmed
    lines = motion_lines(done)
    assert len(lines) == 3
    assert max(len(line) for line in lines) <= 100
    s = done.symbols
    m, r, g, C, A = (s[name] for name in ("m", "r", "g", "I_axial", "I_transverse"))
    tilt = s["disk.tilt"]
    yaw1, tilt1, spin1 = (s[f"disk.{name}_rate"] for name in ("yaw", "tilt", "spin"))
    yaw2, tilt2, spin2 = (s[f"disk.{name}_rate'"] for name in ("yaw", "tilt", "spin"))
    c, sn = sympy.cos(tilt), sympy.sin(tilt)
    axial = spin1 + yaw1 * c  # turning about the disk's axis
    about_yaw = A * (yaw2 * sn + 2 * yaw1 * tilt1 * c) - C * axial * tilt1
    about_tilt = (A + m * r**2) * tilt2 + (C + m * r**2) * axial * yaw1 * sn
    about_tilt += m * g * r * c - A * yaw1**2 * sn * c
    about_spin = (C + m * r**2) * (spin2 + yaw2 * c) - (C + 2 * m * r**2) * yaw1 * tilt1 * sn
    for found, textbook in zip(rows_of(done), (about_yaw, about_tilt, about_spin), strict=True):
        assert sympy.simplify(found - textbook) == 0


def test_a_combined_row_is_said_to_be_one():
    text = ns.equations_text(ns.derive(ns.load("rolling-disk")))
    assert "The row of ψ˙ is printed less cos(θ) times that of φ˙, divided by sin(θ)" in text
    assert "q_w" not in text and "abs" not in text


def test_the_disk_in_nonspinning_speeds_is_the_reference_form():
    """The rows (I_t + m r²) ω̇₁ = … in the frame that does not spin with the disk."""
    done = derived("rolling-disk", "complement", NONSPINNING)
    assert done.is_confirmed
    s = done.symbols
    m, r, g, C, A = (s[name] for name in ("m", "r", "g", "I_axial", "I_transverse"))
    (w1, w2, w3), tilt = (s[f"w{k}"] for k in (1, 2, 3)), s["disk.tilt"]
    rates = [s[f"w{k}'"] for k in (1, 2, 3)]
    expected = (
        (A + m * r**2) * rates[0]
        + m * g * r * sympy.cos(tilt)
        + (C + m * r**2) * w2 * w3
        - A * w2**2 * sympy.cot(tilt),
        A * rates[1] - C * w1 * w3 + A * w1 * w2 * sympy.cot(tilt),
        (C + m * r**2) * rates[2] - m * r**2 * w1 * w2,
    )
    for found, reference in zip(rows_of(done), expected, strict=True):
        assert sympy.simplify(found - reference) == 0


def test_the_heavy_body_has_eulers_equations_with_its_weight_in_angles():
    done = derived("heavy-body", "boltzmann-hamel")
    assert done.is_confirmed
    s = done.symbols
    J = sympy.Matrix(3, 3, lambda i, k: s["J_" + "".join(sorted("xyz"[i] + "xyz"[k]))])
    w, rates = (sympy.Matrix([s[f"pivot.w{k}{mark}"] for k in "xyz"]) for mark in ("", "'"))
    arm = sympy.Matrix([s[f"s_{k}"] for k in "xyz"])
    roll, pitch = s["pivot.roll"], s["pivot.pitch"]
    down = sympy.Matrix(
        [
            sympy.sin(pitch),
            -sympy.cos(pitch) * sympy.sin(roll),
            -sympy.cos(pitch) * sympy.cos(roll),
        ]
    )
    torque = sympy.Matrix([s[f"tau_{k}"] for k in "xyz"])
    euler = J * rates + w.cross(J * w) - s["m"] * s["g"] * arm.cross(down) - torque
    for found, expected in zip(rows_of(done), euler, strict=True):
        assert sympy.expand(found - expected) == 0


def test_rates_of_angles_are_written_with_the_tangent():
    text = ns.equations_text(ns.derive(ns.load("heavy-body")))
    assert "φ˙ = ω_x + (ω_z cos(φ) + ω_y sin(φ)) tan(θ)" in text


@pytest.mark.parametrize("name", ["rolling-disk", "heavy-body", "whipple-bicycle"])
def test_the_motion_in_angles_is_the_compiled_one(name):
    printed = printed_equations(ns.derive(ns.load(name)))
    assert printed.coordinates == ANGLES
    assert printed.difference(Subject(printed).alphabet.states) < 1e-9


def test_another_motion_is_noticed():
    """The check compares with what is given, here a disk of other inertia."""
    disk = ns.load("rolling-disk")
    printed = printed_equations(ns.derive(disk))
    heavier = replace(disk.bodies[0], inertia=("I_transverse", "I_transverse", "2*I_axial"))
    other = ns.derive(replace(disk, bodies=(heavier,)))
    assert replace(printed, given=other).difference(Subject(printed).alphabet.states) > 1e-3


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("agv", {"coordinates": ANGLES}, "no joint of the model names angles"),
        ("rolling-disk", {"coordinates": "angle"}, "there are no coordinates 'angle'"),
        ("rolling-disk", {"speeds": ("disk.yaw_rat",)}, "no speed 'disk.yaw_rat'"),
        ("rolling-disk", {"speeds": ("w = disk.spin_rate*",)}, "cannot be read"),
        ("rolling-disk", {"speeds": ("w = disk.spin_rate*k",)}, "the unknown name 'k'"),
        ("rolling-disk", {"speeds": ("w = 2*m",)}, "contains no speed"),
        ("rolling-disk", {"speeds": ("w = disk.spin_rate^2", *NONSPINNING[:2])}, "not linear"),
        ("agv", {"speeds": ("wheel1.rate",)}, "1 independent speeds are named"),
    ],
)
def test_what_cannot_be_printed_is_told(name, given, said):
    with pytest.raises(ns.NoslipError, match=said) as caught:
        printed_equations(ns.derive(ns.load(name)), **given)
    assert caught.value.fix
