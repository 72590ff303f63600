"""nixlbench's and kvbench's tables as they are pasted: directions, memories, batches and units."""

from __future__ import annotations

from pathlib import Path

import pytest
from pasting import moves, told_by

from linkscope.errors import LinkscopeError
from linkscope.importers import nixlbench
from linkscope.importers.nixlbench import read
from linkscope.importers.peer_output import UNKNOWN, Source

SAMPLE = Path(__file__).parents[1] / "fixtures" / "importers" / "nixlbench-read.txt"
MIB = 1 << 20
OLD = "Block Size (B)      Batch Size     Avg Lat. (us)  B/W (MiB/Sec)  B/W (GiB/Sec)  B/W (GB/Sec)\n"
ROW = "65536               1              23.7222        2634.66        2.57291        2.76264\n"


def said(*options: str) -> str:
    """A configuration as nixlbench prints it, of "name value"."""
    lines = (
        f"{option.split()[0].title()} (--{option.split()[0]}=[A,B])    : {option.split()[1]}" for option in options
    )
    return "NIXLBench Configuration\n" + "".join(f"{line}\n" for line in lines)


told = told_by(nixlbench)


def test_a_read_moves_from_the_target_to_the_initiator() -> None:
    found = read(Source.read(SAMPLE))
    small, large, batch = found.figures
    assert [(one.size, one.value.median) for one in found.figures] == [(4096, 0.31), (MIB, 21.5), (MIB, 23.25)]
    assert (moves(large).kind, moves(large).method) == ("message", "nixl")
    assert moves(large).memories == ("device", "pageable")
    assert (moves(small).varies, moves(batch).varies) == ("UCX, read", "UCX, read, batch of 4")
    assert not found.findings


def test_the_old_table_has_its_rate_in_gb() -> None:
    found = told(said("backend UCX", "initiator_seg_type VRAM", "target_seg_type DRAM", "op_type WRITE") + OLD + ROW)
    (figure,) = found.figures
    assert (figure.value.median, figure.unit, figure.size) == (2.76264, "GB/s", 65536)
    assert moves(figure).memories == ("device", "pageable")
    (mib,) = told(OLD.replace("B/W (GB/Sec)", "").replace("B/W (GiB/Sec)", "") + "65536  1  23.7  2634.66\n").figures
    assert mib.value.median == pytest.approx(2634.66 * MIB / 1e9)


@pytest.mark.parametrize(
    ("before", "memories"),
    [
        ("", (UNKNOWN, UNKNOWN)),
        ("$ nixlbench --backend UCX --initiator_seg_type VRAM --target_seg_type VRAM\n", ("device", "device")),
        ("$ nixlbench --backend=UCX --initiator_seg_type=VRAM\n", ("device", "pageable")),
        ('$ mpirun -np 2 launch.sh nixlbench --seg_type="VRAM"\n', ("device", "device")),
        ("we ran nixlbench between two nodes\n", (UNKNOWN, UNKNOWN)),
        (
            said("backend POSIX", "initiator_seg_type DRAM", "target_seg_type DRAM", "op_type WRITE"),
            ("pageable", UNKNOWN),
        ),
        (said("backend GDS", "initiator_seg_type VRAM", "target_seg_type DRAM", "op_type READ"), (UNKNOWN, "device")),
    ],
)
def test_memory_is_what_the_configuration_or_the_command_says(before: str, memories: tuple[str, str]) -> None:
    (figure,) = told(before + OLD + ROW).figures
    assert moves(figure).memories == memories


def test_several_workers_have_their_sum_beside_them() -> None:
    head = "Block Size (B)  Batch Size  B/W (GB/Sec)  Aggregate B/W (GB/Sec)  Network Util (%)  Avg Lat. (us)\n"
    one, total = told(f"{head}1048576  1  11.5  92.0  23.0  88.0\n").figures
    assert [one.value.median, total.value.median] == [11.5, 92.0]
    assert [moves(one).varies, moves(total).varies] == ["", "all workers"]


def test_runs_of_one_log_are_told_apart_and_repeated_lines_count_once() -> None:
    first = said("backend UCX", "op_type READ") + OLD + ROW
    found = told(first + ROW + first.replace("READ", "WRITE"))
    assert [moves(one).varies for one in found.figures] == ["UCX, read", "UCX, write"]


def test_kvbenchs_traffic_tests_have_times() -> None:
    sequence = """INFO - Iteration 1/1
  Transfer size (GB)    Latency (ms)    Isolated Latency (ms)    Num Senders    Mean BW (GB/s)
--------------------  --------------  -----------------------  -------------  ----------------
               4.945          35.047                   30.421              4            10.000
"""
    busy, alone = told(sequence).figures
    assert (told(sequence).tool, told(OLD + ROW).tool) == ("kvbench", "nixlbench")
    assert [one.test for one in (busy, alone)] == ["kvbench sequential-ct-perftest"] * 2
    assert [one.value.median for one in (busy, alone)] == pytest.approx([35.047e-3, 30.421e-3])
    assert [moves(one).varies for one in (busy, alone)] == ["", "isolated"]
    assert (busy.size, busy.unit, moves(busy).at_once) == (4_945_000_000, "s", 4)
    (one,) = told(
        "  Iters    Total time (s)    Avg latency/iter (s)    Total size (GB)\n"
        "-------  ----------------  ----------------------  -----------------\n"
        "     50          1.250000                0.025000           2.000000\n"
    ).figures
    assert (one.test, one.value.median, one.size) == ("kvbench ct-perftest", 0.025, 2_000_000_000)


def test_wrong_data_count_for_nothing() -> None:
    found = told(f"{said('backend UCX')}{OLD}{ROW}Consistency check failed for iov 0:0\n")
    assert not found.figures
    assert [(one.code, one.level.value) for one in found.findings] == [("import.wrong-data", "error")]


def test_a_run_that_failed_is_an_error() -> None:
    found = told(f"{said('backend UCX')}Failed to synchronize all processes\n")
    assert [(one.code, one.facts["what"]) for one in found.findings] == [
        ("import.stopped", "Failed to synchronize all processes")
    ]
    assert [one.code for one in told(OLD).findings] == ["import.no-rows"]
    with pytest.raises(LinkscopeError, match="no results"):
        read(Source(Path("paste"), "nothing\n"))


def test_no_address_or_host_is_kept() -> None:
    found = read(Source.read(SAMPLE))
    assert "10.0.0.1" not in repr(found)


def test_other_rows_and_zeros_are_none() -> None:
    found = told(f"{OLD}{ROW}131072  1  0.0  0.0  0.0  0.0\n65536  5000  11.0  12.0\n")
    assert len(found.figures) == 1
    assert 4 not in found.read
