"""ResultLine: a result of a run, as a CSV of bench/results has it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields


@dataclass(frozen=True)
class ResultLine:
    """``result`` is linkscope's and ``peer`` the other tool's, both in ``unit``. ``low`` and ``high`` enclose their
    ratio, or the result where there is no peer."""

    what: str
    case: str
    result: float | None
    peer: float | None = None
    low: float | None = None
    high: float | None = None
    unit: str = ""

    @property
    def ratio(self) -> float | None:
        """Return the result over the peer's; without a peer the result; None where only bounds are known."""
        return self.result / self.peer if self.result is not None and self.peer else self.result


COLUMNS = tuple(one.name for one in fields(ResultLine))


def read_lines(text: str) -> list[ResultLine]:
    """Return the lines of a CSV, without its first line (node, date, command)."""
    rows = csv.reader(io.StringIO(text.split("\n", 1)[1]))
    if tuple(next(rows)) != COLUMNS:
        raise ValueError(f"columns must be {', '.join(COLUMNS)}")
    return [_line(*row) for row in rows]


def _line(what: str, case: str, result: str, peer: str, low: str, high: str, unit: str) -> ResultLine:
    known = [float(one) if one else None for one in (result, peer, low, high)]
    return ResultLine(what, case, known[0], known[1], known[2], known[3], unit)


def csv_text(head: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a CSV whose first line is ``head`` behind "#"; numbers have five digits."""
    text = io.StringIO()
    text.write(f"# {head}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([f"{one:.5g}" if isinstance(one, float) else one for one in row] for row in rows)
    return text.getvalue()


def written(head: str, lines: Iterable[ResultLine]) -> str:
    """Return the CSV of a run."""
    return csv_text(head, COLUMNS, map(astuple, lines))
