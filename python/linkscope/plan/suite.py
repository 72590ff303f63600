"""Suite: a question and the rows that answer it."""

from __future__ import annotations

from dataclasses import dataclass

from linkscope.plan.suite_file import ListedUnder
from linkscope.plan.suite_row import SuiteRow
from linkscope.plan.workload_row import WorkloadRow


@dataclass(frozen=True)
class Suite:
    """``answers`` is the question in one sentence, ``brief`` what it measures in a few words."""

    name: str
    answers: str
    rows: tuple[SuiteRow, ...]
    workloads: tuple[WorkloadRow, ...] = ()
    listed_under: ListedUnder = "question"
    brief: str = ""

    @property
    def row_names(self) -> tuple[str, ...]:
        """Return the names of all rows and workloads."""
        return (*(row.name for row in self.rows), *(row.name for row in self.workloads))
