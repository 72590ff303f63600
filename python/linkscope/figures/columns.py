"""Columns of the results frame: one line a result, words as strings, rates in GB/s, times in seconds.

``id``, ``place`` ("row|column" of its table) and ``figure`` make a line unique.
"""

from __future__ import annotations

from typing import Any

import polars

RATE, TIME = "GB/s", "s"
"""Units of results."""

_WORDS = polars.String
_BOUNDS = (
    "value",
    "value_low",
    "value_high",
    "gbps",
    "gbps_low",
    "gbps_high",
    "seconds",
    "seconds_low",
    "seconds_high",
)

SCHEMA: dict[str, Any] = {
    **dict.fromkeys(("id", "place", "figure", "suite", "row", "title", "layout", "series"), _WORDS),
    **{"x": polars.Float64, "x_name": _WORDS, "variant": _WORDS},
    **dict.fromkeys(("status", "reason"), _WORDS),
    **dict.fromkeys(("left_out", "modelled", "assumed", "isolated"), polars.Boolean),
    **{"origin": _WORDS, "unit": _WORDS},
    **dict.fromkeys(_BOUNDS, polars.Float64),
    **{"n": polars.Int64, "replicates": polars.Int32, "noise": polars.Float64},
    **{"replicate_values": polars.List(polars.Float64), "of_samples": polars.Float64, "overlap": polars.Float64},
    **{"value_modes": polars.List(polars.Float64), "value_modes_in": polars.List(polars.Int64)},
    **dict.fromkeys(("movement", "tier", "path", "paths", "method", "role", "way", "memories", "class"), _WORDS),
    **dict.fromkeys(("executor", "source", "source_memory", "destination", "destination_memory"), _WORDS),
    **dict.fromkeys(("members", "members_memory", "collective", "parameters", "environment", "hosts"), _WORDS),
    **dict.fromkeys(("clock", "call", "cache", "load", "together", "beside"), _WORDS),
    **dict.fromkeys(("calls_included", "both_ways"), polars.Boolean),
    **{"bytes": polars.Int64, "processes": polars.Int32, "flows": polars.Int32, "background": polars.Int32},
    **dict.fromkeys(("workload", "deck", "interface", "state_memory", "rank_order"), _WORDS),
    **{"messages": polars.Int64, "parts_s": polars.List(polars.Float64)},
    **{"likeness": polars.UInt64, "peak_gbps": polars.Float64, "of_peak": polars.Float64, "bound_by": _WORDS},
    "notes": polars.List(polars.String),
}
"""Column and type.

``value`` is the result in ``unit``, with its 95% interval ``value_low`` to ``value_high``. Beside it stand the rate
and the time of one transfer of the first flow, where the result has both. ``replicate_values``: the value in each
replicate. ``of_samples``: the relative half width that samples leave in one replicate. ``value_modes``: both values of
a result that has two between processes, the smaller first, ``value_modes_in``: in how many processes each; null where
there is one value. ``value`` is then that of most processes, or the slower one, and the interval reaches from one to
the other. ``noise``: what calibration found to vary between runs, as a relative half width. ``overlap``: the share of
time in which all flows ran; null for one flow.

``movement``: "gpu>gpu", "gpu<>gpu", "gpu>gpus", "host>gpu", "gpu" (within one), "gpu-reads-host", "all-reduce/4gpus",
"halo/DECK"; of several processes with "/processes" behind (names.toml says them in words). ``path``: "gpu:0>gpu:1", the
members of a collective. ``paths``: all device pairs of the flows. ``role``: who drives it, push or pull. ``way``: what
the user may choose: method, role, parameters that say how, environment; of a workload also the memory that it packs
from, processes and the order of ranks. ``memories``: "pinned>device". ``call``: ping-pong, window, in-kernel or "".
``calls_included``: the device's clock holds the calls of copies of pageable memory.
``both_ways``: one flow moves bytes both ways. ``together``: how several flows lie: both, one-path, one-to-many,
many-to-one, many, many-both; "" for one. ``beside``: movements of the ``background`` flows, those that are measured
alongside included, "gpu gpu>gpu/against".
``class``: results that share a noise (results/noise_class.py).

``likeness``: equal for results that may be compared: all that is asked for is the same, and the way of timing it; what
the user may choose (``way``, ``memories``), the devices and the size are free. It is the one definition of
comparable.

``status``: ok, skipped or failed; ``left_out``: skipped for lack of time alone. ``assumed``: of a model, mostly a
latency that no source gives. ``tier`` is of links as they were built, ``peak_gbps`` what these and memories allow
(figures/peak.py).
``notes``: the engine's remarks.
"""

LIKENESS = (
    *("movement", "figure", "clock", "call", "calls_included", "both_ways", "load", "cache", "together", "flows"),
    *("background", "beside", "hosts", "modelled", "processes", "isolated", "tier"),
)
"""Columns that ``likeness`` is of, beside the parameters of ``ASKED``. A question that compares results of several
tiers or movements takes these without that one."""
OF_ONE_FLOW = ("first", "latency", "touched", "half", "bus", "algorithm")
"""Figures of one flow, which ``seconds`` is the time of; others are of all flows of a case together."""
ABOVE_PEAK = 1.03
"""A rate beyond this multiple of its peak never crossed its path: a cache served it."""
ALIKE = ("likeness",)
"""Results that may be compared."""
PEERS = ("likeness", "way", "memories", "bytes")
"""Results that differ in their devices alone."""
SERIES = ("likeness", "way", "memories", "path")
"""Results that differ in their size alone."""

ASKED = frozenset(
    (
        *("collective", "type", "in_place", "operation", "region", "in", "stride", "chunk", "fill", "addresses"),
        *("scope", "access", "touch", "order", "hops", "locality", "until", "node", "nodes", "what", "work_us"),
        *(
            "m",
            "n",
            "k",
            "ordering",
            "to",
            "window",
            "recorded",
            "repeats",
            "graph",
            "count",
            "scatter",
            "misaligned",
            "arrival",
        ),
    )
)
"""Parameters that say what is to be done. All others say how, and are the user's to choose."""
PLAIN_COLLECTIVE = (polars.col("flows") == 1) & ~polars.col("parameters").fill_null("").str.contains(
    r"\b(registered=window|policy=[ez]|ctas=[1-9]|misaligned=[1-9]|algorithm=)"
)
"""Collectives as a library makes them unless told otherwise, one at a time: without windows, policies or CTAs that a
caller sets, of aligned buffers, by the library's own algorithm."""
DEFAULTS = frozenset({("non_temporal", "0"), ("registered", "no"), ("policy", "default"), ("ctas", "0")})
"""Parameters that some tests name and others leave as they are: the same way."""
