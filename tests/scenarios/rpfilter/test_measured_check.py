"""Which check is measured: the one that is loaded, whatever its form and family; and nobody is blamed for another."""

from pathlib import Path

import pytest

from hostdx.scenarios.contract import events as ev
from tests.fakes.hosts.rulesets import FIB, nft_text
from tests.fakes.streams.rpfilter_story import FIXTURES, Story, stop_guards, with_check


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_guards(monkeypatch)


async def test_without_the_iptables_tool_the_lookup_itself_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.scenarios.rpfilter.measurement.measured_check.find_tool", lambda name: None)
    story = Story(tmp_path, with_check("ip6tables-nft"))
    assert any("ip6tables-nft" in line for line in story.plan.left_out)
    await story.run()
    assert {t.loader for t in story.bench.loaded} == {"nft"}


async def test_a_check_for_forwarded_packets_is_measured_but_not_blamed(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("firewalld-2.2-strict-forward"))
    await story.run()
    assert story.cost.severity == "ok"
    assert story.cost.remedy == ()  # firewalld 2.2's remedy is what it has already
    assert any("prerouting" in line for line in story.plan.left_out)


async def test_the_check_that_is_loaded_is_measured_whatever_its_family(tmp_path: Path) -> None:
    rules = (FIXTURES / "with" / "iptables-nft-ipv4-loose.save").read_text()
    story = Story(tmp_path, with_check("iptables-nft-ipv4-loose"), {"all": True}, saved4=rules)
    await story.run()
    assert story.host.path_exists("/proc/net/if_inet6")
    assert (story.cost.subject, story.cost.answers) == ("IPv4", False)
    assert story.verdicts[("udp-ipv4", "check")] == "slower"
    check = next(t for t in story.bench.loaded if t.rule_kind == "check")
    assert (check.protocol, check.loader, check.priority, check.table) == (
        "IPv4",
        "iptables-nft",
        -300,
        "raw",
    )
    assert [w.id for w in story.plan.workloads][:3] == ["udp-ipv4", "udp-ipv6", "udp-ipv4-setting"]
    assert story.verdicts[("udp-ipv6", "fib")] == "slower"
    assert story.verdicts[("udp-ipv4-setting", "rp1")] == "no material difference"


async def test_a_second_check_is_told_though_the_first_is_measured(tmp_path: Path) -> None:
    """IPv6's is measured, the dear one; IPv4's is neither measured nor passed over."""
    story = Story(tmp_path, with_check("firewalld-1.3") + nft_text(f"{FIB} drop", family="ip"))
    assert any("mine" in x for x in story.plan.left_out)
    await story.run()
    assert story.cost.subject == "IPv6"
    subjects = [e.finding.subject for e in story.fake.of(ev.Found) if e.finding.id == "rpfilter.loaded"]
    assert subjects == ["ip mine pre"]


async def test_without_ipv6_the_setting_is_measured_as_it_is(tmp_path: Path) -> None:
    without = ("/proc/net/if_inet6", "/proc/net/ipv6_route", "/proc/net/snmp6")
    files = {"/proc/sys/net/ipv4/conf/eth9/rp_filter": "2\n"}
    story = Story(tmp_path, without=without, files=files, setting_ns=300.0)
    await story.run()
    assert "rp_filter" in story.plan.variants[1].label
    assert next(t for t in story.bench.loaded if t.catches).rp_filter == 2
    assert "rp_filter" in story.cost.title
    assert (story.cost.severity, story.cost_value.loaded, story.cost.answers) == ("notice", True, False)
    (off,) = story.cost.remedy
    assert off.commands == ("sysctl -w net/ipv4/conf/eth9/rp_filter=0",)
    assert "eth9" in off.warning


async def test_no_ipv6_measures_ipv4_and_says_so(tmp_path: Path) -> None:
    story = Story(tmp_path, without=("/proc/net/if_inet6", "/proc/net/ipv6_route", "/proc/net/snmp6"))
    assert any("IPv6" in line for line in story.plan.left_out)
    await story.run()
    assert story.bench.ipv6 is False
    assert story.cost.subject == "IPv4"
    assert "firewalld's" not in story.plan.sentences[0]  # it has no check for IPv4
    assert "rp_filter, not loaded here: rp_filter 1 (strict)" in story.plan.sentences[0]
    check = next(t for t in story.bench.loaded if t.rp_filter)
    assert (check.rule_kind, check.ends, check.rp_filter) == ("none", "input", 1)
    assert story.verdicts == {
        ("udp-ipv4", "check"): "no material difference",
        ("udp-ipv4", "trivial"): "no material difference",
    }
