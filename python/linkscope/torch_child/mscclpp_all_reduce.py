"""mscclpp-all-reduce: MSCCL++'s default algorithms that use no multicast (python/mscclpp_benchmark/comm.py of 0.9)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from linkscope.torch_child.collective import MemberCall, Shape
from linkscope.torch_child.faults import ChildError, Fault, unsupported
from linkscope.torch_child.package_all_reduce import PackageAllReduce

Tensor = Any

_SCRATCH = 1 << 27  # bytes, as in its examples
_LARGEST_PACKET = 512 << 10  # bytes
_PACKET, _ZERO_COPY = "packet", "rsag-zero-copy"
_NAMES = {_PACKET: "default_allreduce_packet", _ZERO_COPY: "default_allreduce_rsag_zero_copy"}


class MscclppAllReduce(PackageAllReduce):
    """Packets, or reduce-scatter and all-gather on the buffers themselves; by default packets to 512 KiB."""

    algorithms = ("auto", *_NAMES)
    largest: ClassVar = {_PACKET: 8 << 20}  # each half of the scratch holds six times as much
    types = ("float32", "float16", "bfloat16", "int32")

    def open(self, shape: Shape, group: Any, gpu: int) -> Any:
        """As PackageAllReduce.open."""
        import mscclpp.ext
        import mscclpp.utils

        joined = mscclpp.CommGroup(torch_group=group)
        words = mscclpp.RawGpuBuffer(_SCRATCH).to_dlpack(data_type=str(torch.float16))
        scratch = torch.utils.dlpack.from_dlpack(words)
        built = mscclpp.ext.AlgorithmCollectionBuilder().build_default_algorithms(
            scratch_buffer=scratch.data_ptr(), scratch_buffer_size=_SCRATCH, rank=shape.index
        )
        by_name = {one.name: one for one in built if one.collective == "allreduce"}
        if not {*_NAMES.values()} <= set(by_name):
            raise unsupported(f"this MSCCL++ lacks one of {', '.join(_NAMES.values())}")
        return mscclpp, joined, by_name, scratch

    def summing(self, communicator: Any, shape: Shape, algorithm: str, sent: Tensor, received: Tensor) -> MemberCall:
        """As PackageAllReduce.summing."""
        library, joined, by_name, _ = communicator
        usual = _PACKET if shape.size <= _LARGEST_PACKET else _ZERO_COPY
        called = by_name[_NAMES[usual if algorithm == "auto" else algorithm]]
        arguments: dict[str, Any] = {
            "comm": joined.communicator,
            "input_buffer": sent.data_ptr(),
            "output_buffer": received.data_ptr(),
            "input_size": shape.size,
            "output_size": shape.size,
            "dtype": library.utils.torch_dtype_to_mscclpp_dtype(shape.dtype),
            "op": library.ReduceOp.SUM,
        }

        def call() -> None:
            code = called.execute(**arguments, stream=torch.cuda.current_stream().cuda_stream)
            if code != 0:
                raise ChildError(Fault.BROKEN, f"MSCCL++'s {called.name} failed with code {code}")

        return MemberCall(call)
