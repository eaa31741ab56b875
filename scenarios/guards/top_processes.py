"""Who did it: looks at the processes in the gaps, and the names that come up most often.

A look before every block, of which only the last is kept: what is named used the CPU or the device in the disturbed
block, not at some time since the run began.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from probes.system.culprit import Culprit, Resource, busiest
from probes.system.processes import Look, family_of, look
from probes.system.tasks import tasks_hidden
from scenarios import events as ev
from scenarios.guards.interference import in_short
from scenarios.guards.thresholds import LOOK_SHARE, NAMED_CPUS, NAMED_SHARE
from scenarios.model import Run

UNSEEN = "no process that we may read, on "
NOBODY = "no process that runs now, on "
_PROCESS = re.compile(r"(?P<name>.+) \[(?P<pid>\d+)\](?:, [\d.]+ (?:CPUs|MB/s))?$", re.DOTALL)
_FIGURE = re.compile(r"\d[\d.,]*")


class Culprits:
    """`in_gap` before every block, `name` after a disturbed one; at most LOOK_SHARE of the time is spent."""

    def __init__(self, run: Run, devices: Sequence[str]) -> None:
        self._run = run
        self._devices = tuple(devices)
        self._last: Look | None = None
        self._at = 0.0
        self._took_s: list[float] = []
        self._told = False

    def in_gap(self) -> None:
        """Where there are so many processes that it takes long, not in every gap."""
        # The shortest of the last three: a look that had to wait for a CPU took long for another reason.
        cost_s = min(self._took_s[-3:], default=0.0)
        if self._last is None or self._run.clock.now() - self._at >= cost_s / LOOK_SHARE:
            self._look()

    def name(self, kind: str, cpu_share: float = 0.0) -> str:
        return self.names([kind], cpu_share).get(kind, "")

    def names(self, kinds: Sequence[str], cpu_share: float = 0.0) -> dict[str, str]:
        """By kind ("cpu", "device") the process that used most since the last look, else the device's name.

        cpu_share  of all CPUs, that others used: who used little of it is not named.
        """
        wanted = [kind for kind in kinds if kind in ("cpu", "device")]
        before = self._last
        if not wanted or before is None:
            return {}
        now = self._look()
        ours = frozenset(family_of(self._run.host)) if self._run.host.live else frozenset()
        named: dict[str, str] = {}
        for kind in wanted:
            resource: Resource = "cpu" if kind == "cpu" else "io"
            least = min(NAMED_CPUS, NAMED_SHARE * cpu_share * now.cpus) if resource == "cpu" else None
            found = busiest(before, now, resource, ours, least)
            # Whom this user may read can be named beside somebody busier whom only root may: root need not be told.
            if resource == "io" and now.unreadable and (found is None or os.geteuid()):
                self._tell(now)
            if found is not None:
                named[kind] = _words(found, resource)
            elif resource == "io":
                named[kind] = (
                    UNSEEN if now.unreadable or tasks_hidden(self._run.host) is not None else NOBODY
                ) + ", ".join(self._devices)
        return named

    def _look(self) -> Look:
        began = self._run.clock.now()
        waiting = self._last is None or not self._last.hung
        self._last = look(self._run.host, io=bool(self._devices), waiting=waiting)
        self._at = self._run.clock.now()
        self._took_s = [*self._took_s[-2:], self._at - began]
        return self._last

    def _tell(self, seen: Look) -> None:
        """Once a run: among whom the culprit was sought, and how to see the others."""
        if self._told:
            return
        self._told = True
        of_all = f"{len(seen.processes) - seen.unreadable} of {len(seen.processes)} processes"
        if os.geteuid():
            text = (
                f"whose I/O it is can be told for {of_all}, those of this user; as root (sudo hostdx ...) the other "
                f"{seen.unreadable} could be named too: only root may read their /proc/PID/io"
            )
        else:
            text = (
                f"whose I/O it is can be told for {of_all}: this root may not read the others' /proc/PID/io "
                "(it lacks CAP_SYS_PTRACE, as in a container); run hostdx on the host itself to have them named"
            )
        self._run.emit(ev.Note(t=self._run.time(), text=text))


def most_named(culprits: Iterable[str]) -> str:
    """The process name or device that was named most often, whatever its figures; "" without any."""
    return _most([_Remark("", culprit) for culprit in culprits if culprit])


def most_often(remarks: Iterable[str]) -> str:
    """What disturbed most often, in a few words without figures: "others' I/O on our device: rsync [77]".

    remarks  sentences of disturbances ("...: rsync [77], 90.0 MB/s"), or any other reason. Counted by process name or
             device, else by what happened; of equally frequent ones the first.
    """
    return _most([_parsed(remark) for remark in remarks])


class _Remark(NamedTuple):
    what: str
    culprit: str

    @property
    def name(self) -> str:
        """By what it is counted."""
        process = _PROCESS.match(self.culprit)
        return process["name"] if process else self.culprit or _FIGURE.sub("0", self.what)


def _most(remarks: Sequence[_Remark]) -> str:
    if not remarks:
        return ""
    name = Counter(remark.name for remark in remarks).most_common(1)[0][0]
    those = [remark for remark in remarks if remark.name == name]
    what = Counter(remark.what for remark in those).most_common(1)[0][0]
    return ": ".join(part for part in (what, _who(those)) if part)


def _who(remarks: Sequence[_Remark]) -> str:
    """Of one name: its id where it was always the same process, else how many they were."""
    culprit = remarks[0].culprit
    process = _PROCESS.match(culprit)
    if process is None:
        return culprit
    pids = {found["pid"] for r in remarks if (found := _PROCESS.match(r.culprit))}
    return (
        f"{process['name']} [{process['pid']}]"
        if len(pids) == 1
        else f"{process['name']} ({len(pids)} processes)"
    )


def _parsed(remark: str) -> _Remark:
    """What a sentence was made of. The name of a process may hold any character: the words are known, it is not."""
    what, rest = in_short(remark)
    if not what:  # words of somebody else: the last part may be a culprit's
        before, _, rest = remark.rpartition(": ")
        what = before if _names_somebody(rest) else remark
    return _Remark(what, rest if _names_somebody(rest) else "")


def _names_somebody(text: str) -> bool:
    return bool(_PROCESS.match(text)) or text.startswith((UNSEEN, NOBODY))


def _words(culprit: Culprit, resource: Resource) -> str:
    used = f"{culprit.rate:.1f} CPUs" if resource == "cpu" else f"{culprit.rate / 1e6:.1f} MB/s"
    return f"{culprit.label}, {used}"
