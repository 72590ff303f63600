"""The Python child's CPUs: narrowed to a node for a copy by CPUs, and all of them again after it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from linkscope.torch_child import system
from linkscope.torch_child.faults import ChildError

CPUS = sorted(os.sched_getaffinity(0))


@pytest.fixture
def two_nodes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if len(CPUS) < 2:
        pytest.skip("one CPU")
    monkeypatch.setattr(system, "numa_nodes", lambda: {0: (CPUS[0],), 1: tuple(CPUS[1:]), 2: ()})
    yield
    os.sched_setaffinity(0, CPUS)


@pytest.mark.usefixtures("two_nodes")
def test_copies_by_one_node_after_another_run_on_each_ones_cpus() -> None:
    system.run_on_node(0)
    assert os.sched_getaffinity(0) == {CPUS[0]}
    system.run_on_node(1)
    assert os.sched_getaffinity(0) == set(CPUS[1:])
    system.run_anywhere()
    assert os.sched_getaffinity(0) == set(CPUS)


@pytest.mark.usefixtures("two_nodes")
def test_a_node_whose_cpus_it_may_not_use_is_refused() -> None:
    with pytest.raises(ChildError, match="may not use the CPUs of numa:2"):
        system.run_on_node(2)
    assert os.sched_getaffinity(0) == set(CPUS)
