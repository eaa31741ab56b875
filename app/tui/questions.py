"""What is wrong? Seven complaints, each with the scenario that answers it and what the host tells for its options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from app.recording.session import Session
from scenarios import events as ev

_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs"})
_IMAGE = "/dev/loop"
_NOT_FOR_DATA = ("/boot", "/efi", "/snap", "/run", "/usr", "/proc", "/sys", "/dev")
MOST_DIRECTORIES = 3
MOST_SUSPECTS = 2
AT_HOME = "/var/tmp"  # of the root file system: what may be written to without being named


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
        # an image in a file is no disk of its own, and mostly too small to be measured
        own = [path for path, source in _mounts(session) if path != "/" and not source.startswith(_IMAGE)]
        suspects = list(_suspects(session))
        if scenario == "checkup" and not own:
            return []  # it asks for what findings name by itself, and whether that can be measured
        others = list(dict.fromkeys((*suspects[:MOST_SUSPECTS], *own)))[:MOST_DIRECTORIES]
        return [f"--dir={path}" for path in (AT_HOME, *others)] if others else []
    for finding in session.worst_first:
        if finding.prove == scenario and finding.prove_options:
            return list(finding.prove_options)
    directories = [path for path, _ in _mounts(session)]
    if scenario in ("fstrim", "iosched"):
        busy = _busiest(session, pulse) if scenario == "iosched" else ""
        first = busy or next((path for path in directories if path != "/"), "")
        # the system's own disk is not suggested for what switches or trims: the plan asks
        return [f"--dir={first}"] if first not in ("", "/") else []
    return []


def _suspects(session: Session) -> Iterator[str]:
    """The directories that findings about storage name, or that lie on the disks that they name; the worst first."""
    mounted = {path: source.removeprefix("/dev/") for path, source in _mounts(session) if path != "/"}
    for finding in session.worst_first:
        if finding.prove == "storage":
            named = (finding.subject, *finding.subjects, *finding.prove_options)
            for word in filter(None, named):
                yield from (
                    path for path, device in mounted.items() if word == path or device.startswith(word)
                )


def _mounts(session: Session) -> Iterator[tuple[str, str]]:
    """Mount points of local file systems that are written to, with what is mounted there."""
    for fact in list(session.facts.values()):
        path = fact.subject.removeprefix("mount:")
        if fact.name != "type" or path == fact.subject or path.startswith(_NOT_FOR_DATA):
            continue
        told = (session.facts.get(f"{fact.subject} {name}") for name in ("source", "options"))
        source, options = ("" if one is None else str(one.value) for one in told)
        if fact.value in _LOCAL and source.startswith("/dev/") and "rw" in options.split(","):
            yield path, source


def _busiest(session: Session, pulse: ev.Pulse | None) -> str:
    """The mount point on the disk that is busiest now; a partition's disk is the beginning of its name."""
    if pulse is None or not pulse.devices:
        return ""
    disk = max(pulse.devices, key=lambda name: pulse.devices[name][2])
    return next(
        (path for path, source in _mounts(session) if source.removeprefix("/dev/").startswith(disk)), ""
    )
