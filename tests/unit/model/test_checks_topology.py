"""How joints connect bodies and prescribe motions. A case makes one mistake, which is one fault."""

from dataclasses import replace

import pytest
from cart_model import CART, FLYER, LOOP, body, faults, hinge, more, one_fault, swap

from noslip import SpeedInput
from noslip.joints import Fixed
from noslip.model import check_model

TOPOLOGY = [
    (replace(CART, bodies=(), joints=(), forces=()), "the model has no bodies", "bodies"),
    (more(CART, "bodies", body("lost")), "in the air: no joint has it as its child", "bodies.lost"),
    (
        replace(
            more(CART, "bodies", body("a"), body("b")),
            joints=(*CART.joints, hinge("j", "a", "b"), hinge("k", "a", "rod")),
        ),
        "body 'a' hangs in the air, and with it 'b': no joint has it as its child",
        "bodies.a",
        "add a joint with child = \"a\", or swap parent and child of joint 'j'",
    ),
    (
        replace(
            more(CART, "bodies", body("a"), body("b"), body("c")),
            joints=(
                *CART.joints,
                hinge("j", "a", "b"),
                hinge("k", "b", "a"),
                hinge("h", "b", "c"),
            ),
        ),
        "bodies 'a', 'b' hang in the air, and with them 'c': their joints 'k', 'j' form a cycle "
        "that does not reach the world",
        "bodies.a",
        'add a joint with parent = "world" to one of them, listed before the cycle closes',
    ),
    (more(CART, "joints", hinge("self", "rod", "rod")), "ties body 'rod' to itself", "joints.self"),
    (more(CART, "joints", hinge("back", "rod", "world")), "nothing can carry", "joints.back.child"),
    (
        more(LOOP, "speed_inputs", SpeedInput(name="w", speed="pin.rate")),
        "speed input 'w' uses 'pin.rate', but joint 'pin' closes a loop and has no coordinates or "
        "speeds",
        "speed_inputs.w.speed",
        "the first listed carries it and later ones close loops, so listing 'pin' earlier",
    ),
    (
        replace(LOOP, joints=(*CART.joints, hinge("pin", "world", "rod", motion={"angle": "t"}))),
        "joint 'pin' prescribes a motion, but it closes a loop and has no coordinates",
        "joints.pin.motion",
        "the first listed carries it, so 'pin' may be listed earlier",
    ),
    (
        swap(CART, "joints", motion={"angel": "t"}),
        "joint 'swing' prescribes 'angel', which a revolute joint does not have",
        "joints.swing.motion.angel",
        "coordinates that can be prescribed here: 'angle'",
    ),
    (
        replace(swap(CART, "joints", 0, type=Fixed(), motion={"x": "t"}), forces=(), inputs=()),
        "joint 'rail' prescribes 'x', which a fixed joint does not have",
        "joints.rail.motion.x",
        "coordinates that can be prescribed here: none",
    ),
    (swap(FLYER, "joints", motion={"qw": "1"}), "entry of a quaternion", "joints.fly.motion.qw"),
    (
        swap(FLYER, "joints", motion={"yaw": "t", "x": "t"}),
        "joint 'fly' prescribes 'yaw' but not 'tilt', 'spin'; an orientation is prescribed by all "
        "its named angles",
        "joints.fly.motion",
        'add tilt = "0" and spin = "0"',
    ),
]


@pytest.mark.parametrize("case", TOPOLOGY)
def test_a_connection_at_fault(case):
    one_fault(*case)


def test_all_three_named_angles_may_be_prescribed():
    motion = {"x": "t", "yaw": "t", "tilt": "1", "spin": "2*t"}
    assert check_model(swap(FLYER, "joints", motion=motion)) == ()


def test_a_reversed_chain_of_joints_is_no_fault():
    assert check_model(replace(CART, joints=CART.joints[::-1])) == ()


def test_a_misspelled_parent_is_one_fault_however_much_hangs_on_it():
    model = swap(CART, "joints", 0, parent="wrld")
    (fault,) = faults(model)
    assert fault.what == "joint 'rail' refers to body 'wrld', which is not declared"


def test_a_joint_from_the_world_to_itself_is_one_fault():
    """Not also a body in the air, nor a loop without coordinates."""
    (fault,) = faults(swap(CART, "joints", 0, child="world"))
    assert fault.what == "joint 'rail' has 'world' as its child, which nothing can carry"
    assert fault.fix == "name the body that it carries as its child"
