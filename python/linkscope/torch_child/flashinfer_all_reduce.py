"""flashinfer-all-reduce: FlashInfer's all-reduce with nothing fused (flashinfer/comm/trtllm_ar.py, from 0.2.10 on)."""

from __future__ import annotations

from math import gcd
from typing import Any

from linkscope.torch_child.collective import MemberCall, Shape
from linkscope.torch_child.faults import unsupported
from linkscope.torch_child.flow import Flow, Regime
from linkscope.torch_child.package_all_reduce import LARGEST, PackageAllReduce

Tensor = Any

_MOST_HIDDEN = 4096  # elements of a row: a thread takes 16 B of one
_NOT_FUSED = ("residual_in", "residual_out", "norm_out", "quant_out", "scale_out", "rms_gamma", "rms_eps")
_CHOSEN_BY_IT = ("scale_factor", "layout_code")
_ONE_SHOT = {"auto": None, "one-shot": True, "two-shot": False}


class FlashInferAllReduce(PackageAllReduce):
    """Compiled when first used."""

    algorithms = tuple(_ONE_SHOT)

    def refuse(self, flow: Flow, shape: Shape, regime: Regime) -> None:
        """See CollectiveMethod.refuse."""
        super().refuse(flow, shape, regime)
        if flow.parameters.get("algorithm") == "two-shot" and shape.elements <= shape.members * _hidden(shape):
            raise unsupported(f"FlashInfer's two-shot takes more rows than members: {shape.size} B are too few")

    def open(self, shape: Shape, group: Any, gpu: int) -> Any:
        """As PackageAllReduce.open: a workspace, which all members map."""
        import flashinfer.comm as library

        itemsize = int(shape.dtype.itemsize)
        most = LARGEST // itemsize // _MOST_HIDDEN
        make = library.trtllm_create_ipc_workspace_for_all_reduce_fusion
        whole = (shape.index, shape.members, most, _MOST_HIDDEN)
        return library, make(*whole, use_fp32_lamport=itemsize == 4, group=group)

    def summing(self, communicator: Any, shape: Shape, algorithm: str, sent: Tensor, received: Tensor) -> MemberCall:
        """As PackageAllReduce.summing."""
        library, (_, workspace, *_) = communicator
        hidden = _hidden(shape)
        arguments: dict[str, Any] = {
            **dict.fromkeys((*_NOT_FUSED, *_CHOSEN_BY_IT)),
            "allreduce_in": sent.view(-1, hidden),
            "allreduce_out": received.view(-1, hidden),
            "world_size": shape.members,
            "world_rank": shape.index,
            "token_num": shape.elements // hidden,
            "hidden_dim": hidden,
            "use_oneshot": _ONE_SHOT[algorithm],
            "workspace_ptrs": workspace,
            "launch_with_pdl": True,
            "trigger_completion_at_end": True,
            "fp32_acc": True,
            "pattern_code": library.AllReduceFusionPattern.kAllReduce,
        }
        return MemberCall(lambda: library.trtllm_allreduce_fusion(**arguments))


def _hidden(shape: Shape) -> int:
    """Return the elements of a row."""
    return gcd(shape.elements, _MOST_HIDDEN)
