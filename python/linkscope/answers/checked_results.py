"""Checked results: a run's results against what healthy nodes are known to reach, else against their peers."""

from __future__ import annotations

import polars

from linkscope.answers.answer import Outcome
from linkscope.answers.expectation import JUDGED, Expectation, judge
from linkscope.answers.references import ELSEWHERE, with_references
from linkscope.figures.columns import PEERS, RATE
from linkscope.figures.run import Run
from linkscope.machine.node import Node

PEERS_SOURCE = "peers"
"""Source of an expectation that only the run itself gives: a fault of all peers does not show."""
LATENCY_TOLERANCE = 0.15
"""Tolerance of a healthy latency; recorded nodes show up to 11% (flags between GPUs, relaxed order)."""
PEER_TOLERANCE = {"peer": 0.03, "host": 0.05, "local": 0.04}
"""Greatest difference of healthy rates of one node, by kind: three times what recorded nodes show, and below one NVLink
of 18 (5.6%)."""
UNBOUND = 0.15
"""Greatest difference of another tool's healthy host rates; its host memory lies where its thread ran."""
BEST_PEER = {"peer": 0.9, "host": 0.5, "local": 0.5}
"""Rank, from the worst, of the rate that peers are compared with: one slow GPU of four slows half of all pairs, but one
host path of four. It is not the very best, which is the luckiest, or no peer (a GPU nearer than the topology says)."""
BEST_LATENCY = 0.25
"""The same of times, from the shortest."""
_ALIKE = (*PEERS, "kind", "link", "line_gbps", "lanes", "hops", "models")


def checked_results(run: Run) -> polars.DataFrame:
    """Return the results that could be checked, in the run's order, with ``references.SCHEMA`` and ``JUDGED``.

    ``expected`` and ``outcome`` are null where nothing is known of such a path and it has no peer. What is known counts
    before what peers reach, unless peers alone show that a result is slow.
    """
    frame = with_references(run).with_columns(models(run.node).alias("models"))
    rate = polars.col("unit") == RATE
    by_known = judge(
        frame,
        Expectation(
            polars.col("known").is_not_null(),
            polars.col("known"),
            tolerance=polars.when(rate).then("known_tolerance").otherwise(LATENCY_TOLERANCE),
            source=polars.col("known_source"),
        ),
    )
    by_known = by_known.with_columns(
        outcome=polars.when(polars.col("maybe_faster") & (polars.col("outcome") == Outcome.HOLDS.value))
        .then(polars.lit(Outcome.UNCLEAR.value))
        .otherwise("outcome")
    )
    by_peers = judge(
        _with_peers(frame),
        Expectation(
            polars.col("best").is_not_null(),
            polars.col("best"),
            tolerance=polars.when(rate & (polars.col("origin") != "") & (polars.col("kind") == "host")).then(UNBOUND)
            .when(rate & (polars.col("origin") != "")).then(ELSEWHERE)
            .when(rate).then(polars.col("kind").replace_strict(PEER_TOLERANCE, default=0.0))
            .otherwise(LATENCY_TOLERANCE),
            source=PEERS_SOURCE,
            lenient=polars.col("lenient"),
        ),
    )  # fmt: skip
    return _without_disturbed(_merged(frame, by_known, by_peers))


def _without_disturbed(merged: polars.DataFrame) -> polars.DataFrame:
    """Return the frame without a judgement of another tool's collectives that are slow at one size and as fast as
    expected at a larger one: the links carry it, so something disturbed the slow one."""
    series = ("row", "members", "method", "collective")
    holds = polars.col("outcome").is_in([Outcome.HOLDS.value, Outcome.UNCLEAR.value])
    most = polars.when(holds).then("bytes").max().over(series).fill_null(0)
    disturbed = (
        (polars.col("kind") == "collective") & (polars.col("origin") != "")
        & (polars.col("outcome") == Outcome.FAILS.value) & (polars.col("bytes") < most)
    )  # fmt: skip
    return merged.with_columns(
        polars.when(disturbed.fill_null(value=False)).then(None).otherwise("outcome").alias("outcome")
    )


def _merged(frame: polars.DataFrame, known: polars.DataFrame, peers: polars.DataFrame) -> polars.DataFrame:
    """Return the frame with one judgement a result."""
    both = frame.join(known.select("key", *JUDGED), on="key", how="left", maintain_order="left").join(
        peers.select("key", *JUDGED), on="key", how="left", suffix="_peers", maintain_order="left"
    )
    fails = Outcome.FAILS.value
    by_peers = polars.col("outcome").is_null() | (
        (polars.col("outcome") != fails) & (polars.col("outcome_peers") == fails).fill_null(value=False)
    )
    merged = both.with_columns(
        polars.when(by_peers).then(f"{name}_peers").otherwise(name).alias(name) for name in JUDGED
    )
    return merged.drop([f"{name}_peers" for name in JUDGED])


def _with_peers(frame: polars.DataFrame) -> polars.DataFrame:
    """Return the results that have peers, with ``best``, the value that these are compared with, and its ``lenient``
    end: the low end of a rate, the value of a time. Another tool's result between GPUs whose links are
    unknown has none: boards join some pairs by more links than others."""
    rate, peers = polars.col("unit") == RATE, polars.len().over(_ALIKE)
    by = polars.when(rate).then("value_low").otherwise("value")
    share = polars.when(rate).then(polars.col("kind").replace_strict(BEST_PEER, default=1.0)).otherwise(BEST_LATENCY)
    few = polars.when(rate).then(peers - 1).otherwise(0)
    rank = polars.when(peers > 3).then((share * (peers - 1)).ceil()).otherwise(few).cast(polars.UInt32)
    unlike = (polars.col("origin") != "") & (polars.col("kind") == "peer") & polars.col("line_gbps").is_null()
    several = frame.filter(polars.col("kind") != "collective", ~unlike.fill_null(value=False)).filter(peers > 1)
    ranked = several.with_columns(by.alias("lenient"), rank.alias("rank"))
    return ranked.with_columns(
        polars.col(name).sort_by("lenient", maintain_order=True).get(polars.col("rank").first()).over(_ALIKE).alias(end)
        for name, end in (("value", "best"), ("lenient", "lenient"))
    )


def models(node: Node) -> polars.Expr:
    """Return "NVIDIA H200 > NVIDIA H200" of a result, source to destination; of a collective each model once."""
    names = {device.id: device.name or device.kind for device in node.devices}
    members = polars.col("members").str.split(" ").list.eval(polars.element().replace_strict(names, default="?"))
    ends = (
        polars.coalesce(end, "executor").replace_strict(names, default="?", return_dtype=polars.String)
        for end in ("source", "destination")
    )
    return (
        polars.when(polars.col("members").fill_null("") != "")
        .then(members.list.unique(maintain_order=True).list.join(", "))
        .otherwise(polars.concat_str(list(ends), separator=" > "))
    )
