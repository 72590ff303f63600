"""nvshmem and nvshmem-collective: puts, gets and collectives of NVIDIA's NVSHMEM, on its symmetric heap."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch

from linkscope.torch_child import memory, recorded, rotation
from linkscope.torch_child.collective import CollectiveMethod, MemberCall, Shape
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Endpoint, Flow, Regime, Site
from linkscope.torch_child.groups import Groups
from linkscope.torch_child.memory import Arena
from linkscope.torch_child.method import Method
from linkscope.torch_child.nvshmem_kernels import KINDS, THREADS
from linkscope.torch_child.nvshmem_world import World
from linkscope.torch_child.part import Part
from linkscope.torch_child.pattern import ELEMENT_TYPES
from linkscope.torch_child.transfer import Transfer

Tensor = Any
Json = dict[str, Any]

_GROUP = {"block": THREADS, "warp": 32, "thread": 1}
"""Threads that carry a call out together, by caller."""
_CALLERS = (*_GROUP, "stream")
_ON_STREAM = {"put": ("putmem", "ppzip"), "get": ("getmem", "ppzip"), "put-signal": ("putmem_signal", "ppzpuiip")}
_SET = 9  # NVSHMEM_SIGNAL_SET
_SUMS = {"float32": "float", "float16": "half", "bfloat16": "bfloat16", "int32": "int32"}
_NCCL = "NVSHMEM_DISABLE_NCCL"  # read once, when the process first starts the library


class OneSided(Transfer):
    """One process's part: the flow's executor calls, in a ping-pong both do. Signals are words of the heap."""

    def __init__(self, flow: Flow, world: World, rank: int, remarks: list[str]) -> None:
        self._world, self._remarks, self._flow = world, remarks, flow
        self._answered, self._caller = _answered(flow), flow.parameters.get("caller", "block")
        self._repeats = flow.number("repeats", 1, 1000, 1)
        self.operations = self._repeats * (2 if self._answered else 1)
        own, self._partner = flow.own_end(rank), 1 - flow.ranks.index(rank)
        self._sends, self._calls = own is flow.source, self._answered or rank == flow.rank
        self._signals = world.pieces[0].view(torch.int64)
        self._source, self._destination = (Arena(own, flow.bytes, 1, 0, space) for space in world.pieces[1:])
        self._to = self._destination.pieces[0].data_ptr()
        returns = self._answered and not self._sends
        self._from = self._to if returns else self._source.pieces[0].data_ptr()
        work = self._on_stream() if self._caller == "stream" else self._by_kernel()  # both fail where one does
        self._work: Callable[[], Any] = work if self._calls else self._signals[-1:].zero_  # no graph of nothing

    def _by_kernel(self) -> Callable[[], None]:
        kind, blocks, threads = KINDS.index(_operation(self._flow)), _blocks(self._flow), THREADS
        if self._answered:
            kind, blocks, threads = int(self._sends), 1, _GROUP[self._caller]
        words = self._signals.data_ptr(), self._signals[-1:].data_ptr()
        pointers = (ctypes.c_void_p(address) for address in words)
        numbers = (ctypes.c_int(number) for number in (self._repeats, self._partner, kind))
        moved = ctypes.c_void_p(self._to), ctypes.c_void_p(self._from), ctypes.c_size_t(self._flow.bytes)
        name = f"{'ping_pong' if self._answered else 'move'}_{self._caller}"
        launch = self._world.kernels().call(name, blocks, threads, (*moved, *pointers, *numbers))
        return lambda: launch(self._world.stream())

    def _on_stream(self) -> Callable[[], None]:
        name, types = _ON_STREAM[_operation(self._flow)]
        call, stream = self._world.bind(f"nvshmemx_{name}_on_stream", types, None), self._world.stream
        signal = (self._signals.data_ptr(), 1, _SET) if name == "putmem_signal" else ()
        arguments = self._to, self._from, self._flow.bytes, *signal, self._partner

        def work() -> None:
            for _ in range(self._repeats):
                call(*arguments, stream())

        return work

    def arm(self, seed: int) -> None:
        """See Transfer.arm. Nobody goes on before all have: poison would come after a put."""
        self._source.fill(seed)
        self._destination.poison()
        self._signals.zero_()
        self._world.gather()

    def call(self) -> None:
        """See Transfer.call."""
        self._work()

    def meet(self) -> None:
        """See Transfer.meet."""
        self._world.meet()

    lead_in = meet

    def finish(self) -> None:
        """See Transfer.finish: kernels have it in every operation."""
        if self._calls and self._caller == "stream":
            self._world.bind("nvshmemx_quiet_on_stream", "p", None)(self._world.stream())

    def settle(self) -> None:
        """See Transfer.settle."""
        self._world.settle()

    def verify(self, seed: int) -> str | None:
        """See Transfer.verify; the first share's signal too."""
        if not self.verified_bytes():
            return None
        if _operation(self._flow) == "put-signal" and not int(self._signals[0]):
            return "no signal came with the data"
        return self._destination.compare(seed, 1)

    def verified_bytes(self) -> int:
        """See Transfer.verified_bytes."""
        return self._destination.verified_bytes(1) if self._answered or not self._sends else 0

    def notes(self) -> list[str]:
        """See Transfer.notes."""
        return self._remarks


