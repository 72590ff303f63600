"""Check: does a run keep the limits of healthy nodes, and which limits do good runs suggest?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars

from linkscope.analysis.figures import SCHEMA as SCHEMA_OF_FIGURES
from linkscope.analysis.figures_in_parts import figures_of, is_modelled
from linkscope.analysis.headline import OF_ALL
from linkscope.displayed import Displayed
from linkscope.errors import LinkscopeError
from linkscope.machine.identity import Identity
from linkscope.machine.node import Node
from linkscope.results.limits import SCHEMA, Limit, Limits
from linkscope.results.row import origin_name
from linkscope.results.run_stream import Run

Json = dict[str, Any]

MATCHED = (
    *("row", "figure", "models", "tier", "method", "source_memory", "destination_memory", "members_memory"),
    *("collective", "parameters", "bytes", "together", "regime", "environment"),
)
"""Columns by which figures of nodes of one kind are the same thing."""
LEAST_MARGIN = {"gpu-large": 0.03, "gpu": 0.05, "pinned": 0.05}
"""By class of figures, how far a healthy node may be beyond what good runs showed, at least."""
OTHERS_MARGIN = 1.0
"""Of host memory and processes: one run in ten has figures of a half."""
OK, BROKEN, UNCLEAR = "ok", "broken", "unclear"


@dataclass(frozen=True)
class Verdict:
    """One figure held against one limit, both in ``unit`` (GB/s or s). ``verdict``: ``broken`` where the whole 95 %
    interval is beyond the limit, ``unclear`` where a part of it is, else ``ok``."""

    id: str
    place: str
    path: str
    unit: str
    value: float
    low: float
    high: float
    limit: float
    verdict: str

    @property
    def beyond(self) -> float:
        """By how much it is beyond the limit, 0.05 for 5 %; below 0 where it keeps it."""
        return 1 - self.value / self.limit if self.unit == "GB/s" else self.value / self.limit - 1


@dataclass(frozen=True)
class TooFew:
    """What this node has ``count`` of and every good one had ``of``: devices of a model, or paths that a limit is of
    and that were skipped here, for ``reason``."""

    what: str
    count: int
    of: int
    reason: str = ""


@dataclass(frozen=True, repr=False)
class CheckResult(Displayed):
    """``too_few``: what this node lacks of what good ones have, such as a GPU. ``unmatched``: limits that no figure of
    the run is held against. ``failed``: (id, reason) of cases that failed. ``identity``: serial numbers of the node and
    its GPUs, where the run knows them. ``imported``: the tool that the figures are from, none where linkscope measured
    them."""

    node: str
    host: str
    started: str
    modelled: bool
    identity: Identity
    verdicts: tuple[Verdict, ...]
    too_few: tuple[TooFew, ...]
    unmatched: tuple[Limit, ...]
    failed: tuple[tuple[str, str], ...]
    imported: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The worst first."""
        found = (one for one in self.verdicts if one.verdict == BROKEN)
        return tuple(sorted(found, key=lambda one: -one.beyond))

    @property
    def passed(self) -> bool:
        return not self.broken and not self.failed and not self.too_few

    def count(self, verdict: str) -> int:
        return sum(one.verdict == verdict for one in self.verdicts)

    def to_json(self) -> Json:
        """A JSON-ready dict, one line for a node."""
        return {
            **{"node": self.node, "host": self.host, "started": self.started, "modelled": self.modelled},
            **({"imported": self.imported} if self.imported else {}),
            **{"passed": self.passed, "identity": self.identity.to_json(), "checked": len(self.verdicts)},
            **{"unclear": self.count(UNCLEAR), "not_measured": [limit.words for limit in self.unmatched]},
            "too_few": [asdict(one) for one in self.too_few],
            "broken": [{**asdict(one), "beyond": one.beyond} for one in self.broken],
            "failed": [{"id": name, "reason": reason} for name, reason in self.failed],
        }


