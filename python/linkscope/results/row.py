"""Row: one case's outcome as a run file holds it (schema/result.schema.json), typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from linkscope.results.member_time import MemberTime
from linkscope.results.records import Count, Natural, Number, Text
from linkscope.statistics.interval import UNKNOWN_FROM as UNKNOWN_FROM

_BY = "by "
"""Begins the note that names a library, or a call of one."""
ONE_REPLICATE = "one replicate: its interval says nothing of other runs"
MOSTLY = 0.5
"""A latency that is so much of a time makes what it is."""


def origin_name(record: dict[str, Any]) -> str:
    """The tool that a header or row of a run file was imported from, "nvbandwidth 0.8"; "" where it was not."""
    origin = record.get("origin") or {}
    return f"{origin.get('tool', '')} {origin.get('version', '')}".strip()


@dataclass(frozen=True)
class Stats:
    """Of one quantity's samples. ``low``..``high`` is the distribution-free 95 % interval of the median."""

    n: Natural
    median: Number
    low: Number
    high: Number
    mean: Number
    min: Number
    p5: Number
    p95: Number
    p99: Number
    max: Number

    @staticmethod
    def from_json(data: dict[str, Any]) -> Stats:
        """Of what schema/result.schema.json calls stats."""
        return Stats(**{name: data[name] for name in Stats.__dataclass_fields__})

    @property
    def unknown(self) -> bool:
        """Whether a bound of the interval is further from the median than ``UNKNOWN_FROM``."""
        low, middle, high = self.low, self.median, self.high
        return middle > 0 and low != high and (low <= 0 or max(high / middle, middle / low) > UNKNOWN_FROM)


@dataclass(frozen=True)
class FlowResult:
    """One flow's figures. ``seconds``: of one operation; ``gbps``: payload rate, None for latency methods.

    ``touched_bytes``: read plus written by one transfer (of ``operations``), None where the method does not say.
    ``parts_s``: where several devices or processes carry the flow out, the median of each that is timed, in order.
    ``breakdown``: of a schedule, by member, where its time went.
    """

    repeats: Count
    operations: Natural
    seconds: Stats
    gbps: Stats | None = None
    touched_bytes: Count | None = None
    setting: dict[str, Any] = field(default_factory=dict)
    notes: tuple[Text, ...] = ()
    samples_s: tuple[Number, ...] = ()
    parts_s: tuple[Number, ...] = ()
    breakdown: tuple[MemberTime, ...] = ()


