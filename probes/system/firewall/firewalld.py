"""firewalld as configured: its version and firewalld.conf as written. Meanings are in scenarios/triage/knowledge."""

import re

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.types import Absent

CONF = "/etc/firewalld/firewalld.conf"
_INSTALLED = (
    "/usr/lib/python3*/site-packages/firewall/config/__init__.py",
    "/usr/lib/python3*/dist-packages/firewall/config/__init__.py",
    "/usr/lib/python3/dist-packages/firewall/config/__init__.py",
    "/usr/lib/python2*/site-packages/firewall/config/__init__.py",
)
_VERSION = re.compile(r"""^VERSION\s*=\s*['"]([0-9][0-9.]*)""", re.MULTILINE)
_NUMBER = re.compile(r"\b([0-9]{1,9}(?:\.[0-9]{1,9}){1,9})")


class Firewalld(msgspec.Struct, frozen=True, kw_only=True):
    """`ipv6_rpfilter` is the text after the equals sign; Absent where the key is not in the file."""

    version: str | Absent
    ipv6_rpfilter: str | Absent
    backend: str | Absent
    running: bool | Absent
    source: str = CONF


@compute_once_per_host
def read_firewalld(host: Host) -> Firewalld | Absent:
    """Absent where firewalld is not configured here (no firewalld.conf), or the file may not be read."""
    text = host.read_file_text(CONF)
    if isinstance(text, Absent):
        return text
    pairs = parse_firewalld_settings(text)
    missing = Absent(f"{CONF} does not set it", "missing", CONF)
    return Firewalld(
        version=read_firewalld_version(host),
        ipv6_rpfilter=pairs.get("IPv6_rpfilter", missing),
        backend=pairs.get("FirewallBackend", missing),
        running=is_firewalld_running(host),
    )


def parse_firewalld_settings(text: str) -> dict[str, str]:
    """firewalld.conf as firewalld reads it: `key=value`, exactly one equals sign, the first of a key counts.

    Source: firewall/core/io/firewalld_conf.py (`#` and `;` begin comments, empty values are ignored).
    """
    values: dict[str, str] = {}
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        pair = [part.strip() for part in line.split("=")]
        if len(pair) == 2 and pair[1]:
            values.setdefault(pair[0], pair[1])
    return values


def read_firewalld_version(host: Host) -> str | Absent:
    """firewalld's version, from its installed files, else from the package manager."""
    for pattern in _INSTALLED:
        for path in host.glob_paths(pattern):
            text = host.read_file_text(path)
            if not isinstance(text, Absent) and (match := _VERSION.search(text)):
                return match[1]
    for query in (
        ("rpm", "-q", "--qf", "%{VERSION}\n", "firewalld"),
        ("dpkg-query", "-W", "-f", "${Version}\n", "firewalld"),
    ):
        answer = host.read_command(*query)
        if not isinstance(answer, Absent) and (match := _NUMBER.search(answer)):
            return match[1]
    return Absent("neither firewalld's files nor its package report its version", "missing")


def is_firewalld_running(host: Host) -> bool | Absent:
    """Return whether the daemon runs, by systemd; its rules stay loaded only while it does (CleanupOnExit)."""
    answer = host.read_command("systemctl", "is-active", "firewalld.service", any_status=True)
    if isinstance(answer, Absent):
        return answer
    return answer.strip() == "active"