def check(run: Run, limits: Limits) -> CheckResult:
    """A figure is held against every limit that it matches. Raises LinkscopeError where no figure has a limit."""
    for number, limit in enumerate(limits.limits):
        unknown = set(limit.match) - {*SCHEMA_OF_FIGURES, "models"}
        if unknown:
            raise LinkscopeError(f"limits[{number}].match: figures have no {sorted(unknown)[0]!r}: see docs/fleet.md")
    frame = figures_of(run)
    lines = list(_measured([(run, frame)]).iter_rows(named=True))
    verdicts: list[Verdict] = []
    matched: list[set[str]] = []
    for limit in limits.limits:
        own = [line for line in lines if _matches(line, limit)]
        verdicts += [_verdict(line, limit) for line in own]
        matched.append({_path(line) for line in own})
    refused = tuple(_paths_lacking(run, frame, limits.limits, matched))
    if not verdicts and not refused:
        raise LinkscopeError(
            f"none of the {len(limits.limits)} limits is of a figure of {run.path}: run the suites that they were made "
            "from, on nodes of the same models"
        )
    return CheckResult(
        node=run.node.name,
        host=str(run.header["host"]),
        started=str(run.header["started"]),
        modelled=is_modelled(run, frame),
        identity=Identity.from_json(run.header.get("identity", {})),
        verdicts=tuple(verdicts),
        imported=tuple(filter(None, [origin_name(run.header)])),
        too_few=(*_devices_lacking(run.node, limits.devices), *refused),
        unmatched=tuple(limit for limit, paths in zip(limits.limits, matched, strict=True) if not paths),
        failed=_failed(frame),
    )


def _devices_lacking(node: Node, wanted: Mapping[str, int]) -> Iterator[TooFew]:
    there = _devices(node)
    for model, count in wanted.items():
        if there[model] < count:
            yield TooFew(model, there[model], count, "not there")


def _devices(node: Node) -> Counter[str]:
    """How many of each model."""
    return Counter(device.name or device.kind for device in node.devices)


def _paths_lacking(
    run: Run, frame: polars.DataFrame, limits: Sequence[Limit], matched: Sequence[set[str]]
) -> Iterator[TooFew]:
    """Cases that a budget left out were not refused by the node."""
    refused = frame.filter(polars.col("status").cast(polars.String) == "skipped", ~polars.col("left_out"))
    lines = list(_with_models([(run, refused)]).iter_rows(named=True))
    for limit, paths in zip(limits, matched, strict=True):
        own = [line for line in lines if _matches(line, limit)]
        if own and limit.paths is not None and len(paths) < limit.paths:
            yield TooFew(limit.words, len(paths), limit.paths, str(own[0]["reason"]))


def made_from(runs: Sequence[Run], made: str) -> Limits:
    """Limits that all of these good runs keep: beyond the worst figure by as much as they differ, and at least by
    ``LEAST_MARGIN``. One for each kind of figure, over all devices of a model and all paths of a tier.

    Raises LinkscopeError where there are fewer than two runs, or one is modelled, or nothing was measured.
    """
    if len(runs) < 2:
        raise LinkscopeError(
            "limits are made from several good runs: name two or more, of several nodes if you can; `linkscope explain "
            "RUN` holds one against known ones"
        )
    read = [(run, figures_of(run)) for run in runs]
    if any(frame["modelled"].any() or run.node.modelled for run, frame in read):
        raise LinkscopeError("limits are not made from modelled runs: nobody has seen a node reach them")
    if len({(run.header.get("host"), run.header.get("started")) for run in runs}) < len(runs):
        raise LinkscopeError("one of these runs is there twice, under two names: name each once")
    frame = _measured(read)
    found = []
    for keys, lines in frame.group_by(MATCHED, maintain_order=True):
        match = {name: value for name, value in zip(MATCHED, keys, strict=True) if value not in (None, "")}
        rate = _is_rate(lines.row(0, named=True))
        values = lines["gbps" if rate else "seconds"]
        least, most = float(str(values.min())), float(str(values.max()))
        floor = LEAST_MARGIN.get(str(lines["class"][0]), OTHERS_MARGIN)
        margin = 1 + max(most / least - 1, floor)
        seen = (_short(least), _short(most))
        paths = min(len({_path(line) for line in own.iter_rows(named=True)}) for _, own in lines.group_by("run"))
        if rate:
            found.append(Limit(match, least_gbps=_short(least / margin), seen=seen, paths=paths))
        else:
            found.append(Limit(match, most_seconds=_short(most * margin), seen=seen, paths=paths))
    if not found:
        raise LinkscopeError("these runs have no figure to make a limit of")
    every = [_devices(run.node) for run in runs]
    devices = {model: least for model in every[0] if (least := min(one[model] for one in every))}
    return Limits(SCHEMA, found, devices, made=made, runs=[str(run.path) for run in runs])


