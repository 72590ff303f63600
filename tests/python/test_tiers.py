"""Tiers: a matrix falls into the topology's speed classes, or the pairs that do not are named."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import modelled_run as made
import polars
import pytest

from linkscope.answers.analyze.comparing import usable
from linkscope.answers.analyze.tiers import MERGED, OFF, SAME, tiers
from linkscope.figures.run import Run
from linkscope.machine.node import Device, Link, Node
from linkscope.machine.paths import Paths

Json = dict[str, Any]
RUNS = sorted((Path(__file__).parents[1] / "fixtures" / "runs").glob("*.jsonl"))
LANES = {(0, 1): 4, (2, 3): 4, (0, 2): 2, (1, 3): 2, (0, 3): 1, (1, 2): 1}


def meshed() -> Node:
    """Four GPUs, joined by 4, 2 and 1 lanes of 50 GB/s."""
    devices = [Device(f"gpu:{i}", "gpu", "Modelled GPU", memory_gbps=1600.0) for i in range(4)]
    links = [Link(f"gpu:{a}", f"gpu:{b}", "xgmi", 50.0 * n, n, f"x{n}") for (a, b), n in LANES.items()]
    return Node("meshed", tuple(devices), tuple(links), modelled=True)


def matrix(rate: Any, noise: float = 0.002, size: int = 512 << 20) -> polars.DataFrame:
    """Tiers of a matrix in which a pair of so many lanes reaches ``rate(a, b, lanes)``."""
    found = []
    for a in range(4):
        for b in range(4):
            if a != b:
                case = made.case("push", [made.flow(f"gpu:{a}", f"gpu:{b}", size)], {"figure": "first"})
                gbps = rate(a, b, LANES[min(a, b), max(a, b)])
                found.append(made.ok(case, [made.seconds(size, gbps, f"{a}{b}", noise=noise)]))
    return tiers(usable(Run(made.run(found=found))), Paths(meshed()))


def test_three_classes_are_found_as_the_topology_has_them() -> None:
    found = matrix(lambda a, b, lanes: 38.0 * lanes)
    assert found["agree"].to_list() == [SAME] * 3
    assert found["tiers"].to_list() == [["x4"], ["x2"], ["x1"]]
    assert found["pairs"].to_list() == [4, 4, 4]
    assert found["gbps_median"].to_list() == pytest.approx([152, 76, 38], rel=0.01)


def test_classes_that_the_method_makes_equal_are_merged_but_no_pair_is_off() -> None:
    found = matrix(lambda a, b, lanes: min(38.0 * lanes, 50.0))
    assert found["agree"].unique().to_list() == [MERGED]
    assert [set(names) for names in found["tiers"].to_list()] == [{"x4", "x2"}, {"x1"}]
    assert found["off"].list.len().sum() == 0


@pytest.mark.parametrize("factor", [0.94, 0.5])
def test_a_slow_pair_is_named(factor: float) -> None:
    found = matrix(lambda a, b, lanes: 38.0 * lanes * (factor if (a, b) == (2, 3) else 1))
    assert found["agree"].unique().to_list() == [OFF]
    assert found.filter(polars.col("off").list.len() > 0)["off"].to_list() == [["gpu:2>gpu:3"]]


def test_of_a_class_of_which_half_is_slow_the_slow_half_is_off() -> None:
    found = matrix(lambda a, b, lanes: 38.0 * lanes * (0.7 if {a, b} == {2, 3} else 1))
    (off,) = found.filter(polars.col("off").list.len() > 0)["off"].to_list()
    assert sorted(off) == ["gpu:2>gpu:3", "gpu:3>gpu:2"]


def test_noise_alone_makes_no_class() -> None:
    for seed in range(20):
        rng = random.Random(seed)
        found = matrix(lambda a, b, lanes, rng=rng: 38.0 * lanes * (1 + rng.gauss(0, 0.004)))
        assert found["tiers"].to_list() == [["x4"], ["x2"], ["x1"]], seed


def test_rates_whose_intervals_overlap_are_of_one_class() -> None:
    apart = {noise: matrix(lambda a, b, lanes: 100.0 if lanes < 4 else 106.0, noise) for noise in (0.002, 0.2)}
    assert {noise: found["pairs"].to_list() for noise, found in apart.items()} == {0.002: [4, 8], 0.2: [12]}


@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_recorded_healthy_nodes_have_no_pair_off(path: Path) -> None:
    run = Run.of(path)
    found = tiers(usable(run), run.paths)
    assert found.is_empty() or OFF not in found["agree"].to_list()
    assert found.is_empty() or found.group_by("movement", "role", "method", "bytes").len()["len"].max() == 1
