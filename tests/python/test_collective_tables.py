"""Collectives in tables: bandwidths by nccl-tests' factors, peaks, bounds, slowest members, shared pictures."""

from __future__ import annotations

from typing import Any

import modelled_run as made
import pytest

from linkscope.analysis.bounds import best_latencies
from linkscope.analysis.by_flow import apart
from linkscope.analysis.cell import cell
from linkscope.analysis.collective import Collective
from linkscope.analysis.curves import CurveSet
from linkscope.analysis.figures import figures
from linkscope.analysis.headline import BUS, headline
from linkscope.analysis.lists import Listing
from linkscope.analysis.overview import overview
from linkscope.analysis.peak import peak
from linkscope.machine.described import load_machine
from linkscope.machine.paths import Paths
from linkscope.report import wording
from linkscope.report.terminal import show
from linkscope.results.row import Row

Json = dict[str, Any]
GB = 10**9


def gathering(kind: str, seconds: float, size: int = GB, gpus: int = 4, **labels: Any) -> Row:
    """An ok row of a collective of ``gpus`` members that took ``seconds``."""
    members = [{"device": f"gpu:{i}", "memory": "device"} for i in range(gpus)]
    flow = {
        "method": "xccl-collective",
        "executor": "gpu:0",
        "bytes": size,
        "members": members,
        "parameters": {"collective": kind},
    }
    case = made.case(kind, [flow], {"figure": "bus", "show": "list", **labels}, clock="batch")
    row = made.ok(case, [[seconds] * 8])
    parts = [seconds * (1 + 0.02 * (i == 2)) for i in range(gpus)]
    return Row.from_json({**row.raw, "flows": [{**row.raw["flows"][0], "parts_s": parts}]})


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        ("all-reduce", 1.5),
        ("reduce-scatter", 0.75),
        ("all-gather", 0.75),
        ("all-to-all", 0.75),
        ("broadcast", 1.0),
        ("reduce", 1.0),
    ],
)
def test_bus_bandwidth_has_nccl_tests_factors(kind: str, factor: float) -> None:
    figure = headline(gathering(kind, 0.005))
    assert figure is not None
    assert figure.value.median == pytest.approx(200 * factor)
    assert figure.what == BUS
    algorithm = headline(gathering(kind, 0.005, figure="algorithm"))
    assert algorithm is not None
    assert algorithm.value.median == pytest.approx(200)


def test_a_time_is_that_of_the_collective_and_a_barrier_has_no_bandwidth() -> None:
    time = headline(gathering("all-reduce", 20e-6, figure="latency"))
    assert time is not None
    assert (time.value.median, time.unit) == (pytest.approx(20), "us")
    flow = gathering("barrier", 5e-6, 0).case["flows"][0]
    barrier = made.ok(made.case("barrier", [flow], {"figure": "bus"}), [[5e-6] * 8], latency=True)
    waited = headline(barrier)
    assert waited is not None
    assert waited.unit == "ns"


