"""Kinds of settings that a proof switches, its design and its settling."""

import ipaddress
import itertools
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.probes.system.network.policy_routes import PolicyRoutes, TableRoute
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import UsageError
from hostdx.scenarios.experiment.schedule.switch import attribute_change
from hostdx.scenarios.prove import kinds, reserved_cards
from hostdx.scenarios.prove.design import (
    DUMMIES,
    MAX_SETTINGS,
    design_rows,
)
from hostdx.scenarios.prove.kinds import parse_setting, parse_settings
from hostdx.scenarios.prove.loads import LOADS
from hostdx.scenarios.prove.results import ProvenSetting
from hostdx.scenarios.triage.rules.known import load_written_rules
from tests.every_case import every_case
from tests.fakes.noise import white
from tests.measured.simulation.screening import screen_often
from tests.needs import ROOT, needs
from tests.scenarios.prove.planted import MadeLoad, MadeRun, planted_run, proven_settings

NEVER = (
    "sysctl:vm.drop_caches=3",
    "sysctl:vm.swappiness.more=1",
    "sysctl:kernel.panic=1",
    "sysctl:kernel.sysrq=0",
    "sysctl:net.ipv4.ip_forward=1",
    "sysctl:net.ipv4.conf.all.rp_filter=0",
    "sysfs:/sys/block/sda/device/delete=1",
    "sysfs:/sys/block/sda/queue/../device/delete=1",
    "sysfs:/sys/block/md0/md/sync_action=check",
    "sysfs:/sys/class/net/lo/flags=0",
    "sysfs:/sys/fs/cgroup/x/cgroup.kill=1",
    "sysfs:/sys/fs/cgroup/x/cgroup.procs=1",
    "sysfs:/sys/power/state=mem",
    "sysfs:/etc/passwd=x",
    "mount:/data/../etc=noatime",
)


@every_case("text", NEVER)
def test_what_is_on_no_list_is_refused_and_the_other_way_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="hostdx baseline save"):
        parse_setting(Host(), text)


MEANINGLESS = (
    *("", "sysctl", "sysctl:vm.swappiness", "sysctl:vm.swappiness=", "nokind:a/b=1"),
    *("ring:eth9/rx=many", "coalesce:eth9/rx-usecs=-1", "adaptive:eth9/rx=1", "offload:eth9/gro=maybe"),
    *(
        "qdisc:eth9=netem",
        "nice:1=-21",
        "nice:1=20",
        "nice:x=1",
        "nice:1=-0",
        "mount:/=async",
        "mount:proc=noatime",
    ),
    *("ring:no-such-card/rx=256", "qdisc:lo=pfifo", "coalesce:eth9/rx-usecs=007"),
)


@every_case("text", MEANINGLESS)
def test_what_is_no_setting_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_setting(Host(), text)


@pytest.fixture
def swappiness(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's files as far as kinds.py reads them: a value of 60, whoever runs the test."""
    monkeypatch.setattr(
        kinds,
        "setting_change",
        lambda key, value, _: attribute_change(f"/proc/sys/{key.partition('/')[2]}", "60", value, risk=""),
    )


@pytest.mark.usefixtures("swappiness")
def test_a_value_that_it_has_already_and_one_named_twice_are_refused() -> None:
    with pytest.raises(UsageError):
        parse_setting(Host(), "sysctl:vm.swappiness=60")
    with pytest.raises(UsageError, match="twice"):
        parse_settings(Host(), ["sysctl:vm.swappiness=10", "/proc/sys/vm/swappiness=20"])


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Host, dict[str, str]]:
    """A host with two cards, and what its settings are that are no files."""
    for card in ("eth0", "eth9"):
        (tmp_path / f"sys/class/net/{card}").mkdir(parents=True)
    values = {"ring:eth9/rx": "512", "qdisc:eth9": "default", "nice:77/123": "0", "atime:/data": "relatime"}
    monkeypatch.setattr(kinds.setting_calls, "read_by_call", values.__getitem__)
    monkeypatch.setattr(
        kinds.setting_calls,
        "target_with_process_start",
        lambda name: f"{name}/123" if name == "nice:77" else name,
    )
    monkeypatch.setattr(kinds, "reserved_cards", lambda _: {"eth0": "an SSH line"})
    return Host(str(tmp_path)), values


