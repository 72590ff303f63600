"""Which variables a suite may set: those of communication libraries, and with the user's leave those that load code."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from linkscope.errors import LinkscopeError

ALLOW_VARIABLE = "LINKSCOPE_ALLOW_ENVIRONMENT"
"""1: suites may set any variable."""
_LIBRARIES = (
    *("NCCL", "RCCL", "UCX", "UCC", "FI", "MPIR_CVAR", "MPICH", "OMPI_MCA", "PMIX_MCA", "PRTE_MCA", "I_MPI"),
    *("MV2", "MVP", "CUDA", "GPU", "HIP", "HSA", "ROC", "ROCR", "AMD", "OMP", "KMP", "TORCH", "PYTORCH", "MALLOC"),
)
_NAME = re.compile(rf"(?:{'|'.join(_LIBRARIES)}|NVSHMEM_DISABLE)_\w+|LINKSCOPE_(?:SYNC|SEED|MPI_THREADS)")
_OF_FILES = re.compile(r"(?:FILES?|FILENAMES?|PATHS?|DIRS?)$", re.IGNORECASE)
"""Files of settings can name libraries, and a relative one may lie in any folder."""
_WORD = re.compile(r"[\w.,:;+=^%@*-]*")
"""No path, and no command with arguments."""


def check_settings(settings: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> None:
    """Raise LinkscopeError where a variable that a suite sets could run code, unless ``environment`` allows all."""
    if environment.get(ALLOW_VARIABLE) == "1":
        return
    for name, value in settings.items():
        if _NAME.fullmatch(name) is None or _OF_FILES.search(name) or _WORD.fullmatch(value) is None:
            raise LinkscopeError(f"{name[:40]} may run code; {ALLOW_VARIABLE}=1 lets suites set it")
