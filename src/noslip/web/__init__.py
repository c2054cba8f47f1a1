"""Live pages: a run that a browser repeats exactly, with nothing to install.

`page.py` makes the module of a scenario, the numbers that may be changed and what it looks like,
and puts all into one file. ``run.js`` drives the module, ``draw.js`` draws,
``page.js`` is the page.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
