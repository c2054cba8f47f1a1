"""NVIDIA's driver, called directly, and arrays on a device that other libraries share.

**NVIDIA's driver, called directly: devices, memory, kernels and their errors.**

Nothing but the driver's library is needed, which comes with the card: no toolkit, no compiler. The
driver translates PTX (`devices`) for its card, and keeps what it translated on disk.

The primary context of a device is used, the one that other libraries in the process use too, so
that arrays may be exchanged with them. It is made current for every call and
taken off afterwards.

**Arrays on a device, exchanged with other libraries without a copy.**

A :class:`DeviceArray` says where its numbers are in two ways that CuPy, PyTorch and JAX understand:
``__cuda_array_interface__`` and DLPack. The memory lives as long as an array, or something that was
made of it, does. The other way round, :func:`to_host` copies such arrays of others to the
processor, and :meth:`DeviceArray.view` says where their numbers are.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    Structure,
    byref,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
    py_object,
)
from typing import Any, NamedTuple

import numpy as np

from noslip.algebra import LookupTable
from noslip.base import DeviceError, SimulationError
from noslip.engines.devices import (
    ENTRY,
    RECORD,
    AbstractDevice,
    DeviceKernel,
    DeviceMemory,
    capability_for,
    ptx_of,
    table_values,
)
from noslip.engines.native_arrays import address

Array = np.ndarray

#: Threads of a block; blocks of a multiprocessor are as many as registers allow.
BLOCK = 64
#: Registers of a thread, of doubles and of single precision: with fewer there are more threads to
#: hide the latencies of each other, but values that do not fit go to memory.
MOST_REGISTERS, MOST_SINGLE_REGISTERS = 255, 128

_LIBRARY = {"win32": "nvcuda.dll"}.get(sys.platform, "libcuda.so.1")
_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76  # CU_DEVICE_ATTRIBUTE_…
_PREFER_L1 = 2  # CU_FUNC_CACHE_PREFER_L1
_LOCAL_BYTES, _REGISTERS = 3, 4  # CU_FUNC_ATTRIBUTE_…
_MAX_REGISTERS = 0  # CU_JIT_…
_OUT_OF_MEMORY, _NO_DEVICE = 2, 100
_UPDATE = "update the card's driver, or run on the processor: device='cpu', --device cpu"
_LOST = "the card was reset or is in use by something that failed: start the program anew"
#: What to do about an error of the driver, by its number; of the others, the last line.
_FIXES = {
    _OUT_OF_MEMORY: "give fewer trajectories, keep fewer samples, or free memory on the GPU",
    3: "start the program anew; a process that was forked after the driver began cannot use it",
    35: _UPDATE,
    46: "another process has the card for itself: wait for it, or choose another one",
    _NO_DEVICE: "run on the processor: device='cpu', --device cpu",
    **dict.fromkeys((218, 222, 223), _UPDATE),
    702: "the system ends kernels that take long on a card with a display: use another card",
    **dict.fromkeys((214, 700, 709, 714, 719), _LOST),
    0: f"{_LOST}, or run on the processor: device='cpu', --device cpu",
}


@functools.cache
def _driver() -> Any:
    """The driver's library, initialized."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        raise DeviceError(
            f"this machine has no NVIDIA driver ({_LIBRARY} is not there)",
            "device 'cuda'",
            "install the driver of the GPU, or run on the CPU: device='cpu', --device cpu",
        ) from None
    _check(library, library.cuInit(0), "start of the driver")
    return library


def _check(library: Any, code: int, doing: str) -> None:
    """Raise an error of the driver as what, where, fix."""
    if not code:
        return
    name, text = c_char_p(), c_char_p()
    library.cuGetErrorName(code, byref(name))
    library.cuGetErrorString(code, byref(text))
    words = (text.value or b"unknown error").decode(), (name.value or b"").decode()
    raise DeviceError(
        f"the GPU driver reports: {words[0]} ({words[1] or code})",
        f"device 'cuda', {doing}",
        _FIXES.get(code, _FIXES[0]),
    )


