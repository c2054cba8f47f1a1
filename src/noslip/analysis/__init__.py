"""6 analyze: a system at an instant, and about steady motions.

`evaluate`, direct and inverse kinematics and dynamics, reactions, the audit of no slip, steady
motions, linearization and modes. A state is completed as a start of a run is.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
