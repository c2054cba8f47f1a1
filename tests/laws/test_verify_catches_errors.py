"""`verify` passes on every library model, and fails when an error is put in on purpose."""

import dataclasses

import casadi as ca
import pytest

import noslip as ns
from noslip import AbstractFormulation
from noslip.algebra import cross, symmetric_solve
from noslip.formulations import applied_forces, kinetic_energy


def failed(certificate):
    return {finding.check for finding in certificate.findings if not finding.holds}


@pytest.mark.parametrize("name", ns.MODELS)
def test_every_library_model_has_a_clean_certificate(name):
    certificate = ns.verify(ns.load(name), states=3)
    assert certificate.holds, certificate.text()
    assert certificate.states == 3


def test_another_seed_gives_other_states_and_the_same_seed_the_same():
    model = ns.load("agv")
    first, again = ns.verify(model, seed=1, states=2), ns.verify(model, seed=1, states=2)
    assert first == again
    assert ns.verify(model, seed=2, states=2) != first


class Substituted(AbstractFormulation):
    """The classic mistake: the rolling constraint put into L before differentiating.

    The equations so found still conserve energy, which is why the mistake survives.
    """

    name = "constraint substituted into L"
    reference = "CameronBook1993"

    def fill(self, kinematics):
        kin = kinematics
        right = ns.BoltzmannHamel().fill(kin)
        s = kin.symbols
        energy = kinetic_energy(kin.tree, kin.twists, kin.v)
        P = ca.gradient(energy, kin.eta)
        q_dot = ca.mtimes(kin.N, kin.v)
        beta = ca.mtimes(kin.N, kin.S)
        # Hamel's term of the independent speeds alone, with the reduced momenta
        fixed = ca.SX.sym("P", P.shape[0])
        moving = ca.SX.sym("m", q_dot.shape[0])
        N = kin.N
        a = ca.mtimes(N, symmetric_solve(ca.mtimes(N.T, N), ca.mtimes(kin.E.T, fixed))[0])
        curl = ca.jtimes(a, s.q, moving) - ca.gradient(ca.dot(a, moving), s.q)
        curl = ca.substitute([curl], [fixed, moving], [P, q_dot])[0]
        bias = ca.jtimes(P, s.q, q_dot) + ca.mtimes(beta.T, curl - ca.gradient(energy, s.q))
        blocks = right.blocks()._replace(bias=bias)
        return dataclasses.replace(right, formulation=self, blocks=lambda: blocks)


def test_substituting_the_constraint_into_the_lagrangian_is_caught():
    formulations = (ns.NaturalComplement(), Substituted())
    certificate = ns.verify(ns.load("agv"), formulations=formulations)
    assert "accelerations" in failed(certificate)
    assert "DISAGREE" in certificate.text()


class Misprint(AbstractFormulation):
    """Eq. (33) of [SahaAngeles1991] as printed: the contact point's own velocity left out."""

    name = "eq. (33) as printed"
    reference = "SahaAngeles1991"

    def fill(self, kinematics):
        kin = kinematics
        right = ns.NaturalComplement().fill(kin)
        node, omega = kin.tree.nodes[0], kin.eta
        trace = kin.contacts[0]
        d = ca.mtimes(node.R_WD.T, node.p_WB - kin.at_speeds(trace.point))
        # C ω = −ω × I ω − m [(q − c) × ω] ((q − c)·ω): d × (ω × ḋ) with ḋ = ω × d
        spin = cross(omega, ca.mtimes(node.inertia_D, omega))
        bias = spin + node.mass * cross(d, cross(omega, cross(omega, d)))
        blocks = right.blocks()._replace(bias=bias)
        return dataclasses.replace(right, formulation=self, blocks=lambda: blocks)


def test_the_misprint_of_the_rolling_disk_is_caught():
    formulations = (ns.NaturalComplement(), Misprint())
    certificate = ns.verify(ns.load("rolling-disk"), formulations=formulations)
    assert "accelerations" in failed(certificate)


