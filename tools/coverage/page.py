"""The page docs/coverage.md: each name, the command that measures it, the tests that cover it, and its state.

Names with one command and one state share a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os.path import commonprefix

from tools.coverage.evidence import Evidence, Shown
from tools.coverage.names import Group, covered

from linkscope.plan.suite import Suite
from linkscope.plan.suites import load_suite

RUN, COMPILED, NONE = "run", "compiled", "none"

_HEAD = """# Coverage

After this page you can measure here what a benchmark of another tool or study measures. Search the benchmark's name and
run its command. `first` is the command to start with, `all` measures every name of the tool.
"""
_STATES = """
| state | meaning |
|---|---|
| run | verified results of at least one case on hardware; node, date and cases of the newest run |
| compiled | the methods compile; no recorded run has results |
| none | not available, with the reason |

Names of a HIP build share a test with the CUDA build, and count as run where that test has run. `python tools/coverage`
writes this page from `tools/coverage/names.yaml`, the suites and `tools/coverage/evidence.jsonl`.
"""


def page(groups: Sequence[Group], evidence: Evidence) -> str:
    """Return the whole page."""
    rows = covered()
    every = [(name, reason) for group in groups for name, reason in group.names.items()]
    states = {name: state(reason, rows.get(name, ()), evidence) for name, reason in every}
    return "\n".join(
        [_HEAD, _counts(groups, states, rows), _STATES, *(_group(group, states, rows, evidence) for group in groups)]
    )


def state(reason: str | None, rows: Sequence[str], evidence: Evidence) -> str:
    """Return none without rows, run where any case of any row has been ok on hardware, else compiled."""
    if reason is not None or not rows:
        return NONE
    return RUN if any(shown.ok for row in rows for shown in evidence.of(row)) else COMPILED


def _group(group: Group, states: Mapping[str, str], rows: Mapping[str, Sequence[str]], evidence: Evidence) -> str:
    lines = [
        f"## {_cell(group.title)}",
        "",
        group.source,
        "",
        "| benchmark | command | state |",
        "|---|---|---|",
    ]
    alike: dict[tuple[str, str], list[str]] = {}
    for name, reason in group.names.items():
        covering = rows.get(name, ())
        alike.setdefault((command(covering), _said(states[name], reason, covering, evidence)), []).append(name)
    for (typed, said), names in alike.items():
        lines.append(f"| {_cell(', '.join(names))} | {_cell(typed)} | {_cell(said)} |")
    return "\n".join(lines) + "\n"


def _counts(groups: Sequence[Group], states: Mapping[str, str], rows: Mapping[str, Sequence[str]]) -> str:
    lines = ["| | first | all | run | compiled | none | names |", "|---|---|---|---|---|---|---|"]
    for group in groups:
        count = Counter(states[name] for name in group.names)
        everything = _run(_suites([row for name in group.names for row in rows.get(name, ())]))
        counts = f"{count[RUN]} | {count[COMPILED]} | {count[NONE]} | {len(group.names)}"
        lines.append(f"| {_cell(group.title)} | `linkscope {group.start}` | {everything} | {counts} |")
    total = Counter(states.values())
    lines.append(f"| **all** | | | {total[RUN]} | {total[COMPILED]} | {total[NONE]} | {len(states)} |")
    return "\n".join(lines)


def _suites(rows: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(row.partition("/")[0] for row in rows))


def command(rows: Sequence[str]) -> str:
    """What measures these tests: no others where one word picks them, else with more, and they are named."""
    suites = _suites(rows)
    named = f"{_run(suites)}: {' '.join(f'`{row}`' for row in rows)}" if rows else ""
    if len(suites) != 1:
        return named
    (suite,) = suites
    known = [f"{suite}/{name}/" for name in _names_of(load_suite(suite))]
    wanted = {f"{row}/" for row in rows}
    begun = commonprefix(sorted(wanted))  # noqa: RUF071 - characters are meant, as -k takes them
    alone = begun and {row for row in known if begun in row} == wanted
    return _run(suites, f" -k {begun}") if alone else named


def _names_of(suite: Suite) -> list[str]:
    return [*(row.name for row in suite.rows), *(workload.name for workload in suite.workloads)]


def _run(suites: Sequence[str], options: str = "") -> str:
    return f"`linkscope run {' '.join(suites)}{options}`" if suites else ""


def _said(state: str, reason: str | None, rows: Sequence[str], evidence: Evidence) -> str:
    if state == NONE:
        return f"none: {reason or 'no test'}"
    shown = [one for row in rows for one in evidence.of(row)]
    if state == RUN:
        return "run: " + "; ".join(_on(node, shown) for node in dict.fromkeys(one.node for one in shown if one.ok))
    why = next((one.reason for one in shown if one.reason), "")
    where = next((one.node for one in shown if one.reason), "")
    return f"compiled ({_short(where)}: {why})" if why else "compiled"


def _on(node: str, shown: Sequence[Shown]) -> str:
    """ "4 x H200, 2026-11-20, 12 cases": those with results; others are counted where there are any."""
    there = [one for one in shown if one.node == node]
    ok, skipped, failed = (sum(getattr(one, what) for one in there) for what in ("ok", "skipped", "failed"))
    others = [f"{count} {what}" for count, what in ((skipped, "skipped"), (failed, "failed")) if count]
    return ", ".join([_short(node), max(one.date for one in there), f"{ok} case{'' if ok == 1 else 's'}", *others])


def _short(node: str) -> str:
    """Return a node's name without its vendor: "4 x H200"."""
    return node.replace("NVIDIA ", "").replace("Intel(R) Xeon(R)", "Xeon")


def _cell(text: str) -> str:
    """Text as a cell of a Markdown table."""
    return text.replace("|", "\\|")
