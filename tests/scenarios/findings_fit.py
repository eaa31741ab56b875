"""Whether a finding fits its host: evidence from what was read, remedies that change something there."""

import re
import shlex
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.read_trace import ReadTrace
from hostdx.scenarios.contract.finding import LOUD, Finding, Remedy
from hostdx.scenarios.triage.rules.read import bracketed_word_or_text
from hostdx.scenarios.triage.rules.services import service_state

# What names one thing of a host: disks, cards, adapters, arrays, PCI addresses.
NAMED = re.compile(
    r"(?<![\w-])(?:sd[a-z]{1,2}|nvme\d+(?:n\d+)?|md\d+|dm-\d+|eth\d+|bond\d+|mlx\d_\d+|hfi1_\d+|"
    r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]|host\d+|phy-\d+:\d+)(?![\w-])"
)
PLACEHOLDER = re.compile(
    r"(?<![\w/.$-])(?:DISK|DEVICE|INTERFACE|PEER|UNIT|VG|POOL|DIRECTORY|NUMBER|PID|MOUNTPOINT|IP)\b"
)
UNFILLED = re.compile(r"(?<![$A-Z])\{(?!print\})[a-z_]+(?::[a-z]+)?\}")  # not awk's {print}, udev's ATTR{x}

# Words of commands that look like one of these, and are none.
NO_NAMES = re.compile(r"ipmitool sdr|lsblk -o \S+")


def lines_of(remedy: Remedy) -> tuple[str, ...]:
    return (*remedy.commands, *remedy.verify, *remedy.undo, *remedy.persistent)


def settings_of(line: str) -> Iterator[tuple[str, str]]:
    """Path and value of what a command writes as a setting."""
    words = shlex.split(line.partition("  # ")[0])
    if words[:3] == ["sudo", "sh", "-c"]:
        yield from settings_of(words[3])
    elif words[:2] == ["sysctl", "-w"]:
        for word in words[2:]:
            name, _, value = word.partition("=")
            yield f"/proc/sys/{name.replace('.', '/')}", value
    elif words[:1] == ["echo"] and len(words) > 3 and (words[2] == ">" or words[2:4] == ["|", "tee"]):
        for path in words[3 if words[2] == ">" else 4 :]:
            if path.startswith(("/proc/", "/sys/")) and not path.endswith("/drop_caches"):  # an action
                yield path, words[1]


def check_fit(host: Host, root: Path, finding: Finding, read: ReadTrace) -> None:
    """Raise AssertionError where it does not fit. `read`: what its rule has read of the host."""
    check_evidence(host, finding, read)
    check_subjects(finding)
    check_texts_are_filled(finding)
    if finding.severity in LOUD:
        assert any(remedy.commands or remedy.no_command for remedy in finding.remedy), finding
    for remedy in finding.remedy:
        check_remedy(host, root, remedy)


def check_evidence(host: Host, finding: Finding, read: ReadTrace) -> None:
    read_files = [place.rstrip("/") for place in read]
    for evidence in finding.evidence:
        for source in filter(None, evidence.source.split(", ")):
            if source.startswith("knowledge/"):
                continue
            names = (source, host.resolve_path(source))
            assert any(
                fnmatchcase(place, name) for place in read_files for name in names if isinstance(name, str)
            ), (finding.id, source)
    assert any(evidence.source for evidence in finding.evidence), f"{finding.id} cites nothing"


def check_texts_are_filled(finding: Finding) -> None:
    texts = [finding.title, *(evidence.text for evidence in finding.evidence), *finding.prove_options]
    for remedy in finding.remedy:
        texts += [remedy.title, remedy.warning, remedy.no_command, *lines_of(remedy)]
    assert not [text for text in texts if UNFILLED.search(text)]


def check_subjects(finding: Finding) -> None:
    text = " ".join((finding.title, finding.subject, *finding.subjects, *(e.text for e in finding.evidence)))
    cited = " ".join(evidence.source for evidence in finding.evidence)
    own = set(NAMED.findall(text)) | set(NAMED.findall(cited))
    own |= set(re.findall(r"\b(sd[a-z]+|nvme\d+n\d+)(?=p?\d)", text))  # the disk of a partition
    assert "" not in finding.subjects and ": ," not in finding.title
    for remedy in finding.remedy:
        for line in (remedy.title, *lines_of(remedy)):
            assert set(NAMED.findall(NO_NAMES.sub("", line))) <= own, (finding.id, line)
            assert not PLACEHOLDER.search(NO_NAMES.sub("", line)), (finding.id, line)
    if finding.subjects and any(
        set(finding.subjects) & set(NAMED.findall(c)) for r in finding.remedy for c in r.commands
    ):
        commands = " ".join(c for r in finding.remedy for c in r.commands)
        assert set(finding.subjects) <= set(NAMED.findall(commands)), finding.id


def check_remedy(host: Host, root: Path, remedy: Remedy) -> None:
    wrote = [pair for line in remedy.commands for pair in settings_of(line)]
    pairs = [pair for line in remedy.undo for pair in settings_of(line)]
    for path, value in wrote:
        places = list(root.glob(path.lstrip("/")))
        assert places, f"{path} is not there"
        before = [bracketed_word_or_text(place.read_text()).split() for place in places]
        assert any(old != value.split() for old in before), f"{path} is {value} already"
        if "sync_action" not in path:
            assert any(line for line in remedy.verify if _names_setting(line, path)), (path, remedy.verify)
    for path, value in pairs:
        for place in root.glob(path.lstrip("/")):
            assert bracketed_word_or_text(place.read_text()).split() == value.split() or len(pairs) > len(
                wrote
            ), (
                path,
                value,
            )
    for line in remedy.commands:
        if (unit := re.match(r"systemctl (?:restart|start|enable(?: --now)?) (\S+)", line)) is not None:
            assert service_state(host, unit[1]) in ("running", "installed")


def _names_setting(line: str, path: str) -> bool:
    return (
        path in line
        or path.removeprefix("/proc/sys/").replace("/", ".") in line
        or path.rpartition("/")[2] in line
    )
