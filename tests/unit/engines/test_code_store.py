"""Object code on disk: the same function in every process, whatever the folder holds."""

import ctypes
import errno
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noslip.base import LRUCache, files
from noslip.engines import code_store, machine_code, stored_machine_code
from noslip.engines.code_store import _HEADER
from noslip.engines.machine_code import CONTROL_FLOW_PASSES

unix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of files")

#: Functions of the C library, an internal function, a table and constants: all are relocated.
TEXT = """@table = internal constant [3 x double] [double 1.5, double 2.5, double 4.0]
declare double @sin(double)
declare double @cos(double)
define internal double @third(double %x) noinline {
  %a = call double @sin(double %x)
  %b = fdiv double %a, 3.0
  ret double %b
}
define double @f(double %x, i64 %k) {
  %slot = alloca double
  %at = getelementptr [3 x double], ptr @table, i64 0, i64 %k
  %v = load double, ptr %at
  store double %v, ptr %slot
  %h = call double @third(double %x)
  %w = load double, ptr %slot
  %c = call double @cos(double %w)
  %s = fadd double %h, %c
  ret double %s
}
"""
#: x to the power of k, with the product in a variable.
POWER = """define double @f(double %x, i64 %k) {
start:
  %product = alloca double
  store double 1.0, ptr %product
  br label %loop
loop:
  %i = phi i64 [ 1, %start ], [ %next, %loop ]
  %old = load double, ptr %product
  %new = fmul double %old, %x
  store double %new, ptr %product
  %next = add i64 %i, 1
  %more = icmp sle i64 %next, %k
  br i1 %more, label %loop, label %done
done:
  %power = load double, ptr %product
  ret double %power
}
"""
F = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int64)


def constant(number: int) -> str:
    """A module whose function f is a constant, number + 1/2."""
    return f"define double @f(double %x, i64 %k) {{ ret double {number}.5 }}\n"


def value(engine, x=0.7, k=2):
    return F(engine.get_function_address("f"))(x, k)


def forget():
    """Empty the memory, as in a new process."""
    machine_code._ENGINES = LRUCache(max_entries=machine_code._ENGINES.max_entries)


def afresh(text, **options):
    """Machine code as a new process finds it, with nothing in memory."""
    forget()
    return stored_machine_code(text, **options)


def objects(folder):
    return sorted(folder.glob("*.object"))


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    folder = tmp_path / "store"
    monkeypatch.setenv("NOSLIP_CACHE_DIR", str(folder))
    forget()
    yield folder
    forget()


@pytest.fixture
def compilations(monkeypatch):
    """Texts that were compiled, one entry each time."""
    texts, original = [], machine_code.optimized_module

    def counted(text, *arguments):
        texts.append(text)
        return original(text, *arguments)

    monkeypatch.setattr(machine_code, "optimized_module", counted)
    return texts


# what is compiled, and what is loaded


def test_a_miss_does_not_read_the_folder(monkeypatch, tmp_path):
    # with thousands of files, names that are alike took longer to find than code to compile
    monkeypatch.setenv("NOSLIP_CACHE_DIR", str(tmp_path))
    listed = []
    monkeypatch.setattr(os, "scandir", lambda *given: listed.append(given))
    monkeypatch.setattr(os, "listdir", lambda *given: listed.append(given))
    assert code_store.load(bytes(32)) is None
    assert not listed


def test_code_from_memory_from_disk_and_new_is_the_same_function(store, compilations):
    expected = math.sin(0.7) / 3 + math.cos(4.0)
    engine = stored_machine_code(TEXT)
    assert value(engine) == expected
    assert stored_machine_code(TEXT) is engine
    assert stored_machine_code(TEXT, passes=CONTROL_FLOW_PASSES) is engine
    loaded = afresh(TEXT)
    assert loaded is not engine
    assert [value(loaded), value(loaded, 0.0, 0)] == [expected, math.cos(1.5)]
    assert compilations == [TEXT]
    assert len(objects(store)) == 1


RUN_COMPILING = """
import sys
import noslip as ns
from noslip.engines import machine_code
original = machine_code.optimized_module
def compiled(text, *arguments):
    print(len(text))
    return original(text, *arguments)
machine_code.optimized_module = compiled
run = ns.run_scenario(ns.compile(ns.derive(ns.load("rolling-disk"))), duration=0.5)
print(run["disk.x"][-1].hex())
"""