def test_settings_that_are_no_files_have_their_values(cards: tuple[Host, dict[str, str]]) -> None:
    host, values = cards
    for text, target in {
        "ring:eth9/rx=4096": "ring:eth9/rx",
        "qdisc:eth9=fq": "qdisc:eth9",
        "nice:77=-5": "nice:77/123",
        "mount:/data=noatime": "atime:/data",
    }.items():
        setting = parse_setting(host, text)
        [action] = setting.actions
        assert (action.target, action.old, action.consent) == (target, values[target], True)
        assert setting.new == text.partition("=")[2]
        assert len(setting.commands) == 1 and setting.undo and setting.new in setting.commands[0]
        assert "default" not in setting.undo[0] and "{" not in setting.commands[0] + setting.undo[0]


def test_a_discipline_that_a_person_set_is_left_alone(cards: tuple[Host, dict[str, str]]) -> None:
    host, values = cards
    values["qdisc:eth9"] = "cake"
    with pytest.raises(UsageError):
        parse_setting(host, "qdisc:eth9=fq")


def test_what_loses_packets_needs_a_word_of_its_own_on_a_card_with_connections(
    cards: tuple[Host, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    host, _ = cards
    monkeypatch.setattr(kinds, "describe_users_of_card", lambda *_: "3 connections")
    for text in ("ring:eth9/rx=4096", "qdisc:eth9=fq"):
        with pytest.raises(UsageError, match="--may-lose-packets"):
            parse_setting(host, text)
        assert parse_setting(host, text, may_lose=True).loses
    assert not parse_setting(host, "nice:77=-5").loses


def test_the_form_shows_a_setting_of_every_kind_of_object() -> None:
    kinds_shown = {word.partition(":")[0] for word in kinds.FORM.split() if ":" in word[1:]}
    assert {"block", "sysctl", "ring", "qdisc", "nice", "mount", "sysfs"} <= kinds_shown


@pytest.mark.usefixtures("swappiness")
def test_a_queue_is_made_no_shorter() -> None:
    with pytest.raises(UsageError, match="drops"):
        parse_setting(Host(), "sysctl:net.core.netdev_max_backlog=59")
    assert parse_setting(Host(), "sysctl:net.core.netdev_max_backlog=61").old == "60"


@every_case(
    "kind",
    [
        "ring:eth0/rx=4",
        "coalesce:eth0/rx-usecs=5",
        "adaptive:eth0/rx=on",
        "offload:eth0/gro=on",
        "qdisc:eth0=fq",
    ],
)
def test_no_setting_of_the_card_of_an_ssh_line_is_switched(
    kind: str, cards: tuple[Host, dict[str, str]]
) -> None:
    with pytest.raises(UsageError, match="eth0 carries"):
        parse_setting(cards[0], kind)


def test_every_kind_that_acts_on_a_card_is_known_as_such() -> None:
    of_cards = {
        kind.name for kind in kinds.KINDS if "class/net" in kind.path or 'SUBSYSTEM=="net"' in kind.keep
    }
    assert of_cards == kinds.CARD_KINDS and len(of_cards) == 6


@pytest.mark.usefixtures("swappiness")
def test_a_zero_that_the_kernel_takes_not_back_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        kinds, "setting_change", lambda *_: attribute_change("/proc/sys/vm/dirty_bytes", "0", "1", risk="")
    )
    with pytest.raises(UsageError, match=r"vm\.dirty_ratio"):
        parse_setting(Host(), "sysctl:vm.dirty_bytes=1073741824")


def test_a_setting_that_another_one_sets_along_is_tried_in_a_run_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        kinds,
        "setting_change",
        lambda key, value, _: attribute_change(key.partition(":")[2], "60", value, risk=""),
    )
    pair = ["block:sdb/max_sectors_kb=256", "block:sdb/read_ahead_kb=512"]
    [setting] = parse_settings(Host(), pair[:1])
    assert setting.actions[0].side_paths == ("/sys/block/sdb/queue/read_ahead_kb",)
    with pytest.raises(UsageError, match="another run"):
        parse_settings(Host(), pair)
    assert len(parse_settings(Host(), ["block:sdb/nomerges=2", pair[1]])) == 2
    [nested] = parse_settings(Host(), ["block:sdb/iosched/fifo_batch=9"])
    assert nested.actions[0].target == "/sys/block/sdb/queue/iosched/fifo_batch"


