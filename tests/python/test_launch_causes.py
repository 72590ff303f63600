"""Causes: whom a row blames where a process of several ended, or could not do its part."""

from __future__ import annotations

from typing import Any

from linkscope.launch.group.control import LOOPBACK, Hello
from linkscope.launch.group.rank_process import ExitCause, RankProcess, StepFailure, after_failures
from linkscope.launch.launcher.launchers import ExitStatus

Json = dict[str, Any]


def test_who_ends_for_anothers_sake_says_for_whose() -> None:
    failed = {
        "record": "error",
        "reason": "rank 0 (host a) failed: no driver; rank 1 (host b) has not come within 30 s",
    }
    late = ExitCause("rank 0 (host a)", None, failed)
    assert (str(late), late.is_impatience) == (failed["reason"], True)
    both = {"record": "error", "reason": "rank 1 (host b), rank 2 have not come within 0.5 s"}
    assert ExitCause("rank 0 (host a)", None, both).is_impatience
    quoted = {"record": "error", "reason": "rank 2 is gone; rank 1 (host b) failed: rank 3 has not come within 5 s"}
    assert not ExitCause("rank 0 (host a)", None, quoted).is_impatience
    gone: Json = {"record": "error", "fault": "lost", "reason": "rank 1 (host node7) is gone"}
    assert str(ExitCause("rank 0 (host a)", None, gone)) == "rank 0 (host a): rank 1 (host node7) is gone"
    assert ExitCause("rank 0 (host a)", None, gone).blames(1)
    assert not ExitCause("rank 0 (host a)", None, gone).blames(7)
    assert not ExitCause("rank 0 (host a)", None, {**gone, "reason": "the GPU fell off the bus"}).blames(1)
    assert not ExitCause("rank 0 (host a)", None, {**gone, "fault": "bad-input"}).blames(1)
    assert not ExitCause("rank 0 (host a)", ExitStatus(-11), gone).blames(1)


def member(rank: int, failure: StepFailure | None = None) -> RankProcess:
    return RankProcess(Hello(rank, "a", 1, LOOPBACK, None), None, case="copy", failure=failure)


def test_who_failed_first_comes_first() -> None:
    members = [member(0, StepFailure("timed out", 2.0)), member(1, StepFailure("no memory", 1.0)), member(2)]
    first = "rank 1 (host a) failed: no memory"
    later = "rank 0 (host a) failed: timed out"
    late = "rank 2 (host a) has not come"
    assert after_failures(members, "rank 2 (host a) hung") == f"{first}; rank 2 (host a) hung"
    assert after_failures(members, "rank 1 (host a): no memory") == "rank 1 (host a): no memory", "it says so itself"
    assert after_failures(members, "rank 0 (host a): timed out") == "rank 0 (host a): timed out", (
        "all have agreed on it"
    )
    assert after_failures(members, f"{first}; {late}") == f"{first}; {late}"
    assert after_failures(members, f"{later}; {first}; {late}") == f"{first}; {later}; {late}"
    members[1].failure = StepFailure("no memory", 2.0)
    assert after_failures(members, f"{first}; {late}") == f"{first}; {late}", "nobody knows better"


def test_who_failed_after_a_process_was_gone_comes_behind_it() -> None:
    members = [member(0, StepFailure("timed out", 2.0)), member(1, StepFailure("no memory", 1.0)), member(2)]
    first = "rank 1 (host a) failed: no memory"
    gone = "rank 2 (host a) is gone"
    members[2].left = 0.5
    assert after_failures(members, gone) == f"{gone}; {first}"
    assert after_failures(members, f"{gone}; {first}") == f"{gone}; {first}"
    members[2].left = 1.5
    assert after_failures(members, gone) == f"{first}; {gone}"
    assert after_failures(members, f"{gone}; {first}") == f"{first}; {gone}"
    members[1].case = "an earlier one"
    assert after_failures(members, gone) == f"{gone}; rank 0 (host a) failed: timed out"


def test_who_failed_just_before_an_end_comes_behind_it_where_that_was_a_signal() -> None:
    """Others may notice a killed process's end before its supervisor does."""
    members = [member(0, StepFailure("connection closed by peer", 1.0)), member(1)]
    members[1].left = 1.1
    failed = "rank 0 (host a) failed: connection closed by peer"
    for status, told in ((-9, "{}; {}"), (4, "{1}; {0}")):
        cause = ExitCause("rank 1 (host a)", ExitStatus(status), None)
        assert after_failures(members, str(cause), cause) == told.format(cause, failed)
    members[1].left = 5.0
    killed = ExitCause("rank 1 (host a)", ExitStatus(-9), None)
    assert after_failures(members, str(killed), killed) == f"{failed}; {killed}", "that was long before"
    members[1].left, members[1].failure = 1.1, StepFailure("no memory", 1.05)
    own = f"rank 1 (host a) failed: no memory; {killed}"
    assert after_failures(members, str(killed), killed) == own, "its own failure came before its own end"
