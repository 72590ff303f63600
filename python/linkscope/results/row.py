"""Row: one case's outcome, as a line of a run file has it (schema/result.schema.json) or folded from its replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import Field, fields, make_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from linkscope.results.member_time import MemberTime
from linkscope.results.records import Count, Id, Json, OriginRecord, Share, Text, Word
from linkscope.results.stats import Natural, Number
from linkscope.results.stats import Stats as Stats
from linkscope.results.usual_noise import NONE, UsualNoise

if TYPE_CHECKING:
    CaseText = Json
else:
    CaseText = msgspec.Raw
    """A case comes as text, as the replicates of a run share one that is decoded once."""

_BY = "by "
"""Begins the note that names a library, or a call of one."""
MOSTLY = 0.5
"""A latency that is so much of a time makes what it is."""


def origin_name(record: Json) -> str:
    """Return the tool that a header or row was imported from, "nvbandwidth 0.8"; "" where it was not."""
    origin = record.get("origin") or {}
    return f"{origin.get('tool', '')} {origin.get('version', '')}".strip()


class FlowResult(Struct, frozen=True, gc=False, omit_defaults=True):
    """Hold the result of one flow. ``seconds``: of one operation; ``gbps``: payload rate, None for latency methods.

    ``touched_bytes``: read plus written by one transfer (of ``operations``), None where the method does not say.
    ``parts_s``: where several devices or processes carry the flow out, the median of each that is timed, in order.
    ``breakdown``: of a schedule, by member, where its time went. ``tuned``: the text of every setting that was tried.
    """

    repeats: Count
    operations: Natural
    seconds: Stats
    gbps: Stats | None = None
    touched_bytes: Count | None = None
    setting: Json = {}
    notes: tuple[Text, ...] = ()
    samples_s: Sequence[Number] = ()
    parts_s: tuple[Number, ...] = ()
    breakdown: tuple[MemberTime, ...] = ()
    tuned: msgspec.Raw = msgspec.Raw(b"")

    @property
    def was_tuned(self) -> bool:
        """Return whether settings were tried for it."""
        return bool(bytes(self.tuned))


class Aggregate(Struct, frozen=True, gc=False, omit_defaults=True):
    """All measured flows together. ``overlap``: the share of first start to last end in which all were running."""

    gbps: Stats
    overlap: Share | None = None
    timeline_uncertainty_us: Number | None = None


class Verified(Struct, frozen=True, gc=False, omit_defaults=True):
    """Hold how often memory was compared, and how many bytes of it. ``rounds``: passes, as older files name them."""

    passes: Count | None = None
    rounds: Count | None = None
    bytes: Count | None = None


class Interference(Struct, frozen=True, gc=False, omit_defaults=True):
    """Hold what the machine took from the measured CPU threads, in the samples that count.

    ``waited_s``: longest that a thread was ready but without a CPU in one start. ``apart_s``: from the first thread's
    start to the last one's, median. ``switches``: how often the kernel took a CPU. ``stolen_s``: by a hypervisor.
    """

    waited_s: Number
    apart_s: Number
    switches: Count
    stolen_s: Number


class Row(Struct, gc=False, omit_defaults=True):
    """A finished case. ``case`` is the plan's case, verbatim; ``round`` the visit that measured it, from 0.

    ``replicates``: of a folded row, all rows of the case as they were written, in order. Its results are those of
    results/replicates.py, all else is the last row's, and ``noise`` is what its intervals hold of the node's noise
    between runs, ``usual`` of that of healthy nodes.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    record: Literal["row"]
    id: Id
    status: Literal["ok", "skipped", "failed"]
    modelled: bool
    case: CaseText
    reason: Text | None = None
    flows: tuple[FlowResult, ...] = ()
    together: Aggregate | None = msgspec.field(default=None, name="aggregate")
    stopped: Word | None = None
    round: Count | None = msgspec.field(default=None, name="replicate")
    left_out: bool = False
    imported: OriginRecord | None = msgspec.field(default=None, name="origin")
    hosts: tuple[Word, ...] = ()
    backend: Word = ""
    discarded: dict[Word, Count] = {}
    interference: Interference | None = None
    verified: Verified | None = None
    started: Word = ""
    elapsed_s: Number = 0.0
    causes: tuple[Json, ...] = ()
    replicates: tuple[Row, ...] = ()
    noise: Number = 0.0
    usual: UsualNoise = NONE

    @staticmethod
    def from_json(line: Json) -> Row:
        """Return the row of a decoded line. Raises ValueError where it is none; its case is not checked."""
        found = ROWS.decode(msgspec.json.encode({"record": "row", **line}, enc_hook=list))
        found.case = line["case"]
        return found

    @property
    def raw(self) -> Json:
        """Return the row as a line of a run file has it; of a folded row, its last one."""
        last = self.replicates[-1] if self.replicates else self
        line: Json = msgspec.json.decode(msgspec.json.encode(replace(last, noise=0.0, usual=NONE), enc_hook=list))
        return {**line, "case": last.case}

    @property
    def lines(self) -> tuple[Json, ...]:
        """Return the run file's lines of this case."""
        return tuple(row.raw for row in self.replicates or (self,))

    @property
    def replicate(self) -> int:
        """Return which replicate of its case this row is, from 0."""
        return self.round or 0

    @property
    def measured(self) -> tuple[Row, ...]:
        """Return the replicates that have results."""
        return tuple(row for row in self.replicates or (self,) if row.status == "ok")

    @property
    def aggregate(self) -> Stats | None:
        """Return the rate of all measured flows together."""
        return self.together.gbps if self.together is not None else None

    @property
    def overlap(self) -> float | None:
        """Return the share of first start to last end in which all measured flows ran; None where no row says so."""
        if not self.replicates:
            return self.together.overlap if self.together is not None else None
        return min((share for share in (row.overlap for row in self.replicates) if share is not None), default=None)

    @property
    def watched(self) -> Stats | None:
        """Return what sampling watched: the aggregate where there is one, else the time of the first measured flow."""
        return self.aggregate or next((result.seconds for _, result in self.measured_flows), None)

    @property
    def margin(self) -> float:
        """Return the half width of the interval of what sampling watched, relative to its median."""
        watched = self.watched
        return (watched.high - watched.low) / 2 / watched.median if watched is not None and watched.median else 0.0

    @property
    def origin(self) -> str:
        """Return the tool that the results were imported from, "nvbandwidth 0.8"; "" where linkscope measured them."""
        return f"{self.imported.tool} {self.imported.version}".strip() if self.imported is not None else ""

    @property
    def assumed(self) -> bool:
        """Return whether the time is a model's and mostly a latency that no source gives."""
        if not self.modelled or "latency_us" not in self.labels.get("assumed", ()) or not self.measured_flows:
            return False
        flow, result = self.measured_flows[0]
        latency: float = flow.get("figures", {}).get("latency_us", 0.0)
        return latency * 1e-6 >= MOSTLY * result.seconds.median

    @property
    def stand_in(self) -> str:
        """Return where an assumed latency comes from; "" of other rows, and of runs before files said so."""
        return str(self.labels.get("stand_in", "")) if self.assumed else ""

    @property
    def suite(self) -> str:
        """Return the suite that has the test."""
        return str(self.case.get("suite", ""))

    @property
    def name(self) -> str:
        """Return the test that this case belongs to."""
        return str(self.case.get("name", ""))

    @property
    def labels(self) -> Json:
        """Return what tables need of the case."""
        labels: Json = self.case.get("labels", {})
        return labels

    @property
    def load(self) -> str:
        """Return ``once``: flows start together and each ends when it is done; or ``sustained``: all run until all are
        timed."""
        return str(self.case.get("load", "once"))

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that the engine of this case was started with."""
        return dict(self.case.get("environment", {}))

    @property
    def between(self) -> tuple[str, ...]:
        """Return the hosts of the ends of its flows, where those are several; empty where it was one."""
        if not self.hosts:
            return ()
        flows = self.case["flows"]
        ends = [
            end for flow in flows for end in (flow.get("source"), flow.get("destination"), *flow.get("members", ()))
        ]
        ranks = [int(place.get("rank", 0)) for place in (*ends, *flows) if place]
        found = dict.fromkeys(self.hosts[rank] for rank in ranks if rank < len(self.hosts))
        return tuple(found) if len(found) > 1 else ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what engines noted of any flow, each once."""
        return tuple(dict.fromkeys(note for flow in self.flows for note in flow.notes))

    @property
    def libraries(self) -> tuple[str, ...]:
        """Return the libraries that its notes name, "MPICH Version: 5.0.2", each once."""
        return tuple(note.removeprefix(_BY) for note in self.notes if note.startswith(_BY))

    @property
    def measured_flows(self) -> list[tuple[Json, FlowResult]]:
        """Return (flow of the plan, its result) of every measured flow; empty unless status is ok."""
        pairs = zip(self.case["flows"], self.flows, strict=False)
        return [(flow, result) for flow, result in pairs if flow.get("role", "measured") == "measured"]

    @property
    def lacks(self) -> str:
        """Return what the figure that it is read for (``labels.figure``) needs and its results do not have, or ""."""
        measured = self.measured_flows
        figure = self.labels.get("figure")
        if figure == "touched" and measured and measured[0][1].touched_bytes is None:
            return f"{measured[0][0]['method']} does not tell what it touches"
        if figure == "aggregate" and measured and self.aggregate is None:
            return "nothing tells the rate of all flows together"
        return ""


ROWS = msgspec.json.Decoder(Row)
"""Decodes and checks all of a row's line but its case, which stays a text."""


def _replaceable(*structs: type[Struct]) -> None:
    """Let ``dataclasses.replace`` and ``asdict`` take structs, as they take a run that holds them."""
    for one in structs:
        named = fields(make_dataclass("_Fields", one.__struct_fields__))
        one.__dataclass_fields__ = {field.name: field for field in named}  # type: ignore[attr-defined]


_replaceable(Row, FlowResult, Stats, Aggregate, MemberTime)
