"""What flows and collectives cost on machine models, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from linkscope.machine.node import Device, Link, Node
from linkscope.machine.paths import Paths
from linkscope.modelled.cases import modelled_row
from linkscope.modelled.machine import ModelledMachine

Json = dict[str, Any]
GIB = 1 << 30
PLACES = (
    *(Device(f"gpu:{i}", "gpu", memory_bytes=64 * GIB, memory_gbps=1600, memory_latency_ns=300) for i in range(3)),
    Device("numa:0", "numa", memory_bytes=128 * GIB, memory_gbps=51.2, memory_latency_ns=96),
)
LINKS = (
    Link("gpu:0", "gpu:1", "xgmi", 50, latency_ns=100),
    Link("gpu:0", "gpu:2", "xgmi", 200, latency_ns=100),
    Link("gpu:0", "numa:0", "pcie", 36, latency_ns=100),
)
SMALL = Node("small", PLACES, LINKS, modelled=True)
"""Two GPUs joined at 50 GB/s, 200 GB/s to a third, and a host at 36."""
KERNEL = {"efficiency": 0.8}
ENGINE = {"latency_us": 8.7, "ceiling_gbps": 50, "efficiency": 0.75}


def flow(method: str, source: str | None, destination: str | None, executor: str, figures: Json, **more: Any) -> Json:
    """A flow of 1 GiB."""
    ends = {name: end(device) for name, device in (("source", source), ("destination", destination)) if device}
    path = Paths(SMALL).between(source or executor, destination or executor)
    route = list(path.route) if path is not None else []
    return {"method": method, "executor": executor, "bytes": GIB, **ends, "route": route, "figures": figures, **more}


def end(device: str) -> Json:
    return {"device": device, "memory": "device" if device.startswith("gpu") else "pinned"}


def copy(source: str, destination: str, figures: Json = ENGINE, **more: Any) -> Json:
    return flow("copy-engine", source, destination, source, figures, **more)


def row_of(*flows: Json, node: Node = SMALL, **more: Any) -> Json:
    case = {"id": "a", "clock": "device", "flows": list(flows), **more}
    return modelled_row(case, ModelledMachine(Paths(node)))


def rates(*flows: Json, node: Node = SMALL) -> list[float]:
    row = row_of(*flows, node=node)
    assert row["status"] == "ok", row
    return [one["gbps"]["median"] for one in row["flows"]]


def seconds(one: Json, node: Node = SMALL) -> float:
    row = row_of(one, node=node)
    assert row["status"] == "ok", row
    found: float = row["flows"][0]["seconds"]["median"]
    return found


def why_not(*flows: Json, node: Node = SMALL) -> str:
    row = row_of(*flows, node=node)
    assert row["status"] == "skipped", row
    return str(row["reason"])


def test_a_row_says_that_it_is_modelled_and_not_that_anything_was_verified() -> None:
    row = row_of(copy("gpu:0", "gpu:1"))
    assert (row["modelled"], row["backend"], row["stopped"]) == (True, "modelled", "precision")
    assert "verified" not in row
    (result,) = row["flows"]
    assert set(result["samples_s"]) == {result["seconds"]["low"]} == {result["seconds"]["high"]}
    assert row["aggregate"]["overlap"] == 1


def test_a_flow_reaches_its_link_times_efficiency_or_its_ceiling() -> None:
    assert rates(copy("gpu:0", "gpu:1")) == pytest.approx([37.5], rel=1e-3)
    assert rates(copy("gpu:0", "gpu:2")) == pytest.approx([50], rel=1e-3)
    small = flow("kernel-copy", "gpu:0", "gpu:2", "gpu:0", KERNEL, bytes=1000)
    assert rates(small) == pytest.approx([1000 / (1000 / 160 + 100)])


def test_one_direction_is_shared_and_the_other_is_not() -> None:
    there, back = copy("gpu:0", "gpu:1"), copy("gpu:1", "gpu:0")
    assert rates(there, there) == pytest.approx([18.75, 18.75], rel=1e-3)
    assert rates(there, back) == pytest.approx([37.5, 37.5], rel=1e-3)


def test_small_sizes_take_the_latency() -> None:
    assert seconds(copy("gpu:0", "gpu:1", bytes=16)) == pytest.approx(8.8e-6, rel=1e-3)


def test_messages_have_any_driver_and_may_be_empty() -> None:
    message = {"latency_us": 5, "efficiency": 0.5}
    assert rates(flow("mpi", "gpu:0", "gpu:1", "gpu:0", message)) == pytest.approx([25], rel=1e-3)
    assert rates(flow("mpi", "numa:0", "numa:0", "numa:0", message)) == pytest.approx([0.5 * 51.2 / 2], rel=1e-3)
    row = row_of(flow("mpi", "gpu:0", "gpu:1", "gpu:0", message, bytes=0))
    assert row["flows"][0]["seconds"]["median"] == pytest.approx(5.1e-6)
    assert "gbps" not in row["flows"][0]
    assert "aggregate" not in row


def test_each_memory_is_taken_as_often_as_it_is_read_or_written() -> None:
    assert rates(flow("kernel-copy", "gpu:0", "gpu:0", "gpu:0", KERNEL)) == pytest.approx([640])
    read = flow("kernel-read", "gpu:0", None, "gpu:0", KERNEL)
    write = flow("kernel-write", None, "gpu:1", "gpu:1", KERNEL)
    assert rates(read, write) == pytest.approx([1280, 1280])


def test_an_exchange_uses_both_directions() -> None:
    assert rates(flow("kernel-exchange", "gpu:0", "gpu:1", "gpu:0", KERNEL)) == pytest.approx([80], rel=1e-3)


@pytest.mark.parametrize(("threads", "gbps"), [(1, 10), (2, 20), (64, 25.6)])
def test_a_cpus_ceiling_is_per_thread_until_the_memory_is_full(threads: int, gbps: float) -> None:
    figures = {"latency_us": 0.1, "ceiling_gbps": 10}
    one = flow("memcpy", "numa:0", "numa:0", "numa:0", figures, parameters={"threads": threads})
    assert rates(one) == pytest.approx([gbps], rel=1e-3)
    settled = {**one, "figures": {"ceiling_gbps": 12, "settled": ["threads"]}}
    assert rates(settled) == pytest.approx([12])


def test_a_chase_takes_its_memory_and_each_link_twice() -> None:
    chase = flow("pointer-chase", "gpu:1", None, "gpu:0", {}, parameters={"hops": 1000})
    row = row_of(chase)
    assert row["flows"][0]["operations"] == 1000
    assert row["flows"][0]["seconds"]["median"] == pytest.approx(500e-9)
    assert seconds({**chase, "figures": {"load_ns": 690}}) == pytest.approx(690e-9)


def test_a_chase_needs_the_latency_of_all_that_it_passes() -> None:
    unknown = Node("small", PLACES, tuple(Link(one.a, one.b, one.kind, one.peak_gbps) for one in LINKS), modelled=True)
    chase = flow("pointer-chase", "gpu:1", None, "gpu:0", {})
    assert "gpu:1>gpu:0" in why_not(chase, node=unknown)
    assert seconds({**chase, "figures": {"load_ns": 690}}, node=unknown) == pytest.approx(690e-9)


def test_a_flag_takes_the_link_once() -> None:
    flag = flow("ping-pong", "gpu:0", "gpu:1", "gpu:0", {"latency_us": 0.5}, bytes=8)
    assert seconds(flag) == pytest.approx(0.6e-6)


def test_what_caches_serve_takes_no_links() -> None:
    cached = flow("memcpy", "numa:0", "numa:0", "numa:0", {"latency_us": 0.02, "cached_gbps": 250}, bytes=16384)
    assert seconds(cached) == pytest.approx(0.02e-6 + 16384 / 250e9)


def test_stream_takes_the_links_of_both_of_its_legs_and_tells_what_it_touches() -> None:
    there = flow("stream", "gpu:2", "gpu:0", "gpu:0", KERNEL)
    both = {**there, "destination": end("gpu:2")}
    pushed = flow("stream", "gpu:0", "gpu:2", "gpu:0", KERNEL)
    for one in (there, both, pushed):
        assert rates(one) == pytest.approx([160], rel=1e-3)
    assert rates(both, pushed)[1] == pytest.approx(80, rel=1e-3)  # both store over gpu:0>gpu:2
    assert rates(there, pushed)[1] == pytest.approx(160, rel=1e-3)
    triad = {**both, "parameters": {"operation": "triad"}}
    assert rates(triad) == pytest.approx([80], rel=1e-3)
    touched = [row_of(one)["flows"][0]["touched_bytes"] for one in (both, triad)]
    assert touched == [2 * GIB, 3 * GIB]
    assert row_of({**both, "parameters": {"operation": "dot"}})["status"] == "failed"


@pytest.mark.parametrize("hops", ["many", 0, -1, "1e3"])
def test_a_number_that_is_none_fails_its_row(hops: object) -> None:
    row = row_of(flow("pointer-chase", "gpu:1", None, "gpu:0", {"load_ns": 690}, parameters={"hops": hops}))
    assert (row["status"], "hops" in row["reason"]) == ("failed", True)


@pytest.mark.parametrize(
    ("method", "parameters", "reason"),
    [
        ("mpi", {"staging": "host"}, "the model has no staging: host"),
        ("copy-engine", {"until": "return"}, "the model has no until: return"),
        ("kernel-copy", {"width": 4}, "the model has no width: 4"),
    ],
)
def test_a_parameter_that_is_not_modelled_is_refused(method: str, parameters: Json, reason: str) -> None:
    asked = flow(method, "gpu:0", "gpu:1", "gpu:0", {"latency_us": 1}, parameters=parameters)
    assert why_not(asked) == reason
    asked["figures"]["settled"] = list(parameters)
    assert rates(asked)


def test_a_parameter_that_changes_nothing_is_accepted() -> None:
    assert rates(copy("gpu:0", "gpu:1", parameters={"call": "sync", "graph": 0}))
    assert rates(flow("kernel-copy", "gpu:0", "gpu:1", "gpu:0", KERNEL, parameters={"blocks": 12}))


def test_background_takes_its_share_and_is_no_part_of_the_aggregate() -> None:
    row = row_of(copy("gpu:0", "gpu:1"), copy("gpu:0", "gpu:1", role="background"))
    assert row["flows"][0]["gbps"]["median"] == pytest.approx(18.75, rel=1e-3)
    assert row["aggregate"]["gbps"]["median"] == row["flows"][0]["gbps"]["median"]


def test_what_cannot_be_is_said() -> None:
    kernel = flow("kernel-copy", "gpu:0", "gpu:1", "gpu:0", KERNEL)
    assert "no route" in why_not({**kernel, "route": []})
    assert "not driven" in why_not(flow("memcpy", "gpu:0", "gpu:1", "gpu:0", KERNEL))
    assert "third device" in why_not(flow("kernel-copy", "gpu:1", "gpu:1", "gpu:0", KERNEL))
    assert "needs a destination" in why_not(flow("kernel-copy", "gpu:0", None, "gpu:0", KERNEL))
    assert "takes no source" in why_not(flow("kernel-write", "gpu:0", "gpu:0", "gpu:0", KERNEL))
    assert "gives no latency" in why_not(flow("mpi", "gpu:0", "gpu:0", "gpu:0", {}, bytes=0))
    assert "lives on a NUMA node" in why_not({**kernel, "source": {"device": "gpu:0", "memory": "pinned"}})
    assert "takes no advice" in why_not({**kernel, "source": {**end("gpu:0"), "advice": "read-mostly"}})
    assert "asked of gpu:0, which has 64 GiB" in why_not({**kernel, "bytes": 65 * GIB})
    lonely = tuple(Device(d.id, d.kind, memory_gbps=d.memory_gbps, attributes={"peers": []}) for d in PLACES)
    apart = Node("small", lonely, LINKS, modelled=True)
    assert why_not(kernel, node=apart) == "gpu:0 has no peer access to gpu:1"


GPUS = tuple(f"gpu:{i}" for i in range(4))
STEPS = {"latency_us": 1, "step_us": 2, "efficiency": 0.5}
INTERFACES = ("xccl-collective", "direct-collective")


def on_switch(*gbps: float) -> Node:
    """GPUs on a switch, with a link for each."""
    devices = [Device(f"gpu:{i}", "gpu", memory_gbps=1e9) for i in range(len(gbps))]
    links = [Link(f"gpu:{i}", "switch:a", "nvlink", rate) for i, rate in enumerate(gbps)]
    return Node("switched", (*devices, Device("switch:a", "switch")), tuple(links), modelled=True)


def collective(method: str, kind: str, size: int, members: int = 4, **parameters: str) -> Json:
    ends = [end(gpu) for gpu in GPUS[:members]]
    asked = {"collective": kind, **parameters}
    return {
        "method": method, "executor": "gpu:0", "bytes": size, "members": ends, "parameters": asked, "figures": STEPS
    }  # fmt: skip


@pytest.mark.parametrize("method", INTERFACES)
@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        ("all-reduce", 1.5), ("reduce-scatter", 0.75), ("all-gather", 0.75), ("all-to-all", 0.75), ("broadcast", 1),
        ("reduce", 1),
    ],
)  # fmt: skip
def test_large_sizes_reach_the_link_times_efficiency_in_bus_bandwidth(method: str, kind: str, factor: float) -> None:
    (rate,) = rates(collective(method, kind, 48 * GIB), node=on_switch(400, 400, 400, 400))
    assert rate * factor == pytest.approx(200, rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "steps"),
    [("all-reduce", (6, 2)), ("reduce-scatter", (3, 1)), ("broadcast", (3, 2)), ("all-to-all", (1, 1))],
)
def test_small_sizes_take_their_steps(kind: str, steps: tuple[int, int]) -> None:
    """Around a ring, and in pairs."""
    for method, count in zip(INTERFACES, steps, strict=True):
        time = seconds(collective(method, kind, 64), node=on_switch(400, 400, 400, 400))
        assert time == pytest.approx((1 + 2 * count) * 1e-6, rel=1e-3)


def test_a_barrier_has_a_time_for_each_member_and_no_rate() -> None:
    row = row_of(collective("direct-collective", "barrier", 0), node=on_switch(400, 400, 400, 400))
    (result,) = row["flows"]
    assert result["parts_s"] == pytest.approx([3e-6] * 4)
    assert "gbps" not in result


def test_a_ring_is_as_fast_as_its_narrowest_link() -> None:
    (rate,) = rates(collective("xccl-collective", "all-gather", 48 * GIB, 3), node=on_switch(100, 400, 400))
    assert rate * 2 / 3 == pytest.approx(50, rel=1e-3)


def test_what_a_collective_cannot_be_is_said() -> None:
    node = on_switch(400, 400, 400)
    assert why_not(collective("xccl-collective", "reduce", 1024, 1), node=node) == "a collective needs two members"
    host = collective("xccl-collective", "reduce", 1024, 2)
    host["members"][1] = end("numa:0")
    assert why_not(host) == "xccl-collective has no member on numa:0"
    assert "not a whole number of float32" in why_not(collective("xccl-collective", "all-gather", 4, 2), node=node)
    in_place = collective("xccl-collective", "all-to-all", 1024, 2, in_place="yes")
    assert why_not(in_place, node=node).startswith("all-to-all in place")
    odd = row_of(collective("xccl-collective", "reduce", 1024, 2, type="float8"), node=node)
    assert (odd["status"], "float8" in odd["reason"]) == ("failed", True)
    peers = tuple(
        Device(d.id, d.kind, memory_gbps=d.memory_gbps, attributes={"peers": ["gpu:0", "gpu:1"]}) for d in node.devices
    )
    triad = Node("switched", peers, node.links, modelled=True)
    assert why_not(collective("direct-collective", "reduce", 6144, 3), node=triad).endswith("peer access to gpu:2")
    assert rates(collective("xccl-collective", "reduce", 6144, 3), node=triad)
