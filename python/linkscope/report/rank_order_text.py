"""A suggested order of ranks on a terminal, and as what mpiexec, Slurm and the GPU runtimes take."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from linkscope.analysis.order_gain import OrderGain
from linkscope.analysis.rank_order import RankOrder
from linkscope.machine.node import Node
from linkscope.report import wording
from linkscope.workload.schedule import Schedule

VISIBLE = {"AMD": "ROCR_VISIBLE_DEVICES"}
"""By the vendor's name in a device's; else NVIDIA's."""


def show(found: RankOrder, schedule: Schedule, node: Node, console: Console, gains: Sequence[OrderGain] = ()) -> None:
    """The answer, what it waits for, how to ask for the order, and what orders gained in the run."""
    title = Text(f"{schedule.name}: {schedule.ranks} ranks on {node.name}", style="bold")
    if found.modelled:
        title.append(f"  {wording.MODELLED}", style="bold yellow")
    console.print(title)
    console.print(Text(verdict(found)))
    if found.matters:
        by_gpus = found.devices[0].startswith("gpu:")
        how = "one of these, or a rankfile by -o" if by_gpus else "this rankfile, which -o writes"
        console.print(Text(f"Start the application with {how}:"))
        for line in settings(found, node):
            console.print(Text(f"  {line}"), soft_wrap=True)
        if schedule.name.startswith("halo"):
            machine = f" --machine {node.name}" if node.modelled else ""
            command = f"linkscope app halo{machine} --order {','.join(found.devices)}"
            console.print(Text(f"{command}  {'models' if node.modelled else 'measures'} it", "dim"), soft_wrap=True)
    for line in measured(gains):
        console.print(Text(line), soft_wrap=True)


def verdict(found: RankOrder) -> str:
    """Two sentences or three."""
    share, what = wording.percent(found.bottleneck.share), found.bottleneck.what
    waits = f"The application waits {share} of its time for {what}, as the run's figures predict."
    if not found.matters:
        tried = "No order of ranks is faster" if found.tried else "No order that was tried is faster"
        return f"{tried} than the devices' own by 1 %: {wording.time(found.default_seconds)}. {waits}"
    own, best = wording.time(found.default_seconds), wording.time(found.seconds)
    order = ", ".join(found.devices)
    return f"The order {order} takes {best}, the devices' own order {own}: {found.gain:.2f} times as fast. {waits}"


def settings(found: RankOrder, node: Node) -> list[str]:
    """Of GPUs the runtime's variable and Slurm's option; of NUMA nodes lines of Open MPI's rankfile."""
    numbers = ",".join(device.partition(":")[2] for device in found.devices)
    if found.devices[0].startswith("gpu:"):
        name = node.device(found.devices[0]).name
        variable = next((word for vendor, word in VISIBLE.items() if vendor in name), "CUDA_VISIBLE_DEVICES")
        return [f"{variable}={numbers}", f"srun --gpu-bind=map_gpu:{numbers}"]
    return rankfile(found, node).splitlines()


def rankfile(found: RankOrder, node: Node) -> str:
    """Open MPI's: each rank on CPUs of its NUMA node, or of its GPU's, on this host; ranks of one node share its CPUs
    out while they last."""
    homes = [_home(device, node) for device in found.devices]
    lines = []
    for rank, home in enumerate(homes):
        cpus = node.device(home).cpus if home is not None else ()
        beside, before = homes.count(home), homes[:rank].count(home)
        own = cpus[before::beside] or cpus
        lines.append(f"rank {rank}=localhost slot={','.join(map(str, own)) or rank}\n")
    return "".join(lines)


def _home(device: str, node: Node) -> str | None:
    """The NUMA node that a device is, or is next to."""
    if device.startswith("numa:"):
        return device
    numa = f"numa:{node.device(device).numa}"
    return numa if any(one.id == numa for one in node.of_kind("numa")) else None


def measured(gains: Sequence[OrderGain]) -> list[str]:
    """A line for each workload that the run has in several orders."""
    return [
        f"{one.workload}, {one.method}, {'modelled' if one.modelled else 'measured'}: "
        f"{', '.join(one.devices)} takes {wording.time(one.seconds)}, {', '.join(one.default)} "
        f"{wording.time(one.default_seconds)}: {one.gain:.2f} times ({one.low:.2f} to {one.high:.2f})"
        for one in gains
    ]
