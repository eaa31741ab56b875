"""The scenario with a bench of numbers: what is asked, what is left out and why, what it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from probes.bench.measured import BenchRefused
from probes.system.line_rate import Card
from probes.system.offload import Offload
from probes.system.packet_rates import PacketRates
from probes.types import Absent, Json
from scenarios import events as ev
from scenarios import rpfilter
from scenarios.finding import Finding
from scenarios.guards import Watch
from scenarios.model import Options, Refused, Usage
from scenarios.reverse_path.answer import answer
from scenarios.reverse_path.answer import severity as severity_of
from scenarios.reverse_path.cost_finding import sentences
from scenarios.rpfilter import Rpfilter
from tests.fakes.answering import Answering
from tests.fakes.bench_network import FakeBench
from tests.fakes.clock import FakeClock
from tests.fakes.run import FakeRun

FIXTURES = Path(__file__).parents[1] / "fixtures" / "rulesets"
EMPTY = '{"nftables": [{"metainfo": {}}]}'
ZERO = "0" * 32
BASE = {
    "/proc/self/status": "CapEff:\t000001ffffffffff\n",
    "/proc/self/ns/net": "",
    "/proc/net/if_inet6": "fe80 02 40 20 80 eth0\n",
    "/proc/net/ipv6_route": f"{ZERO} 00 {ZERO} 00 {ZERO[:-1]}1 00000400 00000002 00000000 00000003 eth9\n",
    "/proc/net/route": "Iface\tDestination\n",
    "/proc/sys/net/ipv4/conf/all/rp_filter": "0\n",
    "/proc/net/snmp6": "Ip6InReceives 1000\n",
    "/proc/net/snmp": "Ip: InReceives\nIp: 5\n",
    "/sys/class/net/eth9/device/vendor": "0x15b3\n",
    "/sys/class/net/eth9/speed": "100000\n",
    "/sys/class/net/eth9/mtu": "1500\n",
}


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No guards on this machine's own load, and nft is there whether or not this machine has it."""
    monkeypatch.setattr(rpfilter, "watch_for", lambda run: Watch(run))
    monkeypatch.setattr(rpfilter, "tool", lambda name: f"/usr/sbin/{name}")
    monkeypatch.setattr("scenarios.reverse_path.chosen.tool", lambda name: f"/usr/sbin/{name}")


class Story:
    """One run from options and a host to its events."""

    def __init__(
        self, root: Path, ruleset: str | Absent = EMPTY, options: dict[str, Json] | None = None, **bench: Any
    ) -> None:
        without = bench.pop("without", ())
        files = {path: text for path, text in BASE.items() if path not in without} | bench.pop("files", {})
        save = (FIXTURES / "with" / "ip6tables-nft.save").read_text()
        commands: dict[str, str | Absent] = {"nft -j -t list ruleset": ruleset, "ip6tables-nft-save -c": save}
        if saved4 := bench.pop("saved4", ""):
            commands["iptables-nft-save -c"] = saved4
        self.host = Answering(root, commands, files)
        self.clock = FakeClock()
        self.bench = FakeBench(self.clock, **bench)
        self.names: list[str] = []
        self.scenario = Rpfilter(self.start)
        self.options = Options(options or {}, self.scenario.options)
        self.plan = self.scenario.plan(self.host, self.options)
        self.fake = FakeRun(host=self.host, clock=self.clock, options=self.options.values, plan=self.plan)

    async def start(self, name: str) -> FakeBench:
        self.names.append(name)
        return self.bench

    async def run(self) -> FakeRun:
        await self.scenario.run(self.fake)
        return self.fake

    @property
    def verdicts(self) -> dict[tuple[str, str], str]:
        return {(v.workload, v.variant): v.verdict for v in self.fake.of(ev.Verdict)}

    @property
    def cost(self) -> Finding:
        return next(e.finding for e in self.fake.of(ev.Found) if e.finding.id == "rpfilter.cost")

    @property
    def lines(self) -> list[dict[str, Any]]:
        (found,) = [e.value for e in self.fake.of(ev.Extra) if e.name == "at_line_rate"]
        assert isinstance(found, list)
        return [row for row in found if isinstance(row, dict)]

    @property
    def extra(self) -> dict[str, Any]:
        (found,) = [e.value for e in self.fake.of(ev.Extra) if e.name == "rpfilter"]
        assert isinstance(found, dict)
        return found


