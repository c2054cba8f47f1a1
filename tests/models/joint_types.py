"""One joint of every type, its axis along nothing in particular."""

import noslip as ns

ALL_JOINTS = {
    "fixed": ns.Fixed(),
    "revolute": ns.Revolute(axis=(0.3, -0.5, 0.9)),
    "prismatic": ns.Prismatic(axis=(0.8, 0.1, -0.4)),
    "screw": ns.Screw(axis=(0.2, 0.7, -0.4), lead=0.1),
    "translation": ns.Translation(),
    "planar": ns.Planar(),
    "spherical": ns.Spherical(angles=ns.Angles(sequence="zyx", names=("yaw", "pitch", "roll"))),
    "free": ns.Free(angles=ns.Angles(sequence="zxz", names=("yaw", "tilt", "spin"))),
}
