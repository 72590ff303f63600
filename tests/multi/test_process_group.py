"""Groups started on this host: a row for every case, whatever becomes of the processes, and none of them left."""

from __future__ import annotations

import os
import platform
import re
import signal
import socket
from collections.abc import Iterator

import pytest
from multi_run import IDS, MultiRun, wait_until
from result_schema import validate

from linkscope.launch.group import process_group
from linkscope.launch.group.control import Control, Hello
from linkscope.launch.group.rank_process import RankProcess
from linkscope.results.run_file import RunFile

HOST = socket.gethostname()


@pytest.fixture
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscope.plan.budget.timeout_s", lambda case, options: 1.0)
    monkeypatch.setattr("linkscope.launch.scheduler.START_TIMEOUT_S", 1.0)
    monkeypatch.setattr("linkscope.launch.group.process_group._GRACE_S", 1.0)


@pytest.fixture(autouse=True)
def nothing_is_left(multi_run: MultiRun) -> Iterator[None]:
    yield
    wait_until(lambda: not multi_run.engines())
    assert multi_run.leftovers() == []


def test_processes_carry_cases_out_together_and_are_named_in_the_run_file(multi_run: MultiRun) -> None:
    assert multi_run.run().code == 0
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")
    (group,) = multi_run.groups
    validate(group)
    assert group["launcher"] == "local"
    assert [(one["rank"], one["host"], one["devices"]) for one in group["processes"]] == [
        (0, HOST, ["numa:0"]),
        (1, HOST, ["numa:0"]),
    ]
    assert [one["pid"] for one in group["processes"]] == [
        one["pid"] for one in sorted(multi_run.joined, key=lambda one: one["rank"])
    ]


def test_rows_name_the_hosts_of_processes_that_are_on_several(multi_run: MultiRun) -> None:
    multi_run.monkeypatch.setenv("FAKE_HOSTS", f"{HOST},node2")
    assert multi_run.run().code == 0
    rows = RunFile.read("a.jsonl").rows
    assert {row.hosts for row in rows} == {(HOST, "node2")}
    assert {row.between for row in rows} == {(HOST, "node2")}
    for row in rows:
        validate(row.raw)


def test_rows_say_nothing_of_hosts_where_there_is_one(multi_run: MultiRun) -> None:
    assert multi_run.run().code == 0
    assert not any("hosts" in row.raw for row in RunFile.read("a.jsonl").rows)


