"""Pinocchio: forward dynamics of arms, chains and trees by its articulated-body algorithm."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from problems import GRAVITY, hinge_states, links
from tree_problems import Tree, random_tree
from worker import Job, serve


def _model(name: str) -> pin.Model:
    model = pin.Model()
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    parent = 0
    for k, link in enumerate(links(name)):
        place = pin.SE3(link.rotation, link.position)
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"joint{k}")
        inertia = pin.Inertia(link.mass, np.array(link.center), link.tensor)
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


def hinges(name: str, count: int) -> Job:
    """Its own loop over states in C++, on one thread."""
    model = _model(name)
    pool = pin.ModelPool(model, 1)
    tables = [np.asfortranarray(table.T) for table in hinge_states(model.nv, count)]
    out = np.zeros((model.nv, count), order="F")

    def call() -> None:
        pin.abaInParallel(1, pool, *tables, out)

    call()
    return Job(call=call, pieces=count, answer=out[:, 0].tolist())


def trees(numbers: list[int]) -> Job:
    """Mass matrices and accelerations of random trees."""
    return Job(call=lambda: None, answer=[_tree(random_tree(number)) for number in numbers])


def _tree(tree: Tree) -> dict[str, list]:
    model = pin.Model()
    model.gravity.linear = tree.gravity
    joints, order, first = [], [], 0
    for k, link in enumerate(tree.links):
        kind = {
            "revolute": lambda axis: pin.JointModelRevoluteUnaligned(axis),
            "prismatic": lambda axis: pin.JointModelPrismaticUnaligned(axis),
            "free": lambda _: pin.JointModelFreeFlyer(),
        }[link.kind](link.axis)
        parent = joints[link.parent] if link.parent >= 0 else 0
        place = pin.SE3(link.rotation, link.position)
        joints.append(model.addJoint(parent, kind, place, f"joint{k}"))
        inertia = pin.Inertia(link.mass, link.center, link.tensor)
        model.appendBodyToJoint(joints[-1], inertia, pin.SE3.Identity())
        # its speeds of a free body: velocity first
        turned = (3, 4, 5, 0, 1, 2) if link.kind == "free" else (0,)
        order += [first + k for k in turned]
        first += link.freedoms
    # and its quaternion: scalar last
    q = np.concatenate([np.append(np.delete(x, 3), x[3]) if len(x) > 1 else x for x in tree.q])
    v, forces = (np.concatenate(part)[order] for part in (tree.v, tree.forces))
    data = model.createData()
    back = np.argsort(order)
    rates = pin.aba(model, data, q, v, forces)[back]
    mass = pin.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    return {"mass": mass[np.ix_(back, back)].tolist(), "rates": rates.tolist()}


if __name__ == "__main__":
    serve({"hinges": hinges, "trees": trees}, ("pin", "numpy"))
