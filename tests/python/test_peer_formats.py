"""Formats of other tools: what is printed reads as the tool's own output and says whose figures it holds."""

from __future__ import annotations

import copy
import json
import random
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import modelled_run
import pytest
from hostile_runs import spoil
from modelled_run import not_ok, ok, steady
from typer.testing import CliRunner

from linkscope.cli.main import app
from linkscope.codecs.peer.formats import FORMATS, check_format, printed
from linkscope.errors import LinkscopeError
from linkscope.importers.imported_run import Wanted, import_file
from linkscope.importers.importers import IMPORTERS, read
from linkscope.importers.peer_output import PeerOutput, Source
from linkscope.machine.described import load_machine
from linkscope.plan.engine_catalog import whole_catalog
from linkscope.plan.expand import expand
from linkscope.plan.select import Selection
from linkscope.plan.suites import load_suite
from linkscope.results.nccl_programs import NCCL_PROGRAMS
from linkscope.results.osu_benchmarks import OSU_COLLECTIVES, OSU_MESSAGES, OsuBenchmark
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"
TABLES = {
    "nvbandwidth": ["nvbandwidth-0.8.txt", "nvbandwidth-0.8.json", "nvbandwidth-0.8-h200.txt", "nvbandwidth-0.11.txt"],
    "nccl-tests": ["nccl-tests-2.19.txt", "nccl-tests-2.19.json"],
    "osu": [path.name for path in sorted(SAMPLES.glob("osu-*.txt"))],
}
EACH = [(name, sample) for name, samples in TABLES.items() for sample in samples]
PLAIN = [(name, sample) for name, sample in EACH if sample.endswith(".txt")]


def imported(tmp_path: Path, sample: str) -> RunFile:
    """A sample's figures as a run."""
    return import_file(SAMPLES / sample, tmp_path / "run.jsonl", Wanted(processes=2))


def reread(tmp_path: Path, text: str, form: str) -> PeerOutput:
    """What the importer of the tool makes of a printed text."""
    path = tmp_path / "printed.txt"
    path.write_text(text)
    return IMPORTERS[form].read(Source.read(path, 2))


def figures(peer: PeerOutput) -> dict[tuple[Any, ...], float]:
    """Each figure by its test, place and size."""
    return {(one.test, one.row, one.column, one.size): one.value.median for one in peer.figures}


def block(text: str, test: str) -> list[str]:
    """The lines of one test of nvbandwidth's, sums left out."""
    after = text.partition(f"Running {test}.\n")[2]
    lines = after.partition("Running ")[0].partition("Waived")[0].partition("NOTE")[0].splitlines()
    return [line for line in lines if not line.startswith("SUM")]


def modelled(run: RunFile) -> RunFile:
    """The same figures, as a model's."""
    node = {**run.header["node"], "modelled": True}
    return replace(
        run, header={**run.header, "node": node}, rows=tuple(replace(row, modelled=True) for row in run.rows)
    )


def suite_cases(name: str) -> list[dict[str, Any]]:
    """The cases of a packaged suite on four H200."""
    suite, node = load_suite(name), replace(load_machine("h200x4"), modelled=False)
    return [planned.case for planned in expand([suite], node, whole_catalog(suite), Selection())]


def with_parameters(row: Row, **more: Any) -> Row:
    """The same case with other parameters of its first flow."""
    first = row.case["flows"][0]
    changed = {**first, "parameters": {**first["parameters"], **more}}
    return replace(row, id=f"{row.id}/{more}", case={**row.case, "flows": [changed, *row.case["flows"][1:]]})


@pytest.mark.parametrize(("form", "sample"), EACH)
def test_what_is_printed_is_read_back_as_the_same_figures(tmp_path: Path, form: str, sample: str) -> None:
    theirs = read(Source.read(SAMPLES / sample, 2), form).main
    again = reread(tmp_path, printed(imported(tmp_path, sample), form), form)
    expected = figures(theirs)
    assert set(figures(again)) == set(expected)
    for key, value in figures(again).items():
        assert value == pytest.approx(expected[key], rel=1e-3)
    assert [gpu.name for gpu in again.gpus] == [gpu.name for gpu in theirs.gpus]


