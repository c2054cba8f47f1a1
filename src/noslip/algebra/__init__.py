"""Mathematics on traced numbers (CasADi SX), below the description of mechanisms.

Rotations and cross products, linear solves without frozen pivots, and tables that expressions look
up as one operation. Every function also takes plain numbers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
