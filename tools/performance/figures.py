"""The figures of docs/performance.md: figures.yaml, and the run files that it names."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from linkscope.documents.sizes import parse_size
from linkscope.figures.collective import Collective
from linkscope.results.run_file import RunFile

ROOT = Path(__file__).resolve().parents[2]
FILE = Path(__file__).with_name("figures.yaml")
Json = dict[str, Any]


@dataclass(frozen=True)
class Compared:
    """One line of the comparison. ``figures``: a ratio to the peer for each case, or figures of ``unit``.

    ``low`` and ``high`` enclose them; ``met`` is how many of how many reach the target, None without a target.
    ``readme`` is what README.md calls it, "" if it does not stand there.
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
    note: str
    readme: str


Key = tuple[str, str, int]
"""Row and form ("direct graph"), kind and size of a collective."""


@dataclass(frozen=True)
class Recorded:
    """Collectives of a run: the time of one call, and its bus bandwidth in GB/s."""

    seconds: dict[Key, float]
    bus: dict[Key, float]

    @classmethod
    def of(cls, run: RunFile) -> Recorded:
        """Times are means of the members' medians."""
        recorded = cls({}, {})
        for row in run.with_status("ok"):
            flow = row.case["flows"][0]
            kind = flow["parameters"]["collective"]
            key = (f"{row.case['name']} {flow['parameters']['form']}", kind, flow["bytes"])
            seconds = statistics.mean(one.seconds.median for one in row.flows)
            factor = Collective(kind, tuple(member["device"] for member in flow["members"])).bus_factor
            recorded.seconds[key] = seconds
            recorded.bus[key] = factor * flow["bytes"] / seconds * 1e-9
        return recorded


@dataclass(frozen=True)
class Figures:
    """Everything that the page shows. ``runs`` holds node, date, command and libraries of each run."""

    raw: Json

    @classmethod
    def load(cls) -> Figures:
        return cls(yaml.safe_load(FILE.read_text(encoding="utf-8")))

    @cached_property
    def files(self) -> dict[str, RunFile]:
        """The run files, by the name of their run."""
        return {name: RunFile.read(ROOT / run["file"]) for name, run in self.raw["runs"].items() if "file" in run}

    @cached_property
    def runs(self) -> dict[str, Json]:
        """Of a run file, date and command are the file's own."""
        return {name: run | self._header(name) for name, run in self.raw["runs"].items()}

    def _header(self, name: str) -> Json:
        if name not in self.files:
            return {}
        header = self.files[name].header
        return {"date": header["started"][:10], "command": " ".join(header["command"])}

    @property
    def compared(self) -> list[Compared]:
        """The lines of the comparison, in order."""
        return [self._line(entry) for entry in self.raw["beside"]]

    @cached_property
    def recorded(self) -> dict[str, Recorded]:
        """The collectives of the run files that hold some."""
        others = ("default", *self.raw["applications"], *self.raw["orders"])
        return {name: Recorded.of(run) for name, run in self.files.items() if name not in others}

    def ratios(self, run: str, rows: Sequence[str], kinds: Sequence[str], sizes: Sequence[str]) -> list[float]:
        """The first row's time over the second's, for each kind and size; of one row its time in us."""
        seconds = self.recorded[run].seconds
        wanted = [(kind, parse_size(size)) for kind in kinds for size in sizes]
        ours = [seconds[rows[0], kind, size] for kind, size in wanted]
        if len(rows) == 1:
            return [one * 1e6 for one in ours]
        return [one / seconds[rows[1], kind, size] for one, (kind, size) in zip(ours, wanted, strict=True)]

    def _line(self, entry: Json) -> Compared:
        figures, ends = self._numbers(entry)
        target = entry.get("target", {})
        met = tuple(entry["met"]) if "met" in entry else (sum(meets(one, target) for one in figures), len(figures))
        unit = entry.get("unit", "us" if len(entry.get("recorded", {}).get("rows", ())) == 1 else "")
        known = (entry["peer"], entry["what"], tuple(figures), min(ends), max(ends))
        words = (entry["run"], entry.get("note", ""), entry.get("readme", ""))
        return Compared(*known, unit, target, met if target else None, *words)

    def _numbers(self, entry: Json) -> tuple[list[float], list[float]]:
        """The figures, and the numbers whose least and greatest enclose them."""
        if "value" in entry:
            return [entry["value"]], [entry["value"]]
        if "parts" in entry:
            return [], [end for ends in entry["parts"].values() for end in ends]
        if "recorded" in entry:
            asked = entry["recorded"]
            times = self.ratios(entry["run"], asked["rows"], asked["kinds"], asked["sizes"])
            # Of the same bytes the ratio of bandwidths is that of times, the other way up.
            figures = [1 / one for one in times] if asked.get("figure") == "bandwidth" else times
            return figures, figures
        cases = entry["cases"].values()
        figures = [ours / theirs for ours, theirs, *_ in cases]
        return figures, [end for case, one in zip(cases, figures, strict=True) for end in (case[2:] or [one])]


def meets(figure: float, target: Mapping[str, float]) -> bool:
    """Whether a figure reaches a target; to four digits, as they are printed."""
    figure = round(figure, 4)
    return (
        figure >= target.get("at_least", figure)
        and figure <= target.get("at_most", figure)
        and abs(figure - 1) <= target.get("within", float("inf")) + 1e-9
    )
