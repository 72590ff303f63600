"""Executor: runs a plan's cases one by one and writes a row for each."""

from __future__ import annotations

import itertools
import os
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from linkscope.torch_engine import catalog, installation, rows
from linkscope.torch_engine.faults import EngineError, Fault, context_lost, unsupported
from linkscope.torch_engine.measurement import Measurement, Subject
from linkscope.torch_engine.plan import Case, Plan
from linkscope.torch_engine.rows import Write
from linkscope.torch_engine.transfer import Own, Site
from linkscope.torch_engine.world import World, together

if TYPE_CHECKING:
    from linkscope.torch_engine.methods import Methods

Json = dict[str, Any]

_CANNOT = (Fault.UNSUPPORTED, Fault.NO_MEMORY)


class Executor:
    """Every process of ``world`` runs the same plan. Raises EngineError where it names what the catalog has not."""

    def __init__(self, plan: Plan, world: World, write: Write) -> None:
        catalog.check_names(plan)
        self._plan = plan
        self._world = world
        self._write = write
        self._backend = installation.backend()
        self._seeds = itertools.count(_first_seed())
        self._methods: Methods | None = None
        self._own: Own | None = None

    def run(self) -> bool:
        """Writes a start and a row for each case, then done; a process other than rank 0 says ``end`` in a row's place.

        False after a fault that ends the engine: its row is the last record.
        """
        for case in self._plan.cases:
            if not self._run_case(case):
                return False
        if self._methods:
            self._methods.close()
        self._write(rows.done(len(self._plan.cases)))
        return True

    def _run_case(self, case: Case) -> bool:
        self._write(rows.start(case))
        started, begin = datetime.now(timezone.utc), time.monotonic()
        status, members, sound = "ok", {}, True
        try:
            members = self._measure(case)
        except EngineError as error:
            status = "skipped" if error.fault in _CANNOT else "failed"
            members, sound = {"reason": str(error)}, error.fault is not Fault.FATAL
        except Exception as error:  # whatever PyTorch throws is this case's failure, or this process's end
            words = " ".join(f"{type(error).__name__}: {error}".split())
            status, members, sound = "failed", {"reason": words}, not context_lost(words)
        row = rows.row(case, self._backend, status, started, time.monotonic() - begin)
        self._write({**row, **members} if self._world.rank == 0 else rows.end(case))
        if sound:
            try:
                self._release()
            except Exception as error:  # what a GPU did after its figures were taken
                words = " ".join(f"{type(error).__name__}: {error}".split())
                sound, members = False, {"reason": f"giving back what the case held: {words}"}
        if not sound and self._world.size > 1:
            self._write(rows.error(EngineError(Fault.FATAL, str(members["reason"]))))
        return sound

    def _measure(self, case: Case) -> Json:
        together(self._world, lambda: self._check(case))
        flow = case.flows[0]
        method = self._open().by_name[flow.method]
        site = Site(self._world, self._plan.options.memory_limit_bytes)

        def assemble() -> tuple[int, bool]:
            self._own = method.assemble(flow, case, site)
            return (self._own.transfer.operations, self._own.transfer.accumulates) if self._own else (1, False)

        operations, accumulates = map(max, zip(*together(self._world, assemble), strict=True))
        subject = Subject(flow, method.parts(flow), method.latency(flow), operations, accumulates, self._own)
        return Measurement(self._world, case, self._plan.options, subject, self._seeds).run()

    def _release(self) -> None:
        """Gives back what the case has held. A process that leaves takes it along: that might wait for the others."""
        if self._own:
            self._own.transfer.release()
        self._own = None

    def _check(self, case: Case) -> None:
        """Raises EngineError where this process knows that the case cannot be."""
        if len(case.flows) > 1:
            raise unsupported("the torch engine times one flow at a time: PyTorch starts several one after another")
        if case.load == "sustained":
            raise unsupported("one flow alone has no load to sustain for others")
        flow = case.flows[0]
        problem = catalog.problem_of(flow)
        if problem:
            raise unsupported(problem)
        processes = 1 + max([flow.rank, *(end.rank for end in flow.ends)])
        if processes > self._world.size:
            raise unsupported(f"it needs {processes} processes, this run has {self._world.size}")
        self._open().by_name[flow.method].check(flow, case)

    def _open(self) -> Methods:
        """The methods, which cannot be named before PyTorch is known to be there."""
        if self._methods is None:
            from linkscope.torch_engine.methods import Methods

            self._methods = Methods(self._world)
        return self._methods


def _first_seed() -> int:
    text = os.environ.get("LINKSCOPE_SEED", "1")
    if not text.isdecimal():
        raise EngineError(Fault.BAD_INPUT, f"LINKSCOPE_SEED: '{text}' is no whole number")
    return int(text)
