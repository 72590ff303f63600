"""perftest's tables as they are pasted: units, server and client mixed, and where the buffers lie."""

from __future__ import annotations

from pathlib import Path

import pytest
from pasting import moves, told_by

from linkscope.errors import LinkscopeError
from linkscope.importers import perftest
from linkscope.importers.peer_output import UNKNOWN, Source
from linkscope.importers.perftest import read

SAMPLE = Path(__file__).parents[1] / "fixtures" / "importers" / "perftest-write_bw.txt"
MIB = 1 << 20
LINE = "-" * 87
HEAD = "                    RDMA_Write BW Test\n Dual-port       : OFF          Device         : mlx5_0\n"
COLUMNS = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
ROWS = " 65536      1000             11000.00            10000.00           0.16\n"
GPU = "allocated GPU buffer address at 00007f0000000000 pointer=0x7f0000000000\n"


told = told_by(perftest)


def test_rates_and_times_have_the_units_of_their_columns() -> None:
    found = read(Source.read(SAMPLE))
    assert [(one.test, one.size, one.unit) for one in found.figures] == [
        ("ib_write_bw", 2, "GB/s"),
        ("ib_write_bw", 65536, "GB/s"),
        ("ib_write_bw", 8 * MIB, "GB/s"),
        ("ib_send_bw bidirectional", 4096, "GB/s"),
        ("ib_read_lat", 2, "s"),
    ]
    values = [one.value.median for one in found.figures]
    assert values == pytest.approx([0.06 / 8, 96.4 / 8, 390 / 8, 44000 * MIB / 1e9, 3.4e-6])
    lat = found.figures[-1].value
    assert [lat.min, lat.max, lat.mean, lat.p99] == pytest.approx([3.1e-6, 9.2e-6, 3.45e-6, 4.1e-6])
    assert not found.findings


def test_a_head_says_what_else_tells_the_run_from_others() -> None:
    write, _, _, send, lat = read(Source.read(SAMPLE)).figures
    assert [moves(one).varies for one in (write, send, lat)] == ["4 QPs", "UD", ""]
    assert [moves(one).both for one in (write, send, lat)] == [False, True, False]
    assert (moves(write).kind, moves(write).method) == ("network", "verbs")
    assert write.facts == {"device": "mlx5_1", "link type": "Ethernet"}


@pytest.mark.parametrize(
    ("text", "memories"),
    [
        (f"{HEAD}{COLUMNS}{ROWS}", (UNKNOWN, UNKNOWN)),
        (f"{GPU}{HEAD}{COLUMNS}{ROWS}", ("device", UNKNOWN)),
        (f"* Waiting for client to connect... *\n{GPU}{HEAD}{COLUMNS}{ROWS}", (UNKNOWN, "device")),
        (f"{GPU}{GPU}{HEAD}{HEAD}{COLUMNS}{COLUMNS}{ROWS}", ("device", "device")),
        (f"$ ib_write_bw -d mlx5_0 --use_cuda=0 10.0.0.1\n{HEAD}{COLUMNS}{ROWS}", ("device", UNKNOWN)),
        (
            f"$ ib_write_bw -d mlx5_0\n$ ib_write_bw -d mlx5_0 --use_rocm 1 node-b\n{HEAD}{COLUMNS}{ROWS}",
            ("device", "pageable"),
        ),
        (
            f"$ ib_read_bw -d mlx5_0 --use_cuda 0 node-b\n{HEAD}{COLUMNS}{ROWS}".replace("Write", "Read"),
            (UNKNOWN, "device"),
        ),
        (f" Use ROCm memory : ON\n Use ROCm memory : ON\n{HEAD}{HEAD}{COLUMNS}{ROWS}", ("device", "device")),
    ],
)
def test_memory_is_what_each_side_says(text: str, memories: tuple[str, str]) -> None:
    (figure,) = told(text).figures
    assert moves(figure).memories == memories


def test_lines_of_server_and_client_count_once() -> None:
    found = told(f"{HEAD}{LINE}\n{HEAD}{COLUMNS}{COLUMNS}{ROWS}{LINE}\n{ROWS}{LINE}\n")
    (figure,) = found.figures
    assert figure.value.median == pytest.approx(10000 * MIB / 1e9)
    assert figure.line == 8
    assert {8, 10} <= found.read


def test_what_stands_before_a_second_runs_head_is_of_that_run() -> None:
    first = f"{GPU}{HEAD}{COLUMNS}{ROWS}"
    found = told(first + first.replace(GPU, "").replace("10000.00", "9000.00"))
    assert [moves(one).memories[0] for one in found.figures] == ["device", UNKNOWN]
    found = told(f"{HEAD}{COLUMNS}{ROWS}" + first.replace("10000.00", "9000.00"))
    assert [moves(one).memories[0] for one in found.figures] == [UNKNOWN, "device"]


def test_devices_of_one_paste_are_told_apart() -> None:
    other = f"{HEAD}{COLUMNS}{ROWS}".replace("mlx5_0", "mlx5_7").replace("10000.00", "5000.00")
    found = told(f"{HEAD}{COLUMNS}{ROWS}{other}")
    assert [moves(one).varies for one in found.figures] == ["mlx5_0", "mlx5_7"]


def test_other_columns_and_old_heads_are_read() -> None:
    old = COLUMNS.replace("   MsgRate[Mpps]", "")
    (figure,) = told(f"{HEAD}{old}{ROWS.replace('           0.16', '')}").figures
    assert figure.value.median == pytest.approx(10000 * MIB / 1e9)
    cpu = f"{COLUMNS.rstrip()}    CPU_Util[%]\n"
    assert len(told(f"{HEAD}{cpu}{ROWS.rstrip()}   3.20\n").figures) == 1
    (figure,) = told(
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2   1000   1.1   9.0   1.2\n"
    ).figures
    assert (figure.test, figure.value.median) == ("ib_lat, untitled", pytest.approx(1.2e-6))


def test_rows_of_other_tables_and_zeros_are_none() -> None:
    found = told(f"{HEAD}{COLUMNS}{ROWS} 1024   1000   0.00   0.00   0.00\n1048576   12.5\n4  5  6  7\n a 1 2 3 4\n")
    assert len(found.figures) == 1
    assert not found.read & {6, 7, 8}


def test_a_run_that_failed_is_an_error() -> None:
    (stopped,) = told(
        f"{HEAD} Failed to modify QP 2083 to RTR\n Unable to Connect the HCA's through the link\n"
    ).findings
    assert (stopped.code, stopped.level.value) == ("import.stopped", "error")
    assert stopped.facts == {"tool": "perftest", "test": "ib_write_bw", "what": "Failed to modify QP"}
    assert [one.code for one in told(f"{HEAD}{COLUMNS}").findings] == ["import.no-rows"]
    with pytest.raises(LinkscopeError, match="no results"):
        read(Source(Path("paste"), "nothing\n"))


@pytest.mark.parametrize("blanks", ["\t", " "])
def test_blanks_that_a_page_has_changed_are_blanks(blanks: str) -> None:
    text = SAMPLE.read_text()
    spoilt = "\n".join(
        blanks.join(line.split()) if blanks == " " else line.replace("   ", blanks) for line in text.split("\n")
    )
    assert len(told(spoilt).figures) == len(told(text).figures) > 1


def test_a_column_more_is_read_over() -> None:
    text = HEAD + COLUMNS.replace("\n", "   BW minimum[MB/sec]\n") + ROWS.replace("\n", "   9950.00\n")
    (figure,) = told(text).figures
    assert figure.value.median == pytest.approx(10000 * MIB / 1e9)
