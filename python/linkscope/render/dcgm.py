"""DCGM: an answer in the form of ``dcgmi diag --json``, for gates that read it.

Source: testing/python3/dcgm_diag_schema.json, dcgmi/Diag.cpp and dcgmlib/dcgm_errors.h of github.com/NVIDIA/DCGM (4.6).
The tests have linkscope's names, in a category of their own. Errors have DCGM's numbers where it has one for the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from linkscope.answers.answer import Answer, Outcome
from linkscope.messages.catalog import sentence
from linkscope.messages.finding import Finding, Level
from linkscope.render.checked_lines import Line, findings, lines, said
from linkscope.version import __version__

Json = dict[str, Any]

CATEGORY = "linkscope"
_GPU = {"entity_group": "GPU", "entity_group_id": 1}
_GPU_ID = re.compile(r"\bgpu:(\d+)")
_STATUS = {Outcome.HOLDS.value: "Pass", Outcome.FAILS.value: "Fail"}
_WORST = ("Fail", "Warn", "Pass", "Skip")
"""A test has the first of these that one of its results has."""
_LOW_BANDWIDTH, _HIGH_LATENCY = 30, 31
"""DCGM_FR_*: the numbers of errors."""
_PERFORMANCE = 1
"""DCGM_FR_EC_*: the categories of errors."""
_MONITOR, _ISOLATE, _TRIAGE = 1, 2, 4
"""DCGM_ERROR_*: how grave errors are."""
_OF_CODE = {
    "health.nvlink": (13, 11, _ISOLATE),
    "health.nvlinks": (13, 11, _ISOLATE),
    "health.link-down": (14, 11, _TRIAGE),
    "health.pcie": (104, 13, _ISOLATE),
    "health.memory": (1, 10, _ISOLATE),
    "health.xid": (101, 5, _ISOLATE),
    "health.sxid": (109, 5, _ISOLATE),
}
"""Number, category and gravity of the errors that findings are."""
_OF_OTHERS = (1, 15, _TRIAGE)
"""An error without a number of its own, of hardware."""


@dataclass(frozen=True)
class _Part:
    """Hold what one checked result or finding says of a test. ``gpus``: those it is about; none for the host's."""

    test: str
    status: str
    gpus: tuple[int, ...] = ()
    warning: Mapping[str, Any] | None = None


def dcgm(answer: Answer) -> str:
    """Return JSON: a test for each test of a suite and for each error, with a result for each GPU that took part.

    A result on a path stands at both of its GPUs. Without a verdict ``runtime_error`` says why, and what does not fail
    is skipped.
    """
    decided = answer.outcome in (Outcome.HOLDS, Outcome.FAILS)
    parts = [*_of_lines(lines(answer), decided), *_of_findings(findings(answer, Level.ERROR, Level.WARNING))]
    tests: dict[str, list[_Part]] = {}
    for part in parts:
        tests.setdefault(part.test, []).append(part)
    found: Json = {"test_categories": [{"category": CATEGORY, "tests": [_test(*test) for test in tests.items()]}]}
    if not decided:
        found["runtime_error"] = sentence(answer.headline)
    known = {"DCGM Diagnostic": found, "metadata": {"version": __version__}, **_entities(answer)}
    return json.dumps(known, indent=1, allow_nan=False) + "\n"


def _of_lines(checked: Iterable[Line], decided: bool) -> Iterator[_Part]:
    for line in (line for line in checked if line.get("value") is not None):
        status = _STATUS.get(str(line["outcome"]), "Skip")
        status = status if decided or status == "Fail" else "Skip"
        where = " ".join(str(line[name]) for name in ("path", "place", "id") if line.get(name))
        error = _LOW_BANDWIDTH if line.get("unit") == "GB/s" else _HIGH_LATENCY
        text = f"{line['id']}: {said(line)}"
        warning = _warning(text, error, _PERFORMANCE, _TRIAGE) if status == "Fail" else None
        yield _Part(str(line.get("row") or line["id"]), status, _gpus(where), warning)


def _of_findings(found: Iterable[Finding]) -> Iterator[_Part]:
    for one in found:
        fails = one.level is Level.ERROR
        error, category, severity = _OF_CODE.get(one.code, _OF_OTHERS)
        warning = _warning(sentence(one), error, category, severity if fails else _MONITOR)
        yield _Part(one.code, "Fail" if fails else "Warn", _gpus(" ".join(one.where)), warning)


def _warning(text: str, error: int, category: int, severity: int) -> Json:
    return {"warning": text, "error_id": error, "error_category": category, "error_severity": severity}


def _gpus(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(number) for number in _GPU_ID.findall(text)}))


def _test(name: str, parts: list[_Part]) -> Json:
    gpus = sorted({gpu for part in parts for gpu in part.gpus})
    own = [{**_GPU, "entity_id": gpu, **_result([part for part in parts if gpu in part.gpus])} for gpu in gpus]
    return {"name": name, "results": own, "test_summary": _result(parts)}


def _result(parts: list[_Part]) -> Json:
    status = next(word for word in _WORST if any(part.status == word for part in parts))
    warnings = [part.warning for part in parts if part.warning is not None]
    return {"status": status, **({"warnings": warnings} if warnings else {})}


def _entities(answer: Answer) -> Json:
    """Return the GPUs. DCGM has the PCI device's number where these have the model's name."""
    serials = answer.data.get("identity", {}).get("gpus", {})
    models = [name for count, name in answer.run.gpus for _ in range(count)]
    gpus = [
        {"entity_id": number, "device_id": name, **_serial(serials.get(f"gpu:{number}", {}))}
        for number, name in enumerate(models)
    ]
    return {"entity_groups": [{**_GPU, "entities": gpus}]} if gpus else {}


def _serial(known: Mapping[str, str]) -> Json:
    return {"serial_num": known["serial"]} if known.get("serial") else {}
