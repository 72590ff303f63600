"""Dispatch and combine of experts: rows are kept, counted once a rank, and own rows stay out of messages."""

from __future__ import annotations

from collections import Counter
from math import comb
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkscope.errors import LinkscopeError
from linkscope.workload.moe import DTYPES, MoeLayer, _chosen, moe, routed

layers = st.builds(
    MoeLayer,
    tokens=st.integers(1, 40),
    hidden=st.integers(1, 300),
    topk=st.integers(1, 6),
    experts=st.integers(8, 40),
    skew=st.sampled_from([0.0, 0.5, 1.0, 4.0]),
    dtype=st.sampled_from(DTYPES),
)


@settings(max_examples=60, deadline=None)
@given(layer=layers, ranks=st.integers(2, 8))
def test_combine_returns_what_dispatch_sends(layer: MoeLayer, ranks: int) -> None:
    schedule, rows = moe(layer, ranks), routed(layer, ranks)
    dispatch, combine = schedule.phases
    out = {(one.source, one.destination): one.size // layer.dispatch_bytes for one in dispatch.messages}
    back = {(one.destination, one.source): one.size // layer.combine_bytes for one in combine.messages}
    assert out == back == {(a, b): n for a, row in enumerate(rows) for b, n in enumerate(row) if a != b and n}
    assert schedule.own_bytes == tuple(
        tuple(rows[a][a] * size for a in range(ranks)) for size in (layer.dispatch_bytes, layer.combine_bytes)
    )
    vectors = sum(map(sum, rows))
    assert schedule.bytes + sum(map(sum, schedule.own_bytes)) == vectors * (layer.dispatch_bytes + layer.combine_bytes)


@settings(max_examples=60, deadline=None)
@given(layer=layers, ranks=st.integers(2, 8))
def test_a_token_goes_once_to_each_rank_of_its_experts(layer: MoeLayer, ranks: int) -> None:
    for row in routed(layer, ranks):
        assert max(row) <= layer.tokens
        assert layer.tokens <= sum(row) <= layer.tokens * min(layer.topk, ranks)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(), skew=st.sampled_from([0.0, 1.0, 4.0]), experts=st.integers(1, 30), data=st.data())
def test_experts_of_a_token_differ(seed: int, skew: float, experts: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, experts))
    weights = [(one + 1) ** -skew for one in range(experts)]
    bounds = [sum(weights[: one + 1]) for one in range(experts)]
    chosen = _chosen(Random(seed), weights, bounds, count)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == count
    assert set(chosen) <= set(range(experts))


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_uniform_rows_are_as_many_as_chance_has(ranks: int) -> None:
    layer = MoeLayer(tokens=2048, topk=8)
    share = 1 - comb(256 - 256 // ranks, 8) / comb(256, 8)
    spread = (2048 * share * (1 - share)) ** 0.5
    for row in routed(layer, ranks):
        assert all(abs(count - 2048 * share) <= 5 * spread + 1 for count in row)


def test_drawing_follows_the_weights() -> None:
    draw, found = Random(1), Counter[int]()
    for _ in range(4000):
        found.update(_chosen(draw, [3.0, 2.0, 1.0], [3.0, 5.0, 6.0], 2))
    # The chance of a pair is that of either order: a/6 x b/(6 - a) + b/6 x a/(6 - b).
    assert found[2] / 4000 == pytest.approx(3 / 6 * 1 / 3 + 1 / 6 * 3 / 5 + 2 / 6 * 1 / 4 + 1 / 6 * 2 / 5, abs=0.03)


def test_skew_brings_more_to_the_first_rank() -> None:
    received = [sum(column) for column in zip(*routed(MoeLayer(tokens=256, skew=1.0), 8), strict=True)]
    assert received == sorted(received, reverse=True)
    assert received[0] > 3 * received[-1]


def test_vectors_have_deepseeks_bytes() -> None:
    assert (MoeLayer().dispatch_bytes, MoeLayer().combine_bytes) == (7168 + 4 * 56, 2 * 7168)
    assert MoeLayer(dtype="bf16").dispatch_bytes == 2 * 7168


@pytest.mark.parametrize(
    ("layer", "complaint"),
    [
        (MoeLayer(tokens=0), "0 tokens: it takes 1 to"),
        (MoeLayer(topk=300), "300 topk: it takes 1 to 256"),
        (MoeLayer(experts=3, topk=1), "3 experts are too few for 4 ranks"),
        (MoeLayer(skew=5.0), "a skew of 5: it takes 0 to 4"),
        (MoeLayer(skew=float("nan")), "a skew of nan"),
        (MoeLayer(dtype="int4"), "dtype is fp8 or bf16"),
    ],
)
def test_what_is_no_layer_is_one_line(layer: MoeLayer, complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint):
        moe(layer, 4)
