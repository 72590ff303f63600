"""Caveats: what a reader of choices must know before he takes one, and what names of ways mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linkscope.analysis.cell import CALLS_INCLUDED
from linkscope.analysis.choose import ANY, GRAPH_OF, Choice, Choices, Question
from linkscope.analysis.movement import BETWEEN_PROCESSES
from linkscope.analysis.steadiness import APART, Disagreement
from linkscope.report import direct_text, wording

FULL = " (--full: every way)"
WORDS = f'By size what is fastest, then how much longer other interfaces take{FULL}. "or" joins ways '
ALIKE, ALIKE_IN_MODEL = (
    "of which 95 % intervals{of} cannot tell the faster, and those that differ by less than 1 %.",
    "that differ by less than 1 %.",
)
OF_PATHS = " Of several pairs of devices the one in the middle counts."
LAUNCHES_ASIDE = (
    "kernel-copy: inside a kernel of your own that runs, all repeats in one launch; copy-engine: a call each, "
    "cudaMemcpyAsync or hipMemcpyAsync (PyTorch's copy_). Which is best for copies called one by one the host's clock "
    "tells"
)
LAUNCHES = f"{LAUNCHES_ASIDE} (`run --clock host`)."
COPIES = "kernel-copy: a kernel of your own; copy-engine: cudaMemcpyAsync or hipMemcpyAsync (PyTorch's copy_)."
WITH_CALLS = (
    "Pageable memory: by the device's clock its time holds the calls, pinned memory's does not; `run --clock host` "
    "compares them."
)
_OWN = " in xccl"
_DRIVEN = "push, pull: driven by the source's side, by the destination's"
_ONE_SIDED = "call=put, get: MPI_Put, MPI_Get, each waited for"
_MANY_ONE_SIDED = "call=put-window, get-window: many of MPI_Put, MPI_Get, then one wait"
NAMED = {
    "xccl-": "xccl: NCCL or RCCL",
    "direct-": direct_text.OF_COLLECTIVES,
    " form=eager": "form=eager: each call is launched",
    " form=graph": "form=graph: a recorded graph for each call",
    " launch=": "launch=one-thread: one calls for all GPUs (nccl-tests -g), thread-per-gpu: each for one (-t); "
    "a process for each, as torchrun has: `linkscope run collectives -k xccl-processes`",
    _OWN: "in xccl: memory of its allocator",
    "HSA_ENABLE_SDMA=0": "HSA_ENABLE_SDMA=0: the runtime copies by kernels, not by copy engines, where you set that",
    "ipc-": "ipc-copy, ipc-kernel: into another process's mapped memory, by a copy engine or a kernel of your own, "
    "which that process is not told of",
    " call=put ": _ONE_SIDED,
    " call=get ": _ONE_SIDED,
    " call=put-window ": _MANY_ONE_SIDED,
    " call=get-window ": _MANY_ONE_SIDED,
    " push ": _DRIVEN,
    " pull ": _DRIVEN,
    "shm-copy": "shm-copy: copies into shared memory, where the receiver reads them; mpi: into the receiver's own",
}
"""Parts of ways' names that say little; a space at an end is the end of a word."""
NO_PLAIN = "in plain device memory not measured"
OF_CACHES = (
    "warm caches: the same memory again and again; without that word other memory each time, which no cache holds."
)
GRAPHS = f"{GRAPH_OF}20: one launch for 20 calls; elsewhere a launch for each call."
ONE_RUN = (
    "What CPUs move changes from run to run by more than one run can know: `linkscope choose RUN1 RUN2 RUN3` answers "
    "from several."
)
STILL_ASSUMED = (
    "Above them it is up to half of the time: ranges begin where anything is known, not where a way gets better."
)
_WITHIN_ONE = "that one of these runs has and no other: their intervals hold within that run."
SOME_OF_ONE_RUN, ALL_OF_ONE_RUN = (
    f"In part of one run, as titles say: with figures {_WITHIN_ONE}",
    f"Every answer has figures {_WITHIN_ONE}",
)
ONE_WAY = "One way: a message until an empty one has answered it (`send`)."
PING_PONG = "Ping-pong: half of a round trip."
OF_WINDOWS = "Many messages under way (window), as in osu_bw, are MPI's alone: shared memory hands over one at a time."
SENT_SO = 'Sent so, the two compare at every size: `linkscope run p2p-processes -k "host-latency or host-bandwidth"`.'
_CALLS_OF_MANY = ("window", "both ways")
FEWEST_RUNS = 2
TWO_RUNS = "Two runs leave intervals wide: a third tells far more."
LEFT_OUT = "left out for lack of time (`linkscope show RUN` names them)"
MAY_BE_FASTER = "with NVLS NCCL may be faster"
WITH_NVLS = "`env -u NCCL_NVLS_ENABLE` before the same `linkscope run` measures that NCCL."


