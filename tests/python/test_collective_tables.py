"""Collectives as results: bandwidths by nccl-tests' factors, peaks, times of members, tables."""

from __future__ import annotations

from typing import Any

import modelled_run as made
import pytest

from linkscope.answers.questions import ask
from linkscope.answers.tables import tables
from linkscope.figures.collective import Collective
from linkscope.figures.run import Run
from linkscope.machine.described import load_machine
from linkscope.machine.paths import Paths
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


def results(*rows: Row) -> list[Json]:
    """Return the lines of the frame of rows."""
    return Run(made.run(found=list(rows))).results.to_dicts()


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
    (bus,) = results(gathering(kind, 0.005))
    assert (bus["figure"], bus["unit"]) == ("bus", "GB/s")
    assert bus["value"] == pytest.approx(200 * factor)
    assert results(gathering(kind, 0.005, figure="algorithm"))[0]["value"] == pytest.approx(200)


def test_a_time_is_that_of_the_collective_and_a_barrier_has_no_bandwidth() -> None:
    (time,) = results(gathering("all-reduce", 20e-6, figure="latency"))
    assert (time["value"], time["unit"], time["peak_gbps"]) == (pytest.approx(20e-6), "s", None)
    flow = gathering("barrier", 5e-6, 0).case["flows"][0]
    barrier = made.ok(made.case("barrier", [flow], {"figure": "bus"}), [[5e-6] * 8], latency=True)
    assert results(barrier)[0]["unit"] == "s"


@pytest.mark.parametrize("kind", ["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce"])
def test_on_a_switch_the_peak_of_the_bus_bandwidth_is_a_gpus_link(kind: str) -> None:
    assert results(gathering(kind, 0.004))[0]["peak_gbps"] == pytest.approx(made.LINK_GBPS)
    (algorithm,) = results(gathering(kind, 0.004, figure="algorithm"))
    assert algorithm["peak_gbps"] == pytest.approx(made.LINK_GBPS / Collective(kind, tuple("abcd")).bus_factor)


def test_in_a_mesh_a_member_uses_all_its_links() -> None:
    paths = Paths(load_machine("mi300x"))
    assert Collective("all-gather", tuple(f"gpu:{i}" for i in range(8))).bus_peak(paths) == (
        350.0, "into:gpu:0",
    )  # fmt: skip


def test_the_least_connected_member_decides() -> None:
    """MI250X: die 0 has links of 200, 100 and 50 GB/s to others, die 2 to die 0 alone one of 50."""
    paths = Paths(load_machine("frontier"))
    found = Collective("all-gather", ("gpu:0", "gpu:1", "gpu:2")).bus_peak(paths)
    assert found is not None
    assert found[1] == "into:gpu:2"
    assert Collective("broadcast", ("gpu:0", "gpu:1")).bus_peak(paths) == (200.0, "out-of:gpu:0")


def test_members_that_share_a_device_have_no_known_peak() -> None:
    assert Collective("all-reduce", ("numa:0", "numa:0")).bus_peak(Paths(made.node())) is None


def test_the_slowest_member_is_named() -> None:
    (line,) = (
        ask("show", made.run(found=[gathering("all-reduce", 0.005)])).table("show.slowest-members").frame.to_dicts()
    )
    assert line["member"] == "gpu:2"
    assert line["behind"] == pytest.approx(1.02 / 1.005 - 1)


def curve(kind: str, **labels: Any) -> list[Row]:
    shown = {"show": "curve", "series": "4 GPUs, xccl-collective", "x_name": "bytes", "table": "by-size", **labels}
    return [gathering(kind, 20e-6 + size / 2e11, size, x=size, **shown) for size in (1024, 1 << 20, GB)]


def test_one_measurement_stands_in_a_table_for_each_figure() -> None:
    rows = curve("all-reduce", title="Sum", figure="latency", figures=["latency", "bus"])
    run = Run(made.run(found=rows))
    found = list(tables(run.results))
    assert [table.facts["unit"] for table in found] == ["s", "GB/s"]
    assert run.results.height == 6
    assert run.results["id"].n_unique() == 3


def test_messages_both_ways_have_the_peak_of_both_ways() -> None:
    flow = made.flow("gpu:0", "gpu:1", GB, "mpi", parameters={"call": "both-ways"})
    (line,) = results(made.ok(made.case("both", [flow], {}), [[0.002] * 8]))
    assert line["peak_gbps"] == pytest.approx(2 * made.LINK_GBPS)
    assert line["movement"].startswith("gpu<>gpu")


def test_results_tell_members_processes_and_memory() -> None:
    one = gathering("all-reduce", 0.005)
    each = Row.from_json({**one.raw, "case": {**one.case, "processes": 4, "id": "each"}, "id": "each"})
    alone, apart = results(one, each)
    assert (alone["processes"], apart["processes"]) == (1, 4)
    assert alone["members_memory"] == "device"
    assert alone["likeness"] != apart["likeness"]
    assert (alone["figure"], alone["gbps"]) == ("bus", pytest.approx(300))


def test_show_has_a_row_for_each_collective_with_its_bus_bandwidth() -> None:
    run = made.run(found=[gathering(kind, 0.005) for kind in ("all-reduce", "broadcast")])
    table = ask("show", run).table("show.movements-at")
    assert table.frame["movement"].to_list() == ["all-reduce/4gpus", "broadcast/4gpus"]
    assert [values[0] for values in table.frame["xccl-collective"]] == pytest.approx([300, 200])
    assert "bus" in table.facts["notes"]