@dataclass(frozen=True)
class Row:
    """A finished case. ``case`` is the plan's case, verbatim; ``raw`` the whole line.

    ``replicates``: where a run measured the case several times, all of its rows as they were written, in order; the
    figures here are then those of ``results/replicates.py``, ``raw`` is the last one's line, and ``noise`` what their
    intervals hold of the node's noise between runs.
    """

    id: str
    status: str
    modelled: bool
    case: dict[str, Any]
    reason: str | None
    flows: tuple[FlowResult, ...]
    aggregate: Stats | None
    stopped: str | None
    raw: dict[str, Any]
    replicates: tuple[Row, ...] = ()
    noise: float = 0.0

    @property
    def replicate(self) -> int:
        """Which replicate of its case this row is, from 0."""
        return int(self.raw.get("replicate", 0))

    @property
    def left_out(self) -> bool:
        """Whether it was skipped for lack of time alone: nothing is wrong with it."""
        return bool(self.raw.get("left_out"))

    @property
    def not_modelled(self) -> bool:
        """Whether it was skipped because the description of its node lacks a figure."""
        return self.labels.get("not_modelled") == "yes"

    @property
    def measured(self) -> tuple[Row, ...]:
        """The replicates that have figures."""
        return tuple(row for row in self.replicates or (self,) if row.status == "ok")

    @property
    def lines(self) -> tuple[dict[str, Any], ...]:
        """The run file's lines of this case."""
        return tuple(row.raw for row in self.replicates or (self,))

    @property
    def watched(self) -> Stats | None:
        """What sampling watched: the aggregate where there is one, else the time of the first measured flow."""
        return self.aggregate or next((result.seconds for _, result in self.measured_flows), None)

    @property
    def margin(self) -> float:
        """Half width of the interval of what sampling watched, relative to its median: 0.01 for ±1 %."""
        watched = self.watched
        return (watched.high - watched.low) / 2 / watched.median if watched is not None and watched.median else 0.0

    @property
    def origin(self) -> str:
        """The tool that its figures were imported from, "nvbandwidth 0.8"; "" where linkscope measured them."""
        return origin_name(self.raw)

    @property
    def assumed(self) -> bool:
        """Whether its time is a model's and mostly a latency that no source gives."""
        if not self.modelled or "latency_us" not in self.labels.get("assumed", ()) or not self.measured_flows:
            return False
        flow, result = self.measured_flows[0]
        latency: float = flow.get("figures", {}).get("latency_us", 0.0)
        return latency * 1e-6 >= MOSTLY * result.seconds.median

    @property
    def stand_in(self) -> str:
        """Where an assumed latency comes from; "" of other rows, and of runs before files said so."""
        return str(self.labels.get("stand_in", "")) if self.assumed else ""

    @property
    def elapsed_s(self) -> float:
        """Seconds that the case took, with all of its replicates."""
        return sum(float(line.get("elapsed_s", 0.0)) for line in self.lines)

    @property
    def suite(self) -> str:
        return str(self.case.get("suite", ""))

    @property
    def name(self) -> str:
        """The suite's row that this case belongs to."""
        return str(self.case.get("name", ""))

    @property
    def labels(self) -> dict[str, Any]:
        labels: dict[str, Any] = self.case.get("labels", {})
        return labels

    @property
    def load(self) -> str:
        """``once``: flows start together and each ends when it is done; ``sustained``: all run until all are timed."""
        return str(self.case.get("load", "once"))

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the engine of this case was started with."""
        return dict(self.case.get("environment", {}))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Where its processes ran, by rank; empty where that was one host."""
        return tuple(self.raw.get("hosts", ()))

    @property
    def between(self) -> tuple[str, ...]:
        """The hosts on which the ends of its flows are, where those are several; empty where it was one."""
        flows = self.case["flows"]
        ends = [
            end for flow in flows for end in (flow.get("source"), flow.get("destination"), *flow.get("members", ()))
        ]
        ranks = [int(place.get("rank", 0)) for place in (*ends, *flows) if place]
        found = dict.fromkeys(self.hosts[rank] for rank in ranks if rank < len(self.hosts))
        return tuple(found) if len(found) > 1 else ()

    @property
    def overlap(self) -> float | None:
        """Share of first start to last end in which every measured flow was running; None where no row says so."""
        shares = [(line.get("aggregate") or {}).get("overlap") for line in self.lines]
        return min((float(share) for share in shares if share is not None), default=None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noted of any flow, each once."""
        found = dict.fromkeys(note for flow in self.flows for note in flow.notes)
        return (*found, *([ONE_REPLICATE] if self.within_run else []))

    @property
    def libraries(self) -> tuple[str, ...]:
        """By what its notes say it was carried out, "MPICH Version: 5.0.2", each once; empty where they name none."""
        return tuple(note.removeprefix(_BY) for note in self.notes if note.startswith(_BY))

    @property
    def within_run(self) -> bool:
        """Whether its interval is that of one replicate where there should be several, and no calibration widens it."""
        return self.status == "ok" and "replicate" in self.raw and len(self.measured) < 2 and not self.noise

    @property
    def measured_flows(self) -> list[tuple[dict[str, Any], FlowResult]]:
        """(flow of the plan, its result) for every flow whose role is ``measured``; empty unless status is ok."""
        pairs = zip(self.case["flows"], self.flows, strict=False)
        return [(flow, result) for flow, result in pairs if flow.get("role", "measured") == "measured"]

    @property
    def lacks(self) -> str:
        """What the figure that it is read for (``labels.figure``) needs and its results do not tell; mostly nothing."""
        measured = self.measured_flows
        figure = self.labels.get("figure")
        if figure == "touched" and measured and measured[0][1].touched_bytes is None:
            return f"{measured[0][0]['method']} does not tell what it touches"
        if figure == "aggregate" and measured and self.aggregate is None:
            return "nothing tells the rate of all flows together"
        return ""

    @staticmethod
    def from_json(line: dict[str, Any]) -> Row:
        """Raises KeyError or TypeError on data that is no row."""
        flows = tuple(
            FlowResult(
                repeats=f["repeats"],
                operations=f["operations"],
                seconds=Stats.from_json(f["seconds"]),
                gbps=Stats.from_json(f["gbps"]) if "gbps" in f else None,
                touched_bytes=f.get("touched_bytes"),
                setting=f.get("setting", {}),
                notes=tuple(f.get("notes", ())),
                samples_s=tuple(f.get("samples_s", ())),
                parts_s=tuple(f.get("parts_s", ())),
                breakdown=tuple(map(MemberTime.from_json, f.get("breakdown", ()))),
            )
            for f in line.get("flows", ())
        )
        aggregate = line.get("aggregate")
        return Row(
            id=line["id"],
            status=line["status"],
            modelled=line["modelled"],
            case=line["case"],
            reason=line.get("reason"),
            flows=flows,
            aggregate=Stats.from_json(aggregate["gbps"]) if aggregate else None,
            stopped=line.get("stopped"),
            raw=line,
        )
