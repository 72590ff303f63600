"""`linkscope help CODE`: what a message code means."""

from __future__ import annotations

import pytest

from linkscope.cli import main
from linkscope.messages.catalog import codes, message


def _help(code: str) -> object:
    with pytest.raises(SystemExit) as stopped:
        main(["help", code])
    return stopped.value.code


@pytest.mark.parametrize("code", ["run.cut-short", "run.imported"])
def test_a_code_is_explained(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _help(code) == 0
    shown = capsys.readouterr().out
    assert "{" not in shown
    assert shown.split()[:2] == (message(code).long or message(code).line).split()[:2]


def test_a_mistyped_code_names_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert _help("run.cutshort") == 2
    assert "run.cut-short" in capsys.readouterr().err


def test_every_code_is_read_as_a_message() -> None:
    assert {message(code).code for code in codes()} == set(codes())
