"""The loop of one run, by its former name."""

from noslip.simulation.single.loop import *  # noqa: F403
