"""A motion as one HTML file that plays by itself, without a server or a network.

viser records what it is told to show; the recording and viser's own viewer become one file.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from noslip.errors import SimulationError
from noslip.show.scene.camera import camera
from noslip.show.scene.frames import Frames
from noslip.show.scene.scene import Scene
from noslip.show.scene.stage import Stage, set_camera

if TYPE_CHECKING:
    import viser

TITLE = "<title>Viser</title>"
#: Width over height of the least wide window in which all of the motion is in view.
ASPECT = 1.3
#: Pieces of a trace that appear one after the other.
PIECES = 40


def has_viser() -> bool:
    """Whether viser, which draws in a browser, is installed."""
    try:
        import viser  # noqa: F401
    except ImportError:
        return False
    return True


def check_viser(purpose: str, where: str, extra: str) -> None:
    """Raise an error that names the extra to install, where viser is missing.

    Parameters
    ----------
    purpose : what needs it, as the subject of a sentence.
    where : file or command that asked for it.
    extra : optional dependency of noslip that brings it.
    """
    if not has_viser():
        raise SimulationError(
            f"{purpose} needs the package viser, which is not installed",
            where,
            f'pip install "noslip[{extra}]"',
        )


def recording_html(
    scene: Scene,
    frames: Frames,
    *,
    title: str,
    traces: bool = True,
    forces: bool = False,
    velocities: bool = False,
    follow: bool = False,
    speed: float = 1.0,
    dark: bool = False,
) -> str:
    """The HTML of a motion.

    Parameters
    ----------
    title : of the page.
    traces, forces, velocities, follow : as for :class:`Stage`.
    speed : seconds of the motion that pass in a second.
    dark : a dark page.
    """
    # nobody looks, so nobody need be woken for each message
    with quiet_server() as server, server.atomic():
        server.scene.set_up_direction(scene.up)
        set_camera(server, camera(scene, frames, aspect=ASPECT, follow=follow))
        stage = Stage(
            server.scene,
            traces=traces,
            forces=forces,
            velocities=velocities,
            follow=follow,
            pieces=PIECES,
        )
        stage.put(scene, frames)
        recorder = server.get_scene_serializer()
        waits = np.diff(frames.times, append=frames.times[-1:]) / speed
        for index, wait in enumerate(waits):
            stage.show(index)
            recorder.insert_sleep(float(wait))
        html: str = recorder.as_html(dark_mode=dark)
    return _titled(html, title)


@contextlib.contextmanager
def quiet_server(port: int = 0) -> Iterator[viser.ViserServer]:
    """A viser server on this machine only, which says nothing and ends with the block."""
    import viser

    with contextlib.redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host="127.0.0.1", port=port, verbose=False)
    try:
        yield server
    finally:
        with contextlib.redirect_stdout(io.StringIO()):
            server.stop()


def _titled(html: str, title: str) -> str:
    from html import escape

    named = f"<title>{escape(title)}</title>"
    if TITLE in html:
        return html.replace(TITLE, named, 1)
    return html.replace("<head>", f"<head>{named}", 1)
