"""Open MPI: rules files of coll/tuned, the classic form and the JSON of 6.0.

Format and the meaning of sizes: open-mpi/ompi docs/tuning-apps/collectives/tuned.rst. A collective's size there is that
of its larger buffer, as here.
"""

from __future__ import annotations

import json
from typing import Any

import polars

from linkscope.codecs.tuner.exported import Exported
from linkscope.codecs.tuner.tuned import Environment, Tuned, tuned
from linkscope.messages.catalog import problem

SUITE = "ompi-tuner"
_IDS = {"allgather": 0, "allreduce": 2, "alltoall": 3, "bcast": 7, "reduce": 11, "reduce_scatter_block": 13}
_NAMES = {
    "all-gather": "allgather",
    "all-reduce": "allreduce",
    "all-to-all": "alltoall",
    "broadcast": "bcast",
    "reduce": "reduce",
    "reduce-scatter": "reduce_scatter_block",
}
_DIGITS = 4
_OWN = "0"
"""The algorithm that stands for Open MPI's own choice."""


def classic(source: Exported) -> str:
    """Return a rules file for every version, without the line that 5.0.7 brought.

    Open MPI gives a communicator the rules of the next smaller one, and where there is none, those of the smallest: so
    before and behind each size that was measured its own choice is restored.
    """
    found = _by_collective(source.results)
    lines = [*(f"# {line}" for line in source.origin), *(f"# {line}" for line in _USE), f"{len(found)} # collectives"]
    for name, by_ranks in found.items():
        sizes = {ranks: _rules(one) for ranks, one in sorted(by_ranks.items())}
        sizes = {other: [(0, _OWN)] for other in (1, *(ranks + 1 for ranks in sizes))} | sizes
        lines += [f"{_IDS[name]} # {name}", f"{len(sizes)} # communicator sizes"]
        for ranks, rules in sorted(sizes.items()):
            lines += [f"{ranks} # ranks", f"{len(rules)} # rules: from bytes, algorithm, topology, segment size"]
            lines += [f"{first} {algorithm} 0 0" for first, algorithm in rules]
    return "\n".join(lines) + "\n"


def as_json(source: Exported) -> str:
    """Return rules for exactly the communicator sizes that were measured, on one node."""
    collectives: dict[str, list[dict[str, Any]]] = {}
    for name, by_ranks in _by_collective(source.results).items():
        for ranks, one in sorted(by_ranks.items()):
            rules = [
                {
                    "msg_size_min": span.first,
                    "msg_size_max": "inf" if span.last is None else span.last,
                    "alg": int(span.setting),
                }
                for span in one.ranges
            ]
            sizes = {"comm_size_min": ranks, "comm_size_max": ranks, "comm_rank_distribution": "single-node"}
            collectives.setdefault(name, []).append({**sizes, "rules": rules})
    return json.dumps({"rule_file_version": 3, "module": "tuned", "collectives": collectives}, indent=1) + "\n"


_USE = (
    "mpirun --mca coll_tuned_priority 100 --mca coll_tuned_use_dynamic_rules 1",
    "  --mca coll_tuned_dynamic_rules_filename (this file)",
)


def _rules(one: Tuned) -> list[tuple[int, str]]:
    return [(span.first, span.setting) for span in one.ranges]


def _by_collective(results: polars.DataFrame) -> dict[str, dict[int, Tuned]]:
    found: dict[str, dict[int, Tuned]] = {}
    for one in tuned(results, "mpi-collective", _setting, lambda setting: int(setting != _OWN)):
        if set(one.times) - {_OWN}:
            found.setdefault(_NAMES[one.collective], {})[one.ranks] = one
    if not found:
        raise problem("tuner.not-tuned", library="Open MPI", suite=SUITE)
    return found


def _setting(environment: Environment, collective: str) -> str | None:
    if collective not in _NAMES or "OMPI_MCA_coll_tuned_priority" not in environment:
        return None
    number = environment.get(f"OMPI_MCA_coll_tuned_{_NAMES[collective]}_algorithm", _OWN)
    return number if number.isascii() and number.isdecimal() and len(number) < _DIGITS else None
