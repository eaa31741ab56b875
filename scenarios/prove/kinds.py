"""Settings that may be switched for a proof: the allow-list of kinds, and what one request of them means here.

A setting that no kind of `kinds.toml` describes is refused. A kind whose switch loses what waits (`loses`) is refused
on a card that carries other connections, unless a person allows that by its own option.

What is never switched, whatever its kind: the card of an SSH line, the scheduler of a system disk.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
from msgspec.structs import replace

from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system import setting_calls
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import UsageError
from hostdx.scenarios.experiment.guards.system_disks import system_uses_by_leaf
from hostdx.scenarios.experiment.schedule.host_settings import read_setting, setting_change
from hostdx.scenarios.experiment.schedule.switch import attribute_change
from hostdx.scenarios.prove.reserved_cards import NETWORK, describe_users_of_card, reserved_cards


def leave_alone_reason(host: Host, kind: str, scope: str, path: str) -> str:
    """Return why the setting is left alone, in one line; "" where it may be switched."""
    if kind in CARD_KINDS:
        if not host.path_exists(f"{NETWORK}/{scope}"):  # an alternative name would hide whose card it is
            return f"{scope} is no network card of this host by its own name (`ls {NETWORK}`)"
        if scope == "lo":
            return "lo carries the host's own services; hostdx never switches a setting of that card"
        if scope in (reserved := reserved_cards(host)):
            return f"{scope} carries {reserved[scope]}; hostdx never switches a setting of that card"
    elif path.endswith("/queue/scheduler") and (role := system_uses_by_leaf(host).get(scope)):
        return (
            f"{scope} carries {role}: if the switch hung, the whole system would hang; "
            "`hostdx run iosched --system-disk` compares its schedulers with more care"
        )
    return ""


MAX_FILES = 1024  # of one setting: the CPUs of a large host
FORM = (
    "write KIND:SCOPE/NAME=VALUE: block:sdb/read_ahead_kb=4096, sysctl:vm.swappiness=10, ring:eth2/rx=4096, "
    "qdisc:eth2=fq, nice:4711=5, mount:/data=noatime, or the whole path: sysfs:/sys/…=VALUE"
)
MAY_LOSE = "may-lose-packets"  # the option that allows what `loses` says
# The kernel sets the other one of a pair to 0 and takes no 0 back: so such a change could not be undone.
# A queue's file that another one sets along (measured on Linux 6.18: block/blk-settings.c, block/mq-deadline.c).
_SETS_ALONG = {"nr_requests": "iosched/*", "max_sectors_kb": "read_ahead_kb"}
_ONLY_LARGER = ("netdev_max_backlog", "tx_queue_len")  # a smaller value drops the packets beyond it
_NO_ZERO = ("dirty_bytes", "dirty_background_bytes", "dirty_ratio", "dirty_background_ratio")


class SettingKind(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of `kinds.toml`. `settle_s`: seconds to wait after a switch before anything is measured; `nested`: a
    setting's name may have slashes, and what it acts on has none; `values`: what its value must match as a whole,
    and `values_are`: the same in words. `is_of_card`: it acts on a network card, and so never on one that carries an
    SSH line.

    A `path` that does not begin with a slash is no file: `hostdx.probes.system.setting_calls` reads and sets it.
    `command`: what a person types to set it; `undo`: to take it back, where that is another command. `loses`: what a
    switch may lose; "" for nothing.
    """

    name: str
    short: str
    path: str
    scope: str
    risk: str
    settle_s: float
    keep: str = ""
    keep_in: str = ""
    nested: bool = False
    is_of_card: bool = False
    values: str = ""
    values_are: str = ""
    command: str = ""
    undo: str = ""
    loses: str = ""

    def keeping_command(self, fields: Mapping[str, str]) -> str:
        """Return the command that keeps a setting over a reboot; "" where it depends on who makes its object."""
        line = self.keep.format(**fields)
        return (
            f"printf '%s\\n' {shlex.quote(line)} > {self.keep_in.format(**fields)}" if self.keep_in else line
        )


KINDS = read_shipped_toml(__file__, "kinds.toml", dict[str, tuple[SettingKind, ...]])["kind"]
KIND_NAMES = frozenset(kind.name for kind in KINDS)
CARD_KINDS = frozenset(kind.name for kind in KINDS if kind.is_of_card)


class ProvableSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting with today's value and the other one. `label`: its request without the value; `name`: its file's.

    `actions`: one for each file, none where the setting is a dummy that changes nothing.
    """

    label: str
    name: str
    kind: str
    old: str
    new: str
    scope: str
    risk: str
    settle_s: float
    persistent: str
    commands: tuple[str, ...] = ()  # of a setting that is no file: what sets it
    undo: tuple[str, ...] = ()  # what takes these and `persistent` back
    actions: tuple[Action, ...]
    disk: str = ""  # the block device or the file system's number that it acts on
    loses: str = ""  # what a switch may lose


def parse_setting(host: Host, text: str, *, may_lose: bool = False) -> ProvableSetting:
    """Return what `KIND:NAME=VALUE` means on this host. Raises UsageError in one line.

    may_lose: a person allows that a switch loses what waits on a card with other connections.
    """
    key, equals, value = text.partition("=")
    label, value = key.strip(), " ".join(value.split())
    if not equals or not value:
        raise UsageError(f"setting {text!r}: {FORM}")
    pattern = _path_of_label(label)
    kind, scope = _allowed_kind_and_scope(pattern, text)
    if kind.values and not re.fullmatch(kind.values, value):
        raise UsageError(f"setting {text}: the value must be {kind.values_are}")
    paths = sorted(map(str, Path("/").glob(pattern.lstrip("/")))) if "*" in pattern else [pattern]
    if not paths:
        raise UsageError(f"setting {text}: no file matches {pattern}")
    if len(paths) > MAX_FILES:
        raise UsageError(f"setting {text}: {len(paths)} files match {pattern}, more than {MAX_FILES}")
    if reserved := leave_alone_reason(host, kind.name, scope, pattern):
        raise UsageError(f"setting {text}: {reserved}")
    if kind.loses and not may_lose and (traffic := describe_users_of_card(host, scope)):
        raise UsageError(
            f"setting {text}: {scope} carries {traffic}, and each switch may lose {kind.loses}; --{MAY_LOSE} allows it"
        )
    changes = [_change_of_file_or_call(path, value, kind) for path in paths]
    actions = [action for action in changes if " ".join((action.old or "").split()) != value]
    if not actions:
        raise UsageError(f"setting {text}: it has this value already; name another one")
    name = pattern.rpartition("/")[2]
    if kind.name == "sysctl":
        name = pattern.removeprefix("/proc/sys/").replace("/", ".")
    fields = {"path": pattern, "name": name, "scope": scope, "value": value}
    fields["file"] = re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-")
    typed = fields | {"scope": shlex.quote(scope)}
    undo = [(kind.undo or kind.command).format(**typed | {"value": actions[0].old})]
    if kind.keep_in:
        undo.append(f"rm -f {kind.keep_in.format(**fields)}")
    return ProvableSetting(
        label=label,
        name=name if pattern.startswith("/") else pattern,
        kind=kind.name,
        old=", ".join(dict.fromkeys(" ".join((action.old or "").split()) for action in actions)),
        new=value,
        scope=kind.scope.format(**fields),
        risk=actions[0].risk,
        settle_s=kind.settle_s,
        persistent=kind.keeping_command(fields),
        commands=tuple(filter(None, (kind.command.format(**typed),))),
        undo=tuple(filter(None, undo)),
        actions=tuple(actions),
        disk=scope if kind.name in ("block", "bdi") else "",
        loses=kind.loses,
    )


def _path_of_label(label: str) -> str:
    """Return the path of the file, perhaps with stars. Raises UsageError."""
    name, _, rest = label.partition(":")
    if label.startswith("/"):
        return label
    if name == "sysfs" and rest.startswith("/"):
        return rest
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None or not rest:
        raise UsageError(f"setting {label}: {FORM}; kinds: sysfs, {', '.join(kind.name for kind in KINDS)}")
    if kind.name == "mount" and not rest.startswith("/"):
        raise UsageError(
            f"setting {label}: write the whole path of the place where it is mounted, as mount:/data=noatime"
        )
    if kind.name == "sysctl":
        return kind.short.format(name=rest.replace(".", "/"))
    scope, _, attribute = rest.partition("/") if kind.nested else rest.rpartition("/")
    return kind.short.format(scope=scope, name=attribute)


def _allowed_kind_and_scope(path: str, text: str) -> tuple[SettingKind, str]:
    """Return the kind that allows the file, and what the file acts on. Raises UsageError."""
    parts = path.split("/")
    for kind in KINDS:
        match = re.fullmatch(kind.path, path)
        if match is not None and ".." not in parts and "." not in parts:
            return kind, match.groupdict().get("scope") or ""
    raise UsageError(
        f"setting {text}: hostdx does not switch {path}: it is on none of the lists of settings that can be "
        "switched and put back while the host runs; measure before and after the change instead: "
        "`hostdx baseline save before`, change it (reboot where needed), `hostdx compare --against before last`"
    )


def _change_of_file_or_call(path: str, value: str, kind: SettingKind) -> Action:
    """Return the change of one file, with what the kernel resets along. Raises UsageError."""
    if not path.startswith("/"):
        return _change_by_call(path, value, kind)
    if path.endswith("/queue/scheduler"):
        action = setting_change(f"scheduler:{path.split('/')[3]}", value, "setting")
        return replace(action, risk=f"{kind.risk}; {action.risk}")
    key = f"sysctl:/{path.removeprefix('/proc/sys/')}" if path.startswith("/proc/") else f"sysfs:{path}"
    action = setting_change(key, value, "setting")
    name = path.rpartition("/")[2]
    if name in _NO_ZERO and action.old == "0":
        other = name.replace("bytes", "ratio") if "bytes" in name else name.replace("ratio", "bytes")
        raise UsageError(f"setting {path}: it is 0, which the kernel does not take back; name vm.{other}")
    if name in _ONLY_LARGER and (parse_unsigned(value) or 0) < (parse_unsigned(action.old or "") or 0):
        raise UsageError(
            f"setting {path}: a smaller value than {action.old} drops packets; name a larger one"
        )
    way_back = "; the way back drops packets beyond the old value" if name in _ONLY_LARGER else ""
    return replace(action, risk=kind.risk + way_back, side_paths=action.side_paths or _paths_set_along(path))


def _change_by_call(label: str, value: str, kind: SettingKind) -> Action:
    """Return the change of a setting that is no file. Raises UsageError."""
    try:
        target = setting_calls.target_with_process_start(label)
        own = setting_calls.read_by_call(target)
    except OSError as error:
        raise UsageError(f"setting {label}: it cannot be read: {error.strerror}") from None
    if "," in own:
        raise UsageError(f"setting {label}: its threads have different values: {own}")
    if kind.name == "qdisc" and own != setting_calls.DEFAULT_DISCIPLINE:
        raise UsageError(
            f"setting {label}: {own} was set by a person or a program, or before net.core.default_qdisc "
            "changed; it could not be put back as it is"
        )
    action = attribute_change(target, own, value, risk=kind.risk)
    return replace(action, side_paths=_settings_changed_along(label, kind))


def _settings_changed_along(label: str, kind: SettingKind) -> tuple[str, ...]:
    """Return what the driver changes along while it is adaptive. Raises UsageError for what it chooses itself now."""
    card, _, name = label.partition(":")[2].partition("/")
    direction = name.partition("-")[0]
    if kind.name == "coalesce" and read_setting(f"adaptive:{card}/{direction}") == "on":
        raise UsageError(
            f"setting {label}: the driver chooses it itself, as adaptive-{direction} is on; try "
            f"adaptive:{card}/{direction}=off"
        )
    units = ("usecs", "frames") if kind.name == "adaptive" else ()
    return tuple(f"coalesce:{card}/{direction}-{unit}" for unit in units)


def _paths_set_along(path: str) -> tuple[str, ...]:
    """Return the files that a write to `path` sets along: saved before, put back after."""
    folder, _, name = path.rpartition("/")
    return (f"{folder}/{_SETS_ALONG[name]}",) if folder.endswith("/queue") and name in _SETS_ALONG else ()


def parse_settings(
    host: Host, texts: Sequence[str], *, may_lose: bool = False
) -> tuple[ProvableSetting, ...]:
    """Return the settings in their order. Raises UsageError, also where two of them are the same file."""
    settings = tuple(parse_setting(host, text, may_lose=may_lose) for text in texts)
    owners: dict[str, str] = {}
    for setting in settings:
        for action in setting.actions:
            if owners.setdefault(action.target, setting.label) != setting.label:
                raise UsageError(f"setting {setting.label}: {action.target} is named twice")
    for action in (action for setting in settings for action in setting.actions):
        for pattern in action.side_paths:
            if other := next((path for path in owners if fnmatchcase(path, pattern)), None):
                raise UsageError(
                    f"setting {owners[action.target]}: the kernel sets {other} along with it; try {owners[other]} in "
                    "another run"
                )
    if len({setting.label for setting in settings}) != len(settings):
        raise UsageError("a setting is named twice")
    return settings
