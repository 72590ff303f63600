"""World: the processes that carry out a plan together, and how they come to decide alike."""

from __future__ import annotations

import contextlib
import hmac
import json
import platform
import selectors
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from linkscope.torch_engine.faults import EngineError, Fault, context_lost

Claims = dict[str, str]
"""What must be the same in every process, by name."""

OnFailure = Callable[[str], None]
Failures = dict[int, tuple[float, str]]
"""Who could not do its part of an exchange, by rank: after how many seconds of the step before it, and why."""

_FOR_THE_REASON_S = 1.0
"""Rank 0 is the first to know who is late, and says so: that shall arrive before the others' patience ends."""
_MOST_GREETING_BYTES = 1 << 16


class World(Protocol):
    """Every process goes through the same plan and decides alike, because all see the same figures."""

    rank: int
    size: int
    host: str
    """The address of rank 0 by which the others reach it."""
    limit_s: float
    """How long one process may keep the others waiting."""

    def name(self, rank: int) -> str:
        """ "rank 2 (host node7)", for messages."""

    def exchange(self, own: Any) -> list[Any]:
        """Every process's word (anything that JSON holds), by rank. A barrier. Raises EngineError (FATAL)."""

    def exchange_failure(self, own: Any, reason: str, after_s: float) -> list[Any]:
        """The same for a process that could not do its part: where the others do not come either, ``reason`` is told as
        well, of several by ``after_s``, the seconds of the step before the exchange.
        """


class Alone:
    """One process."""

    rank = 0
    size = 1
    host = "127.0.0.1"
    limit_s = 60.0

    def name(self, rank: int) -> str:
        return "the one process"

    def exchange(self, own: Any) -> list[Any]:
        return [own]

    def exchange_failure(self, own: Any, reason: str, after_s: float) -> list[Any]:
        return [own]


class _Lines:
    """JSON values over a connection, one a line."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._pending = b""

    def send(self, value: Any, limit_s: float) -> None:
        self._connection.settimeout(limit_s)
        self._connection.sendall(json.dumps(value).encode() + b"\n")

    def receive(self, deadline: float, most: int = 1 << 30) -> Any:
        """Raises TimeoutError, and ConnectionError where the other end is gone or talks nonsense."""
        while not self._whole():
            self._connection.settimeout(max(deadline - time.monotonic(), 1e-3))
            self._take(most)
        return self._next()

    def arrived(self) -> Any:
        """The next value where all of it is there, else None; never waits. Raises ConnectionError as receive()."""
        self._connection.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            while not self._whole():
                self._take(1 << 30)
        return self._next() if self._whole() else None

    def _whole(self) -> bool:
        return b"\n" in self._pending

    def _take(self, most: int) -> None:
        data = self._connection.recv(1 << 20)
        if not data or len(self._pending) > most:
            raise ConnectionError
        self._pending += data

    def _next(self) -> Any:
        line, self._pending = self._pending.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError as error:
            raise ConnectionError from error

    def fileno(self) -> int:
        return self._connection.fileno()

    def close(self) -> None:
        self._connection.close()


class _Star(ABC):
    """What both ends of a star have in common. ``on_failure`` is told why this process could not do its part of an
    exchange, before it waits for the others there.
    """

    def __init__(self, rank: int, size: int, hub: str, limit_s: float, on_failure: OnFailure) -> None:
        self.rank = rank
        self.size = size
        self.host = hub.rpartition(":")[0]
        self.limit_s = limit_s
        self._on_failure = on_failure
        self._hosts = {rank: platform.node()}

    def name(self, rank: int) -> str:
        return f"rank {rank} (host {self._hosts[rank]})" if rank in self._hosts else f"rank {rank}"

    def exchange(self, own: Any) -> list[Any]:
        """As World.exchange."""
        return self._carry_out(own, {})

    def exchange_failure(self, own: Any, reason: str, after_s: float) -> list[Any]:
        """As World.exchange_failure."""
        self._on_failure(reason)
        return self._carry_out(own, {self.rank: (after_s, reason)})

    @abstractmethod
    def _carry_out(self, own: Any, failures: Failures) -> list[Any]:
        """Everybody's words, by rank; ``failures``: of this process."""

    def _failed(self, failures: Failures) -> list[str]:
        """The first first."""
        in_order = sorted((after_s, rank, words) for rank, (after_s, words) in failures.items())
        return [f"{self.name(rank)} failed: {words}" for _, rank, words in in_order]

    def _behind_failures(self, failures: Failures, reason: str) -> str:
        """``reason`` behind who could not do its part of that exchange: others may have waited for it in vain."""
        return "; ".join([*self._failed(failures), reason])

    def _before_failures(self, failures: Failures, reason: str) -> str:
        """``reason``, which is that a process is gone: who failed may have done so for its sake."""
        return "; ".join([reason, *self._failed(failures)])

    def _late(self, ranks: Iterable[int], limit_s: float) -> str:
        names = [self.name(rank) for rank in ranks]
        return f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} not come within {limit_s:g} s"


