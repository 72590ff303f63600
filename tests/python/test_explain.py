"""Explain: a healthy node has no problem, a planted fault is named first, two are the first two."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import planted_faults as faults
import polars
import pytest
import recorded
from test_checked_results import checked, explain, found, slow
from test_nominal import with_link_down

import linkscope
from linkscope.answers.answer import Answer, Outcome
from linkscope.answers.checked_results import LATENCY_TOLERANCE, PEERS_SOURCE
from linkscope.answers.questions import ask
from linkscope.messages.catalog import commands
from linkscope.messages.finding import Level, note
from linkscope.render import render
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

ALL = ("gpu:0", "gpu:1", "gpu:2", "gpu:3")
MACHINES = sorted(path.stem for path in (Path(__file__).parents[2] / "machines").glob("*.yaml"))
Json = dict[str, Any]
Named = tuple[tuple[str, ...], str, Json]
"""Where, the cause's code, and facts of it."""
SINGLE: dict[str, tuple[faults.Fault, Named]] = {
    "link down": (faults.lanes_down("gpu:1"), (("gpu:1",), "links-down", {"down": 1, "built": 18})),
    "six links down": (faults.lanes_down("gpu:0", 6), (("gpu:0",), "links-down", {"down": 6, "built": 18})),
    "link down, unsaid": (faults.lanes_down_unsaid("gpu:2"), (("gpu:2",), "likely-links-down", {"down": 1})),
    "two links down, unsaid": (faults.lanes_down_unsaid("gpu:3", 2), (("gpu:3",), "likely-links-down", {"down": 2})),
    "x8": (faults.pcie_narrow("gpu:0"), (("gpu:0",), "pcie-narrow", {"lanes": 8, "most": 16})),
    "x4": (faults.pcie_narrow("gpu:2", 4), (("gpu:2",), "pcie-narrow", {"lanes": 4, "most": 16})),
    "generation 4": (faults.pcie_slow("gpu:3"), (("gpu:3",), "pcie-slow", {"generation": 4, "most": 5})),
    "generation 1": (faults.pcie_slow("gpu:1", 1), (("gpu:1",), "pcie-slow", {"generation": 1, "most": 5})),
    "IOMMU": (faults.translated("gpu:1"), (("gpu:1",), "iommu-translates", {"type": "DMA-FQ"})),
    "throttled": (faults.throttled("gpu:2"), (("gpu:2",), "throttled", {"reasons": ("thermal slowdown",)})),
    "power cap": (faults.capped("gpu:1"), (("gpu:1",), "power-cap", {"watts": 350.0, "default": 700.0})),
    "processes": (faults.shared("gpu:0"), (("gpu:0",), "other-processes", {"processes": 2})),
    "processes, contexts on all": (faults.shared("gpu:1", *ALL), (("gpu:1",), "other-processes", {"processes": 2})),
    "MIG": (faults.sliced("gpu:3"), (("gpu:3",), "mig", {})),
    "ECC": (faults.corrected("gpu:2", "gpu:0", "gpu:1", "gpu:3"), (("gpu:2",), "ecc", {})),
    "no peer access": (
        faults.no_peer_access("gpu:0", "gpu:1"),
        (("gpu:0", "gpu:1"), "no-peer-access", {"pairs": ["gpu:0<>gpu:1"]}),
    ),
    "sender": (faults.slow_sender("gpu:3"), (("gpu:3",), "likely-links-down", {"down": 3})),
    "receiver": (faults.slow_receiver("gpu:1"), (("gpu:1",), "likely-links-down", {"down": 3})),
    "pair": (faults.slow_pair("gpu:2", "gpu:0"), (("gpu:2>gpu:0",), "unknown", {})),
    "memory": (faults.slow_memory("gpu:2"), (("gpu:2",), "unknown", {})),
    "host": (faults.slow_host("gpu:2"), (("gpu:2",), "unknown", {})),
    "shared link": (faults.shared_link("gpu:2", "gpu:3"), (("gpu:2", "gpu:3"), "shared-link", {})),
    "late GPU": (faults.late_row("gpu:1"), (("gpu:1",), "unknown", {})),
    "late pair": (faults.late_pair("gpu:2", "gpu:3"), (("gpu:2>gpu:3",), "unknown", {})),
    "late memory": (faults.late_memory("gpu:0"), (("gpu:0",), "unknown", {})),
    "late, throttled": (faults.throttled_waits("gpu:2"), (("gpu:2",), "throttled", {})),
    "fabric": (faults.slow_fabric, (ALL, "unknown-everywhere", {})),
    "host everywhere": (faults.slow_host_everywhere, (ALL, "unknown-everywhere", {})),
    "copy engines": (faults.slow_engine("copy-engine"), (ALL, "slow-method", {"method": "copy-engine"})),
}
PAIRS = [
    ("link down", "x8"),
    *(("link down, unsaid", other) for other in ("generation 4", "two links down, unsaid", "link down")),
    *(("throttled", other) for other in ("link down", "x8")),
    ("power cap", "throttled"),
    ("processes", "generation 4"),
    ("MIG", "IOMMU"),
    ("no peer access", "x4"),
    ("sender", "receiver"),
    ("pair", "memory"),
    ("host", "x8"),
    *(("shared link", other) for other in ("x8", "link down, unsaid")),
    ("fabric", "MIG"),
    ("late memory", "x8"),
    ("late GPU", "memory"),
    ("late pair", "link down"),
    ("late, throttled", "generation 4"),
    ("link down", "host everywhere"),
    ("copy engines", "x4"),
]


