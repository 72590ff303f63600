"""Figures: the CSVs of bench/results, and the comparisons that comparisons.yaml makes of them."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from tools.performance.recorded import recorded_lines
from tools.performance.result_line import ResultLine, csv_text, read_lines, written

from linkscope.results.run_file import RunFile

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("comparisons.yaml")
RESULTS = ROOT / "bench" / "results"
COMPARISONS = "comparisons"
Json = dict[str, Any]


@dataclass(frozen=True)
class Origin:
    """The first line of a CSV: ``libraries`` are those that took part."""

    node: str
    date: str
    command: str
    libraries: str = ""

    @classmethod
    def of(cls, text: str) -> Origin:
        """Return what the first line of a CSV says."""
        return cls(*text.split("\n", 1)[0].removeprefix("# ").split("; ", 3))

    def __str__(self) -> str:
        known = (self.node, self.date, self.command, self.libraries)
        return "; ".join(one for one in known if one)

    @property
    def kind(self) -> str:
        """Return the node without the letter that tells nodes of one kind apart."""
        return re.split(r" \(|, | and ", self.node)[0]


@dataclass(frozen=True)
class Compared:
    """One comparison. ``figures``: a ratio to the peer per case, or a result in ``unit``; ``low`` and ``high`` enclose
    them. ``met``: how many of how many reach the target, None without a target. ``short``: its name in README.md.
    """

    peer: str
    what: str
    figures: tuple[float, ...]
    low: float
    high: float
    unit: str
    target: Mapping[str, float]
    met: tuple[int, int] | None
    run: str
    reason: str
    short: str

    @property
    def median(self) -> float | None:
        """Return the median over the cases, None where only bounds of groups are known."""
        return statistics.median(self.figures) if self.figures else None

    @property
    def is_missed(self) -> bool:
        """Return whether a case is outside the target."""
        return self.met is not None and self.met[0] < self.met[1]


@dataclass(frozen=True)
class Figures:
    """What docs/performance.md and bench/results are made of."""

    raw: Json

    @classmethod
    def load(cls) -> Figures:
        """Return the checkout's."""
        return cls(yaml.safe_load(FILE.read_text(encoding="utf-8")))

    @cached_property
    def files(self) -> dict[str, RunFile]:
        """Return the run files of this repository, by the name of their run."""
        return {name: RunFile.read(ROOT / run["file"]) for name, run in self.raw["runs"].items()}

    @cached_property
    def by_hand(self) -> dict[str, str]:
        """Return the CSVs that nothing generates, by the name of their run."""
        made = {COMPARISONS, *self.raw["runs"]}
        paths = (path for path in sorted(RESULTS.glob("*.csv")) if path.stem not in made)
        return {path.stem: path.read_text(encoding="utf-8") for path in paths}

    @cached_property
    def origins(self) -> dict[str, Origin]:
        """Return node, date and command of each run."""
        known = {name: Origin.of(text) for name, text in self.by_hand.items()}
        for name, run in self.raw["runs"].items():
            header = self.files[name].header
            known[name] = Origin(run["node"], header["started"][:10], " ".join(header["command"]), run.get("with", ""))
        return known

    @cached_property
    def lines(self) -> dict[str, list[ResultLine]]:
        """Return the lines of each run."""
        recorded = {name: recorded_lines(name, self.files) for name in self.files}
        return {name: read_lines(text) for name, text in self.by_hand.items()} | recorded

    @cached_property
    def compared(self) -> list[Compared]:
        """Return the comparisons, in order."""
        return [self._compared(entry) for entry in self.raw["comparisons"]]

    @property
    def made(self) -> dict[str, str]:
        """Return the generated CSVs, by file name."""
        texts = {name: written(str(self.origins[name]), self.lines[name]) for name in self.files}
        texts[COMPARISONS] = self._comparisons()
        return {f"{name}.csv": text for name, text in texts.items()}

    def _comparisons(self) -> str:
        columns = ("what", "peer", "median", "low", "high", "unit", "target", "met", "of", "run", "node", "date")
        rows = []
        for one in self.compared:
            origin = self.origins[one.run]
            bounds = (one.median if one.median is not None else "", one.low, one.high, one.unit)
            rows.append(
                (one.what, one.peer, *bounds, target(one), *(one.met or ("", "")), one.run, origin.node, origin.date)
            )
        return csv_text("node and date in each line; python tools/performance", columns, rows)

    def _compared(self, entry: Json) -> Compared:
        named = [line for line in self.lines[entry["run"]] if line.what == entry.get("lines", entry["what"])]
        lines = [line for line in named if re.fullmatch(entry.get("cases", ".*"), line.case)]
        if not lines:
            raise ValueError(f"{entry['run']}.csv has no line {entry.get('lines', entry['what'])!r}")
        figures = tuple(line.ratio for line in lines if line.ratio is not None)
        ends = [end for line in lines for end in (line.low, line.high, line.ratio) if end is not None]
        wanted = entry.get("target", {})
        met = tuple(entry["met"]) if "met" in entry else (sum(meets(one, wanted) for one in figures), len(figures))
        return Compared(
            entry.get("peer", ""),
            entry["what"],
            figures,
            min(ends),
            max(ends),
            "" if lines[0].peer or not figures else lines[0].unit,
            wanted,
            met if wanted else None,
            entry["run"],
            entry.get("reason", ""),
            entry.get("short", ""),
        )


def target(one: Compared) -> str:
    """Return the target in words, "" where there is none."""
    words = {"at_least": "at least {:g}", "at_most": "at most {:g}", "within": "within {:.0f}%"}
    said = [words[word].format(limit * 100 if word == "within" else limit) for word, limit in one.target.items()]
    return f"{' '.join(said)} {one.unit}".strip().replace(" %", "%") if said else ""


def meets(figure: float, wanted: Mapping[str, float]) -> bool:
    """Return whether a figure reaches a target, both with four digits as they are printed."""
    figure = round(figure, 4)
    return (
        figure >= wanted.get("at_least", figure)
        and figure <= wanted.get("at_most", figure)
        and abs(figure - 1) <= wanted.get("within", float("inf")) + 1e-9
    )
