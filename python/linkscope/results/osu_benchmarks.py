"""OSU's benchmarks: what each measures, under which title, for the reader of its output and the tables like its own."""

from __future__ import annotations

from dataclasses import dataclass

_RATE = "     Bandwidth (MB/s)"
_ONE_SIDED = "         Latency (us)"


@dataclass(frozen=True)
class OsuBenchmark:
    """``name``: as suites cover it. ``title``: between "OSU MPI" and "Test". ``measures``: the call or collective of
    the case. ``column``: above its figures, MB/s where it says so, else us. ``shares``: its sizes are of one process's
    block, where linkscope's are of the larger buffer."""

    name: str
    title: str
    measures: str
    column: str = "      Avg Latency(us)"
    one_sided: bool = False
    shares: bool = False

    @property
    def rate(self) -> bool:
        return "MB/s" in self.column

    @property
    def sized(self) -> bool:
        """Return whether its table is by size."""
        return self.measures != "barrier"


OSU_MESSAGES = (
    OsuBenchmark("osu_latency", " Latency", "ping-pong"),
    OsuBenchmark("osu_bw", " Bandwidth", "window", _RATE),
    OsuBenchmark("osu_bibw", " Bi-Directional Bandwidth", "both-ways", _RATE),
    OsuBenchmark("osu_put_latency", "_Put Latency", "put", _ONE_SIDED, one_sided=True),
    OsuBenchmark("osu_get_latency", "_Get Latency", "get", _ONE_SIDED, one_sided=True),
    OsuBenchmark("osu_put_bw", "_Put Bandwidth", "put-window", _RATE, one_sided=True),
    OsuBenchmark("osu_get_bw", "_Get Bandwidth", "get-window", _RATE, one_sided=True),
)
"""Benchmarks of two processes. OSU has no single send."""
OSU_COLLECTIVES = (
    OsuBenchmark("osu_allreduce", " Allreduce Latency", "all-reduce"),
    OsuBenchmark("osu_reduce", " Reduce Latency", "reduce"),
    OsuBenchmark("osu_bcast", " Broadcast Latency", "broadcast"),
    OsuBenchmark("osu_reduce_scatter", " Reduce_scatter Latency", "reduce-scatter"),
    OsuBenchmark("osu_allgather", " Allgather Latency", "all-gather", shares=True),
    OsuBenchmark("osu_alltoall", " All-to-All Personalized Exchange Latency", "all-to-all", shares=True),
    OsuBenchmark("osu_barrier", " Barrier Latency", "barrier"),
)
