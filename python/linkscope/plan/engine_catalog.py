"""EngineCatalog: what an engine offers, as expansion needs to know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from linkscope.machine.traits import MemoryTraits, MethodTraits, assumed_memory, assumed_method


@dataclass(frozen=True)
class EngineCatalog:
    """What the engine at hand can do: its catalog's methods with their parameters, its memories.

    ``gpu_problem`` is set where a GPU driver is present and yet no GPU can be used: rows then say so. ``lacking``: why
    this machine cannot have some of the methods, as the engine has said in an environment without further settings.
    Traits that it states of a method or memory hold, assumed ones of any other.
    """

    engine: str
    methods: Mapping[str, frozenset[str]]
    memories: frozenset[str]
    gpu_problem: str | None = None
    lacking: Mapping[str, str] = field(default_factory=dict)
    method_traits: Mapping[str, MethodTraits] = field(default_factory=dict)
    memory_traits: Mapping[str, MemoryTraits] = field(default_factory=dict)

    def method(self, name: str) -> MethodTraits:
        """What is known of a method."""
        return self.method_traits.get(name) or assumed_method(name)

    def memory(self, name: str) -> MemoryTraits:
        """What is known of a memory."""
        return self.memory_traits.get(name) or assumed_memory(name)
