"""NVSHMEM in the torch child: who joins whom, what is called with which addresses. The library is stood in for."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch_stood_in import engine

__all__ = ["engine"]  # a fixture

Json = dict[str, Any]

ID = bytes(range(128))
HEAP, STREAM = 0x7000_0000_0000, 0x55
SITE = (0, 2, "127.0.0.1", 60.0, 0)


class Library:
    """Answers as libnvshmem_host does, and keeps what it was called with. ``room``: of its heap."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.room, self.started, self.alone, self.nameless = 1 << 40, 2, False, 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls.append((name, *arguments))
            return getattr(self, f"_{name}", lambda *_: 0)(*arguments)

        if name.startswith("_"):
            raise AttributeError(name)
        self.__dict__[name] = call
        return call

    def _nvshmemx_get_uniqueid(self, unique: Any) -> int:
        assert struct.unpack_from("i", unique) == ((1 << 16) + 128,)
        unique.raw = ID
        return self.nameless

    def _nvshmemx_hostlib_init_attr(self, flags: int, attributes: Any) -> int:
        assert flags == 8
        assert [struct.unpack_from("i", attributes, at)[0] - (1 << 16) for at in (0, 16, 24)] == [144, 128, 24]
        return 0

    def _nvshmemx_init_status(self) -> int:
        return self.started

    def _nvshmem_malloc(self, size: int) -> int | None:
        return HEAP if size <= self.room else None

    def _nvshmem_ptr(self, heap: int, place: int) -> int | None:
        return None if self.alone and place else heap + place

    def named(self, name: str) -> list[list[Any]]:
        return [arguments for called, *arguments in self.calls if called == name]


class Space:
    """A tensor of bytes at an address."""

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size, self.device, self.wrong, self.value = address, size, SimpleNamespace(type="cuda"), 0, 1

    def __getitem__(self, part: Any) -> Space:
        begin, end, _ = part.indices(self.size) if isinstance(part, slice) else (part, part + 1, 1)
        return Space(self.address + begin, end - begin)

    def view(self, _: Any) -> Space:
        return self

    def data_ptr(self) -> int:
        return self.address

    def __int__(self) -> int:
        return self.value

    def zero_(self) -> None:
        pass


def space_of(shape: tuple[int], data: tuple[int, bool], **_: Any) -> Space:
    return Space(data[0], shape[0])


