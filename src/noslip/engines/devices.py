"""Devices that run a kernel with many threads: what a batch needs of a GPU, and a stand-in for one.

    memory = device.allocate(nbytes)        memory of the device
    memory.upload(array), .download(array), .fill(byte)
    kernel = device.kernel(text, tables)    a kernel of LLVM text, see `thread_code`
    kernel.launch(record, memory, threads)  all threads until they return

:class:`HostDevice` runs the same text on this processor, one thread after another, so that tests
need no card. `cuda_driver` has the one for NVIDIA's cards.
"""

from __future__ import annotations

import abc
from ctypes import memmove, memset

import numpy as np

from noslip.algebra import LookupTable
from noslip.engines.native_arrays import address
from noslip.engines.thread_code import HostKernel

Array = np.ndarray


class DeviceMemory(abc.ABC):
    """A block of memory of a device, released with this object.

    Attributes
    ----------
    address : where it begins.
    nbytes : its size.
    is_cuda, device_index : whether it is on a card, and on which.
    """

    address: int
    nbytes: int
    is_cuda: bool = False
    device_index: int = 0

    @abc.abstractmethod
    def upload(self, array: Array) -> None:
        """Copy a contiguous array to the beginning."""

    @abc.abstractmethod
    def download(self, array: Array, offset: int = 0) -> None:
        """Copy what begins so many bytes after the beginning into a contiguous array."""

    @abc.abstractmethod
    def fill(self, byte: int) -> None:
        """Set every byte."""

    def check(self, array: Array, offset: int = 0) -> None:
        """Refuse an array that reaches beyond the block."""
        if offset < 0 or offset + array.nbytes > self.nbytes:
            raise ValueError(f"{array.nbytes} bytes from {offset} on in a block of {self.nbytes}")


class DeviceKernel(abc.ABC):
    """A loaded kernel.

    Attributes
    ----------
    most_threads : that the device runs at the same time.
    """

    most_threads: int

    @abc.abstractmethod
    def launch(self, record: bytes, memory: DeviceMemory, threads: int) -> None:
        """Run threads, at least as many as given, and wait for them."""

    @abc.abstractmethod
    def rounded(self, threads: int) -> int:
        """Number of threads that a launch of so many runs."""


class AbstractDevice(abc.ABC):
    """A device that runs kernels.

    Attributes
    ----------
    name : for people.
    """

    name: str

    @abc.abstractmethod
    def free_memory(self) -> int:
        """Bytes that may be allocated."""

    @abc.abstractmethod
    def allocate(self, nbytes: int) -> DeviceMemory:
        """Memory of the device."""

    @abc.abstractmethod
    def synchronize(self) -> None:
        """Wait until all is done that any library in this process has begun on the device."""

    @abc.abstractmethod
    def kernel(self, text: str, tables: tuple[LookupTable, ...] = ()) -> DeviceKernel:
        """The kernel of an LLVM text, and the tables that it looks up."""


class _HostMemory(DeviceMemory):
    def __init__(self, nbytes: int) -> None:
        self._bytes = np.zeros(max(nbytes, 8) + 64, np.uint8)
        self.address, self.nbytes = -(-address("memory", self._bytes, kind=None) // 64) * 64, nbytes

    def upload(self, array: Array) -> None:
        self.check(array)
        memmove(self.address, address("upload", array, kind=None), array.nbytes)

    def download(self, array: Array, offset: int = 0) -> None:
        self.check(array, offset)
        memmove(address("download", array, kind=None), self.address + offset, array.nbytes)

    def fill(self, byte: int) -> None:
        memset(self.address, byte, self.nbytes)


class _HostKernel(DeviceKernel):
    def __init__(self, text: str, tables: tuple[LookupTable, ...], threads: int) -> None:
        self._kernel, self.most_threads = HostKernel(text, tables), threads

    def launch(self, record: bytes, memory: DeviceMemory, threads: int) -> None:
        memmove(self._kernel.record, record, len(record))
        for k in range(threads):
            self._kernel.call(memory.address, k, threads)

    def rounded(self, threads: int) -> int:
        return threads


class HostDevice(AbstractDevice):
    """The processor in the place of a GPU: the same kernel, one thread after another.

    Parameters
    ----------
    threads : that it is said to run at the same time.
    memory : bytes that it is said to have.
    """

    name = "this processor"

    def __init__(self, threads: int = 5, memory: int = 2**30) -> None:
        self._threads, self._memory = threads, memory

    def free_memory(self) -> int:
        """Bytes that may be allocated."""
        return self._memory

    def allocate(self, nbytes: int) -> DeviceMemory:
        """Memory of the device."""
        return _HostMemory(nbytes)

    def synchronize(self) -> None:
        """Nothing is left to be done here when a call returns."""

    def kernel(self, text: str, tables: tuple[LookupTable, ...] = ()) -> DeviceKernel:
        """The kernel of an LLVM text, and the tables that it looks up."""
        return _HostKernel(text, tables, self._threads)
