"""MoE: what expert parallelism sends in one layer: tokens to the ranks of their experts, and results back.

Dispatch sends a token's hidden vector once to each other rank that holds at least one of its experts, as DeepEP's
kernels within a node do; combine sends a vector of bfloat16 back for each. Rows that a rank would send itself are no
messages. Indices, weights and counts, and gathering rows by index, are left out: messages come from ready buffers.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from random import Random

from linkscope.errors import LinkscopeError
from linkscope.workload.schedule import Loop, Message, Phase, Schedule

DTYPES = ("fp8", "bf16")
"""Types of dispatched vectors; fp8 has a float32 scale for each 128 elements besides (DeepSeek-V3)."""
SCALED, SCALE = 128, 4
MOST_TOKENS, MOST_HIDDEN, MOST_EXPERTS, MOST_SKEW = 65_536, 65_536, 4096, 4.0


@dataclass(frozen=True)
class MoeLayer:
    """``tokens`` of each rank have ``topk`` different ones of ``experts``. ``skew``: exponent s of Zipf's law, the i-th
    expert is drawn with weight i^-s; 0: all alike. Rank r of n holds experts e with floor(e n / experts) = r, so that
    the most popular ones share the first rank. The default is DeepSeek-V3's layer with 4096 tokens."""

    tokens: int = 4096
    hidden: int = 7168
    topk: int = 8
    experts: int = 256
    skew: float = 0.0
    dtype: str = "fp8"

    @property
    def dispatch_bytes(self) -> int:
        """Return the bytes of one token's vector on its way to an expert."""
        return self.hidden + SCALE * -(-self.hidden // SCALED) if self.dtype == "fp8" else 2 * self.hidden

    @property
    def combine_bytes(self) -> int:
        """Return the bytes of one vector on its way back."""
        return 2 * self.hidden


def moe(layer: MoeLayer, ranks: int) -> Schedule:
    """Return dispatch, then combine, of one layer. Raises LinkscopeError for what is no layer of so many ranks."""
    _check(layer, ranks)
    rows = routed(layer, ranks)
    pairs = [(a, b) for a in range(ranks) for b in range(ranks) if a != b and rows[a][b]]
    out = tuple(Message(a, b, rows[a][b] * layer.dispatch_bytes) for a, b in pairs)
    back = tuple(Message(b, a, rows[a][b] * layer.combine_bytes) for a, b in pairs)
    own = tuple(tuple(rows[a][a] * size for a in range(ranks)) for size in (layer.dispatch_bytes, layer.combine_bytes))
    return Schedule("moe", ranks, (Loop(1, (Phase("dispatch", out), Phase("combine", back))),), own_bytes=own)


@lru_cache(maxsize=64)
def routed(layer: MoeLayer, ranks: int) -> tuple[tuple[int, ...], ...]:
    """Return how many tokens of each rank go to each rank, itself included: the same on every call."""
    weights = [(one + 1) ** -layer.skew for one in range(layer.experts)]
    bounds = list(accumulate(weights))
    found = []
    for rank in range(ranks):
        counts = [0] * ranks
        draw = Random(rank)
        for _ in range(layer.tokens):
            chosen = _chosen(draw, weights, bounds, layer.topk)
            for holder in {one * ranks // layer.experts for one in chosen}:
                counts[holder] += 1
        found.append(tuple(counts))
    return tuple(found)


def _chosen(draw: Random, weights: list[float], bounds: list[float], count: int) -> list[int]:
    """Draw ``count`` different numbers, one after another by weight; return them rising."""
    chosen: list[int] = []
    left = bounds[-1]
    for _ in range(count):
        at = draw.random() * left
        for one in chosen:  # skip the stretches of those that are gone
            if at < bounds[one] - weights[one]:
                break
            at += weights[one]
        found = min(bisect_right(bounds, at), len(bounds) - 1)
        while found in chosen:  # rounding put it on a border
            found = (found + 1) % len(bounds)
        insort(chosen, found)
        left -= weights[found]
    return chosen


def _check(layer: MoeLayer, ranks: int) -> None:
    limits = {"tokens": MOST_TOKENS, "hidden": MOST_HIDDEN, "experts": MOST_EXPERTS, "topk": layer.experts}
    for name, most in limits.items():
        if not 1 <= getattr(layer, name) <= most:
            raise LinkscopeError(f"moe: {getattr(layer, name)} {name}: it takes 1 to {most}")
    if layer.experts < ranks:
        raise LinkscopeError(f"moe: {layer.experts} experts are too few for {ranks} ranks: each holds one at least")
    if not 0 <= layer.skew <= MOST_SKEW:
        raise LinkscopeError(f"moe: a skew of {layer.skew:g}: it takes 0 to {MOST_SKEW:g}")
    if layer.dtype not in DTYPES:
        raise LinkscopeError(f"moe: dtype is {' or '.join(DTYPES)}, not {layer.dtype!r}")
