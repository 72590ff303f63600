"""Topologies: how devices are joined, as `nvidia-smi topo -m`, `amd-smi topology` and `rocm-smi --showtopo` print it.

nvidia-smi: a matrix of words, first of GPUs, then of network cards: by name in old drivers, NIC0 ... with a legend in
newer ones; then the CPUs and the NUMA node that are near. A matrix without its head is read by position: each row has
its X in its own column. AMD's tools print a table for each property: weights, hops, types of links, access.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from linkscope.importers.peer_output import MOST_GPUS, Gpu, PeerOutput, Source, Topology
from linkscope.messages.finding import Finding, note, warning

TOOL, AMD_TOOL = "nvidia-smi", "amd-smi"
SUMMARY = "nvidia-smi topo -m, amd-smi topology, rocm-smi"
_LINK = r"(?:X|NV\d{1,3}|SYS|SOC|NODE|PHB|PXB|PIX|PSB|C2C)"
_BDF = r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d"
_AMD_LINK = r"(?:SELF|0|15|30|40|XGMI|PCIE)"
_ROW = re.compile(
    rf"^[ \t|]*(?:GPU\d{{1,3}}[ \t|]+{_LINK}[ \t|]+{_LINK}\b"
    rf"|(?:GPU\d{{1,3}}|{_BDF})[ \t|]+{_AMD_LINK}[ \t|]+{_AMD_LINK}\b"
    rf"|GPU\d{{1,3}}[ \t]+(?:X[ \t]+(?:OK|[CGT]?NS|DR)|(?:OK|[CGT]?NS|DR)[ \t]+(?:X|OK|[CGT]?NS|DR))\b)",
    re.MULTILINE,
)
_WORD = re.compile(_LINK)
_DEVICE = re.compile(rf"GPU\d{{1,3}}|NIC\d{{1,3}}|[a-z][a-z0-9_]{{2,30}}|{_BDF}")
_GPU = re.compile(r"GPU(\d{1,3})")
_ADDRESS = re.compile(_BDF)
_LEGEND = re.compile(
    r"\s*(?:(?:NIC )?Legend:"
    r"|(?:X|SYS|SOC|NODE|PHB|PXB|PIX|PSB|C2C|NV#|SELF|ENABLED / DISABLED|OK|CNS|GNS|TNS|NS|DR|U) {1,6}= .*)"
)
_NIC = re.compile(r"\s*(NIC\d{1,3}): {0,8}([A-Za-z0-9_.-]{1,40})")
_TITLE = re.compile(r"=* {0,4}([A-Z][A-Za-z -]{3,30}) between two GPUs *=*|\s*([A-Z][A-Z -]{3,30}) TABLE:")
_NUMA = re.compile(r"GPU\[(\d{1,3})\]\s{0,8}: \(Topology\) Numa (Node|Affinity): (-?\d{1,4})")
_ACCESS = re.compile(r"OK|CNS|GNS|TNS|NS|DR|U|X")
"""Words of `nvidia-smi topo -p2p`, which says between which GPUs peer access works."""
_SELF = ("X", "SELF", "0")
_NO_ACCESS = ("DISABLED", "False", "CNS", "GNS", "TNS", "NS", "DR")
_XGMI_HOP, _PCIE_WEIGHT = 15, 40
"""Weights that AMD's driver gives a hop by xGMI, and a way by PCIe."""


def recognises(text: str) -> bool:
    """Return whether a text has two rows of such a matrix."""
    return len([match for match, _ in zip(_ROW.finditer(text), range(2), strict=False)]) == 2


@dataclass
class _JoinTable:
    """A table as printed. ``property``: what an AMD table is of, "" for NVIDIA's. ``head``: its columns, where they
    are there."""

    property: str = ""
    head: tuple[str, ...] = ()
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def columns(self) -> list[str]:
        """Return the names of the columns: of the head, or where rows have their X."""
        places = {cells.index(own): name for name, cells in self.rows.items() for own in _SELF if own in cells}
        if self.head and all(place < len(self.head) and self.head[place] == name for place, name in places.items()):
            return list(self.head)
        width = min(max(map(len, self.rows.values())), 2 * MOST_GPUS)
        gpus = self._gpus(places, width)
        return [places.get(at, f"GPU{at}" if at < gpus else f"NIC{at - gpus}") for at in range(width)]

    def _gpus(self, places: dict[int, str], width: int) -> int:
        """Return how many of the columns are GPUs, where no head says it: only GPUs have NVLinks."""
        if self.property:
            return width
        joined = [at for cells in self.rows.values() for at, word in enumerate(cells) if word.startswith("NV")]
        named = [int(match[1]) for name in self.rows if (match := _GPU.fullmatch(name))]
        cards = [at - int(name[3:]) for at, name in places.items() if name.startswith("NIC")]
        return cards[0] if cards else 1 + max([*joined, *named], default=0)


