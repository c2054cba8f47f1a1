"""1 describe: a mechanism as plain frozen data with names and units, checked as a whole.

One file for each kind of element (bodies, joints, contacts, surfaces, grounds, rows, forces, parts,
scenario), the model that holds them, its checks, and its files. A member of a family knows its
word, fields, checks, geometry and picture; nobody else asks for its type.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
