"""app: methods by time against the application's, where time goes, phases and links, and what did not run."""

from __future__ import annotations

import json
from dataclasses import replace

import modelled_run as made
import pytest
import workload_rows as some

import linkscope
from linkscope.answers.answer import Answer
from linkscope.answers.app import PARTICLES, STEPS, Workload, workloads
from linkscope.figures.run import Run
from linkscope.messages.finding import Level
from linkscope.render import render
from linkscope.results.member_time import PARTS
from linkscope.results.row import Row
from linkscope.workload.moe import MoeLayer, moe


def table(rows: list[Row]) -> Workload:
    (found,) = workloads(Run(made.run(4, rows)))
    return found


def asked(rows: list[Row]) -> Answer:
    return linkscope.ask("app", made.run(4, rows))


@pytest.fixture(scope="module")
def halo() -> Workload:
    return table(some.halo_rows())


def test_methods_stand_by_time_against_the_baseline(halo: Workload) -> None:
    assert halo.methods["name"].to_list() == [
        "direct, device",
        "NCCL, device, processes=1",
        "mpi, device",
        "mpi staged, registered",
    ]
    direct, _, mpi, base = halo.methods.iter_rows(named=True)
    assert halo.methods["baseline"].to_list() == [False, False, False, True]
    assert base["speedup"] is None
    assert direct["speedup"] == pytest.approx(2.0, rel=0.01)
    assert direct["speedup_low"] < direct["speedup"] < direct["speedup_high"]
    assert not direct["ties_with_baseline"]
    assert mpi["speedup"] == pytest.approx(1.23, rel=0.01)


def test_the_headline_has_the_gain_over_the_applications_method() -> None:
    found = asked(some.halo_rows())
    assert (found.headline.code, found.exit_code) == ("app.faster", 0)
    assert found.headline.facts["gain"] == pytest.approx(2.0, rel=0.01)
    assert found.headline.facts["baseline"] == "mpi staged, registered"
    assert asked(some.pattern_rows()).headline.code == "app.only"
    tied = [some.timed(some.workload_case(some.HALO, "halo", memory=memory), 1.0) for memory in ("device", "pinned")]
    assert asked(tied).headline.code == "app.ties"
    fast = some.timed(some.workload_case(some.HALO, "halo", baseline=True), 1.0)
    slow = some.timed(some.workload_case(some.HALO, "halo", "direct"), 2.0)
    assert asked([fast, slow]).headline.code == "app.baseline-fastest"
    assert asked(made.rows(4)).headline.code == "app.none"


def test_show_of_workloads_alone_says_which_method_is_fastest() -> None:
    found = linkscope.ask("show", made.run(4, some.halo_rows()))
    assert (found.question, found.headline.code) == ("show", "app.faster")
    mixed = linkscope.ask("show", made.run(4, [*some.halo_rows(), *made.rows(4)[:3]]))
    assert mixed.headline.code != "app.faster"


def test_ties_with_the_fastest_are_marked(halo: Workload) -> None:
    assert halo.methods["ties_with_fastest"].to_list() == [True, True, False, False]
    wide = some.timed(some.workload_case(some.HALO, "halo"), 0.0125, noise=0.2)
    fast = some.timed(some.workload_case(some.HALO, "halo", "direct"), 0.0123)
    assert table([wide, fast]).methods["ties_with_fastest"].to_list() == [True, True]


def test_each_pair_of_methods_is_compared_for_itself() -> None:
    names = ("device", "pinned", "managed", "registered")
    slow = {name: some.timed(some.workload_case(some.HALO, "halo", memory=name), 0.012) for name in names[1:]}
    best = with_interval(some.timed(some.workload_case(some.HALO, "halo"), 0.010), 0.07)
    rows = [best, *(with_interval(row, 0.14) for row in slow.values())]
    assert table(rows[:2]).methods["ties_with_fastest"].to_list() == [True, False]
    assert table(rows).methods["ties_with_fastest"].to_list() == [True, False, False, False]


def with_interval(row: Row, half: float) -> Row:
    flow = row.flows[0]
    seconds = replace(flow.seconds, low=flow.seconds.median * (1 - half), high=flow.seconds.median * (1 + half))
    return replace(row, flows=(replace(flow, seconds=seconds),))


def test_the_figure_of_merit_is_of_what_the_schedule_packs(halo: Workload) -> None:
    assert halo.merit == STEPS
    assert halo.methods["merit"][0] == pytest.approx(20 / 0.0123, rel=0.01)
    sent = table([some.timed(some.workload_case(some.particles(), "particles"), 0.5)])
    assert sent.merit == PARTICLES
    assert sent.methods["merit"][0] == pytest.approx(4 * 3 * 100 / 0.5, rel=0.01)
    pattern = table(some.pattern_rows())
    assert pattern.merit == ""


