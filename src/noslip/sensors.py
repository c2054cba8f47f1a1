"""Sensors of a control loop, and the Kalman filter that reads them."""

from noslip.base import lend

__getattr__, __dir__ = lend(__name__)
