"""Choose: which ways are rivals, who is best at which size, what a wrong choice costs, and how a screen says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import modelled_run as made
import polars
import pytest
import recorded
from modelled_run import there_and_back

import linkscope
from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.best import ANY, Choice, choices
from linkscope.answers.choose import answer
from linkscope.answers.choose_rows import rows as screen_rows
from linkscope.answers.choose_rows import title
from linkscope.cli import main
from linkscope.codecs.tuner.formats import export
from linkscope.errors import LinkscopeError
from linkscope.figures.run import Run
from linkscope.messages.finding import Level
from linkscope.render import render
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.statistics.best import best
from linkscope.statistics.ranges import costs_at, difference

Json = dict[str, Any]
KIB = 1 << 10
KINDS = (("pinned", 55), ("pageable", 10))
SIZES = [KIB << power for power in range(0, 20, 2)]
FIXTURES = recorded.FIXTURES


def rows(method: str, alpha: float, gbps: float, ends: tuple[str, str] = ("gpu:0", "gpu:1"), **more: Any) -> list[Row]:
    """Return a curve of alpha + size / gbps over ``SIZES``; ``more``: clock, and what else a flow has."""
    clock, memory, source = more.pop("clock", "device"), more.pop("memory", ""), more.pop("source", "")
    name = "/".join([method, memory, source, clock, *map(str, more.values())])
    found = []
    for size in SIZES:
        flow = made.flow(*ends, size, method, **more)
        flow["destination"]["memory"] = memory or flow["destination"]["memory"]
        flow["source"]["memory"] = source or flow["source"]["memory"]
        plan_case = made.case(name, [flow], {"figure": "first", "tier": "nvlink-18"}, clock)
        row = made.ok(plan_case, [made.seconds(size, size / (alpha + size / gbps * 1e-9) * 1e-9, name)])
        found.append(Row.from_json({**row.raw, "modelled": False, "backend": "cuda"}))
    return found


def file(*curves: list[Row]) -> RunFile:
    return made.run(found=[row for curve in curves for row in curve])


def every(*curves: list[Row]) -> list[Choice]:
    return choices(Run(file(*curves)).results)


def chosen(*curves: list[Row]) -> list[Choice]:
    return [one for one in every(*curves) if one.ranges]


def only(found: list[Choice]) -> Choice:
    (one,) = found
    return one


def answered(*curves: list[Row]) -> Answer:
    return answer(Run(file(*curves)))


def codes(found: Answer) -> set[str]:
    return {one.code for one in (*found.findings, *found.details)}


def messages(sizes: list[int], mpi: float = 8e-7, shm: float = 2e-7) -> list[Row]:
    return [*there_and_back("mpi", "pageable", mpi, sizes), *there_and_back("shm-copy", "shm", shm, sizes)]


def size_of(row: Row) -> int:
    return int(row.case["flows"][0]["bytes"])


def with_seconds(row: Row, **bounds: float) -> Row:
    flow = row.raw["flows"][0]
    return Row.from_json({**row.raw, "flows": [{**flow, "seconds": {**flow["seconds"], **bounds}}]})


def warm(curve: list[Row]) -> list[Row]:
    return [Row.from_json({**row.raw, "case": {**row.case, "cache": "warm"}}) for row in curve]


def test_two_methods_cross_and_the_price_of_each_is_known() -> None:
    one = only(chosen(rows("kernel-copy", 2e-6, 350), rows("copy-engine", 9e-6, 400)))
    assert (one.task.movement, one.task.line["tier"], one.task.memories) == ("gpu>gpu", "nvlink-18", "device>device")
    assert [span.best for span in one.ranges] == [("kernel-copy",), ("copy-engine",)]
    (crossing,) = one.crossovers
    true = 7e-6 / (1 / 350e9 - 1 / 400e9)
    assert crossing.at.low / 1.2 < true < crossing.at.high * 1.2
    small = one.sizes[0]
    assert best(costs_at(one.rivals, small)) == ("kernel-copy",)
    assert difference(one.rivals, "copy-engine", small) == pytest.approx(9 / 2 - 1, rel=0.05)
    assert one.always is not None
    assert one.always[0] == "kernel-copy"
    assert one.always[1] == pytest.approx(400 / 350 - 1, abs=0.05)


def test_launches_are_said_to_be_left_out_where_kernels_and_copies_meet() -> None:
    curves = [rows("kernel-copy", 2e-6, 350), rows("copy-engine", 9e-6, 400)]
    assert "choose.launch-clock" in codes(answered(*curves))
    by_host = [rows("kernel-copy", 2e-6, 350, clock="host"), rows("copy-engine", 9e-6, 400, clock="host")]
    assert not {"choose.launch", "choose.launch-clock"} & codes(answered(*curves, *by_host)), "the run has both"
    graphs = [rows(method, 2e-6, 350, parameters={"graph": 16}) for method in ("kernel-copy", "copy-engine")]
    assert "choose.launch-clock" not in codes(answered(*graphs)), "every kernel of a graph has a launch"
    (aside,) = [one for one in answer(Run.of(recorded.HEALTHY)).findings if one.code == "choose.launch"]
    assert aside.facts["suite"] == "default"


def test_identical_ways_tie() -> None:
    one = only(chosen(rows("kernel-copy", 2e-6, 350), rows("copy-engine", 2e-6, 350)))
    assert one.ties
    assert set(one.ranges[0].best) == {"copy-engine", "kernel-copy"}
    found = answered(rows("kernel-copy", 2e-6, 350), rows("copy-engine", 2e-6, 350))
    assert (found.headline.code, found.exit_code) == ("choose.all-tie", 0)


def test_medians_that_intervals_cannot_tell_apart_tie() -> None:
    def wide(row: Row) -> Row:
        middle = row.flows[0].seconds.median
        return with_seconds(row, low=middle * 0.6, high=middle * 1.5)

    one = only(chosen(list(map(wide, [*rows("kernel-copy", 2e-6, 350), *rows("copy-engine", 2.8e-6, 250)]))))
    assert one.ties
    assert difference(one.rivals, "copy-engine", one.sizes[0]) == pytest.approx(0.4, abs=0.01)


def test_a_parameter_left_as_it_is_makes_no_rival() -> None:
    ends = ("numa:0", "numa:0")
    named = rows("memcpy", 1e-6, 20, ends, clock="host", parameters={"non_temporal": 0})
    other = rows("memcpy", 1e-6, 10, ends, clock="host", parameters={"non_temporal": 1})
    unnamed = rows("memcpy", 1e-6, 20, ends, clock="host")
    assert set(only(chosen(named, unnamed, other)).rivals) == {"memcpy", "memcpy non_temporal=1"}


@pytest.mark.parametrize(
    "other",
    [
        {"clock": "host"},
        {"parameters": {"until": "return"}},
        {"parameters": {"call": "window"}},
        {"ends": ("gpu:0", "numa:0")},
    ],
    ids=["another clock", "only the call", "many in flight", "another movement"],
)
def test_what_is_not_the_same_thing_is_no_rival(other: Json) -> None:
    curves = rows("kernel-copy", 2e-6, 350), rows("copy-engine", 2e-6, 400, **other)
    assert every(*curves) == []
    found = answered(*curves)
    assert (found.headline.code, found.outcome, found.exit_code) == ("choose.nothing", Outcome.UNTESTED, 3)


def test_warm_results_and_others_are_no_rivals() -> None:
    assert every(rows("kernel-copy", 2e-6, 350), warm(rows("copy-engine", 2e-6, 400))) == []


@pytest.mark.parametrize(("clock", "asked"), [("device", 0), ("host", 1)])
def test_pageable_memory_is_a_rival_where_the_clock_sees_the_hosts_work(clock: str, asked: int) -> None:
    ends = ("numa:0", "gpu:0")
    curves = [rows("copy-engine", 2e-6, rate, ends, clock=clock, source=kind) for kind, rate in KINDS]
    assert len(chosen(*curves)) == asked


def test_what_gpus_do_comes_first_on_the_screen() -> None:
    host = [
        rows("memcpy", 1e-6, rate, ("numa:0", "numa:0"), clock="host", parameters={"threads": n})
        for n, rate in ((1, 1), (8, 100))
    ]
    found = answered(*host, rows("kernel-copy", 2e-6, 350), rows("copy-engine", 3e-6, 350))
    headings = found.table("choose.fastest").frame["heading"].unique(maintain_order=True).to_list()
    assert headings[0] == "GPU -> GPU"
    assert headings[1].startswith("host memory, memcpy")
    assert "choose.one-run" in codes(found)


@pytest.mark.parametrize("modelled", [False, True])
def test_one_run_of_cpus_is_uncertain_but_not_of_a_model(modelled: bool) -> None:
    ends = ("numa:0", "numa:0")
    curves = [rows("memcpy", 1e-6, rate, ends, clock="host", parameters={"threads": rate}) for rate in (1, 100)]
    found = answered(*([Row.from_json({**row.raw, "modelled": modelled}) for row in curve] for curve in curves))
    assert ("choose.one-run" in codes(found)) is not modelled


def test_flows_beside_others_are_rivals_only_of_the_same_company() -> None:
    def pair(method: str, size: int, role: str) -> Row:
        flows = [made.flow("gpu:0", "gpu:1", size, method), made.flow("gpu:2", "gpu:1", size, method, role=role)]
        plan_case = made.case(f"{method}/{role}", flows, {"figure": "sum", "tier": "nvlink-18"})
        return made.ok(plan_case, [made.seconds(size, 100, method)] * 2)

    alone = rows("kernel-copy", 0, 300)
    assert every(alone, [pair("copy-engine", size, "background") for size in SIZES]) == []
    assert every(alone, [pair("copy-engine", size, "measured") for size in SIZES]) == []
    together = [[pair(method, size, "measured") for size in SIZES] for method in ("copy-engine", "kernel-copy")]
    assert only(chosen(*together)).task.movement == "gpus>gpu"


def test_memory_that_is_open_is_chosen_too() -> None:
    ends = ("numa:0", "gpu:0")
    bound, free = chosen(
        rows("copy-engine", 9e-6, 55, ends),
        rows("copy-engine", 9e-6, 20, ends, memory="managed"),
        rows("kernel-copy", 3e-6, 50, ends),
    )
    assert (bound.task.memories, set(bound.rivals)) == ("pinned>device", {"copy-engine", "kernel-copy"})
    assert free.task.memories == ANY
    assert set(free.rivals) == {"copy-engine to device", "copy-engine to managed", "kernel-copy to device"}
    assert free.ranges[-1].best == ("copy-engine to device",)


def test_messages_there_and_back_are_chosen_by_their_time() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    one = only(
        chosen(there_and_back("mpi", "pageable", 8e-7, [*sizes, 16]), there_and_back("shm-copy", "shm", 2e-7, sizes))
    )
    assert [span.best for span in one.ranges] == [("shm-copy from shm to shm",)]
    assert one.sizes == sizes, "of one way alone nobody is the best"
    assert difference(one.rivals, "mpi from pageable to pageable", 8) == pytest.approx(3)


def test_sizes_that_intervals_leave_open_are_in_no_range() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    known = [*messages(sizes), *there_and_back("mpi", "pageable", 8e-7, [16])]
    unsure = [
        with_seconds(row, low=1e-7, high=1e-5) if "mpi" in row.id and size_of(row) in (16, 64, 64 * KIB) else row
        for row in known
    ]
    one = only(chosen(unsure))
    assert one.sizes == [8, KIB]
    assert one.undecided == (64, 64 * KIB), "16 B has one way alone"
    assert [(span.first, span.last) for span in one.ranges] == [(8, 8), (KIB, KIB)]
    assert only(chosen(known)).undecided == ()
    assert answered(unsure).table("choose.fastest").frame.height == 3, "a row for the sizes without an answer"


@pytest.mark.parametrize(("open_", "ends"), [(8, (64, None)), (64 * KIB, (0, KIB))])
def test_an_exported_range_ends_where_sizes_beyond_it_are_left_out(open_: int, ends: tuple[int, int | None]) -> None:
    unsure = [
        with_seconds(row, low=1e-7, high=1e-5) if "mpi" in row.id and size_of(row) == open_ else row
        for row in messages([8, 64, KIB, 64 * KIB])
    ]
    (held,) = json.loads(export("json", Run(file(unsure))))["choices"]
    assert held["left_out"] == [open_]
    assert (held["ranges"][0]["first"], held["ranges"][-1]["last"]) == ends


def test_an_unknown_result_counts_where_it_is_told_apart_all_the_same() -> None:
    known = messages([8, 64, KIB, 64 * KIB], mpi=8e-6)
    wide = [with_seconds(row, low=5e-8, high=8e-7) if "shm-copy" in row.id else row for row in known]
    one = only(chosen(wide))
    assert [span.best for span in one.ranges] == [("shm-copy from shm to shm",)]
    assert one.undecided == ()


def test_a_run_whose_intervals_leave_every_size_open_has_no_verdict() -> None:
    wide = [with_seconds(row, low=1e-8, high=1e-4) for row in messages([8, 64, KIB, 64 * KIB])]
    assert [one.task.movement for one in every(wide)] == ["host>host/processes"]
    assert chosen(wide) == []
    found = answered(wide)
    assert (found.headline.code, found.outcome, found.exit_code) == ("choose.open", Outcome.UNCLEAR, 3)
    assert found.headline.facts["tasks"] == 1


def test_a_time_of_zero_is_no_cost() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    known = messages(sizes)
    zero = [with_seconds(row, median=0.0, low=0.0, high=0.0) if row is known[-1] else row for row in known]
    assert only(chosen(zero)).sizes == sizes[:-1]


@pytest.mark.parametrize(
    ("samples", "rival", "told"),
    [(6, 94, ["copy-engine"]), (3, 94, ["copy-engine", "kernel-copy"]), (3, 90, ["copy-engine"])],
)
def test_the_range_of_three_samples_tells_less_than_an_interval(samples: int, rival: float, told: list[str]) -> None:
    def scattered(curve: list[Row]) -> list[Row]:
        found = []
        for row in curve:
            flow, median = row.raw["flows"][0], row.flows[0].seconds.median
            times = {**flow["seconds"], "n": samples, "low": 0.98 * median, "high": 1.02 * median}
            flows = [{**flow, "seconds": times, "gbps": {**flow["gbps"], "n": samples}}]
            found.append(Row.from_json({**row.raw, "flows": flows}))
        return found

    found = chosen(scattered(rows("copy-engine", 0, 100)), scattered(rows("kernel-copy", 0, rival)))
    assert [sorted(one.best) for one in only(found).ranges] == [told]


def test_what_two_cases_measured_and_found_another_result_is_known() -> None:
    first, second, rival = rows("copy-engine", 0, 400), rows("copy-engine", 0, 300), rows("kernel-copy", 0, 100)
    again = [
        Row.from_json({**row.raw, "id": f"{row.id}/again", "case": {**row.case, "id": f"{row.id}/again"}})
        for row in second
    ]
    assert only(chosen(first, again, rival)).disagreement == pytest.approx(1 / 3, rel=1e-6)
    (apart,) = [one for one in answered(first, again, rival).details if one.code == "choose.disagreement"]
    assert apart.facts["share"] == pytest.approx(1 / 3, rel=1e-6)
    assert only(chosen(first, rival)).disagreement == 0


def test_only_paths_that_all_rivals_have_count() -> None:
    slow = rows("copy-engine", 1e-6, 10, ("gpu:2", "gpu:3"))
    one = only(chosen(rows("copy-engine", 1e-6, 400), slow, rows("kernel-copy", 1e-6, 300)))
    assert [span.best for span in one.ranges][-1] == ("copy-engine",)


def test_recorded_h200_push_by_kernels_small_and_by_engines_large() -> None:
    found = choices(Run.of(recorded.HEALTHY).results)
    one = next(one for one in found if one.task.movement == "gpu>gpu" and len(one.ranges) > 1)
    engines, kernels = "copy-engine push", "kernel-copy push"
    assert [span.best for span in one.ranges] == [(kernels,), (kernels, engines), (engines,)]
    assert 4 << 20 < one.crossovers[0].at.value < 64 << 20
    assert any(one.ties for one in found), "all pairs at once: no way is better"


def test_all_tasks_of_a_healthy_node_are_on_the_first_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recorded.RUNS)
    found = linkscope.choose(recorded.HEALTHY.name)
    table = found.table("choose.fastest")
    assert table.first == table.frame.height
    assert (found.headline.code, found.headline.facts["tasks"], found.exit_code) == ("choose.fastest", 14, 0)
    lines = render(found).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    ranges = found.table("choose.ranges").frame
    assert ranges["task"].n_unique() == 14
    assert ranges.filter(polars.col("movement") == "gpus<>gpus")["best"].to_list() == [["copy-engine", "kernel-copy"]]


@pytest.mark.parametrize("name", ["h200x4-direct", "h200x4-packets"])
def test_every_collective_is_on_the_first_screen_by_the_name_of_its_library(name: str) -> None:
    found = linkscope.choose(FIXTURES / "runs" / f"{name}.jsonl")
    told = " ".join(found.table("choose.fastest").frame["what"].to_list())
    assert all(
        kind in told for kind in ("all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all")
    )
    methods = found.table("choose.costs").frame["method"]
    assert methods.str.contains("NCCL").any()
    assert not methods.str.contains("xccl").any()
    assert not found.table("choose.fastest").frame["fastest"].str.contains("xccl").any()


@pytest.mark.parametrize(
    ("note", "told"),
    [("nccl 2.28.9, NVLink multicast off (NCCL_NVLS_ENABLE=0)", 1), ("nccl 2.28.9, NVLink SHARP as it chooses", 0)],
)
def test_a_library_that_went_without_its_fastest_way_is_told(
    note: str, told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run.of(FIXTURES / "runs" / "h200x4-packets.jsonl")
    run.results = run.results.with_columns(notes=polars.lit([note]))
    found = [one for one in answer(run).at(Level.WARNING) if one.code == "run.nvls-off"]
    assert [one.facts["library"] for one in found] == ["NCCL"] * told


def test_a_cut_run_is_answered_without_a_verdict(tmp_path: Path) -> None:
    found = linkscope.choose(recorded.cut_short(tmp_path))
    assert (found.headline.code, found.outcome, found.exit_code) == ("choose.cut-short", Outcome.UNTESTED, 3)
    assert [one.code for one in found.at(Level.ERROR)] == ["run.cut-short"]
    assert found.table("choose.fastest").frame.height


def test_a_model_has_no_verdict_word_and_no_answer_where_it_assumes_latencies(tmp_path: Path) -> None:
    found = linkscope.choose(recorded.frontier(tmp_path))
    assert found.run.modelled
    assert (found.headline.code, found.outcome, found.exit_code) == ("choose.fastest", None, 0)
    assert "choose.assumed" in codes(found)
    assert "choose.one-run" not in codes(found)
    sizes = found.table("choose.ranges").frame.filter(polars.col("movement") == "gpu>gpu")["sizes"].to_list()
    assert min(first for first, _ in sizes) >= 1 << 20
    tiers = found.table("choose.ranges").frame.filter(polars.col("movement") == "gpu>gpu")["tier"]
    assert tiers.n_unique() == 6


def test_what_disturbed_the_run_is_in_every_form() -> None:
    found = linkscope.choose(recorded.PAIR, recorded.PAIR_AGAIN)
    told = {one.code for one in found.at(Level.WARNING)}
    assert "doctor.load" in told
    data = json.loads(render(found, "json"))
    assert told <= {one["code"] for one in data["findings"]}


def test_a_reader_gets_the_tasks_that_he_names() -> None:
    run = Run.of(recorded.HEALTHY)
    for word in ("HOST -> gpu", "host to GPU"):
        movements = answer(run, table=word).table("choose.ranges").frame["movement"].unique().to_list()
        assert movements == ["host>gpu"]
    assert answer(run, table="warm").table("choose.ranges").frame["task"].n_unique() == 1
    for word in (" ", "hist to GPU", "nothing like it"):
        with pytest.raises(LinkscopeError):
            answer(run, table=word)


def test_titles_of_all_tasks_differ() -> None:
    for path in (recorded.HEALTHY, recorded.DIRECT):
        titles = [title(one) for one in choices(Run.of(path).results)]
        assert len(titles) == len(set(titles))


def test_costs_of_every_method_are_in_the_data() -> None:
    frame = linkscope.choose(recorded.HEALTHY).table("choose.costs").frame
    small = frame.filter(polars.col("bytes") == 64 * KIB, polars.col("question").str.starts_with("GPU -> GPU"))
    assert small["way"].to_list() == ["kernel-copy push", "copy-engine push"]
    assert small["extra"].to_list()[1] == pytest.approx(4.36, abs=0.01)
    assert small["best"].to_list() == [True, False]


@pytest.mark.parametrize("words", [["--json"], ["--full"], ["--table", "GPU"]])
def test_an_export_takes_no_other_options(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["choose", str(recorded.HEALTHY), "--export", "json", "-o", str(tmp_path / "a.json"), *words])
    assert left.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "a.json").exists()


def test_json_holds_what_the_terminal_says(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["choose", str(recorded.HEALTHY), "--json"])
    assert left.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert {"choose.fastest", "choose.ranges", "choose.costs"} == set(found["tables"])
    assert (found["outcome"], found["exit_code"]) == (None, 0)


def test_of_an_applications_messages_the_fastest_way_is_told() -> None:
    found = linkscope.choose(FIXTURES / "applications" / "h100-halo-2-ranks.jsonl")
    free = found.table("choose.ranges").frame.filter(polars.col("memories") == ANY)
    assert free["best"].to_list() == [["direct, managed"]]


def test_a_slow_gpu_is_told_with_the_ranking(tmp_path: Path) -> None:
    found = linkscope.choose(recorded.bad_link(tmp_path))
    (slow,) = [one for one in found.at(Level.WARNING) if one.code == "choose.slow"]
    assert (slow.facts["headline"], slow.where) == ("explain.slow", ("gpu:1",))
    assert slow.results == linkscope.explain(tmp_path / "bad-link.jsonl").headline.results
    assert not any(one.code == "choose.slow" for one in linkscope.choose(recorded.HEALTHY).findings)


def test_tasks_that_need_more_lines_than_a_screen_have_one_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path, tasks in ((recorded.bad_link(tmp_path), 14), (recorded.frontier(tmp_path), 29)):
        found = linkscope.choose(path.name)
        table = found.table("choose.fastest")
        assert found.headline.facts["tasks"] == tasks
        assert (table.first, table.columns[-1].name) == (table.frame.height, "most")
        lines = render(found).splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80


def test_a_row_for_a_task_names_who_is_fastest_from_which_size_on(tmp_path: Path) -> None:
    first, *_ = linkscope.choose(recorded.bad_link(tmp_path)).table("choose.fastest").frame.iter_rows(named=True)
    assert [part.split()[0] for part in first["fastest"].split("; ")] == ["kernel-copy", "copy-engine"]
    assert first["fastest"].endswith("64 MiB")
    assert first["others"] == [0, first["most"]], "methods tie at 16 MiB"


def test_tests_that_kept_their_sizes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    linkscope.run("latency", output=path, machine="h200x4", sizes="4K,1M", progress="none")
    (kept,) = [one for one in linkscope.choose(path).findings if one.code == "run.other-sizes"]
    assert kept.facts["tests"]


def test_ways_that_tie_where_they_were_measured_need_no_price() -> None:
    def at(method: str, sizes: list[int]) -> list[Row]:
        return [row for row in rows(method, 2e-6, 350) if size_of(row) in sizes]

    curves = [at(method, SIZES[:2]) for method in ("copy-engine", "kernel-copy")]
    curves += [at(method, SIZES[-2:]) for method in ("copy-batch", "bulk-copy")]
    choice = only(chosen(*curves))
    assert [len(span.best) for span in choice.ranges] == [2, 2]
    (row,) = [row for row in screen_rows([choice], "NCCL", 2) if row.brief]
    assert row.others == (0, 0)


def test_all_collectives_of_a_model_are_answered_on_one_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    linkscope.run("collectives", output=Path("run.jsonl"), machine="h200x4", progress="none")
    found = linkscope.choose("run.jsonl")
    table = found.table("choose.fastest")
    assert table.first == table.frame.height
    lines = render(found).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
