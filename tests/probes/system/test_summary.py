"""All facts of a host, packages, drives and PCIe tags."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.probes.reading.host import Host
from hostdx.probes.system.bios.attributes import firmware_attributes
from hostdx.probes.system.disk.smart import parse_smart_text
from hostdx.probes.system.pcie_tags import PcieTags, decode_pcie_tags
from hostdx.probes.system.software import packages as room
from hostdx.probes.system.software.packages import InstalledPackages, read_packages
from hostdx.probes.system.summary import MAX_DISKS, summary_facts
from hostdx.probes.types import Absent, Fact, is_present
from tests.fakes.hosts.facts import join_fact_name
from tests.fakes.hosts.tree import Tree


def split(host: Host) -> tuple[dict[str, Fact], dict[str, Absent]]:
    facts: dict[str, Fact] = {}
    reasons: dict[str, Absent] = {}
    for entry in summary_facts(host):
        if isinstance(entry, Fact):
            assert join_fact_name(entry) not in facts and entry.source
            facts[join_fact_name(entry)] = entry
        else:
            assert entry.absent.reason
            reasons[join_fact_name(entry)] = entry.absent
    assert not facts.keys() & reasons.keys()
    return facts, reasons


def test_an_empty_tree_gives_reasons_only(tree: Tree) -> None:
    facts, reasons = split(tree.host())
    assert facts == {}
    assert {
        "cpu.model",
        "memory.total",
        "kernel.release",
        "os.name",
        "disk.devices",
        "mount.mount",
        "numa.nodes",
    } <= reasons.keys()
    assert {reason.kind for reason in reasons.values()} <= {"captured", "missing"}


def test_a_san_does_not_flood_the_recording(tree: Tree) -> None:
    for number in range(MAX_DISKS + 5):
        tree.disk(f"/sys/devices/virtual/block/nbd{number}", f"43:{number}")
    facts, _ = split(tree.host())
    assert sum(1 for name in facts if name.endswith(".kind")) == MAX_DISKS
    assert facts["disk.others"].value == 5


PLACES = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/mountinfo",
    "/proc/self/cgroup",
    "/proc/version",
    "/etc/os-release",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/node/node0/distance",
    "/sys/devices/virtual/block/dm-0/size",
    "/sys/devices/virtual/block/dm-0/dm/uuid",
    "/sys/devices/virtual/block/dm-0/queue/scheduler",
    "/sys/devices/virtual/block/dm-0/queue/rotational",
    "/sys/devices/virtual/block/md0/md/sync_completed",
    "/sys/class/net/eth0/speed",
    "/sys/class/net/eth0/ifindex",
]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(PLACES), st.binary(max_size=60), max_size=len(PLACES)))
def test_no_content_raises(tmp_path_factory: pytest.TempPathFactory, contents: dict[str, bytes]) -> None:
    folder: Path = tmp_path_factory.mktemp("host")
    tree = Tree(folder).link("/sys/block/dm-0", "../devices/virtual/block/dm-0")
    tree.link("/sys/block/md0", "../devices/virtual/block/md0")
    for path, content in contents.items():
        tree.put(path, content)
    msgspec.json.encode(summary_facts(tree.host()))


def test_a_text_without_health_is_absent() -> None:
    assert isinstance(parse_smart_text("smartctl 7.2\nPermission denied\n"), Absent)


STATUS = """Package: {name}
Status: {status}
Architecture: amd64
Version: {version}
Conffiles:
 Version: of no package
