"""What disturbed a measurement, as fields. Its sentences are made here, and nothing takes them apart again."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from probes import units
from scenarios.ranges import Count, Value

_BRIEF = {
    "cpu": "other processes used the CPUs",
    "steal": "the hypervisor took CPU time",
    "device": "others' I/O on the measured disk",
    "frequency": "the CPU clock fell",
    "heat": "the processor throttled itself because of heat",
    "quota": "the CPU quota of this control group throttled hostdx",
    "pressure": "tasks waited for I/O",
    "memory": "tasks waited for memory",
    "queue": "tasks of others were ready to run",
    "bystanders": "others' I/O waits long, without our load as well",
    "stall": "no operation finished in a block",
    "not applicable": "not applicable",
}


class Culprit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process, with what it used (`rate` in `unit`); or, without a name, why nobody is named on `devices`.

    The name comes from the host: data, never markup.
    """

    name: str = ""
    pid: Count | None = None
    rate: Value | None = None
    unit: Literal["", "CPUs", "B/s"] = ""
    devices: tuple[str, ...] = ()
    unnamed: Literal["", "another user's", "unreadable", "contained", "ended"] = ""

    @property
    def label(self) -> str:
        if self.name:
            return self.name if self.pid is None else f"{self.name} [{self.pid}]"
        where = f" on {', '.join(self.devices)}" if self.devices else ""
        match self.unnamed:
            case "another user's":
                return f"another user's process{where} (run as root to name it)"
            case "unreadable":
                return f"a process{where} whose I/O cannot be read"
            case "contained":
                return f"a process{where} whose I/O cannot be read in this container (a PID namespace of its own)"
            case _:
                return f"seen{where} only, no process readable did it (it ended, or this container hides it)"

    @property
    def sentence(self) -> str:
        if self.rate is None:
            return self.label
        return f"{self.label}, {units.rate(self.rate) if self.unit == 'B/s' else f'{self.rate:.1f} CPUs'}"


class Disturbance(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that disturbed.

    kind     the guard that noticed it ("cpu", "steal", "device", ...), or what happened in the experiment itself:
             "stall", "not applicable", "budget", "stopped" (the last three with their own `text`).
    figure   of `unit`: "" is a share 0..1, else "B" (others' bytes beside ours), "B/s" and "IOPS" (others'), "Hz"; of
             "queue" a number of tasks. `usual` is what it is else.
    subject  the variant or device that it is about.
    """

    kind: str
    culprit: Culprit | None = None
    figure: Value | None = None
    usual: Value | None = None
    unit: Literal["", "B", "B/s", "IOPS", "Hz"] = ""
    subject: str = ""
    text: str = ""

    @property
    def brief(self) -> str:
        """What happened, without figure and culprit: disturbances are counted by it."""
        return self._about(_BRIEF.get(self.kind, self.text or self.kind))

    @property
    def sentence(self) -> str:
        said = self._about(self._figured() or _BRIEF.get(self.kind, self.kind))
        said = f"{said}: {self.text}" if self.text and self.kind in _BRIEF else self.text or said
        return f"{said}: {self.culprit.sentence}" if self.culprit else said

    def _about(self, said: str) -> str:
        return f"{self.subject}: {said}" if self.subject else said

    def _figured(self) -> str:
        if self.figure is None:
            return ""
        usually = "" if self.usual is None else f" (usually {self._amount(self.usual)})"
        amount = self._amount(self.figure)
        match self.kind, self.unit:
            case "cpu", _:
                return f"other processes used {amount} of the CPUs{usually}"
            case "steal", _:
                return f"the hypervisor took {amount} of the CPU time{usually}"
            case "device", "B":
                return f"others moved {amount} on the measured disk, hostdx {self._amount(self.usual or 0.0)}"
            case "device", "B/s":
                return f"others moved {amount} on the measured disk{usually}"
            case "device", "IOPS":
                return f"others did {self.figure:.0f} small operations a second on the measured disk"
            case "queue", _:
                return f"{self.figure:.0f} tasks of others were ready to run"
            case "memory", _:
                return f"tasks waited for memory for {amount} of the time"
            case "device", _ if self.subject:
                return f"busy for {amount} of the time"
            case "device", _:
                return f"others' I/O on the measured disk was {amount} of its usual traffic"
            case "frequency", _:
                return f"the CPU clock fell to {amount}{usually}"
            case "quota", _:
                return f"the CPU quota of this control group throttled hostdx for {amount} of the time"
            case "pressure", _:
                return f"tasks waited for I/O for {amount} of the time"
        return ""

    def _amount(self, value: float) -> str:
        match self.unit:
            case "B":
                return units.capacity(value)
            case "B/s":
                return units.rate(value)
            case "Hz":
                return units.frequency(value)
        return units.percent(value)


def most_often(disturbances: Sequence[Disturbance]) -> str:
    """What disturbed most often, in a few words without figures: "others' I/O on the measured disk: rsync [77]".

    Counted by process name or device, else by what happened; of equally frequent ones the first.
    """
    if not disturbances:
        return ""
    counted = Counter(_counted_by(one) for one in disturbances)
    key = counted.most_common(1)[0][0]
    those = [one for one in disturbances if _counted_by(one) == key]
    what = Counter(one.brief for one in those).most_common(1)[0][0]
    who = most_named([one.culprit for one in those if one.culprit is not None])
    return f"{what}: {who}" if who else what


def too_disturbed(disturbances: Sequence[Disturbance], of: int, what: str) -> str:
    """Why a run was broken off. what: "groups"."""
    return f"{len(disturbances)} of {of} {what} were disturbed, most often: {most_often(disturbances)}"


def _counted_by(one: Disturbance) -> tuple[str, str]:
    if one.culprit is None:
        return "what", one.brief
    return ("who", one.culprit.name) if one.culprit.name else ("where", one.culprit.label)


def most_named(culprits: Sequence[Culprit]) -> str:
    """Who was named most often, by name: with the process id where it was always the same; "" without any."""
    if not culprits:
        return ""
    name = Counter(one.name or one.label for one in culprits).most_common(1)[0][0]
    those = [one for one in culprits if (one.name or one.label) == name]
    pids = {one.pid for one in those}
    return those[0].label if len(pids) == 1 else f"{name} ({len(pids)} processes)"
