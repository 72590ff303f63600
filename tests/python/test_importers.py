"""Importers: outputs of other tools become rows with the right figures, devices and bytes, or one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import modelled_run as made
import pytest
from result_schema import validate

import linkscope
from linkscope.answers.answer import Column, Kind
from linkscope.answers.calibrate import answer as calibrate
from linkscope.answers.compare import answer as compare
from linkscope.answers.run_head import run_head
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.importers.importers import IMPORTERS, read
from linkscope.importers.peer_output import Source
from linkscope.messages.finding import error, note
from linkscope.render import cells
from linkscope.results.row import Row, origin_name
from linkscope.results.run_file import RunFile

FIXTURES = Path(__file__).parents[1] / "fixtures"
SAMPLES = {path.name: path for path in sorted((FIXTURES / "importers").iterdir()) if path.suffix != ".md"}
MEASURED = FIXTURES / "runs" / "h200x4-default.jsonl"
MIB = 1 << 20
DAMAGED = 100
"""Damaged files of each format."""


def wanted(name: str) -> Wanted:
    """What a sample needs said."""
    return Wanted(processes=2 if name.startswith("osu") else None)


def taken(tmp_path: Path, name: str) -> dict[str, Row]:
    """The rows of a sample, by id."""
    found = import_file(SAMPLES[name], tmp_path / "run.jsonl", wanted(name))
    return {row.id: row for row in found.rows}


def gbps(row: Row, flow: int = 0) -> float:
    """A flow's rate."""
    stats = row.flows[flow].gbps
    assert stats is not None
    return stats.median


def altered(tmp_path: Path, name: str, old: str, new: str) -> Source:
    """A sample with one word in the place of another."""
    text = SAMPLES[name].read_text()
    assert old in text
    path = tmp_path / name
    path.write_text(text.replace(old, new))
    return Source.read(path)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_recognised_and_its_run_file_keeps_to_the_schema(tmp_path: Path, name: str) -> None:
    output = tmp_path / "run.jsonl"
    found = import_file(SAMPLES[name], output, wanted(name))
    recognising = [key for key, one in IMPORTERS.items() if one.recognises(SAMPLES[name].read_text())]
    assert len(recognising) == 1
    for line in output.read_text().splitlines():
        validate(json.loads(line))
    assert found.with_status("ok")
    assert {row.origin for row in found.rows} == {origin_name(found.header)}
    assert not found.modelled
    assert set(Run(found).results["origin"]) == {found.rows[0].origin}


@pytest.mark.parametrize("name", ["nvbandwidth-0.8.txt", "nvbandwidth-0.8.json"])
def test_nvbandwidths_matrices_become_the_suites_cases(tmp_path: Path, name: str) -> None:
    rows = taken(tmp_path, name)
    pair = rows["nvbandwidth/d2d-write-ce/gpu:2>gpu:1"]
    flow = pair.case["flows"][0]
    ends = flow["source"]["device"], flow["destination"]["device"], flow["executor"], flow["method"], flow["bytes"]
    assert ends == ("gpu:2", "gpu:1", "gpu:2", "copy-engine", 512 * MIB)
    assert gbps(pair) == 396.3
    assert pair.flows[0].seconds.median == pytest.approx(512 * MIB / 396.3e9)
    assert (pair.flows[0].seconds.n, pair.case["clock"], pair.case["cache"]) == (1, "device", "warm")
    pulled = rows["nvbandwidth/d2d-read-ce/gpu:1>gpu:2"].case["flows"][0]
    assert (pulled["source"]["device"], pulled["executor"]) == ("gpu:1", "gpu:2")
    both = rows["nvbandwidth/d2d-both-read-ce/gpu:0>gpu:1"]
    assert [gbps(both, 0), gbps(both, 1)] == [390.34, 389.31]
    crowd = rows["nvbandwidth/all-to-one-write-ce/gpu:3"]
    assert crowd.aggregate is not None
    assert crowd.aggregate.median == pytest.approx(3 * gbps(crowd))
    shared = rows["nvbandwidth/all-to-host-ce/eachof4flows"]
    assert len({gbps(shared, i) for i in range(4)}) == 4
    against = rows["nvbandwidth/d2h-against-ce/gpu:0>numa:0"]
    assert (len(against.flows), len(against.case["flows"])) == (1, 2)
    chase = rows["nvbandwidth/d2d-latency-sm/gpu:1>gpu:0"]
    assert chase.flows[0].gbps is None
    assert 700e-9 < chase.flows[0].seconds.median < 800e-9
    exchange = rows["nvbandwidth/h2d-exchange-sm/numa:0>gpu:0"]
    assert gbps(exchange) == pytest.approx(2 * 42.2)


