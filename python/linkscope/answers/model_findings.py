"""Model findings: what an explanation of a machine model is worth, and which studies it can be held to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linkscope.answers.causes import Line
from linkscope.documents.yaml_file import read_yaml
from linkscope.figures.columns import RATE
from linkscope.figures.run import Run
from linkscope.machine.described import is_packaged
from linkscope.messages.finding import Finding, note

_STUDIES = Path(__file__).resolve().parents[1] / "studies"
_RATES = ("efficiency", "ceiling_gbps")


def model_headline(run: Run, known: Sequence[Line]) -> Finding:
    """Return that a model shows nothing, with how many of the results with a reference it was not given."""
    if not known:
        return note("explain.model")
    predicted = sum(_is_predicted(run, line) for line in known)
    if predicted:
        return note("explain.model-predicts", predicted=predicted, known=len(known))
    return note("explain.model-fitted", known=len(known))


def model_next(run: Run) -> list[Finding]:
    """Return what shows a model's worth: studies that measured such a node, and what the model assumes."""
    if not is_packaged(run.node):
        return [note("explain.next-machines")]
    name = run.node.name
    studies = [path.stem for path in sorted(_STUDIES.glob("*.yaml")) if name in _machines(path)]
    found = [note("explain.next-reproduce", study=study, machine=name) for study in studies]
    return [*found, note("explain.next-machine", machine=name)]


def _machines(study: Path) -> list[str]:
    return [str(one.get("node")) for one in read_yaml(study, "study").data.get("machines", ())]


def _is_predicted(run: Run, line: Line) -> bool:
    """Return whether a model was not given this result.

    What a flow reaches alone is given where the description has an efficiency or a ceiling for it, else it follows from
    the links; what a load takes is its latency. What two opposite flows reach together is found by the model, unless a
    rule for such flows may have given it.
    """
    methods = run.node.methods
    if line["unit"] != RATE or line["method"] not in methods:
        return False
    if line["flows"] == 1:
        planned = run.rows[line["id"]].case["flows"][0].get("figures", {})
        return not any(name in planned for name in _RATES)
    rules = methods[line["method"]].get("rules", ())
    return not any(_is_for_both(rule["when"], line) for rule in rules)


def _is_for_both(when: Mapping[str, Any], line: Line) -> bool:
    """Return whether a rule may be for such traffic: nothing of it says that it is not."""
    about_traffic = when.get("opposite") == "busy" or 2 in when.get("flows", ())
    ends = {line["source"].partition(":")[0], line["destination"].partition(":")[0]}
    return about_traffic and {when[end] for end in ("source", "destination") if end in when} <= ends
