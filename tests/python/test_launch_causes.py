"""Causes: whom a row blames where a process of several ended, or could not do its part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linkscope.launch.explanation import Cause, Explanation, explained
from linkscope.launch.group.cause import ExitCause, with_failures
from linkscope.launch.group.control import LOOPBACK, Hello
from linkscope.launch.group.rank_process import RankProcess, StepFailure
from linkscope.launch.launcher.launcher import ExitStatus

Json = dict[str, Any]


def process(rank: int, failure: StepFailure | None = None) -> RankProcess:
    return RankProcess(Hello(rank, "a", 1, LOOPBACK, None), None, case="copy", failure=failure)


def error(*causes: Cause, fault: str = "lost") -> Json:
    fields = [{"how": cause.how, "ranks": list(cause.ranks), "words": cause.words} for cause in causes]
    reason = "; ".join(cause.words for cause in causes)
    return {"record": "error", "fault": fault, "reason": reason, "causes": fields}


def end(complaint: Json | None, ending: ExitStatus | None = None, rank: int = 0) -> ExitCause:
    one = process(rank)
    one.complaint = complaint
    return ExitCause(one, ending)


def failure_of(rank: int, reason: str) -> Cause:
    return Cause("failed", (rank,), f"rank {rank} (host a) failed: {reason}")


def late(*ranks: int) -> Cause:
    words = ", ".join(f"rank {rank} (host a)" for rank in ranks)
    return Cause("late", ranks, f"{words} {'has' if len(ranks) == 1 else 'have'} not come within 30 s")


def kinds(explanation: Explanation) -> list[tuple[str, list[int]]]:
    """How, and which ranks, as a row has them."""
    return [(cause["how"], cause["ranks"]) for cause in explanation.fields.get("causes", ())]


def gone(rank: int) -> Cause:
    return Cause("gone", (rank,), f"rank {rank} (host a) is gone")


def test_who_ends_for_anothers_sake_says_for_whose() -> None:
    waited = end(error(failure_of(0, "no driver"), late(1)))
    words = "rank 0 (host a) failed: no driver; rank 1 (host a) has not come within 30 s"
    assert (str(waited), waited.is_late) == (words, True)
    assert end(error(late(1, 2))).is_late
    assert not end(error(gone(2), failure_of(1, "rank 3 has not come within 5 s"))).is_late
    lost = error(gone(1))
    assert str(end(lost)) == "rank 0 (host a): rank 1 (host a) is gone"
    assert end(lost).blames(1)
    assert not end(lost).blames(7)
    assert not end({"record": "error", "fault": "lost", "reason": "the GPU fell off the bus"}).blames(1)
    assert not end({**lost, "fault": "bad-input"}).blames(1)
    assert not end(lost, ExitStatus(-11)).blames(1)


def test_who_is_named_first_tells_of_itself() -> None:
    differs = error(Cause("disagrees", (1,), "rank 1 (host a) has version 2, rank 0 (host a) has 1"), fault="bad-input")
    assert str(end(differs, rank=1)) == "rank 1 (host a) has version 2, rank 0 (host a) has 1"
    assert str(end(differs)) == "rank 0 (host a): rank 1 (host a) has version 2, rank 0 (host a) has 1"


def test_words_are_not_read_for_whom_they_name() -> None:
    """What a library said may look like a clause of linkscope's."""
    odd = "rank 3 (host a) has not come within 5 s; rank 2 (host a) failed: no memory"
    own = end({"record": "error", "fault": "lost", "reason": odd})
    assert (str(own), own.is_late, own.blames(3)) == (f"rank 0 (host a): {odd}", False, False)
    quoting = end(error(gone(1), failure_of(0, "rank 3 (host a) has not come within 5 s")))
    assert (quoting.is_late, quoting.blames(3), quoting.blames(1)) == (False, False, True)
    processes = [process(0, StepFailure("timed out", 2.0)), process(1), process(2, StepFailure("no memory", 1.0))]
    first = "rank 2 (host a) failed: no memory"
    assert str(with_failures(processes, own.explanation)) == str(own), "it says of itself what it failed of"
    explanation = explained("gone", [1], "rank 1 (host a) ended with exit code 4: rank 2 (host a): no memory")
    assert str(with_failures(processes, explanation)) == f"{first}; {explanation}"
    quoted = Explanation(((failure_of(0, f"timed out; {first}"), late(1)),))
    assert str(with_failures(processes, quoted)) == f"{first}; {quoted}"


