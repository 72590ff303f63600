"""Numbers as every screen, page and file writes them: rates, times, sizes, shares, factors, ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence

_MOST_DECIMALS = 9
_TIME_UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
"""Units of a time, and how many of each make a second."""
_LARGE_CHANGE = 10.0
"""Ratio from which a change is written as a factor."""
_MOST_CHANGE = 100.0
"""A larger ratio shows that a method was disturbed, or had not begun yet; its value says nothing."""


def number(value: float) -> str:
    """Return four significant digits, whole from 1000 on, without an exponent: "393.9", "55.55", "2082"."""
    digits = 0 if value == 0 else math.floor(math.log10(abs(value)))
    return f"{value:.{min(max(3 - digits, 0), _MOST_DECIMALS)}f}"


def brief(value: float) -> str:
    """Return two digits: "2.4", "16", "120"."""
    return f"{value:.0f}" if abs(value) >= 9.95 else f"{value:.1f}"


def percent(share: float) -> str:
    """Return "88%" of 0.88; below 10% one decimal unless that is 0: "5.5%", "6%", "<0.1%". From ten times on "14x".

    A negative share of less than 0.05% is "0%".
    """
    if share >= _LARGE_CHANGE:
        return factor(share)
    value = abs(share) * 100
    sign = "-" if share < 0 else ""
    if value >= 9.95:
        return f"{sign}{value:.0f}%"
    if 0 < value < 0.05:
        return "0%" if sign else "<0.1%"
    return f"{sign}{value:.1f}".removesuffix(".0") + "%"


def change(share: float) -> str:
    """Return "+9.3%" or "-49%" of a relative change; from ten times on a factor, "12x", beyond a hundred ">100x"."""
    if 1 + share > _MOST_CHANGE:
        return f">{factor(_MOST_CHANGE)}"
    if 1 + share >= _LARGE_CHANGE:
        return factor(1 + share)
    return f"{'-' if share < 0 else '+'}{percent(abs(share))}"


def margin(share: float) -> str:
    """Return "±0.1%" of a relative half width."""
    return f"±{percent(share)}"


def factor(ratio: float) -> str:
    """Return "2.4x" of a ratio; whole from ten on."""
    return f"{ratio:.0f}x" if ratio >= 9.95 else f"{ratio:.1f}x"


def size(count: float) -> str:
    """Return a binary size: "512 MiB", "1.5 KiB", "96 B"."""
    value, unit = _size(count)
    return f"{value} {unit}"


def sizes(first: float, last: float) -> str:
    """Return a range of sizes: "16-21 MiB", "4 KiB - 4 MiB", "16 MiB"."""
    (low, low_unit), (high, high_unit) = _size(first), _size(last)
    if (low, low_unit) == (high, high_unit):
        return f"{low} {low_unit}"
    return f"{low}-{high} {low_unit}" if low_unit == high_unit else f"{low} {low_unit} - {high} {high_unit}"


def _size(count: float) -> tuple[str, str]:
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.4g}", unit


def time_unit(seconds: float) -> str:
    """Return ns below 10 us, us below 10 ms, ms below 10 s, else s."""
    return "ns" if seconds < 1e-5 else "us" if seconds < 1e-2 else "ms" if seconds < 10 else "s"


def in_unit(seconds: float, unit: str) -> float:
    """Return a time in ns, us, ms or s."""
    return seconds * _TIME_UNITS[unit]


def time(seconds: float) -> str:
    """Return a time in the unit that suits it: "825.0 ns", "8.700 us"."""
    unit = time_unit(abs(seconds))
    return f"{number(in_unit(seconds, unit))} {unit}"


def time_range(first: float, last: float) -> str:
    """Return "825.1-832.2 ns", or one time where both are written alike."""
    unit = time_unit(abs(last))
    return f"{number_range(in_unit(first, unit), in_unit(last, unit))} {unit}"


def shared_time_unit(seconds: Sequence[float]) -> str:
    """Return one unit for all times of a column: that of the median."""
    known = sorted(abs(one) for one in seconds if one)
    return time_unit(known[len(known) // 2]) if known else "ns"


def duration(seconds: float) -> str:
    """Return "40 s", "12 min" or "3.5 h": for how long work takes."""
    if seconds < 100:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5970 else f"{seconds / 3600:.1f} h"


def number_range(first: float, last: float) -> str:
    """Return "374.1-396.4", or one number where both are written alike."""
    low, high = number(first), number(last)
    return low if low == high else f"{low}-{high}"


def percent_range(first: float, last: float) -> str:
    """Return "95-100%", or one percentage where both are written alike."""
    low, high = percent(first), percent(last)
    return low if low == high else f"{low.removesuffix('%')}-{high}"


def change_range(first: float, last: float) -> str:
    """Return "+16% to +436%", "up to +43%" from exactly 0, or one change where both are written alike."""
    low, high = change(first), change(last)
    return low if low == high else f"up to {high}" if first == 0 else f"{low} to {high}"


def count(value: int, noun: str, plural: str = "") -> str:
    """Return "1 result", "3 results", "2 processes"."""
    if value == 1:
        return f"1 {noun}"
    return f"{value:,} {plural or plural_of(noun)}".replace(",", "" if abs(value) < 10_000 else ",")


def plural_of(noun: str) -> str:
    """Return the plural of a noun, or of the last word of several."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def listed(words: Sequence[str], most: int = 4) -> str:
    """Return "a, b and c"; of more than ``most`` the first, and how many more there are."""
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} and {len(words) - most + 1} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
