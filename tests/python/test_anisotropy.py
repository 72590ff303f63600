"""Anisotropy and NUMA: a planted difference is found with its size, noise alone is none."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import modelled_run as made
import polars
import pytest

import linkscope
from linkscope.answers.analyze.anisotropy import GPUS, anisotropy
from linkscope.answers.analyze.comparing import usable
from linkscope.answers.analyze.numa import numa
from linkscope.figures.run import Run
from linkscope.machine.node import Device, Node
from linkscope.results.row import Row

Json = dict[str, Any]
SIZE = 512 << 20
RECORDED = Path(__file__).parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"


def copied(source: str, destination: str, gbps: float, noise: float = 0.002, **more: Any) -> Row:
    """A copy driven by its source, unless ``more`` says otherwise."""
    case = made.case("copy", [made.flow(source, destination, SIZE, **more)], {"figure": "first"})
    return made.ok(case, [made.seconds(SIZE, gbps, f"{source}{destination}{gbps}", noise=noise)])


def pairs(rates: dict[tuple[int, int], float], rng: random.Random, noise: float) -> polars.DataFrame:
    """Anisotropy of four GPUs that reach 400 GB/s, or what ``rates`` says, give or take ``noise``."""
    found = [
        copied(f"gpu:{a}", f"gpu:{b}", rates.get((a, b), 400.0) * (1 + rng.gauss(0, noise)), noise)
        for a in range(4)
        for b in range(4)
        if a != b
    ]
    return anisotropy(usable(Run(made.run(found=found))))


def test_a_planted_asymmetry_is_found_with_its_size() -> None:
    found = pairs({(1, 3): 380.0}, random.Random(1), 0.001)
    (line,) = found.filter("beyond").iter_rows(named=True)
    assert (line["a"], line["b"], line["between"]) == ("gpu:1", "gpu:3", GPUS)
    assert line["ratio_low"] < 380 / 400 < line["ratio_high"] + 0.003
    assert line["ratio"] == pytest.approx(0.95, abs=0.01)
    assert len(found) == 6
    assert set(found["driver"]) == {"push"}
    pulled = [copied(*ends, 400.0, executor=ends[1]) for ends in (("gpu:0", "gpu:1"), ("gpu:1", "gpu:0"))]
    assert anisotropy(usable(Run(made.run(found=pulled))))["driver"].to_list() == ["pull"]


def test_noise_alone_makes_none() -> None:
    for noise in (0.001, 0.02):
        found = [int(pairs({}, random.Random(seed), noise)["beyond"].sum()) for seed in range(60)]
        assert sum(found) <= 3, found


def test_the_way_of_a_latency_counts_as_that_of_a_rate() -> None:
    rows = []
    for a, b, time in ((0, 1, 700e-9), (1, 0, 900e-9)):
        case = made.case("chase", [made.flow(f"gpu:{a}", f"gpu:{b}", 64, "pointer-chase")], {"figure": "latency"})
        rows.append(made.ok(case, [[time * (1 + i * 1e-4) for i in range(12)]], latency=True))
    (line,) = anisotropy(usable(Run(made.run(found=rows)))).iter_rows(named=True)
    assert line["ratio"] == pytest.approx(9 / 7, rel=0.001)
    assert line["unit"] == "s"
    assert line["beyond"]


def test_recorded_large_copies_between_gpus_are_alike_both_ways() -> None:
    rates = recorded_pairs().filter(polars.col("between") == GPUS, polars.col("figure") == "first")
    assert len(rates) == 4 * 6
    assert rates["beyond"].to_list() == [False] * len(rates)


def test_latencies_that_differ_are_not_alike() -> None:
    found = recorded_pairs().filter(polars.col("between") == GPUS, polars.col("figure") == "latency")
    open_ones = found.filter(polars.col("beyond").is_null())
    assert [(line["a"], line["b"]) for line in open_ones.iter_rows(named=True)] == [
        ("gpu:0", "gpu:2"),
        ("gpu:1", "gpu:2"),
        ("gpu:2", "gpu:3"),
    ]
    assert open_ones["ratio"].to_list() == pytest.approx([691.0 / 755.8, 711.5 / 764.2, 759.5 / 701.4], abs=1e-3)
    assert found.filter(~polars.col("beyond"))["ratio"].is_between(1 / 1.01, 1.01).all()
    answer = linkscope.analyze(RECORDED, "anisotropy")
    assert (answer.headline.facts["lines"], answer.headline.facts["unclear"]) == (4, 3)


def recorded_pairs() -> polars.DataFrame:
    return anisotropy(usable(Run.of(RECORDED)))


def two_nodes() -> Node:
    gpus = tuple(Device(f"gpu:{i}", "gpu", "Modelled GPU", numa=i) for i in range(2))
    return Node("two", (*gpus, *(Device(f"numa:{i}", "numa", "host memory") for i in range(2))), (), modelled=True)


def test_the_farther_node_costs_what_was_planted() -> None:
    rows = [
        copied(f"numa:{n}", f"gpu:{g}", 50.0 if n == g or g == 1 else 25.0, executor=f"gpu:{g}")
        for n in range(2)
        for g in range(2)
    ]
    rows += [
        copied("numa:0", "numa:0", 20.0, method="memcpy"),
        copied("numa:0", "numa:1", 10.0, method="memcpy"),
    ]
    found = numa(usable(Run(made.run(found=rows))), two_nodes())
    told = {(line["device"], line["near"], line["far"]): line for line in found.iter_rows(named=True)}
    assert set(told) == {
        ("gpu:0", "numa:0", "numa:1"),
        ("gpu:1", "numa:1", "numa:0"),
        ("numa:0", "numa:0", "numa:0>numa:1"),
    }
    costly = told["gpu:0", "numa:0", "numa:1"]
    assert costly["longer"] == pytest.approx(1.0, rel=0.01)
    assert (costly["beyond"], told["gpu:1", "numa:1", "numa:0"]["beyond"]) == (True, False)
    assert told["numa:0", "numa:0", "numa:0>numa:1"]["longer"] == pytest.approx(1.0, rel=0.01)


def test_one_node_has_no_farther_one() -> None:
    run = Run.of(RECORDED)
    assert numa(usable(run), run.node).is_empty()