@pytest.fixture(scope="module")
def healthy() -> RunFile:
    return recorded.healthy()


def codes(answer: Answer) -> list[str]:
    return [one.code for one in (*answer.findings, *answer.details)]


def names(problem: Json, wanted: Named) -> bool:
    where, code, facts = wanted
    same = all(problem["facts"].get(name) == value for name, value in facts.items())
    return tuple(problem["where"]) == where and problem["cause"] == f"explain.{code}" and same


def wrapped(answer: Answer) -> bool:
    """Return whether a table's cells take more lines at 80 columns than at 200."""
    tables = replace(answer, headline=note("explain.model"), findings=(), next=(), details=())
    screens = ((width, full) for full in (False, True) for width in (80, 200))
    lines = [render(tables, width=width, full=full).count("\n") for width, full in screens]
    return lines[0] != lines[1] or lines[2] != lines[3]


def with_rows(run: RunFile, changed: Callable[[Row], Row]) -> RunFile:
    return replace(run, rows=tuple(map(changed, run.rows)))


def with_interval(row: Row, value: float = 1.0, low: float = 1.0) -> Row:
    """Return a row of one flow with a rate ``value`` times as high, whose interval begins at ``low`` times its rate."""
    (measured,) = row.flows
    assert measured.gbps is not None
    rate = measured.gbps.median
    return replace(row, flows=(replace(measured, gbps=replace(measured.gbps, median=value * rate, low=low * rate)),))


def test_a_healthy_node_holds(healthy: RunFile) -> None:
    answer = explain(healthy)
    assert (answer.outcome, answer.exit_code, answer.headline.code) == (Outcome.HOLDS, 0, "explain.ok")
    assert answer.headline.facts["checked"] == 114
    assert (found(answer), answer.at(Level.ERROR), answer.data["unclear"]) == ([], (), 0)
    known = checked(answer).filter(polars.col("expected_source") != PEERS_SOURCE, polars.col("unit") == "GB/s")
    kinds = {(kind, method) for kind in ("peer", "host", "local") for method in ("copy-engine", "kernel-copy")}
    assert set(known.select("kind", "method").unique().iter_rows()) == kinds


