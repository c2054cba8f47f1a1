"""Random trees of joints for Hypothesis: every joint type, frames askew, full inertia tensors."""

import dataclasses

import numpy as np
from hypothesis import strategies as st

import noslip as ns

_numbers = st.integers(-90, 90).map(lambda k: k / 100)
_vectors = st.tuples(_numbers, _numbers, _numbers)
_axes = _vectors.filter(lambda a: np.linalg.norm(a) > 0.2)
_sequences = st.sampled_from(("xyz", "zyx", "zxz", "yzy"))
_placements = st.builds(ns.Placement, position=_vectors, angles=_vectors, sequence=_sequences)
_joint_types = st.one_of(
    st.builds(ns.joints.Fixed),
    st.builds(ns.joints.Revolute, axis=_axes),
    st.builds(ns.joints.Prismatic, axis=_axes),
    st.builds(ns.joints.Planar),
    st.builds(ns.joints.Spherical),
    st.builds(ns.joints.Free),
)


@st.composite
def _bodies(draw: st.DrawFn, name: str) -> ns.Body:
    """A body of four mass points and a small sphere: any inertia tensor a real body can have."""
    points = np.array([draw(_vectors) for _ in range(4)]) / 3
    masses = np.array([draw(st.integers(1, 20)) for _ in range(4)]) / 10
    center = masses @ points / masses.sum()
    r = points - center
    squares = np.sum(r**2, axis=1)
    tensor = sum(
        m * (s * np.eye(3) - np.outer(x, x)) for m, s, x in zip(masses, squares, r, strict=True)
    )
    tensor = tensor + 0.01 * np.eye(3)
    entries = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return ns.Body(
        name=name,
        mass=float(masses.sum()),
        inertia=tuple(float(e) for e in entries),
        center_of_mass=tuple(float(c) for c in center),
    )


@st.composite
def trees(
    draw: st.DrawFn, root: ns.joints.Free | None = None, least: int = 2, most: int = 6
) -> ns.Model:
    """A tree of 2 to 6 bodies; its first joint is of type `root` if that is given."""
    count = draw(st.integers(least, most))
    names = [f"body{k}" for k in range(count)]
    joints = []
    for k, name in enumerate(names):
        # what hangs on a given root must all move with it
        carriers = ["world", *names[:k]] if root is None or not k else names[:k]
        parent = draw(st.sampled_from(carriers))
        type = draw(_joint_types) if k or root is None else root
        joints.append(
            ns.Joint(
                name=f"joint{k}",
                parent=parent,
                child=name,
                type=type,
                parent_frame=draw(_placements),
                child_frame=draw(_placements),
            )
        )
    return ns.Model(
        name="random-tree",
        gravity=tuple(10 * g for g in draw(_vectors)),
        bodies=tuple(draw(_bodies(name)) for name in names),
        joints=tuple(joints),
    )


@st.composite
def trees_in_contact(draw: st.DrawFn) -> ns.Model:
    """A tree of 1 to 3 bodies, free at its root, that rolls or skates on a tilted plane."""
    model = draw(trees(root=ns.joints.Free(), least=1, most=3))
    body = draw(st.sampled_from([b.name for b in model.bodies]))
    radius = draw(st.integers(5, 50)) / 100
    axis, place = draw(_axes), draw(_placements)
    wheel = draw(
        st.sampled_from(
            (
                ns.surfaces.Disk(radius=radius, axis=axis),
                ns.surfaces.Ball(radius=radius),
                ns.surfaces.Torus(radius=radius, tube_radius=radius / 3, axis=axis),
                None,
            )
        )
    )
    plane = ns.contacts.Plane(frame=place)
    point = draw(_vectors)
    contact: ns.contacts.Rolling | ns.contacts.KnifeEdge
    if wheel is None:
        contact = ns.contacts.KnifeEdge(
            name="touch", body=body, direction=axis, point=point, plane=plane
        )
    else:
        contact = ns.contacts.Rolling(
            name="touch", body=body, wheel=wheel, center=point, plane=plane
        )
    return dataclasses.replace(model, contacts=(contact,))
