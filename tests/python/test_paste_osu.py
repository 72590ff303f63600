"""OSU's tables as they are pasted: what each result moves, where its buffers lie and what stopped a program."""

from __future__ import annotations

from pathlib import Path

import pytest
from pasting import moves

from linkscope.errors import LinkscopeError
from linkscope.importers.imported_run import pasted
from linkscope.importers.osu import read, recognises
from linkscope.importers.peer_output import UNKNOWN, Figure, PeerOutput, Source

SAMPLES = Path(__file__).parents[1] / "fixtures" / "importers"
ROWS = "# Size      Bandwidth (MB/s)\n1024     10.50\n4194304     24000.00\n"
BW = f"# OSU MPI-CUDA Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n{ROWS}"
PLAIN = BW.replace("-CUDA", "")
DEVICE, HOST, UNSAID = ("device",) * 2, ("pageable",) * 2, (UNKNOWN,) * 2


def told(text: str, processes: int | None = None) -> PeerOutput:
    """What a paste says."""
    source = Source(Path("paste"), text, processes)
    assert recognises(source.text)
    return read(source)


def only(text: str, processes: int | None = None) -> Figure:
    """The last result."""
    return told(text, processes).figures[-1]


def sample(name: str) -> PeerOutput:
    """What a sample file says."""
    return read(Source.read(SAMPLES / name))


def test_several_programs_of_one_log_are_told_apart() -> None:
    found = sample("osu_several-7.5.txt")
    by_test = {figure.test: figure for figure in found.figures}
    assert list(by_test) == ["osu_bw", "osu_mbw_mr", "osu_iallreduce", "osu_xccl_alltoall", "osu_get_bw"]
    assert [len([one for one in found.figures if one.test == test]) for test in by_test] == [2, 2, 2, 1, 1]
    bw, pairs, nonblocking, xccl, get = by_test.values()
    assert (bw.size, bw.value.median, bw.unit, bw.line) == (1 << 20, pytest.approx(20.1104), "GB/s", 6)
    assert (moves(bw).memories, moves(bw).hosts, moves(bw).ranks) == (("device", "pageable"), 2, 2)
    assert (moves(pairs).at_once, moves(pairs).ranks, moves(pairs).hosts) == (4, 8, 2)
    assert pairs.value.median == pytest.approx(41.0005)
    assert nonblocking.value.median == pytest.approx(190.55e-6)
    assert (moves(nonblocking).collective, moves(nonblocking).varies) == ("all-reduce", "non-blocking")
    assert (moves(nonblocking).ranks, moves(nonblocking).memories) == (4, DEVICE)
    assert (moves(xccl).method, moves(xccl).collective, xccl.size) == ("xccl-collective", "all-to-all", 4 * 65536)
    assert (moves(get).kind, moves(get).method, moves(get).memories) == ("message", "mpi", DEVICE)


def test_wrong_data_are_left_out_and_are_an_error() -> None:
    (wrong,) = sample("osu_several-7.5.txt").findings
    assert (wrong.code, wrong.level.value, wrong.facts["test"]) == ("import.wrong-data", "error", "osu_bw")


def test_every_row_of_a_log_is_read() -> None:
    text = (SAMPLES / "osu_several-7.5.txt").read_text().splitlines()
    rows = {number for number, line in enumerate(text, 1) if line[:1].isdigit()}
    assert rows <= sample("osu_several-7.5.txt").read