def with_check(name: str) -> str:
    return (FIXTURES / "with" / f"{name}.json").read_text()


async def test_the_loaded_check_is_measured_as_it_is_and_judged(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("firewalld-0.8-logged"))
    await story.run()
    assert story.verdicts == {
        ("udp-ipv6", "check"): "slower",
        ("udp-ipv6", "trivial"): "no material difference",
    }
    check = next(t for t in story.bench.loaded if t.what == "check")
    assert (check.priority, check.flags, check.hook, check.loader) == (
        -290,
        ("saddr", "iif"),
        "prerouting",
        "nft",
    )
    assert {(t.priority, t.hook) for t in story.bench.loaded} == {(-290, "prerouting")}
    delta = next(v for v in story.fake.of(ev.Verdict) if v.variant == "check")
    assert delta.delta == pytest.approx(550, rel=0.05)
    assert [v.control for v in story.fake.of(ev.Verdict)] == [False, True]
    assert story.extra["loaded"] is True
    assert story.extra["cost_ns"] == pytest.approx(550, rel=0.05)
    assert [a.title for a in story.fake.applied] == [a.title for a in story.fake.reverted]
    assert story.bench.closed == 1
    assert story.bench.routes is not None and story.bench.routes.ipv6 == (("::/0", "eth9"),)


async def test_what_it_means_here_names_both_bounds_and_the_model(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("firewalld-1.3"))
    await story.run()
    lines = "\n".join(e.text for e in story.cost.evidence)
    assert "at 100 Gbit/s (eth9), MTU 1500, none merged: 8,127,438 packets/s, the check takes 4." in lines
    assert "MTU 9000, all in 64 KiB aggregates" in lines
    assert "The interval covers the measurement, not the model" in lines
    assert "no IPv6 packet arrives now" in lines
    assert "one receiving core holds about" in lines
    assert "Gbit/s of frames of MTU 1500 in 64 KiB aggregates with the check" in lines
    assert story.cost.remedy and story.cost.confidence == "measured"
    merged = {(x["mtu"], x["merged"]): x["cores"] for x in story.lines}
    assert merged[(1500, False)] == pytest.approx(4.47, rel=0.05)
    assert merged[(1500, True)] == pytest.approx(0.102, rel=0.05)


async def test_without_a_check_firewalld_s_default_is_measured_and_nobody_is_blamed(tmp_path: Path) -> None:
    story = Story(tmp_path)
    await story.run()
    assert story.cost.severity == "ok"
    assert story.cost.title.startswith(
        "no reverse-path check is loaded here: firewalld's default check would cost"
    )
    assert story.cost.answers
    assert story.plan.variants[1].label == "firewalld's default check, not loaded here"
    said = "\n".join(e.text for e in story.cost.evidence)
    assert "would cost this host nothing if it were loaded" in said and "the check would take" in said
    assert story.cost.remedy == ()
    assert story.extra["loaded"] is False
    assert "firewalld's default check" in story.plan.sentences[0]


async def test_an_iptables_check_is_measured_by_iptables(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("ip6tables-nft"))
    await story.run()
    assert {t.loader for t in story.bench.loaded} == {"iptables-nft"}
    assert {t.table for t in story.bench.loaded} == {"mangle"}


async def test_without_the_iptables_tool_the_lookup_itself_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scenarios.reverse_path.chosen.tool", lambda name: None)
    story = Story(tmp_path, with_check("ip6tables-nft"))
    assert any("ip6tables-nft is not installed" in line for line in story.plan.left_out)
    await story.run()
    assert {t.loader for t in story.bench.loaded} == {"nft"}


async def test_a_check_for_forwarded_packets_is_measured_but_not_blamed(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("firewalld-2.2-strict-forward"))
    await story.run()
    assert story.cost.severity == "ok"
    assert story.cost.remedy == ()  # firewalld 2.2's remedy is what it has already
    assert any("forward hook; it is measured in prerouting" in line for line in story.plan.left_out)