def test_nvbandwidths_tables_are_its_own_line_by_line(tmp_path: Path) -> None:
    for sample in ("nvbandwidth-0.8.txt", "nvbandwidth-0.8-h200.txt"):
        theirs = (SAMPLES / sample).read_text()
        (tmp_path / sample).mkdir()
        ours = printed(imported(tmp_path / sample, sample), "nvbandwidth")
        tests = [line.split()[1].rstrip(".") for line in theirs.splitlines() if line.startswith("Running ")]
        assert len(tests) > 10
        for test in tests:
            assert block(ours, test) == block(theirs, test)
    assert "SUM host_to_device_memcpy_ce 54.12" in ours
    assert "Device 0: NVIDIA H200 (00000000:00:06)" in ours.splitlines()


def test_nccl_tests_lines_are_its_own_but_for_what_was_not_measured(tmp_path: Path) -> None:
    theirs = (SAMPLES / "nccl-tests-2.19.txt").read_text().splitlines()
    ours = printed(imported(tmp_path, "nccl-tests-2.19.txt"), "nccl-tests").splitlines()
    heads = [line for line in theirs if line.startswith("#  ")]
    assert [line for line in heads if "Rank" not in line] == [
        line for line in ours if line.startswith("#  ") and "Rank" not in line
    ]
    lines = [line.split() for line in theirs if not line.startswith("#")]
    found = [line.split() for line in ours if not line.startswith("#")]
    assert [line[:6] for line in found] == [line[:6] for line in lines]
    assert [len(line) for line in ours if not line.startswith("#")] == [
        len(line) for line in theirs if not line.startswith("#")
    ]
    assert {(line[8], line[12]) for line in found} == {("N/A",) * 2}, "linkscope has not checked the data"
    for column in (7, 9, 10, 11):
        assert [float(line[column]) for line in found] == pytest.approx(
            [float(line[column]) for line in lines], abs=0.04
        )


@pytest.mark.parametrize("sample", TABLES["osu"])
def test_osus_lines_are_its_own(tmp_path: Path, sample: str) -> None:
    theirs = (SAMPLES / sample).read_text().splitlines()
    ours = printed(imported(tmp_path, sample), "osu").splitlines()
    title = next(line for line in theirs if line.startswith("# OSU"))
    assert title in ours
    full = "Min Latency" in "".join(theirs)
    expected = [line for line in theirs if line and not line.startswith("#")]
    found = [line for line in ours if line and not line.startswith("#")]
    assert found == [line[: 17 if "barrier" in sample else 28] if full else line for line in expected]


@pytest.mark.parametrize(("form", "sample"), PLAIN)
def test_a_models_figures_say_so_in_every_table_and_are_no_tools(tmp_path: Path, form: str, sample: str) -> None:
    run = modelled(imported(tmp_path, sample))
    text = printed(run, form)
    tables = [line for line in text.splitlines() if line.startswith(("memcpy", "# Collective test st", "# OSU"))]
    assert text.lower().count("modelled") > len(tables)
    assert "Out of bounds" not in text
    path = tmp_path / "printed.txt"
    path.write_text(text)
    with pytest.raises(LinkscopeError, match="printed by linkscope"):
        import_file(path, tmp_path / "again.jsonl", Wanted(processes=2))


def test_only_of_figures_that_linkscope_verified_nccl_tests_table_says_so(tmp_path: Path) -> None:
    found = imported(tmp_path, "nccl-tests-2.19.txt")
    run = replace(found, rows=tuple(row for row in found.rows if row.suite == "collectives"))
    own = replace(run, rows=tuple(replace(row, imported=None) for row in run.rows))
    for one, validation, wrong, verdicts in (
        (run, "0", {"N/A"}, 0),
        (modelled(own), "0", {"N/A"}, 0),
        (own, "1", {"0"}, 1),
    ):
        text = printed(one, "nccl-tests")
        tables = text.count("# Collective test starting")
        assert tables
        assert text.count(f" validation: {validation} ") == tables
        assert {line.split()[8] for line in text.splitlines() if "#" not in line} == wrong
        assert text.count("Out of bounds values") == verdicts * tables
        assert text.count("iters: N/A agg iters: N/A") == (1 - verdicts) * tables


