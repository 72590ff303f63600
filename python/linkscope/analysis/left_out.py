"""Left out: the figures of a run that `explain` cannot hold against anything, counted by the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from linkscope.analysis.headline import BUS, Headline, headline
from linkscope.analysis.ledger import SATURATED
from linkscope.results.figure_class import FigureClass, figure_class
from linkscope.results.row import Row

TOGETHER = "of several flows at once"
OF_WORKLOADS = "of workloads"
OF_CPUS = "of CPUs alone"
OF_PROCESSES = "of collectives and messages"
OF_NO_LINK = "of paths whose links the import does not name"
OTHERS = "of other kinds"
MOST_NAMED = 3
"""Suite rows of other kinds; more are counted."""
_BY_CLASS = {
    FigureClass.CPU: OF_CPUS,
    FigureClass.PROCESSES: OF_PROCESSES,
    FigureClass.PAGEABLE: "in pageable memory",
}


def left_out(
    rows: Iterable[Row], judged: Collection[str], collectives: Collection[str] = (), links_unknown: bool = False
) -> dict[str, int]:
    """How many figures of ``rows`` (taken apart) are not of a case in ``judged``, nor the bus bandwidth of one in
    ``collectives``, by the reason, the most first. ``links_unknown``: nothing is known of any link, as of an import
    that was given no machine."""
    some = [
        (row, _reason(row, found, links_unknown))
        for row in rows
        if row.id not in judged and (found := headline(row)) and not (row.id in collectives and found.what == BUS)
    ]
    others = list(dict.fromkeys(row.name for row, reason in some if reason == OTHERS))
    more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
    named = {OTHERS: f"of other suite rows ({', '.join(others[:MOST_NAMED])}{more})"}
    return dict(Counter(named.get(reason, reason) for _, reason in some).most_common())


def _reason(row: Row, figure: Headline, links_unknown: bool) -> str:
    flows, kind = row.case["flows"], figure_class(row.case)
    if "schedule" in flows[0]:
        return OF_WORKLOADS
    if kind in _BY_CLASS:
        return _BY_CLASS[kind]
    if len(flows) > 1:
        return TOGETHER
    if links_unknown and "source" in flows[0] and flows[0].get("parameters", {}).get("call") is None:
        return OF_NO_LINK
    if not figure.higher_is_better:
        return "of calls and of the host's answers"
    if flows[0].get("bytes", 0) < SATURATED:
        return f"below {SATURATED >> 20} MiB, where rates still grow with size"
    return OTHERS
