"""Common cause: a planted fault is blamed on its GPU or pair, and on a method or NUMA node where all GPUs have it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import modelled_run as made
import planted_faults as planted
import polars
import pytest
import recorded
from compared import causes, compare, only, runs, with_code

from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

SENT = ((2e-7, (4e-7, 8e-7, 2e-7)), (2e-8, (4e-7, 2e-7, 9e-7)))
"""Seconds that shm-copy takes, steady, and MPI, which is not; before and after."""


OF_ONE_GPU = {
    "a link down": planted.lanes_down("gpu:1"),
    "PCIe at half its lanes": planted.pcie_narrow("gpu:1"),
    "PCIe a generation lower": planted.pcie_slow("gpu:1"),
    "IOMMU": planted.translated("gpu:1"),
    "throttled": planted.throttled("gpu:1"),
    "power cap": planted.capped("gpu:1"),
    "another process": planted.shared("gpu:1"),
    "MIG": planted.sliced("gpu:1"),
    "ACS": planted.redirected("gpu:1"),
    "slow memory": planted.slow_memory("gpu:1"),
    "slow to the host": planted.slow_host("gpu:1"),
    "late memory": planted.late_memory("gpu:1"),
    "throttled latencies": planted.throttled_waits("gpu:1"),
}
OF_ONE_OF_MANY = {
    "links that nobody reports": planted.lanes_down_unsaid("gpu:1"),
    "slow sender": planted.slow_sender("gpu:1"),
    "slow receiver": planted.slow_receiver("gpu:1"),
    "late answers": planted.late_row("gpu:1"),
    "ECC": planted.corrected("gpu:1", "gpu:0", "gpu:2", "gpu:3"),
}
PARTS = ("compare.part", "compare.part-by", "compare.part-apart")
OF_A_PAIR = {
    "a slow path": planted.slow_pair("gpu:0", "gpu:1"),
    "no peer access": planted.no_peer_access("gpu:0", "gpu:1"),
    "late answers of a pair": planted.late_pair("gpu:0", "gpu:1"),
}


@pytest.mark.parametrize("fault", [*OF_ONE_GPU.values(), *OF_ONE_OF_MANY.values()], ids=[*OF_ONE_GPU, *OF_ONE_OF_MANY])
def test_of_four_gpus_the_faulty_one_is_blamed(fault: planted.Fault) -> None:
    found = compare([recorded.healthy()], [fault(recorded.healthy())])
    assert found.exit_code == 1
    assert {(one.where, one.facts["kind"]) for one in causes(found)} == {(("gpu:1",), "gpu")}


@pytest.mark.parametrize("fault", OF_ONE_GPU.values(), ids=OF_ONE_GPU)
def test_of_two_gpus_the_faulty_one_is_blamed(fault: planted.Fault) -> None:
    base, new = runs()
    found = compare([base], [fault(new)])
    assert found.exit_code == 1
    assert {one.where for one in causes(found)} == {("gpu:1",)}


@pytest.mark.parametrize("fault", [*OF_A_PAIR.values(), planted.lanes_down_unsaid("gpu:1")], ids=[*OF_A_PAIR, "unsaid"])
def test_of_two_gpus_that_are_slow_to_each_other_both_are_named(fault: planted.Fault) -> None:
    base, new = runs()
    assert {frozenset(one.where) for one in causes(compare([base], [fault(new)]))} == {frozenset(("gpu:0", "gpu:1"))}


@pytest.mark.parametrize("fault", OF_A_PAIR.values(), ids=OF_A_PAIR)
def test_of_four_gpus_a_slow_pair_is_blamed(fault: planted.Fault) -> None:
    found = compare([recorded.healthy()], [fault(recorded.healthy())])
    assert {frozenset(one.where) for one in causes(found)} == {frozenset(("gpu:0", "gpu:1"))}


@pytest.mark.parametrize(
    ("fault", "kind", "what"),
    [
        (planted.slow_engine("copy-engine"), "method", "copy-engine"),
        (planted.slow_engine("kernel-copy"), "method", "kernel-copy"),
        (planted.slow_fabric, "kind", "gpu<>gpu"),
        (planted.slow_host_everywhere, "kind", "gpu<>host"),
        (planted.shared_link("gpu:0", "gpu:1"), "kind", "gpus<>host"),
    ],
    ids=["copy engine", "kernel", "fabric", "host", "host at once"],
)
def test_a_fault_of_every_gpu_blames_none(fault: planted.Fault, kind: str, what: str) -> None:
    one = only(compare([recorded.healthy()], [fault(recorded.healthy())]))
    assert (one.facts["kind"], one.facts["what"], one.where) == (kind, what, ())


def test_the_faulty_gpu_is_blamed_through_noise() -> None:
    rng = random.Random(3)
    for fault in (planted.throttled("gpu:1"), planted.pcie_narrow("gpu:1"), planted.lanes_down("gpu:1")):
        noisy = planted.noisy(fault(recorded.healthy()), rng, 0.001)
        found = compare([planted.noisy(recorded.healthy(), rng, 0.001)], [noisy])
        assert found.headline.where == ("gpu:1",)


def busy(run: RunFile) -> RunFile:
    """Return the run as a matrix product of another process on gpu:1 leaves it: kernels suffer most."""
    hit: list[tuple[Callable[[dict[str, Any]], bool], float]] = [
        (lambda flow: planted.kernel(flow) or planted.local(flow, "gpu:1"), 0.51),
        (lambda flow: flow["method"] == "copy-engine", 0.93),
        (lambda flow: flow["method"] in ("pointer-chase", "ping-pong"), 0.8),
    ]
    for slows, factor in hit:

        def of_gpu(flow: dict[str, Any], slows: Callable[[dict[str, Any]], bool] = slows) -> bool:
            return "gpu:1" in planted.ends(flow) and slows(flow)

        run = planted.slowed(run, of_gpu, factor)
    return planted.noisy(run, random.Random(1), 0.004)


@pytest.mark.parametrize("base", [recorded.HEALTHY, recorded.PAIR], ids=["4 GPUs", "2 GPUs"])
def test_another_process_is_no_fault_of_a_method(base: Path) -> None:
    run = RunFile.read(base)
    for new in (busy(run), planted.with_state(busy(run), "gpu:1", processes=1)):
        found = compare([run], [new])
        assert (found.headline.where, found.headline.facts["kind"]) == (("gpu:1",), "gpu")
        assert found.headline.facts["changes"][1] > 2 * found.headline.facts["changes"][0]


@pytest.mark.parametrize("base", [recorded.HEALTHY, recorded.PAIR], ids=["4 GPUs", "2 GPUs"])
def test_memory_host_and_peers_of_one_gpu_are_one_cause(base: Path) -> None:
    run = RunFile.read(base)
    found = compare([run], [planted.slow_all_over("gpu:1")(run)])
    one, parts = only(found), [one for code in PARTS for one in with_code(found, code)]
    assert (one, one.where, one.facts["scope"]) == (found.headline, ("gpu:1",), "any")
    lower = found.table("compare.results").frame.filter(polars.col("verdict") == "lower")["id"].unique()
    assert (one.facts["count"], set(one.results)) == (len(lower), set(lower))
    assert sum(part.facts["count"] for part in parts) == one.facts["count"]
    assert len(parts) > 1
    assert len(found.table("compare.changed").frame) == one.facts["count"]


def test_what_a_gpu_gained_all_over_is_one_cause_whose_parts_are_details() -> None:
    run = recorded.healthy()
    found = compare([planted.slow_all_over("gpu:1")(run)], [run])
    assert (only(found).where, found.exit_code) == (("gpu:1",), 0)
    slower = planted.slow_pair("gpu:2", "gpu:3", 0.5)(run)
    both = compare([planted.slow_all_over("gpu:1")(run)], [slower])
    assert [frozenset(one.where) for one in causes(both)] == [{"gpu:2", "gpu:3"}, {"gpu:1"}]
    assert not {one.code for one in both.findings} & set(PARTS)
    assert {one.code for one in both.details} & set(PARTS)


def test_one_gpu_that_is_slow_all_over_takes_no_others_faults() -> None:
    run = recorded.healthy()
    found = compare([run], [planted.slow_pair("gpu:2", "gpu:3")(planted.slow_all_over("gpu:1")(run))])
    assert [frozenset(one.where) for one in causes(found)] == [{"gpu:1"}, {"gpu:2", "gpu:3"}]


@pytest.mark.parametrize(
    ("fault", "setting", "values"),
    [
        (planted.lanes_down("gpu:1"), "links-nvlink", ("18", "17")),
        (planted.pcie_narrow("gpu:1"), "pcie_lanes", ("16", "8")),
        (planted.pcie_slow("gpu:1"), "pcie_generation", ("5", "4")),
        (planted.capped("gpu:1"), "power_cap_w", ("700.0", "350.0")),
        (planted.shared("gpu:1"), "processes", ("0", "2")),
        (planted.throttled("gpu:1"), "throttled", ("no", "thermal slowdown")),
    ],
    ids=["links", "lanes", "generation", "cap", "processes", "clock"],
)
def test_what_differs_of_the_blamed_gpu_is_the_likely_cause(
    fault: planted.Fault, setting: str, values: tuple[str, str]
) -> None:
    found = compare([recorded.healthy()], [fault(recorded.healthy())])
    (likely,) = with_code(found, "compare.likely")
    assert (likely.facts["device"], likely.facts["setting"]) == ("gpu:1", setting)
    assert (likely.facts["base"], likely.facts["new"]) == values


def test_what_every_result_has_is_no_cause_of_some() -> None:
    sizes = [8, 1 << 10, 64 << 10]

    def sent(shm: float, mpi: float) -> RunFile:
        return measured(
            [
                *made.there_and_back("mpi", "pageable", mpi, sizes),
                *made.there_and_back("shm-copy", "shm", shm, sizes),
            ]
        )

    base, new = ([sent(shm * by, mpi) for by, mpi in zip((1, 1.01, 1.02), mpis, strict=True)] for shm, mpis in SENT)
    one = only(compare(base, new))
    assert (one.facts["kind"], one.facts["what"]) == ("method", "shm-copy")
    assert (one.facts["unchanged"], one.facts["unclear"], len(one.results)) == (0, 0, len(sizes))
    before, after = ([sent(2e-7 * by / fast, 4e-7 * by / fast) for by in (1, 1.01, 1.02)] for fast in (1, 10))
    every = only(compare(before, after))
    assert (len(every.results), every.facts["unclear"], every.where) == (2 * len(sizes), 0, ("numa:0",))


def test_a_change_of_some_that_nothing_sets_apart_is_counted() -> None:
    sizes = [8, 1 << 10, 64 << 10]

    def sent(fast: float, noise: float) -> RunFile:
        steady = made.there_and_back("mpi", "pageable", 4e-7 / fast, sizes)
        return measured([*steady, *made.there_and_back("mpi", "pageable", 4e-6 * noise, [1 << 20])])

    for noises in ((1, 1, 1), (1, 3, 0.4)):
        base, new = (
            [sent(fast * by, noise) for by, noise in zip((1, 1.01, 1.02), noises, strict=True)] for fast in (1, 10)
        )
        one = only(compare(base, new))
        assert (one.facts["kind"], one.facts["count"], one.facts["total"]) == ("none", 3, 4)


def measured(rows: list[Row]) -> RunFile:
    """Return a run that was measured, not modelled."""
    run: RunFile = made.run(found=rows)
    node = {**run.header["node"], "modelled": False}
    return replace(run, header={**run.header, "node": node, "engine": {"backend": "host", "versions": {}}})


def test_a_gpu_whose_host_paths_are_slow_alone_is_blamed_though_all_at_once_are_not() -> None:
    """Flows of all GPUs at once that kept their speed speak against every part of it, and for none elsewhere."""
    healthy, ends = recorded.healthy(), {"gpu:1", "numa:0"}
    alone = tuple(row for row in healthy.rows if all(set(planted.ends(flow)) == ends for flow in row.case["flows"]))
    slow = {row.id: row for row in planted.slowed(replace(healthy, rows=alone), lambda flow: True, 0.5).rows}
    found = compare([healthy], [replace(healthy, rows=tuple(slow.get(row.id, row) for row in healthy.rows))])
    assert (only(found).where, only(found).facts["kind"], only(found).facts["count"]) == (("gpu:1",), "gpu", len(slow))
