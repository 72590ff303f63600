"""Crews started on this host: a row for every case, whatever becomes of the processes, and none of them left."""

from __future__ import annotations

import os
import platform
import signal
import socket
from collections.abc import Iterator

import pytest
from company import IDS, Company, wait_until
from result_schema import validate

from linkscope.launch.group import process_group
from linkscope.launch.group.control import Control, Hello
from linkscope.launch.group.rank_process import RankProcess
from linkscope.results.run_file import RunFile

HOST = socket.gethostname()


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscope.plan.budget.timeout_s", lambda case, options: 1.0)
    monkeypatch.setattr("linkscope.launch.scheduler.START_TIMEOUT_S", 1.0)
    monkeypatch.setattr("linkscope.launch.group.process_group._GRACE_S", 1.0)


@pytest.fixture(autouse=True)
def nothing_is_left(company: Company) -> Iterator[None]:
    yield
    wait_until(lambda: not company.engines())
    assert company.leftovers() == []


def test_processes_carry_cases_out_together_and_are_named_in_the_run_file(company: Company) -> None:
    assert company.run().code == 0
    assert company.statuses == dict.fromkeys(IDS, "ok")
    (crew,) = company.crews
    validate(crew)
    assert crew["launcher"] == "local"
    assert [(one["rank"], one["host"], one["devices"]) for one in crew["processes"]] == [
        (0, HOST, ["numa:0"]),
        (1, HOST, ["numa:0"]),
    ]
    assert [one["pid"] for one in crew["processes"]] == [
        one["pid"] for one in sorted(company.joined, key=lambda one: one["rank"])
    ]


def test_rows_name_the_hosts_of_processes_that_are_on_several(company: Company) -> None:
    company.monkeypatch.setenv("FAKE_HOSTS", f"{HOST},node2")
    assert company.run().code == 0
    rows = RunFile.read("a.jsonl").rows
    assert {row.hosts for row in rows} == {(HOST, "node2")}
    assert {row.between for row in rows} == {(HOST, "node2")}
    for row in rows:
        validate(row.raw)


def test_rows_say_nothing_of_hosts_where_there_is_one(company: Company) -> None:
    assert company.run().code == 0
    assert not any("hosts" in row.raw for row in RunFile.read("a.jsonl").rows)


