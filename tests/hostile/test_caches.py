"""A cache of machine code that is damaged, foreign, no folder or full: the run goes on."""

import os
import random
import subprocess
import sys

import pytest
from bad_inputs import fifo, holding, link, sparse
from limits import limited

from noslip.engines import code_store

KEY = bytes(range(32))
CODE = bytes(range(256)) * 20

#: What a cached file may have become.
DAMAGES = {
    "empty": holding(b""),
    "a pipe": fifo,
    "zeros without end": link("/dev/zero"),
    "nothing": link("/nowhere"),
    "itself": lambda path: path.symlink_to(path),
    "a folder": lambda path: path.mkdir(),
    "100 GB": sparse(10**11),
    "noise": holding(random.Random(16).randbytes(5000)),
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("NOSLIP_CACHE_DIR", str(folder))
    code_store.save(KEY, CODE)
    assert code_store.load(KEY) == CODE
    return folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_ignored_and_made_again(store, damage):
    (path,) = store.iterdir()
    path.unlink()
    DAMAGES[damage](path)
    with limited():
        assert code_store.load(KEY) is None
        code_store.save(KEY, CODE)
    if damage != "a folder":  # which is not noslip's to remove
        assert code_store.load(KEY) == CODE


def test_a_byte_that_changed_anywhere_is_noticed(store):
    (path,) = store.iterdir()
    whole, rng = path.read_bytes(), random.Random(16)
    for _ in range(300):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(rng.choice([data, whole[: rng.randrange(len(whole))], whole + b"\0"]))
        assert code_store.load(KEY) is None
    path.write_bytes(whole)
    assert code_store.load(KEY) == CODE


def test_a_command_without_a_cache_goes_on_with_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    ended = subprocess.run(
        [sys.executable, "-m", "noslip.cli", "run", "knife-edge", "--no-plots", "-o", "out"],
        cwd=tmp_path,
        env=os.environ | {"NOSLIP_CACHE_DIR": str(tmp_path / "file"), "MPLBACKEND": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0 and (tmp_path / "out" / "summary.json").exists()
    (line,) = ended.stderr.splitlines()
    assert f"not cached in {tmp_path / 'file'}: it is not a folder" in line