@pytest.mark.parametrize(
    ("name", "rate"), [("nvbandwidth-0.8-h200.txt", 54.12), ("nvbandwidth-0.8-h200.json", 54.9278)]
)
def test_nvbandwidth_on_one_gpu_has_its_cases_with_the_host(tmp_path: Path, name: str, rate: float) -> None:
    rows = taken(tmp_path, name)
    assert gbps(rows["nvbandwidth/h2d-ce/numa:0>gpu:0"]) == rate
    assert len(rows) == 18
    assert {row.status for row in rows.values()} == {"ok"}


def test_what_nvbandwidth_waived_is_skipped_with_its_reason(tmp_path: Path) -> None:
    rows = taken(tmp_path, "nvbandwidth-0.8.json")
    waived = [row for row in rows.values() if row.status == "skipped"]
    assert {(row.name, row.reason) for row in waived} == {("d2h-sm", "nvbandwidth says Waived")}
    assert len(waived) == 4


def test_an_import_beside_a_run_has_its_ids_and_devices_and_is_compared_with_it(tmp_path: Path) -> None:
    measured = RunFile.read(MEASURED)
    found = import_file(SAMPLES["nvbandwidth-0.8.json"], tmp_path / "run.jsonl", Wanted(beside=measured))
    assert found.node == measured.node
    both = compare(Run.of(measured), Run.of(found))
    pairs = {
        id_: values for id_, *values in both.table("compare.results").frame.select("id", "base", "new").iter_rows()
    }
    ours = {row.id: row for row in measured.rows}
    assert len(pairs) == 48
    for name in ("default/d2d/gpu:2>gpu:1/copy-engine", "default/h2d/numa:0>gpu:3/copy-engine"):
        assert pairs[name][0] == pytest.approx(gbps(ours[name]))
    assert pairs["default/d2d/gpu:2>gpu:1/copy-engine"][1] == pytest.approx(396.3)
    setup = [one.facts for one in (*both.findings, *both.details) if one.code == "compare.setup"]
    assert ("source", "linkscope", "nvbandwidth 0.8") in [(one["setting"], one["base"], one["new"]) for one in setup]
    assert not [one for one in setup if "-" in (one["base"], one["new"])]
    assert [row.case["cache"] for row in found.rows if row.id == "default/d2d/gpu:2>gpu:1/copy-engine"] == ["warm"]


def test_a_run_of_other_gpus_is_no_run_of_the_same_node(tmp_path: Path) -> None:
    source = altered(tmp_path, "nvbandwidth-0.8.txt", "NVIDIA H200", "NVIDIA B200")
    with pytest.raises(LinkscopeError, match="4 GPUs"):
        import_file(source.path, tmp_path / "run.jsonl", Wanted(beside=RunFile.read(MEASURED)))


def test_nccl_tests_times_become_the_suites_collectives_by_size(tmp_path: Path) -> None:
    rows = taken(tmp_path, "nccl-tests-2.19.txt")
    assert [row.case["flows"][0]["bytes"] for row in rows.values()] == 2 * [4096 << 2 * i for i in range(10)]
    where = "collectives/xccl-calls/4GPUs/all-reduce/xccl-collective/one-process/eager/one-thread/batch-clock"
    small, large = rows[f"{where}/64KiB"], rows[f"{where}/256MiB"]
    assert small.flows[0].seconds.median == pytest.approx(11.79 * 1e-6)
    assert gbps(large) == pytest.approx(220.89, rel=1e-4)
    assert [end["device"] for end in large.case["flows"][0]["members"]] == [f"gpu:{i}" for i in range(4)]
    origin = large.raw["origin"]
    assert [origin[name] for name in ("tool", "version", "test")] == ["nccl-tests", "2.19.6", "all_reduce_perf"]
    assert (origin["unit"], origin["value"]) == ("s", large.flows[0].seconds.median)


