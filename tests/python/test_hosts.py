"""Figures between hosts: named wherever they stand, and set against no peak of one host's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import modelled_run as made
import pytest
from result_schema import validate

from linkscope.answers.questions import ask
from linkscope.figures.run import Run
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


def two_hosts(tmp_path: Path, rows: list[Row]) -> RunFile:
    """A run file of these rows, as it is read."""
    for record in (JOINED, *(row.raw for row in rows)):
        validate(record)
    run = made.run(found=rows)
    path = tmp_path / "two-hosts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (run.header, JOINED, *(row.raw for row in rows))))
    return RunFile.read(path)


def peaks(*rows: Row) -> list[float | None]:
    """Return the peaks of rows, one after the other."""
    found: list[float | None] = Run(made.run(found=list(rows))).results["peak_gbps"].to_list()
    return found


@pytest.mark.parametrize("row", [message("list", KIB, ()), all_reduce(()), all_reduce((), "algorithm")])
def test_results_between_hosts_have_no_peak(row: Row) -> None:
    (near,), (far,) = peaks(row), peaks(measured(row, HOSTS))
    assert near is not None
    assert far is None


def test_of_ranks_on_several_hosts_those_count_between_which_bytes_go() -> None:
    near = measured(message("list", KIB, ()), ("node1", "node1", "node2"))
    assert near.hosts == ("node1", "node1", "node2")
    assert near.between == ()
    assert peaks(near) != [None]


@pytest.mark.parametrize("shown", ["list", "curve", "matrix"])
def test_every_answer_names_the_hosts(tmp_path: Path, shown: str) -> None:
    run = two_hosts(tmp_path, [message(shown, size, HOSTS) for size in (KIB, 2 * KIB)])
    results = Run(run).results
    assert set(results["hosts"]) == {"node1, node2"}
    assert results["of_peak"].null_count() == results.height
    answer = ask("show", run)
    assert answer.data["hosts"] == list(HOSTS)
    origin = dict(answer.table("show.provenance").frame.iter_rows())
    assert origin["hosts"] == "node1, node2"


def test_results_within_and_between_hosts_are_no_peers(tmp_path: Path) -> None:
    run = two_hosts(tmp_path, [message("list", KIB, ()), message("list", KIB, HOSTS)])
    results = Run(run).results
    assert results["peak_gbps"].is_null().to_list() == [False, True]
    assert results["likeness"].n_unique() == 2


def test_a_run_on_one_host_says_nothing_of_it(tmp_path: Path) -> None:
    run = two_hosts(tmp_path, [message("list", KIB, ())])
    answer = ask("show", RunFile(run.path, run.header, run.rows, ()))
    assert answer.data["hosts"] == []
    assert "hosts" not in answer.table("show.provenance").frame["what"]
