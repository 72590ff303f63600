"""Comm|Scope's benchmarks by their names: what each moves, between which devices, and its size.

Names: src/ of Comm|Scope, of all versions since 2018. NUMA_Memcpy_GPUToPinned/LOG2/NUMA/GPU became
Comm/NUMAMemcpy/GPUToPinned/NUMA/GPU/log2(N):LOG2, then Comm_cudaMemcpyAsync_GPUToPinned/NUMA/GPU/log2(N):LOG2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linkscope.importers.peer_output import MOST_GPUS, UNKNOWN, Movement

MOST_LOG2 = 46
FAMILY = re.compile(r"(?:Comm|NUMA|NUMAUM|CUDA|DUPLEX|UM|libc)[_/]")
_SIZE = re.compile(r"log2\(N\):(\d{1,2})")
_WAY = re.compile(r"(GPU|Gpu|Host|Pinned|WC|NUMA|Pageable)To(GPU|Host|Pinned|WC|NUMA|Pageable)")
_ACCESS = re.compile(r"_(GPU|Host)(Rd|Wr)(GPU|Host)")
_BOTH = re.compile(r"Duplex_.*?(GPUGPU|HostGPU|Host|Pinned|Pageable)")
_NOTHING = re.compile(r"Latency|[Mm]alloc|cudart|cudaGraph|Synchronize|_kernel$|hip_kernel|GPUThreads")
"""Benchmarks that move nothing of a known size, or time something else."""
_MANAGED = re.compile(r"(?:^|_)(?:NUMA)?UM_|[Mm]anaged|Prefetch|Demand|Coherence")
_METHODS = (
    (re.compile("pack_"), "pack-copy-unpack"),
    (re.compile("Memcpy3D"), "copy-engine-3d"),
    (re.compile("Memcpy2D"), "copy-engine-2d"),
    (re.compile("libc_memcpy"), "memcpy"),
    (re.compile("Memcpy"), "copy-engine"),
    (re.compile("kernel3D"), "kernel-strided"),
    (re.compile("[Pp]refe"), "prefetch"),
    (re.compile("managed_Host|NUMA_WR|_HostWr"), "cpu-write"),
    (re.compile("NUMA_RD"), "cpu-read"),
    (_MANAGED, "page-fault"),
    (re.compile("_Write|push|GPUWr"), "kernel-write"),
    (re.compile("ZeroCopy|pull|GPURd"), "kernel-read"),
)
_GPU = ("GPU", "Gpu")
_MEMORIES = {
    **{"GPU": "device", "Gpu": "device", "Host": "pageable", "Pageable": "pageable", "NUMA": "pageable"},
    **{"Pinned": "pinned", "WC": "write-combined"},
}


@dataclass(frozen=True)
class Name:
    """``test``: the family, with "_" for "/". ``size``: bytes, where the name says them. ``ids``: the other numbers of
    the name, ``after`` those behind the size."""

    test: str
    size: int | None
    ids: tuple[int, ...]
    after: tuple[int, ...] = ()


def parsed(text: str, counted: float | None) -> Name | None:
    """Return the parts of a name; ``counted`` are the bytes that its counter says, which tell where the size stands in
    a name whose numbers have no labels."""
    parts = text.split("/")
    words = [part for i, part in enumerate(parts) if i == 0 or (i < 4 and _is_word(part) and _is_word(parts[i - 1]))]
    rest = parts[len(words) :]
    if not all(re.fullmatch(r"\w{1,80}", word, re.ASCII) for word in words):
        return None
    labelled = next((i for i, part in enumerate(rest) if _SIZE.fullmatch(part)), None)
    if labelled is not None:
        size = int(rest[labelled].removeprefix("log2(N):"))
        return _name(words, size, _numbers(rest[:labelled]), _numbers(rest[labelled + 1 :]))
    ids = _numbers(rest)
    if words[-1].endswith(("NUMA_RD", "NUMA_WR", "RD", "WR")) and len(ids) == 4:
        return _name(words, ids[1], ids[2:], ids[:1])
    if not ids:
        return _name(words, None, (), ())
    last = counted is not None and ids[-1] <= MOST_LOG2 and counted == 1 << ids[-1] and counted != 1 << min(ids[0], 60)
    return _name(words, ids[-1], ids[:-1], ()) if last else _name(words, ids[0], ids[1:], ())


def _is_word(part: str) -> bool:
    timed = part in ("manual_time", "real_time", "process_time")
    return not timed and re.fullmatch(r"[A-Za-z]\w{0,60}", part, re.ASCII) is not None


def _numbers(parts: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(part) for part in parts if re.fullmatch(r"\d{1,12}", part))


def _name(words: Sequence[str], log2: int | None, ids: tuple[int, ...], after: tuple[int, ...]) -> Name | None:
    if log2 is not None and log2 > MOST_LOG2:
        return None
    return Name("_".join(words), None if log2 is None else 1 << log2, ids, after)


def movement(name: Name, counters: Mapping[str, int]) -> Movement | None:
    """Return what a benchmark moves; None of one that moves nothing, or whose ends neither name nor counters say."""
    test = name.test
    method = next((method for pattern, method in _METHODS if pattern.search(test)), "")
    if not method or _NOTHING.search(test):
        return None
    ends = _ends(test)
    devices, left = _devices(name, ends, counters)
    if ends is None or any(int(device.partition(":")[2] or 0) >= MOST_GPUS for device in devices):
        return None
    memories = ("managed", "managed") if _MANAGED.search(test) else _memories(test, ends)
    kinds = {(True, True): "peer", (True, False): "to-host", (False, True): "to-gpu", (False, False): "host"}
    kind = kinds[ends[0] in _GPU, ends[1] in _GPU]
    moves = Movement(kind, method, devices[0], devices[1], memories=memories, both="uplex" in test or "DUPLEX" in test)
    moves = replace(moves, varies="/".join(map(str, (*left, *name.after))))
    return replace(moves, kind="local") if kind == "peer" and devices[0] == devices[1] != "" else moves


def _ends(test: str) -> tuple[str, str] | None:
    """Return the words of both ends: GPU, Host, Pinned."""
    if match := _BOTH.search(test.replace("DUPLEX", "Duplex")):
        return {"GPUGPU": ("GPU", "GPU"), "HostGPU": ("Host", "GPU")}.get(match[1], (match[1], "GPU"))
    if match := _WAY.search(test):
        return match[1], match[2]
    if match := _ACCESS.search(test):
        return (match[1], match[3]) if match[2] == "Wr" else (match[3], match[1])
    if re.search("push|pull|pack_|3DPeer", test):
        return "GPU", "GPU"
    return ("NUMA", "NUMA") if re.search("NUMA_(RD|WR)|libc_memcpy", test) else None


def _memories(test: str, ends: tuple[str, str]) -> tuple[str, str]:
    first, second = (_MEMORIES.get(end, UNKNOWN) for end in ends)
    if re.search("mapped|ZeroCopy", test):
        return first.replace("pageable", "pinned"), second.replace("pageable", "pinned")
    return first, second


def _devices(
    name: Name, ends: tuple[str, str] | None, counters: Mapping[str, int]
) -> tuple[tuple[str, str], tuple[int, ...]]:
    """Return both devices, "" where nothing says them, and the numbers of the name that are none of theirs."""
    if ends is None:
        return ("", ""), ()
    gpus = [end in _GPU for end in ends]
    ids = name.ids
    if all(gpus) and "NUMA" in name.test and len(ids) > 2:
        ids = ids[1:]
    said = [counters[key] for key in _keys(gpus, counters)]
    if len(said) < 2 and len(ids) > 1:
        said = list(ids[:2] if gpus != [True, False] else (ids[1], ids[0]))
    elif len(said) < 2 and len(ids) == 1 and any(gpus) and not all(gpus):
        return (("", f"gpu:{ids[0]}") if gpus[1] else (f"gpu:{ids[0]}", "")), ()
    if len(said) < 2:
        return ("", ""), ids
    kinds = ["gpu" if gpu else "numa" for gpu in gpus]
    return (f"{kinds[0]}:{said[0]}", f"{kinds[1]}:{said[1]}"), ids[2:]


def _keys(gpus: Sequence[bool], counters: Mapping[str, int]) -> list[str]:
    """Return the names of the counters of both ends."""
    one = {True: ("cuda_id", "hip_id", "cudaId", "hipId"), False: ("numa_id", "numaId")}
    pairs = (
        (("src_gpu", "dst_gpu"), ("gpu0", "gpu1"), ("srcGpu", "dstGpu")) if all(gpus) else (("src_numa", "dst_numa"),)
    )
    if gpus[0] == gpus[1]:
        return next((list(pair) for pair in pairs if set(pair) <= set(counters)), [])
    return [key for gpu in gpus for key in one[gpu] if key in counters][:2]
