"""PackageAllReduce: an all-reduce out of place by a package that inference engines use beside PyTorch's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from linkscope.torch_child.collective import CollectiveMethod, MemberCall, Shape
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Flow, Regime
from linkscope.torch_child.groups import Groups
from linkscope.torch_child.symmetric_memory import without_multicast

Tensor = Any

LARGEST = 64 << 20
"""Bytes that a communicator has buffers for: vLLM's own has 8 MiB, and peers' mappings of them last until the end."""
_ALIGNMENT = 16


class PackageAllReduce(CollectiveMethod):
    """``algorithms``: what can be asked for; "auto" is its choice. ``largest``: bytes that an algorithm takes, where
    that is not LARGEST. ``types``: of elements that it adds. ``members``: how many it takes.
    """

    algorithms: tuple[str, ...] = ("auto",)
    largest: ClassVar[Mapping[str, int]] = {}
    types: tuple[str, ...] = ("float32", "float16", "bfloat16")
    members: tuple[int, ...] = (2, 4, 8)

    def __init__(self, communicators: Groups) -> None:
        super().__init__(communicators)
        self._opened: dict[tuple[Any, ...], Any] = {}

    @abstractmethod
    def open(self, shape: Shape, group: Any, gpu: int) -> Any:
        """Return a communicator for all sizes of a type; all members open theirs together. Raises ChildError."""

    @abstractmethod
    def summing(self, communicator: Any, shape: Shape, algorithm: str, sent: Tensor, received: Tensor) -> MemberCall:
        """Return what puts the sum of all members' ``sent`` into ``received``, of shape (elements,) both."""

    def refuse(self, flow: Flow, shape: Shape, regime: Regime) -> None:
        """See CollectiveMethod.refuse."""
        wanted = flow.parameters.get("type", "float32")
        if shape.kind != "all-reduce":
            raise unsupported(f"{flow.method} has all-reduce alone, no {shape.kind}")
        if wanted not in self.types:
            raise unsupported(f"{flow.method} takes {', '.join(self.types)}, no {wanted}")
        if shape.members not in self.members:
            raise unsupported(f"{flow.method} has {', '.join(map(str, self.members))} members, not {shape.members}")
        most = self.largest.get(flow.word("algorithm", self.algorithms, "auto"), LARGEST)
        if shape.size % _ALIGNMENT or shape.size > most:
            raise unsupported(f"{flow.method} takes whole {_ALIGNMENT} B to {most >> 20} MiB, not {shape.size} B")

    def work(self, flow: Flow, shape: Shape, group: Any, held: tuple[Tensor, Tensor], gpu: int | None) -> MemberCall:
        """See CollectiveMethod.work."""
        assert gpu is not None
        without_multicast()
        key = (flow.ranks, gpu, shape.dtype)
        if key not in self._opened:
            self._opened[key] = self.open(shape, group, gpu)
        algorithm = flow.word("algorithm", self.algorithms, "auto")
        return self.summing(self._opened[key], shape, algorithm, *held)