def test_another_process_compiles_short_programs_only(store):
    """The text of a program does not depend on the process that prints it."""
    *first, there = python(RUN_COMPILING).split()
    *second, here = python(RUN_COMPILING).split()
    assert here == there
    assert [size for size in map(int, first) if size >= machine_code.STORED_FROM]
    assert all(int(size) < machine_code.STORED_FROM for size in second)


def python(code: str, text: str = "", said: str = "") -> str:
    """What a new Python prints; as errors it says what is given, and nothing else."""
    ended = subprocess.run(
        [sys.executable, "-B", "-c", code], input=text, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, said)
    return ended.stdout


# key


class OtherTarget:
    triple = "aarch64-unknown-linux-gnu"


CHANGES = {
    "noslip": lambda patch: patch.setattr(machine_code, "__version__", "99.0"),
    "llvmlite": lambda patch: patch.setattr(machine_code.llvmlite, "__version__", "99.0"),
    "LLVM": lambda patch: patch.setattr(machine_code.binding, "llvm_version_info", (99, 0, 0)),
    "triple": lambda patch: change_host(patch, 0, OtherTarget()),
    "processor": lambda patch: change_host(patch, 1, "generic"),
    "features": lambda patch: change_host(patch, 2, machine_code.host()[2] + ",-sse4a"),
    "level": lambda patch: patch.setattr(machine_code, "OPT_LEVEL", 1),
}


def change_host(patch, place, part):
    host = list(machine_code.host())
    host[place] = part
    patch.setattr(machine_code, "host", lambda: tuple(host))


@pytest.mark.parametrize("what", [what for what in CHANGES if what != "triple"])
def test_code_for_something_else_is_not_loaded(store, compilations, monkeypatch, what):
    stored_machine_code(TEXT)
    CHANGES[what](monkeypatch)
    afresh(TEXT)
    assert compilations == [TEXT, TEXT]
    assert len(objects(store)) == 2


def test_passes_are_run_in_memory_and_on_disk_apart(store, compilations):
    engines = [stored_machine_code(POWER, passes=passes) for passes in ((), ("sroa",))]
    assert [value(engine, 3.0, 4) for engine in engines] == [81.0, 81.0]
    codes = {path.read_bytes()[_HEADER.size :] for path in objects(store)}
    assert len(compilations) == 2
    assert len(codes) == 2, "a variable in memory is other code than one in a register"


# damage


def flipped(place):
    def damage(data):
        changed = bytearray(data)
        changed[place] ^= 0x10
        return bytes(changed)

    return damage


