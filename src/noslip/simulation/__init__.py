"""5 run: motions of a system, one or many at once, and their derivatives.

Starts are completed, inputs planned, and one printed loop integrates; `segments.drive` goes on in
other independent speeds where they end. ``sensitivities/`` differentiates runs, forward and
adjoint.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
