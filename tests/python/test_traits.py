"""Traits: what engines state of methods and memories reaches plans and rows, and old runs read as they did."""

from __future__ import annotations

from dataclasses import replace

from suite_text import OFFER, suite_of
from test_patterns import node

from linkscope.launch.engines import choose_engine, modelling_engine
from linkscope.machine.traits import (
    MemoryTraits,
    MethodTraits,
    assumed_memory,
    assumed_method,
    memory_traits,
    method_traits,
)
from linkscope.plan.budget import SamplingOptions, estimate_s
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.expand import expand
from linkscope.plan.select import Selection


def test_engines_state_for_each_name_what_is_assumed_of_it_in_old_runs() -> None:
    for engine in (choose_engine("host"), modelling_engine()):
        catalog = engine.catalog()
        assert catalog.method_traits.keys() == catalog.methods.keys()
        assert catalog.memory_traits.keys() == catalog.memories
        assert {name: assumed_method(name) for name in catalog.methods} == catalog.method_traits
        assert {name: assumed_memory(name) for name in catalog.memories} == catalog.memory_traits


def test_a_case_holds_what_its_catalog_states_of_a_name_that_nobody_knew() -> None:
    slow = MethodTraits(host_gbps=0.5, fill_gbps=0.25)
    catalog = replace(
        OFFER,
        methods={**OFFER.methods, "throwaway-copy": frozenset()},
        memories=OFFER.memories | {"throwaway"},
        method_traits={"throwaway-copy": slow},
        memory_traits={"throwaway": MemoryTraits(migrates=True)},
    )
    end = {"on": "numa", "memory": "throwaway"}
    row = {"pattern": "local", "source": end, "destination": end, "executor": "source"}

    def case_of(method: str, catalog: EngineCatalog) -> dict[str, object]:
        planned = expand([suite_of({**row, "method": method, "sizes": "1G"})], node(gpus=0), catalog, Selection())
        return planned[0].case

    case = case_of("throwaway-copy", catalog)
    assert method_traits(case, "throwaway-copy") == slow
    assert memory_traits(case, "throwaway") == MemoryTraits(migrates=True)
    usual = estimate_s(case_of("memcpy", catalog), SamplingOptions())
    assert estimate_s(case, SamplingOptions()) > usual + 1.9 * 2**30 / 0.25e9


def test_a_case_of_an_old_run_has_the_traits_that_its_names_had() -> None:
    old = {"labels": {}}
    assert method_traits(old, "prefetch").migrates
    assert method_traits(old, "no such method") == MethodTraits()
    assert not method_traits({"labels": {"traits": {}}}, "prefetch").migrates
