"""Notebooks: the one in examples, whose cells run in order on a described node, and the line that shows a run there."""

from __future__ import annotations

import ast
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import linkscope
from linkscope.launch.run import Listener
from linkscope.notebook.progress_line import LEAST_S, ProgressLine, in_notebook

NOTEBOOK = Path(__file__).parents[2] / "examples" / "first_run.ipynb"


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """The value of its last line, where that is an expression: what a notebook shows."""
    *before, last = ast.parse(source).body
    exec(compile(ast.Module(before, []), "cell", "exec"), names)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    exec(compile(ast.Module([last], []), "cell", "exec"), names)
    return None


def test_the_notebook_runs_and_shows_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [
        run_cell("".join(cell["source"]), names)
        for cell in json.loads(NOTEBOOK.read_text())["cells"]
        if cell["cell_type"] == "code"
    ]
    for value in shown:
        assert getattr(value, "_repr_svg_", value._repr_html_ if hasattr(value, "_repr_html_") else str)()[:1] == "<"
    assert {"ok"} <= {row.status for row in names["run"].rows} <= {"ok", "skipped"}
    results = names["results"]
    assert 0 < names["best"].height == results.filter(results["gbps"].is_not_null())["paths"].n_unique()
    assert names["page"].stat().st_size
    assert not list(tmp_path.iterdir())
    shutil.rmtree(names["run"].path.parent)


def test_a_line_follows_a_run(tmp_path: Path) -> None:
    ticks = iter(range(10_000))
    lines: list[str] = []
    line = ProgressLine(lines.append, lambda: next(ticks) * LEAST_S * 2)
    run = linkscope.run(
        "peer", machine="h200x4", sizes="1M", methods="copy-engine", output=tmp_path / "a", listener=line.listener()
    )
    line.end()
    cases = len(run.rows)
    assert lines[0].startswith(f"{cases} cases, about ")
    told = [int(text.split()[0]) for text in lines[1:-1]]
    assert told == sorted(told)
    assert 0 < told[-1] < cases
    assert all(f" of {cases} cases, about " in text and " left: peer/" in text for text in lines[1:-1])
    assert lines[-1].startswith(f"{cases} cases in ")


class Front:
    """Stands in for IPython in a process that is a kernel."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[str] = []
        display = SimpleNamespace(display=self.display)
        shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()), display=display)
        monkeypatch.setitem(sys.modules, "IPython", shell)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, data: dict[str, str], raw: bool, display_id: bool) -> Front:
        assert raw
        assert display_id
        self.update(data, raw)
        return self

    def update(self, data: dict[str, str], raw: bool) -> None:
        assert raw
        self.shown.append(data["text/plain"])


def test_only_a_notebook_shows_a_line_and_only_if_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def run(name: str, **how: Any) -> None:
        linkscope.run("peer", machine="h200x4", sizes="1M", devices="gpu:0-1", output=tmp_path / name, **how)

    assert not in_notebook()
    run("script")
    assert capfd.readouterr() == ("", "")
    front = Front(monkeypatch)
    run("quiet", progress="none")
    run("listened", listener=Listener())
    assert not front.shown
    run("shown")
    assert front.shown[-1].startswith(f"{len(linkscope.read(tmp_path / 'shown').rows)} cases in ")


def test_the_line_ends_where_a_run_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    front = Front(monkeypatch)
    with pytest.raises(linkscope.LinkscopeError, match="unknown suite"):
        linkscope.run("nosuch")
    assert front.shown[-1] == ""


def test_the_line_of_a_run_that_is_cut_short_says_how_far_it_came(tmp_path: Path) -> None:
    lines: list[str] = []
    line = ProgressLine(lines.append)
    told = line.listener()

    def take(row: dict[str, Any]) -> None:
        told.on_row(row)
        raise linkscope.LinkscopeError("planted")

    with pytest.raises(linkscope.LinkscopeError, match="planted"):
        linkscope.run("peer", machine="h200x4", sizes="1M", output=tmp_path / "a", listener=replace(told, on_row=take))
    line.end()
    assert lines[-1].startswith("1 of ")
