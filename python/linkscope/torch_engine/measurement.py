"""Measurement: the two rounds of a case and the figures they give, as engine/measure has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from linkscope.torch_engine.faults import EngineError, Fault, refused, unsupported
from linkscope.torch_engine.plan import Case, Flow, Options
from linkscope.torch_engine.rows import rounded, stats
from linkscope.torch_engine.sampling import StoppingRule, repeats_for
from linkscope.torch_engine.transfer import Own, Part
from linkscope.torch_engine.world import World, together

Json = dict[str, Any]

_MOST_WARM_UPS = 12
_WARM_UP_SHARE = 0.25  # of the point's budget
_STABLE = 0.02  # two warm-ups that differ by less are alike
_LONG_ENOUGH = 0.9
_FAR_TOO_LONG = 4
_MOST_TRIES = 12  # to hold a sample back
_IN_A_ROW = 20  # calls of a batch among processes, whose first and last wait for others; as nccl-tests has it
_SHORTEST_SERIES = 8  # samples for which the budget must be enough


@dataclass(frozen=True)
class Subject:
    """A flow made ready in all processes, as its measurement sees it. ``own``: None where it has no part here."""

    flow: Flow
    parts: tuple[Part, ...]
    latency: bool
    operations: int
    accumulates: bool
    own: Own | None


@dataclass(frozen=True)
class _Sample:
    """Seconds of one start by timed part, in order; and rank 0's clock when it had ended."""

    seconds: tuple[float, ...]
    repeats: int
    now: float

    @property
    def per_call(self) -> float:
        """Seconds of one call: the mean over the parts."""
        return sum(self.seconds) / len(self.seconds) / self.repeats


