"""The studio: an interactive page for a model in the browser, served on this machine only.

    Choice (what a page has chosen) ──► Session (simulates the newest one) ──► Page (shows it)

| folder | holds |
|---|---|
| `choosing` | the choice, and the knobs by which it is made |
| `running` | the models, the worker, the run of a choice, a drive in real time |
| `page` | panels, scene, plots, files: all that knows a browser, with `server` |

Each imports only from those above it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
