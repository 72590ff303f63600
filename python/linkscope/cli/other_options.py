"""Other options: what to type here for those of mpiexec, nvbandwidth and nccl-tests that people know by heart."""

from __future__ import annotations

_PROCESSES = "the suite says how many processes, and linkscope starts them: no mpiexec is needed"
_INSTEAD = {
    **dict.fromkeys(("-n", "-np", "--np", "-N", "--ntasks", "--nproc"), _PROCESSES),
    **dict.fromkeys(("-t", "--testcase"), "-k NAME picks cases by the test's name"),
    **dict.fromkeys(("-b", "-e", "--minbytes", "--maxbytes", "-s", "--bufferSize"), "--sizes 4K:1G:2x sets sizes"),
    **dict.fromkeys(("-i", "--testSamples", "--iters"), "--precision says how exact; linkscope repeats until it is"),
    **dict.fromkeys(("-l", "--list"), "`linkscope list suites` lists what there is"),
}


def instead(option: str) -> str:
    """What does here what ``option`` does in another tool; empty where nobody knows."""
    return _INSTEAD.get(option, "")
