"""Groups: the communicators of torch.distributed, set up among the processes of a run."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Endpoint, Site
from linkscope.torch_child.part import Vote

Json = dict[str, Any]

BACKENDS = ("auto", "nccl", "gloo")
_VOTING = "gloo"


class Groups:
    """One group for each set of ranks and backend. Every process joins the same ones in the same order."""

    def __init__(self) -> None:
        self._store: Any = None
        self._groups: dict[tuple[tuple[int, ...], str], Any] = {}

    def export(self, site: Site) -> Json:
        """Return what the others must know: of rank 0 the port of its store, by which all find one another."""
        if site.rank != 0:
            return {}
        if self._store is None:
            limit = timedelta(seconds=site.limit_s)
            self._store = dist.TCPStore(site.root_host, 0, site.size, True, limit, wait_for_workers=False)
        return {"store_port": self._store.port}

    def join(self, ranks: tuple[int, ...], backend: str, exports: Sequence[Json], site: Site) -> None:
        """Makes the group of these ranks, which are ascending, where there is none yet, and another for votes where
        nccl's work is not on the host.
        """
        limit = timedelta(seconds=site.limit_s)
        if not dist.is_initialized():
            self._begin(exports[0]["store_port"], site, limit)
        for name in dict.fromkeys((backend, _VOTING)):
            if (ranks, name) not in self._groups:
                self._groups[ranks, name] = dist.new_group(list(ranks), timeout=limit, backend=name)

    def of(self, ranks: tuple[int, ...], backend: str) -> Any:
        """The group, which has been joined; its own ranks count in ascending order."""
        return self._groups[ranks, backend]

    def vote(self, ranks: tuple[int, ...]) -> Vote:
        """Among the processes of these ranks."""
        group = self._groups[ranks, _VOTING]

        def lowest(vote: int) -> int:
            cast = torch.tensor([vote], dtype=torch.int32)
            dist.all_reduce(cast, op=dist.ReduceOp.MIN, group=group)
            return int(cast.item())

        return lowest

    def close(self) -> None:
        """Leaves all groups; the processes do so together."""
        if dist.is_initialized():
            dist.destroy_process_group()

    def _begin(self, port: int, site: Site, limit: timedelta) -> None:
        """The group of all, by which others are made."""
        if ipaddress.ip_address(_numeric(site.root_host)).is_loopback:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
        store = self._store or dist.TCPStore(site.root_host, port, site.size, False, limit)
        dist.init_process_group("gloo", store=store, rank=site.rank, world_size=site.size, timeout=limit)


def backend_for(wanted: str, ends: tuple[Endpoint, ...]) -> str:
    """gloo or nccl; ``auto``: nccl for memory of GPUs. Raises ChildError where it cannot be."""
    on_gpu = [end.device.kind == "gpu" for end in ends]
    backend = wanted if wanted != "auto" else "nccl" if all(on_gpu) else "gloo"
    if backend == "nccl":
        if not all(on_gpu):
            raise unsupported("NCCL moves only memory of GPUs")
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
