"""Comm|Scope's output of all years: what a name says of devices, memory and size; console tables and cut JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pasting import moves, told_by

from linkscope.errors import LinkscopeError
from linkscope.importers import commscope
from linkscope.importers.commscope import read
from linkscope.importers.peer_output import Figure, Source

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"
OLD = SAMPLES / "commscope-2018.json"
MIB = 1 << 20
IDS = {"hip_id": 2, "numa_id": 1}
BAD = (
    "Comm_x",
    "Comm_Memcpy_GPUToGPU/0/9999/log2(N):20",
    "Comm_Memcpy_GPUToGPU/99/0",
    "Comm_M<b>GPUToGPU/20/0/1",
    "Comm_/",
)


told = told_by(commscope)


def result(name: str, **counters: float) -> dict[str, object]:
    """A benchmark's entry."""
    times = {"iterations": 100, "real_time": 52428.8, "cpu_time": 60000.0, "time_unit": "ns"}
    return {"name": name, **times, "bytes_per_second": 2.0e10, **counters}


def report(*entries: dict[str, object]) -> str:
    """A JSON report as Google Benchmark writes it."""
    return json.dumps({"context": {"host_name": "node"}, "benchmarks": entries}, indent=2)


def only(name: str, **counters: float) -> Figure:
    """The result of one benchmark."""
    (figure,) = told(report(result(name, **counters))).figures
    return figure


def test_repetitions_of_2018_are_one_result_and_their_summary_is_none() -> None:
    found = read(Source.read(OLD))
    (figure,) = found.figures
    assert (figure.test, figure.size, figure.unit) == ("NUMA_Memcpy_GPUToPinned", MIB, "GB/s")
    assert (figure.value.n, figure.value.median) == (3, pytest.approx(33.825032))
    assert [figure.value.min, figure.value.max] == pytest.approx([32.768, 34.952533], rel=1e-6)
    assert (moves(figure).kind, moves(figure).source, moves(figure).destination) == ("to-host", "gpu:1", "numa:8")
    assert (moves(figure).memories, moves(figure).method) == (("device", "pinned"), "copy-engine")


def test_benchmarks_that_move_nothing_are_counted_and_named() -> None:
    (left,) = read(Source.read(OLD)).findings
    assert (left.code, left.facts) == ("import.other-benchmarks", {"benchmarks": 1, "names": ["UM_Latency_GPUToGPU"]})


@pytest.mark.parametrize(
    ("name", "counters", "kind", "ends", "memories"),
    [
        ("Comm/NUMAMemcpy/GPUToPinned/0/1/log2(N):20/manual_time", {}, "to-host", "gpu:1 numa:0", "device pinned"),
        ("Comm_NUMAMemcpy_HostToGPU/8/3/log2(N):20", {}, "to-gpu", "numa:8 gpu:3", "pageable device"),
        ("Comm_NUMAMemcpy_WCToGPU/20/8/3", {"bytes": MIB}, "to-gpu", "numa:8 gpu:3", "write-combined device"),
        ("NUMA_Memcpy_GPUToGPU/20/8/0/1", {"bytes": MIB}, "peer", "gpu:0 gpu:1", "device device"),
        ("Comm_NUMAMemcpy_GPUToGPU/8/0/1/log2(N):20", {}, "peer", "gpu:0 gpu:1", "device device"),
        ("CUDA_Memcpy_GPUToGPU/20/2/3/manual_time", {"bytes": MIB}, "peer", "gpu:2 gpu:3", "device device"),
        ("CUDA/Memcpy/GPUToPinned/log2(N):20", {}, "to-host", " ", "device pinned"),
        ("Comm_Memcpy_GPUToGPUPeer/1/1/log2(N):20", {}, "local", "gpu:1 gpu:1", "device device"),
        ("Comm_UM_Prefetch_HostToGPU/0/1/log2(N):20", {}, "to-gpu", "numa:0 gpu:1", "managed managed"),
        ("Comm_UM_Coherence_GPUToGPU/0/1/log2(N):20", {}, "peer", "gpu:0 gpu:1", "managed managed"),
        ("NUMA_RD/8/20/0/1/real_time", {"bytes": MIB}, "host", "numa:0 numa:1", "pageable pageable"),
        ("Comm_hipMemcpyAsync_GPUToPageable/0/1/log2(N):20", IDS, "to-host", "gpu:2 numa:1", "device pageable"),
        ("Comm_ZeroCopy_HostToGPU/0/1/log2(N):20", {}, "to-gpu", "numa:0 gpu:1", "pinned device"),
    ],
)  # fmt: skip
def test_a_name_says_what_moves(name: str, counters: dict[str, float], kind: str, ends: str, memories: str) -> None:
    figure = only(name, **counters)
    assert figure.size == MIB
    assert moves(figure).kind == kind
    assert f"{moves(figure).source} {moves(figure).destination}" == ends
    assert " ".join(moves(figure).memories) == memories


