"""Names that other packages may use."""

from . import gym as gym
