"""The scenario with drawn rates: what is compared, what is named as the limit, what is lost, what is left out."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import OptionMap, UsageError
from hostdx.scenarios.fullstack import plan as plan_module
from hostdx.scenarios.fullstack.machine import RateBound, StreamBounds
from hostdx.scenarios.fullstack.measurement.messages import OpenStreams
from hostdx.scenarios.fullstack.measurement.remote import PeerLine, RemotePeer
from hostdx.scenarios.fullstack.results import FullstackFigures, StreamLimit, StreamsResult
from hostdx.scenarios.fullstack.scenario import Fullstack
from tests.fakes.clock import FakeClock
from tests.fakes.run import FakeRun
from tests.scenarios.fullstack.drawn_streams import DrawnStreams

NOTHING = StreamBounds(disk={"out": (), "in": ()})
ALIKE: dict[str, float] = {
    "disk": 1000.0,
    "network": 3000.0,
    "copy": 900,
    "sendfile": 980,
    "splice": 970,
    "direct": 990,
}


class StreamStory(msgspec.Struct):
    fake: FakeRun
    bench: DrawnStreams

    @property
    def figures(self) -> FullstackFigures:
        (event,) = self.fake.of(StreamsResult)
        return event.value

    @property
    def limits(self) -> dict[str, StreamLimit]:
        return {limit.direction: limit for limit in self.figures.limits}

    @property
    def findings(self) -> set[str]:
        return {event.finding.id for event in self.fake.of(ev.Found)}

    @property
    def verdicts(self) -> dict[tuple[str, str, str], ev.RunVerdict]:
        return {(v.workload, v.baseline, v.variant): v for v in self.fake.of(ev.RunVerdict)}


def play(
    tmp_path: Path,
    rates: Mapping[str, float],
    options: Mapping[str, Json] | None = None,
    *,
    machine: StreamBounds = NOTHING,
    peer: RemotePeer | None = None,
    seed: int = 1,
    **more: object,
) -> StreamStory:
    clock = FakeClock()
    bench = DrawnStreams(clock, seed, rates, **more)  # type: ignore[arg-type]

    async def start(host: str, token: str, seconds: float) -> RemotePeer:
        assert peer is not None
        return peer

    scenario = Fullstack(lambda run, layout, private: bench, lambda run, layout: None, start)
    chosen: dict[str, Json] = {"dir": str(tmp_path), "direction": "out", "size": 256 << 20, "budget": 60}
    values = chosen | dict(options or {})
    host = Host()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan_module, "read_disk_bounds_and_cpus", lambda host, leaves: machine)
        plan, work = scenario.prepare(host, OptionMap(values, scenario.options))
    fake = FakeRun(seed=seed, clock=clock, host=host, options=values, declared=scenario.options, plan=plan)
    asyncio.run(work(fake))
    return StreamStory(fake, bench)


@pytest.fixture(autouse=True)
def disk(monkeypatch: pytest.MonkeyPatch) -> None:
    lay_on_any_disk(monkeypatch)


def lay_on_any_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests' directory lies, it may be measured."""
    monkeypatch.setattr(
        plan_module.ChosenTestDirectory,
        "refusal",
        property(lambda self: "", lambda self, why: None),
        raising=False,
    )
    monkeypatch.setattr(
        plan_module.ChosenTestDirectory, "directory_path", property(lambda self: self._asked), raising=False
    )
    monkeypatch.setattr(plan_module.ChosenTestDirectory, "size_bytes", 256 << 20, raising=False)
    first = plan_module.ChosenTestDirectory.__init__

    def init_on_disk(self: object, host: Host, options: OptionMap, *more: object) -> None:
        first(self, host, options, *more)  # type: ignore[arg-type]
        self._asked = options.as_string("dir")  # type: ignore[attr-defined]

    monkeypatch.setattr(plan_module.ChosenTestDirectory, "__init__", init_on_disk)


def test_it_is_named_four_times_of_four(tmp_path: Path) -> None:
    for seed in range(4):
        assert play(tmp_path, ALIKE, {"budget": 150}, seed=seed, scatter=0.1).limits["out"].what == "disk"