@pytest.mark.parametrize("name", SINGLE)
def test_a_planted_fault_is_named_first_and_alone(name: str, healthy: RunFile) -> None:
    fault, wanted = SINGLE[name]
    answer = explain(fault(healthy))
    (problem,) = found(answer)
    assert names(problem, wanted), problem
    assert (answer.outcome, answer.exit_code) == (Outcome.FAILS, 1)
    (cause,) = answer.at(Level.ERROR)
    assert (cause.code, cause.where) == (f"explain.{wanted[1]}", wanted[0])
    assert answer.headline.where == wanted[0]
    assert not wrapped(answer)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("link down", "slow"),
        ("pair", "slow-path"),
        ("no peer access", "slow-path"),
        ("late GPU", "late"),
        ("late pair", "late-path"),
        ("fabric", "slow-everywhere"),
        ("shared link", "slow-at-once"),
    ],
)
def test_the_headline_says_where(name: str, code: str, healthy: RunFile) -> None:
    answer = explain(SINGLE[name][0](healthy))
    assert answer.headline.code == f"explain.{code}"
    assert render(answer).count("\n") <= 24


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_planted_faults_are_the_first_two(one: str, other: str, healthy: RunFile) -> None:
    planted = SINGLE[other][0](SINGLE[one][0](healthy))
    problems = found(explain(planted))[:2]
    for wanted in (SINGLE[one][1], SINGLE[other][1]):
        assert any(names(problem, wanted) for problem in problems), problems


def test_gpus_that_are_cut_from_each_other_are_all_named(healthy: RunFile) -> None:
    """Causes that several GPUs share were once told by one GPU's sentence, which left the others out."""
    planted = healthy
    for a, b in (("gpu:0", "gpu:2"), ("gpu:0", "gpu:3"), ("gpu:1", "gpu:2"), ("gpu:1", "gpu:3")):
        planted = faults.no_peer_access(a, b)(planted)
    (problem,) = found(explain(planted))
    assert tuple(problem["where"]) == ALL
    assert len(problem["facts"]["pairs"]) == 4


def test_pairs_that_are_cut_apart_are_two_problems(healthy: RunFile) -> None:
    planted = faults.no_peer_access("gpu:2", "gpu:3")(faults.no_peer_access("gpu:0", "gpu:1")(healthy))
    assert [tuple(one["where"]) for one in found(explain(planted))] == [("gpu:0", "gpu:1"), ("gpu:2", "gpu:3")]


def test_of_two_gpus_with_processes_the_disturbed_one_is_named() -> None:
    pair = RunFile.read(recorded.PAIR)
    answer = explain(faults.shared("gpu:1", "gpu:0")(pair))
    (problem,) = found(answer)
    assert names(problem, (("gpu:1",), "other-processes", {}))
    assert problem["kinds"] == ["peer", "host", "local"]
    assert set(problem["results"]) == set(slow(answer)["id"])


def test_a_process_on_a_gpu_does_not_explain_what_another_gpu_shows() -> None:
    """The paths of gpu:1 to the host are slow for a reason that no state says."""
    run = faults.with_state(faults.slowed(RunFile.read(recorded.PAIR), at_gpu_1, 0.7), "gpu:0", processes=1)
    problems = found(explain(run))
    assert "explain.other-processes" not in {one["cause"] for one in problems}
    assert ["gpu:0"] not in [one["where"] for one in problems]


def at_gpu_1(flow: Json) -> bool:
    return "gpu:1" in faults.ends(flow)


def test_gpus_whose_processes_explain_the_same_results_are_both_named() -> None:
    pair = RunFile.read(recorded.PAIR)
    run = faults.slowed(pair, lambda flow: faults.peer(flow, "gpu:1"), 0.7)
    for gpu in ("gpu:0", "gpu:1"):
        run = faults.with_state(run, gpu, processes=1)
    (problem,) = found(explain(run))
    assert tuple(problem["where"]) == ("gpu:0", "gpu:1")


