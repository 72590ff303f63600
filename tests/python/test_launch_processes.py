"""What is decided before processes are started: launchers, their dialects, bindings, places in a job of ranks."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linkscope.errors import LinkscopeError
from linkscope.launch.group.binding import bind
from linkscope.launch.group.control import LOOPBACK, Hello, own_address
from linkscope.launch.launcher.hosts import named_hosts
from linkscope.launch.launcher.inside import JobRank, place
from linkscope.launch.launcher.launch_options import LaunchOptions, requirement
from linkscope.launch.launcher.launcher import LaunchSpec
from linkscope.launch.launcher.launcher_processes import LauncherProcesses, gist, numbers
from linkscope.launch.launcher.local import Local
from linkscope.launch.launcher.mpiexec import _HYDRA, _OPEN_MPI, Mpiexec
from linkscope.launch.launcher.srun import ENDINGS, LABEL, Srun, cpus_of_job, is_only_host
from linkscope.launch.scheduler import JobScheduler, exchange_limit_s
from linkscope.machine.node import Device, Node
from linkscope.plan.case_groups import at_home
from linkscope.plan.planned_case import PlannedCase

Json = dict[str, Any]

NODE = Node(
    name="two sockets, four GPUs",
    devices=(
        Device("numa:0", "numa", cpus=(0, 1, 2, 3, 8, 9, 10, 11)),
        Device("numa:1", "numa", cpus=(4, 5, 6, 7, 12, 13, 14, 15)),
        *(Device(f"gpu:{i}", "gpu", numa=i // 2) for i in range(4)),
    ),
    links=(),
)
CORES = tuple((cpu, cpu + 8) for cpu in range(8))

OPEN_MPI_SAYS = """--------------------------------------------------------------------------
prterun noticed that process rank 1 with PID 2162 on node vm exited on
signal 9 (Killed).
--------------------------------------------------------------------------
"""
OPEN_MPI_SAYS_CODE = """--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-2196@1,1]
   Exit code:    3
