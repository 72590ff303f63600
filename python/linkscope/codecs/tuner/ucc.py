"""UCC: a ucc.conf with the algorithm of its transport layer UCP for each collective, by size and number of ranks.

Format: openucx/ucc docs/user_guide.md and src/coll_score/ucc_coll_score.c: coll:first-end:memory:[ranks]:@algorithm,
joined by "#"; a size range stops before its end. Sizes are UCC's (ucc_coll_args_msgsize): of a reduce-scatter that of
one rank's part, else that of the larger buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars

from linkscope.codecs.tuner.exported import Exported
from linkscope.codecs.tuner.tuned import Environment, Tuned, tuned
from linkscope.messages.catalog import problem

SUITE = "ucc-tuner"
_NAMES = {
    "all-gather": "allgather",
    "all-reduce": "allreduce",
    "all-to-all": "alltoall",
    "broadcast": "bcast",
    "reduce": "reduce",
    "reduce-scatter": "reduce_scatter",
}
_LETTERS = 64
_OWN = ""
"""What UCC takes by itself."""


def conf(source: Exported) -> str:
    """Return settings for collectives on host memory; UCC's choice is left alone where it is as good as any."""
    on_host = source.results.filter(polars.col("members").str.starts_with("numa:"))
    found = [
        one
        for one in tuned(on_host, "mpi-collective", _setting, lambda setting: int(setting != _OWN))
        if set(one.times) - {_OWN}
    ]
    if not found:
        raise problem("tuner.not-tuned", library="UCC", suite=SUITE)
    tokens = [token for one in found for token in _tokens(one)]
    left = [f"{one.collective} on {one.ranks} ranks" for one in found if not list(_tokens(one))]
    lines = [
        *(f"# {line}" for line in source.origin),
        "# UCC_CONFIG_FILE=(this file), or as ucc.conf in your home folder",
        *([f"# left to UCC, whose own choice is as good as any: {', '.join(left)}"] if left else []),
        *([f"UCC_TL_UCP_TUNE={'#'.join(tokens)}"] if tokens else []),
    ]
    return "\n".join(lines) + "\n"


def _tokens(one: Tuned) -> Iterator[str]:
    share = one.ranks if one.collective == "reduce-scatter" else 1
    for span in one.ranges:
        first, end = -(-span.first // share), "inf" if span.last is None else span.last // share + 1
        if span.setting != _OWN and (end == "inf" or first < int(end)):
            yield f"{_NAMES[one.collective]}:{first}-{end}:host:[{one.ranks}]:@{span.setting}"


def _setting(environment: Environment, collective: str) -> str | None:
    if collective not in _NAMES or environment.get("OMPI_MCA_coll_ucc_enable") != "1":
        return None
    name, _, algorithm = environment.get("UCC_TL_UCP_TUNE", "").partition(":@")
    if not name:
        return _OWN
    plain = algorithm.isascii() and algorithm.replace("_", "").isalnum() and len(algorithm) < _LETTERS
    return algorithm if plain and name == _NAMES[collective] else None
