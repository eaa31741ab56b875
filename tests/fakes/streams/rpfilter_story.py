"""One run of the reverse-path scenario on a host of files and answers, with a bench of numbers."""

from pathlib import Path
from typing import Any

import pytest

from hostdx.probes.types import Absent, Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch
from hostdx.scenarios.rpfilter import scenario as rpfilter
from hostdx.scenarios.rpfilter.results import AtLineRate, CheckCost, CostResult, LineRate
from hostdx.scenarios.rpfilter.scenario import Rpfilter
from tests.fakes.answering import Answering
from tests.fakes.bench_network import FakeNetwork
from tests.fakes.clock import FakeClock
from tests.fakes.run import FakeRun, conduct_fake

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rulesets"
EMPTY = ""
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


def stop_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    """No guards on this machine's own load, and nft is there whether or not this machine has it."""
    monkeypatch.setattr(rpfilter, "watch_for", lambda run: InterferenceWatch(run))
    monkeypatch.setattr(rpfilter, "find_tool", lambda name: f"/usr/sbin/{name}")
    monkeypatch.setattr(
        "hostdx.scenarios.rpfilter.measurement.measured_check.find_tool", lambda name: f"/usr/sbin/{name}"
    )


class Story:
    """One run from options and a host to its events."""

    def __init__(
        self, root: Path, ruleset: str | Absent = EMPTY, options: dict[str, Json] | None = None, **bench: Any
    ) -> None:
        without = bench.pop("without", ())
        files = {path: text for path, text in BASE.items() if path not in without} | bench.pop("files", {})
        save = (FIXTURES / "with" / "ip6tables-nft.save").read_text()
        commands: dict[str, str | Absent] = {"nft -a -t list ruleset": ruleset, "ip6tables-nft-save -c": save}
        if saved4 := bench.pop("saved4", ""):
            commands["iptables-nft-save -c"] = saved4
        self.host = Answering(root, commands, files)
        self.clock = FakeClock()
        self.bench = FakeNetwork(self.clock, **bench)
        self.names: list[str] = []
        self.scenario = Rpfilter(self.start)
        self.options = OptionMap(options or {}, self.scenario.options)
        self.plan = self.scenario.prepare(self.host, self.options).plan
        self.fake = FakeRun(host=self.host, clock=self.clock, options=self.options.values, plan=self.plan)

    async def start(self, name: str) -> FakeNetwork:
        self.names.append(name)
        return self.bench

    async def run(self) -> FakeRun:
        await conduct_fake(self.scenario, self.fake)
        return self.fake

    @property
    def verdicts(self) -> dict[tuple[str, str], str]:
        return {(v.workload, v.variant): v.verdict for v in self.fake.of(ev.RunVerdict)}

    @property
    def cost(self) -> Finding:
        return next(e.finding for e in self.fake.of(ev.Found) if e.finding.id == "rpfilter.cost")

    @property
    def lines(self) -> tuple[LineRate, ...]:
        (event,) = self.fake.of(AtLineRate)
        return event.value

    @property
    def cost_value(self) -> CheckCost:
        (event,) = self.fake.of(CostResult)
        return event.value


def with_check(name: str) -> str:
    return (FIXTURES / "with" / f"{name}.nft").read_text()
