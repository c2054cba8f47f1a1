"""Files and folders that are written whole or not at all, and what killed processes leave."""

import errno
import os
import stat
import subprocess
import sys
import threading
import time

import pytest

from noslip import StorageError
from noslip.base import files, remove_stale, write_atomically
from noslip.base.files import (
    ABANDONED,
    MANIFEST,
    hidden_name,
    publish_folder,
    read_manifest,
    remove_own,
    temporary_folder,
)


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_atomically(pipe, lambda path: path.write_bytes(b"all of it"))
    if not stat.S_ISFIFO(pipe.stat().st_mode):
        pytest.fail("the pipe was replaced by a file")
    reader.join(10.0)
    assert received == [b"all of it"]
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_file_is_replaced_whole_or_stays_as_it_was(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("before")

    def fail(temporary):
        temporary.write_text("half")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write_atomically(path, fail)
    assert path.read_text() == "before"
    write_atomically(path, lambda temporary: temporary.write_text("after"))
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG, errno.EROFS])
def test_a_failing_write_is_a_storage_error_about_the_target(tmp_path, code):
    def fail(temporary):
        raise OSError(code, os.strerror(code), str(temporary))

    with pytest.raises(StorageError) as caught:
        write_atomically(tmp_path / "run.csv", fail)
    assert (caught.value.errno, caught.value.where) == (code, str(tmp_path / "run.csv"))
    assert os.strerror(code)[1:] in caught.value.what
    assert list(tmp_path.iterdir()) == []


def test_a_name_with_a_nul_is_refused(tmp_path):
    with pytest.raises(StorageError, match="NUL"):
        write_atomically(tmp_path / "a\0b", lambda path: path.write_text("x"))


def test_the_longest_names_can_be_written(tmp_path):
    path = tmp_path / ("ä😀" * 42)  # 252 bytes
    write_atomically(path, lambda temporary: temporary.write_text("all"))
    assert path.read_text() == "all"


# what killed processes leave

LEAVES = """
import os, signal, sys
from pathlib import Path
from noslip.base.files import temporary_folder, write_atomically

def write(path):
    path.write_text("half")
    print("ready", flush=True)
    sys.stdin.read()

with temporary_folder(Path(sys.argv[1]) / "run"):
    write_atomically(Path(sys.argv[1]) / "x.csv", write)
"""


def test_what_a_killed_process_leaves_is_removed_once_it_is_gone(tmp_path):
    command = [sys.executable, "-c", LEAVES, str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    mine = [tmp_path / ".x.csv.part", tmp_path / ".run.noslip", tmp_path / "x.part"]
    for path in mine:
        path.write_text("mine")
    remove_stale(tmp_path)
    assert len(list(tmp_path.iterdir())) == 5, "its process is alive"
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    write_atomically(tmp_path / "y.csv", lambda path: path.write_text("y"))
    remove_stale(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"y.csv", *(path.name for path in mine)}


def test_what_another_system_left_is_removed_after_a_day(tmp_path):
    own = hidden_name(tmp_path / "run")
    other = own.with_name(own.name.replace(files._system(), "01234567"))
    other.write_text("half")
    remove_stale(tmp_path)
    assert other.exists()
    os.utime(other, (time.time() - ABANDONED - 60,) * 2)
    remove_stale(tmp_path)
    assert not other.exists()


def test_a_process_that_ends_removes_its_own(tmp_path):
    with temporary_folder(tmp_path / "run") as folder:
        (folder / "x").write_text("half")
        remove_own()
        assert list(tmp_path.iterdir()) == []


# folders


def made(parent, **files):
    """A hidden folder with files, to be published as parent/run."""
    folder = hidden_name(parent / "run")
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def contents(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_text()
        for p in folder.rglob("*")
        if p.is_file() and p.name != MANIFEST
    }


@pytest.fixture(params=[True, False], ids=["exchange", "two renames"])
def exchange(request, monkeypatch):
    """With and without the system call that exchanges two folders."""
    if not request.param:
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)