def test_each_process_has_the_cpus_that_the_run_file_says(company: Company) -> None:
    company.run()
    for one in company.crews[0]["processes"]:
        (noted,) = [note for note in company.joined if note["pid"] == one["pid"]]
        assert noted["allowed"] == one["cpus"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_named_with_its_signal_and_the_rest_goes_on(company: Company, rank: int) -> None:
    company.faults(**{f"r{rank}_/8KiB": "kill"})
    assert company.run().code == 1
    assert company.reasons.keys() == {IDS[1]}
    assert company.reasons[IDS[1]].startswith(f"rank {rank} (host {HOST}) died of SIGKILL")
    assert list(company.statuses.values()).count("ok") == 3
    assert len(company.crews) == 2
    assert {note["size"] for note in company.joined} == {2}


def test_a_rank_that_ends_with_an_exit_code_is_quoted(company: Company) -> None:
    company.faults(**{"r1_/16KiB": "exit"})
    company.run()
    assert company.reasons.keys() == {IDS[2]}
    words = f"rank 1 (host {HOST}) ended with exit code 4: linkscope-engine: about to fail"
    assert company.reasons[IDS[2]].startswith(words)


def test_what_a_rank_says_before_it_leaves_is_the_reason(company: Company) -> None:
    company.faults(**{"r0_/4KiB": "lost"})
    company.run()
    assert company.reasons == {IDS[0]: f"rank 0 (host {HOST}): the GPU fell off the bus"}


def test_garbage_is_blamed_on_who_printed_it(company: Company) -> None:
    company.faults(**{"r1_/32KiB": "garbage"})
    company.run()
    assert company.reasons.keys() == {IDS[3]}
    assert company.reasons[IDS[3]].startswith(f"rank 1 (host {HOST}) printed a line that is no record: Segmentation")


@pytest.mark.usefixtures("short_patience")
@pytest.mark.parametrize("fault", ["stop", "hang", "lag"])
def test_a_hanging_rank_is_named_within_the_cases_limit(company: Company, fault: str) -> None:
    company.faults(**{"r1_/8KiB": fault})
    assert company.run().code == 1
    assert company.reasons.keys() == {IDS[1]}
    assert company.reasons[IDS[1]].startswith(f"rank 1 (host {HOST})")
    assert list(company.statuses.values()).count("ok") == 3


@pytest.mark.usefixtures("short_patience")
def test_where_rank_0_hangs_the_supervisor_finds_out_by_itself(company: Company) -> None:
    company.faults(**{"r0_/8KiB": "stop"})
    assert company.run().code == 1
    silence = f"rank 0 (host {HOST}) (it is stopped) hung: no sign of life for 1 s; all 2 processes were killed"
    assert company.reasons == {IDS[1]: silence}


@pytest.mark.usefixtures("short_patience")
def test_of_several_that_hang_the_row_names_them_by_rank_whichever_joined_first(company: Company) -> None:
    company.faults(r0_hello="slow", **{"r0_/4KiB": "stop", "r1_/4KiB": "stop"})
    assert company.run().code == 1
    stopped = ", ".join(f"rank {rank} (host {HOST}) (it is stopped)" for rank in range(2))
    silence = f"{stopped} hung: no sign of life for 1 s; all 2 processes were killed"
    assert company.reasons == {IDS[0]: silence}


@pytest.mark.usefixtures("short_patience")
@pytest.mark.parametrize(("failed", "held_up"), [(0, 1), (1, 0)])
def test_what_a_rank_failed_of_is_told_where_the_others_wait_in_vain(
    company: Company, failed: int, held_up: int
) -> None:
    company.faults(**{f"r{failed}_/8KiB": "fail", f"r{held_up}_/8KiB": "hang"})
    assert company.run().code == 1
    words = f"rank {failed} (host {HOST}) failed: no room for a communicator; rank {held_up} (host {HOST}) "
    silence = "hung: no sign of life for 1 s; all 2 processes were killed"
    told = "is gone, or has not come"  # rank 0 notices by itself that another does not come
    assert company.reasons == {IDS[1]: words + (silence if failed else told)}


def test_what_a_rank_failed_of_is_told_before_how_another_ended_for_its_sake(company: Company) -> None:
    company.faults(**{"r1_/8KiB": "fail", "r0_/8KiB": "exit"})
    company.run()
    words = f"rank 1 (host {HOST}) failed: no room for a communicator; rank 0 (host {HOST}) ended with exit code 4"
    assert company.reasons.keys() == {IDS[1]}
    assert company.reasons[IDS[1]].startswith(words)


def test_a_killed_rank_comes_before_who_failed_for_its_sake(company: Company) -> None:
    company.faults(**{"r1_/8KiB": "kill", "r0_/8KiB": "tell"})
    company.run()
    assert company.reasons.keys() == {IDS[1]}
    assert company.reasons[IDS[1]].startswith(f"rank 1 (host {HOST}) died of SIGKILL")
    assert "rank 0 (host" in company.reasons[IDS[1]]
    assert company.reasons[IDS[1]].endswith("failed: connection closed by peer")


@pytest.mark.usefixtures("short_patience")
def test_a_failed_row_that_comes_just_before_the_time_limit_is_not_lost(company: Company) -> None:
    """It is held back for a sign of whether its process lives on, here for longer than the case may take."""
    company.faults(**{"r0_/8KiB": "broken"})
    assert company.run().code == 1
    assert company.reasons[IDS[1]] == "the driver is broken"


def test_what_a_rank_failed_of_in_an_earlier_case_is_over(company: Company) -> None:
    company.faults(**{"r1_/4KiB": "fail", "r0_/8KiB": "kill"})
    company.run()
    assert company.reasons.keys() == {IDS[1]}
    assert company.reasons[IDS[1]].startswith(f"rank 0 (host {HOST}) died of SIGKILL")


@pytest.mark.usefixtures("short_patience")
def test_a_rank_that_never_comes_is_named_and_the_group_is_given_up_at_once(company: Company) -> None:
    company.faults(r1_hello="absent")
    assert company.run().code == 1
    assert set(company.reasons) == set(IDS)
    (reason,) = set(company.reasons.values())
    assert reason == f"rank 1 of 2 never started; on {HOST} the others did: no word within 1 s of starting local"


def test_a_rank_that_cannot_start_is_quoted_without_waiting(company: Company) -> None:
    company.faults(r1_hello="leave")
    company.run()
    (reason,) = set(company.reasons.values())
    assert reason.startswith("rank 1 ended with exit code 1: linkscope-engine: no driver here (")


@pytest.mark.usefixtures("short_patience")
def test_a_rank_that_leaves_before_rank_0_has_come_is_told_of(company: Company) -> None:
    company.faults(r0_hello="absent", r1_hello="brief")
    assert company.run().code == 1
    assert set(company.reasons) == set(IDS)
    (reason,) = set(company.reasons.values())
    assert f"rank 1 (host {HOST}) ended with exit code 1: linkscope-engine: no driver here" in reason


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("version", "runs an engine of version 0.0.9, the one here is 0"),
        ("schema", "speaks schema 7, this linkscope 1"),
    ],
)
def test_ranks_of_another_version_are_named(company: Company, fault: str, words: str) -> None:
    company.faults(r1_hello=fault)
    company.run()
    assert set(company.reasons) == set(IDS)
    (reason,) = set(company.reasons.values())
    assert reason.startswith(f"rank 1 (host {HOST}) {words}")


