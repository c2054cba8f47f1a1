"""Robot descriptions as model formats: read by suffix, put on an undercarriage, made a model.

To add a format: a class below `AbstractRobotFormat` with `word`, `name`, `suffixes` and
`describe(path)`, and its module in `BRIDGES`.
"""

from __future__ import annotations

import abc
import os
from pathlib import Path

from noslip import Fault, Model, ModelError
from noslip.base import format_of, members_of
from noslip.bridges.description import ImportedModel, RobotDescription, Undercarriage, build_model
from noslip.bridges.undercarriage import beside
from noslip.model import AbstractModelFormat


class AbstractRobotFormat(AbstractModelFormat):
    """A format of robots that knows links and joints, and nothing about rolling."""

    __slots__ = ()

    @abc.abstractmethod
    def describe(self, path: Path) -> RobotDescription:
        """The robot that a file describes."""

    def read(self, path: Path) -> tuple[Model, tuple[Fault, ...]]:
        """The model of a file on the undercarriage beside it, and notes as warnings."""
        model, notes = build_model(self.describe(path), beside(path))
        fix = f"noslip import {path.name} makes a model file to complete"
        return model, tuple(Fault(note, os.fspath(path), fix) for note in notes)


def import_robot(
    path: str | os.PathLike[str], undercarriage: Undercarriage | None = None
) -> ImportedModel:
    """The model of a robot description, and notes on what it does not carry.

    Parameters
    ----------
    path : of a URDF, MJCF or VDA 5050 file, or a Denavit–Hartenberg table.
    undercarriage : what it rolls on, and what drives it; by default what the file
        ``NAME.rolling.toml`` beside it says, or the file itself, or else it is fixed to the world.

    Raises
    ------
    ModelError : with all faults of the file, each with its line.
    """
    format = format_of(AbstractModelFormat, path, "read")
    if not isinstance(format, AbstractRobotFormat):
        suffixes = [
            suffix
            for member in members_of(AbstractModelFormat)
            if issubclass(member, AbstractRobotFormat)
            for suffix in member.suffixes
        ]
        raise ModelError(
            f"a file of {format.name} is a model already",
            os.fspath(path),
            f"load it directly, or give a file that ends in {' or '.join(suffixes)}",
        )
    used = undercarriage if undercarriage is not None else beside(Path(path))
    return build_model(format.describe(Path(path)), used)
