"""What firewalld's IPv6_rpfilter means, by its version (firewalld.toml)."""

import re
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.system.firewall.firewalld import Firewalld
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries

Mode: TypeAlias = Literal["strict", "loose", "strict-forward", "loose-forward", "no"]


class RpFilterVocabulary(KnowledgeEntry, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One range of versions. `off` is the value that ends the cost for packets to this host."""

    since: str
    before: str | None = None
    values: dict[str, Mode]
    default: Mode
    place: str
    priority: int
    flags: tuple[str, ...]
    off: Mode
    sources: tuple[str, ...]


class RpFilterMeaning(msgspec.Struct, frozen=True, kw_only=True):
    """What the daemon makes of the file. `problem`: the file says what it does not understand, or cannot do."""

    mode: Mode
    written: str  # "" where the file does not say
    vocabulary: RpFilterVocabulary
    problem: str = ""

    @property
    def checks_every_packet(self) -> bool:
        return self.mode in ("strict", "loose")


def version_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"[0-9]{1,9}", version)[:4])


def rp_filter_vocabularies() -> tuple[RpFilterVocabulary, ...]:
    return load_entries("firewalld", "firewalld", RpFilterVocabulary).entries


def rp_filter_vocabulary_of(version: str) -> RpFilterVocabulary | Absent:
    """The range that holds a version."""
    wanted = version_numbers(version)
    for entry in rp_filter_vocabularies():
        if version_numbers(entry.since) <= wanted and (
            entry.before is None or wanted < version_numbers(entry.before)
        ):
            return entry
    return Absent(
        f"nothing is known of firewalld {version}", "unsupported", "scenarios/triage/knowledge/firewalld.toml"
    )


def rp_filter_meaning_of(configured: Firewalld) -> RpFilterMeaning | Absent:
    """The check that this configuration asks for. A missing key is the default, and so is a word it does not know."""
    if isinstance(configured.version, Absent):
        return configured.version
    vocabulary = rp_filter_vocabulary_of(configured.version)
    if isinstance(vocabulary, Absent):
        return vocabulary
    written = "" if isinstance(configured.ipv6_rpfilter, Absent) else configured.ipv6_rpfilter
    mode = vocabulary.values.get(written.lower()) if written else vocabulary.default
    problem = ""
    if mode is None:
        unknown = f"firewalld {configured.version} does not know IPv6_rpfilter={written}"
        problem = f"{unknown}; it uses its default, {vocabulary.default}"
        mode = vocabulary.default
    elif mode.endswith("-forward") and configured.backend == "iptables":
        both = f"IPv6_rpfilter={written} with FirewallBackend=iptables"
        problem = f"{both}: firewalld refuses to start (INVALID_VALUE)"
    return RpFilterMeaning(mode=mode, written=written, vocabulary=vocabulary, problem=problem)