@pytest.fixture
def library(engine: Any, monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    torch: Any = sys.modules["torch"]
    torch.version.cuda = "13.0"
    torch.tensor = lambda values, dtype: SimpleNamespace(tolist=lambda: values)
    torch.as_tensor = lambda given, device: space_of(**given.__cuda_array_interface__)
    torch.cuda.current_stream.return_value.cuda_stream = STREAM
    monkeypatch.setattr(engine("nvshmem_world"), "_library", lambda: made)
    return made


def world_of(engine: Any) -> Any:
    return engine("nvshmem_world").World(SimpleNamespace(join=lambda *_: None, of=lambda *_: None, vote=lambda _: int))


def flow(engine: Any, size: int = 64, gpus: tuple[int, ...] = (0, 1), by: int = 0, **parameters: Any) -> Any:
    ends = [
        {"device": f"gpu:{gpu}", "first_touch": f"gpu:{gpu}", "rank": rank, "memory": "device", "advice": ""}
        for rank, gpu in enumerate(gpus)
    ]
    told = {name: str(value) for name, value in parameters.items()}
    collective = "collective" in parameters
    ways = {"members": ends} if collective else {"source": ends[0], "destination": ends[1], "members": []}
    method = "nvshmem-collective" if collective else "nvshmem"
    parts = {"method": method, "executor": f"gpu:{gpus[by]}", "rank": by, "bytes": size, "parameters": told, **ways}
    return engine("flow").Flow.of(parts)


def joined(engine: Any, wanted: Any, rank: int = 0, sizes: tuple[int, ...] = (264, 64, 64)) -> Any:
    world = world_of(engine)
    world.join(wanted, sizes, [], engine("flow").Site(rank, *SITE[1:]))
    return world


def test_processes_join_by_an_identifier_and_lay_the_same_pieces(engine: Any, library: Library) -> None:
    world = joined(engine, flow(engine), rank=0)
    ((place, size, unique, _),) = library.named("nvshmemx_set_attr_uniqueid_args")
    assert (place, size, unique.raw) == (0, 2, ID)
    assert [piece.address - HEAP for piece in world.pieces] == [0, 512, 768]
    assert world.remarks() == ["by NVSHMEM 0.0.0"]
    library.alone = True
    assert world.remarks()[1:] == ["no peer access: through NVSHMEM's transport"]


def test_a_world_is_kept_for_flows_alike_and_made_anew_for_others(engine: Any, library: Library) -> None:
    world, site = joined(engine, flow(engine)), engine("flow").Site(*SITE)
    world.join(flow(engine, 128), (1, 2, 3), [], site)
    assert len(library.named("nvshmemx_hostlib_init_attr")) == 1
    assert len(library.named("nvshmem_malloc")) == 2, "each flow has its own pieces"
    world.join(flow(engine, gpus=(1, 0)), (1, 2, 3), [], site)
    assert len(library.named("nvshmemx_hostlib_finalize")) == 1
    assert len(library.named("nvshmem_free")) == 2


def test_a_process_without_a_part_joins_nothing_but_leaves_with_the_others(engine: Any, library: Library) -> None:
    world = joined(engine, flow(engine), rank=2)
    assert library.calls == []
    assert world.pieces == []
    world.leave()
    assert library.calls == []


@pytest.mark.parametrize(("room", "started", "fault"), [(1, 2, "NO_MEMORY"), (1 << 40, 1, "FATAL")])
def test_what_cannot_begin_says_so(engine: Any, library: Library, room: int, started: int, fault: str) -> None:
    library.room, library.started = room, started
    with pytest.raises(engine("faults").ChildError) as caught:
        joined(engine, flow(engine))
    assert caught.value.fault is getattr(engine("faults").Fault, fault)


@pytest.mark.parametrize("rank", [0, 1])
def test_none_begins_where_the_first_has_no_identifier(engine: Any, library: Library, rank: int) -> None:
    library.nameless, said = 256, []

    def broadcast(told: Any, *_: Any) -> None:
        said.append(list(told.tolist()))
        told.tolist()[0] = 1

    engine("nvshmem_world").dist.broadcast = broadcast
    with pytest.raises(engine("faults").ChildError) as caught:
        joined(engine, flow(engine), rank)
    assert caught.value.fault is engine("faults").Fault.FATAL
    assert said[0][0] == (1 if rank == 0 else 0)
    assert library.named("nvshmemx_hostlib_init_attr") == []


@pytest.mark.parametrize(
    ("operation", "by", "name", "signal"),
    [
        ("put", 0, "nvshmemx_putmem_on_stream", []),
        ("get", 1, "nvshmemx_getmem_on_stream", []),
        ("put-signal", 0, "nvshmemx_putmem_signal_on_stream", [HEAP, 1, 9]),
    ],
)
def test_the_executor_calls_with_addresses_of_its_own_heap(
    engine: Any, library: Library, operation: str, by: int, name: str, signal: list[int]
) -> None:
    wanted = flow(engine, by=by, operation=operation, caller="stream", repeats=2)
    for rank in (0, 1):
        transfer = engine("nvshmem").OneSided(wanted, joined(engine, wanted, rank), rank, [])
        library.calls.clear()
        transfer.call()
        called = [HEAP + 768, HEAP + 512, 64, *signal, 1 - by, STREAM]
        assert library.named(name) == ([called, called] if rank == by else [])
        assert transfer.operations == 2
        assert (transfer.verified_bytes() > 0) == (rank == 1), "the destination has what arrived"


@pytest.mark.parametrize(("caller", "threads"), [("block", 1024), ("warp", 32), ("thread", 1)])
def test_in_a_ping_pong_the_second_sends_back_what_arrived(
    engine: Any, library: Library, caller: str, threads: int
) -> None:
    wanted = flow(engine, operation="put-signal", call="ping-pong", caller=caller, repeats=100)
    for rank, origin in ((0, HEAP + 512), (1, HEAP + 768)):
        world = joined(engine, wanted, rank)
        launched: list[Any] = []
        world.kernels = lambda launched=launched: SimpleNamespace(call=lambda *said: launched.extend(said))
        transfer = engine("nvshmem").OneSided(wanted, world, rank, [])
        name, blocks, size, arguments = launched
        assert (name, blocks, size) == (f"ping_pong_{caller}", 1, threads)
        values = [one.value for one in arguments]
        assert values[:4] == [HEAP + 768, origin, 64, HEAP]
        assert values[5:] == [100, 1 - rank, 1 - rank], "repeats, partner, and whether it sends first"
        assert transfer.operations == 200
        assert transfer.verified_bytes() == 64


def test_a_kernel_is_told_blocks_and_what_to_do(engine: Any, library: Library) -> None:
    wanted = flow(engine, by=1, operation="get", caller="warp", blocks=7)
    world, launched = joined(engine, wanted, 1), []
    world.kernels = lambda: SimpleNamespace(call=lambda *said: launched.extend(said))
    engine("nvshmem").OneSided(wanted, world, 1, [])
    name, blocks, threads, arguments = launched
    assert (name, blocks, threads) == ("move_warp", 7, 1024)
    assert arguments[-1].value == engine("nvshmem_kernels").KINDS.index("get")
    assert isinstance(arguments[2], ctypes.c_size_t)


def test_data_without_their_signal_are_wrong(engine: Any, library: Library) -> None:
    wanted = flow(engine, operation="put-signal", caller="stream")
    transfer = engine("nvshmem").OneSided(wanted, joined(engine, wanted, 1), 1, [])
    transfer._signals = [Space(0, 1)]
    transfer._destination.compare = lambda seed, calls: None
    assert transfer.verify(1) is None
    transfer._signals[0].value = 0
    assert transfer.verify(1) == "no signal came with the data"


@pytest.mark.parametrize(
    ("by", "parameters", "reason"),
    [
        (1, {"operation": "put"}, "set executor to source"),
        (0, {"operation": "get"}, "set executor to destination"),
        (0, {"call": "ping-pong"}, "by operation put-signal"),
        (0, {"operation": "put-signal", "call": "ping-pong", "caller": "stream"}, "caller block, warp or thread"),
    ],
)
def test_what_cannot_be_is_refused(engine: Any, library: Library, by: int, parameters: Json, reason: str) -> None:
    method, regime = engine("nvshmem").Nvshmem(None, world_of(engine)), engine("flow").Regime("device", "warm")
    with pytest.raises(engine("faults").ChildError, match=reason):
        method.check(flow(engine, by=by, **parameters), regime)
    right = flow(engine, by=1, operation="get", caller="thread", form="graph", recorded=20)
    assert method.check(right, regime) is None


@pytest.mark.parametrize(
    ("kind", "name", "arguments"),
    [
        ("all-reduce", "nvshmemx_half_sum_reduce", [HEAP + 256, HEAP, 32]),
        ("reduce-scatter", "nvshmemx_half_sum_reducescatter", [HEAP + 256, HEAP, 16]),
        ("all-gather", "nvshmemx_fcollectmem", [HEAP + 256, HEAP, 32]),
        ("all-to-all", "nvshmemx_alltoallmem", [HEAP + 256, HEAP, 32]),
        ("broadcast", "nvshmemx_broadcastmem", [HEAP + 256, HEAP, 64, 0]),
    ],
)
def test_collectives_count_elements_of_sums_and_bytes_of_others(
    engine: Any, library: Library, kind: str, name: str, arguments: list[int]
) -> None:
    wanted = flow(engine, collective=kind, type="float16")
    world = joined(engine, wanted, sizes=(64, 64))
    method = engine("nvshmem").NvshmemCollective(None, world)
    shape = engine("collective").Shape(kind, SimpleNamespace(itemsize=2), False, 2, 64, 0, 0)
    work = method.work(wanted, shape, None, (world.pieces[0], world.pieces[1]), 0)
    work.call()
    assert library.named(f"{name}_on_stream") == [[0, *arguments, STREAM]]
    work.armed()
    assert library.named("nvshmemx_barrier_all_on_stream") == [[STREAM]]


def test_collectives_that_it_has_not_are_refused(engine: Any, library: Library) -> None:
    method = engine("nvshmem").NvshmemCollective(None, world_of(engine))
    regime = engine("flow").Regime("device", "warm")
    for kind, place in (("reduce", "no"), ("all-gather", "yes")):
        with pytest.raises(engine("faults").ChildError, match="NVSHMEM has"):
            method.check(flow(engine, collective=kind, in_place=place), regime)
    assert method.check(flow(engine, collective="all-reduce", in_place="yes"), regime) is None


def test_nvshmem_is_found_in_nvidias_packages(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installation = engine("installation")
    folder = tmp_path / "nvidia" / "nvshmem" / "lib"
    folder.mkdir(parents=True)
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path / "nvidia")])
    monkeypatch.setattr(installation.importlib.util, "find_spec", lambda name: spec)
    assert "pip install nvidia-nvshmem" in installation.problems()["nvshmem"]
    (folder / "libnvshmem_host.so.3").touch()
    assert installation.problems()["nvshmem"] is None


