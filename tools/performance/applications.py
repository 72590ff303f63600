"""The page's sections on applications' communication: recorded runs, the particle exchange's shape."""

from __future__ import annotations

from typing import Any

from tools.performance.figures import Figures
from tools.performance.particle_shape import RECORDED, shape

from linkscope.answers.app import workloads
from linkscope.figures.run import Run
from linkscope.workload.particles import particles
from linkscope.workload.problem import DECKS

Lines = list[tuple[str, ...]]
HEAD = """## Applications' communication

The halo exchange and the particle exchange with all ranks on one H100, which they share,
and MPI that takes no GPU memory: MPI staged through the host beside copies by peer access or IPC. "Sum of parts":
what packing, sending, waiting and so on add up to on the rank where it is most, over the mean time. It is not quite
100 %, as the parts' means hold one start more, the one before the first sample.
"""
SHAPE = """## Particle exchange: messages beside Quicksilver's

Of one steady cycle on 2 x 2 x 1 ranks: ours, computed, and in brackets what was recorded of the application. A cycle
sends in rounds until no particle is left on its way.
"""
ENTRIES = {
    "messages_per_rank": "messages sent by a rank",
    "mb_per_rank": "MB sent by a rank",
    "p10": "particles in a message, 10th percentile",
    "p50": "particles in a message, median",
    "p90": "particles in a message, 90th percentile",
    "largest": "particles in the largest message",
    "rounds": "rounds",
    "share_0": "particles sent in round 1, share of all",
    "share_1": "in round 2",
    "share_2": "in round 3",
    "share_3": "in round 4",
    "decay": "from round 4 on, each over the one before",
}
"""What the page calls each entry of a ``ParticleShape``."""
ORDERS = """## Order of ranks, modelled

The halo exchange of eight ranks on frontier: in the node's order, and in the order that `rank_order` suggests
with a copy of each pair at 77 % of its path's peak.
"""
ORDER_COLUMNS = ("order of GPUs", "modelled time, ms", "times as fast", "run")
COLUMNS = ("application", "deck", "ranks", "combination", "time, ms", "95 % interval", "GB/s", "sum of parts", "run")


def timed(figures: Figures) -> Lines:
    """A line for each combination that was timed."""
    return [
        (*one.facts["workload"].split(" ", 1), str(one.facts["ranks"]), *_method(figures, run, line), run)
        for run in figures.raw["applications"]
        for one in workloads(Run(figures.files[run]))
        for line in one.methods.iter_rows(named=True)
    ]


def orders(figures: Figures) -> Lines:
    """A line for each order, against the first."""
    rows = {run: figures.files[run].with_status("ok")[0] for run in figures.raw["orders"]}
    times = {run: row.flows[0].seconds.median for run, row in rows.items()}
    first = next(iter(times.values()))
    gpus = {
        run: " ".join(name.removeprefix("gpu:") for name in row.labels["workload"]["order"])
        for run, row in rows.items()
    }
    return [(gpus[run], f"{time * 1e3:.2f}", f"{first / time:.2f}", run) for run, time in times.items()]


def _method(figures: Figures, run: str, line: dict[str, Any]) -> tuple[str, ...]:
    ends = f"{line['seconds_low'] * 1e3:.1f} to {line['seconds_high'] * 1e3:.1f}"
    told = f"{told_share(figures, run, line['id']) * 100:.1f} %"
    name = f"{line['interface']}{' staged' if line['staged'] else ''}, {line['memory']}"
    return name, f"{line['seconds'] * 1e3:.1f}", ends, f"{line['gbps']:.2f}", told


def told_share(figures: Figures, run: str, row_id: str) -> float:
    """The parts' sum in the mean time of the slowest member."""
    (row,) = (one.raw for one in figures.files[run].rows if one.id == row_id)
    flow = row["flows"][0]
    most = max(sum(member["parts_s"].values()) for member in flow["breakdown"])
    return float(most / flow["seconds"]["mean"])


def shapes() -> tuple[tuple[str, ...], Lines]:
    """Head and lines: a figure each, a column for each recorded deck."""
    head = ("of one cycle", *(f"{DECKS[deck].name}, {count} particles" for deck, count in RECORDED))
    compared = [
        shape(particles(DECKS[deck], (2, 2, 1), count)).beside(recorded) for (deck, count), recorded in RECORDED.items()
    ]
    names = [name for name, _, _ in compared[0]]
    lines = [
        (ENTRIES[name], *(f"{column[at][1]:.4g} ({column[at][2]:g})" for column in compared))
        for at, name in enumerate(names)
    ]
    return head, lines
