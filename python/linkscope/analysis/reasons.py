"""Reasons: why a case has no figure, as people read it."""

from __future__ import annotations

import re

from linkscope.results.row import Row

_TELLER = re.compile(r"^rank \d+ \(host [^()]*\): ")
"""Which rank said first why it skips a case: the others skip it for the same reason."""

_CURES = {
    "is alone in MPI's world": "start the ranks by the mpiexec of the MPI that the engine loads (--launcher-command), "
    "or have it load that mpiexec's MPI (LINKSCOPE_MPI=FILE)",
}
"""Words of the engine's reasons, and what to do."""


def reason_of(row: Row) -> str:
    """Of a row without a figure, with what to do where that is known; which rank it was stays where the case failed."""
    reason = row.reason or ("its time is none" if row.status == "ok" else "no reason recorded")
    shown = _TELLER.sub("", reason) if row.status == "skipped" else reason
    return next((f"{shown}: {cure}" for known, cure in _CURES.items() if known in shown), shown)
