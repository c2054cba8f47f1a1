"""Optional packages: which extra of noslip brings each, and what is said where one is missing."""

from __future__ import annotations

import importlib.util
import sys

from noslip.base.errors import MissingPackageError

#: Module → its package as people call it, and the extra of noslip that installs it.
EXTRAS = {
    "matplotlib": ("Matplotlib", "show"),
    "sympy": ("SymPy", "show"),
    "PIL": ("Pillow", "show"),
    "ziamath": ("ziamath", "show"),
    "ziafont": ("ziafont", "show"),
    "latex2mathml": ("latex2mathml", "show"),
    "fontTools": ("fontTools", "show"),
    "viser": ("viser", "show"),
    "rich": ("rich", "show"),
    "ipywidgets": ("ipywidgets", "notebook"),
    "xarray": ("xarray", "data"),
    "pandas": ("pandas", "data"),
    "msgspec": ("msgspec", "studio"),
    "websockets": ("websockets", "studio"),
    "zstandard": ("zstandard", "studio"),
    "dask": ("Dask", "dask"),
    "distributed": ("Dask", "dask"),
    "pyarrow": ("PyArrow", "parquet"),
    "rosbags": ("rosbags", "ros"),
    "fmpy": ("FMPy", "fmu"),
    "gymnasium": ("Gymnasium", "gym"),
    "cma": ("cma", "learn"),
    "jax": ("JAX", "jax"),
    "torch": ("PyTorch", "torch"),
    "control": ("python-control", "control"),
    "wasmtime": ("wasmtime", "wasm"),
}


def is_installed(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    return importlib.util.find_spec(module) is not None


def require(module: str, purpose: str, where: str, extra: str = "") -> None:
    """Raise an error that names the extra to install, where a module is missing.

    Parameters
    ----------
    module : that is needed, one of `EXTRAS`.
    purpose : what needs it, as the subject of a sentence.
    where : file, function or command that asked for it.
    extra : that brings it with everything else the purpose needs; that of the module by default.
    """
    if not is_installed(module):
        package, own = EXTRAS[module]
        raise MissingPackageError(
            f"{purpose} needs the package {package}, which is not installed",
            where,
            install_command(extra or own),
        )


def install_command(extra: str) -> str:
    """The command that installs an extra."""
    return f'pip install "noslip[{extra}]"'


def missing_package(error: ImportError, where: str) -> MissingPackageError | None:
    """An import that failed for want of a package or a part, as an error that says what to do.

    Parameters
    ----------
    error : of the import.
    where : what was asked for.
    """
    module, *inner = (error.name or "").split(".")
    if module == "noslip" and inner and not is_installed(f"noslip.{inner[0]}"):
        return MissingPackageError(
            f"noslip is installed here without its part '{inner[0]}'",
            where,
            "install noslip whole: pip install --force-reinstall noslip",
        )
    if module not in EXTRAS or is_installed(module):
        return None
    package, extra = EXTRAS[module]
    return MissingPackageError(
        f"the package {package} is not installed", where, install_command(extra)
    )
