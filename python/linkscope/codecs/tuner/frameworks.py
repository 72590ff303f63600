"""Frameworks: the best sizes at which vLLM, SGLang, FlashInfer and MSCCL++ change their all-reduce, as each reads them.

vLLM: plug-ins of the group vllm.general_plugins run in every process; CustomAllreduce takes the smaller of its table
(device_communicators/all_reduce_utils.py) and 8 MiB, and FlashInferAllReduce the dictionary that PassConfig returns.
SGLang: variables of srt/environ.py that size workspaces, and with them the thresholds of custom_all_reduce_v2.py.
FlashInfer: _use_oneshot_heuristics of comm/trtllm_ar.py, in MiB of tokens x hidden x 2 x ranks x bytes of an element.
MSCCL++: TunedConfigStore of python/mscclpp_benchmark/tuning_config.py, by the sizes from which an algorithm holds.
Read 2026-11; machines/expected/thresholds.yaml has the defaults.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from linkscope.answers.best import Choice, choices
from linkscope.answers.thresholds import Default, KernelLimit, defaults
from linkscope.codecs.tuner.exported import Exported
from linkscope.messages.catalog import problem
from linkscope.messages.methods import method_name
from linkscope.statistics.best import best
from linkscope.statistics.ranges import costs_at

_MIB = 1 << 20
_CUSTOM_MOST = 8 * _MIB
_VLLM_TABLES = {"sm_90": "9.0", "sm_100": "10.0", "sm_103": "10.3"}
"""Architectures that vLLM's table of its own kernels has."""
_FLASHINFER = "flashinfer"
_MSCCLPP, _ALGORITHM, _NAME = "mscclpp-all-reduce", "algorithm", "default_allreduce_{}"


def vllm(source: Exported) -> str:
    """Return a plug-in for vLLM."""
    lines = []
    for one, limits in _limits(source, "vllm"):
        table = _VLLM_TABLES.get(one.architecture)
        for limit in limits:
            if limit.pick.table == _FLASHINFER:
                size, name = repr(limit.last / _MIB), "PassConfig.default_fi_allreduce_fusion_max_size_mb()"
            else:
                size, name = str(min(limit.last + 1, _CUSTOM_MOST)), f'CUSTOM_ALL_REDUCE_MAX_SIZES["{table}"]'
            if table or limit.pick.table == _FLASHINFER:
                lines.append(f"    {name}[{one.gpus}] = {size}  # by {method_name(limit.way)}")
    if not lines:
        raise problem("tuner.no-thresholds", format="vllm")
    head = [
        "# A vLLM plug-in: an entry point of the group vllm.general_plugins that names register.",
        "# vLLM reads CUSTOM_ALL_REDUCE_MAX_SIZES where it has symmetric memory with multicast; else 8 MiB holds.",
        "def register() -> None:",
        "    from vllm.config.compilation import PassConfig",
        "    from vllm.distributed.device_communicators.all_reduce_utils import CUSTOM_ALL_REDUCE_MAX_SIZES",
        "",
    ]
    return "\n".join([*source.comment, *head, *lines]) + "\n"


def sglang(source: Exported) -> str:
    """Return lines of a POSIX shell for the most GPUs that were measured."""
    one, limits = max(_limits(source, "sglang"), key=lambda found: found[0].gpus)
    one_shot = next((limit for limit in limits if limit.pick.algorithm == "one-shot"), limits[-1])
    lines = [
        *source.comment,
        f"# For SGLang on {one.gpus} GPUs, by {', '.join(method_name(limit.way) for limit in limits)}.",
        "# Each rank allocates 2 x ranks x the push size, and the pull size.",
        f"export SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PUSH_SIZE_KB={one_shot.last >> 10}",
        f"export SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PULL_SIZE_KB={max(limit.last for limit in limits) >> 10}",
    ]
    return "\n".join(lines) + "\n"


def flashinfer(source: Exported) -> str:
    """Return Python that changes FlashInfer's own choice; a caller may pass use_oneshot by the same sizes."""
    lines = [
        f"trtllm_ar._use_oneshot_heuristics[{one.gpus}] = {limit.last * 2 * one.gpus / _MIB!r}"
        f"  # one shot to {limit.last} bytes, by {method_name(limit.way)}"
        for one, limits in _limits(source, "flashinfer")
        for limit in limits
    ]
    return "\n".join([*source.comment, "from flashinfer.comm import trtllm_ar", "", *lines]) + "\n"


def mscclpp(source: Exported) -> str:
    """Return a tuned configuration: the best algorithm from each measured size on, in MSCCL++'s usual launch."""
    profiles = []
    for choice in _preferred(_choices(source)):
        known = {name: way.attributes[_ALGORITHM] for name, way in choice.ways.items()
                 if way.method == _MSCCLPP and way.attributes.get(_ALGORITHM, "auto") != "auto"}  # fmt: skip
        entries = []
        for size in choice.sizes if len(known) > 1 else ():
            costs = {name: cost for name, cost in costs_at(choice.rivals, size).items() if name in known}
            for name in best(costs)[:1]:
                algorithm = _NAME.format(known[name].replace("-", "_"))
                entries.append({"message_size": int(size), "algorithm": algorithm, "time_us": costs[name].value * 1e6})
        if entries:
            members = str(choice.first["members"]).split()
            sku = source.runs[-1].node.device(members[0]).name
            profiles.append({"sku": sku, "scale": len(members), "collectives": {"allreduce": entries}})
    if not profiles:
        raise problem("tuner.mscclpp")
    return json.dumps({"version": 1, "profiles": profiles}, indent=1, allow_nan=False) + "\n"


def _limits(source: Exported, name: str) -> list[tuple[Default, list[KernelLimit]]]:
    """Return the best limits of a framework's kernels for each number of GPUs, for calls as servers make them: from
    the graph that recorded most. Of several rules the later one's count. Raises LinkscopeError where there are none."""
    found: dict[int, tuple[Default, dict[str, KernelLimit]]] = {}
    preferred = _preferred(_choices(source))
    for one in defaults(preferred, source.runs[-1].node):
        if one.rule.export == name and one.limits:
            mine: dict[str, KernelLimit] = {}
            for limit in one.limits:
                key = limit.pick.table if name == "vllm" else limit.kernel  # vLLM has one limit for each table
                mine[key] = max(mine.get(key, limit), limit, key=lambda held: held.last)
            found.setdefault(one.gpus, (one, {}))[1].update(mine)
    if not found:
        raise problem("tuner.no-thresholds", format=name)
    return [(one, list(held.values())) for one, held in found.values()]


def _choices(source: Exported) -> list[Choice]:
    every = choices(source.results, len(source.runs))
    return [one for one in every if one.ranges and one.task.movement.startswith("all-reduce/")]


def _preferred(every: Sequence[Choice]) -> list[Choice]:
    """Return one all-reduce for each movement: of all memories, from the graph that recorded most, of most ways."""

    def rank(choice: Choice) -> tuple[int, bool, int, int]:
        recorded = [word.partition("=")[2] for word in choice.task.asked if word.startswith("recorded=")]
        return int(recorded[0]) if recorded else 0, "form=graph" in choice.shared, len(choice.ways), len(choice.sizes)

    movements = dict.fromkeys(choice.task.movement for choice in every)
    return [max((one for one in every if one.task.movement == movement), key=rank) for movement in movements]
