"""Class of a figure: by devices, memories, bytes and traits of its case."""

from __future__ import annotations

from typing import Any

import pytest

from linkscope.results.figure_class import LARGE, FigureClass, figure_class

Json = dict[str, Any]


def end(device: str, memory: str) -> Json:
    return {"device": device, "memory": memory}


def flow(method: str, executor: str, source: Json | None, destination: Json | None, size: int = LARGE) -> Json:
    ends = {"source": source, "destination": destination}
    return {"method": method, "executor": executor, "bytes": size, **{k: v for k, v in ends.items() if v is not None}}


MINE, PEERS, HOSTS = end("gpu:0", "device"), end("gpu:1", "device"), end("numa:0", "pinned")
PAGES, LOCKED, MANAGED = end("numa:0", "pageable"), end("numa:0", "registered"), end("numa:0", "managed")
OF_CLASS = {
    "pushed": (flow("copy-engine", "gpu:0", MINE, PEERS), FigureClass.GPU_LARGE),
    "written by a kernel": (flow("kernel-write", "gpu:0", None, PEERS), FigureClass.GPU_LARGE),
    "chase of a peer": (flow("pointer-chase", "gpu:0", PEERS, None, 4096), FigureClass.GPU_LARGE),
    "smaller": (flow("copy-engine", "gpu:0", MINE, PEERS, LARGE - 1), FigureClass.GPU),
    "pulled": (flow("copy-engine", "gpu:1", MINE, PEERS), FigureClass.GPU),
    "read by a kernel": (flow("kernel-read", "gpu:0", PEERS, None), FigureClass.GPU),
    "both arrays in the peer": (flow("stream", "gpu:0", PEERS, PEERS), FigureClass.GPU),
    "local": (flow("copy-engine", "gpu:0", MINE, MINE), FigureClass.GPU),
    "written locally": (flow("kernel-write", "gpu:0", None, MINE), FigureClass.GPU),
    "ping-pong": (flow("ping-pong", "gpu:0", MINE, PEERS, 8), FigureClass.GPU),
    "faults of a GPU": (flow("fault-chase", "gpu:0", end("gpu:1", "managed"), None), FigureClass.GPU),
    "a call": (flow("launch", "gpu:0", None, None, 1), FigureClass.GPU),
    "pinned": (flow("copy-engine", "gpu:0", HOSTS, MINE), FigureClass.PINNED),
    "registered": (flow("copy-engine", "gpu:0", MINE, LOCKED), FigureClass.PINNED),
    "chase of the host": (flow("pointer-chase", "gpu:0", HOSTS, None), FigureClass.PINNED),
    "a CPU's chase of a GPU": (flow("pointer-chase", "numa:0", MINE, None), FigureClass.PINNED),
    "pageable": (flow("copy-engine", "gpu:0", PAGES, MINE), FigureClass.PAGEABLE),
    "managed": (flow("page-fault", "gpu:0", MANAGED, None), FigureClass.PAGEABLE),
    "memcpy": (flow("memcpy", "numa:0", PAGES, HOSTS), FigureClass.CPU),
    "collective": ({**flow("xccl-collective", "gpu:0", None, None), "members": [MINE, PEERS]}, FigureClass.PROCESSES),
}


@pytest.mark.parametrize(("one", "expected"), OF_CLASS.values(), ids=OF_CLASS)
def test_the_class_of_a_flow(one: Json, expected: FigureClass) -> None:
    assert figure_class({"flows": [one]}) is expected


def test_of_several_flows_the_noisiest_measured_one_decides() -> None:
    quiet, noisy = (OF_CLASS[name][0] for name in ("pushed", "pageable"))
    assert figure_class({"flows": [quiet, noisy]}) is FigureClass.PAGEABLE
    assert figure_class({"flows": [quiet, {**noisy, "role": "background"}]}) is FigureClass.GPU_LARGE
    assert figure_class({"flows": [quiet], "processes": 2}) is FigureClass.PROCESSES


def test_traits_decide_and_not_names() -> None:
    one = flow("copy-engine", "gpu:0", end("numa:0", "new"), MINE)
    locked = {"memories": {"new": {"lies_on": "host"}}}
    touched = {"memories": {"new": {"lies_on": "host", "placed_by_touch": True}}}
    assert figure_class({"flows": [one], "labels": {"traits": locked}}) is FigureClass.PINNED
    assert figure_class({"flows": [one], "labels": {"traits": touched}}) is FigureClass.PAGEABLE
