"""Readings: when a load pauses so that the machine's state can be read, and how a stopped run still reads it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from linkscope.documents.durations import parse_duration
from linkscope.launch.job import Job
from linkscope.plan.case_groups import CaseGroup

Json = dict[str, Any]

OF_LOAD_S = 60.0
"""Between two readings under load, at least: the next part's processes have to start, and GPUs cool meanwhile."""
_MOST_PARTS = 5
_MOST_WAIT_S = 2.0
"""A driver that lost a GPU may never answer, and whoever stopped the run waits."""


def parts(job: Job, group: CaseGroup) -> Iterator[CaseGroup]:
    """Yield a group of a load in parts between which nothing runs, five or fewer; any other group as it is."""
    if not job.request.sustained or job.request.budget is None or job.node.modelled:
        yield group
        return
    count = max(1, min(_MOST_PARTS, int(parse_duration(job.request.budget) / OF_LOAD_S)))
    size = math.ceil(len(group.cases) / count)
    for first in range(0, len(group.cases), size):
        yield replace(group, cases=group.cases[first : first + size])


def last_reading(state: Callable[[], Json]) -> Json:
    """Return the ``state`` of a run that is stopped as a field of its record; none where it takes too long or fails,
    or somebody asks to stop once more."""
    found: list[Json] = []

    def read() -> None:
        with suppress(Exception):
            found.append(state())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    with suppress(KeyboardInterrupt):
        reader.join(_MOST_WAIT_S)
    return {"state": found[0]} if found and found[0] else {}
