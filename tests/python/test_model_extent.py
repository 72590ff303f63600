"""`linkscope list machines`: what the models of the described nodes have and lack."""

from __future__ import annotations

import pytest

from linkscope.cli.model_extent import NONE, SAME, interfaces, model_extent
from linkscope.machine.described import machine_names


@pytest.mark.parametrize(
    ("machine", "host", "gpu", "collectives"),
    [
        ("frontier", NONE, "mpi", "mpi, xccl, direct"),
        ("mi300a", "mpi", "mpi, xccl", "mpi, xccl, direct"),
        ("mi300x", NONE, "mpi", NONE),
        ("ac922", NONE, NONE, NONE),
    ],
)
def test_interfaces_are_those_that_a_node_has_figures_for(machine: str, host: str, gpu: str, collectives: str) -> None:
    assert interfaces(machine) == {"host messages": host, "GPU messages": gpu, "collectives": collectives}


def test_it_tells_what_is_skipped_for_want_of_figures() -> None:
    told = model_extent("frontier")
    assert {"memcpy", "ping-pong (flags between GPUs)"} <= {*str(told["not modelled"]).split(", ")}
    missing = told["no data for"]
    assert not isinstance(missing, str)
    assert "mpi from host memory" in missing


def _latency_of(method: str, machine: str) -> str | None:
    told = model_extent(machine)[SAME]
    assert not isinstance(told, str)
    return next((text for names, text in told.items() if method in names.split(", ")), None)


def test_a_latency_with_rules_by_size_is_not_the_same_at_every_size() -> None:
    assert _latency_of("kernel-copy", "frontier") == "8.7 us, assumed"
    assert _latency_of("mpi", "mi300a") is None


def test_a_latency_that_rules_change_is_told_by_rule_in_their_order() -> None:
    told = str(_latency_of("copy-engine", "frontier"))
    first, quad, others, rest = (
        told.index(one) for one in ("8.7 us (with HSA_ENABLE_SDMA=0)", "10.65 us (tier quad)", "13 us, assumed", "else")
    )
    assert first < quad < others < rest
    assert told.endswith("else 8.7 us")
    assert "1.2 us (with ordering=release)" in str(_latency_of("ping-pong", "h200x4"))


def test_what_steps_and_links_add_to_a_latency_is_told() -> None:
    assert "0.54 us and 1.043 us a step" in str(_latency_of("xccl-collective", "h200x4"))
    assert _latency_of("all", "mi300a")
    assert _latency_of("all", "frontier") is None, "its links have no latency"


def test_of_every_node_each_method_is_either_modelled_or_lacking() -> None:
    extents = [model_extent(name) for name in machine_names()]
    every = [{*str(one["models"]).split(", "), *str(one["not modelled"]).split(", ")} for one in extents]
    assert len(every) > 5
    assert all(methods == every[0] for methods in every)