@pytest.mark.parametrize("benchmark", [*OSU_MESSAGES, *OSU_COLLECTIVES], ids=lambda one: one.name)
def test_every_benchmark_of_osus_is_printed_as_what_it_is_read_as(tmp_path: Path, benchmark: OsuBenchmark) -> None:
    collective = benchmark in OSU_COLLECTIVES
    run = imported(
        tmp_path, f"osu-{('allreduce' if benchmark.sized else 'barrier') if collective else 'latency'}-7.4.txt"
    )
    row = with_parameters(run.rows[-1], **{"collective" if collective else "call": benchmark.measures})
    again = reread(tmp_path, printed(replace(run, rows=(row,)), "osu"), "osu")
    assert [(one.test, one.size) for one in again.figures] == [
        (benchmark.name, row.case["flows"][0]["bytes"] if benchmark.sized else None)
    ]


@pytest.mark.parametrize("kind", [kind for kind in NCCL_PROGRAMS if kind != "send-receive"])
def test_every_program_of_nccl_tests_is_printed_as_what_it_is_read_as(tmp_path: Path, kind: str) -> None:
    run = imported(tmp_path, "nccl-tests-2.19.txt")
    row = with_parameters(run.rows[-1], collective=kind)
    again = reread(tmp_path, printed(replace(run, rows=(row,)), "nccl-tests"), "nccl-tests")
    assert [one.test for one in again.figures] == [f"nccl-tests {NCCL_PROGRAMS[kind].name}"]


def test_in_place_stands_beside_out_of_place(tmp_path: Path) -> None:
    run = imported(tmp_path, "nccl-tests-2.19.txt")
    first, second = run.rows[:2]
    rows = (first, with_parameters(first, in_place="yes"), second, with_parameters(second, type="float16"))
    lines = [line.split() for line in printed(replace(run, rows=rows), "nccl-tests").splitlines() if "#" not in line]
    assert [(line[0], line[2], line[9]) for line in lines] == [
        ("4096", "float", "11.52"),
        ("16384", "float", "N/A"),
        ("16384", "half", "N/A"),
    ]


def test_a_size_that_comes_twice_has_two_lines_of_nccl_tests_table(tmp_path: Path) -> None:
    run = imported(tmp_path, "nccl-tests-2.19.txt")
    first = run.rows[0]
    cold = replace(first, id=f"{first.id}/cold", case={**first.case, "cache": "cold"})
    rows = (first, cold, with_parameters(first, in_place="yes"))
    lines = [line.split() for line in figures_lines(printed(replace(run, rows=rows), "nccl-tests"))]
    assert [(line[5], line[9]) for line in lines] == [("11.52", "11.52"), ("11.52", "N/A")]


def test_calls_that_osu_does_not_make_are_left_out(tmp_path: Path) -> None:
    run = imported(tmp_path, "osu-latency-7.4.txt")
    first = run.rows[0]
    odd = [with_parameters(first, **more) for more in ({"call": "send"}, {"staging": "host"}, {"window": 4})]
    alone = printed(replace(run, rows=(first,)), "osu")
    assert printed(replace(run, rows=(first, *odd)), "osu") == alone


def figures_lines(text: str) -> list[str]:
    """The lines of tables that hold figures."""
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def test_osus_tables_have_every_case_that_has_a_figure() -> None:
    rows = [ok(case, [steady(1e-5)]) for case in suite_cases("collectives") if FORMATS["osu"].takes(case)]
    assert len(rows) > 100
    text = printed(modelled_run.run(found=rows), "osu")
    assert len(figures_lines(text)) == len(rows)
    for name in ("mpi", "by-members-mpi"):
        assert any(line.split(",")[0] == f"# linkscope: collectives/{name}" for line in text.splitlines())


