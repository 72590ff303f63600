"""What is told of a hung process's threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from linkscope.launch.process.threads import thread_states


def _task(proc: Path, number: int, name: str, wchan: str, state: str) -> None:
    task = proc / "7" / "task" / str(number)
    task.mkdir(parents=True)
    (task / "comm").write_text(f"{name}\n")
    (task / "wchan").write_text(wchan)
    (task / "stat").write_text(f"{number} ({name}) {state} 1 7 7")


def test_threads_are_told_by_name_and_by_what_holds_them(tmp_path: Path) -> None:
    _task(tmp_path, 1, "engine", "futex_do_wait", "S")
    _task(tmp_path, 2, "engine", "futex_do_wait", "S")
    _task(tmp_path, 3, "copy) er", "0", "R")
    _task(tmp_path, 4, "driver", "0", "D")
    said = thread_states(7, tmp_path)
    assert said == "threads: 2 engine in futex_do_wait, copy) er running, driver in state D"


def test_many_kinds_are_counted_and_a_thread_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    for number in range(9):
        _task(tmp_path, number, f"worker-{number}", "do_poll", "S")
    (tmp_path / "7" / "task" / "0" / "comm").unlink()
    assert thread_states(7, tmp_path).endswith("worker-6 in do_poll, 2 more")
    assert thread_states(8, tmp_path) == ""


def test_a_living_process_is_seen() -> None:
    child = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=-1, stdout=-1)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        assert thread_states(child.pid).startswith("threads: python")
    finally:
        child.kill()
        child.communicate()
    assert thread_states(os.getpid()) != ""