class CudaDevice(AbstractDevice):
    """A card of NVIDIA's.

    Attributes
    ----------
    name : name of the card, by the driver.
    capability : ten times the major number of its compute capability, and the minor one.
    num_multiprocessors : number of multiprocessors.
    """

    def __init__(self, index: int = 0) -> None:
        driver, count = _driver(), c_int()
        _check(driver, driver.cuDeviceGetCount(byref(count)), "counting of cards")
        if not 0 <= index < count.value:
            what = f"there is no card {index}" if count.value else "this machine has no NVIDIA card"
            known = ", ".join(f"'cuda:{k}'" for k in range(count.value)) or "device='cpu'"
            raise DeviceError(what, f"device 'cuda:{index}'", f"there is: {known}")
        self._device, self._context, self.index = c_int(), c_void_p(), index
        self.call("cuDeviceGet", "choice of the card", byref(self._device), index)
        self.call(
            "cuDevicePrimaryCtxRetain", "start of the card", byref(self._context), self._device
        )
        name = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", "start of the card", name, 128, self._device)
        self.name = name.value.decode()
        self.capability = 10 * self._attribute(_MAJOR) + self._attribute(_MINOR)
        self.num_multiprocessors = self._attribute(_MULTIPROCESSORS)
        if not capability_for(*divmod(self.capability, 10)):
            raise DeviceError(
                f"GPU {self.name} has compute capability {self.capability / 10}",
                f"device 'cuda:{index}'",
                "use a GPU of 5.0 or newer, or run on the CPU: device='cpu', --device cpu",
            )

    def free_memory(self) -> int:
        """Bytes that may be allocated."""
        free, total = c_size_t(), c_size_t()
        with self.current():
            self.call("cuMemGetInfo_v2", "size of memory", byref(free), byref(total))
        return free.value

    def allocate(self, nbytes: int) -> CudaMemory:
        """Memory of the card."""
        return CudaMemory(self, nbytes)

    def synchronize(self) -> None:
        """Wait until all is done that any library in this process has begun on the card."""
        self.run("cuCtxSynchronize", "work of others on the card")

    def kernel(self, text: str, tables: tuple[LookupTable, ...] = ()) -> CudaKernel:
        """The kernel of an LLVM text with its lookup tables, from an LRU cache."""
        return _kernel(self, text, tables)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Code in which this card is the current one of the thread."""
        self.call("cuCtxPushCurrent_v2", "start of the card", self._context)
        try:
            yield
        finally:
            _driver().cuCtxPopCurrent_v2(byref(c_void_p()))

    def _attribute(self, which: int) -> int:
        value = c_int()
        self.call("cuDeviceGetAttribute", "start of the card", byref(value), which, self._device)
        return value.value

    def call(self, function: str, doing: str, *arguments: Any) -> None:
        """Call a function of the driver."""
        driver = _driver()
        _check(driver, getattr(driver, function)(*arguments), doing)

    def run(self, function: str, doing: str, *arguments: Any) -> None:
        """Call a function of the driver with this card as the current one."""
        with self.current():
            self.call(function, doing, *arguments)


@functools.lru_cache(maxsize=8)
def cuda_device(index: int = 0) -> CudaDevice:
    """The card of an index, started once."""
    return CudaDevice(index)


class CudaMemory(DeviceMemory):
    """Memory of a card."""

    def __init__(self, device: CudaDevice, nbytes: int) -> None:
        self.device, self.nbytes = device, nbytes
        self.is_cuda, self.device_index = True, device.index
        place = c_void_p()
        doing = f"allocation of {max(nbytes, 8) / 2**20:.1f} MiB"
        device.run("cuMemAlloc_v2", doing, byref(place), c_size_t(max(nbytes, 8)))
        self.address = int(place.value or 0)

    def upload(self, array: Array) -> None:
        """Copy a contiguous array to the beginning."""
        if array.nbytes:
            self.check(array)
            given = c_void_p(address("upload", array, kind=None))
            sizes = c_void_p(self.address), given, c_size_t(array.nbytes)
            self.device.run("cuMemcpyHtoD_v2", "copy to the card", *sizes)

    def download(self, array: Array, offset: int = 0) -> None:
        """Copy what begins so many bytes after the beginning into a contiguous array."""
        if array.nbytes:
            self.check(array, offset)
            own = c_void_p(address("download", array, kind=None))
            places = own, c_void_p(self.address + offset)
            size = c_size_t(array.nbytes)
            self.device.run("cuMemcpyDtoH_v2", "copy from the card", *places, size)

    def fill(self, byte: int) -> None:
        """Set every byte."""
        if self.nbytes:
            given = c_void_p(self.address), c_uint(byte), c_size_t(self.nbytes)
            self.device.run("cuMemsetD8_v2", "filling of memory", *given)

    def __del__(self) -> None:
        # the driver may be gone when the process ends
        place, self.address = getattr(self, "address", 0), 0
        if place and not sys.is_finalizing():
            with self.device.current():
                _driver().cuMemFree_v2(c_void_p(place))


def download(interface: Mapping[str, Any]) -> Array:
    """The numbers of a ``__cuda_array_interface__``, copied to the processor."""
    kind, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
    steps = interface.get("strides") or np.empty(shape, kind).strides
    if not all(shape):
        return np.empty(shape, kind)
    lowest = sum(min(0, s) * (n - 1) for s, n in zip(steps, shape, strict=True))
    highest = sum(max(0, s) * (n - 1) for s, n in zip(steps, shape, strict=True)) + kind.itemsize
    raw = np.empty(highest - lowest, np.uint8)
    device = cuda_device()
    device.run("cuCtxSynchronize", "copy from the card")
    own = c_void_p(address("download", raw, kind=None))
    places = own, c_void_p(interface["data"][0] + lowest)
    device.run("cuMemcpyDtoH_v2", "copy from the card", *places, c_size_t(raw.nbytes))
    return np.ndarray(shape, kind, raw.data, -lowest, steps).copy()


class CudaKernel(DeviceKernel):
    """A kernel that the driver has translated for a card.

    Attributes
    ----------
    registers, local_bytes : registers and local memory of a thread.
    """

    def __init__(self, device: CudaDevice, text: str, tables: tuple[LookupTable, ...] = ()) -> None:
        self._device = device
        capability = capability_for(*divmod(device.capability, 10))
        ptx = ptx_of(text, capability).encode() + b"\0"
        module, function = c_void_p(), c_void_p()
        is_single = "@single_" in text or " float " in text
        most = MOST_SINGLE_REGISTERS if is_single else MOST_REGISTERS
        option, registers = (c_int * 1)(_MAX_REGISTERS), (c_void_p * 1)(most)
        device.run(
            "cuModuleLoadDataEx",
            *("translation of the kernel", byref(module), c_char_p(ptx), 1, option, registers),
        )
        device.run(
            "cuModuleGetFunction", "kernel", byref(function), module, c_char_p(ENTRY.encode())
        )
        self._function, self._record = function, self._global(module, RECORD)
        for table in tables:
            values = table_values(table, text)
            place = self._global(module, table.symbol)
            own = c_void_p(address(table.symbol, values, kind=None))
            given = place, own, c_size_t(values.nbytes)
            device.run("cuMemcpyHtoD_v2", "copy of a table to the card", *given)
        device.run("cuFuncSetCacheConfig", "kernel", function, _PREFER_L1)
        blocks = c_int()
        device.run(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            *("kernel", byref(blocks), function, BLOCK, c_size_t(0)),
        )
        self.registers, self.local_bytes = map(self._attribute, (_REGISTERS, _LOCAL_BYTES))
        self.most_threads = max(1, blocks.value) * BLOCK * device.num_multiprocessors

    def _global(self, module: c_void_p, name: str) -> c_void_p:
        """Address of a variable of the module."""
        place, size = c_void_p(), c_size_t()
        given = byref(place), byref(size), module, c_char_p(name.encode())
        self._device.run("cuModuleGetGlobal_v2", "kernel", *given)
        return place

    def _attribute(self, which: int) -> int:
        value = c_int()
        self._device.run("cuFuncGetAttribute", "kernel", byref(value), which, self._function)
        return value.value

    def launch(self, record: bytes, memory: DeviceMemory, threads: int) -> None:
        """Run threads in whole blocks, and wait for them."""
        place = c_void_p(memory.address)
        arguments = (c_void_p * 1)(ctypes.addressof(place))
        grid = (self.rounded(threads) // BLOCK, 1, 1, BLOCK, 1, 1)
        with self._device.current():
            given = self._record, c_char_p(record), c_size_t(len(record))
            self._device.call("cuMemcpyHtoD_v2", "copy to the card", *given)
            doing = "start of the kernel"
            self._device.call(
                "cuLaunchKernel", doing, self._function, *grid, 0, None, arguments, None
            )
            self._device.call("cuCtxSynchronize", "run of the kernel")

    def rounded(self, threads: int) -> int:
        """Number of threads of whole blocks."""
        return -(-threads // BLOCK) * BLOCK


@functools.lru_cache(maxsize=32)
def _kernel(device: CudaDevice, text: str, tables: tuple[LookupTable, ...]) -> CudaKernel:
    return CudaKernel(device, text, tables)


def read_device(given: Any, where: str) -> AbstractDevice | None:
    """The device of a word such as ``"cuda:1"``; None for the processor."""
    if isinstance(given, AbstractDevice):
        return given
    word, _, number = given.partition(":") if isinstance(given, str) else ("", "", "")
    if word == "cpu" and not number:
        return None
    if word == "cuda" and (number.isdecimal() or given == "cuda"):
        return cuda_device(int(number or 0))
    raise SimulationError(
        f"device is {given!r}", where, "give 'cpu', 'cuda', or one of several GPUs as 'cuda:1'"
    )


class _DLTensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _DLManagedTensor(Structure):
    pass


_DELETER = CFUNCTYPE(None, POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = [
    ("tensor", _DLTensor),
    ("manager", c_void_p),
    ("deleter", _DELETER),
]
#: Tensors that were given away, with all that they point to, until their receivers delete them.
_GIVEN: dict[int, tuple[Any, ...]] = {}
#: DLPack's codes of kinds of numbers, by NumPy's letters.
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_ON_CARD = 2  # its kind of device


@_DELETER
def _delete(tensor: Any) -> None:
    _GIVEN.pop(ctypes.addressof(tensor.contents), None)


_DESTRUCTOR = CFUNCTYPE(None, c_void_p)
# functions of our own; those of ctypes.pythonapi are shared with everybody in the process
_NEW_CAPSULE = PYFUNCTYPE(py_object, c_void_p, c_char_p, _DESTRUCTOR)(
    ("PyCapsule_New", ctypes.pythonapi)
)
_IS_CAPSULE = PYFUNCTYPE(c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_ADDRESS_IN = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


@_DESTRUCTOR
def _destroy(capsule: int) -> None:
    """Delete a tensor that no consumer took."""
    if _IS_CAPSULE(capsule, b"dltensor"):
        _GIVEN.pop(int(_ADDRESS_IN(capsule, b"dltensor")), None)


class DeviceArray:
    """Strided view of numbers on a device.

    Parameters
    ----------
    memory : memory with the numbers.
    shape, strides : shape and strides of the view, strides in numbers.
    offset : offset of the first, in numbers.
    base : the whole table that it is a column of, for libraries that take no strides, as JAX.
    dtype : dtype of the numbers.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int = 0,
        base: DeviceArray | None = None,
        dtype: Any = np.float64,
    ) -> None:
        self._memory, self.shape, self._strides, self._offset = memory, shape, strides, offset
        self.base, self.dtype = base, np.dtype(dtype)

    @classmethod
    def columns(cls, memory: DeviceMemory, shape: tuple[int, ...], count: int) -> list[DeviceArray]:
        """Views of the columns of a table (*shape, count), whose rows stand one after another."""
        strides: list[int] = []
        step = count
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
        base = cls(memory, (*shape, count), (*strides, 1))
        return [cls(memory, shape, tuple(strides), k, base) for k in range(count)]

    @staticmethod
    def view(value: Any) -> DeviceView | None:
        """Address and layout of an array on a device, of any library; None for other values."""
        return device_view(value)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def address(self) -> int:
        """Address of the first number."""
        return self._memory.address + self.dtype.itemsize * self._offset

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes between numbers of each dimension."""
        return tuple(self.dtype.itemsize * s for s in self._strides)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self._memory.is_cuda:
            raise AttributeError("the array is not on a card")
        return {
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_ON_CARD, self._memory.device_index) if self._memory.is_cuda else (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        numbers = c_int64 * self.ndim
        shape, strides = numbers(*self.shape), numbers(*self._strides)
        kind, index = self.__dlpack_device__()
        code, bits = _CODES[self.dtype.kind], 8 * self.dtype.itemsize
        at = c_void_p(self.address)
        tensor = _DLTensor(at, kind, index, self.ndim, code, bits, 1, shape, strides, 0)
        managed = _DLManagedTensor(tensor, None, _delete)
        _GIVEN[ctypes.addressof(managed)] = (managed, shape, strides, self._memory)
        return _NEW_CAPSULE(ctypes.addressof(managed), b"dltensor", _destroy)

    def numpy(self) -> Array:
        """A copy in the memory of the processor."""
        if not all(self.shape):
            return np.empty(self.shape, self.dtype)
        last = sum(s * (n - 1) for s, n in zip(self._strides, self.shape, strict=True))
        part = np.empty(last + 1, self.dtype)
        self._memory.download(part, self.dtype.itemsize * self._offset)
        return np.lib.stride_tricks.as_strided(part, self.shape, self.strides).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def __repr__(self) -> str:
        follow = "next: .numpy(), cupy.asarray(…), torch.as_tensor(…)"
        return f"DeviceArray of shape {self.shape}, {self.dtype}\n{follow}"


def to_host(value: Any) -> Any:
    """An array on a card, of whatever library, as one of NumPy's; anything else as it is."""
    if isinstance(value, DeviceArray):
        return value.numpy()
    given = getattr(value, "__cuda_array_interface__", None)
    if given is None:
        return value

    return download(given)


