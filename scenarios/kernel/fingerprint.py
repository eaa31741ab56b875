"""The host's fingerprint beyond the facts of every run: what two runs must share before their figures say anything.

By subject, so that a comparison can tell what each difference is known to move (`knowledge/differences.toml`).
"""

from collections.abc import Iterator

from probes.host import Host
from probes.system.disk.block import block_devices
from probes.system.disk.topology import Placement
from probes.system.firmware import DMI, firmware
from probes.system.processor.cpulist import as_list
from probes.system.processor.topology import topology
from probes.system.running.allowed import allowed
from probes.system.software.kernel_build import kernel_build
from probes.system.software.packages import packages
from probes.system.software.security import VULNERABILITIES, security
from probes.system.software.sysctl import path_of, speed_settings
from probes.system.software.userland import userland
from probes.types import Absent, Entry, entry, present

THP = "/sys/kernel/mm/transparent_hugepage"


def fingerprint(host: Host, place: Placement | None) -> Iterator[Entry]:
    """`place`: where the files of the measurement lie; None where only CPU and network are measured."""
    yield from _kernel(host)
    yield from _security(host)
    yield from _machine(host)
    yield from _userland(host)
    mine = _cpus_allowed(allowed(host).cpus, topology(host).online)
    yield entry("limits", "cpus_allowed", mine, "/proc/self/status Cpus_allowed_list")
    for name, value in speed_settings(host).items():
        yield entry("sysctl", name, value, path_of(name))
    if place is not None:
        yield from _place(host, place)


def _kernel(host: Host) -> Iterator[Entry]:
    build = kernel_build(host)
    yield entry("kernel", "preemption", build.preemption, build.source)
    yield entry("kernel", "clock_source", build.clock_source, "clocksource0/current_clocksource")
    yield entry("kernel", "config_digest", build.digest, build.source)
    if isinstance(build.config, Absent):
        yield entry("kernel", "config", build.config, build.source)
    else:
        for name, value in build.config.items():
            yield entry("kernel", f"config.{name}", value, build.source)
    for patch in build.live_patches:
        yield entry("kernel", f"live_patch.{patch}", True, "/sys/kernel/livepatch")
    if isinstance(build.modules, Absent):
        yield entry("kernel", "modules", build.modules, "/proc/modules")
    else:
        for module in build.modules:
            yield entry("module", module, True, "/proc/modules")
    yield entry("memory", "huge_pages_defrag", host.chosen(f"{THP}/defrag"), f"{THP}/defrag")
    for name, path in (
        ("idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"),
        ("idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor_ro"),
    ):
        yield entry("cpu", name, host.word(path), path)


def _security(host: Host) -> Iterator[Entry]:
    it = security(host)
    if isinstance(it.mitigations, Absent):
        yield entry("mitigation", "all", it.mitigations, VULNERABILITIES)
    else:
        for name, value in it.mitigations.items():
            yield entry("mitigation", name, value, f"{VULNERABILITIES}/{name}")
    yield entry("security", "selinux", it.selinux, "/sys/fs/selinux/enforce")
    yield entry("security", "apparmor", it.apparmor, "/sys/module/apparmor/parameters/enabled")
    yield entry("security", "lockdown", it.lockdown, "/sys/kernel/security/lockdown")
    yield entry("security", "seccomp_filters", it.seccomp_filters, "/proc/self/status")


def _machine(host: Host) -> Iterator[Entry]:
    it = firmware(host)
    for subject, name, value, file in (
        ("bios", "vendor", it.vendor, "bios_vendor"),
        ("bios", "version", it.version, "bios_version"),
        ("bios", "date", it.date, "bios_date"),
        ("machine", "product", it.product, "product_name"),
        ("machine", "board", it.board, "board_name"),
    ):
        yield entry(subject, name, value, f"{DMI}/{file}")
    yield entry("cpu", "microcode", it.microcode, "/proc/cpuinfo")


def _cpus_allowed(mine: frozenset[int] | Absent, online: frozenset[int]) -> str | Absent:
    """`all` that are online, or which: so that hosts of another size do not differ in it."""
    if isinstance(mine, Absent):
        return mine
    return "all" if mine >= online else as_list(mine)


def _userland(host: Host) -> Iterator[Entry]:
    it = userland(host)
    for name, version in it.libraries.items():
        yield entry("system", name, version, "the running interpreter")
    installed = packages(host)
    if isinstance(installed, Absent):
        yield entry("packages", "others", installed, "dpkg, rpm")
    else:
        for name, version in installed.telling.items():
            yield entry("package", name, version, installed.source)
        yield entry("packages", "others", installed.others, installed.source)
    yield entry("tuned", "profile", it.tuned, "/etc/tuned/active_profile")


def _place(host: Host, place: Placement) -> Iterator[Entry]:
    """The measured directory by what it is: mount points and device names differ from host to host.

    `devices` are the names all the same: they tell which disks' facts are of the measured place, and are not compared.
    """
    mount = place.mount
    source = "/proc/self/mountinfo"
    yield entry("directory", "file_system", mount.fstype, source)
    yield entry("directory", "options", ",".join(sorted(mount.options)), source)
    yield entry("directory", "layers", len(place.layers), "/sys/block")
    known = block_devices(host)
    disks = [known[known[name].parent or name] for name in place.leaves if name in known]
    described = {" ".join(word for word in (d.kind, d.transport, d.model) if present(word)) for d in disks}
    if described:
        names = {*place.layers, *place.leaves, *(disk.name for disk in disks)}
        yield entry("directory", "disks", [*sorted(described)], "/sys/block")
        yield entry("directory", "devices", [*sorted(names)], "/sys/block")
