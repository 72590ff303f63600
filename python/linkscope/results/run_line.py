"""Run line: what figures need of a row's line, decoded and checked in one pass and nothing else of it kept."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Literal

import msgspec

from linkscope.results.records import Count, Natural, Number, OriginRecord, Text, Word, decoded, may_control

_SIZE = re.compile(rb'"bytes":[0-9]+')
_PLACE = re.compile(rb'"(?:row|column|x)":(?:"(?:[^"\\]|\\.)*"|[-0-9.eE+]+|null)')
_GROUP = re.compile(rb'"tuning_group":"(?:[^"\\]|\\.)*"')


class LineStats(msgspec.Struct, gc=False):
    """As ``Stats``."""

    n: Natural
    median: Number
    low: Number
    high: Number
    p5: Number
    p95: Number
    min: Number
    max: Number


class LineFlow(msgspec.Struct, gc=False):
    """As ``FlowResult``."""

    seconds: LineStats
    operations: Natural
    gbps: LineStats | None = None
    touched_bytes: Count | None = None
    notes: tuple[Text, ...] = ()


class _FlowSamples(msgspec.Struct, gc=False):
    samples_s: tuple[Number, ...] = ()


class _Bytes(msgspec.Struct, gc=False):
    bytes: Count


class _Sizes(msgspec.Struct, gc=False):
    flows: tuple[_Bytes, ...]


class LineSamples(msgspec.Struct, gc=False):
    """The samples of a line's flows, in seconds, and the bytes of each."""

    case: _Sizes
    flows: tuple[_FlowSamples, ...] = ()


class _Together(msgspec.Struct, gc=False):
    gbps: LineStats


class RunLine(msgspec.Struct, gc=False):
    """A line of a run file. ``record`` is "row" or another; ``case`` the text of the plan's case."""

    record: str
    id: str = ""
    status: Literal["ok", "skipped", "failed"] = "ok"
    modelled: bool = False
    origin: OriginRecord | None = None
    case: msgspec.Raw = msgspec.Raw(b"")
    replicate: Count = 0
    reason: Text | None = None
    left_out: bool = False
    hosts: tuple[Word, ...] = ()
    flows: tuple[LineFlow, ...] = ()
    aggregate: _Together | None = None


class CasePlace(msgspec.Struct, gc=False):
    """Where a figure stands in its table."""

    row: str | None = None
    column: str | None = None


class _Labels(CasePlace, gc=False):
    cells: tuple[CasePlace, ...] = ()
    x: int | float | msgspec.UnsetType | None = msgspec.UNSET


class CaseValues(msgspec.Struct, gc=False):
    """What cases of one shape may differ in."""

    id: str
    flows: tuple[_Bytes, ...]
    labels: _Labels = msgspec.field(default_factory=_Labels)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each flow."""
        return tuple(flow.bytes for flow in self.flows)

    @property
    def places(self) -> tuple[tuple[str, str], ...]:
        """Table row and column of each figure, or of the one there is."""
        own = self.labels
        return tuple(
            (
                one.row if one.row is not None else own.row or "",
                one.column if one.column is not None else own.column or "",
            )
            for one in own.cells or (own,)
        )


_HERE = b"~"


class _CaseText(msgspec.Struct, gc=False):
    """A case, its flows and labels as they are written."""

    id: str
    flows: msgspec.Raw
    labels: msgspec.Raw = msgspec.Raw(b"")
    environment: msgspec.Raw = msgspec.Raw(b"")
    clock: str = ""
    suite: str = ""
    name: str = ""
    cache: str = ""
    load: str = ""
    processes: int = 1


LINES = msgspec.json.Decoder(RunLine)
SAMPLES = msgspec.json.Decoder(LineSamples)
_VALUES = msgspec.json.Decoder(CaseValues)
_TEXTS = msgspec.json.Decoder(_CaseText)


def plain(line: bytes) -> bytes:
    """The line without control characters in its texts. Raises ValueError."""
    return msgspec.json.encode(decoded(line)) if may_control(line) else line


def taken_apart(case: bytes) -> tuple[Hashable, CaseValues]:
    """The shape of a case's text, equal for cases that differ in nothing but the values. Raises ValueError."""
    values, text = _VALUES.decode(case), _TEXTS.decode(case)
    flows, labels = bytes(text.flows), bytes(text.labels)
    places = (values.labels, *values.labels.cells)
    seen = (
        flows.count(b'"bytes":') == len(values.flows)
        and labels.count(b'"row":') == sum(one.row is not None for one in places)
        and labels.count(b'"column":') == sum(one.column is not None for one in places)
        and labels.count(b'"x":') == (values.labels.x is not msgspec.UNSET)
    )
    if not seen:  # one of these words means something else, too
        return case, values
    of_case = (text.clock, text.suite, text.name, text.cache, text.load, text.processes, bytes(text.environment))
    flows = _GROUP.sub(b"", _SIZE.sub(b"", flows)) if b'"tuning_group"' in flows else _SIZE.sub(b"", flows)
    return (*of_case, flows, _PLACE.sub(b"", labels), len(places)), values
