"""Case groups: which cases the same processes can carry out, and so how many starts each round of them has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from linkscope.machine.traits import method_traits
from linkscope.plan.flows import ends_of
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]


@dataclass(frozen=True)
class CaseGroup:
    """Cases that the same processes carry out: so many engines, with ``settings`` in their environment.

    ``kind``: the launcher's that starts them; None for one process, which needs none.
    """

    settings: tuple[tuple[str, str], ...]
    processes: int
    kind: str | None
    cases: tuple[PlannedCase, ...]


def uses_mpi(case: Json) -> bool:
    """Return whether some flow of the case calls MPI, which wants processes that its own launcher started."""
    return any(method_traits(case, flow["method"]).by_mpi for flow in case["flows"])


def _usual_kind(case: Json) -> str:
    return "mpiexec" if uses_mpi(case) else "local"


def case_groups(cases: Iterable[PlannedCase], kind_of: Callable[[Json], str] = _usual_kind) -> list[CaseGroup]:
    """``cases`` by the processes they want, in order of first appearance, each group in order. ``kind_of``: which
    launcher starts a case of several processes; the ranks that are there already ("inside") are one group.
    """
    found: dict[tuple[bool, tuple[tuple[str, str], ...], int, str | None], list[PlannedCase]] = {}
    for case in cases:
        processes = int(case.case.get("processes", 1))
        kind = kind_of(case.case) if processes > 1 else None
        settings = tuple(sorted(case.environment.items()))
        found.setdefault((_wants_python(case.case), settings, processes, kind), []).append(case)
    return [
        CaseGroup(settings, processes, kind, part)
        for (_, settings, processes, kind), members in found.items()
        for part in ([tuple(members)] if kind in (None, "inside") else at_home(members))
    ]


def at_home(cases: Iterable[PlannedCase]) -> list[tuple[PlannedCase, ...]]:
    """``cases`` in parts, each the first that fits, in which every process hands MPI memory of one GPU alone.

    So programs do. An MPI may keep what it set up for a GPU: in processes that went from one to another Open MPI 4.1
    moved most messages at a tenth of the speed. Cases without such memory fit the first part.
    """
    parts: list[tuple[dict[int, set[str]], list[PlannedCase]]] = []
    for case in cases:
        wanted = _gpus_by_rank(flow for flow in case.case["flows"] if _hands_over(case.case, flow))
        for homes, members in parts:
            if all(homes.get(rank, gpus) == gpus for rank, gpus in wanted.items()):
                homes.update(wanted)
                members.append(case)
                break
        else:
            parts.append((wanted, [case]))
    return [tuple(members) for _, members in parts]


def places(flow: Json) -> Iterator[tuple[int, str]]:
    """Rank and device of each end of the flow, and of what drives it."""
    for end in ends_of(flow):
        yield int(end.get("rank", 0)), str(end["device"])
    yield int(flow.get("rank", 0)), str(flow["executor"])


def _wants_python(case: Json) -> bool:
    """Return whether an engine's Python child carries the case out. Such cases get engines of their own: the child
    starts MPI in its engine's place and needs the whole memory of its GPU.
    """
    return any(method_traits(case, flow["method"]).by_python for flow in case["flows"])


def _hands_over(case: Json, flow: Json) -> bool:
    """Return whether MPI is given the memory itself."""
    by_mpi = method_traits(case, flow["method"]).by_mpi
    return by_mpi and flow.get("parameters", {}).get("staging", "none") == "none"


def _gpus_by_rank(flows: Iterable[Json]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for rank, device in (place for flow in flows for place in places(flow)):
        if device.startswith("gpu:"):
            found.setdefault(rank, set()).add(device)
    return found
