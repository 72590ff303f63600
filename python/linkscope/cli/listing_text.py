"""Text of a list: a table with one line for each entry, or all about one entry."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from linkscope.cli.list_entry import ListEntry

_GAP = "  "
_LEAST_TEXT = 16
"""Characters of an entry's text, however narrow the terminal."""
_MOST_TEXT = 100
"""Characters of a line of running text, however wide the terminal."""


def table(entries: Sequence[ListEntry], width: int, command: str, legend: str = "") -> str:
    """Return a line of at most ``width`` characters for each entry, below its heading, and at the foot each note once.

    ``command``: what lists them; the foot says how to see more of one. ``legend``: what a reader must know besides.
    """
    notes = list(dict.fromkeys(one.note for one in entries if one.note))
    columns = {
        "name": [one.name for one in entries],
        **{head: [one.columns[head] for one in entries] for head in (entries[0].columns if entries else ())},
    }
    if notes:
        columns[""] = [f"[{notes.index(one.note) + 1}]" if one.note else "" for one in entries]
    aligned = [_aligned(head, cells) for head, cells in columns.items() if any(cells)]
    beginnings = [_GAP.join(cells) for cells in zip(*aligned, strict=True)]
    lines = [beginnings[0].rstrip()] if len(aligned) > 1 else []
    under = ""
    for one, beginning in zip(entries, beginnings[1:], strict=True):
        if one.under != under:
            under = one.under
            lines += [*([""] if lines else []), under]
        room = max(width - len(beginning) - len(_GAP), _LEAST_TEXT)
        lines.append(f"{beginning}{_GAP}{textwrap.shorten(one.brief or one.text, room, placeholder='…')}")
    foot = [
        *filter(None, [legend]),
        *(f"[{number}] {note}" for number, note in enumerate(notes, 1)),
        f"Next: {command} NAME",
    ]
    return "\n".join([*lines, "", *(line for text in foot for line in _wrapped(text, width, 4))])


def card(one: ListEntry, more: Mapping[str, Mapping[str, str] | str], width: int) -> str:
    """Return all about one entry. ``more``: by heading a sentence, or terms and what each means."""
    lines = _wrapped(f"{one.name}: {one.text}", width, 2)
    told: dict[str, Mapping[str, str] | str] = {**one.columns, **({"note": one.note} if one.note else {}), **more}
    for heading, content in told.items():
        if isinstance(content, str):
            lines += _wrapped(f"{heading}: {content}", width, 2)
            continue
        lines.append(f"{heading}:" if content else f"{heading}: none")
        for term, meaning in content.items():
            lines += [f"{_GAP}{line}" for line in _wrapped(f"{term}: {meaning}", width - len(_GAP), 4)]
    return "\n".join(lines)


def _aligned(head: str, cells: Sequence[str]) -> list[str]:
    """Return the head and the cells, all of one width: numbers to the right, words to the left."""
    width = max(map(len, (head, *cells)))
    numbers = all(cell[:1].isdigit() or cell in ("", "-") for cell in cells) and head != "name"
    return [f"{cell:>{width}}" if numbers else f"{cell:<{width}}" for cell in (head, *cells)]


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    """Return lines of at most ``width`` characters, all but the first indented. Words are never cut."""
    most = min(max(width, _LEAST_TEXT), _MOST_TEXT)
    return textwrap.wrap(text, most, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)
