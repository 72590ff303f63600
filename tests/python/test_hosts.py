"""Figures between hosts: named wherever they stand, and set against no peak of one host's."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
from result_schema import validate
from rich.console import Console
from typer.testing import CliRunner

from linkscope.analysis.cell import cell
from linkscope.analysis.curves import Curve
from linkscope.analysis.figures import figures
from linkscope.analysis.leaders import leaders_of
from linkscope.analysis.overview import Overview, overview
from linkscope.analysis.peak import peak
from linkscope.cli.main import app
from linkscope.machine.paths import Paths
from linkscope.report.terminal import show
from linkscope.results.row import Row
from linkscope.results.run_file import RunFile

Json = dict[str, Any]
KIB = 1 << 10
HOSTS = ("node1", "node2")
JOINED: Json = {
    "record": "state",
    "when": "joined",
    "launcher": "mpiexec",
    "processes": [
        {"rank": rank, "host": host, "pid": 40 + rank, "devices": [f"gpu:{rank}"], "numa": [0], "cpus": [rank]}
        for rank, host in enumerate(HOSTS)
    ],
    "links": [{"a": "host:node1", "b": "host:node2", "kind": "network"}],
    "nodes": [],
    "notes": [],
}


def message(show_as: str, size: int, hosts: tuple[str, ...], seconds: float = 1e-3, **labels: Any) -> Row:
    """From rank 0 to rank 1, one GPU each; ``hosts`` by rank, none where it is one."""
    flow = made.flow("gpu:0", "gpu:1", size, "mpi", rank=0, parameters={"call": "ping-pong"})
    flow["source"]["rank"], flow["destination"]["rank"] = 0, 1
    where = {
        "row": "gpu:0",
        "column": "gpu:1",
        "x": size,
        "x_name": "bytes",
        "series": "" if show_as == "list" else "mpi",
    }
    plan_case = made.case(f"messages-{show_as}", [flow], {"show": show_as, **where, **labels}, "host")
    plan_case |= {"processes": 2, "id": f"{plan_case['id']}/{'-'.join(hosts) or 'here'}"}
    return measured(made.ok(plan_case, [[seconds] * 8], bool(labels.get("figure") == "latency")), hosts)


def all_reduce(hosts: tuple[str, ...], figure: str = "bus") -> Row:
    end = {"memory": "device"}
    members = [{**end, "device": f"gpu:{rank}", "rank": rank} for rank in range(2)]
    flow: Json = {"method": "xccl-collective", "executor": "gpu:0", "rank": 0, "bytes": KIB, "members": members}
    plan_case = made.case(
        f"all-reduce-{figure}", [flow | {"parameters": {"collective": "all-reduce"}}], {"figure": figure}
    )
    plan_case |= {"processes": 2}
    return measured(made.ok(plan_case, [[1e-5] * 8]), hosts)


def measured(row: Row, hosts: tuple[str, ...]) -> Row:
    said = {"hosts": list(hosts)} if hosts else {}
    return Row.from_json({**row.raw, "modelled": False, "backend": "cuda", **said})


def paths() -> Paths:
    return Paths(made.node())


def two_hosts(tmp_path: Path, rows: list[Row]) -> RunFile:
    """A run file of these rows, as it is read."""
    for record in (JOINED, *(row.raw for row in rows)):
        validate(record)
    run = made.run(found=rows)
    path = tmp_path / "two-hosts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (run.header, JOINED, *(row.raw for row in rows))))
    return RunFile.read(path)


def text_of(run: RunFile) -> str:
    out = io.StringIO()
    show(run, Console(file=out, width=240, color_system=None))
    return out.getvalue()


def tables(rows: list[Row]) -> Overview:
    return overview(rows, made.node())


@pytest.mark.parametrize("row", [message("list", KIB, ()), all_reduce(()), all_reduce((), "algorithm")])
def test_figures_between_hosts_have_no_peak(row: Row) -> None:
    assert peak(row, paths()) is not None
    assert peak(measured(row, HOSTS), paths()) is None


def test_of_ranks_on_several_hosts_those_count_between_which_bytes_go() -> None:
    near = measured(message("list", KIB, ()), ("node1", "node1", "node2"))
    assert near.hosts == ("node1", "node1", "node2")
    assert near.between == ()
    assert peak(near, paths()) is not None


def test_no_time_of_a_collective_is_held_against_a_latency_of_elsewhere() -> None:
    here, far = message("list", 8, (), figure="latency"), message("list", 8, HOSTS, figure="latency")

    def bounds(*rows: Row) -> int:
        return sum(len(table.heading.bounds) for table in tables(list(rows)).tables)

    assert bounds(here, all_reduce((), "latency")) == 1
    assert bounds(far, all_reduce((), "latency")) == 0
    assert bounds(here, all_reduce(HOSTS, "latency")) == 0


@pytest.mark.parametrize("shown", ["list", "curve", "matrix"])
def test_every_report_names_the_hosts(tmp_path: Path, shown: str) -> None:
    run = two_hosts(tmp_path, [message(shown, size, HOSTS) for size in (KIB, 2 * KIB)])
    for text in (text_of(run),):
        assert "between hosts node1, node2: no peak is known" in text
        assert "on node1, node2; peaks are of paths within a host" in text
    for table in tables(list(run.rows)).to_json()["tables"]:
        assert table["heading"]["hosts"] == HOSTS
    assert all(cell.share is None for table in tables(list(run.rows)).tables for cell in table.flat)
    shown_as_json = CliRunner().invoke(app, ["show", str(run.path), "--json"])
    assert json.loads(shown_as_json.stdout)["hosts"] == list(HOSTS)
    assert set(figures(run)["hosts"]) == {"node1, node2"}


def test_lines_within_and_between_hosts_are_told_apart(tmp_path: Path) -> None:
    run = two_hosts(tmp_path, [message("list", KIB, ()), message("list", KIB, HOSTS)])
    (table,) = tables(list(run.rows)).tables
    assert [cell.peak is None for cell in table.flat] == [False, True]
    assert [cell.hosts for cell in table.flat] == [(), HOSTS]
    (line,) = [line for line in text_of(run).splitlines() if "node1, node2" in line and "gpu:0" in line]
    assert "0.001024" in line


def test_a_run_on_one_host_says_nothing_of_it(tmp_path: Path) -> None:
    run = two_hosts(tmp_path, [message("list", KIB, ())])
    alone = RunFile(run.path, run.header, run.rows, ())
    assert "between hosts" not in text_of(alone)
    assert "processes  on" not in text_of(alone)


def rivals(hosts: tuple[str, ...]) -> list[Curve]:
    """Two lines of one place, the second one's figures between ``hosts``; it is the faster one."""
    rows = [[message("curve", size, ()) for size in (KIB, 2 * KIB)]]
    rows.append([message("curve", size, hosts, seconds=5e-4) for size in (KIB, 2 * KIB)])
    return [Curve(series, tuple(cell(row, paths()) for row in found))
            for series, found in zip(("gpu:0 > gpu:1, mpi", "gpu:0 > gpu:1, other"), rows, strict=True)]  # fmt: skip


def test_lines_between_hosts_lead_over_no_line_of_one_host() -> None:
    assert leaders_of(rivals(())) != ()
    assert leaders_of(rivals(HOSTS)) == ()


def test_a_line_of_which_some_figures_are_between_hosts_has_no_peak() -> None:
    (near, _), (_, far) = rivals(()), rivals(HOSTS)
    assert near.peak_gbps is not None
    assert Curve("mpi", (near.points[0], far.points[1])).peak_gbps is None
