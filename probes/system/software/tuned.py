"""What the active tuned profiles ask for (tuned-profiles(7), tuned.conf(5))."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.types import Absent, is_present

ACTIVE = "/etc/tuned/active_profile"
FOLDERS = (
    "/etc/tuned/profiles",
    "/etc/tuned",
    "/usr/lib/tuned/profiles",
    "/usr/lib/tuned",
)  # the newest layout first
_MAX_DEPTH = 8
_MAX_SECTIONS = 10_000


class TunedSection(NamedTuple):
    """One section of a profile's file: the plugin that it is for, and its options as they are written."""

    path: str
    plugin: str
    options: dict[str, str]


@compute_once_per_host
def active_tuned_profiles(host: Host) -> str | Absent:
    """The active profiles' names as written ("throughput-performance our-disks")."""
    text = host.read_file_text(ACTIVE)
    return text if isinstance(text, Absent) else text.strip() or Absent("no profile is active", source=ACTIVE)


@compute_once_per_host
def active_tuned_sections(host: Host) -> tuple[TunedSection, ...]:
    """Of the active profiles and of those that they include; of two that ask for the same the later one counts."""
    profiles = active_tuned_profiles(host)
    names = profiles.split() if is_present(profiles) else ()
    sections = (section for name in names for section in _read_profile_sections(host, name, 0))
    return tuple(islice(sections, _MAX_SECTIONS))


def tuned_profile_sections(host: Host, profile: str) -> tuple[TunedSection, ...]:
    """Return the sections of a named profile, whether or not it is active; none where there is no such profile."""
    return tuple(islice(_read_profile_sections(host, profile, 0), _MAX_SECTIONS))


def _read_profile_sections(host: Host, profile: str, depth: int) -> Iterator[TunedSection]:
    if depth > _MAX_DEPTH or "/" in profile:
        return
    paths = (f"{folder}/{profile}/tuned.conf" for folder in FOLDERS)
    path, text = next(((p, t) for p in paths if is_present(t := host.read_file_text(p, 1 << 18))), ("", ""))
    import configparser  # most hosts have no tuned

    parser = configparser.ConfigParser(
        strict=False, interpolation=None, allow_no_value=True, delimiters=("=",)
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    for inner in re.split(r"[,\s]+", parser.get("main", "include", fallback="") or ""):
        if inner:
            yield from _read_profile_sections(host, inner, depth + 1)
    for name in parser.sections():
        options = {key: value or "" for key, value in parser[name].items()}
        yield TunedSection(path, options.get("type") or name, options)
