"""3 formulate: equations of motion by six methods.

`derive` fills `Equations` (reduced mass, bias, forces, input matrix, reactions) by a formulation;
`verify` compares the five that follow d'Alembert's principle.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
