"""The distribution: which commands and paths a remedy must name."""

import re
import shlex
from typing import Literal

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present

Family = Literal["debian", "redhat", "suse", "arch", "alpine", "other"]
_FAMILIES: tuple[tuple[Family, frozenset[str]], ...] = (
    ("redhat", frozenset({"rhel", "fedora", "centos", "almalinux", "rocky", "ol", "scientific", "amzn"})),
    ("debian", frozenset({"debian", "ubuntu", "linuxmint", "raspbian"})),
    ("suse", frozenset({"suse", "sles", "opensuse", "opensuse-leap", "opensuse-tumbleweed"})),
    ("arch", frozenset({"arch"})),
    ("alpine", frozenset({"alpine"})),
)
# Before os-release: the first line of a file that says it in words (EL6, old Debian).
_OLD_FILES = (
    ("/etc/redhat-release", "rhel"),
    ("/etc/SuSE-release", "suse"),
    ("/etc/debian_version", "debian"),
)


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """`id` and `version` as in os-release(5); `major` is 0 where there is no number (rolling releases)."""

    id: str
    version: str
    name: str
    family: Family
    major: int
    source: str


def read_distribution(host: Host) -> Distribution | Absent:
    """From os-release(5) or, on old systems, the distribution's own file."""
    first: Absent | None = None
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        text = host.read_file_text(path, 1 << 16)
        if isinstance(text, str):
            return _distribution_from_values(parse_os_release(text), path)
        first = text if first is None else first
    for path, name in _OLD_FILES:
        text = host.read_file_text(path, 1 << 16)
        if is_present(text) and text.strip():
            line = text.strip().splitlines()[0]
            version = re.search(r"[0-9]{1,9}(\.[0-9]{1,9}){0,9}", line)
            words = {"ID": name, "VERSION_ID": version[0] if version else "", "PRETTY_NAME": line}
            return _distribution_from_values(words, path)
    return first if first is not None else Absent("no os-release")


def parse_os_release(text: str) -> dict[str, str]:
    """Shell assignments, quoted or not; lines that are none are left out."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        match = re.match(r"\s*([A-Za-z_][A-Za-z0-9_]*)=(.*)", line)
        if match is None:
            continue
        try:
            values[match[1]] = " ".join(shlex.split(match[2]))
        except ValueError:  # an unclosed quote
            values[match[1]] = match[2].strip().strip("\"'")
    return values


def _distribution_from_values(values: dict[str, str], path: str) -> Distribution:
    name = values.get("ID", "linux")
    likes = {name, *values.get("ID_LIKE", "").split()}
    version = values.get("VERSION_ID", "")
    major = re.match(r"[0-9]{1,9}", version)
    return Distribution(
        id=name,
        version=version,
        name=values.get("PRETTY_NAME") or f"{name} {version}".strip(),
        family=next((family for family, ids in _FAMILIES if likes & ids), "other"),
        major=int(major[0]) if major else 0,
        source=path,
    )