def read(source: Source) -> PeerOutput:
    """Return how devices are joined; rows that are cut away are named. Raises LinkscopeError."""
    matrices, cards, numa, taken = [_JoinTable()], dict[str, str](), dict[str, int](), set[int]()
    access = _JoinTable("access")
    for number, line in enumerate(source.lines, 1):
        words = line.replace("|", " ").split()
        if match := _TITLE.fullmatch(line.rstrip()):
            matrices.append(_JoinTable((match[1] or match[2]).lower()))
        elif match := _NIC.fullmatch(line):
            cards[match[1]] = match[2]
        elif match := _NUMA.fullmatch(line.rstrip()):
            numa |= {f"gpu:{match[1]}": int(match[3])} if match[2] == "Node" and match[3] != "-1" else {}
        elif head := _head(words):
            if matrices[-1].rows:
                matrices.append(_JoinTable())
            matrices[-1].head = head
        elif _is_of_access(words):
            if not access.rows:
                access.head = matrices.pop().head if matrices[-1].head and not matrices[-1].rows else ()
                matrices = matrices or [_JoinTable()]
            access.rows[words[0]] = tuple(words[1:])
        elif row := _row(words, matrices[-1]):
            if matrices[-1].rows.get(words[0], row) != row:
                matrices.append(_JoinTable(head=matrices[-1].head))
            matrices[-1].rows[words[0]] = row
            numa |= _near(words, len(row))
        elif not _LEGEND.fullmatch(line):
            continue
        taken.add(number)
    found = [one for one in matrices if one.rows]
    if not found and not access.rows:
        raise source.wrong(0, "no row says how devices are joined")
    plain = [one for one in found if not one.property and not _of_amd(one)]
    if found and not plain:
        return _amd(found, numa, taken)
    apart = [
        f"gpu:{row[3:]}>gpu:{column[3:]}"
        for row, column, word in (_cells(access, access.columns()) if access.rows else ())
        if word in _NO_ACCESS
    ]
    told = (warning("links.no-access", pairs=apart),) if apart else ()
    if not plain:
        return PeerOutput(TOOL, "", (), (), (Gpu(),) * len(access.rows), findings=told, read=frozenset(taken))
    joined = _joined(plain, cards, numa, taken)
    return replace(joined, findings=(*joined.findings, *told))


def _is_of_access(words: Sequence[str]) -> bool:
    """Return whether words are a row of `nvidia-smi topo -p2p`."""
    cells = words[1:]
    plain = len(words) > 2 and _GPU.fullmatch(words[0]) is not None and all(map(_ACCESS.fullmatch, cells))
    return plain and any(word != "X" for word in cells)


def _head(words: Sequence[str]) -> tuple[str, ...]:
    """Return the devices that a head names, before what it says of CPUs; () for any other line."""
    names = tuple(takewhile(lambda word: word != "CPU", words))
    of_devices = names and (_GPU.fullmatch(names[0]) or _ADDRESS.fullmatch(names[0]))
    alone = len(names) == 1 and len(words) == 1
    return names if of_devices and not alone and all(map(_DEVICE.fullmatch, names)) else ()


def _row(words: Sequence[str], matrix: _JoinTable) -> tuple[str, ...]:
    """Return the cells of a row, () for a line that is none."""
    if len(words) < 2 or not _DEVICE.fullmatch(words[0]):
        return ()
    cells = tuple(takewhile(_WORD.fullmatch, words[1:]))
    if "X" in cells or (cells and words[0] in matrix.head):
        return cells
    if not _GPU.fullmatch(words[0]) and not _ADDRESS.fullmatch(words[0]):
        return ()
    of_amd = matrix.property or not {"XGMI", "PCIE"}.isdisjoint(words)
    return tuple(words[1 : 1 + MOST_GPUS]) if of_amd else ()


