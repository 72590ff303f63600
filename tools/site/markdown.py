"""Pieces of Markdown: cells, tables, code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Text as a cell of a table: on one line, nothing in it taken for markup outside of code."""
    return escaped(" ".join(text.split())).replace("|", "\\|")


def escaped(text: str) -> str:
    """Text in which only what stands in backticks is markup."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a single backtick is one
        return text.replace("`", "\\`").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
    for place in range(0, len(parts), 2):
        parts[place] = parts[place].replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_").replace("[", "\\[")
    return "`".join(parts)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; no line where there is no row. Cells are Markdown already."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines, ""] if lines else []


def block(*lines: str) -> list[str]:
    """Lines of code."""
    return ["```", *lines, "```", ""]
