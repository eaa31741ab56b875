"""A row for every range of firewalld.toml: its versions and their neighbours, and each word of its vocabulary."""

from __future__ import annotations

from probes.system.firewall.firewalld import Firewalld
from probes.types import Absent
from scenarios.triage.knowledge.firewalld import configured_meaning, load_vocabularies, vocabulary_of
from tests.every_case import every_case

UNSET = Absent("not set")


def read(version: str | Absent, value: str | Absent, backend: str | Absent = UNSET) -> Firewalld:
    return Firewalld(version=version, ipv6_rpfilter=value, backend=backend, running=True)


@every_case(
    ("version", "since"),
    [
        ("0.3.9", "0.3.9"),
        ("0.4.4.4", "0.3.9"),
        ("0.5.5", "0.3.9"),
        ("0.6.0", "0.6.0"),
        ("0.6.3", "0.6.0"),
        ("0.9.3", "0.6.0"),
        ("0.9.4", "0.9.4"),
        ("0.9.11", "0.9.4"),
        ("1.3.4", "0.9.4"),
        ("2.1.2", "0.9.4"),
        ("2.2.0", "2.2.0"),
        ("2.5.2", "2.2.0"),
    ],
)
def test_the_range_of_a_version(version: str, since: str) -> None:
    found = vocabulary_of(version)
    assert not isinstance(found, Absent)
    assert found.since == since
    assert found.sources


def test_before_the_first_range_nothing_is_claimed() -> None:
    assert isinstance(vocabulary_of("0.3.8"), Absent)
    assert isinstance(configured_meaning(read(Absent("unknown version"), "yes")), Absent)


@every_case(
    ("version", "value", "mode", "problem"),
    [
        ("0.6.3", "yes", "strict", ""),
        ("0.6.3", "TRUE", "strict", ""),
        ("0.6.3", "no", "no", ""),
        ("0.6.3", UNSET, "strict", ""),
        ("0.6.3", "loose", "strict", "does not know"),
        ("1.3.4", "false", "no", ""),
        ("1.3.4", "strict-forward", "strict", "does not know"),
        ("1.3.4", UNSET, "strict", ""),
        ("2.2.0", "yes", "strict", ""),
        ("2.2.0", "strict", "strict", ""),
        ("2.2.0", "loose", "loose", ""),
        ("2.2.0", "strict-forward", "strict-forward", ""),
        ("2.4.0", "loose-forward", "loose-forward", ""),
        ("2.4.0", "no", "no", ""),
        ("2.4.0", "off", "strict", "does not know"),
        ("2.4.0", UNSET, "strict", ""),
    ],
)
def test_what_a_word_means(version: str, value: str | Absent, mode: str, problem: str) -> None:
    found = configured_meaning(read(version, value))
    assert not isinstance(found, Absent)
    assert found.mode == mode
    assert (problem in found.problem) if problem else found.problem == ""
    assert found.every_packet == (mode in ("strict", "loose"))


def test_forward_does_not_go_with_the_iptables_backend() -> None:
    found = configured_meaning(read("2.3.0", "loose-forward", "iptables"))
    assert not isinstance(found, Absent)
    assert "refuses to start" in found.problem


def test_the_word_that_ends_the_cost_is_in_the_vocabulary() -> None:
    for entry in load_vocabularies():
        assert entry.off in entry.values
        assert entry.off not in ("strict", "loose")
