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
"""Where a case's labels hold what was stated of its methods and memories."""
_ASSUMED = Path(__file__).parent / "assumed_traits.json"


@dataclass(frozen=True)
class _Traits:
    @classmethod
    def of(cls: type[_Own], stated: Mapping[str, Any]) -> _Own:
        """Those of ``stated`` that are read here; the defaults for the rest."""
        return cls(**{name: value for name, value in stated.items() if name in cls.__dataclass_fields__})

    @cached_property
    def stated(self) -> Json:
        """What is not as by default, as JSON."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) != field.default}


@dataclass(frozen=True)
class MethodTraits(_Traits):
    """As engine/model/traits.hpp has them. Rates: typical ones in GB/s, for estimates; 0: that of the memories."""

    stages: bool = False
    maps_members: bool = False
    by_mpi: bool = False
    by_python: bool = False
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
    """As engine/model/traits.hpp has them. ``lies_on``: host, gpu or anywhere."""

    lies_on: str = "anywhere"
    placed_by_touch: bool = False
    huge_pages: bool = False
    migrates: bool = False
    registered: bool = False

    @property
    def ordinary(self) -> bool:
        """Whether it is host memory in small pages of the system's own, whoever may map it."""
        return self.lies_on == "host" and self.placed_by_touch and not (self.huge_pages or self.registered)

    @property
    def touched_by_driver(self) -> bool:
        """Whether the driver has touched host memory before anyone else can: who touches first is then no axis."""
        return self.lies_on == "host" and not self.placed_by_touch


def label_of(methods: Mapping[str, MethodTraits], memories: Mapping[str, MemoryTraits]) -> Json:
    """What a case's labels hold under ``LABEL``, for all that works on the case or its row."""
    stated = {
        "methods": {name: traits.stated for name, traits in methods.items()},
        "memories": {name: traits.stated for name, traits in memories.items()},
    }
    return {kind: found for kind, names in stated.items() if (found := {n: t for n, t in names.items() if t})}


def method_traits(case: Json, name: str) -> MethodTraits:
    """Of a method that ``case`` names; assumed where the case is of a run before traits were stated."""
    stated = case.get("labels", {}).get(LABEL)
    return assumed_method(name) if stated is None else MethodTraits.of(stated.get("methods", {}).get(name, {}))


def memory_traits(case: Json, name: str) -> MemoryTraits:
    """Of a memory that ``case`` names, in the same way."""
    stated = case.get("labels", {}).get(LABEL)
    return assumed_memory(name) if stated is None else MemoryTraits.of(stated.get("memories", {}).get(name, {}))


@cache
def assumed_method(name: str) -> MethodTraits:
    """What is taken for a method of which an engine's description or a row states nothing: traits that methods had when
    engines began to state them, the defaults for any other."""
    return MethodTraits.of(_assumed()["methods"].get(name, {}))


@cache
def assumed_memory(name: str) -> MemoryTraits:
    """The same for a memory."""
    return MemoryTraits.of(_assumed()["memories"].get(name, {}))


@cache
def _assumed() -> Json:
    found: Json = json.loads(_ASSUMED.read_text(encoding="utf-8"))
    return found
