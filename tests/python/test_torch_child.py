"""The torch child of one engine: what that says without PyTorch, and with it: exact data and rows that validate."""

from __future__ import annotations

import inspect
import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from result_schema import validate
from torch_child_plans import SOURCE, case, copy, end, engine, environment, host_engine, plan, run, torch

from linkscope.torch_child.flow import Endpoint, FlowDevice
from linkscope.torch_child.system import cpu_list

__all__ = ["torch"]  # a fixture

Json = dict[str, Any]

MISSING = "PyTorch is not installed (pip install torch)"
TORCH = ("torch-copy", "torch-send", "torch-collective", "torch-symm-mem", "torch-mpi")


HIDING = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
"""


@pytest.fixture
def without_torch(tmp_path: Path) -> Mapping[str, str]:
    """An environment in which PyTorch is not installed, whether it is or not."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDING)
    return environment(PYTHONPATH=f"{hidden}:{SOURCE}")


# Without PyTorch.


def test_without_torch_the_engine_starts_and_says_what_to_install(without_torch: Mapping[str, str]) -> None:
    ended = engine("describe", env=without_torch)
    assert ended.returncode == 0, ended.stderr
    description = json.loads(ended.stdout)
    validate(description)
    reasons = {entry["name"]: entry["reason"] for entry in description["methods"] if entry["name"].startswith("torch-")}
    assert reasons == dict.fromkeys(TORCH, MISSING)


def test_pytorchs_methods_are_listed_with_why_they_are_not_there(without_torch: Mapping[str, str]) -> None:
    command = [sys.executable, "-m", "linkscope", "list", "methods", "--json"]
    places = {"LINKSCOPE_ENGINE_DIR": str(Path(host_engine()).parent)}
    ended = subprocess.run(command, env={**without_torch, **places}, capture_output=True, text=True, check=True)
    listed = {entry["name"]: entry.get("note", "") for entry in json.loads(ended.stdout)}
    for method in ("torch-copy", "torch-send", "torch-collective", "torch-mpi"):
        assert MISSING in listed[method]


def test_without_torch_rows_are_skipped_with_the_reason(tmp_path: Path, without_torch: Mapping[str, str]) -> None:
    row = run(tmp_path, case("a", copy(8)), env=without_torch)["a"]
    assert (row["status"], row["reason"]) == ("skipped", f"torch-copy: {MISSING}")


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"method": "torch-dance"}, "case 'a': flows[0]: method: unknown 'torch-dance'"),
        ({"parameters": {"threads": 1}}, "parameters.threads: torch-copy has no such parameter"),
        ({"colour": "red"}, "case 'a': flows[0]: colour: is no field that an engine reads"),
        ({"bytes": 0}, "bytes: must be at least 1 for torch-copy"),
    ],
)
def test_a_wrong_plan_is_refused_in_one_line(tmp_path: Path, changed: Json, complaint: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan(case("a", copy(8, **changed)))))
    ended = engine("run", path)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert complaint in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_lists_of_cpus_are_read() -> None:
    assert cpu_list("0-2,8,10-11\n") == (0, 1, 2, 8, 10, 11)
    assert cpu_list("") == ()


# Data.

MASK = (1 << 64) - 1


def word(seed: int, index: int) -> int:
    """engine/model/pattern.hpp, in whole numbers."""
    value = (index + seed * 0xD1B54A32D192ED03) * 0x9E3779B97F4A7C15 & MASK
    return value ^ value >> 29


def element(seed: int, member: int, index: int) -> int:
    """engine/model/elements.hpp."""
    value = (index + seed * 0xD1B54A32D192ED03 + member * 0xA0761D6478BD642F) * 0x9E3779B97F4A7C15 & MASK
    value ^= value >> 32
    return ((value * 0xE7037ED1A0B428DB & MASK) >> 40) % 7 - 3


def test_patterns_are_those_of_the_compiled_engines(torch: Any) -> None:
    from linkscope.torch_child import pattern

    for seed, first in ((1, 0), (12345, 999), (MASK, 7)):
        words = pattern.pattern_words(seed, first, 50, "cpu").tolist()
        assert [w & MASK for w in words] == [word(seed, first + i) for i in range(50)]
        for member in (0, 3):
            inputs = pattern.input_elements(seed, member, first, 50, "cpu").tolist()
            assert inputs == [element(seed, member, first + i) for i in range(50)]
    balanced = [pattern.balanced_elements(5, member, 4, 0, 1000, "cpu") for member in range(4)]
    assert sum(balanced).abs().max() == 0
    assert all(part.abs().max() > 0 for part in balanced)
    total = sum(pattern.input_elements(5, member, 10, 1000, "cpu") for member in range(4))
    assert torch.equal(total, pattern.summed_elements(5, 4, 10, 1000, "cpu"))


