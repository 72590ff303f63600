"""Control: where the processes of a group report, and what they say."""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import select
import selectors
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkscope.errors import LinkscopeError
from linkscope.machine.node import Node
from linkscope.results.run_file import SCHEMA

Json = dict[str, Any]

CONTROL_VARIABLE = "LINKSCOPE_CONTROL"
TOKEN_VARIABLE = "LINKSCOPE_TOKEN"
LOOPBACK = "127.0.0.1"
_MOST_HELLO_BYTES = 1 << 18
_SEND_S = 30.0
_CHUNK = 1 << 16
_MOST_STRANGERS = 256


@dataclass(frozen=True)
class Hello:
    """Introduce a process. ``address``: where its connection comes from; ``root_port``: rank 0's; ``cpus``:
    those that it was started on, where it says so.
    """

    rank: int
    host: str
    pid: int
    address: str
    root_port: int | None
    cpus: tuple[int, ...] = ()


@dataclass(frozen=True)
class SurveyedHost:
    """A host's first process has looked at it: its node (machine/node.py) and the cores that it may use."""

    host: str
    node: Node
    cores: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class RankJoined:
    """A process of this group has said hello."""

    hello: Hello


@dataclass(frozen=True)
class RankLine:
    """A line of a process that has joined; ``moment``: when it was seen, by time.monotonic(), before any end that was
    seen along with it: true of its own, of others' unknown.
    """

    rank: int
    line: bytes
    moment: float


@dataclass(frozen=True)
class RankLeft:
    """A process that had joined closed its connection; ``moment``: when, by time.monotonic(), in the order in which the
    kernel saw them end.
    """

    rank: int
    moment: float


@dataclass(frozen=True)
class RejectedProcess:
    """A process with the right token that cannot be one of this group, and why."""

    rank: int
    reason: str


Event = SurveyedHost | RankJoined | RankLine | RankLeft | RejectedProcess


@dataclass(eq=False)
class _Connection:
    """One connection: what came that is not a whole line yet, and whose it is once that is known."""

    connection: socket.socket
    address: str
    pending: bytes = b""
    rank: int | None = None


@dataclass
class Control:
    """Listens at ``interface`` for ``processes`` engines of ``version`` and ``backend``. Close it when done.

    Who does not know the token is turned away without a word; of those who have not said anything the latest alone are
    kept. Raises LinkscopeError where it cannot listen.
    """

    processes: int
    version: str
    backend: str
    interface: str = LOOPBACK
    token: str = field(default_factory=lambda: secrets.token_hex(16), repr=False)

    def __post_init__(self) -> None:
        self._lines: dict[int, _Connection] = {}
        self._strangers: list[_Connection] = []
        self._selector = selectors.DefaultSelector()
        self._ends = select.epoll()
        self._ended: dict[int, float] = {}
        try:
            family = socket.AF_INET6 if ":" in self.interface else socket.AF_INET
            backlog = max(self.processes, 16)
            self._listener = socket.create_server((self.interface, 0), family=family, backlog=backlog)
        except OSError as error:
            what = f"cannot listen on {self.interface}: {error.strerror or error}"
            raise LinkscopeError(f"{what}; name another address of this host with --interface") from error
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return at(self.interface, int(self._listener.getsockname()[1]))

    @property
    def variables(self) -> dict[str, str]:
        """Return what an engine's environment must say for it to come here."""
        return {CONTROL_VARIABLE: self.address, TOKEN_VARIABLE: self.token}

    def poll(self, timeout_s: float) -> list[Event]:
        """Return what happened, as soon as anything does; nothing within ``timeout_s`` seconds: an empty list."""
        events: list[Event] = []
        ready = self._selector.select(max(timeout_s, 0.0))
        now = time.monotonic()
        self._note_ends()
        for key, _ in ready:
            if key.fileobj is self._listener:
                self._accept()
            elif key.data.connection.fileno() >= 0:  # it may have made room for another by now
                events += self._read(key.data, now)
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
        self._ends.close()

    def _note_ends(self) -> None:
        """In their order. The selector's is that in which there was first anything to read, which may be lines."""
        for descriptor, _ in self._ends.poll(0):
            self._ended[descriptor] = time.monotonic()

    def _accept(self) -> None:
        try:
            connection, address = self._listener.accept()
        except OSError:  # it is gone again, or there are too many: those who are left stay in the queue
            return
        connection.setblocking(False)
        self._strangers.append(_Connection(connection, str(address[0])))
        self._selector.register(connection, selectors.EVENT_READ, self._strangers[-1])
        if len(self._strangers) > _MOST_STRANGERS:
            self._drop(self._strangers[0])

    def _read(self, line: _Connection, now: float) -> list[Event]:
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
                events.append(RankLine(line.rank, text, now))
                continue
            first = self._introduce(line, text)
            events += [] if first is None else [first]
            if first is None or isinstance(first, SurveyedHost):
                self._drop(line)
                return events
        if not data:
            moment = self._ended.pop(line.connection.fileno(), time.monotonic())
            events += [] if line.rank is None else [RankLeft(line.rank, moment)]
            self._drop(line)
        elif line.rank is None and len(line.pending) > _MOST_HELLO_BYTES:
            self._drop(line)
        return events

    def _introduce(self, line: _Connection, text: bytes) -> Event | None:
        """Takes the first line of a connection; None where it is a stranger's."""
        try:
            said = json.loads(text)
            if not hmac.compare_digest(str(said["token"]).encode(), self.token.encode()):
                return None
            if said.get("record") == "node":
                return _survey(said)
            port = said.get("root_port")
            cpus = tuple(int(cpu) for cpu in said.get("cpus", ()))
            rank, host, pid = int(said["rank"]), str(said["host"]), int(said["pid"])
            hello = Hello(rank, host, pid, line.address, port and int(port), cpus)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            return None
        reason = self._objection(hello, said)
        if reason is not None:
            return RejectedProcess(hello.rank, f"{name(hello.rank, hello.host)} {reason}")
        line.rank = hello.rank
        self._lines[hello.rank] = line
        self._strangers.remove(line)
        self._ends.register(line.connection, select.EPOLLRDHUP | select.EPOLLET)
        return RankJoined(hello)

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

    def _drop(self, line: _Connection) -> None:
        if line in self._strangers:
            self._strangers.remove(line)
        self._selector.unregister(line.connection)
        line.connection.close()


def _survey(said: Json) -> SurveyedHost:
    cores = tuple(tuple(int(cpu) for cpu in core) for core in said["cores"])
    return SurveyedHost(str(said["host"]), Node.from_json(said["node"]), cores)


def name(rank: int, host: str) -> str:
    """Return how messages name a process: "rank 2 (host node7)"."""
    return f"rank {rank} (host {host})"


def at(host: str, port: int) -> str:
    """HOST:PORT, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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
