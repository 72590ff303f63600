"""NCCL: rules for the example tuner plugin, and the input of its optimize_config.py.

Format: NVIDIA/nccl 2.30, plugins/tuner/example (plugin.c, README.md, scripts/optimize_config.py).
"""

from __future__ import annotations

import polars

from linkscope.codecs.tuner.exported import Exported
from linkscope.codecs.tuner.tuned import Environment, Tuned, few_digits, tuned
from linkscope.figures.columns import PLAIN_COLLECTIVE
from linkscope.messages.catalog import problem

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
_END = (1 << 64) - 1
_OPTIMIZE = "collective,size_bytes,algorithm,protocol,channels,nodes,ranks,pipeOps,regBuff,bandwidth_gbps,latency_us"


def tuner(source: Exported) -> str:
    """Return CSV of rules; the first that matches wins.

    The plugin takes one channel where no rule matches, also for collectives that the file does not name. So channels
    are explicit, sizes have no gaps, and all five collectives must have been measured: else LinkscopeError.
    """
    found = [one for one in _measured(source.results) if one.collective in _NAMES]
    for ranks in sorted({one.ranks for one in found}):
        lacking = [name for name in _NAMES if (name, ranks) not in {(one.collective, one.ranks) for one in found}]
        if lacking:
            raise problem("tuner.not-whole", collective=lacking[0], ranks=ranks, suite=SUITE)
    lines = [
        *source.comment,
        "# NCCL_TUNER_PLUGIN=libnccl-tuner-example.so NCCL_TUNER_CONFIG_FILE=(this file)",
        "# Communicators of other sizes match no rule here: the example plugin gives those one channel.",
        "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks",
    ]
    for one in found:
        for span in one.ranges:
            last = _END if span.last is None else span.last
            lines.append(f"{_NAMES[one.collective]},{span.first},{last},{span.setting},1,{one.ranks}")
    return "\n".join(lines) + "\n"


def optimize(source: Exported) -> str:
    """Return CSV of every setting at every size, times in microseconds, rates in GB/s (size over time)."""
    lines = [_OPTIMIZE]
    for one in _measured(source.results):
        for setting, times in one.times.items():
            for size, seconds in sorted(times.items()):
                rates = f"{size / seconds * 1e-9:.6g},{seconds * 1e6:.6g}"
                lines.append(f"{_NAMES[one.collective]},{size},{setting},1,{one.ranks},-1,-1,{rates}")
    return "\n".join(lines) + "\n"


def _measured(results: polars.DataFrame) -> tuple[Tuned, ...]:
    """Return the settings of each collective, spelt as the file does: "ring,ll,8".

    Plain calls alone: a plug-in neither registers windows nor sets a call's CTAs.
    """
    found = tuned(
        results.filter(PLAIN_COLLECTIVE), "xccl-collective", _setting, lambda setting: int(setting.rpartition(",")[2])
    )
    if not found:
        raise problem("tuner.not-tuned", library="NCCL", suite=SUITE)
    return found


def _setting(environment: Environment, collective: str) -> str | None:
    algorithm, protocol = (environment.get(name, "").lower() for name in ("NCCL_ALGO", "NCCL_PROTO"))
    channels = environment.get("NCCL_MAX_NCHANNELS", "")
    known = algorithm in _ALGORITHMS and protocol in _PROTOCOLS and few_digits(channels) and collective in _NAMES
    return f"{algorithm},{protocol},{channels}" if known else None
