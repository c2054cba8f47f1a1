"""Files that say what a robot rolls on: ``robot.rolling.toml`` beside ``robot.urdf``.

wheels = ["wheel_left", "wheel_right"]      # or {wheel_left = 0.0985, wheel_right = 0.0985}
casters = ["caster_front"]
slides = []                                  # wheels that may slide sideways
rollers = {}                                 # angles of rollers of mecanum and omni wheels, rad
driven = ["wheel_left_joint", "wheel_right_joint"]
locked = {torso_lift_joint = 0.1}
base = "planar"                              # planar, free or fixed
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noslip import Fault, ModelError
from noslip.base import LARGEST, nearest, read_text
from noslip.bridges.description import Undercarriage

#: Ending of such files, in place of the description's own.
SUFFIX = ".rolling.toml"
MAX_BYTES = 100_000

_KEYS = ("wheels", "casters", "slides", "rollers", "driven", "locked", "base")


def beside(path: Path) -> Undercarriage | None:
    """The undercarriage that a file beside a description gives; None if there is none."""
    file = path.with_suffix(SUFFIX)
    return read_undercarriage(file) if os.path.isfile(file) else None


def read_undercarriage(path: str | os.PathLike[str]) -> Undercarriage:
    """The undercarriage of a TOML file.

    Raises
    ------
    ModelError : with all its faults.
    """
    file = os.fspath(path)
    text = read_text(file, ModelError, "give a TOML file with wheels = […]", max_bytes=MAX_BYTES)
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ModelError(f"the text is not TOML: {error}", file, "correct it there") from error
    unknown = [key for key in table if key not in _KEYS]
    faults = [Fault(f"there is no key '{key}'", file, nearest(key, _KEYS)) for key in unknown]
    reading = _UndercarriageReader(file, table, faults)
    made = Undercarriage(
        wheels=reading.radii("wheels"),
        casters=reading.radii("casters"),
        slides=reading.names("slides") or (),
        rollers=reading.numbers("rollers"),
        driven=reading.names("driven"),
        locked=reading.numbers("locked"),
        base=reading.text("base"),
    )
    if faults:
        raise ModelError.from_faults(faults)
    return made


class _UndercarriageReader:
    def __init__(self, file: str, table: Mapping[str, Any], faults: list[Fault]) -> None:
        self.file, self.table, self.faults = file, table, faults

    def names(self, key: str) -> tuple[str, ...] | None:
        value = self.table.get(key)
        if value is None:
            return None
        is_right = isinstance(value, list) and all(isinstance(name, str) for name in value)
        if not is_right or len(set(value)) < len(value):
            self._fault(key, 'a list of names, each once, as ["left", "right"]')
            return None
        return tuple(value)

    def numbers(self, key: str) -> dict[str, float]:
        value = self.table.get(key, {})
        is_right = isinstance(value, dict) and all(
            isinstance(n, int | float) and not isinstance(n, bool) and abs(n) <= LARGEST
            for n in value.values()
        )
        if not is_right:
            self._fault(key, "a table of names and finite numbers, as {lift = 0.1}")
            return {}
        return {name: float(number) for name, number in value.items()}

    def radii(self, key: str) -> dict[str, float | None]:
        if isinstance(self.table.get(key), dict):
            return dict(self.numbers(key))
        return dict.fromkeys(self.names(key) or ())

    def text(self, key: str) -> str:
        value = self.table.get(key, "")
        if not isinstance(value, str):
            self._fault(key, 'a word, as "planar"')
            return ""
        return value

    def _fault(self, key: str, wanted: str) -> None:
        what = f"'{key}' is {self.table[key]!r:.60}"
        self.faults.append(Fault(what, self.file, f"give {wanted}"))
