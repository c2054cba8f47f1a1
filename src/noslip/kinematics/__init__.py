"""2 trace: poses, twists, constraint rows, and a basis of their null space, as expressions.

`trace` takes a model and returns `Kinematics`: q̇ = N v, A v + a = 0, v = S η + s. The independent
speeds for a configuration are chosen here.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
