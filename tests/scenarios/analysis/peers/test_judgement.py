"""Nodes beside their peers."""

import random

import pytest

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.analysis.peers.facts import (
    MAX_FACTS,
    ComparedFact,
    FactTable,
    comparable_fact_texts,
    value_of_spelling,
)
from hostdx.scenarios.analysis.peers.judge import judge_fleet
from hostdx.scenarios.analysis.peers.judgement import FleetJudgement, MissingNode
from hostdx.scenarios.analysis.peers.node import PeerNode, hardware_of_facts
from hostdx.scenarios.analysis.peers.retest import MIN_ROUNDS, RetestedMeasure, suspect_standings_by_measure
from hostdx.scenarios.analysis.peers.screen import peers_for, screen_nodes, split_into_two_levels
from hostdx.scenarios.analysis.peers.setting import (
    _setting_of_fact,
    facts_that_tell_levels_apart,
    suspected_settings,
)
from tests.every_case import every_case
from tests.fakes.many_nodes import HARDWARE, Nodes, draw_heavy, draw_usual, screen_and_measure, table_of


def plant_fleet(count: int, seed: int = 1, *, retest: bool = True) -> FleetJudgement:
    nodes = Nodes(count, seed)
    nodes.slow(["node0003"], 0.8)

    def facts_of(name: str) -> dict[FactKey, Json]:
        return {
            ("cpu", "governor"): "powersave" if name == "node0003" else "performance",
            ("x", "serial"): name,
        }

    first = nodes.all()
    screen = screen_nodes(first)
    rounds = nodes.rounds(screen) if retest else []
    missing = [MissingNode(node="node9999", state="hung", reason="no answer for 60 s")]
    return judge_fleet(first, table_of(list(nodes.levels), facts_of), nodes.loads, rounds, missing=missing)


def test_below_ten_nodes_no_setting_is_named() -> None:
    (odd,) = plant_fleet(9, 2).odd
    assert odd.few and odd.settings


def test_like_nodes_have_a_smallest_difference() -> None:
    nodes = Nodes(100, 4)
    first = nodes.all()
    fleet = judge_fleet(first, table_of([], lambda _: {}), nodes.loads, nodes.rounds(screen_nodes(first)))
    assert not fleet.odd and fleet.smallest_difference is not None and 0.05 < fleet.smallest_difference < 0.15


def test_a_node_without_peers_says_what_it_has_otherwise() -> None:
    nodes = Nodes(12, 6).all()
    lone = PeerNode(name=nodes[0].name, logs=nodes[0].logs, hardware=(*HARDWARE, ("memory", "192 GiB")))
    fleet = judge_fleet([lone, *nodes[1:]], table_of([], lambda _: {}), Nodes(12, 6).loads)
    group = fleet.groups[1]
    assert group.named == (lone.name,) and group.unlike == (("memory", "192 GiB"),) and not group.judged
    assert lone.name not in fleet.measures[0].values


GIB = 1 << 30
FACTS: dict[FactKey, Json] = {
    ("cpu", "model"): "AMD EPYC 7451",
    ("cpu", "sockets"): 2,
    ("cpu", "threads"): 96,
    ("kernel", "release"): "6.1.0",
    ("memory", "total"): 251 * GIB,
    ("disk:sda", "kind"): "disk",
    ("disk:sda", "model"): "ST9250610NS",
    ("disk:sda", "size"): 250059350016,
    ("nic:eth0", "driver"): "igb",
    ("nic:eth0", "speed"): 1000,
}


def test_settings_kernels_and_device_names_make_no_other_hardware() -> None:
    other = {
        (subject.replace("sda", "sdb").replace("eth0", "eno1"), name): value
        for (subject, name), value in FACTS.items()
    }
    other |= {("cpu", "threads"): 48, ("kernel", "release"): "6.12.0", ("nic:eno1", "speed"): 100}
    other[("memory", "total")] = 248 * GIB  # a crash kernel
    assert hardware_of_facts(other) == hardware_of_facts(FACTS)


NAMES = [f"n{n}" for n in range(60)]


def facts_of(name: str) -> dict[FactKey, Json]:
    number = int(name[1:])
    return {
        ("machine", "serial"): f"S-{number}",
        ("nic:eth0", "address"): f"10.0.0.{number}",
        ("kernel", "release"): "6.1.0",
        ("disk:sda", "scheduler"): "none" if number < 20 else "mq-deadline",
        ("sysctl", "vm.swappiness"): 10 if number == 7 else 60,
        ("sensor", "temperature"): 40 + (number * 37 % 60) / 7,
        ("os", "name"): "Debian" if number % 3 else "Alma",
    }


def test_the_sole_setting_leads_and_names_of_nodes_are_none() -> None:
    table = table_of(NAMES, facts_of)
    settings = suspected_settings(table, 7, [n for n in range(60) if n != 7])
    assert (settings[0].subject, settings[0].name, settings[0].value) == ("sysctl", "vm.swappiness", 10)
    assert settings[0].theirs == ((60, 59),) and settings[0].matching == 0
    assert [(setting.subject, setting.name) for setting in settings[1:]] == [("disk:sda", "scheduler")]
    assert settings[1].suspicion < settings[0].suspicion / 2


