"""8 geometry: constraints as a distribution, and what follows from its brackets.

`distribution` counts what integrates and how far brackets reach; `controllability` says where
inputs can bring a mechanism from rest; `structure` finds symmetries, momenta, invariant measures
and flat outputs. Every statement has the numbers that prove it, and its limits.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
