"""BIOS settings from a management controller's Redfish service (DMTF DSP0266): GET requests only, by the standard
library.

Four requests, no session (which would be an object made on the controller), no redirect, the certificate checked,
bounded in time and bytes. sushy and DMTF's library do far more, keep the password in objects that they log, and
have no such bounds.

The user and password for a management controller: from the environment or netrc, never from the command line.

They live in this object, go into one request header, and into nothing else: no repr, no message, no event.
"""

from __future__ import annotations

import base64
import errno
import http.client
import json
import netrc
import os
import shlex
import socket
import ssl
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from hostdx.probes import units
from hostdx.probes.children.environment import PASSWORD, USER, read_env_variable
from hostdx.probes.files.safe_read import open_trusted_regular, read_trusted_file
from hostdx.probes.system.bios.attributes import (
    MAX_VALUE_CHARACTERS,
    BiosAttributes,
    Wanted,
    wanted_attributes_as_text,
)
from hostdx.probes.types import Absent, AbsentKind, Json

__all__ = ["PASSWORD", "USER", "Credentials", "find_bmc_credentials"]


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


def find_bmc_credentials(machine: str) -> Credentials | Absent:
    """For the host name of a URL. The environment first, then `$NETRC` or ~/.netrc."""
    user, password = read_env_variable(USER), read_env_variable(PASSWORD)
    if user and password:
        return Credentials(user, password)
    path = os.environ.get("NETRC") or str(Path("~/.netrc").expanduser())
    try:
        entry = _read_private_netrc(path).authenticators(machine)
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


def _read_private_netrc(path: str) -> netrc.netrc:
    """The library looks at the rights of ~/.netrc only, and not before it reads. Raises OSError, NetrcParseError."""
    fd = open_trusted_regular(path)
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


DEFAULT_TIMEOUT_S = 30.0  # all requests together; a controller takes 1 to 3 s for each
MAX_ANSWER_BYTES = 4 << 20  # of one answer; a full list of attributes is some 100 KiB
_MAX_CA_BYTES = 8 << 20
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class _BmcError(Exception):
    """In one line what went wrong, without anything that the other side sent."""

    def __init__(self, reason: str, kind: AbsentKind = "unsupported") -> None:
        super().__init__(reason)
        self.absent = Absent(reason, kind)


class _RedfishAddress(msgspec.Struct, frozen=True):
    secure: bool
    name: str
    port: int
    path: str

    @property
    def address_text(self) -> str:
        return f"{self.name}:{self.port}"


def redfish_url_problem(url: str, ca_file: str | None = None) -> str:
    """Return why this is no URL to ask, or `ca_file` no certificate, in one line that does not repeat the URL (it
    may hold a password); empty where all is well.
    """
    try:
        _make_tls_context(_parse_redfish_url(url), ca_file)
    except _BmcError as failed:
        return failed.absent.reason
    return ""


def read_redfish_bios(
    url: str, wanted: Wanted, ca_file: str | None = None, within_s: float = DEFAULT_TIMEOUT_S
) -> BiosAttributes | Absent:
    """The wanted attributes of the one system of the service, or of the one that the URL names. Never raises."""
    outcome: list[BiosAttributes | Absent] = []
    try:
        place = _parse_redfish_url(url)
        login = find_bmc_credentials(place.name)
        if isinstance(login, Absent):
            return login
        client = _RedfishClient(place, login, _make_tls_context(place, ca_file), time.monotonic() + within_s)
    except _BmcError as failed:
        return failed.absent
    # A name server or a controller that drips bytes can hold a read for ever: the thread is left behind then.
    worker = threading.Thread(target=lambda: outcome.append(_bios_and_close(client, wanted)), daemon=True)
    worker.start()
    worker.join(within_s + 0.5)
    if outcome:
        return outcome[0]
    client.close_connection()
    return Absent(f"{place.address_text} did not answer within {within_s:g} s", "timeout", place.address_text)


