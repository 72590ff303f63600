"""Show: every movement stands on one screen, and what is asked of a run is what comes."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import modelled_run as made
import polars
import pytest
import recorded

from linkscope.answers.movements import blocks, spread, taken_apart
from linkscope.answers.questions import ask
from linkscope.answers.show import ROOM
from linkscope.answers.show_tables import Naming, by_size
from linkscope.cli import main
from linkscope.errors import LinkscopeError
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.launch.job import Request
from linkscope.launch.run import Listener, run
from linkscope.messages.finding import Level
from linkscope.render import render
from linkscope.results.run_file import RunFile

COPIES = {
    *("gpu>gpu", "gpu<>gpu", "gpu>gpus", "gpus>gpu", "gpus<>gpus", "host>gpu", "gpu>host", "gpu<>host", "host>gpus"),
    *("gpus>host", "gpus<>host", "gpu"),
}


def fits(path: Path | str, **options: Any) -> bool:
    lines = render(ask("show", path, **options)).splitlines()
    return len(lines) <= ROOM and max(map(len, lines)) <= 80


def test_all_movements_of_a_healthy_run_share_a_table_and_agree_within_1_percent() -> None:
    answer = ask("show", recorded.HEALTHY)
    assert answer.outcome is None
    table = answer.table("show.movements-at")
    assert set(table.frame["movement"]) == COPIES
    assert table.first is None
    between = table.frame.row(by_predicate=polars.col("movement") == "gpu>gpu", named=True)
    assert between["copy-engine"] == [pytest.approx(396.27, abs=0.01)]
    assert between["copy-engine of_peak"] == [pytest.approx(0.8806, abs=1e-4)]
    assert all(len(values) == 1 for name in ("copy-engine", "kernel-copy") for values in table.frame[name])
    assert table.facts["size"] == 512 << 20
    assert not [table for table in answer.tables if table.key == "show.matrix"]
    lines = answer.table("show.lines").frame
    assert {"gpu-reads", "cpu-reads", "memcpy", "ping-pong"} == set(lines["what"])


def test_a_missing_nvlink_shows_as_less_of_the_nominal_peak(tmp_path: Path) -> None:
    answer = ask("show", recorded.bad_link(tmp_path))
    assert (answer.outcome, answer.exit_code) == (None, 0)
    assert {found.code for found in answer.at(Level.ERROR)} == {"explain.links-down"}
    matrix = answer.table("show.matrix").frame
    low = matrix.filter(matrix["value"] < 380)
    assert low["id"].to_list() == matrix.filter("slow")["id"].to_list()
    assert {"gpu:1"} == set.intersection(*({line["from"], line["to"]} for line in low.iter_rows(named=True)))
    assert matrix.height == 12
    table = answer.table("show.movements-at").frame
    between = table.row(by_predicate=polars.col("movement") == "gpu>gpu", named=True)
    assert between["copy-engine of_peak"][0] == pytest.approx(0.831, abs=1e-3)


def test_cpus_stand_by_threads_and_size() -> None:
    answer = ask("show", recorded.CPU)
    table = answer.table("show.movements").frame
    assert table.columns[5:7] == ["memcpy threads=1", "memcpy threads=1 mark"]
    assert table["bytes"].n_unique() > 5
    assert set(answer.table("show.sizes").frame["unit"]) == {"ns"}
    assert "show.uncertain" in {found.code for found in answer.findings}


def test_a_size_that_half_of_the_rows_have_has_a_column() -> None:
    results = Run.of(recorded.CPU).results.filter(polars.col("bytes").is_in([4096, 16384, 65536]), method="memcpy")
    row = blocks(results)[0][0]
    part = replace(row, lines=[line for line in row.lines if line["bytes"] != 4096])
    for rows, shown in (([row, part], True), ([row, part, part], False)):
        columns = by_size(rows, Naming("NCCL")).frame.columns
        assert ("4096" in columns, "16384" in columns) == (shown, True)


def test_links_of_a_model_that_differ_in_speed_stand_apart(tmp_path: Path) -> None:
    answer = ask("show", recorded.frontier(tmp_path))
    table = answer.table("show.movements-at").frame
    between = {
        line["words"][0]: line["kernel-copy"][0]
        for line in table.iter_rows(named=True)
        if line["movement"] == "gpu>gpu"
    }
    assert between == {
        name: pytest.approx(rate, rel=0.01) for name, rate in {"quad": 153.6, "dual": 76.9, "single": 38.5}.items()
    }
    (gaps,) = (found for found in answer.findings if found.code == "show.not-modelled")
    assert (gaps.facts["skipped"], gaps.facts["cases"]) == (276, 1057)
    assert answer.run.host == ""


@pytest.mark.parametrize(
    "suite", ["sweep", "p2p-processes", "collectives", "halo", "latency", "direct-access", "strided"]
)
@pytest.mark.parametrize("machine", ["h200x4", "mi300a"])
def test_every_suite_fits_a_screen(suite: str, machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("run.jsonl")
    run(Request(suites=(suite,), machine=machine), path, Listener(), [])
    assert fits(path)


@pytest.mark.parametrize(
    "path", [recorded.HEALTHY, recorded.CPU, recorded.DIRECT, recorded.RUNS / "h200x4-packets.jsonl"]
)
def test_recorded_runs_fit_a_screen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    assert fits(path.name)


def test_a_run_of_an_application_shows_its_methods() -> None:
    answer = ask("show", recorded.FIXTURES / "applications" / "h100-halo-2-ranks.jsonl")
    assert (answer.question, answer.exit_code) == ("show", 0)
    assert answer.table("app.methods").frame.height == 8
    assert "show.reasons" in {table.key for table in answer.tables}


def test_a_row_is_taken_apart_only_where_its_parts_fit_and_movements_are_few() -> None:
    main, *_ = blocks(Run.of(recorded.HEALTHY).results)
    assert len(taken_apart(main, 40)) == len(main) == 12
    few = [row for row in main if row.movement in ("gpu>gpu", "host>gpu")]
    assert len(taken_apart(few, 2)) == 2
    apart = taken_apart(few, 20)
    assert 2 < len(apart) <= 20
    assert len({row.size for row in apart if row.movement == "gpu>gpu"}) > 1


def test_the_host_clock_has_a_row_where_it_finds_another_rate() -> None:
    results = Run.of(recorded.HEALTHY).results.filter(movement="gpu>gpu", unit=RATE)
    for ratio, words in ((1.0, {()}), (0.9, {(), ("clock=host",)})):
        by_host = results.with_columns(polars.col("value") * ratio, clock=polars.lit("host")).head(20)
        (rows, *_) = blocks(polars.concat([results, by_host]))
        assert {row.words for row in taken_apart(rows, 2)} == words


def test_small_transfers_are_times_and_large_ones_rates() -> None:
    main, *_ = blocks(Run.of(recorded.HEALTHY).results)
    row = next(row for row in main if row.movement == "gpu>gpu" and row.unit == RATE)
    small, large = row.at(4096).cell("kernel-copy", "method"), row.at(1 << 30).cell("kernel-copy", "method")
    assert small is not None
    assert large is not None
    assert small.values[0] < 1e-5
    assert not small.shares
    assert large.values[0] > 300


def implementations() -> RunFile:
    """Return collectives between processes by four methods, in two memories and three forms, as times and as rates."""
    rows = []
    methods = ("xccl-collective", "direct-collective", "torch-collective", "nvshmem-collective")
    forms: tuple[dict[str, Any], ...] = (
        {"form": "eager"},
        {"form": "graph", "recorded": 20},
        {"form": "graph", "recorded": 1},
    )
    memories = ("device", "xccl")
    sizes = (256, 1 << 20)
    for collective, (place, method), form, size in product(
        ("all-reduce", "all-gather", "reduce-scatter"), enumerate(methods), forms, sizes
    ):
        for memory in memories if method == methods[0] else memories[:1]:
            ends = [{"device": f"gpu:{rank}", "memory": memory} for rank in range(2)]
            flow = {"method": method, "executor": "gpu:0", "bytes": size, "members": ends}
            flow["parameters"] = {"collective": collective, **form}
            name = f"{collective}-{method}-{memory}-{'-'.join(map(str, form.values()))}"
            case = {**made.case(name, [flow], {"figures": ["latency", "bus"]}), "processes": 2}
            rows.append(made.ok(case, [made.steady(5e-6 + 1e-6 * place + size / 1e11)]))
    return made.run(2, rows)


def test_implementations_have_a_column_each_and_no_row_twice() -> None:
    found = ask("show", implementations())
    table = found.tables[0]
    columns = [column.name for column in table.columns if "-collective" in column.name]
    assert [name.partition("-")[0] for name in columns] == ["xccl", "direct", "torch", "nvshmem"]
    assert table.facts["left_out"] == 0
    assert "between-processes" in table.facts["notes"]
    assert not table.frame.select("label", "bytes", *columns).is_duplicated().any()
    assert len(render(found, "text").splitlines()) <= ROOM


def test_spread_keeps_the_ends() -> None:
    assert spread(range(10), 4) == [0, 3, 6, 9]
    assert spread(range(3), 5) == [0, 1, 2]
    assert spread(range(3), 1) == [2]


def test_results_by_share_ascend_and_curves_give_their_best() -> None:
    (table,) = ask("show", recorded.HEALTHY, sort="of-peak").tables
    shares = table.frame["of_peak"].to_list()
    assert shares == sorted(shares)
    assert len(shares) > 100
    assert table.frame.filter(table.frame["title"].str.contains("by size")).height == 4


def test_where_keeps_what_involves_a_device() -> None:
    whole, part = (ask("show", recorded.HEALTHY, **options) for options in ({}, {"where": "gpu:3"}))
    ids = {name for table in part.tables if "id" in table.frame.columns for name in table.frame["id"]}
    cases = Run.of(recorded.HEALTHY).rows
    assert all("gpu:3" in json.dumps(cases[name].case["flows"]) for name in ids)
    assert 0 < part.headline.facts["results"] < len(cases)
    assert {table.key for table in part.tables} <= {table.key for table in whole.tables} | {"show.movements"}


def test_a_word_picks_tests_by_title_or_method() -> None:
    answer = ask("show", recorded.HEALTHY, table="KERNEL-copy")
    assert {name for table in answer.tables for name in table.frame["method"]} == {"kernel-copy"}
    assert all(not table.detail for table in answer.tables)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"table": "hots"}, "host"),
        ({"table": ""}, "--full"),
        ({"where": "gpu:77"}, "gpu:"),
        ({"where": "moon"}, "numa:0"),
        ({"sort": "size"}, "of-peak"),
    ],
)
def test_what_a_run_does_not_have_is_one_line(options: dict[str, str], said: str) -> None:
    with pytest.raises(LinkscopeError, match=said) as refused:
        ask("show", recorded.HEALTHY, **options)
    assert "\n" not in str(refused.value)
    assert refused.value.exit_code == 2


def test_full_has_every_result_with_its_interval() -> None:
    answer = ask("show", recorded.HEALTHY)
    details = [table for table in answer.tables if table.detail]
    ids = {name for table in details if "id" in table.frame.columns for name in table.frame["id"]}
    assert ids == set(Run.of(recorded.HEALTHY).rows)
    text = render(answer, full=True)
    assert text.count("±") > 100
    assert max(map(len, text.splitlines())) <= 80


def test_cases_without_results_are_grouped_by_reason(tmp_path: Path) -> None:
    reasons = ask("show", recorded.frontier(tmp_path)).table("show.reasons").frame
    assert reasons["cases"].sum() == 276
    assert reasons["cases"].to_list() == sorted(reasons["cases"], reverse=True)
    assert reasons["reason"].is_duplicated().sum() == 0


def test_json_has_header_findings_and_all_rows(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["show", str(recorded.CPU), "--json"])
    assert stopped.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert found["header"]["plan"]["ids"]
    assert found["missing"] == []
    assert {one["code"] for one in found["findings"]} >= {"show.uncertain"}
    assert sum(len(rows) for key, rows in found["tables"].items() if key.startswith("tables.")) == 42


def test_format_stands_alone() -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["show", str(recorded.HEALTHY), "--format", "osu", "--json"])
    assert stopped.value.code == 2
