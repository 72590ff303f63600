"""UCX: a ucx.conf with the bandwidths by which it picks lanes for GPU memory, in place of constants built in.

Format: openucx/ucx src/uct/cuda/cuda_copy/cuda_copy_iface.c (BW: a value for whatever no key names, then keys) and
cuda_ipc; rates are of copy engines, which both transports use; UCX's M is 2^20. Keys are read from UCX 1.18.1 on.
"""

from __future__ import annotations

from statistics import median

import polars

from linkscope.errors import LinkscopeError
from linkscope.report.exports.origin import origin
from linkscope.results.run_stream import Run

_LARGE_BYTES = 64 << 20
_MEMORIES = ("source_memory", "destination_memory")
_REST = "10000MBs"
"""UCX's own value for memories that no key names."""
_WITHIN = "320GBs"
"""UCX's own for copies within a GPU, kept where the run has none."""


def conf(run: Run, figures: polars.DataFrame) -> str:
    """Medians over GPUs, or pairs of them, of large copies one at a time; peers only where the run has them."""
    if run.header.get("engine", {}).get("backend") != "cuda":
        raise LinkscopeError("ucx is written for NVIDIA GPUs alone: its settings are UCX's for CUDA")
    large = _large(figures)
    source, destination = (polars.col(end).cast(polars.String) for end in ("source", "destination"))
    from_host, from_gpu = source.str.starts_with("numa:"), source.str.starts_with("gpu:")
    to_host, to_gpu = destination.str.starts_with("numa:"), destination.str.starts_with("gpu:")
    down, up = _rate(large.filter(from_host & to_gpu)), _rate(large.filter(from_gpu & to_host))
    if down is None or up is None:
        raise LinkscopeError("this run has no large copies between pinned memory and GPUs: linkscope run host-device")
    between = large.filter(from_gpu & to_gpu)
    own, peers = _rate(between.filter(source == destination)), _rate(between.filter(source != destination))
    lines = [
        *(f"# {line}" for line in origin(run)),
        "# as /etc/ucx/ucx.conf, or in the folder that UCX_CONFIG_DIR names",
        "# UCX 1.18.1 or newer: older ones know one bandwidth of copies, and refuse this line",
        f"# {_REST} is UCX's own value, for memories that no key names",
        f"UCX_CUDA_COPY_BW={_REST},h2d:{down},d2h:{up},d2d:{own or _WITHIN}",
        *([f"UCX_CUDA_IPC_BW={peers}"] if peers else []),
    ]
    return "\n".join(lines) + "\n"


def _large(found: polars.DataFrame) -> polars.DataFrame:
    memories = [polars.col(end).cast(polars.String).is_in(["pinned", "device"]) for end in _MEMORIES]
    return found.filter(
        polars.col("status").cast(polars.String) == "ok",
        polars.col("method").cast(polars.String) == "copy-engine",
        polars.col("processes") == 1,
        polars.col("flows") == 1,
        polars.col("background") == 0,
        polars.col("bytes") >= _LARGE_BYTES,
        polars.col("gbps") > 0,
        *memories,
    )


def _rate(lines: polars.DataFrame) -> str | None:
    """In UCX's spelling; None where there are none."""
    rates = lines["gbps"].drop_nulls().to_list()
    return f"{median(rates) * 1e9 / (1 << 20):.0f}MBs" if rates else None
