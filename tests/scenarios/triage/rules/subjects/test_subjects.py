"""Subjects of rules."""

from pathlib import Path

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.rules.rule_file import RuleText
from hostdx.scenarios.triage.rules.subjects.array import multipath_rows
from hostdx.scenarios.triage.rules.subjects.cpu import policy_rows
from hostdx.scenarios.triage.rules.subjects.irq import used_queue_irqs
from hostdx.scenarios.triage.rules.subjects.pci import pci_rows
from hostdx.scenarios.triage.rules.subjects.process import all_processes, odd_process_rows
from hostdx.scenarios.triage.rules.subjects.service_log import (
    rows_of_service_lines,
    rows_of_unlisted_service_lines,
)
from tests.fakes.hosts.tree import Tree


def test_a_controller_served_on_another_node(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    device = "sys/devices/pci0000:80/0000:81:00.0"
    tree.put(f"{device}/class", "0x010802\n")
    tree.put(f"{device}/numa_node", "1\n")
    (tmp_path / device / "nvme/nvme0").mkdir(parents=True)
    (tmp_path / device / "msi_irqs").mkdir()
    tree.put(f"{device}/msi_irqs/40", "msix\n")
    (tmp_path / "sys/bus/pci/devices").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices/0000:81:00.0").symlink_to(f"../../../../{device}")
    tree.put("proc/interrupts", "      CPU0  CPU1\n 40:   9  0  IR-PCI-MSI nvme0q1\n")
    tree.put("proc/irq/40/smp_affinity_list", "0\n")
    for number in (0, 1):
        tree.put(f"sys/devices/system/node/node{number}/cpulist", f"{number}\n")
        tree.put(f"sys/devices/system/node/node{number}/distance", "20 10\n" if number else "10 20\n")
        tree.put(f"sys/devices/system/node/node{number}/meminfo", f"Node {number} MemTotal: 4096 kB\n")
        tree.put(f"sys/devices/system/cpu/cpu{number}/topology/physical_package_id", f"{number}\n")
        tree.put(f"sys/devices/system/cpu/cpu{number}/topology/core_id", "0\n")
    for name in ("online", "possible", "present"):
        tree.put(f"sys/devices/system/cpu/{name}", "0-1\n")
    tree.put("sys/devices/system/node/online", "0-1\n")
    text = (
        "81:00.0 Non-Volatile memory controller [0108]: X\n\t\t\tMaxPayload 256 bytes, MaxReadReq 128 bytes\n"
    )
    Tree(tmp_path).put("sos_commands/pci/lspci_-nnvv", f"00:00.0 Host bridge\n\n{text}\n")
    rows = pci_rows(Host(str(tmp_path)))
    assert isinstance(rows, list)
    [row] = rows
    assert (row["node"], row["irq_nodes"], row["read_request"]) == (1, (0,), 128)


def test_the_firmwares_limit_of_the_clock_is_in_the_clocks_own_unit(tmp_path: Path) -> None:
    """1.2 of 3.4 GHz: the kernel gives all of a policy's frequencies in kHz, and the rule compares two of them."""
    policy = "sys/devices/system/cpu/cpufreq/policy0"
    tree = Tree(tmp_path).put(f"{policy}/scaling_governor", "performance\n")
    tree.put(f"{policy}/bios_limit", "1200000\n").put(f"{policy}/cpuinfo_max_freq", "3400000\n")
    rows = policy_rows(Host(str(tmp_path)))
    assert isinstance(rows, list)
    assert [(row["bios_khz"], row["hw_max_khz"]) for row in rows] == [(1_200_000, 3_400_000)]


def test_interrupts_that_are_named_by_a_bus_address_are_the_cards(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    interrupt_names = ("mlx5_comp0@pci:0000:c1:00.0", "mlx5_comp0@pci:0000:c1:00.1", "nvme0q1", "nvme10q1")
    lines = "".join(f" {40 + n}:   9  0  IR-PCI-MSIX {name}\n" for n, name in enumerate(interrupt_names))
    tree.put("proc/interrupts", f"      CPU0  CPU1\n{lines}")
    host = tree.host()
    assert used_queue_irqs(host, Absent(""), ["eth0", "0000:c1:00.0"]) == ("40",)
    assert used_queue_irqs(host, Absent(""), ["nvme0"]) == ("42",)


def test_paths_of_equal_priority_in_groups_of_their_own(tmp_path: Path) -> None:
    text = (
        "mpatha (36005) dm-2 HP,HSV210\nsize=1.0T features='0' hwhandler='1 alua' wp=rw\n"
        "|-+- policy='service-time 0' prio=50 status=active\n| `- 1:0:0:1 sdc 8:32 active ready running\n"
        "`-+- policy='service-time 0' prio={} status=enabled\n  `- 2:0:0:1 sdd 8:48 active ready running\n"
    )
    for prio, kinds in ((50, (50,)), (10, (10, 50))):
        Tree(tmp_path).put("sos_commands/multipath/multipath_-ll", text.format(prio))
        rows = multipath_rows(Host(str(tmp_path)))
        assert isinstance(rows, list)
        assert [(r["paths"], r["groups"], r["alua"], r["priorities"]) for r in rows] == [(2, 2, True, kinds)]


ALARM = "2026-11-07 [warning] <0.7.0> memory resource limit alarm set on node r@h"
CLEARED = "2026-11-07 [warning] <0.7.0> memory resource limit alarm cleared on node r@h"
LOG = "/var/log/rabbitmq/rabbit@h.log"


RULE = RuleText(
    id="service.alarm",
    title="x",
    each="log",
    when="lines > 0",
    text="x",
    why="x",
    log="alarm set on",
    log_words=("alarm set on",),
    programs=("rabbitmq", "sshd"),
    files=("/var/log/rabbitmq/*.log",),
    settled="alarm cleared",
)


def service_rows(tree: Tree) -> list[tuple[str, object, object]]:
    return [(row.subject, row["lines"], row["over"]) for row in rows_of_service_lines(tree.host(), RULE)]


def test_what_comes_after_the_fault_says_that_it_is_over(tmp_path: Path) -> None:
    tree = Tree(tmp_path).put(LOG, f"{ALARM}\n{CLEARED}\n")
    assert service_rows(tree) == [("rabbitmq", 1, True)]
    tree.put(LOG, f"{ALARM}\n{CLEARED}\n{ALARM}\n")
    assert service_rows(tree) == [("rabbitmq", 2, False)]


def test_a_daemons_line_that_no_rule_names(tmp_path: Path) -> None:
    """Those that a rule names are left out; of the others the kind that came most often is told."""
    slow = "2026-11-07 7f80 0 log_latency slow operation observed for x, latency = {}.1s"
    other = "2026-11-07 7f80 -1 osd.3 failed to open fsid file"
    lines = [*(slow.format(n) for n in range(5)), other, "2026-11-07 7f80 0 all is well"]
    tree = Tree(tmp_path).put("/var/log/ceph/ceph-osd.3.log", "\n".join(lines))
    [row] = rows_of_unlisted_service_lines(tree.host(), ())
    assert (row["name"], row["lines"], row["alike"], row["last"]) == ("ceph-osd", 6, 5, lines[4])
    rule = msgspec.structs.replace(RULE, log="slow operation", log_words=(), programs=("ceph-osd",))
    [row] = rows_of_unlisted_service_lines(tree.host(), (rule,))
    assert (row["lines"], row["last"]) == (1, other)


SUPERVISOR = "[2026-11-07T02:10:{}] error: the power supervisor cannot reach 12 nodes: node[121-132]"
TOPOLOGY = "[2026-11-07T02:20:{}] error: partition gpu: cannot lay out the job queue"


def unlisted_kinds(tree: Tree) -> list[tuple[object, ...]]:
    rows = rows_of_unlisted_service_lines(tree.host(), ())
    return [(row["name"], row["alike"], row["loud"], row["over"]) for row in rows if row["lines"]]


def test_each_grave_kind_of_a_daemons_lines_is_a_row(tmp_path: Path) -> None:
    lines = [kind.format(f"{n:02d}.1") for kind in (SUPERVISOR, TOPOLOGY) for n in range(4)]
    tree = Tree(tmp_path).put("/var/log/slurm/slurmctld.log", "\n".join(lines))
    assert unlisted_kinds(tree) == [("slurmctld", 4, True, False)] * 2
    end = "[2026-11-07T02:30:00] slurmctld: connection to the database restored"
    tree.put("/var/log/slurm/slurmctld.log", "\n".join([*lines[:4], end]))
    assert unlisted_kinds(tree) == [("slurmctld", 4, True, True)]


def test_a_program_without_an_entry_is_read_where_it_says_that_it_cannot_go_on(tmp_path: Path) -> None:
    """Its errors alone may be its users'; what is damaged, full or over a limit is not."""
    tree = Tree(tmp_path).put("/var/log/stagerd/stagerd.log", "ERROR cannot stage in x\n" * 40)
    assert unlisted_kinds(tree) == []
    tree.put("/var/log/stagerd/stagerd.log", "ERROR cannot stage in x: quota limit has been reached\n" * 3)
    assert unlisted_kinds(tree) == [("stagerd", 3, True, False)]
    tree.put("/var/log/stagerd/stagerd.log", "")
    tree.put("/var/log/anaconda/stagerd.log", "ERROR cannot stage in x: quota limit has been reached\n" * 3)
    assert unlisted_kinds(tree) == []


def test_a_program_without_lines_has_no_row(tmp_path: Path) -> None:
    assert service_rows(Tree(tmp_path)) == []


def test_processes_by_their_status_alone(tmp_path: Path) -> None:
    """A sosreport keeps /proc/PID/status, not stat."""
    tree = Tree(tmp_path)
    for pid, name, state, parent in (
        (812, "mariadbd", "T (stopped)", 1),
        (9, "ksoftirqd/0", "S (sleeping)", 2),
    ):
        tree.put(f"/proc/{pid}/status", f"Name:\t{name}\nState:\t{state}\nPid:\t{pid}\nPPid:\t{parent}\n")
    host = tree.host()
    assert [process.name for process in all_processes(host)] == ["mariadbd"]
    assert [(row.subject, row["kind"]) for row in odd_process_rows(host)] == [("mariadbd [812]", "stopped")]
