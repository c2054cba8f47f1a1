"""`noslip studio`: play with a model in the browser."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import warnings
from pathlib import Path

import click

import noslip as ns
from noslip.cli.interrupt import INTERRUPTION
from noslip.cli.options import FLAGSHIP

#: s that work left behind has to come to its end.
PATIENCE = 0.8


@click.command()
@click.argument("model", required=False)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port on 127.0.0.1; by default any free port.",
)
@click.option(
    "--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser."
)
@click.option(
    "--link",
    metavar="ADDRESS",
    help="Open the state of an earlier page: its address, or the part after the =.",
)
def studio(model: str | None, port: int | None, browser: bool, link: str | None) -> None:
    """Explore a model in the browser: sliders, plots, equations, driving by hand.

    MODEL is optional. A model file is reloaded whenever it is saved. The folder of a sweep
    shows its model and a table of its points: click one to see its motion. Ctrl-C stops the
    studio.
    """
    from noslip.base import require

    for module in ("viser", "matplotlib", "sympy", "zstandard"):
        require(module, "the studio", "noslip studio", "studio")
    import rich

    from noslip.studio import Studio, find_link

    state = "" if link is None else find_link(link)
    model = model or _model_of(state) or FLAGSHIP
    # viser has lines of its own about addresses, connections and browsers that went away
    rich.get_console().quiet = True
    warnings.filterwarnings("ignore", message="Queued a .* on a closed connection")
    if model in ns.MODELS:
        open_studio = Studio(model, port=port or 0)
    elif os.path.isdir(model):
        open_studio = Studio(sweep=Path(model), port=port or 0)
    else:
        open_studio = Studio(file=Path(model), port=port or 0)
    try:
        address = open_studio.address_of(state)
    except ns.NoslipError:
        open_studio.close()
        raise
    ended = threading.Event()
    INTERRUPTION.release()
    # also where a shell started it in the background, with Ctrl-C ignored
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        click.echo(f"noslip studio  {address}  (Ctrl-C ends it)")
        with tempfile.TemporaryDirectory(prefix="noslip-studio-") as folder:
            if browser:
                click.launch(str(_redirect(address, Path(folder))))
            while not ended.wait(3600.0):
                pass
    except KeyboardInterrupt:
        click.echo("")
    finally:
        _end_soon()
        open_studio.close()


def _model_of(state: str) -> str:
    """The model of a link, where it is one of the library."""
    from noslip.studio import read_link

    name = read_link(state).model if state else ""
    return name if name in ns.MODELS else ""


def _redirect(address: str, folder: Path) -> Path:
    """A page in a folder of ours that leads to an address.

    Everybody on a computer can read the arguments of a browser that is started, so that the
    address with its token cannot be one of them.
    """
    page = folder / "studio.html"
    page.write_text(
        '<!doctype html><meta charset="utf-8"><title>noslip studio</title>'
        f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">studio</a>',
        "utf-8",
    )
    return page


def _end_soon() -> None:
    """End the process without waiting for threads that a closed page left running."""
    last = threading.Timer(PATIENCE, os._exit, args=(0,))
    last.daemon = True
    last.start()
