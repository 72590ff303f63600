"""Not checked: why a run, or results of it, cannot be called normal or slow, and what to do instead."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars

from linkscope.answers.causes import Line, gpus_of
from linkscope.answers.expectation import missing
from linkscope.answers.references import SATURATED, SATURATED_ELSEWHERE, collectives_known_from
from linkscope.answers.show_details import reason_of
from linkscope.documents.yaml_file import read_yaml
from linkscope.figures.columns import RATE, TIME
from linkscope.figures.run import Run
from linkscope.machine.described import is_packaged
from linkscope.messages.finding import Finding, error, note
from linkscope.messages.methods import method_name

_NUMBER = re.compile(r"\d+")
_STUDIES = Path(__file__).resolve().parents[1] / "studies"
_GIVEN = {"efficiency", "ceiling_gbps"}
"""Figures of a machine model about a flow alone."""


def not_checked(run: Run, checked: Collection[int]) -> Mapping[str, int]:
    """Return how many results have no reference and no peer, by a code of names.toml's section ``unchecked``, the most
    first. ``checked``: the places of the others in the frame."""
    frame = run.results.with_row_index("key").filter(
        polars.col("status") == "ok", polars.col("value").is_not_null(), ~polars.col("key").is_in(list(checked))
    )
    copies = polars.col("source").is_not_null() & (polars.col("call") == "")
    least = polars.when(polars.col("origin") != "").then(SATURATED_ELSEWHERE).otherwise(SATURATED)
    reasons = {
        "workload": polars.col("workload").fill_null("") != "",
        **{name: polars.col("class") == name for name in ("cpu", "processes", "pageable")},
        "concurrent": (polars.col("flows") != 1) | (polars.col("background") != 0),
        "no-links": polars.lit(not run.node.links) & copies,
        "latency": polars.col("unit") == TIME,
        "small": polars.col("bytes") < least,
        "other": polars.lit(value=True),
    }
    first = polars.coalesce(polars.when(holds).then(polars.lit(code)) for code, holds in reasons.items())
    return dict(Counter(frame.select(first.alias("reason"))["reason"]).most_common())


def failed_cases(run: Run) -> Iterator[Finding]:
    """Yield the reasons for which cases failed, the most frequent first, with the GPUs that all of these cases use."""
    groups: dict[str, list[tuple[str, str, set[str]]]] = {}
    devices = polars.concat_str("paths", "path", "executor", "members", separator=" ", ignore_nulls=True)
    failed = run.results.filter(polars.col("status") == "failed").group_by("id", maintain_order=True)
    for name, reason, places in failed.agg(polars.col("reason").first(), devices.alias("devices")).iter_rows():
        used = (name, reason or "", set(gpus_of(places)))
        groups.setdefault(_NUMBER.sub("#", reason or ""), []).append(used)
    for some in sorted(groups.values(), key=len, reverse=True):
        where = tuple(sorted(set.intersection(*(gpus for _, _, gpus in some))))
        made = error("explain.failed-at" if where else "explain.failed-cases", failed=len(some), reason=some[0][1])
        yield replace(made, where=where, results=tuple(name for name, _, _ in some))


def skipped_cases(run: Run) -> Iterator[Finding]:
    """Yield how many cases were skipped, by which methods or why; nothing where none was."""
    skipped = run.file.with_status("skipped")
    if not skipped:
        return
    counts = {"skipped": len(skipped), "cases": len(run.header["plan"]["ids"])}
    if run.modelled:
        methods = list(dict.fromkeys(method_name(row.case["flows"][0]["method"], run.library) for row in skipped))
        yield note("show.not-modelled", **counts, methods=methods)
        return
    reason, _ = Counter(map(reason_of, skipped)).most_common(1)[0]
    yield note("show.skipped", **counts, reason=reason)


def no_verdict(run: Run, by_peers: Sequence[Line], left_out: Mapping[str, int]) -> Finding:
    """Return why nothing of a run has a reference; the message has commands that lead on."""
    reasons = set(left_out)
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


def model_headline(run: Run, known: Sequence[Line]) -> Finding:
    """Return that a model shows nothing, with how many of the results with a reference it was not given."""
    if not known:
        return note("explain.model")
    predicted = sum(_is_predicted(run, line) for line in known)
    if predicted:
        return note("explain.model-predicts", predicted=predicted, known=len(known))
    return note("explain.model-fitted", known=len(known))


def model_next(run: Run) -> Iterator[Finding]:
    """Yield what shows a model's worth: studies that measured such a node, and what the model assumes."""
    name = run.node.name
    if not is_packaged(run.node):
        yield note("explain.next-machines")
        return
    for study in sorted(_STUDIES.glob("*.yaml")):
        if name in [machine.get("node") for machine in read_yaml(study, "study").data.get("machines", ())]:
            yield note("explain.next-reproduce", study=study.stem, machine=name)
    yield note("explain.next-machine", machine=name)


def _is_predicted(run: Run, line: Line) -> bool:
    """Return whether a model was not given this result.

    The model is given what a flow reaches alone where it has an efficiency or a ceiling for it, and latencies. It finds
    what two opposite flows reach together, unless a rule for such flows gives it.
    """
    methods = run.node.methods
    if line["unit"] != RATE or line["method"] not in methods:
        return False
    if line["flows"] == 1:
        return not _GIVEN & run.rows[line["id"]].case["flows"][0].get("figures", {}).keys()
    return not any(_is_for_both(rule["when"], line) for rule in methods[line["method"]].get("rules", ()))


def _is_for_both(when: Mapping[str, Any], line: Line) -> bool:
    """Return whether a rule may be for such traffic: nothing of it says that it is not."""
    about_traffic = when.get("opposite") == "busy" or 2 in when.get("flows", ())
    ends = {line["source"].partition(":")[0], line["destination"].partition(":")[0]}
    return about_traffic and {when[end] for end in ("source", "destination") if end in when} <= ends
