"""The running kernel."""

import os
import re

import msgspec

from hostdx.probes.files.safe_read import read_shipped_words
from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.reading.read_trace import note_read
from hostdx.probes.types import Absent, is_present

# Boot parameters that change how fast a host is (Documentation/admin-guide/kernel-parameters.txt). Only these are
# shown: the rest of a command line can hold what an admin would not put into a ticket.
_SPEED = frozenset(
    """mitigations nosmt maxcpus nr_cpus isolcpus nohz nohz_full rcu_nocbs irqaffinity idle intel_idle.max_cstate
    processor.max_cstate intel_pstate amd_pstate cpufreq.default_governor cpuidle.off numa numa_balancing
    transparent_hugepage hugepages hugepagesz default_hugepagesz iommu intel_iommu amd_iommu swiotlb tsc clocksource
    nopti pti spectre_v2 nospectre_v1 nospectre_v2 spec_store_bypass_disable tsx l1tf mds elevator scsi_mod.use_blk_mq
    libata.force nvme_core.multipath nvme_core.default_ps_max_latency_us pcie_aspm raid456.devices_handle_discard_safely
    psi delayacct cgroup_disable cgroup_no_v1 systemd.unified_cgroup_hierarchy audit selinux apparmor nopvspin
    skew_tick threadirqs preempt""".split()  # noqa: SIM905
)


class KernelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """`release` as of uname -r, `build` as of uname -v."""

    release: str | Absent
    build: str | Absent
    machine: str | Absent
    cmdline: str | Absent
    boot_id: str | Absent
    source: str = "uname -r"  # what the release was read from

    def boot_parameters(self) -> dict[str, str]:
        """The command line by name; a bare word has an empty value, of a repeated one the last counts."""
        words = self.cmdline.split() if isinstance(self.cmdline, str) else []
        return {name: value for name, _, value in (word.partition("=") for word in words)}

    def speed_parameters(self) -> str | Absent:
        """Those of the command line that change how fast the host is; empty where there are none."""
        if isinstance(self.cmdline, Absent):
            return self.cmdline
        return " ".join(f"{n}={v}" if v else n for n, v in self.boot_parameters().items() if n in _SPEED)


@compute_once_per_host
def read_kernel(host: Host) -> KernelFacts:
    """Live from uname(2); captured from /proc or the sosreport's `uname -a`."""
    release, build, machine = _read_release_version_machine(host)
    cmdline = host.read_file_text("/proc/cmdline")
    return KernelFacts(
        release=release,
        build=build,
        machine=machine,
        cmdline=cmdline.strip() if is_present(cmdline) else cmdline,
        boot_id=host.read_word("/proc/sys/kernel/random/boot_id"),
        source=_release_source(host),
    )


def _release_source(host: Host) -> str:
    if host.live:
        note_read("uname -r")
        return "uname -r"
    places = ("/proc/sys/kernel/osrelease", host.captured_output_path_or_command("uname -a"), "/proc/version")
    return next((place for place in places if place.startswith("/") and host.path_exists(place)), places[0])


def _read_release_version_machine(host: Host) -> tuple[str | Absent, str | Absent, str | Absent]:
    if host.live:
        name = os.uname()
        return name.release, name.version, name.machine
    # `uname -a`: Linux NAME RELEASE #1 SMP ... x86_64 x86_64 x86_64 GNU/Linux
    line = host.read_command("uname", "-a")
    words = line.split() if is_present(line) else []
    machine: str | Absent = Absent(
        "the captured tree does not name the machine's architecture", "captured", "uname -m"
    )
    build = host.read_file_text("/proc/sys/kernel/version")
    release = host.read_file_text("/proc/sys/kernel/osrelease")
    if len(words) > 4 and words[0] == "Linux":
        release = words[2] if isinstance(release, Absent) else release
        machine = words[-2] if words[-1].startswith("GNU") else words[-1]
        build = " ".join(words[3:]) if isinstance(build, Absent) else build
    version = host.read_file_text("/proc/version")
    match = re.match(r"Linux version (\S+).*?(#\d.*)", version) if is_present(version) else None
    if match:
        release = match[1] if isinstance(release, Absent) else release
        build = match[2] if isinstance(build, Absent) else build
    return release, build, machine


# The kernel settings under /proc/sys that are known to change how fast a host is.
SPEED = read_shipped_words(__file__, "speed.toml", "sysctls")


def sysctl_path(name: str) -> str:
    return "/proc/sys/" + name.replace(".", "/")


def speed_relevant_sysctls(host: Host) -> dict[str, str | Absent]:
    """By name; one that this kernel does not have is left out, one that may not be read is absent."""
    values: dict[str, str | Absent] = {}
    for name in SPEED:
        value = host.read_file_text(sysctl_path(name), 4096)
        if isinstance(value, Absent):
            if value.kind not in ("missing", "captured"):
                values[name] = value
        else:
            values[name] = " ".join(value.split())
    return values
