"""The load-haul-dump vehicle on axles that do not slip sideways [DeSantis1994, appendix A].

The appendix concludes that it then cannot bend at its waist. It can: two degrees of freedom remain,
the forward speed v and the waist's rate φ̇, with

    θ̇ = −(v sin φ + l2 φ̇) / (c cos φ + l2)

The two axles' centers of rotation need only lie on a line with the waist; they coincide where
φ̇ = 0.
"""

from __future__ import annotations

from noslip import Model, Scenario
from noslip.contacts import KnifeEdge
from noslip.library.lhd import DRIVE, vehicle


def build() -> Model:
    """The vehicle with two degrees of freedom: forward speed of the front axle and waist rate."""
    b = vehicle(
        name="lhd-noslip",
        description="Articulated load-haul-dump vehicle whose axles do not slip sideways",
    )
    b.contact(KnifeEdge(name="front_axle", body="front", direction=(1.0, 0.0, 0.0)))
    b.contact(
        KnifeEdge(name="rear_axle", body="rear", point=("-l2", 0.0, 0.0), direction=(1.0, 0.0, 0.0))
    )
    b.independent_speed("front.vx")
    b.independent_speed("waist.rate")
    b.scenario(
        Scenario(
            duration=4.0,
            samples=401,
            start={"waist.angle": 0.1, "front.vx": 2.0},
            inputs=DRIVE,
            description="Driven at the front axle while its waist swings to both sides",
        )
    )
    return b.build()
