"""What does the vehicle carry? Mass and moment of inertia from the path it drove.

Somebody has loaded the platform. The torques of a short drive are known, and where the platform was
is measured; least squares finds what it carries, with exact derivatives instead of differences.

Parameters    m_platform (kg) and I_z (kg m²) of platform and load, unknown; the others are known
Coordinates   platform.x, platform.y (m), platform.angle (rad), measured 41 times in 4 s
Inputs        torque1, torque2 (N m): tables over time, the second one unlike the first
Look for      six steps to all digits; a gradient by 42 values of both tables that costs no
              more than one by a single value
Reference     [SahaAngeles1989] for the vehicle
"""

# %% Describe, derive, compile
import numpy as np
from scipy.optimize import least_squares

import noslip as ns

system = ns.compile(ns.derive(ns.load("agv")))
knots = np.linspace(0.0, 4.0, 21)
drive = {
    "duration": 4.0,
    "start": {"wheel1.rate": -4.0, "wheel2.rate": -4.0, "bracket.angle": 0.1},
    "inputs": {
        "torque1": ns.Table(times=knots, values=0.06 * np.sin(2.0 * knots), kind="linear"),
        "torque2": ns.Table(times=knots, values=-0.04 * np.cos(1.3 * knots), kind="linear"),
    },
    "rtol": 1e-11,
    "atol": 1e-11,
}

# %% Measure: here by a simulation of the loaded vehicle, which the fit knows nothing of
times = np.linspace(0.0, 4.0, 41)
loaded = {"m_platform": 33.5, "I_z": 0.62}
truth = ns.simulate(system, samples=times, parameters=loaded, **drive)
columns = ("platform.x", "platform.y", "platform.angle")
measured = np.array([truth[name] for name in columns])

# %% Residuals and their exact derivatives, both from one run
unknown = ("m_platform", "I_z")


def run(values):
    found = {"parameters": dict(zip(unknown, values, strict=True)), "with_respect_to": unknown}
    return ns.simulate_sensitivities(system, samples=times, **found, **drive)


def residuals(values):
    found = run(values).run
    return (np.array([found[name] for name in columns]) - measured).ravel()


def jacobian(values):
    found = run(values)
    return np.concatenate([found[name] for name in columns])


# %% Fit, from the empty platform
nominal = [system.model.parameter_values()[name] for name in unknown]
fit = least_squares(residuals, nominal, jac=jacobian, x_scale=nominal, gtol=1e-15, xtol=1e-12)
print(f"evaluations: {fit.nfev}, largest residual {np.abs(fit.fun).max():.1e}")
spread = 1e-3 * np.sqrt(np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
print(
    f"if positions were good to 1 mm: mass to {spread[0]:.2f} kg, inertia to {spread[1]:.4f} kg m²"
)

# %% The other direction: one number, differentiated by everything at once
misfit = "(platform.x - x)**2 + (platform.y - y)**2"
data = ns.Measurements(times=times, values={"x": measured[0], "y": measured[1]}, misfit=misfit)
back = ns.gradient(
    system, with_respect_to=[*unknown, "torque1", "torque2"], measurements=data, **drive
)
print(back)
half = slice(0, 2 * len(times))
chain = 2 * jacobian(nominal)[half].T @ residuals(nominal)[half]
print(f"both directions differ by: {np.abs(back.vector[:2] / chain - 1).max():.1e}")
print(f"mass of platform and load: {fit.x[0]:.9f} kg")
print(f"moment of inertia: {fit.x[1]:.10f} kg m²")
