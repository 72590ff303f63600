"""Chakra's execution traces (mlcommons/chakra): files NAME.0.et, NAME.1.et and so on, one a rank; name any of them.

Nodes of a rank follow one another in the order of its file; what ranks can do at the same time is a phase. Collectives
go around rings; the ranks of a group are those whose files name it. Before a phase a rank computes as long as the nodes
since its last one took; nodes that say they are a CPU's beside a GPU do not count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from linkscope.errors import LinkscopeError
from linkscope.workload.chakra_node import (
    COLLECTIVE,
    COMPUTE,
    RECEIVE,
    SEND,
    ChakraNode,
    chakra_nodes,
    is_chakra,
)
from linkscope.workload.pattern_text import LARGEST, LONGEST_S, MOST_BYTES, MOST_RANKS, PatternText
from linkscope.workload.ring import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE, REDUCE_SCATTER, ring
from linkscope.workload.schedule import Message, Phase

KINDS = {
    **{0: ALL_REDUCE, 1: REDUCE, 2: ALL_GATHER, 5: BROADCAST},
    **{6: ALL_TO_ALL, 7: REDUCE_SCATTER, 8: REDUCE_SCATTER},
}
"""Collectives by CollectiveCommType, without its barrier, gather and scatter."""
MOST_LOOKED_AT = 20_000_000
"""Steps, each as often as it waits."""
_NAMED = re.compile(r"(.*)\.([0-9]{1,4})\.(et|json)(\.gz)?", re.DOTALL)


@dataclass(frozen=True)
class _Step:
    """A node of a rank that communicates; ``gap_s`` it computes before."""

    node: ChakraNode
    gap_s: float

    @property
    def size(self) -> int:
        return self.node.numbers["comm_size"]

    @property
    def group(self) -> str:
        return self.node.texts.get("pg_name", "")

    @property
    def tag(self) -> int:
        return self.node.numbers.get("comm_tag", 0)


@dataclass
class _Replay:
    """Ranks whose steps wait for one another. ``under_way``: messages sent and not received, by ends and tag."""

    steps: dict[int, list[_Step]]
    at: Counter[int] = field(default_factory=Counter)
    under_way: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    members: dict[str, list[int]] = field(default_factory=dict)

    def heads(self) -> dict[int, _Step]:
        """The next step of each rank that has one."""
        return {rank: steps[self.at[rank]] for rank, steps in self.steps.items() if self.at[rank] < len(steps)}

    def ready(self, heads: dict[int, _Step]) -> list[tuple[list[int], _Step]]:
        """Ranks that can go on, and by which step."""
        together: dict[str, list[int]] = {}
        found = []
        for rank, step in heads.items():
            if step.node.kind == COLLECTIVE:
                together.setdefault(step.group, []).append(rank)
            elif step.node.kind == SEND or self.under_way[step.node.numbers["comm_src"], rank, step.tag] > 0:
                found.append(([rank], step))
        whole = [ranks for group, ranks in together.items() if ranks == self.members[group]]
        return found + [(ranks, heads[ranks[0]]) for ranks in whole]

    def go(self, ranks: list[int], step: _Step) -> tuple[Message, ...]:
        """Takes the step and returns its messages."""
        for rank in ranks:
            self.at[rank] += 1
        numbers, rank = step.node.numbers, ranks[0]
        if step.node.kind == RECEIVE:
            self.under_way[numbers["comm_src"], rank, step.tag] -= 1
            return ()
        if step.node.kind == SEND:
            self.under_way[rank, numbers["comm_dst"], step.tag] += 1
            return (Message(rank, numbers["comm_dst"], step.size),) if step.size else ()
        kind = KINDS[numbers.get("comm_type", 0)]
        whole = step.size * len(ranks) if kind == ALL_GATHER else step.size
        return tuple(one for one in ring(kind, min(whole, LARGEST), ranks) if one.size)


def recognises(source: PatternText) -> bool:
    """Return whether it is a trace of nodes."""
    return is_chakra(source.data)


def read(source: PatternText) -> Iterator[Phase]:
    """Raises LinkscopeError, also where ranks wait for what no other does."""
    replay = _Replay({rank: list(_steps(text, rank)) for rank, text in _files(source)})
    for rank, steps in replay.steps.items():
        for group in sorted({step.group for step in steps if step.node.kind == COLLECTIVE}):
            replay.members.setdefault(group, []).append(rank)
    waited = dict.fromkeys(replay.steps, 0.0)
    looked_at = 0
    while heads := replay.heads():
        looked_at += len(heads)
        if looked_at > MOST_LOOKED_AT:
            raise LinkscopeError(f"{source.path}: {len(replay.steps)} ranks with too many steps to put in order")
        ready = replay.ready(heads)
        if not ready:
            rank, step = next(iter(heads.items()))
            raise LinkscopeError(f"{source.path}: rank {rank} waits at {step.node.name!r} for what no other rank does")
        messages: list[Message] = []
        for ranks, step in ready:
            for rank in ranks:
                waited[rank] += heads[rank].gap_s
            messages += replay.go(ranks, step)
            source.bounded(len(messages))
        if messages:
            going = [rank for ranks, _ in ready for rank in ranks]
            gap_s = min(LONGEST_S, max(waited[rank] for rank in going))
            waited.update(dict.fromkeys(going, 0.0))
            yield Phase(ready[0][1].node.name or "unnamed", tuple(messages), gap_s=gap_s)


def _files(source: PatternText) -> list[tuple[int, PatternText]]:
    """All ranks', by rank."""
    named = _NAMED.fullmatch(source.path.name)
    if named is None:
        raise LinkscopeError(f"{source.path} is one rank's: Chakra's traces are called NAME.0.et, NAME.1.et and so on")
    found: dict[int, Path] = {}
    try:
        for path in source.path.parent.iterdir():
            other = _NAMED.fullmatch(path.name)
            if other is not None and other.group(1, 3, 4) == named.group(1, 3, 4):
                found[int(other[2])] = path
    except OSError as error:
        raise LinkscopeError(f"cannot read {source.path.parent}: {error.strerror or error}") from error
    if len(found) > MOST_RANKS or max(found, default=0) >= MOST_RANKS:
        raise LinkscopeError(f"{source.path} is one of more than {MOST_RANKS} ranks'")
    texts, held = [], 0
    for rank, path in sorted(found.items()):
        texts.append((rank, PatternText.of(path)))
        held += len(texts[-1][1].data)
        if held > MOST_BYTES:
            raise LinkscopeError(f"{source.path} and the other ranks' are longer than {MOST_BYTES >> 20} MiB")
    return texts


def _steps(text: PatternText, rank: int) -> Iterator[_Step]:
    """Nodes that communicate and say how much with whom."""
    gap_s = 0.0
    try:
        for node in chakra_nodes(text.data):
            if node.kind == COMPUTE and not node.numbers.get("is_cpu_op", 0):
                gap_s += node.seconds
            elif _communicates(node, rank):
                yield _Step(node, gap_s)
                gap_s = 0.0
    except (ValueError, RecursionError) as error:
        what = " ".join(str(error).split())[:160]
        raise LinkscopeError(f"{text.path} is no Chakra trace: {what}") from error


def _communicates(node: ChakraNode, rank: int) -> bool:
    if not 0 <= node.numbers.get("comm_size", -1) <= LARGEST:
        return False
    if node.kind == COLLECTIVE:
        return node.numbers.get("comm_type", 0) in KINDS
    other = node.numbers.get({SEND: "comm_dst", RECEIVE: "comm_src"}.get(node.kind, ""), -1)
    return 0 <= other < MOST_RANKS and other != rank
