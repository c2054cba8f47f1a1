"""The guided vehicle by MJX on a GPU: soft contacts, single precision; steps a second, and slip.

Run by `benchmarks/gpu.py` in a process of its own where JAX with a card and MJX are installed;
writes one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from mujoco import mjx

#: Vehicles at once, steps of one call, and s of a step.
COUNT, STEPS, STEP = 32768, 500, 2e-3
ROUNDS = 3
#: Distance of the axle behind the platform's center, radius of wheels, m.
BEHIND, RADIUS = 0.101, 0.05
WHEEL = (
    '<inertial pos="0 0 0" mass="2" diaginertia=".0025 .00125 .00125"/>'
    f'<geom type="sphere" size="{RADIUS}"/>'
)
# masses and sizes of the library's model; a caster's bracket must have a mass here
VEHICLE = f"""
<mujoco>
<option timestep="{STEP}" iterations="1" ls_iterations="4" solver="Newton"/>
<default><geom condim="3" friction="1 0 0"/></default>
<worldbody><geom type="plane" size="0 0 1"/>
<body name="platform" pos="0 0 {RADIUS}"><freejoint/>
<inertial pos="0 0 0" mass="20" diaginertia="0.7083 0.7083 0.4083"/>
<body pos="-.2 {-BEHIND} 0"><joint name="wheel1" axis="1 0 0"/>{WHEEL}</body>
<body pos=".2 {-BEHIND} 0"><joint name="wheel2" axis="1 0 0"/>{WHEEL}</body>
<body pos="0 .202 0"><joint axis="0 0 1"/>
<inertial pos="0 0 0" mass="1e-3" diaginertia="1e-6 1e-6 1e-6"/>
<body pos="0 -.025 0"><joint axis="1 0 0"/>{WHEEL}</body></body>
</body></worldbody>
<actuator><motor joint="wheel1"/><motor joint="wheel2"/></actuator>
</mujoco>"""


def main() -> None:
    model = mujoco.MjModel.from_xml_string(VEHICLE)
    on_card = mjx.put_model(model)
    one = mjx.make_data(model)
    step = jax.vmap(mjx.step, in_axes=(None, 0))

    @jax.jit
    def roll(data: mjx.Data) -> mjx.Data:
        return jax.lax.scan(lambda d, _: (step(on_card, d), None), data, None, length=STEPS)[0]

    torques = jnp.linspace(0.05, 0.15, COUNT)
    start = jax.vmap(lambda u: one.replace(ctrl=jnp.array([-u, -0.05])))(torques)
    began = time.perf_counter()
    end = roll(start)
    jax.block_until_ready(end.qpos)
    compiled = time.perf_counter() - began
    least = np.inf
    for _ in range(ROUNDS):
        began = time.perf_counter()
        end = roll(start)
        jax.block_until_ready(end.qpos)
        least = min(least, time.perf_counter() - began)
    # of the axle, along itself: world velocities turned by the heading, plus the yaw rate's part
    q, v = np.asarray(end.qpos, float), np.asarray(end.qvel, float)
    heading = 2.0 * np.arctan2(q[:, 6], q[:, 3])
    along = np.cos(heading) * v[:, 0] + np.sin(heading) * v[:, 1] + BEHIND * v[:, 5]
    speed = np.hypot(v[:, 0], v[:, 1])
    found = {
        "device": str(jax.devices()[0]),
        "version": mujoco.__version__,
        "steps_per_second": COUNT * STEPS / least,
        "seconds_to_compile": compiled,
        "largest_slip": float(np.max(np.abs(along))),
        "largest_speed": float(np.max(speed)),
    }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
