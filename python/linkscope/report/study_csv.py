"""A study beside this machine as CSV: a line for every claim, and for every figure of its tables and pictures."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from linkscope.analysis.reproduce import Reproduction, ShownExhibit
from linkscope.report import reproduce_text

COLUMNS = (
    "study",
    "node",
    "modelled",
    "where",
    "what",
    "line",
    "x",
    "published",
    "here",
    "low",
    "high",
    "unit",
    "verdict",
)
Line = dict[str, object]


def study_csv(found: Reproduction) -> str:
    """The text. ``what`` is a claim, or "figure", of which ``line`` and ``x`` say which; a table's are its claims."""
    own = {"study": found.study.name, "node": found.run.node.name, "modelled": found.modelled}
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for line in (*_claims(found), *(line for one in found.shown for line in _figures(one))):
        writer.writerow(own | line)
    return text.getvalue()


def _claims(found: Reproduction) -> Iterator[Line]:
    for one in found.judgements:
        here = one.here if one.value is None else f"{one.value:.6g}"
        line: Line = {
            "where": one.claim.where,
            "what": one.claim.says,
            "published": one.claim.about,
            "here": here or one.why,
        }
        yield line | {
            "unit": one.claim.unit if one.value is not None else "",
            "verdict": reproduce_text.outcome(one),
        }


def _figures(one: ShownExhibit) -> Iterator[Line]:
    for table in one.tables:
        for entry in table.flat:
            if entry.headline is None:
                continue
            value = entry.headline.value
            line = entry.series or f"{entry.row} {entry.column}".strip()
            at: Line = {
                "where": one.exhibit.name,
                "what": "figure",
                "line": line,
                "x": entry.x,
                "unit": entry.headline.unit,
            }
            yield at | {"here": f"{value.median:.6g}", "low": f"{value.low:.6g}", "high": f"{value.high:.6g}"}