def test_results_in_place_are_cases_with_that_parameter(tmp_path: Path) -> None:
    rows = taken(tmp_path, "nccl-tests-2.19.txt")
    row = rows["nccl-tests/all_reduce_perf/in place/4MiB"]
    assert row.flows[0].seconds.median == pytest.approx(30.01e-6)
    beside = rows[next(name for name in rows if name.endswith("batch-clock/4MiB"))].case["flows"][0]
    assert row.case["flows"][0]["parameters"] == {**beside["parameters"], "in_place": "yes"}


@pytest.mark.parametrize(
    ("name", "where", "processes"),
    [
        (
            "nccl-tests-2.19.json",
            "xccl-graph-recorded/4GPUs/all-gather/xccl-collective/one-process/graph/recorded20",
            1,
        ),
        ("nccl-tests-rccl.csv", "xccl-processes/4GPUs/all-reduce/xccl-collective/a-process-each/eager", 4),
        ("nccl-tests-rccl.json", "ring-xccl", 1),
    ],
)
def test_the_way_of_launching_chooses_the_case(tmp_path: Path, name: str, where: str, processes: int) -> None:
    rows = taken(tmp_path, name)
    assert {where in row for row in rows if "in place" not in row} == {True}
    assert {row.case.get("processes", 1) for row in rows.values()} == {processes}


def test_wrong_results_are_left_out_and_other_types_vary(tmp_path: Path) -> None:
    text = SAMPLES["nccl-tests-rccl.csv"].read_text()
    lines = text.splitlines()
    lines[1], lines[3] = lines[1].removesuffix("0") + "7", lines[3].replace("float", "half")
    path = tmp_path / "rccl.csv"
    path.write_text("\n".join(lines))
    found = read(Source.read(path)).main
    assert len(found.figures) == 19
    assert [figure.size for figure in found.figures if figure.moves and figure.moves.varies == "half"] == [16384]
    wrong = error("import.wrong-data", tool="rccl-tests", test="all_reduce_perf")
    assert found.findings == (wrong, note("import.wrong-results", lines=1))


@pytest.mark.parametrize(
    ("name", "case", "size", "seconds"),
    [
        (
            "osu-latency-7.4.txt",
            "host-latency/numa:0/mpi/a-process-each/ping-pong/host-clock/8B",
            8,
            1.26e-6,
        ),
        (
            "osu-bibw-7.4.txt",
            "both-ways/host-clock/1KiB",
            1024,
            1024 / 1857.89e6,
        ),
        (
            "osu-allgather-7.4.txt",
            "all-gather/mpi-collective/a-process-each/host-clock/16B",
            16,
            5.28e-6,
        ),
        ("osu-barrier-7.4.txt", "collectives/barrier-mpi/2members", 0, 0.55e-6),
        (
            "osu-put_latency-7.4.txt",
            "host-one-sided/numa:0/mpi/a-process-each/put/host-clock/16B",
            16,
            1.38e-6,
        ),
    ],
)
def test_osus_figures_become_messages_and_collectives(
    tmp_path: Path, name: str, case: str, size: int, seconds: float
) -> None:
    (row,) = (row for row in taken(tmp_path, name).values() if row.id.endswith(case))
    assert row.case["flows"][0]["bytes"] == size
    assert row.flows[0].seconds.median == pytest.approx(seconds)
    assert (row.case["clock"], row.case["processes"], row.origin) == ("host", 2, "OSU 7.4")


