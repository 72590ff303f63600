"""What a described node's figures rest on, in words: what is assumed, what others found, and what tells more."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from linkscope.analysis.choose import ANY, Choices
from linkscope.analysis.explain import Diagnosis
from linkscope.analysis.size_ranges import AS_GOOD
from linkscope.analysis.way import interface
from linkscope.machine.described import is_packaged
from linkscope.machine.node import ASSUMED, Node
from linkscope.messages.listed import listed
from linkscope.report import wording
from linkscope.results.study import studies_of

GPU_TO_GPU = "GPU to GPU"
_MEMORIES = {"memory", "source_memory", "destination_memory"}
"""Conditions of a description's rules."""


def of_choices(node: Node, found: Choices) -> list[str]:
    """What a described node's figures rest on beside their sources, but for methods that the answers do not have, and
    what tells more; of other nodes nothing."""
    if not node.modelled:
        return []
    words = {word for one in found.answers for name in one.rivals for word in name.split()}
    others = [name for name in node.methods if name not in words]
    heads = [note.removeprefix(ASSUMED).partition(":")[0] for note in node.notes if note.startswith(ASSUMED)]
    named = {head: {*re.findall(r"[\w-]+", head)} & {*node.methods} for head in heads}
    heads = [head for head in heads if not named[head] or not named[head] <= {*others}]
    told = [f"No source gives, so the description assumes: {'; '.join(heads)}."] if heads else []
    alike = sorted(_of_many_memories(found) - {name for name, facts in node.methods.items() if _knows_memories(facts)})
    told += [f"Kinds of memory are alike in it for {listed(alike)}: no source tells them apart."] if alike else []
    if is_packaged(node):
        told.append(
            predictions(node.name, studies_of(node.name)) or f"`linkscope list machines {node.name}` has sources."
        )
    return [" ".join(filter(None, told))] if told else []


def _of_many_memories(found: Choices) -> set[str]:
    """Methods that the answers have in several kinds of memory of GPUs, which cost the same at every size."""
    alike, apart = set[str](), set[str]()
    for one in found.answers:
        for name in one.rivals if one.question.memory == ANY and one.question.movement.startswith(GPU_TO_GPU) else ():
            twins = {other for other in one.rivals if _without_memory(other) == _without_memory(name)}
            costs = [[cost for way, cost in at.excess if way in twins] for at in one.sizes]
            same = all(max(at) - min(at) <= AS_GOOD * (1 + max(at)) for at in costs if at)
            (alike if same else apart).update({interface(name)} if len(twins) > 1 else ())
    return alike - apart


def _without_memory(name: str) -> str:
    """A way's name without its memory."""
    return re.sub(r" (from|in) .*", "", name)


def _knows_memories(facts: Mapping[str, Any]) -> bool:
    return any(_MEMORIES & {*rule["when"]} for rule in facts.get("rules", ()))


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
