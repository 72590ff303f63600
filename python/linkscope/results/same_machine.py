"""Same machine: whether two runs are of one node, so that what differs between them is a change."""

from __future__ import annotations

from linkscope.machine.identity import Identity
from linkscope.results.run_stream import Run


def same_machine(one: Run, other: Run) -> bool:
    """By serial numbers that both know, else by host, else, as imports may have none, by the node's name; a described
    node by its name alone. No where a device that both have is another model."""
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


def by_host_alone(one: Run, other: Run) -> str:
    """The host's name, where two runs are taken for one machine's by it, as one of them has no serial numbers; else
    nothing. Machines of one cloud may share a name."""
    host = str(one.header.get("host", ""))
    measured = not (one.node.modelled or other.node.modelled)
    return host if measured and _by_serials(one, other) is None and same_machine(one, other) else ""


def _by_serials(one: Run, other: Run) -> bool | None:
    identities = [Identity.from_json(run.header.get("identity", {})) for run in (one, other)]
    return identities[0].same_node(identities[1])
