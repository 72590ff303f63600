"""CommandServer: the engine's commands, one method each, and the transfers that it has asked for."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linkscope.torch_child import installation
from linkscope.torch_child.faults import ChildError, Fault, fault_of
from linkscope.torch_child.flow import Flow, Regime, Site

if TYPE_CHECKING:
    from linkscope.torch_child.methods import Methods
    from linkscope.torch_child.part import Part

Json = dict[str, Any]

_SPOILT = 4
"""Exit code of a child that could not give back what a case had held."""


class CommandServer:
    """Carries commands out, one after another. ``closed``: whether it has been told to end."""

    def __init__(self) -> None:
        self.closed = False
        self._site = Site(0, 1, "127.0.0.1", 60.0, 0)
        self._methods: Methods | None = None
        self._held: dict[int, Any] = {}
        self._parts: dict[int, Part] = {}

    def carry_out(self, command: Json) -> Json | None:
        """The answer: a ``value``, or the ``fault`` and ``what`` it was. None to a command that has none."""
        if command["do"] == "release":
            self._release(command["id"])
            return None
        work: Callable[[Json], Any] = getattr(self, f"_{command['do']}")
        try:
            return {"value": work(command)}
        except Exception as error:
            told = fault_of(error)
            if not isinstance(error, ChildError):
                traceback.print_exc()
            return {"fault": told.fault.value, "what": str(told)}

    def _begin(self, command: Json) -> None:
        names = ("rank", "size", "root_host", "limit_s", "memory_limit_bytes")
        self._site = Site(**{name: command[name] for name in names})

    def _describe(self, command: Json) -> Json:
        return {"problems": installation.problems(), "versions": installation.versions()}

    def _check(self, command: Json) -> str | None:
        """Return why the flow cannot be, in this regime; None where it can."""
        flow = Flow.of(command["flow"])
        problem = installation.loading_problem(command["needs"])
        if problem:
            return f"{flow.method}: {problem}"
        try:
            self._open().by_name[flow.method].check(flow, Regime.of(command["regime"]))
        except ChildError as error:
            if error.fault is Fault.UNSUPPORTED:
                return str(error)
            raise
        return None

    def _prepare(self, command: Json) -> None:
        """Takes the memory of this process's part."""
        flow, regime = Flow.of(command["flow"]), Regime.of(command["regime"])
        self._held[command["id"]] = self._open().by_name[flow.method].hold(flow, regime, self._site)

    def _export_handles(self, command: Json) -> Json:
        """Return what the other processes must know before they connect."""
        flow = Flow.of(command["flow"])
        return {"versions": installation.versions(), **self._open().by_name[flow.method].export_handles(self._site)}

    def _import_handles(self, command: Json) -> Json | None:
        """Sets up communicators, in all processes, and makes the first calls of this process's part."""
        flow, exports = Flow.of(command["flow"]), command["exports"]
        _require_alike([one["versions"] for one in exports])
        method = self._open().by_name[flow.method]
        method.import_handles(flow, exports, self._site)
        number = command["id"]
        if number not in self._held:
            return None
        regime = Regime.of(command["regime"])
        part = method.assemble(flow, regime, self._site, self._held[number])
        self._parts[number] = part
        part.set_up()
        return part.facts()

    def _arm(self, command: Json) -> None:
        self._parts[command["id"]].arm(command["seed"])

    def _run(self, command: Json) -> Json:
        part = self._parts[command["id"]]
        reading = part.take(command["repeats"])
        return {"start_s": reading.start, "seconds": reading.seconds, "notes": part.notes()}

    def _verify(self, command: Json) -> Json:
        transfer = self._parts[command["id"]].transfer
        wrong = transfer.verify(command["seed"])
        return {"wrong": wrong, "bytes": 0 if wrong else transfer.verified_bytes()}

    def _close(self, command: Json) -> None:
        """Leaves the communicators."""
        if self._methods:
            self._methods.close()
        self.closed = True

    def _release(self, number: int) -> None:
        """Gives back what a case has held. Where that fails the process is of no use any more, and ends."""
        try:
            part = self._parts.pop(number, None)
            if part:
                part.transfer.release()
            self._held.pop(number, None)
        except Exception as error:  # what a GPU did after its figures were taken
            sys.stderr.write(f"giving back what the case held: {fault_of(error)}\n")
            sys.stderr.flush()
            os._exit(_SPOILT)

    def _open(self) -> Methods:
        """The methods, which cannot be named before PyTorch is known to be there."""
        if self._methods is None:
            from linkscope.torch_child.methods import Methods

            self._methods = Methods()
        return self._methods


def _require_alike(versions: list[Json]) -> None:
    """Raises ChildError where processes have different ones."""
    for rank, there in enumerate(versions):
        for what, text in versions[0].items():
            if there.get(what) != text:
                differ = f"rank {rank} has {what} {there.get(what)}, rank 0 has {text}"
                raise ChildError(Fault.BAD_INPUT, f"{differ}: every process must be given the same")