def test_each_process_has_the_cpus_that_the_run_file_says(multi_run: MultiRun) -> None:
    multi_run.run()
    for one in multi_run.groups[0]["processes"]:
        (noted,) = [note for note in multi_run.joined if note["pid"] == one["pid"]]
        assert noted["allowed"] == one["cpus"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_with_its_signal_and_the_rest_goes_on(multi_run: MultiRun, rank: int) -> None:
    multi_run.faults(**{f"r{rank}_/8KiB": "kill"})
    assert multi_run.run().code == 1
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank {rank} (host {HOST}) died of SIGKILL")
    assert multi_run.causes[IDS[1]][0] == ("gone", [rank])
    assert list(multi_run.statuses.values()).count("ok") == 3
    assert len(multi_run.groups) == 2
    assert {note["size"] for note in multi_run.joined} == {2}


def test_a_rank_that_ends_with_an_exit_code_is_quoted(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/16KiB": "exit"})
    multi_run.run()
    assert multi_run.reasons.keys() == {IDS[2]}
    words = f"rank 1 (host {HOST}) ended with exit code 4: linkscope-engine: about to fail"
    assert multi_run.reasons[IDS[2]].startswith(words)
    assert multi_run.causes[IDS[2]][0] == ("gone", [1])


def test_what_a_rank_says_before_it_leaves_is_the_reason(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r0_/4KiB": "lost"})
    multi_run.run()
    assert multi_run.reasons == {IDS[0]: f"rank 0 (host {HOST}): the GPU fell off the bus"}
    assert multi_run.causes == {IDS[0]: [("failed", [0])]}


def test_garbage_is_blamed_on_who_printed_it(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/32KiB": "garbage"})
    multi_run.run()
    assert multi_run.reasons.keys() == {IDS[3]}
    assert multi_run.reasons[IDS[3]].startswith(
        f"rank 1 (host {HOST}) printed a line that is not a record: Segmentation"
    )
    assert multi_run.causes == {IDS[3]: [("out-of-step", [1])]}


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize("fault", ["stop", "hang", "lag"])
def test_a_hanging_rank_is_named_within_the_cases_limit(multi_run: MultiRun, fault: str) -> None:
    multi_run.faults(**{"r1_/8KiB": fault})
    assert multi_run.run().code == 1
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank 1 (host {HOST})")
    assert list(multi_run.statuses.values()).count("ok") == 3


@pytest.mark.usefixtures("short_limits")
def test_where_rank_0_hangs_the_supervisor_finds_out_by_itself(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r0_/8KiB": "stop"})
    assert multi_run.run().code == 1
    silence = f"rank 0 (host {HOST}) (it is stopped) hung: no sign of life for 1 s; all 2 processes were killed"
    assert multi_run.reasons == {IDS[1]: silence}
    assert multi_run.causes == {IDS[1]: [("hung", [0])]}


@pytest.mark.usefixtures("short_limits")
def test_of_several_that_hang_the_row_names_them_by_rank_whichever_joined_first(multi_run: MultiRun) -> None:
    multi_run.faults(r0_hello="slow", **{"r0_/4KiB": "stop", "r1_/4KiB": "stop"})
    assert multi_run.run().code == 1
    stopped = ", ".join(f"rank {rank} (host {HOST}) (it is stopped)" for rank in range(2))
    silence = f"{stopped} hung: no sign of life for 1 s; all 2 processes were killed"
    assert multi_run.reasons == {IDS[0]: silence}
    assert multi_run.causes == {IDS[0]: [("hung", [0, 1])]}


@pytest.mark.usefixtures("short_limits")
@pytest.mark.parametrize(("failed", "held_up"), [(0, 1), (1, 0)])
def test_what_a_rank_failed_of_is_told_where_the_others_wait_in_vain(
    multi_run: MultiRun, failed: int, held_up: int
) -> None:
    multi_run.faults(**{f"r{failed}_/8KiB": "fail", f"r{held_up}_/8KiB": "hang"})
    assert multi_run.run().code == 1
    words = f"rank {failed} (host {HOST}) failed: no room for a communicator; rank {held_up} (host {HOST}) "
    silence = "hung: no sign of life for 1 s; all 2 processes were killed"
    told = "is gone, or has not come"  # rank 0 notices by itself that another does not come
    assert multi_run.reasons == {IDS[1]: words + (silence if failed else told)}
    assert multi_run.causes[IDS[1]][0] == ("failed", [failed])
    assert multi_run.causes[IDS[1]][-1] == ("hung" if failed else "gone", [held_up])


def test_what_a_rank_failed_of_is_told_before_how_another_ended_for_its_sake(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/8KiB": "fail", "r0_/8KiB": "exit"})
    multi_run.run()
    words = f"rank 1 (host {HOST}) failed: no room for a communicator; rank 0 (host {HOST}) ended with exit code 4"
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(words)
    assert multi_run.causes == {IDS[1]: [("failed", [1]), ("gone", [0])]}


def test_a_killed_rank_comes_before_who_failed_for_its_sake(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/8KiB": "kill", "r0_/8KiB": "tell"})
    multi_run.run()
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank 1 (host {HOST}) died of SIGKILL")
    assert "rank 0 (host" in multi_run.reasons[IDS[1]]
    assert multi_run.reasons[IDS[1]].endswith("failed: connection closed by peer")
    assert multi_run.causes == {IDS[1]: [("gone", [1]), ("failed", [0])]}


@pytest.mark.usefixtures("short_limits")
def test_a_failed_row_that_comes_just_before_the_time_limit_is_not_lost(multi_run: MultiRun) -> None:
    """It is held back for a sign of whether its process lives on, here for longer than the case may take."""
    multi_run.faults(**{"r0_/8KiB": "broken"})
    assert multi_run.run().code == 1
    assert multi_run.reasons[IDS[1]] == "the driver is broken"


def test_what_a_rank_failed_of_in_an_earlier_case_is_over(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/4KiB": "fail", "r0_/8KiB": "kill"})
    multi_run.run()
    assert multi_run.reasons.keys() == {IDS[1]}
    assert multi_run.reasons[IDS[1]].startswith(f"rank 0 (host {HOST}) died of SIGKILL")


@pytest.mark.usefixtures("short_limits")
def test_a_rank_that_never_comes_is_named_and_the_group_is_given_up_at_once(multi_run: MultiRun) -> None:
    multi_run.faults(r1_hello="absent")
    assert multi_run.run().code == 1
    assert set(multi_run.reasons) == set(IDS)
    (reason,) = set(multi_run.reasons.values())
    assert reason == f"rank 1 of 2 never started; on {HOST} the others did: no word within 1 s of starting local"
    assert set(multi_run.causes) == set(IDS)
    assert all(causes == [("absent", [1])] for causes in multi_run.causes.values())


def test_a_rank_that_cannot_start_is_quoted_without_waiting(multi_run: MultiRun) -> None:
    multi_run.faults(r1_hello="leave")
    multi_run.run()
    (reason,) = set(multi_run.reasons.values())
    assert reason.startswith("rank 1 ended with exit code 1: linkscope-engine: no driver here (")


@pytest.mark.usefixtures("short_limits")
def test_a_rank_that_leaves_before_rank_0_has_come_is_told_of(multi_run: MultiRun) -> None:
    multi_run.faults(r0_hello="absent", r1_hello="brief")
    assert multi_run.run().code == 1
    assert set(multi_run.reasons) == set(IDS)
    (reason,) = set(multi_run.reasons.values())
    # Rank 1 may leave before it has said on which host it is.
    assert re.search(rf"rank 1( \(host {HOST}\))? ended with exit code 1: linkscope-engine: no driver here", reason)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("version", "runs an engine of version 0.0.9, the one here is 0"),
        ("schema", "speaks schema 7, this linkscope 1"),
    ],
)
def test_ranks_of_another_version_are_named(multi_run: MultiRun, fault: str, words: str) -> None:
    multi_run.faults(r1_hello=fault)
    multi_run.run()
    assert set(multi_run.reasons) == set(IDS)
    (reason,) = set(multi_run.reasons.values())
    assert reason.startswith(f"rank 1 (host {HOST}) {words}")
    assert multi_run.causes == {key: [("disagrees", [1])] for key in IDS}


def test_a_refused_plan_fails_the_cases_of_these_processes_alone(
    multi_run: MultiRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_group, "_GRACE_S", 1.0)
    multi_run.faults(r1_plan="refuse")
    assert multi_run.run().code == 1
    assert multi_run.reasons == dict.fromkeys(IDS, f"rank 1 (host {HOST}): case 1 is wrong")
    assert multi_run.causes == {key: [("failed", [1])] for key in IDS}


def test_a_stranger_is_turned_away_and_disturbs_nobody(multi_run: MultiRun, monkeypatch: pytest.MonkeyPatch) -> None:
    started = process_group.ProcessGroup.__init__

    def with_strangers(self: process_group.ProcessGroup, control: Control, *rest: object) -> None:
        started(self, control, *rest)
        host, _, port = control.address.rpartition(":")
        for words in (b"", b"GET / HTTP/1.1\r\n\r\n", b'{"record":"hello","token":"wrong","rank":0}\n', b"[]\n"):
            with socket.create_connection((host, int(port))) as stranger:
                stranger.sendall(words)

    monkeypatch.setattr(process_group.ProcessGroup, "__init__", with_strangers)
    assert multi_run.run().code == 0
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_ends_all_processes_and_the_run_can_be_completed(multi_run: MultiRun, number: int) -> None:
    multi_run.faults(**{"r1_/16KiB": "stop"})
    process = multi_run.start()
    multi_run.await_rows(process, 2)
    process.send_signal(number)
    _, err = process.communicate(timeout=5)  # what ends a job may allow no more
    assert process.returncode == 130, err
    assert [multi_run.records[-1][name] for name in ("record", "when")] == ["state", "interrupted"]
    multi_run.faults()
    assert multi_run.bench.cli("run", "--resume", "-o", "a.jsonl").code == 0
    assert multi_run.statuses == dict.fromkeys(IDS, "ok")


def test_a_killed_linkscope_takes_its_processes_along(multi_run: MultiRun) -> None:
    multi_run.faults(**{"r1_/16KiB": "stop"})
    process = multi_run.start()
    multi_run.await_rows(process, 2)
    assert len(multi_run.engines()) == 2
    multi_run.kill(process)


def test_a_number_that_is_no_engines_is_left_alone() -> None:
    """A rank in a container of its own names a number that is another process's here."""
    hello = Hello(rank=1, host=platform.node(), pid=os.getpid(), address="127.0.0.1", root_port=None)
    member = RankProcess.of(hello, ("linkscope-engine-host",))
    assert not member.is_here
    member.kill()  # this process would not live to tell
