"""What was set of NCCL or RCCL, as the engine's notes on figures have it."""

from __future__ import annotations

from collections.abc import Iterable

import polars

from linkscope.analysis.figures import BETWEEN_NOTES

NVLS_OFF = "NCCL_NVLS_ENABLE=0"
"""In a note: what the library was not allowed to use may be its fastest way."""


_NO_NVLS = (NVLS_OFF, "no NVLink SHARP")
_FREE = "NVLink SHARP as it chooses"
"""Parts of notes."""


def has_no_nvls(notes: Iterable[str]) -> bool:
    """Whether a case's notes say that its collectives were without reductions in the switch."""
    return any(part in note for note in notes for part in _NO_NVLS)


def may_have_nvls(notes: Iterable[str]) -> bool:
    """Whether they say that the library was free to use them."""
    return any(_FREE in note for note in notes)


def settings(figures: polars.DataFrame) -> tuple[str, ...]:
    """By notes of the frame of ``analysis/figures.py`` which library had a setting without which it may be faster:
    "nccl 2.28.9, NVLS off (NCCL_NVLS_ENABLE=0 was set)"."""
    notes = figures.get_column("notes").cast(polars.String).drop_nulls().unique(maintain_order=True)
    parts = (part for note in notes for part in note.split(BETWEEN_NOTES) if NVLS_OFF in part)
    return tuple(dict.fromkeys(f"{part.partition(',')[0]}, NVLS off ({NVLS_OFF} was set)" for part in parts))
