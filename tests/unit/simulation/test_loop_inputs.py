"""The loop of one run against closed forms: tables, generators and their knots."""

import numpy as np
import pytest
from native_runs import (
    ROUNDING,
    double_integrator,
    run,
)

from noslip.simulation.loop import rules
from noslip.simulation.native_run import InputTable


class TestInputs:
    STARTS = np.array([0.0, 0.7, 1.1, 2.0])

    def test_knots_a_rounding_apart_are_one(self):
        starts = np.array([0.0, 1.0, np.nextafter(1.0, 2.0)])
        steps = InputTable(
            index=0, starts=starts, coefficients=np.array([[0, 0, 0, 1.0], [0] * 4, [0, 0, 0, 3.0]])
        )
        result = run(double_integrator, [0.0, 0.0], 2.0, base_inputs=np.zeros(1), tables=(steps,))
        assert result.code == rules.FINISHED
        assert result.state[1] == pytest.approx(4.0, rel=ROUNDING)
