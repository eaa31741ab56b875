"""Faults planted into a healthy server, one at a time: each is found, and the healthy server accuses nobody."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.read_trace import ReadTrace
from hostdx.probes.system.network.nic import read_nics
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.rule import HostRule
from hostdx.scenarios.triage.rules.rule_file import RuleText
from hostdx.scenarios.triage.triage import all_rules, apply_rule
from tests.every_case import assert_each
from tests.fakes.hosts.server import CPU, RINGS, Server
from tests.scenarios.findings_fit import check_fit
from tests.scenarios.planted import PLANTED, TRAPS, our_rules

NIC = "sys/class/net/eth0"
SDB = "sys/block/sdb"  # a hard disk
SYS = "proc/sys"


@cache
def rules_of_triage() -> tuple[HostRule, ...]:
    """Return all rules; with their explanations they take as long as one of them."""
    return all_rules()


def findings_by_id(root: Path, *rule_ids: str) -> dict[str, Finding]:
    return {finding.id: finding for finding in list_findings(Host(str(root)), *rule_ids)}


def list_findings(host: Host, *rule_ids: str) -> list[Finding]:
    host.is_static = True
    findings = []
    for rule in rules_of_triage():
        if rule_ids and rule.id not in rule_ids:
            continue
        for event in apply_rule(rule, host, lambda: 0.0):
            if isinstance(event, ev.Found):
                findings.append(event.finding)
            assert not (isinstance(event, ev.Checked) and event.fault), event
    return findings


def log(line: str) -> dict[str, str]:
    return {"sos_commands/kernel/dmesg": f"[    0.0] Linux version 6.12.9\n[   99.1] {line}"}


BY_VERSION = {"kernel.ibrs-entry", "kernel.eevdf-database"}  # notices, by the kernel's version alone
BOND = "proc/net/bonding/bond0"
PORTS = (
    "Bonding Mode: IEEE 802.3ad Dynamic link aggregation\nPartner Mac Address: aa:bb:cc:dd:ee:ff\n\n"
    "Slave Interface: eth0\nMII Status: up\nSpeed: 25000 Mbps\nAggregator ID: 1\n\n"
    "Slave Interface: eth1\nMII Status: up\nSpeed: 25000 Mbps\nAggregator ID: 1\n"
)
REBUILD = {
    "sys/block/md0/size": "2048",
    "sys/block/md0/md/level": "raid1",
    "sys/block/md0/md/sync_action": "recover",
}
TRAPS_AT_ONCE = 16
SYSTEM_LOG = "var/log/messages"
LINES = Path(__file__).parents[1] / "data" / "kernel_log"
OF_LINES = {
    line.split("\t")[0] for line in (LINES / "faults.tsv").read_text().splitlines()
}  # test_rule_file.py
OF_TESTS = {"storage.full", "storage.inodes", "net.mtu", "host.lspci-link"}  # below
OF_TESTS |= {
    "net.bond-one-card",
    "host.clock-not-set",
    "host.pcie-errors-unread",
    "storage.ata-quirk",
}  # test_planted_alone.py
OF_TESTS |= {"storage.fstab-iscsi"}  # below
OF_TESTS |= {
    "storage.ncq",
    "storage.sata-downshift",
    "storage.raid-busy",
    "storage.smart",
    "storage.pcie-link",
    "storage.sata-link",
    "storage.slot",
}  # storage/test_rules.py


def test_each_rule_has_a_planted_fault_a_trap_and_a_source() -> None:
    assert_each(our_rules().rules, check_cases_of_rule, name=lambda rule: rule.id)


def check_cases_of_rule(rule: RuleText) -> None:
    """A trap: a host, lines of a healthy start, or a row that knows all that a row of a fault knows, and is fine."""
    assert rule.id in {of for of, _, _ in PLANTED} | OF_LINES | OF_TESTS
    rows = [
        (set(a.row), set(b.row))
        for a in rule.tests
        for b in rule.tests
        if (a.answer, b.answer) == ("found", "fine")
    ]
    alike = any(len(matched & fine) >= min(len(matched), 2) for matched, fine in rows)
    assert rule.id in {of for of, _ in TRAPS} or rule.log or alike
    assert rule.references and all(rule.references)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Server:
    return Server(tmp_path_factory.mktemp("server"))


def traps_apart() -> list[list[tuple[str, dict[str, str]]]]:
    """Return all traps in groups that are planted together: no two share a folder, but for that of the system's log."""
    groups: list[tuple[set[str], list[tuple[str, dict[str, str]]]]] = []
    for rule, files in TRAPS:
        folders = folders_of(files)
        free = (group for group in groups if len(group[1]) < TRAPS_AT_ONCE and not folders & group[0])
        used, group = next(free, (set[str](), []))
        if not group:
            groups.append((used, group))
        used |= folders
        group.append((rule, files))
    return [group for _, group in groups]


