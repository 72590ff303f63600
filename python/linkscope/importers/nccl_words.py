"""NCCL's and RCCL's own words (NCCL_DEBUG=INFO): transport of each pair, channels, algorithms, NVLS, tuner, network.

Formats: INFO and WARN calls in src of NCCL 2.4 to 2.32; RCCL prints the same and a little behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from linkscope.importers.peer_output import PeerOutput, Source
from linkscope.messages.finding import Finding, note

TOOL = "NCCL"
SUMMARY = "log of NCCL 2.4 and later, RCCL (NCCL_DEBUG=INFO)"
_LINE = re.compile(r"NCCL (INFO|WARN) (.{1,400})")
_VERSION = re.compile(r"\b(NCCL|RCCL) version ?:? ?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)")
_VIA = re.compile(
    r"(?:Channel|Ring) \d{1,3}(?:/\d{1,3})? : (\d{1,6})(?:\[\w{1,16}\])? -> (\d{1,6})(?:\[\w{1,16}\])? "
    r"(?:\[(?:send|receive)\] )?via (.{3,80})"
)
_ALGORITHM = re.compile(r"(\w{1,24}: )?(\d{1,18}) Bytes -> Algo (\w{1,16}) proto (\w{1,16})")
_CHANNELS = re.compile(r"(\d{1,4}) coll channels,(?:.{0,40}?(\d{1,4}) nvls channels)?")
_RANKS = re.compile(r"\brank \d{1,6} n[rR]anks (\d{1,6})(?: nNodes (\d{1,6}))?")
_SET = re.compile(r"((?:NCCL|RCCL)_[A-Z0-9_]{1,60}) set by environment(?: to (\S{1,60}))?")
_TUNER = re.compile(r"TUNER/Plugin: Using (?:tuner plugin )?(\w[\w .-]{0,39}?)(?: \(v\d{1,2}\))?\.?$")
_NETWORK = re.compile(r"Using network (\w[\w .-]{0,39})$")
_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
_PROTOCOLS = ("LL", "LL128", "SIMPLE")
"""Protocols in NCCL's order, for versions that print numbers (to 2.26)."""
_TABLES = re.compile(
    r"^(?:# (?:nThread|nccl-tests|Collective test)|#? {0,16}size {0,20}(?:\(B\)|count)|mype: \d"
    r"| {0,16}\d{1,18} {1,16}\d{1,18} {1,16}[a-z]{3,8}\d{0,2} )",
    re.MULTILINE,
)
"""Beginnings of tables whose readers take the library's words along."""
_HOST = re.compile(r"((?=[\d.-]{0,63}[A-Za-z])[A-Za-z0-9][\w.-]{1,63}):\d{1,9}:\d{1,9} ")
_MOST_WARNINGS = 3
_MOST_HEAD = 200
_MOST_TEXT = 100
_HIDDEN = re.compile(
    r"(?:\d{1,3}\.){3}\d{1,3}(?:[:<]\d{1,5}>?)?|\b(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\b|\S{1,80}<\d{1,5}>"
    r"|(?<![\w:])(?:[0-9a-fA-F]{1,4}:){1,7}:[0-9a-fA-F:]{0,32}(?:%\w{1,16})?"
    r"|(?<![\w.-])(?:[A-Za-z][\w-]{0,62}\.){2,6}[A-Za-z]{2,24}\b"
    r"|0x[0-9a-fA-F]{4,16}|\bpid[ =:]{1,2}\d{1,9}|(?<![\w.])/(?:[\w.+-]{1,80}/){1,20}[\w.+-]{0,80}"
    r"|\b[\w.-]{1,64}@[\w.-]{1,64}"
)


@dataclass
class LibraryWords:
    """Hold what the library printed about itself. ``pairs``: by transport ("P2P/CUMEM", "NET/IB/GDRDMA"), the pairs of
    ranks. ``algorithms``: by name ("RING/LL"), the least and the most bytes. ``nvls``: used, available, off or "" where
    it does not say. ``settings``: variables of the environment, with the value where it is a number or a name of
    NCCL's. ``read``: the numbers of its lines.
    """

    library: str = "NCCL"
    versions: dict[str, None] = field(default_factory=dict)
    pairs: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    channels: int = 0
    nvls_channels: int = 0
    nvls: str = ""
    network: str = ""
    tuner: str = ""
    ranks: int = 0
    hosts: int = 0
    algorithms: dict[str, tuple[int, int]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, None] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)

    @property
    def version(self) -> str:
        """Return the version, or all of them; "" where none is printed."""
        return ", ".join(self.versions)

    @property
    def transports(self) -> dict[str, int]:
        """Return how many pairs of ranks each transport joins."""
        return {name: len(pairs) for name, pairs in self.pairs.items()}

    @property
    def nvls_switch(self) -> str | None:
        """Return "on" or "off" as `--nvls` says it, None where the library does not say it."""
        return {"used": "on", "available": "on", "off": "off"}.get(self.nvls)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return one note with all of it, none where the library printed nothing but its version."""
        words = list(self._words())
        if not words:
            return ()
        facts = {
            **{"library": self.library, "version": self.version or "of unknown version", "words": words},
            **{"transports": self.transports, "channels": self.channels, "nvls": self.nvls, "network": self.network},
            **{"tuner": self.tuner, "algorithms": {name: list(ends) for name, ends in self.algorithms.items()}},
            **{"settings": self.settings, "warnings": list(self.warnings), "ranks": self.ranks, "hosts": self.hosts},
        }
        return (note("import.library-words", **facts),)

    def _words(self) -> Iterable[str]:
        yield from (f"{name} ({count})" for name, count in self.transports.items())
        if self.channels:
            yield f"{self.channels} channels"
        if self.nvls:
            yield f"NVLS {self.nvls}"
        yield from self.algorithms
        yield from (f"{kind} {name}" for kind, name in (("network", self.network), ("tuner", self.tuner)) if name)
        yield from (f"{name}={value}" if value else name for name, value in self.settings.items())
        yield from (f"WARN {text}" for text in self.warnings)


def recognises(text: str) -> bool:
    """Return whether a text holds lines of the library's log and no table, whose reader takes them along."""
    return re.search(r"NCCL (?:INFO|WARN) ", text) is not None and _TABLES.search(text) is None


