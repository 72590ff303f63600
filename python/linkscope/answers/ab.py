"""A/B: how sides that were measured in turns differ, result by result, and what the results that differ share.

Statistics are those of statistics/paired.py: a round, in which every side was measured, is one observation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

import polars

from linkscope.answers.answer import Answer, Column, Kind, Outcome, Table
from linkscope.answers.common_cause import with_path_and_method
from linkscope.answers.run_head import RunHead, findings_of, run_head
from linkscope.answers.shared_words import Rule, rules, words_apart
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.messages.catalog import problem
from linkscope.messages.finding import Finding, Level, note, warning
from linkscope.statistics.paired import ALPHA, FEWEST_ROUNDS, THRESHOLD, Difference, paired
from linkscope.statistics.variance import HIGHER, LOWER, SAME, UNCLEAR

Frame = polars.DataFrame
Key = tuple[str, str, str]
Json = dict[str, Any]

_KEY = ("id", "place", "figure")
_FEW_ROWS, _FEW_RULES, _FEW_LOST = 8, 3, 2
"""Lines of a first screen."""
_OF_ROUNDS = ("run.cut-short", "run.rounds-missing", "run.budget-ended")
"""Codes of a head about a run that others may complete."""
_CODES = {LOWER: ("ab.slower", "ab.slower-apart"), HIGHER: ("ab.faster", "ab.faster-apart")}
"""Codes by verdict: where results share something, and where they do not."""
_MIXED = {"ab.slower": "ab.mixed", "ab.slower-apart": "ab.mixed-apart"}
"""The headline where some results are slower and others faster."""
_WORST_FIRST = (Outcome.FAILS, Outcome.UNCLEAR, Outcome.HOLDS)
_NAMES = ("between", "called", "bytes")
"""Columns that name a result."""
_SHOWN = ("base", "other", "speed", "speed_low", "speed_high", "rounds", "p", "verdict")


def side_names(runs: Sequence[Run]) -> list[str]:
    """Return the side that each run is of one comparison in turns; empty unless all are sides of the same."""
    said = [run.header["interleaved"] for run in runs if "interleaved" in run.header]
    if len(runs) < 2 or len(said) < len(runs) or len({one["group"] for one in said}) > 1:
        return []
    names = [str(one["side"]) for one in said]
    return names if len(set(names)) == len(names) else []


def answer(base: Run, *others: Run, alpha: float = ALPHA, threshold: float = THRESHOLD) -> Answer:
    """Return how each other side differs from the base side.

    Of all differences that are reported at most the share ``alpha`` is false; changes below the relative
    ``threshold`` are none. Raises LinkscopeError where the runs are not sides of one comparison in turns.
    """
    if not side_names([base, *others]):
        raise problem("ab.no-sides", paths=[str(run.path) for run in (base, *others)])
    runs = sorted((base, *others), key=lambda run: run.header["interleaved"]["side"])
    names, heads = side_names(runs), tuple(map(run_head, runs))
    sides = [_Beside(name, runs[0], run, alpha, threshold) for name, run in zip(names[1:], runs[1:], strict=True)]
    found = [finding for side in sides for finding in side.findings(names[0])]
    lost = [finding for side in sides for finding in side.lost(names[0])]
    outcome, headline = _verdict(sides, heads, names[0], threshold)
    rest, lost = ([one for one in some if one.facts != headline.facts] for some in (found, lost))
    spoilers, repeated = ([one for one in some if one.code not in _OF_ROUNDS] for some in findings_of(heads))
    missing = sum(head.missing for head in heads)
    block = [
        *_settings(runs, names),
        *(side.counts(threshold) for side in sides if found or outcome is Outcome.FAILS or len(sides) > 1),
        *rest[:_FEW_RULES],
    ]
    return Answer(
        "ab",
        heads,
        headline,
        outcome,
        findings=(
            *spoilers,
            *([warning("ab.cut-short", missing=missing)] if missing else []),
            *block,
            *lost[:_FEW_LOST],
        ),
        tables=tuple(table for side in sides for table in side.tables(names[0])),
        next=tuple(_next(outcome, runs)),
        details=(*repeated, *rest[_FEW_RULES:], *lost[_FEW_LOST:]),
        data={
            **{"alpha": alpha, "threshold": threshold},
            "sides": [_said(run) for run in runs],
            "differences": [side.to_json() for side in sides],
        },
        base=1,
    )


class _Beside:
    """One side beside the base. ``results``: lines of the frame with the columns of ``_SHOWN``."""

    def __init__(self, name: str, base: Run, run: Run, alpha: float, threshold: float) -> None:
        self.name, self.base, self.run = name, base, run
        self.modelled = base.modelled or run.modelled
        self.rounds = {} if self.modelled else _changes(base, run)
        timed = run.results.filter(polars.col("unit").is_not_null())
        frame = timed.unique(("id", "place"), keep="first", maintain_order=True)  # its time and its rate are one result
        classes = {tuple(line): name for *line, name in frame.select(*_KEY, "class").iter_rows()}
        changes = {key: list(by_round.values()) for key, by_round in self.rounds.items() if key in classes}
        found = paired(changes, classes, alpha, threshold)
        self.results = _with_differences(frame, base.results, found)
        self.lines = list(self.results.iter_rows(named=True))

    def with_verdict(self, *verdicts: str) -> list[Json]:
        """Return the lines that have a verdict."""
        return [line for line in self.lines if line["verdict"] in verdicts]

    def findings(self, base: str) -> Iterator[Finding]:
        """Yield what the results share that are slower, then what those share that are faster."""
        for verdict, opposite in ((LOWER, HIGHER), (HIGHER, LOWER)):
            alike = self.with_verdict(SAME, opposite)
            for rule in rules(self.with_verdict(verdict), alike):
                yield self._finding(rule, verdict, base)

    def _finding(self, rule: Rule, verdict: str, base: str) -> Finding:
        sign = -1 if verdict == LOWER else 1
        change, low, high = (sign * one for one in self._together(rule))
        words = {word.name: word.value for word in rule.words}
        facts = {"side": self.name.upper(), "beside": base.upper(), "change": change, "total": len(self.lines)}
        facts |= {"interval": tuple(sorted((low, high))), "count": len(rule.lines), "alike": rule.alike}
        facts |= {"what": ", ".join(word.text(self.run.library) for word in rule.words), "words": words}
        code, apart = _CODES[verdict]
        return Finding(
            code if rule.words else apart,
            Level.ERROR if verdict == LOWER else Level.NOTE,
            facts,
            results=tuple(dict.fromkeys(line["id"] for line in rule.lines)),
        )

    def _together(self, rule: Rule) -> tuple[float, float, float]:
        """Return the relative change of a rule's results together, with its 95% interval: the median of a round's
        changes is one observation."""
        by_round: dict[int, list[float]] = {}
        for line in rule.lines:
            for number, change in self.rounds[_key(line)].items():
                by_round.setdefault(number, []).append(change)
        full = max(map(len, by_round.values()))
        changes = [median(some) for some in by_round.values() if len(some) >= full / 2]
        one = paired({"": changes}, {"": ""})[""]
        middle, margin = median(line["change"] for line in rule.lines), one.margin or 0.0
        return math.expm1(middle), math.expm1(middle - margin), math.expm1(middle + margin)

    def counts(self, threshold: float) -> Finding:
        """Return how many results have which verdict, by how many rounds."""
        counted = Counter(line["verdict"] for line in self.lines)
        facts: Json = {"slower": counted[LOWER], "faster": counted[HIGHER], "same": counted[SAME]}
        facts |= {"unclear": counted[UNCLEAR], "threshold": threshold, "side": self.name.upper()}
        rounds = max((line["rounds"] for line in self.lines), default=0)
        return note("ab.counts", total=len(self.lines), rounds=rounds, **facts)

    def lost(self, base: str) -> Iterator[Finding]:
        """Yield the cases that ran on one of the two sides alone, by reason, those that this side lost first. A case
        that was added to narrow a difference down, such as another algorithm, decides nothing."""
        planned = set(self.base.file.plan_ids)
        for run, other, side in ((self.base, self.run, self.name), (self.run, self.base, base)):
            worked = {row.id: row.id in planned for row in run.file.rows if row.status == "ok"}
            reasons: dict[tuple[bool, str], list[str]] = {}
            for row in other.file.rows:
                if row.status != "ok" and row.id in worked and not row.left_out:
                    reasons.setdefault((worked[row.id], str(row.reason)), []).append(row.id)
            for (asked, reason), ids in sorted(reasons.items(), key=lambda item: -len(item[1])):
                total = Counter(worked.values())[asked]
                facts = {"count": len(ids), "total": total, "reason": reason, "side": side.upper()}
                level = Level.ERROR if asked and other is self.run else Level.NOTE
                yield Finding("ab.lost", level, facts, results=tuple(ids))

    def outcome(self, base: str, threshold: float) -> tuple[Outcome, Finding]:
        """Return the verdict on this side with its headline."""
        lost = next((one for one in self.lost(base) if one.level is Level.ERROR), None)
        if lost is not None:
            return Outcome.FAILS, replace(lost, code="ab.failed")
        found = [*self.findings(base)]
        slower = [one for one in found if one.level is Level.ERROR]
        rounds = max((line["rounds"] for line in self.lines), default=0)
        if found:
            largest = max(slower or found, key=lambda one: (one.facts["count"], one.facts["change"]))
            if 0 < len(slower) < len(found):
                largest = replace(largest, code=_MIXED[largest.code])
            return Outcome.FAILS if slower else Outcome.HOLDS, largest
        total, same = len(self.lines), len(self.with_verdict(SAME))
        facts = {"total": total, "same": same, "unclear": total - same, "side": self.name.upper()}
        if 2 * same >= total > 0:
            return Outcome.HOLDS, note("ab.same", threshold=threshold, rounds=rounds, **facts)
        if rounds < FEWEST_ROUNDS:
            return Outcome.UNCLEAR, note("ab.few-rounds", rounds=rounds, needed=FEWEST_ROUNDS)
        widths = [(one["speed_high"] - one["speed_low"]) / 2 for one in self.lines if one["margin"] is not None]
        return Outcome.UNCLEAR, note("ab.inconclusive", width=median(widths), **facts)

    def tables(self, base: str) -> Iterator[Table]:
        """Yield the results that differ or are unclear, then all; none of a machine model."""
        if self.modelled:
            return
        values = (
            Column("base", Kind.VALUE, head=base.upper()),
            Column("other", Kind.VALUE, head=self.name.upper()),
            Column("speed", Kind.CHANGE, interval=True),
        )
        facts = {"side": self.name.upper(), "beside": base.upper()}
        named = self._with_settings(with_path_and_method(self.results, self.run.library))
        few = (polars.col("verdict") == UNCLEAR) & (polars.col("rounds") < FEWEST_ROUNDS)
        told = polars.when(few).then(polars.format("rounds/{}", "rounds")).otherwise("verdict")
        shown = named.select(*_KEY, "unit", *_NAMES, "setting", *_SHOWN, told.alias("told"))
        differ = shown.filter(polars.col("verdict").is_in((LOWER, HIGHER)))
        if differ.height:
            ordered = differ.sort(*_NAMES, maintain_order=True)
            yield Table("ab.differ", ordered, (*_that_vary(ordered), *values), facts=facts, first=_FEW_ROWS)
        elif (unclear := shown.filter(polars.col("verdict") == UNCLEAR)).height:
            widest = unclear.sort(polars.col("speed").abs(), descending=True, nulls_last=True)
            yield Table("ab.unclear", widest, (*_that_vary(widest), *values), facts=facts, first=_FEW_ROWS)
        every = (Column("id"), *values, Column("told", Kind.NAME, of="verdict", head="verdict"))
        yield Table("ab.results", shown, every, facts=facts, detail=True)

    def _with_settings(self, frame: Frame) -> Frame:
        """Return the frame with the column ``setting``: what tells results apart that have the same names."""
        alike: dict[tuple[Any, ...], list[Json]] = {}
        for line in frame.iter_rows(named=True):
            alike.setdefault(tuple(line[name] for name in _NAMES), []).append(line)
        texts = {
            _key(line): text
            for lines in alike.values()
            for line, text in zip(lines, words_apart(lines, self.run.library), strict=True)
        }
        return frame.with_columns(polars.Series("setting", [texts[key] for key in frame.select(*_KEY).iter_rows()]))

    def to_json(self) -> Json:
        """Return the verdicts of all results, JSON-ready."""
        columns = (*_KEY, "unit", *_SHOWN)
        return {"side": self.name, "results": list(self.results.select(columns).iter_rows(named=True))}


def _that_vary(frame: Frame) -> list[Column]:
    """Return the columns that name rows, without those that say the same of all rows; of one row those of its names."""
    columns = (Column("between", Kind.PATH), Column("called"), Column("bytes", Kind.SIZE), Column("setting"))
    varying = [column for column in columns if frame[column.name].n_unique() > 1]
    return varying or list(columns[: len(_NAMES)])


def _key(line: Mapping[str, Any]) -> Key:
    return (line["id"], line["place"], line["figure"])


def _changes(base: Run, other: Run) -> dict[Key, dict[int, float]]:
    """Return the logarithm of the speed of a run over the base's, by result and round, where both have the round."""
    before = _by_round(base)
    return {
        key: {number: values[number] - before[key][number] for number in sorted(values.keys() & before[key].keys())}
        for key, values in _by_round(other).items()
        if key in before
    }


