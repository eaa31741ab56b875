"""Where the settings of a proof come from: the remedies of findings, or the file of a tuned profile. Reads only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.software.tuned import FOLDERS, TunedSection, tuned_profile_sections
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import UsageError
from hostdx.scenarios.prove.kinds import KIND_NAMES, parse_setting

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
_GROWING = re.compile(r">\s*(.+)")  # tuned raises a value, and lowers none


class SettingsChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Settings as `--setting` takes them, and why others are not among them.

    `finding`: the key of the finding whose remedy they are; `load`: what its rule names; `is_applied_whole`:
    all of the remedy is there.
    """

    settings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    finding: str = ""
    load: str = ""

    @property
    def is_applied_whole(self) -> bool:
        return bool(self.settings) and not self.left_out


def find_worst_finding(findings: Sequence[Finding], name: str) -> Finding | None:
    """Return the finding with that id, or ID|SUBJECT; of several with the id the worst one."""
    return next((finding for finding in findings if name in (finding.key, finding.id)), None)


def settings_of_finding(host: Host, finding: Finding, *, may_lose: bool = False) -> SettingsChoice:
    """Return the settings of the first remedy that has some."""
    wanted = next((remedy.settings for remedy in finding.remedy if remedy.settings), {})
    choice = _keep_switchable(
        host, (f"{_label_with_kind(name)}={value}" for name, value in wanted.items()), may_lose
    )
    return msgspec.structs.replace(choice, finding=finding.key, load=finding.load)


def settings_of_findings(
    host: Host, findings: Iterable[Finding], *, may_lose: bool = False
) -> SettingsChoice:
    """Return the settings of all remedies; of two that set the same file the first one counts."""
    wanted: dict[str, str] = {}
    for finding in findings:
        for remedy in finding.remedy:
            for name, value in remedy.settings.items():
                wanted.setdefault(_label_with_kind(name), value)
    return _keep_switchable(host, (f"{label}={value}" for label, value in wanted.items()), may_lose)


def settings_of_profile(host: Host, profile: str, *, may_lose: bool = False) -> SettingsChoice:
    """Return the settings of a tuned profile and of those that it includes. Raises UsageError where there is none."""
    sections = tuned_profile_sections(host, profile)
    if not sections:
        raise UsageError(
            f"profile {profile}: no such profile in {', '.join(FOLDERS)}, or its file cannot be read"
        )
    wanted = dict(_settings_by_label(sections))
    return _keep_switchable(host, (f"{label}={value}" for label, value in wanted.items()), may_lose)


def _settings_by_label(sections: Iterable[TunedSection]) -> Iterator[tuple[str, str]]:
    """Yield the settings that a profile names, by label. What a plugin works out itself is named as tuned writes it."""
    for section in sections:
        for name, text in section.options.items():
            growing = _GROWING.fullmatch(text)
            value = growing[1] if growing else text
            if section.plugin == "sysctl":
                yield f"sysctl:{name}", value
            elif section.plugin == "sysfs":
                yield f"sysfs:{name}", value
            elif (section.plugin, name) in (("vm", "transparent_hugepages"), ("vm", "transparent_hugepage")):
                yield f"sysfs:{THP}", value
            elif (section.plugin, name) == ("cpu", "governor"):
                yield f"sysfs:{GOVERNOR}", value.partition("|")[0]
            elif name not in ("type", "devices", "include", "summary"):
                yield f"{section.plugin}:{name}", value


def _label_with_kind(name: str) -> str:
    if name.partition(":")[0] in KIND_NAMES:
        return name
    return f"sysfs:{name}" if name.startswith("/") else f"sysctl:{name}"


def _keep_switchable(host: Host, texts: Iterable[str], may_lose: bool) -> SettingsChoice:
    settings: list[str] = []
    left_out: list[str] = []
    for text in texts:
        try:
            parse_setting(host, text, may_lose=may_lose)
            settings.append(text)
        except UsageError as why:
            left_out.append(str(why))
    return SettingsChoice(settings=tuple(settings), left_out=tuple(left_out))
