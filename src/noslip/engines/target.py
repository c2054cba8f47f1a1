"""Targets: what turns a `Program` into a function that computes, or into something to read.

A target answers:

1. `word`, and `purpose`: what it is for;
2. `compile(program)`: a function of t, x, u and p that returns the outputs. Truth is 1.0 or 0.0,
   and nothing raises: see the top of `interpreter.py`.

`engines.catalog` lists the targets and compares them. Simulations and analyses run in native code;
to add a target changes nothing about them.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noslip.base import Member

if TYPE_CHECKING:
    from noslip.engines.program import Program

#: Outputs (n,) of t (nt,), x (nx,), u (nu,) and p (np,).
ProgramFunction: TypeAlias = Callable[
    [ArrayLike, ArrayLike, ArrayLike, ArrayLike], NDArray[np.float64]
]


class AbstractTarget(Member, abc.ABC, family="engine target"):
    """A target of programs; see the list at the top of this file."""

    __slots__ = ()

    #: What it is for, to end a sentence.
    purpose: ClassVar[str]

    @abc.abstractmethod
    def compile(self, program: Program) -> ProgramFunction:
        """The program as a function of t, x, u and p."""