def _bios_and_close(client: _RedfishClient, wanted: Wanted) -> BiosAttributes | Absent:
    try:
        return _read_bios(client, wanted)
    except _BmcError as failed:
        return failed.absent
    finally:
        client.close_connection()


def _parse_redfish_url(url: str) -> _RedfishAddress:
    try:
        parts = urlsplit(url)
        port = parts.port
        user = parts.username is not None or "@" in parts.netloc
    except ValueError:
        raise _BmcError("the Redfish URL is not one", "invalid") from None
    if user:
        raise _BmcError(
            "the Redfish URL must not hold a user or password: use the environment or netrc", "invalid"
        )
    if parts.scheme not in ("https", "http") or not parts.hostname or any(c.isspace() for c in url):
        raise _BmcError("the Redfish URL must look like https://bmc.example.org", "invalid")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise _BmcError("the Redfish URL must be https: a password is not sent over http", "invalid")
    path = parts.path.rstrip("/")
    if parts.query or parts.fragment:
        raise _BmcError("the Redfish URL must not have a question mark or a #", "invalid")
    if path and not path.startswith("/redfish/v1"):
        raise _BmcError("the path of the Redfish URL must be empty or begin with /redfish/v1", "invalid")
    secure = parts.scheme == "https"
    return _RedfishAddress(secure, parts.hostname, port or (443 if secure else 80), path)


def _make_tls_context(place: _RedfishAddress, ca_file: str | None) -> ssl.SSLContext | None:
    if not place.secure:
        return None
    try:
        if ca_file is None:
            return ssl.create_default_context()
        certificates = read_trusted_file(ca_file, _MAX_CA_BYTES).decode("ascii", "ignore")
        # without a text it would trust the system's
        return ssl.create_default_context(cadata=certificates or " ")
    except ssl.SSLError:
        raise _BmcError(f"{ca_file} holds no certificate that can be read", "invalid") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no path"
        raise _BmcError(f"{ca_file}: {why}", "invalid") from None


class _RedfishClient:
    """One GET a call, on a connection of its own: some controllers close kept ones in the middle."""

    def __init__(
        self, place: _RedfishAddress, login: Credentials, context: ssl.SSLContext | None, deadline: float
    ) -> None:
        self._place, self._login, self._context, self._deadline = place, login, context, deadline
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> dict[str, Json]:
        """The object at a path of this service. Raises _BmcError."""
        if not path.startswith("/redfish/v1") or "//" in path:
            raise _BmcError(
                f"{self._place.address_text} points to a place outside its Redfish service", "invalid"
            )
        data = self._get_body(path)
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            raise _BmcError(f"{self._place.address_text} sent something that is no JSON", "invalid") from None
        if not isinstance(document, dict):
            raise _BmcError(f"{self._place.address_text} sent JSON that is no object", "invalid")
        if self._login.appears_in(document):
            raise _BmcError(
                f"{self._place.address_text} sent the password back: its answer is not used", "invalid"
            )
        return document

    def close_connection(self) -> None:
        if self._connection is not None:
            try:
                self._connection.close()
            except OSError:
                pass

    def _get_body(self, path: str) -> bytes:
        address, left = self._place.address_text, max(0.1, self._deadline - time.monotonic())
        name, port = self._place.name, self._place.port
        connection = (
            http.client.HTTPSConnection(name, port, timeout=left, context=self._context)
            if self._context
            else http.client.HTTPConnection(name, port, timeout=left)
        )
        self._connection = connection
        try:
            headers = {"Authorization": self._login.authorization_header(), "Accept": "application/json"}
            connection.request("GET", path, headers={**headers, "Accept-Encoding": "identity"})
            answer = connection.getresponse()
            _raise_for_status(answer.status, address)
            return self._read_limited_body(answer)
        except ssl.SSLCertVerificationError as error:
            raise _BmcError(
                f"{address}: its certificate is not trusted ({error.verify_message[:120]}); name its authority with "
                "--redfish-ca FILE",
                "permission",
            ) from None
        except TimeoutError:
            raise _BmcError(f"{address} did not answer in time", "timeout") from None
        except ConnectionRefusedError:
            raise _BmcError(f"{address} refuses the connection", "missing") from None
        except socket.gaierror:
            raise _BmcError(f"{name}: no such host", "missing") from None
        except ssl.SSLError as error:
            raise _BmcError(
                f"{address}: no TLS connection ({(error.reason or 'error')[:60]})", "invalid"
            ) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, OSError) and error.errno:  # the kernel's own words
                raise _BmcError(f"{address}: {os.strerror(error.errno)}", "missing") from None
            raise _BmcError(f"{address}: no usable answer ({type(error).__name__})", "invalid") from None
        finally:
            connection.close()

    def _read_limited_body(self, answer: http.client.HTTPResponse) -> bytes:
        data = bytearray()
        while part := answer.read1(1 << 16):
            data += part
            if len(data) > MAX_ANSWER_BYTES:
                raise _BmcError(
                    f"{self._place.address_text} sent more than {units.format_size(MAX_ANSWER_BYTES)}",
                    "invalid",
                )
            if time.monotonic() > self._deadline:
                raise TimeoutError
        return bytes(data)


