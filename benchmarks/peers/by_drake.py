"""Drake: forward dynamics of arms and chains by its multibody plant."""

from __future__ import annotations

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

from problems import GRAVITY, hinge_states, links, urdf
from worker import Job, serve


def hinges(name: str, count: int) -> Job:
    """CalcTimeDerivatives, from Python; the state is set anew each time, which drops its caches."""
    plant = MultibodyPlant(time_step=0.0)
    Parser(plant).AddModelsFromString(urdf(links(name)), "urdf")
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -GRAVITY])
    plant.Finalize()
    context, rates = plant.CreateDefaultContext(), plant.AllocateTimeDerivatives()
    q, v, torques = hinge_states(plant.num_velocities(), count)
    states = np.hstack([q, v])
    plant.get_applied_generalized_force_input_port().FixValue(context, torques[0])

    def call() -> None:
        for state in states:
            context.SetContinuousState(state)
            plant.CalcTimeDerivatives(context, rates)

    context.SetContinuousState(states[0])
    plant.CalcTimeDerivatives(context, rates)
    answer = rates.CopyToVector()[plant.num_positions() :]
    return Job(call=call, pieces=count, answer=answer.tolist())


if __name__ == "__main__":
    serve({"hinges": hinges}, ("drake", "numpy"))
