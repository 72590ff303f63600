"""NIXL kvbench's traffic patterns: a YAML list of phases, each with the file of its matrix beside it.

It sleeps before and after launching one: gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from linkscope.documents.typed import MisfitError, typed
from linkscope.documents.yaml_file import read_yaml
from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import LONGEST_S, PatternText
from linkscope.workload.readers import matrix
from linkscope.workload.schedule import Phase

Pause = Annotated[float, Meta(ge=0, le=LONGEST_S)]


class _Pattern(msgspec.Struct):
    matrix_file: Annotated[str, Meta(min_length=1, max_length=500)]
    sleep_before_launch_sec: Pause | None = None
    sleep_after_launch_sec: Pause | None = None


class _Patterns(msgspec.Struct):
    traffic_patterns: Annotated[list[_Pattern], Meta(min_length=1, max_length=10_000)]


def recognises(source: PatternText) -> bool:
    """Return whether it has a list of traffic patterns."""
    return re.search(r"^traffic_patterns\s*:", source.text, re.MULTILINE) is not None


def read(source: PatternText) -> Iterator[Phase]:
    """Raises LinkscopeError, also where a matrix lies elsewhere than in the file's folder or below it."""
    data: Any = read_yaml(source.path, "traffic patterns").data
    try:
        found = typed(data, _Patterns)
    except MisfitError as error:
        raise LinkscopeError(f"{source.path}: {error}") from error
    folder = source.path.parent.resolve()
    matrices: dict[Path, tuple[Phase, ...]] = {}
    after = 0.0
    for number, pattern in enumerate(found.traffic_patterns):
        path = (folder / Path(pattern.matrix_file)).resolve()
        if not path.is_relative_to(folder):
            raise LinkscopeError(f"{source.path}: traffic_patterns[{number}].matrix_file leads out of its folder")
        if path not in matrices:
            matrices[path] = tuple(matrix.read(PatternText.of(path)))
        gap_s = min(LONGEST_S, after + (pattern.sleep_before_launch_sec or 0.0))
        for phase in matrices[path]:
            yield Phase(f"{number}: {phase.name}", phase.messages, gap_s=gap_s)
        after = pattern.sleep_after_launch_sec or 0.0
