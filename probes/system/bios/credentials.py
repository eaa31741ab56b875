"""The user and password for a management controller: from the environment or netrc, never from the command line.

They live in this object, go into one request header, and into nothing else: no repr, no message, no event.
"""

import base64
import errno
import netrc
import os
import shlex
from pathlib import Path

from probes.children.environment import PASSWORD, USER, read_variable
from probes.files.named_file import open_regular
from probes.types import Absent

__all__ = ["PASSWORD", "USER", "Credentials", "find_credentials"]


class Credentials:
    """Printed as `<credentials>`, so that neither a traceback nor a log line holds them."""

    __slots__ = ("_password", "_user")

    def __init__(self, user: str, password: str) -> None:
        self._user, self._password = user, password

    def __repr__(self) -> str:
        return "<credentials>"

    def appears_in(self, answer: object) -> bool:
        """Return whether some text of a parsed answer holds the password, plain or as it was sent. One of less than
        six letters may well be a setting's value.
        """
        secrets = [
            self.authorization_header().partition(" ")[2],
            *([self._password] if len(self._password) >= 6 else ()),
        ]
        left = [answer]
        while left:
            node = left.pop()
            if isinstance(node, dict):
                left += [*node.keys(), *node.values()]
            elif isinstance(node, list):
                left += node
            elif isinstance(node, str) and any(secret in node for secret in secrets):
                return True
        return False

    def authorization_header(self) -> str:
        return "Basic " + base64.b64encode(f"{self._user}:{self._password}".encode()).decode()


def find_credentials(machine: str) -> Credentials | Absent:
    """For the host name of a URL. The environment first, then `$NETRC` or ~/.netrc."""
    user, password = read_variable(USER), read_variable(PASSWORD)
    if user and password:
        return Credentials(user, password)
    path = os.environ.get("NETRC") or str(Path("~/.netrc").expanduser())
    try:
        entry = _private_netrc(path).authenticators(machine)
    except FileNotFoundError:
        entry = None
    except PermissionError as error:
        return Absent(f"{path} is not used: {error.strerror}", "permission", path)
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
        # its message may quote the file: not passed on
        return Absent(f"{path} cannot be used: it must be a file of one machine a line", "permission", path)
    if entry is None or not entry[0] or not entry[2]:
        return Absent(
            f"no user and password for {machine}: set {USER} and {PASSWORD}, or add it to {path}",
            "permission",
            path,
        )
    return Credentials(entry[0], entry[2])


def _private_netrc(path: str) -> netrc.netrc:
    """The library looks at the rights of ~/.netrc only, and not before it reads. Raises OSError, NetrcParseError."""
    fd = open_regular(path)
    try:
        status = os.fstat(fd)
        if status.st_uid != os.geteuid():
            raise PermissionError(
                errno.EPERM, f"it belongs to uid {status.st_uid}, not to who runs hostdx", path
            )
        if status.st_mode & 0o077:
            raise PermissionError(
                errno.EPERM, f"others may use it; `chmod 600 {shlex.quote(path)}` first", path
            )
        return netrc.netrc(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