async def test_what_is_loaded_is_said_also_where_its_cost_is_not_measured(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("firewalld-1.3"), no_fib=True)
    await story.run()
    assert [e.finding.id for e in story.fake.of(ev.Found)] == ["rpfilter.loaded"]


async def test_the_check_that_is_loaded_is_measured_whatever_its_family(tmp_path: Path) -> None:
    saved = (FIXTURES / "with" / "iptables-nft-ipv4-loose.save").read_text()
    story = Story(tmp_path, with_check("iptables-nft-ipv4-loose"), {"all": True}, saved4=saved)
    await story.run()
    assert story.host.exists("/proc/net/if_inet6")
    assert (story.cost.subject, story.cost.answers) == ("IPv4", False)
    assert story.verdicts[("udp-ipv4", "check")] == "slower"
    check = next(t for t in story.bench.loaded if t.what == "check")
    assert (check.protocol, check.loader, check.priority, check.table) == (
        "IPv4",
        "iptables-nft",
        -300,
        "raw",
    )
    assert [w.id for w in story.plan.workloads][:3] == ["udp-ipv4", "udp-ipv6", "udp-ipv4-setting"]
    assert story.verdicts[("udp-ipv6", "fib")] == "slower"
    assert story.verdicts[("udp-ipv4-setting", "rp1")] == "no material difference"


async def test_without_ipv6_the_setting_is_measured_as_it_is(tmp_path: Path) -> None:
    without = ("/proc/net/if_inet6", "/proc/net/ipv6_route", "/proc/net/snmp6")
    files = {"/proc/sys/net/ipv4/conf/eth9/rp_filter": "2\n"}
    story = Story(tmp_path, without=without, files=files, setting_ns=300.0)
    await story.run()
    assert story.plan.variants[1].label == "this host's rp_filter"
    assert next(t for t in story.bench.loaded if t.catches).rp_filter == 2
    assert story.cost.title.startswith("this host's rp_filter costs")
    assert (story.cost.severity, story.extra["loaded"], story.cost.answers) == ("notice", True, False)
    (off,) = story.cost.remedy
    assert off.commands == ("sysctl -w net/ipv4/conf/eth9/rp_filter=0",)
    assert "eth9 from loose to off" in off.warning and "forged" in off.warning


async def test_everything_with_all(tmp_path: Path) -> None:
    story = Story(tmp_path, options={"all": True})
    await story.run()
    assert story.plan.measuring_s == 240
    assert [w.id for w in story.plan.workloads] == [
        "udp-ipv6",
        "udp-ipv4",
        "tcp-offload-off",
        "tcp-offload-on",
    ]
    words = story.verdicts
    assert words[("udp-ipv6", "loose")] == words[("udp-ipv6", "strict")] == "slower"
    assert words[("udp-ipv4", "fib")] == "slower"
    assert any(e.text.startswith("loose: +5") for e in story.cost.evidence)
    assert words[("udp-ipv4", "rp1")] == "no material difference"
    assert words[("udp-ipv4", "trivial")] == "no material difference"
    assert words[("tcp-offload-off", "check")] == "slower"
    beside = next(e.finding for e in story.fake.of(ev.Found) if e.finding.id == "rpfilter.beside")
    said = [e.text for e in beside.evidence]
    assert beside.severity == "ok" and len(said) == 6
    assert (
        said[0].startswith("64-byte IPv4 packets, nft fib saddr . mark . iif: +5")
        and "% of one core" in said[0]
    )
    assert "rp_filter 1 (strict): " in said[1] and "here rp_filter is off" in said[1]
    assert said[3].startswith("64-byte IPv4 packets, a trivial rule (the control)")
    assert (
        said[4].startswith("one TCP stream, offloads off, the check: -3") and "of its throughput" in said[4]
    )
    assert words[("tcp-offload-on", "check")] == "no material difference"
    assert story.fake.clock.now() < 260


async def test_no_rule_against_itself(tmp_path: Path) -> None:
    story = Story(tmp_path, options={"again": True})
    await story.run()
    assert story.verdicts[("udp-ipv6", "none-again")] == "no material difference"


