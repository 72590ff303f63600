"""torch-collective: the collectives of torch.distributed, one member per process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from linkscope.torch_child import groups, memory, recorded, rotation
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Endpoint, Flow, Regime, Site
from linkscope.torch_child.groups import Groups
from linkscope.torch_child.method import Method
from linkscope.torch_child.part import Part
from linkscope.torch_child.pattern import (
    ELEMENT_TYPES,
    POISON,
    balanced_elements,
    input_elements,
    summed_elements,
)
from linkscope.torch_child.transfer import Transfer

Tensor = Any
Json = dict[str, Any]

KINDS = ("all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all", "barrier")
_BY_BLOCKS = ("reduce-scatter", "all-gather", "all-to-all")
_IN_PLACE_ALONE = ("all-reduce", "reduce", "broadcast")
_OUT_OF_PLACE_ALONE = ("reduce-scatter", "all-to-all")
_GLOO_ON_GPUS = ("all-reduce", "broadcast")  # docs.pytorch.org/docs/stable/distributed.html, "Backends"


@dataclass(frozen=True)
class Shape:
    """What a flow asks for. ``size``: bytes as nccl-tests counts them, of the larger buffer. ``index``: this member's
    place in the group, whose order is that of ranks. ``root``: the first member's.
    """

    kind: str
    dtype: Any
    in_place: bool
    members: int
    size: int
    index: int
    root: int

    @property
    def elements(self) -> int:
        """Of the larger buffer."""
        return self.size // int(self.dtype.itemsize)

    @property
    def block(self) -> int:
        """Elements of one member's share."""
        return self.elements // self.members


class CollectiveTransfer(Transfer):
    """One member's calls."""

    led_in_by_a_call = True  # a barrier would keep the caller, another call of the same kind does not

    def __init__(
        self,
        shape: Shape,
        root_rank: int,
        group: Any,
        buffers: tuple[Tensor, Tensor],
        gpu: int | None,
        remarks: list[str],
    ) -> None:
        self._remarks = remarks
        self._shape = shape
        self._group = group
        self._gpu = gpu
        self._root = root_rank
        self.accumulates = shape.kind == "reduce"
        self._sent, self._received = buffers
        self._work = self._operation()

    def _operation(self) -> Callable[[], Any]:
        sent, received, group, root = self._sent, self._received, self._group, self._root
        work: dict[str, Callable[[], Any]] = {
            "all-reduce": lambda: dist.all_reduce(received, group=group),
            "reduce": lambda: dist.reduce(received, root, group=group),
            "broadcast": lambda: dist.broadcast(received, root, group=group),
            "reduce-scatter": lambda: dist.reduce_scatter_tensor(received, sent, group=group),
            "all-gather": lambda: dist.all_gather_into_tensor(received, sent, group=group),
            "all-to-all": lambda: dist.all_to_all_single(received, sent, group=group),
            "barrier": self.meet,
        }
        return work[self._shape.kind]

    def call(self) -> None:
        """As Transfer.call."""
        self._work()

    def meet(self) -> None:
        """As Transfer.meet."""
        if self._gpu is None:
            dist.barrier(self._group)
        else:
            dist.barrier(self._group, device_ids=[self._gpu])

    def settle(self) -> None:
        """As Transfer.settle."""
        if self._gpu is not None:
            torch.cuda.current_stream(self._gpu).synchronize()

    def arm(self, seed: int) -> None:
        """As Transfer.arm."""
        shape = self._shape
        if shape.kind == "barrier":
            return
        self._received.view(torch.uint8).fill_(POISON)
        if shape.kind == "all-reduce":
            memory.fill_elements(self._sent, self._balanced(seed))
        elif shape.kind != "broadcast" or shape.index == shape.root:
            memory.fill_elements(self._sent, self._input(seed, shape.index, 0))
        self.settle()

    def verify(self, seed: int) -> str | None:
        """As Transfer.verify."""
        shape = self._shape
        if shape.kind == "barrier" or (shape.kind == "reduce" and shape.index != shape.root):
            return None
        for begin, count, expected in self._expectations(seed):
            wrong = memory.first_wrong_element(self._received[begin : begin + count], expected)
            if wrong is not None:
                byte = (begin + wrong) * int(shape.dtype.itemsize)
                return f"{shape.kind}: byte {byte} of member {shape.index} is wrong"
        return None

    def verified_bytes(self) -> int:
        """As Transfer.verified_bytes."""
        shape = self._shape
        if shape.kind == "barrier" or (shape.kind == "reduce" and shape.index != shape.root):
            return 0
        return int(self._received.numel() * self._received.element_size())

    def notes(self) -> list[str]:
        """As Transfer.notes."""
        return [*self._remarks, "works in place"] if self._shape.in_place else self._remarks

    def _expectations(self, seed: int) -> list[tuple[int, int, memory.Elements]]:
        """(first, count, numbers) of each run of elements that the output must hold."""
        shape = self._shape
        whole, block = shape.elements, shape.block
        if shape.kind == "all-reduce":
            return [(0, whole, lambda first, count, device: torch.zeros(count, dtype=torch.int64, device=device))]
        if shape.kind == "broadcast":
            return [(0, whole, self._input(seed, shape.root, 0))]
        if shape.kind == "reduce":
            return [(0, whole, self._sum(seed, 0))]
        if shape.kind == "reduce-scatter":
            return [(0, block, self._sum(seed, shape.index * block))]
        offset = 0 if shape.kind == "all-gather" else shape.index * block
        return [(m * block, block, self._input(seed, m, offset)) for m in range(shape.members)]

    def _input(self, seed: int, member: int, offset: int) -> memory.Elements:
        return lambda first, count, device: input_elements(seed, member, offset + first, count, device)

    def _sum(self, seed: int, offset: int) -> memory.Elements:
        members = self._shape.members
        return lambda first, count, device: summed_elements(seed, members, offset + first, count, device)

    def _balanced(self, seed: int) -> memory.Elements:
        index, members = self._shape.index, self._shape.members
        return lambda first, count, device: balanced_elements(seed, index, members, first, count, device)


