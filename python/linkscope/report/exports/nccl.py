"""NCCL: rules for the example tuner plugin, and the input of its optimize_config.py.

Format: NVIDIA/nccl 2.30, plugins/tuner/example (plugin.c, README.md, scripts/optimize_config.py).
"""

from __future__ import annotations

import polars

from linkscope.analysis.settings import Environment, Tuned, tuned
from linkscope.errors import LinkscopeError
from linkscope.report.exports.origin import origin
from linkscope.results.run_stream import Run

SUITE = "nccl-tuner"
_NAMES = {
    "all-reduce": "allreduce",
    "reduce-scatter": "reducescatter",
    "all-gather": "allgather",
    "reduce": "reduce",
    "broadcast": "broadcast",
}
_ALGORITHMS = ("tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat")
_PROTOCOLS = ("ll", "ll128", "simple")
_DIGITS = 4
_END = (1 << 64) - 1
_OPTIMIZE = "collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff,bandwidth_gbps,latency_us"


def tuner(run: Run, figures: polars.DataFrame) -> str:
    """CSV of rules; the first that matches wins.

    The plugin takes one channel where no rule matches, also for collectives that the file does not name. So channels
    are explicit, sizes have no gaps, and all five collectives must have been measured: else LinkscopeError.
    """
    found = [one for one in _measured(figures) if one.collective in _NAMES]
    for ranks in sorted({one.ranks for one in found}):
        lacking = [name for name in _NAMES if (name, ranks) not in {(one.collective, one.ranks) for one in found}]
        if lacking:
            raise LinkscopeError(
                f"nccl-tuner needs all of {', '.join(_NAMES)}, or NCCL would run the others on one channel; "
                f"{lacking[0]} on {ranks} GPUs is missing: complete a run of {SUITE}"
            )
    lines = [
        *(f"# {line}" for line in origin(run)),
        "# NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=(this file)",
        "# Communicators of other sizes match no rule here: the example plugin gives those one channel.",
        "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks",
    ]
    for one in found:
        for span in one.ranges:
            last = _END if span.last is None else span.last
            lines.append(f"{_NAMES[one.collective]},{span.first},{last},{span.setting},1,{one.ranks}")
    return "\n".join(lines) + "\n"


def optimize(run: Run, figures: polars.DataFrame) -> str:
    """CSV of every setting at every size, times in microseconds, rates in GB/s of the algorithm (size over time)."""
    lines = [_OPTIMIZE]
    for one in _measured(figures):
        for setting, times in one.times.items():
            for size, seconds in sorted(times.items()):
                rates = f"{size / seconds * 1e-9:.6g},{seconds * 1e6:.6g}"
                lines.append(f"{_NAMES[one.collective]},{size},{setting},1,{one.ranks},-1,-1,{rates}")
    return "\n".join(lines) + "\n"


def _measured(figures: polars.DataFrame) -> tuple[Tuned, ...]:
    """Settings are spelt as the file does: "ring,ll,8"."""
    found = tuned(figures, "xccl-collective", _setting, lambda setting: int(setting.rpartition(",")[2]))
    if not found:
        raise LinkscopeError(f"this run did not measure NCCL by algorithm and protocol: linkscope run {SUITE}")
    return found


def _setting(environment: Environment, collective: str) -> str | None:
    algorithm, protocol = (environment.get(name, "").lower() for name in ("NCCL_ALGO", "NCCL_PROTO"))
    channels = environment.get("NCCL_MAX_NCHANNELS", "")
    counted = channels.isascii() and channels.isdecimal() and len(channels) < _DIGITS
    known = algorithm in _ALGORITHMS and protocol in _PROTOCOLS and counted and collective in _NAMES
    return f"{algorithm},{protocol},{channels}" if known else None
