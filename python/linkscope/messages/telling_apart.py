"""Telling apart: the fewest words in which things differ that would read alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest


def telling_apart(facts: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return the words that each thing needs to differ from all others: none for one alone, more only for those that
    are still alike. ``facts``: of each thing, the plainest first, each at its place; empty ones have no word."""
    told: list[tuple[str, ...]] = [() for _ in facts]
    for column in zip_longest(*facts, fillvalue=""):
        more = [(*words, word) for words, word in zip(told, column, strict=True)]
        if len(set(more)) > len(set(told)):
            times = Counter(told)
            told = [longer if times[words] > 1 else words for words, longer in zip(told, more, strict=True)]
    return [tuple(filter(None, words)) for words in told]