def made_network(tmp_path: Path) -> Host:
    """eth0 has the default route, eth1 leads to the SSH client of /proc/net/tcp, bond0 holds eth1; eth2 is free."""
    route = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n"
    rows = [
        ("eth0", "00000000", "00000000"),
        ("bond0", "0000000A", "000000FF"),
        ("eth2", "0000A8C0", "0000FFFF"),
    ]
    lines = [f"{name}\t{network}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n" for name, network, mask in rows]
    net = tmp_path / "proc/net"
    net.mkdir(parents=True)
    (net / "route").write_text(route + "".join(lines))
    head = "  sl  local_address rem_address   st\n"
    (net / "tcp").write_text(f"{head}   0: 0100000A:0016 0700000A:C000 01 00000000:00000000\n")
    for name, links in {"bond0": ["lower_eth1"], "eth1": ["upper_bond0"], "eth0": [], "eth2": []}.items():
        (tmp_path / f"sys/class/net/{name}").mkdir(parents=True)
        for link in links:
            (tmp_path / f"sys/class/net/{name}/{link}").mkdir()
    return Host(str(tmp_path))


def test_cards_of_ssh_lines_and_of_the_default_route_are_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    host = made_network(tmp_path)
    assert set(kinds.reserved_cards(host)) == {"eth0", "bond0", "eth1"}
    assert kinds.leave_alone_reason(host, "net", "eth1", "")
    assert not kinds.leave_alone_reason(host, "net", "eth2", "")
    assert kinds.leave_alone_reason(host, "ring", "other-name-of-eth0", "")
    monkeypatch.setenv("SSH_CONNECTION", "192.168.3.4 50000 192.168.3.1 22")
    assert "eth2" in kinds.reserved_cards(host)


def test_a_card_carries_the_connections_of_its_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, address = made_network(tmp_path), ipaddress.ip_network("10.0.0.1/32")
    routes = PolicyRoutes([TableRoute(address, "bond0", "local", is_own=True)], [])
    monkeypatch.setattr(reserved_cards, "read_policy_routes", lambda _: routes)
    assert reserved_cards.describe_users_of_card(host, "eth1") == "1 connection"  # below the bond
    assert not reserved_cards.describe_users_of_card(host, "eth2")
    (tmp_path / "sys/class/net/eth2/brport").mkdir()
    assert reserved_cards.describe_users_of_card(host, "eth2")


def test_the_scheduler_of_a_system_disk_is_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "system_uses_by_leaf", lambda _: {"sda": "/"})
    assert kinds.leave_alone_reason(Host(), "block", "sda", "/sys/block/sda/queue/scheduler")
    assert not kinds.leave_alone_reason(Host(), "block", "sda", "/sys/block/sda/queue/read_ahead_kb")
    assert not kinds.leave_alone_reason(Host(), "block", "sdb", "/sys/block/sdb/queue/scheduler")


def test_the_loads_of_rules_exist() -> None:
    loads = {rule.load for rule in load_written_rules().rules if rule.load}
    assert loads and loads <= set(LOADS)


@needs(ROOT)
@pytest.mark.real
def test_on_a_live_host_a_setting_is_read() -> None:
    setting = parse_setting(Host(), "sysctl:vm.stat_interval=37")
    assert setting.old == Path("/proc/sys/vm/stat_interval").read_text().strip()


