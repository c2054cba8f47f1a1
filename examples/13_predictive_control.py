"""Model predictive control: a carriage parks past a pillar, with CasADi's own Opti.

The exact equations of the carriage are the model of the optimizer. Every 0.3 s it plans 6 s ahead,
within the torques of the motors and around the pillar, and the first part of the plan is driven.

Parameters    those of the model; M = 8 kg of carriage, R = 0.15 m of its wheels
Coordinates   carriage.x, carriage.y (m), carriage.angle (rad), wheel angles (rad)
Inputs        tau1, tau2 (N m), at most 0.4 in magnitude, held for 0.3 s each
Look for      the way around the pillar, torques at their limit as it sets off, and how well the
              plan knows the next state, beside an adaptive integration
Reference     [AntunesSigaudMoraes2010] for the carriage
"""

# %% Describe, derive, compile; the equations as a CasADi function of named inputs
import casadi as ca
import numpy as np

import noslip as ns

system = ns.compile(ns.derive(ns.load("carriage")))
rates = system.casadi_function(parameters={})
print(rates)
states = [quantity.name for quantity in (*system.coordinates, *system.independent_speeds)]
at = {name: k for k, name in enumerate(states)}

# %% One step of the plan: six steps of Runge and Kutta's method, and where they lead
period, steps, largest, parts = 0.3, 20, 0.4, 6
x, u = ca.MX.sym("x", len(states)), ca.MX.sym("u", 2)
end, h, way = x, period / parts, []
for _ in range(parts):
    k1 = rates(x=end, u=u)["rates"]
    k2 = rates(x=end + h / 2 * k1, u=u)["rates"]
    k3 = rates(x=end + h / 2 * k2, u=u)["rates"]
    k4 = rates(x=end + h * k3, u=u)["rates"]
    end = end + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    way.append(end[[at["carriage.x"], at["carriage.y"]]])
step = ca.Function("step", [x, u], [end, ca.horzcat(*way)]).expand()

# %% The plan: states and torques of all steps, least effort and distance, within limits
goal, pillar, reach = np.array([3.0, 0.0]), np.array([1.5, -0.2]), 0.6
# between places, the distance d is less by d''h²/8 at most; d'' < v²/reach + |a| < 8 m/s² here
margin = 8.0 * h**2 / 8
plan = ca.Opti()
X, U = plan.variable(len(states), steps + 1), plan.variable(2, steps)
now, too_near = plan.parameter(len(states)), plan.variable(steps * parts)
place = X[[at["carriage.x"], at["carriage.y"]], :]
plan.subject_to(X[:, 0] == now)
after, between = step.map(steps)(X[:, :-1], U)
plan.subject_to(X[:, 1:] == after)
plan.subject_to(plan.bounded(-largest, ca.vec(U), largest))
plan.subject_to(ca.sum1((between - pillar) ** 2).T >= (reach + margin) ** 2 - too_near)
plan.subject_to(too_near >= 0)
turned, moving = X[at["carriage.angle"], :], X[[at["carriage.vx"], at["carriage.rate"]], :]
cost = ca.sumsqr(place - goal) + 0.3 * ca.sumsqr(turned) + 0.1 * ca.sumsqr(moving)
plan.minimize(cost + ca.sumsqr(U) + 1e3 * ca.sum1(too_near))
plan.solver("ipopt", {"print_time": False, "expand": True}, {"print_level": 0, "sb": "yes"})

# %% Drive: plan, take the first torques, let the real motion go on, plan again
state, clearance, missed, most = np.zeros(len(states)), np.inf, 0.0, 0.0
for k in range(30):
    plan.set_value(now, state)
    found = plan.solve()
    planned, torques = found.value(X), found.value(U)
    start = dict(zip(states, state, strict=True))
    held = {"tau1": torques[0, 0], "tau2": torques[1, 0]}
    run = ns.simulate(system, duration=period, start=start, inputs=held, samples=301)
    state, most = np.array([run[name][-1] for name in states]), max(most, np.abs(torques).max())
    missed = max(missed, np.abs(state - planned[:, 1])[:3].max())
    way = np.column_stack([run["carriage.x"], run["carriage.y"]])
    clearance = min(clearance, np.linalg.norm(way - pillar, axis=1).min())
    plan.set_initial(X, np.column_stack([planned[:, 1:], planned[:, -1]]))
    plan.set_initial(U, np.column_stack([torques[:, 1:], torques[:, -1]]))
    if k % 5 == 0:
        print(f"{k * period:4.1f} s  {way[0, 0]:6.3f} m {way[0, 1]:6.3f} m  {torques[:, 0]} N m")

# %% Where it is, how near the pillar it came, and how true the plan was
print(f"largest torque: {most:.6f} N m")
print(f"distance from the pillar at least: {clearance:.4f} m")
print(f"the plan misses the next state by: {missed:.1e} m and rad")
print(f"distance from the goal: {np.linalg.norm(way[-1] - goal):.5f} m")
