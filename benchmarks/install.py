"""How much room and time `pip install noslip` takes, alone and with each extra.

    python benchmarks/install.py [EXTRA ...]

Builds a wheel of this checkout and installs it, an environment of its own for each extra. Disk
space is that of `site-packages` with compiled bytecode, beyond an empty environment; the download
is the size of the wheels. Time is the processor's, for resolving, unpacking and compiling, so that
neither the network nor a busy machine counts. Prints a table for docs/install.md.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOUR = ["casadi", "numpy", "scipy", "llvmlite"]
EXTRAS = [
    "",
    "show",
    "studio",
    "data",
    "notebook",
    "dask",
    "fmu",
    "control",
    "gym",
    "jax",
    "parquet",
]
EXTRAS += ["ros", "all"]


def size(folder):
    """Megabytes of all files below a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def pip(python, *words):
    subprocess.run([python, "-m", "pip", "-q", *words], check=True, stderr=subprocess.DEVNULL)


def processor_time():
    """Seconds that processes started from here have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(wanted, folder):
    """Disk space, seconds and megabytes to download of what pip installs for some requirements."""
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = environment / "bin" / "python"
    packages = next(environment.glob("lib/python*/site-packages"))
    pip(python, "download", "-d", folder / "wheels", *wanted)
    loaded = size(folder / "wheels")
    empty, start = size(packages), processor_time()
    pip(python, "install", *wanted)
    seconds = processor_time() - start
    room = size(packages) - empty
    shutil.rmtree(environment)
    shutil.rmtree(folder / "wheels", ignore_errors=True)
    return room, seconds, loaded


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pip(sys.executable, "wheel", "--no-deps", "-w", folder, str(ROOT))
        wheel = next(folder.glob("noslip-*.whl"))
        four, seconds, loaded = measure(FOUR, folder)
        print("| installed | disk, MB | beyond the four, MB | download, MB | CPU time, s |")
        print("|---|---|---|---|---|")
        print(f"| CasADi, NumPy, SciPy, llvmlite | {four:.0f} | – | {loaded:.0f} | {seconds:.0f} |")
        for extra in sys.argv[1:] or EXTRAS:
            name = f"noslip[{extra}]" if extra else "noslip"
            wanted = f"{wheel}[{extra}]" if extra else str(wheel)
            room, seconds, loaded = measure([wanted], folder)
            print(f"| `{name}` | {room:.0f} | {room - four:.0f} | {loaded:.0f} | {seconds:.0f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
