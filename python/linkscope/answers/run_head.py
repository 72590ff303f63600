"""Run head: which run an answer is of, and what a reader must know of the run before any result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars

from linkscope.answers.health import health_findings, others_cpus
from linkscope.figures.run import Run
from linkscope.machine.doctor import examine
from linkscope.messages.finding import Finding, Level, error, note, warning
from linkscope.results.note_codes import NVLS_OFF, says
from linkscope.results.other_sizes import sizes_of_their_own
from linkscope.results.row import origin_name


@dataclass(frozen=True)
class RunHead:
    """Hold the head of an answer.

    ``gpus``: (count, name) of each kind; a count of 0 where a paste does not say how many. ``cpus``: how many, and
    their name. ``started``: RFC 3339. ``cases``: planned; ``ok``, ``failed``, ``skipped`` of them; ``missing``: without
    a row, as the run was cut short. ``origin``: the tool that an imported run comes from. ``findings``: what spoils the
    results or cuts them short; their fact ``run`` is the file's name.
    """

    path: Path
    node: str
    host: str
    started: str
    gpus: tuple[tuple[int, str], ...]
    cpus: int
    cpu_name: str
    cases: int
    ok: int
    failed: int
    skipped: int
    missing: int
    modelled: bool
    origin: str
    findings: tuple[Finding, ...] = ()

    @property
    def cut_short(self) -> bool:
        """Return whether planned cases are missing: no verdict may rest on such a run."""
        return self.missing > 0

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dict without the findings, which an answer carries."""
        found = asdict(self)
        del found["findings"]
        return {**found, "path": str(self.path)}


def run_head(run: Run) -> RunHead:
    """Return the head of a run, with its findings."""
    node = run.node
    counts = Counter(_statuses(run))
    numa = node.of_kind("numa")
    head = RunHead(
        path=run.path,
        node=node.name,
        host=str(run.header["host"]) if not run.modelled else "",
        started=str(run.header["started"]),
        gpus=_gpus(run),
        cpus=sum(len(one.cpus) for one in numa),
        cpu_name=numa[0].name if numa else "",
        cases=len(run.header["plan"]["ids"]),
        ok=counts["ok"],
        failed=counts["failed"],
        skipped=counts["skipped"],
        missing=len(run.missing),
        modelled=run.modelled,
        origin=origin_name(run.header),
    )
    found = (
        *(*_cut(run, head), *run.file.findings, *run.printed),
        *(one for one in health_findings(run) if one.level is not Level.NOTE),
        *(*_disturbed(run), *_failed(head), *_other_sizes(run)),
    )
    return replace(head, findings=tuple(replace(one, facts={**one.facts, "run": head.path.name}) for one in found))


def _gpus(run: Run) -> tuple[tuple[int, str], ...]:
    """Return the GPUs by name. A paste of collectives that names neither ranks nor GPUs does not say how many ran."""
    names = Counter(gpu.name or "GPU" for gpu in run.node.of_kind("gpu"))
    moves = [row.imported.moves for row in run.file.rows if row.imported is not None]
    unsaid = [one for one in moves if isinstance(one, dict) and one["kind"] == "collective" and not one["ranks"]]
    if run.pasted and run.topology is None and list(names) == ["GPU"] and moves and len(unsaid) == len(moves):
        return ((0, "GPU"),)
    return tuple((count, name) for name, count in names.items())


def _statuses(run: Run) -> list[str]:
    return run.results.unique("id", maintain_order=True)["status"].to_list()


def _cut(run: Run, head: RunHead) -> Iterator[Finding]:
    """Yield what the run lacks: whole cases, or rounds of them."""
    if head.missing:
        yield error("run.cut-short", missing=head.missing, cases=head.cases, path=str(run.path))
        return
    plan = run.header["plan"]
    least = int((plan.get("rounds") or {}).get("least", 1))
    lacking = run.results.filter(polars.col("status") == "ok", polars.col("replicates") < least)
    if lacking.height and not run.modelled:
        code = "run.budget-ended" if (plan.get("request") or {}).get("budget") else "run.rounds-missing"
        cases = lacking["id"].n_unique()
        yield warning(code, lacking=cases, cases=head.cases, rounds=least, path=str(run.path))


def _disturbed(run: Run) -> Iterator[Finding]:
    """Yield what the doctor finds in the machine's state before the first case: what spoils results, not what breaks
    a run."""
    engine = run.header.get("engine")
    if run.states and engine:
        found = examine(run.node, run.states[0], {engine.get("backend", "unknown"): engine})
        cpus = others_cpus(run)
        found = [one for one in found if cpus is None or one.code != "doctor.load"]
        yield from (replace(one, level=Level.WARNING) for one in found if one.level is not Level.NOTE)
        online = run.states[0].cpus_online
        if cpus is not None and online and cpus > max(1.0, 0.1 * online):
            yield warning("health.others-cpus", cpus=cpus, online=online)


def nvls_off(run: Run) -> Iterator[Finding]:
    """Yield that NCCL ran without reductions in the GPU switch because the user forbade them."""
    by_library = run.results.filter(polars.col("method").is_in(run.methods("by_xccl")))["notes"]
    if says(NVLS_OFF, by_library.explode().drop_nulls().unique()):
        yield warning("run.nvls-off", library=run.library)


def _failed(head: RunHead) -> Iterator[Finding]:
    if head.failed:
        yield warning("run.failed", failed=head.failed, cases=head.cases, path=str(head.path))
    if head.origin:
        yield note("run.imported", tool=head.origin)


def _other_sizes(run: Run) -> Iterator[Finding]:
    """Yield which tests kept sizes of their own where `--sizes` asked for others."""
    asked = (run.header["plan"].get("request") or {}).get("sizes")
    others, _ = (
        sizes_of_their_own((row.case for row in run.file.rows), asked) if asked and not run.missing else ({}, set())
    )
    if others:
        yield note("run.other-sizes", tests=[name for _, name in others])


def findings_of(heads: Sequence[RunHead]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings of several runs, each code of its first run alone, whose fact ``run`` then counts the other
    runs that say the same; and what these say, for --full."""
    runs: dict[str, list[RunHead]] = {}
    for head in heads:
        for code in {found.code for found in head.findings}:
            runs.setdefault(code, []).append(head)
    shown: list[Finding] = []
    repeated: list[Finding] = []
    for head in heads:
        for found in head.findings:
            first, *others = runs[found.code]
            name = f"{found.facts['run']} and {len(others)} more" if others else found.facts["run"]
            if head is first:
                shown.append(replace(found, facts={**found.facts, "run": name}))
            else:
                repeated.append(found)
    return shown, repeated
