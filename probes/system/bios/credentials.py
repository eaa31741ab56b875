"""The user and password for a management controller: from the environment or netrc, never from the command line.

They live in this object, go into one request header, and into nothing else: no repr, no message, no event.
"""

import base64
import errno
import netrc
import os
import shlex
from pathlib import Path

from probes.children.environment import PASSWORD, USER, kept
from probes.named_file import opened
from probes.types import Absent

__all__ = ["PASSWORD", "USER", "Credentials", "credentials"]


class Credentials:
    """Printed as `<credentials>`, so that neither a traceback nor a log line holds them."""

    __slots__ = ("_password", "_user")

    def __init__(self, user: str, password: str) -> None:
        self._user, self._password = user, password

    def __repr__(self) -> str:
        return "<credentials>"

    def told_in(self, answer: object) -> bool:
        """Whether some text of a parsed answer holds the password, plain or as it was sent. One of less than six
        letters may well be a setting's value.
        """
        secrets = [self.header().partition(" ")[2], *([self._password] if len(self._password) >= 6 else ())]
        left = [answer]
        while left:
            one = left.pop()
            if isinstance(one, dict):
                left += [*one.keys(), *one.values()]
            elif isinstance(one, list):
                left += one
            elif isinstance(one, str) and any(secret in one for secret in secrets):
                return True
        return False

    def header(self) -> str:
        return "Basic " + base64.b64encode(f"{self._user}:{self._password}".encode()).decode()


def credentials(machine: str) -> Credentials | Absent:
    """For the host name of a URL. The environment first, then `$NETRC` or ~/.netrc."""
    user, password = kept(USER), kept(PASSWORD)
    if user and password:
        return Credentials(user, password)
    path = os.environ.get("NETRC") or str(Path("~/.netrc").expanduser())
    try:
        found = _private_netrc(path).authenticators(machine)
    except FileNotFoundError:
        found = None
    except PermissionError as error:
        return Absent(f"{path} is not used: {error.strerror}", "permission", path)
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
        # its message may quote the file: not passed on
        return Absent(f"{path} cannot be used: it must be a file of one machine a line", "permission", path)
    if found is None or not found[0] or not found[2]:
        return Absent(
            f"no user and password for {machine}: set {USER} and {PASSWORD}, or add it to {path}",
            "permission",
            path,
        )
    return Credentials(found[0], found[2])


def _private_netrc(path: str) -> netrc.netrc:
    """The library looks at the rights of ~/.netrc only, and not before it reads. Raises OSError, NetrcParseError."""
    fd = opened(path)
    try:
        found = os.fstat(fd)
        if found.st_uid != os.geteuid():
            raise PermissionError(
                errno.EPERM, f"it belongs to uid {found.st_uid}, not to who runs hostdx", path
            )
        if found.st_mode & 0o077:
            raise PermissionError(
                errno.EPERM, f"others may use it; `chmod 600 {shlex.quote(path)}` first", path
            )
        return netrc.netrc(f"/proc/self/fd/{fd}")
    finally:
        os.close(fd)
