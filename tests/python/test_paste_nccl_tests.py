"""nccl-tests and rccl-tests as pasted: hosts, in place, other types, several programs, cut tables, errors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from linkscope.importers import imported_run, nccl_tests, nccl_words
from linkscope.importers.nccl_program import ranks_of
from linkscope.importers.nccl_tests import read
from linkscope.importers.peer_output import Figure, PeerOutput, Source
from linkscope.machine.node import Node
from linkscope.messages.finding import Finding, Level

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"
MIB = 1 << 20
GIB = 1 << 30
HEAD = "# nThread {} nGpus {} minBytes 8 maxBytes {} step: 2(factor) warmup iters: {} iters: {} agg iters: 1\n"
DEVICE = "#  Rank  {0} Group  0 Pid   {1} on  node-a device  {0} [0x{0}b] NVIDIA H100 80GB HBM3\n"
COLUMNS = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw\n"
)
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 20.5\n"


def row(size: int, us: float, ratio: float, words: str = "float sum -1", wrong: str = "0", count: int = 0) -> str:
    """A row whose half in place takes twice as long."""
    halves = [f"{one:.2f} {size / one / 1e3:.2f} {size / one / 1e3 * ratio:.2f}" for one in (us, us * 2)]
    return f"  {size}  {count or size // 4}  {words}  {halves[0]}  {wrong}  {halves[1]}  0\n"


def of(text: str, name: str = "paste.txt") -> PeerOutput:
    assert nccl_tests.recognises(Source(Path(name), text).text)
    return read(Source(Path(name), text))


def told(output: PeerOutput) -> list[tuple[str, Level]]:
    return [(one.code.removeprefix("import."), one.level) for one in output.findings]


def said(output: PeerOutput, code: str) -> Finding:
    return next(one for one in output.findings if one.code == f"import.{code}")


def moves(figure: Figure) -> tuple[str, int, int, str]:
    assert figure.moves is not None
    return figure.moves.collective, figure.moves.ranks, figure.moves.hosts, figure.moves.varies


def test_programs_over_hosts_in_one_file_are_read_each_with_type_and_place() -> None:
    output = read(Source.read(SAMPLES / "nccl-tests-hosts.txt"))
    kinds = ["all-reduce", "all-to-all", "send-receive", "all-gather"]
    found = [moves(one) for one in output.figures]
    assert list(dict.fromkeys(kind for kind, *_ in found)) == kinds
    assert {(ranks, hosts) for _, ranks, hosts, _ in found} == {(16, 2)}
    assert {varies for kind, _, _, varies in found if kind == "all-reduce"} == {"bfloat16", "bfloat16, in place"}
    largest = [one for one in output.figures if one.size == 256 * MIB][:2]
    assert [(one.value.median, one.line) for one in largest] == [(1477.18 / 1e6, 30), (1462.41 / 1e6, 30)]
    assert (len(output.gpus), output.gpus[0].pci, output.host, output.version) == (16, "0000:1b:00", "", "2.17.6")
    assert output.versions == {"NCCL": "2.28.7"}
    cut = said(output, "cut")
    assert (cut.facts["test"], cut.facts["last"], cut.facts["most"]) == ("all_gather_perf", 16 * MIB, 256 * MIB)


def test_lines_of_the_library_stand_between_rows_and_name_the_switch() -> None:
    output = read(Source.read(SAMPLES / "nccl-tests-mpirun.txt"))
    assert len(output.figures) == 12
    assert moves(output.figures[0]) == ("all-reduce", 4, 2, "")
    assert all("[nvls-free]" in one.notes[1] for one in output.figures)
    assert [gpu.pci for gpu in output.gpus] == [None] * 4
    words = said(output, "library-words").facts
    assert (words["version"], words["network"], words["channels"]) == ("2.20.3", "AWS Libfabric", 4)
    assert words["transports"] == {"P2P/CUMEM": 2, "NET/AWS Libfabric/GDRDMA": 2}
    assert words["algorithms"] == {"RING/LL": [65536, 65536], "NVLS_TREE/SIMPLE": [4 * MIB, 4 * MIB]}
    assert words["settings"] == {"NCCL_NET_FORCE_FLUSH": "0", "NCCL_TOPO_FILE": ""}
    assert words["nvls"] == "used"
    assert "node-" not in repr(output.findings)
    assert not nccl_words.recognises(Source.read(SAMPLES / "nccl-tests-mpirun.txt").text)


@pytest.mark.parametrize("head", [COLUMNS, ""])
def test_a_table_without_head_names_its_collective_by_its_rates(head: str) -> None:
    output = of(head + row(1024, 33.1, 1.75) + row(4096, 33.4, 1.75) + row(65536, 35.2, 1.75))
    assert [moves(one) for one in output.figures[:2]] == [("all-reduce", 8, 1, ""), ("all-reduce", 8, 1, "in place")]
    assert len(output.figures) == 6
    assert output.figures[0].value.median == 33.1 / 1e6
    assert told(output) == [("inferred", Level.NOTE)]
    assert output.figures[0].facts["processes"] is None


@pytest.mark.parametrize(
    ("words", "ratio", "share", "kind", "ranks"),
    [
        ("float none -1", 0.875, 8, "all-gather", 8),
        ("float sum -1", 0.875, 8, "reduce-scatter", 8),
        ("float none 0", 1.0, 1, "broadcast", 0),
        ("float sum 0", 1.0, 1, "reduce", 0),
        ("float sum -1", 1.0, 1, "all-reduce", 2),
        ("float sum -1", 1.875, 1, "all-reduce", 16),
    ],
)
def test_columns_tell_the_collective(words: str, ratio: float, share: int, kind: str, ranks: int) -> None:
    table = "".join(row(size, size / 99e3 + 9, ratio, words, count=size // 4 // share) for size in (MIB, 64 * MIB))
    assert moves(of(COLUMNS + table).figures[0])[:2] == (kind, ranks)


def test_what_is_checked_in_place_tells_all_to_all_from_all_gather() -> None:
    line = row(64 * MIB, 700, 0.875, "float none -1", count=2 * MIB).rstrip()[:-1] + "N/A\n"
    assert moves(of(COLUMNS + line).figures[0])[0] == "all-to-all"
    unchecked = line.replace("  0  ", "  N/A  ")
    assert moves(of(COLUMNS + unchecked).figures[0]) == ("", 8, 1, "")
    assert of(COLUMNS + unchecked).figures[0].test == "nccl-tests"


def test_small_rates_give_ranks_only_where_they_leave_one_number() -> None:
    assert ranks_of([("0.03", "0.05"), ("0.98", "1.71")], 2) == 8
    assert ranks_of([("0.03", "0.05")], 2) == 0
    assert ranks_of([("22.898", "20.036")], 1) == 8
    assert ranks_of([("162.30", "320.54")], 2) == 80
    assert ranks_of([("5.00", "9.00"), ("5.00", "5.00")], 2) == 0


def test_the_old_form_has_errors_that_are_no_counts_and_a_command_names_the_program() -> None:
    text = (
        "$ mpirun -np 2 ./build/all_gather_perf -b 8 -e 64K\n"
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 65536 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n"
        "#   Rank  0 Pid   3871 on   node-a device  0 [0x00] Tesla V100-SXM2-32GB\n"
        "#   Rank  1 Pid   3872 on   node-a device  1 [0x00] Tesla V100-SXM2-32GB\n"
        "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "       65536          8192   float    21.00    3.12    1.56  2e-07    22.00    2.98    1.49  0e+00\n"
        "    12345678       1543209   float    12345    1.00    0.50  2e-07    12345    1.00    0.50  N/A\n" + END
    )
    output = of(text)
    assert [(one.size, one.value.median) for one in output.figures] == [
        (65536, 21e-6),
        (65536, 22e-6),
        (12345678, 12345e-6),
        (12345678, 12345e-6),
    ]
    assert {moves(one)[:3] for one in output.figures} == {("all-gather", 2, 1)}
    assert not output.findings
    failed = of(text.replace("values : 0 OK", "values : 2 FAILED"))
    assert (failed.figures, told(failed)[0]) == ((), ("wrong-data", Level.ERROR))


def test_wrong_rows_are_left_out_and_are_an_error() -> None:
    text = HEAD.format(1, 1, 64, 5, 20) + COLUMNS + row(32, 9, 1.5) + row(64, 9, 1.5, wrong="12") + END
    output = of(text.replace(": 0 OK", ": 1 FAILED"))
    assert [one.size for one in output.figures] == [32, 32, 64]
    assert told(output)[:1] == [("wrong-data", Level.ERROR)]
    assert said(output, "wrong-results").facts["lines"] == 1


def test_a_failure_before_the_first_size_is_an_error_without_names() -> None:
    why = "'remote process exited or there was a network error / Call to connect to node-b<45123> failed'"
    text = (
        "# Collective test starting: alltoall_perf\n"
        + HEAD.format(1, 1, MIB, 5, 20)
        + "".join(DEVICE.format(rank, 500 + rank) for rank in range(2))
        + f"node-a: Test NCCL failure common.cu:1279 {why}\n .. node-a pid 475446: Test failure common.cu:1100\n" * 2
    )
    output = of(text)
    assert (output.figures, told(output)) == ((), [("stopped", Level.ERROR)])
    facts = said(output, "stopped").facts
    assert (facts["test"], facts["tool"]) == ("alltoall_perf", "nccl-tests")
    assert facts["what"].startswith("remote process exited or there was a network error")
    assert "node-" not in facts["what"]
    cut = of(text.replace("node-a: Test", COLUMNS + row(64, 9, 0.5) + "node-a: Test", 1))
    assert [code for code, _ in told(cut)] == ["stopped", "cut"]


def test_how_it_was_launched_is_told() -> None:
    table = COLUMNS + row(64, 9, 1.75) + END
    assert told(of(HEAD.format(1, 8, 64, 5, 20) + table))[0] == ("one-thread", Level.NOTE)
    assert said(of(HEAD.format(1, 8, 64, 5, 20) + table), "one-thread").facts["gpus"] == 8
    cold = of(HEAD.format(8, 1, 64, 0, 1) + table)
    assert told(cold)[0] == ("cold", Level.WARNING)
    assert said(cold, "cold").facts["iterations"] == 1
    assert told(of(HEAD.format(8, 1, 64, 5, 20) + COLUMNS.replace("  time", "cputime") + row(64, 9, 1.75) + END))[
        0
    ] == (
        "calls-only",
        Level.WARNING,
    )


def test_a_newer_version_is_read_with_a_warning() -> None:
    text = (SAMPLES / "nccl-tests-2.19.txt").read_text()
    output = of(text.replace("version 2.19.6", "version 2.31.0"))
    assert len(output.figures) == 20
    assert said(output, "newer-version").level is Level.WARNING
    newer = of((SAMPLES / "nccl-tests-2.19.json").read_text().replace('"version":3', '"version":7'))
    assert said(newer, "newer-version").facts["version"] == "JSON 7"


def test_runs_of_different_numbers_of_gpus_are_series_of_their_own() -> None:
    runs = "".join(
        "# Collective test starting: all_reduce_perf\n"
        + HEAD.format(1, 1, 64, 5, 20)
        + "".join(DEVICE.format(rank, 500 + rank) for rank in range(count))
        + COLUMNS
        + row(64, 9, 2 - 2 / count)
        + END
        for count in (4, 2)
    )
    output = of(runs)
    assert [moves(one) for one in output.figures] == [
        ("all-reduce", 4, 1, ""),
        ("all-reduce", 4, 1, "in place"),
        ("all-reduce", 2, 1, "2 ranks"),
        ("all-reduce", 2, 1, "in place, 2 ranks"),
    ]
    assert len(output.gpus) == 4


def test_rccl_over_nodes_is_read() -> None:
    text = (SAMPLES / "nccl-tests-rccl.csv").read_text().replace("AllReduce, 4, 4, 1", "AllReduce, 16, 8, 1")
    output = of(text)
    assert (output.tool, len(output.figures), len(output.gpus)) == ("rccl-tests", 20, 16)
    assert {moves(one) for one in output.figures} == {
        ("all-reduce", 16, 2, ""),
        ("all-reduce", 16, 2, "in place"),
    }


@pytest.mark.parametrize(
    "line",
    [
        "  1024  256  float  sum  -1  33.10  77.00  9.00  0  33.10  77.00  9.00  0",
        "  1024  256  float  sum  -1  33.10  0.03",
        "  1024  256  float  sum  -1  N/A  N/A  N/A  0",
        "32          8         32-bit    thread    116.220796        0.000         0.000",
    ],
)
def test_what_is_no_row_is_left_to_others(line: str) -> None:
    output = of(COLUMNS + row(2048, 33.1, 1.75) + line + "\n")
    assert [one.size for one in output.figures] == [2048, 2048]
    assert 3 not in output.read


def test_a_row_that_another_line_cuts_keeps_its_whole_half() -> None:
    cut = row(4096, 33.4, 1.75).rstrip().rsplit(maxsplit=2)[0] + " node-a:32:32 [1] NCCL INFO Launch mode Parallel\n"
    output = of(COLUMNS + cut)
    assert [(one.size, moves(one)[3]) for one in output.figures] == [(4096, "")]


def test_a_table_whose_hashes_and_blanks_are_lost_is_read() -> None:
    text = (SAMPLES / "nccl-tests-2.19.txt").read_text().replace("# ", "").replace("#", "")
    plain = of("\n".join("\t".join(line.split()) if line.strip()[:1].isdigit() else line for line in text.split("\n")))
    assert (len(plain.figures), len(plain.gpus), plain.version) == (20, 4, "2.19.6")
    assert moves(plain.figures[0]) == ("all-reduce", 4, 1, "")


def test_rccl_tests_own_tables_are_amds() -> None:
    text = (
        HEAD.format(1, 2, 64, 5, 20)
        + "rccl-tests: Version develop:0a1b2c3\n# Using devices\n"
        + "#   Rank  0 Pid  97184 on  node-a device  0 [0000:c1:00.0] AMD Instinct MI300X\n"
        + "#   Rank  1 Pid  97184 on  node-a device  1 [0000:c9:00.0] AMD Instinct MI300X\n"
        + COLUMNS
        + row(64, 9, 1.0)
        + "# Errors with asterisks indicate errors that have exceeded the maximum threshold.\n"
        + END
    )
    output = of(text)
    assert (output.tool, [gpu.pci for gpu in output.gpus]) == ("rccl-tests", ["0000:c1:00", "0000:c9:00"])
    assert moves(output.figures[0])[:2] == ("all-reduce", 2)


def test_a_table_without_the_column_of_wrong_values_is_read() -> None:
    line = "  1048576  262144  float  sum  -1  20.00  52.43  91.75{}"
    both = line.format("  21.00  49.93  87.38")
    assert [(one.value.median, moves(one)) for one in of(both).figures] == [
        (20 / 1e6, ("all-reduce", 8, 1, "")),
        (21 / 1e6, ("all-reduce", 8, 1, "in place")),
    ]
    assert len(of(line.format("")).figures) == 1
    cut = of(row(MIB, 20, 1.75) + line.format("").replace("91.75", "9"))
    assert moves(cut.figures[-1])[:2] == ("all-reduce", 8)


def test_a_list_of_ranks_that_is_cut_counts_all_of_them() -> None:
    device = "#  Rank {:2} Group  0 Pid {} on  {} device  {} [0x{}b] NVIDIA A100-SXM4-40GB\n"
    listed = "".join(device.format(rank, 700 + rank, f"node-{rank // 8}", rank % 8, rank % 8) for rank in (0, 7, 8, 15))
    text = HEAD.format(1, 1, GIB, 5, 20) + listed + COLUMNS + row(GIB // 2, 5000, 15 / 8) + row(GIB, 9700, 15 / 8) + END
    output = of(text)
    assert {moves(one)[:3] for one in output.figures} == {("all-reduce", 16, 2)}
    assert (len(output.gpus), output.gpus[5].name) == (16, "NVIDIA A100-SXM4-40GB")
    last = device.format(71, 900, "node-x", 3, 1) + COLUMNS + row(GIB, 2600, 2 * 71 / 72) + END
    assert {moves(one)[:3] for one in of(last).figures} == {("all-reduce", 72, 18)}


def test_processes_that_print_the_same_ranks_ran_alone() -> None:
    devices = DEVICE.format(0, 41) + DEVICE.format(0, 42).replace("node-a", "node-b")
    config = HEAD.format(1, 1, GIB, 5, 20)
    output = of(
        config + "# Using devices\n" + config + "# Using devices\n" + devices + COLUMNS * 2 + row(GIB, 3500, 0) * 2
    )
    assert ("ran-alone", Level.ERROR) in told(output)
    assert said(output, "ran-alone").facts["processes"] == 2
    shared = DEVICE.format(0, 41) + DEVICE.format(1, 42).replace("[0x1b]", "[0x0b]")
    assert ("shared-gpu", Level.WARNING) in told(of(config + shared + COLUMNS + row(GIB, 3500, 1.0) + END))


def test_rows_of_milliseconds_and_without_an_operation_need_no_head() -> None:
    output = of("  268435456  67108864  float  sum  5.125  52.38  0.00  0e+00\n")
    assert [(one.size, one.value.median) for one in output.figures] == [(256 * MIB, 0.005125)]
    text = "  67108864  2097152  float  11100  6.05  5.29  0e+00  11120  6.03  5.28  0e+00\n"
    assert {moves(one)[:2] for one in of(text).figures} == {("all-gather", 8)}


def test_tags_of_a_launcher_within_a_row_are_no_cells() -> None:
    lines = (HEAD.format(1, 1, GIB, 5, 20) + COLUMNS).splitlines()
    lines += [
        " 67108864 16777216 float   sum    -1[0]     24410    2.75    5.27      0[0]     24420    2.75    5.27      0"
    ]
    output = of("\n".join("[0]" + line for line in lines))
    assert [one.value.median for one in output.figures] == [0.02441, 0.02442]


def test_errors_in_place_of_programs_that_cannot_run_so_are_none() -> None:
    row_of = "   268435456  1048576  float  {0}  {1:.2f}  {2:.2f}  0e+00  {0}  {1:.2f}  {2:.2f}  1e+00\n"
    output = of(row_of.format(410000, 268435456 / 410000 / 1e3, 268435456 / 410000 / 1e3 * 63 / 64) * 2)
    assert {moves(one) for one in output.figures} == {("all-to-all", 64, 1, "")}
    assert all(code != "wrong-data" for code, _ in told(output))


def test_a_command_line_says_how_many_gpus_send_and_receive() -> None:
    rows = row(GIB // 4, 1400, 1.0).replace("  0\n", "  N/A\n")
    assert [moves(one)[:2] for one in of("$ ./build/sendrecv_perf -b 256M -g 4\n" + COLUMNS + rows).figures[:1]] == [
        ("send-receive", 4)
    ]
    labelled = "a loop of srun --label\n" + "".join(f" 0: {line}\n" for line in (COLUMNS + rows).splitlines())
    assert len(of(labelled).figures) == 2


def test_rates_of_old_all_gathers_are_of_what_crossed() -> None:
    crossed = 64 * MIB * 3 / 4 / 2100 / 1e3
    half = f"2100.0  {crossed:.2f}  {crossed:.2f}  0e+00"
    text = f"    67108864  4194304  float  {half}  {half}\n"
    assert {moves(one)[:2] for one in of(text).figures} == {("all-gather", 4)}


def test_a_program_whose_list_of_ranks_is_lost_is_on_the_hosts_of_as_many_ranks() -> None:
    ranks = "".join(
        f"#  Rank {i} Group 0 Pid {i} on node-{i // 8} device {i % 8} [0x0{i % 8}] GPU\n" for i in range(16)
    )
    listed = f"{HEAD.format(1, 1, 64 * MIB, 5, 20)}{ranks}{COLUMNS}{row(64 * MIB, 700, 1.875)}"
    lost = f"# Collective test starting: all_gather_perf\n{COLUMNS}{row(64 * MIB, 700, 0.9375, 'float none -1')}"
    figures = of(f"{listed}# Avg bus bandwidth : 100\n{lost}").figures
    assert {moves(one)[1:3] for one in figures} == {(16, 2)}


def test_more_ranks_than_a_host_has_gpus_are_no_case_of_one_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = imported_run.claimed

    def claimed(peer: PeerOutput, node: Node, tests: Iterable[str]) -> list[tuple[set[str], dict[str, Any]]]:
        asked.extend(tests)
        return real(peer, node, tests)

    monkeypatch.setattr(imported_run, "claimed", claimed)
    path = tmp_path / "paste.txt"
    path.write_text(COLUMNS + row(64 * MIB, 413, 2 * 79 / 80))
    assert (len(imported_run.pasted([path]).rows), asked) == (2, [])
