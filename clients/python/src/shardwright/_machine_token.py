"""The token of a controller on this machine, which `shardwright serve` creates at its first start.

Only the user who started the controller may read the file, so programs of the same account find it without
configuration. It is sent only over loopback, and only to a program of the same account or of root: while the controller
is down, another account could listen on its port.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from pathlib import Path

# The code of the kernel for a socket that listens.
_LISTENS = "0A"


def file_for(host: str, port: int) -> Path | None:
    """Returns the file with the token, if it exists and the controller at this address may receive it."""
    if not _is_loopback(host) or not _is_port_trusted(port):
        return None
    state = os.environ.get("XDG_STATE_HOME")
    home = os.environ.get("HOME")
    folder = Path(state) if state else Path(home) / ".local/state" if home else Path("/var/lib")
    file = folder / "shardwright/token"
    return file if os.access(file, os.R_OK) else None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_port_trusted(port: int) -> bool:
    """Whether programs listen on `port`, and each of them belongs to this account or to root."""
    owners = [owner for name in ("tcp", "tcp6") for owner in listening_accounts(_table(name), port)]
    return bool(owners) and all(owner in (os.getuid(), 0) for owner in owners)


def _table(name: str) -> str:
    try:
        return Path(f"/proc/self/net/{name}").read_text(encoding="ascii")
    except OSError:
        return ""


def listening_accounts(table: str, port: int) -> Iterator[int]:
    """The accounts whose programs listen on `port`, from a table of the kernel such as `/proc/net/tcp`."""
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
            yield int(fields[7])