def test_bytes_and_messages_are_the_schedules(halo: Workload) -> None:
    assert (halo.facts["bytes"], halo.facts["messages"]) == (some.HALO.bytes, some.HALO.messages().total())
    best = halo.methods.row(0, named=True)
    assert best["gbps"] == pytest.approx(some.HALO.bytes / best["seconds"] * 1e-9)


def test_parts_are_of_the_slowest_member_and_add_up() -> None:
    case = some.workload_case(some.HALO, "halo")
    line = table([some.timed(case, 1.0, slow=2)]).methods.row(0, named=True)
    assert sum(line[part] or 0.0 for part in PARTS) == pytest.approx(1.0)
    assert line["wait"] == pytest.approx(0.5)
    assert line["copy"] is None


def test_what_did_not_run_has_each_reason_once(halo: Workload) -> None:
    (gone,) = halo.missing
    assert (gone.code, gone.facts["reason"], gone.facts["count"]) == ("app.skipped", "no NCCL library", 2)
    cases = [some.workload_case(some.HALO, "halo", memory=memory) for memory in ("device", "managed")]
    found = table([some.skipped(one, f"rank {rank} (host vm): no GPU memory") for rank, one in enumerate(cases)])
    assert [(one.facts["reason"], one.facts["count"]) for one in found.missing] == [("no GPU memory", 2)]


def test_without_a_time_there_is_no_answer() -> None:
    found = asked([some.skipped(some.workload_case(some.HALO, "halo"), "no MPI library", "failed")])
    assert (found.headline.code, found.exit_code) == ("app.nothing", 3)
    assert "app.failed" in {one.code for one in found.details}


@pytest.mark.parametrize(("staging", "stands_in"), [("full", "mpi staged, device"), ("none", "mpi, pinned")])
def test_a_baseline_without_a_time_has_a_stand_in_by_mpi(staging: str, stands_in: str) -> None:
    base = some.workload_case(some.HALO, "halo", baseline=True)
    memory = "device" if staging == "full" else "managed"
    rest = [
        some.timed(some.workload_case(some.HALO, "halo", "direct"), 1.0),
        some.timed(some.workload_case(some.HALO, "halo", memory="pinned"), 2.0),
        some.timed(some.workload_case(some.HALO, "halo", memory=memory, staging=staging, variant="s"), 4.0),
    ]
    rows = [some.skipped(base, "rank 3 (host vm): it takes no GPU memory"), *rest]
    found = table(rows)
    based = found.methods.filter("baseline").row(0, named=True)
    assert (based["name"], found.stands_in_for) == (stands_in, "it takes no GPU memory")
    assert found.methods["speedup"][0] == pytest.approx(based["seconds"], rel=0.01)
    assert "app.stands-in" in {one.code for one in asked(rows).findings}


def test_decks_and_numbers_of_ranks_have_tables_of_their_own() -> None:
    first = some.timed(some.workload_case(some.HALO, "halo"), 1.0)
    other = some.timed(some.workload_case(some.HALO, "halo", deck="small", name="x"), 1.0)
    found = asked([first, other])
    assert found.headline.facts == {"workloads": 2}
    assert [one.facts["workload"] for one in found.findings if one.code == "app.only"] == [
        "halo 480x240, 20 steps",
        "halo small",
    ]
    assert all(table.detail for table in found.tables)


def test_names_say_what_tells_methods_apart() -> None:
    cases = [
        some.workload_case(some.HALO, "halo", state=state, variant=f"{xnack}{state}", environment=settings)
        for state in ("device", "managed")
        for xnack, settings in (("on", {"HSA_XNACK": "1"}), ("", None))
    ]
    cases.append(some.workload_case(some.HALO, "halo", order=(2, 0, 1, 3)))
    names = set(table([some.timed(case, 1.0) for case in cases]).methods["name"])
    assert "mpi, device, state=managed, HSA_XNACK=1, order gpu:0 gpu:1 gpu:2 gpu:3" in names
    assert "mpi, device, state=device, unchanged, order gpu:2 gpu:0 gpu:1 gpu:3" in names
    assert len(names) == len(cases)


def test_phases_are_compared_with_their_messages_alone_and_their_busiest_link() -> None:
    times = table(some.pattern_rows()).times
    ring, pair = times.phases.iter_rows(named=True)
    assert (ring["times"], ring["bytes"]) == (10, 10 * 4 << 20)
    assert ring["seconds"] == pytest.approx(0.015)
    assert ring["of_alone"] == pytest.approx(0.015 / 10 / 0.001)
    assert pair["of_alone"] == pytest.approx(0.015 / 5 / 0.001)
    assert pair["link"] == "gpu:0>switch:nvswitch"
    assert pair["share"] == pytest.approx((5 * 4 << 20) / 450e9 / 0.015)
    busiest = times.links.row(0, named=True)
    assert busiest["bytes"] == (10 + 20) << 20
    assert busiest["seconds"] == pytest.approx(busiest["bytes"] / 450e9)


