"""Own case: a case made of a result itself, where no suite of linkscope measures the same."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from linkscope.documents.sizes import format_bytes
from linkscope.importers.peer_output import SECONDS, UNKNOWN, Figure, Movement, PeerOutput

Json = dict[str, Any]
_ENDS = {
    "peer": ("gpu:0", "gpu:1"),
    "to-gpu": ("numa:0", "gpu:0"),
    "to-host": ("gpu:0", "numa:0"),
    "local": ("gpu:0", "gpu:0"),
}
"""Ends of a result whose output names no devices: any device of that kind."""
RANK = "rank"
"""The kind of place of a buffer that a rank has somewhere."""
_PLACES = {"device": "gpu", "managed": "gpu", "pinned": "numa", "pageable": "numa"}
_KNOWN: dict[str, Json] = {
    "in place": {"in_place": "yes"},
    **{name: {"type": of} for name, of in (("half", "float16"), ("bfloat16", "bfloat16"), ("int32", "int32"))},
}
"""Variations of tools for which linkscope has a parameter."""
_CALLS = ("form", "launch", "recorded")
"""Facts of how a collective is called, which are parameters of its case."""
MOST_MEMBERS = 1024


def own_cases(peer: PeerOutput, figures: Sequence[Figure]) -> Iterator[tuple[Json, Figure]]:
    """Yield a case for each of a tool's figures that say what they move, with ids that are unique."""
    sizes: defaultdict[tuple[str, str, str], set[int]] = defaultdict(set)
    for figure in figures:
        sizes[_series(figure)].add(figure.size or 0)
    used: Counter[str] = Counter()
    for figure in figures:
        if figure.moves is not None:
            case = _case(peer, figure, figure.moves, len(sizes[_series(figure)]) > 1)
            used[case["id"]] += 1
            if used[case["id"]] > 1:
                case["id"] += f"/{used[case['id']]}"
            yield case, figure


def _series(figure: Figure) -> tuple[str, str, str]:
    moves = figure.moves
    return figure.test, moves.varies if moves else "", _pair(moves) if moves else ""


def _pair(moves: Movement) -> str:
    return f"{moves.source}>{moves.destination}" if moves.source or moves.destination else ""


def _case(peer: PeerOutput, figure: Figure, moves: Movement, by_size: bool) -> Json:
    test = peer.own_name(figure.test)
    tool = re.sub(r"[^a-z0-9]+", "-", peer.tool.lower()).strip("-")
    size = format_bytes(figure.size) if by_size and figure.size is not None else ""
    words = (tool, test, moves.varies, _pair(moves), size.replace(" ", ""))
    spread = moves.kind == "message" or moves.hosts > 1
    processes = int(figure.facts.get("processes") or (moves.ranks or 2 if spread else 1))
    flows = list(_flows(figure, moves, processes))
    labels: Json = {"title": test, "figure": _figure(figure, moves, len(flows))}
    if moves.collective and moves.ranks > 1 and figure.unit == SECONDS:
        labels["figures"] = ["latency", "bus"]
    if by_size:
        labels |= {"show": "curve", "series": moves.varies or _pair(moves) or moves.method, "x": figure.size or 0}
        labels |= {"x_name": "bytes", "row": "", "column": moves.varies}
    elif moves.source and moves.destination:
        labels |= {"show": "matrix", "row": moves.source, "column": moves.destination}
        labels |= {"title": f"{test}, {moves.varies}"} if moves.varies else {}
    else:
        labels |= {"show": "list", "row": moves.varies or moves.method, "column": size}
    return {
        **{"id": "/".join(word for word in words if word), "suite": tool, "name": test},
        **{"clock": figure.facts.get("clock", "host"), "cache": "warm", "load": "once"},
        **({"processes": processes} if processes > 1 else {}),
        **{"flows": flows, "labels": labels},
    }


def _figure(figure: Figure, moves: Movement, flows: int) -> str:
    if figure.unit == SECONDS:
        return "latency"
    if moves.counts == "read-and-written":
        return "touched"
    return "sum" if flows > 1 else "first"


def _settings(moves: Movement) -> Json:
    """Return what tells a result's series from others of its test, in linkscope's parameters where it has them."""
    words = [word for word in moves.varies.split(", ") if word]
    rest = "-".join("-".join(word.split()) for word in words if word not in _KNOWN)
    known = {name: value for word in words if word in _KNOWN for name, value in _KNOWN[word].items()}
    return {**known, **({"variant": rest} if rest else {})}


def _flows(figure: Figure, moves: Movement, processes: int) -> Iterator[Json]:
    """Yield a flow for each direction that the result counts; the members of a collective are one."""
    flow: Json = {"method": moves.method, "bytes": figure.size or 0}
    settings = _settings(moves)
    if moves.kind == "collective":
        each = max(moves.ranks // max(moves.hosts, 1), 1)
        memory = moves.memories[0]
        kind, ranks = _PLACES.get(memory, RANK), min(max(moves.ranks, 1), MOST_MEMBERS)
        places = [f"{kind}:{0 if kind == 'numa' else rank % each}" for rank in range(ranks)]
        of_rank = [rank * processes // ranks for rank in range(ranks)]
        members = [
            {"device": place, "memory": memory, "rank": rank} for rank, place in zip(of_rank, places, strict=True)
        ]
        calls = {name: figure.facts[name] for name in _CALLS if figure.facts.get(name)}
        parameters = {"collective": moves.collective or UNKNOWN, **calls, **settings}
        yield {**flow, "executor": members[0]["device"], "members": members, "parameters": parameters}
        return
    source, destination = _ends(moves)
    ends = [{"device": source, "memory": moves.memories[0]}, {"device": destination, "memory": moves.memories[1]}]
    flow |= {"parameters": settings} if settings else {}
    yield {**flow, "executor": moves.executor or source, "source": ends[0], "destination": ends[1]}
    if moves.both:
        yield {**flow, "executor": destination, "source": ends[1], "destination": ends[0]}


def _ends(moves: Movement) -> tuple[str, str]:
    """Return the devices of both ends. Of ranks whose devices nothing tells, GPU memory is one GPU's and another's, and
    memory of which nothing tells where it lies is a rank's."""
    if moves.kind in _ENDS:
        source, destination = _ENDS[moves.kind]
        return moves.source or source, moves.destination or destination
    first, second = (_PLACES.get(memory, RANK) for memory in moves.memories)
    return moves.source or f"{first}:0", moves.destination or f"{second}:{int(second != 'numa')}"
