"""Files that are written whole or not at all, and what is no file."""

import os
import stat
import threading

import pytest

from noslip.atomic import write_atomically


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
