"""A mechanism of your own: the Chaplygin sleigh, described part by part.

A sleigh rests on a blade and two frictionless runners; its mass center lies ahead of the blade. Its
motion is known in closed form: pushed off with some turning, it straightens out, and its forward
speed grows to the limit that its energy allows.

Parameters    m 2 kg, J 0.3 kg m² (about the mass center), a 0.2 m (blade to mass center)
Coordinates   sleigh.x, sleigh.y (m, the blade on the ice), sleigh.angle (rad)
Inputs        none
Look for      two degrees of freedom at the level of speeds for three coordinates; energy that stays
              although the sleigh behaves as if it were damped
Reference     closed form: v(t) = c tanh(a c t/k² + artanh(v₀/c)), k² = J/m + a², c² = v₀² + k² ω₀²
"""

# %% Describe
import noslip as ns

b = ns.ModelBuilder(
    name="sleigh", gravity=(0.0, 0.0, -9.81), description="A sleigh on one blade, after Chaplygin"
)
b.parameter("m", 2.0, "kg", "mass")
b.parameter("J", 0.3, "kg*m^2", "moment of inertia about the mass center")
b.parameter("a", 0.2, "m", "blade to mass center")
b.body("sleigh", mass="m", moment="J", center_of_mass=("a", 0.0, 0.0))
b.joint("sleigh", ns.joints.Planar(), parent="world", child="sleigh")
b.contact(ns.contacts.KnifeEdge(name="blade", body="sleigh", direction=(1.0, 0.0, 0.0)))
b.scenario(ns.Scenario(duration=3.0, start={"sleigh.vx": 0.1, "sleigh.rate": 2.0}))
model = b.build()
print(ns.check(model).text())

# %% Keep it as a file; `noslip run sleigh.toml` then does the rest of this script
ns.save_model(model, "sleigh.toml", overwrite=True)
assert ns.load("sleigh.toml") == model

# %% Derive, and read the equations
equations = ns.derive(model)
print()
print(ns.equations_text(equations))

# %% Compile and simulate
system = ns.compile(equations)
run = ns.run_scenario(system, rtol=1e-12, atol=1e-12, reactions=True)
print()
print(run.summary())
print(f"force of the ice on the blade at the start: {run['reaction.blade.lateral'][0]:.6f} N")

# %% Change a parameter: nothing is derived or compiled again
heavy = ns.run_scenario(system, changes={"m": 4.0})
print(f"forward speed after 3 s with 4 kg: {heavy['sleigh.vx'][-1]:.6f} m/s")

# %% Look
ns.plot(run, ["sleigh.vx", "sleigh.rate"], title="a sleigh straightens out").savefig("sleigh.png")
print(f"forward speed after 3 s: {run['sleigh.vx'][-1]:.12f} m/s")
