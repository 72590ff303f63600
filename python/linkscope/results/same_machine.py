"""Same machine: whether two runs are of one node, so that what differs between them is a change."""

from __future__ import annotations

from typing import Any, Protocol

from linkscope.machine.identity import Identity
from linkscope.machine.node import Node


class OfMachine(Protocol):
    """A run, however it was read."""

    @property
    def header(self) -> dict[str, Any]:
        """Return the first line of the run file."""

    @property
    def node(self) -> Node:
        """Return the machine of the run."""


def same_machine(one: OfMachine, other: OfMachine) -> bool:
    """Return whether two runs are of one machine.

    Serial numbers that both know decide, else the host, else, as imports may have none, the node's name; of a machine
    model its name alone. A device that both have under one id but of another model makes them two machines.
    """
    models = {device.id: device.name for device in one.node.devices}
    if any(models.get(device.id, device.name) != device.name for device in other.node.devices):
        return False
    if one.node.modelled or other.node.modelled:
        return one.node.modelled == other.node.modelled and one.node.name == other.node.name
    known = _by_serials(one, other)
    if known is not None:
        return known
    hosts = [run.header.get("host") for run in (one, other)]
    return bool(hosts[0] == hosts[1]) if all(hosts) else one.node.name == other.node.name


def by_host_alone(one: OfMachine, other: OfMachine) -> str:
    """Return the host's name where it alone shows that two runs are of one machine, as a run has no serial numbers;
    else nothing. Machines of one cloud may share a name."""
    host = str(one.header.get("host", ""))
    measured = not (one.node.modelled or other.node.modelled)
    return host if measured and _by_serials(one, other) is None and same_machine(one, other) else ""


def _by_serials(one: OfMachine, other: OfMachine) -> bool | None:
    identities = [Identity.from_json(run.header.get("identity", {})) for run in (one, other)]
    return identities[0].same_node(identities[1])
