"""Traits: what engines state of methods and memories reaches plans and rows, and old runs read as they did."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from schema_files import load_schema
from suite_text import OFFER, suite_of
from test_patterns import node

from linkscope.launch.engines import describe, find_engines
from linkscope.machine.modelled_methods import modelled_methods
from linkscope.machine.traits import (
    MemoryTraits,
    MethodTraits,
    assumed_memory,
    assumed_method,
    known_catalog,
    memory_traits,
    method_traits,
)
from linkscope.plan.budget import SamplingOptions, estimate_s
from linkscope.plan.engine_catalog import EngineCatalog, whole_catalog
from linkscope.plan.expand import expand
from linkscope.plan.flows import ends_of
from linkscope.plan.select import Selection
from linkscope.plan.suite_file import MemorySet
from linkscope.plan.suites import load_suite

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "fixtures" / "applications" / "h100-halo-4-ranks.jsonl"
"""A run by a CUDA engine, whose header has its catalog."""


def recorded() -> Json:
    """Return the description of a GPU engine that is not here."""
    engine: Json = json.loads(RECORDED.read_text(encoding="utf-8").splitlines()[0])["engine"]
    return engine


def built() -> list[Json]:
    """Return the descriptions of all engines that are."""
    return [describe(path) for path in find_engines().values()]


def test_engines_state_for_each_name_what_the_known_catalog_has() -> None:
    """A name that it lacks is a new one: no older run has it."""
    assert built()
    for one in built():
        for entry in (entry for entry in one["methods"] if entry["name"] in known_catalog()["methods"]):
            assert MethodTraits.of(entry["traits"]) == assumed_method(entry["name"]), entry["name"]
        for entry in (entry for entry in one["memories"] if entry["name"] in known_catalog()["memories"]):
            assert MemoryTraits.of(entry["traits"]) == assumed_memory(entry["name"]), entry["name"]
    for entry in recorded()["methods"]:  # which may have got more since, and so may memories
        assert MethodTraits.of(entry["traits"]).stated.items() <= assumed_method(entry["name"]).stated.items()
    for entry in recorded()["memories"]:
        assert MemoryTraits.of(entry["traits"]).stated.items() <= assumed_memory(entry["name"]).stated.items()


def test_machine_models_play_methods_and_take_parameters_that_engines_have() -> None:
    offered: dict[str, set[str]] = {}
    for one in (*built(), recorded()):
        for entry in one["methods"]:
            offered.setdefault(entry["name"], set()).update(entry.get("parameters", ()))
    for name, method in modelled_methods().items():
        assert method.parameters.keys() <= offered[name], name
    models = [method.steps for method in modelled_methods().values() if method.steps is not None]
    named = {
        name for one in models for name in (one.messages, one.collectives, one.staging.method, *one.packs.values())
    }
    likes = {method.like for method in modelled_methods().values()} - {None}
    assert named | likes <= modelled_methods().keys()


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


def test_a_memory_that_an_engine_adds_is_in_every_set_of_its_traits() -> None:
    added = {
        "new-pinned": MemoryTraits(lies_on="host"),
        "new-on-gpus": MemoryTraits(lies_on="gpu"),
        "new-shared": MemoryTraits(lies_on="host", shareable=True),
    }
    suite = load_suite("host-device")
    whole = whole_catalog(suite)
    catalog = replace(whole, memories=whole.memories | added.keys(), memory_traits=added)

    def memories(offer: EngineCatalog) -> set[str]:
        planned = expand([suite], node(2), offer, Selection(sizes=(1 << 20,)))
        return {end["memory"] for one in planned for flow in one.case["flows"] for end in ends_of(flow)}

    assert memories(catalog) - memories(whole) == {"new-pinned", "new-on-gpus"}


def test_python_reads_every_trait_that_engines_state() -> None:
    stated = set(load_schema("result")["$defs"]["catalog_entry"]["properties"]["traits"]["properties"])
    assert stated == {one.name for kind in (MethodTraits, MemoryTraits) for one in fields(kind)}


def test_sets_of_memories_have_each_trait_once_in_engine_python_and_schema() -> None:
    flags = set(MemorySet.__struct_fields__)
    assert flags == {one.name for one in fields(MemoryTraits)}
    (said,) = (one for one in load_schema("suite")["$defs"]["memories"]["anyOf"] if "properties" in one)
    assert set(said["properties"]) == flags
    names = ("pinned", "device", "managed", "fine-grained", "xccl")
    assert MemorySet("gpu").of(names, assumed_memory) == ("device", "managed")
    assert MemorySet("gpu", migrates="no", by_library="any").of(names, assumed_memory) == ("device", "xccl")
    assert MemorySet("host", grained="yes").of(names, assumed_memory) == ("fine-grained",)