def test_a_folder_is_never_replaced_unasked(tmp_path):
    target = tmp_path / "run"
    assert publish_folder(made(tmp_path, a="1"), target) == []
    second = made(tmp_path, a="2")
    with pytest.raises(FileExistsError):
        publish_folder(second, target)
    assert contents(target) == {"a": "1"} and contents(second) == {"a": "2"}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError):
        publish_folder(second, tmp_path / "file", replace=True)
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis").write_text("mine")
    with pytest.raises(FileExistsError):
        publish_folder(second, tmp_path / "foreign", replace=True)
    (tmp_path / "empty").mkdir()
    assert publish_folder(second, tmp_path / "empty") == []


def test_only_what_the_manifest_names_is_replaced(tmp_path, exchange):
    target = tmp_path / "run"
    publish_folder(made(tmp_path, a="1", b="2", gone="3"), target)
    (target / "b").write_text("edited")
    (target / "new").write_text("mine")
    deep = target / "x" / "y"
    deep.mkdir(parents=True)
    (deep / "notes").write_text("deep")
    (deep / "link").symlink_to("nowhere")
    os.mkfifo(target / "pipe")
    kept = publish_folder(made(tmp_path, a="10", b="20", new="30"), target, replace=True)
    assert kept == ["b.kept", "new.kept", "pipe", "x/y/link", "x/y/notes"]
    assert contents(target) == {
        "a": "10",
        "b": "20",
        "new": "30",
        "b.kept": "edited",
        "new.kept": "mine",
        "x/y/notes": "deep",
    }
    assert os.readlink(deep / "link") == "nowhere" and stat.S_ISFIFO(
        (target / "pipe").stat().st_mode
    )
    assert set(read_manifest(target)) == {"a", "b", "new"}
    assert list(tmp_path.iterdir()) == [target]
    # once more: what was kept is kept
    again = publish_folder(made(tmp_path, a="11"), target, replace=True)
    assert again == kept and contents(target)["b.kept"] == "edited"
    assert "b" not in contents(target)


@pytest.mark.parametrize("step", range(4))
def test_a_kill_between_two_renames_loses_nothing(tmp_path, monkeypatch, step):
    """Whatever the last step was, the next run finds old or new whole, and every foreign file."""
    target, left = tmp_path / "run", [step]
    publish_folder(made(tmp_path, a="1"), target)
    (target / "notes").write_text("mine")

    class Killed(BaseException):
        pass

    def dying(function):
        def step(*arguments, **options):
            if not left[0]:
                raise Killed
            left[0] -= 1
            return function(*arguments, **options)

        return step

    with monkeypatch.context() as patch:
        patch.setattr(files, "_exchange", lambda one, other: False)
        for name in ("rename", "link"):
            patch.setattr(files.os, name, dying(getattr(os, name)))
        with pytest.raises(Killed):
            publish_folder(made(tmp_path, a="2"), target, replace=True)
    for path in tmp_path.iterdir():  # as of a process that is gone
        if path != target:
            path.rename(path.with_name(path.name.replace(f"-{os.getpid()}-", "-999999999-")))
    remove_stale(tmp_path)
    assert list(tmp_path.iterdir()) == [target]
    found = contents(target)
    assert found.pop("notes") == "mine" and found in ({"a": "1"}, {"a": "2"})


def test_a_manifest_that_is_none_names_nothing(tmp_path):
    for text in ("", "[]", "{}", '{"written_by": "noslip"}', "[" * 100000, '{"written_by": 1}'):
        (tmp_path / MANIFEST).write_text(text)
        assert read_manifest(tmp_path) is None
    (tmp_path / MANIFEST).unlink()
    os.mkfifo(tmp_path / MANIFEST)
    assert read_manifest(tmp_path) is None
