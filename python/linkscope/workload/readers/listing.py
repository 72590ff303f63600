"""A listing of our own, described in docs/applications.md: JSON with phases in their order, each with its messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from linkscope.documents.escaped import escaped
from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import LARGEST, LONGEST_S, MOST_MESSAGES, MOST_RANKS, PatternText
from linkscope.workload.schedule import Message, Phase

MOST_TEXT = 64 << 20
"""Bytes of a file with the most messages, and room to spare."""
Rank = Annotated[int, Meta(ge=0, lt=MOST_RANKS)]


class _ListedPhase(msgspec.Struct, forbid_unknown_fields=True):
    messages: Annotated[list[tuple[Rank, Rank, Annotated[int, Meta(ge=1, le=LARGEST)]]], Meta(max_length=MOST_MESSAGES)]
    name: Annotated[str, Meta(max_length=200)] = ""
    gap_s: Annotated[float, Meta(ge=0, le=LONGEST_S)] = 0.0
    repeats: Annotated[int, Meta(ge=1, le=1_000_000)] = 1


class _Listing(msgspec.Struct, forbid_unknown_fields=True):
    phases: list[_ListedPhase]
    ranks: Annotated[int, Meta(ge=1, le=MOST_RANKS)] = 0


class _Ranks(msgspec.Struct):
    ranks: Annotated[int, Meta(ge=1, le=MOST_RANKS)] = 0


def recognises(source: PatternText) -> bool:
    """Return whether it is JSON with phases."""
    return source.text.lstrip().startswith("{") and '"phases"' in source.text


def declared(source: PatternText) -> int:
    """Return how many ranks it says there are; 0 where it says nothing."""
    return msgspec.json.decode(source.data, type=_Ranks).ranks


def read(source: PatternText) -> Iterator[Phase]:
    """Raises LinkscopeError, also for a rank beyond those that the file declares."""
    if len(source.data) > MOST_TEXT:
        raise LinkscopeError(f"{source.path} is longer than {MOST_TEXT >> 20} MiB")
    try:
        listing = msgspec.json.decode(source.data, type=_Listing)
    except (msgspec.DecodeError, RecursionError) as error:
        raise LinkscopeError(f"{source.path}: {escaped(' '.join(str(error).split())[:200])}") from error
    for number, phase in enumerate(listing.phases):
        for a, b, _ in phase.messages:
            if a == b or (listing.ranks and max(a, b) >= listing.ranks):
                why = "a rank sends to itself" if a == b else f"there are {listing.ranks} ranks, from 0"
                raise LinkscopeError(f"{source.path}: phases[{number}]: a message from {a} to {b}, but {why}")
        messages = tuple(Message(*one) for one in phase.messages)
        yield Phase(escaped(phase.name)[:80] or f"phase {number}", messages, phase.repeats, gap_s=phase.gap_s)