def _by_round(run: Run) -> dict[Key, dict[int, float]]:
    """Return the logarithm of each result's speed by round."""
    found: dict[Key, dict[int, float]] = {}
    columns = (*_KEY, "unit", "replicate_values")
    for case_id, place, figure, unit, values in run.results.select(columns).iter_rows():
        rounds = [row.replicate for row in run.rows[case_id].measured]
        if not values or len(values) != len(rounds) or min(values) <= 0:
            continue
        sign = 1.0 if unit == RATE else -1.0
        found[case_id, place, figure] = {
            number: sign * math.log(value) for number, value in zip(rounds, values, strict=True)
        }
    return found


def _with_differences(frame: Frame, base: Frame, found: Mapping[Key, Difference]) -> Frame:
    """Return the lines that both sides have, with what was found of each."""
    joined = frame.join(base.select(*_KEY, polars.col("value").alias("base")), on=_KEY, maintain_order="left")
    rows = [(*key, one.change, one.margin, one.rounds, one.p, one.verdict) for key, one in found.items()]
    types: dict[str, Any] = dict.fromkeys(_KEY, polars.String) | {"change": polars.Float64, "margin": polars.Float64}
    types |= {"rounds": polars.Int64, "p": polars.Float64, "verdict": polars.String}
    columns = joined.join(Frame(rows, schema=types, orient="row"), on=_KEY, how="left", maintain_order="left")
    change, margin = polars.col("change"), polars.col("margin")
    shares = {"speed": change, "speed_low": change - margin, "speed_high": change + margin}
    return columns.with_columns(
        polars.col("value").alias("other"),
        polars.col("rounds").fill_null(0),
        polars.col("p").fill_null(1.0),
        polars.col("verdict").fill_null(UNCLEAR),
        *((share.exp() - 1).alias(name) for name, share in shares.items()),
    )


