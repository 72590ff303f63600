"""Scaling, interference and engines, on a modelled node of which all is known, and on planted rows."""

from __future__ import annotations

from typing import Any

import modelled_run as made
import polars
import pytest
from msgspec.structs import asdict

import linkscope
from linkscope.answers.analyze import interference as beside
from linkscope.answers.analyze import scaling as several
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
SIZE = 512 << 20


@pytest.fixture(scope="module")
def contended(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    """The suite `contention` on three dies of a described Frontier node."""
    where = tmp_path_factory.mktemp("runs") / "run.jsonl"
    return linkscope.run("contention", machine="frontier", devices="gpu:0-2,numa:0-3", output=where)


def table(run: RunFile, name: str) -> polars.DataFrame:
    return linkscope.analyze(run, name).tables[0].frame


def lines(found: polars.DataFrame, row: str) -> list[Json]:
    return found.filter(polars.col("row") == row).to_dicts()


def test_modelled_interference_is_the_max_min_fair_one(contended: RunFile) -> None:
    found = table(contended, "interference")
    rates = found.filter(polars.col("predicted").is_not_null())
    assert len(rates) > 20
    assert (rates["slowdown"] - rates["predicted"]).abs().max() < 0.01  # type: ignore[operator]
    assert beside.UNKNOWN not in rates["verdict"].to_list()
    for row, shared in (("h2d-against", "memory of numa:3"), ("h2d-engine-beside-kernel", "numa:3>gpu:0")):
        (line,) = (line for line in lines(found, row) if line["path"] == "numa:3>gpu:0")
        assert (line["verdict"], line["shared"]) == (beside.SHARED, [shared])
    assert {line["verdict"] for line in lines(found, "h2d-beside-local")} == {beside.NONE}
    assert {line["slowdown"] for line in lines(found, "h2d-beside-local")} == {0.0}


def test_modelled_scaling_names_the_memory_that_two_gpus_share(contended: RunFile) -> None:
    found = table(contended, "scaling").filter(polars.col("efficiency").is_not_null())
    assert len(found) > 12
    assert several.UNKNOWN not in found["verdict"].to_list()
    packed, spread = (lines(found, row) for row in ("host-same-package", "host-spread"))
    assert {(line["verdict"], *line["bottleneck"]) for line in packed if line["flows"] == 2} == {
        (several.SHARED, "memory of numa:3")
    }
    assert {line["verdict"] for line in spread if line["flows"] == 2} == {several.SCALES}
    assert found["gbps"].to_list() == pytest.approx(found["predicted_gbps"].to_list(), rel=0.02)


def flows(pairs: list[tuple[str, str]], rates: list[float], figure: str = "aggregate", overlap: float = 1.0) -> Row:
    """Flows at once, GB/s each, all for that share of the time; one flow is alone."""
    labels = {"figure": figure if len(pairs) > 1 else "first"}
    case = made.case("together", [made.flow(a, b, SIZE) for a, b in pairs], labels)
    together = asdict(made.stats_of([sum(rates) * (1 + 0.0001 * i) for i in range(12)]))
    samples = [
        made.seconds(SIZE, rate, f"{a}{b}{rate}", noise=0.0005) for (a, b), rate in zip(pairs, rates, strict=True)
    ]
    return (
        made.ok(case, samples, aggregate={"gbps": together, "overlap": overlap})
        if len(pairs) > 1
        else made.ok(case, samples)
    )


def test_what_the_topology_does_not_explain_is_unknown() -> None:
    pairs = [("numa:0", "gpu:0"), ("numa:0", "gpu:1")]
    alone = [flows([pair], [50.0]) for pair in pairs]
    for rates, verdict in (([49.5, 49.5], several.SCALES), ([20.0, 20.0], several.UNKNOWN)):
        (line,) = table(made.run(found=[*alone, flows(pairs, rates)]), "scaling").to_dicts()
        assert line["verdict"] == verdict
        assert line["efficiency"] == pytest.approx(sum(rates) / 100, rel=0.01)
        assert line["bottleneck"] == []
    one_source = [("gpu:0", "gpu:1"), ("gpu:0", "gpu:2")]
    rows = [*(flows([pair], [400.0]) for pair in one_source), flows(one_source, [199.0, 199.0])]
    (line,) = table(made.run(found=rows), "scaling").to_dicts()
    assert (line["verdict"], line["bottleneck"]) == (several.SHARED, ["gpu:0>switch:nvswitch"])


@pytest.mark.parametrize(
    ("overlap", "verdict"), [(0.3, several.APART), (0.88, several.UNKNOWN), (1.0, several.UNKNOWN)]
)
def test_flows_that_took_turns_tell_nothing_where_that_may_be_all_that_is_missing(overlap: float, verdict: str) -> None:
    pairs = [("gpu:0", "gpu:1"), ("gpu:1", "gpu:0")]
    rows = [*(flows([pair], [400.0]) for pair in pairs), flows(pairs, [200.0, 200.0], overlap=overlap)]
    run = made.run(found=rows)
    (line,) = table(run, "scaling").to_dicts()
    assert (line["verdict"], line["overlap"]) == (verdict, overlap)
    told = {one.code for one in linkscope.analyze(run, "scaling").findings}
    assert ("analyze.scaling-apart-gpus" in told) == (verdict == several.APART)


def test_without_a_figure_alone_nothing_is_said_of_what_flows_should_reach() -> None:
    (line,) = table(
        made.run(found=[flows([("gpu:0", "gpu:1"), ("gpu:0", "gpu:2")], [199.0, 199.0])]), "scaling"
    ).to_dicts()
    assert (line["efficiency"], line["verdict"]) == (None, several.UNKNOWN)


def test_methods_are_ranked_on_the_paths_that_all_have() -> None:
    rows = []
    for a, b in (("gpu:0", "gpu:1"), ("gpu:1", "gpu:0"), ("gpu:0", "gpu:2")):
        for method, rate in (("copy-engine", 396.0), ("kernel-copy", 371.0)):
            if (b, method) != ("gpu:2", "kernel-copy"):
                case = made.case(method, [made.flow(a, b, SIZE, method)], {"figure": "first", "tier": "nvlink-18"})
                rows.append(made.ok(case, [made.seconds(SIZE, rate, f"{a}{b}{method}", noise=0.0005)]))
    found = table(made.run(found=rows), "engines")
    assert found["method"].to_list() == ["copy-engine", "kernel-copy"]
    assert found["paths"].to_list() == [2, 2]
    assert found["behind"].to_list() == pytest.approx([0, 396 / 371 - 1], abs=0.002)
    assert found["beyond"].to_list() == [False, True]


def test_threads_beyond_those_that_suffice_are_not_counted() -> None:
    rows = []
    for number in (1, 2):
        flow = made.flow("numa:0", "numa:0", 4096, "memcpy", parameters={"threads": number})
        cached = {**made.case(f"cached {number}", [flow], {"figure": "first"}), "cache": "warm"}
        rows.append(made.ok(cached, [made.seconds(4096, 50.0 * number**2, f"cached {number}")]))
    for number, rate in ((1, 10.0), (2, 19.0), (4, 30.0), (8, 30.3), (16, 29.0)):
        for extra, factor in (({}, 1.0), ({"non_temporal": 1}, 1.5)):
            flow = made.flow("numa:0", "numa:0", SIZE, "memcpy", parameters={"threads": number, **extra})
            case = made.case(f"{number}{extra}", [flow], {"figure": "first"})
            rows.append(made.ok(case, [made.seconds(SIZE, rate * factor, f"{number}{extra}", noise=0.0002)]))
    plain, streamed = table(made.run(found=rows), "threads").to_dicts()
    assert (plain["best_threads"], plain["enough_threads"], plain["others"]) == (8, 4, "")
    assert (streamed["best_threads"], streamed["others"]) == (8, "non_temporal=1")
    assert plain["speedup"] == pytest.approx(3.03, rel=0.01)
    assert plain["efficiency"] == pytest.approx(3.03 / 4, rel=0.01)
    assert (plain["clear"], streamed["clear"]) == (True, True)


@pytest.mark.parametrize(("first", "noise", "clear"), [(10.0, 0.0005, True), (10.0, 0.4, False), (14.0, 0.0005, True)])
def test_more_threads_are_faster_only_where_intervals_say_so(first: float, noise: float, clear: bool) -> None:
    """And one thread that is the best is not held against itself."""
    rows = []
    for number, rate in ((1, first), (2, 13.0)):
        flow = made.flow("numa:0", "numa:0", SIZE, "memcpy", parameters={"threads": number})
        case = made.case(f"{number}", [flow], {"figure": "first"})
        rows.append(made.ok(case, [made.seconds(SIZE, rate, f"{number}", noise=noise)]))
    run = made.run(found=rows)
    (line,) = table(run, "threads").to_dicts()
    assert line["clear"] is clear
    assert line["surely_best"] is clear
    told = linkscope.analyze(run, "threads").headline.code
    assert (told == "analyze.threads-unclear") != clear


def test_one_thread_is_best_only_where_intervals_say_so() -> None:
    rows = []
    for number, rate in ((1, 13.5), (2, 13.0)):
        flow = made.flow("numa:0", "numa:0", SIZE, "memcpy", parameters={"threads": number})
        case = made.case(f"{number}", [flow], {"figure": "first"})
        rows.append(made.ok(case, [made.seconds(SIZE, rate, f"{number}", noise=0.4)]))
    found = linkscope.analyze(made.run(found=rows), "threads")
    assert found.tables[0].frame["surely_best"].to_list() == [False]
    assert found.headline.code == "analyze.threads-tie"


@pytest.mark.parametrize(
    ("source", "rate", "verdict", "shared"),
    [
        ("gpu:0", 200.0, beside.SHARED, ["gpu:0>switch:nvswitch"]),
        ("gpu:3", 380.0, beside.UNKNOWN, []),
        ("gpu:3", 399.9, beside.NONE, []),
    ],
)
def test_a_loss_beside_a_copy_from_a_gpu_is_judged(source: str, rate: float, verdict: str, shared: list[str]) -> None:
    measured = made.flow("gpu:0", "gpu:1", SIZE)
    beside_it = made.flow(source, "gpu:2", SIZE, role="background")
    cases = [
        made.case(f"{len(flows)} flows", flows, {"figure": "first"}) for flows in ([measured], [measured, beside_it])
    ]
    alone, crowded = (made.seconds(SIZE, gbps, f"{gbps}", noise=0.0005) for gbps in (400.0, rate))
    rows = [made.ok(cases[0], [alone]), made.ok(cases[1], [crowded, made.seconds(SIZE, 200.0, "background")])]
    (line,) = table(made.run(found=rows), "interference").to_dicts()
    assert (line["verdict"], line["shared"]) == (verdict, shared)
    assert line["slowdown"] == pytest.approx(400 / rate - 1, abs=0.003)


def test_sets_that_differ_in_devices_stand_in_one_line(contended: RunFile) -> None:
    every, shown = linkscope.analyze(contended, "scaling").tables
    assert every.detail
    assert shown.frame["sets"].sum() == every.frame.height > shown.frame.height