@pytest.mark.parametrize(
    ("text", "memories"),
    [
        (f"$ srun -n2 osu_bw D D\n{BW}", DEVICE),
        (f"$ srun -n2 osu_bw -d cuda --validation H D\n{BW}", ("pageable", "device")),
        (f"$ srun -n2 osu_bw MD H\n{BW}", ("managed", "pageable")),
        (f"$ srun -n2 osu_bw H H\n{PLAIN}", HOST),
        (f"$ srun -n2 ./osu_bw -m 4194304 -i 10\n{PLAIN}", HOST),
        (f"$ srun -n2 osu_bw -d cuda\n{BW}", UNSAID),
        (f"we ran osu_bw between two nodes\n{PLAIN}", HOST),
        (PLAIN, HOST),
        (PLAIN.replace("Bandwidth Test", "Allreduce Latency Test"), UNSAID),
        (BW, UNSAID),
        (
            BW.replace("# Size", "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n# Size"),
            ("device", "pageable"),
        ),
        (BW.replace("Bandwidth Test", "Allreduce Latency Test").replace("Bandwidth (MB/s)", "Avg Latency(us)"), DEVICE),
        (
            f"$ mpirun -np 2 python3 run.py --benchmark bw --buffer cupy\n# OMB Python MPI Bandwidth Test\n{ROWS}",
            DEVICE,
        ),
        (f"$ mpirun -np 2 python3 run.py --benchmark bw\n# OMB Python MPI Bandwidth Test\n{ROWS}", UNSAID),
        (f"Using device *cpu* with *gloo* backend\n# OMB Python MPI Bandwidth Test\n{ROWS}", HOST),
    ],
)
def test_memory_is_what_the_paste_says_and_never_a_guess(text: str, memories: tuple[str, str]) -> None:
    assert moves(only(text)).memories == memories


@pytest.mark.parametrize(
    ("launcher", "ranks", "hosts"),
    [
        ("srun -N2 -n8", 8, 2),
        ("srun --nodes=2 --ntasks-per-node=4", 8, 2),
        ("mpirun -np 8 -N 4", 8, 2),
        ("mpirun -np 2 -H node-a:1,node-b:1", 2, 2),
        ("mpiexec -n 4 -ppn 4", 4, 1),
        ("mpirun -np 4 --map-by ppr:2:node -x UCX_TLS=rc", 4, 2),
        ("mpirun -np 2 --map-by node -hostfile hosts", 2, 2),
        ("env FOO=1", 0, 1),
    ],
)
def test_a_launchers_words_say_how_many_took_part(launcher: str, ranks: int, hosts: int) -> None:
    text = f"$ {launcher} osu_allreduce\n# OSU MPI Allreduce Latency Test v7.5\n# Size  Avg Latency(us)\n1024  10.50\n"
    assert (moves(only(text)).ranks, moves(only(text)).hosts) == (ranks, hosts)
    assert moves(only(text, 16)).ranks == 16


def test_a_collective_of_unknown_ranks_is_read() -> None:
    text = "# OSU MPI Allgather Latency Test v6.1\n# Size  Avg Latency(us)\n1024  10.50\n"
    figure = only(text)
    assert (figure.size, moves(figure).ranks, moves(figure).varies) == (1024, 0, "by a rank's block")


@pytest.mark.parametrize(
    ("title", "test", "collective", "varies"),
    [
        ("MPI Latency", "osu_latency", "", ""),
        ("MPI-ROCM Bi-Directional Bandwidth", "osu_bibw", "", ""),
        ("MPI Multi Latency", "osu_multi_lat", "", ""),
        ("MPI-CUDA Multi-threaded Latency", "osu_latency_mt", "", ""),
        ("MPI_Put-CUDA Bi-directional Bandwidth", "osu_put_bibw", "", ""),
        ("MPI_Get_accumulate latency", "osu_get_acc_latency", "", ""),
        ("NCCL-CUDA Bandwidth", "osu_xccl_bw", "", ""),
        ("RCCL-ROCM Broadcast Latency", "osu_xccl_bcast", "broadcast", ""),
        ("MPI Non-Blocking Broadcast Latency", "osu_ibcast", "broadcast", "non-blocking"),
        (
            "MPI Non-blocking Reduce_scatter_block Latency",
            "osu_ireduce_scatter_block",
            "reduce-scatter",
            "non-blocking",
        ),
        ("MPI All-to-Allv Personalized Exchange Latency", "osu_alltoallv", "all-to-all", "alltoallv"),
        ("MPI-CUDA Allreduce Persistent Latency", "osu_allreduce_persistent", "all-reduce", "persistent"),
        ("MPI Neighborhood Allgather Latency", "osu_neighbor_allgather", "all-gather", "neighborhood"),
        ("MPI Gather Latency", "osu_gather", "gather", ""),
        ("OpenSHMEM Put", "osu_oshm_put", "", ""),
    ],
)
def test_a_title_says_the_test(title: str, test: str, collective: str, varies: str) -> None:
    figure = only(f"# OSU {title} Test v7.3\n# Size   Latency (us)\n8   10.50\n", 2)
    assert (figure.test, moves(figure).collective, moves(figure).varies) == (test, collective, varies)


