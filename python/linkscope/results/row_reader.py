"""Row reader: lines of a run file as rows, decoded and checked in one pass; replicates share their case."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any, cast

import msgspec
from msgspec.structs import force_setattr

from linkscope.documents.typed import misfit
from linkscope.results.records import Json, checked_case, decoded, may_control
from linkscope.results.row import ROWS, FlowResult, Row
from linkscope.results.stats import Stats
from linkscope.results.usual_noise import NONE

_NOTHING = FlowResult.__struct_defaults__[-1]


@dataclass(frozen=True)
class _Known:
    """A case that was read. ``background``: flows that another tool's row may lack, as they come last."""

    text: bytes
    case: Json
    flows: int
    background: int


class RowReader:
    """Reads the rows of one run file."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._traits: dict[bytes, Json] = {}

    def read(self, line: bytes) -> Row:
        """Return the row of a line. Raises ValueError, one line that names the field, where it is none."""
        try:
            row = ROWS.decode(_plain(line) if may_control(line) else line)
        except msgspec.ValidationError as error:
            raise misfit(decoded(line), Row, str(error)) from error
        text = bytes(cast(Any, row.case))
        known = self._known.get(row.id)
        if known is None or known.text != text:
            known = self._known[row.id] = self._learn(row.id, text)
        row.case, row.id = known.case, known.case["id"]
        if row.replicates or row.noise or row.usual != NONE:
            raise ValueError("replicates, noise and usual: a line has none")
        results, may_lack = len(row.flows), known.background if row.imported else 0
        if row.status == "ok" and results not in (known.flows, known.flows - may_lack):
            raise ValueError(f"flows: {results} results of {known.flows} flows")
        for flow in row.flows:
            _check(row, flow.seconds)
            if flow.gbps is not None:
                _check(row, flow.gbps)
            if flow.samples_s:
                force_setattr(flow, "samples_s", array("d", flow.samples_s))  # small, for a long run has many
            if flow.tuned is not _NOTHING:
                force_setattr(flow, "tuned", flow.tuned.copy())  # else it would hold all of the line
        if row.together is not None:
            _check(row, row.together.gbps)
            if row.flows and row.together.gbps == row.flows[0].gbps:
                force_setattr(row.together, "gbps", row.flows[0].gbps)  # of one flow it is the flow's own rate
        return row

    def _learn(self, row_id: str, text: bytes) -> _Known:
        """Return a case, checked. Raises ValueError."""
        case: Json = msgspec.json.decode(text)
        checked_case(case)
        if case["id"] != row_id:
            raise ValueError("case.id: another than the row's")
        labels = case.get("labels", {})
        if "traits" in labels:  # those of most cases are alike
            labels["traits"] = self._traits.setdefault(msgspec.json.encode(labels["traits"]), labels["traits"])
        measured = [flow.get("role", "measured") == "measured" for flow in case["flows"]]
        count = sum(measured)
        last = not any(measured[count:])
        return _Known(text, case, len(measured), len(measured) - count if last else 0)


def _plain(line: bytes) -> bytes:
    """Return a line whose texts hold no control characters. Raises ValueError where it is no JSON object."""
    record = decoded(line)
    if record is None:
        raise ValueError("no JSON object")
    return msgspec.json.encode(record)


def _check(row: Row, stats: Stats) -> None:
    """Raise ValueError that names the field where a median lies outside its interval."""
    if stats.low <= stats.median <= stats.high:
        return
    name = "aggregate.gbps"
    for index, flow in enumerate(row.flows):
        if stats in (flow.seconds, flow.gbps):
            name = f"flows[{index}].{'seconds' if stats == flow.seconds else 'gbps'}"
    raise ValueError(f"{name}: its median lies outside its interval")
