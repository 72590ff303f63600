"""Run head: what every answer says of its run, in text, JSON and Python alike; odd headers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import recorded
from planted_faults import shared

from linkscope.answers.questions import ask
from linkscope.cli import main
from linkscope.messages.finding import Level
from linkscope.render import render


@pytest.mark.parametrize("question", ["show", "explain", "choose"])
def test_what_the_screen_warns_of_is_in_json_and_python(question: str) -> None:
    found = ask(question, shared("gpu:0")(recorded.healthy()))
    codes = {one.code for one in found.findings}
    assert codes & {"doctor.other-processes", "explain.other-processes"}
    assert codes <= {one["code"] for one in json.loads(render(found, "json"))["findings"]}
    assert any(
        "gpu:0" in str([*one.facts.values(), one.where]) for one in found.findings if one.level is not Level.NOTE
    )


@pytest.mark.parametrize("question", ["show", "explain", "choose"])
def test_a_run_without_a_host_name_has_no_empty_brackets(question: str) -> None:
    run = recorded.healthy()
    text = render(ask(question, replace(run, header={**run.header, "host": ""})))
    assert "()" not in text
    assert "  on " not in text


@pytest.mark.parametrize("command", ["choose", "show", "explain"])
def test_a_rule_of_a_machine_that_is_no_object_is_bad_input(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded.write(recorded.healthy(), tmp_path / "a.jsonl")
    header, *rest = path.read_text(encoding="utf-8").splitlines()
    changed = json.loads(header)
    changed["node"]["methods"] = {"copy-engine": {"latency_us": 1, "rules": [1]}}
    path.write_text("\n".join([json.dumps(changed), *rest]) + "\n", encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        main([command, str(path), "--full"])
    assert stopped.value.code in (0, 2)
    assert "internal error" not in capsys.readouterr().err
