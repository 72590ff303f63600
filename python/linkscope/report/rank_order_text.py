"""A suggested order of ranks on a terminal, and as what mpiexec, Slurm and the GPU runtimes take."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from linkscope.analysis.rank_order import RankOrder
from linkscope.machine.node import Node
from linkscope.report import wording
from linkscope.workload.schedule import Schedule

VISIBLE = {"AMD": "ROCR_VISIBLE_DEVICES"}
"""By the vendor's name in a device's; else NVIDIA's."""


def show(found: RankOrder, schedule: Schedule, node: Node, console: Console) -> None:
    """The answer, what it waits for, and how to ask for the order."""
    title = Text(f"{schedule.name}: {schedule.ranks} ranks on {node.name}", style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    console.print(Text(verdict(found)))
    if found.matters:
        for line in settings(found, node):
            console.print(Text(f"  {line}"), soft_wrap=True)


def verdict(found: RankOrder) -> str:
    """Two sentences or three."""
    share, what = wording.percent(found.bottleneck.share), found.bottleneck.what
    waits = f"Predicted from the run's figures, it waits {share} of its time for {what}."
    if not found.matters:
        tried = "No order of ranks is faster" if found.tried else "No order that was tried is faster"
        return f"{tried} than the devices' own by 1 %: {wording.time(found.default_seconds)}. {waits}"
    own, best = wording.time(found.default_seconds), wording.time(found.seconds)
    return f"The order {', '.join(found.devices)} takes {best}, the devices' own {own}: {found.gain:.2f} times. {waits}"


def settings(found: RankOrder, node: Node) -> list[str]:
    """Of GPUs the runtime's variable and Slurm's option; of NUMA nodes lines of Open MPI's rankfile."""
    numbers = ",".join(device.partition(":")[2] for device in found.devices)
    if found.devices[0].startswith("gpu:"):
        name = node.device(found.devices[0]).name
        variable = next((word for vendor, word in VISIBLE.items() if vendor in name), "CUDA_VISIBLE_DEVICES")
        return [f"{variable}={numbers}", f"srun --gpu-bind=map_gpu:{numbers}"]
    return rankfile(found, node).splitlines()


def rankfile(found: RankOrder, node: Node) -> str:
    """Open MPI's: each rank on the CPUs of its NUMA node, on this host."""
    cpus = [node.device(device).cpus for device in found.devices]
    return "".join(f"rank {rank}=localhost slot={','.join(map(str, own)) or rank}\n" for rank, own in enumerate(cpus))
