"""A control group of hostdx's own for a variant: where it can be made, and the limits that it may have."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hostdx.probes.cpu_list import format_cpu_list, parse_cpu_list
from hostdx.probes.engine.command.supervised import TreeSample
from hostdx.probes.number_text import parse_unsigned_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.cgroup import own_group_folders
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import format_cpus, format_size, parse_size
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import Run, UsageError

LIMITS = ("memory.max", "memory.high", "memory.swap.max", "cpu.max", "cpu.weight", "io.max", "pids.max")
PERIOD_US = 100_000  # the kernel's own for cpu.max
_BYTES = re.compile(r"[0-9]{1,18}[KMGT]?|max")
_NUMBER = re.compile(r"[0-9]{1,9}")
_SHARE = re.compile(r"([0-9]{1,6}(?:\.[0-9]+)?)%")
_IO = re.compile(r"(?:rbps|wbps|riops|wiops)=(?:[0-9]{1,15}[KMGT]?|max)")


def parse_limit(name: str, value: str, context: str) -> str:
    """As the kernel takes it. Raises UsageError in one line."""
    if name.startswith("memory.") and _BYTES.fullmatch(value):
        return value
    if name == "cpu.max":
        share = _SHARE.fullmatch(value)
        if value == "max" or (share and float(share[1]) >= 1):
            return value if share is None else f"{round(float(share[1]) / 100 * PERIOD_US)} {PERIOD_US}"
        raise UsageError(f"{context}: cpu.max={value}: percent of one CPU, 1% at least (50%, 150%), or max")
    if name == "cpu.weight" and _NUMBER.fullmatch(value) and 1 <= int(value) <= 10_000:
        return value
    if name == "pids.max" and (value == "max" or _NUMBER.fullmatch(value)):
        return value
    if name == "io.max":
        return _io_max_line(value, context)
    wanted = "1 to 10000" if name == "cpu.weight" else "a number (bytes with K, M, G or T) or max"
    raise UsageError(f"{context}: {name}={value}: {wanted}")


def _io_max_line(value: str, context: str) -> str:
    """`sda,rbps=10M,wiops=100` or with blanks; a kernel that knows no suffix gets plain numbers."""
    device, *rest = value.replace(",", " ").split() or [""]
    if not rest or not all(_IO.fullmatch(word) for word in rest):
        raise UsageError(f"{context}: io.max={value}: write io.max=sda,rbps=10M,wbps=10M,riops=100,wiops=100")
    try:
        if "/" in device:
            raise OSError
        number = Path(f"/sys/block/{device}/dev").read_text(encoding="ascii").strip()
    except OSError:
        raise UsageError(
            f"{context}: io.max={value}: {device} is no whole block device of this host"
        ) from None
    return " ".join((number, *map(_expand_suffix, rest)))


def _expand_suffix(word: str) -> str:
    key, _, value = word.partition("=")
    return f"{key}={parse_size(value) or value}"


def find_group_root(host: Host) -> str | Absent:
    """Where groups can be made: root makes them below the mount of version 2 of control groups, a user below one of
    the own group and those above it that were given to the user (Documentation/admin-guide/cgroup-v2.rst, Delegation),
    the one with the most controllers, the nearest of those.
    """
    own_groups = own_group_folders(host)
    if isinstance(own_groups, Absent):
        return own_groups
    chain = own_groups[""]
    if not chain:
        return Absent("no cgroup2 file system is mounted", "unsupported", "/proc/self/mountinfo")
    root = chain[-1]
    above = (root,) if os.geteuid() == 0 else chain
    own_folders = [
        folder for folder in above if all(os.access(path, os.W_OK) for path in _paths_to_delegate(folder))
    ]
    if not own_folders:
        return Absent(
            "a control group of its own needs root, and cgroup2 mounted writable"
            if os.geteuid() == 0
            else "a control group of its own needs root or a delegated group: start hostdx by "
            "`systemd-run --user --scope` where systemd runs",
            "permission",
            root,
        )
    return max(own_folders, key=lambda folder: len(_enabled_controllers(host, folder)))


def _paths_to_delegate(folder: str) -> tuple[str, ...]:
    return folder, f"{folder}/cgroup.procs"


def _enabled_controllers(host: Host, folder: str) -> list[str]:
    """The controllers that groups below it have."""
    text = host.read_file_text(f"{folder}/cgroup.subtree_control")
    return text.split() if isinstance(text, str) else []


class InheritedLimits(msgspec.Struct, frozen=True):
    """Limits as the kernel takes them, by file, that hold for hostdx's own `group` and not for the groups beside it."""

    group: str = ""
    limits: Mapping[str, str] = {}

    @property
    def limits_sentence(self) -> str:
        limit_texts = [f"{name} {self._format_limit(name, value)}" for name, value in self.limits.items()]
        return (
            f"each variant's control group has the limits of hostdx's own ({self.group}), unless the variant sets "
            f"another: {', '.join(limit_texts)}"
        )

    def _format_limit(self, name: str, value: str) -> str:
        if name == "cpu.max":
            quota, period = map(int, value.split())
            return format_cpus(quota / period)
        return format_size(int(value)) if name.startswith("memory.") else value