def test_a_sign_in_the_rate_of_the_basis_is_caught():
    kin = ns.trace(ns.load("agv"))
    wrong = dataclasses.replace(kin, vdot0=-kin.vdot0)
    certificate = ns.verify(kin.model, kinematics=wrong)
    assert "A v̇ + Ȧ v + ȧ = 0" in failed(certificate)
    assert "accelerations" in failed(certificate)


@pytest.mark.parametrize("name", ["rolling-disk", "agv"])
def test_a_wrong_contact_point_in_the_shared_kinematics_is_caught(monkeypatch, name):
    contact = ns.contacts.Rolling.contact

    def shifted(self, n, R_DB, reader):
        point, heading, regularity = contact(self, n, R_DB, reader)
        return 1.01 * point, heading, regularity

    monkeypatch.setattr(ns.contacts.Rolling, "contact", shifted)
    certificate = ns.verify(ns.load(name))
    assert "contact points touch their ground" in failed(certificate)


def test_a_contact_that_forgets_the_turning_of_the_wheel_is_caught(monkeypatch):
    kin = ns.trace(ns.load("rolling-disk"))
    trace = kin.contacts[0]
    slip = {name: 1.001 * value for name, value in trace.slip.items()}
    wrong = dataclasses.replace(kin, contacts=(dataclasses.replace(trace, slip=slip),))
    certificate = ns.verify(kin.model, kinematics=wrong)
    # the scaled slip is still zero at admissible speeds, so it must not be reported there …
    assert certificate.holds
    turned = {name: value + 0.01 * kin.symbols.v[0] for name, value in trace.slip.items()}
    wrong = dataclasses.replace(kin, contacts=(dataclasses.replace(trace, slip=turned),))
    assert "contact velocities of material points" in failed(ns.verify(kin.model, kinematics=wrong))


def test_vakonomic_mechanics_is_refused_among_the_others_and_shown_beside_them():
    model = ns.load("agv")
    with pytest.raises(ns.FormulationError, match="a different theory") as caught:
        ns.verify(model, formulations=(ns.NaturalComplement(), ns.Vakonomic()))
    assert "agv" in caught.value.where and "leave them out" in caught.value.fix
    certificate = ns.verify(model, states=2)
    assert certificate.vakonomic > 1e-3
    assert "a different theory" in certificate.text()


def test_vakonomic_mechanics_coincides_where_constraints_are_integrable():
    b = ns.ModelBuilder(name="pendulum", gravity=(0.0, 0.0, -9.81))
    b.body("bob", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.joint("bob", ns.joints.Planar(), parent="world", child="bob")
    b.row(ns.rows.PositionRow(name="string", expression="bob.x^2 + bob.y^2 - 1", unit="m^2"))
    certificate = ns.verify(b.build(), states=3)
    assert certificate.holds
    assert certificate.vakonomic < 1e-12
    assert "coincides" in certificate.text()


def test_energy_law_alone_does_not_see_the_substitution():
    """Why agreement is needed: the substituted equations conserve energy all the same."""
    kin = ns.trace(ns.load("agv"))
    equations = Substituted().fill(kin)
    forces = applied_forces(kin)
    assert forces.shares["dissipative"].is_zero()
    s = kin.symbols
    eta, w = kin.eta, equations.accelerations
    energy = equations.kinetic_energy
    rate = ca.jtimes(energy, s.q, ca.mtimes(kin.N, kin.v)) + ca.dot(ca.gradient(energy, eta), w)
    power = ca.dot(kin.v, ca.mtimes(forces.B, s.u))
    gap = ca.Function("gap", [s.q, eta, s.u, s.params], [rate - power])
    _, q = kin.probe.configurations(1)[0]
    assert abs(float(gap(q, [1.0, -2.0], [0.3, 0.1], kin.probe.params))) < 1e-12
