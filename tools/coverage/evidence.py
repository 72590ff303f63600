"""Evidence: which tests have run on which hardware, out of run files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.coverage.names import home_of

from linkscope.errors import LinkscopeError
from linkscope.plan.suites import suite_names
from linkscope.results.run_file import RunFile


@dataclass(frozen=True)
class Shown:
    """What one run showed of one row: its cases by outcome. ``reason``: why the first skipped one was."""

    node: str
    date: str
    ok: int
    skipped: int
    failed: int
    reason: str = ""


class Evidence:
    """suite/row -> what each node showed of it, the newest run of a node alone."""

    def __init__(self, rows: dict[str, tuple[Shown, ...]]) -> None:
        self._rows = rows

    @staticmethod
    def read(path: Path) -> Evidence:
        """What ``write`` wrote: a line for a node's rows of one suite and day. Nothing where there is no such file."""
        rows: dict[str, list[Shown]] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            record = json.loads(line)
            for name, (ok, skipped, failed, *reason) in record["rows"].items():
                shown = Shown(record["node"], record["date"], ok, skipped, failed, *reason)
                rows.setdefault(f"{record['suite']}/{name}", []).append(shown)
        return Evidence({row: _in_order(shown) for row, shown in rows.items()})

    def write(self, path: Path) -> None:
        lines: dict[tuple[str, str, str], dict[str, list[object]]] = {}
        for row, all_shown in sorted(self._rows.items()):
            suite, name = row.split("/", 1)
            for one in all_shown:
                counts = [one.ok, one.skipped, one.failed, *filter(None, [one.reason])]
                lines.setdefault((suite, one.node, one.date), {})[name] = counts
        records = [
            {"suite": suite, "node": node, "date": date, "rows": lines[suite, node, date]}
            for suite, node, date in sorted(lines)
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    def rows(self) -> set[str]:
        """Every suite/row that some node showed anything of."""
        return set(self._rows)

    def of(self, row: str) -> tuple[Shown, ...]:
        return self._rows.get(row, ())

    def take(self, path: Path) -> None:
        """Takes a run of packaged suites. Raises LinkscopeError for a modelled run, which shows nothing of hardware."""
        run = RunFile.read(path)
        if run.modelled:
            raise LinkscopeError(f"{path} is modelled: only measured runs are evidence")
        counts: dict[str, Counter[str]] = {}
        reasons: dict[str, str] = {}
        for row in run.rows:
            home = home_of(row.suite, row.name) if row.suite in suite_names() else ""
            if not home:
                continue
            counts.setdefault(home, Counter())[row.status] += 1
            if row.status == "skipped" and row.reason:
                reasons.setdefault(home, row.reason)
        node, date = run.node.name, str(run.header["started"])[:10]
        for home, count in counts.items():
            shown = Shown(node, date, count["ok"], count["skipped"], count["failed"], reasons.get(home, ""))
            self._rows[home] = _with(self.of(home), shown)


def _with(known: tuple[Shown, ...], new: Shown) -> tuple[Shown, ...]:
    """``new`` in the place of what its node showed before, unless that is newer."""
    if any(one.node == new.node and one.date > new.date for one in known):
        return known
    return _in_order([*(one for one in known if one.node != new.node), new])


def _in_order(shown: Iterable[Shown]) -> tuple[Shown, ...]:
    return tuple(sorted(shown, key=lambda one: one.node))
