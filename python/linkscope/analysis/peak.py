"""Peak of a row's headline: figures/peak.py for older analyses."""

from __future__ import annotations

from linkscope.analysis.headline import asked, touched_ratio
from linkscope.figures.columns import ABOVE_PEAK as ABOVE
from linkscope.figures.peak import Peak
from linkscope.figures.peak import peak as peak_of
from linkscope.machine.paths import Paths
from linkscope.results.case_traffic import both_ways, traffic_of
from linkscope.results.row import Row

__all__ = ["ABOVE", "Peak", "both_ways", "peak", "traffic_of"]


def peak(row: Row, paths: Paths) -> Peak | None:
    """Return the limit of the row's headline; None where the topology does not know it, and between hosts."""
    figure, measured = asked(row), row.measured_flows
    found = None if row.between else peak_of(row.case, figure, paths)
    if found is None or figure != "touched":
        return found
    limit = found.of(touched_ratio(*measured[0])) if measured else None
    return None if limit is None else Peak(limit, found.why)
