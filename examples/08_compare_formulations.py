"""Five formulations of one sleigh, which agree, and a sixth, which is a different theory.

The Chaplygin sleigh's accelerations are written on one line of paper. Natural complement, DeSantis,
Boltzmann–Hamel, Gibbs–Appell and multipliers must all give them, at any state; vakonomic mechanics
must not.

Parameters    m 1.5 kg, a 0.4 m (blade to mass center), I 0.5 kg m² (about the mass center)
Coordinates   sleigh.x, sleigh.y (m, the blade on the ice), sleigh.angle (rad)
Inputs        F_cs, F_cphi, tau_c, all zero here
Look for      disagreements of rounding size; vakonomic motions that leave the true one although
              position, speed and energy are the same at the start
Reference     d'Alembert: s̈ = a φ̇², φ̈ = −(a/b²) s′φ̇, b² = a² + I/m; vakonomic
              [AntunesSigaudMoraes2010], eqs. 19 to 21: s̈ = (a φ̇ + μ/m) φ̇
"""

# %% Describe
import numpy as np

import noslip as ns

model = ns.load("chaplygin-sleigh")
print(ns.check(model).text())

# %% Compare everything at random states: accelerations, matrices, reactions, energies
certificate = ns.verify(model, states=8)
print()
print(certificate.text())
assert certificate.holds

# %% Derive and compile each of them, and look at one state
formulations = (
    ns.NaturalComplement(),
    ns.DeSantis(),
    ns.BoltzmannHamel(),
    ns.GibbsAppell(),
    ns.Multipliers(),
)
start = {"sleigh.angle": 0.2, "sleigh.vx": 0.3, "sleigh.rate": 1.5}
systems = [ns.compile(ns.derive(model, f)) for f in formulations]
print("\n  formulation                     along [m/s²]      turning [rad/s²]")
for formulation, system in zip(formulations, systems, strict=True):
    rates = ns.evaluate(system, start).accelerations
    print(f"  {formulation.name:<30}  {rates['sleigh.vx']:.12f}   {rates['sleigh.rate']:.12f}")

# %% Simulate with each: the same motion
options = {"duration": 3.0, "start": start, "rtol": 1e-11, "atol": 1e-11}
runs = [ns.simulate(system, **options) for system in systems]
apart = max(float(np.max(np.abs(run.q - runs[0].q))) for run in runs)
print(f"\nlargest distance of two formulations after 3 s: {apart:.1e} m or rad")
print(f"forward speed after 3 s: {runs[0]['sleigh.vx'][-1]:.12f} m/s")

# %% Vakonomic mechanics: the costate of the blade is free, and no choice of it keeps to the truth
vakonomic = ns.compile(ns.derive(model, ns.Vakonomic()))
other = ns.simulate(vakonomic, **options)
distance = np.hypot(*(other[n][-1] - runs[0][n][-1] for n in ("sleigh.x", "sleigh.y")))
print(f"vakonomic sleigh, costate 0 at the start: {distance:.3f} m away after 3 s")
rates = ns.evaluate(vakonomic, {**start, "costate.blade.lateral": 0.7}).accelerations
print(f"vakonomic acceleration at costate 0.7: {rates['sleigh.vx']:.12f} m/s²")
