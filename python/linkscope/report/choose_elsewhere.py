"""Which other suites answer what a run leaves open."""

from __future__ import annotations

from linkscope.analysis.choose import Choices

FIRST_SUITES = ("default", "host")
OTHER_SUITES = {
    **{"host-device": "host and GPU by size", "p2p-processes": "messages", "collectives": "NCCL, RCCL, MPI"},
    "allocators": "kinds of memory",
}
TUNER = "nccl-tuner"
MESSAGES = "p2p-processes"
OF_MEMORIES = (
    "This suite sends from a GPU's own memory alone; others are in the suite mpi-allocators, which leaves out those "
    "that a description has no figures for."
)
OF_TUNER = (
    f"NCCL's tuner wants another run on this node: `linkscope run {TUNER}`, then `choose RUN --export {TUNER} -o FILE`"
)


def elsewhere(found: Choices) -> str:
    """Which suites answer what a first run leaves open, a line; empty for other runs."""
    suites = {one.row.partition(" ")[0] for one in found.answers}
    others = [f"{name} ({has})" for name, has in OTHER_SUITES.items() if name not in suites]
    if suites & {*FIRST_SUITES}:
        command = f"linkscope run SUITE{' --machine NAME' if found.modelled else ''}"
        return f"More (`{command}`): {', '.join(others)}; all: `linkscope list suites`"
    if suites == {MESSAGES} and any("GPU" in one.question.movement for one in found.answers):
        return OF_MEMORIES
    of_nccl = any(name.startswith("xccl-collective") for one in found.answers for name in one.rivals)
    return OF_TUNER if of_nccl and TUNER not in suites else ""