class Centre(_Star):
    """Rank 0's end of a star. ``listener`` listens at the hub's port. Raises EngineError for who does not come."""

    def __init__(
        self,
        listener: socket.socket,
        token: str,
        size: int,
        hub: str,
        limit_s: float,
        claims: Claims,
        on_failure: OnFailure = lambda reason: None,
    ) -> None:
        super().__init__(0, size, hub, limit_s, on_failure)
        self._claims = claims
        self._spokes: dict[int, _Lines] = {}
        deadline = time.monotonic() + limit_s
        while missing := [rank for rank in range(1, size) if rank not in self._spokes]:
            listener.settimeout(max(deadline - time.monotonic(), 1e-3))
            try:
                connection, _ = listener.accept()
            except TimeoutError as error:
                raise self._end(self._late(missing, limit_s)) from error
            self._greet(_Lines(connection), token, deadline)
        listener.close()
        self._selector = selectors.DefaultSelector()
        for rank, lines in self._spokes.items():
            self._selector.register(lines, selectors.EVENT_READ, rank)
        self._send_all({"hosts": [self._hosts[rank] for rank in range(size)]}, {})

    def _carry_out(self, own: Any, failures: Failures) -> list[Any]:
        self._send_all({"here": True}, failures)
        said = self._collect(failures)
        words = [own, *(said[rank] for rank in range(1, self.size))]
        self._send_all({"words": words}, failures)
        return words

    def _collect(self, failures: Failures) -> dict[int, Any]:
        """The others' words, by rank. If one goes that has said its word, there is nothing to wait for either."""
        said: dict[int, Any] = {}
        deadline = time.monotonic() + self.limit_s
        while True:
            for rank in self._spokes:
                try:
                    self._hear(rank, said, failures)
                except OSError as error:
                    raise self._gone(rank, failures) from error
            late = [rank for rank in range(1, self.size) if rank not in said]
            if not late:
                return said
            if not self._selector.select(max(deadline - time.monotonic(), 0.0)):
                raise self._end(self._behind_failures(failures, self._late(late, self.limit_s)))

    def _hear(self, rank: int, said: dict[int, Any], failures: Failures) -> None:
        arrived = self._spokes[rank].arrived()
        if arrived is None:
            return
        said[rank] = arrived["word"]
        if arrived["failure"]:
            after_s, words = arrived["failure"]
            failures[rank] = (after_s, words)

    def _send_all(self, value: Any, failures: Failures) -> None:
        for rank, lines in self._spokes.items():
            try:
                lines.send(value, self.limit_s)
            except TimeoutError as error:  # it takes nothing in
                raise self._end(self._behind_failures(failures, self._late([rank], self.limit_s))) from error
            except OSError as error:
                raise self._gone(rank, failures) from error

    def _gone(self, gone: int, failures: Failures) -> EngineError:
        """Takes in first what the others have said of themselves."""
        for rank in self._spokes:
            with contextlib.suppress(OSError):
                self._hear(rank, {}, failures)
        return self._end(self._before_failures(failures, f"{self.name(gone)} is gone"))

    def _end(self, reason: str) -> EngineError:
        """Tells the others why, as far as that can be done at once."""
        for lines in self._spokes.values():
            with contextlib.suppress(OSError):
                lines.send({"farewell": reason}, 0)
        return EngineError(Fault.FATAL, reason)

    def _greet(self, lines: _Lines, token: str, deadline: float) -> None:
        """Takes in whoever knows the token; turns strangers away without a word."""
        try:
            said = lines.receive(min(deadline, time.monotonic() + 5), _MOST_GREETING_BYTES)
            rank = int(said["rank"])
            known = hmac.compare_digest(str(said["token"]).encode(), token.encode())
            host, claims = str(said["host"]), dict(said["claims"])
        except (OSError, ValueError, KeyError, TypeError):
            lines.close()
            return
        if not known or not 0 < rank < self.size or rank in self._spokes:
            lines.close()
            return
        self._spokes[rank], self._hosts[rank] = lines, host
        for what, here in self._claims.items():
            if claims.get(what) != here:
                differ = f"{self.name(rank)} has {what} {claims.get(what)}, {self.name(0)} has {here}"
                raise EngineError(Fault.BAD_INPUT, f"{differ}: every process must be given the same")