@every_case("settings", [4, 9, 10, 17, 18, MAX_SETTINGS])
def test_every_two_columns_are_balanced(settings: int) -> None:
    rows = [[1 if level else -1 for level in row] for row in design_rows(settings)]
    assert {len(row) for row in rows} == {settings + DUMMIES}
    assert all(
        sum(row[a] * row[b] for row in rows) == 0 for a, b in itertools.combinations(range(len(rows[0])), 2)
    )


def test_more_settings_than_the_largest_design_holds_are_refused() -> None:
    with pytest.raises(ValueError, match=str(MAX_SETTINGS)):
        design_rows(MAX_SETTINGS + 1)


@pytest.mark.parametrize("model", ["white 3 %", "dependent 5 %, 0.58"])
def test_intervals_hold_for_all_settings_together(model: str) -> None:
    screened = screen_often((0.0,) * 7 + (0.1,), model, 250)
    assert screened.false_calls <= 0.09 and screened.all_found == 1.0 and screened.covered >= 0.91


STEP_S = 0.01


def load_with(log_rate: Callable[[float, bool], float]) -> type[MadeLoad]:
    """Return a load whose log rate is a function of the seconds since a switch or a pause, and of the value."""

    class Changing(MadeLoad):
        def __init__(self, run: MadeRun, metric: str) -> None:
            super().__init__(run, metric)
            self.since, self.switches, self.ended = -100.0, 0, 0.0

        async def measure_block(self, seconds: float) -> Measured:
            clock, settings = self.run.clock, self.run.settings
            if settings.switches + len(self.run.reverted) != self.switches:
                self.switches, self.since = settings.switches + len(self.run.reverted), self.ended
            new = "1" in settings.values.values()
            steps = round(seconds / STEP_S)
            at = [clock.now() - self.since + STEP_S * number for number in range(steps)]
            rate = sum(math.exp(log_rate(since, new)) for since in at) / steps * settings.noise(clock.now())
            await clock.sleep(seconds)
            self.ended = clock.now()
            return Measured(seconds=seconds, values={self.metric: 1000 * rate}, operations=1000)

    return Changing


def prove(
    patch: pytest.MonkeyPatch, log_rate: Callable[[float, bool], float], seed: int
) -> tuple[ProvenSetting, MadeRun]:
    run = planted_run(patch, {"one": 0.0}, seed=seed, noise=white(seed, 0.02), load=load_with(log_rate))
    return proven_settings(run)["one"], run


def test_a_slow_setting_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes half a second to act: without a longer wait it would look much smaller than it is."""
    line, run = prove(monkeypatch, lambda since, new: 0.3 * abs((not new) - (1 - math.exp(-since / 0.5))), 1)
    assert line.outcome == "helps" and line.ci95 is not None and line.ci95[0] <= math.exp(0.3) <= line.ci95[1]
    assert any(event.why == "switch" and event.begins_anew for event in run.of(ev.SliceLengthChosen))


def test_a_setting_that_acts_later_is_not_called_without_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    class Creeping(MadeLoad):
        """Its level approaches the value's within seconds."""

        level, measured_at = 0.0, 0.0

        async def measure_block(self, seconds: float) -> Measured:
            await self.run.clock.sleep(seconds)
            new = "1" in self.run.settings.values.values()
            left = math.exp(-(self.run.clock.now() - self.measured_at) / 5.0)
            self.level, self.measured_at = 0.3 * new + (self.level - 0.3 * new) * left, self.run.clock.now()
            rate = 1000 * math.exp(self.level) * self.run.settings.noise(self.run.clock.now())
            return Measured(seconds=seconds, values={self.metric: rate}, operations=1000)

    run = planted_run(monkeypatch, {"one": 0.0}, noise=white(1, 0.02), load=Creeping)
    assert proven_settings(run)["one"].outcome == "undecided"


def test_what_a_switch_costs_is_no_effect_of_the_new_value(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [
        prove(monkeypatch, lambda since, _: -0.4 * math.exp(-since / 0.6), seed)[0].outcome
        for seed in range(6)
    ]
    assert not {"helps", "harms"} & set(outcomes)