--------------------------------------------------------------------------
"""
HYDRA_SAYS = """
===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 2305 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
"""


def case(*flows: Json, **rest: Any) -> Json:
    return {"id": "x", "flows": list(flows), **rest}


def message(*ends: tuple[str, int], method: str = "mpi") -> Json:
    source, destination = ({"device": device, "memory": "device", "rank": rank} for device, rank in ends)
    driver = {"executor": source["device"], "rank": source["rank"]}
    return {"method": method, "source": source, "destination": destination, "bytes": 8, **driver}


class Heard:
    """A launcher that has said something and ended."""

    def __init__(self, words: str) -> None:
        self.words = words

    def text(self) -> str:
        return self.words

    def status(self) -> int:
        return 1


def test_each_process_gets_the_cores_of_its_devices_node() -> None:
    bound = bind(NODE, [case(message(("gpu:0", 0), ("gpu:3", 1)))], [0, 1], CORES)
    assert [(one.rank, one.devices, one.numa) for one in bound] == [(0, ("gpu:0",), (0,)), (1, ("gpu:3",), (1,))]
    assert bound[0].cpus == (0, 1, 2, 3, 8, 9, 10, 11)
    assert bound[1].cpus == (4, 5, 6, 7, 12, 13, 14, 15)


def test_processes_on_one_node_share_its_cores_equally_and_whole() -> None:
    members = [{"device": f"gpu:{i}", "memory": "device", "rank": i} for i in range(4)]
    collective = {"method": "mpi-collective", "members": members, "executor": "gpu:0", "bytes": 8}
    bound = bind(NODE, [case(collective)], range(4), CORES)
    assert [one.cpus for one in bound] == [(0, 1, 8, 9), (2, 3, 10, 11), (4, 5, 12, 13), (6, 7, 14, 15)]


def test_no_process_changes_its_gpu_between_messages_by_mpi() -> None:
    def pair(name: str, *gpus: str, method: str = "mpi") -> PlannedCase:
        return PlannedCase(case(message(*((gpu, rank) for rank, gpu in enumerate(gpus)), method=method), id=name))

    cases = [
        pair("0>1", "gpu:0", "gpu:1"),
        pair("0>2", "gpu:0", "gpu:2"),
        pair("mapped 2>3", "gpu:2", "gpu:3", method="ipc-copy"),
        pair("0>1 again", "gpu:0", "gpu:1"),
        pair("0>host", "gpu:0", "numa:0"),
        pair("host>2", "numa:0", "gpu:2"),
        pair("by PyTorch 1>0", "gpu:1", "gpu:0", method="torch-mpi"),
    ]
    parts = [[one.id for one in part] for part in at_home(cases)]
    assert parts == [["0>1", "mapped 2>3", "0>1 again", "0>host"], ["0>2", "host>2"], ["by PyTorch 1>0"]]


def test_messages_that_mpi_sees_in_host_memory_alone_need_no_processes_of_their_own() -> None:
    direct = message(("gpu:0", 0), ("gpu:1", 1))
    staged = {**message(("gpu:2", 0), ("gpu:3", 1)), "parameters": {"staging": "host"}}
    assert len(at_home([PlannedCase(case(direct)), PlannedCase(case(staged))])) == 1
    unstaged = {**staged, "parameters": {"staging": "none"}}
    assert len(at_home([PlannedCase(case(direct)), PlannedCase(case(unstaged))])) == 2


def test_a_process_with_two_gpus_in_one_case_shares_no_crew_with_either_alone() -> None:
    both = case(message(("gpu:0", 0), ("gpu:2", 1)), message(("gpu:1", 0), ("gpu:2", 1)))
    assert len(at_home([PlannedCase(case(message(("gpu:0", 0), ("gpu:2", 1)))), PlannedCase(both)])) == 2


@pytest.mark.parametrize(("leader", "sizes"), [(None, [1, 1]), (SimpleNamespace(place=SimpleNamespace(size=2)), [2])])
def test_processes_that_can_be_started_once_carry_out_all_cases(leader: Any, sizes: list[int]) -> None:
    job: Any = SimpleNamespace(request=SimpleNamespace(launching=LaunchOptions()), engine=SimpleNamespace(name="cuda"))
    scheduler = JobScheduler(job, leader, lambda record: None, lambda note: None)
    pairs = [case(message(("gpu:0", 0), (f"gpu:{i}", 1)), processes=2) for i in (1, 2)]
    assert [len(group.cases) for group in scheduler.groups(map(PlannedCase, pairs))] == sizes


def test_what_a_python_child_carries_out_has_engines_of_its_own() -> None:
    """MPI starts once in a process's place, and the child has the GPU's memory to itself."""
    job: Any = SimpleNamespace(request=SimpleNamespace(launching=LaunchOptions()), engine=SimpleNamespace(name="cuda"))
    scheduler = JobScheduler(job, None, lambda record: None, lambda note: None)
    flows = [{"method": method, "executor": "gpu:0", "bytes": 8} for method in ("torch-copy", "copy-engine")]
    cases = [PlannedCase(case(flow)) for flow in (*flows, *flows)]
    assert [group.cases for group in scheduler.groups(cases)] == [tuple(cases[::2]), tuple(cases[1::2])]


def test_more_processes_than_cores_get_hardware_threads_and_then_take_turns() -> None:
    flow = {"method": "mpi-collective", "executor": "numa:0", "bytes": 8}
    members = [{"device": "numa:0", "memory": "pageable", "rank": rank} for rank in range(12)]
    bound = bind(NODE, [case({**flow, "members": members[:6]})], range(6), CORES)
    assert sorted(cpu for one in bound for cpu in one.cpus) == [0, 1, 2, 3, 8, 9, 10, 11]
    assert all(one.cpus for one in bound)
    crowd = bind(NODE, [case({**flow, "members": members})], range(12), CORES)
    assert all(len(one.cpus) == 1 for one in crowd)
    assert {one.cpus for one in crowd} == {(cpu,) for cpu in (0, 1, 2, 3, 8, 9, 10, 11)}


def test_what_may_not_be_used_is_not_given_out() -> None:
    bound = bind(NODE, [case(message(("numa:0", 0), ("numa:0", 1)))], [0, 1], [(1,), (2, 10)])
    assert [one.cpus for one in bound] == [(1,), (2, 10)]


@pytest.mark.parametrize(
    ("masks", "expected"),
    [
        ([(0, 1, 8, 9), (0, 1, 8, 9)], [(0, 8), (1, 9)]),  # a job has these alone
        ([(0,), (1,)], [(), ()]),  # bound by somebody else: they stay
        ([(), ()], [(0, 1, 8, 9), (2, 3, 10, 11)]),  # they do not say
    ],
)
def test_processes_share_the_cpus_that_they_were_started_on(
    masks: list[tuple[int, ...]], expected: list[tuple[int, ...]]
) -> None:
    scheduler = JobScheduler(SimpleNamespace(node=NODE), None, lambda record: None, lambda note: None)  # type: ignore[arg-type]
    scheduler.__dict__["_cores"] = CORES
    hellos = [Hello(rank, "node7", 7 + rank, "127.0.0.1", None, mask) for rank, mask in enumerate(masks)]
    plan = {"cases": [case(message(("gpu:0", 0), ("gpu:1", 1)))]}
    bound = scheduler._bindings(Local(), plan, "node7", hellos)
    assert [one.cpus for one in bound] == expected


def test_a_process_without_a_device_may_go_anywhere() -> None:
    (bound,) = bind(NODE, [case(message(("gpu:0", 0), ("gpu:1", 0)))], [3], CORES)
    assert (bound.devices, bound.numa, len(bound.cpus)) == ((), (0, 1), 16)


@pytest.mark.parametrize(
    ("text", "patterns", "rank", "status"),
    [
        (OPEN_MPI_SAYS, _OPEN_MPI.endings, 1, -9),
        (OPEN_MPI_SAYS_CODE, _OPEN_MPI.endings, 1, 3),
        (
            "srun: error: node7: task 1: Killed\nsrun: error: node7: task 0: Exited with exit code 3\n",
            ENDINGS,
            1,
            -9,
        ),
        (
            "srun: error: node7: task 1: Killed\nsrun: error: node7: task 0: Exited with exit code 3\n",
            ENDINGS,
            0,
            3,
        ),
        ("srun: error: node7: task 1: Segmentation fault (core dumped)\n", ENDINGS, 1, -11),
        ("srun: error: node[6-7]: tasks 0-2,5: Exited with exit code 17\n", ENDINGS, 2, 17),
    ],
)
def test_launchers_tell_how_a_rank_ended(text: str, patterns: Any, rank: int, status: int) -> None:
    by = LauncherProcesses("mpiexec", Heard(text), patterns)  # type: ignore[arg-type]
    ending = by.ending(rank)
    assert ending is not None
    assert ending.status == status
    assert by.ending(7) is None


def test_srun_tells_whose_words_are_whose() -> None:
    text = "1: MPI_Init failed\n0: all is well\n1: unsupported PMI version\n"
    text += "srun: error: a: tasks 0-1: Exited with exit code 3\n"
    by = LauncherProcesses("srun", Heard(text), ENDINGS, label=LABEL)  # type: ignore[arg-type]
    assert str(by.ending(1)) == "ended with exit code 3: unsupported PMI version"
    assert str(by.ending(0)) == "ended with exit code 3: all is well"


def test_lists_of_ranks_are_read_whole() -> None:
    assert numbers("0") == {0}
    assert numbers("1,3-5,11") == {1, 3, 4, 5, 11}
    assert numbers("") == set()


def test_what_slurm_says_of_the_job_is_understood() -> None:
    assert cpus_of_job({"SLURM_JOB_CPUS_PER_NODE": "72(x2),36"}) == 180
    assert cpus_of_job({}) is None
    here = {"SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_NODELIST": "node7"}
    assert is_only_host({**here, "SLURMD_NODENAME": "node7"})
    assert not is_only_host(here)
    assert not is_only_host({"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_NODELIST": "node[6-7]", "SLURMD_NODENAME": "node7"})


def test_hydra_tells_the_signal_and_not_reliably_whose() -> None:
    by = LauncherProcesses("mpiexec", Heard(HYDRA_SAYS), _HYDRA.endings, _HYDRA.anonymous)  # type: ignore[arg-type]
    ending = by.first_ending()
    assert ending is not None
    assert str(ending) == "died of SIGKILL"
    assert by.ending(0) is None


def test_what_mpi_prints_stands_beside_an_end_that_says_nothing() -> None:
    box = "-" * 74
    complaint = f"{box}\nNo components were able to be opened\nin the btl framework.\n{box}\n"
    for text, dialect in ((OPEN_MPI_SAYS_CODE, _OPEN_MPI), (HYDRA_SAYS, _HYDRA)):
        patterns = (dialect.endings, dialect.anonymous)
        by = LauncherProcesses("mpiexec", Heard("linkscope-engine: 0 left\n" + complaint + text), *patterns)  # type: ignore[arg-type]
        assert by.overheard() == "mpiexec printed: No components were able to be opened in the btl framework."
        assert LauncherProcesses("mpiexec", Heard(text), *patterns).overheard() == ""  # type: ignore[arg-type]


def test_the_gist_of_a_box_is_its_first_paragraph_or_what_that_announces() -> None:
    box = "-" * 74
    assert (
        gist(f"{box}\nThere are not enough\nslots.\n\nEither request fewer.\n{box}\n") == "There are not enough slots."
    )
    assert gist(f"{box}\nAn unrecognized option:\n\n  Option: -q\n\nSee help.\n{box}\n").startswith(
        "An unrecognized option: Option: -q"
    )
    assert gist("mpiexec: no such host\n") == "mpiexec: no such host"
    assert gist("") == ""


def test_each_dialect_forwards_the_environment_and_leaves_binding_to_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkscope.launch.launcher.mpiexec.usable_cores", lambda: ((0,), (1,)))
    launch_spec = LaunchSpec(("engine",), 2, {}, ("LINKSCOPE_TOKEN", "LINKSCOPE_CONTROL"), {}, tmp_path)
    crowd = LaunchSpec(("engine",), 3, {}, (), {}, tmp_path)
    exported = ["-x", "LINKSCOPE_TOKEN", "-x", "LINKSCOPE_CONTROL"]
    assert _OPEN_MPI.options(launch_spec) == ["--bind-to", "none", *exported]
    assert _OPEN_MPI.options(crowd) == ["--bind-to", "none", "--oversubscribe"]
    assert _HYDRA.options(launch_spec) == ["-bind-to", "none", "-genvall"]
    assert _OPEN_MPI.options(crowd, ["a", "b"]) == ["--bind-to", "none"], "this host's cores say nothing of others"


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        (None, ()),
        ("", ()),
        ("a", ("a",)),
        ("node1:4,node2:4", ("node1", "node2")),
        ("a,b,a", ("a", "b")),
        ("node[06-08,11],gpu1", ("node06", "node07", "node08", "node11", "gpu1")),
        ("r[1-2]n[3,4]", ("r1n3", "r1n4", "r2n3", "r2n4")),
        ("node[a-b]", ("nodea-b",)),
    ],
)
def test_hosts_are_counted_as_launchers_spell_them(listed: str | None, names: tuple[str, ...]) -> None:
    assert named_hosts(listed) == names


def test_a_hostfile_has_a_host_a_line_whatever_else_that_says(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# two\nnode1:4\nnode2 slots=4 max_slots=8  # of Open MPI\n\nnode1\n")
    assert named_hosts(None, str(path)) == ("node1", "node2")
    assert named_hosts(None, str(tmp_path / "none")) == ()


def test_the_address_that_ranks_report_to_is_looked_for_by_the_hosts_as_they_are_spelt(tmp_path: Path) -> None:
    assert LaunchOptions(launcher="srun", hosts="node[06-07,9]").peers == ["node06", "node07", "node9"]
    (tmp_path / "hosts").write_text("a slots=4\nb\n")
    assert LaunchOptions(hostfile=str(tmp_path / "hosts")).peers == ["a", "b"]


@pytest.mark.parametrize(
    ("says", "own", "told"),
    [
        ("HYDRA build details:", (), ("-ppn", "1")),
        ("HYDRA build details:", ("-genv", "A", "1"), ("-ppn", "1")),
        ("HYDRA build details:", ("-ppn", "2"), ()),
        ("HYDRA build details:", ("-perhost=2",), ()),
        ("mpiexec (Open MPI) 5.0.11", (), ("--map-by", "ppr:1:node")),
        ("mpiexec (Open MPI) 5.0.11", ("--mca", "plm", "ssh"), ("--map-by", "ppr:1:node")),
        ("mpiexec (Open MPI) 5.0.11", ("--map-by", "slot"), ()),
        ("mpiexec (Open MPI) 5.0.11", ("--mca", "rmaps_base_mapping_policy", "slot"), ()),
        ("mpiexec (Open MPI) 5.0.11", ("-N", "2"), ()),
    ],
)
def test_as_many_processes_as_named_hosts_are_one_on_each(
    says: str, own: tuple[str, ...], told: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkscope.launch.launcher.mpiexec.version_of", lambda program: says)
    launcher = Mpiexec(("mpiexec", *own), "node1:4,node2:4")
    assert launcher.spread(2) == told
    assert launcher.spread(4) == (), "their slots say how many each takes"
    assert Mpiexec(launcher.words, "node1:4").spread(1) == ()
    assert Mpiexec(launcher.words).spread(2) == ()


def test_srun_too_puts_one_on_each_host_unless_it_is_told_where() -> None:
    assert Srun(("srun", "--mpi=pmix"), "node[6-7]").spread(2) == ("--ntasks-per-node=1",)
    assert Srun(("srun",), "node[6-7]").spread(4) == ()
    assert Srun(("srun", "--nodes=1"), "node[6-7]").spread(2) == ()
    assert Srun(("srun", "-N1"), "node[6-7]").spread(2) == ()
    assert Srun(("srun",)).spread(2) == ()


def test_mpiexec_is_told_where_and_no_more_than_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("linkscope.launch.launcher.mpiexec.version_of", lambda program: "HYDRA build details:")
    monkeypatch.setattr(
        "linkscope.launch.launcher.mpiexec.Child", lambda command, *rest, **more: started.append(command)
    )
    launch_spec = LaunchSpec(("engine",), 2, {}, (), {}, tmp_path)
    Mpiexec(("mpiexec",), "node1:4,node2:4").start(launch_spec)
    Mpiexec(("mpiexec",)).start(launch_spec)
    assert started[0] == ["mpiexec", "-n", "2", "-bind-to", "none", "-genvall", "-ppn", "1", "-hosts",
                          "node1:4,node2:4", "engine", "join"]  # fmt: skip
    assert "-ppn" not in started[1]


@pytest.mark.parametrize(
    ("asked", "hosts", "said"),
    [
        ({"hosts": "node1:4,node2:4"}, ("node1", "node1"), True),
        ({"hosts": "node1,node2"}, ("node1", "node2"), False),
        ({"hosts": "node1:4"}, ("node1", "node1"), False),
        ({}, ("node1", "node1"), False),
    ],
)
def test_a_note_tells_where_several_hosts_were_named_and_one_used(
    asked: dict[str, str], hosts: tuple[str, str], said: bool
) -> None:
    notes: list[str] = []
    records: list[Json] = []
    job: Any = SimpleNamespace(node=NODE, request=SimpleNamespace(launching=LaunchOptions(**asked)))
    scheduler = JobScheduler(job, None, records.append, notes.append)
    scheduler.__dict__["_cores"] = CORES
    hellos = [Hello(rank, host, 7 + rank, "127.0.0.1", None, ()) for rank, host in enumerate(hosts)]
    scheduler._on_joined(Local(), {"cases": [case(message(("gpu:0", 0), ("gpu:1", 1)))]}, hellos)
    told = [note for note in notes if note.startswith("all 2 processes run on node1 although 2 hosts were named")]
    assert bool(told) == said
    assert records[0]["notes"] == told


@pytest.mark.parametrize(
    ("wish", "method", "environment", "kind"),
    [
        ({}, "memcpy", {}, "local"),
        ({}, "mpi", {}, "mpiexec"),
        ({}, "mpi-collective", {"SLURM_JOB_ID": "7"}, "srun"),
        ({}, "xccl-collective", {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1"}, "local"),
        ({}, "xccl-collective", {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "2"}, "srun"),
        ({"hosts": "a,b"}, "memcpy", {}, "mpiexec"),
        ({"launcher": "local"}, "mpi", {}, "local"),
        ({"launcher_command": "/opt/slurm/bin/srun --mpi=pmix"}, "mpi", {}, "srun"),
        ({"launcher_command": "/opt/mpi/bin/mpirun"}, "memcpy", {}, "mpiexec"),
    ],
)
def test_the_launcher_is_the_one_that_the_cases_need(
    wish: dict[str, str], method: str, environment: dict[str, str], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    flow = message(("gpu:0", 0), ("gpu:1", 1), method=method)
    assert LaunchOptions(**wish).kind_for(case(flow), environment, None) == kind


def test_an_mpiexec_named_with_its_folder_leads_to_its_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "lib" / "libmpi_abi.so.0"
    for path in (library, tmp_path / "lib" / "libmpi_abi.so", tmp_path / "other" / "lib" / "libmpi.so.40"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def variables(command: str | None, launcher: str | None = None, **environment: str) -> dict[str, str]:
        return LaunchOptions(launcher, command).variables(environment)

    found = {"LINKSCOPE_MPI": str(library)}
    assert variables(f"{tmp_path}/bin/mpiexec -verbose") == found
    assert variables(f"{tmp_path}/bin/mpiexec", LINKSCOPE_MPI="") == found
    assert variables(f"{tmp_path}/bin/mpiexec", LINKSCOPE_MPI="/opt/site.so") == {}
    assert variables(f"{tmp_path}/other/bin/mpiexec") == {}, "no library with the standard ABI"
    assert variables(f"{tmp_path}/bin/srun") == variables(f"{tmp_path}/bin/launch", "srun") == {}
    assert variables(None) == variables("mpiexec") == {}
    monkeypatch.chdir(tmp_path / "other")
    assert variables("../bin/mpiexec") == {"LINKSCOPE_MPI": str(tmp_path / "other" / ".." / "lib" / library.name)}


@pytest.mark.parametrize(
    ("wish", "complaint"),
    [
        ({"launcher": "mpirun"}, "--launcher mpiexec"),
        ({"launcher": "ssh"}, "unknown launcher 'ssh': choose from local, mpiexec, srun, inside"),
        ({"launcher": "local", "hosts": "a,b"}, "takes no command and no hosts"),
        ({"hosts": "a,b", "hostfile": "f"}, "not both"),
    ],
)
def test_contradictions_are_bad_input(wish: dict[str, str], complaint: str) -> None:
    with pytest.raises(LinkscopeError, match=complaint):
        LaunchOptions(**wish)


def test_processes_of_this_host_report_by_loopback_and_others_by_a_name_they_can_reach() -> None:
    assert LaunchOptions().listening_address("local", {}) == LOOPBACK
    assert LaunchOptions().listening_address("mpiexec", {}) == LOOPBACK
    assert LaunchOptions(interface="10.0.0.1").listening_address("srun", {}) == "10.0.0.1"
    assert LaunchOptions().listening_address("srun", {}) == own_address([])
    assert LaunchOptions(hosts="node7").listening_address("mpiexec", {}) == own_address(["node7"])
    assert (
        LaunchOptions().listening_address("inside", {"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"})
        == LOOPBACK
    )
    assert (
        LaunchOptions().listening_address("inside", {"PMI_RANK": "0", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2"})
        != LOOPBACK
    )
    assert own_address(["localhost"]) == own_address([])
    socket.inet_aton(own_address([]))


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_JOB_ID": "7"}, None),  # a batch script is no rank
        (
            {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"},
            JobRank(3, 4, "7-0"),
        ),
        (
            {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_NAMESPACE": "prterun-vm-2023@1"},
            JobRank(1, 2, "prterun-vm-2023-1"),
        ),
        ({"RANK": "1", "WORLD_SIZE": "2"}, None),  # anybody's words without torchrun's own
        (
            {"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "a", "MASTER_PORT": "29500"},
            JobRank(1, 2, "none-a-29500", again=True),
        ),
        (
            {"RANK": "5", "WORLD_SIZE": "8", "TORCHELASTIC_RUN_ID": "7", "MASTER_ADDR": "a", "MASTER_PORT": "1"}
            | {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"},
            JobRank(5, 8, "7-a-1", again=True),  # srun has started torchrun
        ),
    ],
)
def test_a_place_among_ranks_is_what_the_launcher_says(environment: dict[str, str], found: JobRank | None) -> None:
    assert place(environment) == found


def test_ranks_that_no_case_wants_are_told_so() -> None:
    two = case(message(("gpu:0", 0), ("gpu:1", 1)), processes=2)
    assert requirement([two, case()], 2) is None
    assert "4 processes" in (requirement([two, case()], 4) or "")


def test_processes_wait_for_one_another_less_long_than_the_supervisor_for_them() -> None:
    assert exchange_limit_s([{"timeout_s": 50.0}, {"timeout_s": 60.0}]) == pytest.approx(40.0)
    assert exchange_limit_s([{"timeout_s": 50.0}, {"timeout_s": 1000.0}]) == pytest.approx(100.0)
    assert exchange_limit_s([{}]) < 60.0
