"""Families of motions: branches of steady and of periodic motions over a value that is varied.

Curves of solutions are followed by pseudo-arclength, with exact derivatives; the points at which
solutions or their stability change are located on them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
