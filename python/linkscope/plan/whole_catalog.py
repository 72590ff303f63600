"""The catalog of an engine that lacks nothing: for what a suite comes to on a machine that is not at hand."""

from __future__ import annotations

from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.suite import Suite


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
