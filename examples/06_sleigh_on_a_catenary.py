"""A Chaplygin sleigh is led along a catenary, and keeps its kinetic energy.

Forces at the mass center lead the blade along a given curve at the speed at which the energy of
moving and turning together stays the same. This is control that preserves energy: the blade obeys
d'Alembert's principle, and the forces do no work. It is not vakonomic motion.

Parameters    m 1 kg, a 0.5 m (blade to mass center), I (kg m², about the mass center) such that the
              radius of gyration about the blade is b = 1 m; of the task: v_T 1 m/s, x0 1 m
Coordinates   sleigh.x, sleigh.y (m, the blade on the ice), sleigh.angle (rad)
Inputs        F_cs, F_cphi: forces at the mass center along and across the sleigh (N)
Look for      a speed along the blade that is least where the curve bends most, an energy and a work
              that stay, a vakonomic equation that is not satisfied
Reference     [AntunesSigaudMoraes2010], section 6
"""

# %% Describe, derive, compile
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("chaplygin-sleigh")))
print(ns.check(system.model).text())

# %% The reduced inertia: K = ½ M (ṡ² + b² φ̇²)
v_T, x0 = 1.0, 1.0
inertia = {"m": 1.0, "a": 0.5, "I": 0.75}
b = ns.timing.gyration(system, parameters=inertia).radius
print(f"\nradius of gyration about the blade: {b:.12f} m")

# %% Lead it: ṡ = v_T/√(1 + b²κ²) on the catenary from its vertex
path = ns.paths.Catenary(x0=x0, extent=6.0)
run = ns.track(
    system,
    path,
    controller=ns.ControlLoop(inputs=("F_cs", "F_cphi")),
    timing=ns.timing.ConstantEnergy(total_speed=v_T, radius_of_gyration=b),
    parameters=inertia,
    duration=5.0,
    rtol=1e-12,
    atol=1e-12,
    reactions=True,
)
print(run.summary())
print(f"force of the ice on the blade at the end: {run['reaction.blade.lateral'][-1]:.9f} N")

# %% The energy stays, and the forces do no work
print(f"kinetic energy: {run.kinetic_energy[0]:.12f} J, change {np.ptp(run.kinetic_energy):.1e} J")
print(f"largest work of the forces: {np.max(np.abs(run.work)):.1e} J")

# %% Not vakonomic motion: that would have Ψ̈ = −(v_T²/2b²) sin 2Ψ for the control angle Ψ
s = run["path.arc_length"]
psi = ns.timing.control_angle(b, -x0 / (s**2 + x0**2))
second = np.gradient(np.gradient(psi, run.t), run.t)
miss = np.abs(second + v_T**2 / (2 * b**2) * np.sin(2 * psi))[2:-2]
print(f"vakonomic equation missed by up to {np.max(miss):.3f} rad/s²")

# %% Look
ns.plot(run, ["sleigh.vx", "sleigh.rate", "F_cs", "F_cphi"]).savefig("catenary.png")
print(f"arc length after 5 s: {s[-1]:.12f} m")
