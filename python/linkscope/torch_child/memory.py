"""Memory: tensors of a kind, at a place, that fill, poison and check themselves where they live."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import torch

from linkscope.torch_child import system
from linkscope.torch_child.faults import ChildError, Fault, unsupported
from linkscope.torch_child.flow import Endpoint
from linkscope.torch_child.pattern import POISON, pattern_words

Tensor = Any
Elements = Callable[[int, int, Any], Tensor]
"""(first, count, device) -> the numbers of a run of elements."""

WORD = 8
_CHUNK_WORDS = {"cuda": 1 << 22, "cpu": 1 << 15}
"""Numbers that are made at a time. On CPUs few: what a cache holds, and malloc keeps, is made fifteen times as fast."""
_ALIGNMENT = 16
_KINDS = ("device", "pageable", "pinned")


def supports(where: Endpoint) -> None:
    """Raises ChildError where there can be no such tensor."""
    if where.memory not in _KINDS:
        raise unsupported(f"PyTorch allocates {', '.join(_KINDS)} memory, no {where.memory}")
    if where.memory == "device":
        if where.device.kind != "gpu":
            raise unsupported(f"device memory is on a GPU, {where.device} is not one")
        if not torch.cuda.is_available() or where.device.index >= torch.cuda.device_count():
            raise unsupported(f"PyTorch has no {where.device} here")
    elif where.device.kind != "numa":
        raise unsupported(f"{where.memory} memory is on the host, not on {where.device}")
    elif where.device.index not in system.numa_nodes():
        raise unsupported(f"there is no {where.device} here")
    elif where.memory == "pinned" and not torch.cuda.is_available():
        raise unsupported("pinned memory: PyTorch finds no GPU to pin it for")
    if where.first_touch != where.device:
        raise unsupported("tensors are first touched by their own device: PyTorch offers no choice")
    if where.advice:
        raise unsupported(f"{where.memory} memory takes no advice")


def torch_device(where: Endpoint) -> Any:
    """The device of a tensor at that endpoint."""
    return torch.device("cuda", where.device.index) if where.device.kind == "gpu" else torch.device("cpu")


def allocate(where: Endpoint, size: int, limit: int, empty: Callable[..., Tensor] | None = None) -> Tensor:
    """A uint8 tensor of ``size`` bytes, all pages touched. ``limit``: most host memory. ``empty``: what takes the place
    of torch.empty on a GPU. Raises ChildError.
    """
    try:
        if where.device.kind == "gpu":
            return (empty or torch.empty)(size, dtype=torch.uint8, device=torch_device(where))
        system.require_room(size, limit)
        with system.pages_on(where.device.index):
            tensor = torch.empty(size, dtype=torch.uint8, pin_memory=where.memory == "pinned")
            ctypes.memset(tensor.data_ptr(), POISON, size)  # by this thread, whose policy holds
            return tensor
    except (torch.cuda.OutOfMemoryError, MemoryError) as error:
        raise ChildError(Fault.NO_MEMORY, str(error)) from error
    except RuntimeError as error:
        if "memory" not in str(error):
            raise
        raise ChildError(Fault.NO_MEMORY, str(error)) from error


class Arena:
    """One end of a flow: ``slots`` equal pieces of one allocation, which successive calls take in turn. ``space``: what
    is allocated already.
    """

    def __init__(self, where: Endpoint, size: int, slots: int, limit: int, space: Tensor | None = None) -> None:
        self._name = f"{where.device} {where.memory}"
        self._size = size
        self._stride = max(-(-size // _ALIGNMENT) * _ALIGNMENT, _ALIGNMENT)
        self._slots = slots
        whole = self._stride * slots
        self._all = allocate(where, whole, limit) if space is None else space[:whole]
        self.pieces: list[Tensor] = [
            self._all[slot * self._stride : slot * self._stride + size] for slot in range(slots)
        ]

    def fill(self, seed: int) -> None:
        """The pattern of ``seed`` over all slots, so that each holds different data."""
        words = self._all.view(torch.int64)
        for first, count in _chunks(words):
            words[first : first + count] = pattern_words(seed, first, count, self._all.device)

    def poison(self) -> None:
        self._all.fill_(POISON)

    def verified_bytes(self, calls: int) -> int:
        return min(calls, self._slots) * self._size

    def compare(self, seed: int, calls: int) -> str | None:
        """Return what is wrong in the slots that so many calls wrote; None where they hold fill(seed)'s pattern."""
        touched = min(calls, self._slots)
        rows = max(1, _CHUNK_WORDS[self._all.device.type] * WORD // self._stride)
        for first in range(0, touched, rows):
            offset = self._first_difference(seed, first, min(rows, touched - first))
            if offset is not None:
                slot, byte = divmod(offset, self._stride)
                place = f" in slot {slot} of {self._slots}" if self._slots > 1 else ""
                return f"byte {byte} of {self._size}{place} arrived wrong in {self._name}"
        return None

    def _first_difference(self, seed: int, first: int, slots: int) -> int | None:
        """Byte offset in the arena of the first byte of these slots that differs from the pattern."""
        begin = first * self._stride
        length = slots * self._stride
        words = self._all[begin : begin + length].view(torch.int64)
        for start, count in _chunks(words):
            expected = pattern_words(seed, begin // WORD + start, count, self._all.device)
            wrong = words[start : start + count] != expected
            if not bool(wrong.any()):
                continue
            found = words[start : start + count].view(torch.uint8) != expected.view(torch.uint8)
            places = torch.arange(found.numel(), device=found.device) + (begin + start * WORD)
            payload = found & (places % self._stride < self._size)  # what is between slots is nobody's
            if bool(payload.any()):
                return int(places[payload][0])
        return None


def fill_elements(tensor: Tensor, elements: Elements) -> None:
    """Writes numbers into a tensor of their type."""
    for first, count in _chunks(tensor):
        tensor[first : first + count] = elements(first, count, tensor.device).to(tensor.dtype)


def first_wrong_element(tensor: Tensor, elements: Elements) -> int | None:
    """Index of the first element that differs from the numbers."""
    for first, count in _chunks(tensor):
        wrong = tensor[first : first + count] != elements(first, count, tensor.device).to(tensor.dtype)
        if bool(wrong.any()):
            return first + int(wrong.to(torch.uint8).argmax())
    return None


def _chunks(tensor: Tensor) -> Iterator[tuple[int, int]]:
    """(first, count) of runs of its elements."""
    most = _CHUNK_WORDS[tensor.device.type]
    for first in range(0, tensor.numel(), most):
        yield first, min(most, tensor.numel() - first)
