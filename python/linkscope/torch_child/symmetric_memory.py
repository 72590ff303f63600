"""torch-symm-mem: the collectives of PyTorch's symmetric memory, by kernels that load from peers or by copy engines.

Signatures: SymmetricMemory.cpp and torch/distributed/_symmetric_memory of PyTorch 2.11. None of it uses multicast.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import torch

from linkscope.torch_child import memory
from linkscope.torch_child.collective import CollectiveMethod, MemberCall, Shape
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Endpoint, Flow, Regime

Tensor = Any

_OPERATIONS = {
    ("one-shot", "all-reduce"): "one_shot_all_reduce_out",
    ("two-shot", "all-reduce"): "two_shot_all_reduce_",
    ("two-shot", "reduce-scatter"): "reduce_scatter_out",  # the first of the two shots
    ("copy-engine", "all-gather"): "_low_contention_all_gather",
    ("copy-engine", "reduce-scatter"): "_low_contention_reduce_scatter",
}
_ALGORITHMS = tuple(dict.fromkeys(algorithm for algorithm, _ in _OPERATIONS))
_TYPES_OF_KERNELS = ("float32", "bfloat16")
_TYPES_OF_SUM = ("float32", "float16", "bfloat16")  # PyTorch's sum of int32 is int64
_SCATTERED_MEMBERS = (2, 4, 8)
_NOTES = ["buffers in PyTorch's symmetric memory"]
_NOTES_OF_COPIES = [*_NOTES, "each call allocates its output"]


class TorchSymmMem(CollectiveMethod):
    """Run collectives by torch.ops.symm_mem."""

    def refuse(self, flow: Flow, shape: Shape, regime: Regime) -> None:
        """See CollectiveMethod.refuse."""
        algorithm = flow.word("algorithm", _ALGORITHMS, "one-shot")
        operation = _OPERATIONS.get((algorithm, shape.kind))
        if operation is None:
            kinds = " and ".join(kind for one, kind in _OPERATIONS if one == algorithm)
            raise unsupported(f"{algorithm} has no {shape.kind}: PyTorch has {kinds}")
        if _module() is None or not hasattr(torch.ops.symm_mem, operation):
            raise unsupported(f"this PyTorch has no torch.ops.symm_mem.{operation}")
        wanted = flow.parameters.get("type", "float32")
        types = _TYPES_OF_SUM if algorithm == "copy-engine" else _TYPES_OF_KERNELS
        if wanted not in types and shape.kind != "all-gather":
            raise unsupported(f"{shape.kind} by {algorithm} takes {', '.join(types)}, no {wanted}")
        alignment = next((one for one in (16, 8, 4) if shape.size % one == 0), 0)
        blocks = shape.members if operation == "reduce_scatter_out" else 1
        if blocks > 1 and shape.members not in _SCATTERED_MEMBERS:
            raise unsupported(f"reduce-scatter by two-shot has 2, 4 or 8 members, not {shape.members}")
        if algorithm != "copy-engine" and (not alignment or shape.size % (alignment * blocks)):
            raise unsupported(f"{shape.size} B is not a whole number of {alignment or 4} B for each of {blocks} blocks")
        if shape.in_place != (operation == "two_shot_all_reduce_"):
            place = "no" if shape.in_place else "yes"
            raise unsupported(f"{shape.kind} by {algorithm} works otherwise: write in_place: {place}")

    def allocate(self, flow: Flow, shape: Shape, own: Endpoint, limit: int) -> tuple[Tensor, Tensor]:
        """See CollectiveMethod.allocate: the input in symmetric memory."""
        without_multicast()
        module, unit = _module(), int(shape.dtype.itemsize)
        sent = shape.block if shape.kind == "all-gather" else shape.elements
        given = memory.allocate(own, sent * unit, limit, module.empty).view(shape.dtype)
        if shape.in_place:
            return given, given
        received = shape.block if shape.kind == "reduce-scatter" else shape.elements
        taken = 0 if _by_copies(flow) else received * unit
        return given, memory.allocate(own, taken, limit).view(shape.dtype)

    def work(self, flow: Flow, shape: Shape, group: Any, held: tuple[Tensor, Tensor], gpu: int | None) -> MemberCall:
        """See CollectiveMethod.work: maps the input of all members."""
        (sent, received), name, module = held, group.group_name, _module()
        # PyTorch keeps its stream for copies by priority alone: one of another GPU would not wait for ours.
        getattr(module, "_backend_streams", {}).clear()
        module.rendezvous(sent, group)
        operation = _OPERATIONS[flow.parameters.get("algorithm", "one-shot"), shape.kind]
        called, arrived = getattr(torch.ops.symm_mem, operation), torch.ops._c10d_functional.wait_tensor
        work = {
            "one_shot_all_reduce_out": lambda: called(sent, "sum", name, received),
            "two_shot_all_reduce_": lambda: called(sent, "sum", name),
            "reduce_scatter_out": lambda: called(sent, name, False, received),
            "_low_contention_all_gather": lambda: arrived(called(sent, name)),
            "_low_contention_reduce_scatter": lambda: arrived(called(sent, "sum", name)),
        }
        return MemberCall(work[operation], allocates=_by_copies(flow))

    def notes(self, flow: Flow) -> list[str]:
        """See CollectiveMethod.notes."""
        return _NOTES_OF_COPIES if _by_copies(flow) else _NOTES


def without_multicast() -> None:
    """Keep PyTorch from making multicast objects of symmetric memory, unless the user asks for them, and from pooling
    it: processes that took part in other cases would get blocks of other sizes, which cannot be mapped together.
    """
    os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
    os.environ.setdefault("TORCH_SYMMMEM_IMPLICIT_POOL", "0")


def _by_copies(flow: Flow) -> bool:
    return flow.parameters.get("algorithm") == "copy-engine"


def _module() -> Any:
    """PyTorch's module, which registers the operations; None where it has none."""
    try:
        return importlib.import_module("torch.distributed._symmetric_memory")
    except ImportError:
        return None
