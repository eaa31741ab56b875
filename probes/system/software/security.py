"""What the kernel checks or does more slowly for security's sake: mitigations, security modules, our own seccomp."""

import re

import msgspec

from probes.host import Host
from probes.types import Absent, present

VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"


class Security(msgspec.Struct, frozen=True, kw_only=True):
    """`mitigations`: the kernel's word by vulnerability; one that is missing is one this kernel does not know.

    `seccomp_filters`: of our own process, which every system call of the measurement passes (proc_pid_status(5)).
    """

    mitigations: dict[str, str] | Absent
    selinux: str | Absent
    apparmor: str | Absent
    lockdown: str | Absent
    seccomp_filters: int | Absent


def security(host: Host) -> Security:
    """From /sys/devices/system/cpu/vulnerabilities, /sys/fs/selinux, /sys/module/apparmor and /proc/self/status."""
    names = host.listing(VULNERABILITIES)
    mitigations: dict[str, str] | Absent = names if isinstance(names, Absent) else {}
    if isinstance(mitigations, dict) and present(names):
        for name in names:
            value = host.text(f"{VULNERABILITIES}/{name}", 4096)
            if present(value):
                mitigations[name] = value.strip()
    return Security(
        mitigations=mitigations,
        selinux=_selinux(host),
        apparmor=_apparmor(host),
        lockdown=_chosen(host.text("/sys/kernel/security/lockdown", 4096)),
        seccomp_filters=_filters(host),
    )


def _selinux(host: Host) -> str | Absent:
    value = host.text("/sys/fs/selinux/enforce", 16)
    if present(value):
        return "enforcing" if value.strip() == "1" else "permissive"
    return "off" if host.exists("/sys/fs") and not host.exists("/sys/fs/selinux") else value


def _apparmor(host: Host) -> str | Absent:
    value = host.text("/sys/module/apparmor/parameters/enabled", 16)
    if present(value):
        return "on" if value.strip() == "Y" else "off"
    return "off" if host.exists("/sys/module") and not host.exists("/sys/module/apparmor") else value


def _chosen(text: str | Absent) -> str | Absent:
    """`none [integrity] confidentiality`: the bracketed word."""
    if isinstance(text, Absent):
        return text
    found = text.partition("[")[2].partition("]")[0]
    return found or Absent("no choice is marked", "invalid", "/sys/kernel/security/lockdown")


def _filters(host: Host) -> int | Absent:
    """Seccomp_filters since 5.9; before it Seccomp: 2 says that there is one at least."""
    text = host.text("/proc/self/status", 1 << 16)
    if isinstance(text, Absent):
        return text
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    for name in ("Seccomp_filters", "Seccomp"):
        value = fields.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,9}", value):
            return int(value) if name == "Seccomp_filters" else int(value == "2")
    return Absent("the kernel reports nothing about seccomp", "unsupported", "/proc/self/status")
