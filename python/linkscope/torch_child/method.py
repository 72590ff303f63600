"""Method: a way in which PyTorch moves bytes, of a process's part of a flow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from linkscope.torch_child.flow import Flow, Regime, Site
from linkscope.torch_child.part import Part

Json = dict[str, Any]


class Method(ABC):
    """A way in which PyTorch moves bytes. The engine says the rest of it (engine/backend/python/method.cpp)."""

    @abstractmethod
    def check(self, flow: Flow, regime: Regime) -> None:
        """Raises ChildError where the flow cannot be, the same in every process."""

    @abstractmethod
    def hold(self, flow: Flow, regime: Regime, site: Site) -> Any:
        """Takes the memory of this process's part. Raises ChildError."""

    def export_handles(self, site: Site) -> Json:
        """Return what the others must know; called in every process. JSON."""
        return {}

    def import_handles(self, flow: Flow, exports: Sequence[Json], site: Site) -> None:  # noqa: B027
        """Sets up communicators, called in every process. ``exports``: every process's, by rank."""

    @abstractmethod
    def assemble(self, flow: Flow, regime: Regime, site: Site, held: Any) -> Part:
        """This process's part, connected; ``held``: its memory, as hold() gave it."""
