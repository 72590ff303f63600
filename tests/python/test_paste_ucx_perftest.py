"""ucx_perftest's tables as they are pasted: tests, memories and sizes of boxes, commands and batches; units."""

from __future__ import annotations

from pathlib import Path

import pytest
from pasting import moves, told_by

from linkscope.errors import LinkscopeError
from linkscope.importers import ucx_perftest
from linkscope.importers.peer_output import UNKNOWN, Figure, Source
from linkscope.importers.ucx_perftest import read

SAMPLE = Path(__file__).parents[1] / "fixtures" / "importers" / "ucx_perftest-tag.txt"
MIB = 1 << 20
HEAD = """+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |       overhead (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
"""
OLD = """+--------------+-----------------------------+---------------------+-----------------------+
|              |       latency (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
| # iterations | typical | average | overall |  average |  overall |   average |   overall |
+--------------+---------+---------+---------+----------+----------+-----------+-----------+
"""
FINAL = "Final:                    10      7.2   194.0   195.0   10000.00   9000.00        5155        5155\n"


def box(test: str, api: str = "protocol", size: int = 4096, memory: str = "cuda", layout: str = "(automatic)") -> str:
    """What a server prints."""
    said = {"API": f"{api} layer", "Test": test, "Data layout": layout, "Send memory": memory, "Recv memory": memory}
    said |= {"Message size": str(size), "Window size": "32"}
    return "".join(f"| {name + ':':14}{value:<90} |\n" for name, value in said.items())


told = told_by(ucx_perftest)


def only(text: str) -> Figure:
    """Its one result."""
    (figure,) = told(text).figures
    return figure


def test_tables_of_server_and_client_are_read_together() -> None:
    found = read(Source.read(SAMPLE))
    lat, get = found.figures
    assert (lat.test, lat.size, lat.unit, lat.value.median) == ("tag_lat", 8, "s", pytest.approx(6.463e-6))
    assert (moves(lat).memories, moves(lat).kind, moves(lat).method) == (("device", "device"), "message", "ucx")
    assert (get.test, get.size, get.unit) == ("ucp_get", 4 * MIB, "GB/s")
    assert get.value.median == pytest.approx(23350.80 * MIB / 1e9)
    assert not found.findings


def test_a_get_moves_from_the_receiver_named_to_the_sender() -> None:
    get = read(Source.read(SAMPLE)).figures[1]
    assert (moves(get).memories, moves(get).source, moves(get).destination) == (("pageable", "device"), "", "gpu:1")


def test_a_megabyte_is_2_to_the_20_and_overall_counts() -> None:
    figure = only(f"{HEAD}{box('tag match bandwidth')}{FINAL}")
    assert figure.value.median == pytest.approx(9000 * MIB / 1e9)


@pytest.mark.parametrize(
    ("test", "api", "name", "unit"),
    [
        ("tag match bandwidth", "protocol", "tag_bw", "GB/s"),
        ("tag sync match latency", "protocol", "tag_sync_lat", "s"),
        ("put bandwidth", "protocol", "ucp_put_bw", "GB/s"),
        ("put bandwidth / message rate", "transport", "put_bw", "GB/s"),
        ("get latency / bandwidth / message rate", "transport", "get", "GB/s"),
        ("am bandwidth / message rate", "protocol", "ucp_am_bw", "GB/s"),
        ("active message latency", "transport", "am_lat", "s"),
        ("atomic fetch-and-add latency / rate", "transport", "fadd", "s"),
        ("stream bandwidth", "protocol", "stream_bw", "GB/s"),
    ],
)
def test_a_box_says_the_test_as_its_option_names_it(test: str, api: str, name: str, unit: str) -> None:
    figure = only(f"{HEAD}{box(test, api)}{FINAL}")
    assert (figure.test, figure.unit) == (name, unit)


@pytest.mark.parametrize(
    ("memory", "said"),
    [("host", "pageable"), ("rocm", "device"), ("cuda-managed", "managed"), ("rdma", UNKNOWN)],
)
def test_memory_is_what_the_box_says(memory: str, said: str) -> None:
    assert moves(only(f"{HEAD}{box('tag match bandwidth', memory=memory)}{FINAL}")).memories == (said, said)


def test_a_command_says_what_no_box_does() -> None:
    figure = only(
        f"$ UCX_TLS=rc ./bin/ucx_perftest host-b -t tag_bw -m cuda -s 65536 -n 10 2>&1 | tee log\n{HEAD}{FINAL}"
    )
    assert (figure.test, figure.size, moves(figure).memories) == ("tag_bw", 65536, ("device", "device"))
    root = only(f"root@node:~/ucx# ucx_perftest host-b -t tag_bw -s 65536\n{HEAD}{FINAL}")
    assert (root.size, moves(root).memories) == (65536, ("pageable", "pageable"))
    nothing = only(f"{HEAD}{FINAL}")
    assert (nothing.test, nothing.unit, nothing.size) == ("ucx_perftest", "GB/s", None)
    assert moves(nothing).memories == (UNKNOWN, UNKNOWN)


def test_boxes_apart_from_their_tables_belong_in_order() -> None:
    boxes = "".join(box("tag match bandwidth", size=size) for size in (1024, 2048))
    assert [one.size for one in told(f"{boxes}{HEAD}{FINAL}{HEAD}{FINAL}").figures] == [1024, 2048]
    assert [one.size for one in told(f"{HEAD}{FINAL}{HEAD}{FINAL}{boxes}").figures] == [1024, 2048]