def test_osus_extremes_are_kept_and_are_no_interval(tmp_path: Path) -> None:
    row = taken(tmp_path, "osu-allreduce-7.4.txt")[
        "collectives/host-mpi/2members/all-reduce/mpi-collective/a-process-each/host-clock/64KiB"
    ]
    words = next(line.split() for line in SAMPLES["osu-allreduce-7.4.txt"].read_text().split("\n") if "65536" in line)
    seconds = row.flows[0].seconds
    assert [seconds.median, seconds.min, seconds.max] == pytest.approx([float(word) * 1e-6 for word in words[1:4]])
    assert seconds.low == seconds.high == seconds.median


def test_osus_processes_are_those_that_the_user_says(tmp_path: Path) -> None:
    found = import_file(SAMPLES["osu-allreduce-7.4.txt"], tmp_path / "run.jsonl", Wanted(processes=3))
    assert {len(row.case["flows"][0]["members"]) for row in found.rows} == {3}


def test_p2p_matrices_become_cases_with_and_without_peer_access(tmp_path: Path) -> None:
    rows = taken(tmp_path, "p2pBandwidthLatencyTest.txt")
    assert sum(name.startswith("schieffer24/") for name in rows) == 14
    direct = rows["schieffer24/p2p-bandwidth/gpu:1>gpu:0/peer-access-on"]
    assert (gbps(direct), direct.case["flows"][0]["bytes"]) == (387.21, 160_000_000)
    assert gbps(rows["schieffer24/p2p-bandwidth/gpu:0>gpu:1/peer-access-off"]) == 38.05
    both = rows["schieffer24/p2p-bandwidth-both-ways/gpu:0>gpu:1/peer-access-on"]
    assert gbps(both, 0) + gbps(both, 1) == pytest.approx(765.27)
    answers = [
        rows[f"schieffer24/p2p-latency/gpu:0>gpu:1/peer-access-off/{clock}-clock"] for clock in ("device", "host")
    ]
    assert [row.flows[0].seconds.median for row in answers] == pytest.approx([21.37e-6, 4.11e-6])


def test_a_copy_within_a_gpu_that_counts_bytes_read_and_written_has_half_of_it_as_payload(tmp_path: Path) -> None:
    row = taken(tmp_path, "p2pBandwidthLatencyTest.txt")["p2pbandwidthlatencytest/unidirectional local/gpu:0>gpu:0"]
    assert gbps(row) == pytest.approx(2947.17 / 2)
    (line,) = Run(made.run(found=[row])).results.to_dicts()
    assert line["value"] == pytest.approx(2947.17)


def test_p2p_figures_of_gpus_without_peer_access_are_none_of_peers(tmp_path: Path) -> None:
    source = altered(tmp_path, "p2pBandwidthLatencyTest.txt", "     0\t     1     1", "     0\t     1     0")
    found = read(source).main
    direct = [one for one in found.figures if one.facts["peer_access"] == "on" and one.test.endswith("unidirectional")]
    assert [(one.row, one.column) for one in direct] == [("gpu:1", "gpu:0")]


def test_multichases_samples_have_their_median_and_interval(tmp_path: Path) -> None:
    rows = taken(tmp_path, "multichase-v.txt")
    row = rows["latency-host/chase-by-size/numa:0/pageable/64KiB"]
    stats = row.flows[0].seconds
    assert stats.n == 7
    assert [stats.median, stats.low, stats.high] == pytest.approx([1.791e-9, 1.748e-9, 1.826e-9])
    assert [one.case["flows"][0]["bytes"] for one in rows.values()] == [64 << 10, MIB, 16 * MIB]


