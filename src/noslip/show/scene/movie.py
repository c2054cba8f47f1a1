"""Films as files: GIF by Pillow, MP4 by ffmpeg where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from noslip.errors import SimulationError
from noslip.show.scene.still import MotionPicture

#: Colors of a GIF.
COLORS = 96


def write_gif(
    film: MotionPicture, path: Path, rate: float, progress: Callable[[float], None] | None = None
) -> None:
    """An endless GIF of all frames, `rate` pictures a second; all of them share one palette."""
    from PIL.Image import Dither

    count = len(film.frames)
    palette = film.picture(count // 2).quantize(COLORS)
    pictures = []
    for index in range(count):
        pictures.append(film.picture(index).quantize(palette=palette, dither=Dither.NONE))
        if progress is not None:
            progress((index + 1) / count)
    pictures[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=pictures[1:],
        duration=1000 / rate,
        loop=0,
        optimize=False,
    )


def write_mp4(
    film: MotionPicture, path: Path, rate: float, progress: Callable[[float], None] | None = None
) -> None:
    """An MP4 of all frames, `rate` pictures a second."""
    program = find_ffmpeg(path)
    command = [program, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{film.width}x{film.height}", "-r", f"{rate:g}", "-i", "-", "-an"]
    command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", "-f", "mp4", str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stderr is not None
        try:
            for index in range(len(film.frames)):
                process.stdin.write(film.picture(index).tobytes())
                if progress is not None:
                    progress((index + 1) / len(film.frames))
            process.stdin.close()
        except BrokenPipeError:
            pass  # ffmpeg gave up, and says why
        said = process.stderr.read().decode(errors="replace").strip()
    if process.returncode:
        last = said.splitlines()[-1] if said else f"exit code {process.returncode}"
        raise SimulationError(
            f"ffmpeg could not write the film: {last}", str(path), "write a .gif or .html instead"
        )


def find_ffmpeg(path: Path) -> str:
    """The program, or what to do without it."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise SimulationError(
            "a film in MP4 needs the program ffmpeg, which is not installed",
            str(path),
            "install ffmpeg, or write a .gif or .html instead",
        )
    return program
