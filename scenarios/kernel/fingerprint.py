"""The host's fingerprint beyond the facts of every run: what two runs must share before their figures say anything.

By subject, so that a comparison can tell what each difference is known to move (`knowledge/differences.toml`).
"""

from collections.abc import Iterator
from typing import NamedTuple

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
from probes.types import Absent, Json, present

THP = "/sys/kernel/mm/transparent_hugepage"


class Trait(NamedTuple):
    subject: str
    name: str
    value: Json | Absent
    source: str


def fingerprint(host: Host, place: Placement | None) -> Iterator[Trait]:
    """`place`: where the files of the measurement lie; None where only CPU and network are measured."""
    yield from _kernel(host)
    yield from _security(host)
    yield from _machine(host)
    yield from _userland(host)
    mine = _cpus_allowed(allowed(host).cpus, topology(host).online)
    yield Trait("limits", "cpus_allowed", mine, "/proc/self/status Cpus_allowed_list")
    for name, value in speed_settings(host).items():
        yield Trait("sysctl", name, value, path_of(name))
    if place is not None:
        yield from _place(host, place)


def _kernel(host: Host) -> Iterator[Trait]:
    build = kernel_build(host)
    yield Trait("kernel", "preemption", build.preemption, build.source)
    yield Trait("kernel", "clock_source", build.clock_source, "clocksource0/current_clocksource")
    yield Trait("kernel", "config_digest", build.digest, build.source)
    if isinstance(build.config, Absent):
        yield Trait("kernel", "config", build.config, build.source)
    else:
        for name, value in build.config.items():
            yield Trait("kernel", f"config.{name}", value, build.source)
    for patch in build.live_patches:
        yield Trait("kernel", f"live_patch.{patch}", True, "/sys/kernel/livepatch")
    if isinstance(build.modules, Absent):
        yield Trait("kernel", "modules", build.modules, "/proc/modules")
    else:
        for module in build.modules:
            yield Trait("module", module, True, "/proc/modules")
    yield Trait("memory", "huge_pages_defrag", host.chosen(f"{THP}/defrag"), f"{THP}/defrag")
    for name, path in (
        ("idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"),
        ("idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor_ro"),
    ):
        yield Trait("cpu", name, host.word(path), path)


def _security(host: Host) -> Iterator[Trait]:
    it = security(host)
    if isinstance(it.mitigations, Absent):
        yield Trait("mitigation", "all", it.mitigations, VULNERABILITIES)
    else:
        for name, value in it.mitigations.items():
            yield Trait("mitigation", name, value, f"{VULNERABILITIES}/{name}")
    yield Trait("security", "selinux", it.selinux, "/sys/fs/selinux/enforce")
    yield Trait("security", "apparmor", it.apparmor, "/sys/module/apparmor/parameters/enabled")
    yield Trait("security", "lockdown", it.lockdown, "/sys/kernel/security/lockdown")
    yield Trait("security", "seccomp_filters", it.seccomp_filters, "/proc/self/status")


def _machine(host: Host) -> Iterator[Trait]:
    it = firmware(host)
    for subject, name, value, file in (
        ("bios", "vendor", it.vendor, "bios_vendor"),
        ("bios", "version", it.version, "bios_version"),
        ("bios", "date", it.date, "bios_date"),
        ("machine", "product", it.product, "product_name"),
        ("machine", "board", it.board, "board_name"),
    ):
        yield Trait(subject, name, value, f"{DMI}/{file}")
    yield Trait("cpu", "microcode", it.microcode, "/proc/cpuinfo")


def _cpus_allowed(mine: frozenset[int] | Absent, online: frozenset[int]) -> str | Absent:
    """`all` that are online, or which: so that hosts of another size do not differ in it."""
    if isinstance(mine, Absent):
        return mine
    return "all" if mine >= online else as_list(mine)


def _userland(host: Host) -> Iterator[Trait]:
    it = userland(host)
    for name, version in it.libraries.items():
        yield Trait("system", name, version, "the running interpreter")
    installed = packages(host)
    if isinstance(installed, Absent):
        yield Trait("packages", "others", installed, "dpkg, rpm")
    else:
        for name, version in installed.telling.items():
            yield Trait("package", name, version, installed.source)
        yield Trait("packages", "others", installed.others, installed.source)
    yield Trait("tuned", "profile", it.tuned, "/etc/tuned/active_profile")


def _place(host: Host, place: Placement) -> Iterator[Trait]:
    """The measured directory by what it is: mount points and device names differ from host to host.

    `devices` are the names all the same: they tell which disks' facts are of the measured place, and are not compared.
    """
    mount = place.mount
    source = "/proc/self/mountinfo"
    yield Trait("directory", "file_system", mount.fstype, source)
    yield Trait("directory", "options", ",".join(sorted(mount.options)), source)
    yield Trait("directory", "layers", len(place.layers), "/sys/block")
    known = block_devices(host)
    disks = [known[known[name].parent or name] for name in place.leaves if name in known]
    described = {" ".join(word for word in (d.kind, d.transport, d.model) if present(word)) for d in disks}
    if described:
        names = {*place.layers, *place.leaves, *(disk.name for disk in disks)}
        yield Trait("directory", "disks", [*sorted(described)], "/sys/block")
        yield Trait("directory", "devices", [*sorted(names)], "/sys/block")
