"""Row times: the time of a row's first measured flow, with the interval that few samples of one replicate have."""

from __future__ import annotations

from linkscope.results.row import Row
from linkscope.statistics.interval import Interval
from linkscope.statistics.ranks import interval_of_range


def time_of(row: Row) -> Interval:
    """Return the seconds of one transfer of an ok row.

    The range of two to five samples is narrower than the 95% interval of their median, which is then wider.
    """
    stats = row.measured_flows[0][1].seconds
    low, high = stats.low, stats.high
    if len(row.measured) < 2 and not row.noise:
        low, high = interval_of_range(stats.n, stats.median, low, high)
    return Interval(stats.median, low, high)
