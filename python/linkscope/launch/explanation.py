"""Explanation: why a case or its processes ended, in words and as data: who kept the others from going on, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

Json = dict[str, Any]
CauseKind = Literal["failed", "late", "gone", "out-of-step", "disagrees", "hung", "absent"]
"""schema/result.schema.json says what each means."""


@dataclass(frozen=True)
class Cause:
    """State ``how`` the ``ranks`` kept the others from going on, and the same in ``words``
    (schema/result.schema.json).
    """

    how: CauseKind
    ranks: tuple[int, ...]
    words: str

    @staticmethod
    def of(record: Json | None) -> tuple[Cause, ...]:
        """A record's, the first first; none where it tells of its own process alone."""
        said = (record or {}).get("causes", ())
        return tuple(Cause(one["how"], tuple(one["ranks"]), str(one["words"])) for one in said)


@dataclass(frozen=True)
class Explanation:
    """Explain an end by words, and causes among them. ``teller``: the rank that the words begin with, which tells of
    itself.
    """

    parts: tuple[str | tuple[Cause, ...], ...]
    teller: int | None = None

    @staticmethod
    def of(record: Json, nothing: str) -> Explanation:
        """The reason that a record gives; ``nothing`` where it gives none."""
        return Explanation((Cause.of(record) or str(record.get("reason", nothing)),))

    def __str__(self) -> str:
        return "".join(
            part if isinstance(part, str) else "; ".join(cause.words for cause in part) for part in self.parts
        )

    @property
    def causes(self) -> list[Cause]:
        """The first first."""
        return [cause for part in self.parts if not isinstance(part, str) for cause in part]

    @property
    def fields(self) -> Json:
        """Return the fields of a failed row: ``reason``, and ``causes`` if any (schema/result.schema.json)."""
        first = {(cause.how, cause.ranks): cause for cause in reversed(self.causes)}  # told twice: once in the data
        causes = [
            {"how": cause.how, "ranks": list(cause.ranks), "words": cause.words}
            for cause in self.causes
            if first[cause.how, cause.ranks] is cause
        ]
        return {"reason": str(self), **({"causes": causes} if causes else {})}

    @property
    def failed(self) -> set[int]:
        """Ranks that it says could not do their part."""
        return {rank for cause in self.causes if cause.how == "failed" for rank in cause.ranks}

    def followed_by(self, *parts: str | tuple[Cause, ...]) -> Explanation:
        """With these behind it."""
        return replace(self, parts=(*self.parts, *parts))

    def without(self, rank: int) -> Explanation:
        """Without the failure of that one, where it comes behind others."""
        return replace(
            self, parts=tuple(part if isinstance(part, str) else _without(part, rank) for part in self.parts)
        )

    def begins_with(self, failures: set[int], firsts: set[int]) -> bool:
        """Return whether the teller failed: is in ``failures`` where it tells of itself or all have agreed, in their
        ``firsts`` where what came of it is told behind.
        """
        if self.teller is not None:
            return self.teller in failures
        lead = self.parts[0]
        if isinstance(lead, str) or lead[0].how != "failed":
            return False
        return not (failures if len(lead) == 1 else firsts).isdisjoint(lead[0].ranks)


def explained(how: CauseKind, ranks: Sequence[int], words: str) -> Explanation:
    """Explain an end by one cause."""
    return Explanation(((Cause(how, tuple(ranks), words),),))


def _without(causes: tuple[Cause, ...], rank: int) -> tuple[Cause, ...]:
    return causes[:1] + tuple(one for one in causes[1:] if one.how != "failed" or rank not in one.ranks)
