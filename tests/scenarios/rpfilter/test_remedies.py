"""Whose command a remedy is, and that it names this host's own interfaces."""

from pathlib import Path

from hostdx.probes.system.firewall.firewalld import CONF
from hostdx.scenarios.rpfilter.rules import check_loaded_reverse_path_rules
from tests.every_case import every_case
from tests.fakes.hosts.rulesets import FIB
from tests.scenarios.rpfilter.test_rules import FIXTURES, firewalld, host


@every_case(
    ("files", "state", "has_firewalld"),
    [
        ({}, "inactive\n", False),
        ({}, "", False),  # no systemd, and no file
        (firewalld("1.3.4", "IPv6_rpfilter=yes"), "inactive\n", False),
        (firewalld("1.3.4", "IPv6_rpfilter=yes"), "active\n", True),
        (firewalld("1.3.4", "IPv6_rpfilter=yes"), "", True),
    ],
)
def test_firewalld_s_table_without_firewalld_is_changed_by_nft(
    tmp_path: Path, files: dict[str, str], state: str, has_firewalld: bool
) -> None:
    """Its file and its command would not be there."""
    text = (
        (FIXTURES / "with" / "firewalld-1.3.nft")
        .read_text()
        .replace(f"{FIB} drop", f"{FIB} drop # handle 13")
    )
    running = {"systemctl is-active firewalld.service": state} if state else {}
    (finding,) = check_loaded_reverse_path_rules(host(tmp_path, text, files, **running))
    first = finding.remedy[0]
    lines = (*first.commands, *first.verify, *first.undo)
    assert (
        any("firewall-cmd" in line for line in lines) == any(CONF in line for line in lines) == has_firewalld
    )
    chain = "inet firewalld filter_PREROUTING"
    statement = "'meta nfproto ipv6 fib saddr . mark . iif oif missing drop'"
    if not has_firewalld:
        assert first.commands[0].startswith(f"nft -a list chain {chain}  # ")
        assert first.commands[1] == f"nft delete rule {chain} handle 13"
        assert first.undo == (f"nft add rule {chain} index 0 {statement}",)