def test_processes_ranks_and_hosts_have_tables_of_their_own(tmp_path: Path) -> None:
    run = imported(tmp_path, "osu-latency-7.4.txt")
    first = run.rows[0]
    hosts = ["a", "a", "b", "c"]

    def between(*ranks: int, processes: int = 4) -> Row:
        flow = dict(first.case["flows"][0])
        ends = {end: {**flow[end], "rank": rank} for end, rank in zip(("source", "destination"), ranks, strict=True)}
        case = {**first.case, "processes": processes, "flows": [flow | ends]}
        return replace(first, case=case, hosts=tuple(hosts))

    rows = (first, between(0, 1), between(2, 3), between(0, 2), between(0, 1, processes=2))
    text = printed(replace(run, rows=rows), "osu")
    assert len(figures_lines(text)) == text.count("# OSU MPI Latency") == len(rows)
    places = [line.partition(": ")[2] for line in text.splitlines() if " processes, " in line]
    assert places[1:4] == [
        "4 processes, numa:0 pageable",
        "4 processes, ranks 2, 3, numa:0 pageable on b > numa:0 pageable on c",
        "4 processes, ranks 0, 2, numa:0 pageable on a > numa:0 pageable on b",
    ]


def test_a_model_without_processes_stands_for_one_at_each_end(tmp_path: Path) -> None:
    run = modelled(imported(tmp_path, "osu-latency-7.4.txt"))
    bare = {name: value for name, value in run.rows[0].case.items() if name != "processes"}
    assert "# linkscope: 2 processes, " in printed(replace(run, rows=(replace(run.rows[0], case=bare),)), "osu")


def test_a_test_that_could_not_run_is_waived_and_one_that_failed_an_error(tmp_path: Path) -> None:
    run = imported(tmp_path, "nvbandwidth-0.8-h200.txt")
    pair = next(row for row in run.rows if row.name == "d2h-ce")
    host = next(row for row in run.rows if row.name == "h2d-ce")
    rows = (not_ok(pair.case, "skipped", "needs two"), not_ok(host.case, "failed", "lost"), *run.rows[2:])
    text = printed(replace(run, rows=rows), "nvbandwidth").splitlines()
    assert "Waived: needs two" in text
    assert text[text.index("Running host_to_device_memcpy_ce.") + 1] == "Error: lost"


@pytest.mark.parametrize(("form", "sample"), [PLAIN[0], PLAIN[2], PLAIN[3]])
def test_of_a_damaged_run_there_is_a_table_or_one_line(tmp_path: Path, form: str, sample: str) -> None:
    imported(tmp_path, sample)
    good = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()][:8]
    good[0]["plan"]["ids"] = [line["id"] for line in good[1:]]
    rng, path, shown = random.Random(1), tmp_path / "spoilt.jsonl", 0
    refusals: list[str] = []
    for _ in range(150):
        lines = copy.deepcopy(good)
        spoil(rng, lines)
        path.write_bytes(b"".join(json.dumps(line).encode("utf-8", "surrogatepass") + b"\n" for line in lines))
        try:
            shown += len(printed(RunFile.read(path), form).encode()) > 0
        except LinkscopeError as error:
            refusals.append(str(error))
    assert shown > 10
    assert not [line for line in refusals if "\n" in line]


def test_figures_without_end_still_fit(tmp_path: Path) -> None:
    run = imported(tmp_path, "nccl-tests-2.19.txt")
    first = run.rows[0]
    far = replace(first.flows[0].seconds, median=1e18)
    assert first.flows[0].gbps is not None
    odd = replace(first.flows[0], seconds=far, gbps=replace(first.flows[0].gbps, median=1e18))
    lines = printed(replace(run, rows=(replace(first, flows=(odd,)),)), "nccl-tests").splitlines()
    assert [line.split()[5:8] for line in lines if "#" not in line] == [["1.0e+24", "1e+18", "2e+18"]]


