"""Rows about settings: what files and the active tuned profile ask for, against what is live."""

import re
from collections.abc import Callable

from probes.host import Host
from probes.number_text import signed
from probes.system.software.tuned import tuned_sections
from probes.types import Absent, present
from scenarios.knowledge.defaults import changed_settings
from scenarios.rules.expression import Value, expression
from scenarios.rules.table import SubjectRow

# Where sysctl.d(5) looks, first wins by name.
_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
# Drift matters only where a setting changes how fast a host is.
_ABOUT = re.compile(r"(vm|net\.core|net\.ipv4\.tcp|kernel\.(numa_balancing|sched|io_uring)|fs\.aio)[._]?")


def _governor(host: Host) -> str | Absent:
    """Of all policies: theirs where they agree, else all of them."""
    found = [
        word
        for path in host.glob("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor")
        if present(word := host.word(path))
    ]
    return (
        ", ".join(sorted(set(found))) if found else Absent("the kernel sets no CPU frequency", "unsupported")
    )


# What tuned sets elsewhere than in /proc/sys: the option of a plugin -> its name here -> how it is now.
_TUNED_OPTIONS = {
    "cpu": {"governor": "CPU governor"},
    "vm": {"transparent_hugepages": "huge pages", "transparent_hugepage": "huge pages"},
}
_OTHERS: dict[str, Callable[[Host], str | Absent]] = {
    "CPU governor": _governor,
    "huge pages": lambda host: host.chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
}


def setting_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per setting that a file or tuned asks for and that changes speed: `asked`, `by`, `live`."""
    files, by_tuned = files_ask(host), tuned_asks(host)
    if isinstance(files, Absent) and not by_tuned:
        return files
    asked = (files if present(files) else {}) | by_tuned
    rows = []
    for name, (value, where) in sorted(asked.items()):
        if not (name in _OTHERS or _ABOUT.match(name)) or "*" in name:
            continue
        if name in _OTHERS:
            live = _OTHERS[name](host)
            value = live if present(live) and live in value.split("|") else value
        else:
            live = host.text("/proc/sys/" + name.replace(".", "/"), 4096)
        columns: dict[str, Value] = {
            "name": name,
            "key": Absent("it is no sysctl", "unsupported") if name in _OTHERS else name,
            "asked": _plain(value),
            "at_least": value.startswith(">"),
            "by": where,
            "tuned": "tuned" in where,
            "live": live if isinstance(live, Absent) else _plain(live),
        }
        rows.append(SubjectRow(name, columns))
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
    """What the active profiles set, of what is compared here, and those that they include; the outer one wins."""
    asked: dict[str, tuple[str, str]] = {}
    for path, plugin, options in tuned_sections(host):
        for option, other in _TUNED_OPTIONS.get(plugin, {}).items():
            told = options.get(option)
            if told and "$" not in told and ":" not in told:
                asked[other] = (told, path)
        for name, value in options.items() if plugin == "sysctl" else ():
            # `${var}` and functions are worked out by tuned: what they give is not known here.
            if "$" in value:
                asked.pop(name, None)
            else:
                asked[name] = (value, path)
    return asked


def changed_rows(host: Host) -> list[SubjectRow]:
    """One row per setting that differs from the kernel's default: `costly` where that is known to cost something."""
    rows = []
    for changed in host.once(changed_settings):
        setting = changed.setting
        number = signed(changed.value)
        value: Value = changed.value if number is None else number
        columns: dict[str, Value] = {
            "name": setting.key,
            "path": setting.path,
            "value": value,
            "usual": setting.values[0],
            "costly": expression(setting.costly)({"value": value}) if setting.costly else False,
            "cost": setting.cost,
            "documented": setting.source,
        }
        rows.append(SubjectRow(setting.key, columns))
    return rows
