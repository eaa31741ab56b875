"""Rows about settings: what files and the active tuned profile ask for, against what is live."""

from __future__ import annotations

import configparser
import re

from probes.host import Host
from probes.system.disk.scheduler_origin import tuned_profile
from probes.types import Absent, present
from scenarios.rules.table import Row

# Where sysctl.d(5) looks, first wins by name; tuned's profiles, the newest layout first.
_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
_PROFILES = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")
# Drift matters only where a setting changes how fast a host is.
_ABOUT = re.compile(r"(vm|net\.core|net\.ipv4\.tcp|kernel\.(numa_balancing|sched|io_uring)|fs\.aio)[._]?")


def sysctl_rows(host: Host) -> list[Row] | Absent:
    """One a setting that a file or tuned asks for and that changes speed: `asked`, `by`, `live`."""
    asked = files_ask(host)
    if isinstance(asked, Absent):
        return asked
    asked |= tuned_asks(host)
    rows = []
    for name, (value, where) in sorted(asked.items()):
        if not _ABOUT.match(name) or "*" in name:
            continue
        live = host.text("/proc/sys/" + name.replace(".", "/"), 4096)
        rows.append(
            Row(
                name,
                {
                    "name": name,
                    "asked": _plain(value),
                    "at_least": value.startswith(">"),
                    "by": where,
                    "tuned": "tuned" in where,
                    "live": live if isinstance(live, Absent) else _plain(live),
                },
            )
        )
    return rows


def _plain(value: str) -> str:
    return " ".join(value.lstrip(">=< ").split())


def files_ask(host: Host) -> dict[str, tuple[str, str]] | Absent:
    """By sysctl.d(5): file names in order over all folders, a name in /etc hides its namesakes; sysctl.conf last."""
    names: dict[str, str] = {}
    seen = False
    for folder in _FOLDERS:
        listed = host.listing(folder)
        seen = seen or present(listed)
        for name in listed if present(listed) else ():
            if name.endswith(".conf"):
                names.setdefault(name, f"{folder}/{name}")
    paths = [path for _, path in sorted(names.items())]
    if "99-sysctl.conf" not in names:
        paths.append("/etc/sysctl.conf")
    asked: dict[str, tuple[str, str]] = {}
    for path in paths:
        text = host.text(path, 1 << 18)
        seen = seen or present(text)
        for line in text.splitlines() if present(text) else ():
            found = re.match(r"\s*-?([A-Za-z0-9_./*-]+)\s*=\s*(.*?)\s*$", line)
            if found and not line.lstrip().startswith(("#", ";")):
                key = found[1] if "/" not in found[1] else found[1].translate(str.maketrans("/.", "./"))
                asked[key] = (found[2], path)
    return (
        asked
        if seen
        else Absent("no sysctl.d folder can be read", "captured" if not host.live else "missing")
    )


def tuned_asks(host: Host) -> dict[str, tuple[str, str]]:
    """The [sysctl] of the active profile and of those that it includes; the outer one wins."""
    profiles = tuned_profile(host)
    asked: dict[str, tuple[str, str]] = {}
    for name in profiles.split() if present(profiles) else ():
        asked |= _profile(host, name, 0)
    return asked


def _profile(host: Host, name: str, depth: int) -> dict[str, tuple[str, str]]:
    if depth > 8 or "/" in name:
        return {}
    for folder in _PROFILES:
        path = f"{folder}/{name}/tuned.conf"
        text = host.text(path, 1 << 18)
        if isinstance(text, Absent):
            continue
        parser = configparser.ConfigParser(
            strict=False, interpolation=None, allow_no_value=True, delimiters=("=",)
        )
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        try:
            parser.read_string(text)
        except configparser.Error:
            return {}
        asked: dict[str, tuple[str, str]] = {}
        for inner in re.split(r"[,\s]+", parser.get("main", "include", fallback="") or ""):
            if inner:
                asked |= _profile(host, inner, depth + 1)
        for section in parser.sections():
            if (parser[section].get("type") or section) == "sysctl":
                # `${var}` and functions are worked out by tuned: what they give is not known here.
                own = {k: (v or "", path) for k, v in parser[section].items() if "$" not in (v or "")}
                asked |= own
                for unknown in (k for k, v in parser[section].items() if "$" in (v or "")):
                    asked.pop(unknown, None)
        return asked
    return {}
