"""4 compile: from traced expressions to native functions.

`trace_program` turns an expression into a list of operations; targets print or run the list: LLVM
on one lane, on several, on a GPU's thread, SymPy, an interpreter. `System` holds the functions of a
mechanism.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
