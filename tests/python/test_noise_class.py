"""Noise class: by devices, memories, bytes and traits of its case."""

from __future__ import annotations

import math
from typing import Any

import modelled_run as made
import pytest
from msgspec.structs import replace

from linkscope.results.noise_class import LARGE, NoiseClass, noise_class
from linkscope.results.usual_noise import usual_noise

Json = dict[str, Any]


def end(device: str, memory: str) -> Json:
    return {"device": device, "memory": memory}


def flow(method: str, executor: str, source: Json | None, destination: Json | None, size: int = LARGE) -> Json:
    ends = {"source": source, "destination": destination}
    return {"method": method, "executor": executor, "bytes": size, **{k: v for k, v in ends.items() if v is not None}}


MINE, PEERS, HOSTS = end("gpu:0", "device"), end("gpu:1", "device"), end("numa:0", "pinned")
PAGES, LOCKED, MANAGED = end("numa:0", "pageable"), end("numa:0", "registered"), end("numa:0", "managed")
OF_CLASS = {
    "pushed": (flow("copy-engine", "gpu:0", MINE, PEERS), NoiseClass.GPU_LARGE),
    "written by a kernel": (flow("kernel-write", "gpu:0", None, PEERS), NoiseClass.GPU_LARGE),
    "chase of a peer": (flow("pointer-chase", "gpu:0", PEERS, None, 4096), NoiseClass.GPU_LARGE),
    "smaller": (flow("copy-engine", "gpu:0", MINE, PEERS, LARGE - 1), NoiseClass.GPU),
    "pulled": (flow("copy-engine", "gpu:1", MINE, PEERS), NoiseClass.GPU),
    "read by a kernel": (flow("kernel-read", "gpu:0", PEERS, None), NoiseClass.GPU),
    "both arrays in the peer": (flow("stream", "gpu:0", PEERS, PEERS), NoiseClass.GPU),
    "local": (flow("copy-engine", "gpu:0", MINE, MINE), NoiseClass.GPU),
    "written locally": (flow("kernel-write", "gpu:0", None, MINE), NoiseClass.GPU),
    "ping-pong": (flow("ping-pong", "gpu:0", MINE, PEERS, 8), NoiseClass.FLAG),
    "faults of a GPU": (flow("fault-chase", "gpu:0", end("gpu:1", "managed"), None), NoiseClass.GPU),
    "a call": (flow("launch", "gpu:0", None, None, 1), NoiseClass.GPU),
    "pinned": (flow("copy-engine", "gpu:0", HOSTS, MINE), NoiseClass.PINNED),
    "registered": (flow("copy-engine", "gpu:0", MINE, LOCKED), NoiseClass.PINNED),
    "chase of the host": (flow("pointer-chase", "gpu:0", HOSTS, None), NoiseClass.PINNED),
    "a CPU's chase of a GPU": (flow("pointer-chase", "numa:0", MINE, None), NoiseClass.PINNED),
    "pageable": (flow("copy-engine", "gpu:0", PAGES, MINE), NoiseClass.PAGEABLE),
    "managed": (flow("page-fault", "gpu:0", MANAGED, None), NoiseClass.PAGEABLE),
    "memcpy": (flow("memcpy", "numa:0", PAGES, HOSTS), NoiseClass.CPU),
    "collective": ({**flow("xccl-collective", "gpu:0", None, None), "members": [MINE, PEERS]}, NoiseClass.PROCESSES),
}


@pytest.mark.parametrize(("one", "expected"), OF_CLASS.values(), ids=OF_CLASS)
def test_the_class_of_a_flow(one: Json, expected: NoiseClass) -> None:
    assert noise_class({"flows": [one]}) is expected


def test_of_several_flows_the_noisiest_measured_one_decides() -> None:
    quiet, noisy = (OF_CLASS[name][0] for name in ("pushed", "pageable"))
    assert noise_class({"flows": [quiet, noisy]}) is NoiseClass.PAGEABLE
    assert noise_class({"flows": [quiet, {**noisy, "role": "background"}]}) is NoiseClass.GPU_LARGE
    assert noise_class({"flows": [quiet], "processes": 2}) is NoiseClass.PROCESSES


@pytest.mark.parametrize("name", ["pushed", "pulled", "pinned", "ping-pong"])
def test_what_the_host_waits_for_has_its_noise(name: str) -> None:
    one, own = OF_CLASS[name]
    assert noise_class({"flows": [one], "clock": "host"}) is NoiseClass.WAITED
    assert noise_class({"flows": [one], "clock": "device"}) is own


@pytest.mark.parametrize("name", ["pageable", "memcpy", "collective"])
def test_what_is_noisier_keeps_its_class(name: str) -> None:
    one, own = OF_CLASS[name]
    assert noise_class({"flows": [one], "clock": "host"}) is own


def test_traits_decide_and_not_names() -> None:
    one = flow("copy-engine", "gpu:0", end("numa:0", "new"), MINE)
    locked = {"memories": {"new": {"lies_on": "host"}}}
    touched = {"memories": {"new": {"lies_on": "host", "placed_by_touch": True}}}
    assert noise_class({"flows": [one], "labels": {"traits": locked}}) is NoiseClass.PINNED
    assert noise_class({"flows": [one], "labels": {"traits": touched}}) is NoiseClass.PAGEABLE


@pytest.mark.parametrize(("name", "runs"), [("pushed", 0.001), ("pulled", 0.0025)])
def test_a_shape_that_was_sought_adds_what_shapes_that_tie_differ_by(name: str, runs: float) -> None:
    one, _ = OF_CLASS[name]

    def noise(tuned: Json, setting: Json) -> float:
        row = made.ok(made.case(name, [{**one, **tuned}], {}), [[1e-3] * 6])
        return usual_noise(replace(row, flows=(replace(row.flows[0], setting=setting),))).runs

    sought, blocks = {"tuning_group": "a"}, {"blocks": 64}
    assert noise(sought, blocks) == runs
    assert noise(sought, {}) == noise({}, blocks) == noise({**sought, "parameters": blocks}, blocks) == 0
    small = made.ok(made.case(name, [{**one, **sought, "bytes": LARGE - 1}], {}), [[1e-3] * 6])
    for setting, most in (({}, 0.005), (blocks, math.hypot(0.005, 0.03))):
        found = usual_noise(replace(small, flows=(replace(small.flows[0], setting=setting),)))
        assert found.at_most == pytest.approx(most)


def test_waits_of_the_host_are_a_time_and_a_share_of_it() -> None:
    case = made.case("waited", [OF_CLASS["pushed"][0]], {}, clock="host")
    for seconds in (1e-6, 1e-3):
        found = usual_noise(made.ok(case, [[seconds] * 6]))
        assert found.processes == pytest.approx(math.hypot(0.6e-6 / seconds, 0.003))
        assert found.runs == found.at_most == pytest.approx(math.hypot(0.35e-6 / seconds, 0.001))
