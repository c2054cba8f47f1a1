"""noslip: exact dynamics and control of mechanisms that roll, skate and steer.

    Model ──► Kinematics ──► Equations ──► System ──► Trajectory
    describe   trace          formulate     compile    simulate

Every public name is listed in ``__init__.pyi``, in the order data flows, and imported when it is
first used, so that ``import noslip`` costs next to nothing.
"""

import sys

import lazy_loader

__version__ = "0.1.0"

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name):  # type: ignore[no-untyped-def]
    """Import a public name lazily; the error for an unknown one names the nearest.

    What it is called with is explained where it fails: ``base/arguments.py``.
    """
    try:
        found = _find(name)
    except ImportError as error:
        from noslip.base import missing_package

        missing = missing_package(error, f"noslip.{name}")
        if missing is None:
            raise
        raise missing from None
    except AttributeError:
        if name in __all__ or name.startswith("_"):
            raise
        from noslip.base import nearest

        raise AttributeError(f"noslip has no name '{name}'; {nearest(name, __all__)}") from None
    from noslip.base import checked

    globals()[name] = found = checked(found, __name__)
    return found


# in a notebook, equations show as mathematics without anybody asking
if "IPython" in sys.modules:
    from noslip.show import install_displays

    install_displays()
    del install_displays

del lazy_loader, sys
