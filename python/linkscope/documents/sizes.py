"""The grammar of sizes and counts: "512M", "1K,64K", "4K:1G:2x", "1:max:2x"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from linkscope.errors import LinkscopeError

_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_BYTES = re.compile(r"(?<=[kmgt])i?b$", re.IGNORECASE)
_STEP = re.compile(r"(\d+(?:\.\d+)?)x", re.IGNORECASE)
LARGEST_BYTES = 1 << 46
"""No buffer of a node is larger (64 TiB); sizes above it are typing errors."""
MOST_VALUES = 10_000
"""In one list or range."""


def parse_size(text: str, least: int = 1) -> int:
    """Bytes of "512M", "512MiB", "96", "1.5G". Units are binary; "MB" is refused as ambiguous.

    Raises LinkscopeError for anything else, for sizes below ``least`` (0 or 1) and beyond ``LARGEST_BYTES``.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise LinkscopeError(f"malformed size {text!r}: write bytes (4096), 64K, 512M, 1.5G, or a range like 4K:1G:2x")
    number, unit, suffix = match.groups()
    if unit and suffix and suffix.lower() == "b":
        raise LinkscopeError(f"ambiguous size {text!r}: sizes are binary, write {number}{unit}iB or {number}{unit}")
    size = float(number) * (1 << _UNITS[unit.lower()])
    if not least <= size <= LARGEST_BYTES or size != int(size):
        raise LinkscopeError(f"size {text!r} is out of range: a whole number of bytes from {least} to 64T")
    return int(size)


def parse_sizes(text: str, least: int = 1) -> list[int]:
    """Bytes of a comma-separated list of sizes and ranges, ascending, without duplicates.

    A range is ``FIRST:LAST:FACTORx`` (factor above 1; LAST is included where a step meets it). ``least``: 0 where
    messages may be empty. Raises LinkscopeError, one line, for anything malformed.
    """
    return _parse_list(text, lambda part: parse_size(part, least))


def early_ends(text: str) -> list[str]:
    """List the ranges of a list for ``parse_sizes`` whose last size is not their LAST, with the size where each
    ends: "8:1M:8x ends at 256 KiB".
    """
    ranges = [part.strip() for part in text.split(",") if ":" in part]
    ends = {part: (parse_sizes(part, least=0)[-1], parse_size(part.split(":")[1], least=0)) for part in ranges}
    return [f"{part} ends at {format_bytes(end)}" for part, (end, last) in ends.items() if end != last]


def parse_counts(text: str, most: int) -> list[int]:
    """Whole numbers of a list or range such as "1,2,max" or "1:max:2x"; ``max`` stands for ``most``.

    Counts above ``most`` are left out, and the end of a range that reads ``max`` is always included.
    """
    bounded = re.sub(r"\bmax\b", str(most), text)
    counts = [count for count in _parse_list(bounded, _parse_count) if count <= most]
    if "max" in text and most not in counts:
        counts.append(most)
    return counts


def format_bytes(size: int) -> str:
    """ "512 MiB", "96 B": binary, exact or with one decimal."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            whole, rest = divmod(size, 1 << power)
            return f"{whole} {unit}" if rest == 0 else f"{size / (1 << power):.1f} {unit}"
    return f"{size} B"


def _parse_count(text: str) -> int:
    if re.fullmatch(r"0*[1-9][0-9]{0,17}", text.strip()) is None:
        raise LinkscopeError(f"malformed count {text!r}: write a whole number from 1, or a range like 1:8:2x")
    return int(text)


def _parse_list(text: str, parse_one: Callable[[str], int]) -> list[int]:
    values: set[int] = set()
    for part in text.split(","):
        values.update(_parse_range(part, parse_one) if ":" in part else [parse_one(part)])
        _check_number(len(values), text)
    return sorted(values)


def _parse_range(text: str, parse_one: Callable[[str], int]) -> list[int]:
    pieces = text.split(":")
    step = _STEP.fullmatch(pieces[-1].strip()) if len(pieces) == 3 else None
    if step is None:
        raise LinkscopeError(f"malformed range {text!r}: write {_mended(pieces, parse_one)}")
    first, last, factor = parse_one(pieces[0]), parse_one(pieces[1]), float(step.group(1))
    if not 1 < factor <= LARGEST_BYTES:
        raise LinkscopeError(f"malformed range {text!r}: the factor must be above 1, and no more than 64T")
    if last < first:
        raise LinkscopeError(f"malformed range {text!r}: it ends below its start")
    values, exact = [], float(first)
    while round(exact) <= last:
        values.append(round(exact))
        exact = max(exact * factor, round(exact) + 1)
        _check_number(len(values), text)
    return values


def _mended(pieces: Sequence[str], parse_one: Callable[[str], int]) -> str:
    """The range that was meant: "1:4M:2x" of 1:4MB, "1:8:3x" of 1:8:3; what a range is where nobody can tell."""
    ends = [_BYTES.sub("", piece.strip()) for piece in (pieces[:2] if len(pieces) <= 3 else ())]
    factor = re.match(r"\d+(\.\d+)?", pieces[2].strip()) if len(pieces) == 3 else None
    meant = f"{':'.join(ends)}:{factor[0] if factor else 2}x"
    try:
        _parse_range(meant, parse_one)
    except LinkscopeError:
        return "FIRST:LAST:FACTORx, for example 4K:1G:2x"
    return meant


def _check_number(count: int, text: str) -> None:
    """Raises LinkscopeError as soon as there are too many."""
    if count > MOST_VALUES:
        short = text if len(text) <= 40 else f"{text[:37]}..."
        raise LinkscopeError(f"{short!r} stands for more than {MOST_VALUES:,} values: take a larger factor")
