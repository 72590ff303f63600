"""What a way costs more than the best, as choices tell it."""

from __future__ import annotations

from linkscope.analysis.choose import AtSize
from linkscope.analysis.size_ranges import AS_GOOD

UNDECIDED = " ?"
"""After what a way costs more, where intervals do not tell it apart from the best."""


def cost(at: AtSize, name: str) -> str:
    """Of a way at a size: "best", "equal" where it is within 1 %, "+12 %", "+12 % ?" where intervals do not tell it
    apart from the best; empty where it was not measured."""
    shares = dict(at.excess)
    share = shares.get(name)
    if share is None:
        return ""
    if share <= AS_GOOD:
        return "best" if sum(one <= AS_GOOD for one in shares.values()) == 1 else "equal"
    return percent(share) + (UNDECIDED if name in at.best else "")


def cost_range(least: float, most: float) -> str:
    """What a way costs over a range of sizes: "+12 % to +30 %", "up to +12 %"."""
    low, high = percent(least, most), percent(most)
    if low == high:
        return low
    return f"up to {high}" if least <= AS_GOOD else f"{low} to {high}"


def percent(share: float, most: float = 0.0) -> str:
    """As the greatest that stands beside it is told: "+12 %", or "x1.12" beside "x15"."""
    return f"+{share * 100:.0f} %" if max(share, most) < 10 else f"x{1 + share:.3g}"
