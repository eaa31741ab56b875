"""What the kernel checks or does more slowly for security's sake: mitigations, security modules, our own seccomp."""

import re

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present

VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"


class SecurityModules(msgspec.Struct, frozen=True, kw_only=True):
    """`mitigations`: the kernel's word by vulnerability; one that is missing is one this kernel does not know.

    `seccomp_filters`: of our own process, which every system call of the measurement passes (proc_pid_status(5)).
    """

    mitigations: dict[str, str] | Absent
    selinux: str | Absent
    apparmor: str | Absent
    lockdown: str | Absent
    seccomp_filters: int | Absent


def read_security(host: Host) -> SecurityModules:
    """From /sys/devices/system/cpu/vulnerabilities, /sys/fs/selinux, /sys/module/apparmor and /proc/self/status."""
    names = host.list_names(VULNERABILITIES)
    mitigations: dict[str, str] | Absent = names if isinstance(names, Absent) else {}
    if isinstance(mitigations, dict) and is_present(names):
        for name in names:
            value = host.read_file_text(f"{VULNERABILITIES}/{name}", 4096)
            if is_present(value):
                mitigations[name] = value.strip()
    return SecurityModules(
        mitigations=mitigations,
        selinux=_module_state(host, "/sys/fs/selinux", "enforce", "1", ("enforcing", "permissive")),
        apparmor=_module_state(host, "/sys/module/apparmor", "parameters/enabled", "Y", ("on", "off")),
        lockdown=host.read_bracketed("/sys/kernel/security/lockdown"),
        seccomp_filters=_count_seccomp_filters(host),
    )


def _module_state(host: Host, folder: str, flag: str, on: str, words: tuple[str, str]) -> str | Absent:
    """The first of the words where the flag is `on`, else the second; "off" where the module is not there."""
    value = host.read_file_text(f"{folder}/{flag}", 16)
    if is_present(value):
        return words[value.strip() != on]
    return "off" if host.path_exists(folder.rpartition("/")[0]) and not host.path_exists(folder) else value


def _count_seccomp_filters(host: Host) -> int | Absent:
    """Seccomp_filters since 5.9; before it Seccomp: 2 says that there is one at least."""
    text = host.read_file_text("/proc/self/status", 1 << 16)
    if isinstance(text, Absent):
        return text
    fields = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    for name in ("Seccomp_filters", "Seccomp"):
        value = fields.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,9}", value):
            return int(value) if name == "Seccomp_filters" else int(value == "2")
    return Absent("the kernel reports nothing about seccomp", "unsupported", "/proc/self/status")
