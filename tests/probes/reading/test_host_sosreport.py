"""An unpacked sosreport stands for a host: files as they were, commands' outputs by their mangled names."""

from __future__ import annotations

from probes.reading.captured import sosreport
from probes.types import Absent
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree


@every_case(
    ("argv", "name"),
    [
        (("dmsetup", "info", "-c"), "dmsetup_info_-c"),
        (("/usr/sbin/dmsetup", "status"), "dmsetup_status"),
        (("/bin/uname", "-a"), "uname_-a"),
        (("ls", "-lanR", "/sys/block"), "ls_-lanR_.sys.block"),
        (("lsblk", "-f", "-a", "-l"), "lsblk_-f_-a_-l"),
        (("sysctl", "-a"), "sysctl_-a"),
        (("ethtool", "-k", "eth0:1"), "ethtool_-k_eth0_1"),
    ],
)
def test_names_are_mangled_as_sos_does(argv: tuple[str, ...], name: str) -> None:
    assert sosreport.file_name(argv) == name


def test_commands_are_found_in_any_plugin(tree: Tree) -> None:
    host = tree.put("/sos_commands/devicemapper/dmsetup_status", "pool: 0 1 thin-pool\n").host()
    assert host.read_command("dmsetup", "status") == "pool: 0 1 thin-pool"
    other = host.read_command("dmsetup", "table")
    assert isinstance(other, Absent) and other.kind == "captured" and "sosreport" in other.reason


def test_a_plain_dump_holds_no_commands(tree: Tree) -> None:
    value = tree.host().read_command("dmsetup", "status")
    assert isinstance(value, Absent) and value.kind == "captured"


def test_settings_come_from_sysctl(tree: Tree) -> None:
    lines = (
        "kernel.osrelease = 5.14.0-427.el9.x86_64",
        "net.ipv4.conf.eth0/100.rp_filter = 2",
        "vm.swappiness = 10",
        "x",
    )
    tree.put("/sos_commands/kernel/sysctl_-a", "\n".join(lines)).put("/proc/sys/vm/swappiness", "60\n")
    host = tree.host()
    assert host.read_integer("/proc/sys/net/ipv4/conf/eth0.100/rp_filter") == 2
    assert host.read_file_text("/proc/sys/kernel/osrelease") == "5.14.0-427.el9.x86_64"
    assert host.read_integer("/proc/sys/vm/swappiness") == 60  # the file itself comes first
    assert isinstance(host.read_file_text("/proc/sys/vm/nothing"), Absent)


def test_a_command_file_may_not_lead_out(tree: Tree) -> None:
    host = tree.link("/sos_commands/kernel/uname_-a", "/etc/hostname").host()
    assert isinstance(host.read_command("uname", "-a"), Absent)