@pytest.mark.parametrize(("asked", "count"), [(0, 0), (1, 1), (500, 500)])
async def test_routes_are_scaled_as_asked(tmp_path: Path, asked: int, count: int) -> None:
    story = Story(tmp_path, options={"routes": asked})
    await story.run()
    assert story.bench.routes is not None
    assert len(story.bench.routes.ipv6) == count


async def test_no_fib_in_the_kernel_is_one_line(tmp_path: Path) -> None:
    story = Story(tmp_path, no_fib=True)
    await story.run()
    assert story.verdicts[("udp-ipv6", "check")] == "not applicable"
    verdict = next(v for v in story.fake.of(ev.Verdict) if v.variant == "check")
    assert "no reverse-path lookup" in (verdict.reason or "")
    assert "\n" not in (verdict.reason or "")
    assert story.verdicts[("udp-ipv6", "trivial")] == "no material difference"
    assert not story.fake.of(ev.Extra)
    assert story.bench.closed == 1


async def test_no_ipv6_measures_ipv4_and_says_so(tmp_path: Path) -> None:
    story = Story(tmp_path, without=("/proc/net/if_inet6", "/proc/net/ipv6_route", "/proc/net/snmp6"))
    assert any("IPv6 is off" in line for line in story.plan.left_out)
    await story.run()
    assert story.bench.ipv6 is False
    assert story.cost.subject == "IPv4"
    assert "firewalld's" not in story.plan.sentences[0]  # it has no check for IPv4
    assert "rp_filter, not loaded here: rp_filter 1 (strict)" in story.plan.sentences[0]
    check = next(t for t in story.bench.loaded if t.rp_filter)
    assert (check.what, check.ends, check.rp_filter) == ("none", "input", 1)
    assert story.verdicts == {
        ("udp-ipv4", "check"): "no material difference",
        ("udp-ipv4", "trivial"): "no material difference",
    }


async def test_no_nft_is_refused_after_the_read_only_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rpfilter, "tool", lambda name: None)
    story = Story(tmp_path, Absent("nft is not installed", "tool"))
    assert story.plan.actions == ()
    assert any("nftables" in line and "hostdx triage" in line for line in story.plan.left_out)
    with pytest.raises(Refused, match="nft is not installed"):
        await story.run()
    assert story.fake.of(ev.FactRead)
    assert story.names == []


async def test_no_namespaces_are_refused_with_the_reason_and_the_rules_still_speak(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("firewalld-1.3"))

    async def refuse(name: str) -> FakeBench:
        raise BenchRefused("no network namespace can be made here: Operation not permitted. Run it as root.")

    story.scenario = Rpfilter(refuse)
    with pytest.raises(Refused, match="Operation not permitted"):
        await story.scenario.run(story.fake)
    assert [e.finding.id for e in story.fake.of(ev.Found)] == ["rpfilter.loaded"]
    assert len(story.fake.applied) == len(story.fake.reverted) == 1


async def test_a_setup_that_fails_closes_the_namespaces(tmp_path: Path) -> None:
    story = Story(
        tmp_path, refuse_set_up="the private namespaces: NetlinkError: (95, 'Operation not supported')"
    )
    with pytest.raises(Refused, match="not supported"):
        await story.run()
    assert story.bench.closed == 1
    assert len(story.fake.reverted) == 1


async def test_without_root_the_user_namespace_is_said(tmp_path: Path) -> None:
    story = Story(
        tmp_path,
        Absent("nft: Operation not permitted (you must be root)", "permission"),
        in_user_namespace=True,
    )
    await story.run()
    assert any("user namespace" in note.text for note in story.fake.of(ev.Note))
    assert any("must be root" in a.reason for a in story.fake.of(ev.AbsentFact))
    assert story.cost.title.startswith("whether a reverse-path check is loaded could not be read")
    assert story.plan.variants[1].label == "firewalld's default check, perhaps not loaded here"
    assert story.extra["loaded"] is None
    assert story.verdicts[("udp-ipv6", "check")] == "slower"


def test_a_captured_tree_is_not_measured(tmp_path: Path) -> None:
    host = Answering(tmp_path, {})
    host.live = False
    assert "captured tree" in Rpfilter().blocked(host)


