"""False alarms: runs of one node are alike whatever state a process or a run is in, and a planted 3% is found.

The node is made up of what five default runs of two H200, one after the other, showed (2026-11-27): flags with two
times, launch shapes that a run keeps, waits of the host that take 1.3 us more in one process of three.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from statistics import median
from typing import Any

import modelled_run as made
import polars
import pytest

from linkscope.answers.answer import Outcome
from linkscope.answers.compare import ALPHA, KEY, THRESHOLD, compare, speeds_of
from linkscope.figures.run import Run
from linkscope.results.noise_class import NoiseClass
from linkscope.results.row import Row
from linkscope.results.run_file import fold
from linkscope.statistics.variance import HIGHER, LOWER, differences, judged

Json = dict[str, Any]
KIB, MIB = 1 << 10, 1 << 20
PAIRS = [("gpu:0", "gpu:1"), ("gpu:1", "gpu:0")]
SHAPES = {"blocks": 264, "threads": 512}


def copies(rng: random.Random, slow: dict[tuple[str, str], float]) -> Iterator[tuple[Json, list[float], Json]]:
    """Yield cases of a run of two GPUs with the seconds that each of three processes took and what was tuned."""
    for source, destination in PAIRS:
        factor = slow.get((source, destination), 1.0)

        def flow(
            size: int, of: str = "copy-engine", ends: tuple[str, str] = (source, destination), **more: Any
        ) -> Json:
            return made.flow(*ends, size, of, tuning_group=f"{of}/{size}", **more)

        def times(gbps: float, size: int, processes: float, run: float = 0.0, factor: float = factor) -> list[float]:
            shift = rng.gauss(0, run)
            return [size * 1e-9 / gbps / factor * (1 + shift + rng.gauss(0, processes)) for _ in range(3)]

        for size, gbps in ((512 * MIB, 396.0), (256 * MIB, 394.0), (64 * MIB, 387.0)):
            yield made.case("push", [flow(size)], {}), times(gbps, size, 0.0003), {}
            yield made.case("kernel", [flow(size, "kernel-copy")], {}), times(0.94 * gbps, size, 0.0005), SHAPES
        pull = flow(512 * MIB, "kernel-copy", executor=destination)
        shape = rng.choice((377.2, 375.6))
        yield made.case("pull", [pull], {}), times(shape, 512 * MIB, 0.0003), SHAPES
        for size, gbps in ((4 * KIB, 1.6), (64 * KIB, 24.0), (MIB, 202.0), (16 * MIB, 362.0)):
            yield made.case("by-size", [flow(size)], {}), times(gbps, size, 0.0015, 0.002, 1.0), {}
        for size, least in ((4 * KIB, 7.2e-6), (64 * KIB, 7.6e-6), (MIB, 10.2e-6), (16 * MIB, 51e-6)):
            late = rng.gauss(0, 0.3e-6)
            waits = [least + late + rng.choice((0.0, 0.0, 1.3e-6)) + rng.gauss(0, 0.2e-6) for _ in range(3)]
            yield made.case("waited", [flow(size)], {}, clock="host"), waits, {}
        for size in (8, 64, 512, 4096):
            flag = {**flow(size, "ping-pong"), "executor": source}
            yield made.case("flag", [flag], {}), [rng.choice((0.77e-6,) * 4 + (0.62e-6,)) for _ in range(3)], {}
        for ends in ((source, "numa:0"), ("numa:0", source)):
            pinned = {**flow(256 * MIB, ends=ends), "executor": source}
            yield made.case("host", [pinned], {}), times(55.3, 256 * MIB, 0.003, 0.001, 1.0), {}
            small = {**flow(64 * KIB, ends=ends), "executor": source}
            yield made.case("host-by-size", [small], {}), times(17.2, 64 * KIB, 0.006, 0.003, 1.0), {}
    yield from of_the_host(rng)


def of_the_host(rng: random.Random) -> Iterator[tuple[Json, list[float], Json]]:
    """Yield likewise cases whose processes differ most: of CPUs, of pages that no driver locked, of two processes."""
    for size, gbps in ((MIB, 40.0), (64 * MIB, 12.0), (256 * MIB, 11.0)):
        for name, ends, processes, run in (
            *(("cpu", ("numa:0", "numa:0"), 0.09, 0.03), ("pageable", ("numa:0", "gpu:0"), 0.11, 0.02)),
            ("processes", ("gpu:0", "gpu:1"), 0.03, 0.01),
        ):
            flow = made.flow(*ends, size, "memcpy" if name == "cpu" else "copy-engine")
            if name != "processes":
                flow["source"] = {**flow["source"], "memory": "pageable"}
            case = made.case(name, [flow], {}) | ({"processes": 2} if name == "processes" else {})
            shift = rng.gauss(0, run)
            yield case, [size * 1e-9 / gbps * math.exp(shift + rng.gauss(0, processes)) for _ in range(3)], {}


def run_of(seed: int, **slow: float) -> Run:
    """A run of the node; ``slow``: what is left of the speed of a pair, "forth" or "back"."""
    rng = random.Random(seed)
    pairs = {pair: slow[name] for name, pair in zip(("forth", "back"), PAIRS, strict=True) if name in slow}
    rows = []
    for case, seconds, setting in copies(rng, pairs):
        lines = [made.ok(case, [[time * (1 + rng.gauss(0, 0.002)) for _ in range(12)]]).raw for time in seconds]
        for number, line in enumerate(lines):
            line["flows"][0]["setting"] = setting
            line |= {"modelled": False, "replicate": number}
        rows.append(fold({}, [Row.from_json(line) for line in lines]))
    found = made.run(2, rows)
    return Run.of(found)


@pytest.fixture(scope="module")
def node() -> list[Run]:
    return [run_of(seed) for seed in range(21)]


def test_of_200_comparisons_none_is_an_alarm(node: Sequence[Run]) -> None:
    """All at once, as a comparison each takes long: what is compared, and its class, has the number of its pair."""
    speeds = [speeds_of(run) for run in node]
    pairs = list(islice(combinations(speeds, 2), 200))
    numbered = [
        [
            side.with_columns(polars.format("{} {}", polars.lit(number), "class").alias("class"), pair=number)
            for side in pair
        ]
        for number, pair in enumerate(pairs)
    ]
    base, new = (polars.concat([pair[place] for pair in numbered]) for place in (0, 1))
    every = differences(base, new, ("pair", *KEY)).partition_by("pair")
    assert len(every) == 200
    verdicts = [judged(one, ALPHA, THRESHOLD)["verdict"] for one in every]
    assert not [number for number, found in enumerate(verdicts) if found.is_in([LOWER, HIGHER]).any()]
    alike = compare([node[0]], [node[1]])
    assert (alike.exit_code != 1, alike.data["slower"] + alike.data["faster"]) == (True, 0)


def test_three_percent_of_one_pair_are_found(node: Sequence[Run]) -> None:
    slow = [run_of(100 + seed, forth=0.97) for seed in range(20)]
    found = [compare([one], [other]) for one, other in zip(node, slow, strict=False)]
    right = [one.outcome is Outcome.FAILS and one.headline.where == PAIRS[0] for one in found]
    assert sum(right) >= 19


@pytest.mark.parametrize("of_class", [one.key for one in NoiseClass])
def test_intervals_of_every_class_hold_what_the_other_runs_found(of_class: str, node: Sequence[Run]) -> None:
    frame = polars.concat([run.results.select("id", "class", "value", "value_low", "value_high") for run in node])
    frame = frame.filter(polars.col("class") == of_class)
    held, apart, results = 0.0, 0.0, 0
    for (_,), some in frame.group_by("id"):
        lines = list(some.select("value", "value_low", "value_high").iter_rows())
        for place, (_, low, high) in enumerate(lines):
            held += low <= median(one[0] for other, one in enumerate(lines) if other != place) <= high
        pairs = list(combinations(lines, 2))
        apart += sum(a[2] < b[1] or b[2] < a[1] for a, b in pairs) / len(pairs)
        results += 1
    assert held / frame.height >= 0.9
    assert apart / results <= 0.02
