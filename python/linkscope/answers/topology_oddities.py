"""Topology oddities: what sticks out of how a node's devices are joined, as nvidia-smi or amd-smi printed it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from linkscope.importers.peer_output import Topology
from linkscope.messages.finding import Finding, error, note

_LINKS = re.compile(r"NV(\d+)")
_NEAR, _FAR = ("PIX", "PXB", "PSB"), ("NODE", "SYS", "SOC")
_SWITCHED = 3
"""GPUs that all reach each other by links, from which on a switch or a full mesh joins them: a bridge joins two."""
_FEWEST = 4
"""Links between two GPUs from which on a pair with fewer lacks some: older nodes are built with one and two."""


def topology_findings(topology: Topology) -> list[Finding]:
    """Return what is wrong as errors, then what is odd, then what joins the GPUs; never an empty list of two GPUs."""
    gpus = sorted({one for pair in topology.pairs for one in pair if one.startswith("gpu:")}, key=_index)
    words = {pair: topology.pairs.get(pair, "") for pair in combinations(gpus, 2)}
    known = {pair: word for pair, word in words.items() if word}
    linked = {pair: count for pair, word in known.items() if (count := _links(word))}
    wrong = list(_wrong(gpus, known, linked, topology.vendor))
    odd = list(_far_cards(gpus, topology.pairs))
    return [*wrong, *odd, *([] if wrong else _whole(gpus, known, linked, topology.vendor))]


def _index(gpu: str) -> int:
    return int(gpu.removeprefix("gpu:"))


def _links(word: str) -> int:
    """Return how many links between GPUs a word says; xGMI is one, of unknown width."""
    match = _LINKS.fullmatch(word)
    return int(match[1]) if match else int(word == "XGMI")


def _wrong(
    gpus: Sequence[str], known: Mapping[tuple[str, str], str], linked: Mapping[tuple[str, str], int], vendor: str
) -> Iterator[Finding]:
    """Yield the GPUs and pairs that lack links which the others have."""
    others = [gpu for gpu in gpus if any(gpu in pair for pair in linked)]
    alone = [gpu for gpu in gpus if gpu not in others]
    apart = [pair for pair in known if pair not in linked and not set(pair) & set(alone)]
    usual = Counter(linked.values()).most_common(1)[0][0] if linked else 0
    if alone and len(others) >= _SWITCHED and not apart:
        facts = {"gpu": alone[0], "gpus": alone, "others": len(others), "index": _index(alone[0])}
        code = "links.out-of-fabric" if vendor == "nvidia" else "links.out-of-hive"
        yield replace(error(code, links=usual, **facts), where=tuple(alone))
    if apart and len(apart) < len(linked) and _near_whole(others, linked) and (vendor == "amd" or usual >= _FEWEST):
        code = "links.pair-apart" if vendor == "nvidia" else "links.pair-by-pcie"
        paths = [f"{first}<>{second}" for first, second in apart]
        yield replace(error(code, pairs=paths, word=known[apart[0]], index=_index(apart[0][0])), where=tuple(paths))
    yield from _fewer(linked, usual)


def _near_whole(gpus: Sequence[str], linked: Mapping[tuple[str, str], int]) -> bool:
    """Return whether each GPU reaches most others by links, so that all were meant to."""
    return all(sum(gpu in pair for pair in linked) * 2 >= len(gpus) - 1 for gpu in gpus) and len(gpus) > _SWITCHED


def _fewer(linked: Mapping[tuple[str, str], int], usual: int) -> Iterator[Finding]:
    """Yield the GPUs, or else the pairs, that have fewer links than the others."""
    fewer = {pair: count for pair, count in linked.items() if count < usual} if usual >= _FEWEST else {}
    if not fewer:
        return
    count = min(fewer.values())
    gpus = {gpu for pair in fewer for gpu in pair}
    whole = sorted((gpu for gpu in gpus if all(pair in fewer for pair in linked if gpu in pair)), key=_index)
    if whole and all(set(pair) & set(whole) for pair in fewer) and len(linked) > 1:
        facts = {"gpu": whole[0], "gpus": whole, "links": count, "usual": usual, "index": _index(whole[0])}
        yield replace(error("links.fewer", **facts), where=tuple(whole))
        return
    paths = [f"{first}<>{second}" for first, second in fewer]
    facts = {"pairs": paths, "links": count, "usual": usual, "index": _index(next(iter(fewer))[0])}
    yield replace(error("links.fewer-between", **facts), where=tuple(paths))


def _far_cards(gpus: Sequence[str], pairs: Mapping[tuple[str, str], str]) -> Iterator[Finding]:
    """Yield the GPUs that have no network card near where others have one."""
    to_cards = {
        gpu: [word for (first, second), word in pairs.items() if first == gpu and _card(second)] for gpu in gpus
    }
    most = max(map(len, to_cards.values()), default=0)
    whole = {gpu: words for gpu, words in to_cards.items() if words and len(words) == most}
    near = [gpu for gpu, words in whole.items() if any(word in _NEAR for word in words)]
    far = [gpu for gpu, words in whole.items() if all(word in _FAR for word in words)]
    if near and far:
        best = min((word for gpu in far for word in whole[gpu]), key=_FAR.index)
        close = next(word for word in _NEAR for gpu in near if word in whole[gpu])
        yield replace(note("links.far-card", gpus=far, word=best, near=close, example=near[0]), where=tuple(far))


def _card(device: str) -> bool:
    return device.startswith("nic:")


def _whole(
    gpus: Sequence[str], known: Mapping[tuple[str, str], str], linked: Mapping[tuple[str, str], int], vendor: str
) -> Iterator[Finding]:
    """Yield what joins the GPUs, where nothing is wrong with it."""
    counts = Counter(known.values())
    kinds = [f"{many} {word}" for word, many in counts.most_common()]
    facts = {"gpus": len(gpus), "pairs": len(known)}
    if not known:
        yield note("links.one-gpu")
    elif not linked:
        yield note("links.pcie-only", **facts, kinds=kinds)
    elif len(counts) == 1 and vendor == "amd":
        yield note("links.all-xgmi", **facts)
    elif len(counts) == 1:
        yield note("links.all-nvlink", **facts, links=next(iter(linked.values())))
    else:
        apart = [f"{first}<>{second}" for first, second in known if (first, second) not in linked]
        code = "links.unlike-without" if apart else "links.unlike"
        yield note(code, **facts, kinds=kinds, apart=apart, count=len(apart), first=apart[0] if apart else "")
