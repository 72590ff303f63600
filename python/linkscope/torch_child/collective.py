"""torch-collective: the collectives of torch.distributed, one member per process."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
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
    """Hold what a flow asks for. ``size``: bytes as nccl-tests counts them, of the larger buffer. ``index``: this
    member's place in the group, whose order is that of ranks. ``root``: the first member's.
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
        """Return the elements of the larger buffer."""
        return self.size // int(self.dtype.itemsize)

    @property
    def block(self) -> int:
        """Elements of one member's share."""
        return self.elements // self.members


@dataclass(frozen=True)
class MemberCall:
    """``call`` makes one call, and returns the tensor that holds the output where that is another one than was given.
    ``capturing``: as Transfer.capturing. ``armed``: is called with this member's data and poison laid, and returns when
    all members have theirs; None where each call waits for the others' data. ``allocates``: whether each call
    allocates its output.
    """

    call: Callable[[], Any]
    capturing: Callable[[], AbstractContextManager[Any]] = nullcontext
    armed: Callable[[], None] | None = None
    allocates: bool = False


class CollectiveTransfer(Transfer):
    """One member's calls."""

    led_in_by_a_call = True  # a barrier would keep the caller, another call of the same kind does not

    def __init__(
        self,
        shape: Shape,
        work: MemberCall,
        group: Any,
        buffers: tuple[Tensor, Tensor],
        gpu: int | None,
        meets_on: int | None,
        remarks: list[str],
    ) -> None:
        self._remarks = remarks
        self._shape = shape
        self._group = group
        self._gpu = gpu
        self._meets_on = meets_on
        self.accumulates = shape.kind == "reduce"
        self._sent, self._received = buffers
        self._work = work

    def call(self) -> None:
        """See Transfer.call."""
        output = self._work.call()
        if output is not None:
            self._received = output

    def capturing(self) -> AbstractContextManager[Any]:
        """See Transfer.capturing."""
        return self._work.capturing()

    def meet(self) -> None:
        """See Transfer.meet."""
        _meet(self._group, self._meets_on)

    def settle(self) -> None:
        """See Transfer.settle."""
        if self._gpu is not None:
            torch.cuda.current_stream(self._gpu).synchronize()

    def arm(self, seed: int) -> None:
        """See Transfer.arm."""
        shape = self._shape
        if shape.kind == "barrier":
            return
        next_output = self._poisoned_output()
        self._received.view(torch.uint8).fill_(POISON)
        if shape.kind == "all-reduce":
            memory.fill_elements(self._sent, self._balanced(seed))
        elif shape.kind != "broadcast" or shape.index == shape.root:
            memory.fill_elements(self._sent, self._input(seed, shape.index, 0))
        self.settle()
        del next_output
        if self._work.armed:
            self._work.armed()

    def _poisoned_output(self) -> Tensor:
        """Return the output of a call of poison, poisoned, where calls allocate theirs: PyTorch gives the next call the
        same block, once this is gone, and the one after it the last output's.
        """
        if not self._work.allocates or not self._received.numel():  # before the first call there is no last output
            return None
        self._sent.view(torch.uint8).fill_(POISON)
        output = self._work.call()
        output.view(torch.uint8).fill_(POISON)
        return output

    def verify(self, seed: int) -> str | None:
        """See Transfer.verify."""
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
        """See Transfer.verified_bytes."""
        shape = self._shape
        if shape.kind == "barrier" or (shape.kind == "reduce" and shape.index != shape.root):
            return 0
        return int(self._received.numel() * self._received.element_size())

    def notes(self) -> list[str]:
        """See Transfer.notes."""
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