def test_both_directions_are_a_sum() -> None:
    assert moves(only(BW.replace("Bandwidth Test", "Bi-Directional Bandwidth Test"))).both
    assert not moves(only(BW)).both


def test_a_crash_after_the_head_is_an_error_and_no_result() -> None:
    crash = (
        "[node-a:1] *** Process received signal ***\n[node-a:1] Signal: Segmentation fault (11)\nsrun: error: task 0"
    )
    found = told(f"$ srun -n4 osu_ialltoall -d cuda\n{BW.split('1024')[0]}{crash}\n")
    (stopped,) = found.findings
    assert not found.figures
    assert (stopped.code, stopped.level.value) == ("import.stopped", "error")
    assert (stopped.facts["test"], stopped.facts["what"]) == ("osu_bw", "Segmentation fault")
    some = told(f"{BW}{crash}")
    assert len(some.figures) == 2
    assert [one.level.value for one in some.findings] == ["warning"]


def test_a_program_that_stops_at_once_is_named() -> None:
    found = told("$ mpirun -np 1 ./osu_latency\nThis test requires exactly two processes\n")
    assert [one.facts["test"] for one in found.findings] == ["osu_latency"]
    assert [one.code for one in told(BW.split("1024")[0]).findings] == ["import.no-rows"]


def test_tables_without_a_title_or_head_are_read() -> None:
    untitled = only(f"#Using NCCL\n#Using NCCL\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n{ROWS}")
    assert (untitled.test, moves(untitled).method, moves(untitled).memories) == ("osu_bw, untitled", "xccl", DEVICE)
    headless = only("$ mpirun -np 2 osu_bibw D D\n1024  10.50\n4194304  240.00\n")
    assert (headless.test, headless.value.median, headless.unit) == ("osu_bibw", pytest.approx(0.24), "GB/s")


def test_rows_of_another_tools_table_and_zeros_are_none_of_osus() -> None:
    found = told(f"{BW}8388608  2000  21.10  20.90  0.33\n4096   1   8.36   467.08\n2   0.00\n")
    assert [figure.size for figure in found.figures] == [1024, 4194304]
    assert not found.read & {6, 7}


def test_a_newer_version_is_read_with_a_warning_and_an_old_one_without() -> None:
    assert [one.code for one in told(BW.replace("v7.5", "v8.0")).findings] == ["import.newer-version"]
    assert not told(BW.replace("v7.5", "v3.6")).findings


def test_omb_py_says_device_and_backend() -> None:
    found = sample("osu_py-torch.txt")
    assert (found.tool, sample("osu_several-7.5.txt").tool) == ("OMB-Py", "OSU")
    assert [figure.size for figure in found.figures] == [1024, 65536, 1 << 20]
    assert (moves(found.figures[0]).method, moves(found.figures[0]).memories) == ("xccl", DEVICE)


def test_memories_and_runs_of_one_test_are_told_apart() -> None:
    runs = [(BW, "D H"), (BW, "D D"), (BW, "D D"), (BW.replace("Bandwidth", "Bi-Directional Bandwidth"), "D D")]
    found = told("".join(f"$ mpirun -n 2 osu_bw {memory}\n{text}" for text, memory in runs))
    assert [moves(one).varies for one in found.figures[::2]] == [
        "device to pageable",
        "device to device",
        "device to device, run 2",
        "",
    ]


