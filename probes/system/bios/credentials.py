"""The user and password for a management controller: from the environment or netrc, never from the command line.

They live in this object, go into one request header, and into nothing else: no repr, no message, no event.
"""

from __future__ import annotations

import base64
import netrc
import os
from pathlib import Path

from probes.types import Absent

USER, PASSWORD = "HOSTDX_REDFISH_USER", "HOSTDX_REDFISH_PASSWORD"


class Credentials:
    """Printed as `<credentials>`, so that neither a traceback nor a log line holds them."""

    __slots__ = ("_password", "_user")

    def __init__(self, user: str, password: str) -> None:
        self._user, self._password = user, password

    def __repr__(self) -> str:
        return "<credentials>"

    def header(self) -> str:
        return "Basic " + base64.b64encode(f"{self._user}:{self._password}".encode()).decode()


def credentials(machine: str) -> Credentials | Absent:
    """For the host name of a URL. The environment first, then `$NETRC` or ~/.netrc."""
    user, password = os.environ.get(USER, ""), os.environ.get(PASSWORD, "")
    if user and password:
        return Credentials(user, password)
    path = os.environ.get("NETRC") or str(Path("~/.netrc").expanduser())
    try:
        found = netrc.netrc(path).authenticators(machine)
    except FileNotFoundError:
        found = None
    except (
        OSError,
        netrc.NetrcParseError,
        UnicodeDecodeError,
    ):  # its message may quote the file: not passed on
        return Absent(
            f"{path} cannot be used: only its owner may read it, one machine a line", "permission", path
        )
    if found is None or not found[0] or not found[2]:
        return Absent(
            f"no user and password for {machine}: set {USER} and {PASSWORD}, or add it to {path}",
            "permission",
            path,
        )
    return Credentials(found[0], found[2])
