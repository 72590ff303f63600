"""Faults planted into a run that was recorded on a healthy node: in its figures and, where one shows it, its state."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from linkscope.results.replicates import folded
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
Fault = Callable[[RunFile], RunFile]


def slowed(run: RunFile, hit: Callable[[Json], bool], factor: float) -> RunFile:
    """With the rate of every flow that is ``hit`` times ``factor``; all flows together are as slow as the slowest."""
    return replace(run, rows=tuple(_slower(row, hit, factor) for row in run.rows))


def noisy(run: RunFile, rng: random.Random, deviation: float) -> RunFile:
    """With every row's rates off by as much as runs differ."""
    return replace(run, rows=tuple(_slower(row, lambda flow: True, 1 + rng.gauss(0, deviation)) for row in run.rows))


def _slower(row: Row, hit: Callable[[Json], bool], factor: float) -> Row:
    struck = [hit(flow) for flow in row.case["flows"]]
    if not any(struck):
        return row
    if row.replicates:
        return folded([_slower(one, hit, factor) for one in row.replicates], row.noise, row.usual)
    line = copy.deepcopy(row.raw)
    for slow, flow in zip(struck, line.get("flows", ()), strict=False):
        if not slow:
            continue
        _scale(flow["seconds"], 1 / factor)
        _scale(flow.get("gbps", {}), factor)
        flow["samples_s"] = [sample / factor for sample in flow.get("samples_s", ())]
    _scale((line.get("aggregate") or {}).get("gbps", {}), factor)
    return Row.from_json(line)


def _scale(stats: Json, factor: float) -> None:
    for name in stats.keys() - {"n"}:
        stats[name] *= factor


def with_state(run: RunFile, gpu: str, **seen: Any) -> RunFile:
    """As if every reading of the GPU's state had said so."""
    header, states = copy.deepcopy(run.header), copy.deepcopy(run.states)
    for state in (header["state"], *(record["state"] for record in states)):
        for one in state["gpus"]:
            if one["id"] == gpu:
                one.update(seen)
    return replace(run, header=header, states=states)


def ends(flow: Json) -> list[str]:
    """From and to; what is only read goes to the processor that reads it."""
    found = [flow[end]["device"] for end in ("source", "destination") if end in flow]
    return found if "destination" in flow or "source" not in flow else [*found, flow["executor"]]


def copied(flow: Json, source: str, destination: str) -> bool:
    """Whether it is a copy from the one to the other."""
    return "destination" in flow and ends(flow) == [source, destination]


def peer(flow: Json, gpu: str) -> bool:
    """Between this GPU and another."""
    return gpu in ends(flow) and len({end for end in ends(flow) if end.startswith("gpu:")}) == 2


def host(flow: Json, gpu: str) -> bool:
    """Between the host and this GPU."""
    return gpu in ends(flow) and any(end.startswith("numa:") for end in ends(flow))


def local(flow: Json, gpu: str) -> bool:
    return set(ends(flow)) == {gpu}


def kernel(flow: Json) -> bool:
    return str(flow["method"]).startswith("kernel")


def lanes_down(gpu: str, count: int = 1) -> Fault:
    """The driver says so."""

    def plant(run: RunFile) -> RunFile:
        header = copy.deepcopy(run.header)
        for link in header["node"]["links"]:
            if gpu in (link["a"], link["b"]) and link["kind"] == "nvlink":
                link.update(lanes=18 - count, peak_gbps=25.0 * (18 - count), tier=f"nvlink-{18 - count}")
        return lanes_down_unsaid(gpu, count)(replace(run, header=header))

    return plant


def lanes_down_unsaid(gpu: str, count: int = 1) -> Fault:
    """In the switch, say: only figures show it."""
    return lambda run: slowed(run, lambda flow: peer(flow, gpu), (18 - count) / 18)


def pcie_narrow(gpu: str, lanes: int = 8) -> Fault:
    return lambda run: with_state(slowed(run, lambda f: host(f, gpu), lanes / 16), gpu, pcie_lanes=lanes)


def pcie_slow(gpu: str, generation: int = 4) -> Fault:
    factor = 2.0 ** (generation - 5)
    return lambda run: with_state(slowed(run, lambda f: host(f, gpu), factor), gpu, pcie_generation=generation)


def translated(gpu: str) -> Fault:
    return lambda run: with_state(slowed(run, lambda f: host(f, gpu), 0.8), gpu, iommu="DMA-FQ")


def throttled(gpu: str, factor: float = 0.8) -> Fault:
    def by_clock(flow: Json) -> bool:
        return gpu in ends(flow) and (kernel(flow) or local(flow, gpu))

    return lambda run: with_state(slowed(run, by_clock, factor), gpu, throttle=["thermal slowdown"], clock_mhz=1200)


def capped(gpu: str) -> Fault:
    def by_clock(flow: Json) -> bool:
        return gpu in ends(flow) and (kernel(flow) or local(flow, gpu))

    return lambda run: with_state(slowed(run, by_clock, 0.88), gpu, power_cap_w=350.0)


def shared(gpu: str, *others: str) -> Fault:
    """Two processes keep the GPU busy and have idle contexts on ``others``."""

    def plant(run: RunFile) -> RunFile:
        found = slowed(run, lambda f: gpu in ends(f), 0.7)
        for seen in (gpu, *others):
            found = with_state(found, seen, processes=2)
        return found

    return plant


def sliced(gpu: str) -> Fault:
    return lambda run: with_state(slowed(run, lambda f: local(f, gpu), 0.5), gpu, mig=True)