def folders_of(files: dict[str, str]) -> set[str]:
    """All processes are one folder: what runs is known by the table of them."""
    folders = {path.rpartition("/")[0] for path in files if path != SYSTEM_LOG}
    return {
        "proc/PID" if re.match(r"proc/\d+\b|sos_commands/process\b", folder) else folder for folder in folders
    }


def planted_together(traps: list[tuple[str, dict[str, str]]]) -> dict[str, str]:
    lines = [files[SYSTEM_LOG] for _, files in traps if SYSTEM_LOG in files]
    together = {path: text for _, files in traps for path, text in files.items()}
    return together | ({SYSTEM_LOG: "".join(lines)} if lines else {})


@pytest.fixture
def server(healthy: Server) -> Iterator[Server]:
    with healthy.restore_after():
        yield healthy


def test_the_healthy_server_is_not_accused(server: Server) -> None:
    by_id = findings_by_id(server.root)
    assert {i: f.title for i, f in by_id.items() if f.severity != "notice"} == {}
    assert set(by_id) <= BY_VERSION


def findings_with(healthy: Server, files: dict[str, str], *rule_ids: str) -> dict[str, Finding]:
    with healthy.restore_after():
        for path, text in files.items():
            healthy.put(path, text)
        return findings_by_id(healthy.root, *rule_ids)


def test_a_planted_fault_is_found_and_its_findings_fit(healthy: Server) -> None:
    def check(planted: tuple[str, str, dict[str, str]]) -> None:
        rule, severity, files = planted
        rule_id = {"host.pressure-memory": "host.pressure"}.get(rule, rule)
        is_of_kernel = rule.startswith("kernel.") and rule != "kernel.module-faults"
        with healthy.restore_after():
            for path, text in files.items():
                healthy.put(path, text)
            host = Host(str(healthy.root))
            with ReadTrace() as read:
                findings = list_findings(host, "kernel.known-faults" if is_of_kernel else rule_id)
            by_id = {finding.id: finding for finding in findings}
            assert rule in by_id and by_id[rule].severity == severity, by_id
            for finding in findings:
                check_fit(host, healthy.root, finding, read)

    assert_each(PLANTED, check, name=lambda planted: planted[0])


@pytest.mark.parametrize(
    "trap",
    [
        lambda s: s.put(
            "sos_commands/networking/ethtool_-g_eth0", RINGS.format(64)
        ),  # a small ring that lost nothing
        lambda s: s.put(f"{CPU}/smt/control", "off"),
        lambda s: s.put(f"{NIC}/operstate", "down").put(f"{NIC}/speed", "10"),
        lambda s: s.df(0.89, 0.3),
        lambda s: s.put(f"{SDB}/device/ioerr_cnt", "0x12"),
        lambda s: s.put("etc/tuned/active_profile", "throughput-performance"),
        lambda s: s.put(f"{SYS}/vm/zone_reclaim_mode", "1").put("etc/tuned/active_profile", "hpc-compute"),
        lambda s: s.put("sys/class/dmi/id/sys_vendor", "QEMU"),  # needs of kernel faults that are not known
        lambda s: s.put(f"{SYS}/vm/swappiness", "180").put(
            "proc/swaps", "Filename\n/dev/zram0 partition 8 8 100"
        ),
        lambda s: s.put(
            BOND, PORTS.replace("IEEE 802.3ad", "(active-backup)").replace("25000 Mbps", "1 Mbps", 1)
        ),
        lambda s: s.put("sys/bus/pci/devices/0000:17:00.0/uevent", "DRIVER=cdc_ether").put(
            f"{NIC}/duplex", "half"
        ),
    ],
    ids=[
        "ring",
        "smt",
        "unplugged",
        "used",
        "ioerr",
        "tuned",
        "hpc",
        "guest",
        "zram",
        "backup",
        "controller",
    ],
)
def test_a_choice_is_no_fault(server: Server, trap: Callable[[Server], object]) -> None:
    trap(server)
    by_id = findings_by_id(server.root)
    assert set(by_id) <= BY_VERSION, {i: f.title for i, f in by_id.items()}


