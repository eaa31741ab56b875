"""Rows about settings: what files and the active tuned profile ask for, against what is live."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from hostdx.probes.number_text import parse_signed
from hostdx.probes.reading.host import Host
from hostdx.probes.system.software.tuned import active_tuned_sections
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries
from hostdx.scenarios.triage.knowledge.defaults import BOOT_LINE, changed_settings, known_boot_parameters
from hostdx.scenarios.triage.rules.expression import Value, parse_expression
from hostdx.scenarios.triage.rules.table import SubjectRow

# Where sysctl.d(5) looks, first wins by name.
_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
# Drift matters only where a setting changes how fast a host is.
_ABOUT = re.compile(r"(vm|net\.core|net\.ipv4\.tcp|kernel\.(numa_balancing|sched|io_uring)|fs\.aio)[._]?")
# Somebody wanted these; distributions' own files disagree about addresses of IPv6.
_IS_WANTED = re.compile(r"(?:vm|fs|kernel|net\.core|net\.ipv4)\.[^*]+$")


def _governors_of_policies(host: Host) -> str | Absent:
    """Of all policies: theirs where they agree, else all of them."""
    governors = [
        word
        for path in host.glob_paths("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor")
        if is_present(word := host.read_word(path))
    ]
    return (
        ", ".join(sorted(set(governors)))
        if governors
        else Absent("the kernel sets no CPU frequency", "unsupported")
    )


# What tuned sets elsewhere than in /proc/sys: the option of a plugin -> its name here -> how it is now.
_TUNED_OPTIONS = {
    "cpu": {"governor": "CPU governor"},
    "vm": {"transparent_hugepages": "huge pages", "transparent_hugepage": "huge pages"},
}
_OTHERS: dict[str, Callable[[Host], str | Absent]] = {
    "CPU governor": _governors_of_policies,
    "huge pages": lambda host: host.read_bracketed("/sys/kernel/mm/transparent_hugepage/enabled"),
}


def setting_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per setting that a file or tuned asks for and that changes speed: `asked`, `by`, `live`."""
    files, by_tuned = host.compute_once(settings_of_files), host.compute_once(settings_of_tuned)
    if isinstance(files, Absent) and not by_tuned:
        return files
    asked = (files if is_present(files) else {}) | by_tuned
    rows = []
    for name, (value, origin) in sorted(asked.items()):
        if not (name in _OTHERS or _ABOUT.match(name)) or "*" in name:
            continue
        if name in _OTHERS:
            live = _OTHERS[name](host)
            value = live if is_present(live) and live in value.split("|") else value
        else:
            live = host.read_file_text("/proc/sys/" + name.replace(".", "/"), 4096)
        columns: dict[str, Value] = {
            "name": name,
            "key": Absent("it is no sysctl", "unsupported") if name in _OTHERS else name,
            "asked": _without_relation_sign(value),
            "at_least": value.startswith(">"),
            "by": origin,
            "tuned": "tuned" in origin,
            "live": live if isinstance(live, Absent) else _without_relation_sign(live),
        }
        rows.append(SubjectRow(name, columns))
    return rows


def _without_relation_sign(value: str) -> str:
    return " ".join(value.lstrip(">=< ").split())


def settings_of_files(host: Host) -> dict[str, tuple[str, str]] | Absent:
    """Return by name the value that is applied last, and its file."""
    lines = host.compute_once(_settings_as_applied)
    return lines if isinstance(lines, Absent) else {key: (value, path) for key, value, path in lines}


def _settings_as_applied(host: Host) -> list[tuple[str, str, str]] | Absent:
    """Return name, value and file in the order in which they are applied, by sysctl.d(5): file names in order over all
    folders, a name in /etc hides its namesakes; sysctl.conf last.
    """
    names: dict[str, str] = {}
    has_listing = False
    for folder in _FOLDERS:
        listed = host.list_names(folder)
        has_listing = has_listing or is_present(listed)
        for name in listed if is_present(listed) else ():
            if name.endswith(".conf"):
                names.setdefault(name, f"{folder}/{name}")
    paths = [path for _, path in sorted(names.items())]
    if "99-sysctl.conf" not in names:
        paths.append("/etc/sysctl.conf")
    asked: list[tuple[str, str, str]] = []
    for path in paths:
        text = host.read_file_text(path, 1 << 18)
        has_listing = has_listing or is_present(text)
        for line in text.splitlines() if is_present(text) else ():
            setting = re.match(r"\s*-?([A-Za-z0-9_./*-]+)\s*=\s*(.*?)\s*$", line)
            if setting and not line.lstrip().startswith(("#", ";")):
                key = setting[1] if "/" not in setting[1] else setting[1].translate(str.maketrans("/.", "./"))
                asked.append((key, setting[2], path))
    return (
        asked
        if has_listing
        else Absent("no sysctl.d folder can be read", "captured" if not host.live else "missing")
    )


