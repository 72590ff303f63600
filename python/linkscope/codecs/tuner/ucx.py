"""UCX: a ucx.conf with the bandwidths by which it picks lanes for GPU memory, in place of constants built in.

Format: openucx/ucx src/uct/cuda/cuda_copy/cuda_copy_iface.c (BW: a value for whatever no key names, then keys) and
cuda_ipc; rates are of copy engines, which both transports use; UCX's M is 2^20. Keys are read from UCX 1.18.1 on.
"""

from __future__ import annotations

from statistics import median

import polars

from linkscope.codecs.tuner.exported import Exported
from linkscope.messages.catalog import problem

_LARGE_BYTES = 64 << 20
_MEMORIES = ("source_memory", "destination_memory")
_REST = "10000MBs"
"""UCX's own value for memories that no key names."""
_WITHIN = "320GBs"
"""UCX's own for copies within a GPU, kept where the run has none."""


def conf(source: Exported) -> str:
    """Return medians over GPUs, or pairs of them, of large copies one at a time; peers only where the run has them."""
    if source.runs[-1].header.get("engine", {}).get("backend") != "cuda":
        raise problem("tuner.only-cuda")
    large = _large(source.results)
    origin, destination = (polars.col(end) for end in ("source", "destination"))
    from_host, from_gpu = origin.str.starts_with("numa:"), origin.str.starts_with("gpu:")
    to_host, to_gpu = destination.str.starts_with("numa:"), destination.str.starts_with("gpu:")
    down, up = _rate(large.filter(from_host & to_gpu)), _rate(large.filter(from_gpu & to_host))
    if down is None or up is None:
        raise problem("tuner.no-copies")
    between = large.filter(from_gpu & to_gpu)
    own, peers = _rate(between.filter(origin == destination)), _rate(between.filter(origin != destination))
    lines = [
        *source.comment,
        "# as /etc/ucx/ucx.conf, or in the folder that UCX_CONFIG_DIR names",
        "# UCX 1.18.1 or newer: older ones know one bandwidth of copies, and refuse this line",
        f"# {_REST} is UCX's own value, for memories that no key names",
        f"UCX_CUDA_COPY_BW={_REST},h2d:{down},d2h:{up},d2d:{own or _WITHIN}",
        *([f"UCX_CUDA_IPC_BW={peers}"] if peers else []),
    ]
    return "\n".join(lines) + "\n"


def _large(results: polars.DataFrame) -> polars.DataFrame:
    return results.filter(
        *(polars.col(end).is_in(["pinned", "device"]) for end in _MEMORIES),
        polars.col("bytes") >= _LARGE_BYTES,
        polars.col("gbps") > 0,
        method="copy-engine",
        processes=1,
        flows=1,
    )


def _rate(lines: polars.DataFrame) -> str | None:
    """Return the median rate in UCX's spelling; None where there is none."""
    return f"{median(lines['gbps']) * 1e9 / (1 << 20):.0f}MBs" if lines.height else None
