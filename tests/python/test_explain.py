"""`linkscope explain`: a healthy node has no finding, a planted fault is named first, two are the first two."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from io import StringIO
from pathlib import Path
from statistics import median

import planted_faults as faults
import pytest
from launching import real_engine
from rich.console import Console
from typer.testing import CliRunner

import linkscope
from linkscope.analysis import latencies
from linkscope.analysis.by_flow import apart
from linkscope.analysis.conditions import differing
from linkscope.analysis.explain import UNKNOWN, Account, Diagnosis, Shortfall, explain
from linkscope.analysis.headline import headline
from linkscope.analysis.layers import Added, Layer
from linkscope.analysis.ledger import SIBLINGS
from linkscope.analysis.left_out import OF_PROCESSES
from linkscope.cli.main import app
from linkscope.machine.expected import expected
from linkscope.report import explain_text, wording
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

__all__ = ["real_engine"]
RECORDED = Path(__file__).parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"
ALL = ("gpu:0", "gpu:1", "gpu:2", "gpu:3")
MACHINES = sorted(path.stem for path in (Path(__file__).parents[2] / "machines").glob("*.yaml"))
Named = tuple[tuple[str, ...], str]
"""Where, and a word of the cause."""
SINGLE: dict[str, tuple[faults.Fault, Named]] = {
    "lane down": (faults.lanes_down("gpu:1"), (("gpu:1",), "1 of 18 nvlink lanes")),
    "six lanes down": (faults.lanes_down("gpu:0", 6), (("gpu:0",), "6 of 18 nvlink lanes")),
    "lane down, unsaid": (faults.lanes_down_unsaid("gpu:2"), (("gpu:2",), "1 of 18 lanes")),
    "two lanes down, unsaid": (faults.lanes_down_unsaid("gpu:3", 2), (("gpu:3",), "2 of 18 lanes")),
    "x8": (faults.pcie_narrow("gpu:0"), (("gpu:0",), "8 of 16 lanes")),
    "x4": (faults.pcie_narrow("gpu:2", 4), (("gpu:2",), "4 of 16 lanes")),
    "generation 4": (faults.pcie_slow("gpu:3"), (("gpu:3",), "generation 4 of 5")),
    "generation 1": (faults.pcie_slow("gpu:1", 1), (("gpu:1",), "generation 1 of 5")),
    "IOMMU": (faults.translated("gpu:1"), (("gpu:1",), "IOMMU")),
    "throttled": (faults.throttled("gpu:2"), (("gpu:2",), "throttled")),
    "power cap": (faults.capped("gpu:1"), (("gpu:1",), "power limit")),
    "processes": (faults.shared("gpu:0"), (("gpu:0",), "other processes")),
    "MIG": (faults.sliced("gpu:3"), (("gpu:3",), "MIG")),
    "ECC": (faults.corrected("gpu:2", "gpu:0", "gpu:1", "gpu:3"), (("gpu:2",), "ECC")),
    "no peer access": (faults.no_peer_access("gpu:0", "gpu:1"), (("gpu:0", "gpu:1"), "no peer access")),
    "sender": (faults.slow_sender("gpu:3"), (("gpu:3",), "")),
    "receiver": (faults.slow_receiver("gpu:1"), (("gpu:1",), "")),
    "pair": (faults.slow_pair("gpu:2", "gpu:0"), (("gpu:2 > gpu:0",), UNKNOWN)),
    "memory": (faults.slow_memory("gpu:2"), (("gpu:2",), UNKNOWN)),
    "host": (faults.slow_host("gpu:2"), (("gpu:2",), UNKNOWN)),
    "shared link": (faults.shared_link("gpu:2", "gpu:3"), (("gpu:2", "gpu:3"), "share a link")),
    "late GPU": (faults.late_row("gpu:1"), (("gpu:1",), UNKNOWN)),
    "late pair": (faults.late_pair("gpu:2", "gpu:3"), (("gpu:2 > gpu:3",), UNKNOWN)),
    "late memory": (faults.late_memory("gpu:0"), (("gpu:0",), UNKNOWN)),
    "late, throttled": (faults.throttled_waits("gpu:2"), (("gpu:2",), "throttled")),
    "fabric": (faults.slow_fabric, (ALL, UNKNOWN)),
    "host everywhere": (faults.slow_host_everywhere, (ALL, UNKNOWN)),
    "copy engines": (faults.slow_engine("copy-engine"), (ALL, "not the links")),
}
PAIRS = [
    ("lane down", "x8"),
    ("lane down, unsaid", "generation 4"),
    ("lane down", "lane down, unsaid"),
    ("lane down, unsaid", "two lanes down, unsaid"),
    ("throttled", "lane down"),
    ("throttled", "x8"),
    ("power cap", "throttled"),
    ("processes", "generation 4"),
    ("MIG", "IOMMU"),
    ("no peer access", "x4"),
    ("sender", "receiver"),
    ("pair", "memory"),
    ("host", "x8"),
    ("shared link", "x8"),
    ("shared link", "lane down, unsaid"),
    ("fabric", "MIG"),
    ("late memory", "x8"),
    ("late GPU", "memory"),
    ("late pair", "lane down"),
    ("late, throttled", "generation 4"),
    ("lane down", "host everywhere"),
    ("copy engines", "x4"),
]


@pytest.fixture(scope="module")
def healthy() -> RunFile:
    return RunFile.read(RECORDED)


def names(found: Shortfall, wanted: Named) -> bool:
    return found.where == wanted[0] and wanted[1] in found.cause


def test_a_healthy_node_has_no_finding(healthy: RunFile) -> None:
    found = explain(healthy)
    assert found.shortfalls == ()
    assert found.unsure == ()
    kinds = {(one.kind, one.method) for one in found.accounts if one.held_against not in ("", SIBLINGS)}
    assert kinds == {(kind, method) for kind in ("peer", "host", "local") for method in ("copy-engine", "kernel-copy")}


def test_a_figure_that_may_be_short_is_named(healthy: RunFile) -> None:
    found = explain(healthy)
    first, *others = found.accounts
    one = explain_text.grounds(replace(found, unsure=(first,)))
    named = f"{first.source} > {first.destination}"
    assert f"1 figure may be short, but too uncertain to tell: {named}" in one
    assert wording.size(first.bytes) in one
    low = replace(others[0], expected_gbps=10 * others[0].measured.median)
    two = explain_text.grounds(replace(found, unsure=(first, low)))
    assert two.index(f"{low.source} > {low.destination}") < two.index(named)
    several = explain_text.grounds(replace(found, unsure=(first, low, others[1])))
    assert f"most of all {low.source} > {low.destination}" in several


def test_gpus_of_which_nothing_was_judged_are_named(healthy: RunFile) -> None:
    rows = [row for row in healthy.rows if row.name == "local" and row.case["flows"][0]["executor"] == "gpu:0"]
    found = explain(replace(healthy, rows=tuple(rows)))
    assert found.judged
    assert found.unseen == ("gpu:1", "gpu:2", "gpu:3")
    assert "Of gpu:1, gpu:2 and gpu:3 nothing was judged." in explain_text.headline(found)
    assert explain(healthy).unseen == ()


def test_with_each_source_stands_from_where_on_a_figure_is_short(healthy: RunFile) -> None:
    found, stream = explain(healthy), StringIO()
    explain_text.show(found, Console(file=stream, width=200))
    told = {one.partition("]")[0]: one for one in stream.getvalue().split("\n[")[1:]}
    known = [one for one in found.accounts if one.held_against not in ("", SIBLINGS)]
    assert {f"short below {(1 - one.tolerance) * 100:.0f} %" in " ".join(told.values()) for one in known} == {True}
    assert all("; short " in text for text in told.values())


def test_a_figure_beyond_its_tolerance_that_is_not_surely_short_is_not_counted_as_fast(healthy: RunFile) -> None:
    of_host = next(row for row in healthy.rows if row.name == "h2d" and row.status == "ok")
    (measured,) = of_host.flows
    assert measured.gbps is not None
    slow = replace(measured.gbps, median=0.9 * measured.gbps.median, low=0.8 * measured.gbps.median)
    doubtful = replace(of_host, flows=(replace(measured, gbps=slow),))
    rows = tuple(doubtful if row is of_host else row for row in healthy.rows)
    found = explain(replace(healthy, rows=rows))
    assert [one.id for one in found.unsure] == [of_host.id]
    assert found.shortfalls == ()
    assert f"{found.known - 1} are not short" in explain_text.grounds(found)
    assert "as far as intervals tell" in explain_text.headline(found)
    assert not explain_text.cannot_tell(found)


def test_figures_of_which_the_interval_alone_reaches_too_low_are_open(healthy: RunFile) -> None:
    """Their median is as it should be; where all are so, nothing can be told."""

    def wide(row: Row) -> Row:
        (measured,) = row.flows
        assert measured.gbps is not None
        return replace(row, flows=(replace(measured, gbps=replace(measured.gbps, low=0.5 * measured.gbps.median)),))

    rows = tuple(wide(row) for row in healthy.rows if row.name == "h2d")
    found = explain(replace(healthy, rows=rows))
    assert {one.id for one in found.unsure} == {row.id for row in rows}
    assert not found.wrong
    assert explain_text.cannot_tell(found)


@pytest.mark.parametrize(("layer_s", "told"), [(2e-6, "2.0 times as long as by"), (0.25e-6, "4.0 times as fast as by")])
def test_a_layer_is_told_as_slower_or_faster(layer_s: float, told: str, healthy: RunFile) -> None:
    point = Added(bytes=8, layer_s=layer_s, raw_s=1e-6, low_s=layer_s - 1e-6, high_s=layer_s - 1e-6, clear=True)
    layer = Layer("mpi", "shm-copy", "numa:0 > numa:0", "host", False, (point,))
    alone = replace(explain(healthy), accounts=(), latencies=(), left_out={OF_PROCESSES: 1}, layers=(layer,))
    assert told in explain_text.headline(alone)


@pytest.mark.parametrize("name", SINGLE)
def test_a_planted_fault_is_named_first_and_alone(name: str, healthy: RunFile) -> None:
    fault, wanted = SINGLE[name]
    found = explain(fault(healthy)).shortfalls
    assert len(found) == 1, found
    assert names(found[0], wanted), found


def test_cases_that_failed_come_first_and_fail_the_node(healthy: RunFile, tmp_path: Path) -> None:
    def broken(row: Row) -> Row:
        if not any(faults.copied(flow, "gpu:0", "gpu:1") for flow in row.case["flows"]):
            return row
        line = {**row.raw, "status": "failed", "reason": "wrong bytes at 7", "flows": [], "aggregate": None}
        return Row.from_json(line)

    found = explain(replace(healthy, rows=tuple(map(broken, healthy.rows))))
    assert found.wrong
    (failed,) = found.failed
    assert failed.where == ("gpu:0", "gpu:1")
    assert set(failed.ids) == {row.id for row in healthy.rows if broken(row) is not row}
    assert explain_text.verdict(found).startswith(f"{len(failed.ids)} cases failed")
    assert not explain(healthy).wrong


def test_gpus_of_one_fabric_that_cannot_reach_each_other_are_a_finding_without_a_slow_copy(healthy: RunFile) -> None:
    def refused(row: Row) -> Row:
        pairs = [[end for end in faults.ends(flow) if end.startswith("gpu:")] for flow in row.case["flows"]]
        pair = next((pair for pair in pairs if len(set(pair)) == 2), None)
        if pair is None:
            return row
        line = {**row.raw, "status": "skipped", "reason": f"{pair[0]} has no peer access to {pair[1]}"}
        return Row.from_json({**line, "flows": [], "aggregate": None})

    (found,) = explain(replace(healthy, rows=tuple(map(refused, healthy.rows)))).shortfalls
    assert found.where == ALL
    assert "no peer access" in found.cause


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_planted_faults_are_the_first_two(one: str, other: str, healthy: RunFile) -> None:
    planted = SINGLE[other][0](SINGLE[one][0](healthy))
    found = explain(planted).shortfalls[:2]
    for wanted in (SINGLE[one][1], SINGLE[other][1]):
        assert any(names(shortfall, wanted) for shortfall in found), found


@pytest.fixture(scope="module", params=["ac922", "frontier"])
def modelled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, real_engine: None) -> RunFile:
    return linkscope.run("default", machine=request.param, output=tmp_path_factory.mktemp("runs") / "run.jsonl")


@pytest.mark.parametrize("machine", MACHINES)
def test_a_healthy_modelled_node_has_no_finding(machine: str, tmp_path: Path, real_engine: None) -> None:
    run = linkscope.run("duplex", machine=machine, sizes="256M", output=tmp_path / "run.jsonl")
    found = explain(run)
    assert found.judged > 0
    assert found.shortfalls == ()


def test_a_copy_engine_that_ends_below_its_link_is_no_finding_but_a_step(real_engine: None, tmp_path: Path) -> None:
    run = linkscope.run("peer", machine="frontier", sizes="256M", devices="gpu:0,gpu:1", output=tmp_path / "run.jsonl")
    found = explain(run)
    ceilings = {one.method for one in found.accounts if any("ceiling" in step.what for step in one.steps)}
    assert ceilings == {"copy-engine"}
    assert not found.shortfalls


def test_what_a_model_was_given_is_no_prediction(modelled: RunFile) -> None:
    found = explain(modelled)
    assert found.known > 0
    assert found.predicted == 0, "one flow alone reaches what the description says"
    told = explain_text.verdict(found)
    assert "proves nothing" in told
    assert found.studies
    assert all(study in told for study in found.studies)
    assert f"reproduce {'STUDY' if len(found.studies) > 1 else found.studies[0]} --machine {found.node}" in told


def test_a_model_predicts_opposite_flows_for_which_it_has_no_rule(real_engine: None, tmp_path: Path) -> None:
    found = explain(linkscope.run("duplex", machine="h200x4", sizes="256M", output=tmp_path / "run.jsonl"))
    both = [one for one in found.accounts if one.both and one.held_against not in ("", SIBLINGS)]
    assert {one.kind for one in both} == {"peer", "host"}
    assert found.predicted == sum(one.kind == "peer" for one in both), "of the host a rule has them"
    assert found.studies == ()
    assert f"predicts {found.predicted}" in explain_text.verdict(found)


def test_a_measurement_predicts_nothing(healthy: RunFile) -> None:
    assert explain(healthy).predicted == 0


def test_what_is_not_judged_is_counted(healthy: RunFile) -> None:
    found = explain(healthy)
    judged = {one.id for one in (*found.accounts, *found.latencies)}
    assert sum(found.left_out.values()) == sum(
        headline(part) is not None and part.id not in judged for part in apart(healthy.rows)
    )


@pytest.mark.parametrize("seed", range(4))
def test_sampling_noise_is_no_finding(seed: int, modelled: RunFile, healthy: RunFile) -> None:
    for run in (modelled, healthy):
        assert explain(faults.noisy(run, random.Random(seed), 0.004)).shortfalls == ()


@pytest.mark.parametrize(
    ("fault", "where"),
    [
        (faults.slow_pair("gpu:1", "gpu:0"), "gpu:1 > gpu:0"),
        (faults.slow_host("gpu:2"), "gpu:2"),
        (faults.slow_memory("gpu:3"), "gpu:3"),
        (faults.slow_receiver("gpu:1"), "gpu:1"),
    ],
)
def test_a_fault_of_a_node_without_published_figures_is_named(
    fault: faults.Fault, where: str, modelled: RunFile
) -> None:
    first = explain(fault(modelled)).shortfalls[0]
    assert first.where == (where,)


def test_a_numa_node_that_is_nearer_than_the_nearest_is_named(modelled: RunFile) -> None:
    near = modelled.node.device("gpu:1").numa
    far = next(numa.id for numa in modelled.node.of_kind("numa") if numa.id != f"numa:{near}")
    (found,) = explain(faults.wrong_numa("gpu:1", f"numa:{near}", far, 0.427)(modelled)).shortfalls
    assert names(found, (("gpu:1",), far))


def test_a_path_that_is_slow_within_what_runs_differ_by_is_no_finding(healthy: RunFile) -> None:
    assert explain(faults.unsteady(0.0, 0.9)(healthy)).shortfalls
    unsteady = explain(faults.unsteady(0.12, 0.9)(healthy))
    assert not unsteady.shortfalls


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
def test_answers_as_late_as_healthy_siblings_may_be_are_no_finding(factor: float, healthy: RunFile) -> None:
    assert not explain(faults.late_row("gpu:1", factor)(healthy)).shortfalls


def test_a_detour_of_peers_over_pcie_is_named(healthy: RunFile) -> None:
    run = faults.over_pcie(healthy)
    assert not explain(run).shortfalls
    (found,) = explain(faults.redirected("gpu:1")(run)).shortfalls
    assert names(found, (("gpu:1",), "ACS"))


def test_findings_are_ranked_by_what_is_missing(healthy: RunFile) -> None:
    found = explain(faults.lanes_down("gpu:1")(faults.pcie_narrow("gpu:0")(healthy))).shortfalls
    assert [one.where for one in found] == [("gpu:0",), ("gpu:1",)]
    assert found[1].cost == pytest.approx(1 / 18, abs=0.01)


@pytest.mark.parametrize("factor", [0.99, 1.0, 1.05])
def test_what_healthy_machines_differ_by_is_no_finding(factor: float, healthy: RunFile) -> None:
    assert not explain(faults.slowed(healthy, lambda flow: True, factor)).shortfalls


def test_state_without_slow_figures_is_no_finding(healthy: RunFile) -> None:
    odd = faults.with_state(healthy, "gpu:0", pcie_generation=1, throttle=["power cap"], processes=1)
    assert not explain(odd).shortfalls


def test_a_ledger_goes_from_the_line_to_the_measured_figure(healthy: RunFile) -> None:
    for one in explain(healthy).accounts:
        rates = [step.gbps for step in one.steps]
        assert rates[0] == one.line_gbps
        if one.held_against != SIBLINGS:
            assert rates == sorted(rates, reverse=True)
            assert one.expected_gbps == rates[-1]


def test_every_entry_of_the_expected_figures_is_a_share_of_a_line() -> None:
    for device in ("NVIDIA H200", "AMD Instinct MI250X, one die (GCD)"):
        for link in ("nvlink", "pcie", "memory", "xgmi"):
            for way in ("peer-write", "peer-read", "host-to-gpu", "local"):
                found = expected(device, link, way, "copy-engine")
                assert found is None or (0 < found.share <= 1 and 0 < found.tolerance < 0.5 and found.source)
    assert expected("NVIDIA H200", "nvlink", "peer-write", "copy-engine") is not None
    assert expected("a model nobody knows", "nvlink", "peer-write", "copy-engine") is None


def test_a_device_that_nobody_published_is_held_against_its_siblings(healthy: RunFile) -> None:
    header = json.loads(json.dumps(healthy.header).replace("NVIDIA H200", "Foreign accelerator"))
    foreign = RunFile(healthy.path, header, healthy.rows, healthy.states)
    assert not explain(foreign).shortfalls
    (found,) = explain(faults.lanes_down_unsaid("gpu:2")(foreign)).shortfalls
    assert found.where == ("gpu:2",)


def test_siblings_alone_make_nothing_normal_and_the_line_says_so(healthy: RunFile) -> None:
    header = json.loads(json.dumps(healthy.header).replace("NVIDIA H200", "Foreign accelerator"))
    found = explain(RunFile(healthy.path, header, healthy.rows, healthy.states))
    assert found.known == 0
    assert len(found.by_siblings) == found.judged > 0
    assert explain_text.headline(found) != explain_text.headline(explain(healthy))
    page = Console(width=80, file=StringIO())
    explain_text.show_all(found, page)
    told = [line.split() for line in page.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert sum("siblings" in line and bool({">", "<>"} & {*line}) for line in told) == len(found.by_siblings)


def test_a_latency_that_is_known_of_such_gpus_is_held_against_that(healthy: RunFile) -> None:
    known = [one for one in explain(healthy).latencies if one.method == "pointer-chase"]
    assert known
    assert not any(one.held_against == SIBLINGS or one.short for one in known)
    late = explain(faults.late(lambda flow: True, 1.3)(healthy))
    assert {one.id for one in late.latencies if one.short} == {one.id for one in known}
    assert late.shortfalls


@pytest.mark.parametrize("kind", ["local", "peer"])
def test_a_chase_is_held_against_other_runs_than_the_one_that_is_recorded(kind: str, healthy: RunFile) -> None:
    """It would be held against itself: what is known is the median of two runs on two other GPUs."""
    turns = [RunFile.read(path) for path in sorted((RECORDED.parents[1] / "turns").glob("h200x2-*.jsonl"))]
    chases = [
        one for run in turns for one in explain(run).latencies if (one.method, one.kind) == ("pointer-chase", kind)
    ]
    (known,) = {one.expected_ns for one in chases}
    assert known == pytest.approx(median(one.measured.median for one in chases), rel=0.001)
    assert known in {one.expected_ns for one in explain(healthy).latencies}


@pytest.mark.parametrize("other", [{"cache": "flushed"}, {"load": "sustained"}, {"memory": "vmm"}], ids=str)
def test_a_known_latency_is_of_its_caches_load_and_memory_alone(other: dict[str, str], healthy: RunFile) -> None:
    rows = []
    for row in healthy.rows:
        if row.name == "chase-gpu":
            raw = json.loads(json.dumps(row.raw))
            (raw["case"]["flows"][0]["source"] if "memory" in other else raw["case"]).update(other)
            rows.append(Row.from_json(raw))
    judged = explain(faults.late(lambda flow: True, 4.2)(replace(healthy, rows=tuple(rows)))).latencies
    assert len(judged) == 16
    assert {one.held_against for one in judged} == {SIBLINGS}
    assert not any(one.short for one in judged)


def test_nvbandwidths_own_chase_is_held_against_its_own_figure(tmp_path: Path, real_engine: None) -> None:
    run = linkscope.run("nvbandwidth", output=tmp_path / "a.jsonl", machine="h200x4", keyword="d2d-latency-sm")
    judged = explain(run).latencies
    assert len(judged) == 12
    assert all("nvbandwidth" in one.held_against for one in judged)


@pytest.mark.parametrize("width", [80, 120])
def test_every_line_says_which_figure_it_is_of(width: int, healthy: RunFile) -> None:
    page = Console(width=width, file=StringIO())
    found = explain(healthy)
    explain_text.show_all(found, page)
    lines = named_figures(page.file.getvalue())  # type: ignore[attr-defined]
    accounts: list[Account] = [*found.accounts, *found.latencies]
    assert len(lines) == len(set(lines)) == len(accounts)
    for one in accounts:
        words = {one.source, one.destination, one.method, *wording.size(one.bytes).split()}
        assert any(words <= set(line.split()) for line in lines), one.id


def named_figures(page: str) -> list[str]:
    """What stands left of the figures, of every line of the tables."""
    found, end = [], 0
    for line in page.splitlines():
        if line.startswith("path "):
            end = line.index(" size ") + len(" size")
        elif line.endswith(" %") and end:
            found.append(line[:end])
    return found


def test_figures_are_told_apart_by_the_fewest_conditions() -> None:
    a = {"hops": "512", "stride": "128", "cache": "warm", "suite row": "default/a"}
    assert differing([a]) == [""]
    assert differing([a, {**a, "hops": "1024"}]) == ["hops 512", "hops 1024"]
    assert differing([a, {**a, "cache": "flushed"}]) == ["warm", "flushed"]
    assert differing([a, {**a, "hops": "1024"}, {**a, "hops": "1024", "cache": "flushed"}]) == [
        "hops 512",
        "hops 1024 warm",
        "hops 1024 flushed",
    ]
    assert differing([a, {**a, "ordering": "release"}]) == ["", "release"]
    assert differing([a, {**a, "suite row": "default/b"}]) == ["default/a", "default/b"]


def test_three_faults_fit_a_page(healthy: RunFile) -> None:
    planted = faults.pcie_slow("gpu:0")(faults.throttled("gpu:1")(faults.lanes_down_unsaid("gpu:1")(healthy)))
    page = Console(width=80, file=StringIO())
    explain_text.show(explain(planted), page)
    assert len(page.file.getvalue().splitlines()) <= 40  # type: ignore[attr-defined]


def test_the_command_prints_the_verdict_and_json_the_same_data(healthy: RunFile) -> None:
    shown = CliRunner().invoke(app, ["explain", str(RECORDED)], env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    assert len(shown.output.splitlines()) <= 40
    assert max(map(len, shown.output.splitlines())) <= 80
    data = json.loads(CliRunner().invoke(app, ["explain", "--json", str(RECORDED)]).output)
    found: Diagnosis = linkscope.explain(str(RECORDED))
    assert data["shortfalls"] == []
    assert len(data["accounts"]) == len(found.accounts)
    assert CliRunner().invoke(app, ["explain", "--full", str(RECORDED)]).exit_code == 0
    no_answer = RECORDED.with_name("h200x4-packets.jsonl")
    assert CliRunner().invoke(app, ["explain", str(no_answer)], standalone_mode=False).return_value == 2, "cannot tell"


def test_to_accept_a_node_no_figure_may_be_open(healthy: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    found = explain(healthy)
    monkeypatch.setattr("linkscope.analysis.explain.explain", lambda run: replace(found, unsure=found.accounts[:1]))
    asked = [["explain", *words, str(RECORDED)] for words in ([], ["--strict"])]
    assert [CliRunner().invoke(app, words, standalone_mode=False).return_value for words in asked] == [0, 2]


def test_a_run_with_nothing_but_latencies_is_judged(healthy: RunFile) -> None:
    rows = tuple(row for row in healthy.rows if "ping-pong" in {flow["method"] for flow in row.case["flows"]})
    found = explain(replace(healthy, rows=rows))
    assert found.judged == found.judged_latencies > 0
    assert found.known == 0
    page = Console(width=80, file=StringIO())
    explain_text.show(found, page)
    apart = max(abs(one.missing) for one in found.latencies)
    assert apart < latencies.TOLERANCE
    assert f"within {apart * 100:.2g} %" in " ".join(page.file.getvalue().split())  # type: ignore[attr-defined]
