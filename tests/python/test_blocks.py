"""analyze blocks: costs of pieces, shares of one copy, and SMs of a copy, on made-up times."""

from __future__ import annotations

import math
from typing import Any

import modelled_run as made
import polars
import pytest

import linkscope
from linkscope.answers.analyze.blocks import SHARED_AT, best, costs, lists, sms
from linkscope.answers.analyze.comparing import usable
from linkscope.figures.run import Run
from linkscope.render import render
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile
from linkscope.statistics.piece_cost import piece_cost

KIB, MIB = 1 << 10, 1 << 20
LISTS = [(1000, 1000 * size * KIB) for size in (4, 16, 64)] + [(n, 64 * MIB) for n in (64, 1024, 65536)]
COSTS = {"loop": (8e-6, 1.5e-6, 50.0), "kernel": (6e-6, 0.0, 40.0), "batch": (20e-6, 0.3e-6, 50.0)}


def seconds(api: str, pieces: int, size: int) -> float:
    first, piece, gbps = COSTS[api]
    return first + piece * pieces + size / gbps * 1e-9


def copied(
    name: str,
    size: int,
    time: float,
    method: str,
    parameters: dict[str, object],
    clock: str = "host",
    memory: str = "pinned",
    **conditions: Any,
) -> Row:
    flow = {**made.flow("numa:0", "gpu:0", size, method, parameters=parameters), "executor": "gpu:0"}
    flow["source"] = {"device": "numa:0", "memory": memory}
    case = made.case(f"{name}-{size}-{'-'.join(map(str, parameters.values()))}", [flow], {"title": name}, clock)
    return made.ok({**case, **conditions}, [made.steady(time)])


def run() -> RunFile:
    rows = [
        copied("list", size, seconds(api, n, size), "copy-batch", {"api": api, "count": n, "scatter": "yes"})
        for api in COSTS
        for n, size in LISTS
    ]
    rows += [copied("one", size, 9e-6 + size / 50e9, "copy-engine", {}) for _, size in LISTS[:4]]
    for blocks in (1, 2, 4, 8, 16):
        rate = min(10e9 * blocks, 52e9)
        rows.append(copied("sms", 64 * MIB, 64 * MIB / rate, "kernel-copy", {"blocks": blocks}, "device"))
    return made.run(found=[*rows, trip("pointer-chase", "pinned", 1e-6)])


def trip(method: str, memory: str, time: float) -> Row:
    chase = {**made.flow("numa:0", "gpu:0", 2 * MIB, method), "executor": "gpu:0"}
    chase["source"] = {"device": "numa:0", "memory": memory}
    del chase["destination"]
    case = made.case(f"{method}-{memory}", [chase], {"title": "trip", "figure": "latency"})
    return made.ok(case, [made.steady(time)], True)


@pytest.mark.parametrize("api", COSTS)
def test_the_costs_are_those_that_times_were_made_of(api: str) -> None:
    found = piece_cost([(n, size, seconds(api, n, size)) for n, size in LISTS])
    assert found is not None
    assert (found.first, found.piece, found.rate * 1e-9) == pytest.approx(COSTS[api], rel=1e-4, abs=1e-12)
    assert found.misfit < 1e-6


def test_no_cost_is_below_zero() -> None:
    found = piece_cost([(n, size, size / 50e9 * (1 - 1e-7 * n)) for n, size in LISTS])
    assert found is not None
    assert (found.first >= 0, found.piece) == (True, 0)
    free = piece_cost([(n, size, 1e-6 * n) for n, size in LISTS])
    assert free is not None
    assert (free.rate, free.piece) == (math.inf, pytest.approx(1e-6))


def test_lists_that_do_not_tell_the_costs_apart_have_none() -> None:
    assert piece_cost([(1000, size, 1e-3) for _, size in LISTS]) is None
    assert piece_cost([(n, n * KIB, 1e-6 * n) for n, _ in LISTS]) is None
    assert piece_cost([(n, size, 1.0) for n, size in LISTS[:3]]) is None


def test_a_line_for_each_method_has_its_costs_and_shares() -> None:
    found = costs(lists(usable(Run(run()))))
    assert found["called"].to_list() == list(COSTS)
    kernel = found.filter(polars.col("called") == "kernel").row(0, named=True)
    assert (kernel["piece_s"] or 0) == pytest.approx(0, abs=1e-10)
    for count, size in SHARED_AT:
        wanted = (9e-6 + count * size / 50e9) / seconds("kernel", count, count * size)
        assert kernel[f"share_{size}"] == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize(
    "other",
    [{"memory": "managed"}, {"processes": 2}, {"cache": "warm"}],
    ids=["memory", "processes", "cache"],
)
def test_a_copy_in_other_conditions_is_no_copy_of_the_same_bytes(other: dict[str, Any]) -> None:
    rows = [row for row in run().rows if "/list-" in row.id]
    rows += [copied("one", size, 1e-6, "copy-engine", {}, **other) for _, size in LISTS]
    assert lists(usable(Run(made.run(found=rows))))["of_one"].null_count() == len(COSTS) * len(LISTS)


def test_the_best_method_is_the_fastest_of_each_list() -> None:
    found = best(lists(usable(Run(run()))))
    assert found["piece_bytes"].is_sorted()
    for line in found.iter_rows(named=True):
        times = {api: seconds(api, line["pieces"], line["bytes"]) for api in COSTS}
        assert line["called"] == min(times, key=times.__getitem__)
    assert "1000 x 4 KiB" in found["list"].to_list()


def test_shuffled_lists_are_not_beaten_by_lists_in_order() -> None:
    ordered = copied("list", 4096000, 1e-6, "copy-batch", {"api": "2d", "count": 1000})
    found = best(lists(usable(Run(made.run(found=[*run().rows, ordered])))))
    both = found.filter(polars.col("list") == "1000 x 4 KiB")["called"].to_list()
    assert sorted(both) == ["2d, in order", "kernel"]


def test_blocks_of_a_grid_are_explained_by_bytes_in_flight() -> None:
    (line,) = sms(usable(Run(run()))).iter_rows(named=True)
    assert (line["enough_blocks"], line["in_flight"]) == (8, pytest.approx(10_000, rel=0.01))
    assert line["block_gbps"] == pytest.approx(10, rel=0.01)


def test_the_round_trip_is_the_shortest_from_the_same_memory() -> None:
    others = [trip("bulk-chase", "pinned", 3e-6), trip("pointer-chase", "managed", 0.5e-6)]
    (line,) = sms(usable(Run(made.run(found=[*run().rows, *others])))).iter_rows(named=True)
    assert line["round_trip_s"] == pytest.approx(1e-6, rel=0.01)


def test_the_answer_has_all_three_tables() -> None:
    answer = linkscope.analyze(run(), "blocks")
    assert [table.key for table in answer.tables] == ["analyze.blocks", "analyze.blocks-best", "analyze.blocks-sms"]
    assert answer.headline.code == "analyze.blocks-shared"
    assert max(map(len, render(answer, "text").splitlines())) <= 100