def read_as(found: Choices) -> str:
    """How the answers are read; a model's figures have no intervals."""
    if found.modelled:
        return WORDS + ALIKE_IN_MODEL
    steady = found.steadiness
    paths = OF_PATHS if any(one.paths > 1 for one in found.answers) else ""
    runs = f" over {'up to ' if steady.fewest < steady.most else ''}{steady.most} runs"
    return WORDS + ALIKE.format(of=runs if steady.most > 1 else " within this run" if steady.once else "") + paths


def caveats(found: Choices) -> list[str]:
    """What a reader must know before he takes an answer: a sentence or two each."""
    told = [f"{setting}: {MAY_BE_FASTER}. {WITH_NVLS}" for setting in found.settings]
    told += [ONE_RUN] if found.answers and of_one_run_of_cpus(found) else []
    told += [TWO_RUNS] if found.steadiness.most == FEWEST_RUNS else []
    told += _of_disagreement(found.steadiness.apart)
    told += _of_two_cases(found)
    of_one = [one.of_one_run for one in found.answers]
    if any(of_one):
        told.append(ALL_OF_ONE_RUN if all(of_one) else SOME_OF_ONE_RUN)
    if found.left_out and found.answers:
        told.append(f"{wording.count(found.left_out, 'case')} {LEFT_OUT}.")
    if found.empty:
        told.append("Messages of 0 B move nothing, and are not ranked.")
    if found.assumed:
        told.append(f"Left out: sizes at which the time of any way is {wording.OF_NO_SOURCE}. {STILL_ASSUMED}")
    asked = [one.question for one in found.answers]
    if any(map(_many_under_way, found.unrivalled)):
        told.append(OF_WINDOWS if any(map(one_way, asked)) else f"{OF_WINDOWS} {SENT_SO}")
    waited = {one.movement for one in asked if one.memory == ANY and by_host(one)}
    every = (*found.unrivalled, *asked)
    if any(CALLS_INCLUDED in one.conditions[0] and one.movement not in waited for one in every):
        told.append(WITH_CALLS)
    return told


def glossary(found: Choices, shown: Sequence[Choice]) -> list[str]:
    """What the words of the answers that are ``shown`` mean, and of all which links are of which kind: a sentence or
    two each."""
    asked = [one.question for one in shown]
    told = meanings((name for one in shown for name in one.rivals), asked)
    if _own_memory_alone(shown):
        told = [text.replace(NAMED[_OWN], f"{NAMED[_OWN]}, {NO_PLAIN}") for text in told]
    told += [OF_CACHES] if _of_two_states(asked) else []
    told += _kinds_of_links(found)
    told += [ONE_WAY] if any(one_way(one) and by_host(one) for one in asked) else []
    if any(one.launches_aside for one in shown):
        told.append(LAUNCHES)
    elif any(name.startswith(("kernel-copy", "copy-engine")) for one in shown for name in one.rivals):
        told.append(COPIES)
    return told


