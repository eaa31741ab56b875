"""The host's fingerprint beyond the facts of every run: what two runs must share before their figures say anything.

By subject, so that a comparison can tell what each difference is known to move (`knowledge/differences.toml`).
"""

from collections.abc import Iterator

from hostdx.probes.cpu_list import format_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.topology import DirectoryPlacement
from hostdx.probes.system.firmware import DMI, read_firmware
from hostdx.probes.system.processor.topology import read_cpu_topology
from hostdx.probes.system.running.allowed import read_allowed_resources
from hostdx.probes.system.software.kernel import speed_relevant_sysctls, sysctl_path
from hostdx.probes.system.software.kernel_build import kernel_build
from hostdx.probes.system.software.packages import read_packages, read_userland
from hostdx.probes.system.software.security import VULNERABILITIES, read_security
from hostdx.probes.types import Absent, FactOrUnread, is_present, make_fact

THP = "/sys/kernel/mm/transparent_hugepage"


def read_fingerprint(host: Host, placement: DirectoryPlacement | None) -> Iterator[FactOrUnread]:
    """`placement`: where the files of the measurement lie; None where only CPU and network are measured."""
    yield from _kernel_facts(host)
    yield from _security_facts(host)
    yield from _bios_and_machine_facts(host)
    yield from _userland_facts(host)
    mine = _all_or_allowed_cpus(read_allowed_resources(host).cpus, read_cpu_topology(host).online)
    yield make_fact("limits", "cpus_allowed", mine, "/proc/self/status Cpus_allowed_list")
    for name, value in speed_relevant_sysctls(host).items():
        yield make_fact("sysctl", name, value, sysctl_path(name))
    if placement is not None:
        yield from _directory_facts(host, placement)


def _kernel_facts(host: Host) -> Iterator[FactOrUnread]:
    build = kernel_build(host)
    yield make_fact("kernel", "preemption", build.preemption, build.source)
    yield make_fact("kernel", "clock_source", build.clock_source, "clocksource0/current_clocksource")
    yield make_fact("kernel", "config_digest", build.digest, build.source)
    if isinstance(build.config, Absent):
        yield make_fact("kernel", "config", build.config, build.source)
    else:
        for name, value in build.config.items():
            yield make_fact("kernel", f"config.{name}", value, build.source)
    for patch in build.live_patches:
        yield make_fact("kernel", f"live_patch.{patch}", True, "/sys/kernel/livepatch")
    if isinstance(build.modules, Absent):
        yield make_fact("kernel", "modules", build.modules, "/proc/modules")
    else:
        for module in build.modules:
            yield make_fact("module", module, True, "/proc/modules")
    yield make_fact("memory", "huge_pages_defrag", host.read_bracketed(f"{THP}/defrag"), f"{THP}/defrag")
    for name, path in (
        ("idle_driver", "/sys/devices/system/cpu/cpuidle/current_driver"),
        ("idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor_ro"),
    ):
        yield make_fact("cpu", name, host.read_word(path), path)


def _security_facts(host: Host) -> Iterator[FactOrUnread]:
    settings = read_security(host)
    if isinstance(settings.mitigations, Absent):
        yield make_fact("mitigation", "all", settings.mitigations, VULNERABILITIES)
    else:
        for name, value in settings.mitigations.items():
            yield make_fact("mitigation", name, value, f"{VULNERABILITIES}/{name}")
    yield make_fact("security", "selinux", settings.selinux, "/sys/fs/selinux/enforce")
    yield make_fact("security", "apparmor", settings.apparmor, "/sys/module/apparmor/parameters/enabled")
    yield make_fact("security", "lockdown", settings.lockdown, "/sys/kernel/security/lockdown")
    yield make_fact("security", "seccomp_filters", settings.seccomp_filters, "/proc/self/status")


def _bios_and_machine_facts(host: Host) -> Iterator[FactOrUnread]:
    bios = read_firmware(host)
    for subject, name, value, file in (
        ("bios", "vendor", bios.vendor, "bios_vendor"),
        ("bios", "version", bios.version, "bios_version"),
        ("bios", "date", bios.date, "bios_date"),
        ("machine", "product", bios.product, "product_name"),
        ("machine", "board", bios.board, "board_name"),
    ):
        yield make_fact(subject, name, value, f"{DMI}/{file}")
    yield make_fact("cpu", "microcode", bios.microcode, "/proc/cpuinfo")


def _all_or_allowed_cpus(mine: frozenset[int] | Absent, online: frozenset[int]) -> str | Absent:
    """`all` that are online, or which: so that hosts of another size do not differ in it."""
    if isinstance(mine, Absent):
        return mine
    return "all" if mine >= online else format_cpu_list(mine)


def _userland_facts(host: Host) -> Iterator[FactOrUnread]:
    environment = read_userland(host)
    for name, version in environment.libraries.items():
        yield make_fact("system", name, version, "the running interpreter")
    installed = read_packages(host)
    if isinstance(installed, Absent):
        yield make_fact("packages", "others", installed, "dpkg, rpm")
    else:
        for name, version in installed.telling.items():
            yield make_fact("package", name, version, installed.source)
        yield make_fact("packages", "others", installed.others, installed.source)
    yield make_fact("tuned", "profile", environment.tuned, "/etc/tuned/active_profile")


def _directory_facts(host: Host, place: DirectoryPlacement) -> Iterator[FactOrUnread]:
    """The measured directory by what it is: mount points and device names differ from host to host.

    `devices` are the names all the same: they tell which disks' facts are of the measured place, and are not compared.
    """
    mount = place.mount
    source = "/proc/self/mountinfo"
    yield make_fact("directory", "file_system", mount.fstype, source)
    yield make_fact("directory", "options", ",".join(sorted(mount.options)), source)
    yield make_fact("directory", "layers", len(place.layers), "/sys/block")
    devices = block_devices(host)
    disks = [devices[devices[name].parent or name] for name in place.leaves if name in devices]
    described = {" ".join(word for word in (d.kind, d.transport, d.model) if is_present(word)) for d in disks}
    if described:
        names = {*place.layers, *place.leaves, *(disk.name for disk in disks)}
        yield make_fact("directory", "disks", [*sorted(described)], "/sys/block")
        yield make_fact("directory", "devices", [*sorted(names)], "/sys/block")
