"""Groups: the communicators of torch.distributed, set up among the processes of a run."""

from __future__ import annotations

import ipaddress
import os
import socket
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from linkscope.torch_engine.faults import unsupported
from linkscope.torch_engine.plan import Endpoint
from linkscope.torch_engine.world import World, together

BACKENDS = ("auto", "nccl", "gloo")


class Groups:
    """One group for each set of ranks and backend. Every process asks for the same ones in the same order."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._limit = timedelta(seconds=world.limit_s)
        self._groups: dict[tuple[tuple[int, ...], str], Any] = {}

    def of(self, ranks: tuple[int, ...], backend: str) -> Any:
        """The group of these ranks, which are ascending; its own ranks count in that order."""
        if not dist.is_initialized():
            self._begin()
        if (ranks, backend) not in self._groups:
            self._groups[ranks, backend] = dist.new_group(list(ranks), timeout=self._limit, backend=backend)
        return self._groups[ranks, backend]

    def close(self) -> None:
        """Leaves all groups; the processes do so together."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _begin(self) -> None:
        """A store at rank 0, on a port of its own beside the hub's, and the group of all, by which others are made."""
        world = self._world
        if ipaddress.ip_address(_numeric(world.host)).is_loopback:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        store: Any = None
        if world.rank == 0:
            store = dist.TCPStore(world.host, 0, world.size, True, self._limit, wait_for_workers=False)
        port = together(world, lambda: store.port if store else 0)[0]
        if world.rank != 0:
            store = dist.TCPStore(world.host, port, world.size, False, self._limit)
        dist.init_process_group("gloo", store=store, rank=world.rank, world_size=world.size, timeout=self._limit)


def backend_for(wanted: str, ends: tuple[Endpoint, ...]) -> str:
    """gloo or nccl; ``auto``: nccl for memory of GPUs. Raises EngineError where it cannot be."""
    on_gpu = [end.device.kind == "gpu" for end in ends]
    backend = wanted if wanted != "auto" else "nccl" if all(on_gpu) else "gloo"
    if backend == "nccl":
        if not all(on_gpu):
            raise unsupported("NCCL moves memory of GPUs alone")
        if not dist.is_nccl_available():
            raise unsupported("this PyTorch was built without NCCL")
    elif not dist.is_gloo_available():
        raise unsupported("this PyTorch was built without Gloo")
    return backend


def use(end: Endpoint) -> int | None:
    """Makes the GPU that holds this end current, and gives its number; None on the host."""
    if end.device.kind != "gpu":
        return None
    torch.cuda.set_device(end.device.index)
    return end.device.index


def _numeric(host: str) -> str:
    """The address of a host that may be named."""
    return socket.gethostbyname(host)
