"""Functions of PyTorch, where it is installed: its own gradient checker, and our derivatives."""

import sys

import numpy as np
import pytest

import noslip as ns


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture
def point(system_of, rng):
    system = system_of("tractor-trailer")
    places = system.kinematics.probe.configurations(3)
    x = np.array([[*q, *rng.normal(size=len(system.independent_speeds))] for _, q in places])
    return system, x, rng.normal(size=len(system.inputs)), system.parameters()


def test_rates_and_their_derivatives_are_ours(torch, point):
    system, x, u, p = point
    f = ns.to_torch(system)
    found = f(0.0, torch.tensor(x), torch.tensor(u))
    for row, state in zip(found, x, strict=True):
        ours = system.rates(0.0, np.append(state, 0.0), u, p)[: len(state)]
        np.testing.assert_allclose(row.numpy(), ours, rtol=1e-12, atol=1e-12)
    given = [torch.tensor(a, requires_grad=True) for a in (x[:1], u)]
    # finite differences of PyTorch's own checker, which also broadcasts u
    assert torch.autograd.gradcheck(lambda a, b: f(0.0, a, b), given, eps=1e-6, atol=1e-5)
    whole = [torch.tensor(a, requires_grad=True) for a in (x, u, p)]
    f(torch.tensor(0.0, dtype=torch.float64), *whole).sum().backward()
    single = [torch.tensor(a, requires_grad=True) for a in (u, p)]
    for state in x:
        f(0.0, torch.tensor(state), *single).sum().backward()
    for one, many in zip(single, whole[1:], strict=True):
        np.testing.assert_allclose(many.grad.numpy(), one.grad.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("mode", ["forward", "adjoint"])
def test_a_gradient_of_a_run_is_ours(torch, mode, system_of):
    system = system_of("agv")
    drive = dict(
        duration=1.0, samples=6, inputs={"torque2": -0.04}, rtol=1e-11, atol=1e-11,
        start={"wheel1.rate": -4.0, "bracket.angle": 0.1},
    )  # fmt: skip
    names, columns = ("m_platform", "wheel2.rate", "torque1"), ("platform.x", "wheel3.rate")
    run = ns.simulate_torch(system, with_respect_to=names, columns=columns, mode=mode, **drive)
    theta = torch.tensor([25.0, -5.0, 0.05], dtype=torch.float64, requires_grad=True)
    (run(theta) ** 2).sum().backward()
    given = {**drive, "inputs": {"torque1": 0.05, "torque2": -0.04}}
    given["start"] = {**drive["start"], "wheel2.rate": -5.0}
    found = ns.simulate_sensitivities(
        system, with_respect_to=names, parameters={"m_platform": 25.0}, **given
    )
    slope = sum(2 * found.run[name] @ found[name] for name in columns)
    np.testing.assert_allclose(theta.grad.numpy(), slope, rtol=1e-7)


def test_without_torch_the_extra_is_named(system_of, monkeypatch, refuses):
    monkeypatch.setitem(sys.modules, "torch", None)
    fix = 'pip install "noslip[torch]"'
    with refuses(ns.NoslipError, "needs the package PyTorch", "PyTorch function of model", fix):
        ns.to_torch(system_of("agv"))
