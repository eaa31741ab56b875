"""The run that would prove a finding, with the directories that it needs: a disk is judged against another one."""

import shlex
from collections.abc import Iterable, Iterator

from hostdx.app.recordings.session import RunSession
from hostdx.scenarios.contract.card import card_of
from hostdx.scenarios.contract.finding import Finding

AT_HOME = "/var/tmp"  # of the root file system: what may be written to without being named
_LOCAL = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs"})
_IMAGE = "/dev/loop"
_NOT_FOR_DATA = ("/boot", "/efi", "/snap", "/run", "/usr", "/proc", "/sys", "/dev")
MAX_SUSPECTS = 2


def confirmation_options(finding: Finding, session: RunSession) -> tuple[str, ...]:
    """Its own; those it is about where directories are compared, after one on another disk as the host's facts tell."""
    if not _is_proved_by_comparison(finding):
        return finding.prove_options
    table = dict(disk_mounts(session))
    at_home = max(
        (path for path in table if f"{AT_HOME}/".startswith(path.rstrip("/") + "/")), key=len, default=""
    )
    about = [
        AT_HOME if path == at_home else path for path in dirs_to_compare([finding], session, with_root=True)
    ]
    if not about:
        return finding.prove_options
    sources = {table.get(at_home if path == AT_HOME else path, "") for path in about}
    others = [AT_HOME, *data_mounts(session)]
    against = [path for path in others if table.get(at_home if path == AT_HOME else path, "") not in sources]
    return tuple(f"--dir={path}" for path in dict.fromkeys((*against[:1], *about[:MAX_SUSPECTS])))


def confirmation_command(finding: Finding, session: RunSession) -> str:
    return shlex.join(("hostdx", "run", finding.prove, *confirmation_options(finding, session)))


def trial_command(finding: Finding) -> str:
    """Return the command that tries the finding's remedy and puts today's values back."""
    return shlex.join(("hostdx", "prove", finding.key if finding.subject else finding.id))


def dirs_to_compare(
    findings: Iterable[Finding], session: RunSession, *, with_root: bool = False
) -> Iterator[str]:
    """Those that findings name, or that lie on the disks that they name, where a comparison
    would prove them. `with_root`: the root's, too."""
    mounted = {
        path: source.removeprefix("/dev/")
        for path, source in disk_mounts(session)
        if with_root or path != "/"
    }
    for finding in findings:
        if _is_proved_by_comparison(finding):
            for word in filter(None, (finding.subject, *finding.subjects, *finding.prove_options)):
                yield from (p for p, device in mounted.items() if word == p or device.startswith(word))


def _is_proved_by_comparison(finding: Finding) -> bool:
    return card_of(finding.prove).directories == "compared"


def data_mounts(session: RunSession) -> list[str]:
    """Without the root, and without images: a file is no disk of its own, and mostly too small to be measured."""
    return [path for path, source in disk_mounts(session) if path != "/" and not source.startswith(_IMAGE)]


def disk_mounts(session: RunSession) -> Iterator[tuple[str, str]]:
    """Mount points of local file systems that are written to, with what is mounted there."""
    for fact in list(session.facts.values()):
        path = fact.subject.removeprefix("mount:")
        if fact.name != "type" or path == fact.subject or path.startswith(_NOT_FOR_DATA):
            continue
        details = (session.facts.get(f"{fact.subject} {name}") for name in ("source", "options"))
        source, flags = ("" if detail is None else str(detail.value) for detail in details)
        if str(fact.value) in _LOCAL and source.startswith("/dev/") and "rw" in flags.split(","):
            yield path, source
