"""The Redfish client against OpenStack's emulator, and against services that misbehave: one line each, no
credential.
"""

import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hostdx.probes.system.bios.attributes import BiosAttributes
from hostdx.probes.system.bios.redfish import (
    MAX_ANSWER_BYTES,
    PASSWORD,
    USER,
    Credentials,
    find_bmc_credentials,
    read_redfish_bios,
    redfish_url_problem,
)
from hostdx.probes.types import Absent, AbsentKind, is_present
from hostdx.probes.units import format_size
from hostdx.scenarios.triage.knowledge.bios import all_readings, is_known_attribute

trustme = pytest.importorskip("trustme")

BIOS = Path(__file__).parents[3] / "fixtures" / "bios"
HIDDEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The authority's certificate and a server's key with certificates, as files."""
    folder = tmp_path_factory.mktemp("tls")
    certificates = trustme.CA()
    certificates.cert_pem.write_to_path(str(folder / "ca.pem"))
    certificates.issue_cert("localhost", "127.0.0.1").private_key_and_cert_chain_pem.write_to_path(
        str(folder / "bmc.pem")
    )
    return folder / "ca.pem", folder / "bmc.pem"


@pytest.fixture(autouse=True)
def set_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(USER, "admin")
    monkeypatch.setenv(PASSWORD, HIDDEN)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))


@pytest.fixture(scope="module")
def emulators(
    authority: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], str]]:
    """vendor -> URL of an emulator that answers with its attributes; started when first asked for."""
    bcrypt = pytest.importorskip("bcrypt")
    pytest.importorskip("sushy_tools")
    folder = tmp_path_factory.mktemp("emulator")
    passwords = folder / "htpasswd"
    passwords.write_text("admin:" + bcrypt.hashpw(HIDDEN.encode(), bcrypt.gensalt(4)).decode() + "\n")
    children: dict[str, tuple[subprocess.Popen[str], str]] = {}

    def start_emulator(vendor: str) -> str:
        if vendor not in children:
            state = folder / vendor
            state.mkdir()
            child = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.fakes.hosts.redfish_emulator",
                    str(BIOS / f"{vendor}.json"),
                    str(authority[1]),
                    str(passwords),
                    str(state),
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=Path(__file__).parents[4],
                env={k: v for k, v in os.environ.items() if k not in (USER, PASSWORD)},
            )
            assert child.stdout is not None
            children[vendor] = (child, f"https://localhost:{int(child.stdout.readline())}")
        return children[vendor][1]

    yield start_emulator
    for child, _ in children.values():
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


@pytest.mark.real
@pytest.mark.parametrize(
    ("vendor", "apbdis"), [("dell", "Disabled"), ("hpe", "Auto"), ("supermicro", "1"), ("lenovo", "P0")]
)
def test_four_vendors(
    emulators: Callable[[str], str], authority: tuple[Path, Path], vendor: str, apbdis: str
) -> None:
    redfish_bios = read_redfish_bios(emulators(vendor), is_known_attribute, str(authority[0]))
    assert is_present(redfish_bios), redfish_bios
    by_id = {r.id: r for r in all_readings(redfish_bios.values, redfish_bios.pending, vendor)}
    assert by_id["apbdis"].value == apbdis and redfish_bios.pending == {}
    assert "SECRET" not in repr(redfish_bios) and HIDDEN not in repr(redfish_bios)


@pytest.mark.real
def test_a_wrong_password_is_one_line(
    emulators: Callable[[str], str], authority: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, "wrong-staple")
    redfish_bios = read_redfish_bios(emulators("dell"), is_known_attribute, str(authority[0]))
    _one_line(redfish_bios, "permission", "401")


@pytest.mark.real
def test_a_certificate_of_nobody_that_is_trusted(emulators: Callable[[str], str]) -> None:
    redfish_bios = read_redfish_bios(emulators("dell"), is_known_attribute)
    _one_line(redfish_bios, "permission", "--redfish-ca")


def _one_line(answer: BiosAttributes | Credentials | Absent, kind: AbsentKind, data: str) -> None:
    """Of this kind, in one line that holds `data` (a number, a name, a command) and nothing that is secret."""
    assert isinstance(answer, Absent) and answer.kind == kind and data in answer.reason, answer
    # a file is named by its path, which may be long
    assert "\n" not in answer.reason and len(re.sub(r"/\S+", "", answer.reason)) < 300
    for hidden in (HIDDEN, "wrong-staple", "YWRtaW46"):
        assert hidden not in repr(answer)


class _Odd(http.server.BaseHTTPRequestHandler):
    """Answers as the path of `mode` says; every service below is wrong in one way."""

    mode = ""

    def do_GET(self) -> None:
        body, status, headers = b"{}", 200, {}
        if self.mode == "huge":
            body = b"[" + b" " * (MAX_ANSWER_BYTES + 1)
        elif self.mode == "malformed":
            body = b"<html>admin:" + HIDDEN.encode()
        elif self.mode == "deep":
            body = b"[" * 200_000
        elif self.mode == "list":
            body = b"[]"
        elif self.mode == "elsewhere":
            body = b'{"Systems": {"@odata.id": "//evil.example/redfish/v1"}}'
        elif self.mode == "redirect":
            status, headers = 302, {"Location": "http://evil.example/"}
        elif self.mode == "echo":
            body = json.dumps({"Systems": [{"Word": f"<{HIDDEN}>"}]}).encode()
        elif self.mode == "echo-header":
            body = json.dumps({self.headers["Authorization"]: 1}).encode()
        elif self.mode == "several":
            body = b'{"Systems": {"@odata.id": "/redfish/v1/Systems"}, "Members": [{}, {}]}'
        elif self.mode == "broken":
            self.wfile.write(b"HTTP/1.1 abc\r\n\r\n")
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def odd() -> Iterator[Callable[[str], str]]:
    servers: list[http.server.ThreadingHTTPServer] = []

    def start_server(mode: str) -> str:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Odd", (_Odd,), {"mode": mode}))
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start_server
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("mode", "kind", "data"),
    [
        ("huge", "invalid", format_size(MAX_ANSWER_BYTES)),
        ("malformed", "invalid", "JSON"),
        ("deep", "invalid", "JSON"),
        ("list", "invalid", "JSON"),
        ("elsewhere", "invalid", "127.0.0.1:"),
        ("redirect", "unsupported", "302"),
        ("several", "invalid", "https://127.0.0.1/redfish/v1/Systems/ID"),
        ("broken", "invalid", "BadStatusLine"),
        ("echo", "invalid", "127.0.0.1:"),  # let through, the answer has no systems: unsupported
        ("echo-header", "invalid", "127.0.0.1:"),
        ("empty", "unsupported", "127.0.0.1:"),
    ],
)
def test_services_that_misbehave(odd: Callable[[str], str], mode: str, kind: AbsentKind, data: str) -> None:
    _one_line(read_redfish_bios(odd(mode), is_known_attribute), kind, data)


def test_a_service_that_never_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        _one_line(read_redfish_bios(url, is_known_attribute, within_s=0.2), "timeout", url[7:])


def test_a_port_where_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    _one_line(read_redfish_bios(f"http://127.0.0.1:{port}", is_known_attribute), "missing", str(port))


def test_a_service_that_speaks_no_tls(odd: Callable[[str], str]) -> None:
    redfish_bios = read_redfish_bios(odd("list").replace("http:", "https:"), is_known_attribute)
    _one_line(redfish_bios, "invalid", "TLS")


@pytest.mark.parametrize(
    ("url", "data"),
    [
        (f"https://admin:{HIDDEN}@bmc", "netrc"),
        ("http://bmc.example.org", "https"),
        ("ftp://bmc", "https://bmc.example.org"),
        ("https://bmc/login", "/redfish/v1"),
        ("https://bmc/?a=b", "#"),
        ("https://bmc:99999999", "URL"),
        ("https://[", "URL"),
        ("https://bmc /x", "https://bmc.example.org"),
    ],
)
def test_urls_that_are_not_asked(url: str, data: str) -> None:
    assert redfish_url_problem(url) and HIDDEN not in redfish_url_problem(url)
    _one_line(read_redfish_bios(url, is_known_attribute), "invalid", data)


def test_a_certificate_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    redfish_bios = read_redfish_bios("https://localhost:1", is_known_attribute, str(tmp_path / "ca.pem"))
    _one_line(redfish_bios, "invalid", str(tmp_path / "ca.pem"))


def test_credentials_from_netrc_only_where_it_is_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(USER)
    file = tmp_path / "netrc"
    assert isinstance(find_bmc_credentials("bmc"), Absent)
    file.write_text(f"machine bmc login admin password {HIDDEN}\n")
    file.chmod(0o600)
    credentials = find_bmc_credentials("bmc")
    assert isinstance(credentials, Credentials) and credentials.authorization_header().startswith("Basic ")
    assert HIDDEN not in repr(credentials) and HIDDEN not in str(credentials)
    file.chmod(0o640)
    _one_line(find_bmc_credentials("bmc"), "permission", f"`chmod 600 {file}`")
    file.chmod(0o600)
    monkeypatch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
    _one_line(find_bmc_credentials("bmc"), "permission", f"uid {file.stat().st_uid}")
    monkeypatch.undo()
    monkeypatch.setenv("NETRC", str(file))
    file.write_text(f"machine {HIDDEN} nonsense\n")
    broken = find_bmc_credentials("bmc")
    _one_line(broken, "permission", str(file))
