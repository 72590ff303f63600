"""Line figures: the lines of a part of a large run file as columns, a line for every figure of every replicate."""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, BinaryIO, TypeAlias

import polars

from linkscope.analysis.by_flow import apart
from linkscope.analysis.cell import moves
from linkscope.analysis.collective import Collective
from linkscope.analysis.figures import SCHEMA, of_case, place
from linkscope.analysis.headline import asked, headline, rates_together
from linkscope.analysis.peak import peak
from linkscope.machine.paths import Paths
from linkscope.results.figure_class import LARGE, figure_class
from linkscope.results.interval import stats_of
from linkscope.results.records import checked_row, checked_state, decoded, may_control
from linkscope.results.row import Row, Stats
from linkscope.results.run_file import MOST_LINE
from linkscope.results.run_line import LINES, SAMPLES, LineSamples, LineStats, RunLine, plain, taken_apart
from linkscope.results.run_stream import RunStream

Json = dict[str, Any]

STATUSES = {"ok": 0, "skipped": 1, "failed": 2}
BOUNDS = ("gbps", "gbps_low", "gbps_high", "seconds", "seconds_low", "seconds_high")
_BLOCK = 4 << 20
"""Bytes read at once."""
_CHUNK = 20_000
"""Lines that become columns at once."""
_FEW_SAMPLES = 20
"""Of fewer the extremes count in place of the 5th and 95th percentile."""
_LINES: dict[str, Any] = {
    **{"line": polars.UInt32, "at": polars.Int64, "case": polars.UInt32, "replicate": polars.Int64},
    **{"status": polars.UInt8, "reason": polars.String, "left_out": polars.Boolean},
    "notes": polars.List(polars.String),
}
_CELLS: dict[str, Any] = {
    **{"cell": polars.UInt32, "case": polars.UInt32, "figure_number": polars.UInt16, "part": polars.UInt32},
    **{"place": polars.String, "bytes": polars.Int64, "class": polars.String},
}
_FLOWS: dict[str, Any] = {
    "line": polars.UInt32,
    "flow": polars.UInt16,
    "below": polars.Float64,
    "above": polars.Float64,
}
_VALUES: dict[str, Any] = {
    **{"line": polars.UInt32, "cell": polars.UInt32, "rate": polars.Boolean, "n": polars.Int64},
    **dict.fromkeys(BOUNDS, polars.Float64),
}
_VARYING = ("id", "bytes", "place", "class")
PART_COLUMNS = tuple(
    name
    for name in SCHEMA
    if name not in (*_VARYING, *BOUNDS, *("status", "reason", "left_out", "n", "unit", "replicates", "noise"))
    and name not in ("replicate_values", "of_samples", "peak_gbps", "of_peak", "bound_by", "notes")
)
_NONE = (None, None, None)
_NOTHING = (None, None, *_NONE, *_NONE)


@dataclass(frozen=True)
class LineFigures:
    """``ids`` has a line for each case. ``lines``: a line for every row's line, ``at`` where it begins in the file.
    ``cells``: one for every figure of a case, with ``part``, its line in ``parts``: what all cases of its shape have in
    common, and ``first``, the flow it is of. ``values``: for every line and cell the figure's bounds and those of that
    flow's time. ``flows``: how far the samples of each measured flow of a line go, in seconds. ``states`` are the state
    records."""

    ids: polars.DataFrame
    lines: polars.DataFrame
    cells: polars.DataFrame
    values: polars.DataFrame
    flows: polars.DataFrame
    parts: polars.DataFrame
    states: tuple[Json, ...]


@dataclass(slots=True)
class _Part:
    """One figure of a shape: ``first`` is the flow it is of, ``sized`` the one whose bytes it moves, if it does."""

    number: int
    index: int
    figure: str
    first: int
    sized: int | None
    placed: int
    factor: float
    peaked: bool = False


