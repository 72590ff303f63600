"""Installation: whether PyTorch and mpi4py are there, and what this PyTorch can do."""

from __future__ import annotations

import importlib
import importlib.util
import platform
from functools import cache
from typing import Any


@cache
def torch_problem() -> str | None:
    """Why there is no PyTorch, in one line; None where there is."""
    try:
        importlib.import_module("torch")
    except ImportError as error:
        if error.name == "torch":
            return "PyTorch is not installed: pip install torch"
        return " ".join(f"PyTorch cannot be loaded: {error}".split())
    except OSError as error:
        return " ".join(f"PyTorch cannot be loaded: {error}".split())
    return None


def distributed_problem() -> str | None:
    """Why there is no torch.distributed."""
    if torch_problem():
        return torch_problem()
    import torch.distributed as dist

    return None if dist.is_available() else "this PyTorch was built without torch.distributed"


def mpi_problem() -> str | None:
    """Why there is no MPI for tensors; loading the library is left to the processes that MPI started."""
    if torch_problem():
        return torch_problem()
    return None if importlib.util.find_spec("mpi4py") else "mpi4py is not installed: pip install mpi4py"


def gpu_problem() -> str | None:
    """Why PyTorch uses no GPU."""
    if torch_problem():
        return torch_problem()
    import torch

    if torch.cuda.is_available() and torch.cuda.device_count() > 0:
        return None
    built = torch.version.cuda or torch.version.hip
    return "PyTorch finds no GPU" if built else "this PyTorch was built for CPUs alone"


def backend() -> str:
    """As records name it: cuda, hip, or host where PyTorch uses no GPU."""
    if gpu_problem():
        return "host"
    import torch

    return "hip" if torch.version.hip else "cuda"


def versions() -> dict[str, str]:
    """Versions by name."""
    found = {"Python": platform.python_version()}
    if torch_problem():
        return found
    import torch

    found["PyTorch"] = str(torch.__version__)
    for name, version in (("CUDA of PyTorch", torch.version.cuda), ("HIP of PyTorch", torch.version.hip)):
        if version:
            found[name] = str(version)
    if not gpu_problem() and not distributed_problem() and torch.distributed.is_nccl_available():
        found["NCCL of PyTorch"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    return found


def gpus() -> list[dict[str, Any]]:
    """What PyTorch says of each GPU, as a description's devices."""
    if gpu_problem():
        return []
    import torch

    devices = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        device: dict[str, Any] = {"id": f"gpu:{index}", "name": properties.name}
        device["memory_bytes"] = int(properties.total_memory)
        if hasattr(properties, "pci_bus_id"):
            address = (properties.pci_domain_id, properties.pci_bus_id, properties.pci_device_id)
            device["pci"] = "{:04x}:{:02x}:{:02x}.0".format(*address)
        device["attributes"] = {"multiprocessors": properties.multi_processor_count, "l2_bytes": l2_bytes(index)}
        devices.append(device)
    return devices


def peer_access() -> list[list[str]]:
    """Pairs of GPUs of which the first can load and store the second's memory."""
    if gpu_problem():
        return []
    import torch

    count = range(torch.cuda.device_count())
    can = torch.cuda.can_device_access_peer
    return [[f"gpu:{a}", f"gpu:{b}"] for a in count for b in count if a != b and can(a, b)]


def l2_bytes(index: int) -> int:
    """Bytes of a GPU's last-level cache; 0 where PyTorch does not say."""
    import torch

    return int(getattr(torch.cuda.get_device_properties(index), "L2_cache_size", 0))
