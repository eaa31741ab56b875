"""A finding that follows from another is a notice below it; one that only repeats it is left out; one fault in several
lines, or in two files, is told and counted once.
"""

from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import matches_glob
from hostdx.probes.system.software.system_log import clock_time
from hostdx.scenarios.contract.finding import Finding, Remedy, fold_alike_findings
from hostdx.scenarios.triage.knowledge.daemons import logged_daemons
from hostdx.scenarios.triage.rules.services import commands_that_work
from hostdx.scenarios.triage.rules.subjects.log import rows_of_unlisted_lines, shorten_line
from hostdx.scenarios.triage.rules.subjects.service_log import fault_line_rows, rows_of_unlisted_service_lines
from hostdx.scenarios.triage.rules.words import MAX_LOOPED_VALUES, commands_for_rows
from hostdx.scenarios.triage.triage import findings_about
from tests.fakes.hosts.tree import Tree
from tests.scenarios.planted import our_rules

WRONG = "Nov 30 10:00:01 srv chronyd[8]: System clock wrong by -1946.984184 seconds, adjustment started\n"
SPLIT = "Nov 30 10:00:02 srv chronyd[8]: Can't synchronise: no majority\n"


def host_with(root: Path, files: dict[str, str]) -> Host:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    host = Host(str(root))
    host.is_static = True
    return host


def findings(root: Path, files: dict[str, str], subject: str) -> dict[str, Finding]:
    found = findings_about(host_with(root, files), frozenset({subject}))
    return {finding.id: finding for finding in found}


def test_what_follows_is_a_notice_without_a_remedy_of_its_own(tmp_path: Path) -> None:
    alone = findings(tmp_path / "alone", {"var/log/messages": WRONG}, "service")["service.time-off"]
    assert alone.severity == "warning"
    assert "chronyc makestep" in alone.remedy[0].commands
    both = findings(tmp_path / "both", {"var/log/messages": WRONG + SPLIT}, "service")
    cause, follower = both["service.time-no-majority"], both["service.time-off"]
    assert (cause.severity, follower.severity) == ("warning", "notice")
    assert [remedy.commands for remedy in follower.remedy] == [()]
    assert cause.title in follower.evidence[-1].text


def test_a_mild_cause_does_not_make_a_grave_finding_mild(tmp_path: Path) -> None:
    log = (
        "Nov 30 10:00:01 srv kernel: EXT4-fs error (device md3): ext4_find_entry:1455: inode #2: comm ls: x\n"
    )
    lists = {"dev-sda2": "8 8\n", "dev-sdb2": ""}

    def severity(name: str) -> str:
        files = {f"sys/block/md3/md/{member}/bad_blocks": text for member, text in lists.items()}
        files |= {f"sys/block/md3/md/{member}/state": "in_sync\n" for member in lists}
        return findings(tmp_path / name, files | {"var/log/messages": log}, "log")["log.file-system"].severity

    assert severity("readable") == "critical"
    lists["dev-sdb2"] = "8 8\n"
    assert severity("lost") == "notice"


def test_each_cause_is_a_rule() -> None:
    causes = {cause.rule for rule in our_rules().rules for cause in rule.follows}
    assert causes
    assert causes <= {rule.id for rule in our_rules().rules}


HEALTH = "mlx5_core 0000:5e:00.0: device's health compromised - reached miss count"
DETAIL = "mlx5_core 0000:5e:00.0: synd 0x7: irisc not responding"
LISTED = {"health compromised": ["health compromised"]}


def unlisted(root: Path, *lines: str) -> int:
    text = "".join(f"[{line}\n" for line in ("    0.0] Linux version 6.12.9", *lines))
    rows = rows_of_unlisted_lines(host_with(root, {"sos_commands/kernel/dmesg": text}), LISTED)
    assert isinstance(rows, list)
    return int(str(rows[0]["lines"]))


