"""Ctrl-C on the command line: every command ends, with code 130 and nothing left behind."""

import signal
import subprocess
import sys
import textwrap

import pytest

BEGIN = """
import sys, time
from pathlib import Path
from noslip.cli.console import INTERRUPTION, cancelling

def ready():
    print("ready", flush=True)

INTERRUPTION.install()
try:
"""
END = """
except KeyboardInterrupt:
    print("passed", flush=True)
    INTERRUPTION.leave()
"""


def interrupted(work, folder):
    """Exit code and output of some work that gets Ctrl-C once it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + textwrap.indent(textwrap.dedent(work), "    ") + END],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    return process.returncode, out.strip(), errors.strip()


def test_a_library_that_does_not_return_is_ended_and_temporary_files_are_removed(tmp_path):
    work = """
        import hashlib, threading
        from noslip.base.files import write_atomically

        def write(path):
            path.write_text("half")
            threading.Timer(0.3, ready).start()
            hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)  # an hour

        write_atomically(Path("result.txt"), write)
    """
    assert interrupted(work, tmp_path) == (130, "", "Aborted!")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("drop", ["finalizer", "ctypes", "except"])
def test_callbacks_that_drop_it_do_not_keep_it(tmp_path, drop):
    """Nearly all the time is spent where an exception is dropped."""
    work = {
        "finalizer": """
            class Dropping:
                def __del__(self):
                    time.sleep(0.005)
            ready()
            while True:
                Dropping()
        """,
        "ctypes": """
            import ctypes
            call = ctypes.CFUNCTYPE(None)(lambda: time.sleep(0.005))
            ready()
            while True:
                call()
        """,
        "except": """
            ready()
            while True:
                try:
                    time.sleep(3600)
                except BaseException:
                    pass
        """,
    }[drop]
    code, out, errors = interrupted(work, tmp_path)
    assert code == 130
    assert (out, errors) in (("passed", ""), ("", "Aborted!"))


def test_it_does_not_cut_clean_up_short(tmp_path):
    work = """
        try:
            ready()
            time.sleep(3600)
        finally:
            time.sleep(0.3)
            Path("clean").touch()
    """
    assert interrupted(work, tmp_path) == (130, "passed", "")
    assert (tmp_path / "clean").exists()


def test_a_command_that_cancels_ends_by_itself(tmp_path):
    work = """
        with cancelling() as cancel:
            ready()
            cancel.wait(3600)
        Path("kept").touch()
        time.sleep(0.1)
        sys.exit(130)
    """
    assert interrupted(work, tmp_path) == (130, "", "")
    assert (tmp_path / "kept").exists()


def test_one_that_does_not_is_ended(tmp_path):
    work = """
        with cancelling() as cancel:
            ready()
            cancel.wait(3600)
        time.sleep(3600)
    """
    assert interrupted(work, tmp_path) == (130, "", "Aborted!")


def test_a_handler_of_its_own_is_left_alone(tmp_path):
    work = """
        import signal
        INTERRUPTION.release()
        heard = []
        signal.signal(signal.SIGINT, lambda *_: heard.append(1))
        ready()
        while not heard:
            time.sleep(0.01)
        time.sleep(1.5)
        print("own way", flush=True)
    """
    assert interrupted(work, tmp_path) == (0, "own way", "")
