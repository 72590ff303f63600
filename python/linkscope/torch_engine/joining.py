"""Joining: how an engine that a launcher started finds its plan and the other processes."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import socket
import threading
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from linkscope import __version__
from linkscope.torch_engine import installation, rows
from linkscope.torch_engine.faults import EngineError, Fault
from linkscope.torch_engine.plan import Plan, read_plan
from linkscope.torch_engine.world import Alone, Centre, Claims, OnFailure, Spoke, World

Json = dict[str, Any]

RANK_VARIABLES = ("LINKSCOPE_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
"""Which one says this process's rank: the first that is set."""
LOST = 3
"""Exit code of an engine that ends for another's sake."""
_CONNECT_S = 30.0


Work = Callable[[Plan, World, rows.Write], bool]
"""Carries a plan out among processes, its records going to the last; whether it came to its end."""


def join(work: Work, environment: Mapping[str, str] = os.environ) -> bool:
    """Says hello at LINKSCOPE_CONTROL, receives the plan and works on it; what ``work`` says.

    Once it has the plan, this process leaves at once when that connection closes. Raises EngineError, which the other
    end has been told.
    """
    control = _Control(_variable(environment, "LINKSCOPE_CONTROL"))
    token = _variable(environment, "LINKSCOPE_TOKEN")
    rank = own_rank(environment)
    listener = control.listen_beside() if rank == 0 else None
    hello = rows.hello(installation.backend())
    hello |= {"token": token, "rank": rank, "host": platform.node(), "pid": os.getpid()}
    hello["cpus"] = sorted(os.sched_getaffinity(0))
    if listener is not None:
        hello["root_port"] = listener.getsockname()[1]
    control.write(hello)
    try:
        return _take_part(work, control, token, listener)
    except EngineError as error:
        with contextlib.suppress(EngineError):
            control.write(rows.error(error))
        raise


def _take_part(work: Work, control: _Control, token: str, listener: socket.socket | None) -> bool:
    task = control.read()
    if "plan" not in task:
        raise EngineError(Fault.BAD_INPUT, "LINKSCOPE_CONTROL gave something that is no plan")
    if task.get("cpus"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, task["cpus"])
    control.watch()
    plan = read_plan(task["plan"])

    def tell(reason: str) -> None:
        with contextlib.suppress(EngineError):  # nobody listens any more: the others are told all the same
            control.write(rows.failure(reason))

    return work(plan, _world(task, token, listener, tell), control.write)


def own_rank(environment: Mapping[str, str]) -> int:
    """This process's rank, as the launcher says it. Raises EngineError."""
    for name in RANK_VARIABLES:
        text = environment.get(name)
        if text is not None:
            if not text.isdecimal():
                raise EngineError(Fault.BAD_INPUT, f"{name}: '{text}' is no rank")
            return int(text)
    raise EngineError(Fault.BAD_INPUT, f"no rank: the launcher sets none of {', '.join(RANK_VARIABLES)}")


def _claims(task: Json) -> Claims:
    plan = json.dumps(task["plan"], sort_keys=True).encode()
    return {**installation.versions(), "linkscope": __version__, "a plan of hash": f"{zlib.crc32(plan):08x}"}


def _world(task: Json, token: str, listener: socket.socket | None, on_failure: OnFailure) -> World:
    rank, size, hub, limit_s = int(task["rank"]), int(task["size"]), str(task["root"]), float(task["limit_s"])
    if size == 1:
        return Alone()
    if rank == 0:
        if listener is None:
            raise EngineError(Fault.BAD_INPUT, "this process is rank 0 and did not know: is LINKSCOPE_RANK right?")
        return Centre(listener, token, size, hub, limit_s, _claims(task), on_failure)
    return Spoke(rank, token, size, hub, limit_s, _claims(task), on_failure)


class _Control:
    """The connection to whoever started this process."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        try:
            self._connection = socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S)
        except (OSError, ValueError) as error:
            raise EngineError(Fault.BAD_INPUT, f"LINKSCOPE_CONTROL: cannot reach {address}: {error}") from error
        self._connection.settimeout(None)

    def listen_beside(self) -> socket.socket:
        """A listener at the address of this host that the connection leaves from, and there alone."""
        return socket.create_server((self._connection.getsockname()[0], 0), family=self._connection.family)

    def write(self, record: Json) -> None:
        """Sends a record. Raises EngineError where nobody listens any more."""
        try:
            self._connection.sendall(rows.line_of(record))
        except OSError as error:
            raise EngineError(Fault.FATAL, f"cannot write the results: {error.strerror or error}") from error

    def read(self) -> Json:
        """The next line. Raises EngineError where the connection closes first."""
        pending = b""
        while not pending.endswith(b"\n"):
            data = self._connection.recv(1 << 20)
            if not data:
                raise EngineError(Fault.FATAL, "LINKSCOPE_CONTROL closed before it gave a plan")
            pending += data
        record: Json = json.loads(pending)
        return record

    def watch(self) -> None:
        """Ends this process when the connection closes, wherever it is held up then."""
        threading.Thread(target=self._leave_at_the_end, daemon=True).start()

    def _leave_at_the_end(self) -> None:
        with contextlib.suppress(OSError):
            while self._connection.recv(1 << 16):
                pass
        os._exit(LOST)


def _variable(environment: Mapping[str, str], name: str) -> str:
    if name not in environment:
        raise EngineError(Fault.BAD_INPUT, f"{name} is not set: `join` is for processes that linkscope started")
    return environment[name]