def test_a_gpu_that_is_throttled_like_another_is_named_beside_it(healthy: RunFile) -> None:
    (problem,) = found(explain(faults.throttled("gpu:3")(faults.throttled("gpu:1")(healthy))))
    assert tuple(problem["where"]) == ("gpu:1", "gpu:3")


@pytest.mark.parametrize(("factor", "lanes", "generations"), [(0.5, 8, 1), (0.25, 4, 2)])
def test_half_of_pcie_alone_is_likely_its_width_and_comes_first(
    factor: float, lanes: int, generations: int, healthy: RunFile
) -> None:
    def alone(row: Row) -> Row:
        struck = all(faults.host(flow, "gpu:1") for flow in row.case["flows"])
        return faults._slower(row, lambda flow: True, factor) if struck else row

    answer = explain(with_rows(healthy, alone))
    (problem,) = found(answer)
    assert names(problem, (("gpu:1",), "likely-pcie", {"lanes": lanes, "built": 16, "generations": generations}))
    both = found(explain(with_rows(faults.shared_link("gpu:2", "gpu:3")(healthy), alone)))
    assert [one["cause"] for one in both] == ["explain.likely-pcie", "explain.shared-link"]


def test_a_link_that_is_down_is_found_on_gpus_that_nobody_published() -> None:
    """Peers are those with links as they were built, so that the GPU has peers that are faster."""
    header = json.loads(json.dumps(with_link_down().header).replace("NVIDIA H200", "Foreign accelerator"))
    answer = explain(replace(with_link_down(), header=header))
    (problem,) = found(answer)
    assert names(problem, (("gpu:1",), "links-down", {"down": 1, "built": 18}))
    assert answer.outcome is Outcome.FAILS


def test_the_screen_names_what_is_fine_and_what_to_look_at(healthy: RunFile) -> None:
    answer = explain(faults.lanes_down("gpu:1")(healthy))
    facts = {one.code: one.facts for one in answer.findings}
    assert facts["explain.evidence-rate"]["slow"] == 34
    assert facts["explain.evidence-rate"]["checked"] == 114
    fails = checked(answer).filter(outcome="fails", unit="GB/s")
    shown = facts["explain.evidence-rate"]["value"] / facts["explain.evidence-rate"]["expected"]
    assert shown == pytest.approx(fails["ratio"].min())
    assert facts["explain.not-it"]["parts"] == ["host", "local"]
    assert facts["explain.not-it"]["others"] == ["gpu:0", "gpu:2", "gpu:3"]
    (check,) = [one for one in answer.findings if one.code == "explain.check-nvlink"]
    assert "nvidia-smi nvlink --status -i 1" in commands(check)


def test_hints_are_for_the_vendor_present(healthy: RunFile) -> None:
    header = json.loads(json.dumps(healthy.header).replace("NVIDIA H200", "AMD Instinct MI300X"))
    header["engine"]["backend"] = "hip"
    answer = explain(faults.lanes_down_unsaid("gpu:2")(replace(healthy, header=header)))
    assert "explain.check-xgmi" in codes(answer)
    assert not any("nvidia" in command for one in (*answer.findings, *answer.details) for command in commands(one))


def test_what_a_cause_says_is_no_warning_besides(healthy: RunFile) -> None:
    answer = explain(faults.throttled("gpu:2")(healthy))
    assert "doctor.throttled" not in codes(answer)
    assert "doctor.throttled" in codes(explain(faults.with_state(healthy, "gpu:2", throttle=["thermal slowdown"])))


def test_a_result_beyond_its_limit_that_is_not_surely_slow_is_no_verdict(healthy: RunFile) -> None:
    of_host = next(row for row in healthy.rows if row.name == "h2d" and row.status == "ok")
    doubtful = with_interval(of_host, value=0.9, low=0.8)
    answer = explain(with_rows(healthy, lambda row: doubtful if row is of_host else row))
    assert (answer.outcome, answer.exit_code, answer.headline.code) == (Outcome.UNCLEAR, 3, "explain.unclear")
    assert found(answer) == []
    (unclear,) = checked(answer).filter(polars.col("outcome") == "unclear")["id"]
    assert unclear == of_host.id
    assert [one.code for one in answer.next] == ["explain.next-rounds"]


