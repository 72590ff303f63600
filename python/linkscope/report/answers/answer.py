"""AnswerText: how the table that answers a question is put into words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from polars import DataFrame

from linkscope.report import wording

Line = dict[str, Any]

WITHIN = ("", "local", "mixed")
"""Tiers that say nothing which the movement does not say."""
_USUAL = ("", "device > device", "pinned > device", "device > pinned", "pageable > pageable", "device", "pageable")
"""Memories that the movement lets one expect."""


@dataclass(frozen=True)
class AnswerText:
    """``conclude``: one sentence, of a table that has lines. ``label`` names a line; ``columns``: heading and text.

    ``legend``: what the headings mean, below the table. ``order``: the table with its telling lines first. ``devices``:
    of a line, where lines that differ in devices alone stand together; they are those with the same label once
    ``devices`` are taken from it.
    """

    conclude: Callable[[DataFrame], str]
    label: Callable[[Line], str]
    columns: Mapping[str, Callable[[Line], str]]
    legend: str = ""
    order: Callable[[DataFrame], DataFrame] = lambda table: table
    devices: Callable[[Line], Sequence[str]] = lambda line: ()


def where(line: Line) -> str:
    """Such as "GPU to GPU, nvlink-18, both ways"."""
    tier = line.get("tier") or ""
    return words(line["movement"], "" if tier in WITHIN else tier, line.get("together"))


def how(line: Line) -> str:
    """Such as "copy-engine push", and what is not usual: memories, parameters, the environment."""
    ends = ("source_memory", "destination_memory", "members_memory")
    memories = " > ".join(line[end] for end in ends if line.get(end))
    done = " ".join(word for word in (line["method"], line.get("role")) if word)
    parameters = [word for word in (line.get("parameters") or "").split() if not word.startswith("collective=")]
    return words(done, "" if memories in _USUAL else memories, *parameters, line.get("environment"))


def words(*found: str | None) -> str:
    """Those that are not empty, with commas."""
    return ", ".join(word for word in found if word)


def span(*ends: str) -> str:
    """Such as "1 us (a) to 2 us (b)"; equal ends once."""
    return " to ".join(dict.fromkeys(ends))


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:]}."


def more(ratio: float) -> str:
    """Of a ratio of times such as 1.12: "+12.0 %"; "x2.5" from two on."""
    return f"{ratio * 100 - 100:+.1f} %" if ratio < 2 else f"x{ratio:.3g}"


def figure(line: Line, name: str) -> str:
    """A rate in GB/s, or a time."""
    gbps = line[f"{name}_gbps"]
    return wording.value(gbps) if gbps is not None else wording.time(line[f"{name}_seconds"])
