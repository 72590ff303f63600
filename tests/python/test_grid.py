"""Case ids in cells: they break behind slashes, keep every letter, and never widen a table."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from linkscope.report.grid import case_id, empty_grid, words

PARTS = st.lists(st.text("ab:>-1", min_size=1, max_size=12), min_size=1, max_size=6)


@given(PARTS, st.integers(1, 60))
def test_an_id_breaks_behind_slashes_only_and_fills_its_lines(parts: list[str], width: int) -> None:
    text = "/".join(parts)
    lines = case_id(text).lines(width)
    assert "".join(lines) == text
    assert all(line.endswith("/") for line in lines[:-1])
    assert all(len(line) <= width or "/" not in line[:-1] for line in lines)
    if len(text) <= width:
        assert lines == [text]


def test_in_a_narrow_table_a_part_stays_whole_while_it_fits() -> None:
    grid = empty_grid("figure")
    grid.add_column("value", no_wrap=True)
    grid.add_row(case_id("suite/case/kernel-copy"), "1234 GB/s")
    console = Console(file=io.StringIO(), width=26)
    console.print(grid)
    assert isinstance(console.file, io.StringIO)
    left = [line.partition("  ")[0].strip() for line in console.file.getvalue().splitlines()[2:]]
    assert left == ["suite/case/", "kernel-copy"]


def test_a_percentage_is_never_torn_from_its_sign() -> None:
    text = "copy-engine pull +6 % to +121 %; worst kernel-copy x149"
    for width in range(1, 60):
        lines = words(text).lines(width)
        assert " ".join(lines) == text
        assert not any(line.startswith("%") for line in lines)
