"""A virtual environment for each peer, made once from the versions in requirements/.

They lie in the folder named by NOSLIP_PEERS, `~/.cache/noslip-peers` if it is not set. One is made
anew when its list of versions has changed. The installer that is configured on this machine is used
as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
PEERS = tuple(sorted(path.stem for path in (HERE / "requirements").glob("*.txt")))


class Unavailable(Exception):
    """An environment that could not be made."""


def folder() -> Path:
    """Where the environments lie."""
    given = os.environ.get("NOSLIP_PEERS")
    return Path(given) if given else Path.home() / ".cache" / "noslip-peers"


def python_of(peer: str) -> Path:
    """The interpreter of a peer's environment, which is made if it is missing.

    Raises
    ------
    Unavailable : if its packages could not be installed.
    """
    wanted = (HERE / "requirements" / f"{peer}.txt").read_text()
    place = folder() / peer
    python, made = place / "bin" / "python", place / "made-from.txt"
    if made.exists() and made.read_text() == wanted:
        return python
    print(f"making the environment of {peer} ...", file=sys.stderr, flush=True)
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    command += ["--requirement", str(HERE / "requirements" / f"{peer}.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Unavailable(f"{peer} could not be installed: {reason}")
    made.write_text(wanted)
    return python