class TorchCollective(Method):
    """Sums, as the other interfaces' collectives."""

    def __init__(self, communicators: Groups) -> None:
        self._groups = communicators

    def check(self, flow: Flow, regime: Regime) -> None:
        """As Method.check."""
        if len(flow.members) < 2:
            raise unsupported("torch-collective needs two members or more")
        if len({member.rank for member in flow.members}) < len(flow.members):
            raise unsupported("torch.distributed has one member in each process")
        shape = _shape(flow, flow.members[0].rank)
        unit = int(shape.dtype.itemsize) * (shape.members if shape.kind in _BY_BLOCKS else 1)
        if shape.size % unit or (shape.size == 0 and shape.kind != "barrier"):
            what = f"{flow.parameters.get('type', 'float32')} for each of {shape.members} members"
            raise unsupported(f"{shape.size} B is not a whole number of {what}")
        _check_place(flow, shape.kind)
        backend = groups.backend_for(_backend(flow), flow.members)
        on_gpus = any(member.device.kind == "gpu" for member in flow.members)
        if backend == "gloo" and on_gpus and shape.kind not in _GLOO_ON_GPUS:
            raise unsupported(f"Gloo has no {shape.kind} of GPU memory")
        _check_form(flow, shape.kind, backend)
        if regime.cache == "flushed":
            raise unsupported("PyTorch cannot flush caches; warm or rotated")
        if regime.clock == "device" and (backend == "gloo" or shape.kind == "barrier"):
            raise unsupported(f"{backend}'s {shape.kind} keeps its caller: no device clock, host or batch")

    def hold(self, flow: Flow, regime: Regime, site: Site) -> Any:
        """As Method.hold: input and output."""
        own = flow.own_end(site.rank)
        memory.supports(own)
        groups.use(own)
        return _allocated(_shape(flow, site.rank), own, site.memory_limit_bytes)

    def export_handles(self, site: Site) -> Json:
        """As Method.export_handles."""
        return self._groups.export(site)

    def import_handles(self, flow: Flow, exports: Sequence[Json], site: Site) -> None:
        """As Method.import_handles."""
        self._groups.join(flow.ranks, groups.backend_for(_backend(flow), flow.members), exports, site)

    def assemble(self, flow: Flow, regime: Regime, site: Site, held: Any) -> Part:
        """As Method.assemble."""
        group = self._groups.of(flow.ranks, groups.backend_for(_backend(flow), flow.members))
        gpu = groups.use(flow.own_end(site.rank))
        remarks = [rotation.ONE_SLOT] if regime.cache == "rotated" and flow.bytes > 0 else []
        root = flow.members[0].rank
        transfer = CollectiveTransfer(_shape(flow, site.rank), root, group, held, gpu, remarks)
        return recorded.in_its_form(transfer, flow, regime, gpu, self._groups.vote(flow.ranks))


def _allocated(shape: Shape, own: Endpoint, limit: int) -> tuple[Tensor, Tensor]:
    """Input and output; one tensor, or a part of one, where the call works in place."""
    if shape.kind == "barrier":
        return None, None
    unit = int(shape.dtype.itemsize)
    received = shape.block if shape.kind == "reduce-scatter" else shape.elements
    sent = shape.block if shape.kind == "all-gather" else shape.elements
    output = memory.allocate(own, received * unit, limit).view(shape.dtype)
    if not shape.in_place:
        return memory.allocate(own, sent * unit, limit).view(shape.dtype), output
    begin = shape.index * shape.block if shape.kind == "all-gather" else 0
    return output[begin : begin + sent], output


def _kind(flow: Flow) -> str:
    return flow.word("collective", KINDS, "all-reduce")


def _backend(flow: Flow) -> str:
    return flow.word("backend", groups.BACKENDS, "auto")


def _shape(flow: Flow, rank: int) -> Shape:
    ranks = sorted(member.rank for member in flow.members)
    kind = _kind(flow)
    return Shape(
        kind=kind,
        dtype=ELEMENT_TYPES[flow.word("type", tuple(ELEMENT_TYPES), "float32")],
        in_place=flow.parameters.get("in_place") == "yes",
        members=len(ranks),
        size=flow.bytes,
        index=ranks.index(rank),
        root=ranks.index(flow.members[0].rank),
    )


def _check_form(flow: Flow, kind: str, backend: str) -> None:
    recorded.check_form(flow, backend)
    calls = recorded.recorded_calls(flow)
    if calls and kind == "barrier":
        raise unsupported("a barrier keeps its caller: it cannot be recorded in a graph")
    if calls > 1 and kind == "reduce":
        raise unsupported(
            "reduce in place changes its input: calls of a graph of several cannot be checked; set recorded: 1"
        )


def _check_place(flow: Flow, kind: str) -> None:
    """A case that does not say asks for out of place, as of any interface: its figure would be taken for that."""
    place = flow.word("in_place", ("yes", "no"), "no")
    if place == "no" and kind in _IN_PLACE_ALONE:
        raise unsupported(f"torch.distributed has {kind} only in place: write in_place: yes")
    if place == "yes" and kind in _OUT_OF_PLACE_ALONE:
        raise unsupported(f"{kind} in place: repeated calls would add up what cannot be checked any more")