def test_what_looks_like_a_fault_is_none(healthy: Server) -> None:
    def check(trap: tuple[str, dict[str, str]]) -> None:
        rule, files = trap
        assert rule not in findings_with(healthy, files, rule)

    assert_each(TRAPS, check, name=lambda trap: trap[0])


def test_no_other_rule_takes_it_for_a_fault(healthy: Server) -> None:
    def check(traps: list[tuple[str, dict[str, str]]]) -> None:
        by_id = findings_with(healthy, planted_together(traps))
        assert not by_id.keys() - BY_VERSION - {"memory.balancing"}, by_id

    assert_each(traps_apart(), check, name=lambda traps: " ".join(rule for rule, _ in traps))


def test_a_bridge_of_larger_packets_than_its_card_is_found(tmp_path: Path) -> None:
    server, bridge = Server(tmp_path), "sys/devices/virtual/net/br0"
    server.files(bridge, ifindex=9, type=1, mtu=9000, operstate="up")
    server.link(f"{bridge}/lower_eth0", NIC)
    server.link("sys/class/net/br0", bridge)
    assert findings_by_id(tmp_path, "net.mtu")["net.mtu"].severity == "warning"


def test_a_full_file_system_is_found(server: Server) -> None:
    server.df(0.99, 0.99)
    by_id = findings_by_id(server.root, "storage.full", "storage.inodes")
    assert {i: f.severity for i, f in by_id.items()} == {
        "storage.full": "warning",
        "storage.inodes": "warning",
    }


@pytest.mark.parametrize(("options", "count"), [("defaults", 1), ("_netdev,nofail", 0)])
def test_an_iscsi_disk_in_fstab_waits_for_the_network(tmp_path: Path, options: str, count: int) -> None:
    """A file system on a volume group of one iSCSI disk, whose folder in sysfs is a link into its session."""
    server, disk = Server(tmp_path), "sys/devices/platform/host9/session1/target9:0:0/9:0:0:1/block/sdq"
    server.files(disk, size=9000000, dev="65:0")
    server.link("sys/block/sdq", disk)
    server.put("sys/block/dm-9/size", "9000000").put("sys/block/dm-9/dm/name", "vg-data")
    server.put("sys/block/dm-9/slaves/sdq/x", "")
    line = "31 30 253:9 / /data rw,relatime - xfs /dev/mapper/vg-data rw\n"
    server.put("proc/self/mountinfo", f"30 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n{line}")
    server.put("etc/fstab", f"/dev/sda1 / xfs defaults 0 0\nUUID=8d /data xfs {options} 0 0\n")
    assert len(findings_by_id(tmp_path, "storage.fstab-iscsi")) == count


def test_a_link_that_only_lspci_tells_is_found(tmp_path: Path) -> None:
    text = (
        "17:00.0 Ethernet controller [0200]: Mellanox Technologies MT27800 Family [ConnectX-5] [15b3:1017]\n"
        "\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkSta:\tSpeed {}, Width {}\n"
        "18:00.0 VGA compatible controller [0300]: x\n"
        "\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16\n\t\tLnkSta:\tSpeed 2.5GT/s, Width x16\n"
    )
    lspci = tmp_path / "sos_commands" / "pci" / "lspci_-nnvv"
    lspci.parent.mkdir(parents=True)
    lspci.write_text(text.format("2.5GT/s (downgraded)", "x8 (downgraded)"))
    assert findings_by_id(tmp_path, "host.lspci-link")["host.lspci-link"].severity == "warning"
    lspci.write_text(text.format("8GT/s (ok)", "x16 (ok)"))
    assert findings_by_id(tmp_path, "host.lspci-link") == {}


