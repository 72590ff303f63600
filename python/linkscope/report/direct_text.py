"""What "direct" means in tables of collectives and of an application's messages: one place for all that print it."""

from __future__ import annotations

from linkscope.analysis.workloads import WorkloadTable

INTERFACE = "direct"
_REFERENCE = "no library: a reference for what the hardware allows"
OF_COLLECTIVES = (
    f"{INTERFACE}: linkscope's own kernels, {_REFERENCE} (an application gets such kernels from PyTorch's "
    "torch.ops.symm_mem, MSCCL++, or NCCL by windows of symmetric memory)"
)
THREADS, PROCESSES = "threads of one process", "processes of their own"
_ON_GPUS = (
    "Your code gets it by peer access within a process, CUDA or HIP IPC between processes, or NVSHMEM or rocSHMEM."
)
_ON_HOSTS = "Your code gets it by threads, or by memory that processes share."


def of_messages(one: WorkloadTable) -> list[str]:
    """What the way is, who carried it out, and how an application gets it; nothing where no way is direct."""
    ways = [way.combination for way in one.ways if way.combination.interface == INTERFACE]
    if not ways:
        return []
    kinds = sorted({THREADS if way.processes == 1 else PROCESSES for way in ways}, reverse=True)
    ranks = "" if one.modelled else f", here by ranks that are {' or '.join(kinds)}"
    on_gpus = any(device.startswith("gpu:") for way in ways for device in way.order)
    what = f"{INTERFACE}: linkscope's own stores straight into the receiver's memory{ranks}; {_REFERENCE}."
    return [f"{what} {_ON_GPUS if on_gpus else _ON_HOSTS}"]
