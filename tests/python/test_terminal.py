"""The terminal's tables: banner, orientation, figures with interval and share, reasons, width."""

from __future__ import annotations

import io
from dataclasses import replace

import modelled_run as made
import pytest
from rich.console import Console

from linkscope.report import wording
from linkscope.report.terminal import show
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile


def shown(run: RunFile, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    show(run, console)
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


@pytest.fixture(scope="module")
def text() -> str:
    return shown(made.run(4))


def test_every_table_of_a_modelled_run_says_so(text: str) -> None:
    titles = {row.labels["title"] for row in made.rows(4)}
    marked = [line for line in text.splitlines() if wording.MODELLED in line]
    assert all(any(line.startswith(title) for line in marked) for title in titles)
    assert len(marked) == len(titles) + 2  # the page's banner and the summary


def test_a_measured_run_does_not_say_modelled() -> None:
    rows = [Row.from_json({**row.raw, "modelled": False}) for row in made.rows(4)]
    assert "MODELLED" not in shown(made.run(4, rows))


def test_cells_carry_interval_and_percent_of_peak(text: str) -> None:
    assert "±0.14 %" in text
    assert "87 %" in text
    assert "row -> column; row: source, column: destination" in text


def test_reasons_are_printed_once_below_their_table(text: str) -> None:
    assert text.count("a: failed: data differ at offset 4096: expected <pattern>, found poison") == 2
    assert text.count("b: skipped: no peer access from gpu:3 to gpu:2") == 2


def test_clock_bytes_and_precision_are_stated(text: str) -> None:
    for words in ("clock: device", "cache: rotated", "payload, counted once", "±1 %", "read + write: twice that"):
        assert words in " ".join(text.split())


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("gpus", [4, 8, 16])
def test_nothing_is_wider_than_the_terminal_and_no_label_is_lost(width: int, gpus: int) -> None:
    lines = shown(made.run(gpus, made.pair_matrix(gpus, "write", 390.0)), width).splitlines()
    assert max(len(line) for line in lines) <= width
    for i in range(gpus):
        assert any(line.startswith(f"gpu:{i} ") for line in lines)
        assert any(f" gpu:{i}" in line and line[:5] != "gpu:0" for line in lines)


def test_an_interrupted_run_says_what_is_missing() -> None:
    run = made.run(4)
    cut = replace(run, rows=run.rows[:10], notices=("the last line is cut short",))
    text = " ".join(shown(cut).split())
    assert f"{len(run.rows) - 10} of {len(run.rows)} planned cases have no row" in text
    assert "--resume" in text
    assert "the last line is cut short" in text


def test_a_recorded_state_is_examined() -> None:
    engine = {"backend": "cuda", "versions": {"driver": "580"}}
    found = "CPU frequency governor is powersave"
    assert found in shown(made.run(4, state={"governors": ["powersave"]}, engine=engine))
    assert found not in shown(made.run(4, state={"governors": ["performance"]}, engine=engine))


def test_an_empty_run_is_shown_without_complaint() -> None:
    assert "0 rows" in shown(made.run(4, []))


@pytest.mark.parametrize(
    ("count", "text"),
    [(96, "96 B"), (1536, "1.5 KiB"), (512 << 20, "512 MiB"), (1 << 30, "1 GiB"), (2 << 40, "2 TiB")],
)
def test_sizes_are_binary(count: int, text: str) -> None:
    assert wording.size(count) == text


@pytest.mark.parametrize(("share", "text"), [(0.8754, "88 %"), (0.052, "5.2 %"), (0.0001, "<0.1 %"), (0.0, "0.0 %")])
def test_small_shares_are_no_zero(share: float, text: str) -> None:
    assert wording.percent(share) == text