def test_of_a_run_without_such_cases_there_is_one_line(tmp_path: Path) -> None:
    run = imported(tmp_path, "osu-latency-7.4.txt")
    with pytest.raises(LinkscopeError, match="linkscope run nvbandwidth"):
        printed(run, "nvbandwidth")
    skipped = tuple(not_ok(row.case, "skipped", "no MPI library") for row in run.rows)
    with pytest.raises(LinkscopeError, match="no MPI library"):
        printed(replace(run, rows=skipped), "osu")


@pytest.mark.parametrize(("form", "suite"), [("nvbandwidth", "default"), ("nccl-tests", "p2p-processes")])
def test_a_run_of_such_paths_by_another_suite_is_told_that_the_suite_is_why(form: str, suite: str) -> None:
    cases = [case for case in suite_cases(suite) if not FORMATS[form].takes(case)]
    why = f"{suite} .*linkscope run {FORMATS[form].suite} --format {form}$"
    with pytest.raises(LinkscopeError, match=why):
        check_format(form, cases)
    rows = [not_ok(case, "skipped", "not now") for case in cases]
    with pytest.raises(LinkscopeError, match=why):
        printed(modelled_run.run(found=rows), form)


def test_cases_of_the_suite_by_another_clock_are_told_the_command_with_the_tools_clock() -> None:
    by_device = [one for one in suite_cases("collectives") if one["name"] == "xccl-graph" and one["clock"] == "device"]
    reduced = [one for one in by_device if one["flows"][0]["parameters"]["collective"] == "all-reduce"]
    picking = "linkscope run collectives -k '/xccl-graph/ and /all-reduce/' {}--clock batch --format nccl-tests"
    with pytest.raises(LinkscopeError, match=re.escape(picking.format(""))):
        check_format("nccl-tests", reduced)
    rows = [replace(not_ok(one, "skipped", "not now"), modelled=True) for one in reduced]
    run = modelled_run.run(found=rows)
    machine = picking.format(f"--machine {shlex.quote(run.node.name)} ")
    with pytest.raises(LinkscopeError, match=f"device clock.*{re.escape(machine)}"):
        printed(run, "nccl-tests")
    with pytest.raises(LinkscopeError, match="-k /xccl-graph/ --clock batch"):
        check_format("nccl-tests", by_device)


def test_a_run_without_such_paths_is_not_said_to_have_them() -> None:
    cases = [case for case in suite_cases("p2p-processes") if case["flows"][0]["method"] == "mpi"]
    with pytest.raises(LinkscopeError, match=r"linkscope run nvbandwidth --format nvbandwidth$"):
        check_format("nvbandwidth", cases)


def test_the_command_line_prints_it_or_says_in_one_line_why_not(tmp_path: Path) -> None:
    run = imported(tmp_path, "nvbandwidth-0.8-h200.txt")
    runner = CliRunner()
    shown = runner.invoke(app, ["show", str(run.path), "--format", "nvbandwidth"])
    assert (shown.exit_code, shown.stdout) == (0, printed(run, "nvbandwidth"))
    for arguments in (
        ["show", str(run.path), "--format", "nvbandwith"],
        ["show", str(run.path), "--format", "osu"],
        ["show", str(run.path), "--format", "osu", "--json"],
        ["run", "default", "--format", "osu"],
        ["run", "nvbandwidth", "--format", "nvbandwidth", "--json", "--dry-run"],
        ["run", "--format", "nvbandwith"],
    ):
        refused = runner.invoke(app, arguments)
        assert isinstance(refused.exception, LinkscopeError)
        assert "\n" not in str(refused.exception)


@pytest.mark.parametrize("name", FORMATS)
def test_the_suite_that_a_format_names_has_its_cases(name: str) -> None:
    form = FORMATS[name]
    assert any(map(form.takes, suite_cases(form.suite)))