def test_a_slow_path_decides_before_one_that_is_unclear(healthy: RunFile) -> None:
    of_host = next(row for row in healthy.rows if row.name == "h2d" and row.status == "ok")
    doubtful = with_interval(of_host, value=0.9, low=0.8)
    run = faults.lanes_down("gpu:1")(with_rows(healthy, lambda row: doubtful if row is of_host else row))
    assert explain(run).outcome is Outcome.FAILS


def test_a_run_without_results_says_why_its_cases_were_skipped() -> None:
    healthy = recorded.healthy()
    lines = [{**row.raw, "status": "skipped", "reason": "no GPU"} for row in healthy.rows]
    skipped = replace(healthy, rows=tuple(map(Row.from_json, lines)))
    answer = ask("explain", skipped)
    assert (answer.outcome, answer.headline.code) == (Outcome.UNTESTED, "explain.no-results")
    (why,) = (one.facts for one in answer.findings if one.code == "show.skipped")
    assert (why["skipped"], why["cases"], why["reason"]) == (len(healthy.rows), len(healthy.rows), "no GPU")


def test_a_run_that_was_cut_short_is_never_normal(tmp_path: Path) -> None:
    answer = ask("explain", recorded.cut_short(tmp_path))
    assert (answer.outcome, answer.exit_code) == (Outcome.UNTESTED, 3)
    (cut,) = answer.at(Level.ERROR)
    assert cut.code == "run.cut-short"
    assert (cut.facts["missing"], cut.facts["cases"]) == (256, 266)
    assert any("--resume" in command for command in commands(cut))


def test_cases_that_failed_fail_the_node(healthy: RunFile) -> None:
    def broken(row: Row) -> Row:
        if not any(faults.copied(flow, "gpu:0", "gpu:1") for flow in row.case["flows"]):
            return row
        line = {**row.raw, "status": "failed", "reason": "wrong bytes at 7", "flows": [], "aggregate": None}
        return Row.from_json(line)

    answer = explain(with_rows(healthy, broken))
    assert (answer.outcome, answer.headline.code) == (Outcome.FAILS, "explain.failed")
    (failed,) = answer.at(Level.ERROR)
    assert failed.where == ("gpu:0", "gpu:1")
    assert set(failed.results) == {row.id for row in healthy.rows if broken(row) is not row}


def test_gpus_of_one_fabric_that_cannot_reach_each_other_are_a_problem_without_a_slow_copy(healthy: RunFile) -> None:
    def refused(row: Row) -> Row:
        pairs = [[end for end in faults.ends(flow) if end.startswith("gpu:")] for flow in row.case["flows"]]
        pair = next((pair for pair in pairs if len(set(pair)) == 2), None)
        if pair is None:
            return row
        line = {**row.raw, "status": "skipped", "reason": f"{pair[0]} has no peer access to {pair[1]}"}
        return Row.from_json({**line, "flows": [], "aggregate": None})

    answer = explain(with_rows(healthy, refused))
    (problem,) = found(answer)
    assert (tuple(problem["where"]), problem["cause"]) == (ALL, "explain.no-peer-access")
    assert answer.headline.code == "explain.unreachable"


@pytest.fixture(scope="module", params=["ac922", "frontier"])
def modelled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    return linkscope.run("default", machine=request.param, output=tmp_path_factory.mktemp("runs") / "run.jsonl")


@pytest.mark.parametrize("machine", MACHINES)
def test_a_healthy_modelled_node_has_no_problem(machine: str, tmp_path: Path) -> None:
    run = linkscope.run("duplex", machine=machine, sizes="256M", output=tmp_path / "run.jsonl")
    answer = explain(run)
    assert answer.data["checked"] > 0
    assert found(answer) == []