class Linker:
    """Answers as NVRTC and nvJitLink do; ``refuses``: the function whose status is 6."""

    def __init__(self, refuses: str, log: bytes) -> None:
        self.refuses, self.log, self.files = refuses, log, list[bytes]()

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            if name == "nvJitLinkGetErrorLogSize":
                arguments[1]._obj.value = len(self.log)
            if name == "nvJitLinkGetErrorLog":
                arguments[1].raw = self.log
            if name == "nvJitLinkAddFile":
                self.files.append(arguments[2])
            return 6 if name == self.refuses else 0

        return call


def compiled(engine: Any, monkeypatch: pytest.MonkeyPatch, refuses: str, *archives: str) -> Linker:
    kernels, linker = engine("nvshmem_kernels"), Linker(refuses, b"warning: old\nerror: no such symbol\nmore\0")
    files = {kernels._ARCHIVE: [Path(archive) for archive in archives]}
    monkeypatch.setattr(kernels.installation, "nvidia_files", lambda pattern: files.get(pattern, []))
    monkeypatch.setattr(kernels, "_tool", lambda name: linker)
    kernels._compiled.__wrapped__(9, 0)
    return linker


@pytest.mark.parametrize(
    ("refuses", "why"),
    [
        ("nvrtcCreateProgram", ""),
        ("nvJitLinkCreate", ""),
        ("nvJitLinkAddData", ": error: no such symbol"),
        ("nvJitLinkAddFile", ": error: no such symbol"),
        ("nvJitLinkComplete", ": error: no such symbol"),
    ],
)
def test_kernels_that_do_not_link_say_where_and_why(
    engine: Any, monkeypatch: pytest.MonkeyPatch, refuses: str, why: str
) -> None:
    with pytest.raises(engine("faults").ChildError) as caught:
        compiled(engine, monkeypatch, refuses, "device.a")
    assert str(caught.value) == f"{refuses} failed with 6{why}"
    assert caught.value.fault is engine("faults").Fault.BROKEN


def test_the_first_device_library_is_linked_and_a_missing_one_is_named(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiled(engine, monkeypatch, "", "one.a", "other.a").files == [b"one.a"]
    with pytest.raises(engine("faults").ChildError, match=r"nvidia/nvshmem/lib/libnvshmem_device\.a") as caught:
        compiled(engine, monkeypatch, "")
    assert caught.value.fault is engine("faults").Fault.UNSUPPORTED
