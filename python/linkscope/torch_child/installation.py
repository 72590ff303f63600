"""Installation: whether PyTorch and mpi4py are there, and what this PyTorch can do."""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import runpy
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_NCCL_PACKAGES = ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11")
_NVSHMEM_PACKAGES = ("nvidia-nvshmem-cu13", "nvidia-nvshmem-cu12")

NVSHMEM = "nvshmem/lib/libnvshmem_host.so.*"
_PACKAGES = {
    "vllm": ("vLLM", "pip install vllm", ("vllm",)),
    "flashinfer": ("FlashInfer", "pip install flashinfer-python", ("flashinfer",)),
    "mscclpp": ("MSCCL++", "pip install git+https://github.com/microsoft/mscclpp", ("mscclpp",)),
    "nixl": ("NIXL", "pip install nixl", ("nixl._api", "nixl_cu13._api", "nixl_cu12._api")),
}
"""Titles, how to install them, and the modules to load, of which the first that is installed is taken."""


def problems() -> dict[str, str | None]:
    """Return why what a method needs is not there, None where it seems to be; loads nothing of it."""
    torch = None if importlib.util.find_spec("torch") else "PyTorch is not installed (pip install torch)"
    mpi = None if importlib.util.find_spec("mpi4py") else "mpi4py is not installed (pip install mpi4py)"
    packages = {
        package: torch or (None if _module(package) else f"{title} is not installed ({command})")
        for package, (title, command, _) in _PACKAGES.items()
    }
    nvshmem = None if nvidia_files(NVSHMEM) else "NVSHMEM is not installed (pip install nvidia-nvshmem-cu13)"
    return {"torch": torch, "distributed": torch, "mpi": torch or mpi, "nvshmem": torch or nvshmem, **packages}


def nvidia_files(pattern: str) -> list[Path]:
    """Return the files of NVIDIA's packages at a pattern below `nvidia/`; loads none of them."""
    spec = importlib.util.find_spec("nvidia")
    roots = spec.submodule_search_locations if spec else None
    return [file for root in roots or () for file in sorted(Path(root).glob(pattern))]


@cache
def versions() -> dict[str, str]:
    """Versions by name, as the packages say them; loads none of them."""
    found = {"Python": platform.python_version()} | _package_versions()
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return found
    try:
        said: dict[str, Any] = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
    except OSError:
        return found
    names = {"PyTorch": "__version__", "CUDA of PyTorch": "cuda", "HIP of PyTorch": "hip"}
    found |= {name: str(said[variable]) for name, variable in names.items() if said.get(variable)}
    nccl = _version(_NCCL_PACKAGES) if said.get("cuda") else None
    return {**found, "NCCL of PyTorch": nccl} if nccl else found


def _package_versions() -> dict[str, str]:
    names = {
        title: [name for module in modules for name in (_top(module), f"{_top(module)}-python")]
        for title, _, modules in _PACKAGES.values()
    }
    found = {title: _version(names) for title, names in {**names, "NVSHMEM": _NVSHMEM_PACKAGES}.items()}
    return {title: text for title, text in found.items() if text}


def _version(packages: Iterable[str]) -> str | None:
    """Return that of the first which is installed."""
    for package in packages:
        with suppress(PackageNotFoundError):
            return version(package)
    return None


@cache
def torch_problem() -> str | None:
    """Return why PyTorch cannot be loaded, in one line; None where it is."""
    return _loading("torch", "PyTorch")


def load(package: str) -> Any:
    """Import what a method calls of a package, and return the module. Raises ImportError or OSError."""
    os.environ.setdefault("NIXL_LOG_LEVEL", "ERROR")  # NIXL reads it while it loads
    return importlib.import_module(_module(package) or package)


def _module(package: str) -> str | None:
    """Return the first that is installed; loads none."""
    modules = _PACKAGES[package][2] if package in _PACKAGES else ()
    return next((module for module in modules if importlib.util.find_spec(_top(module))), None)


def _top(module: str) -> str:
    return module.partition(".")[0]


def _loading(package: str, title: str) -> str | None:
    try:
        load(package)
    except (ImportError, OSError) as error:
        missing = problems()[package] if getattr(error, "name", None) == package else None
        return missing or " ".join(f"{title} cannot be loaded: {error}".split())
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

    if not dist.is_available():
        return "this PyTorch was built without torch.distributed"
    return problems()[needs] or (_loading(needs, _PACKAGES[needs][0]) if needs in _PACKAGES else None)


def l2_bytes(index: int) -> int:
    """Bytes of a GPU's last-level cache; 0 where PyTorch does not say."""
    import torch

    return int(getattr(torch.cuda.get_device_properties(index), "L2_cache_size", 0))