def test_a_refused_plan_fails_the_cases_of_these_processes_alone(company: Company) -> None:
    company.faults(r1_plan="refuse")
    assert company.run().code == 1
    assert company.reasons == dict.fromkeys(IDS, f"rank 1 (host {HOST}): case 1 is wrong")


def test_a_stranger_is_turned_away_and_disturbs_nobody(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    started = process_group.ProcessGroup.__init__

    def with_strangers(self: process_group.ProcessGroup, control: Control, *rest: object) -> None:
        started(self, control, *rest)
        host, _, port = control.address.rpartition(":")
        for words in (b"", b"GET / HTTP/1.1\r\n\r\n", b'{"record":"hello","token":"wrong","rank":0}\n', b"[]\n"):
            with socket.create_connection((host, int(port))) as stranger:
                stranger.sendall(words)

    monkeypatch.setattr(process_group.ProcessGroup, "__init__", with_strangers)
    assert company.run().code == 0
    assert company.statuses == dict.fromkeys(IDS, "ok")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_signal_ends_all_processes_and_the_run_can_be_completed(company: Company, number: int) -> None:
    company.faults(**{"r1_/16KiB": "stop"})
    process = company.start()
    company.await_rows(process, 2)
    process.send_signal(number)
    _, err = process.communicate(timeout=5)  # what ends a job may allow no more
    assert process.returncode == 130, err
    assert company.records[-1] == {"record": "state", "when": "interrupted"}
    company.faults()
    assert company.bench.cli("run", "--resume", "-o", "a.jsonl").code == 0
    assert company.statuses == dict.fromkeys(IDS, "ok")


def test_a_killed_linkscope_takes_its_processes_along(company: Company) -> None:
    company.faults(**{"r1_/16KiB": "stop"})
    process = company.start()
    company.await_rows(process, 2)
    assert len(company.engines()) == 2
    company.kill(process)


def test_a_number_that_is_no_engines_is_left_alone() -> None:
    """A rank in a container of its own names a number that is another process's here."""
    hello = Hello(rank=1, host=platform.node(), pid=os.getpid(), address="127.0.0.1", hub_port=None)
    member = RankProcess.of(hello, ("linkscope-engine-host",))
    assert not member.is_here
    member.kill()  # this process would not live to tell
