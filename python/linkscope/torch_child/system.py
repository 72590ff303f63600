"""System: what Linux says of NUMA nodes, CPUs, caches and free memory, and where it is told to put pages."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

from linkscope.torch_child.faults import ChildError, Fault, unsupported

_NODES = Path("/sys/devices/system/node")
_CPUS = Path("/sys/devices/system/cpu")
_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237, "ppc64le": 261}
_MPOL_DEFAULT, _MPOL_BIND = 0, 2
_MOST_NODES = 1024
_SHARE_OF_AVAILABLE = 0.9


def numa_nodes() -> dict[int, tuple[int, ...]]:
    """CPUs by NUMA node, those without CPUs included; node 0 with all CPUs where the system knows no nodes."""
    found = {
        int(match[1]): cpu_list(_text(path / "cpulist"))
        for path in _NODES.glob("node*")
        if (match := re.fullmatch(r"node(\d+)", path.name))
    }
    return dict(sorted(found.items())) or {0: tuple(sorted(os.sched_getaffinity(0)))}


def largest_cache_bytes(node: int) -> int:
    """Bytes of the largest cache of the node's first CPU; 0 where the system does not say."""
    cpus = numa_nodes().get(node) or (0,)
    sizes = [_text(path) for path in (_CPUS / f"cpu{cpus[0]}" / "cache").glob("index*/size")]
    units = {"K": 1 << 10, "M": 1 << 20}
    return max((int(size[:-1]) * units.get(size[-1], 1) for size in sizes if size), default=0)


def available_bytes() -> int | None:
    """Bytes of host memory that can be had without swapping; None where the system does not say."""
    match = re.search(r"MemAvailable:\s+(\d+) kB", _text(Path("/proc/meminfo")))
    return int(int(match[1]) * 1024 * _SHARE_OF_AVAILABLE) if match else None


def cpu_list(text: str) -> tuple[int, ...]:
    """The numbers of "0-3,8"."""
    cpus: list[int] = []
    for piece in filter(None, text.strip().split(",")):
        first, _, last = piece.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


def run_on_node(node: int) -> None:
    """Keeps this process's threads on the node's CPUs until run_anywhere(). Raises ChildError where it may use none."""
    nodes = numa_nodes()
    if len(nodes) == 1:
        return
    wanted = _own_cpus().intersection(nodes.get(node, ()))
    if not wanted:
        raise unsupported(f"this process may not use the CPUs of numa:{node}")
    _move_threads(wanted)


def run_anywhere() -> None:
    """Lets this process's threads use all CPUs that it was started with."""
    _move_threads(_own_cpus())


@functools.cache
def _own_cpus() -> frozenset[int]:
    """Return those that it was started with: the first call comes before any thread is moved."""
    return frozenset(os.sched_getaffinity(0))


def _move_threads(cpus: frozenset[int]) -> None:
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            os.sched_setaffinity(int(thread.name), cpus)


@contextlib.contextmanager
def pages_on(node: int) -> Iterator[None]:
    """Pages that this thread touches for the first time are placed on the node. Raises ChildError."""
    if node not in numa_nodes():
        raise unsupported(f"there is no numa:{node} here")
    if len(numa_nodes()) == 1:
        yield
        return
    _set_policy(_MPOL_BIND, node)
    try:
        yield
    finally:
        _set_policy(_MPOL_DEFAULT, None)


def _set_policy(mode: int, node: int | None) -> None:
    number = _SET_MEMPOLICY.get(platform.machine())
    if number is None:
        raise unsupported(f"memory cannot be bound to a node on {platform.machine()}")
    mask = (ctypes.c_ulong * (_MOST_NODES // 64))()
    if node is not None:
        mask[node // 64] = 1 << node % 64
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), ctypes.c_int(mode), mask, ctypes.c_ulong(_MOST_NODES)) != 0:
        raise unsupported(f"the system does not bind memory to numa:{node}: {os.strerror(ctypes.get_errno())}")


def require_room(bytes_wanted: int, limit: int) -> None:
    """Raises ChildError where so much more host memory would pass ``limit``, or what is available where that is 0."""
    room = limit or available_bytes()
    if room is not None and bytes_wanted > room:
        raise ChildError(Fault.NO_MEMORY, f"{bytes_wanted} B of host memory do not fit: there is room for {room} B")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
