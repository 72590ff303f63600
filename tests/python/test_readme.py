"""README.md: what is made for it is up to date, fits a terminal, and the page is short."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tools.readme.parts import FIRST_LINES, PARTS, PICTURE, README, RECORDED, renewed  # noqa: E402
from tools.readme.picture import picture  # noqa: E402

MOST_WORDS = 500


def test_its_made_parts_are_up_to_date() -> None:
    written = README.read_text(encoding="utf-8")
    assert all(f"<!-- made: {name} -->" in written for name in PARTS)
    assert written == renewed(written), "run: python tools/readme"


def test_its_picture_is_that_of_the_recorded_run() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(RECORDED), "run: python tools/readme"


def test_what_a_terminal_prints_in_it_fits_80_columns() -> None:
    lines = PARTS["show"]().splitlines()
    assert len(lines) == FIRST_LINES + 3
    assert max(map(len, lines)) <= 80


def test_it_has_ten_ratios_a_line_each() -> None:
    assert len(PARTS["ratios"]().splitlines()) == 10 + 2


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= MOST_WORDS