def _verdict(
    sides: Sequence[_Beside], heads: Sequence[RunHead], base: str, threshold: float
) -> tuple[Outcome, Finding]:
    """Return the verdict on the worst side; of those that hold on one that differs."""
    if any(head.modelled for head in heads):
        return Outcome.UNTESTED, note("ab.modelled")

    def rank(one: tuple[Outcome, Finding]) -> tuple[int, bool, bool, int]:
        outcome, finding = one
        count = finding.facts.get("count", finding.facts.get("unclear", 0))
        return _WORST_FIRST.index(outcome), finding.code != "ab.failed", finding.code == "ab.same", -count

    return min((side.outcome(base, threshold) for side in sides), key=rank)


def _said(run: Run) -> Json:
    """Return what a run says of its side: name, settings, and versions of what the engine loaded."""
    said = run.header["interleaved"]
    versions = dict((run.header.get("engine") or {}).get("versions") or {})
    return {"side": said["side"], "settings": list(said["settings"]), "versions": versions, "path": str(run.path)}


def _settings(runs: Sequence[Run], names: Sequence[str]) -> Iterator[Finding]:
    """Yield what each side was measured with, and the versions in which the sides differ."""
    said = [_said(run) for run in runs]
    differ = {name for one in said for name in one["versions"] if len({s["versions"].get(name) for s in said}) > 1}
    for name, one in zip(names, said, strict=True):
        facts = {"side": name.upper(), "settings": (settings := " ".join(one["settings"]))}
        told = [(what, text) for what, text in one["versions"].items() if what in differ and text not in settings]
        versions = ", ".join(f"{what} {text}" for what, text in told)
        yield note("ab.side-versions", versions=versions, **facts) if versions else note("ab.side", **facts)


def _next(outcome: Outcome, runs: Sequence[Run]) -> Iterator[Finding]:
    if outcome is not Outcome.UNTESTED:
        yield note("ab.next-full", runs=" ".join(str(run.path) for run in runs))
