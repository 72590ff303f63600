"""Other options: what to type here for those of mpiexec, srun, nvbandwidth and nccl-tests that people know by heart,
and for a name that stands without its option."""

from __future__ import annotations

import re
from typing import Any

_EXTRA = re.compile(r"Got unexpected extra argument(?:s|\(s\))? \((\S+)[^)]*\)")
_PROCESSES = "the suite says how many processes, and linkscope starts them"
_HOSTS = "--hosts a,b names hosts; a job of Slurm uses all its hosts"
_INSTEAD = {
    **dict.fromkeys(("-n", "-np", "--np", "--ntasks", "--ntasks-per-node", "--nproc", "--ppn"), _PROCESSES),
    **dict.fromkeys(("-N", "--nodes", "--nnodes", "-H", "--host"), _HOSTS),
    **dict.fromkeys(("-t", "--testcase"), "-k NAME picks cases by the name of the test"),
    **dict.fromkeys(("-b", "-e", "--minbytes", "--maxbytes", "-s", "--bufferSize"), "--sizes 4K:1G:2x sets sizes"),
    **dict.fromkeys(("-i", "--testSamples", "--iters"), "linkscope repeats until --precision is reached"),
    **dict.fromkeys(("-g", "--gpus", "--gpu"), "--devices gpu:0-3 names GPUs"),
    **dict.fromkeys(("-l", "--list"), "`linkscope list suites` lists suites"),
}


def instead(option: str) -> str:
    """Return what does here what ``option`` does in another tool; "" where nothing does."""
    return _INSTEAD.get(option, "")


def of_extra(complaint: str, command: Any) -> str:
    """Return what to type where a machine model's name, or a further run, stands as an argument of a ``command``
    (click's) that takes none; "" for every other complaint."""
    from linkscope.machine.described import machine_names

    extra = _EXTRA.match(complaint)
    taken = {one.name for one in getattr(command, "params", ())}
    if extra and "machine" in taken and extra[1] in machine_names():
        return f"{extra[1]} is a machine model: write --machine {extra[1]}"
    return "name one run; choose, compare, report and export take several" if extra and "run_file" in taken else ""