class Measurement:
    """One case. Every process of ``world`` goes through it in step. ``seeds``: never the same twice in a run."""

    def __init__(self, world: World, case: Case, options: Options, subject: Subject, seeds: Iterator[int]) -> None:
        self._world = world
        self._case = case
        self._options = options
        self._subject = subject
        self._seeds = seeds
        self._budget_s = min(options.point_budget_s, case.point_budget_s)
        watches = together(world, self._limits)
        resolution = max(limits[0] for limits in watches if limits)
        self._most_repeats = min(limits[1] for limits in watches if limits)
        self._target_s = max(options.min_sample_s, case.min_sample_s, resolution)

    def run(self) -> Json:
        """Round 1: set up, warm up, verify. Round 2: arm with another seed, sample, verify. The row's own members.

        Raises EngineError.
        """
        seed = self._set_up()
        repeats = self._warm_up()
        verified = self._verify(seed)
        seed = self._arm()
        if self._case.cache == "warm":
            self._take(repeats)  # arming left the caches in a state of its own
        samples, stopped, caveats = self._sample(repeats)
        verified += self._verify(seed)
        flow = self._flow_result(samples, caveats)
        members: Json = {"flows": [flow]}
        if "gbps" in flow:
            members["aggregate"] = {"gbps": flow["gbps"], "overlap": 1.0}
        return {**members, "stopped": stopped, "verified": {"rounds": 2, "bytes": verified}}

    def _limits(self) -> list[float] | None:
        own = self._subject.own
        return [own.watch.resolution_s, own.watch.most_repeats] if own else None

    def _own(self, step: Callable[[Own], Any]) -> list[Any]:
        """What the step gives in each process that has a part; None in the others."""
        own = self._subject.own
        return together(self._world, lambda: step(own) if own else None)

    def _set_up(self) -> int:
        """Arms, for the first call and all that follow."""
        seed = self._arm()
        self._own(_rehearse)
        if any(self._own(lambda own: own.transfer.record())):
            self._own(_rehearse)  # the first replay may take what later ones have
            seed = self._arm()  # so that what is verified came out of replays
        return seed

    def _arm(self) -> int:
        seed = next(self._seeds)
        self._own(lambda own: own.transfer.arm(seed))
        return seed

    def _verify(self, seed: int) -> int:
        """Bytes that were compared in all processes; of what accumulates, after one more call that is checked."""
        if self._subject.accumulates:
            seed = self._arm()
            self._own(_rehearse)

        def check(own: Own) -> int:
            wrong = own.transfer.verify(seed)
            if wrong:
                raise EngineError(Fault.MISMATCH, wrong)
            return own.transfer.verified_bytes()

        return sum(filter(None, self._own(check)))

    def _take(self, repeats: int) -> _Sample:
        """One start of all parts; again where a GPU's work was not held back until all of it was enqueued."""
        for _ in range(_MOST_TRIES):
            readings = self._readings(repeats)
            if all(reading[1] for reading in readings if reading):
                break
            if self._subject.own:
                self._subject.own.watch.hold_longer()
        else:
            raise EngineError(Fault.BROKEN, "samples could not be held back until all was enqueued")
        timed = [readings[part.rank][0] for part in self._subject.parts if part.timed]
        if not all(seconds > 0 for seconds in timed):
            raise EngineError(Fault.BROKEN, "the clock saw no time pass: raise min_sample_s")
        return _Sample(tuple(timed), repeats, readings[0][2])

    def _readings(self, repeats: int) -> list[Any]:
        """[seconds, held, clock] by rank. What one process has begun waits for the others: nobody can go on after a
        failure in a world of several.
        """

        def read() -> list[Any]:
            own = self._subject.own
            if own is None:
                return [0.0, True, time.monotonic()]
            reading = own.watch.take(own.transfer, repeats)
            return [reading.seconds, reading.held, time.monotonic()]

        try:
            return together(self._world, read)
        except EngineError as error:
            if self._world.size == 1:
                raise
            raise EngineError(Fault.FATAL, str(error)) from error

    def _warm_up(self) -> int:
        """Runs until the repeats fit and two runs in a row agree, or a bound is met; the repeats to sample with."""
        repeats, before, begin = 1, 0.0, None
        for run in range(_MOST_WARM_UPS):
            sample = self._take(repeats)
            begin = sample.now if begin is None else begin
            wanted = self._wanted(sample.per_call)
            fitting = repeats * _FAR_TOO_LONG >= wanted >= repeats / _FAR_TOO_LONG and wanted <= repeats / _LONG_ENOUGH
            if fitting and abs(sample.per_call - before) <= _STABLE * before:
                break
            before = sample.per_call if fitting else 0.0
            repeats = repeats if fitting else wanted
            if run > 0 and sample.now - begin > _WARM_UP_SHARE * self._budget_s:
                break
        return repeats

    def _wanted(self, per_call_s: float) -> int:
        """Repeats of a sample that is long enough, and of a batch among processes as far as the budget lasts."""
        target_s = self._target_s
        if self._case.clock != "host" and len(self._subject.parts) > 1:
            target_s = max(target_s, min(_IN_A_ROW * per_call_s, self._budget_s / _SHORTEST_SERIES))
        return repeats_for(per_call_s, target_s, self._most_repeats)

    def _sample(self, repeats: int) -> tuple[list[_Sample], str, list[str]]:
        rule = StoppingRule(self._options, self._budget_s)
        samples: list[_Sample] = []
        begin = self._now()
        while True:
            samples.append(self._take(repeats))
            rule.add(samples[-1].per_call)
            stop = rule.decide(samples[-1].now - begin)
            if stop:
                return samples, stop, rule.caveats()

    def _now(self) -> float:
        """Rank 0's clock: the time by which all processes decide alike."""
        return float(together(self._world, time.monotonic)[0])

    def _flow_result(self, samples: list[_Sample], caveats: list[str]) -> Json:
        subject = self._subject
        operations = subject.operations
        times = [sample.per_call / operations for sample in samples]
        result: Json = {"repeats": samples[-1].repeats, "operations": operations, "seconds": stats(times)}
        if not subject.latency and subject.flow.bytes:
            result["gbps"] = stats([subject.flow.bytes / seconds / 1e9 for seconds in times])
        if len(subject.parts) > 1:
            by_part = zip(*(sample.seconds for sample in samples), strict=True)
            calls = samples[-1].repeats * operations
            result["parts_s"] = [rounded(stats([s / calls for s in part])["median"]) for part in by_part]
        notes = [*self._notes(), *caveats]
        if notes:
            result["notes"] = notes
        return {**result, "samples_s": [rounded(seconds) for seconds in times]}

    def _notes(self) -> list[str]:
        """What the processes remark, each remark once."""
        told = self._own(lambda own: [*own.transfer.notes(), *own.watch.notes()])
        return list(dict.fromkeys(note for notes in told for note in notes or []))


def _rehearse(own: Own) -> None:
    """The first call, which sets up what the later ones use. Raises EngineError where the library has no such call."""
    try:
        own.transfer.call()
        own.transfer.settle()
    except (RuntimeError, NotImplementedError) as error:
        if refused(str(error)):
            raise unsupported(str(error)) from error
        raise