@pytest.mark.parametrize(("size", "slots"), [(1, 1), (13, 5), (4096, 3), (100_000, 700)])
def test_one_wrong_byte_is_found_where_it_is(torch: Any, size: int, slots: int) -> None:
    from linkscope.torch_child.memory import Arena

    node = FlowDevice("numa", 0)
    arena = Arena(Endpoint(node, "pageable", node, "", 0), size, slots, 0)
    arena.fill(7)
    assert arena.compare(7, slots) is None
    slot, byte = slots - 1, size // 2
    arena.pieces[slot][byte] += 1
    place = f" in slot {slot} of {slots}" if slots > 1 else ""
    assert arena.compare(7, slots) == f"byte {byte} of {size}{place} arrived wrong in numa:0 pageable"
    assert arena.compare(7, slot) is None or slot == 0  # it was never written
    assert arena.verified_bytes(slots + 5) == slots * size


# One process.


def test_copies_of_odd_sizes_give_rows(tmp_path: Path, torch: Any) -> None:
    ways = list(itertools.product((1, 4099, 1 << 20), ("host", "batch"), ("warm", "rotated")))
    cases = [case(f"{size}/{clock}/{cache}", copy(size), clock=clock, cache=cache) for size, clock, cache in ways]
    rows = run(tmp_path, *cases)
    for size, clock, cache in ways:
        row = rows[f"{size}/{clock}/{cache}"]
        assert row["status"] == "ok", row
        (flow,) = row["flows"]
        assert flow["gbps"]["max"] == pytest.approx(size / flow["seconds"]["min"] / 1e9)
        assert len(flow["samples_s"]) == flow["seconds"]["n"]
        assert row["verified"]["passes"] == 2
        assert row["verified"]["bytes"] >= 2 * size
        assert row["aggregate"]["gbps"]["median"] == pytest.approx(flow["gbps"]["median"])


@pytest.mark.parametrize(
    ("changed", "flow", "reason"),
    [
        ({}, {"destination": end(rank=1)}, "needs 2 processes, this run has 1"),
        ({"clock": "device"}, {}, "CPUs have no device clock"),
        ({"cache": "flushed"}, {}, "no way to flush caches"),
        ({"load": "sustained"}, {}, "no load to sustain"),
        ({}, {"bytes": 1 << 47}, "do not fit"),
        ({}, {"source": end(device="numa:99")}, "there is no numa:99 here"),
        ({}, {"source": {**end(), "advice": "read-mostly"}}, "takes no advice"),
        ({}, {"source": end(memory="huge")}, "PyTorch allocates device, pageable, pinned memory, no huge"),
        ({}, {"executor": "gpu:0"}, "there is no gpu:0 here"),
    ],
)
def test_what_cannot_be_is_skipped_with_the_reason(
    tmp_path: Path, torch: Any, changed: Json, flow: Json, reason: str
) -> None:
    row = run(tmp_path, {**case("a", copy(8, **flow)), **changed}, case("b", copy(8)))
    assert row["a"]["status"] == "skipped"
    assert reason in row["a"]["reason"]
    assert row["b"]["status"] == "ok"


def test_several_flows_at_once_are_skipped(tmp_path: Path, torch: Any) -> None:
    row = run(tmp_path, case("a", copy(8), copy(8)))["a"]
    assert (row["status"], "is timed by itself" in row["reason"]) == ("skipped", True)


def test_a_tensor_of_many_chunks_is_filled_and_compared_whole(torch: Any) -> None:
    from linkscope.torch_child.memory import Arena

    size = 3 * (1 << 18) + 40  # more than three chunks of a CPU's, and no whole number of them
    node = FlowDevice("numa", 0)
    arena = Arena(Endpoint(node, "pageable", node, "", 0), size, 2, 0)
    arena.fill(5)
    assert arena.compare(5, 2) is None
    for slot, byte in ((0, 0), (0, size - 1), (1, 1 << 18), (1, size - 1)):
        arena.pieces[slot][byte] ^= 1
        assert arena.compare(5, 2) == f"byte {byte} of {size} in slot {slot} of 2 arrived wrong in numa:0 pageable"
        arena.pieces[slot][byte] ^= 1
    assert arena.compare(6, 2) is not None


def test_this_pytorch_captures_and_replays_as_it_is_asked_to(torch: Any) -> None:
    assert {"cuda_graph", "stream", "capture_error_mode"} <= set(inspect.signature(torch.cuda.graph).parameters)
    assert all(callable(getattr(torch.cuda.CUDAGraph, name)) for name in ("replay", "reset"))


def test_a_missing_mpi_library_is_one_line_that_says_what_to_do(torch: Any) -> None:
    from linkscope.torch_child.carriers import not_loaded

    tried = "cannot load MPI library\n/a/lib/libmpi.so: no such file\nlibmpi.so.12: no such file"
    assert "install mpich or openmpi" in not_loaded(RuntimeError(tried))
    assert "/a/lib" not in not_loaded(RuntimeError(tried))
    assert "undefined symbol" in not_loaded(ImportError("undefined symbol: MPI_Init"))