@pytest.mark.parametrize(
    "options",
    [
        {"routes": -3},
        {"routes": 10**6},
        {"link": -1.0},
        {"budget": 0.0},
        {"budget": 20.0},
        {"rates": -1.0},
        {"rates": 1e9},
        {"all": True, "budget": 100.0},
    ],
)
def test_wrong_requests_are_usage(tmp_path: Path, options: dict[str, Json]) -> None:
    with pytest.raises(Usage):
        Story(tmp_path, options=options)


def test_what_cannot_be_copied_is_said_in_the_plan(tmp_path: Path) -> None:
    rules = "".join(f"{n}: from all lookup {n}\n" for n in range(5))
    commands = {"nft -j -t list ruleset": EMPTY, "ip -6 rule show": rules, "ip -4 rule show": rules}
    host = Answering(tmp_path, commands, BASE)
    plan = Rpfilter().plan(host, Options({}, Rpfilter.options))
    assert any(line.startswith("3 IPv6 policy rules are not copied") for line in plan.left_out)
    assert any(
        line.startswith("2 IPv4 policy rules and their tables are not copied") for line in plan.left_out
    )


def test_the_plan_is_the_same_twice(tmp_path: Path) -> None:
    first = Story(tmp_path / "a", with_check("firewalld-1.3")).plan
    second = Story(tmp_path / "b", with_check("firewalld-1.3")).plan
    assert first.digest == second.digest
    assert not first.needs_consent


@pytest.mark.parametrize(
    ("packets_per_s", "softirq", "merges", "mbit", "severity"),
    [
        (0.0, 0.1, True, 1_000, "notice"),
        (10_000.0, 0.1, True, 1_000, "notice"),  # 0.6 % of a core
        (410_000.0, 0.5, True, 10_000, "warning"),  # 23 %
        (410_000.0, 0.95, True, 10_000, "critical"),
        (0.0, 0.1, False, 10_000, "notice"),  # half a core at line rate without GRO
        (0.0, 0.1, False, 23_000, "warning"),  # more than a core
        (0.0, 0.1, True, 100_000, "warning"),  # the rule that only reads says so too
    ],
)
def test_severity_by_what_it_takes_here(
    tmp_path: Path, packets_per_s: float, softirq: float, merges: bool, mbit: int, severity: str
) -> None:
    rates = PacketRates(
        seconds=3.0,
        ipv6=packets_per_s,
        ipv4=100.0,
        processed=packets_per_s,
        backlog_drops=0.0,
        squeezes=0.0,
        interfaces={},
        busiest_cpu=0,
        busiest_softirq=softirq,
    )
    offload = Offload(gro=merges, lro=False, source="test")
    card = Card(name="eth9", mbit_per_s=mbit, mtu=1500, offload=offload)
    verdict = ev.Verdict(
        t=1.0,
        workload="udp-ipv6",
        metric="ns/packet",
        baseline="none",
        variant="check",
        verdict="slower",
        delta=560.0,
        delta_ci95=(540.0, 580.0),
    )
    found = answer([verdict], [1000.0, 1010.0], rates, card, 0.0, "IPv6")
    assert found is not None
    assert severity_of(found, loaded=True) == severity
    assert severity_of(found, loaded=False) == "ok"
    undecided = msgspec.structs.replace(
        found, verdict=msgspec.structs.replace(verdict, verdict="inconclusive")
    )
    assert severity_of(undecided, loaded=True) == ("warning" if mbit >= 25_000 else "notice")
    refuted = msgspec.structs.replace(
        found, verdict=msgspec.structs.replace(verdict, verdict="no material difference")
    )
    assert severity_of(refuted, loaded=True) == "ok"
    said = "\n".join(e.text for e in sentences(found, card, "IPv6"))
    assert ("as it is set: GRO on" in said) == merges
    assert ("as it is set: GRO off" in said) == (not merges)
    if packets_per_s == 410_000.0:
        assert (
            "now 410,000 IPv6 packets/s arrive (after GRO, without loopback): the check takes 23 % of one core"
            in said
        )