def test_one_fault_of_a_device_in_several_lines_is_told_once(tmp_path: Path) -> None:
    assert unlisted(tmp_path / "1", f"  900.1] {HEALTH}", f"  900.2] {DETAIL}") == 0
    assert unlisted(tmp_path / "2", f"  900.1] {HEALTH}", f"  990.2] {DETAIL}") == 1
    other = DETAIL.replace("5e", "6f")
    assert unlisted(tmp_path / "3", f"  900.1] {HEALTH}", f"  900.2] {other}") == 1


PLUGIN = "error: cannot find cgroup plugin for cgroup/v2"
NAME = "error: Couldn't find the specified plugin name for cgroup/v2 looking at all files"


def test_one_fault_of_a_daemon_in_several_lines_is_told_once(tmp_path: Path) -> None:
    def rows(name: str, later: str) -> list[object]:
        lines = [f"Nov 30 10:00:{n:02d} srv slurmd[9]: {PLUGIN}\n" for n in (1, 2, 3)]
        lines += [f"Nov 30 10:00:{later[0]}{n} srv slurmd[9]: {NAME}\n" for n in (1, 2, 3)]
        host = host_with(tmp_path / name, {"var/log/messages": "".join(lines)})
        return [
            row["lines"]
            for row in rows_of_unlisted_service_lines(host, our_rules().rules)
            if row["name"] == "slurmd"
        ]

    assert rows("same", "00") == [0]
    assert rows("later", "40") == [3]


def test_an_event_in_two_files_counts_once(tmp_path: Path) -> None:
    words = "Child [14936] ('a':'%BE_a') was terminated by own WATCHDOG"
    system = "".join(f"Aug  6 09:1{n}:00 srv sssd[941]: {words}. Consult the logs.\n" for n in range(4))
    own = "".join(f"(2026-08-06  9:1{n}:00): [sssd] [svc] (0x0020): {words}\n" for n in range(5))
    host = host_with(tmp_path, {"var/log/messages": system, "var/log/sssd/sssd.log": own})
    by_id = {finding.id: finding for finding in findings_about(host, frozenset({"service"}))}
    assert by_id["service.sssd-watchdog"].evidence[0].text.startswith("5 ")


def test_a_time_of_day_is_told_alike() -> None:
    for line in ("(2026-08-06  9:10:00): x", "Aug  6 09:10:00 srv x", "[2026-08-06T09:10:00.138] x"):
        assert clock_time(line) == "09:10:00"
    assert clock_time("no time in the first words, but later 09:10:00") == ""


def test_a_boot_parameter_that_is_set_is_not_advised(tmp_path: Path) -> None:
    line = "Nov 30 10:00:01 srv kernel: vfio-pci 0000:81:00.0: BAR 3: can't reserve [mem 0x9fc00000-0x9fffffff]\n"

    def advice(name: str, cmdline: str) -> str:
        host = host_with(tmp_path / name, {"var/log/messages": line * 3, "proc/cmdline": cmdline})
        return str(fault_line_rows(host)[0]["advice"])

    assert "initcall_blacklist=sysfb_init" in advice("without", "ro quiet")
    assert "initcall_blacklist=sysfb_init" not in advice("with", "ro initcall_blacklist=sysfb_init")


def test_a_boot_parameter_of_a_command_line_is_left_out_where_it_is_set(tmp_path: Path) -> None:
    line = "# the boot loader's command line: swiotlb=131072"
    for name, cmdline, commands in (("set", "ro swiotlb=131072", []), ("other", "ro swiotlb=65536", [line])):
        assert [*commands_that_work(host_with(tmp_path / name, {"proc/cmdline": cmdline}), line)] == commands


def test_a_limit_on_locked_memory_is_a_warning_where_jobs_use_an_adapter(tmp_path: Path) -> None:
    limits = "Max locked memory         65536                65536                bytes     \n"
    files = {"sys/class/infiniband/mlx5_0/node_type": "1: CA\n"}
    for pid, name in ((3122, "slurmd"), (41030, "lmp_mpi")):
        files |= {f"proc/{pid}/comm": f"{name}\n", f"proc/{pid}/limits": limits}
    assert findings(tmp_path, files, "fabric")["fabric.locked-memory"].severity == "notice"
    (tmp_path / "proc/41030/fd").mkdir()
    (tmp_path / "proc/41030/fd/11").symlink_to("/dev/infiniband/uverbs0")
    assert findings(tmp_path, {}, "fabric")["fabric.locked-memory"].severity == "warning"


