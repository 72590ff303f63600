"""Survey: what stands between a launcher and an engine on a host that linkscope does not run on.

`python survey.py ENGINE... join` tells the supervisor what that host is made of, if it is the first process of a host
that is not known yet, and becomes the engine. Where nothing can be told, it becomes the engine too.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

Json = dict[str, Any]

KNOWN_VARIABLE = "LINKSCOPE_KNOWN_HOSTS"
"""Names of hosts that need no survey, joined by commas."""
COMMAND = (sys.executable, os.path.abspath(__file__))  # noqa: PTH100 - symbolic links stay, as other hosts have them
"""Names the file, as `-m` would run modules of the current folder and `-c` needs quotes, which launchers may lose."""
_LOCAL_RANKS = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK")
_LIMIT_S = 30.0


def known(hosts: Iterable[str]) -> dict[str, str]:
    """Return what the environment of processes must say for ``hosts`` not to be surveyed."""
    return {KNOWN_VARIABLE: ",".join(hosts)}


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Return whether this process shall look at its host."""
    if KNOWN_VARIABLE not in environment or platform.node() in environment[KNOWN_VARIABLE].split(","):
        return False
    local = next((environment[name] for name in _LOCAL_RANKS if name in environment), "0")
    return local == "0"


def tell(environment: Mapping[str, str]) -> None:
    """Looks at this host and waits until the supervisor has heard. Raises LinkscopeError and OSError."""
    from linkscope.launch.engines import machine_description
    from linkscope.launch.group.binding import usable_cores
    from linkscope.launch.group.control import CONTROL_VARIABLE, TOKEN_VARIABLE
    from linkscope.machine.discover import discover

    host, _, port = environment[CONTROL_VARIABLE].rpartition(":")
    facts: Json = {"record": "node", "token": environment[TOKEN_VARIABLE], "host": platform.node()}
    facts |= {"node": discover(machine_description()).to_json(), "cores": usable_cores()}
    with socket.create_connection((host.strip("[]"), int(port)), _LIMIT_S) as supervisor:
        supervisor.sendall(json.dumps(facts).encode() + b"\n")
        supervisor.recv(1)  # closed once it has been read


def tell_if_wanted(environment: Mapping[str, str]) -> None:
    """The same where it is wanted and can be done; else says on standard error why not."""
    if not is_wanted(environment):
        return
    from linkscope.errors import LinkscopeError

    try:
        tell(environment)
    except (LinkscopeError, OSError, KeyError, ValueError) as error:
        sys.stderr.write(f"linkscope: no survey of {platform.node()}: {error}\n")


def main() -> NoReturn:
    command = sys.argv[1:]
    tell_if_wanted(os.environ)
    os.execv(command[0], command)


if __name__ == "__main__":
    # The package's folder, behind what is installed, in the place of this file's, which Python puts first.
    sys.path[:] = [*(path for path in sys.path if path != str(Path(__file__).parent)), str(Path(__file__).parents[3])]
    main()
