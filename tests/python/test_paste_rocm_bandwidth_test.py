"""Pasted rocm_bandwidth_test: CPUs and GPUs in one table, no peer access, lists by size."""

from __future__ import annotations

from pathlib import Path

from linkscope.importers import rocm_bandwidth_test as rocm
from linkscope.importers.peer_output import Figure, PeerOutput, Source

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"


def output(text: str) -> PeerOutput:
    """What a paste says."""
    assert rocm.recognises(text)
    return rocm.read(Source(Path("paste"), text))


def of(found: PeerOutput, row: str, column: str) -> list[Figure]:
    """The results of two devices."""
    return [one for one in found.figures if (one.row, one.column) == (row, column)]


def test_devices_are_numbered_by_their_kind() -> None:
    found = output((SAMPLES / "rocm_bandwidth_test-2.6.txt").read_text())
    assert (found.version, found.numa_nodes, [one.pci for one in found.gpus]) == ("2.6.0", 2, ["05:0.0", "08:0.0"])
    one, both = of(found, "numa:1", "gpu:0")
    assert one.moves is not None
    assert both.moves is not None
    assert (one.value.median, one.moves.kind, one.moves.memories) == (25.101, "to-gpu", ("pinned", "device"))
    assert (both.value.median, both.moves.both) == (47.101, True)
    (local,) = of(found, "gpu:1", "gpu:1")
    assert local.moves is not None
    assert (local.moves.kind, local.moves.counts) == ("local", "read-and-written")


def test_gpus_that_do_not_reach_each_other_and_cut_rows_are_said() -> None:
    found = output((SAMPLES / "rocm_bandwidth_test-2.6.txt").read_text())
    told = {one.code: one.facts for one in found.findings}
    assert told["import.no-peer-access"]["pairs"] == ["gpu:0 -> gpu:1"]
    assert told["import.cut"]["missing"] == "row 3"


def test_serial_numbers_stay_out() -> None:
    found = output((SAMPLES / "rocm_bandwidth_test-2.6.txt").read_text())
    assert "GPU-00" not in repr(found)


def test_lists_by_size_have_their_best_rate_and_small_sizes() -> None:
    head = "================    Unidirectional Benchmark Result    ================\n"
    ends = (
        "================ Src Device Id: 0 Src Device Type: Cpu ================\n"
        "================ Dst Device Id: 1 Dst Device Type: Gpu ================\n"
    )
    rows = (
        "1 KB           9.111          0.112          8.888          0.115\n"
        "64 MB          2501.100       26.800         2400.111       27.911\n"
    )
    found = output(f"{head}{ends}\nData Size      Avg Time(us)   Avg BW(GB/s)   Min Time(us)   Peak BW(GB/s)\n{rows}")
    assert [(one.size, one.value.median) for one in found.figures] == [(1024, 0.115), (64 << 20, 27.911)]
    assert (found.figures[0].row, found.figures[0].column) == ("numa:0", "gpu:0")


def test_paths_that_validation_fails_are_said() -> None:
    table = "Data Path Validation\n\n  D/D       0       1\n\n  0         N/A     PASS\n\n  1         FAIL    PASS\n"
    found = output(f"RocmBandwidthTest Version: 2.6.0\n{table}")
    assert [one.code for one in found.findings] == ["import.wrong-data"]


def test_an_older_title_and_the_size_of_a_command_are_read() -> None:
    command = "Launch Command is: rocm-bandwidth-test -A -m 8\n\nDevice: 0,  AMD EPYC\nDevice: 1,  gfx90a,  05:0.0\n"
    table = "Bdirectional copy peak bandwidth GB/s\n\nD/D   0       1\n\n0     N/A     25.111\n\n1     25.111  N/A\n"
    found = output(command + table)
    assert [(one.test, one.size, one.notes) for one in found.figures][:1] == [
        ("rocm_bandwidth_test bidirectional", 8 << 20, ())
    ]


def test_gpus_whose_ids_were_taken_away_are_told_by_their_names() -> None:
    names = "Device: 0,  AMD RYZEN AI MAX+ 395 w/ Radeon 8060S\nDevice: 2,  AMD Radeon RX 9070 XT\n"
    table = "Unidirectional copy peak bandwidth GB/s\nD/D  0       2\n0    N/A     14.111\n2    14.222  540.333\n"
    found = output(f"RocmBandwidthTest Version: 2.6.0\n{names}{table}")
    assert [(one.row, one.column) for one in found.figures] == [
        ("numa:0", "gpu:0"),
        ("gpu:0", "numa:0"),
        ("gpu:0", "gpu:0"),
    ]
