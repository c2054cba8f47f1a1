"""Live pages: a run that a browser repeats exactly, with nothing to install.

`live_run` makes the module of a scenario and the numbers that may be changed; `picture` says what
it looks like; `page` puts both into one file. ``run.js`` drives the module, ``draw.js`` draws,
``page.js`` is the page.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
