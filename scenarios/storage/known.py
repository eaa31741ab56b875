"""What triage's rules say of storage, and of the directories and devices that are measured."""

from collections.abc import Iterator, Sequence

from probes.reading.host import Host
from scenarios.contract.finding import Finding
from scenarios.experiment.files.directories import file_system_of
from scenarios.experiment.files.places import ComparedDirectory
from scenarios.triage.triage import findings_about

SETTINGS = frozenset({"storage", "iosched", "fstrim"})  # what is set of a disk, or on the way to it


def list_known_findings(host: Host, targets: Sequence[ComparedDirectory]) -> list[Finding]:
    """Return what the rules say of these directories, their file systems and the devices below them."""
    names = set(_list_names(targets))
    mounted = {file_system_of(host, target.directory) for target in targets}

    def is_concerned(subject: str) -> bool:
        return subject in names or (subject.startswith("/") and file_system_of(host, subject) in mounted)

    return [
        finding
        for finding in findings_about(host, SETTINGS)
        if any(is_concerned(subject) for subject in (finding.subject, *finding.subjects) if subject)
    ]


def _list_names(targets: Sequence[ComparedDirectory]) -> Iterator[str]:
    for target in targets:
        yield from (
            target.directory,
            target.place.mount.mountpoint,
            *target.place.layers,
            *target.place.leaves,
        )
