"""The system's log by program: own lines, each once, of this boot."""

from pathlib import Path

from hostdx.probes.system.software.system_log import read_system_log
from tests.fakes.hosts.tree import Tree

OWN = "Nov 24 02:11:0{n} node7 slurmd[812]: line {n}\n"
OTHER = "2026-11-24T02:11:00.1+01:00 node8.example.org sshd[9]: other {n}\n"


def read_messages(tree: Tree, program: str) -> list[str]:
    return [line.message for line in read_system_log(tree.host()).get(program, [])]


def test_lines_of_other_hosts_are_left_out(tmp_path: Path) -> None:
    text = OWN.format(n=1) + "".join(OTHER.format(n=n) for n in range(9))
    tree = Tree(tmp_path).put("/var/log/messages", text).put("/etc/hostname", "node7.example.org\n")
    assert read_messages(tree, "slurmd") == ["line 1"]
    assert read_messages(tree, "sshd") == []


def test_a_line_in_log_and_journal_counts_once(tmp_path: Path) -> None:
    tree = Tree(tmp_path).put("/var/log/messages", OWN.format(n=1) * 2)
    tree.put("/sos_commands/logs/journalctl_--no-pager_--boot", OWN.format(n=1) + OWN.format(n=2))
    tree.put("/sos_commands/logs/journalctl_--no-pager_--boot_-1", OWN.format(n=3))
    tree.put("/sos_commands/logs/journalctl_--no-pager", OWN.format(n=4))
    assert read_messages(tree, "slurmd") == ["line 1", "line 1", "line 2"]


def test_names_of_programs(tmp_path: Path) -> None:
    lines = ("postfix/smtpd[1]: a", "sssd[sssd]: b", "rsyslogd: c", "(root) d: e", "kernel: f")
    tree = Tree(tmp_path).put("/var/log/syslog", "".join(f"Nov  4 02:11:00 h {line}\n" for line in lines))
    by_program = read_system_log(tree.host())
    assert {
        name: [line.message for line in by_program.get(name, [])] for name in ("smtpd", "sssd", "rsyslogd")
    } == {"smtpd": ["a"], "sssd": ["b"], "rsyslogd": ["c"]}


def test_managers_of_users_are_a_program_of_their_own(tmp_path: Path) -> None:
    lines = ("systemd[1]: a", "systemd[2207]: b", "systemd: c")
    tree = Tree(tmp_path).put("/var/log/syslog", "".join(f"Nov  4 02:11:00 h {line}\n" for line in lines))
    assert read_messages(tree, "systemd") == ["a", "c"]
    assert read_messages(tree, "systemd --user") == ["b"]
