"""EngineCatalog: what an engine offers, as expansion needs to know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from linkscope.machine.traits import MemoryTraits, MethodTraits, assumed_memory, assumed_method, known_memories
from linkscope.plan.suite import Suite
from linkscope.plan.suite_row import End


@dataclass(frozen=True)
class EngineCatalog:
    """List what the engine at hand can do: methods with their parameters, memories.

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
        """Return what is known of a method."""
        return self.method_traits.get(name) or assumed_method(name)

    def memory(self, name: str) -> MemoryTraits:
        """Return what is known of a memory."""
        return self.memory_traits.get(name) or assumed_memory(name)

    def filled(self, suite: Suite) -> Suite:
        """The suite with every memory in its rows' sets, those that this engine alone has among them."""
        filled = self._filled_end
        rows = (replace(row, source=filled(row.source), destination=filled(row.destination)) for row in suite.rows)
        return replace(suite, rows=tuple(rows))

    def _filled_end(self, end: End) -> End:
        if end.every is None:
            return end
        names = dict.fromkeys((*known_memories(), *sorted(self.memories)))
        return replace(end, memories=end.every.of(names, self.memory))


def whole_catalog(suite: Suite) -> EngineCatalog:
    """An offer that lacks nothing of ``suite``: its methods, parameters and memories, by the CUDA engine."""
    methods: dict[str, frozenset[str]] = {}
    memories: set[str] = set()
    for row in suite.rows:
        for method in row.methods:
            methods[method] = methods.get(method, frozenset()) | frozenset(row.parameters)
        for beside in row.background:
            methods[beside.method] = methods.get(beside.method, frozenset()) | frozenset(beside.parameters)
        memories |= set(row.memories)
    for workload in suite.workloads:
        methods |= dict.fromkeys(workload.methods, frozenset({"staging"}))
        memories |= {*workload.memories, *workload.states, "device", "pageable"}
    return EngineCatalog("cuda", methods, frozenset(memories))
