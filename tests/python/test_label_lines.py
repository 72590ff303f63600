"""Label lines: no cell of a table is broken, and no line is wider than the terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from linkscope.report.label_lines import LabelColumn, print_label_lines

LABELS = ("gpu:0", "all-reduce on 4 GPUs, xccl-collective, form=graph, launch=thread-per-gpu")
COLUMNS = (
    LabelColumn("GB/s", ("53.40", "7.1")),
    LabelColumn("held back by", ("gpu:0>gpu:1", "memory of numa:3 and 2 more")),
)


def printed(width: int) -> list[str]:
    console = Console(file=StringIO(), width=width)
    print_label_lines("path", LABELS, COLUMNS, console)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("width", [80, 120, 200])
def test_every_label_is_whole_and_every_line_fits(width: int) -> None:
    lines = printed(width)
    assert max(map(len, lines)) <= width
    assert all(sum(label in line for line in lines) == 1 for label in LABELS)


def test_a_short_label_stands_beside_its_figures_and_a_long_one_above() -> None:
    assert any(LABELS[0] in line and "53.40" in line for line in printed(80))
    above = printed(80).index(LABELS[1])
    assert "7.1" in printed(80)[above + 1]
    assert any(LABELS[1] in line and "7.1" in line for line in printed(200))


def test_words_are_shortened_before_a_line_grows_too_wide() -> None:
    assert not any("memory of numa:3 and 2 more" in line for line in printed(36))
    assert any("memory of numa:3 and 2 more" in line for line in printed(80))
