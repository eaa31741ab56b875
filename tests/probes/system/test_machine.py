"""Kernel, distribution, memory, and whether the machine is one: small trees of what each system leaves."""

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.memory import read_meminfo, read_memory
from hostdx.probes.system.software.distribution import parse_os_release, read_distribution
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, is_present
from tests.fakes.hosts.tree import Tree


def put_flags(tree: Tree, *words: str) -> Tree:
    return tree.put(
        "/proc/cpuinfo", f"processor\t: 0\nmodel name\t: X\nflags\t\t: fpu sse2 {' '.join(words)}\n"
    )


@pytest.mark.parametrize(
    ("vendor", "product", "hypervisor"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "kvm"),
        ("VMware, Inc.", "VMware7,1", "vmware"),
        ("innotek GmbH", "VirtualBox", "virtualbox"),
        ("Microsoft Corporation", "Virtual Machine", "hyperv"),
        ("Amazon EC2", "m5.large", "kvm"),
        ("Dell Inc.", "PowerEdge R740", "unknown"),
    ],
)
def test_a_virtual_machine_by_flag_and_dmi(tree: Tree, vendor: str, product: str, hypervisor: str) -> None:
    put_flags(tree, "hypervisor").files("/sys/class/dmi/id", sys_vendor=vendor, product_name=product)
    virtualisation = read_virtualisation(tree.host())
    assert (virtualisation.hypervisor, virtualisation.is_virtual) == (hypervisor, True)


def test_arm_without_dmi_by_its_device_tree(tree: Tree) -> None:
    tree.put("/proc/cpuinfo", "processor : 0\nFeatures : fp asimd\n")
    tree.put("/proc/device-tree/compatible", "linux,dummy-virt\0")
    assert read_virtualisation(tree.host()).hypervisor == "kvm"


def test_xen_and_its_first_domain(tree: Tree) -> None:
    host = put_flags(tree, "hypervisor").files("/sys/hypervisor", type="xen").host()
    assert read_virtualisation(host).hypervisor == "xen"
    assert read_virtualisation(tree.files("/proc/xen", capabilities="control_d").host()).hypervisor == ""


@pytest.mark.parametrize(
    ("path", "content", "runtime"),
    [
        ("/run/.containerenv", "", "podman"),
        ("/.dockerenv", "", "docker"),
        ("/run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
        ("/proc/1/environ", "PATH=/bin\0container=lxc\0TERM=linux\0", "lxc"),
        ("/proc/1/cgroup", "0::/kubepods.slice/kubepods-pod1\n", "kubernetes"),
        ("/proc/1/cgroup", "1:cpu:/docker/0123\n", "docker"),
    ],
)
def test_marks_of_containers(tree: Tree, path: str, content: str, runtime: str) -> None:
    assert read_virtualisation(tree.put(path, content).host()).container == runtime


def test_a_word_within_a_group_is_no_mark(tree: Tree) -> None:
    tree.put("/proc/1/cgroup", "0::/system.slice/my-docker-like.service\n")
    assert isinstance(read_virtualisation(tree.host()).container, Absent)


class Live(Host):
    """A captured tree that is taken for the live machine, with links for its namespaces."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(str(tree.root))
        self.live = True


def spaces(tree: Tree, pid: int = 4026531836, mount_id: int = 1, first: int | None = 1) -> Tree:
    tree.link("/proc/self/ns/pid", f"pid:[{pid}]").link("/proc/self/ns/mnt", f"mnt:[{mount_id}]")
    return tree if first is None else tree.link("/proc/1/ns/mnt", f"mnt:[{first}]")


def test_a_mark_that_an_image_left_is_no_container(tree: Tree) -> None:
    """A virtual machine made from a container's image keeps /.dockerenv: systemd-detect-virt says docker there."""
    virtualisation = read_virtualisation(Live(spaces(tree).put("/.dockerenv")))
    assert virtualisation.container == "" and any(
        "left out the docker mark" in sentence for sentence in virtualisation.evidence
    )


def test_a_container_by_its_namespaces(tree: Tree) -> None:
    assert read_virtualisation(Live(spaces(tree, pid=4026532999).put("/.dockerenv"))).container == "docker"


def test_an_unmarked_container_by_its_namespaces(tree: Tree) -> None:
    assert read_virtualisation(Live(spaces(tree, pid=4026532999))).container == "unknown"


def test_a_container_that_shares_the_processes(tree: Tree) -> None:
    assert read_virtualisation(Live(spaces(tree, mount_id=2).put("/run/.containerenv"))).container == "podman"


@pytest.mark.parametrize(
    ("root", "container"),
    [
        ("8:1 / / rw - ext4 /dev/sda1 rw", ""),
        ("0:50 / / rw - overlay overlay rw", "docker"),
        ("8:1 /c/1 / rw - ext4 x rw", "docker"),
    ],
)
def test_where_the_first_process_is_closed_to_us_the_root_file_system_tells(
    tree: Tree, root: str, container: str
) -> None:
    spaces(tree, first=None).put("/.dockerenv").put("/proc/self/mountinfo", f"20 1 {root}\n")
    assert read_virtualisation(Live(tree)).container == container


def test_kernel_of_a_sosreport(tree: Tree) -> None:
    line = "Linux node1 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC Wed May 1 2024 x86_64 x86_64 GNU/Linux\n"
    kernel = read_kernel(tree.put("/sos_commands/kernel/uname_-a", line).host())
    assert (kernel.release, kernel.machine) == ("5.14.0-427.el9.x86_64", "x86_64")


@pytest.mark.parametrize(
    ("text", "family", "major"),
    [
        (
            'ID="almalinux"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\nPRETTY_NAME="AlmaLinux 9.4"\n',
            "redhat",
            9,
        ),
        ("ID=debian\nVERSION_ID='12'\n", "debian", 12),
        ("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=22.04\n", "debian", 22),
        ('ID="sles"\nID_LIKE="suse"\nVERSION_ID="15.5"\n', "suse", 15),
        ("ID=arch\n", "arch", 0),
        ("ID=nixos\n# comment\nnonsense\n", "other", 0),
    ],
)
def test_distributions(tree: Tree, text: str, family: str, major: int) -> None:
    distribution = read_distribution(tree.put("/etc/os-release", text).host())
    assert is_present(distribution) and (distribution.family, distribution.major) == (family, major)


def test_before_os_release(tree: Tree) -> None:
    distribution = read_distribution(tree.put("/etc/redhat-release", "CentOS release 6.10 (Final)\n").host())
    assert is_present(distribution) and (distribution.family, distribution.version, distribution.name) == (
        "redhat",
        "6.10",
        "CentOS release 6.10 (Final)",
    )


def test_quotes() -> None:
    assert parse_os_release('A="x y"\nB=\'z\'\nC="un closed\n') == {"A": "x y", "B": "z", "C": "un closed"}


def test_memory(tree: Tree) -> None:
    tree.put(
        "/proc/meminfo", "MemTotal:  1000 kB\nMemAvailable: 500 kB\nSwapTotal: 0 kB\nHugePages_Total:  8\n"
    )
    tree.put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    memory = read_memory(tree.host())
    assert (memory.total, memory.available, memory.swap_total) == (1_024_000, 512_000, 0)
    assert memory.transparent_huge_pages == "madvise"
    meminfo = read_meminfo(tree.host())
    assert isinstance(meminfo, dict) and meminfo["HugePages_Total"] == 8  # a count, not kB
