"""Virtual machine or metal, container or not. Several marks are combined: each alone is wrong somewhere.

systemd-detect-virt is not asked: it answers `docker` for a virtual machine whose disk was made from an image, because
/.dockerenv was left in it.
"""

import re

import msgspec

from hostdx.probes.cpu_model import is_emulated_cpu
from hostdx.probes.files.rights import FIRST_PID_NAMESPACE
from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.disk.mounts import find_mount, read_mounts
from hostdx.probes.system.processor.cpu import read_cpu
from hostdx.probes.types import Absent, is_present

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
    def is_virtual(self) -> bool:
        return isinstance(self.hypervisor, str) and self.hypervisor != ""


@compute_once_per_host
def read_virtualisation(host: Host) -> Virtualisation:
    """Combines the CPU's hypervisor flag, DMI, Xen's folders, the buses, the namespaces and the runtimes' marks."""
    evidence: list[str] = []
    hypervisor = _find_hypervisor(host, evidence)
    return Virtualisation(
        hypervisor=hypervisor, container=_find_container_runtime(host, evidence), evidence=tuple(evidence)
    )


def _find_hypervisor(host: Host, evidence: list[str]) -> str | Absent:
    xen = host.read_file_text("/sys/hypervisor/type")
    if is_present(xen) and xen.strip() == "xen":
        features = host.read_file_text("/proc/xen/capabilities")
        evidence.append("/sys/hypervisor/type says xen")
        # dom0 drives the hardware itself
        return "" if is_present(features) and "control_d" in features else "xen"
    cpu = read_cpu(host)
    if is_present(cpu.model) and is_emulated_cpu(cpu.model):
        evidence.append(f"the CPU's model is {cpu.model}: nothing runs on the CPU below")
        return "qemu"
    flags = cpu.flags
    flagged = "hypervisor" in flags
    x86 = bool({"fpu", "lm", "sse2"} & flags)  # ARM and POWER have no hypervisor flag
    product = host.read_file_text("/sys/class/dmi/id/product_name")
    metal = is_present(product) and ".metal" in product
    if flagged:
        evidence.append("the CPU has the hypervisor flag")
    has_dmi = False
    for name in ("sys_vendor", "product_name", "board_vendor", "bios_vendor"):
        text = host.read_file_text(f"/sys/class/dmi/id/{name}")
        if isinstance(text, Absent):
            continue
        has_dmi = True
        dmi_name = next((word for start, word in _DMI if text.strip().startswith(start)), "")
        # Metal instances of a cloud carry the cloud's name too: without the flag such a name does not count on x86,
        # and elsewhere, where no CPU has the flag, the product says that it is metal ("c7g.metal").
        sure = not text.strip().startswith(_CLOUDS)
        if dmi_name and (sure or flagged or (not x86 and not metal)):
            evidence.append(f"DMI {name} is {text.strip()}")
            return dmi_name
    if flagged:
        return _hypervisor_by_buses(host, evidence)
    if not x86 and not metal and (tree_name := _hypervisor_by_device_tree(host, evidence)):
        return tree_name
    if tool_name := _hypervisor_by_tools(host, evidence):
        return tool_name
    if x86 or has_dmi or (flags and host.path_exists("/proc/device-tree/model")):
        return ""
    return Absent(
        "neither CPU flags nor DMI can be read", "captured" if not host.live else "missing", "/proc/cpuinfo"
    )


def _hypervisor_by_device_tree(host: Host, evidence: list[str]) -> str:
    """Machines without DMI: the device tree's words (QEMU's `virt` board is `linux,dummy-virt`), or virtio's bus."""
    for path in ("/proc/device-tree/hypervisor/compatible", "/proc/device-tree/compatible"):
        text = host.read_file_text(path, 4096)
        for word, name in (("linux,kvm", "kvm"), ("xen", "xen"), ("dummy-virt", "kvm"), ("qemu", "kvm")):
            if is_present(text) and word in text:
                evidence.append(f"the device tree says {word}")
                return name
    if host.list_names("/sys/bus/virtio/devices"):
        evidence.append("it has virtio devices")
        return "kvm"
    return ""


