"""What is wrong? Seven complaints, each with the scenario that answers it and what the host tells for its options."""

from __future__ import annotations

from typing import NamedTuple

from app.recording.session import Session
from app.report.confirmation import AT_HOME, MOST_SUSPECTS, directories, mounts, own
from scenarios import events as ev

MOST_DIRECTORIES = 3


class Question(NamedTuple):
    """`scenarios`: the first that can run here, in this order; which of two it is the host's pressure decides."""

    key: str
    words: str
    scenarios: tuple[str, ...]


QUESTIONS: tuple[Question, ...] = (
    Question("1", "slower than elsewhere, cause unknown", ("checkup",)),
    Question("2", "this disk, or this directory", ("storage",)),
    Question("3", "slower from day to day", ("fstrim",)),
    Question("4", "packets, and a firewall", ("rpfilter",)),
    Question("5", "load is high, nothing computes", ("dstate",)),
    Question("6", "one user starves the others", ("cpuwatch", "iosched")),
    Question("7", "changed after an update, or a new node", ("kernel",)),
)


def scenario_for(question: Question, session: Session, pulse: ev.Pulse | None) -> str:
    """Where two could answer: the disks' where tasks wait for them rather than for a CPU."""
    offered = {offer.id: offer for offer in session.offers}
    known = [name for name in question.scenarios if name in offered] or list(question.scenarios[:1])
    waits_for_disks = pulse is not None and (pulse.psi_io or 0.0) > (pulse.psi_cpu or 0.0)
    if len(known) > 1 and waits_for_disks and not offered[known[1]].blocked:
        return known[1]
    return known[0]


def filled_in(scenario: str, session: Session, pulse: ev.Pulse | None) -> list[str]:
    """Options as on a command line: what a finding names, else what the mounts and the pulse tell."""
    if scenario in ("storage", "checkup"):
        mounted = own(session)
        suspects = list(directories(session.worst_first, session))
        if scenario == "checkup" and not mounted:
            return []  # it asks for what findings name by itself, and whether that can be measured
        others = list(dict.fromkeys((*suspects[:MOST_SUSPECTS], *mounted)))[:MOST_DIRECTORIES]
        return [f"--dir={path}" for path in (AT_HOME, *others)] if others else []
    for finding in session.worst_first:
        if finding.prove == scenario and finding.prove_options:
            return list(finding.prove_options)
    if scenario in ("fstrim", "iosched"):
        busy = _busiest(session, pulse) if scenario == "iosched" else ""
        first = busy or next((path for path, _ in mounts(session) if path != "/"), "")
        # the system's own disk is not suggested for what switches or trims: the plan asks
        return [f"--dir={first}"] if first not in ("", "/") else []
    return []


def _busiest(session: Session, pulse: ev.Pulse | None) -> str:
    """The mount point on the disk that is busiest now; a partition's disk is the beginning of its name."""
    if pulse is None or not pulse.devices:
        return ""
    disk = max(pulse.devices, key=lambda name: pulse.devices[name][2])
    return next(
        (path for path, source in mounts(session) if source.removeprefix("/dev/").startswith(disk)), ""
    )
