"""Installation: whether PyTorch and mpi4py are there, and what this PyTorch can do."""

from __future__ import annotations

import importlib
import importlib.util
import platform
import runpy
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_NCCL_PACKAGES = ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11")


def problems() -> dict[str, str | None]:
    """Return why what a method needs is not there, None where it seems to be; loads nothing of it."""
    torch = None if importlib.util.find_spec("torch") else "PyTorch is not installed (pip install torch)"
    mpi = None if importlib.util.find_spec("mpi4py") else "mpi4py is not installed (pip install mpi4py)"
    return {"torch": torch, "distributed": torch, "mpi": torch or mpi}


@cache
def versions() -> dict[str, str]:
    """Versions by name, as the packages say them; loads none of them."""
    found = {"Python": platform.python_version()}
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return found
    try:
        said: dict[str, Any] = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
    except OSError:
        return found
    names = {"PyTorch": "__version__", "CUDA of PyTorch": "cuda", "HIP of PyTorch": "hip"}
    found |= {name: str(said[variable]) for name, variable in names.items() if said.get(variable)}
    for package in _NCCL_PACKAGES if said.get("cuda") else ():
        try:
            return {**found, "NCCL of PyTorch": version(package)}
        except PackageNotFoundError:
            continue
    return found


@cache
def torch_problem() -> str | None:
    """Return why PyTorch cannot be loaded, in one line; None where it is."""
    try:
        importlib.import_module("torch")
    except ImportError as error:
        if error.name == "torch":
            return problems()["torch"] or "PyTorch is not installed (pip install torch)"
        return " ".join(f"PyTorch cannot be loaded: {error}".split())
    except OSError as error:
        return " ".join(f"PyTorch cannot be loaded: {error}".split())
    return None


def loading_problem(needs: str) -> str | None:
    """Return why what a method ``needs`` (one of problems()) cannot be had; loads PyTorch. MPI's library is left to the
    processes that MPI started.
    """
    problem = torch_problem()
    if problem or needs == "torch":
        return problem
    if needs == "mpi":
        return problems()["mpi"]
    import torch.distributed as dist

    return None if dist.is_available() else "this PyTorch was built without torch.distributed"


def l2_bytes(index: int) -> int:
    """Bytes of a GPU's last-level cache; 0 where PyTorch does not say."""
    import torch

    return int(getattr(torch.cuda.get_device_properties(index), "L2_cache_size", 0))
