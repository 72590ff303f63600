"""The real engine, the real MPIs: what applications send, by ranks that MPI started, and a rank that is killed."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from multi_run import ROOT, MultiRun, wait_until

pytestmark = pytest.mark.usefixtures("real_engine")
HOST = socket.gethostname()
OPTIONS = ("--interface", "mpi", "--rounds", "1", "-o", "a.jsonl")


def rows(multi_run: MultiRun) -> list[dict[str, Any]]:
    return [record for record in multi_run.records if record["record"] == "row"]


def test_a_halo_exchange_by_mpi_says_its_parts_by_rank(multi_run: MultiRun) -> None:
    ended = multi_run.bench.cli("app", "halo", "--ranks", "2", "--cells", "960x960", "--steps", "10", *OPTIONS)
    assert ended.code == 0, ended.err
    (row,) = rows(multi_run)
    assert row["verified"]["passes"] > 0
    (flow,) = row["flows"]
    assert len(flow["parts_s"]) == len(flow["breakdown"]) == 2
    assert flow["seconds"]["median"] >= 0.9 * max(flow["parts_s"])
    for rank in flow["breakdown"]:
        assert rank["parts_s"]["pack"] > 0
        assert len(rank["phases_s"]) == sum(len(one["phases"]) for one in row["case"]["flows"][0]["schedule"]["loops"])
    assert [len(group["processes"]) for group in multi_run.groups] == [2]


def test_a_file_of_messages_goes_by_mpi_together_and_one_by_one(multi_run: MultiRun) -> None:
    traffic = multi_run.bench.folder / "traffic.csv"
    traffic.write_text("source,destination,bytes,phase\n0,1,64K,a\n1,0,64K,a\n1,0,5,b\n")
    ended = multi_run.bench.cli("app", "pattern", traffic, *OPTIONS)
    assert ended.code == 0, ended.err
    isolated = {"isolated" in row["case"]["labels"]["workload"]: row["status"] for row in rows(multi_run)}
    assert isolated == {False: "ok", True: "ok"}


def worked_s(pid: int) -> float:
    """CPU time of a process: an exchange takes much, its start little."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed_in_the_exchange_is_named(multi_run: MultiRun, rank: int) -> None:
    words = ("app", "halo", "--ranks", "2", "--cells", "960x960", "--steps", "3000", *OPTIONS)
    process = subprocess.Popen(
        [sys.executable, "-m", "linkscope", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(lambda: process.poll() is not None or (Path("a.jsonl").exists() and bool(multi_run.groups)))
    pid = multi_run.groups[0]["processes"][rank]["pid"]
    wait_until(lambda: process.poll() is not None or worked_s(pid) > 1.5)
    os.kill(pid, signal.SIGKILL)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    (reason,) = multi_run.reasons.values()
    assert re.match(rf"rank {rank} \(host {HOST}\)", reason), reason
