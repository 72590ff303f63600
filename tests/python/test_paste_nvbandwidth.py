"""Pasted nvbandwidth: each result says what it moves; what is cut, wrong or waived is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.importers import nvbandwidth
from linkscope.importers.peer_output import Figure, PeerOutput, Source

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"
MIB = 1 << 20
PAIRS = """\
memcpy CE GPU(row) {arrow} GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     26.31
 1     26.41       N/A
"""


def output(text: str) -> PeerOutput:
    """What a paste says."""
    assert nvbandwidth.recognises(text)
    return nvbandwidth.read(Source(Path("paste"), text))


def sample(name: str) -> PeerOutput:
    """What a sample says."""
    return output((SAMPLES / name).read_text())


def of_test(found: PeerOutput, test: str) -> list[Figure]:
    """The results of a test."""
    return [one for one in found.figures if one.test == f"nvbandwidth {test}"]


def codes(found: PeerOutput) -> list[str]:
    """The codes of what a user should know."""
    return [one.code for one in found.findings]


def test_every_result_of_a_cut_output_counts_and_what_is_missing_is_said() -> None:
    found = sample("nvbandwidth-0.10-cut.txt")
    assert (found.version, len(found.gpus), len(found.figures)) == ("0.10.0", 3, 21)
    (cut,) = [one for one in found.findings if one.code == "import.cut"]
    assert (cut.facts["test"], cut.facts["missing"]) == (
        "nvbandwidth device_to_device_bidirectional_memcpy_write_ce",
        "rows 1, 2",
    )
    text = (SAMPLES / "nvbandwidth-0.10-cut.txt").read_text().split("\n")
    assert all(f"{one.value.median:.2f}" in text[one.line - 1] for one in found.figures)
    assert found.read == frozenset(range(1, len(text) + 1))


def test_what_each_test_moves_is_read_off_its_name() -> None:
    found = sample("nvbandwidth-0.10-cut.txt")
    (first, *_) = of_test(found, "host_to_device_bidirectional_memcpy_ce")
    assert first.moves is not None
    assert (first.moves.kind, first.moves.opposed, first.moves.memories) == ("to-gpu", True, ("pinned", "device"))
    assert any("0.03" in one for one in first.notes)
    bulk = of_test(found, "device_to_device_memcpy_read_tma")[0].moves
    assert bulk is not None
    assert (bulk.method, bulk.source, bulk.destination, bulk.executor) == (
        "kernel-bulk-copy",
        "gpu:1",
        "gpu:0",
        "gpu:0",
    )
    local = of_test(found, "device_local_read_sm")[0].moves
    assert local is not None
    assert (local.kind, local.method) == ("local", "kernel-read")
    there, back = (of_test(found, f"device_to_device_bidirectional_memcpy_write_ce_write{i}")[0].moves for i in (1, 2))
    assert there is not None
    assert back is not None
    assert (there.source, there.destination, there.opposed) == ("gpu:1", "gpu:0", True)
    assert (back.source, back.destination, back.executor) == ("gpu:0", "gpu:1", "gpu:0")


def test_chases_by_the_copy_unit_and_by_counted_puts_are_no_pointer_chases() -> None:
    text = (SAMPLES / "nvbandwidth-0.11.txt").read_text()
    counted = text.replace("latency_tma", "latency_counted").replace("Latency TMA", "Latency")
    methods = {}
    for test, found in (("tma", output(text)), ("counted", output(counted))):
        assert (found.version, codes(found)) == ("0.11.0", [])
        (first, _) = of_test(found, f"device_to_device_latency_{test}")
        assert first.moves is not None
        methods[test] = (first.moves.method, first.moves.source, first.moves.executor)
    assert methods == {"tma": ("bulk-chase", "gpu:1", "gpu:0"), "counted": ("counted-put", "gpu:1", "gpu:0")}


@pytest.mark.parametrize("version", ["0.4", "0.6", "0.7.1", "0.9.0", "0.10.0", "0.11.0"])
def test_every_version_up_to_the_newest_is_read_without_a_warning(version: str) -> None:
    found = output(
        f"nvbandwidth Version: v{version}\nRunning device_to_device_memcpy_read_ce.\n" + PAIRS.format(arrow="->")
    )
    assert (found.version, len(found.figures), codes(found)) == (version, 2, [])


def test_both_directions_sum_has_its_parts_in_the_flows_order() -> None:
    both = of_test(sample("nvbandwidth-0.8.txt"), "device_to_device_bidirectional_memcpy_read_ce")[0]
    assert both.moves is not None
    assert [both.value.median, *(one.median for one in both.parts)] == [779.65, 390.34, 389.31]
    assert (both.moves.both, both.moves.source, both.moves.destination) == (True, "gpu:1", "gpu:0")


def test_crowds_say_how_many_copy_at_once() -> None:
    found = sample("nvbandwidth-0.8.txt")
    host, one = (of_test(found, test)[3].moves for test in ("all_to_host_memcpy_ce", "all_to_one_write_ce"))
    assert host is not None
    assert one is not None
    assert (host.kind, host.source, host.at_once) == ("to-host", "gpu:3", 4)
    assert (one.source, one.destination, one.at_once) == ("", "gpu:3", 3)


@pytest.mark.parametrize(
    ("before", "after", "test"),
    [
        ("", "\nSUM device_to_device_memcpy_read_ce 52.72\n", "device_to_device_memcpy_read_ce"),
        ("", "\n&&&& PERF device_to_device_memcpy_read_ce 52.72 GB/s\n", "device_to_device_memcpy_read_ce"),
        ("Running multinode_device_to_device_memcpy_read_ce.\n", "", "multinode_device_to_device_memcpy_read_ce"),
        ("", "", "device_to_device_memcpy_read_ce"),
    ],
)
def test_the_name_stands_above_or_below_a_table_or_is_its_titles(before: str, after: str, test: str) -> None:
    found = output(before + PAIRS.format(arrow="->") + after)
    assert [(one.row, one.column, one.value.median) for one in of_test(found, test)] == [
        ("gpu:0", "gpu:1", 26.31),
        ("gpu:1", "gpu:0", 26.41),
    ]
    assert ("import.unnamed" in codes(found)) == (not before + after)


def test_a_table_of_sums_without_a_name_is_told_by_its_lack_of_a_diagonal() -> None:
    title = "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n           0         1\n 0     51.11     51.21\n"
    (first, _) = output(title).figures
    assert first.test == "nvbandwidth all_to_one_write_ce"


def test_rows_without_the_head_and_with_numbers_of_lines_between_are_read() -> None:
    title, _, rest = PAIRS.format(arrow="<-").partition("\n")
    bare = output(f"{title}\n{rest.split(chr(10), 1)[1]}SUM device_to_device_memcpy_write_ce 1.0\n")
    assert [one.value.median for one in bare.figures] == [26.31, 26.41]
    numbered = "".join(f"{number}\n{line}\n" for number, line in enumerate(f"{title}\n{rest}".split("\n"), 1))
    assert [one.value.median for one in output(numbered).figures] == [26.31, 26.41]


def test_wrong_data_leave_a_test_out() -> None:
    wrong = " Invalid value when checking the pattern at 0x7f00\n Current offset : 64\n"
    stop = "ASSERT in expression h_errorFlag == 0 in void memcmpPatternHelper() : /src/memcpy.cpp:165\n"
    found = output(f"nvbandwidth Version: v0.7\n\nRunning device_to_device_memcpy_read_ce.\n{wrong}{stop}")
    assert codes(found) == ["import.wrong-data"]
    assert found.findings[0].facts["test"] == "device_to_device_memcpy_read_ce"
    assert not output("Running device_to_device_memcpy_read_ce.\n" + wrong + PAIRS.format(arrow="->")).figures


def test_an_error_of_the_driver_is_told_without_where_it_ran() -> None:
    where = "in expression cuMemAlloc() on node-7, rank = 1 in void f() : m.cpp:9"
    found = output(f"Running host_to_device_memcpy_ce.\n[CUDA_ERROR_OUT_OF_MEMORY] out of memory {where}\n")
    (stopped,) = found.findings
    assert (stopped.code, stopped.facts["what"]) == ("import.stopped", "[CUDA_ERROR_OUT_OF_MEMORY] out of memory")


@pytest.mark.parametrize(
    ("version", "command", "size"), [("0.6", "", 64), ("0.9", "", 512), ("0.9", "$ ./nvbandwidth -t x -b 2048\n", 2048)]
)
def test_the_buffers_size_is_the_versions_default_unless_the_command_says_it(
    version: str, command: str, size: int
) -> None:
    found = output(f"{command}nvbandwidth Version: v{version}\nRunning device_to_device_memcpy_write_ce.\n{PAIRS}")
    assert {one.size for one in found.figures} == {size * MIB}
    assert all(bool(one.notes) == (not command) for one in found.figures)


def test_a_newer_version_is_read_and_told() -> None:
    found = output("nvbandwidth Version: v0.14\nRunning device_to_device_memcpy_write_ce.\n" + PAIRS.format(arrow="<-"))
    assert len(found.figures) == 2
    assert codes(found) == ["import.newer-version"]


def test_latencies_that_0_7_took_of_another_memory_are_left_out() -> None:
    table = (
        "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)\n           0         1\n 0       N/A    812.31\n"
    )
    old, new = (
        output(f"nvbandwidth Version: v{version}\nRunning device_to_device_latency_sm.\n{table}")
        for version in ("0.7", "0.8")
    )
    assert not old.figures
    assert "import.known-fault" in codes(old)
    assert new.figures[0].value.median == pytest.approx(812.31e-9)


def test_runs_of_one_paste_are_told_apart() -> None:
    run = "nvbandwidth Version: v0.9\nDevice 0: NVIDIA RTX 4090 (00000000:01:00)\nRunning host_to_device_memcpy_ce.\n"
    table = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     {}\n\n"
    found = output(run + table.format("25.11") + run + table.format("12.31"))
    assert [(one.value.median, one.moves and one.moves.varies) for one in found.figures] == [
        (25.11, ""),
        (12.31, "run 2"),
    ]
    assert found.gpus[0].name == "NVIDIA RTX 4090"


def test_devices_are_named_with_and_without_what_else_stands_there() -> None:
    lines = "Device 0: NVIDIA B200 (00000000:1b:00) fabric: completed\nDevice 1: NVIDIA H100 80GB HBM3\n"
    found = output(f"nvbandwidth Version: v0.9\n{lines}{PAIRS.format(arrow='->')}")
    assert [(one.name, one.pci) for one in found.gpus] == [
        ("NVIDIA B200", "00000000:1b:00"),
        ("NVIDIA H100 80GB HBM3", None),
    ]


def test_processes_of_several_nodes_are_counted_and_not_named() -> None:
    lines = "".join(f"Process {i} (node-{i}): device 0: NVIDIA GB200 (00000008:01:00)\n" for i in range(2))
    run = "Running multinode_device_to_device_memcpy_read_ce.\n"
    found = output(lines + run + PAIRS.format(arrow="->"))
    assert {one.moves.hosts for one in found.figures if one.moves} == {2}
    assert "node-" not in repr(found)


def test_json_has_the_same_results_also_after_a_prompt_and_says_what_was_wrong() -> None:
    text = (SAMPLES / "nvbandwidth-0.8.json").read_text()
    found = output(f"$ nvbandwidth -j\n{text}\n$ exit\n")
    assert len(found.figures) == len(sample("nvbandwidth-0.8.txt").figures)
    name = '{"name" : "device_to_device_memcpy_read_ce", "status" : "Running"}'
    error = "ASSERT in expression h_errorFlag == 0 in void memcmpPatternHelper()"
    stopped = output(f'{{"nvbandwidth" : {{"version" : "v0.8", "error" : "{error}", "testcases" : [{name}]}}}}')
    assert codes(stopped) == ["import.wrong-data"]


def test_a_row_with_what_is_no_number_is_left_unread() -> None:
    text = PAIRS.format(arrow="->").replace("26.31", "  nan") + "SUM device_to_device_memcpy_read_ce 1.0\n"
    found = output(text)
    assert [one.value.median for one in found.figures] == [26.41]
    assert 3 not in found.read


def test_waived_tests_of_old_versions_are_counted() -> None:
    found = output("nvbandwidth Version: v0.2\n\nWaiving device_to_device_memcpy_read_ce.\n")
    assert [(one.code, one.facts["tests"]) for one in found.findings] == [("import.waived", 1)]


def test_sums_without_their_tables_are_said() -> None:
    found = output("SUM device_to_device_memcpy_read_ce 1234.50\nSUM host_to_device_memcpy_ce 221.00\n")
    assert (found.figures, [(one.code, one.facts["tests"]) for one in found.findings]) == (
        (),
        [("import.sums-alone", 2)],
    )
