"""NVSHMEM's perftest as results: collectives by scope and type, puts and gets, old and machine-readable forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.importers import importers, nccl_tests, nvshmem_perftest
from linkscope.importers.nvshmem_perftest import read
from linkscope.importers.peer_output import UNKNOWN, Figure, Movement, PeerOutput, Source

SAMPLE = Path(__file__).parents[1] / "fixtures" / "importers" / "nvshmem-3.4.txt"
PE = "mype: {} mype_node: {} device name: NVIDIA GH200 120GB bus id: 1 \n"
TABLE = "size(B)     count     type      scope     latency(us)       algbw(GB/s)   busbw(GB/s)\n"


def of(text: str) -> PeerOutput:
    assert nvshmem_perftest.recognises(Source(Path("x"), text).text)
    return read(Source(Path("paste.txt"), text))


def moved(figure: Figure) -> Movement:
    assert figure.moves is not None
    return figure.moves


def by_test(output: PeerOutput, test: str) -> list[Figure]:
    return [one for one in output.figures if one.test == f"NVSHMEM perftest {test}"]


def test_collectives_are_times_by_scope_and_type() -> None:
    source = Source.read(SAMPLE)
    output = read(source)
    exchanged = by_test(output, "alltoall_device")
    assert len(exchanged) == 14
    assert (exchanged[0].size, exchanged[0].unit, exchanged[0].value.median) == (1024, "s", pytest.approx(18.016787e-6))
    assert {(moved(one).collective, moved(one).ranks, moved(one).hosts) for one in exchanged} == {("all-to-all", 4, 1)}
    assert list(dict.fromkeys(moved(one).varies for one in exchanged)) == [
        "thread, 32-bit",
        "block, 32-bit",
        "thread, 64-bit",
        "block, 64-bit",
    ]
    assert [moved(one).varies for one in by_test(output, "device_reduction")] == ["block, int32"] * 3
    assert {moved(one).collective for one in by_test(output, "broadcast_on_stream")} == {"broadcast"}
    assert {moved(one).memories for one in output.figures} == {("device", "device")}
    assert [gpu.name for gpu in output.gpus] == ["NVIDIA H200"] * 4
    left = [line for number, line in enumerate(source.lines, 1) if line and number not in output.read]
    assert [line.split()[0] for line in left] == ["Runtime", "Note:"]
    assert not nccl_tests.recognises(source.text)


def test_puts_and_gets_go_between_two_gpus_of_a_node() -> None:
    output = read(Source.read(SAMPLE))
    put, get = by_test(output, "shmem_put_bw_uni"), by_test(output, "shmem_get_bw_uni")
    assert (put[-1].unit, put[-1].size, round(put[-1].value.median, 1)) == ("GB/s", 4 << 20, 128.2)
    assert (moved(put[0]).kind, moved(put[0]).source, moved(put[0]).destination) == ("peer", "gpu:0", "gpu:1")
    assert (moved(get[0]).source, moved(get[0]).executor) == ("gpu:1", "gpu:0")
    assert {moved(one).both for one in by_test(output, "shmem_put_bw_bidi")} == {True}
    latency = by_test(output, "shmem_put_latency")
    assert [(moved(one).varies, one.unit) for one in latency[::2]] == [("thread", "s"), ("warp", "s"), ("block", "s")]
    assert by_test(output, "shmem_p_bw") == []


def test_pes_that_are_printed_tell_the_nodes() -> None:
    row = "4194304     1048576   32-bit    block     183.171201        22.898        20.036\n"
    table = "#alltoall_device\n" + TABLE + row
    assert [(moved(one).ranks, moved(one).hosts) for one in of(PE.format(6, 2) + table).figures] == [(8, 2)]
    assert [(moved(one).ranks, moved(one).hosts) for one in of(table).figures] == [(8, 1)]
    far = of(
        PE.format(0, 0) + PE.format(1, 0) + "#shmem_put_bw_uni\nsize(B)     scope     BW (GB/sec)\n64  None  0.5\n"
    )
    assert (moved(far.figures[0]).kind, moved(far.figures[0]).hosts, moved(far.figures[0]).source) == ("message", 2, "")


def test_older_and_machine_readable_forms_are_read() -> None:
    frame = "+------------------------+----------------------+\n"
    old = (
        f"{frame}| shmem_put_latency      | Warp                 |\n"
        f"{frame}| size (Bytes)           | latency us           |\n"
        f"{frame}| 1024                   | 3.341000             |\n"
        f"{frame}| 2048.0                 | 3.412000             |\n{frame}"
    )
    found = of(old)
    assert [(one.size, one.value.median, moved(one).varies) for one in found.figures] == [
        (1024, pytest.approx(3.341e-6), "warp"),
        (2048, pytest.approx(3.412e-6), "warp"),
    ]
    lines = (
        "shmem_get_bw\n"
        "&&&& PERF shmem_get_bw___None___size__8192___BW 12.250000 +GB/sec\n"
        "&&&& PERF reduction_on_stream___int-sum___size__4096___latency 22.125000 -us\n"
    )
    assert [(one.test, one.size, one.value.median) for one in of(lines).figures] == [
        ("NVSHMEM perftest shmem_get_bw", 8192, 12.25),
        ("NVSHMEM perftest reduction_on_stream", 4096, 22.125e-6),
    ]


def test_host_tests_read_where_the_options_say_so_and_egm_is_no_device_memory() -> None:
    options = "min_size: 4, max_size: 64, atomic_op: inc, dir: read, report_msgrate: 0, use_mmap: 1, use_egm: 1\n"
    text = (
        options
        + PE.format(0, 0)
        + PE.format(1, 1)
        + "# Bandwidth\nsize(B)     scope     Bandwidth (GB)\n64  None  0.25\n"
    )
    (figure,) = of(text).figures
    assert (moved(figure).source, moved(figure).memories, figure.value.median) == ("gpu:1", (UNKNOWN, UNKNOWN), 0.25)


def test_what_is_no_row_is_left_and_nothing_is_an_error() -> None:
    output = of(
        "#alltoall_device\n" + TABLE + "64  8  64-bit  block  80.5  0.001  0.001\n64  8  64-bit  bl\n| a | 3.5 |\n"
    )
    assert (len(output.figures), sorted(output.read)) == (1, [1, 2, 3])
    with pytest.raises(LinkscopeError, match="printed no results"):
        read(Source(Path("paste.txt"), "#alltoall_device\n" + TABLE))


def test_a_table_without_its_name_is_an_unknown_collective() -> None:
    rows = "65536       16384     32-bit    block     210.500000        0.311         0.301\n"
    (figure,) = of(
        TABLE + rows + "1048576     262144    32-bit    block     240.000000        4.369         4.232\n"
    ).figures[1:]
    assert (moved(figure).collective, moved(figure).ranks, figure.value.median) == ("", 32, 0.00024)


def test_a_time_that_no_machine_has_is_a_row_that_is_not_understood() -> None:
    rows = "4096  1024  int  block  9.5  1.0  1.0\n8192  2048  int  block  1e-50  1.0  1.0\n"
    paste = importers.read(Source(Path("paste.txt"), f"{PE.format(0, 0)}#alltoall_device\n{TABLE}{rows}"))
    (output,) = paste.outputs
    assert [one.size for one in output.figures] == [4096]
    assert paste.row(paste.unread[0]).startswith("8192 2048")
