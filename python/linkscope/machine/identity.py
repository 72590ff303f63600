"""Identity: which very machine and GPUs a run was measured on. It stands in a run file's header and nowhere else.

Apart from the state, because that is recorded for tests, and recordings hold no serial numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from linkscope.machine import nvml, sysfs
from linkscope.machine.files import Files, LiveFiles

DMI = "/sys/class/dmi/id"
_NO_SERIALS = {"", "0", "none", "n/a", "not specified", "default string", "to be filled by o.e.m.", "unknown"}
"""Serial numbers of boards that were never given one."""


@dataclass(frozen=True)
class GpuIdentity:
    """``serial``: of the board, so GPUs of one board share it. ``uuid``: the GPU's own; on AMD the driver's unique_id.
    None where nobody says."""

    serial: str | None = None
    uuid: str | None = None


@dataclass(frozen=True)
class Identity:
    """``product``: maker and model. Serials of machine and mainboard are readable by root alone. ``gpus`` by id."""

    product: str | None = None
    product_serial: str | None = None
    board_serial: str | None = None
    gpus: Mapping[str, GpuIdentity] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return what is known, JSON-ready."""
        told = {name: getattr(self, name) for name in ("product", "product_serial", "board_serial")}
        gpus = {name: _known({"serial": gpu.serial, "uuid": gpu.uuid}) for name, gpu in self.gpus.items()}
        return _known({**told, "gpus": _known(gpus)})

    def same_node(self, other: Identity) -> bool | None:
        """Return whether both are one node: by the first of the machine's serial number and the mainboard's that both
        know, else by a GPU that both have. None where that does not say it: runs of root know more than others, and a
        job may have other GPUs of the same node.
        """
        for one, two in ((self.product_serial, other.product_serial), (self.board_serial, other.board_serial)):
            if one and two:
                return one == two
        return True if self._gpus() & other._gpus() else None

    def _gpus(self) -> set[tuple[str, str]]:
        """Each number of each GPU, with what kind of number it is."""
        kinds = ((kind, str(getattr(gpu, kind) or "")) for gpu in self.gpus.values() for kind in ("uuid", "serial"))
        return {one for one in kinds if one[1]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Identity:
        """The inverse of ``to_json``; empty of a run file that holds none. Raises ValueError on foreign data."""
        return msgspec.convert(data, Identity)


def read_identity(
    description: Mapping[str, Any], root: str | Path = "/", of_nvml: Mapping[str, Mapping[str, str]] | None = None
) -> Identity:
    """Identify the machine whose files are below ``root``; its GPUs are those of an engine's ``description``.

    NVML is asked unless its answers, ``nvml.identities``, are given.
    """
    files = LiveFiles(Path(root))
    answers = of_nvml if of_nvml is not None else nvml.identities() if Path(root) == Path("/") else {}
    gpus = [device for device in description.get("devices", ()) if device["id"].startswith("gpu:")]
    words = [files.read(f"{DMI}/{name}") for name in ("sys_vendor", "product_name")]
    return Identity(
        product=" ".join(word for word in words if word) or None,
        product_serial=_serial(files.read(f"{DMI}/product_serial")),
        board_serial=_serial(files.read(f"{DMI}/board_serial")),
        gpus={gpu["id"]: _gpu(files, sysfs.normal_pci(gpu["pci"]), answers) for gpu in gpus if gpu.get("pci")},
    )


def _gpu(files: Files, pci: str, answers: Mapping[str, Mapping[str, str]]) -> GpuIdentity:
    if pci in answers:
        return GpuIdentity(**answers[pci])
    here = f"{sysfs.PCI}/{pci}"  # amdgpu's
    return GpuIdentity(_serial(files.read(f"{here}/serial_number")), _serial(files.read(f"{here}/unique_id")))


def _serial(text: str | None) -> str | None:
    return None if text is None or text.strip().lower() in _NO_SERIALS else text


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}