def test_data_types_of_one_title_are_told_apart() -> None:
    again = ROWS.replace("10.50", "11.50")
    found = told(f"{BW}# Datatype: MPI_FLOAT.\n{again}")
    assert [moves(figure).varies for figure in found.figures] == ["", "", "MPI_FLOAT", "MPI_FLOAT"]


def test_neither_rows_nor_errors_is_refused() -> None:
    with pytest.raises(LinkscopeError, match="no results"):
        read(Source(Path("paste"), "nothing of OSU's\n"))


def test_a_long_paste_takes_linear_time() -> None:
    rows = "".join(f"{size}   12.50\n" for size in range(1, 20001))
    assert len(told(f"{BW}{rows}").figures) == 20002


@pytest.mark.parametrize("blanks", ["\t", " "])
def test_blanks_that_a_page_has_changed_are_blanks(blanks: str) -> None:
    text = (SAMPLES / "osu_several-7.5.txt").read_text()
    spoilt = "\n".join(
        blanks.join(line.split()) if blanks == " " else line.replace("   ", blanks) for line in text.split("\n")
    )
    assert len(told(spoilt).figures) == len(told(text).figures) > 1


def test_titles_and_heads_of_all_years_begin_tables() -> None:
    old = "# OSU MPI Latency Test (Version 2.3)\n# Size Latency (us)\n8 1.25\n1024 2.75\n"
    found = told(old)
    assert (found.version, [one.test for one in found.figures]) == ("2.3", ["osu_latency"] * 2)
    python = "# OMB Python MPI Latency Test\n# Size (B)      Latency (us)\n1024   21.50\n"
    found = told(f"{python}# OMB-Py MPI Bandwidth Test\n# Size (B)  Bandwidth (MB/s)\n1024   83.25\n")
    assert (found.tool, [one.test for one in found.figures]) == ("OMB-Py", ["osu_latency", "osu_bw"])
    untitled = told(f"{python}# Size      Bandwidth (MB/s)\n2048   84.25\n").figures
    assert [(one.test, one.unit) for one in untitled] == [("osu_latency", "s"), ("osu_bw, untitled", "GB/s")]


@pytest.mark.parametrize(
    ("command", "hosts"),
    [("", 0), ("$ mpirun -np 2 osu_bw", 0), ("$ srun -N1 -n2 osu_bw", 1), ("$ srun -N2 -n2 osu_bw", 2)],
)
def test_nobody_says_on_how_many_hosts_ranks_ran_unless_the_command_does(command: str, hosts: int) -> None:
    assert moves(only(f"{command}\n{BW}")).hosts == hosts


def test_empty_messages_of_one_test_are_no_size_of_another(tmp_path: Path) -> None:
    text = "# OSU MPI Latency Test v5.7\n# Size          Latency (us)\n0   1.25\n8   1.50\n"
    text += "# OSU MPI Broadcast Latency Test v5.7\n# Size       Avg Latency(us)\n1024   8.25\n"
    path = tmp_path / "osu.txt"
    path.write_text(text)
    assert len(pasted([path]).rows) == 3


def test_hosts_that_are_named_are_the_ranks_where_no_number_is_given() -> None:
    found = moves(only(f"mpirun --host node-1,node-2 ./osu_bw\n{BW}"))
    assert (found.ranks, found.hosts) == (2, 2)


def test_pairs_of_gpus_that_the_shell_names_tell_results_apart() -> None:
    start = "export HIP_VISIBLE_DEVICES={}\nmpirun -n 2 ./osu_bw D D\n"
    several = told("".join(start.format(pair) + BW for pair in ("0,1", "0,2")))
    assert [moves(one).varies for one in several.figures[::2]] == ["GPUs 0 and 1", "GPUs 0 and 2"]
    assert moves(only(start.format("0,1") + BW)).varies == ""
