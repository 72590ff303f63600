"""Reasons: why a case has no figure, as people read it."""

from __future__ import annotations

import re

from linkscope.results.row import Row

_TELLER = re.compile(r"^rank \d+ \(host [^()]*\): ")
"""Which rank said first why it skips a case: the others skip it for the same reason."""


def reason_of(row: Row) -> str:
    """Of a row without a figure: which rank it was stays where the case failed."""
    reason = row.reason or ("its time is none" if row.status == "ok" else "no reason recorded")
    return _TELLER.sub("", reason) if row.status == "skipped" else reason