def test_what_parts_two_populations() -> None:
    table = table_of(NAMES, facts_of)
    (parting,) = facts_that_tell_levels_apart(table, range(20), range(20, 60))
    assert (parting.subject, parting.name, parting.right) == ("disk:sda", "scheduler", 1.0)
    assert parting.lower == (("none", 20),) and parting.upper == (("mq-deadline", 40),)
    assert facts_that_tell_levels_apart(table, range(4), range(4, 8)) == ()  # too few nodes to tell
    partings = facts_that_tell_levels_apart(table, range(55), range(55, 60))
    assert ("machine", "serial") not in [(setting.subject, setting.name) for setting in partings]


def test_what_could_not_be_read_is_no_difference() -> None:
    table = FactTable()
    for number in range(20):
        table.add(str(number), {("a", "b"): "1"} if number else {}, [] if number else [("a", "b")])
    assert suspected_settings(table, 0, range(1, 20)) == ()


def test_the_table_is_bounded_and_a_fact_told_twice_counts_once() -> None:
    table = FactTable()
    table.add("a", {("s", str(n)): "1" for n in range(MAX_FACTS + 5)})
    assert table.left_out == 5 and len(table) == MAX_FACTS
    table = FactTable()
    table.add("a", {("s", "x"): "1"}, [("s", "x")])
    table.add("b", {("s", "x"): "2"})
    assert table.value_numbers(("s", "x"), [0, 1]) == [0, 1]


def test_long_and_raw_values_are_kept_short() -> None:
    key = ("x", "y")
    assert len(comparable_fact_texts({key: "a" * 10_000})[key]) < 200
    assert comparable_fact_texts({key: "caf\udce9"})[key]
    assert value_of_spelling(comparable_fact_texts({key: "a" * 10_000})[key])
    assert comparable_fact_texts({("memory", "available"): 1, ("host", "name"): "a"}) == {}


def draw_levels(rng: random.Random, count: int, share: float, gap: float) -> dict[str, float]:
    return {f"n{i}": rng.gauss(0, 0.02) - (gap if i < share * count else 0.0) for i in range(count)}


def test_one_is_one() -> None:
    rng = random.Random(3)
    kinds = (lambda: rng.gauss(0, 1), rng.random, lambda: rng.expovariate(1))
    wrong = sum(
        split_into_two_levels({str(i): 0.05 * draw() for i in range(count)}) is not None
        for count in (10, 30, 100, 300)
        for draw in kinds
        for _ in range(25)
    )
    assert wrong <= 9  # 3 %


def test_a_few_odd_nodes_are_none() -> None:
    assert split_into_two_levels(draw_levels(random.Random(1), 100, 0.05, 0.5)) is None
    assert split_into_two_levels(draw_levels(random.Random(1), 5, 0.4, 0.5)) is None


def different_nodes(standings: tuple[RetestedMeasure, ...]) -> set[str]:
    return {suspect.node for suspect in standings if suspect.is_different}


@pytest.mark.parametrize("noise", [draw_usual, draw_heavy])
def test_nobody_is_named_among_like_nodes(noise: object) -> None:
    wrong = 0
    for seed in range(20):
        nodes = Nodes(60, 100 + seed, noise=noise)  # type: ignore[arg-type]
        wrong += len(different_nodes(suspect_standings_by_measure(*screen_and_measure(nodes))))
    assert wrong <= 1


def test_too_few_rounds_name_nobody() -> None:
    nodes = Nodes(40, 6)
    nodes.slow(["node0001"], 0.5)
    screen = screen_nodes(nodes.all())
    rounds = nodes.rounds(screen)
    assert len(rounds) >= MIN_ROUNDS
    early = suspect_standings_by_measure(screen, rounds[: MIN_ROUNDS - 1])
    assert not different_nodes(early) and any(suspect.is_undecided for suspect in early)


def test_where_there_are_fewer_than_eight_peers_all_are_taken() -> None:
    nodes = Nodes(7, 11)
    nodes.slow(["node0000"], 0.5)
    screen = screen_nodes(nodes.all())
    assert set(peers_for(screen, ["node0000"], 3)) == set(nodes.levels) - set(screen.suspects)


@every_case(
    ("key", "peer_value", "command"),
    [
        (("sysctl", "net.core.rmem_max"), "212992", "sysctl -w net.core.rmem_max=212992"),
        (("sysctl", "net.ipv4.tcp_rmem"), '"4096 131072 6291456"', "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'"),
        (("sysctl", "net.core.rmem_max"), "", ""),
        (("tuned", "profile"), '"x"', ""),
    ],
)  # fmt: skip
def test_the_command_that_proves_it_has_the_peers_value(
    key: tuple[str, str], peer_value: str, command: str
) -> None:
    suspect_setting = _setting_of_fact(ComparedFact(key, "1", 0, 9, 2, 9, ((peer_value, 9),)), 0.9)
    assert (suspect_setting.component, suspect_setting.command) == ("settings", command)


def test_what_every_node_has_of_its_own_is_no_setting() -> None:
    """Below the sole one too; two firmwares of the peers are."""
    table = table_of(
        [f"node{n}" for n in range(12)],
        lambda name: {
            ("run", "host"): name, ("kernel", "build"): f"#1 on {name}", ("sysctl", "x.y"): int(name == "node3"),
            ("disk:a", "firmware"): "C" if name == "node3" else "A" if name < "node6" else "B",
        },
    )  # fmt: skip
    settings = suspected_settings(table, 3, [n for n in range(12) if n != 3])
    assert [setting.name for setting in settings] == ["x.y", "firmware"]