def overruled_setting_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per setting of a file in /etc that a later file sets to another value: `asked` in `by`, `applied` from
    `later`. That /etc overrules /usr/lib is meant; that one file says two things is not.
    """
    lines = host.compute_once(_settings_as_applied)
    if isinstance(lines, Absent):
        return lines
    last = {key: (value, path) for key, value, path in lines}
    rows = []
    for key, value, path in lines:
        applied, later = last[key]
        differs = path.startswith("/etc/") and path != later and value.split() != applied.split()
        if differs and _IS_WANTED.match(key):
            live = host.read_file_text("/proc/sys/" + key.replace(".", "/"), 4096)
            both = {
                "asked": _without_relation_sign(value),
                "by": path,
                "applied": _without_relation_sign(applied),
                "later": later,
            }
            rows.append(SubjectRow(key, {"name": key, **both, "live": live}))
    return rows


def settings_of_tuned(host: Host) -> dict[str, tuple[str, str]]:
    """Return what the active profiles set, of what is compared here, and those they include; the outer one wins."""
    asked: dict[str, tuple[str, str]] = {}
    for path, plugin, options in active_tuned_sections(host):
        for option, other in _TUNED_OPTIONS.get(plugin, {}).items():
            option_value = options.get(option)
            if option_value and "$" not in option_value and ":" not in option_value:
                asked[other] = (option_value, path)
        for name, value in options.items() if plugin == "sysctl" else ():
            # `${var}` and functions are worked out by tuned: what they give is not known here.
            if "$" in value:
                asked.pop(name, None)
            else:
                asked[name] = (value, path)
    return asked


def _modprobe_option(path: str, value: str) -> Value:
    """`mpt3sas msix_disable=-1`, as modprobe.d(5) writes a module's parameter."""
    parts = path.split("/")
    if not path.startswith("/sys/module/") or len(parts) != 6:
        return Absent("it is no parameter of a module", "unsupported", path)
    return f"{parts[3]} {parts[5]}={value}"


def changed_rows(host: Host) -> list[SubjectRow]:
    """One row per setting that differs from the kernel's default: `costly` where that is known to cost something."""
    rows = []
    for changed in host.compute_once(changed_settings):
        setting = changed.setting
        columns: dict[str, Value] = {
            "name": changed.name,
            "path": changed.path,
            "value": _number_or_text(changed.value),
            "usual": setting.values[0],
            "costly": _is_costly(setting.costly, changed.value),
            "cost": setting.cost,
            "at_load": setting.at_load,
            "parameter": changed.path.rpartition("/")[2],
            "option": _modprobe_option(changed.path, setting.values[0]),
            "documented": setting.source,
        }
        rows.append(SubjectRow(changed.name, columns))
    return rows


def boot_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per known boot parameter (knowledge/boot_parameters.toml): `costly` where its value costs something."""
    line = host.read_file_text(BOOT_LINE, 1 << 16)
    if isinstance(line, Absent):
        return line
    rows = []
    for word in host.compute_once(known_boot_parameters):
        parameter = word.parameter
        columns: dict[str, Value] = {
            "name": word.text,
            "parameter": parameter.name,
            "costly": _is_costly(parameter.costly, word.value),
            "severe": parameter.severe,
            "cost": parameter.cost,
            "documented": parameter.source,
        }
        rows.append(SubjectRow(word.text, columns))
    return rows


def _is_costly(expression: str, text: str) -> Value:
    return parse_expression(expression)({"value": _number_or_text(text)}) if expression else False


def _number_or_text(text: str) -> Value:
    number = parse_signed(text)
    return text if number is None else number


_KEYS = re.compile(
    r"^ *([0-9]{1,10}): +[0-9]+ [0-9]+/[0-9]+ ([0-9]{1,10})/([0-9]{1,10}) ([0-9]{1,10})/([0-9]{1,10})$",
    re.MULTILINE,
)


def key_user_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per user with keys in the kernel (/proc/key-users, Documentation/security/keys/core.rst): keys and their
    bytes, each with the user's quota.
    """
    text = host.read_file_text("/proc/key-users", 1 << 20)
    if isinstance(text, Absent):
        return text
    names = ("uid", "keys", "most_keys", "bytes", "most_bytes")
    rows = ([int(number) for number in numbers] for numbers in _KEYS.findall(text))
    return [SubjectRow(str(row[0]), dict(zip(names, row, strict=True))) for row in rows]


MIN_TWINS = 3
MIN_SHARE_OF_TWINS = 0.75


class Twins(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """Objects of a host that should be set alike (knowledge/twins.toml): those of `each` whose files `alike` are equal.

    `attributes`: their files that are compared.
    """

    kind: str
    each: str
    alike: tuple[str, ...]
    attributes: tuple[str, ...]
    source: str


def twin_rows(host: Host) -> list[SubjectRow]:
    """One row per object that differs from three quarters of its twins: `differences` says in what."""
    rows = []
    for twins in load_entries("twins", "twins", Twins).entries:
        groups: dict[tuple[str, ...], list[str]] = {}
        for path in host.glob_paths(twins.each):
            marks = [mark for name in twins.alike if is_present(mark := host.read_word(f"{path}/{name}"))]
            if len(marks) == len(twins.alike):
                groups.setdefault(tuple(marks), []).append(path)
        for members in groups.values():
            differences: dict[str, list[str]] = {}
            for name in twins.attributes if len(members) >= MIN_TWINS else ():
                for path, value, usual in _outliers(host, members, name):
                    differences.setdefault(path, []).append(f"{name} {value} ({usual} on the others)")
            for path, texts in differences.items():
                columns: dict[str, Value] = {
                    "name": path.rpartition("/")[2],
                    "kind": twins.kind,
                    "others": len(members) - 1,
                    "differences": ", ".join(texts),
                    "path": path,
                }
                rows.append(SubjectRow(path.rpartition("/")[2], columns, path))
    return rows


def _outliers(host: Host, paths: list[str], name: str) -> Iterator[tuple[str, str, str]]:
    """Yield each path with its value of the attribute and the value of most others, where nearly all others agree."""
    read = {path: host.read_word(f"{path}/{name}") for path in paths}
    values = {path: value for path, value in read.items() if is_present(value)}
    if len(values) < MIN_TWINS:
        return
    usual, count = Counter(values.values()).most_common(1)[0]
    if count >= max(MIN_SHARE_OF_TWINS * len(values), MIN_TWINS - 1):
        yield from ((path, value, usual) for path, value in values.items() if value != usual)
