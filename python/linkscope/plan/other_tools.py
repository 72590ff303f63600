"""Other tools: what to type here for one of their programs, for who types its name out of habit."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from linkscope.errors import LinkscopeError
from linkscope.plan.suite import Suite

_PING_PONG = "p2p-processes -k ping-pong"
_BANDWIDTH = "p2p-processes -k host-bandwidth/ --format osu"
_ONE_SIDED = "p2p-processes -k one-sided/ --format osu"
_ONE_SIDED_WINDOW = "p2p-processes -k one-sided-window/ --format osu"
_COLLECTIVE = 'collectives -k "xccl-calls and {}" --format nccl-tests'
_HOST_COLLECTIVE = 'collectives -k "host-mpi/2members and {}" --format osu'
_PEER_COPIES = "nvbandwidth -k device_to_device"
_REDUCE = "/reduce/"
"""The part of an id; the bare word is also part of other collectives' names."""
_COMMANDS = {
    "osu_latency": f"{_PING_PONG} --format osu",
    **dict.fromkeys(("osu_bw", "osu_bibw"), _BANDWIDTH),
    **dict.fromkeys(("osu_put_latency", "osu_get_latency"), _ONE_SIDED),
    **dict.fromkeys(("osu_put_bw", "osu_get_bw"), _ONE_SIDED_WINDOW),
    "osu_allreduce": _HOST_COLLECTIVE.format("all-reduce"),
    "osu_reduce": _HOST_COLLECTIVE.format(_REDUCE),
    "osu_bcast": _HOST_COLLECTIVE.format("broadcast"),
    "osu_reduce_scatter": _HOST_COLLECTIVE.format("reduce-scatter"),
    "osu_allgather": _HOST_COLLECTIVE.format("all-gather"),
    "osu_alltoall": _HOST_COLLECTIVE.format("all-to-all"),
    "osu_barrier": "collectives -k barrier --methods mpi-collective --format osu",
    "osu_xccl_bw": "p2p-processes -k gpu-bandwidth-xccl/",
    "all_reduce_perf": _COLLECTIVE.format("all-reduce"),
    "all_reduce_perf -r 2": 'collectives -k "xccl-windows-eager and all-reduce" --format nccl-tests',
    "all_gather_perf -r 2 -x 2": 'collectives -k "xccl-copy-engines and all-gather"',
    "all_reduce_perf -u": "collectives -k xccl-unaligned",
    "reduce_perf": _COLLECTIVE.format(_REDUCE),
    "broadcast_perf": _COLLECTIVE.format("broadcast"),
    "reduce_scatter_perf": _COLLECTIVE.format("reduce-scatter"),
    "all_gather_perf": _COLLECTIVE.format("all-gather"),
    "alltoall_perf": _COLLECTIVE.format("all-to-all"),
    "alltoallv_perf": "moe",
    "sendrecv_perf": "p2p-processes -k ring-xccl/ --format nccl-tests",
    **dict.fromkeys(("osu", "omb", "osu-micro-benchmarks"), f"{_PING_PONG} --format osu"),
    **dict.fromkeys(("mpi", "imb", "imb-mpi1", "mpi_latency"), _PING_PONG),
    "mpi_bandwidth": "p2p-processes -k host-bandwidth/",
    **dict.fromkeys(("nccl", "rccl", "nccl-tests", "rccl-tests"), _COLLECTIVE.format("all-reduce")),
    **dict.fromkeys(("comm|scope", "comm_scope"), "commscope"),
    **dict.fromkeys(("nvloom", "nvloom_cli"), _PEER_COPIES),
    **dict.fromkeys(("nixlbench", "kvbench"), "blocks -k nixl-"),
    "p2pbandwidthlatencytest": "schieffer24 -k p2p-",
    "transferbench": "peer duplex",
    **dict.fromkeys(("deepep", "test_intranode", "test_intranode.py"), "moe"),
    "multichase": "latency-host",
    "bandwidthtest": "host-device",
    "stream": "host",
}
"""Program, tool or library, in small letters -> what follows `linkscope run`; as docs/from-other-tools.md has it."""

_NEAR = 0.8
"""Similarity of a mistyped name, by difflib's ratio."""


def meant_instead(name: str, suites: Iterable[Suite]) -> LinkscopeError | None:
    """The error that says what to run instead of another tool's program or test ``name``, such as "osu_latency",
    "all_reduce_perf" or "device_local_copy"; None where it is none. ``suites``: where nvbandwidth's tests and
    Comm|Scope's are looked up. A study's figures and sections, and a tool's presets, are no programs.
    """
    word = name.strip().lower()
    command = _COMMANDS.get(word) or _test(word, suites)
    if command is None:
        return None
    return LinkscopeError(f"{name!r} names another tool or library: `linkscope run {command}` measures the same")


def nearly_meant(name: str, suites: Iterable[Suite]) -> LinkscopeError | None:
    """The same for a mistyped one, "osu_latancy"; None where nothing is near, or a suite's name is nearer."""
    known = list(suites)
    tests = (one for suite in known for row in suite.rows for one in (*row.covers, (row.peer or {}).get("case", "")))
    programs = {word.lower(): word for word in (*_COMMANDS, *tests) if word and " " not in word}
    near = get_close_matches(name.strip().lower(), (*(suite.name for suite in known), *programs), 1, _NEAR)
    if not near or near[0] not in programs:
        return None
    command = _COMMANDS.get(near[0]) or _test(near[0], known)
    return LinkscopeError(f"{name!r}: did you mean {programs[near[0]]}? `linkscope run {command}` measures the same")


def _test(word: str, suites: Iterable[Suite]) -> str | None:
    """The command for a test that a row repeats or covers under that one word."""
    if " " in word:
        return None
    for row in (row for suite in suites for row in suite.rows):
        if row.peer and row.peer["case"].lower() == word:
            return f"{row.suite} -k {row.peer['case']} --format {row.peer['tool']}"
        if any(one.lower() == word for one in row.covers):
            return f"{row.suite} -k {row.suite}/{row.name}/"
    return None
