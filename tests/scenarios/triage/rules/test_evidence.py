"""Evidence, and the rights that a remedy needs."""

from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.triage.knowledge.waits import wait_reason
from hostdx.scenarios.triage.rules import words
from hostdx.scenarios.triage.rules.engine import host_rule_of
from hostdx.scenarios.triage.rules.known import load_written_rules
from hostdx.scenarios.triage.rules.subjects.log import rows_of_unlisted_lines
from hostdx.scenarios.triage.rules.texts import finding_texts
from hostdx.scenarios.triage.triage import apply_rule
from tests.every_case import every_case

RULE = """
[[rule]]
id = "site.queue"
title = "our queues"
each = "/sys/x/*"
read.now = { path = "now" }
read.most = { path = "most" }
when = "now < 5"
text = "{name} is {now}"
why = "we measured it"
[[rule.remedy]]
title = "Raise it"
when = "now < most"
set = { "/sys/x/{name}/now" = "9" }
commands = ["show {name}", "systemctl restart ours"]
"""


def make_host(root: Path, names: tuple[str, ...], **most: str) -> Host:
    for name in names:
        (root / f"sys/x/{name}").mkdir(parents=True)
        (root / f"sys/x/{name}/now").write_text("1")
        (root / f"sys/x/{name}/most").write_text(most.get(name, "9"))
    return Host(str(root))


def only_finding(tmp_path: Path, host: Host) -> Finding:
    site = tmp_path / "site"
    site.mkdir()
    (site / "own.toml").write_text(RULE)
    [text] = [rule for rule in load_written_rules(site).rules if rule.id == "site.queue"]
    [finding] = [
        e.finding for e in apply_rule(host_rule_of(text), host, lambda: 0.0) if isinstance(e, ev.Found)
    ]
    return finding


def test_each_row_cites_its_own_file(tmp_path: Path) -> None:
    finding = only_finding(tmp_path, make_host(tmp_path / "t", ("a", "b", "c")))
    rows = finding.evidence[:3]
    assert [row.source for row in rows] == [f"/sys/x/{name}/now" for name in "abc"]


def test_a_remedy_is_for_all_of_its_subjects(tmp_path: Path) -> None:
    finding = only_finding(tmp_path, make_host(tmp_path / "t", ("a", "b")))
    [remedy] = finding.remedy
    assert remedy.commands[:2] == ("show a", "show b")
    assert remedy.commands[-1] == "echo 9 | tee /sys/x/a/now /sys/x/b/now"
    assert remedy.undo == ("echo 1 | tee /sys/x/a/now /sys/x/b/now",)


def test_many_subjects_are_one_loop(tmp_path: Path) -> None:
    finding = only_finding(tmp_path, make_host(tmp_path / "t", tuple("abcdef")))
    assert finding.remedy[0].commands[0] == 'for x in a b c d e f; do show "$x"; done'


def test_a_remedy_that_changes_nothing_is_not_shown(tmp_path: Path) -> None:
    finding = only_finding(tmp_path, make_host(tmp_path / "t", ("a", "b"), a="1"))
    assert "a/now" not in " ".join(finding.remedy[0].commands)
    assert "b/now" in " ".join(finding.remedy[0].commands)


def test_a_service_that_is_not_installed_is_not_restarted(tmp_path: Path) -> None:
    host = make_host(tmp_path / "t", ("a",))
    (tmp_path / "t/usr/lib/systemd/system").mkdir(parents=True)
    (tmp_path / "t/usr/lib/systemd/system/another.service").write_text("")
    assert "systemctl restart ours" not in only_finding(tmp_path, host).remedy[0].commands


def test_a_service_that_is_installed_is_restarted(tmp_path: Path) -> None:
    host = make_host(tmp_path / "t", ("a",))
    (tmp_path / "t/usr/lib/systemd/system").mkdir(parents=True)
    (tmp_path / "t/usr/lib/systemd/system/ours.service").write_text("")
    assert "systemctl restart ours" in only_finding(tmp_path, host).remedy[0].commands