def test_a_link_carries_all_messages_that_pass_it() -> None:
    times = table([some.timed(some.workload_case(some.HALO, "halo"), 1.0)]).times
    sent, carried = some.HALO.sent(), dict(times.links.select("link", "bytes").iter_rows())
    for rank in range(4):
        assert carried[f"gpu:{rank}>switch:nvswitch"] == sent[rank]
    assert times.ranks["sent"].to_list() == [sent[rank] for rank in range(4)]
    assert times.ranks["received"].sum() == some.HALO.bytes
    assert times.ranks["waits"][0] == pytest.approx(0.5)


def test_ranks_that_share_a_device_use_no_link() -> None:
    rows = [some.timed(some.workload_case(some.PATTERN, "ring.csv", state=None, order=(1, 1, 1, 1)), 1.0)]
    assert table(rows).times.links.is_empty()
    assert [one.code for one in asked(rows).at(Level.WARNING)] == ["app.shared-gpus"]
    own = [some.timed(some.workload_case(some.PATTERN, "ring.csv", state=None), 1.0)]
    assert asked(own).at(Level.WARNING) == (), "a GPU for each"


def layer(tokens: int, by: dict[str, float]) -> list[Row]:
    schedule = moe(MoeLayer(tokens=tokens, hidden=128), 4)
    own = [list(one) for one in schedule.own_bytes]
    shared = {"state": None, "deck": str(tokens), "own_bytes": own, "name": f"m{tokens}"}
    return [some.timed(some.workload_case(schedule, "moe", way, **shared), time) for way, time in by.items()]


def test_an_exchange_has_bytes_over_links_and_own_ones_apart() -> None:
    rows = layer(64, {"xccl": 2e-3, "direct": 1e-3})
    found = asked(rows).table("app.exchanges").frame
    dispatch, combine = moe(MoeLayer(tokens=64, hidden=128), 4).phases
    assert found["method"].to_list() == ["direct, device"] * 2 + ["NCCL, device"] * 2
    assert found["phase"].to_list() == ["dispatch", "combine"] * 2
    most = [
        max(sum(one.size for one in phase.messages if getattr(one, end) == rank)
            for rank in range(4) for end in ("source", "destination"))
        for phase in (dispatch, combine)
    ]  # fmt: skip
    assert found["rank_bytes"].to_list() == most * 2
    assert found["rank_gbps"].to_list() == pytest.approx([n / t * 1e-9 for t in (5e-4, 1e-3) for n in most], rel=0.01)
    own = rows[0].labels["workload"]["own_bytes"]
    assert found["own"].to_list() == [max(own[0]), max(own[1])] * 2
    ranks = asked(rows).table("app.ranks").frame
    assert ranks["own"].to_list() == [own[0][rank] + own[1][rank] for rank in range(4)]


def test_several_layers_share_a_table_of_their_fastest_methods() -> None:
    found = asked([*layer(64, {"xccl": 2e-3, "direct": 1e-3}), *layer(8, {"xccl": 1e-4})])
    shared = found.table("app.fastest-exchanges")
    assert not shared.detail
    assert shared.frame["method"].to_list() == ["direct, device"] * 2 + ["NCCL, device"] * 2
    assert [one.code for one in found.findings].count("app.busiest-link") == 0


def test_a_label_without_a_phases_own_bytes_is_read() -> None:
    (row,) = layer(8, {"direct": 1e-3})
    row.labels["workload"]["own_bytes"] = [[], [5]]
    found = asked([row])
    assert found.table("app.exchanges").frame["own"].to_list() == [None, 5]
    assert found.table("app.ranks").frame["own"].to_list() == [5, 0, 0, 0]


def test_isolated_messages_are_no_method() -> None:
    assert table(some.pattern_rows()).methods.height == 1


def test_a_row_without_a_breakdown_still_has_its_place() -> None:
    line = some.line(some.workload_case(some.PATTERN, "ring.csv", state=None), 1.0)
    del line["flows"][0]["breakdown"]
    found = table([Row.from_json(line)])
    assert found.methods["wait"].to_list() == [None]
    assert found.times.phases.is_empty()


def test_a_screen_has_at_most_24_lines_and_the_baseline() -> None:
    memories = ("device", "pageable", "pinned", "managed", "registered")
    kinds = [(interface, memory) for interface in ("mpi", "xccl", "direct", "other") for memory in memories]
    many = [
        some.timed(some.workload_case(some.HALO, "halo", *kind, variant=str(i)), 0.01 + i / 1000)
        for i, kind in enumerate(kinds)
    ]
    base = some.timed(some.workload_case(some.HALO, "halo", staging="full", memory="registered", baseline=True), 0.9)
    found = asked([*many, base, *some.halo_rows()[4:]])
    lines = render(found).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    shown = found.table("app.fastest-methods")
    assert shown.frame["baseline"].to_list() == [False] * 5 + [True]
    assert shown.facts["more"] == 15
    json.loads(render(found, "json"))