def _near(words: Sequence[str], cells: int) -> dict[str, int]:
    """Return the NUMA node that a row of a GPU ends with, behind its CPUs."""
    gpu, rest = _GPU.fullmatch(words[0]), words[1 + cells :]
    near = (
        gpu is not None
        and len(rest) > 1
        and re.fullmatch(r"[\d,-]{1,2000}", rest[0])
        and re.fullmatch(r"\d{1,2}", rest[1])
    )
    return {f"gpu:{gpu[1]}": int(rest[1])} if gpu and near else {}


def _joined(matrices: Sequence[_JoinTable], cards: dict[str, str], numa: dict[str, int], taken: set[int]) -> PeerOutput:
    """Return what nvidia-smi says: of several nodes, the first."""
    first = matrices[0]
    columns = first.columns()
    others = sum(1 for one in matrices[1:] if any(first.rows.get(name) != cells for name, cells in one.rows.items()))

    def device(name: str) -> str:
        gpu = _GPU.fullmatch(name)
        return f"gpu:{gpu[1]}" if gpu else f"nic:{cards.get(name, name)}"

    pairs = _pairs((device(name), device(column), word) for name, column, word in _cells(first, columns))
    gpus = [name for name in columns if _GPU.fullmatch(name)]
    findings: list[Finding] = []
    if cut := [name for name in gpus if name not in first.rows]:
        findings.append(note("import.cut", test=f"{TOOL} topo -m", missing=", ".join(cut)))
    if others:
        findings.append(warning("links.several", tool=TOOL, topologies=1 + others))
    return PeerOutput(
        *(TOOL, "", (), (), (Gpu(),) * len(gpus)),
        findings=tuple(findings),
        numa_nodes=1 + max(numa.values(), default=0),
        read=frozenset(taken),
        topology=Topology(pairs, numa),
    )


def _amd(matrices: Sequence[_JoinTable], numa: dict[str, int], taken: set[int]) -> PeerOutput:
    """Return what AMD's tools say: the types of links, or what weights say of them."""
    tables = {one.property: one for one in reversed(matrices)}
    types = tables.get("link type") or tables.get("") or tables.get("weight")
    names = (types or matrices[0]).columns()
    indices = {name: f"gpu:{at}" for at, name in enumerate(names)}
    pairs = _pairs(
        (indices.get(name, name), indices[column], _type(word))
        for name, column, word in _cells(types or _JoinTable(), names)
        if _type(word)
    )
    apart = [
        f"{indices[name]}>{indices[column]}"
        for property in ("access", "link accessibility")
        for name, column, word in _cells(tables.get(property, _JoinTable()), names)
        if word in _NO_ACCESS and name in indices and name != column
    ]
    return PeerOutput(
        *(AMD_TOOL, "", (), ()),
        tuple(Gpu("", name[:-2] if _ADDRESS.fullmatch(name) else None) for name in names),
        findings=(warning("links.no-access", pairs=apart),) if apart else (),
        numa_nodes=1 + max(numa.values(), default=0),
        read=frozenset(taken),
        topology=Topology(pairs, numa, "amd"),
    )


def _of_amd(matrix: _JoinTable) -> bool:
    return any(word.upper() in ("XGMI", "PCIE") for cells in matrix.rows.values() for word in cells)


def _type(word: str) -> str:
    """Return a link's type, of its name or its weight; "" for what says neither."""
    if word.upper() in ("XGMI", "PCIE"):
        return word.upper()
    weight = int(word[:6]) if word.isdecimal() else 0
    return "" if not weight else "PCIE" if weight >= _PCIE_WEIGHT else "XGMI" if weight % _XGMI_HOP == 0 else ""


def _cells(matrix: _JoinTable, columns: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (row, column, word) of every cell but a device's with itself."""
    for name, cells in matrix.rows.items():
        yield from ((name, column, word) for column, word in zip(columns, cells, strict=False) if column != name)


def _pairs(cells: Iterator[tuple[str, str, str]]) -> dict[tuple[str, str], str]:
    """Return the cells both ways: where a row is cut away, its column tells."""
    told = {(first, second): word for first, second, word in cells}
    return {**{(second, first): word for (first, second), word in told.items()}, **told}
