"""Whether network namespaces can be made here: as root, or in a user namespace of one's own. Read-only and quick."""

from __future__ import annotations

from probes.host import Host
from probes.system.running.allowed import may_administer

# What forbids user namespaces to those who are not root: the value that forbids, and who set it.
_FORBIDDING = (
    ("/proc/sys/user/max_user_namespaces", 0, "user.max_user_namespaces is 0"),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        0,
        "kernel.unprivileged_userns_clone is 0 (Debian's setting)",
    ),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        1,
        "AppArmor takes the rights away in them (kernel.apparmor_restrict_unprivileged_userns is 1, Ubuntu's default)",
    ),
)


def why_no_namespaces(host: Host) -> str:
    """Empty where nothing speaks against it; the kernel has the last word."""
    if not host.exists("/proc/self/ns/net"):
        return "this kernel has no network namespaces (CONFIG_NET_NS)"
    if may_administer(host):
        return ""
    for path, value, reason in _FORBIDDING:
        if host.integer(path) == value:
            return (
                f"needs root: network namespaces need CAP_SYS_ADMIN, and user namespaces are closed: {reason}"
            )
    return ""
