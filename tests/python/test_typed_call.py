"""Typed calls: whatever is wrong with a call of the interface is one line that names it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import linkscope
from linkscope.documents.typed_call import typed_call
from linkscope.errors import LinkscopeError

RUN = Path(__file__).parents[1] / "fixtures" / "runs" / "h200x4-default.jsonl"
OSU = Path(__file__).parents[1] / "fixtures" / "importers" / "osu-allreduce-7.4.txt"
CALLS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda front: front.run("default", budgt="20s"), "unknown keyword of run 'budgt': did you mean budget"),
    (lambda front: front.run(budget=20), "budget must be text, .*not 20"),
    (lambda front: front.run(budget="20 parsecs", machine="frontier"), "malformed duration '20 parsecs'"),
    (lambda front: front.run(["default"]), "suites must be text, not a list"),
    (lambda front: front.run(workload="halo"), "workload must be a WorkloadRequest, not 'halo'"),
    (lambda front: front.run(output=3), "output must be a path, not 3"),
    (lambda front: front.resume(RUN, launchr="srun"), "did you mean launcher"),
    (lambda front: front.calibrate(turns="3"), "turns must be a whole number, not '3'"),
    (lambda front: front.calibrate(turns=True), "turns must be a whole number, not True"),
    (lambda front: front.calibrate(turns=1, machine="h200x4"), "too few"),
    (lambda front: front.read(), "missing a required argument: 'path'"),
    (lambda front: front.read(RUN, RUN), "too many positional arguments"),
    (lambda front: front.read("a\0b"), "path must be a path"),
    (lambda front: front.load(3), "patterns must be a path, not 3"),
    (lambda front: front.load(""), "no run files"),
    (lambda front: front.load("/"), "no run files"),
    (lambda front: front.load("a**b"), r"cannot read a\*\*b"),
    (lambda front: front.frame(None), "run must be a RunFile or a path, not None"),
    (lambda front: front.explain(front.frame(RUN)), "run must be a RunFile or a path, not a DataFrame"),
    (lambda front: front.choose(3.5), "runs must be a RunFile or a path, not 3.5"),
    (lambda front: front.check(RUN), "needs --limits"),
    (lambda front: front.check(RUN, "none.yaml"), "none.yaml"),
    (lambda front: front.export(RUN), "missing a required argument: 'output'"),
    (lambda front: front.export(RUN, output="a.xlsx"), r"ends in \.csv and \.parquet"),
    (lambda front: front.export(output="a.csv"), "nothing to export"),
    (lambda front: front.compare(RUN, RUN, threshold=0.1), "unknown keyword of compare 'threshold'"),
    (lambda front: front.compare(RUN), "nothing to compare"),
    (lambda front: front.analyze(RUN, "peks"), "unknown question 'peks': did you mean peaks"),
    (lambda front: front.reproduce("pearson3", RUN), "unknown study 'pearson3': did you mean pearson"),
    (lambda front: front.workloads({}), "found must be a RunFile or a path, not a dict"),
    (lambda front: front.topology("frontie"), "did you mean frontier"),
    (lambda front: front.machines(1), "too many positional arguments"),
    (lambda front: front.import_output(OSU, "a.jsonl", fromat="osu"), "did you mean format"),
    (lambda front: front.import_output(OSU, "a.jsonl", processes="4"), "processes must be a whole number, not '4'"),
    (lambda front: front.import_output(OSU, "a.jsonl", processes=-4, machine="h200x4"), "malformed count '-4'"),
    (lambda front: front.WorkloadRequest("halo", rank="4"), "did you mean ranks"),
    (lambda front: front.WorkloadRequest("halo", ranks=4), "ranks must be text, .*not 4"),
    (lambda front: front.WorkloadRequest("halo", steps=2.5), "steps must be a whole number, not 2.5"),
    (lambda front: front.run(workload=front.WorkloadRequest("halo", steps=-1), machine="h200x4"), "one at least"),
    (lambda front: front.Request(suite="peer"), "unknown keyword of Request 'suite': did you mean suites"),
    (lambda front: front.Listener(on_row="print"), "on_row must be a function, not 'print'"),
    (lambda front: front.read(RUN).plot(tabel="peer"), "did you mean table"),
    (lambda front: front.read(RUN).report("a.html", RUN), "beside must be a RunFile"),
    (lambda front: front.topology("frontier").plot().save(3), "path must be a path, not 3"),
]


@pytest.mark.parametrize(("call", "told"), CALLS, ids=[told for _, told in CALLS])
def test_a_wrong_call_is_told_in_one_line(
    call: Callable[[Any], Any], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LinkscopeError, match=told) as error:
        call(linkscope)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


FUNCTIONS = [name for name in linkscope.__all__ if inspect.isfunction(getattr(linkscope, name))]


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "ask"])  # a question takes options of its own
def test_every_function_of_the_interface_says_which_keyword_it_does_not_take(name: str) -> None:
    with pytest.raises(LinkscopeError, match=f"unknown keyword of {name} 'xyzzy'"):
        getattr(linkscope, name)(xyzzy=1)


def test_what_fits_is_passed_on_as_it_is() -> None:
    @typed_call("more")
    def called(a: int | None, *rest: float, way: Literal["up", "down"] = "up", **words: str) -> tuple[Any, ...]:
        return a, rest, way, words

    assert called(None, 1, 2.5, way="down", more="x") == (None, (1, 2.5), "down", {"more": "x"})
    with pytest.raises(LinkscopeError, match="way must be 'up' or 'down', not 'left'"):
        called(1, way="left")  # type: ignore[arg-type]
