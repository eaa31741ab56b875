"""Which scenarios a checkup runs here, in which order, with which options and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from hostdx.probes.engine.disk.refusals import check_suitability
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.topology import DiskTopology, read_disk_topology
from hostdx.probes.types import Absent, Json
from hostdx.scenarios.contract import registry
from hostdx.scenarios.contract.declared_options import COMMON_OPTIONS
from hostdx.scenarios.contract.finding import LOUD, Finding
from hostdx.scenarios.contract.model import OptionMap, RunRefused, Scenario, UsageError
from hostdx.scenarios.contract.plan import Option, Plan
from hostdx.scenarios.experiment.files.directories import default_directories, file_system_key
from hostdx.scenarios.triage.triage import findings_about

TIMES = ("budget", "seconds")  # the options by which a scenario is told how long
MIN_PART_S = 5.0
MIN_ROOM_FACTOR = 2.0  # times as much on average, so that the large ones decide something


class CheckupPart(msgspec.Struct, frozen=True):
    """A scenario of the checkup. `why_not`: it is not run here, for this reason."""

    scenario: Scenario
    plan: Plan | None = None
    why_not: str = ""

    @property
    def id(self) -> str:
        return self.scenario.id

    @property
    def runs_first(self) -> bool:
        return self.scenario.checkup_first

    @property
    def time_weight(self) -> float:
        return self.scenario.checkup_s

    @property
    def overhead_s(self) -> float:
        """Of its time, what is no measuring."""
        if self.plan is None or not self.plan.measuring_s:
            return 0.0
        return max(0.0, self.plan.seconds - self.plan.measuring_s)


def own_and_common_options(scenario: Scenario) -> tuple[Option, ...]:
    own = {option.name for option in scenario.options}
    common = COMMON_OPTIONS if scenario.measures else ()
    return (*scenario.options, *(option for option in common if option.name not in own))


def options_for_part(scenario: Scenario, options: OptionMap, seconds: float) -> dict[str, Json]:
    """Return what the part is told: the directories and the margin of the checkup, and its share of the time."""
    names = {option.name: option for option in own_and_common_options(scenario)}
    part_values: dict[str, Json] = {}
    directories: list[Json] = list(options.as_strings("dir"))
    if directories and "dir" in names:
        part_values["dir"] = directories if names["dir"].multiple else directories[0]
    if "margin" in names and "margin" in options.values:
        part_values["margin"] = options.values["margin"]
    for name in TIMES:
        if name in names:
            part_values[name] = float(round(seconds))
            break
    return part_values


def checkup_parts(host: Host, options: OptionMap) -> tuple[CheckupPart, ...]:
    """Every scenario that takes part in a checkup, the ones that cannot run here with the reason."""
    only = options.as_strings("only")
    with host.read_static_parts_once():
        parts = [_checkup_part(host, options, s) for s in candidate_scenarios() if not only or s.id in only]
    return tuple(sorted(parts, key=_order_key))


def candidate_scenarios() -> Iterable[Scenario]:
    for name in registry.scenario_names():
        try:
            scenario = registry.load_scenario(name)
        except Exception:  # a third party's: triage says what is wrong with it
            continue
        if scenario.checkup_s > 0:
            yield scenario


def sort_by_suspicion(waiting: Sequence[CheckupPart], suspected: Sequence[str]) -> list[CheckupPart]:
    """What triage's findings would have proved comes first, the worst finding's scenario before the others."""
    rank = {name: number for number, name in reversed(list(enumerate(suspected)))}
    return sorted(waiting, key=lambda p: (not p.runs_first, rank.get(p.id, len(rank)), *_order_key(p)))


def seconds_for_each_part(waiting: Sequence[CheckupPart], left_s: float) -> Mapping[str, float]:
    """Seconds of measuring for the parts still to come, out of the time that is left.

    Where that is too little for all of them, the last ones get none.
    """
    able = [part for part in waiting if not part.why_not]
    while able:
        free = left_s - sum(part.overhead_s for part in able)
        total_weight = sum(part.time_weight for part in able)
        seconds_by_part = {part.id: free * part.time_weight / total_weight for part in able}
        if min(seconds_by_part.values()) >= MIN_PART_S:
            return seconds_by_part
        if free >= MIN_ROOM_FACTOR * MIN_PART_S * len(able):  # no small part takes all from a large one
            rest = free - MIN_PART_S * len(able)
            return {part.id: MIN_PART_S + rest * part.time_weight / total_weight for part in able}
        able.pop()
    return {}


def seconds_that_suffice(runnable: Sequence[CheckupPart]) -> float:
    """Return how much time `seconds_for_each_part` must be given so that it shares it among all of these."""
    return sum(part.overhead_s for part in runnable) + MIN_ROOM_FACTOR * MIN_PART_S * len(runnable)


def _order_key(part: CheckupPart) -> tuple[bool, float, str]:
    return (
        not part.runs_first,
        -part.time_weight,
        part.id,
    )  # what needs most time gets what others leave


def _checkup_part(host: Host, options: OptionMap, scenario: Scenario) -> CheckupPart:
    try:
        if why := scenario.blocking_reason(host):
            return CheckupPart(scenario, None, why)
        part_options = OptionMap(
            options_for_part(scenario, options, scenario.checkup_s), own_and_common_options(scenario)
        )
        plan = scenario.prepare(host, part_options).plan.with_digest()
    except (RunRefused, UsageError) as why:
        return CheckupPart(scenario, None, str(why).removeprefix(f"{scenario.id}: "))
    if plan.refusal:
        return CheckupPart(scenario, plan, plan.refusal)
    if plan.needs_consent:
        titles = "; ".join(action.title for action in plan.actions if action.needs_consent)
        return CheckupPart(scenario, plan, f"must be agreed to first: {titles}")
    return CheckupPart(scenario, plan)


MAX_SUSPECTS = 2
NOT_FOR_DATA = ("/boot", "/efi", "/snap", "/run", "/usr", "/proc", "/sys", "/dev")
SUBJECTS = frozenset({"storage"})  # of the rules whose findings name directories


class ChosenDirectories(msgspec.Struct, frozen=True):
    """`suspects` are those of `directories` that findings name; empty where the usual ones are all."""

    directories: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def directories_named_by(finding: Finding) -> tuple[str, ...]:
    """The directories that it names: as its subject, or for the run that would prove it."""
    words = (finding.subject, *finding.subjects, *finding.prove_options)
    return tuple(dict.fromkeys(w for w in words if w[:1] == "/" and not w.startswith(("/proc/", "/sys/"))))


def choose_directories(host: Host, options: OptionMap) -> ChosenDirectories:
    """Nothing where the user named directories, or no finding of storage names one that can be measured."""
    if options.as_strings("dir") or not host.live:
        return ChosenDirectories()
    usual = [d for d in default_directories(host) if not check_suitability(host, d, explicit=False).refusal]
    used_holders = {file_system_key(host, directory) for directory in usual}
    suspects: list[str] = []
    sentences: list[str] = []
    left_out: list[str] = []
    for directory, finding in _suspected_directories(
        read_disk_topology(host), findings_about(host, SUBJECTS)
    ):
        if (there := file_system_key(host, directory)) in used_holders:
            continue
        used_holders.add(there)
        fit = check_suitability(host, directory, explicit=False)
        if fit.refusal or len(suspects) == MAX_SUSPECTS:
            left_out.append(
                fit.refusal or f"{directory}: at most {MAX_SUSPECTS} suspects; measured if it is named"
            )
            continue
        suspects.append(directory)
        sentences.append(f"measures {directory} too, because of a finding of triage: {finding.title}")
    if not suspects:
        return ChosenDirectories(left_out=tuple(left_out))
    return ChosenDirectories((*usual, *suspects), tuple(suspects), tuple(sentences), tuple(left_out))


def _suspected_directories(disks: DiskTopology, findings: Iterable[Finding]) -> Iterator[tuple[str, Finding]]:
    """Every directory of the findings of warning or worse, with the finding that names it or the disk below it."""
    for finding in findings:
        if finding.severity in LOUD:
            devices = [word for word in (finding.subject, *finding.subjects) if word and "/" not in word]
            for directory in (*directories_named_by(finding), *mountpoints_on(disks, devices)):
                yield directory, finding


def mountpoints_on(disks: DiskTopology, devices: Sequence[str]) -> Iterator[str]:
    """Where the file systems are mounted that lie on these devices and hold users' files."""
    for mount in () if isinstance(disks.mounts, Absent) or not devices else disks.mounts:
        if not mount.source.startswith("/dev/") or mount.mountpoint.startswith(NOT_FOR_DATA):
            continue
        visible_mount = disks.mount_of(mount.mountpoint)  # another one may be mounted over it
        tops = (
            visible_mount
            if isinstance(visible_mount, Absent)
            else disks.devices_directly_under(visible_mount)
        )
        if not isinstance(tops, Absent) and not {
            *disks.layers_under(tops),
            *disks.leaves_under(tops),
        }.isdisjoint(devices):
            yield mount.mountpoint
