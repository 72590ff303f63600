"""Words in cells: they break between words, and never before a percent sign or the unit of a size."""

from __future__ import annotations

import pytest

from linkscope.report.grid import words


@pytest.mark.parametrize(
    "text", ["copy-engine pull +6 % to +121 %; worst kernel-copy x149", "not told apart: 4 B, 1 KiB, 2 MiB"]
)
def test_a_number_is_never_torn_from_its_sign(text: str) -> None:
    for width in range(1, 60):
        lines = words(text).lines(width)
        assert " ".join(lines) == text
        assert not any(line.startswith(("%", "B", "KiB", "MiB")) for line in lines)
