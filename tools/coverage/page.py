"""The page docs/coverage.md: each name, the rows that cover it, and its state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tools.coverage.evidence import Evidence, Shown
from tools.coverage.names import Group, covered

RUN, COMPILED, NONE = "run", "compiled", "none"

_HEAD = """# Coverage

What other tools and studies measure on a node, by their own names, and the suite rows that measure it here. Written by
`python tools/coverage` out of `tools/coverage/names.yaml`, the suites and `tools/coverage/evidence.jsonl`; the test run
fails where it is out of date, where a name has neither a row nor a reason, or where a row claims a name nobody has.

- **run**: a row that covers it has given verified figures on hardware. The node and the day stand beside it, with the
  number of cases; those that the node could not run say why in the run file. So a figure over several GPUs may have
  run on one so far, and a name of a HIP build on NVIDIA's GPUs, by the row that it shares with that of the CUDA build.
- **compiled**: rows cover it and their methods compile, but no recorded run on hardware has figures yet.
- **none**: not to be had, for the reason given.
"""


def page(groups: Sequence[Group], evidence: Evidence) -> str:
    """The whole page."""
    rows = covered()
    every = [(name, reason) for group in groups for name, reason in group.names.items()]
    states = {name: state(reason, rows.get(name, ()), evidence) for name, reason in every}
    return "\n".join([_HEAD, _counts(groups, states), *(_group(group, states, rows, evidence) for group in groups)])


def state(reason: str | None, rows: Sequence[str], evidence: Evidence) -> str:
    """none without rows; run where any case of any row has been ok on hardware; else compiled."""
    if reason is not None or not rows:
        return NONE
    return RUN if any(shown.ok for row in rows for shown in evidence.of(row)) else COMPILED


def _group(group: Group, states: Mapping[str, str], rows: Mapping[str, Sequence[str]], evidence: Evidence) -> str:
    lines = [f"## {_cell(group.title)}", "", group.source, "", "| name | rows | state |", "|---|---|---|"]
    for name, reason in group.names.items():
        covering = rows.get(name, ())
        said = _said(states[name], reason, covering, evidence)
        lines.append(f"| {_cell(name)} | {' '.join(f'`{row}`' for row in covering)} | {_cell(said)} |")
    return "\n".join(lines) + "\n"


def _counts(groups: Sequence[Group], states: Mapping[str, str]) -> str:
    lines = ["| | run | compiled | none | all |", "|---|---|---|---|---|"]
    for group in groups:
        count = Counter(states[name] for name in group.names)
        lines.append(
            f"| {_cell(group.title)} | {count[RUN]} | {count[COMPILED]} | {count[NONE]} | {len(group.names)} |"
        )
    total = Counter(states.values())
    lines.append(f"| **all** | {total[RUN]} | {total[COMPILED]} | {total[NONE]} | {len(states)} |")
    return "\n".join(lines) + "\n"


def _said(state: str, reason: str | None, rows: Sequence[str], evidence: Evidence) -> str:
    if state == NONE:
        return f"none: {reason or 'no row'}"
    shown = [one for row in rows for one in evidence.of(row)]
    if state == RUN:
        return "run: " + "; ".join(_on(node, shown) for node in dict.fromkeys(one.node for one in shown if one.ok))
    why = next((one.reason for one in shown if one.reason), "")
    where = next((one.node for one in shown if one.reason), "")
    return f"compiled ({where}: {why})" if why else "compiled"


def _on(node: str, shown: Sequence[Shown]) -> str:
    """ "4 x NVIDIA H200, 2026-11-20, 12 cases": of those with figures; others are counted where there are any."""
    there = [one for one in shown if one.node == node]
    ok, skipped, failed = (sum(getattr(one, what) for one in there) for what in ("ok", "skipped", "failed"))
    others = [f"{count} {what}" for count, what in ((skipped, "skipped"), (failed, "failed")) if count]
    return ", ".join([node, max(one.date for one in there), f"{ok} case{'' if ok == 1 else 's'}", *others])


def _cell(text: str) -> str:
    """Text as a cell of a Markdown table."""
    return text.replace("|", "\\|")
