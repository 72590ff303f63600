"""PeerOutput: what another tool's output says, in linkscope's words, before it is laid over the cases of a suite."""

from __future__ import annotations

import csv
import re
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from linkscope.documents.escaped import escaped
from linkscope.documents.typed import typed
from linkscope.errors import LinkscopeError
from linkscope.importers.pasted_text import cleaned, decoded
from linkscope.messages.finding import Finding
from linkscope.results.note_codes import NVLS_FREE, NVLS_NONE
from linkscope.results.row import Stats

Form = TypeVar("Form")

GBPS, SECONDS = "GB/s", "s"
MOST_FILE = 64 << 20
"""Bytes of a file; the longest output of any of these tools has a tenth of it."""
MOST_GPUS = 256
_LEAST, _MOST = 1e-60, 1e60
"""Between these, by their size, are numbers that tools print."""
LEAST, LARGEST = 1e-12, 1e15
"""Between these are all rates in GB/s and times in seconds."""


@dataclass(frozen=True)
class Gpu:
    """A GPU as the tool names it; ``pci`` like "0000:1b:00"."""

    name: str = ""
    pci: str | None = None


UNKNOWN = "unknown"
"""The memory of a buffer of which the output does not say where it lies."""


HOST_MEMORIES = ("pinned", "pageable")
"""Words of ``Movement.memories`` for buffers in host memory."""
WITHOUT_PEER_ACCESS = "peer access off"
"""Word of ``Movement.varies`` for copies between GPUs through the host, as requested of a tool."""
HOST_CLOCK = "host clock"
"""Word of ``Movement.varies`` for times by the CPU beside times by the GPU. Suites distinguish both."""


@dataclass(frozen=True)
class Movement:
    """Describe what a result moves, as far as the output says it: enough for a case of its own where no suite has one.

    ``kind``: peer (a GPU and another), to-gpu, to-host, local (within a GPU), host (within host memory), collective,
    message (between two ranks), network (a network card's own test). ``method``: as linkscope names it where it has
    the method (copy-engine, kernel-copy, pointer-chase, mpi, xccl-collective ...), else the library: nixl, ucx, verbs,
    nvshmem, deepep, gloo. ``source``, ``destination``: "gpu:0", "numa:0", "" where not said; ``executor``: the one that
    drives it, "" for the source. ``memories``: of source and destination: device, pinned, pageable, managed or UNKNOWN.
    ``both``: the result is the sum of both directions at once. ``opposed``: it is one direction's while the other is
    busy. ``at_once``: how many such transfers ran at once, the result being of one of them or their sum.
    ``collective``: all-reduce ..., by ``ranks`` on ``hosts``; 0 hosts: of a message of which the output does not say
    whether both ranks were on one. ``varies``: what else tells its series from others of
    the test: "in place", "half", "scope warp". ``counts``: a key of importers/counted.toml where the tool counts other
    bytes than the payload once.
    """

    kind: str
    method: str
    source: str = ""
    destination: str = ""
    executor: str = ""
    memories: tuple[str, str] = (UNKNOWN, UNKNOWN)
    both: bool = False
    opposed: bool = False
    at_once: int = 1
    collective: str = ""
    ranks: int = 0
    hosts: int = 1
    varies: str = ""
    counts: str = "payload"


@dataclass(frozen=True)
class Figure:
    """One figure. ``test``: as suites name it in ``peer`` or ``covers``. ``value`` in ``unit``, GB/s or s.

    ``row`` and ``column``: the devices where it stands in the suite's table; "": any. ``size``: bytes of each flow,
    where the tool says them. ``facts``: what else the case must be (see ``importers/cases.py``). ``parts``: of a sum,
    what each flow adds to it, in the case's order. ``moves``: what it moves, for where no suite has its case.
    ``line``: where it stands, from 1; 0 in JSON.
    """

    test: str
    value: Stats
    unit: str = GBPS
    row: str = ""
    column: str = ""
    size: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Stats, ...] = ()
    notes: tuple[str, ...] = ()
    moves: Movement | None = None
    line: int = 0


@dataclass(frozen=True)
class Topology:
    """Hold what `nvidia-smi topo -m` or `amd-smi topology` says. ``pairs``: how two devices are joined, in the tool's
    word ("NV18", "SYS", "XGMI"), by their ids, "gpu:0" or "nic:mlx5_0", both ways. ``numa``: the node of each GPU,
    where said.
    """

    pairs: Mapping[tuple[str, str], str]
    numa: Mapping[str, int] = field(default_factory=dict)
    vendor: str = "nvidia"


@dataclass(frozen=True)
class NotRun:
    """A test without figures: ``status`` is skipped or failed."""

    test: str
    status: str
    reason: str