def test_a_size_behind_the_devices_is_known_by_its_bytes() -> None:
    assert only("Comm_Memcpy_GPUToGPUPeer/0/1/20", bytes=MIB).size == MIB
    assert only("Comm_Memcpy_GPUToGPUPeer/20/0/1", bytes=MIB).size == MIB
    assert only("Comm_Memcpy_GPUToGPUPeer/20/0/1").size == MIB


@pytest.mark.parametrize(
    ("name", "method", "varies", "both"),
    [
        ("Comm_cudaMemcpyAsync_Duplex_GPUGPUPeer/0/1/log2(N):20", "copy-engine", "", True),
        ("DUPLEX_Memcpy_GPUGPU/20/0/1", "copy-engine", "", True),
        ("Comm_Duplex_NUMAMemcpy_Pinned/0/1/log2(N):20", "copy-engine", "", True),
        ("Comm_NUMAMemcpy_GPUToHost_flush/0/1/log2(N):20", "copy-engine", "", False),
        ("Comm_stride_push/0/1/log2(N):20/4", "kernel-write", "4", False),
        ("Comm_ZeroCopy_GPUToGPU_Read/0/1/log2(N):20", "kernel-read", "", False),
        ("Comm_UM_Demand_GPUToHostMt/0/1/8/log2(N):20", "page-fault", "8", False),
        ("Comm_3d_cudaMemcpy2DAsync_GPUToPinned/0/1/log2(N):20/7/3", "copy-engine-2d", "7/3", False),
    ],
)
def test_a_name_says_how(name: str, method: str, varies: str, both: bool) -> None:
    found = moves(only(name))
    assert (found.method, found.varies, found.both) == (method, varies, both)


def test_a_report_of_summaries_alone_has_its_median() -> None:
    name = "Comm_Memcpy_GPUToGPUPeer/0/1/log2(N):20/manual_time"
    rows = [
        {**result(f"{name}_{kind}"), "bytes_per_second": 1e9 * i}
        for i, kind in enumerate(("mean", "median", "stddev"), 1)
    ]
    (figure,) = told(report(*rows)).figures
    assert figure.value.median == 2.0


def test_json_that_is_cut_counts_as_far_as_it_goes() -> None:
    whole = report(*(result(f"Comm_Memcpy_GPUToGPUPeer/0/1/log2(N):{size}") for size in (10, 20, 30)))
    found = told(whole[: whole.rindex('"time_unit"')])
    assert [figure.size for figure in found.figures] == [1 << 10, 1 << 20]
    assert [one.code for one in found.findings] == ["import.cut"]
    assert len(told(f"$ ./comm_scope\nsome line\n{whole}\n$ \n").figures) == 3


def test_a_console_table_has_times() -> None:
    found = told(
        "Benchmark                     Time             CPU   Iterations UserCounters...\n"
        "Comm_cudaMemcpyAsync_PinnedToGPU/0/1/log2(N):20/manual_time   51200 ns   60000 ns   100 bytes=1.04858M "
        "bytes_per_second=19.0735G/s cuda_id=1 numa_id=0\n"
        "Comm_Memcpy_GPUToGPUPeer/0/1/log2(N):28/manual_time    5.5 ms    6.1 ms    10\n"
    )
    assert [(one.size, one.value.median, one.unit) for one in found.figures] == [
        (MIB, pytest.approx(51.2e-6), "s"),
        (256 * MIB, pytest.approx(5.5e-3), "s"),
    ]
    assert found.read == {2, 3}


def test_rows_of_csv_that_are_not_whole_are_left() -> None:
    text = (SAMPLES / "commscope.csv").read_text().splitlines()
    found = told("\n".join([*text[:3], text[3][:60], "0.1,0.2"]))
    assert len(found.figures) == 2
    assert found.read == {2, 3}


def test_a_report_of_nothing_that_moves_says_so() -> None:
    found = told(report(result("UM_Latency_GPUToGPU/10/0/1/manual_time")))
    assert not found.figures
    assert [one.facts["names"] for one in found.findings] == [["UM_Latency_GPUToGPU"]]


def test_no_benchmark_of_comm_scopes_is_refused() -> None:
    for text in ("nothing\n", report(result("BM_memcpy/8/0")), "{}"):
        with pytest.raises(LinkscopeError, match="no results"):
            read(Source(Path("paste"), text))


@pytest.mark.parametrize("name", BAD)
def test_names_that_say_nothing_are_left(name: str) -> None:
    good = "Comm_Memcpy_GPUToGPUPeer/0/1/log2(N):20"
    found = told(report(result(name), result(good)))
    assert [figure.test for figure in found.figures] == ["Comm_Memcpy_GPUToGPUPeer"]
    assert [one.facts["benchmarks"] for one in found.findings] == [1]