@dataclass(slots=True)
class _Shape:
    """What cases that differ in size and place alone have in common; ``case`` is one of them."""

    case: Json
    measured: tuple[int, ...]
    parts: tuple[_Part, ...]
    classes: dict[tuple[bool, ...], str] = field(default_factory=dict)


_Known: TypeAlias = tuple[int, int, _Shape, tuple[int, ...]]
"""A case: its number, that of its first cell, its shape, and the bytes of its flows."""


def line_figures(stream: RunStream, start: int, stop: int) -> LineFigures:
    """Of the lines that begin from ``start`` to before ``stop``, bytes of the file.

    Raises LinkscopeError where one is no line of a run file.
    """
    reader = _Reader(stream)
    with _without_collection(), stream.path.open("rb") as file:
        for at, block in _blocks(file, max(start, stream.first), min(stop, stream.size)):
            reader.take(at, block)
    return reader.figures()


@contextmanager
def _without_collection() -> Iterator[None]:
    """A third of the time would go into looking for cycles among millions of objects that have none."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _blocks(file: BinaryIO, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """(Where it begins, whole lines): all that begin from ``start`` to before ``stop``."""
    file.seek(start - 1)
    at = start - 1 + len(file.readline(MOST_LINE))  # a header's or another part's line ends there
    while at < stop:
        block = file.read(min(_BLOCK, stop - at))
        if not block.endswith(b"\n"):
            block += file.readline(MOST_LINE)
        yield at, block
        at += len(block)


class _Reader:
    """Of one part of a file."""

    def __init__(self, stream: RunStream) -> None:
        self._stream = stream
        self._paths = Paths(stream.node)
        self._known: dict[Any, _Known] = {}
        self._shapes: dict[Hashable, _Shape] = {}
        self._parts: list[Json] = []
        self._ids: list[str] = []
        self._states: list[Json] = []
        self._cells, self._lines = _Columns(_CELLS), _Columns(_LINES)
        self._values, self._flows = _Columns(_VALUES), _Columns(_FLOWS)
        self._add_line, self._add_value, self._add_flow = self._lines.add, self._values.add, self._flows.add
        self._count = self._cell = self._turned = 0

    def take(self, at: int, block: bytes) -> None:
        """Whole lines of the file, the first of which begins at ``at``. Raises LinkscopeError where one is no line."""
        texts = [text + b"\n" for text in block.removesuffix(b"\n").split(b"\n")]
        places = list(accumulate(map(len, texts), initial=at))[:-1]
        if may_control(block):
            texts = [self._tried(plain, text, place) for text, place in zip(texts, places, strict=True)]
        try:
            lines = LINES.decode_lines(block if not may_control(block) else b"".join(texts))
        except (ValueError, RecursionError):
            lines = [self._tried(LINES.decode, text, place) for text, place in zip(texts, places, strict=True)]
        if len(lines) != len(texts):
            kept = [i for i, text in enumerate(texts) if not text.isspace()]
            texts, places = [texts[i] for i in kept], [places[i] for i in kept]
        for line, text, place_ in zip(lines, texts, places, strict=True):
            try:
                self._take(line, text, place_)
            except (ValueError, RecursionError, TypeError, KeyError) as error:
                raise self._stream.damage(place_) from error
        if self._count - self._turned > _CHUNK:
            self._turn()

    def _tried(self, read: Callable[[bytes], Any], text: bytes, at: int) -> Any:
        try:
            return read(text)
        except (ValueError, RecursionError) as error:
            raise self._stream.damage(at) from error

    def _take(self, line: RunLine, text: bytes, at: int) -> None:
        if line.record != "row":
            self._take_other(line.record, text)
            return
        key = (line.id, line.hosts) if line.hosts else line.id
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._learn(line)
        case, cell, shape, sizes = known
        number = self._count
        self._count += 1
        status = STATUSES[line.status]
        notes = [note for flow in line.flows for note in flow.notes] or None
        self._add_line((number, at, case, line.replicate, status, line.reason, line.left_out, notes))
        if status:
            return
        if len(line.flows) not in (len(sizes), len(shape.measured) if line.origin else len(sizes)):
            raise ValueError("another number of flows")
        for part in shape.parts:
            outcome = self._outcome(shape, part, sizes, line, text)
            if outcome is not None:
                if outcome[0] and not part.peaked:
                    self._find_peaks(shape, text)
                self._add_value((number, cell, *outcome))
            cell += 1
        for flow in shape.measured:
            times = line.flows[flow].seconds
            few = times.n < _FEW_SAMPLES
            self._add_flow((number, flow, times.min if few else times.p5, times.max if few else times.p95))

    def figures(self) -> LineFigures:
        """All that was taken."""
        self._turn()
        names = (*PART_COLUMNS, "peak_gbps", "bound_by")
        schema = {"part": polars.UInt32, "first": polars.UInt16, **{name: SCHEMA[name] for name in names}}
        return LineFigures(
            polars.DataFrame({"id": self._ids}, schema={"id": polars.String}).with_row_index("case"),
            self._lines.frame(),
            self._cells.frame(),
            self._values.frame(),
            self._flows.frame(),
            polars.DataFrame(self._parts, schema=schema, orient="row"),
            tuple(self._states),
        )

    def _turn(self) -> None:
        """Turns what was taken since into columns. Raises LinkscopeError where a median lies outside its interval."""
        self._turned = self._count
        for columns in (self._cells, self._flows):
            columns.turn()
        values, lines = self._values.turn(), self._lines.turn()
        outside = [~polars.col(middle).is_between(f"{middle}_low", f"{middle}_high") for middle in ("gbps", "seconds")]
        bad = values.filter(polars.any_horizontal(outside))
        if len(bad):
            raise self._stream.damage(lines.filter(polars.col("line") == bad["line"][0])["at"][0])

    def _take_other(self, kind: str, text: bytes) -> None:
        if kind != "state":
            raise ValueError("unknown record")
        record = decoded(text) or {}
        checked_state(record)
        self._states.append(record)

    def _learn(self, line: RunLine) -> _Known:
        text = bytes(line.case)
        text_shape, values = taken_apart(text)
        if values.id != line.id:
            raise ValueError("another case")
        key = (text_shape, line.modelled, line.hosts, *sorted((line.origin or {}).items()))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = self._shape(line, text)
        sizes = values.sizes
        of_class = self._class(shape, sizes)
        places = [place(*one) for one in values.places]
        case, first = len(self._ids), self._cell
        self._ids.append(line.id)
        for index, part in enumerate(shape.parts):
            size = 0 if part.sized is None else sizes[part.sized]
            self._cells.add((first + index, case, index, part.number, places[part.placed], size, of_class))
        self._cell += len(shape.parts)
        return case, first, shape, sizes

    def _class(self, shape: _Shape, sizes: Sequence[int]) -> str:
        large = tuple(size >= LARGE for size in sizes)
        found = shape.classes.get(large)
        if found is None:
            flows = [flow | {"bytes": size} for flow, size in zip(shape.case["flows"], sizes, strict=True)]
            found = shape.classes[large] = figure_class(shape.case | {"flows": flows}).key
        return found

    def _shape(self, line: RunLine, text: bytes) -> _Shape:
        case = decoded(text)
        if case is None:
            raise ValueError("no case")
        record = {"id": line.id, "status": "skipped", "modelled": line.modelled, "case": case}
        record |= {"origin": line.origin} if line.origin else {}
        checked_row(record)
        row = Row.from_json({**record, "hosts": list(line.hosts)})
        flows = case["flows"]
        measured = tuple(i for i, flow in enumerate(flows) if flow.get("role", "measured") == "measured")
        cells = max(len(row.labels.get("cells", ())), 1)
        parts = []
        for index, part in enumerate(apart([row])):
            own = part.case["flows"]
            first = next(flow for flow in own if flow.get("role", "measured") == "measured")
            figure, collective = asked(part), Collective.of(first)
            factor = {"half": 0.5, "bus": collective.bus_factor if collective else 0.0}.get(figure, 1.0)
            sized = _index(flows, own[0]) if moves(own[0]) else None
            parts.append(_Part(len(self._parts), index, figure, _index(flows, first), sized, index % cells, factor))
            first_measured = _index(flows, first)
            self._parts.append({"part": len(self._parts), "first": first_measured, **_of_shape(part)})
        return _Shape(case, measured, tuple(parts))

    def _find_peaks(self, shape: _Shape, text: bytes) -> None:
        """Of a shape's figures, by a line that has them."""
        record = decoded(text) or {}
        checked_row(record)
        for part, row in zip(shape.parts, apart([Row.from_json(record)]), strict=True):
            limit = peak(row, self._paths)
            part.peaked = True
            if limit is not None and limit.gbps:
                self._parts[part.number] |= {"peak_gbps": limit.gbps, "bound_by": limit.why}

    def _outcome(
        self, shape: _Shape, part: _Part, sizes: Sequence[int], line: RunLine, text: bytes
    ) -> tuple[bool, int, float | None, float | None, float | None, float, float, float] | None:
        """As ``headline``: whether the figure is a rate, of how many samples, and the bounds of rate and time."""
        flow = line.flows[part.first]
        rate: LineStats | Stats | None = flow.gbps
        time = flow.seconds
        if part.figure == "latency" or rate is None:
            bounds = _NONE if rate is None else (rate.median, rate.low, rate.high)
            return (False, time.n, *bounds, time.median, time.low, time.high)
        factor = part.factor
        if part.figure == "sum":
            rate = _summed(part, shape.measured, text)
        elif part.figure == "aggregate":
            rate = line.aggregate.gbps if line.aggregate else None
        elif part.figure == "touched":
            if len(shape.measured) > 1:
                rate = line.aggregate.gbps if line.aggregate else None
            payload = sizes[part.first] * flow.operations
            factor = (flow.touched_bytes or 0) / payload if payload else 0.0
        if rate is None or not factor:
            return None
        bounds = rate.median * factor, rate.low * factor, rate.high * factor
        return (True, rate.n, *bounds, time.median, time.low, time.high)


