"""Links: everything that a page shows as text for its address, and back.

A link holds the name of the model, what differs from its first choice, and how it is looked at. It
holds no model: opened elsewhere, it needs one of the same name. What is read comes from an address
and is checked like anything else that a browser sends.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import re
import zlib
from dataclasses import dataclass, field
from typing import Any

import msgspec

from noslip import SimulationError
from noslip.studio.choosing.choice import Choice, check_options

#: Bytes that a link may unpack to.
MAX_BYTES = 64 * 1024
WHERE, FIX = "link", "copy the whole address of a studio's page"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    """View of a run: camera, time, and plots.

    Parameters
    ----------
    time : s, where it is paused; None while it plays.
    speed, loop : of the playback.
    drawn : what is drawn beside the bodies → whether it is; also ``ghost``.
    follow : whether the camera moves with the bodies; None for what suits the run.
    plots : titles of the plots, from the top.
    camera : place and point that it looks at, m; empty where it was not moved.
    """

    time: float | None = None
    speed: float = 1.0
    loop: bool = True
    drawn: dict[str, bool] = field(default_factory=dict)
    follow: bool | None = None
    plots: tuple[str, ...] = ()
    camera: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLink:
    """State of a page, as its link holds it.

    Parameters
    ----------
    model : its name on the page.
    changes : fields of the choice that are not those of the model's first one.
    kept : the same of the run that is kept for a comparison; None without one.
    kept_model : its model, where it is another one.
    view : how it is looked at.
    """

    model: str
    changes: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] | None = None
    kept_model: str = ""
    view: PageView = field(default_factory=PageView)


def differences(choice: Choice, first: Choice) -> dict[str, Any]:
    """The fields of a choice that differ from those of another."""
    pairs = ((f.name, getattr(choice, f.name), getattr(first, f.name)) for f in _FIELDS)
    return {name: value for name, value, usual in pairs if value != usual}


def changed_choice(first: Choice, changes: dict[str, Any]) -> Choice:
    """A choice with fields changed as a link says.

    Raises
    ------
    SimulationError : a field is unknown, or its value is of another kind.
    """
    usual = {f.name: getattr(first, f.name) for f in _FIELDS}
    unknown = set(changes) - set(usual)
    if unknown:
        raise SimulationError(f"the link has an unknown part '{min(unknown)}'", WHERE, FIX)
    try:
        found = msgspec.convert(usual | changes, Choice)
    except msgspec.ValidationError as error:
        raise SimulationError(f"the link cannot be read: {error}", WHERE, FIX) from None
    check_options({name: getattr(found, name) for name in changes})
    return found


def write_link(link: PageLink) -> str:
    """The text of a link: letters, digits, - and _."""
    plain = msgspec.json.encode(_plain(link))
    return base64.urlsafe_b64encode(zlib.compress(plain, 9)).decode().rstrip("=")


def read_link(text: str) -> PageLink:
    """The link of a text.

    Raises
    ------
    SimulationError : it is none.
    """
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        unpacker = zlib.decompressobj()
        plain = unpacker.decompress(packed, MAX_BYTES)
        if not unpacker.eof:
            raise ValueError("it is truncated or too long")
        return msgspec.json.decode(plain, type=PageLink)
    except (ValueError, binascii.Error, zlib.error, msgspec.MsgspecError, RecursionError) as error:
        raise SimulationError(f"the link cannot be read: {error}", WHERE, FIX) from None


def find_link(text: str) -> str:
    """The link in the address of a page, which begins with =; checked.

    Raises
    ------
    SimulationError : there is none, or it cannot be read.
    """
    found = re.search(r"=([A-Za-z0-9_-]+)/?\s*$", text)
    if found is None:
        raise SimulationError(f"'{text}' has no state of a page in it", WHERE, FIX)
    read_link(found.group(1))
    return found.group(1)


def _plain(link: PageLink) -> dict[str, Any]:
    """A link without what is as usual."""
    usual = PageView()
    pairs = ((f.name, getattr(link.view, f.name)) for f in dataclasses.fields(PageView))
    view = {name: value for name, value in pairs if value != getattr(usual, name)}
    found = {"model": link.model, "changes": link.changes, "view": view}
    found["kept_model"] = link.kept_model
    return {k: v for k, v in found.items() if v} | (
        {} if link.kept is None else {"kept": link.kept}
    )


_FIELDS = dataclasses.fields(Choice)
