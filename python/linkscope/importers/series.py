"""Series: results of one test in a paste that differ by memory or by run get series of their own."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from linkscope.importers.peer_output import Figure, Movement

Key = tuple[object, ...]


def told_apart(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """Return the results with what tells their series: the memories of a test that has several kinds, and the number of
    the run from the second on, where a size comes again."""
    memories: defaultdict[Key, set[tuple[str, str]]] = defaultdict(set)
    for figure in figures:
        if figure.moves is not None:
            memories[_test(figure, figure.moves)].add(figure.moves.memories)
    runs: Counter[Key] = Counter()
    told: list[Figure] = []
    for figure in figures:
        moves = figure.moves
        if moves is not None:
            test = _test(figure, moves)
            key = (*test, moves.memories, figure.size)
            runs[key] += 1
            words = [" to ".join(moves.memories)] if len(memories[test]) > 1 else []
            words += [moves.varies] if moves.varies else []
            words += [f"run {runs[key]}"] if runs[key] > 1 else []
            moves = replace(moves, varies=", ".join(words))
        told.append(replace(figure, moves=moves))
    return tuple(told)


def _test(figure: Figure, moves: Movement) -> Key:
    return figure.test, moves.source, moves.destination, moves.varies, moves.ranks, moves.hosts
