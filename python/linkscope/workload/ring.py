"""Ring: what the members of a collective send one another where blocks go around in the order of their ranks.

As NCCL's ring algorithm and MPI's for large messages move them; a library may choose another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from linkscope.errors import LinkscopeError
from linkscope.workload.pattern_text import MOST_MESSAGES
from linkscope.workload.schedule import Message

ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = "all-reduce", "all-gather", "reduce-scatter"
BROADCAST, REDUCE, ALL_TO_ALL = "broadcast", "reduce", "all-to-all"


def ring(kind: str, size: int, ranks: Sequence[int]) -> tuple[Message, ...]:
    """Messages of all steps together. ``size``: bytes of the whole vector, of an all-gather that of its result, of a
    reduce-scatter that of its input, of an all-to-all what each rank sends in all. Raises KeyError for another kind,
    LinkscopeError for an all-to-all of too many ranks."""
    count = len(ranks)
    if count < 2:
        return ()
    if kind == ALL_TO_ALL:
        if count * (count - 1) > MOST_MESSAGES:
            raise LinkscopeError(f"an all-to-all of {count} ranks has more than {MOST_MESSAGES} messages")
        return tuple(Message(a, b, size // count) for a in ranks for b in ranks if a != b)
    if kind in (BROADCAST, REDUCE):  # a chain from or to the first rank
        return tuple(Message(*(pair if kind == BROADCAST else pair[::-1]), size) for pair in pairwise(ranks))
    rounds = {ALL_REDUCE: 2, ALL_GATHER: 1, REDUCE_SCATTER: 1}[kind]
    share = rounds * (count - 1) * size // count
    return tuple(Message(a, b, share) for a, b in zip(ranks, [*ranks[1:], ranks[0]], strict=True))
