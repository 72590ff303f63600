"""Unsupported: why the engine at hand cannot run what a test names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from linkscope.errors import LinkscopeError
from linkscope.machine.traits import known_memories
from linkscope.messages.near_names import unknown
from linkscope.plan.engine_catalog import EngineCatalog
from linkscope.plan.suites import packaged_methods


def unsupported(
    where: str, methods: Iterable[str], memories: Iterable[str], settings: Mapping[str, str], catalog: EngineCatalog
) -> str | None:
    """Return why the engine cannot run them at all, under ``settings`` of its environment.

    Raises LinkscopeError, which begins with ``where``, for an unknown name.
    """
    for method in methods:
        if method not in catalog.methods:
            if method not in packaged_methods():
                known = sorted(packaged_methods().union(catalog.methods))
                raise LinkscopeError(f"{where}: {unknown('method', method, known, 'linkscope list methods')}")
            return f"the {catalog.engine} engine has no method {method}"
        if method in catalog.lacking and not settings:
            return f"{method}: {catalog.lacking[method]}"
    for memory in memories:
        if memory not in catalog.memories:
            if memory not in known_memories():
                known = sorted({*known_memories(), *catalog.memories})
                raise LinkscopeError(f"{where}: {unknown('memory', memory, known, 'linkscope list memories')}")
            return f"the {catalog.engine} engine has no memory {memory}"
    return None
