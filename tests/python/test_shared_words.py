"""Shared words: the rule of few words that tells results that differ from those that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkscope.answers.shared_words import Rule, rules

Line = dict[str, Any]
COLLECTIVES = ("all-reduce/2gpus", "all-gather/2gpus")
SIZES = tuple(1 << power for power in range(12, 28, 3))


def _line(**columns: Any) -> Line:
    names = ("movement", "method", "clock", "memories", "role", "path", "processes", "flows", "tier", "bytes")
    usual = {"method": "xccl-collective", "clock": "device", "processes": 1, "flows": 1}
    return {**dict.fromkeys((*names, "parameters", "environment"), None), **usual, **columns}


def _found(lines: list[Line], differs: Callable[[Line], bool]) -> list[Rule]:
    return list(rules([*filter(differs, lines)], [line for line in lines if not differs(line)]))


def _words(rule: Rule) -> dict[str, Any]:
    return {word.name: word.value for word in rule.words}


def _grid(**columns: Any) -> list[Line]:
    return [_line(movement=kind, bytes=size, **columns) for kind in COLLECTIVES for size in SIZES]


def test_a_movement_and_a_range_of_sizes_are_found() -> None:
    (rule,) = _found(_grid(), lambda line: line["movement"] == COLLECTIVES[0] and line["bytes"] >= SIZES[2])
    assert _words(rule) == {"movement": COLLECTIVES[0], "method": "xccl-collective", "from": SIZES[2]}
    assert rule.alike == 0
    (rule,) = _found(_grid(), lambda line: SIZES[1] <= line["bytes"] <= SIZES[3])
    assert _words(rule) == {"method": "xccl-collective", "from": SIZES[1], "up-to": SIZES[3]}


def test_launch_and_clock_are_found() -> None:
    lines = [*_grid(parameters="form=graph"), *_grid(parameters="form=eager"), *_grid(clock="host")]
    assert _words(_found(lines, lambda line: line["parameters"] == "form=graph")[0])["form"] == "graph"
    assert _words(_found(lines, lambda line: line["clock"] == "host")[0])["clock"] == "host"


def test_an_algorithm_is_found_beside_cases_that_leave_the_choice() -> None:
    fixed = [
        _line(movement=COLLECTIVES[0], bytes=SIZES[-1], environment=f"NCCL_ALGO={algorithm} NCCL_PROTO={protocol}")
        for algorithm in ("ring", "tree")
        for protocol in ("simple", "ll", "ll128")
    ]
    typed = _line(movement=COLLECTIVES[0], bytes=SIZES[-1], parameters="type=bfloat16")
    lines = [*_grid(), *fixed, typed]

    def differs(line: Line) -> bool:
        free = line["environment"] in (None, "NCCL_ALGO=ring NCCL_PROTO=simple") and line["parameters"] is None
        return free and line["movement"] == COLLECTIVES[0] and line["bytes"] >= SIZES[2]

    (rule,) = _found(lines, differs)
    words = _words(rule)
    assert (words["NCCL_ALGO"], words["NCCL_PROTO"], words["type"]) == ("ring", "simple", "float32")
    assert (words["movement"], words["from"], rule.alike) == (COLLECTIVES[0], SIZES[2], 0)


def test_two_causes_are_two_rules_and_single_results_have_nothing_in_common() -> None:
    lines = [*_grid(), *_grid(method="kernel-copy"), *_grid(method="copy-engine"), *_grid(method="mpi")]
    found = _found(
        lines,
        lambda line: (line["method"] == "kernel-copy" and line["bytes"] >= SIZES[1]) or line["method"] == "copy-engine",
    )
    assert {_words(rule)["method"] for rule in found} == {"kernel-copy", "copy-engine"}


def test_where_all_differ_what_all_share_is_told() -> None:
    (rule,) = _found(_grid(), lambda line: True)
    assert _words(rule) == {"method": "xccl-collective"}
    (rule,) = _found([*_grid(), _line(movement="gpu>gpu", method="kernel-copy")], lambda line: True)
    assert _words(rule) == {"all": ""}
    assert rule.words[0].text("NCCL") == "all results"
