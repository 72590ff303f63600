"""vllm-all-reduce: vLLM's CustomAllreduce (vllm/distributed/device_communicators), which chooses one or two shots."""

from __future__ import annotations

from typing import Any

import torch

from linkscope.torch_child.collective import MemberCall, Shape
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Flow
from linkscope.torch_child.package_all_reduce import LARGEST, PackageAllReduce

Tensor = Any


class VllmAllReduce(PackageAllReduce):
    """At the end of a recording the members exchange the handles of what the graph reads."""

    members = (2, 4, 6, 8)

    def open(self, shape: Shape, group: Any, gpu: int) -> Any:
        """As PackageAllReduce.open."""
        from vllm.distributed.device_communicators.custom_all_reduce import CustomAllreduce

        communicator = CustomAllreduce(group, torch.device("cuda", gpu), max_size=LARGEST + 1)
        getattr(communicator, "finalize_p2p", lambda: None)()  # newer ones allocate here
        if communicator.disabled:
            raise unsupported("vLLM disables its all-reduce between these GPUs: no peer access, or more than 2 on PCIe")
        return communicator

    def summing(self, communicator: Any, shape: Shape, algorithm: str, sent: Tensor, received: Tensor) -> MemberCall:
        """As PackageAllReduce.summing."""
        capturing = torch.cuda.is_current_stream_capturing
        call = lambda: communicator.all_reduce(sent, out=received, registered=capturing())  # noqa: E731
        return MemberCall(call, communicator.capture)

    def notes(self, flow: Flow) -> list[str]:
        """See CollectiveMethod.notes."""
        eager = flow.parameters.get("form") != "graph"
        return ["includes vLLM's copy of the input to its own buffer"] if eager else []