def corrected(gpu: str, *others: str) -> Fault:
    """ECC on one GPU only."""

    def plant(run: RunFile) -> RunFile:
        found = slowed(run, lambda f: local(f, gpu), 0.88)
        for other in others:
            found = with_state(found, other, ecc=False)
        return found

    return plant


def redirected(gpu: str) -> Fault:
    """ACS, on a node whose GPUs talk over PCIe."""
    return lambda run: with_state(slowed(run, lambda f: peer(f, gpu), 0.6), gpu, acs_redirect=True)


def over_pcie(run: RunFile) -> RunFile:
    """No fault: the node without NVLink, its pairs as slow as copies to the host."""
    header = copy.deepcopy(run.header)
    header["node"]["links"] = [link for link in header["node"]["links"] if link["kind"] != "nvlink"]
    found = replace(run, header=header)
    return slowed(found, lambda f: len({end for end in ends(f) if end.startswith("gpu:")}) == 2, 0.13)


def no_peer_access(a: str, b: str) -> Fault:
    """Kernels are refused, copies go through the host."""

    def plant(run: RunFile) -> RunFile:
        def between(flow: Json) -> bool:
            return {a, b} == set(ends(flow))

        def refused(row: Row) -> Row:
            flows = row.case["flows"]
            if not any(between(flow) and kernel(flow) for flow in flows):
                return row
            line = {**row.raw, "status": "skipped", "reason": f"{a} has no peer access to {b}", "flows": []}
            return Row.from_json({**line, "aggregate": None})

        found = slowed(run, between, 0.07)
        return replace(found, rows=tuple(map(refused, found.rows)))

    return plant


def slow_sender(gpu: str) -> Fault:
    return lambda run: slowed(run, lambda f: peer(f, gpu) and ends(f)[0] == gpu, 0.85)


def slow_receiver(gpu: str) -> Fault:
    return lambda run: slowed(run, lambda f: peer(f, gpu) and ends(f)[1] == gpu, 0.85)


def slow_pair(a: str, b: str, factor: float = 0.83) -> Fault:
    return lambda run: slowed(run, lambda f: ends(f) == [a, b], factor)


def slow_memory(gpu: str) -> Fault:
    return lambda run: slowed(run, lambda f: local(f, gpu), 0.9)


def slow_host(gpu: str) -> Fault:
    return lambda run: slowed(run, lambda f: host(f, gpu), 0.75)


def slow_all_over(gpu: str) -> Fault:
    """Its memory, its path to the host and its kernels' to other GPUs, each by another factor, as a busy GPU is; most
    copies by engines are as fast as before."""

    def plant(run: RunFile) -> RunFile:
        found = slowed(run, lambda f: local(f, gpu), 0.4)
        found = slowed(found, lambda f: host(f, gpu) and kernel(f), 0.6)
        return slowed(found, lambda f: peer(f, gpu) and kernel(f) and ends(f)[0] == gpu, 0.8)

    return plant


def wrong_numa(gpu: str, near: str, far: str, ratio: float) -> Fault:
    """The far node, ``ratio`` times as fast, is the near one."""

    def plant(run: RunFile) -> RunFile:
        found = slowed(run, lambda f: {gpu, near} == set(ends(f)), ratio)
        return slowed(found, lambda f: {gpu, far} == set(ends(f)), 1 / ratio)

    return plant


def late(hit: Callable[[Json], bool], factor: float) -> Fault:
    """Answers of one word alone take ``factor`` times as long."""
    return lambda run: slowed(run, lambda f: f["method"] in ("pointer-chase", "ping-pong") and hit(f), 1 / factor)


def late_row(gpu: str, factor: float = 1.4) -> Fault:
    """Whatever waits for this GPU or answers to it, say over a link that retries."""
    return late(lambda flow: peer(flow, gpu), factor)


def late_pair(a: str, b: str, factor: float = 1.4) -> Fault:
    return late(lambda flow: ends(flow) == [a, b], factor)


def late_memory(gpu: str, factor: float = 1.3) -> Fault:
    return late(lambda flow: local(flow, gpu), factor)


def throttled_waits(gpu: str) -> Fault:
    """A low clock that one-word answers alone show."""
    return lambda run: with_state(late_memory(gpu)(run), gpu, throttle=["thermal slowdown"], clock_mhz=1200)


def unsteady(deviation: float, factor: float) -> Fault:
    """Runs differ by ``deviation``; in this one a path is ``factor`` times as fast."""

    def plant(run: RunFile) -> RunFile:
        found = slow_pair("gpu:0", "gpu:1", factor)(run)
        return replace(found, rows=tuple(replace(row, noise=deviation) for row in found.rows))

    return plant


def shared_link(*gpus: str) -> Fault:
    """Each alone has all of it."""

    def plant(run: RunFile) -> RunFile:
        def crowded(row: Row) -> Row:
            several = len(row.case["flows"]) > 2
            return _slower(row, lambda f: any(host(f, gpu) for gpu in gpus), 1 / len(gpus)) if several else row

        return replace(run, rows=tuple(map(crowded, run.rows)))

    return plant


def slow_fabric(run: RunFile) -> RunFile:
    return slowed(run, lambda f: len({end for end in ends(f) if end.startswith("gpu:")}) == 2, 0.87)


def slow_engine(method: str) -> Fault:
    """All that one engine moves is 10 % slow."""
    return lambda run: slowed(run, lambda flow: flow["method"] == method, 0.9)


def slow_host_everywhere(run: RunFile) -> RunFile:
    return slowed(run, lambda f: any(end.startswith("numa:") for end in ends(f)), 0.8)
