"""Controllers as text, and commas in place of semicolons."""

import pytest

import noslip as ns
from noslip import SimulationError
from noslip.base import members_of
from noslip.control import AbstractControllerPlan

FORMS = {
    "pose": ns.controllers.PoseTracking(),
    "pose:kx=2;ky=6": ns.controllers.PoseTracking(kx=2.0, ky=6.0),
    "pose:kx=2,ky=6,point=0,-a,0": ns.controllers.PoseTracking(
        kx=2.0, ky=6.0, point=(0.0, "-a", 0.0)
    ),
    "computed-torque": ns.controllers.ComputedTorque(kp=4.0, kd=4.0),
    "computed-torque:9,kd=6": ns.controllers.ComputedTorque(kp=9.0, kd=6.0),
    "pd:kp=30,20,kd=6,4,gravity=true": ns.controllers.ProportionalDerivative(
        kp=(30.0, 20.0), kd=(6.0, 4.0), gravity=True
    ),
    "acceleration-resolved:kp=36,kd=12": ns.controllers.AccelerationResolved(kp=36.0, kd=12.0),
    "cartesian:body=link2,components=vx,vy,kp=9": ns.controllers.CartesianTracking(
        body="link2", components=("vx", "vy"), kp=9.0
    ),
    "adaptive:unknown=m3,I3;rates=20,20;gain=5": ns.controllers.AdaptiveTracking(
        unknown=("m3", "I3"), rates=(20.0, 20.0), gain=5.0
    ),
    "path:reach=0.5,k=3": ns.controllers.PathTracking(reach=0.5, k=3.0),
    "steered:steering=steer.angle,wheelbase=l1,ky=0.1": ns.controllers.SteeredTracking(
        steering="steer.angle", wheelbase="l1", ky=0.1
    ),
    "trailer:steering=s.angle,hinge=h.angle,hitch=0.6,trailer=2*l,weights=0.1,1,2,0.5": (
        ns.controllers.TrailerTracking(
            steering="s.angle",
            hinge="h.angle",
            hitch=0.6,
            trailer="2*l",
            weights=(0.1, 1.0, 2.0, 0.5),
        )
    ),
}


@pytest.mark.parametrize("text", FORMS)
def test_text_forms(text):
    assert ns.controllers.parse_controller(text) == FORMS[text]
    assert ns.controllers.parse_controller(FORMS[text].text()) == FORMS[text]


def test_every_controller_of_the_text_form_is_among_these():
    others = {ns.controllers.FeedForward, ns.controllers.Regulator}
    members = members_of(AbstractControllerPlan)
    known = {m for m in members if m.__module__.startswith("noslip.")}
    assert known == {type(c) for c in FORMS.values()} | others


def test_none_and_weights():
    assert ns.controllers.parse_controller("none") == ns.controllers.FeedForward()
    found = ns.controllers.parse_controller("lqr:platform.x=20,torque1=1/2;torque2=1")
    assert isinstance(found, ns.controllers.Regulator)
    assert found.weights == {"platform.x": 20.0, "torque1": 0.5, "torque2": 1.0}


def test_what_is_known_elsewhere_is_filled_in():
    known = {"steering": "steer.angle", "wheelbase": "l1", "point": (0, 0, 0)}
    found = ns.controllers.parse_controller("steered:wheelbase=2.8", known)
    assert (found.steering, found.wheelbase) == ("steer.angle", 2.8)
    assert (
        ns.controllers.parse_controller("computed-torque", known) == ns.controllers.ComputedTorque()
    )


REFUSED = {
    "poze": ("there is no controller 'poze'", "did you mean 'pose'?"),
    "pose:kq=1": ("controller 'pose' has no 'kq'", "known: 'point'"),
    "pose:kx=fast": ("kx is 'fast', which is not a number", "write kx=1.5"),
    "pose:kx=1,kx=2": ("'kx' is given twice", "remove one"),
    "pose:point=0,1": ("point has 2 values, expected x, y and z", "write point=0,0.1,0"),
    "steered": ("needs steering and wheelbase", "steering=…;wheelbase=…"),
    "lqr": ("controller 'lqr' has no weights", "platform.x=20"),
    "lqr:5": ("'5' has no key", "write key=value"),
    "lqr:x=heavy": ("x is 'heavy', which is not a number", "write x=1.5"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_text_that_cannot_be_read(text, refuses):
    what, fix = REFUSED[text]
    with refuses(SimulationError, what, f"controller '{text}'", fix):
        ns.controllers.parse_controller(text)


def test_commas_do_for_semicolons_where_a_key_follows():
    pairs = {
        "circle:radius=2,turns=3": "circle:radius=2;turns=3",
        "line:start=0,0,end=5,1": "line:start=0,0;end=5,1",
        "polyline:points=0,0,4,0,4,3,radius=1,blend=clothoid": (
            "polyline:points=0,0,4,0,4,3;radius=1;blend=clothoid"
        ),
        "parametric:x=3*cos(p),y=atan2(p,2),start=0,end=pi": (
            "parametric:x=3*cos(p);y=atan2(p,2);start=0;end=pi"
        ),
    }
    for comma, semicolon in pairs.items():
        assert ns.paths.parse_path(comma) == ns.paths.parse_path(semicolon)
    assert ns.timing.parse_timing("s-curve:speed=1,acceleration=2,jerk=3") == ns.timing.SCurve(
        speed=1.0, acceleration=2.0, jerk=3.0
    )
