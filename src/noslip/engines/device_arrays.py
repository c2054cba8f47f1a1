"""Arrays on a device, exchanged with other libraries without a copy.

A :class:`DeviceArray` says where its numbers are in two ways that CuPy, PyTorch and JAX understand:
``__cuda_array_interface__`` and DLPack. The memory lives as long as an array, or something that was
made of it, does. The other way round, :func:`to_host` copies such arrays of others to the
processor, and :meth:`DeviceArray.view` says where their numbers are.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    PYFUNCTYPE,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
    py_object,
)
from typing import Any, NamedTuple

import numpy as np

from noslip.engines.devices import DeviceMemory

Array = np.ndarray


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
    from noslip.engines.cuda_driver import download

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
