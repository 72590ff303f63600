"""Listed: names as people write them in a sentence."""

from __future__ import annotations

from collections.abc import Iterable


def listed(names: Iterable[str], last: str = "and") -> str:
    """ "a", "a and b", "a, b and c"; with another ``last`` word "a, b or c"."""
    every = list(names)
    return f" {last} ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)