def summed_rates(line: LineSamples, measured: Sequence[int]) -> list[float]:
    """GB/s of the ``measured`` flows of a line together, sample by sample."""
    sizes = [line.case.flows[flow].bytes for flow in measured]
    return rates_together(sizes, [line.flows[flow].samples_s for flow in measured])


def _summed(part: _Part, measured: Sequence[int], text: bytes) -> Stats | None:
    sums = summed_rates(SAMPLES.decode(text), measured)
    if sums:
        return stats_of(sums)
    found = headline(apart([Row.from_json(decoded(text) or {})])[part.index])
    return found.value if found else None


def _of_shape(part: Row) -> Json:
    """The columns that all cases of a shape have in common; what limits it is found with its first rate."""
    found = {name: value for name, value in of_case(part).items() if name not in _VARYING}
    return {**{name: found.get(name) for name in PART_COLUMNS}, "peak_gbps": None, "bound_by": None}


def _index(flows: Sequence[Json], flow: Json) -> int:
    return next(index for index, one in enumerate(flows) if one is flow)


class _Columns:
    """Values that come line by line, and become columns of ``schema``."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._frames: list[polars.DataFrame] = []
        self._lines: list[tuple[Any, ...]] = []

    @property
    def add(self) -> Callable[[tuple[Any, ...]], None]:
        """Takes a line, in the order of the schema."""
        return self._lines.append

    def turn(self) -> polars.DataFrame:
        """What was added since the last turn."""
        columns = zip(*self._lines, strict=True) if self._lines else ([] for _ in self._schema)
        named = zip(self._schema.items(), columns, strict=True)
        frame = polars.DataFrame([polars.Series(name, values, kind) for (name, kind), values in named])
        self._frames.append(frame)
        self._lines.clear()
        return frame

    def frame(self) -> polars.DataFrame:
        """All that was turned."""
        return polars.concat(self._frames)