@pytest.mark.parametrize("name", ["commscope.json", "commscope.csv"])
def test_commscopes_names_and_counters_say_the_case(tmp_path: Path, name: str) -> None:
    rows = taken(tmp_path, name)
    assert len(rows) == 22
    one = json.loads(SAMPLES["commscope.json"].read_text())["benchmarks"]
    rates = [run["bytes_per_second"] * 1e-9 for run in one if "PinnedToGPU/0/1/log2(N):20" in run["name"]]
    assert len(rates) == 6
    pinned = rows["commscope/h2d/numa:0>gpu:1/registered/1MiB"].flows[0].gbps
    assert pinned is not None
    assert pinned.n == 6
    assert [pinned.low, pinned.high] == pytest.approx([min(rates), max(rates)], rel=1e-5)
    assert rows["commscope/d2d/gpu:1>gpu:0/memcpy/4KiB"].case["flows"][0]["parameters"]["api"] == "memcpy"
    assert {row.case["flows"][0]["bytes"] for row in rows.values()} == {4096, MIB, 256 * MIB}


def test_nvlooms_measurements_are_nvbandwidths_cases(tmp_path: Path) -> None:
    rows = taken(tmp_path, "nvloom.csv")
    lines = [line.split(", ") for line in SAMPLES["nvloom.csv"].read_text().splitlines()]
    read_, both, latency = ([line for line in lines if key in line] for key in ("read", "bidir", "latency"))
    first = next(line for line in read_ if line[8] == "ce")
    row = rows["nvbandwidth/d2d-read-ce/gpu:0>gpu:1"]
    assert (gbps(row), row.case["flows"][0]["executor"]) == (float(first[-1]), "gpu:1")
    pair = rows["nvbandwidth/d2d-both-write-ce/gpu:0>gpu:1"]
    ways = [(flow["source"]["device"], gbps(pair, at)) for at, flow in enumerate(pair.case["flows"])]
    assert ways == [("gpu:1", float(both[1][-1])), ("gpu:0", float(both[0][-1]))]
    chase = rows["nvbandwidth/d2d-latency-sm/gpu:3>gpu:1"]
    assert chase.flows[0].seconds.median == pytest.approx(float(latency[0][-1]) * 1e-9)
    assert sum(name.startswith("nvbandwidth/") for name in rows) == 14
    assert gbps(rows["nvloom/ce write 3 at once/gpu:2>gpu:0"]) == 131.27


@pytest.mark.parametrize("name", ["transferbench-1.52.txt", "transferbench-1.52.csv"])
def test_transferbenchs_transfers_that_gpus_drive_become_cases(tmp_path: Path, name: str) -> None:
    rows = taken(tmp_path, name)
    assert {row.case["flows"][0]["bytes"] for row in rows.values()} == {256 * MIB}
    assert gbps(rows["transferbench/p2p/numa:0>gpu:2"]) == 21.73, "a CPU's transfer is a case of its own"
    rows = {name: row for name, row in rows.items() if not name.startswith("transferbench/")}
    lines = [line.replace(",", " ").split() for line in SAMPLES[name].read_text().splitlines()]
    one_way = next(line for line in lines if line[:3] == ["GPU", "01", "->"])
    assert gbps(rows["peer/push/gpu:1>gpu:2/kernel-copy"]) == float(one_way[6])
    assert gbps(rows["host-device/d2h-kernel/gpu:1>numa:0"]) == float(one_way[3])
    out, back = (next(line for line in lines[12:] if line[:3] == ["GPU", "01", way])[6] for way in ("->", "<-"))
    pair = rows["duplex/peer/gpu:1>gpu:2/kernel-copy/push"]
    assert [gbps(pair, 0), gbps(pair, 1)] == [float(out), float(back)]
    assert len(rows) == 12


@pytest.mark.parametrize("name", SAMPLES)
def test_answers_and_page_say_where_results_are_from(tmp_path: Path, name: str) -> None:
    run, page = tmp_path / "run.jsonl", tmp_path / "page.html"
    import_file(SAMPLES[name], run, wanted(name))
    origin = RunFile.read(run).rows[0].origin
    told = [one.facts["tool"] for one in run_head(Run.of(run)).findings if one.code == "run.imported"]
    assert told == [origin]
    linkscope.read(run).report(page)
    assert origin in page.read_text()


