"""A user is given commands that he can run: with sudo, and with a shell where a redirection needs the rights."""

import pytest

from hostdx.scenarios.triage.rules import words
from hostdx.scenarios.triage.rules.texts import finding_texts
from tests.every_case import every_case


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
