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
    identities = [Identity.from_json(run.header.get("identity", {})) for run in (one, other)]
    known = identities[0].same_node(identities[1])
    if known is not None:
        return known
    hosts = [run.header.get("host") for run in (one, other)]
    return bool(hosts[0] == hosts[1]) if all(hosts) else one.node.name == other.node.name