def _raise_for_status(status: int, address: str) -> None:
    if status in (401, 403):
        raise _BmcError(f"{address} does not accept the user and password (HTTP {status})", "permission")
    if status == 404:
        raise _BmcError(f"{address} has no such Redfish resource (HTTP 404)", "unsupported")
    if status != 200:
        raise _BmcError(f"{address} answered with HTTP status {status}", "unsupported")


def _read_bios(client: _RedfishClient, wanted: Wanted) -> BiosAttributes:
    place = client._place
    system = client.get(_find_system_path(client, place))
    bios = client.get(_link_path(system.get("Bios"), "its system has no BIOS resource", place))
    attributes = bios.get("Attributes")
    if not isinstance(attributes, dict):
        raise _BmcError(f"{place.address_text}: its BIOS resource has no attributes", "unsupported")
    values = wanted_attributes_as_text(attributes, wanted)
    return BiosAttributes(
        source=place.address_text,
        values=values,
        vendor=_cut_text_or_empty(system.get("Manufacturer")),
        model=_cut_text_or_empty(system.get("Model")),
        pending=_read_pending_changes(client, bios, values, wanted),
    )


def _find_system_path(client: _RedfishClient, place: _RedfishAddress) -> str:
    if "/Systems/" in place.path:
        return place.path
    root = client.get("/redfish/v1/")
    collection = client.get(_link_path(root.get("Systems"), "the service has no systems", place))
    members = collection.get("Members")
    if not isinstance(members, list) or not members:
        raise _BmcError(f"{place.address_text}: the service has no systems", "unsupported")
    if len(members) > 1:
        raise _BmcError(
            f"{place.address_text} has {len(members)} systems: name one, https://{place.name}/redfish/v1/Systems/ID",
            "invalid",
        )
    return _link_path(members[0], "the service has no systems", place)


def _link_path(value: object, missing_text: str, place: _RedfishAddress) -> str:
    path = value.get("@odata.id") if isinstance(value, dict) else None
    if not isinstance(path, str):
        raise _BmcError(f"{place.address_text}: {missing_text}", "unsupported")
    return path


def _read_pending_changes(
    client: _RedfishClient, bios: dict[str, Json], values: dict[str, str], wanted: Wanted
) -> dict[str, str]:
    """Return what a restart will change. A controller that does not tell has nothing pending that we could know."""
    settings = bios.get("@Redfish.Settings")
    try:
        path = _link_path(
            settings.get("SettingsObject") if isinstance(settings, dict) else None, "", client._place
        )
        later = client.get(path).get("Attributes")
    except _BmcError:
        return {}
    later_values = wanted_attributes_as_text(later, wanted) if isinstance(later, dict) else {}
    return {name: value for name, value in later_values.items() if name in values and values[name] != value}


def _cut_text_or_empty(value: object) -> str:
    return value[:MAX_VALUE_CHARACTERS] if isinstance(value, str) else ""
