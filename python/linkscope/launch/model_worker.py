"""ModelWorker: a Worker that plays a plan's cases on a machine model, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from linkscope.launch.explanation import Explanation
from linkscope.launch.worker import InterruptedRunError
from linkscope.modelled.cases import modelled_row
from linkscope.modelled.machine import ModelledMachine

Json = dict[str, Any]


class ModelWorker:
    """See Worker. It has nothing to wait for, so no silence is too long."""

    def __init__(self, cases: Sequence[Json], machine: ModelledMachine) -> None:
        self._records = self._played(cases, machine)

    def __enter__(self) -> ModelWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self._records.close()

    def next_record(self, silence_s: float, interrupted: Callable[[], bool]) -> Json | None:
        """See Worker."""
        del silence_s
        if interrupted():
            raise InterruptedRunError
        return next(self._records, None)

    def ending(self) -> Explanation:
        """See Worker."""
        return Explanation(())

    def _played(self, cases: Sequence[Json], machine: ModelledMachine) -> Generator[Json, None, None]:
        for case in cases:
            yield {"record": "start", "id": case["id"]}
            yield modelled_row(case, machine)
