"""Names a model declares, and the check as a whole. One mistake is one fault."""

from dataclasses import replace

import pytest
from cart_model import CART, FLYER, LOOP, RIM, body, hinge, more, one_fault, parameter, swap

from noslip import Fault, ForceInput, IndependentSpeed, ModelBuilder, ModelError, SpeedInput
from noslip.forces import JointDamper
from noslip.joints import Angles, Free, Planar
from noslip.model import check_model
from noslip.rows import PositionRow
from noslip.shapes import Sphere


def test_good_models_have_no_faults():
    for model in (CART, FLYER, LOOP, more(FLYER, "contacts", RIM)):
        assert check_model(model) == ()


NAMES = [
    (replace(CART, name=" "), "the model has no name", "name", 'for example name = "my_robot"'),
    (more(CART, "parameters", parameter("l")), "2 parameters are called 'l'", "parameters.l"),
    (more(CART, "bodies", body("rod")), "2 bodies are called 'rod'", "bodies.rod"),
    (more(CART, "joints", hinge("swing", "world", "rod")), "are called 'swing'", "joints.swing"),
    (more(FLYER, "contacts", RIM, RIM), "2 contacts are called 'rim'", "contacts.rim"),
    (more(CART, "forces", JointDamper(name="drive", speed="rail.speed", damping=1.0)),
     "2 forces are called 'drive'", "forces.drive", "give each force its own name"),
    (more(CART, "rows", *[PositionRow(name="stay", expression="swing.angle")] * 2),
     "2 rows are called 'stay'", "rows.stay", "give each row its own name"),
    (more(CART, "inputs", ForceInput(name="push", unit="N")), "are called 'push'", "inputs.push"),
    (more(CART, "speed_inputs", SpeedInput(name="push", speed="swing.rate")),
     "an input and a speed input are both called 'push'", "speed_inputs.push",
     "rename one of them; a scenario gives both kinds by name"),
    (swap(CART, "forces", name="drive 1"), "name that expressions cannot use", 'forces."drive 1"'),
    (more(CART, "speed_inputs", SpeedInput(name="2nd", speed="swing.rate")),
     "speed input '2nd' has a name that expressions cannot use", "speed_inputs.2nd",
     "for example 'n2nd'"),
    (replace(more(CART, "bodies", body("world"))), "is the name of the ground", "bodies.world"),
    (more(CART, "parameters", parameter("sin")), "a function in expressions", "parameters.sin"),
    (more(CART, "parameters", parameter("pi")), "constant 3.14159 in expressions", "parameters.pi"),
    (more(CART, "parameters", parameter("t")), "that means time in expressions", "parameters.t"),
    (more(CART, "parameters", parameter("push")), "has the name of an input", "parameters.push"),
    (more(CART, "inputs", ForceInput(name="pi", unit="N")), "3.14159 in expressions", "inputs.pi"),
    (swap(FLYER, "joints", type=Free(angles=Angles(sequence="zxz", names=("x", "b", "c")))),
     "joint 'fly' calls an angle or rate 'x', the name of its coordinate or speed",
     "joints.fly.angles.names",
     'give three other names, for example names = ["yaw", "pitch", "roll"]'),
    (swap(FLYER, "joints", type=Free(angles=Angles(sequence="zxz", names=("a", "b", "b")))),
     "joint 'fly' calls an angle or rate 'b', the name of another angle or rate",
     "joints.fly.angles.names", "give three other names"),
    (swap(FLYER, "joints", type=Free(angles=Angles(sequence="zxz", names=("a", "b", "c d")))),
     "joint 'fly', angle 'c d', has a name that expressions cannot use", "joints.fly.angles.names",
     "for example 'c_d'"),
    (more(CART, "independent_speeds", IndependentSpeed(name="a b", expression="2*rail.speed")),
     "independent speed 'a b' has a name that expressions cannot use", "independent_speeds[0].name",
     "for example 'a_b'"),
    (
        more(
            CART,
            "independent_speeds",
            IndependentSpeed(name="rail.speed", expression="2*rail.speed"),
        ),
        "independent speed 'rail.speed' has an expression and the name of a tree speed",
        "independent_speeds[0].name",
        "give the expression a new name, or leave the expression out",
    ),
    *(
        (
            replace(CART, name=name),
            f"the model's name is {name!r}, which cannot name a folder for its runs",
            "name",
            "leave out / ",
        )
        for name in ("../../evil", "a\nb", "/", ".hidden", "..", "a\\b", "C:", "\x1b[31m", " x")
    ),
    (replace(CART, name="n" * 101), "the model's name has 101 characters, at most 100", "name"),
]  # fmt: skip


@pytest.mark.parametrize("case", NAMES)
def test_a_name_at_fault(case):
    one_fault(*case)


def test_all_faults_come_together_and_numbered():
    model = more(swap(CART, "joints", parent="crat"), "bodies", body("lost"))
    with pytest.raises(ModelError) as caught:
        check_model(model)
    assert [f.where for f in caught.value.faults] == ["joints.swing.parent", "bodies.lost"]
    assert str(caught.value).startswith("2 faults\n1. joint 'swing' refers")


def test_of_very_many_faults_the_first_are_shown_and_all_are_held():
    model = more(CART, "parameters", *(parameter(f"p{k}", unit="meters") for k in range(30)))
    with pytest.raises(ModelError) as caught:
        check_model(model)
    assert len(caught.value.faults) == 30
    assert "20. parameter 'p19'" in str(caught.value) and "21." not in str(caught.value)
    assert str(caught.value).endswith("and 10 more, shown when these are corrected")


@pytest.mark.parametrize("name", ["Шлитен 🛷", "two wheeler (v1.2)", "n" * 100])
def test_a_model_may_have_any_name_that_a_folder_may(name):
    assert check_model(replace(CART, name=name)) == ()


def test_places_are_told_by_the_caller():
    def locate(path):
        return "cart.toml, line 7, " + "/".join(map(str, path))

    with pytest.raises(ModelError) as caught:
        check_model(swap(CART, "joints", parent="crat"), locate=locate)
    assert caught.value.where == "cart.toml, line 7, joints/swing/parent"
    (warning,) = check_model(more(CART, "parameters", parameter("spare")), locate=locate)
    assert warning.where == "cart.toml, line 7, parameters/spare"


def test_what_is_declared_and_never_used_is_a_warning():
    model = more(CART, "parameters", parameter("spare"))
    model = more(model, "inputs", ForceInput(name="idle", unit="N"))
    assert check_model(model) == (
        Fault(
            "parameter 'spare' is never used",
            "parameters.spare",
            "use it in an expression, or remove it",
        ),
        Fault("input 'idle' is never used", "inputs.idle", "use it in an expression, or remove it"),
    )


def test_the_builder_checks_what_it_builds():
    builder = ModelBuilder(name="sled", gravity=(0.0, 0.0, -9.81))
    builder.body("sled", mass=1.0, moment=1.0, shapes=(Sphere(radius=0.1),))
    builder.joint("sled", Planar(), parent="world", child="slde")
    with pytest.raises(ModelError, match="joint 'sled' refers to body 'slde'"):
        builder.build()
