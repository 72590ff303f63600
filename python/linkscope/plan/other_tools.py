"""Other tools: what to type here for one of their programs, for who types its name out of habit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from linkscope.errors import LinkscopeError

if TYPE_CHECKING:
    from linkscope.plan.suite import Suite
    from linkscope.plan.suite_row import SuiteRow

_WHOLE = {
    **dict.fromkeys(("nccl-tests", "rccl-tests"), "collectives --format nccl-tests"),
    **dict.fromkeys(("osu", "omb", "osu-micro-benchmarks", "imb", "imb-mpi1"), "p2p-processes"),
    "mpi_latency": "p2p-processes -k host-latency/",
    "mpi_bandwidth": "p2p-processes -k host-bandwidth/",
    "p2pbandwidthlatencytest": "schieffer24 -k p2p",
    "bandwidthtest": "host-device",
    "stream": "host",
    "transferbench": "peer duplex host-device --methods copy-engine,kernel-copy",
}
"""Of programs that no row covers by their name: the suites to run, and options."""
_FORMATS = {"osu_": "osu", "nccl-tests ": "nccl-tests"}
"""By how the name begins that a row covers: what prints its table."""


def meant_instead(name: str, suites: Iterable[Suite]) -> LinkscopeError | None:
    """The error that says what to run instead of another tool's program ``name``, such as "osu_latency" or
    "all_reduce_perf"; None where it is none. Rows that need no GPU come first."""
    word = name.strip().lower()
    if word in _WHOLE:
        return _error(name, _WHOLE[word])
    rows = [row for suite in suites for row in suite.rows]
    for row in sorted(rows, key=lambda row: row.needs_gpu):
        if row.peer and row.peer["case"].lower() == word:
            return _error(name, f"{row.suite} -k {row.peer['case']} --format {row.peer['tool']}")
        known = next((one for one in row.covers if one.lower().rpartition(" ")[2] == word), None)
        if known is not None:
            return _error(name, f"{row.suite} -k {_keyword(row, word)}{_format(known)}")
    return None


def _error(name: str, words: str) -> LinkscopeError:
    return LinkscopeError(f"{name!r} is another tool's program: `linkscope run {words}` measures the same")


def _keyword(row: SuiteRow, word: str) -> str:
    """Of the row, and of several collectives the one that the program measures."""
    plain = word.replace("_", "").replace("bcast", "broadcast")
    named = [one for one in row.collectives if one.replace("-", "") in plain]
    one = max(named, key=len, default=None)
    return f"{row.name}/" if one is None or len(row.collectives) == 1 else f'"{row.name}/ and {one}"'


def _format(known: str) -> str:
    return next((f" --format {form}" for start, form in _FORMATS.items() if known.startswith(start)), "")
