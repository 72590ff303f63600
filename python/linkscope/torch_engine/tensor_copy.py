"""torch-copy: Tensor.copy_ within a process."""

from __future__ import annotations

from itertools import cycle

import torch

from linkscope.torch_engine import memory, rotation, system
from linkscope.torch_engine.faults import unsupported
from linkscope.torch_engine.memory import Arena
from linkscope.torch_engine.plan import Case, Device, Flow
from linkscope.torch_engine.stopwatch import Enqueue, stopwatch
from linkscope.torch_engine.transfer import Method, Own, Part, Site, Transfer


class CopyTransfer(Transfer):
    """``destination.copy_(source)``, slot by slot. ``gpu``: the one whose stream carries it."""

    def __init__(
        self, source: Arena, destination: Arena, non_blocking: str, gpu: int | None, remarks: list[str]
    ) -> None:
        self._remarks = remarks
        self._source = source
        self._destination = destination
        self._non_blocking = non_blocking == "yes"
        self._gpu = gpu
        self._pairs = cycle(zip(destination.pieces, source.pieces, strict=True))
        self._calls = 0

    def arm(self, seed: int) -> None:
        """As Transfer.arm."""
        self._source.fill(seed)
        self._destination.poison()
        for device in range(torch.cuda.device_count() if self._gpu is not None else 0):
            torch.cuda.synchronize(device)
        self._pairs = cycle(zip(self._destination.pieces, self._source.pieces, strict=True))
        self._calls = 0

    def call(self) -> None:
        """As Transfer.call."""
        destination, source = next(self._pairs)
        destination.copy_(source, non_blocking=self._non_blocking)
        self._calls += 1

    def settle(self) -> None:
        """As Transfer.settle: on the stream that carries copies, which is the source's where both ends are GPUs."""
        if self._gpu is not None:
            torch.cuda.current_stream(self._gpu).synchronize()

    def verify(self, seed: int) -> str | None:
        """As Transfer.verify."""
        return self._destination.compare(seed, self._calls)

    def verified_bytes(self) -> int:
        """As Transfer.verified_bytes."""
        return self._destination.verified_bytes(self._calls)

    def notes(self) -> list[str]:
        """As Transfer.notes."""
        return self._remarks


class TensorCopy(Method):
    """Between two devices of one process. Between GPUs PyTorch always pushes."""

    def check(self, flow: Flow, case: Case) -> None:
        """As Method.check."""
        if flow.source is None or flow.destination is None:
            raise unsupported("torch-copy needs a source and a destination")
        if flow.bytes == 0:
            raise unsupported("torch-copy copies one byte or more")
        if len({flow.source.rank, flow.destination.rank, flow.rank}) > 1:
            raise unsupported("torch-copy copies within one process: torch-send goes between two")
        carrier = _carrier(flow)
        if flow.executor != carrier:
            raise unsupported(f"PyTorch lets {carrier} carry out this copy, not {flow.executor}")
        if case.clock == "device" and carrier.kind != "gpu":
            raise unsupported("CPUs have no device clock: host or batch")
        _non_blocking(flow)

    def parts(self, flow: Flow) -> tuple[Part, ...]:
        """As Method.parts."""
        return (Part(flow.rank),)

    def assemble(self, flow: Flow, case: Case, site: Site) -> Own | None:
        """As Method.assemble."""
        if flow.rank != site.world.rank:
            return None
        assert flow.source is not None
        assert flow.destination is not None
        for end in flow.ends:
            memory.supports(end)
        carrier = _carrier(flow)
        gpu = carrier.index if carrier.kind == "gpu" else None
        slots, notes = rotation.slots(case, flow.bytes, (flow.source.device, flow.destination.device))
        source, destination = (Arena(end, flow.bytes, slots, site.memory_limit_bytes) for end in flow.ends)
        if gpu is None:
            system.run_on_node(carrier.index)
        non_blocking = _non_blocking(flow)
        transfer = CopyTransfer(source, destination, non_blocking, gpu, notes)
        pageable = any(end.memory == "pageable" for end in flow.ends)
        enqueue = Enqueue.BLOCKS if pageable or non_blocking == "no" else Enqueue.RETURNS
        return Own(transfer, stopwatch(case.clock, gpu, enqueue))


def _carrier(flow: Flow) -> Device:
    """The device that PyTorch lets do the work: the source's GPU, the destination's where it alone is one, the CPUs."""
    assert flow.source is not None
    assert flow.destination is not None
    gpus = [end.device for end in (flow.source, flow.destination) if end.device.kind == "gpu"]
    return gpus[0] if gpus else flow.executor if flow.executor.kind == "numa" else flow.source.device


def _non_blocking(flow: Flow) -> str:
    return flow.word("non_blocking", ("yes", "no"), "yes")
