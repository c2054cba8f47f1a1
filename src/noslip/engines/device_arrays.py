"""Arrays on a device, exchanged with other libraries without a copy.

A :class:`DeviceArray` says where its numbers are in two ways that CuPy, PyTorch and JAX understand:
``__cuda_array_interface__`` and DLPack. The memory lives as long as an array, or something that was
made of it, does. The other way round, :func:`to_host` reads such arrays of others.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint64,
    c_void_p,
    py_object,
)
from typing import Any

import numpy as np

from noslip.engines.devices import AbstractDevice, DeviceMemory

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
_FLOAT = 2  # DLPack's code of floating-point numbers


@_DELETER
def _delete(tensor: Any) -> None:
    _GIVEN.pop(ctypes.addressof(tensor.contents), None)


_DESTRUCTOR = CFUNCTYPE(None, c_void_p)


@_DESTRUCTOR
def _destroy(capsule: int) -> None:
    """Delete a tensor that nobody took."""
    api = ctypes.pythonapi
    if api.PyCapsule_IsValid(c_void_p(capsule), b"dltensor"):
        api.PyCapsule_GetPointer.restype = c_void_p
        address = api.PyCapsule_GetPointer(c_void_p(capsule), b"dltensor")
        _GIVEN.pop(int(address), None)


class DeviceArray:
    """Doubles on a device, seen with any strides.

    Parameters
    ----------
    memory : that holds them.
    shape, strides : of the view, strides in numbers.
    offset : of the first, in numbers.
    base : the whole table that it is a column of, for libraries that take no strides, as JAX.
    """

    def __init__(
        self,
        memory: DeviceMemory,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        offset: int = 0,
        base: DeviceArray | None = None,
    ) -> None:
        self._memory, self.shape, self._strides, self._offset = memory, shape, strides, offset
        self.base = base

    dtype = np.dtype(np.float64)

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def address(self) -> int:
        """Where the first number is."""
        return self._memory.address + 8 * self._offset

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self._memory.is_cuda:
            raise AttributeError("the array is not on a card")
        return {
            "shape": self.shape,
            "strides": tuple(8 * s for s in self._strides),
            "typestr": "<f8",
            "data": (self.address, False),
            "version": 3,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self._memory.device_index) if self._memory.is_cuda else (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        numbers = c_int64 * self.ndim
        shape, strides = numbers(*self.shape), numbers(*self._strides)
        kind, index = self.__dlpack_device__()
        tensor = _DLTensor(
            c_void_p(self.address), kind, index, self.ndim, _FLOAT, 64, 1, shape, strides, 0
        )
        managed = _DLManagedTensor(tensor, None, _delete)
        _GIVEN[ctypes.addressof(managed)] = (managed, shape, strides, self._memory)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = py_object, [c_void_p, c_char_p, _DESTRUCTOR]
        return new(ctypes.addressof(managed), b"dltensor", _destroy)

    def numpy(self) -> Array:
        """A copy in the memory of the processor."""
        whole = np.empty(self._memory.nbytes // 8)
        self._memory.download(whole)
        steps = tuple(8 * s for s in self._strides)
        return np.lib.stride_tricks.as_strided(whole[self._offset :], self.shape, steps).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = self.numpy()
        return found if dtype is None else found.astype(dtype)

    def __repr__(self) -> str:
        follow = "next: .numpy(), cupy.asarray(…), torch.as_tensor(…)"
        return f"DeviceArray of shape {self.shape}\n{follow}"


def columns_of(memory: DeviceMemory, shape: tuple[int, ...], count: int) -> list[DeviceArray]:
    """Views of the columns of a table (*shape, count), whose rows stand one after another."""
    strides: list[int] = []
    step = count
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    base = DeviceArray(memory, (*shape, count), (*strides, 1))
    return [DeviceArray(memory, shape, tuple(strides), k, base) for k in range(count)]


def to_device(device: AbstractDevice, table: Array) -> DeviceMemory:
    """A table copied to a device."""
    table = np.ascontiguousarray(table, dtype=np.float64)
    memory = device.allocate(table.nbytes)
    memory.upload(table)
    return memory


def to_host(value: Any) -> Any:
    """An array on a card, of whatever library, as one of NumPy's; anything else as it is."""
    if isinstance(value, DeviceArray):
        return value.numpy()
    given = getattr(value, "__cuda_array_interface__", None)
    if given is None:
        return value
    from noslip.engines.cuda_driver import download

    return download(given)
