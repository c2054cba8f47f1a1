"""Pinocchio: forward dynamics of arms and chains by its articulated-body algorithm."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from problems import GRAVITY, hinge_states, links
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


if __name__ == "__main__":
    serve({"hinges": hinges}, ("pin", "numpy"))
