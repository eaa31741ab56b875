"""A row for every range of firewalld.toml: its versions and their neighbours, and each word of its vocabulary."""

from hostdx.probes.system.firewall.firewalld import Firewalld
from hostdx.probes.types import Absent
from hostdx.scenarios.triage.knowledge.firewalld import (
    rp_filter_meaning_of,
    rp_filter_vocabularies,
    rp_filter_vocabulary_of,
)

UNSET = Absent("not set")


def read(version: str | Absent, value: str | Absent, backend: str | Absent = UNSET) -> Firewalld:
    return Firewalld(version=version, ipv6_rpfilter=value, backend=backend, running=True)


def test_before_the_first_range_nothing_is_claimed() -> None:
    assert isinstance(rp_filter_vocabulary_of("0.3.8"), Absent)
    assert isinstance(rp_filter_meaning_of(read(Absent("unknown version"), "yes")), Absent)


def test_the_word_that_ends_the_cost_is_in_the_vocabulary() -> None:
    for entry in rp_filter_vocabularies():
        assert entry.off in entry.values
        assert entry.off not in ("strict", "loose")
