"""MPI: the algorithm of each collective, as Open MPI, MPICH and UCC read it.

Open MPI: rules files of coll/tuned, the classic form and the JSON of 6.0 (open-mpi/ompi
docs/tuning-apps/collectives/tuned.rst). A collective's size there is that of its larger buffer, as here.

MPICH: control variables for a shell, for those collectives in which one algorithm is best at all sizes. They know no
sizes, and the JSON file that does (MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE; pmodels/mpich maint/tuning/coll) replaces
all decisions at once, those on collectives that nobody measured among them.

UCC: a ucc.conf with the algorithm of its layer UCP by size and number of ranks (openucx/ucc docs/user_guide.md
and src/coll_score/ucc_coll_score.c): coll:first-end:memory:[ranks]:@algorithm, joined by "#"; a size range stops before
its end. Sizes are UCC's (ucc_coll_args_msgsize): of a reduce-scatter that of one rank's part, else that of the larger
buffer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import polars

from linkscope.codecs.tuner.exported import Exported
from linkscope.codecs.tuner.tuned import Environment, Tuned, few_digits, plain_word, tuned_mpi

_OPEN_MPI = {
    "all-gather": ("allgather", 0),
    "all-reduce": ("allreduce", 2),
    "all-to-all": ("alltoall", 3),
    "broadcast": ("bcast", 7),
    "reduce": ("reduce", 11),
    "reduce-scatter": ("reduce_scatter_block", 13),
}
"""Open MPI's name and number of each collective."""
_MPICH = {name: ours.upper() for name, (ours, _) in _OPEN_MPI.items()}
_UCC = {name: ours.removesuffix("_block") for name, (ours, _) in _OPEN_MPI.items()}
_STANDARD = "0"
"""The algorithm that stands for Open MPI's choice; the others' is ""."""
_USE = (
    "# mpirun --mca coll_tuned_priority 100 --mca coll_tuned_use_dynamic_rules 1",
    "#   --mca coll_tuned_dynamic_rules_filename (this file)",
)


def open_mpi(source: Exported) -> str:
    """Return a rules file for every version, without the line that 5.0.7 brought.

    Open MPI gives a communicator the rules of the next smaller one, and where there is none, those of the smallest: so
    before and behind each size that was measured its own choice is restored.
    """
    found = _by_collective(source.results)
    lines = [*source.comment, *_USE, f"{len(found)} # collectives"]
    for (name, number), by_ranks in found.items():
        sizes = {ranks: [(span.first, span.setting) for span in one.ranges] for ranks, one in by_ranks.items()}
        sizes = {other: [(0, _STANDARD)] for other in (1, *(ranks + 1 for ranks in sizes))} | sizes
        lines += [f"{number} # {name}", f"{len(sizes)} # communicator sizes"]
        for ranks, rules in sorted(sizes.items()):
            lines += [f"{ranks} # ranks", f"{len(rules)} # rules: from bytes, algorithm, topology, segment size"]
            lines += [f"{first} {algorithm} 0 0" for first, algorithm in rules]
    return "\n".join(lines) + "\n"


def open_mpi_json(source: Exported) -> str:
    """Return rules for exactly the communicator sizes that were measured, on one node."""
    collectives: dict[str, list[dict[str, Any]]] = {}
    for (name, _), by_ranks in _by_collective(source.results).items():
        for ranks, one in by_ranks.items():
            rules = [
                {"msg_size_min": span.first, "msg_size_max": _until(span.last), "alg": int(span.setting)}
                for span in one.ranges
            ]
            sizes = {"comm_size_min": ranks, "comm_size_max": ranks, "comm_rank_distribution": "single-node"}
            collectives.setdefault(name, []).append({**sizes, "rules": rules})
    return json.dumps({"rule_file_version": 3, "module": "tuned", "collectives": collectives}, indent=1) + "\n"


def _until(last: int | None) -> int | str:
    return "inf" if last is None else last