def test_an_old_tables_last_row_is_its_result() -> None:
    rows = "   586527   0.845   0.852   0.853   400.47   400.48   586527   586527\n"
    found = told(f"{OLD}{box('put latency', 'transport', 8, 'host', 'bcopy')}{rows}{rows.replace('0.853', '0.851')}")
    (figure,) = found.figures
    assert (figure.value.median, moves(figure).varies, found.findings) == (pytest.approx(0.851e-6), "bcopy", ())


def test_a_table_that_stops_before_its_end_counts_and_is_said_to_be_cut() -> None:
    rows = "[thread 0]  34   0.272 56927.562 56927.562  17987.77  17000.00   18   18\n"
    found = told(f"{box('put bandwidth')}{HEAD}{rows}")
    assert [one.value.median for one in found.figures] == [pytest.approx(17000 * MIB / 1e9)]
    assert [(one.code, one.facts["test"]) for one in found.findings] == [("import.cut", "ucp_put_bw")]


def test_batches_name_test_and_size() -> None:
    line = "+put_bw/4096---+--------------+----------+---------+---------+----------+----------+-----------+\n"
    figure = only(f"{HEAD}{line}{FINAL}")
    assert (figure.test, figure.size, figure.unit) == ("put_bw", 4096, "GB/s")
    final = only(f"{HEAD.replace('Stage', ' Test')}{FINAL.replace('Final:', 'put_bw/8192')}")
    assert (final.test, final.size) == ("put_bw", 8192)
    sized = told(f"{HEAD}{FINAL.replace('Final:', '8 ')}{FINAL.replace('Final:', '2097152 ')}")
    assert [(one.size, one.unit) for one in sized.figures] == [(8, "GB/s"), (2 * MIB, "GB/s")]
    assert only(f"{HEAD}{FINAL.rstrip()}   UCX_TLS of the lanes\n").unit == "GB/s"
    rows = "tests,sizes,iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
    csv = only(f"{rows}tag_lat,8,1000,1.100,1.200,1.300,10.00,11.00,100,100\n")
    assert (csv.test, csv.size, csv.value.median, csv.unit) == ("tag_lat", 8, pytest.approx(1.3e-6), "s")


def test_a_scripts_headings_name_the_test_and_greps_file_names_are_none() -> None:
    text = f"===== tag_bw =====\n{HEAD}{FINAL}\n== tag_sync_lat ==\n{HEAD.replace('overhead', ' latency')}{FINAL}"
    assert [(one.test, one.unit) for one in told(text).figures] == [("tag_bw", "GB/s"), ("tag_sync_lat", "s")]
    assert len(told(f"log.1:{FINAL}log.2:{FINAL.replace('9000', '9001')}").figures) == 2


def test_threads_together_have_a_row_of_four() -> None:
    row = "Final:     1000000            0.500       2000.00        1000000\n"
    assert only(f"{HEAD}{box('tag match bandwidth')}{row}").value.median == pytest.approx(2000 * MIB / 1e9)


def test_an_error_of_ucx_without_results_is_an_error_here() -> None:
    found = told(
        f"{box('tag match bandwidth')}[1.2] [node-a:1:0] perftest.c:1 UCX  ERROR recv() remote closed connection\n"
    )
    assert [(one.code, one.facts["what"]) for one in found.findings] == [
        ("import.stopped", "recv() remote closed connection")
    ]
    assert [one.code for one in told(box("tag match bandwidth")).findings] == ["import.no-rows"]
    with pytest.raises(LinkscopeError, match="no results"):
        read(Source(Path("paste"), "nothing\n"))


def test_zeros_and_rows_of_other_tables_are_none() -> None:
    found = told(f"{HEAD}{FINAL}Final:  10  0.0  0.0  0.0  0.00  0.00  0  0\n4096  1  8.36  467.08  0.45\n")
    assert len(found.figures) == 1
    assert 8 not in found.read


@pytest.mark.parametrize("blanks", ["\t", " "])
def test_blanks_that_a_page_has_changed_are_blanks(blanks: str) -> None:
    text = SAMPLE.read_text()
    spoilt = "\n".join(
        blanks.join(line.split()) if blanks == " " else line.replace("   ", blanks) for line in text.split("\n")
    )
    assert len(told(spoilt).figures) == len(told(text).figures) > 1


@pytest.mark.parametrize(
    ("words", "hosts"),
    [
        ("$ ucx_perftest -t tag_bw -m cuda node-7\n", 0),
        ("$ ucx_perftest -t tag_bw -m cuda localhost\n", 1),
        ("Accepted connection from 127.0.0.1:40000\n", 1),
    ],
)
def test_both_ends_are_on_one_host_where_an_address_says_so(words: str, hosts: int) -> None:
    assert moves(only(f"{words}{HEAD}{FINAL}")).hosts == hosts


def test_a_failed_assertion_or_a_signal_stops_it() -> None:
    for line in ("rndv.c:2456 Assertion `!(req->flags & FRAG)' failed", "Caught signal 11 (Segmentation fault: no"):
        (stopped,) = told(f"{box('tag match bandwidth')}[node-7:15805:0:15805]   {line}\n").findings
        assert (stopped.code, stopped.level.value) == ("import.stopped", "error")
        assert "node-7" not in str(stopped.facts)


def test_csv_of_several_threads_has_no_averages() -> None:
    head = "message_size,iterations,typical_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr\n"
    found = told(f"{head}64,Final:    10000000,0.235,523.5,8575794\n4096,Final:    10000000,0.75,10600.25,2713214\n")
    assert [(one.size, one.value.median) for one in found.figures] == [
        (64, pytest.approx(0.235e-6)),
        (4096, pytest.approx(0.75e-6)),
    ]