class CollectiveMethod(Method):
    """A collective with one member in each process. Sums, as the other interfaces' collectives.

    ``on_gpus_alone``: whether it works on device memory alone; its processes then meet by Gloo.
    """

    on_gpus_alone = True

    def __init__(self, communicators: Groups) -> None:
        self._groups = communicators

    @abstractmethod
    def refuse(self, flow: Flow, shape: Shape, regime: Regime) -> None:
        """Raise ChildError for what this library has not."""

    @abstractmethod
    def work(self, flow: Flow, shape: Shape, group: Any, held: tuple[Tensor, Tensor], gpu: int | None) -> MemberCall:
        """Return this member's call; all members ask for theirs together. ``held``: input and output. Raises
        ChildError.
        """

    def backend(self, flow: Flow) -> str:
        """Return that of the group by which the processes meet. Raises ChildError."""
        return "gloo"

    def allocate(self, flow: Flow, shape: Shape, own: Endpoint, limit: int) -> tuple[Tensor, Tensor]:
        """Return input and output. Raises ChildError."""
        return allocated(shape, own, limit)

    def notes(self, flow: Flow) -> list[str]:
        """Return remarks for the row."""
        return []

    def check(self, flow: Flow, regime: Regime) -> None:
        """See Method.check."""
        if len(flow.members) < 2:
            raise unsupported(f"{flow.method} needs two members or more")
        if len({member.rank for member in flow.members}) < len(flow.members):
            raise unsupported(f"{flow.method} has one member in each process")
        shape = _shape(flow, flow.members[0].rank)
        unit = int(shape.dtype.itemsize) * (shape.members if shape.kind in _BY_BLOCKS else 1)
        if shape.size % unit or (shape.size == 0 and shape.kind != "barrier"):
            what = f"{flow.parameters.get('type', 'float32')} for each of {shape.members} members"
            raise unsupported(f"{shape.size} B is not a whole number of {what}")
        if self.on_gpus_alone:
            if any(member.memory != "device" for member in flow.members):
                raise unsupported(f"{flow.method} works on device memory of GPUs alone")
            recorded.recorded_calls(flow)
        self.refuse(flow, shape, regime)
        if regime.cache == "flushed":
            raise unsupported("PyTorch cannot flush caches; warm or rotated")

    def hold(self, flow: Flow, regime: Regime, site: Site) -> Any:
        """See Method.hold: input and output."""
        own = flow.own_end(site.rank)
        memory.supports(own)
        groups.use(own)
        return self.allocate(flow, _shape(flow, site.rank), own, site.memory_limit_bytes)

    def export_handles(self, site: Site) -> Json:
        """See Method.export_handles."""
        return self._groups.export(site)

    def import_handles(self, flow: Flow, exports: Sequence[Json], site: Site) -> None:
        """See Method.import_handles."""
        self._groups.join(flow.ranks, self.backend(flow), exports, site)

    def assemble(self, flow: Flow, regime: Regime, site: Site, held: Any) -> Part:
        """See Method.assemble."""
        group = self._groups.of(flow.ranks, self.backend(flow))
        gpu = groups.use(flow.own_end(site.rank))
        remarks = [rotation.ONE_SLOT] if regime.cache == "rotated" and flow.bytes > 0 else []
        shape = _shape(flow, site.rank)
        work = self.work(flow, shape, group, held, gpu)
        meets_on = None if self.on_gpus_alone else gpu
        transfer = CollectiveTransfer(shape, work, group, held, gpu, meets_on, [*remarks, *self.notes(flow)])
        return recorded.in_its_form(transfer, flow, regime, gpu, self._groups.vote(flow.ranks))


class TorchCollective(CollectiveMethod):
    """Run collectives by torch.distributed."""

    on_gpus_alone = False

    def backend(self, flow: Flow) -> str:
        """See CollectiveMethod.backend."""
        return groups.backend_for(flow.word("backend", groups.BACKENDS, "auto"), flow.members)

    def refuse(self, flow: Flow, shape: Shape, regime: Regime) -> None:
        """See CollectiveMethod.refuse."""
        _check_place(flow, shape.kind)
        backend = self.backend(flow)
        on_gpus = any(member.device.kind == "gpu" for member in flow.members)
        if backend == "gloo" and on_gpus and shape.kind not in _GLOO_ON_GPUS:
            raise unsupported(f"Gloo has no {shape.kind} of GPU memory")
        _check_form(flow, shape.kind, backend)
        if regime.clock == "device" and (backend == "gloo" or shape.kind == "barrier"):
            raise unsupported(f"{backend}'s {shape.kind} keeps its caller: no device clock, host or batch")

    def work(self, flow: Flow, shape: Shape, group: Any, held: tuple[Tensor, Tensor], gpu: int | None) -> MemberCall:
        """See CollectiveMethod.work."""
        (sent, received), root = held, flow.members[0].rank
        work: dict[str, Callable[[], Any]] = {
            "all-reduce": lambda: dist.all_reduce(received, group=group),
            "reduce": lambda: dist.reduce(received, root, group=group),
            "broadcast": lambda: dist.broadcast(received, root, group=group),
            "reduce-scatter": lambda: dist.reduce_scatter_tensor(received, sent, group=group),
            "all-gather": lambda: dist.all_gather_into_tensor(received, sent, group=group),
            "all-to-all": lambda: dist.all_to_all_single(received, sent, group=group),
            "barrier": lambda: _meet(group, gpu),
        }
        return MemberCall(work[shape.kind])


def _meet(group: Any, gpu: int | None) -> None:
    if gpu is None:
        dist.barrier(group)
    else:
        dist.barrier(group, device_ids=[gpu])


def allocated(shape: Shape, own: Endpoint, limit: int) -> tuple[Tensor, Tensor]:
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


def _shape(flow: Flow, rank: int) -> Shape:
    ranks = sorted(member.rank for member in flow.members)
    return Shape(
        kind=flow.word("collective", KINDS, "all-reduce"),
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