def _hypervisor_by_tools(host: Host, evidence: list[str]) -> str:
    """Return what lscpu or hostnamectl said in a sosreport; of a live host they know no more than we."""
    if host.live:
        return ""
    for argv, pattern in (
        (("lscpu",), r"^Hypervisor vendor:\s+(\S+)"),
        (("hostnamectl", "status"), r"^\s*Virtualization:\s+(\S+)"),
    ):
        text = host.read_command(*argv)
        match = re.search(pattern, text, re.MULTILINE) if is_present(text) else None
        if match and match[1].lower() not in _RUNTIME_NAMES:
            evidence.append(f"{argv[0]} says {match[1][:40]}")
            return match[1][:40].lower()
    return ""


def _hypervisor_by_buses(host: Host, evidence: list[str]) -> str:
    """Firecracker and other small machines have no DMI table at all: their buses tell."""
    if host.list_names("/sys/bus/vmbus/devices"):
        evidence.append("it has a VMBus")
        return "hyperv"
    if host.list_names("/sys/bus/xen/devices"):
        evidence.append("it has Xen devices")
        return "xen"
    clocks = host.read_file_text("/sys/devices/system/clocksource/clocksource0/available_clocksource")
    if is_present(clocks) and "kvm-clock" in clocks:
        evidence.append("it offers kvm-clock")
        return "kvm"
    if host.list_names("/sys/bus/virtio/devices"):
        evidence.append("it has virtio devices")
        return "kvm"
    return "unknown"


def _find_container_runtime(host: Host, evidence: list[str]) -> str | Absent:
    runtime = _runtime_by_its_marks(host, evidence)
    if not host.live:
        return runtime or Absent("a captured tree holds no namespaces", "captured", "/proc/self/ns/pid")
    space = host.read_link("/proc/self/ns/pid")
    if isinstance(space, Absent):
        return runtime or space
    if space != FIRST_PID_NAMESPACE:
        evidence.append("its PID namespace is not the machine's first")
        return runtime or "unknown"
    # A container that shares the PID namespace (--pid=host) still has mounts of its own.
    if not runtime:
        return ""
    if _sees_mounts_of_pid1(host):
        evidence.append(f"left out the {runtime} mark: processes and file systems are the machine's own")
        return ""
    return runtime


def _sees_mounts_of_pid1(host: Host) -> bool:
    """Return whether we see the mounts of PID 1; where that may not be compared, whether / is a whole device's file
    system (a container's is an overlay, or a folder of a device).
    """
    own_namespace, first = host.read_link("/proc/self/ns/mnt"), host.read_link("/proc/1/ns/mnt")
    if is_present(own_namespace) and is_present(first):
        return own_namespace == first
    root = find_mount(read_mounts(host), "/")
    return is_present(root) and root.root == "/" and root.devno != "" and not root.devno.startswith("0:")


def _runtime_by_its_marks(host: Host, evidence: list[str]) -> str:
    for path, name in (("/run/.containerenv", "podman"), ("/.dockerenv", "docker")):
        if host.path_exists(path):
            evidence.append(f"{path} exists")
            return name
    for path in ("/run/systemd/container", "/run/host/container-manager"):
        text = host.read_file_text(path, 4096)
        if is_present(text) and text.strip():
            evidence.append(f"{path} says {text.strip()[:40]}")
            return text.strip()[:40]
    environment = host.read_file_text("/proc/1/environ", 1 << 20)
    match = re.search(r"(?:^|\0)container=([^\0]+)", environment) if is_present(environment) else None
    if match:
        evidence.append(f"PID 1 runs with container={match[1][:40]}")
        return match[1][:40]
    groups = host.read_file_text("/proc/1/cgroup", 1 << 16)
    for word, name in _RUNTIMES if isinstance(groups, str) else ():
        if re.search(rf"[/:]{word}", str(groups)):
            evidence.append(f"PID 1 is in a control group of {name}")
            return name
    return ""
