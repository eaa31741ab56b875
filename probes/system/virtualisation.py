"""Virtual machine or metal, container or not. Several marks are combined: each alone is wrong somewhere.

systemd-detect-virt is not asked: it answers `docker` for a virtual machine whose disk was made from an image, because
/.dockerenv was left in it.
"""

import re

import msgspec

from probes.host import Host, once
from probes.rights import FIRST_PID_NAMESPACE
from probes.system.disk.mounts import mount_of, mounts
from probes.system.processor.cpu import cpu
from probes.types import Absent, present

# Beginnings of DMI vendor and product names (systemd src/basic/virt.c has the same knowledge).
_DMI: tuple[tuple[str, str], ...] = (
    ("KVM", "kvm"),
    ("QEMU", "kvm"),
    ("OpenStack", "kvm"),
    ("Amazon EC2", "kvm"),
    ("Google Compute", "kvm"),
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Oracle Virtual", "virtualbox"),
    ("Xen", "xen"),
    ("Bochs", "bochs"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Hyper-V", "hyperv"),
    ("Virtual Machine", "hyperv"),
    ("Apple Virtualization", "apple"),
)
_CLOUDS = ("Amazon EC2", "Google Compute", "OpenStack")
_RUNTIME_NAMES = frozenset({"lxc", "docker", "podman", "none", "systemd-nspawn"})
_RUNTIMES = (
    ("docker", "docker"),
    ("libpod", "podman"),
    ("kubepods", "kubernetes"),
    ("lxc", "lxc"),
    ("crio", "crio"),
)


class Virtualisation(msgspec.Struct, frozen=True, kw_only=True):
    """`hypervisor`: empty on metal, else its name (`unknown` where only the CPU flag tells). `container`: empty where
    there is none, else the runtime. `evidence` is what was seen, in words.
    """

    hypervisor: str | Absent
    container: str | Absent
    evidence: tuple[str, ...] = ()

    @property
    def virtual(self) -> bool:
        return isinstance(self.hypervisor, str) and self.hypervisor != ""


@once
def virtualisation(host: Host) -> Virtualisation:
    """Combines the CPU's hypervisor flag, DMI, Xen's folders, the buses, the namespaces and the runtimes' marks."""
    seen: list[str] = []
    hypervisor = _hypervisor(host, seen)
    return Virtualisation(hypervisor=hypervisor, container=_container(host, seen), evidence=tuple(seen))


def _hypervisor(host: Host, seen: list[str]) -> str | Absent:
    xen = host.text("/sys/hypervisor/type")
    if present(xen) and xen.strip() == "xen":
        features = host.text("/proc/xen/capabilities")
        seen.append("/sys/hypervisor/type says xen")
        # dom0 drives the hardware itself
        return "" if present(features) and "control_d" in features else "xen"
    flags = cpu(host).flags
    flagged = "hypervisor" in flags
    x86 = bool({"fpu", "lm", "sse2"} & flags)  # ARM and POWER have no hypervisor flag
    product = host.text("/sys/class/dmi/id/product_name")
    metal = present(product) and ".metal" in product
    if flagged:
        seen.append("the CPU has the hypervisor flag")
    told_by_dmi = False
    for name in ("sys_vendor", "product_name", "board_vendor", "bios_vendor"):
        text = host.text(f"/sys/class/dmi/id/{name}")
        if isinstance(text, Absent):
            continue
        told_by_dmi = True
        found = next((word for start, word in _DMI if text.strip().startswith(start)), "")
        # Metal instances of a cloud carry the cloud's name too: without the flag such a name does not count on x86,
        # and elsewhere, where no CPU has the flag, the product says that it is metal ("c7g.metal").
        sure = not text.strip().startswith(_CLOUDS)
        if found and (sure or flagged or (not x86 and not metal)):
            seen.append(f"DMI {name} is {text.strip()}")
            return found
    if flagged:
        return _by_bus(host, seen)
    if not x86 and not metal and (named := _by_device_tree(host, seen)):
        return named
    if told := _told_by_tools(host, seen):
        return told
    if x86 or told_by_dmi or (flags and host.exists("/proc/device-tree/model")):
        return ""
    return Absent(
        "neither CPU flags nor DMI can be read", "captured" if not host.live else "missing", "/proc/cpuinfo"
    )


def _by_device_tree(host: Host, seen: list[str]) -> str:
    """Machines without DMI: the device tree's words (QEMU's `virt` board is `linux,dummy-virt`), or virtio's bus."""
    for path in ("/proc/device-tree/hypervisor/compatible", "/proc/device-tree/compatible"):
        text = host.text(path, 4096)
        for word, name in (("linux,kvm", "kvm"), ("xen", "xen"), ("dummy-virt", "kvm"), ("qemu", "kvm")):
            if present(text) and word in text:
                seen.append(f"the device tree says {word}")
                return name
    if host.listing("/sys/bus/virtio/devices"):
        seen.append("it has virtio devices")
        return "kvm"
    return ""


def _told_by_tools(host: Host, seen: list[str]) -> str:
    """What lscpu or hostnamectl said in a sosreport; of a live host they know no more than we."""
    if host.live:
        return ""
    for argv, pattern in (
        (("lscpu",), r"^Hypervisor vendor:\s+(\S+)"),
        (("hostnamectl", "status"), r"^\s*Virtualization:\s+(\S+)"),
    ):
        text = host.command(*argv)
        found = re.search(pattern, text, re.MULTILINE) if present(text) else None
        if found and found[1].lower() not in _RUNTIME_NAMES:
            seen.append(f"{argv[0]} says {found[1][:40]}")
            return found[1][:40].lower()
    return ""


def _by_bus(host: Host, seen: list[str]) -> str:
    """Firecracker and other small machines have no DMI table at all: their buses tell."""
    if host.listing("/sys/bus/vmbus/devices"):
        seen.append("it has a VMBus")
        return "hyperv"
    if host.listing("/sys/bus/xen/devices"):
        seen.append("it has Xen devices")
        return "xen"
    clocks = host.text("/sys/devices/system/clocksource/clocksource0/available_clocksource")
    if present(clocks) and "kvm-clock" in clocks:
        seen.append("it offers kvm-clock")
        return "kvm"
    if host.listing("/sys/bus/virtio/devices"):
        seen.append("it has virtio devices")
        return "kvm"
    return "unknown"


def _container(host: Host, seen: list[str]) -> str | Absent:
    runtime = _runtime(host, seen)
    if not host.live:
        return runtime or Absent("a captured tree holds no namespaces", "captured", "/proc/self/ns/pid")
    space = host.link("/proc/self/ns/pid")
    if isinstance(space, Absent):
        return runtime or space
    if space != FIRST_PID_NAMESPACE:
        seen.append("its PID namespace is not the machine's first")
        return runtime or "unknown"
    # A container that shares the PID namespace (--pid=host) still has mounts of its own.
    if not runtime:
        return ""
    if _shares_mounts(host):
        seen.append(f"left out the {runtime} mark: processes and file systems are the machine's own")
        return ""
    return runtime


def _shares_mounts(host: Host) -> bool:
    """Whether we see the mounts of PID 1; where that may not be compared, whether / is a whole device's file system
    (a container's is an overlay, or a folder of a device).
    """
    ours, first = host.link("/proc/self/ns/mnt"), host.link("/proc/1/ns/mnt")
    if present(ours) and present(first):
        return ours == first
    root = mount_of(mounts(host), "/")
    return present(root) and root.root == "/" and root.devno != "" and not root.devno.startswith("0:")


def _runtime(host: Host, seen: list[str]) -> str:
    for path, name in (("/run/.containerenv", "podman"), ("/.dockerenv", "docker")):
        if host.exists(path):
            seen.append(f"{path} exists")
            return name
    for path in ("/run/systemd/container", "/run/host/container-manager"):
        text = host.text(path, 4096)
        if present(text) and text.strip():
            seen.append(f"{path} says {text.strip()[:40]}")
            return text.strip()[:40]
    environment = host.text("/proc/1/environ", 1 << 20)
    found = re.search(r"(?:^|\0)container=([^\0]+)", environment) if present(environment) else None
    if found:
        seen.append(f"PID 1 runs with container={found[1][:40]}")
        return found[1][:40]
    groups = host.text("/proc/1/cgroup", 1 << 16)
    for word, name in _RUNTIMES if isinstance(groups, str) else ():
        if re.search(rf"[/:]{word}", str(groups)):
            seen.append(f"PID 1 is in a control group of {name}")
            return name
    return ""
