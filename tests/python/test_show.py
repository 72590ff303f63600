"""`linkscope show`: one screen unless more is asked for, parts of a run, the pager."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
from rich.console import Console
from typer.testing import CliRunner

from linkscope.analysis.excerpt import readable
from linkscope.analysis.explain import explain
from linkscope.analysis.headlines import best_by_method, between_gpus, furthest_below
from linkscope.analysis.narrowed import by_share, involving, titled
from linkscope.analysis.overview import overview
from linkscope.cli.main import app
from linkscope.cli.paging import paged
from linkscope.errors import LinkscopeError
from linkscope.report import brief_text, odd_text, wording
from linkscope.report.provenance import mpi
from linkscope.report.summary_text import best_at
from linkscope.results.figure_class import LARGE
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

RUNS = Path(__file__).parents[1] / "fixtures" / "runs"
DEFAULT = RUNS / "h200x4-default.jsonl"
PLACE = "numa:0 > numa:0"
MOVEMENTS = ("GPU to GPU", "GPU and GPU", "Host to GPU", "GPU to host", "GPU and host", "One GPU to all")


def brief(run: RunFile, width: int = 80) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, force_terminal=False)
    brief_text.show(run, overview(run.rows, run.node), explain(run), console)
    return stream.getvalue().splitlines()


def test_a_run_that_has_ended_tells_each_reason_once_with_the_rows_of_suites() -> None:
    rows = made.run(4).rows
    lacking = [made.not_ok(row.case, "skipped", "no library for it") for row in rows[:3]]
    run = made.run(4, [*lacking, *rows[3:]])
    stream = io.StringIO()
    console = Console(file=stream, width=80, force_terminal=False)
    brief_text.show_ended(run, overview(run.rows, run.node), explain(run), console)
    text = stream.getvalue()
    assert text.count("no library for it") == 1
    assert "3 skipped: no library for it" in text
    assert f"{rows[0].suite}/{rows[0].name}" in text
    assert "linkscope explain" not in text
    assert len(text.splitlines()) <= brief_text.MOST_LINES + 2


def test_the_head_names_the_mpi_that_was_measured() -> None:
    def noted(method: str, *notes: str) -> Row:
        flow = made.flow("numa:0", "numa:0", 8, method)
        line = made.ok(made.case(method, [flow], {}), [made.steady(1e-6)], latency=True).raw
        return Row.from_json({**line, "flows": [{**line["flows"][0], "notes": list(notes)}]})

    rows = [
        noted("mpi", "by MPICH Version: 5.0.2", "MPI_THREAD_MULTIPLE"),
        noted("mpi-collective", "by Open MPI v4.1.6"),
        noted("torch-mpi", "by MPI VERSION : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)"),
        noted("memcpy", "by ncclAlltoAll"),
    ]
    names = "MPICH 5.0.2, Open MPI 4.1.6, CRAY MPICH 8.1.28.15 (ANL base 3.4a2)"
    assert mpi(rows) == names
    assert any(names in line for line in brief(made.run(1, rows), 120)[:4])
    assert not mpi(made.run(4).rows)


def test_the_head_says_how_the_request_limited_the_run() -> None:
    whole = made.run(4)
    request = {
        "suites": ["default"],
        "sizes": "1:1M",
        "keyword": "mpi and not xccl",
        "devices": None,
        "precision": "1%",
    }
    asked = replace(whole, header={**whole.header, "plan": {**whole.header["plan"], "request": request}})
    told = [line for line in brief(asked) if "--sizes 1:1M -k 'mpi and not xccl'" in line]
    assert told
    assert not set(told) & set(brief(whole))


@pytest.mark.parametrize("width", [80, 120, 160])
@pytest.mark.parametrize("path", sorted(RUNS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_recorded_run_fits_one_screen(path: Path, width: int) -> None:
    lines = brief(readable(path), width)
    assert len(lines) <= brief_text.MOST_LINES
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("gpus", [2, 4, 8, 16])
def test_a_modelled_run_fits_and_claims_no_measurement(gpus: int) -> None:
    lines = brief(made.run(gpus))
    assert len(lines) <= brief_text.MOST_LINES
    text = " ".join(lines)
    assert wording.MODELLED in text
    assert "measured and verified" not in text
    assert "default ±" not in text


@pytest.mark.parametrize("remarks", [0, 1, 5])
def test_a_sweep_gives_way_to_remarks_and_keeps_its_ends(remarks: int) -> None:
    run = readable(DEFAULT)
    pair = [row for row in run.rows if not any(f'"{gpu}"' in json.dumps(row.case) for gpu in ("gpu:2", "gpu:3"))]
    told = brief(replace(run, rows=pair, notices=tuple(f"notice {n} " * 12 for n in range(remarks))))
    assert len(told) <= brief_text.MOST_LINES
    assert {"4 KiB", "1 GiB"} <= {" ".join(line.split()[:2]) for line in told}
    assert any(line.startswith("linkscope choose") for line in told)


def test_collectives_give_way_to_remarks_and_say_where_their_names_are_explained() -> None:
    run = readable(RUNS / "h200x4-direct.jsonl")
    told = brief(replace(run, notices=tuple(f"notice {number} " * 12 for number in range(5))))
    assert len(told) <= brief_text.MOST_LINES
    assert brief_text.NAMED_ELSEWHERE in told
    assert {"1 MiB", "1 GiB"} <= {" ".join(line.split()[:2]) for line in told}
    assert brief_text.NAMED_ELSEWHERE not in brief(run)


def test_long_reasons_and_many_remarks_do_not_make_it_longer() -> None:
    run = made.run(4)
    failed = [made.not_ok(row.case, "failed", "something long went wrong " * 40) for row in run.rows]
    lines = brief(replace(made.run(4, failed), notices=tuple(f"notice {n} " * 30 for n in range(9))))
    assert len(lines) <= brief_text.MOST_LINES


def test_an_empty_run_is_shown() -> None:
    assert any("0 cases" in line for line in brief(made.run(4, [])))


def test_the_matrix_of_the_default_run_is_on_the_screen() -> None:
    lines = brief(readable(DEFAULT))
    for gpu in range(4):
        (line,) = [line for line in lines if line.startswith(f"gpu:{gpu} ")]
        assert line.count("%") == 3


def test_of_tables_that_differ_by_method_the_best_is_told() -> None:
    run = readable(DEFAULT)
    found = overview(run.rows, run.node)
    lines = {line.heading.title: line for line in best_by_method(found.summary.tables)}
    assert "Host to GPU, copy-engine" in lines
    assert "Host to GPU, kernel-copy" not in lines
    matrix = between_gpus(found.tables, found.summary.tables)
    assert matrix is not None
    assert matrix.heading.methods == ("copy-engine",)


def test_small_sizes_are_nothing_odd() -> None:
    run = readable(DEFAULT)
    tables = overview(run.rows, run.node)
    odd = furthest_below(tables.summary.tables, odd_text.FAR_BELOW, 99)
    assert odd
    assert not any("by size" in line.heading.title for line in odd)
    assert min(one.cell.share or 0 for one in by_share(tables.tables)) > 0.1
    packets = RunFile.read(RUNS / "h200x4-packets.jsonl")
    assert max(row.case["flows"][0]["bytes"] for row in packets.rows) < LARGE
    assert odd_text.odd_and_where(overview(packets.rows, packets.node), explain(packets)) == []


def test_figures_by_share_ascend() -> None:
    run = readable(DEFAULT)
    shares = [one.cell.share or 0.0 for one in by_share(overview(run.rows, run.node).tables)]
    assert len(shares) > 100
    assert shares == sorted(shares)


def test_cases_of_a_device_are_those_with_a_flow_of_it() -> None:
    run = readable(DEFAULT)
    found = {row.id for row in involving(run.rows, "gpu:3", run.node)}
    ends = {
        row.id: {str(flow["executor"]), *(flow[end]["device"] for end in ("source", "destination") if end in flow)}
        for row in run.rows
        if len(row.case["flows"]) == 1
        for flow in row.case["flows"]
    }
    assert {one for one, devices in ends.items() if "gpu:3" in devices} <= found
    assert not {one for one, devices in ends.items() if devices <= {"gpu:0", "gpu:1"}} & found


def test_tables_by_a_word_of_title_or_method() -> None:
    tables = overview(made.rows(4), made.node(4)).tables
    word = tables[0].heading.title.split()[0]
    assert tables[0] in titled(tables, word.upper())
    assert {one.heading.methods for one in titled(tables, "copy-engine")} == {("copy-engine",)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--table", "hots"], "host"),
        (["--where", "gpu:77"], "gpu:"),
        (["--where", "moon"], "numa:0"),
        (["--sort", "size"], "of-peak"),
    ],
)
def test_what_a_run_does_not_have_is_one_line(arguments: list[str], said: str) -> None:
    ended = CliRunner().invoke(app, ["show", str(DEFAULT), *arguments])
    assert isinstance(ended.exception, LinkscopeError)
    assert said in str(ended.exception)
    assert "\n" not in str(ended.exception)


def test_parts_and_all_of_a_run() -> None:
    def lines(*arguments: str) -> list[str]:
        ended = CliRunner().invoke(app, ["show", str(DEFAULT), *arguments], env={"COLUMNS": "80"})
        assert ended.exit_code == 0, ended.output
        return ended.output.splitlines()

    full, default, narrow = lines("--full"), lines(), lines("--table", "kernel-copy", "--where", "gpu:2")
    assert len(default) <= brief_text.MOST_LINES < len(narrow) < len(full)
    assert not any(line.startswith("Host to GPU, copy-engine") for line in narrow)
    assert len(lines("--sort", "of-peak")) > 100
    assert max(map(len, full)) <= 80


def test_json_keeps_to_what_is_asked_for() -> None:
    def data(*arguments: str) -> dict[str, Any]:
        ended = CliRunner().invoke(app, ["show", str(DEFAULT), "--json", *arguments])
        assert ended.exit_code == 0, ended.output
        found: dict[str, Any] = json.loads(ended.output)
        return found

    everything, tables, device, placed = (
        data(),
        data("--table", "kernel"),
        data("--where", "gpu:2"),
        data("--sort", "of-peak"),
    )
    assert 0 < len(tables["tables"]) < len(everything["tables"])
    assert all("kernel" in json.dumps(one["heading"]) for one in tables["tables"])
    assert 0 < tables["summary"]["rows"] < everything["summary"]["rows"] > device["summary"]["rows"] > 0
    shares = [one["share"] for one in placed["figures"]]
    assert shares == sorted(shares)
    assert "figures" not in everything


def test_all_of_a_run_begins_with_what_is_odd_and_where() -> None:
    run = RunFile.read(DEFAULT)
    told = [one.plain for one in odd_text.odd_and_where(overview(run.rows, run.node), explain(run))]
    ended = CliRunner().invoke(app, ["show", str(DEFAULT), "--full"], env={"COLUMNS": "200"})
    lines = ended.output.splitlines()
    assert told
    assert [line.rstrip() for line in lines if line.rstrip() in told] == told
    assert sum("; lowest" in line for line in told) == len([line for line in told if line.startswith("at most")])


def terminal(height: int) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    return Console(file=stream, width=80, height=height, force_terminal=True, color_system=None), stream


def test_only_what_is_longer_than_the_terminal_goes_to_the_pager(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    script = tmp_path / "pager.py"
    script.write_text(f"import sys\nopen({str(kept)!r}, 'w').write(sys.stdin.read())\n")
    environment = {"PAGER": f"{sys.executable} {script}"}
    for height, by_pager in ((20, False), (5, True)):
        console, stream = terminal(height)
        with paged(console, environment) as shown:
            for number in range(10):
                shown.print(f"line {number}")
        assert kept.exists() == by_pager
        assert ("line 9" in stream.getvalue()) != by_pager
    assert kept.read_text().count("line") == 10


@pytest.mark.parametrize("pager", ["", "cat", "no-such-program-anywhere", "'"])
def test_without_a_pager_it_is_printed(pager: str) -> None:
    console, stream = terminal(3)
    with paged(console, {"PAGER": pager}) as shown:
        shown.print("\n".join("abcdefgh"))
    assert stream.getvalue().split() == list("abcdefgh")


def test_a_pipe_has_no_pager(tmp_path: Path) -> None:
    stream = io.StringIO()
    with paged(Console(file=stream, height=3), {"PAGER": f"{sys.executable} -c pass"}) as shown:
        shown.print("\n".join("abcdefgh"))
    assert stream.getvalue().split() == list("abcdefgh")


def test_a_longer_title_keeps_its_end() -> None:
    title = "GPU and GPU, both directions at once, sum, copy-engine"
    for room in (20, 30, 45):
        short = wording.shortened(title, room)
        assert len(short) == room
        assert short.endswith("engine")
    assert wording.shortened(title, len(title)) == title


def test_remarks_of_the_engine_say_what_follows() -> None:
    known = "enqueued after the gate: launch cost is inside"
    assert wording.explained(known).startswith(known)
    assert len(wording.explained(known)) > len(known)
    assert wording.explained("something else") == "something else"


def test_a_measured_run_says_what_was_done() -> None:
    rows = [Row.from_json({**row.raw, "modelled": False}) for row in made.rows(4)]
    node = replace(made.node(4), modelled=False)
    run = made.run(4, rows)
    text = " ".join(brief(replace(run, header={**run.header, "node": node.to_json()})))
    assert "MODELLED" not in text
    assert "measured and verified" in text


def test_of_curves_the_size_and_the_way_of_the_best_figure_are_told() -> None:
    found = overview(RunFile.read(DEFAULT).rows, RunFile.read(DEFAULT).node)
    line = next(one for one in found.summary.tables if one.heading.x_name == "bytes")
    told = best_at(line)
    assert wording.size(line.best.bytes) in told
    assert all(word in told for word in line.best.series.split(", ") if word != line.best.regime)
    assert all(not best_at(one) for one in found.summary.tables if not one.heading.x_name)


def test_what_stands_beside_a_best_figure_is_of_its_own_curve() -> None:
    found = overview(RunFile.read(DEFAULT).rows, RunFile.read(DEFAULT).node)
    line = next(one for one in found.summary.tables if one.last is not None)
    assert line.last is not None
    assert line.last.series == line.best.series
    other = replace(line.last, series=f"{PLACE}, mpi, window", regime="host clock, window")
    told = best_at(replace(line, best=replace(line.best, series=f"{PLACE}, shm-copy, send"), apart=(other,)))
    assert "by shm-copy, send" in told
    assert told.partition("window")[2].split(";")[0].endswith(" by mpi")
    own = best_at(replace(line, best=replace(line.best, series=f"{PLACE}, mpi, send"), apart=(other,)))
    assert own.count("by mpi") == 1


def test_what_is_expected_of_a_path_is_not_odd() -> None:
    run = RunFile.read(DEFAULT)
    found, diagnosis = overview(run.rows, run.node), explain(run)
    told = [one.plain for one in odd_text.odd_and_where(found, diagnosis)]
    assert any(one.startswith("at most") for one in told)
    assert not any("interval" in one for one in told)
    modelled = replace(found, summary=replace(found.summary, modelled=True))
    assert not any(one.startswith("at most") for one in map(str, odd_text.odd_and_where(modelled, diagnosis)))


def test_a_run_without_figures_leads_nowhere_but_to_its_reasons() -> None:
    run = RunFile.read(DEFAULT)
    found = overview(run.rows, run.node)
    empty = replace(found, summary=replace(found.summary, figures=0))
    assert [how for how, _ in brief_text.terminal_ways(run, empty, explain(run))] == ["linkscope show RUN --full"]


def test_titles_that_are_shortened_still_differ() -> None:
    texts = [
        f"Copy of 40 million ints between GPUs, {both}peer access {switch}, device clock"
        for both in ("", "both directions at once, sum, ")
        for switch in ("on", "off")
    ]
    for room in (45, 60, 90):
        told = wording.shortened_apart(texts, room)
        assert all(len(one) <= room for one in told)
        assert len(set(told)) == len(texts), told


def test_every_movement_has_a_line_before_any_has_two() -> None:
    lines = brief(RunFile.read(DEFAULT))
    assert len(lines) <= brief_text.MOST_LINES
    named = [line for line in lines if "GB/s " in line and line.rstrip().endswith(", copy-engine")]
    movements = [next(word for word in MOVEMENTS if word in line) for line in named]
    assert len(movements) == len(set(movements))
    assert {"GPU to GPU", "Host to GPU", "GPU to host"} <= set(movements)
