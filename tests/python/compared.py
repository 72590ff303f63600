"""Compared: two sides of recorded runs, and what their comparison blames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import planted_faults as planted
import recorded

from linkscope.answers.answer import Answer
from linkscope.answers.compare import compare as compare_sides
from linkscope.figures.run import Run
from linkscope.messages.finding import Finding
from linkscope.results.run_file import RunFile

BASE, NEW = recorded.PAIR, recorded.PAIR_AGAIN


def runs() -> tuple[RunFile, RunFile]:
    """Return two runs of one healthy node."""
    return RunFile.read(BASE), RunFile.read(NEW)


def compare(base: Sequence[RunFile], new: Sequence[RunFile], **options: float) -> Answer:
    """Return the answer to how two sides of runs differ."""
    return compare_sides([Run.of(run) for run in base], [Run.of(run) for run in new], **options)


def changed(hit: Any, factor: float) -> Answer:
    """Return the answer where flows of the second run are slower by a factor."""
    base, new = runs()
    return compare([base], [planted.slowed(new, hit, factor)])


def causes(found: Answer) -> list[Finding]:
    """Return the findings that blame something."""
    said = (found.headline, *found.findings, *found.details)
    return [one for one in said if one.code.startswith(("compare.slower", "compare.faster"))]


def only(found: Answer) -> Finding:
    """Return the one finding that blames something."""
    (one,) = causes(found)
    return one


def with_code(found: Answer, code: str) -> list[Finding]:
    """Return the findings of a code."""
    return [one for one in (found.headline, *found.findings, *found.details) if one.code == code]
