"""nvloom's tables: a test case each, whose name says what is copied. Formats: cli/util.cpp, cli/testcases.cpp.

In a table of pairs the column's GPU is the source; of latencies the row's GPU reads the column's memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from linkscope.importers.matrices import Matrix, head_of
from linkscope.importers.peer_output import GBPS, SECONDS, UNKNOWN, Figure, Gpu, Movement, single
from linkscope.messages.finding import Finding, warning

TOOL = "nvloom"
PLACES = "nvloom prints no hosts: all processes are taken to be of one node"
_RUNNING = re.compile(r"Running (\w{1,120})")
_PROCESS = re.compile(r"Process +(\d{1,3}) \(([^)]{1,200})\): device \d{1,3}: (\S.{0,198}?) \(([0-9a-fA-F:.]{1,20})\)")
_NAME = re.compile(
    r"(?:(bisect|all_to_one|all_from_one|gpu_to_rack|rack_to_rack_(?:uni|bi)dir)_)?"
    r"([a-z]{1,12})_to_([a-z]{1,12})(?:_(unidir|bidir))?_(read|write)_(ce|sm|tma)"
)
_TOTAL = re.compile(r"(Min|Avg|Max|Total) (\w{1,120}) (?:\d{1,12}\.\d{1,3}|N/A) (\S{1,8})")
_PAIR = re.compile(r"(\d{1,3})->(\d{1,3})\s+(\d{1,9}\.\d{1,3})")
_NOTED = re.compile(r"(\d{1,9}\.\d{1,3});\((\d{1,3})-(\d{1,3})\)")
_HEADS = {"NVCC version": "NVCC", "CUDA version": "CUDA", "Driver version": "Driver Version"}
_WORDS = ("git commit:", "Allocation strategy:", "Iteration count:", "ExecutionTime", "Done ")
_UNITS = {"TB/s": 1e3, "GB/s": 1.0, "MB/s": 1e-3, "TiB/s": 2**40 * 1e-9, "GiB/s": 2**30 * 1e-9, "MiB/s": 2**20 * 1e-9}
_SIZES = {"MiB": 1 << 20, "GiB": 1 << 30, "KiB": 1 << 10, "B": 1, "": 1, "bytes": 1}
_METHODS = {"ce": "copy-engine", "sm": "kernel-copy", "tma": "kernel-bulk-copy", "": "pointer-chase"}


def unit_of(line: str) -> float:
    """Return how many GB/s the unit is that a line names; 1 where it names none."""
    return next((scale for unit, scale in _UNITS.items() if re.search(rf"(?<!\w){unit}", line)), 1.0)


def pair(by: str, way: str, source: int, destination: int, memories: tuple[str, ...]) -> Movement:
    """Return a copy between two GPUs' memories; "egm" is host memory near a GPU."""
    kinds = {
        ("device", "device"): "peer",
        ("egm", "device"): "to-gpu",
        ("device", "egm"): "to-host",
        ("egm", "egm"): "host",
    }
    kind = kinds.get((memories[0], memories[1]), "peer")
    ends = [
        f"gpu:{one}" if memory != "egm" else "" for one, memory in zip((source, destination), memories, strict=True)
    ]
    held = [{"egm": "pinned", "device": "device"}.get(memory, UNKNOWN) for memory in memories]
    driver = f"gpu:{source}" if way == "write" else f"gpu:{destination}"
    if kind == "peer" and source == destination:
        kind = "local"
    varies = "" if kind in ("peer", "local") else f"egm gpu:{source if memories[0] == 'egm' else destination}"
    return Movement(kind, _METHODS.get(by, UNKNOWN), ends[0], ends[1], driver, (held[0], held[1]), varies=varies)


@dataclass
class _NvloomTable:
    test: str
    matrix: Matrix
    scale: float = 1.0


