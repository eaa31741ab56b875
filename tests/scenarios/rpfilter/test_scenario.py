"""The scenario with a bench of numbers: what is asked, what is left out and why, what it answers."""

from pathlib import Path

import msgspec
import pytest

from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.system.network.line_rate import LinkedCard
from hostdx.probes.system.network.offload import Offload
from hostdx.probes.system.network.packet_rates import PacketRates
from hostdx.probes.types import Absent, Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, RunRefused, UsageError
from hostdx.scenarios.rpfilter.cost import build_cost_answer
from hostdx.scenarios.rpfilter.cost import cost_severity as severity_of
from hostdx.scenarios.rpfilter.findings import list_cost_sentences
from hostdx.scenarios.rpfilter.scenario import Rpfilter
from tests.fakes.answering import Answering
from tests.fakes.bench_network import FakeNetwork
from tests.fakes.streams.rpfilter_story import BASE, EMPTY, Story, stop_guards, with_check


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_guards(monkeypatch)


async def test_what_is_loaded_is_said_also_where_its_cost_is_not_measured(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("firewalld-1.3"), no_fib=True)
    await story.run()
    assert [e.finding.id for e in story.fake.of(ev.Found)] == ["rpfilter.loaded"]


async def test_no_rule_against_itself(tmp_path: Path) -> None:
    story = Story(tmp_path, options={"again": True})
    await story.run()
    assert story.verdicts[("udp-ipv6", "none-again")] == "no material difference"


@pytest.mark.parametrize(("routes", "count"), [(0, 0), (1, 1), (500, 500)])
async def test_routes_are_scaled_as_asked(tmp_path: Path, routes: int, count: int) -> None:
    story = Story(tmp_path, options={"routes": routes})
    await story.run()
    assert story.bench.routes is not None
    assert len(story.bench.routes.ipv6) == count


async def test_no_namespaces_are_refused_with_the_reason_and_the_rules_still_speak(tmp_path: Path) -> None:
    story = Story(tmp_path, with_check("firewalld-1.3"))

    async def refuse_start(name: str) -> FakeNetwork:
        raise BenchRefused("no network namespace can be made here: Operation not permitted. Run it as root.")

    story.scenario = Rpfilter(refuse_start)
    with pytest.raises(RunRefused, match="Operation not permitted"):
        await story.run()
    assert [e.finding.id for e in story.fake.of(ev.Found)] == ["rpfilter.loaded"]
    assert len(story.fake.applied) == len(story.fake.reverted) == 1


async def test_a_setup_that_fails_closes_the_namespaces(tmp_path: Path) -> None:
    story = Story(
        tmp_path, refuse_set_up="the private namespaces: NetlinkError: (95, 'Operation not supported')"
    )
    with pytest.raises(RunRefused, match="not supported"):
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
    assert story.fake.of(ev.Note)
    assert any(a.kind == "permission" for a in story.fake.of(ev.AbsentFact))
    assert story.plan.variants[1].label
    assert story.cost_value.loaded is None
    assert story.verdicts[("udp-ipv6", "check")] == "slower"


@pytest.mark.parametrize(
    "options",
    [
        {"routes": -3},
        {"routes": 10**6},
        {"link": -1.0},
        {"budget": 0.0},
        {"budget": 3.0},
        {"rates": -1.0},
        {"rates": 1e9},
        {"all": True, "budget": 50.0},
    ],
)
def test_wrong_requests_are_usage(tmp_path: Path, options: dict[str, Json]) -> None:
    with pytest.raises(UsageError):
        Story(tmp_path, options=options)


def test_what_cannot_be_copied_is_said_in_the_plan(tmp_path: Path) -> None:
    rules = "".join(f"{n}: from all lookup {n}\n" for n in range(5))
    commands = {"nft -a -t list ruleset": EMPTY, "ip -6 rule show": rules, "ip -4 rule show": rules}
    host = Answering(tmp_path, commands, BASE)
    plan = Rpfilter().prepare(host, OptionMap({}, Rpfilter.options)).plan
    assert any("IPv6 3 " in line for line in plan.left_out)
    assert any("IPv4 2 " in line for line in plan.left_out)


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
    card = LinkedCard(name="eth9", mbit_per_s=mbit, mtu=1500, offload=offload)
    verdict = ev.RunVerdict(
        t=1.0,
        workload="udp-ipv6",
        metric="ns/packet",
        baseline="none",
        variant="check",
        verdict="slower",
        delta=560.0,
        delta_ci95=(540.0, 580.0),
    )
    cost_answer = build_cost_answer([verdict], 1005.0, rates, card, 0.0, "IPv6")
    assert cost_answer is not None
    assert severity_of(cost_answer, loaded=True) == severity
    assert severity_of(cost_answer, loaded=False) == "ok"
    undecided = msgspec.structs.replace(
        cost_answer, verdict=msgspec.structs.replace(verdict, verdict="inconclusive")
    )
    assert severity_of(undecided, loaded=True) == ("warning" if mbit >= 25_000 else "notice")
    refuted = msgspec.structs.replace(
        cost_answer, verdict=msgspec.structs.replace(verdict, verdict="no material difference")
    )
    assert severity_of(refuted, loaded=True) == "ok"
    text = "\n".join(e.text for e in list_cost_sentences(cost_answer, card, "IPv6"))
    assert ("as it is set: GRO on" in text) == merges
    assert ("as it is set: GRO off" in text) == (not merges)
    if packets_per_s == 410_000.0:
        assert (
            "now 410,000 IPv6 packets/s arrive (after GRO, without loopback): the check takes 23 % of one core"
            in text
        )
