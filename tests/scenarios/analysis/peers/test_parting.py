"""Facts that go with a difference, and facts of many nodes in a table."""

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.analysis.peers.facts import MAX_FACTS, FactTable, spell_facts, value_of_spelling
from hostdx.scenarios.analysis.peers.setting import facts_that_tell_levels_apart, suspect_settings
from tests.fakes.many_nodes import table_of

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
    settings = suspect_settings(table, 7, [n for n in range(60) if n != 7])
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
    assert suspect_settings(table, 0, range(1, 20)) == ()


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
    assert len(spell_facts({key: "a" * 10_000})[key]) < 200
    assert spell_facts({key: "caf\udce9"})[key]
    assert value_of_spelling(spell_facts({key: "a" * 10_000})[key])
    assert spell_facts({("memory", "available"): 1, ("host", "name"): "a"}) == {}