@dataclass
class Tables:
    """Hold what was read of the tables."""

    version: str = ""
    test: str = ""
    size: int | None = None
    said: dict[str, str] = field(default_factory=dict)
    gpus: dict[int, Gpu] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    tables: list[_NvloomTable] = field(default_factory=list)
    pairs: list[tuple[str, int, int, int, float]] = field(default_factory=list)

    def take(self, number: int, line: str) -> bool:
        """Take a line; return whether it is nvloom's."""
        text = line.strip()
        name, _, rest = text.partition(": ")
        if match := re.fullmatch(r"nvloom_cli (\d{1,3}(?:\.\d{1,3}){1,2})", text):
            self.version = match[1]
        elif match := _RUNNING.fullmatch(text):
            self.test = match[1]
        elif match := _PROCESS.match(text):
            self.gpus[int(match[1])] = Gpu(match[3], match[4].lower())
            self.hosts[match[2]] = None
        elif name in _HEADS:
            self.said[_HEADS[name]] = rest[:60]
        elif match := re.fullmatch(r"Buffer size: (\d{1,15}) ?([KMG]iB|bytes|B)?", text):
            self.size = int(match[1]) * _SIZES[match[2] or ""]
        elif (match := _TOTAL.fullmatch(text)) and self.tables:
            self.tables[-1].scale = _UNITS.get(match[3], 1.0)
            self.test = self.test or match[2]
            self.tables[-1].test = self.tables[-1].test or match[2]
        elif match := _PAIR.fullmatch(text):
            self.pairs.append((self.test, number, int(match[1]), int(match[2]), float(match[3])))
        elif self.test and "\t" in line and _NOTED.search(line):
            self.pairs += [
                (self.test, number, int(one[2]), int(one[3]), float(one[1])) for one in _NOTED.finditer(line)
            ]
        elif (columns := head_of(text.split())) and "\t" in line and columns[0] == 0:
            self.tables.append(_NvloomTable(self.test, Matrix(number, columns, tall=len(columns) == 1)))
        elif self.test.startswith("gpu_to_rack") and line.startswith("\t") and not _NOTED.search(line):
            racks = list(range(len(text.replace("|", " ").split())))
            self.tables.append(_NvloomTable(self.test, Matrix(number, racks, tall=True)))
        else:
            plain = line.replace("|", " ")
            inside = (
                bool(self.tables) and self.tables[-1].test == self.test and self.tables[-1].matrix.take(number, plain)
            )
            return inside or (bool(self.test or self.version) and (not text or text.startswith(_WORDS)))
        return True

    def figures(self) -> Iterator[Figure]:
        """Yield the results; of racks and of multicast they are no case of linkscope."""
        notes = () if self.hosts else (PLACES,)
        hosts = max(len(self.hosts), 1)
        for table in self.tables:
            for cell in table.matrix.cells():
                found = self._figure(table.test, cell.row, cell.column, cell.value, table.scale, table.matrix)
                if found is not None:
                    moves = found.moves and replace(found.moves, hosts=hosts)
                    yield replace(found, notes=notes, moves=moves, line=cell.line)
        for test, line, source, destination, value in self.pairs:
            name = _NAME.fullmatch(test)
            if name is not None and value > 0:
                moves = pair(name[6], name[5], source, destination, (name[2], name[3]))
                at_once = sum(one[0] == test for one in self.pairs) if name[1] == "bisect" else 1
                moves = replace(moves, both=name[4] == "bidir", at_once=at_once, hosts=hosts)
                ends = f"gpu:{source}", f"gpu:{destination}"
                yield Figure(
                    f"{TOOL} {test}", single(value), GBPS, *ends, self.size, notes=notes, moves=moves, line=line
                )

    def _figure(self, test: str, row: int, column: int, value: float, scale: float, matrix: Matrix) -> Figure | None:
        if test.startswith("latency_"):
            moves = pair("", "", column, row, (test[8:], test[8:]))
            ends = f"gpu:{row}", f"gpu:{column}"
            return Figure(f"{TOOL} latency", single(value * 1e-9), SECONDS, *ends, moves=moves)
        name = _NAME.fullmatch(test)
        rate = single(value * scale)
        if name is None or (name[1] or "").startswith(("rack", "gpu_to_rack", "bisect")):
            return Figure(f"{TOOL} {test}", rate, GBPS, f"row {row}", f"column {column}", self.size)
        if name[1]:
            place, into = f"gpu:{row}", name[1] == "all_to_one"
            moves = pair(name[6], "write", row, row, (name[2], name[3]))
            ends = ("", place) if into else (place, "")
            moves = replace(moves, kind="peer", source=ends[0], destination=ends[1], executor="")
            moves = replace(moves, at_once=max(len(matrix.rows) - 1, 1))
            return Figure(f"{TOOL} {test}", rate, GBPS, "", place, self.size, moves=moves)
        both, pulled = name[4] == "bidir", name[5] == "read"
        moves = replace(pair(name[6], name[5], column, row, (name[2], name[3])), both=both)
        ends = (f"gpu:{row}", f"gpu:{column}") if pulled and not both else (f"gpu:{column}", f"gpu:{row}")
        words = f"{name[6]} {name[5]}" + (" both ways" if both else "")
        words += "" if (name[2], name[3]) == ("device", "device") else f" {name[2]} {name[3]}"
        return Figure(f"{TOOL} {words}", rate, GBPS, *ends, self.size, moves=moves)

    def findings(self) -> Iterator[Finding]:
        """Yield which tables are cut."""
        for table in self.tables:
            pairs = "_to_" in table.test and not re.match(r"bisect|all_|gpu_to|rack", table.test)
            missing = table.matrix.missing() if pairs or table.test.startswith("latency_") else ""
            if missing:
                yield warning("import.cut", test=f"{TOOL} {table.test}", missing=missing)
