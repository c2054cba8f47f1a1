"""Sweeps: many runs over a design of points, in a store of chunks that survives its processes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
