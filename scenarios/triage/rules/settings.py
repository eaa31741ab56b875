"""A remedy's settings as data: `set` names sysctls and sysfs files, from which its commands and their undo are made.

The undo is what was read on this host, for every setting that the commands touch.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.read import bracketed_word_or_text
from hostdx.scenarios.triage.rules.subjects.settings import settings_of_files, settings_of_tuned

# Setting one of a pair sets the other to 0, and 0 itself is refused (mm/page-writeback.c, dirty_bytes_handler).
_INSTEAD = {
    "vm.dirty_bytes": "vm.dirty_ratio",
    "vm.dirty_background_bytes": "vm.dirty_background_ratio",
    "vm.dirty_ratio": "vm.dirty_bytes",
    "vm.dirty_background_ratio": "vm.dirty_background_bytes",
}


class SettingCommands(msgspec.Struct, frozen=True):
    commands: tuple[str, ...]
    persistent: tuple[str, ...]
    verify: tuple[str, ...]
    undo: tuple[str, ...]


def commands_to_change_settings(host: Host, wanted: Mapping[str, str], name: str) -> SettingCommands:
    """`wanted`: by sysctl (`vm.swappiness`) or path (`/sys/...`, with `*` for several); `name`: of the file to keep.

    What has its value already, and what this host does not have, is left out.
    """
    wanted = settings_to_change(host, wanted)
    sysctls = {key: value for key, value in wanted.items() if not key.startswith("/")}
    commands = [_sysctl_command(sysctls.items())] if sysctls else []
    undo = [_sysctl_command(old)] if (old := list(_sysctls_to_put_back(host, sysctls))) else []
    files: dict[str, list[str]] = {}
    for path, value in wanted.items():
        if path.startswith("/"):
            files.setdefault(value, []).append(path)
    for value, paths in files.items():
        commands.append(_echo_command(value, paths))
        undo += _put_back_commands(host, paths)
    keep = f"/etc/sysctl.d/90-hostdx-{name}.conf"
    quoted_settings = " ".join(shlex.quote(f"{key} = {value}") for key, value in sysctls.items())
    verify = [f"sysctl {shlex.join(sysctls)}"] if sysctls else []
    for paths in files.values():
        verb = "grep ." if len(paths) > 1 or "*" in paths[0] else "cat"
        verify.append(f"{verb} {' '.join(map(_quote_pattern, paths))}")
    return SettingCommands(
        tuple(commands),
        (f"printf '%s\\n' {quoted_settings} > {keep}", *_lines_of_overriding_files(host, sysctls, keep))
        if sysctls
        else (),
        tuple(verify),
        (*undo, f"rm -f {keep}") if sysctls else tuple(undo),
    )


def _lines_of_overriding_files(host: Host, sysctls: Mapping[str, str], keep: str) -> Iterator[str]:
    """Yield what sets another value after `keep` at the next boot (sysctl.d(5), tuned.conf(5))."""
    files = host.compute_once(settings_of_files)
    asked = (files if is_present(files) else {}) | host.compute_once(settings_of_tuned)
    for key, wanted in sysctls.items():
        value, path = asked.get(key, (wanted, ""))
        name = path.rpartition("/")[2]
        is_later = "sysctl.d/" not in path or name > keep.rpartition("/")[2]
        if value.split() != wanted.split() and is_later:
            yield f"# {path} sets {key} to {value} at each boot: change it there, too"


def settings_to_change(host: Host, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return those that do not have their value yet."""
    return {key: value for key, value in wanted.items() if _needs_change(host, key, value)}


def _needs_change(host: Host, key: str, value: str) -> bool:
    """False where the setting has this value, or is not there: it could neither be made nor be taken back."""
    paths = _matching_paths(host, key) if key.startswith("/") else ("/proc/sys/" + key.replace(".", "/"),)
    texts = [host.read_file_text(path, 4096) for path in paths]
    return any(
        text.kind == "permission"
        if isinstance(text, Absent)
        else bracketed_word_or_text(text).split() != value.split()
        for text in texts
    )


def _matching_paths(host: Host, path: str) -> tuple[str, ...]:
    return host.glob_paths(path) if "*" in path else (path,)


def _sysctl_command(pairs: Iterable[tuple[str, str]]) -> str:
    return "sysctl -w " + " ".join(shlex.quote(f"{key}={value}") for key, value in pairs)


def _sysctls_to_put_back(host: Host, sysctls: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what each sysctl was, or what stood in its place; a value that cannot be read has no undo."""
    for key in sysctls:
        old = _sysctl_or_empty(host, key)
        other = _INSTEAD.get(key, "")
        if old == "0" and other:
            key, old = other, _sysctl_or_empty(host, other)
        if old:
            yield key, old


def _sysctl_or_empty(host: Host, sysctl: str) -> str:
    text = host.read_file_text("/proc/sys/" + sysctl.replace(".", "/"), 4096)
    return " ".join(text.split()) if is_present(text) else ""


def _put_back_commands(host: Host, paths: Sequence[str]) -> Iterator[str]:
    """One line, and one more for each value that differs from the usual one."""
    places = [place for path in paths for place in _matching_paths(host, path)]
    were = {
        place: bracketed_word_or_text(text)
        for place in places
        if is_present(text := host.read_file_text(place, 4096))
    }
    for number, (value, _) in enumerate(Counter(were.values()).most_common()):
        own = [place for place, old in were.items() if old == value]
        yield _echo_command(value, paths if not number and len(were) == len(places) else own)


def _echo_command(value: str, paths: Sequence[str]) -> str:
    several = len(paths) > 1 or "*" in paths[0]
    return f"echo {shlex.quote(value)} {'| tee' if several else '>'} {' '.join(map(_quote_pattern, paths))}"


def _quote_pattern(path: str) -> str:
    """Quoted, but for the stars of a pattern."""
    return "*".join(shlex.quote(part) if part else "" for part in path.split("*"))