def test_a_copy_engine_that_ends_below_its_link_is_no_problem_but_a_step(tmp_path: Path) -> None:
    run = linkscope.run("peer", machine="frontier", sizes="256M", devices="gpu:0,gpu:1", output=tmp_path / "run.jsonl")
    answer = explain(run)
    steps = answer.table("explain.steps").frame
    ceilings = steps.filter(polars.col("engine_gbps") < 0.5 * polars.col("line_gbps"))
    assert set(ceilings["method"]) == {"copy-engine"}
    assert not found(answer)


def test_a_model_has_no_verdict_and_what_it_was_given_is_no_prediction(modelled: RunFile) -> None:
    answer = explain(modelled)
    assert (answer.outcome, answer.exit_code, answer.headline.code) == (Outcome.UNTESTED, 3, "explain.model-predicts")
    assert 0 < answer.headline.facts["predicted"] < answer.headline.facts["known"], "opposite flows alone"
    studies = {one.facts["study"] for one in answer.next if one.code == "explain.next-reproduce"}
    assert studies


def test_a_model_predicts_opposite_flows_for_which_it_has_no_rule(tmp_path: Path) -> None:
    answer = explain(linkscope.run("duplex", machine="h200x4", sizes="256M", output=tmp_path / "run.jsonl"))
    both = checked(answer).filter(polars.col("figure") == "sum", polars.col("expected_source") != PEERS_SOURCE)
    assert set(both["kind"]) == {"peer", "host"}
    assert answer.headline.code == "explain.model-predicts"
    assert answer.headline.facts["predicted"] == both.filter(polars.col("kind") == "peer").height


def test_what_is_not_checked_is_counted(healthy: RunFile) -> None:
    answer = explain(healthy)
    counts = {"cpu": 66, "concurrent": 24, "small": 24, "pageable": 10, "latency": 4}
    assert answer.data["not_checked"] == counts
    assert sum(counts.values()) + answer.data["checked"] == 266


@pytest.mark.parametrize("seed", range(4))
def test_sampling_noise_is_no_problem(seed: int, modelled: RunFile, healthy: RunFile) -> None:
    for run in (modelled, healthy):
        assert found(explain(faults.noisy(run, random.Random(seed), 0.004))) == []


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        (faults.slow_pair("gpu:1", "gpu:0"), "gpu:1>gpu:0"),
        (faults.slow_host("gpu:2"), "gpu:2"),
        (faults.slow_memory("gpu:3"), "gpu:3"),
        (faults.slow_receiver("gpu:1"), "gpu:1"),
    ],
)
def test_a_fault_of_a_node_without_published_results_is_named(
    fault: faults.Fault, where: str, modelled: RunFile
) -> None:
    assert found(explain(fault(modelled)))[0]["where"] == [where]


def test_a_numa_node_that_is_nearer_than_the_nearest_is_named(modelled: RunFile) -> None:
    near = f"numa:{modelled.node.device('gpu:1').numa}"
    far = next(numa.id for numa in modelled.node.of_kind("numa") if numa.id != near)
    (problem,) = found(explain(faults.wrong_numa("gpu:1", near, far, 0.427)(modelled)))
    assert names(problem, (("gpu:1",), "numa-nearer", {"near": near}))
    assert far in problem["facts"]["nearer"]


def test_a_path_that_is_slow_within_what_runs_differ_by_is_no_problem(healthy: RunFile) -> None:
    assert found(explain(faults.unsteady(0.0, 0.9)(healthy)))
    assert not found(explain(faults.unsteady(0.12, 0.9)(healthy)))


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_answers_as_late_as_healthy_peers_may_be_are_no_problem(factor: float, healthy: RunFile) -> None:
    assert not found(explain(faults.late_row("gpu:1", factor)(healthy)))


