"""What triage's rules say of storage, and of the directories and devices that are measured."""

from collections.abc import Iterator, Sequence

from probes.host import Host
from scenarios.files.directories import file_system_of
from scenarios.files.places import ComparedDirectory
from scenarios.finding import Finding
from scenarios.triage import findings_about

SETTINGS = frozenset({"storage", "iosched", "fstrim"})  # what is set of a disk, or on the way to it


def known_of(host: Host, targets: Sequence[ComparedDirectory]) -> list[Finding]:
    """What the rules say of these directories, their file systems and the devices below them."""
    names = set(_names(targets))
    mounted = {file_system_of(host, one.directory) for one in targets}

    def concerned(subject: str) -> bool:
        return subject in names or (subject.startswith("/") and file_system_of(host, subject) in mounted)

    return [
        finding
        for finding in findings_about(host, SETTINGS)
        if any(concerned(subject) for subject in (finding.subject, *finding.subjects) if subject)
    ]


def _names(targets: Sequence[ComparedDirectory]) -> Iterator[str]:
    for one in targets:
        yield from (one.directory, one.place.mount.mountpoint, *one.place.layers, *one.place.leaves)