def read(source: Source) -> PeerOutput:
    """Return the library's words as a finding; there are no results. Raises LinkscopeError where it said nothing."""
    said = words(source)
    if not said.findings:
        raise source.wrong(0, "no line of NCCL's log names a path, an algorithm or a setting")
    versions = {said.library: said.version} if said.version else {}
    return PeerOutput(
        said.library, said.version, (), (), versions=versions, findings=said.findings, read=frozenset(said.read)
    )


def words(source: Source) -> LibraryWords:
    """Return what NCCL or RCCL says in a paste, also between a tool's lines."""
    said, hosts = LibraryWords(), set()
    for number, line in enumerate(source.lines, 1):
        if "CCL version" in line and (match := _VERSION.search(line)):
            said.library, said.versions[match[2]] = match[1], None
            said.read.add(number)
        if "NCCL " in line and (match := _LINE.search(line)):
            said.read.add(number)
            hosts.update(_HOST.findall(line[: match.start()][-_MOST_HEAD:]))
            _take(said, match[1], match[2])
    said.warnings = {scrubbed(text, hosts): None for text in said.warnings}
    if said.pairs and not said.network:
        said.network = next((name.split("/")[1] for name in said.pairs if name.startswith("NET/")), "")
    return said


def _take(said: LibraryWords, level: str, text: str) -> None:
    if level == "WARN":
        if len(said.warnings) < _MOST_WARNINGS:
            said.warnings[text] = None
    elif match := _VIA.search(text):
        if name := _transport(match[3]):
            first, second = sorted((match[1], match[2]))
            said.pairs.setdefault(name, set()).add((first, second))
    elif match := _ALGORITHM.search(text):
        name = f"{_named(match[3], _ALGORITHMS)}/{_named(match[4], _PROTOCOLS)}"
        least, most = said.algorithms.get(name, (1 << 62, 0))
        said.algorithms[name] = min(least, int(match[2])), max(most, int(match[2]))
        if name.startswith("NVLS"):
            said.nvls = "used"
    elif match := _CHANNELS.search(text):
        said.channels = max(said.channels, int(match[1]))
        said.nvls_channels = max(said.nvls_channels, int(match[2] or 0))
        said.nvls = said.nvls or ("available" if said.nvls_channels else "off" if match[2] else "")
    elif "NVLS multicast support is" in text or text.startswith("Connected NVLS tree"):
        said.nvls = said.nvls if said.nvls == "used" else "off" if "not available" in text else "available"
    elif match := _SET.search(text):
        plain = re.fullmatch(r"(-?\d{1,12}|[A-Z][A-Z0-9_,^]{0,30})\.?", match[2] or "")
        said.settings[match[1]] = plain[1] if plain and "ID" not in match[1] else ""
        if match[1] == "NCCL_NVLS_ENABLE" and said.settings[match[1]] == "0":
            said.nvls = "off"
    elif match := _TUNER.search(text):
        said.tuner = match[1]
    elif match := _NETWORK.search(text):
        said.network = match[1]
    elif match := _RANKS.search(text):
        said.ranks, said.hosts = max(said.ranks, int(match[1])), max(said.hosts, int(match[2] or 0))


def _transport(via: str) -> str:
    """Return "NET/IB/GDRDMA" of "NET/IB/0(3)/GDRDMA/Shared", "SHM/direct" of what older versions call it; "" where
    another line has been printed into it."""
    if via.startswith("direct shared memory"):
        return "SHM/direct"
    parts = via.partition(" comm ")[0].strip().split("/")
    kept = [part for part in parts if not re.match(r"\d", part) and part != "Shared"]
    name = "/".join(kept[:4])
    return name if re.fullmatch(r"(?:P2P|SHM|NET|COLLNET)(?:/[A-Za-z][\w ().-]{1,30}){1,3}", name) else ""


def _named(word: str, names: tuple[str, ...]) -> str:
    return names[int(word)] if word.isdigit() and int(word) < len(names) else word.upper()


def scrubbed(text: str, hosts: Iterable[str] = ()) -> str:
    """Return a printed error without hosts, addresses, pointers, processes and paths, of at most 100 characters. Hosts
    whose names differ from one of ``hosts`` in their number are its peers."""
    plain = _HIDDEN.sub("...", text)
    for host in sorted(hosts, key=len, reverse=True):
        plain = plain.replace(host, "...") if len(host) > 1 else plain
        short = host.partition(".")[0]
        kind = short.rstrip("0123456789-")
        if len(kind) > 1 and kind != short:
            plain = re.sub(rf"(?<![\w.-]){re.escape(kind)}[\d-][\w.-]{{0,80}}", "...", plain)
    return " ".join(plain.split())[:_MOST_TEXT].strip(" /")
