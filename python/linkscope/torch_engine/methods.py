"""Methods: the catalog's, opened among the processes of a run. Importing this needs PyTorch."""

from __future__ import annotations

from linkscope.torch_engine.collective import TorchCollective
from linkscope.torch_engine.groups import Groups
from linkscope.torch_engine.messages import TorchMpi, TorchSend
from linkscope.torch_engine.tensor_copy import TensorCopy
from linkscope.torch_engine.transfer import Method
from linkscope.torch_engine.world import World


class Methods:
    """By name, and what they share."""

    def __init__(self, world: World) -> None:
        self._groups = Groups(world)
        self.by_name: dict[str, Method] = {
            "torch-copy": TensorCopy(),
            "torch-send": TorchSend(self._groups),
            "torch-collective": TorchCollective(self._groups),
            "torch-mpi": TorchMpi(),
        }

    def close(self) -> None:
        """Leaves the communicators."""
        self._groups.close()