def _failed(frame: polars.DataFrame) -> tuple[tuple[str, str], ...]:
    failed = frame.unique("id", maintain_order=True).filter(polars.col("status").cast(polars.String) == "failed")
    return tuple((str(name), str(why or "no reason recorded")) for name, why in failed.select("id", "reason").rows())


def _measured(runs: Iterable[tuple[Run, polars.DataFrame]]) -> polars.DataFrame:
    """Ok figures: see ``_with_models``."""
    ok = polars.col("status").cast(polars.String) == "ok"
    frame = _with_models((run, figures.filter(ok)) for run, figures in runs)
    return frame.filter(polars.col("gbps").is_not_null() | polars.col("seconds").is_not_null())


def _with_models(runs: Iterable[tuple[Run, polars.DataFrame]]) -> polars.DataFrame:
    """Figures with ``models`` and the number of their ``run``; words as words."""
    frames = []
    for number, (run, figures) in enumerate(runs):
        words = figures.with_columns(polars.col(polars.Categorical).cast(polars.String))
        told = [_models(run.node, line) for line in words.iter_rows(named=True)]
        frames.append(words.with_columns(polars.Series("models", told, polars.String), polars.lit(number).alias("run")))
    return polars.concat(frames)


def _models(node: Node, line: Json) -> str:
    """Such as "NVIDIA H200 > NVIDIA H200"; of a collective each model once."""
    names = {device.id: device.name or device.kind for device in node.devices}
    if line["members"]:
        return ", ".join(dict.fromkeys(names.get(member, "?") for member in line["members"].split()))
    ends = (line["source"] or line["executor"], line["destination"] or line["executor"])
    return " > ".join(names.get(end, "?") for end in ends)


def _matches(line: Json, limit: Limit) -> bool:
    return all(line.get(name) == value for name, value in limit.match.items())


def _is_rate(line: Json) -> bool:
    return line["gbps"] is not None and line["figure"] != "latency"


def _verdict(line: Json, limit: Limit) -> Verdict:
    path = _path(line)
    if limit.least_gbps is not None:
        name, unit, bound = "gbps", "GB/s", limit.least_gbps
    else:
        name, unit, bound = "seconds", "s", limit.most_seconds or 0.0
    value, low, high = (line[f"{name}{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return Verdict(line["id"], line["place"], path, unit, 0.0, 0.0, 0.0, bound, UNCLEAR)
    sure, maybe = (high < bound, low < bound) if unit == "GB/s" else (low > bound, high > bound)
    return Verdict(
        line["id"], line["place"], path, unit, value, low, high, bound, BROKEN if sure else UNCLEAR if maybe else OK
    )


def _path(line: Json) -> str:
    ends = " > ".join(end for end in (line["source"], line["destination"]) if end)
    return str((line["figure"] in OF_ALL and line["together"]) or ends or line["members"] or line["executor"])


def _short(value: float) -> float:
    return float(f"{value:.4g}")