def _by_collective(results: polars.DataFrame) -> dict[tuple[str, int], dict[int, Tuned]]:
    found: dict[tuple[str, int], dict[int, Tuned]] = {}
    for one in tuned_mpi(results, _of_open_mpi, "Open MPI", "ompi-tuner", _STANDARD):
        found.setdefault(_OPEN_MPI[one.collective], {})[one.ranks] = one
    return {name: dict(sorted(by_ranks.items())) for name, by_ranks in found.items()}


def _of_open_mpi(environment: Environment, collective: str) -> str | None:
    if collective not in _OPEN_MPI or "OMPI_MCA_coll_tuned_priority" not in environment:
        return None
    number = environment.get(f"OMPI_MCA_coll_tuned_{_OPEN_MPI[collective][0]}_algorithm", _STANDARD)
    return number if few_digits(number) else None


def mpich(source: Exported) -> str:
    """Return lines of a POSIX shell; a collective that is better left to MPICH has a comment that says why."""
    by_collective: dict[str, list[Tuned]] = {}
    for one in tuned_mpi(source.results, _of_mpich, "MPICH", "mpich-tuner"):
        by_collective.setdefault(one.collective, []).append(one)
    lines = [*source.comment, "# of no use to jobs on several nodes: these figures are of one"]
    for collective, found in by_collective.items():
        lines += _variables(collective, found)
    return "\n".join(lines) + "\n"


def _variables(collective: str, found: Sequence[Tuned]) -> list[str]:
    spans = [span for one in found for span in one.ranges]
    best = [name for name in found[0].times if all(name in (span.setting, *span.equals) for span in spans)]
    if "" in best:
        return [f"# {collective}: MPICH's own choice is as good as any"]
    if not best:
        return [f"# {collective}: left to MPICH, the best changes with size or ranks"]
    variable = f"export MPIR_CVAR_{_MPICH[collective]}"
    return [f"{variable}_INTRA_ALGORITHM={best[0]}", f"{variable}_DEVICE_COLLECTIVE=0"]


def _of_mpich(environment: Environment, collective: str) -> str | None:
    if collective not in _MPICH or any(name.startswith("OMPI_") for name in environment):
        return None
    name = environment.get(f"MPIR_CVAR_{_MPICH[collective]}_INTRA_ALGORITHM", "")
    return name if not name or plain_word(name) else None


def ucc(source: Exported) -> str:
    """Return settings for collectives on host memory; UCC's choice is left alone where it is as good as any."""
    on_host = source.results.filter(polars.col("members").str.starts_with("numa:"))
    found = [(one, list(_tokens(one))) for one in tuned_mpi(on_host, _of_ucc, "UCC", "ucc-tuner")]
    left = [f"{one.collective} on {one.ranks} ranks" for one, tokens in found if not tokens]
    tokens = [token for _, some in found for token in some]
    lines = [
        *source.comment,
        "# UCC_CONFIG_FILE=(this file), or as ucc.conf in your home folder",
        *([f"# left to UCC, whose own choice is as good as any: {', '.join(left)}"] if left else []),
        *([f"UCC_TL_UCP_TUNE={'#'.join(tokens)}"] if tokens else []),
    ]
    return "\n".join(lines) + "\n"


def _tokens(one: Tuned) -> Iterator[str]:
    share = one.ranks if one.collective == "reduce-scatter" else 1
    for span in one.ranges:
        first, end = -(-span.first // share), None if span.last is None else span.last // share + 1
        if span.setting and (end is None or first < end):
            yield f"{_UCC[one.collective]}:{first}-{_until(end)}:host:[{one.ranks}]:@{span.setting}"


def _of_ucc(environment: Environment, collective: str) -> str | None:
    if collective not in _UCC or environment.get("OMPI_MCA_coll_ucc_enable") != "1":
        return None
    name, _, algorithm = environment.get("UCC_TL_UCP_TUNE", "").partition(":@")
    if not name:
        return ""
    return algorithm if name == _UCC[collective] and plain_word(algorithm) else None