def limits_to_carry_over(host: Host, root: str | Absent) -> InheritedLimits:
    """The tightest of hostdx's own group and those above it, as far as a group made in `root` would escape them: a
    variant "as it is" runs as the caller's own command would. The controllers are enabled there: a group has only
    those that the ones above it have (cgroup-v2.rst, Top-down Constraint).
    """
    own_groups = own_group_folders(host)
    if isinstance(root, Absent) or isinstance(own_groups, Absent):
        return InheritedLimits()
    below = f"{root.rstrip('/')}/"
    chain = own_groups[""]
    escaped = tuple(folder for folder in chain if folder.startswith(below))
    limits: dict[str, str] = {}
    if quotas := [pair for folder in escaped if (pair := _quota_and_period(host, folder))]:
        tightest = min(quotas, key=lambda pair: pair[0] / pair[1])
        limits["cpu.max"] = f"{tightest[0]} {tightest[1]}"
    for name in ("memory.max", "memory.high"):
        if sizes := [n for folder in escaped if isinstance(n := host.read_integer(f"{folder}/{name}"), int)]:
            limits[name] = str(min(sizes))
    for name in ("cpuset.cpus", "cpuset.mems"):
        cpu_lists = [
            parse_cpu_list(_read_text_or_empty(host, f"{folder}/{name}.effective"))
            for folder in (*escaped, root)
        ]
        mine, all_of_them = next((cpus for cpus in cpu_lists[:-1] if cpus), None), cpu_lists[-1]
        if mine and mine != all_of_them:
            limits[name] = format_cpu_list(mine)
    return InheritedLimits(escaped[0].removeprefix(chain[-1].rstrip("/")) if escaped else "", limits)


def _quota_and_period(host: Host, folder: str) -> tuple[int, int] | None:
    pair = parse_unsigned_list(_read_text_or_empty(host, f"{folder}/cpu.max").split())
    return (pair[0], pair[1]) if pair is not None and len(pair) == 2 and pair[1] else None


def _read_text_or_empty(host: Host, path: str) -> str:
    text = host.read_file_text(path)
    return text if isinstance(text, str) else ""


def limits_problem(host: Host, root: str | Absent, limits: Mapping[str, str]) -> str:
    """Return why the limits cannot be set, in one line; empty where they can."""
    if not limits:
        return ""
    if isinstance(root, Absent):
        return f"{next(iter(limits))}: {root.reason}"
    enabled = _enabled_controllers(host, root)
    for name in limits:
        controller = name.partition(".")[0]
        if controller not in enabled:
            busy = is_present(host.read_file_text(f"{root}/cgroup.type")) and host.read_file_text(
                f"{root}/cgroup.procs"
            )
            return (
                f"{name}: the controller {controller} is not enabled for the groups below {root}: "
                f"`echo +{controller} > {root}/cgroup.subtree_control` enables it where version 2 has it"
                + (", once its own processes are in a group below it" if busy else "")
            )
    return ""


def group_action(variant: str, root: str, limits: Mapping[str, str]) -> Action:
    """Made, with its limits, before the variant's first run; removed with all that is left in it."""
    with_limits = ", ".join(f"{name}={value}" for name, value in limits.items())
    return Action(
        kind="resource",
        resource="cgroup",
        title=f"control group for {variant}{f' with {with_limits}' if with_limits else ''}",
        target=f"{root.rstrip('/')}/hostdx-*",
        risk="none: it holds the command's own processes, and is removed when the run ends",
        rights="" if os.geteuid() else "root",
        parameters=dict(limits),
    )


MAX_SAMPLES = 20_000  # of all variants together: 3 MB


class SampleCurves:
    """Shared by the variants of a run of hostdx."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._sample_count = 0

    def record_sample(self, variant: str, number: int, sample: TreeSample) -> None:
        """Of the variant's run with that number."""
        self._sample_count += 1
        if self._sample_count > MAX_SAMPLES:
            if self._sample_count == MAX_SAMPLES + 1:
                self.run.emit_note(f"samples inside the runs end here: {MAX_SAMPLES} are recorded")
            return
        values = {
            "PSS": sample.pss_bytes,
            "CPU": sample.cpu_s,
            "processes": sample.processes,
            "threads": sample.threads,
            "read": sample.read_bytes,
            "written": sample.written_bytes,
            "temperature": sample.celsius,
            "frequency": sample.hertz,
        }
        known_values = {name: value for name, value in values.items() if value is not None}
        self.run.emit(
            ev.ProcessTreeSample(
                t=self.run.elapsed_s(), variant=variant, run=number, at_s=sample.at_s, values=known_values
            )
        )


JSON = "json:"


class ScoreReader:
    """`read_file_text` is a pattern whose first group is the number (the last match counts), or `json:a.b.0`."""

    def __init__(self, text: str) -> None:
        self._path = text[len(JSON) :].split(".") if text.startswith(JSON) else []
        self._pattern: re.Pattern[str] | None = None
        if text.startswith(JSON):
            if not all(self._path):
                raise UsageError(f"--score {text}: write json:name.name")
            return
        try:
            self._pattern = re.compile(text, re.MULTILINE)
        except re.error as error:
            raise UsageError(f"--score {text!r}: no regular expression: {error}") from None
        if self._pattern.groups != 1:
            raise UsageError(f"--score {text!r}: needs one group in (), around the number")

    def find(self, output: str) -> float | None:
        """A finite number above 0, or None."""
        try:
            value = float(self._number_at_path(output) if self._pattern is None else self._last_match(output))
        except (ValueError, TypeError, KeyError, IndexError, OverflowError, RecursionError):
            return None
        return value if math.isfinite(value) and value > 0 else None

    def _last_match(self, output: str) -> str:
        assert self._pattern is not None
        return list(self._pattern.finditer(output))[-1][1]

    def _number_at_path(self, output: str) -> float:
        value = json.loads(output)
        for name in self._path:
            value = value[int(name)] if isinstance(value, list) else value[name]
        if isinstance(value, bool):
            raise ValueError("no number")
        return float(value)
