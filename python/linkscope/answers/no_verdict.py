"""No verdict: why a run's results cannot be called normal or not, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkscope.answers.causes import Line
from linkscope.answers.expectation import missing
from linkscope.answers.references import SATURATED, collectives_known_from
from linkscope.figures.run import Run
from linkscope.machine.described import load_machine, machines_with
from linkscope.messages.finding import Finding, note
from linkscope.results.row import origin_name


def no_verdict(run: Run, by_peers: Sequence[Line], left_out: Mapping[str, int]) -> Finding:
    """Return the reason; its message has commands that lead on."""
    reasons = set(left_out)
    if origin_name(run.header) and not run.node.links and reasons & {"no-links", "processes"}:
        return note("explain.no-links", machine=_machine(run))
    if by_peers:
        spread = max(abs(missing(line)) for line in by_peers)
        return note("explain.peers-only", results=len(by_peers), spread=spread)
    if not reasons:
        return note("explain.no-results")
    if reasons == {"workload"}:
        return note("explain.no-times", path=str(run.path))
    if reasons == {"cpu"}:
        return note("explain.no-cpus")
    if reasons <= {"cpu", "processes"}:
        least = collectives_known_from(run)
        return note("explain.no-messages") if least is None else note("explain.no-sizes", least=least)
    return note("explain.no-large", least=SATURATED, path=str(run.path))


def _machine(run: Run) -> str:
    """Return the machine model whose GPUs an import may be of, or NAME; all of them where only collectives were run."""
    gpus = [gpu.name for gpu in run.node.of_kind("gpu")]
    found = machines_with(gpus) if all(gpus) else ()
    of_all = all("members" in row.case["flows"][0] for row in run.file.with_status("ok"))
    fits = (name for name in found if not of_all or len(load_machine(name).of_kind("gpu")) == len(gpus))
    return next(fits, "NAME")
