"""`linkscope list machines`: what the models of the described nodes have and lack."""

from __future__ import annotations

import pytest

from linkscope.cli.model_extent import NONE, interfaces, model_extent
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
    assert "memcpy" in str(told["lacks, so skips"]).split(", ")
    missing = told["has no figures for"]
    assert not isinstance(missing, str)
    assert "mpi from host memory" in missing


def test_a_latency_with_rules_by_size_is_not_the_same_at_every_size() -> None:
    same = "latency, the same at every size"
    assert "mpi (8.7 us, assumed)" in str(model_extent("frontier")[same])
    assert "mpi (" not in str(model_extent("mi300a")[same])


def test_of_every_node_each_method_is_either_modelled_or_lacking() -> None:
    extents = [model_extent(name) for name in machine_names()]
    every = [{*str(one["models"]).split(", "), *str(one["lacks, so skips"]).split(", ")} for one in extents]
    assert len(every) > 5
    assert all(methods == every[0] for methods in every)
