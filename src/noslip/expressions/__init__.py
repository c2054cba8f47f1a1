"""Arithmetic in texts: expressions of names, units and Greek letters.

`parse` reads a text such as ``"l/2*cos(tilt)"`` without executing anything; `evaluate` and `fold`
compute with the result in any algebra; `read_unit` reads ``"N*m"``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
