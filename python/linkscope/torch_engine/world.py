"""World: the processes that carry out a plan together, and how they come to decide alike."""

from __future__ import annotations

import hmac
import json
import platform
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from linkscope.torch_engine.faults import EngineError, Fault, context_lost

Claims = dict[str, str]
"""What must be the same in every process, by name."""

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


class _Lines:
    """JSON values over a connection, one a line."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._pending = b""

    def send(self, value: Any) -> None:
        self._connection.sendall(json.dumps(value).encode() + b"\n")

    def receive(self, deadline: float, most: int = 1 << 30) -> Any:
        """Raises TimeoutError, and ConnectionError where the other end is gone or talks nonsense."""
        while b"\n" not in self._pending:
            self._connection.settimeout(max(deadline - time.monotonic(), 1e-3))
            data = self._connection.recv(1 << 20)
            if not data or len(self._pending) > most:
                raise ConnectionError
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError as error:
            raise ConnectionError from error

    def close(self) -> None:
        self._connection.close()


class Centre:
    """Rank 0's end of a star. ``listener`` listens at the hub's port. Raises EngineError for who does not come."""

    rank = 0

    def __init__(
        self, listener: socket.socket, token: str, size: int, hub: str, limit_s: float, claims: Claims
    ) -> None:
        self.size = size
        self._claims = claims
        self.host = hub.rpartition(":")[0]
        self.limit_s = limit_s
        self._hosts = {0: platform.node()}
        self._spokes: dict[int, _Lines] = {}
        deadline = time.monotonic() + limit_s
        while len(self._spokes) < size - 1:
            listener.settimeout(max(deadline - time.monotonic(), 1e-3))
            try:
                connection, _ = listener.accept()
            except TimeoutError as error:
                raise EngineError(Fault.FATAL, f"has not come within {limit_s:g} s: {self._missing()}") from error
            self._greet(_Lines(connection), token, deadline)
        listener.close()

    def name(self, rank: int) -> str:
        return f"rank {rank} (host {self._hosts[rank]})" if rank in self._hosts else f"rank {rank}"

    def exchange(self, own: Any) -> list[Any]:
        """As World.exchange."""
        deadline = time.monotonic() + self.limit_s
        words = [own]
        for rank in range(1, self.size):
            words.append(self._from(rank, deadline))
        for rank in range(1, self.size):
            try:
                self._spokes[rank].send(words)
            except OSError as error:
                raise EngineError(Fault.FATAL, f"{self.name(rank)} is gone") from error
        return words

    def _from(self, rank: int, deadline: float) -> Any:
        try:
            return self._spokes[rank].receive(deadline)
        except TimeoutError as error:
            raise EngineError(Fault.FATAL, f"{self.name(rank)} has not come within {self.limit_s:g} s") from error
        except OSError as error:
            raise EngineError(Fault.FATAL, f"{self.name(rank)} is gone") from error

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

    def _missing(self) -> str:
        return ", ".join(self.name(rank) for rank in range(1, self.size) if rank not in self._spokes)


class Spoke:
    """Another rank's end. Raises EngineError where rank 0 cannot be reached."""

    def __init__(self, rank: int, token: str, size: int, hub: str, limit_s: float, claims: Claims) -> None:
        self.rank = rank
        self.size = size
        self.host, _, port = hub.rpartition(":")
        self.limit_s = limit_s
        try:
            self._centre = _Lines(socket.create_connection((self.host, int(port)), limit_s))
            self._centre.send({"token": token, "rank": rank, "host": platform.node(), "claims": claims})
        except OSError as error:
            raise EngineError(Fault.FATAL, f"cannot reach rank 0 at {hub}: {error.strerror or error}") from error

    def name(self, rank: int) -> str:
        return f"rank {rank} (host {platform.node()})" if rank == self.rank else f"rank {rank}"

    def exchange(self, own: Any) -> list[Any]:
        """As World.exchange. Rank 0 waits for the late until the limit: this waits for it a little longer."""
        try:
            self._centre.send(own)
            words = self._centre.receive(time.monotonic() + 2 * self.limit_s)
        except TimeoutError as error:
            raise EngineError(Fault.FATAL, f"rank 0 has not come within {2 * self.limit_s:g} s") from error
        except OSError as error:
            raise EngineError(Fault.FATAL, "rank 0 is gone, or has lost a process") from error
        return list(words)


def together(world: World, step: Callable[[], Any]) -> list[Any]:
    """Carries out a step that every process takes and returns what it gave in each. Where it fails anywhere, all raise
    that error, which names the process.
    """
    if world.size == 1:
        return [step()]
    failure: EngineError | None = None
    value = None
    try:
        value = step()
    except EngineError as error:
        failure = error
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        failure = EngineError(Fault.FATAL if context_lost(words) else Fault.BROKEN, words)
    outcomes = world.exchange([value, failure and [failure.fault.name, str(failure), failure.shared]])
    for rank, (_, failed) in enumerate(outcomes):
        if failed is not None:
            fault, words, shared = failed
            raise EngineError(Fault[fault], words if shared else f"{world.name(rank)}: {words}", shared=True)
    return [given for given, _ in outcomes]