def test_a_captured_host_tells_the_quotas_of_its_groups_without_our_own(server: Server) -> None:
    """A sosreport holds no /proc/self/cgroup."""
    server.put("proc/self/mountinfo", "31 30 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    server.put("sys/fs/cgroup/kubepods.slice/cpu.max", "200000 100000")
    server.put(
        "sys/fs/cgroup/kubepods.slice/cpu.stat", "nr_periods 1000000\nnr_throttled 910000\nthrottled_usec 9"
    )
    assert findings_by_id(server.root, "host.cpu-quota")["host.cpu-quota-groups"].severity == "warning"


def test_a_server_that_answers_again_is_a_notice(server: Server) -> None:
    silent, answered = "nfs: server nas1 not responding, still trying", "nfs: server nas1 OK"
    log_file = "sos_commands/kernel/dmesg"
    for lines, severity in (((silent, answered), "notice"), ((silent, answered, silent), "warning")):
        text = "".join(f"[  22{n}.0] {line}\n" for n, line in enumerate(lines))
        server.put(log_file, f"[    0.0] Linux version 6.12.9\n{text}")
        assert findings_by_id(server.root, "log.server-silent")["log.server-silent"].severity == severity


def test_a_server_that_the_pattern_names_answers_again(server: Server) -> None:
    line = "afs: Lost contact with file server 10.0.0.{} in cell example.org (code -1) (all multi-homed)"
    back = "afs: file server 10.0.0.4 in cell example.org is back up (code 0)"
    for lost_at, severities in ((4, ["notice"]), (5, ["warning"])):
        text = f"[    9.1] {line.format(lost_at)}\n[   10.1] {back}\n"
        server.put("sos_commands/kernel/dmesg", f"[    0.0] Linux version 6.12.9\n{text}")
        assert [f.severity for f in findings_by_id(server.root, "log.afs-server").values()] == severities


def test_a_card_is_one_that_a_sosreport_holds_few_files_of(tmp_path: Path) -> None:
    folder = tmp_path / "sys/class/net/ens1"
    (folder / "statistics").mkdir(parents=True)
    (folder / "statistics/rx_crc_errors").write_text("90000\n")
    (folder / "statistics/rx_packets").write_text("1000000\n")
    commands = tmp_path / "sos_commands/networking"
    commands.mkdir(parents=True)
    (commands / "ethtool_ens1").write_text("Settings for ens1:\n\tSpeed: 25000Mb/s\n\tLink detected: yes\n")
    (tmp_path / "sys/class/net/br0/statistics").mkdir(parents=True)
    assert set(findings_by_id(tmp_path, "net.errors")) == {"net.errors"}


def write_files(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


COMMANDS = "sos_commands/networking"
OUTPUTS_OF_A_CARD = {
    f"{COMMANDS}/ethtool_-g_ens1": "Pre-set maximums:\nRX:\t8192\nCurrent hardware settings:\nRX:\t512\n",
    f"{COMMANDS}/ethtool_-S_ens1": "NIC statistics:\n     rx_packets: 10000000\n     rx_out_of_buffer: 900000\n",
    f"{COMMANDS}/ethtool_-i_ens1": "driver: ice\nversion: 6.12\n",
    "sos_commands/kernel/sysctl_-a": "net.ipv4.tcp_rmem = 4096 131072 212992\n",
}
CARD_FILES = {f"sys/class/net/ens1/{name}": text for name, text in (("speed", "100000"), ("operstate", "up"))}
PRINTED = {f"{COMMANDS}/ethtool_ens1": "Settings for ens1:\n\tSpeed: 100000Mb/s\n\tLink detected: yes\n"}


@pytest.mark.parametrize("files", [CARD_FILES, PRINTED], ids=["sysfs", "ethtool"])
def test_a_card_that_one_file_or_output_tells_is_found(tmp_path: Path, files: dict[str, str]) -> None:
    write_files(tmp_path, OUTPUTS_OF_A_CARD | files)
    card = read_nics(Host(str(tmp_path)))["ens1"]
    assert (card.speed_mbit, card.driver, card.bus, card.state) == (100000, "ice", "", "up")
    assert {id: f.severity for id, f in findings_by_id(tmp_path, "net.missed", "tcp.buffers").items()} == {
        "net.missed": "warning",
        "tcp.buffers": "warning",
    }


def test_a_disk_without_its_device_has_a_queue(tmp_path: Path) -> None:
    write_files(tmp_path, {"sys/block/sdc/queue/nr_requests": "4\n"})
    assert findings_by_id(tmp_path, "storage.queue")["storage.queue"].severity == "warning"
    write_files(
        tmp_path, {"sys/block/sdc/queue/nr_requests": "256\n", "sys/block/sdc/device/queue_depth": "1\n"}
    )
    assert findings_by_id(tmp_path, "storage.queue")["storage.queue"].severity == "notice"  # a USB disk has 1


def test_titles_name_what_is_at_fault(server: Server) -> None:
    """By the values of the host that a title must carry."""
    line, ports = "[    9.0] ", PORTS.replace("eth1\nMII Status: up", "eth1\nMII Status: down")
    cases: list[tuple[str, dict[str, str], tuple[str, ...]]] = [
        ("net.bond-port", {BOND: ports}, ("bond0", "eth1")),
        ("host.debug-kernel", {"proc/cmdline": "ro slub_debug=FZPU"}, ("slub_debug=FZPU",)),
        ("storage.cvmfs-config", {"etc/cvmfs/default.local": "CVMFS_QUOTA_LIMIT=1234\n"}, ("1234",)),
        ("log.controller", log("hpsa 0000:03:00.0: controller lockup detected: 0x1"), ("0000:03:00.0",)),
        ("log.disk-offline", log(f"{line}sd 0:0:1:0: [sdb] rejecting I/O to offline device"), ("sdb",)),
        ("storage.raid-busy", {f"{SYS}/dev/raid/speed_limit_max": "1234", **REBUILD}, ("md0", "1234")),
    ]
    for rule, files, values in cases:
        with server.restore_after():
            for path, text in files.items():
                server.put(path, text)
            finding = findings_by_id(server.root, rule)[rule]
        assert all(value in finding.title for value in values), finding.title


def test_a_rebuild_that_is_held_back_may_run_faster(server: Server) -> None:
    path = f"{SYS}/dev/raid/speed_limit_max"
    for limit, count in (("1000", 1), ("200000", 0)):
        for place, text in {path: limit, **REBUILD}.items():
            server.put(place, text)
        finding = findings_by_id(server.root, "storage.raid-busy")["storage.raid-busy"]
        assert (
            sum("speed_limit_max" in line for remedy in finding.remedy for line in remedy.commands) == count
        )


def test_an_overflow_of_the_neighbour_table_has_its_setting(server: Server) -> None:
    for path, text in log("neighbour: arp_cache: neighbor table overflow!").items():
        server.put(path, text)
    for limits in ({}, {"gc_thresh2": "512", "gc_thresh3": "1024"}):  # as captured without them, and with
        for name, value in limits.items():
            server.put(f"{SYS}/net/ipv4/neigh/default/{name}", value)
        remedies = findings_by_id(server.root, "log.neighbours")["log.neighbours"].remedy
        lines = [line for remedy in remedies for line in (*remedy.commands, *remedy.persistent)]
        assert any("gc_thresh3" in line and "16384" in line for line in lines), lines


DB = "sys/fs/cgroup/system.slice/db.service"
ALONE = {
    "tcp.window": {f"{SYS}/net/ipv4/tcp_sack": "0\n"},
    "host.file-handles": {f"{SYS}/fs/aio-nr": "65536\n", f"{SYS}/fs/aio-max-nr": "65536\n"},
    "groups.memory": {f"{DB}/memory.events": "low 0\nhigh 2712045\nmax 0\noom 0\noom_kill 0\n"},
    "groups.tasks": {"sys/fs/cgroup/pids/job/pids.current": "512\n", "sys/fs/cgroup/pids/job/pids.max": "512\n"},
    "net.conntrack-drops": {"proc/net/stat/nf_conntrack": "entries drop early_drop\n00000010 00010000 00000000\n",
                            f"{SYS}/net/netfilter/nf_conntrack_max": "65536\n"},
}  # fmt: skip


@pytest.mark.parametrize("rule", ALONE)
def test_what_proves_a_fault_alone_is_enough(tmp_path: Path, rule: str) -> None:
    """A captured tree of those files, without mount table, /proc/net/snmp or anything else."""
    write_files(tmp_path, ALONE[rule])
    assert set(findings_by_id(tmp_path, rule)) == {rule}


def test_two_faults_of_one_program_have_keys_of_their_own(server: Server) -> None:
    """A run keeps the last finding of a key: the second fault line of the kernel replaced the first."""
    server.put(
        "sos_commands/kernel/dmesg",
        log("smpboot: do_boot_cpu failed(-1) to wakeup CPU#47")["sos_commands/kernel/dmesg"]
        + "\n[   99.2] ata3: COMRESET failed (errno=-16)\n",
    )
    rule = next(rule for rule in rules_of_triage() if rule.id == "service.fault-line")
    events = list(apply_rule(rule, Host(str(server.root)), lambda: 0.0))
    keys = [event.finding.key for event in events if isinstance(event, ev.Found)]
    assert len(keys) == len(set(keys)) == 2
