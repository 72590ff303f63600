"""torch-copy: Tensor.copy_ within a process."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import torch

from linkscope.torch_child import memory, rotation, system
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Flow, FlowDevice, Regime, Site
from linkscope.torch_child.memory import Arena
from linkscope.torch_child.method import Method
from linkscope.torch_child.part import Part
from linkscope.torch_child.stopwatch import Enqueue, stopwatch
from linkscope.torch_child.transfer import Transfer


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
        """See Transfer.arm."""
        self._source.fill(seed)
        self._destination.poison()
        for device in range(torch.cuda.device_count() if self._gpu is not None else 0):
            torch.cuda.synchronize(device)
        self._pairs = cycle(zip(self._destination.pieces, self._source.pieces, strict=True))
        self._calls = 0

    def call(self) -> None:
        """See Transfer.call."""
        destination, source = next(self._pairs)
        destination.copy_(source, non_blocking=self._non_blocking)
        self._calls += 1

    def settle(self) -> None:
        """See Transfer.settle: on the stream that carries copies, which is the source's where both ends are GPUs."""
        if self._gpu is not None:
            torch.cuda.current_stream(self._gpu).synchronize()

    def verify(self, seed: int) -> str | None:
        """See Transfer.verify."""
        return self._destination.compare(seed, self._calls)

    def verified_bytes(self) -> int:
        """See Transfer.verified_bytes."""
        return self._destination.verified_bytes(self._calls)

    def release(self) -> None:
        """See Transfer.release: CPUs too, which assemble() narrowed."""
        if self._gpu is None:
            system.run_anywhere()

    def notes(self) -> list[str]:
        """See Transfer.notes."""
        return self._remarks


class TensorCopy(Method):
    """Between two devices of one process. Between GPUs PyTorch always pushes."""

    def check(self, flow: Flow, regime: Regime) -> None:
        """See Method.check."""
        if flow.source is None or flow.destination is None:
            raise unsupported("torch-copy needs a source and a destination")
        if flow.bytes == 0:
            raise unsupported("torch-copy copies one byte or more")
        if len({flow.source.rank, flow.destination.rank, flow.rank}) > 1:
            raise unsupported("torch-copy copies within one process: torch-send goes between two")
        executor = _executor_of(flow)
        if flow.executor != executor:
            raise unsupported(f"PyTorch lets {executor} carry out this copy, not {flow.executor}")
        if regime.clock == "device" and executor.kind != "gpu":
            raise unsupported("CPUs have no device clock: host or batch")
        _non_blocking(flow)

    def hold(self, flow: Flow, regime: Regime, site: Site) -> Any:
        """See Method.hold."""
        for end in flow.ends:
            memory.supports(end)
        slots, notes = rotation.slots(regime, flow.bytes, (end.device for end in flow.ends))
        return [Arena(end, flow.bytes, slots, site.memory_limit_bytes) for end in flow.ends], notes

    def assemble(self, flow: Flow, regime: Regime, site: Site, held: Any) -> Part:
        """See Method.assemble."""
        (source, destination), notes = held
        executor = _executor_of(flow)
        gpu = executor.index if executor.kind == "gpu" else None
        if gpu is None:
            system.run_on_node(executor.index)
        non_blocking = _non_blocking(flow)
        transfer = CopyTransfer(source, destination, non_blocking, gpu, notes)
        pageable = any(end.memory == "pageable" for end in flow.ends)
        enqueue = Enqueue.BLOCKS if pageable or non_blocking == "no" else Enqueue.RETURNS
        return Part(transfer, stopwatch(regime.clock, gpu, enqueue))


def _executor_of(flow: Flow) -> FlowDevice:
    """The device that PyTorch lets do the work: the source's GPU, the destination's where it alone is one, the CPUs."""
    assert flow.source is not None
    assert flow.destination is not None
    gpus = [end.device for end in (flow.source, flow.destination) if end.device.kind == "gpu"]
    return gpus[0] if gpus else flow.executor if flow.executor.kind == "numa" else flow.source.device


def _non_blocking(flow: Flow) -> str:
    return flow.word("non_blocking", ("yes", "no"), "yes")