@dataclass(frozen=True)
class PeerOutput:
    """All that one file says. ``versions``: of libraries and drivers. ``suites``: the packaged ones that say which
    cases the tool's tests are. ``not_run``: tests that gave none. ``findings``: what a user should know
    of it, one line each. ``read``: the numbers of the lines that the reader understood, or knows to say nothing: what
    looks like a row of a table and is in no reader's ``read`` is counted and named."""

    tool: str
    version: str
    suites: tuple[str, ...]
    figures: tuple[Figure, ...]
    gpus: tuple[Gpu, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    command: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    numa_nodes: int = 1
    read: frozenset[int] = frozenset()
    topology: Topology | None = None

    @property
    def name(self) -> str:
        """Return tool and version, as "nvbandwidth 0.8"."""
        return f"{self.tool} {self.version}".rstrip()

    def own_name(self, test: str) -> str:
        """Return the name of a test without its tool's: rccl-tests has the tests of nccl-tests."""
        return test.removeprefix(f"{self.tool} ").removeprefix("nccl-tests ")


NVLS = {
    "on": f"NVLink SHARP as NCCL chooses (--nvls on) [{NVLS_FREE}]",
    "off": f"no NVLink SHARP (--nvls off) [{NVLS_NONE}]",
}
"""Notes of a result for what the user said about NVLS, as in linkscope's own runs."""


@dataclass(frozen=True)
class Source:
    """A paste's text, for a reader, as the tool printed it (importers/pasted_text.py). ``path`` is for what it says of
    errors. ``processes``: how many took part, where the user says it. ``nvls``: whether NCCL could reduce in the GPU
    switch, "on" or "off", where the user says it."""

    path: Path
    text: str
    processes: int | None = None
    nvls: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", "\n".join(cleaned(self.text)))

    @staticmethod
    def read(path: Path, processes: int | None = None, nvls: str | None = None) -> Source:
        """Return the text of a file, or of standard input for "-". Raises LinkscopeError, one line, for what is no text
        or too large."""
        try:
            if str(path) == "-":
                data = sys.stdin.buffer.read(MOST_FILE + 1)
            elif not stat.S_ISREG(path.stat().st_mode):
                raise LinkscopeError(f"{path} is no file: name what the tool printed")
            else:
                with path.open("rb") as stream:
                    data = stream.read(MOST_FILE + 1)
        except OSError as error:
            raise LinkscopeError(f"cannot read {path}: {error.strerror or error}") from error
        if len(data) > MOST_FILE:
            raise LinkscopeError(f"{path} is larger than {MOST_FILE >> 20} MiB: no tool's output is")
        return Source(path, decoded(data, str(path)), processes, nvls)

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines; line 1 of the paste is the first."""
        return self.text.split("\n")

    def wrong(self, line: int, what: str) -> LinkscopeError:
        """``line`` from 1; 0 where it is of the whole file."""
        place = f"{self.path}, line {line}" if line else str(self.path)
        return LinkscopeError(f"{place}: {' '.join(what.split())[:300]}")

    def csv(self, first: int = 0) -> Iterator[tuple[int, list[str]]]:
        """(number from 1, words) of each line that is not blank, from the ``first`` (from 0) on. Raises
        LinkscopeError."""
        reader = csv.reader(self.lines[first:], skipinitialspace=True)
        while True:
            try:
                words = next(reader, None)
            except csv.Error as error:
                raise self.wrong(first + reader.line_num, f"no CSV: {error}") from error
            if words is None:
                return
            if words:
                yield first + reader.line_num, [word.strip() for word in words]

    def json(self, form: type[Form]) -> Form:
        """The file as JSON of that form. Raises LinkscopeError that names the line or the field."""
        try:
            data = msgspec.json.decode(self.text[self.text.find("{") : self.text.rfind("}") + 1].encode())
        except (ValueError, RecursionError) as error:
            raise self.wrong(0, f"no JSON: {error}") from error
        try:
            return typed(escaped(data), form)
        except ValueError as error:
            raise self.wrong(0, str(error)) from error

    def number(self, word: object, line: int, what: str) -> float:
        """A figure above 0 that ``word`` says. Raises LinkscopeError."""
        value = plain_number(word)
        if value is None or not LEAST < value < LARGEST:
            raise self.wrong(line, f"{what} is {str(word)[:40]!r}, no number above 0")
        return value

    def whole(self, word: object, line: int, what: str, most: int = 1 << 50) -> int:
        """A whole number from 0 to ``most``. Raises LinkscopeError."""
        value = plain_number(word)
        if value is None or value != int(value) or not 0 <= value <= most:
            raise self.wrong(line, f"{what} is {str(word)[:40]!r}, no whole number up to {most}")
        return int(value)


def plain_number(word: object) -> float | None:
    """Return a number as C prints it, or a JSON number; None for anything else, infinity and NaN too, and for what is
    so far from all that tools print that sums of it overflow or vanish.
    """
    if isinstance(word, bool) or not isinstance(word, (int, float, str)):
        return None
    if isinstance(word, str) and re.fullmatch(r"[-+]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][-+]?[0-9]{1,3})?", word) is None:
        return None
    value = float(word)
    return value if value == 0 or _LEAST < abs(value) < _MOST else None


def single(value: float) -> Stats:
    """A figure that says nothing of its spread: n is 1, and there is no interval."""
    return Stats(1, *[value] * 9)


def version_of(source: Source, text: str, line: int, known: Sequence[str], tool: str) -> str:
    """The version as "0.8", of "v0.8"; raises LinkscopeError unless its first parts are one of ``known``."""
    match = re.fullmatch(r"v?(\d{1,4}(?:\.\d{1,4}){0,3})\S{0,40}", text)
    found = match[1] if match else ""
    if not any(found == one or found.startswith(f"{one}.") for one in known):
        between = f"{known[0]} to {known[-1]}" if len(known) > 1 else known[0]
        raise source.wrong(line, f"{tool} {text[:40]!r} is a version that linkscope does not read: it reads {between}")
    return found