def test_what_two_tell_of_one_rank_is_one_cause() -> None:
    killed = ExitCause(process(1), ExitStatus(-9)).explanation
    told = killed.followed_by(" (rank 0 says: ", (gone(1), late(2)), ")")
    assert kinds(told) == [("gone", [1]), ("late", [2])]
    assert str(told) == f"{killed} (rank 0 says: {gone(1).words}; {late(2).words})"


def test_who_failed_first_comes_first() -> None:
    processes = [process(0, StepFailure("timed out", 2.0)), process(1, StepFailure("no memory", 1.0)), process(2)]
    first, later = failure_of(1, "no memory"), failure_of(0, "timed out")
    hung = explained("hung", [2], "rank 2 (host a) hung")
    assert kinds(with_failures(processes, hung)) == [("failed", [1]), ("hung", [2])]
    assert str(with_failures(processes, hung)) == f"{first.words}; rank 2 (host a) hung"
    itself = replace(explained("failed", [1], "rank 1 (host a): no memory"), teller=1)
    assert str(with_failures(processes, itself)) == "rank 1 (host a): no memory", "it says so itself"
    agreed = Explanation(((Cause("failed", (0,), "rank 0 (host a): timed out"),),))
    assert str(with_failures(processes, agreed)) == "rank 0 (host a): timed out", "all have agreed on it"
    explanation = Explanation(((first, late(2)),))
    assert str(with_failures(processes, explanation)) == f"{first.words}; {late(2).words}"
    explanation = Explanation(((later, first, late(2)),))
    assert str(with_failures(processes, explanation)) == f"{first.words}; {later.words}; {late(2).words}"
    assert kinds(with_failures(processes, explanation)) == [("failed", [1]), ("failed", [0]), ("late", [2])]
    processes[1].failure = StepFailure("no memory", 2.0)
    explanation = Explanation(((first, late(2)),))
    assert str(with_failures(processes, explanation)) == f"{first.words}; {late(2).words}", "nobody knows better"


def test_who_failed_after_a_process_was_gone_comes_behind_it() -> None:
    processes = [process(0, StepFailure("timed out", 2.0)), process(1, StepFailure("no memory", 1.0)), process(2)]
    first = failure_of(1, "no memory")
    alone, both = Explanation(((gone(2),),)), Explanation(((gone(2), first),))
    processes[2].left = 0.5
    assert str(with_failures(processes, alone)) == f"{gone(2).words}; {first.words}"
    assert str(with_failures(processes, both)) == f"{gone(2).words}; {first.words}"
    assert kinds(with_failures(processes, alone)) == [("gone", [2]), ("failed", [1])]
    processes[2].left = 1.5
    assert str(with_failures(processes, alone)) == f"{first.words}; {gone(2).words}"
    assert kinds(with_failures(processes, alone)) == [("failed", [1]), ("gone", [2])]
    assert str(with_failures(processes, both)) == f"{first.words}; {gone(2).words}"
    processes[1].case = "an earlier one"
    assert str(with_failures(processes, alone)) == f"{gone(2).words}; rank 0 (host a) failed: timed out"


def test_who_failed_just_before_an_end_comes_behind_it_where_that_was_a_signal() -> None:
    """Others may notice a killed process's end before its supervisor does."""
    processes = [process(0, StepFailure("connection closed by peer", 1.0)), process(1)]
    processes[1].left = 1.1
    failed = "rank 0 (host a) failed: connection closed by peer"
    for status, told in ((-9, "{}; {}"), (4, "{1}; {0}")):
        cause = ExitCause(processes[1], ExitStatus(status))
        assert str(with_failures(processes, cause.explanation, cause)) == told.format(cause, failed)
    processes[1].left = 5.0
    killed = ExitCause(processes[1], ExitStatus(-9))
    assert str(with_failures(processes, killed.explanation, killed)) == f"{failed}; {killed}", "that was long before"
    processes[1].left, processes[1].failure = 1.1, StepFailure("no memory", 1.05)
    own = f"rank 1 (host a) failed: no memory; {killed}"
    assert str(with_failures(processes, killed.explanation, killed)) == own, "its own failure came before its own end"
