"""The rules as text, the private addresses and the routes: without a kernel."""

import ipaddress
from pathlib import Path

from hostdx.probes.engine.namespaces import draw_lab_addresses
from hostdx.probes.system.processor.cpu_times import parse_proc_stat
from hostdx.scenarios.rpfilter.measurement.firewall_rules import Treatment
from hostdx.scenarios.rpfilter.measurement.lab import choose_least_busy_cpu
from hostdx.scenarios.rpfilter.measurement.scheduling_delay import run_and_wait_ns, softirq_schedstat_path


def test_only_the_rule_differs_between_the_variants() -> None:
    texts = {
        kind: Treatment(rule_kind=kind, protocol="IPv6").nft_ruleset.splitlines()
        for kind in ("none", "trivial", "check")
    }
    for name in ("trivial", "check"):
        differing = [(a, b) for a, b in zip(texts["none"], texts[name], strict=True) if a != b]
        assert len(differing) == 1
        assert differing[0][0].strip() == ""
    assert (
        "\t\tmeta nfproto ipv6 fib saddr . mark . iif oif missing counter name caught drop" in texts["check"]
    )


def test_iptables_forms() -> None:
    def last(**change: object) -> tuple[str, ...]:
        return Treatment(rule_kind="check", protocol="IPv6", **change).iptables_commands[-1]  # type: ignore[arg-type]

    assert last(loader="iptables-nft")[:5] == ("ip6tables-nft", "-w", "5", "-t", "mangle")
    assert "--validmark" in last(loader="iptables-nft")
    assert "--loose" not in last(loader="iptables-legacy", table="raw")
    assert "--loose" in last(loader="iptables-legacy", flags=("saddr",))
    assert Treatment(rule_kind="check", protocol="IPv6").iptables_commands == ()
    assert "fib" not in Treatment(rule_kind="check", protocol="IPv6", loader="iptables-nft").nft_ruleset


def test_addresses_are_private_and_drawn_anew() -> None:
    draws = [draw_lab_addresses() for _ in range(50)]
    for nets in draws:
        for address in (*nets.ipv6, *nets.ipv4, nets.spoofed6, nets.spoofed4):
            assert ipaddress.ip_address(address).is_private
        assert ipaddress.ip_address(nets.ipv6[0]) in ipaddress.ip_network(nets.ipv6_net)
        assert ipaddress.ip_address(nets.spoofed6) in ipaddress.ip_network(nets.spoofed6_net)
        assert not ipaddress.ip_network(nets.ipv6_net).overlaps(ipaddress.ip_network(nets.spoofed6_net))
        assert not ipaddress.ip_network(nets.ipv4_net).overlaps(ipaddress.ip_network(nets.spoofed4_net))
    assert len({nets.ipv6_net for nets in draws}) == 50


def test_the_quietest_cpu_is_chosen() -> None:
    """Waiting for I/O is no work; steal is time that the CPU does not give."""
    before = parse_proc_stat(
        "cpu  9 9 9 9\ncpu0 10 0 10 900 50 1 2 0 0 0\ncpu1 5 0 5 900 0 0 0 0 0 0\nintr 5\n"
    ).cpus
    after = parse_proc_stat("cpu0 11 0 10 950 99 1 2 0 0 0\ncpu1 5 0 5 900 0 0 0 3 0 0\n").cpus
    assert choose_least_busy_cpu({0, 1}, before, after) == 0
    assert choose_least_busy_cpu({0, 1, 2}, before, after) == 2
    assert choose_least_busy_cpu({0, 1}, before, before) == 1


def test_ksoftirqd_is_told_from_a_process_of_that_name(tmp_path: Path) -> None:
    rest = " ".join(["0"] * 40)
    for pid, stat in (
        ("13", f"13 (x (ksoftirqd/1) S 2 {rest}"),
        ("14", f"14 (ksoftirqd/1) S 1 {rest}"),
        ("15", f"15 (ksoftirqd/1) S 2 {rest}"),
        ("self", ""),
    ):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(stat)
    assert softirq_schedstat_path(0, tmp_path) is None
    assert softirq_schedstat_path(1, tmp_path) == tmp_path / "15" / "schedstat"
    (tmp_path / "15" / "stat").write_text(f"15 (ksoftirqd/11) S 2 {rest}")
    assert softirq_schedstat_path(1, tmp_path) is None
    assert run_and_wait_ns(tmp_path / "15" / "schedstat") is None
