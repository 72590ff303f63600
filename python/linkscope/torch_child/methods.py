"""Methods: those of the engine's that PyTorch carries out, by name. Importing this needs PyTorch."""

from __future__ import annotations

from linkscope.torch_child.collective import TorchCollective
from linkscope.torch_child.flashinfer_all_reduce import FlashInferAllReduce
from linkscope.torch_child.groups import Groups
from linkscope.torch_child.messages import TorchMpi, TorchSend
from linkscope.torch_child.method import Method
from linkscope.torch_child.mscclpp_all_reduce import MscclppAllReduce
from linkscope.torch_child.nixl import Nixl
from linkscope.torch_child.nvshmem import Nvshmem, NvshmemCollective
from linkscope.torch_child.nvshmem_world import World
from linkscope.torch_child.symmetric_memory import TorchSymmMem
from linkscope.torch_child.tensor_copy import TensorCopy
from linkscope.torch_child.vllm_all_reduce import VllmAllReduce


class Methods:
    """Hold the methods by name, and what they share."""

    def __init__(self) -> None:
        self._groups = Groups()
        self._world = World(self._groups)
        self.by_name: dict[str, Method] = {
            "torch-copy": TensorCopy(),
            "torch-send": TorchSend(self._groups),
            "torch-collective": TorchCollective(self._groups),
            "torch-symm-mem": TorchSymmMem(self._groups),
            "vllm-all-reduce": VllmAllReduce(self._groups),
            "flashinfer-all-reduce": FlashInferAllReduce(self._groups),
            "mscclpp-all-reduce": MscclppAllReduce(self._groups),
            "nvshmem-collective": NvshmemCollective(self._groups, self._world),
            "nvshmem": Nvshmem(self._groups, self._world),
            "torch-mpi": TorchMpi(),
            "nixl": Nixl(self._groups),
        }

    def close(self) -> None:
        """Leaves the communicators."""
        self._world.leave()
        self._groups.close()