@every_case(
    ("line", "names"),
    [
        ("<4>[  900.1] frob 0000:c1:00.0: knob turned", ["frob 0000:c1:00.0"]),
        ("<6>[  900.1] frob 0000:c1:00.0: knob turned", []),
        ("[  900.1] TCP: eth0: Driver has suspect GRO, performance may be compromised.", ["TCP eth0"]),
        ("[  900.1] frob 0000:c1:00.0: limiting to one queue", ["frob 0000:c1:00.0"]),
    ],
)
def test_lines_that_no_list_names(tmp_path: Path, line: str, names: list[str]) -> None:
    log = tmp_path / "sos_commands/kernel/dmesg"
    log.parent.mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    log.write_text(f"{line}\n")
    rows = rows_of_unlisted_lines(Host(str(tmp_path)), {})
    assert not isinstance(rows, Absent)
    assert [row.subject for row in rows if row["lines"]] == names


@every_case(
    ("functions", "modules", "kind", "function_name"),
    [
        (
            ("rpc_wait_bit_killable", "nfs4_do_open"),
            {"nfs4_do_open": "nfsv4"},
            "network",
            "rpc_wait_bit_killable",
        ),
        (("__schedule", "some_new_wait"), {"some_new_wait": "nfsv4"}, "network", "some_new_wait [nfsv4]"),
        (("mutex_lock", "zio_wait"), {"zio_wait": "zfs"}, "block", "zio_wait [zfs]"),
        (("schedule", "frobnicate"), {}, "unknown", "frobnicate"),
        (("schedule", "frobnicate"), {"frobnicate": "ours"}, "unknown", "frobnicate [ours]"),
    ],
)
def test_a_wait_is_named_by_its_stack(
    functions: tuple[str, ...], modules: dict[str, str], kind: str, function_name: str
) -> None:
    reason = wait_reason(functions, modules)
    assert (reason.kind, reason.function_name) == (kind, function_name)


@every_case(
    ("line", "expected"),
    [
        ("echo 0 > /sys/block/vda/queue/rotational", "sudo sh -c 'echo 0 > /sys/block/vda/queue/rotational'"),
        ("echo a | tee /sys/x*/y", "sudo sh -c 'echo a | tee /sys/x*/y'"),
        ("printf '%s\\n' x > /etc/a.conf", "sudo sh -c 'printf '\"'\"'%s\\n'\"'\"' x > /etc/a.conf'"),
        ("mkdir -p /etc/systemd/system/a.d", "sudo mkdir -p /etc/systemd/system/a.d"),
        ("systemctl enable --now fstrim.timer", "sudo systemctl enable --now fstrim.timer"),
        ("sysctl kernel.hung_task_warnings=10", "sudo sysctl kernel.hung_task_warnings=10"),
        ("nft list ruleset | grep fib  # none", "sudo sh -c 'nft list ruleset | grep fib  # none'"),
        ("ethtool -G eth0 rx 4096", "sudo ethtool -G eth0 rx 4096"),
        ("rpc.nfsd 64", "sudo rpc.nfsd 64"),
        ("auditctl -s", "sudo auditctl -s"),
        ("tc qdisc del dev eth0 root", "sudo tc qdisc del dev eth0 root"),
        ("blockdev --setra 4096 /dev/sda", "sudo blockdev --setra 4096 /dev/sda"),
        ("netfilter-persistent save", "sudo netfilter-persistent save"),
        ("sudo sh -c 'echo 1 > /etc/x'", None),
        ("ethtool -k eth0", None),
        ("systemctl status 1", None),
        ("cat /sys/block/vda/queue/rotational", None),
        ("sysctl -a 2>/dev/null | grep rp_filter", None),
        ("hostdx run dstate", None),
        ("# echo 1 > /sys/x", None),
        ("/etc/fstab: add discard=async", None),
    ],
)
def test_what_only_root_may_run_begins_with_sudo(
    line: str, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "is_root", lambda: False)
    assert words.as_line_to_type(line) == (expected or line)
    monkeypatch.setattr(words, "is_root", lambda: True)
    assert words.as_line_to_type(line) == line


def test_a_finding_of_a_file_is_made_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "is_root", lambda: False)
    finding = finding_texts("storage").finding(
        "not-rotating", subject="vda", half=9e4, path="/sys/block/vda/r"
    )
    assert finding.remedy[0].commands == ("sudo sh -c 'echo 0 > /sys/block/vda/r'",)
    assert finding.remedy[0].verify == ("cat /sys/block/vda/r",)
