"""Which directories a checkup measures where nobody named any: the usual ones, and what triage's findings name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from probes.bench.disk.refusals import suitability
from probes.host import Host
from probes.system.disk.mounts import Placement, mounts, placement
from probes.types import Absent
from scenarios.files.directories import default_directories, holding
from scenarios.finding import Finding
from scenarios.model import Options
from scenarios.triage import findings_about

MOST_SUSPECTS = 2
NOT_FOR_DATA = ("/boot", "/efi", "/snap", "/run", "/usr", "/proc", "/sys", "/dev")
SUBJECTS = frozenset({"storage"})  # of the rules whose findings name directories
LOUD = ("critical", "warning")


class ChosenDirectories(msgspec.Struct, frozen=True):
    """`suspects` are those of `directories` that findings name; empty where the usual ones are all."""

    directories: tuple[str, ...] = ()
    suspects: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def named_by(finding: Finding) -> tuple[str, ...]:
    """The directories that it names: as its subject, or for the run that would prove it."""
    words = (finding.subject, *finding.subjects, *finding.prove_options)
    return tuple(dict.fromkeys(word for word in words if word.startswith("/")))


def chosen(host: Host, options: Options) -> ChosenDirectories:
    """Nothing where the user named directories, or no finding of storage names one that can be measured."""
    if options.strings("dir") or not host.live:
        return ChosenDirectories()
    usual = [d for d in default_directories(host) if not suitability(host, d, explicit=False).refusal]
    taken = {holding(host, directory) for directory in usual}
    suspects: list[str] = []
    sentences: list[str] = []
    left_out: list[str] = []
    for directory, finding in _suspected(host, findings_about(host, SUBJECTS)):
        if (there := holding(host, directory)) in taken:
            continue
        taken.add(there)
        fit = suitability(host, directory, explicit=False)
        if fit.refusal or len(suspects) == MOST_SUSPECTS:
            left_out.append(
                fit.refusal or f"{directory}: at most {MOST_SUSPECTS} suspects; measured if it is named"
            )
            continue
        suspects.append(directory)
        sentences.append(f"measures {directory} too, because of a finding of triage: {finding.title}")
    if not suspects:
        return ChosenDirectories(left_out=tuple(left_out))
    return ChosenDirectories((*usual, *suspects), tuple(suspects), tuple(sentences), tuple(left_out))


def _suspected(host: Host, findings: Iterable[Finding]) -> Iterator[tuple[str, Finding]]:
    """Every directory of the findings of warning or worse, with the finding that names it or the disk below it."""
    for finding in findings:
        if finding.severity in LOUD:
            devices = [word for word in (finding.subject, *finding.subjects) if word and "/" not in word]
            for directory in (*named_by(finding), *lying_on(host, devices)):
                yield directory, finding


def lying_on(host: Host, devices: Sequence[str]) -> Iterator[str]:
    """Where the file systems are mounted that lie on these devices and hold users' files."""
    table = mounts(host) if devices else ()
    for mount in () if isinstance(table, Absent) else table:
        if not mount.source.startswith("/dev/") or mount.mountpoint.startswith(NOT_FOR_DATA):
            continue
        place = placement(host, mount.mountpoint)
        if isinstance(place, Placement) and not {*place.layers, *place.leaves}.isdisjoint(devices):
            yield mount.mountpoint
