"""What a described node's figures rest on, in words: what is assumed, what others found, and what tells more."""

from __future__ import annotations

from collections.abc import Sequence

from linkscope.analysis.explain import Diagnosis
from linkscope.report import wording


def predictions(node: str, studies: Sequence[str]) -> str:
    """What tells how a described node fares against the studies that measured such a node; empty without one."""
    if not studies:
        return ""
    study = "STUDY" if len(studies) > 1 else studies[0]
    names = f" ({', '.join(studies)})" if len(studies) > 1 else ""
    return f"`linkscope reproduce {study} --machine {node}`{names} tells what it predicts."


def of_diagnosis(found: Diagnosis) -> str:
    """A model is no witness for itself: what others have found of such nodes is, unless the model was given it."""
    told = f"{_against_known(found)} " if found.known else ""
    told += f"{predictions(found.node, found.studies)} " if found.studies else ""
    where = f"`linkscope list machines {found.node}`" if found.packaged else "`linkscope list machines` of its file"
    return f"{told}{where} says what it lacks."


def _against_known(found: Diagnosis) -> str:
    """How many of a model's figures are as fast as is known of such nodes, and whether that is worth anything."""
    alone = found.known == 1
    agree = f"{wording.count(found.known, 'figure')} {'reaches' if alone else 'reach'} what is known of"
    given = found.known - found.predicted
    if not found.predicted:
        return f"{agree} such nodes, which proves nothing: the model was given {'it' if alone else 'them all'}."
    if not given:
        return f"{agree} such nodes; the model was given none of that."
    told = f"The model was given {given} of them, which proves nothing, and predicts {found.predicted}."
    return f"{agree} such nodes. {told}"