@pytest.mark.parametrize("kind", ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce"])
def test_on_a_switch_the_peak_of_the_bus_bandwidth_is_a_gpus_link(kind: str) -> None:
    paths = Paths(made.node())
    limit = peak(gathering(kind, 0.004), paths)
    assert limit is not None
    assert limit.gbps == pytest.approx(made.LINK_GBPS)
    algorithm = peak(gathering(kind, 0.004, figure="algorithm"), paths)
    assert algorithm is not None
    assert algorithm.gbps == pytest.approx(made.LINK_GBPS / Collective(kind, tuple("abcd")).bus_factor)
    assert peak(gathering(kind, 0.004, figure="latency"), paths) is None


def test_in_a_mesh_a_member_uses_all_its_links() -> None:
    paths = Paths(load_machine("mi300x"))
    assert Collective("all-gather", tuple(f"gpu:{i}" for i in range(8))).bus_peak(paths) == (
        350.0, "limited by links into gpu:0",
    )  # fmt: skip


def test_the_least_connected_member_decides() -> None:
    """MI250X: die 0 has links of 200, 100 and 50 GB/s to others, die 2 to die 0 alone one of 50."""
    paths = Paths(load_machine("frontier"))
    found = Collective("all-gather", ("gpu:0", "gpu:1", "gpu:2")).bus_peak(paths)
    assert found is not None
    assert found[1] == "limited by links into gpu:2"
    assert Collective("broadcast", ("gpu:0", "gpu:1")).bus_peak(paths) == (200.0, "limited by links out of gpu:0")


def test_members_that_share_a_device_have_no_known_peak() -> None:
    assert Collective("all-reduce", ("numa:0", "numa:0")).bus_peak(Paths(made.node())) is None


def test_the_slowest_member_is_named() -> None:
    found = cell(gathering("all-reduce", 0.005), Paths(made.node())).slowest
    assert found is not None
    assert found.member == "gpu:2"
    assert found.ratio == pytest.approx(1.02 / 1.005)
    assert wording.slowest(cell(gathering("reduce", 0.005), Paths(made.node()))) == "gpu:2, +1.5 % on the mean"


def message(seconds: float, source: str = "gpu:0", size: int = 16, **end: Any) -> Row:
    flow = made.flow(source, "gpu:1" if source == "gpu:0" else source, size)
    flow["destination"] = {**flow["destination"], **end}
    return made.ok(made.case(f"p2p{seconds}", [flow], {"figure": "latency"}), [[seconds] * 8])


def test_the_best_latency_is_of_small_messages_between_two_devices() -> None:
    rows = [message(9e-6), message(8.7e-6), message(1e-6, size=4096), message(2e-6, "numa:0", rank=1)]
    best = best_latencies([*rows, message(1e-6, "numa:0")])
    assert {kind: latency.seconds for kind, latency in best.items()} == {"gpu": 8.7e-6, "numa": 2e-6}


def curve(kind: str, **labels: Any) -> list[Row]:
    shown = {"show": "curve", "series": "4 GPUs, xccl-collective", "x_name": "bytes", "table": "by-size", **labels}
    return [gathering(kind, 20e-6 + size / 2e11, size, x=size, **shown) for size in (1024, 1 << 20, GB)]


def test_collectives_times_stand_beside_passes_of_the_best_latency() -> None:
    rows = [message(8.7e-6), *curve("all-reduce", figure="latency"), *curve("broadcast", figure="latency", title="B")]
    tables = {table.heading.title: table for table in overview(rows, made.node()).tables}
    (two,) = tables["all-reduce"].heading.bounds
    assert (two.passes, two.seconds) == (2, pytest.approx(17.4e-6))
    (one,) = tables["B"].heading.bounds
    assert (one.passes, one.seconds) == (1, pytest.approx(8.7e-6))
    assert "two passes of this run's best point-to-point latency" in " ".join(
        wording.facts(tables["all-reduce"].heading)
    )


def test_without_latencies_there_are_no_bounds_and_bandwidths_have_none() -> None:
    assert all(
        not table.heading.bounds for table in overview(curve("all-reduce", figure="latency"), made.node()).tables
    )
    rows = [message(8.7e-6), *curve("all-reduce")]
    assert all(not table.heading.bounds for table in overview(rows, made.node()).tables)


def test_one_measurement_stands_in_a_table_for_each_figure() -> None:
    rows = curve("all-reduce", title="Sum", figure="latency", figures=["latency", "bus"])
    found = overview(rows, made.node())
    assert [table.heading.title for table in found.tables] == ["Sum: time", "Sum: bus bandwidth"]
    assert [table.heading.unit for table in found.tables] == ["us", "GB/s"]
    assert found.summary.rows == 3
    assert found.summary.figures == 6
    assert len({entry.key for table in found.tables for entry in table.flat}) == 6
    assert len(apart(rows)) == 6


def test_rows_of_one_table_share_a_picture() -> None:
    other = curve("all-reduce", series="4 GPUs, direct-collective")
    renamed = [Row.from_json({**row.raw, "id": f"{row.id}d", "case": {**row.case, "name": "other"}}) for row in other]
    (table,) = overview([*curve("all-reduce"), *renamed], made.node()).tables
    assert isinstance(table, CurveSet)
    assert table.names == ("xccl-collective", "direct-collective")
    assert table.curves[0].peak_gbps == made.LINK_GBPS


def test_reports_tell_of_collectives(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    rows = [message(8.7e-6), gathering("all-reduce", 0.005, title="List"), *curve("all-gather", figure="latency")]
    run = made.run(found=rows)
    show(run, Console(width=160))
    printed = capsys.readouterr().out
    assert "gpu:2, +1.5 % on the mean" in printed
    assert "bus bandwidth as nccl-tests defines it" in printed
    (listing,) = [table for table in overview(rows, made.node()).tables if table.heading.title == "List"]
    assert isinstance(listing, Listing)
    assert listing.cells[0].share == pytest.approx(300 / 450)


def test_messages_both_ways_are_held_against_both_ways() -> None:
    flow = made.flow("gpu:0", "gpu:1", GB, "mpi", parameters={"call": "both-ways"})
    row = made.ok(made.case("both", [flow], {}), [[0.002] * 8])
    limit = peak(row, Paths(made.node()))
    assert limit is not None
    assert limit.gbps == pytest.approx(2 * made.LINK_GBPS)
    turn = made.flow("gpu:0", "gpu:1", 8, "mpi", parameters={"call": "ping-pong"})
    figure = headline(made.ok(made.case("turn", [turn], {"figure": "latency"}), [[2e-6] * 8], latency=True))
    assert figure is not None
    assert figure.what == "time of one message, half of a round trip"


def test_the_export_tells_members_and_processes_and_the_algorithm_bandwidth() -> None:
    one = gathering("all-reduce", 0.005)
    each = Row.from_json({**one.raw, "case": {**one.case, "processes": 4}})
    records = figures(made.run(4, [one, each])).to_dicts()
    assert [record["processes"] for record in records] == [1, 4]
    assert records[0]["members"] == "gpu:0 gpu:1 gpu:2 gpu:3"
    assert records[0]["members_memory"] == "device"
    assert (records[0]["figure"], records[0]["gbps"]) == ("bus", pytest.approx(300))


def test_the_bus_tables_heading_says_what_the_algorithm_bandwidth_is() -> None:
    rows = [gathering("all-reduce", 0.005, figure="bus")]
    (table,) = overview(apart(rows), made.node()).tables
    assert "1.5 times the algorithm bandwidth (size over time)" in wording.quantity(table.heading)
