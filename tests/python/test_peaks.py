"""Peaks of rows and the share of them that was reached."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import modelled_run as made
import pytest

from linkscope.answers.questions import ask
from linkscope.figures.columns import ABOVE_PEAK
from linkscope.figures.peak import peak
from linkscope.figures.run import Run
from linkscope.machine.node import Node
from linkscope.machine.paths import Paths
from linkscope.results.row import Row

PATHS = Paths(made.node(4))


def row(flows: list[dict[str, Any]], figure: str, gbps: float = 90.0) -> Row:
    samples = [[flow["bytes"] / (gbps * 1e9)] * 8 for flow in flows]
    return made.ok(made.case("case", flows, {"figure": figure}), samples)


def gbps(flows: list[dict[str, Any]], figure: str, paths: Paths = PATHS) -> float | None:
    found = peak(row(flows, figure).case, figure, paths)
    return None if found is None else found.gbps


def test_one_flow_has_the_peak_of_its_narrowest_link() -> None:
    assert gbps([made.flow("gpu:0", "gpu:1")], "first") == pytest.approx(made.LINK_GBPS)
    assert gbps([made.flow("numa:0", "gpu:1")], "first") == pytest.approx(made.PCIE_GBPS)


def test_a_local_copy_takes_two_accesses_a_byte() -> None:
    assert gbps([made.flow("gpu:0", "gpu:0")], "first") == pytest.approx(4800 / 2)


def test_both_directions_of_a_link_do_not_share_it() -> None:
    flows = [made.flow("gpu:0", "gpu:1"), made.flow("gpu:1", "gpu:0")]
    assert gbps(flows, "sum") == pytest.approx(2 * made.LINK_GBPS)
    assert gbps(flows, "first") == pytest.approx(made.LINK_GBPS)


def test_flows_that_leave_one_device_share_its_link() -> None:
    flows = [made.flow("gpu:0", f"gpu:{i}") for i in (1, 2, 3)]
    assert gbps(flows, "aggregate") == pytest.approx(made.LINK_GBPS)
    assert gbps(flows, "first") == pytest.approx(made.LINK_GBPS / 3)


def test_an_exchange_moves_both_ways_and_its_half_is_one() -> None:
    flows = [made.flow("gpu:0", "gpu:1", method="kernel-exchange")]
    assert gbps(flows, "sum") == pytest.approx(2 * made.LINK_GBPS)
    assert gbps(flows, "half") == pytest.approx(made.LINK_GBPS)


def test_the_reason_names_what_limits() -> None:
    found = peak(row([made.flow("numa:0", "gpu:1")], "first").case, "first", PATHS)
    assert found is not None
    assert found.why == "numa:0>gpu:1"
    local = peak(row([made.flow("gpu:0", "gpu:0")], "touched").case, "touched", PATHS)
    assert local is not None
    assert local.why == "memory:gpu:0"


def test_an_unknown_link_has_no_peak_and_no_share() -> None:
    described = made.node(4)
    bare = Node("bare", tuple(d for d in described.devices if d.kind == "gpu")[:1], ())
    assert gbps([made.flow("gpu:0", "gpu:9")], "first", Paths(bare)) is None


def of_peak(found: Row) -> float | None:
    share: float | None = Run(made.run(found=[found])).results["of_peak"][0]
    return share


@pytest.mark.parametrize("factor", [0.9, 1.02, 1.05, 116.0])
def test_the_share_is_measured_over_peak(factor: float) -> None:
    run = Run(made.run(found=[row([made.flow("gpu:0", "gpu:1")], "first", gbps=factor * made.LINK_GBPS)]))
    assert run.results["of_peak"][0] == pytest.approx(factor)
    codes = {found.code for found in ask("show", run).findings}
    assert ("show.above-peak" in codes) == (factor > ABOVE_PEAK)


def test_prefetches_to_the_host_have_the_peak_of_the_link_they_cross() -> None:
    def prefetch(source: str, executor: str, **parameters: str) -> list[dict[str, Any]]:
        flow = made.flow(source, "gpu:0", method="prefetch", executor=executor, parameters=parameters)
        return [{name: part for name, part in flow.items() if name != "destination"}]

    assert gbps(prefetch("gpu:1", "gpu:1"), "first") == pytest.approx(made.PCIE_GBPS)
    assert gbps(prefetch("numa:0", "gpu:1"), "first") == pytest.approx(made.PCIE_GBPS)
    assert gbps(prefetch("gpu:0", "gpu:1"), "first") == pytest.approx(made.LINK_GBPS)
    assert gbps(prefetch("gpu:0", "gpu:0", to="host"), "first") == pytest.approx(made.PCIE_GBPS)


def test_what_goes_to_a_host_that_a_node_is_described_without_has_no_known_peak() -> None:
    whole = made.node(2)
    devices = tuple(device for device in whole.devices if device.kind != "numa")
    links = tuple(link for link in whole.links if link.kind == "nvlink")
    flow = made.flow("gpu:0", "gpu:0", method="prefetch", executor="gpu:0", parameters={"to": "host"})
    pages = [{name: part for name, part in flow.items() if name != "destination"}]
    assert gbps(pages, "first", Paths(replace(whole, devices=devices, links=links))) is None


def test_times_have_no_peak() -> None:
    assert of_peak(row([made.flow("gpu:0", "gpu:1")], "latency")) is None


def test_pages_that_loads_may_have_brought_elsewhere_have_no_peak() -> None:
    def managed(method: str, placement: str) -> list[dict[str, Any]]:
        source = {"device": "numa:0", "memory": "managed", "placement": placement}
        return [{**made.flow("numa:0", "gpu:0", method=method), "executor": "gpu:0", "source": source}]

    assert gbps(managed("kernel-copy", "first-touch"), "first") is None
    for method, placement in (
        ("kernel-copy", "bound"),
        ("copy-engine", "first-touch"),
        ("page-fault", "first-touch"),
    ):
        assert gbps(managed(method, placement), "first") == pytest.approx(made.PCIE_GBPS)