def test_a_cap_that_is_known_is_named_where_the_rate_comes_near_to_it(tmp_path: Path) -> None:
    cap = RateBound("disk cap", 1.02e9, "io.max", "/sys/fs/cgroup/x")
    far = RateBound("disk link", 8e9, "pcie 8.0 GT/s x8", "sysfs")
    capped = StreamBounds(disk={"out": (far, cap), "in": ()})
    assert play(tmp_path, ALIKE, machine=capped).limits["out"].what == "disk cap"
    loose = StreamBounds(disk={"out": (far,), "in": ()})
    assert play(tmp_path, ALIKE, machine=loose).limits["out"].what == "disk"
    line = StreamBounds(disk={}, network=(RateBound("line rate", 1.25e9, "eth0: 10000 Mbit/s", "sysfs"),))
    rates = ALIKE | {"disk": 4000.0, "network": 1180.0, "sendfile": 1170.0}
    assert play(tmp_path, rates, machine=line).limits["out"].what == "line rate"


def test_what_lies_between_disk_and_network(tmp_path: Path) -> None:
    slow = ALIKE | {"disk": 3000.0, "network": 3000.0}
    assert play(tmp_path, slow, worker=0.97).limits["out"].what == "CPU"
    assert play(tmp_path, slow, softirq=0.95).limits["out"].what == "interrupts"
    assert play(tmp_path, slow).limits["out"].what == "streams"  # direct is the fastest way
    assert (
        play(tmp_path, slow | {"direct": 500.0}).limits["out"].what == "streams"
    )  # without the cache no better
    assert play(tmp_path, slow, busy=0.99, own=0.1).limits["out"].what == "open"  # others have the CPUs


def test_a_private_link_is_as_fast_as_the_cpus(tmp_path: Path) -> None:
    rates = ALIKE | {"disk": 3000.0, "network": 1000.0}
    full = play(tmp_path, rates, busy=0.97, own=1.9).limits["out"]
    assert full.what == "CPU"
    assert play(tmp_path, rates, busy=0.97, own=0.1).limits["out"].what == "network"


def test_what_each_loses_to_the_other_has_its_interval(tmp_path: Path) -> None:
    done = play(tmp_path, ALIKE | {"disk+network": 800.0, "network+disk": 3000.0}, {"budget": 150})
    read, send = (done.verdicts[id, "alone", "together"] for id in ("read", "send"))
    assert read.is_slower and read.ratio == pytest.approx(0.8, rel=0.05) and read.ci95
    assert send.is_equal
    assert "fullstack.loses.read" in done.findings and "fullstack.loses.send" not in done.findings


def test_a_side_that_cannot_be_measured_is_left_out(tmp_path: Path) -> None:
    done = play(tmp_path, ALIKE, refused={"sendfile": "served by a cache"})
    assert {level.side for level in done.figures.levels} == {"disk", "network", "copy", "direct", "zerocopy"}
    assert done.limits["out"].what == "disk"


def test_without_direct_io_that_way_is_not_there(tmp_path: Path) -> None:
    done = play(tmp_path, ALIKE, direct=False)
    assert "direct" not in {level.side for level in done.figures.levels}


def test_a_peer_is_asked_for_and_its_token_handed_on(tmp_path: Path) -> None:
    peer = RemotePeer("node2", PeerLine(1, 4711, "a" * 32), None)
    done = play(tmp_path, ALIKE, {"peer": "node2"}, peer=peer)
    (_, request), *more = done.bench.opened
    assert not more
    assert request == OpenStreams(
        where="peer", address="node2", port=4711, token="a" * 32, links=request.links
    )
    assert not done.figures.private and "mtu" not in {v.workload for v in done.fake.of(ev.RunVerdict)}
    assert [action.resource for action in done.fake.applied] == ["directory"]  # no name space


@pytest.mark.parametrize(
    "options",
    [
        {"token": "x"},
        {"peer": "-oProxyCommand=x"},
        {"peer": "a b"},
        {"peer": "node", "token": "x"},
        {"budget": 3},
    ],
)
def test_wrong_requests_are_told(tmp_path: Path, options: dict[str, Json]) -> None:
    scenario = Fullstack()
    with pytest.raises(UsageError):
        scenario.prepare(Host(), OptionMap({"dir": str(tmp_path)} | options, scenario.options))


def test_a_bench_that_cannot_begin_refuses_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse_open(self: object, name: str, request: OpenStreams) -> None:
        raise BenchRefused("no peer answers")

    monkeypatch.setattr(DrawnStreams, "open", refuse_open)
    with pytest.raises(BenchRefused):
        play(tmp_path, ALIKE)