class Spoke(_Star):
    """Another rank's end. Raises EngineError where rank 0 cannot be reached."""

    def __init__(
        self,
        rank: int,
        token: str,
        size: int,
        hub: str,
        limit_s: float,
        claims: Claims,
        on_failure: OnFailure = lambda reason: None,
    ) -> None:
        super().__init__(rank, size, hub, limit_s, on_failure)
        try:
            self._centre = _Lines(socket.create_connection((self.host, int(hub.rpartition(":")[2])), limit_s))
            self._centre.send({"token": token, "rank": rank, "host": platform.node(), "claims": claims}, limit_s)
        except OSError as error:
            raise EngineError(Fault.FATAL, f"cannot reach rank 0 at {hub}: {error.strerror or error}") from error
        self._hosts = dict(enumerate(self._said("hosts", 2 * limit_s, {})))

    def _carry_out(self, own: Any, failures: Failures) -> list[Any]:
        """Rank 0 comes within the limit, or is late; from then on it waits for the others as long, and says who is."""
        try:
            self._centre.send({"word": own, "failure": failures.get(self.rank)}, self.limit_s)
        except OSError as error:
            raise self._centre_is_gone(failures) from error
        self._said("here", self.limit_s, failures)
        return list(self._said("words", self.limit_s, failures))

    def _said(self, what: str, limit_s: float, failures: Failures) -> Any:
        """What rank 0 says next, which is ``what``: within the limit and a little for it to say who was late."""
        try:
            said = self._centre.receive(time.monotonic() + limit_s + _FOR_THE_REASON_S)
        except TimeoutError as error:
            raise EngineError(Fault.FATAL, self._behind_failures(failures, self._late([0], limit_s))) from error
        except OSError as error:
            raise self._centre_is_gone(failures) from error
        if "farewell" in said:
            raise EngineError(Fault.FATAL, said["farewell"])
        return said[what]

    def _centre_is_gone(self, failures: Failures) -> EngineError:
        """In the words that it left, if it did."""
        reason = self._before_failures(failures, f"{self.name(0)} is gone, or has lost a process")
        with contextlib.suppress(OSError):
            while (said := self._centre.arrived()) is not None:
                reason = said.get("farewell", reason)
        return EngineError(Fault.FATAL, reason)


def together(world: World, step: Callable[[], Any]) -> list[Any]:
    """Carries out a step that every process takes and returns what it gave in each. Where it fails anywhere, all raise
    the error of the process that failed first, which names it: the others may have failed for its sake. It is FATAL
    where that is so in any.
    """
    if world.size == 1:
        return [step()]
    begin = time.monotonic()
    failure: EngineError | None = None
    value = None
    try:
        value = step()
    except EngineError as error:
        failure = error
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        failure = EngineError(Fault.FATAL if context_lost(words) else Fault.BROKEN, words)
    if failure is None:
        outcomes = world.exchange([value, None])
    else:
        after_s = time.monotonic() - begin  # all begin the step within the time that a message takes, or little more
        own = [None, [after_s, failure.fault.name, str(failure), failure.shared]]
        outcomes = world.exchange(own) if failure.shared else world.exchange_failure(own, str(failure), after_s)
    failed = [(said[0], rank, *said[1:]) for rank, (_, said) in enumerate(outcomes) if said is not None]
    if failed:
        _, rank, fault, words, shared = min(failed)
        worst = Fault.FATAL if any(one[2] == Fault.FATAL.name for one in failed) else Fault[fault]
        raise EngineError(worst, words if shared else f"{world.name(rank)}: {words}", shared=True)
    return [given for given, _ in outcomes]
