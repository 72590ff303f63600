"""Words in cells: they break between words, and never before a percent sign."""

from __future__ import annotations

from linkscope.report.grid import words


def test_a_percentage_is_never_torn_from_its_sign() -> None:
    text = "copy-engine pull +6 % to +121 %; worst kernel-copy x149"
    for width in range(1, 60):
        lines = words(text).lines(width)
        assert " ".join(lines) == text
        assert not any(line.startswith("%") for line in lines)