class Nvshmem(Method):
    """Between two processes with a GPU each. The source puts, the destination gets."""

    def __init__(self, communicators: Groups, world: World) -> None:
        self._groups, self._world = communicators, world

    def check(self, flow: Flow, regime: Regime) -> None:
        """See Method.check."""
        if flow.source is None or flow.destination is None or flow.source.rank == flow.destination.rank:
            raise unsupported("nvshmem goes between two processes")
        _check_ends(flow)
        operation, name = _operation(flow), "destination" if _operation(flow) == "get" else "source"
        driver = flow.destination if operation == "get" else flow.source
        if (flow.rank, flow.executor) != (driver.rank, driver.device):
            raise unsupported(f"{operation} is called by the {name}: set executor to {name}")
        if _answered(flow) and (operation != "put-signal" or flow.word("caller", _CALLERS, "block") == "stream"):
            raise unsupported("ping-pong goes by operation put-signal, with caller block, warp or thread")
        if flow.bytes == 0 or regime.cache == "flushed":
            raise unsupported("nvshmem moves one byte or more, warm or rotated")
        recorded.recorded_calls(flow)

    def hold(self, flow: Flow, regime: Regime, site: Site) -> Any:
        """See Method.hold: of the heap all processes take theirs together, later."""
        memory.supports(flow.own_end(site.rank))

    def export_handles(self, site: Site) -> Json:
        """See Method.export_handles."""
        return self._groups.export(site)

    def import_handles(self, flow: Flow, exports: Sequence[Json], site: Site) -> None:
        """See Method.import_handles."""
        self._world.join(flow, (8 * (_blocks(flow) * THREADS + 1), flow.bytes, flow.bytes), exports, site)

    def assemble(self, flow: Flow, regime: Regime, site: Site, held: Any) -> Part:
        """See Method.assemble."""
        remarks = [*self._world.remarks(), *([rotation.ONE_SLOT] if regime.cache == "rotated" else [])]
        transfer = OneSided(flow, self._world, site.rank, remarks)
        gpu = flow.own_end(site.rank).device.index
        return recorded.in_its_form(transfer, flow, regime, gpu, self._groups.vote(flow.ranks))


class NvshmemCollective(CollectiveMethod):
    """On a stream. NVSHMEM calls NCCL where it can load that and NVSHMEM_DISABLE_NCCL does not tell it otherwise."""

    def __init__(self, communicators: Groups, world: World) -> None:
        super().__init__(communicators)
        self._world = world

    def refuse(self, flow: Flow, shape: Shape, regime: Regime) -> None:
        """See CollectiveMethod.refuse."""
        _check_ends(flow)
        if shape.kind == "reduce":
            raise unsupported("NVSHMEM has no reduce to one member: all-reduce")
        if shape.in_place and shape.kind != "all-reduce":
            raise unsupported(f"NVSHMEM has {shape.kind} only out of place: write in_place: no")

    def allocate(self, flow: Flow, shape: Shape, own: Endpoint, limit: int) -> tuple[Tensor, Tensor]:
        """See CollectiveMethod.allocate: assemble() has them of the heap."""
        return None, None

    def import_handles(self, flow: Flow, exports: Sequence[Json], site: Site) -> None:
        """See Method.import_handles."""
        self._world.join(flow, (flow.bytes, flow.bytes), exports, site)

    def assemble(self, flow: Flow, regime: Regime, site: Site, held: Any) -> Part:
        """See Method.assemble."""
        kind, share = flow.parameters.get("collective"), flow.bytes // len(flow.members)
        sizes = share if kind == "all-gather" else flow.bytes, share if kind == "reduce-scatter" else flow.bytes
        dtype = ELEMENT_TYPES[flow.parameters.get("type", "float32")]
        sent, received = (piece[:size].view(dtype) for piece, size in zip(self._world.pieces, sizes, strict=True))
        in_place = flow.parameters.get("in_place") == "yes"
        return super().assemble(flow, regime, site, (received if in_place else sent, received))

    def work(self, flow: Flow, shape: Shape, group: Any, held: tuple[Tensor, Tensor], gpu: int | None) -> MemberCall:
        """See CollectiveMethod.work. Calls begin after all data are laid: none waits for another poison."""
        world, sums = self._world, f"nvshmemx_{_SUMS[flow.parameters.get('type', 'float32')]}_sum_"
        if shape.kind == "barrier":
            return MemberCall(world.meet)
        name, count = {
            "all-reduce": (f"{sums}reduce", shape.elements),
            "reduce-scatter": (f"{sums}reducescatter", shape.block),
            "broadcast": ("nvshmemx_broadcastmem", shape.size),
            "all-gather": ("nvshmemx_fcollectmem", shape.size // shape.members),
            "all-to-all": ("nvshmemx_alltoallmem", shape.size // shape.members),
        }[shape.kind]
        root = (shape.root,) if shape.kind == "broadcast" else ()
        called = world.bind(f"{name}_on_stream", f"ippz{'i' * len(root)}p", None)
        arguments = 0, held[1].data_ptr(), held[0].data_ptr(), count, *root
        return MemberCall(lambda: called(*arguments, world.stream()), armed=world.gather)

    def notes(self, flow: Flow) -> list[str]:
        """See CollectiveMethod.notes."""
        own = os.environ.get(_NCCL, "0") not in ("", "0")
        return [*self._world.remarks(), f"own kernels: {_NCCL} is set" if own else "calls NCCL where it can"]


def _operation(flow: Flow) -> str:
    return flow.word("operation", KINDS, "put")


def _answered(flow: Flow) -> bool:
    return flow.word("call", ("transfer", "ping-pong"), "transfer") == "ping-pong"


def _blocks(flow: Flow) -> int:
    return flow.number("blocks", 1, 1024, 32)


def _check_ends(flow: Flow) -> None:
    if torch.version.cuda is None or any(end.memory != "device" for end in flow.ends):
        raise unsupported(f"{flow.method} works on device memory of NVIDIA GPUs alone")
