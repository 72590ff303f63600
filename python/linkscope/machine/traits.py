"""Traits: what is known of a method or memory, so that nobody need ask for its name; engines state them (describe)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

Json = dict[str, Any]
_Own = TypeVar("_Own", bound="_Traits")
LABEL = "traits"
"""Key of a case's labels that holds the traits of its methods and memories."""
_KNOWN = Path(__file__).parent / "known_catalog.json"
_YOUNGER = (
    *("maps_members", "by_xccl", "by_kernel", "system_pages", "uncached", "shareable", "plain_allocation"),
    *("grained", "by_library", "collective_allocation"),
)
"""Traits that older runs do not state: there, what is assumed of a name holds."""


@dataclass(frozen=True)
class _Traits:
    @classmethod
    def of(cls: type[_Own], stated: Mapping[str, Any]) -> _Own:
        """Return those of ``stated`` that are read here; the defaults for the rest."""
        return cls(**{name: value for name, value in stated.items() if name in cls.__dataclass_fields__})

    @cached_property
    def stated(self) -> Json:
        """Return what is not as by default, as JSON."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != field.default}


@dataclass(frozen=True)
class MethodTraits(_Traits):
    """Mirror engine/model/traits.hpp. Rates are typical ones in GB/s, for estimates; 0: the memories' rate."""

    stages: bool = False
    maps_members: bool = False
    by_mpi: bool = False
    by_xccl: bool = False
    by_python: bool = False
    by_kernel: bool = False
    takes_empty: bool = False
    answered: bool = False
    migrates: bool = False
    leaves_pages: bool = False
    both_ways: bool = False
    dependent: bool = False
    schedules: bool = False
    host_gbps: float = 0.0
    gpu_gbps: float = 0.0
    fill_gbps: float = 0.0
    cpu_fill_gbps: float = 0.0
    calls: str = ""


@dataclass(frozen=True)
class MemoryTraits(_Traits):
    """Mirror engine/model/traits.hpp. ``lies_on``: host, gpu or anywhere."""

    lies_on: str = "anywhere"
    placed_by_touch: bool = False
    huge_pages: bool = False
    system_pages: bool = False
    migrates: bool = False
    registered: bool = False
    uncached: bool = False
    shareable: bool = False
    plain_allocation: bool = False
    grained: bool = False
    by_library: bool = False
    collective_allocation: bool = False

    @property
    def ordinary(self) -> bool:
        """Return whether it is host memory in small pages of the system's own, whoever may map it."""
        return self.lies_on == "host" and self.placed_by_touch and not (self.huge_pages or self.registered)

    @property
    def touched_by_driver(self) -> bool:
        """Return whether the driver touches host memory first: the first toucher is then no axis."""
        return self.lies_on == "host" and not self.placed_by_touch


def label_of(methods: Mapping[str, MethodTraits], memories: Mapping[str, MemoryTraits]) -> Json:
    """Return what a case's labels hold under ``LABEL``, for all that works on the case or its row."""
    stated = {
        "methods": {name: traits.stated for name, traits in methods.items()},
        "memories": {name: traits.stated for name, traits in memories.items()},
    }
    return {kind: found for kind, names in stated.items() if (found := {n: t for n, t in names.items() if t})}


def method_traits(case: Json, name: str) -> MethodTraits:
    """Return the traits of a method that ``case`` names."""
    stated = case.get("labels", {}).get(LABEL)
    return method_of(name, None if stated is None else stated.get("methods", {}).get(name, {}))


def memory_traits(case: Json, name: str) -> MemoryTraits:
    """Return the traits of a memory that ``case`` names."""
    stated = case.get("labels", {}).get(LABEL)
    return _memory_of(name, None if stated is None else stated.get("memories", {}).get(name, {}))


def method_of(name: str, stated: Json | None) -> MethodTraits:
    """Return the traits of a method of which a run or an engine states these; None: it states no traits at all."""
    return MethodTraits.of(_with_assumed("methods", name, stated))


@cache
def assumed_method(name: str) -> MethodTraits:
    """Return what is taken for a method of which nothing is stated: traits that methods had when engines began to state
    them, the defaults for any other."""
    return method_of(name, None)


@cache
def assumed_memory(name: str) -> MemoryTraits:
    """Return the same for a memory."""
    return _memory_of(name, None)


def known_memories() -> tuple[str, ...]:
    """Return the memories that are known without an engine, in the order of lists and tables."""
    return tuple(known_catalog()["memories"])


def _memory_of(name: str, stated: Json | None) -> MemoryTraits:
    return MemoryTraits.of(_with_assumed("memories", name, stated))


def _with_assumed(kind: str, name: str, stated: Json | None) -> Json:
    assumed: Json = known_catalog()[kind].get(name, {}).get("traits", {})
    return assumed if stated is None else {one: assumed[one] for one in _YOUNGER if one in assumed} | stated


@cache
def known_catalog() -> Json:
    """Return methods and memories by name, for where no engine states them: their traits, and how machine models play a
    method (machine/modelled_methods.py)."""
    found: Json = json.loads(_KNOWN.read_text(encoding="utf-8"))
    return found