"""


def host_of(tmp_path: Path, path: str, text: str) -> Host:
    file = tmp_path / "root" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    (tmp_path / "root/proc").mkdir(exist_ok=True)
    return Host(str(tmp_path / "root"))


def dpkg(tmp_path: Path, *rows: tuple[str, str], status: str = "install ok installed") -> InstalledPackages:
    text = "\n".join(STATUS.format(name=name, version=version, status=status) for name, version in rows)
    packages = read_packages(host_of(tmp_path, "var/lib/dpkg/status", text))
    assert isinstance(packages, InstalledPackages)
    return packages


def test_versions_of_what_matters_and_a_digest_of_the_rest(tmp_path: Path) -> None:
    rows = [
        ("linux-image-6.1.0-18-amd64", "6.1.76-1"), ("linux-image-6.1.0-22-amd64", "6.1.94-1"),
        ("linux-image-amd64", "6.1.94-1"), ("intel-microcode", "3.2"), ("firmware-misc-nonfree", "2023"),
        ("bash", "5.2"), ("kernel-wedge", "1"),
    ]  # fmt: skip
    packages = dpkg(tmp_path, *rows)
    assert packages.telling == {
        "linux-image": "6.1.76-1, 6.1.94-1", "intel-microcode": "3.2", "firmware-misc-nonfree": "2023",
    }  # fmt: skip
    assert packages.others.startswith("7 packages, ")
    assert dpkg(tmp_path, *reversed(rows)) == packages
    updated = [(name, "9" if name == "intel-microcode" else version) for name, version in rows]
    assert dpkg(tmp_path, *updated).others == packages.others
    other = [(name, "9" if name == "bash" else version) for name, version in rows]
    assert (
        dpkg(tmp_path, *other).others != packages.others
        and dpkg(tmp_path, *other).telling == packages.telling
    )
    assert dpkg(tmp_path, *rows, ("falcon-sensor", "7")).others != packages.others


def test_what_is_removed_is_not_installed(tmp_path: Path) -> None:
    assert dpkg(tmp_path, ("tuned", "1"), status="deinstall ok config-files").telling == {}


def test_a_sosreport_of_an_el_host(tmp_path: Path) -> None:
    lines = """kernel-4.18.0-553.el8.x86_64      Mon Jan  1 00:00:00 2024
kernel-4.18.0-477.el8.x86_64      Mon Jan  1 00:00:00 2024
kernel-core-4.18.0-553.el8.x86_64 Mon Jan  1 00:00:00 2024
microcode_ctl-20230808-2.el8.x86_64
bash-4.4.20-5.el8.x86_64
no package
"""
    packages = read_packages(host_of(tmp_path, "installed-rpms", lines))
    assert isinstance(packages, InstalledPackages) and packages.source == "installed-rpms"
    assert packages.telling == {
        "kernel": "4.18.0-477.el8, 4.18.0-553.el8",
        "kernel-core": "4.18.0-553.el8",
        "microcode_ctl": "20230808-2.el8",
    }
    assert packages.others.startswith("5 packages")


def test_rpm_is_asked_where_there_is_no_dpkg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    monkeypatch.setattr(room, "STATUS", str(tmp_path / "none"))
    monkeypatch.setattr(Host, "read_command", lambda self, *argv, **more: "glibc\t2.34-1\tx86_64\nodd line")
    packages = read_packages(host)
    assert isinstance(packages, InstalledPackages) and packages.telling == {"glibc": "2.34-1"}
    monkeypatch.setattr(
        Host, "read_command", lambda self, *argv, **more: Absent("rpm is not installed", "tool")
    )
    assert isinstance(read_packages(Host()), Absent)


def _config_space(can: int, on: int, version: int = 2) -> bytes:
    """Power management at 0x40, PCI Express behind it at 0x60."""
    data = bytearray(256)
    data[0x34] = 0x40
    data[0x40:0x42] = bytes((0x01, 0x60))
    data[0x60:0x63] = bytes((0x10, 0x00, version))
    data[0x84:0x88] = can.to_bytes(4, "little")
    data[0x88:0x8A] = on.to_bytes(2, "little")
    return bytes(data)


def test_tags() -> None:
    assert decode_pcie_tags("a", _config_space(1 << 17, 1 << 12)) == PcieTags("a", can=True, on=True)
    assert decode_pcie_tags("a", _config_space(1 << 17, 0)) == PcieTags("a", can=True, on=False)
    assert decode_pcie_tags("a", _config_space(1 << 16, 0)) == PcieTags("a", can=False, on=False)


def test_what_is_cut_short_old_or_a_ring_tells_nothing() -> None:
    assert decode_pcie_tags("a", _config_space(0, 0)[:64]) is None
    assert decode_pcie_tags("a", _config_space(1 << 17, 0, version=1)) is None
    ring = bytearray(_config_space(0, 0))
    ring[0x60] = 0x05
    ring[0x61] = 0x40
    assert decode_pcie_tags("a", bytes(ring)) is None


def test_settings_through_the_kernel(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.files("/sys/class/firmware-attributes/dell-wmi-sysman/attributes/ApbDis", current_value="Enabled")
    tree.files("/sys/class/firmware-attributes/dell-wmi-sysman/attributes/Asset", current_value="SECRET")
    tree.files("/sys/class/dmi/id", sys_vendor="Dell Inc.")
    attributes = firmware_attributes(tree.host(), lambda name: name == "ApbDis")
    assert is_present(attributes) and (attributes.values, attributes.vendor) == (
        {"ApbDis": "Enabled"},
        "Dell Inc.",
    )
    assert isinstance(firmware_attributes(Tree(tmp_path / "none").host(), lambda name: True), Absent)
