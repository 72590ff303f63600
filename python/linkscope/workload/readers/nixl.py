"""NIXL kvbench's traffic patterns: a YAML list of phases, each with the file of its matrix beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from linkscope.errors import LinkscopeError
from linkscope.typed import MisfitError, typed
from linkscope.workload.pattern_text import PatternText
from linkscope.workload.readers import matrix
from linkscope.workload.schedule import Phase
from linkscope.yaml_loader import read_yaml


class _Pattern(msgspec.Struct):
    matrix_file: Annotated[str, Meta(min_length=1, max_length=500)]


class _Patterns(msgspec.Struct):
    traffic_patterns: Annotated[list[_Pattern], Meta(min_length=1, max_length=10_000)]


def recognises(source: PatternText) -> bool:
    """Whether it has a list of traffic patterns."""
    return re.search(r"^traffic_patterns\s*:", source.text, re.MULTILINE) is not None


def read(source: PatternText) -> Iterator[Phase]:
    """Raises LinkscopeError, also where a matrix lies elsewhere than in the file's folder or below it."""
    data: Any = read_yaml(source.path, "traffic patterns").data
    try:
        found = typed(data, _Patterns)
    except MisfitError as error:
        raise LinkscopeError(f"{source.path}: {error}") from error
    folder = source.path.parent.resolve()
    for number, pattern in enumerate(found.traffic_patterns):
        path = (folder / Path(pattern.matrix_file)).resolve()
        if not path.is_relative_to(folder):
            raise LinkscopeError(f"{source.path}: traffic_patterns[{number}].matrix_file leads out of its folder")
        for phase in matrix.read(PatternText.of(path)):
            yield Phase(f"{number}: {phase.name}", phase.messages)
