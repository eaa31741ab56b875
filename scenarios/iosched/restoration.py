"""Whether the queue is as it was, and whose doing a difference is: ours, or somebody else's meanwhile."""

from collections.abc import Mapping, Sequence

from probes.reading.host import Host
from probes.system.disk.scheduler import queue_path
from probes.types import is_present
from scenarios.contract.events import ActionState
from scenarios.contract.finding import Evidence, Finding
from scenarios.triage.rules.texts import texts

SAYS = texts("iosched")


class QueueFileTracker:
    """Follows every file under the leaves' queue/ over the run's switches.

    What changes while none of our switches is under way was changed by somebody else: so does a value that we set
    and that has another one when we leave (the action ends `kept_reasons`).
    """

    def __init__(self, host: Host, leaves: Sequence[str]) -> None:
        self._host = host
        self.before = {leaf: queue_files(host, leaf) for leaf in leaves}
        self._now = dict(self.before)
        self._others: dict[str, set[str]] = {leaf: set() for leaf in leaves}
        self._kept_reasons: dict[str, list[str]] = {leaf: [] for leaf in leaves}
        self._failed: set[str] = set()

    def record_foreign_changes(self) -> None:
        """Between switches: before one is made, before it is undone, at the end."""
        for leaf, last in self._now.items():
            now = queue_files(self._host, leaf)
            self._others[leaf] |= find_changed_paths(last, now)
            self._now[leaf] = now

    def record_own_switch(self) -> None:
        """After a switch of ours, there or back: its own effects are not somebody else's."""
        self._now = {leaf: queue_files(self._host, leaf) for leaf in self._now}

    def record_undo(self, leaf: str, states: Sequence[tuple[ActionState, str]]) -> None:
        """How the undoing of a switch of this leaf ended."""
        for state, reason in states:
            if state == "kept":
                self._kept_reasons[leaf].append(reason)
            elif state == "failed":
                self._failed.add(leaf)

    def build_findings(self) -> list[Finding]:
        """One a leaf, and one more where somebody else changed something beside what we left wrong."""
        self.record_foreign_changes()
        findings: list[Finding] = []
        for leaf, before in self.before.items():
            now = self._now[leaf]
            different = find_changed_paths(before, now)
            foreign_paths = {p for p in different if p in self._others[leaf]}
            if self._kept_reasons[leaf]:
                base = queue_path(leaf)
                managed = (f"{base}/scheduler", f"{base}/nr_requests", f"{base}/iosched/")
                foreign_paths |= {p for p in different if p.startswith(managed)}
            own_paths = different - foreign_paths
            if foreign_paths:
                findings.append(
                    _changed_meanwhile_finding(
                        leaf, describe_changes(before, now, foreign_paths), self._kept_reasons[leaf]
                    )
                )
            if own_paths:
                findings.append(_not_restored_finding(leaf, before, now, own_paths, leaf in self._failed))
            # a write that hangs shows the old value, until it happens
            if not different and leaf not in self._failed:
                findings.append(_restored_finding(leaf, len(before)))
        return findings


def queue_files(host: Host, leaf: str) -> dict[str, str]:
    """Every readable file under queue/, the scheduler's settings too: what must be the same afterwards."""
    file_texts: dict[str, str] = {}
    for directory in (queue_path(leaf), f"{queue_path(leaf)}/iosched"):
        names = host.list_names(directory)
        for name in names if is_present(names) else ():
            text = host.read_file_text(f"{directory}/{name}", 1 << 16)
            if is_present(text):
                file_texts[f"{directory}/{name}"] = text
    return file_texts


def find_changed_paths(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    """The paths whose text differs, or that only one of the two has."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def describe_changes(before: Mapping[str, str], after: Mapping[str, str], paths: set[str]) -> tuple[str, ...]:
    """One line for each file that is not as it was."""
    return tuple(
        f"{path}: was {before.get(path, 'not there')!r}, is {after.get(path, 'not there')!r}"
        for path in sorted(paths)
    )


def _restored_finding(leaf: str, files: int) -> Finding:
    return SAYS.finding("restored", subject=leaf, files=files)


def _changed_meanwhile_finding(
    leaf: str, change_lines: Sequence[str], kept_reasons: Sequence[str]
) -> Finding:
    evidence = [Evidence(line) for line in (*change_lines, *dict.fromkeys(kept_reasons))]
    return SAYS.finding("changed-meanwhile", subject=leaf, evidence=evidence)


def _not_restored_finding(
    leaf: str, before: Mapping[str, str], now: Mapping[str, str], paths: set[str], failed: bool
) -> Finding:
    """The journal holds what failed to be undone; what no action of ours names is put back by hand."""
    by_hand = tuple(_format_echo_command(path, before[path]) for path in sorted(paths) if path in before)
    return SAYS.finding(
        "not-restored",
        subject=leaf,
        evidence=[Evidence(line) for line in describe_changes(before, now, paths)],
        remedy=(SAYS.remedy("undo") if failed else SAYS.remedy("by-hand", lines=by_hand),),
    )


def _format_echo_command(path: str, text: str) -> str:
    marked = [word.strip("[]") for word in text.split() if word.startswith("[")]
    return f"echo {marked[0] if marked else text.strip()} > {path}"