def test_a_loop_over_very_many_is_cut() -> None:
    few = [{"name": f"p{n}"} for n in range(MAX_LOOPED_VALUES)]
    [whole] = commands_for_rows("ls {name}", few)
    [cut] = commands_for_rows("ls {name}", [*few, {"name": "last"}, {"name": "least"}])
    assert "#" not in whole
    assert cut.startswith(whole)
    assert "last" not in cut
    pairs = [{"name": f"p{n}", "source": f"s{n}"} for n in range(2 * MAX_LOOPED_VALUES)]
    assert len(commands_for_rows("mount {source} {name}", pairs)) == MAX_LOOPED_VALUES + 1


def test_findings_that_are_folded_keep_the_commands_of_each() -> None:
    def finding(name: str) -> Finding:
        remedy = Remedy(title="x", commands=(f"echo 1 > /sys/{name}",), undo=(f"echo 0 > /sys/{name}",))
        return Finding(id="a.b", severity="notice", title="x", subject=name, remedy=(remedy,))

    [folded] = fold_alike_findings([finding("a"), finding("b")])
    assert folded.remedy[0].commands == ("echo 1 > /sys/a", "echo 1 > /sys/b")
    assert folded.remedy[0].undo == ("echo 0 > /sys/a", "echo 0 > /sys/b")


def fault_lines_of(root: Path, *lines: str) -> list[str]:
    text = "".join(f"Nov 30 10:00:{n:02d} srv {line}\n" for n, line in enumerate(lines))
    return [str(row["last"]) for row in fault_line_rows(host_with(root, {"var/log/messages": text}))]


def test_what_follows_from_a_fault_is_not_told_beside_it(tmp_path: Path) -> None:
    refused = "cvmfs2[812]: (a.cern.ch) whitelist verification failed (6): invalid whitelist signature"
    switched = ["cvmfs2[812]: (a.cern.ch) switching host from http://s1 to http://s2"] * 5
    assert len(fault_lines_of(tmp_path / "alone", *switched)) == 1
    assert fault_lines_of(tmp_path / "beside", refused, *switched) == [refused.partition(": ")[2]]


def test_a_long_line_keeps_its_end(tmp_path: Path) -> None:
    line = f"begin {'x' * 900} no space left on device"
    shown = shorten_line(line)
    assert len(shown) < 320
    assert shown.startswith("begin x")
    assert shown.endswith("no space left on device")
    assert shorten_line(line[:300]) == line[:300]


def test_no_daemon_reads_the_log_of_another() -> None:
    names = {
        f"/var/log/{folder}{program}.log": program
        for daemon in logged_daemons()
        for program in daemon.programs
        for folder in ("", "slurm/")
    }
    for daemon in logged_daemons():
        others = [
            (path, pattern)
            for path, program in names.items()
            for pattern in daemon.files
            if program not in daemon.programs and matches_glob(path, pattern)
        ]
        assert others == []


def test_a_daemon_s_own_file_is_read_and_only_known_lines_of_some_are_told(tmp_path: Path) -> None:
    """sssd writes to no other place; of a database most errors are its users'."""
    rid = (
        "(Wed Sep  8 08:10:00 2021) [sssd[be[x]]] [f] (0x0040): Object SID [S-1-5-21-4] has a RID that is larger "
        "than the ldap_idmap_range_size."
    )
    tree = Tree(tmp_path)
    tree.put("/var/log/sssd/sssd_x.log", f"{rid}\n" * 3)
    tree.put(
        "/var/log/postgresql/a.log", "2026-11-30 10:00:00 UTC [1] ERROR:  failed to open the door\n" * 50
    )
    host = tree.host()
    assert [row["name"] for row in rows_of_unlisted_service_lines(host, ()) if row["lines"]] == []
    assert {row["name"] for row in fault_line_rows(host)} == {"sssd"}
