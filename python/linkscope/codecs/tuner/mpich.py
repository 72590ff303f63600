"""MPICH: control variables for a shell, for those collectives in which one algorithm is best at all sizes.

Its variables know no sizes, and the JSON file that does (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE; pmodels/mpich
maint/tuning/coll) replaces all decisions at once, those on collectives that nobody measured among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkscope.codecs.tuner.exported import Exported
from linkscope.codecs.tuner.tuned import Environment, Tuned, tuned
from linkscope.messages.catalog import problem

SUITE = "mpich-tuner"
_NAMES = {
    "all-gather": "ALLGATHER",
    "all-reduce": "ALLREDUCE",
    "all-to-all": "ALLTOALL",
    "broadcast": "BCAST",
    "reduce": "REDUCE",
    "reduce-scatter": "REDUCE_SCATTER_BLOCK",
}
_LETTERS = 64
_OWN = ""
"""MPICH as it comes."""


def variables(source: Exported) -> str:
    """Return lines of a POSIX shell; a collective that is better left to MPICH has a comment that says why."""
    by_collective: dict[str, list[Tuned]] = {}
    for one in tuned(source.results, "mpi-collective", _setting, lambda setting: int(setting != _OWN)):
        if set(one.times) - {_OWN}:
            by_collective.setdefault(one.collective, []).append(one)
    if not by_collective:
        raise problem("tuner.not-tuned", library="MPICH", suite=SUITE)
    lines = [*(f"# {line}" for line in source.origin), "# of no use to jobs on several nodes: these figures are of one"]
    for collective, found in by_collective.items():
        lines += _lines(collective, found)
    return "\n".join(lines) + "\n"


def _lines(collective: str, found: Sequence[Tuned]) -> list[str]:
    spans = [span for one in found for span in one.ranges]
    best = [name for name in found[0].times if all(name in (span.setting, *span.equals) for span in spans)]
    if _OWN in best:
        return [f"# {collective}: MPICH's own choice is as good as any"]
    if not best:
        return [f"# {collective}: left to MPICH, the best changes with size or ranks"]
    name = _NAMES[collective]
    return [
        f"export MPIR_CVAR_{name}_INTRA_ALGORITHM={best[0]}",
        f"export MPIR_CVAR_{name}_DEVICE_COLLECTIVE=0",
    ]


def _setting(environment: Environment, collective: str) -> str | None:
    if collective not in _NAMES or any(name.startswith("OMPI_") for name in environment):
        return None
    name = environment.get(f"MPIR_CVAR_{_NAMES[collective]}_INTRA_ALGORITHM", _OWN)
    plain = name.isascii() and name.replace("_", "").isalnum() and len(name) < _LETTERS
    return name if plain or name == _OWN else None
