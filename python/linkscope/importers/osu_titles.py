"""OSU's tests by their titles and programs: what each measures, in linkscope's words. Titles: BENCHMARK in OSU's c/."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_COLLECTIVE = re.compile(
    r"(i?)(reduce_scatter_block|reduce_scatter|all-?reduce|reduce|broadcast|bcast|all-?gatherv?|all-?to-?all[vw]?|gatherv?"
    r"|scatterv?|barrier|f?collect)\b"
)
_CALLED = {
    **{"allreduce": "all-reduce", "bcast": "broadcast", "reduce_scatter": "reduce-scatter", "collect": "all-gather"},
    **{"reduce_scatter_block": "reduce-scatter", "fcollect": "all-gather", "allgather": "all-gather"},
    **{"alltoall": "all-to-all"},
}
_PAIRED = {
    **{"latency": "latency", "bandwidth": "bw", "bi-directional bandwidth": "bibw", "multi latency": "multi_lat"},
    **{"multi-threaded latency": "latency_mt", "multi-process latency": "latency_mp"},
    **{"multiple bandwidth / message rate": "mbw_mr", "accumulate latency": "acc_latency"},
    **{"fetch_and_op latency": "fop_latency", "compare_and_swap latency": "cas_latency"},
    **{"get_accumulate latency": "get_acc_latency"},
}
"""Programs by their titles, which of others are close to their names."""
_PREFIXES = {"NCCL": "osu_xccl_", "RCCL": "osu_xccl_", "OpenSHMEM": "osu_oshm_", "UPC": "osu_upc_", "MPI": "osu_"}
_METHODS = {"NCCL": "xccl", "RCCL": "xccl", "OpenSHMEM": "openshmem", "UPC": "upc", "MPI": "mpi"}
SHARED = frozenset(("all-gather", "all-to-all", "gather", "scatter"))
"""Collectives whose sizes are of one process's block, where linkscope's are of the larger buffer."""


@dataclass(frozen=True)
class OsuTest:
    """``name``: the program. ``library``: what moves the data. ``collective``: as linkscope calls it, or "".
    ``varies``: "non-blocking", "persistent" and others."""

    name: str
    library: str = "MPI"
    collective: str = ""
    varies: str = ""

    @property
    def method(self) -> str:
        """Return the method's name in linkscope, or the library's."""
        method = _METHODS[self.library]
        return f"{method}-collective" if self.collective and method in ("mpi", "xccl") else method


def titled(title: str) -> OsuTest:
    """Return the test of "MPI Allreduce Latency", "NCCL Bandwidth", "MPI_Put Latency", "Python MPI Latency"."""
    words = re.sub(r"\s+", " ", title).lower().replace("python mpi", "mpi")
    library = next((one for one in _PREFIXES if words.startswith(one.lower())), "MPI")
    key = re.sub(r"^(?:mpi|nccl|rccl|openshmem|upc(?:\+\+)?)[_ ]", "", words)
    match, prefix = _COLLECTIVE.search(key), _PREFIXES[library]
    if match is None:
        plain = key.replace("bi-directional bandwidth", "bibw").replace("bandwidth", "bw")
        return OsuTest(prefix + _PAIRED.get(key, re.sub(r"\W+", "_", plain)), library)
    stem = match[2].replace("all-to-all", "alltoall").replace("all-reduce", "allreduce").replace("broadcast", "bcast")
    kinds = [one for one in ("non-blocking", "neighborhood", "persistent") if one in key]
    middle = "i" * ("non-blocking" in kinds) + "neighbor_" * ("neighborhood" in kinds)
    return _collective(f"{prefix}{middle}{stem}" + "_persistent" * ("persistent" in kinds), library, stem, kinds)


def started(program: str) -> OsuTest:
    """Return the test of "osu_bw", "osu_iallreduce" or "osu_xccl_bcast"."""
    library = "NCCL" if program.startswith("osu_xccl_") else "MPI"
    stem = re.sub("^osu_(?:xccl_)?", "", program).removesuffix("_persistent")
    match = _COLLECTIVE.fullmatch(stem.replace("neighbor_", ""))
    if match is None:
        return OsuTest(program, library)
    told = {"non-blocking": match[1], "neighborhood": "neighbor" in stem, "persistent": program.endswith("_persistent")}
    return _collective(program, library, match[2], [kind for kind, there in told.items() if there])


def _collective(name: str, library: str, stem: str, kinds: Sequence[str]) -> OsuTest:
    plain = stem if stem in _CALLED else stem.rstrip("vw")
    varies = [*kinds, *([stem] if plain != stem else [])]
    return OsuTest(name, library, _CALLED.get(plain, plain), ", ".join(varies))