def test_a_result_without_repeats_has_no_interval(tmp_path: Path) -> None:
    row = taken(tmp_path, "nvbandwidth-0.8.txt")["nvbandwidth/local-copy-ce/gpu:0"]
    (line,) = Run(made.run(found=[row])).results.to_dicts()
    assert line["n"] == 1
    assert cells.interval(line, Column("value", Kind.VALUE)) == ""


@pytest.mark.parametrize(
    ("name", "old", "new", "is_newer"),
    [
        ("nvbandwidth-0.8.txt", "Version: v0.8", "Version: v0.10", False),
        ("nvbandwidth-0.8.txt", "Version: v0.8", "Version: v9.1", True),
        ("nvbandwidth-0.8.json", '"version" : "v0.8"', '"version" : "v9.0"', True),
        ("nccl-tests-2.19.txt", "version 2.19.6", "version 9.1", True),
        ("nccl-tests-2.19.json", '"version":3', '"version":7', True),
        ("transferbench-1.52.txt", "TransferBench v1.52", "TransferBench v1.66", False),
        ("transferbench-1.52.txt", "TransferBench v1.52", "TransferBench v9.67", True),
        ("osu-latency-7.4.txt", "Test v7.4", "Test v9.4", True),
    ],
)
def test_another_version_is_read_and_a_newer_one_told(
    tmp_path: Path, name: str, old: str, new: str, is_newer: bool
) -> None:
    plain, found = read(Source.read(SAMPLES[name], 2)).main, read(altered(tmp_path, name, old, new)).main
    values = [[one.value for one in output.figures] for output in (plain, found)]
    assert values[0] == values[1]
    assert ("import.newer-version" in [one.code for one in found.findings]) is is_newer


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("nvbandwidth-0.8.txt", "396.06", "   nan"),
        ("nvbandwidth-0.8.txt", "396.06", "-396.06"),
        ("nvbandwidth-0.8.txt", "396.06", "1e99"),
        ("nvbandwidth-0.8.txt", "    396.06", ""),
        ("nccl-tests-2.19.txt", "1215.27", "    nan"),
        ("osu-latency-7.4.txt", "1.26", "-nan"),
    ],
)
def test_a_line_with_what_is_no_number_costs_no_other(tmp_path: Path, name: str, old: str, new: str) -> None:
    plain, found = read(Source.read(SAMPLES[name], 2)).main, read(altered(tmp_path, name, old, new)).main
    before = {(one.test, one.row, one.column, one.size, one.moves, one.value.median) for one in plain.figures}
    after = {(one.test, one.row, one.column, one.size, one.moves, one.value.median) for one in found.figures}
    assert after < before
    assert len(before) - len(after) <= 5


@pytest.mark.parametrize(("old", "new"), [('"396.06"', '"inf"'), ('"395.97", ', "")])
def test_json_that_is_none_of_its_tool_is_refused(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(LinkscopeError):
        read(altered(tmp_path, "nvbandwidth-0.8.json", old, new))


def test_what_no_tool_prints_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"", b"hello\n", b"\xff\xfe\n", b"nvbandwidth Version: v0.8\n\x1b[31m\n", b"{}"):
        path.write_bytes(data)
        with pytest.raises(LinkscopeError) as error:
            import_file(path, tmp_path / "run.jsonl", Wanted())
        assert len(str(error.value).splitlines()) == 1
    with pytest.raises(LinkscopeError, match="is no file"):
        Source.read(tmp_path)
    with pytest.raises(LinkscopeError, match="unknown format"):
        read(Source.read(SAMPLES["nvbandwidth-0.8.txt"]), "iperf")


def test_results_that_say_nothing_of_what_they_move_are_counted(tmp_path: Path) -> None:
    source = altered(tmp_path, "nvbandwidth-0.8.txt", "device_local_copy", "device_other_copy")
    found = import_file(source.path, tmp_path / "run.jsonl", Wanted())
    (left,) = Run(found).printed
    assert (left.code, left.facts["results"]) == ("import.other-tests", 4)
    assert "device_other_copy" in left.facts["test"]
    only = altered(tmp_path, "nvbandwidth-0.9.txt", "host_to_device", "device_to_moon")
    with pytest.raises(LinkscopeError, match=r"device_to_moon.*fit no case of linkscope"):
        import_file(only.path, tmp_path / "other.jsonl", Wanted())