#: The first bytes of header fields, and bytes of the object.
PLACES = {
    "magic": 0,
    "format": 8,
    "key": 12,
    "length": 44,
    "checksum": 52,
    "first": _HEADER.size,
    "middle": _HEADER.size + 200,
    "last": -1,
}
DAMAGES = {
    **{f"flipped {name}": flipped(place) for name, place in PLACES.items()},
    "empty": lambda data: b"",
    "half a header": lambda data: data[: _HEADER.size // 2],
    "header alone": lambda data: data[: _HEADER.size],
    "header of nothing": lambda data: code_store._header(data[12:44], b"")[:-1],
    "half": lambda data: data[: len(data) // 2],
    "a byte short": lambda data: data[:-1],
    "a byte long": lambda data: data + b"\0",
    "zeros": lambda data: bytes(len(data)),
}


@pytest.fixture
def seen_by_llvm(monkeypatch):
    """Objects that were handed to LLVM; another than the first would be its last."""
    objects, from_data = [], machine_code.binding.ObjectFileRef.from_data

    def watched(data):
        objects.append(data)
        assert data == objects[0]
        return from_data(data)

    monkeypatch.setattr(machine_code.binding.ObjectFileRef, "from_data", watched)
    return objects


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_files_are_compiled_again(store, compilations, seen_by_llvm, capfd, damage):
    stored_machine_code(TEXT)
    (path,) = objects(store)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole
    assert value(afresh(TEXT)) == math.sin(0.7) / 3 + math.cos(4.0)
    assert path.read_bytes() == whole
    assert len(compilations) == 2
    afresh(TEXT)
    assert len(compilations) == 2
    assert len(seen_by_llvm) == 3
    assert capfd.readouterr() == ("", "")


def test_file_of_another_key_is_not_taken(store, compilations):
    stored_machine_code(constant(3))
    (other,) = objects(store)
    stored_machine_code(constant(4))
    (path,) = set(objects(store)) - {other}
    path.write_bytes(other.read_bytes())
    assert value(afresh(constant(4))) == 4.5
    assert len(compilations) == 3
    assert path.read_bytes() != other.read_bytes()


def test_folder_under_the_name_of_a_file_is_left(store, compilations):
    stored_machine_code(TEXT)
    (path,) = objects(store)
    path.unlink()
    path.mkdir()
    afresh(TEXT)
    assert len(compilations) == 2
    assert [p.name for p in store.iterdir()] == [path.name]


# folder


@unix
def test_folders_are_made_for_this_user_alone(tmp_path, monkeypatch):
    umask = os.umask(0)
    try:
        monkeypatch.setenv("NOSLIP_CACHE_DIR", str(tmp_path / "a" / "b"))
        stored_machine_code(TEXT)
    finally:
        os.umask(umask)
    (path,) = objects(tmp_path / "a" / "b")
    modes = [p.stat().st_mode & 0o777 for p in (tmp_path / "a", tmp_path / "a" / "b", path)]
    assert modes == [0o700, 0o700, 0o600]


@unix
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_folder_that_others_can_write_to_is_not_used(store, compilations, mode):
    stored_machine_code(TEXT)
    store.chmod(mode)
    afresh(TEXT)
    afresh(constant(1))
    assert len(compilations) == 3
    assert len(objects(store)) == 1
    store.chmod(0o755)
    afresh(TEXT)
    assert len(compilations) == 3


@unix
def test_file_that_others_can_write_to_is_replaced(store, compilations):
    stored_machine_code(TEXT)
    (path,) = objects(store)
    path.chmod(0o666)
    afresh(TEXT)
    assert len(compilations) == 2
    assert path.stat().st_mode & 0o777 == 0o600


@unix
def test_folder_of_another_user_is_not_used(store, compilations, monkeypatch):
    stored_machine_code(TEXT)
    monkeypatch.setattr(os, "geteuid", lambda: store.stat().st_uid + 1)
    afresh(TEXT)
    afresh(constant(1))
    assert len(compilations) == 3
    assert len(objects(store)) == 1


@unix
def test_file_of_another_user_is_not_loaded(store, compilations, monkeypatch):
    stored_machine_code(TEXT)
    (path,) = objects(store)
    key = bytes.fromhex(path.stem)
    assert code_store._load(path, key) is not None
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert code_store._load(path, key) is None


@unix
def test_no_folder_is_made_in_that_of_another_user(tmp_path, store, monkeypatch):
    """As by a command under sudo that keeps the home of whoever called it."""
    owner = os.stat_result((0o40755, 0, 0, 1, 4321, 4321, 0, 0, 0, 0))
    of_path = Path.stat
    monkeypatch.setattr(
        Path, "stat", lambda self, **o: owner if self == tmp_path else of_path(self, **o)
    )
    assert value(stored_machine_code(TEXT)) == math.sin(0.7) / 3 + math.cos(4.0)
    assert not store.exists()


@unix
def test_links_count_as_what_they_lead_to(tmp_path, store, compilations, monkeypatch):
    real = tmp_path / "real"
    store.symlink_to(real)
    stored_machine_code(TEXT)
    assert len(objects(real)) == 1, "made where the link leads"
    real.chmod(0o777)
    afresh(TEXT)
    assert len(compilations) == 2
    real.chmod(0o700)
    monkeypatch.setattr(os, "geteuid", lambda: real.stat().st_uid + 1)
    afresh(TEXT)
    assert len(compilations) == 3


def test_folder_that_cannot_be_made_is_done_without(tmp_path, compilations, monkeypatch, caplog):
    (tmp_path / "file").write_text("mine")
    for place in ("file", "file/below"):
        monkeypatch.setenv("NOSLIP_CACHE_DIR", str(tmp_path / place))
        assert value(afresh(TEXT)) == math.sin(0.7) / 3 + math.cos(4.0)
    assert len(compilations) == 2
    assert (tmp_path / "file").read_text() == "mine"
    told = [message.partition("not cached in ")[2] for message in caplog.messages]
    assert [text.partition("; ")[0] for text in told] == [
        f"{tmp_path / 'file'}: it is not a folder",
        f"{tmp_path / 'file' / 'below'}: not a directory",
    ]


def test_empty_variable_switches_the_store_off(tmp_path, compilations, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("NOSLIP_CACHE_DIR", "")
    for _ in range(2):
        afresh(TEXT)
    assert len(compilations) == 2
    assert list(tmp_path.iterdir()) == []


@unix
@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({}, "/home/ada/.cache/noslip"),
        ({"XDG_CACHE_HOME": "/fast/ada"}, "/fast/ada/noslip"),
        ({"XDG_CACHE_HOME": ""}, "/home/ada/.cache/noslip"),
        ({"XDG_CACHE_HOME": "not/absolute"}, "/home/ada/.cache/noslip"),
        ({"NOSLIP_CACHE_DIR": "/scratch", "XDG_CACHE_HOME": "/fast"}, "/scratch"),
        ({"NOSLIP_CACHE_DIR": "", "XDG_CACHE_HOME": "/fast"}, ""),
    ],
)
def test_folder_by_environment(monkeypatch, variables, folder):
    for name in ("NOSLIP_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, text in {"HOME": "/home/ada", **variables}.items():
        monkeypatch.setenv(name, text)
    assert code_store._chosen_folder() == folder


# writing


@pytest.mark.parametrize("function", ["os.open", "pathlib.Path.write_bytes", "os.replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_failure_to_write_is_one_line(store, compilations, monkeypatch, caplog, function, code):
    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(function, fail)
        assert value(stored_machine_code(TEXT)) == math.sin(0.7) / 3 + math.cos(4.0)
        stored_machine_code(constant(1))
    assert list(store.iterdir()) == []
    assert len(caplog.messages) == 1 and str(store) in caplog.messages[0]
    assert os.strerror(code)[1:] in caplog.messages[0]
    compilations.pop()
    afresh(TEXT)
    assert len(compilations) == 2
    assert len(objects(store)) == 1


@unix
def test_disk_that_is_full_halfway_leaves_no_file(store):
    code = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))\n"
        "from noslip.engines.machine_code import stored_machine_code\n"
        "engine = stored_machine_code(sys.stdin.read())\n"
        "print(engine.get_function_address('f') != 0)\n"
    )
    said = (
        f"noslip: machine code is compiled in every process, not cached in {store}: it cannot be "
        "written: file too large; set NOSLIP_CACHE_DIR to a folder of yours, or to nothing\n"
    )
    assert python(code, TEXT, said) == "True\n"
    assert list(store.iterdir()) == []


def test_processes_at_once_never_see_half_a_file(store):
    """Writers replace a file again and again; a reader that checks nothing finds it whole."""
    store.mkdir(mode=0o700)
    key = bytes(range(32))
    path = store / f"{key.hex()}.object"
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from noslip.engines.code_store import _load, _save\n"
        "path = Path(sys.stdin.read())\n"
        "key = bytes.fromhex(path.stem)\n"
        "for k in range(60):\n"
        "    code = bytes([k]) * (100_000 + 1000 * k)\n"
        "    _save(path, key, code)\n"
        "    assert len(set(_load(path, key))) == 1\n"
    )
    writers = [
        subprocess.Popen(
            [sys.executable, "-B", "-c", code],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for writer in writers:
        writer.stdin.write(str(path))
        writer.stdin.close()
    found = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            data = path.read_bytes()
            assert data[: _HEADER.size] == code_store._header(key, data[_HEADER.size :])
            found.add(len(data))
    for writer in writers:
        assert (writer.wait(), writer.stderr.read()) == (0, "")
        writer.stderr.close()
    assert len(found) > 1
    assert list(store.iterdir()) == [path]


# bounds


def age(path, seconds):
    then = time.time() - seconds
    os.utime(path, (then, then))


def filled(store, count):
    """Modules 0, 1, ... in the store, the first the oldest, with their paths."""
    paths = []
    for k in range(count):
        stored_machine_code(constant(k))
        (path,) = set(objects(store)) - set(paths)
        paths.append(path)
    for k, path in enumerate(paths):
        age(path, 1000 - k)
    return paths


@pytest.fixture
def every_key_prunes(monkeypatch):
    monkeypatch.setattr(code_store, "PRUNED_BY", 1)


@pytest.mark.usefixtures("every_key_prunes")
def test_least_recently_used_files_are_removed(store, compilations, monkeypatch):
    paths = filled(store, 4)
    monkeypatch.setattr(code_store, "MAX_FILES", 4)
    afresh(constant(0))  # loaded, so used now
    stored_machine_code(constant(4))
    stored_machine_code(constant(5))
    left = set(objects(store))
    assert len(left) == 4
    assert {paths[0], paths[3]} <= left
    assert not {paths[1], paths[2]} & left
    assert len(compilations) == 6
    afresh(constant(1))
    assert len(compilations) == 7


@pytest.mark.usefixtures("every_key_prunes")
def test_bytes_are_bounded(store, monkeypatch):
    paths = filled(store, 4)
    size = paths[0].stat().st_size
    assert {path.stat().st_size for path in paths} == {size}
    monkeypatch.setattr(code_store, "MAX_BYTES", 3 * size)
    stored_machine_code(constant(4))
    left = set(objects(store))
    assert len(left) == 3
    assert set(paths) & left == {paths[2], paths[3]}


def test_one_key_in_many_looks_for_files_beyond_the_bounds(store, monkeypatch):
    monkeypatch.setattr(code_store, "MAX_FILES", 2)
    keys = [bytes([k]) * 32 for k in range(1, code_store.PRUNED_BY)]
    for key in keys:
        code_store.save(key, b"code")
    assert len(objects(store)) == len(keys)
    code_store.save(bytes(32), b"code")
    assert len(objects(store)) == 2


@pytest.mark.usefixtures("every_key_prunes")
def test_other_files_are_left_alone(store, monkeypatch):
    paths = filled(store, 2)
    digest = paths[0].stem
    others = ["thesis.tex", "old.object", f"{digest}.object.bak", ".hidden", "x.part"]
    for name in others:
        (store / name).write_text("mine")
        age(store / name, 1e6)
    alive = files.hidden_name(paths[0])
    dead = alive.with_name(alive.name.replace(f"-{os.getpid()}-", "-999999999-"))
    for path in (dead, alive):
        path.write_bytes(b"half")
    monkeypatch.setattr(code_store, "MAX_FILES", 1)
    stored_machine_code(TEXT)
    names = {path.name for path in store.iterdir()}
    assert {*others, alive.name} < names
    assert len(names) == len(others) + 2
    assert not dead.exists()


@pytest.mark.usefixtures("every_key_prunes")
def test_files_that_another_process_removes_first_are_no_error(store, monkeypatch):
    paths = filled(store, 5)
    monkeypatch.setattr(code_store, "MAX_FILES", 2)
    unlink = os.unlink

    def beaten(path, **options):
        unlink(path, **options)
        unlink(path, **options)  # gone by now

    with monkeypatch.context() as patch:
        patch.setattr(code_store.os, "unlink", beaten)
        stored_machine_code(TEXT)
    left = set(objects(store))
    assert set(paths) & left == {paths[4]}
    assert len(left) == 2


ENDS_WHILE_COMPILING = """
import sys, threading, time
from noslip.simulation.loop.loop import loop_code
from noslip.simulation.loop.writer import Shape

def work():
    for n in range(10, 60):
        began.set()
        loop_code(Shape(nx=n, num_health=2, has_samples=True, is_multistep=True))

began = threading.Event()
threading.Thread(target=work, daemon=True).start()
began.wait()
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("seconds", [0.05, 0.13, 0.31])
def test_a_process_that_ends_while_a_thread_compiles_ends_well(seconds):
    """It crashed in LLVM, or waited forever for a lock that a stopped thread held."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_WHILE_COMPILING, str(seconds)],
        env=os.environ | {"NOSLIP_CACHE_DIR": ""},
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0
