"""BIOS settings from a management controller's Redfish service (DMTF DSP0266): GET requests only, by the standard
library.

Four requests, no session (which would be an object made on the controller), no redirect, the certificate checked,
bounded in time and bytes. sushy and DMTF's library do far more, keep the password in objects that they log, and
have no such bounds.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import threading
import time
from urllib.parse import urlsplit

import msgspec

from probes import units
from probes.safe_read import read_named
from probes.system.bios.attributes import MOST_VALUE, BiosAttributes, Wanted, kept
from probes.system.bios.credentials import Credentials, credentials
from probes.types import Absent, AbsentKind, Json

WITHIN_S = 30.0  # all requests together; a controller takes 1 to 3 s for each
MOST_BYTES = 4 << 20  # of one answer; a full list of attributes is some 100 KiB
_MOST_CA_BYTES = 8 << 20
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class _Failed(Exception):
    """In one line what went wrong, without anything that the other side sent."""

    def __init__(self, reason: str, kind: AbsentKind = "unsupported") -> None:
        super().__init__(reason)
        self.absent = Absent(reason, kind)


class _Place(msgspec.Struct, frozen=True):
    secure: bool
    name: str
    port: int
    path: str

    @property
    def words(self) -> str:
        return f"{self.name}:{self.port}"


def url_problem(url: str, ca_file: str | None = None) -> str:
    """Why this is no URL to ask, or `ca_file` no certificate, in one line that does not repeat the URL (it may hold a
    password); empty where all is well.
    """
    try:
        _context(_place(url), ca_file)
    except _Failed as failed:
        return failed.absent.reason
    return ""


def redfish_bios(
    url: str, wanted: Wanted, ca_file: str | None = None, within_s: float = WITHIN_S
) -> BiosAttributes | Absent:
    """The wanted attributes of the one system of the service, or of the one that the URL names. Never raises."""
    outcome: list[BiosAttributes | Absent] = []
    try:
        place = _place(url)
        known = credentials(place.name)
        if isinstance(known, Absent):
            return known
        client = _Client(place, known, _context(place, ca_file), time.monotonic() + within_s)
    except _Failed as failed:
        return failed.absent
    # A name server or a controller that drips bytes can hold a read for ever: the thread is left behind then.
    worker = threading.Thread(target=lambda: outcome.append(_asked(client, wanted)), daemon=True)
    worker.start()
    worker.join(within_s + 0.5)
    if outcome:
        return outcome[0]
    client.abandon()
    return Absent(f"{place.words} did not answer within {within_s:g} s", "timeout", place.words)


def _asked(client: _Client, wanted: Wanted) -> BiosAttributes | Absent:
    try:
        return _bios(client, wanted)
    except _Failed as failed:
        return failed.absent
    finally:
        client.abandon()


def _place(url: str) -> _Place:
    try:
        parts = urlsplit(url)
        port = parts.port
        user = parts.username is not None or "@" in parts.netloc
    except ValueError:
        raise _Failed("the Redfish URL is not one", "invalid") from None
    if user:
        raise _Failed(
            "the Redfish URL must not hold a user or password: use the environment or netrc", "invalid"
        )
    if parts.scheme not in ("https", "http") or not parts.hostname or any(c.isspace() for c in url):
        raise _Failed("the Redfish URL must look like https://bmc.example.org", "invalid")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise _Failed("the Redfish URL must be https: a password is not sent over http", "invalid")
    path = parts.path.rstrip("/")
    if parts.query or parts.fragment:
        raise _Failed("the Redfish URL must not have a question mark or a #", "invalid")
    if path and not path.startswith("/redfish/v1"):
        raise _Failed("the path of the Redfish URL must be empty or begin with /redfish/v1", "invalid")
    secure = parts.scheme == "https"
    return _Place(secure, parts.hostname, port or (443 if secure else 80), path)


def _context(place: _Place, ca_file: str | None) -> ssl.SSLContext | None:
    if not place.secure:
        return None
    try:
        if ca_file is None:
            return ssl.create_default_context()
        told = read_named(ca_file, _MOST_CA_BYTES).decode("ascii", "ignore")
        return ssl.create_default_context(cadata=told or " ")  # without a text it would trust the system's
    except ssl.SSLError:
        raise _Failed(f"{ca_file} holds no certificate that can be read", "invalid") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "no path"
        raise _Failed(f"{ca_file}: {why}", "invalid") from None


class _Client:
    """One GET a call, on a connection of its own: some controllers close kept ones in the middle."""

    def __init__(
        self, place: _Place, known: Credentials, context: ssl.SSLContext | None, deadline: float
    ) -> None:
        self._place, self._known, self._context, self._deadline = place, known, context, deadline
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> dict[str, Json]:
        """The object at a path of this service. Raises _Failed."""
        if not path.startswith("/redfish/v1") or "//" in path:
            raise _Failed(f"{self._place.words} points to a place outside its Redfish service", "invalid")
        data = self._read(path)
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            raise _Failed(f"{self._place.words} sent something that is no JSON", "invalid") from None
        if not isinstance(found, dict):
            raise _Failed(f"{self._place.words} sent JSON that is no object", "invalid")
        if self._known.told_in(found):
            raise _Failed(f"{self._place.words} sent the password back: its answer is not used", "invalid")
        return found

    def abandon(self) -> None:
        if self._connection is not None:
            try:
                self._connection.close()
            except OSError:
                pass

    def _read(self, path: str) -> bytes:
        where, left = self._place.words, max(0.1, self._deadline - time.monotonic())
        name, port = self._place.name, self._place.port
        connection = (
            http.client.HTTPSConnection(name, port, timeout=left, context=self._context)
            if self._context
            else http.client.HTTPConnection(name, port, timeout=left)
        )
        self._connection = connection
        try:
            headers = {"Authorization": self._known.header(), "Accept": "application/json"}
            connection.request("GET", path, headers={**headers, "Accept-Encoding": "identity"})
            answer = connection.getresponse()
            _check(answer.status, where)
            return self._body(answer)
        except ssl.SSLCertVerificationError as error:
            raise _Failed(
                f"{where}: its certificate is not trusted ({error.verify_message[:120]}); name its authority with "
                "--redfish-ca FILE",
                "permission",
            ) from None
        except TimeoutError:
            raise _Failed(f"{where} did not answer in time", "timeout") from None
        except ConnectionRefusedError:
            raise _Failed(f"{where} refuses the connection", "missing") from None
        except socket.gaierror:
            raise _Failed(f"{name}: no such host", "missing") from None
        except ssl.SSLError as error:
            raise _Failed(
                f"{where}: no TLS connection ({(error.reason or 'error')[:60]})", "invalid"
            ) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            if isinstance(error, OSError) and error.errno:  # the kernel's own words
                raise _Failed(f"{where}: {os.strerror(error.errno)}", "missing") from None
            raise _Failed(f"{where}: no usable answer ({type(error).__name__})", "invalid") from None
        finally:
            connection.close()

    def _body(self, answer: http.client.HTTPResponse) -> bytes:
        data = bytearray()
        while part := answer.read1(1 << 16):
            data += part
            if len(data) > MOST_BYTES:
                raise _Failed(f"{self._place.words} sent more than {units.size(MOST_BYTES)}", "invalid")
            if time.monotonic() > self._deadline:
                raise TimeoutError
        return bytes(data)


def _check(status: int, where: str) -> None:
    if status in (401, 403):
        raise _Failed(f"{where} does not accept the user and password (HTTP {status})", "permission")
    if status == 404:
        raise _Failed(f"{where} has no such Redfish resource (HTTP 404)", "unsupported")
    if status != 200:
        raise _Failed(f"{where} answered with HTTP status {status}", "unsupported")


def _bios(client: _Client, wanted: Wanted) -> BiosAttributes:
    place = client._place
    system = client.get(_system_path(client, place))
    bios = client.get(_link(system.get("Bios"), "its system has no BIOS resource", place))
    attributes = bios.get("Attributes")
    if not isinstance(attributes, dict):
        raise _Failed(f"{place.words}: its BIOS resource has no attributes", "unsupported")
    values = kept(attributes, wanted)
    return BiosAttributes(
        source=place.words,
        values=values,
        vendor=_word(system.get("Manufacturer")),
        model=_word(system.get("Model")),
        pending=_pending(client, bios, values, wanted),
    )


def _system_path(client: _Client, place: _Place) -> str:
    if "/Systems/" in place.path:
        return place.path
    root = client.get("/redfish/v1/")
    collection = client.get(_link(root.get("Systems"), "the service has no systems", place))
    members = collection.get("Members")
    if not isinstance(members, list) or not members:
        raise _Failed(f"{place.words}: the service has no systems", "unsupported")
    if len(members) > 1:
        raise _Failed(
            f"{place.words} has {len(members)} systems: name one, https://{place.name}/redfish/v1/Systems/ID",
            "invalid",
        )
    return _link(members[0], "the service has no systems", place)


def _link(value: object, missing: str, place: _Place) -> str:
    path = value.get("@odata.id") if isinstance(value, dict) else None
    if not isinstance(path, str):
        raise _Failed(f"{place.words}: {missing}", "unsupported")
    return path


def _pending(
    client: _Client, bios: dict[str, Json], values: dict[str, str], wanted: Wanted
) -> dict[str, str]:
    """What a restart will change. A controller that does not tell has nothing pending that we could know."""
    settings = bios.get("@Redfish.Settings")
    try:
        path = _link(
            settings.get("SettingsObject") if isinstance(settings, dict) else None, "", client._place
        )
        later = client.get(path).get("Attributes")
    except _Failed:
        return {}
    found = kept(later, wanted) if isinstance(later, dict) else {}
    return {name: value for name, value in found.items() if name in values and values[name] != value}


def _word(value: object) -> str:
    return value[:MOST_VALUE] if isinstance(value, str) else ""