def of_one_run_of_cpus(found: Choices) -> bool:
    """Whether one run was named, of which CPUs' figures change by more than it can know."""
    return found.steadiness.of_cpus and found.steadiness.most == 1 and not any(one.of_one_run for one in found.answers)


def one_way(question: Question) -> bool:
    """Of messages between processes: one at a time, which is none of the calls that OSU's latency and bandwidth are."""
    others = ("ping-pong", *_CALLS_OF_MANY)
    return BETWEEN_PROCESSES in question.movement and not any(word in question.conditions[0] for word in others)


def _own_memory_alone(shown: Iterable[Choice]) -> bool:
    """Whether collectives of NCCL or RCCL were measured in memory of its allocator, and in no other."""
    own = [f"{name} in {one.question.memory}" for one in shown for name in one.rivals if name.startswith("xccl")]
    return any(_OWN in name for name in own) and not any(" in device" in name for name in own)


def _of_two_states(asked: Iterable[Question]) -> bool:
    """Whether one thing is asked of warm caches and of others, where nothing else is asked, as of GPUs."""
    states: dict[str, set[bool]] = {}
    for one in asked:
        states.setdefault(one.movement, set()).add("warm caches" in one.conditions)
    return any(len(found) > 1 for found in states.values()) and not any("GPU" in movement for movement in states)


def _many_under_way(question: Question) -> bool:
    """Of messages between processes on host memory: as OSU's bandwidth."""
    between_hosts = question.movement.startswith("host to host") and BETWEEN_PROCESSES in question.movement
    return between_hosts and any(word in question.conditions[0] for word in _CALLS_OF_MANY)


def by_host(question: Question) -> bool:
    """Whether the times are those that an application waits for."""
    return question.conditions[0].startswith("host clock")


def _kinds_of_links(found: Choices) -> list[str]:
    """Of each kind between GPUs, where there are several, a pair that it joins."""
    pairs: dict[str, str] = {}
    for one in found.answers:
        if one.question.tier and one.path.count("gpu:") == 2 and "<>" not in one.path:
            pairs.setdefault(one.question.tier, one.path)
    between = [f"{tier} {path}" for tier, path in pairs.items()]
    return [f"Links, a pair each: {'; '.join(between)}."] if len(between) > 1 else []


def _of_two_cases(found: Choices) -> list[str]:
    """Where cases measured one thing and found another figure."""
    told = [(one.disagreement, one.question) for one in found.answers if one.disagreement is not None]
    if not told:
        return []
    (share, way, size), question = max(told, key=lambda one: one[0][0])
    where = f"{question.movement}, {way} at {wording.size(size)}"
    return [
        "Of what several suite rows or runs measured the middle counts; they differ by up to "
        f"{wording.percent(share)} ({where}): `linkscope show RUN --full` of each has its own."
    ]


def _of_disagreement(apart: Disagreement | None) -> list[str]:
    if apart is None:
        return []
    where = f"by more than a factor of {APART:g} in {apart.cases} of {wording.count(apart.shared, 'case')}"
    if apart.name:
        return [
            f"The runs differ {where}, most of all {apart.name} from the others: a further run tells which is usual."
        ]
    return [f"The runs differ {where}: name more, measured where nothing else runs."]


def meanings(rivals: Iterable[str], questions: Iterable[Question]) -> list[str]:
    """What names of ways and conditions mean that say little by themselves: a sentence each, may be none."""
    ways = set(rivals)
    conditions = {word for one in questions for word in one.conditions}
    told = [*(f"{name} " for name in ways), *(f" {word} " for word in conditions)]
    named = list(dict.fromkeys(text for part, text in NAMED.items() if any(part in name for name in told)))
    graphs = any(word.startswith(GRAPH_OF) for word in conditions)
    halved = any("ping-pong" in word for word in conditions)
    own = [*([GRAPHS] if graphs else []), *([PING_PONG] if halved else [])]
    return [*([f"{'; '.join(named)}."] if named else []), *own]