def test_results_that_no_suite_has_are_cases_of_their_own(tmp_path: Path) -> None:
    rows = taken(tmp_path, "transferbench-1.52.csv")
    row = rows["transferbench/p2p both ways/numa:0>gpu:0"]
    assert [(flow["source"]["device"], gbps(row, at)) for at, flow in enumerate(row.case["flows"])] == [
        ("numa:0", 20.9),
        ("gpu:0", 20.48),
    ]
    assert row.raw["origin"]["moves"]["kind"] == "to-gpu"


def test_a_small_copy_is_not_the_case_of_a_large_one(tmp_path: Path) -> None:
    small = altered(tmp_path, "transferbench-1.52.csv", "Direction,268435456", "Direction,1048576")
    found = import_file(small.path, tmp_path / "run.jsonl", Wanted())
    assert {row.case["flows"][0]["bytes"] for row in found.rows} == {MIB}
    assert {row.suite for row in found.rows} == {"transferbench"}


def test_another_tools_runs_calibrate_nothing(tmp_path: Path) -> None:
    runs = [import_file(SAMPLES["nvbandwidth-0.8.txt"], tmp_path / f"{i}.jsonl", Wanted()) for i in range(2)]
    with pytest.raises(LinkscopeError, match=r"imported from nvbandwidth 0\.8"):
        calibrate(*map(Run.of, runs))


def test_a_notebook_imports_the_same(tmp_path: Path) -> None:
    output = tmp_path / "run.jsonl"
    found = linkscope.import_output(SAMPLES["osu-allreduce-7.4.txt"], output, format="osu", processes=2)
    assert found.rows == RunFile.read(output).rows
    assert linkscope.frame(found)["collective"].unique().to_list() == ["all-reduce"]


def test_an_existing_run_file_is_kept(tmp_path: Path) -> None:
    output = tmp_path / "run.jsonl"
    output.write_text("mine")
    with pytest.raises(LinkscopeError, match="exists"):
        import_file(SAMPLES["nvbandwidth-0.8.txt"], output, Wanted())
    assert output.read_text() == "mine"


def test_an_import_beside_a_run_has_each_case_once(tmp_path: Path) -> None:
    """Two of nvbandwidth's tests are one movement, and so may be one case of the run beside."""
    text = SAMPLES["nvbandwidth-0.8.txt"].read_text()
    sender = text[text.index("Running all_to_one_write_ce") :].partition("\nRunning")[0]
    kernels = sender.replace("_ce", "_sm").replace("CE", "SM")
    other = kernels.replace("all_to_one_write", "one_to_all_read")
    (tmp_path / "two.txt").write_text(text.replace("NOTE", f"{kernels}\n\n{other}\n\nNOTE"))
    two = import_file(tmp_path / "two.txt", tmp_path / "two.jsonl", Wanted())
    again = import_file(tmp_path / "two.txt", tmp_path / "again.jsonl", Wanted(beside=two))
    assert [row.id for row in again.rows] == [row.id for row in two.rows]
    assert {"all-to-one-write-sm", "one-to-all-read-sm"} <= {row.name for row in again.rows}


def test_a_graph_of_several_calls_is_known_by_its_iterations(tmp_path: Path) -> None:
    text = SAMPLES["nccl-tests-2.19.txt"].read_text()
    text = text.replace("nThread 1 nGpus 4", "nThread 4 nGpus 1").replace("graph: 0", "graph: 20")
    (tmp_path / "graph.txt").write_text(text)
    rows = import_file(tmp_path / "graph.txt", tmp_path / "run.jsonl", Wanted()).rows
    assert {row.case["flows"][0]["parameters"].get("recorded") for row in rows} == {20}
    assert {row.name for row in rows if row.suite == "collectives"} == {"xccl-graph-recorded"}
