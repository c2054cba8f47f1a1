"""Steady motions that do not exist, and ones that do at speeds far away.

A block on a slope is pulled by more than its friction can ever hold: it accelerates at any speed.
The residual that is left does not shrink with the speed, so no speed makes it a steady motion.
"""

import numpy as np
import pytest

import noslip as ns

#: Forces of at most LEVEL that grow with the speed v and saturate.
SATURATING = {
    "tanh": "-LEVEL*tanh(v/0.1)",
    "root": "-LEVEL*v/sqrt(0.01 + v^2)",
    "atan": "-LEVEL*2/pi*atan(10*v)",
    "exp": "-LEVEL*(1 - exp(-10*abs(v)))*sign(v)",
    "falling": "-2*LEVEL*v/(1 + v^2)",
}


def blocks(force: str, pull: float = 2.0, damper: float = 0.0) -> ns.System:
    """Blocks of 1 kg on parallel slopes, each with a force of its speed v; a damper between two."""
    builder = ns.ModelBuilder(name="blocks", gravity=(pull, 0.0, 0.0))
    builder.parameter("level", 1.0, "N")
    for name in ("first", "second") if damper else ("first",):
        builder.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        slide = ns.joints.Prismatic(axis=(1.0, 0.0, 0.0))
        builder.joint(name, slide, parent="world", child=name)
        law = force.replace("v", f"{name}.speed").replace("LEVEL", "level")
        builder.force(ns.forces.Wrench(name=f"on_{name}", body=name, force=(law, 0.0, 0.0)))
    if damper:
        for name, sign in (("first", "-"), ("second", "")):
            law = f"{sign}{damper}*(first.speed - second.speed)"
            builder.force(ns.forces.Wrench(name=f"damper_{name}", body=name, force=(law, 0.0, 0.0)))
    return ns.compile(ns.derive(builder.build()))


@pytest.mark.parametrize("force", SATURATING.values(), ids=SATURATING)
def test_no_speed_balances_what_saturates(force: str) -> None:
    system = blocks(force)
    for guess in (None, {"first.speed": 0.3}, {"first.speed": -5.0}, {"first.speed": 1e6}):
        with pytest.raises(ns.NoslipError, match="no steady motion"):
            ns.steady(system, {}, guess=guess)
        batch = ns.steady_batch(system, {}, guess=guess, parameters={"level": [1.0, 0.5, 1.9]})
        # level 1.9 of 'falling' is 1.9 N at most, below the pull of 2 N as well
        assert not batch.is_found.any()
        assert all("no steady motion" in batch.messages[k] for k in range(3))


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6])
def test_forces_are_compared_with_each_other_at_any_scale(scale: float) -> None:
    """An acceleration of 1e-12 m/s² is not small beside forces of 1e-12 N."""
    system = blocks(SATURATING["tanh"], pull=2.0 * scale)
    with pytest.raises(ns.NoslipError, match="no steady motion"):
        ns.steady(system, {}, parameters={"level": scale})
    batch = ns.steady_batch(system, {}, parameters={"level": [scale, 4.0 * scale]})
    assert batch.is_found.tolist() == [False, True]
    # 4 tanh(v/0.1) = 2
    exact = 0.1 * np.arctanh(0.5)
    one = ns.steady(system, {}, parameters={"level": 4.0 * scale})
    assert one.values["first.speed"] == pytest.approx(exact, rel=1e-9)
    assert batch.values["first.speed"][1] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("damper", [1.0, 1e3, 1e6])
def test_large_terms_that_cancel_do_not_hide_a_residual(damper: float) -> None:
    """Two blocks run away side by side: terms of the damper are large, its force is none."""
    system = blocks(SATURATING["root"], damper=damper)
    for guess in (None, {"first.speed": 1.0}):
        with pytest.raises(ns.NoslipError, match="no steady motion"):
            ns.steady(system, {}, guess=guess)
        assert not ns.steady_batch(system, {}, guess=guess, count=2).is_found.any()


@pytest.mark.parametrize("damping", [1e-9, 1e-4, 1.0, 1e5])
def test_a_far_terminal_speed_is_found(damping: float) -> None:
    """−d v balances the pull at v = 2/d, however far that is."""
    system = blocks(f"-{damping!r}*LEVEL*v")
    exact = 2.0 / damping
    assert ns.steady(system, {}).values["first.speed"] == pytest.approx(exact, rel=1e-9)
    batch = ns.steady_batch(system, {}, parameters={"level": [1.0, 2.0]})
    found = batch.values["first.speed"]
    np.testing.assert_allclose(found, [exact, exact / 2.0], rtol=1e-9)


def test_a_repulsion_that_fades_is_no_equilibrium() -> None:
    """exp(−x) is below every absolute bound far away, and the only force that acts there."""
    builder = ns.ModelBuilder(name="repelled", gravity=(0.0, 0.0, 0.0))
    builder.body("block", mass=1.0, inertia=(0.1, 0.1, 0.1))
    slide = ns.joints.Prismatic(axis=(1.0, 0.0, 0.0))
    builder.joint("slide", slide, parent="world", child="block")
    law = "exp(-slide.position)"
    builder.force(ns.forces.Wrench(name="push", body="block", force=(law, 0.0, 0.0)))
    system = ns.compile(ns.derive(builder.build()))
    with pytest.raises(ns.NoslipError, match="no steady motion"):
        ns.steady(system, {})
    assert not ns.steady_batch(system, {}, count=1).is_found.any()


@pytest.mark.parametrize("speed", [0.0, 1.0, 7e12])
def test_linearize_refuses_what_accelerates(speed: float) -> None:
    system = blocks(SATURATING["tanh"])
    with pytest.raises(ns.NoslipError, match="not steady"):
        ns.linearize(system, {"first.speed": speed})
    # the first variant holds: 4 tanh(v/0.1) = 2
    held = 0.1 * np.arctanh(0.5)
    batch = ns.linearize_batch(
        system, {"first.speed": [held, speed]}, parameters={"level": [4.0, 1.0]}
    )
    assert batch.is_steady.tolist() == [True, False]
