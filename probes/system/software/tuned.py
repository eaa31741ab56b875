"""What the active tuned profiles ask for (tuned-profiles(7), tuned.conf(5))."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from probes.host import Host, once
from probes.types import Absent, present

ACTIVE = "/etc/tuned/active_profile"
FOLDERS = (
    "/etc/tuned/profiles",
    "/etc/tuned",
    "/usr/lib/tuned/profiles",
    "/usr/lib/tuned",
)  # the newest layout first
_DEEPEST = 8
_MOST_SECTIONS = 10_000


class Section(NamedTuple):
    """One section of a profile's file: the plugin that it is for, and its options as they are written."""

    path: str
    plugin: str
    options: dict[str, str]


@once
def tuned_profile(host: Host) -> str | Absent:
    """The active profiles' names as written ("throughput-performance our-disks")."""
    text = host.text(ACTIVE)
    return text if isinstance(text, Absent) else text.strip() or Absent("no profile is active", source=ACTIVE)


@once
def tuned_sections(host: Host) -> tuple[Section, ...]:
    """Of the active profiles and of those that they include; of two that ask for the same the later one counts."""
    profiles = tuned_profile(host)
    names = profiles.split() if present(profiles) else ()
    found = (section for name in names for section in _sections(host, name, 0))
    return tuple(islice(found, _MOST_SECTIONS))


def _sections(host: Host, profile: str, depth: int) -> Iterator[Section]:
    if depth > _DEEPEST or "/" in profile:
        return
    paths = (f"{folder}/{profile}/tuned.conf" for folder in FOLDERS)
    path, text = next(((p, t) for p in paths if present(t := host.text(p, 1 << 18))), ("", ""))
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
            yield from _sections(host, inner, depth + 1)
    for name in parser.sections():
        options = {key: value or "" for key, value in parser[name].items()}
        yield Section(path, options.get("type") or name, options)
