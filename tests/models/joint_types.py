"""One joint of every type, its axis along nothing in particular."""

import noslip as ns

ALL_JOINTS = {
    "fixed": ns.joints.Fixed(),
    "revolute": ns.joints.Revolute(axis=(0.3, -0.5, 0.9)),
    "prismatic": ns.joints.Prismatic(axis=(0.8, 0.1, -0.4)),
    "screw": ns.joints.Screw(axis=(0.2, 0.7, -0.4), lead=0.1),
    "translation": ns.joints.Translation(),
    "planar": ns.joints.Planar(),
    "spherical": ns.joints.Spherical(
        angles=ns.joints.Angles(sequence="zyx", names=("yaw", "pitch", "roll"))
    ),
    "free": ns.joints.Free(angles=ns.joints.Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
}