def test_a_detour_of_peers_over_pcie_is_named(healthy: RunFile) -> None:
    run = faults.over_pcie(healthy)
    assert not found(explain(run))
    (problem,) = found(explain(faults.redirected("gpu:1")(run)))
    assert names(problem, (("gpu:1",), "acs", {}))


def test_problems_are_ranked_by_what_is_missing(healthy: RunFile) -> None:
    problems = found(explain(faults.lanes_down("gpu:1")(faults.pcie_narrow("gpu:0")(healthy))))
    assert [one["where"] for one in problems] == [["gpu:0"], ["gpu:1"]]
    assert problems[1]["cost"] == pytest.approx(1 / 18, abs=0.01)


@pytest.mark.parametrize("factor", [0.99, 1.0, 1.05])
def test_what_healthy_machines_differ_by_is_no_problem(factor: float, healthy: RunFile) -> None:
    assert not found(explain(faults.slowed(healthy, lambda flow: True, factor)))


def test_state_without_slow_results_is_no_problem(healthy: RunFile) -> None:
    odd = faults.with_state(healthy, "gpu:0", pcie_generation=1, throttle=["power cap"], processes=1)
    assert not found(explain(odd))


def test_gpus_of_which_nothing_was_checked_are_named(healthy: RunFile) -> None:
    rows = [row for row in healthy.rows if row.name == "local" and row.case["flows"][0]["executor"] == "gpu:0"]
    answer = explain(replace(healthy, rows=tuple(rows), header=planned(healthy.header, rows)))
    assert answer.headline.code == "explain.ok-partly"
    (unseen,) = [one.facts["gpus"] for one in answer.findings if one.code == "explain.unseen"]
    assert unseen == ["gpu:1", "gpu:2", "gpu:3"]


def planned(header: Json, rows: list[Row]) -> Json:
    """Return a header whose plan has these rows alone."""
    return {**header, "plan": {**header["plan"], "ids": [row.id for row in rows]}}


def test_a_run_with_nothing_but_latencies_is_compared_with_peers(healthy: RunFile) -> None:
    rows = [row for row in healthy.rows if "ping-pong" in {flow["method"] for flow in row.case["flows"]}]
    answer = explain(replace(healthy, rows=tuple(rows), header=planned(healthy.header, rows)))
    assert answer.headline.code == "explain.peers-only"
    assert answer.headline.facts["results"] == len(rows)
    assert 0 < answer.headline.facts["spread"] < LATENCY_TOLERANCE


@pytest.mark.parametrize(
    ("run", "code", "outcome"),
    [
        (recorded.CPU, "explain.no-cpus", Outcome.UNTESTED),
        (recorded.RUNS / "h200x4-packets.jsonl", "explain.no-sizes", Outcome.UNTESTED),
        (recorded.DIRECT, "explain.ok-partly", Outcome.HOLDS),
    ],
)
def test_why_there_is_no_verdict(run: Path, code: str, outcome: Outcome) -> None:
    answer = ask("explain", run)
    assert (answer.headline.code, answer.outcome) == (code, outcome)
    assert not wrapped(answer)


def test_python_gives_the_same_answer(healthy: RunFile) -> None:
    answer = linkscope.explain(str(recorded.HEALTHY))
    assert (answer.question, answer.outcome) == ("explain", Outcome.HOLDS)
    assert linkscope.explain(healthy).headline == answer.headline


def test_limits_are_below_what_rates_are_expected_to_reach_and_above_times(healthy: RunFile) -> None:
    answer = explain(healthy)
    units = dict(checked(answer).select("expected_source", "unit").iter_rows())
    said = [one.facts for one in answer.details if one.code.startswith("explain.source")]
    assert {units[one["citation"]] for one in said} == {"GB/s", "s"}
    for one in said:
        assert all((limit < 1) == (units[one["citation"]] == "GB/s") for limit in one["limits"])
