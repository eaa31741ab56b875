"""What disturbed a measurement, as fields. Its sentences are made here, and nothing takes them apart again."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract.ranges import Count, Value

_BRIEF = {
    "cpu": "other processes used the CPUs",
    "steal": "the hypervisor took CPU time",
    "device": "I/O of other programs on the measured disk",
    "frequency": "the CPU clock fell",
    "heat": "the processor throttled itself because of heat",
    "quota": "the CPU quota of this control group throttled hostdx",
    "pressure": "tasks waited for I/O",
    "memory": "tasks waited for memory",
    "queue": "other tasks were waiting for a CPU",
    "bystanders": "I/O of other programs waits long, without our load as well",
    "stall": "no operation finished in a block",
    "not applicable": "not applicable",
}


class InterferenceCulprit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process, with what it used (`format_rate` in `unit`); or, without a name, why nobody is named on `devices`.

    The name comes from the host: it is data, never markup.
    """

    name: str = ""
    pid: Count | None = None
    rate: Value | None = None
    unit: Literal["", "CPUs", "B/s"] = ""
    devices: tuple[str, ...] = ()
    unnamed: Literal["", "another user's", "unreadable", "contained", "brief", "ended"] = ""

    @property
    def label(self) -> str:
        if self.name:
            return self.name if self.pid is None else f"{self.name} [{self.pid}]"
        on_devices = f" on {', '.join(self.devices)}" if self.devices else ""
        match self.unnamed:
            case "another user's":
                return f"another user's process{on_devices} (run as root to name it)"
            case "unreadable":
                return f"a process{on_devices} whose I/O cannot be read"
            case "contained":
                return f"a process{on_devices} whose I/O cannot be read in this container (a PID namespace of its own)"
            case "brief":
                return f"a process{on_devices} that was not seen long enough to be named"
            case _:
                return f"seen{on_devices} only, no process readable did it (it ended, or this container hides it)"

    @property
    def culprit_sentence(self) -> str:
        if self.rate is None:
            return self.label
        return (
            f"{self.label}, {units.format_rate(self.rate) if self.unit == 'B/s' else f'{self.rate:.1f} CPUs'}"
        )


class Disturbance(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event or condition that disturbed a measurement.

    kind: the guard that noticed it ("cpu", "steal", "device", ...), or what happened in the experiment itself: "stall",
    "not applicable", "budget", "stopped" (the last three with their own `text`).
    figure: in `unit`; "" is a share 0..1, "B" bytes of others beside ours, "B/s" and "IOPS" others' rates, "Hz". For
    "queue" it is a number of tasks. `usual` is the usual value.
    subject: the variant or device that it is about.
    """

    kind: str
    culprit: InterferenceCulprit | None = None
    figure: Value | None = None
    usual: Value | None = None
    unit: Literal["", "B", "B/s", "IOPS", "Hz"] = ""
    subject: str = ""
    text: str = ""

    @property
    def brief_text(self) -> str:
        """Return what happened, without figure and culprit. Disturbances are counted by this text."""
        return self._with_subject(_BRIEF.get(self.kind, self.text or self.kind))

    @property
    def full_sentence(self) -> str:
        text = self._with_subject(self._figure_sentence() or _BRIEF.get(self.kind, self.kind))
        text = f"{text}: {self.text}" if self.text and self.kind in _BRIEF else self.text or text
        return f"{text}: {self.culprit.culprit_sentence}" if self.culprit else text

    def _with_subject(self, text: str) -> str:
        return f"{self.subject}: {text}" if self.subject else text

    def _figure_sentence(self) -> str:
        if self.figure is None:
            return ""
        usually = "" if self.usual is None else f" (usually {self._format_amount(self.usual)})"
        amount = self._format_amount(self.figure)
        match self.kind, self.unit:
            case "cpu", _:
                return f"other processes used {amount} of the CPUs{usually}"
            case "steal", _:
                return f"the hypervisor took {amount} of the CPU time{usually}"
            case "device", "B":
                own = self._format_amount(self.usual or 0.0)
                return f"other programs moved {amount} on the measured disk, hostdx {own}"
            case "device", "B/s":
                return f"other programs moved {amount} on the measured disk{usually}"
            case "device", "IOPS":
                return f"other programs did {self.figure:.0f} small operations a second on the measured disk"
            case "queue", _:
                return f"{self.figure:.0f} other tasks were waiting for a CPU"
            case "memory", _:
                return f"tasks waited for memory for {amount} of the time"
            case "device", _ if self.subject:
                return f"busy for {amount} of the time"
            case "device", _:
                return f"I/O of other programs on the measured disk was {amount} of its usual traffic"
            case "frequency", _:
                return f"the CPU clock fell to {amount}{usually}"
            case "quota", _:
                return f"the CPU quota of this control group throttled hostdx for {amount} of the time"
            case "pressure", _:
                return f"tasks waited for I/O for {amount} of the time"
        return ""

    def _format_amount(self, value: float) -> str:
        match self.unit:
            case "B":
                return units.format_capacity(value)
            case "B/s":
                return units.format_rate(value)
            case "Hz":
                return units.format_frequency(value)
        return units.format_percent(value)


def most_frequent_cause(disturbances: Sequence[Disturbance]) -> str:
    """Return what disturbed most often, in a few words without figures: "I/O of other programs on the measured disk:
    rsync [77]".

    Disturbances are counted by process name or device, else by what happened. Of equal ones the first is returned.
    """
    if not disturbances:
        return ""
    counted = Counter(_kind_and_cause(disturbance) for disturbance in disturbances)
    key = counted.most_common(1)[0][0]
    matching = [disturbance for disturbance in disturbances if _kind_and_cause(disturbance) == key]
    cause = Counter(disturbance.brief_text for disturbance in matching).most_common(1)[0][0]
    culprit_name = most_frequent_culprit(
        [disturbance.culprit for disturbance in matching if disturbance.culprit is not None]
    )
    return f"{cause}: {culprit_name}" if culprit_name else cause


def broken_off_reason(disturbances: Sequence[Disturbance], total: int, unit_name: str) -> str:
    """Return why a run was broken off. `unit_name`: "groups"."""
    return f"{len(disturbances)} of {total} {unit_name} were disturbed, most often: {most_frequent_cause(disturbances)}"


def _kind_and_cause(disturbance: Disturbance) -> tuple[str, str]:
    if disturbance.culprit is None:
        return "what", disturbance.brief_text
    return (
        ("who", disturbance.culprit.name)
        if disturbance.culprit.name
        else ("where", disturbance.culprit.label)
    )


def most_frequent_culprit(culprits: Sequence[InterferenceCulprit]) -> str:
    """Return the name that was given most often, with the process id where it was always the same; "" without any."""
    matching = _culprits_named_most(culprits)
    if not matching:
        return ""
    pids = {culprit.pid for culprit in matching}
    return matching[0].label if len(pids) == 1 else f"{matching[0].name} ({len(pids)} processes)"


def pid_of_most_named_culprit(culprits: Sequence[InterferenceCulprit]) -> int | None:
    """Return the process id of the name that was given most often; None where several processes have that name."""
    pids = {culprit.pid for culprit in _culprits_named_most(culprits)}
    return pids.pop() if len(pids) == 1 else None


def _culprits_named_most(culprits: Sequence[InterferenceCulprit]) -> list[InterferenceCulprit]:
    names = Counter(culprit.name or culprit.label for culprit in culprits)
    name = max(names, key=lambda name: names[name], default="")
    return [culprit for culprit in culprits if (culprit.name or culprit.label) == name]