_POINTER = PYFUNCTYPE(c_void_p, py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


class DeviceView(NamedTuple):
    """Address and layout of an array on a device."""

    address: int  #: address of the first
    #: shape, strides: strides in bytes
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]  #: dtype of the numbers
    owner: Any  #: object that keeps the memory alive


def device_view(value: Any) -> DeviceView | None:
    """Address and layout of an array on a device, of any library; None for other values."""
    if isinstance(value, DeviceArray):
        return DeviceView(value.address, value.shape, value.strides, value.dtype, value)
    given = getattr(value, "__cuda_array_interface__", None)
    if given is not None:
        dtype, shape = np.dtype(given["typestr"]), tuple(given["shape"])
        strides = tuple(given.get("strides") or _contiguous(shape, dtype.itemsize))
        return DeviceView(int(given["data"][0]), shape, strides, dtype, value)
    where = getattr(value, "__dlpack_device__", None)
    if where is None or int(where()[0]) != _ON_CARD:
        return None
    return _view_of_capsule(value.__dlpack__())


def _view_of_capsule(capsule: Any) -> DeviceView:
    """A tensor that its capsule keeps, and that the capsule deletes with itself."""
    address = _POINTER(capsule, b"dltensor")
    tensor = _DLManagedTensor.from_address(int(address)).tensor
    letter = {code: letter for letter, code in _CODES.items()}[tensor.code]
    size, n = tensor.bits // 8, tensor.ndim
    shape = tuple(tensor.shape[:n])
    strides = tuple(size * s for s in tensor.strides[:n]) if tensor.strides else None
    dtype = np.dtype(f"{letter}{size}")
    at = int(tensor.data) + int(tensor.byte_offset)
    return DeviceView(at, shape, strides or _contiguous(shape, size), dtype, capsule)


def _contiguous(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Strides, in bytes, of rows that stand one after another."""
    strides: list[int] = []
    for count in reversed(shape):
        strides.insert(0, size)
        size *= count
    return tuple(strides)
