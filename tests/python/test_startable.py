"""Startable: cases whose processes nobody can start are skipped before anything is measured or estimated."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscope.errors import LinkscopeError
from linkscope.launch.engines import Engine
from linkscope.launch.launcher.launch_options import LaunchOptions
from linkscope.launch.startable import startable
from linkscope.plan.planned_case import PlannedCase


def test_cases_that_want_a_launcher_which_is_not_here_are_skipped_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linkscope.launch.launcher.launch_options.find_mpiexec", lambda: None)
    engine = Engine("host", Path("nowhere"), {"backend": "host"})
    planned = [PlannedCase({"id": str(number), "flows": [], "processes": number}) for number in (1, 2)]
    by_mpi = LaunchOptions(hosts="a,b")
    one, two = startable(planned, by_mpi, engine)
    assert one.skip is None
    assert "no mpiexec on PATH" in str(two.skip)
    assert startable(planned, LaunchOptions(), engine)[1].skip is None, "processes here need none"
    with pytest.raises(LinkscopeError, match="no mpiexec on PATH"):
        startable(planned, LaunchOptions("mpiexec", hosts="a,b"), engine)
