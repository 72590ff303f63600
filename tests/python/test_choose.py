"""Choose: which ways are rivals, who is best at which size, and what a wrong choice costs."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import modelled_run as made
import polars
import pytest
from modelled_run import there_and_back

import linkscope
from linkscope.analysis.choose import ANY, Choice, Choices, choose
from linkscope.analysis.figures import figures
from linkscope.cli import main
from linkscope.report import choose_caveats, choose_costs, choose_text, html_use, workload_text
from linkscope.report.exports.formats import export
from linkscope.results.row import Row

Json = dict[str, Any]
KIB = 1 << 10
KINDS = (("pinned", 55), ("pageable", 10))
SIZES = [KIB << power for power in range(0, 20, 2)]
FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDED = FIXTURES / "runs" / "h200x4-default.jsonl"


def rows(method: str, alpha: float, gbps: float, ends: tuple[str, str] = ("gpu:0", "gpu:1"), **more: Any) -> list[Row]:
    """A curve of alpha + size / gbps over ``SIZES``; ``more``: clock, and what else a flow has."""
    clock, memory, source = more.pop("clock", "device"), more.pop("memory", ""), more.pop("source", "")
    name = "/".join([method, memory, source, *map(str, more.values())])
    found = []
    for size in SIZES:
        flow = made.flow(*ends, size, method, **more)
        flow["destination"]["memory"] = memory or flow["destination"]["memory"]
        flow["source"]["memory"] = source or flow["source"]["memory"]
        plan_case = made.case(name, [flow], {"figure": "first", "tier": "nvlink-18"}, clock)
        row = made.ok(plan_case, [made.seconds(size, size / (alpha + size / gbps * 1e-9) * 1e-9, name)])
        found.append(Row.from_json({**row.raw, "modelled": False, "backend": "cuda"}))
    return found


def chosen(*curves: list[Row]) -> Choices:
    return choose(figures(made.run(found=[row for curve in curves for row in curve])))


def only(found: Choices) -> Choice:
    (answer,) = found.answers
    return answer


def test_two_methods_cross_and_the_price_of_each_is_told() -> None:
    answer = only(chosen(rows("kernel-copy", 2e-6, 350), rows("copy-engine", 9e-6, 400)))
    assert (answer.question.movement, answer.question.tier, answer.question.memory) == (
        "GPU to GPU",
        "nvlink-18",
        "device > device",
    )
    assert [one.best for one in answer.ranges] == [("kernel-copy",), ("copy-engine",)]
    (crossing,) = answer.crossovers
    true = 7e-6 / (1 / 350e9 - 1 / 400e9)
    assert crossing.low / 1.2 < true < crossing.high * 1.2
    small = answer.sizes[0]
    assert small.best == ("kernel-copy",)
    assert dict(small.excess)["copy-engine"] == pytest.approx(9 / 2 - 1, rel=0.05)
    assert answer.stake == max(share for at in answer.sizes for _, share in at.excess)
    assert answer.always is not None
    assert answer.always[0] == "kernel-copy"
    assert answer.always[1] == pytest.approx(400 / 350 - 1, abs=0.05)
    assert not answer.modelled


@pytest.mark.parametrize("launch", [3e-6, 20e-6])
def test_a_crossing_with_launches_is_estimated_where_the_run_has_what_one_adds(launch: float) -> None:
    curves = [rows("kernel-copy", 2e-6, 350), rows("copy-engine", 9e-6, 400)]
    aside = only(chosen(*curves))
    assert aside.launches_aside
    assert aside.launched is None
    assert "--clock host" in " ".join(choose_text.closings(aside))
    launches = [
        rows("kernel-copy", 2e-6 + added, 350, parameters={"graph": n})[:3] for n, added in ((0, 0.0), (1, launch))
    ]
    answer = next(one for one in chosen(*curves, *launches).answers if one.crossovers)
    assert answer.crossovers == aside.crossovers
    assert answer.launched is not None
    assert answer.launched.seconds == pytest.approx(launch, rel=0.01)
    assert "--clock host" not in " ".join(choose_text.closings(answer))
    true = (7e-6 - launch) / (1 / 350e9 - 1 / 400e9)
    crossed = [one.size for one in answer.launched.crossovers]
    assert crossed == ([pytest.approx(true, rel=0.3)] if true > 0 else [])


@pytest.mark.parametrize(("graph", "aside"), [(0, True), (1, False), (16, False)])
def test_from_graphs_no_launch_is_aside_as_every_kernel_has_its_own(graph: int, aside: bool) -> None:
    curves = [
        rows(method, alpha, gbps, parameters={"graph": graph})
        for method, alpha, gbps in (("kernel-copy", 2e-6, 350), ("copy-engine", 9e-6, 400))
    ]
    others = [rows("kernel-copy", 2e-6 + added, 350, parameters={"graph": n}) for n, added in ((0, 0), (1, 3e-6))]
    answer = only(chosen(*curves, *(other for other in others if other[0].id != curves[0][0].id)))
    assert answer.crossovers
    assert answer.launches_aside is aside
    assert (answer.launched is not None) is aside


def test_what_does_not_leave_the_noise_is_no_launch() -> None:
    within, engine = rows("kernel-copy", 2e-6, 350), rows("copy-engine", 9e-6, 400)
    each = rows("kernel-copy", 2e-6, 350, parameters={"graph": 1})[:1]
    without, launched = (curve[0].flows[0].seconds for curve in (within, each))
    assert without.median < launched.median < without.high
    answer = only(chosen(within, engine, each))
    assert answer.launches_aside
    assert answer.launched is None


@pytest.mark.parametrize(
    ("row", "offered"),
    [
        ("default d2d-by-size", True),
        ("mine d2d-by-size", False),
        ("default by size", False),
        ("default size[1]", False),
        ("default -o", False),
        ("default size;ls", False),
    ],
)
def test_a_command_is_offered_where_anybody_can_type_it(row: str, offered: bool) -> None:
    answer = replace(only(chosen(rows("kernel-copy", 2e-6, 350), rows("copy-engine", 9e-6, 400))), row=row)
    said = " ".join(choose_text.closings(answer))
    assert "--clock host" in said
    assert ("`linkscope run default -k d2d-by-size" in said) is ("linkscope run" in said) is offered


def test_identical_ways_are_equals() -> None:
    answer = only(chosen(rows("kernel-copy", 2e-6, 350), rows("copy-engine", 2e-6, 350)))
    assert answer.equals
    assert set(answer.ranges[0].best) == {"copy-engine", "kernel-copy"}


def test_the_verdict_counts_what_matters_and_names_the_most() -> None:
    apart = [*rows("kernel-copy", 2e-6, 350), *rows("copy-engine", 8e-6, 350)]
    far = ("gpu:0", "numa:0")
    same = [*rows("kernel-copy", 2e-6, 50, far), *rows("copy-engine", 2e-6, 50, far)]
    one, some, none = (choose_text.verdict(chosen(curves)) for curves in (apart, [*apart, *same], same))
    assert "GPU to GPU" in one
    assert "GPU to GPU" in some
    assert " 1 of 2 " in some
    assert not re.search(r"\b[12] of [12]\b", one + none)
    assert "1 %" in none


def test_what_medians_cost_more_is_told_though_intervals_do_not_tell_them_apart() -> None:
    def wide(row: Row) -> Row:
        raw = json.loads(json.dumps(row.raw))
        stats = raw["flows"][0]["seconds"]
        stats["low"], stats["high"] = stats["median"] * 0.6, stats["median"] * 1.5
        return Row.from_json(raw)

    found = chosen(list(map(wide, [*rows("kernel-copy", 2e-6, 350), *rows("copy-engine", 2.8e-6, 250)])))
    answer = only(found)
    assert answer.equals
    assert answer.spread == pytest.approx(0.4, abs=0.01)
    assert choose_costs.cost(answer.sizes[0], "copy-engine") == "+40 % ?"
    assert choose_costs.cost(answer.sizes[0], "kernel-copy") == "best"
    assert "40 %" in choose_text.verdict(found)


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
    found = chosen(rows("kernel-copy", 2e-6, 350), rows("copy-engine", 2e-6, 400, **other))
    assert found.answers == ()
    assert len(found.unrivalled) == 2


def warm(curve: list[Row]) -> list[Row]:
    return [Row.from_json({**row.raw, "case": {**row.case, "cache": "warm"}}) for row in curve]


def test_warm_figures_and_others_are_no_rivals() -> None:
    found = chosen(rows("kernel-copy", 2e-6, 350), warm(rows("copy-engine", 2e-6, 400)))
    assert found.answers == ()
    assert {question.conditions[-1] for question in found.unrivalled} == {"device clock", "warm caches"}


@pytest.mark.parametrize(("clock", "asked"), [("device", 0), ("host", 1)])
def test_pageable_memory_is_a_rival_where_the_clock_sees_the_hosts_work(clock: str, asked: int) -> None:
    ends = ("numa:0", "gpu:0")
    curves = [rows("copy-engine", 2e-6, rate, ends, clock=clock, source=kind) for kind, rate in KINDS]
    assert len(chosen(*curves).answers) == asked


def test_what_gpus_do_comes_first() -> None:
    host = [
        rows("memcpy", 1e-6, rate, ("numa:0", "numa:0"), clock="host", parameters={"threads": n})
        for n, rate in ((1, 1), (8, 100))
    ]
    found = chosen(*host, rows("kernel-copy", 2e-6, 350), rows("copy-engine", 3e-6, 350))
    assert min(found.answers, key=choose_text.rank).question.movement == "GPU to GPU"
    assert "GPU to GPU" in choose_text.verdict(found)
    assert choose_text.verdict(found).count("launches aside") == 1
    assert "launches aside" not in choose_text.verdict(chosen(*host))


def test_flows_beside_others_are_rivals_only_of_the_same_company() -> None:
    def pair(method: str, size: int, role: str) -> Row:
        flows = [made.flow("gpu:0", "gpu:1", size, method), made.flow("gpu:2", "gpu:1", size, method, role=role)]
        plan_case = made.case(f"{method}/{role}", flows, {"figure": "sum", "tier": "nvlink-18"})
        return made.ok(plan_case, [made.seconds(size, 100, method)] * 2)

    alone = rows("kernel-copy", 0, 300)
    assert chosen(alone, [pair("copy-engine", size, "background") for size in SIZES]).answers == ()
    assert chosen(alone, [pair("copy-engine", size, "measured") for size in SIZES]).answers == ()
    together = [[pair(method, size, "measured") for size in SIZES] for method in ("copy-engine", "kernel-copy")]
    assert only(chosen(*together)).question.conditions[1:] == ("2 to 1 at once",)


def test_memory_that_is_open_is_chosen_too() -> None:
    ends = ("numa:0", "gpu:0")
    found = chosen(
        rows("copy-engine", 9e-6, 55, ends),
        rows("copy-engine", 9e-6, 20, ends, memory="managed"),
        rows("kernel-copy", 3e-6, 50, ends),
    )
    bound, free = found.answers
    assert (bound.question.memory, set(bound.rivals)) == ("pinned > device", {"copy-engine", "kernel-copy"})
    assert free.question.memory == ANY
    assert set(free.rivals) == {"copy-engine to device", "copy-engine to managed", "kernel-copy to device"}
    assert free.ranges[-1].best == ("copy-engine to device",)


def test_messages_there_and_back_are_chosen_by_their_time() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    answer = only(
        chosen(
            there_and_back("mpi", "pageable", 8e-7, [*sizes, 16]),
            there_and_back("shm-copy", "shm", 2e-7, sizes),
        )
    )
    assert [one.best for one in answer.ranges] == [("shm-copy from shm to shm",)]
    assert [at.bytes for at in answer.sizes] == sizes, "of one way alone nobody is the best"
    assert dict(answer.sizes[0].excess)["mpi from pageable to pageable"] == pytest.approx(3)


def test_sizes_that_one_way_does_not_know_are_told() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    known = [
        *there_and_back("mpi", "pageable", 8e-7, [*sizes, 16]),
        *there_and_back("shm-copy", "shm", 2e-7, sizes),
    ]
    unsure = [
        with_seconds(row, low=1e-7, high=1e-5) if "mpi" in row.id and size_of(row) in (16, 64, 64 * KIB) else row
        for row in known
    ]
    answer = only(chosen(unsure))
    assert [at.bytes for at in answer.sizes] == [8, KIB]
    assert answer.unknown == (64, 64 * KIB), "16 B has one way alone"
    assert any("64 B, 64 KiB" in line for line in choose_text.closings(answer))
    assert [(one.first, one.last) for one in answer.ranges] == [(8, 8), (KIB, KIB)]
    assert html_use.in_words(answer).endswith("from 8 B to 1 KiB, 2 of its 3 sizes (not known at 64 B, 64 KiB)")
    assert only(chosen(known)).unknown == ()


def test_a_first_range_of_one_size_is_at_that_size() -> None:
    sizes = [8, 64, KIB]
    known = [*there_and_back("mpi", "pageable", 8e-7, sizes), *there_and_back("shm-copy", "shm", 2e-7, sizes)]
    near = [with_seconds(row, median=2.2e-7, low=1e-7, high=5e-7) if row is known[0] else row for row in known]
    said = html_use.in_words(only(chosen(near)))
    assert "at 8 B" in said
    assert "up to 8 B" not in said


@pytest.mark.parametrize(("open_", "ends"), [(8, (64, None)), (64 * KIB, (0, KIB))])
def test_an_exported_range_ends_where_sizes_beyond_it_are_left_out(open_: int, ends: tuple[int, int | None]) -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    known = [*there_and_back("mpi", "pageable", 8e-7, sizes), *there_and_back("shm-copy", "shm", 2e-7, sizes)]
    unsure = [
        with_seconds(row, low=1e-7, high=1e-5) if "mpi" in row.id and size_of(row) == open_ else row for row in known
    ]
    (held,) = json.loads(export(made.run(found=unsure), "json"))["choices"]
    assert held["left_out"] == [open_]
    assert (held["ranges"][0]["first"], held["ranges"][-1]["last"]) == ends


def test_an_unknown_figure_counts_where_it_is_told_apart_all_the_same() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    known = [*there_and_back("mpi", "pageable", 8e-6, sizes), *there_and_back("shm-copy", "shm", 2e-7, sizes)]
    wide = [with_seconds(row, low=5e-8, high=8e-7) if "shm-copy" in row.id else row for row in known]
    answer = only(chosen(wide))
    assert [one.best for one in answer.ranges] == [("shm-copy from shm to shm",)]
    assert answer.unknown == ()


def test_a_run_whose_intervals_leave_every_size_open_says_so() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    known = [*there_and_back("mpi", "pageable", 8e-7, sizes), *there_and_back("shm-copy", "shm", 2e-7, sizes)]
    found = chosen([with_seconds(row, low=1e-8, high=1e-4) for row in known])
    assert found.answers == ()
    assert found.unrivalled == ()
    assert [one.movement for one in found.undecided] == ["host to host, between processes"]
    assert choose_text.verdict(found).startswith("Cannot tell which way is faster")


def test_a_single_size_that_is_open_within_a_range_is_named() -> None:
    sizes = [8, 64, KIB, 64 * KIB, 1 << 20]
    known = [*there_and_back("mpi", "pageable", 8e-7, sizes), *there_and_back("shm-copy", "shm", 2e-7, sizes)]
    near = [with_seconds(row, low=1e-7, high=5e-7) if "mpi" in row.id and size_of(row) == KIB else row for row in known]
    answer = only(chosen([with_seconds(row, median=2.2e-7) if row is near[2] else row for row in near]))
    assert len(answer.ranges) == 1
    assert choose_text.closings(answer) == ["as good, or not told apart: mpi from pageable to pageable at 1 KiB"]


def test_the_headline_is_of_sizes_at_which_both_ways_are_known() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    known = [*there_and_back("mpi", "pageable", 8e-7, sizes), *there_and_back("shm-copy", "shm", 2e-7, sizes)]
    wild = [with_seconds(row, median=1e-4, low=1e-6, high=1e-2) if row is known[1] else row for row in known]
    answer = only(chosen(wild))
    assert answer.stake == pytest.approx(3), "not 499, of a figure that nobody knows"
    assert answer.dearest is not None
    assert answer.dearest[2].bytes != 64
    likely = [with_seconds(row, median=1e-6, low=4e-7, high=2e-6) if row is known[1] else row for row in known]
    steady = only(chosen(likely)).dearest
    assert steady is not None
    assert (steady[0], steady[2].bytes != 64) == (pytest.approx(3), True), "what is sure, not the largest median"


def test_a_time_of_zero_is_no_cost() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    known = [*there_and_back("mpi", "pageable", 8e-7, sizes), *there_and_back("shm-copy", "shm", 2e-7, sizes)]
    zero = [with_seconds(row, median=0.0, low=0.0, high=0.0) if row is known[-1] else row for row in known]
    assert [at.bytes for at in only(chosen(zero)).sizes] == sizes[:-1]


def test_messages_as_osu_has_them_come_first() -> None:
    sizes = [8, 64, KIB, 64 * KIB]
    usual = [*there_and_back("mpi", "pageable", 8e-7, sizes), *there_and_back("shm-copy", "shm", 2e-7, sizes)]
    one_way = [
        *there_and_back("mpi", "pageable", 8e-6, sizes, call="send"),
        *there_and_back("shm-copy", "shm", 2e-7, sizes, call="send"),
    ]
    found = chosen(one_way, usual)
    first, second = sorted(found.answers, key=choose_text.rank)
    assert "ping-pong" in choose_text.title(first.question)
    assert "one way" in choose_text.title(second.question)


def with_seconds(row: Row, **bounds: float) -> Row:
    flow = row.raw["flows"][0]
    return Row.from_json({**row.raw, "flows": [{**flow, "seconds": {**flow["seconds"], **bounds}}]})


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


def test_what_two_cases_measured_and_found_another_figure_is_told() -> None:
    first, second, rival = rows("copy-engine", 0, 400), rows("copy-engine", 0, 300), rows("kernel-copy", 0, 100)
    again = [
        Row.from_json({**row.raw, "id": f"{row.id}/again", "case": {**row.case, "id": f"{row.id}/again"}})
        for row in second
    ]
    found = chosen(first, again, rival)
    share, way, _ = only(found).disagreement or (0.0, "", 0)
    assert (way, share) == ("copy-engine", pytest.approx(1 / 3, rel=1e-6))
    assert "33 %" in " ".join(choose_caveats.caveats(found))
    assert only(chosen(first, rival)).disagreement is None


def size_of(row: Row) -> int:
    return int(row.case["flows"][0]["bytes"])


def test_only_paths_that_all_rivals_have_count() -> None:
    slow = rows("copy-engine", 1e-6, 10, ("gpu:2", "gpu:3"))
    answer = only(chosen(rows("copy-engine", 1e-6, 400), slow, rows("kernel-copy", 1e-6, 300)))
    assert [one.best for one in answer.ranges][-1] == ("copy-engine",)


def test_recorded_h200_push_by_kernels_small_and_by_engines_large() -> None:
    found = linkscope.choose(RECORDED)
    answer = next(one for one in found.answers if one.question.movement == "GPU to GPU" and len(one.ranges) > 1)
    engines, kernels = "copy-engine push", "kernel-copy push"
    assert [one.best for one in answer.ranges] == [(kernels,), (kernels, engines), (engines,)]
    assert 4 << 20 < answer.crossovers[0].size < 64 << 20
    assert not found.modelled
    assert any(one.equals for one in found.answers)  # all pairs at once: no way is better


def test_modelled_figures_are_said_to_be() -> None:
    assert choose(figures(made.run(found=made.sweep(pairs=1, sizes=4)))).modelled


@pytest.mark.parametrize("options", [[], ["--full"]])
def test_the_terminal_says_it_within_80_columns(
    options: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        main(["choose", str(RECORDED), *options])
    lines = capsys.readouterr().out.splitlines()
    assert left.value.code == 0
    assert any("kernel-copy push" in line for line in lines)
    assert options or len(lines) <= 40


@pytest.mark.parametrize("name", ["h200x4-direct", "h200x4-packets"])
def test_interfaces_come_before_the_settings_of_one_and_every_collective_is_told(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    path = FIXTURES / "runs" / f"{name}.jsonl"
    asked = [sorted(one.interfaces) for one in sorted(linkscope.choose(path).answers, key=choose_text.rank)]
    assert asked == sorted(asked, key=lambda methods: len(methods) < 2)
    assert asked[0] == ["direct-collective", "xccl-collective"]
    with pytest.raises(SystemExit):
        main(["choose", str(path)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 40
    first = {line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")}
    assert {"all-reduce", "reduce", "broadcast", "reduce-scatter", "all-gather", "all-to-all"} <= first


@pytest.mark.parametrize(
    ("note", "told"),
    [
        ("nccl 2.28.9, NVLink multicast off (NCCL_NVLS_ENABLE=0)", 1),
        ("nccl 2.28.9, NCCL_NVLS_ENABLE=0, NVLink SHARP off", 1),
        ("nccl 2.28.9, NVLink SHARP as it chooses", 0),
    ],
)
@pytest.mark.parametrize("noted", ["{}", "a graph uses one slot; {}", "{}; by ncclAlltoAll"])
def test_a_library_that_went_without_its_fastest_way_is_told_with_what_measures_it(
    note: str, told: int, noted: str
) -> None:
    frame = figures(linkscope.read(FIXTURES / "runs" / "h200x4-packets.jsonl"))
    found = choose(frame.with_columns(notes=polars.lit(noted.format(note)).cast(frame.schema["notes"])))
    assert found.settings == ("nccl 2.28.9, NVLS off (NCCL_NVLS_ENABLE=0 was set)",) * told
    assert any("`env -u NCCL_NVLS_ENABLE`" in text for text in choose_caveats.caveats(found)) == bool(told)


@pytest.mark.parametrize("name", ["h100-halo-2-ranks", "frontier-halo-default"])
def test_of_an_applications_messages_the_fastest_way_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = FIXTURES / "applications" / f"{name}.jsonl"
    with pytest.raises(SystemExit):
        main(["choose", str(path)])
    said = " ".join(capsys.readouterr().out.split())
    (halo,) = linkscope.workloads(path)
    assert workload_text.answer(halo) in said
    assert choose_text.verdict(linkscope.choose(path)) not in said


def test_json_holds_what_the_terminal_says(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["choose", str(RECORDED), "--json"])
    found = json.loads(capsys.readouterr().out)
    assert len(found["answers"]) == len(linkscope.choose(RECORDED).answers)
    assert found["modelled"] is False
