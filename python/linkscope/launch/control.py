"""Control: where the processes of a crew report, and what they say."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import selectors
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.results.run_file import SCHEMA

Json = dict[str, Any]

CONTROL_VARIABLE = "LINKSCOPE_CONTROL"
TOKEN_VARIABLE = "LINKSCOPE_TOKEN"
LOOPBACK = "127.0.0.1"
_MOST_HELLO_BYTES = 1 << 16
_SEND_S = 30.0
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Hello:
    """How a process introduced itself. ``address``: where its connection comes from; ``hub_port``: rank 0's."""

    rank: int
    host: str
    pid: int
    address: str
    hub_port: int | None


@dataclass(frozen=True)
class Joined:
    """A process of this crew has said hello."""

    hello: Hello


@dataclass(frozen=True)
class Said:
    """A line of a process that has joined."""

    rank: int
    line: bytes


@dataclass(frozen=True)
class Left:
    """A process that had joined closed its connection."""

    rank: int


@dataclass(frozen=True)
class Misfit:
    """A process with the right token that cannot be one of this crew, and why."""

    reason: str


Event = Joined | Said | Left | Misfit


@dataclass
class _Line:
    """One connection: what came that is not a whole line yet, and whose it is once that is known."""

    connection: socket.socket
    address: str
    pending: bytes = b""
    rank: int | None = None


@dataclass
class Control:
    """Listens at ``interface`` for ``processes`` engines of ``version`` and ``backend``. Close it when done.

    Who does not know the token is turned away without a word. Raises LinkscopeError where it cannot listen.
    """

    processes: int
    version: str
    backend: str
    interface: str = LOOPBACK
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    def __post_init__(self) -> None:
        self._lines: dict[int, _Line] = {}
        self._selector = selectors.DefaultSelector()
        try:
            self._listener = socket.create_server((self.interface, 0), backlog=max(self.processes, 16))
        except OSError as error:
            what = f"cannot listen on {self.interface}: {error.strerror or error}"
            raise LinkscopeError(f"{what}; name another address of this host with --interface") from error
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"{self.interface}:{self._listener.getsockname()[1]}"

    @property
    def variables(self) -> dict[str, str]:
        """What an engine's environment must say for it to come here."""
        return {CONTROL_VARIABLE: self.address, TOKEN_VARIABLE: self.token}

    def poll(self, timeout_s: float) -> list[Event]:
        """What happened, as soon as anything does; nothing within ``timeout_s`` seconds: an empty list."""
        events: list[Event] = []
        for key, _ in self._selector.select(max(timeout_s, 0.0)):
            if key.fileobj is self._listener:
                self._accept()
            else:
                events += self._read(key.data)
        return events

    def send(self, rank: int, message: Mapping[str, Any]) -> None:
        """One line to a process. Raises OSError where it takes none within half a minute, or is gone."""
        connection = self._lines[rank].connection
        connection.settimeout(_SEND_S)
        connection.sendall(json.dumps(message).encode() + b"\n")
        connection.setblocking(False)

    def close(self) -> None:
        """Closes every connection: engines that are still there leave at once."""
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
            connection, address = self._listener.accept()
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ, _Line(connection, str(address[0])))

    def _read(self, line: _Line) -> list[Event]:
        try:
            data = line.connection.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError:
            data = b""
        *whole, line.pending = (line.pending + data).split(b"\n")
        events: list[Event] = []
        for text in filter(bytes.strip, whole):
            if line.rank is not None:
                events.append(Said(line.rank, text))
                continue
            first = self._introduce(line, text)
            if first is None:
                self._drop(line)
                return events
            events.append(first)
        if not data:
            events += [] if line.rank is None else [Left(line.rank)]
            self._drop(line)
        elif line.rank is None and len(line.pending) > _MOST_HELLO_BYTES:
            self._drop(line)
        return events

    def _introduce(self, line: _Line, text: bytes) -> Event | None:
        """Takes the first line of a connection; None where it is a stranger's."""
        try:
            said = json.loads(text)
            if not hmac.compare_digest(str(said["token"]).encode(), self.token.encode()):
                return None
            port = said.get("hub_port")
            hello = Hello(int(said["rank"]), str(said["host"]), int(said["pid"]), line.address, port and int(port))
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        reason = self._objection(hello, said)
        if reason is not None:
            return Misfit(f"{name(hello.rank, hello.host)} {reason}")
        line.rank = hello.rank
        self._lines[hello.rank] = line
        return Joined(hello)

    def _objection(self, hello: Hello, said: Json) -> str | None:
        mend = "build all from one version"
        if said.get("schema") != SCHEMA:
            return f"speaks schema {said.get('schema')}, this linkscope {SCHEMA}: {mend}"
        if said.get("version") != self.version:
            return f"runs an engine of version {said.get('version')}, the one here is {self.version}: {mend}"
        if said.get("backend") != self.backend:
            return f"runs the {said.get('backend')} engine, the others the {self.backend} engine: see --engine"
        if not 0 <= hello.rank < self.processes:
            return f"is none of the {self.processes} processes that were asked for: see --launcher-command"
        if hello.rank in self._lines:
            return "was started twice: is the launcher of another MPI than the one that numbers the processes?"
        return None

    def _drop(self, line: _Line) -> None:
        self._selector.unregister(line.connection)
        line.connection.close()


def name(rank: int, host: str) -> str:
    """How messages name a process: "rank 2 (host node7)"."""
    return f"rank {rank} (host {host})"


def own_address(peers: Sequence[str]) -> str:
    """The address of this host by which ``peers`` reach it: of the interface that the way to the first of them takes.

    Without peers, the one that this host's own name has, else that of the default route, else loopback.
    """
    for peer in peers:
        found = _source_towards(peer)
        if found is not None and not found.startswith("127."):
            return found
    with contextlib.suppress(OSError):
        own = socket.gethostbyname(socket.gethostname())
        if not own.startswith("127."):
            return own
    return _source_towards("192.0.2.1") or LOOPBACK  # an address for documentation (RFC 5737): never sent to


def _source_towards(peer: str) -> str | None:
    """The address that a datagram to ``peer`` would come from; none is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((peer, 9))
        return str(probe.getsockname()[0])
    return None
