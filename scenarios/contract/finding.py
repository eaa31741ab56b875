"""A finding: what is wrong, what proves it, what to do."""

from collections import ChainMap
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.units import count_noun, format_duration, format_size
from hostdx.scenarios.contract import ranges as of

Severity: TypeAlias = Literal["critical", "warning", "notice", "ok"]
Confidence: TypeAlias = Literal["measured", "rule", "hint"]
SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "notice", "ok")  # worst first
LOUD = SEVERITIES[:2]  # an admin is to act


def severity_count_text(severity: str, count: int) -> str:
    """Return `1 warning`, `2 notices`; the word `critical` has no plural."""
    return f"{count} critical" if severity == "critical" else count_noun(count, severity)


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fact or an effect in one line, with the path or command it was read from."""

    text: str
    source: str = ""


class SuggestedStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to do after a run: a title, and the commands for it in their order.

    `command` is the first command, empty where there is none; `then` holds the others. The price, as far as it is
    known: about how long it takes, the most bytes that it writes, the rights that it needs.
    """

    title: str
    command: str = ""
    then: tuple[str, ...] = ()
    seconds: of.Duration = 0.0
    writes: of.Count = 0
    rights: str = ""

    @property
    def title_with_price(self) -> str:
        """Return the title with the price: `run it with more time (takes 39 min, writes at most 24 GiB)`."""
        price = [
            f"takes {format_duration(self.seconds)}" if self.seconds else "",
            f"writes at most {format_size(self.writes)}" if self.writes else "",
            f"needs {self.rights}" if self.rights else "",
        ]
        price_text = ", ".join(filter(None, price))
        return f"{self.title} ({price_text})" if price_text else self.title

    @property
    def all_commands(self) -> tuple[str, ...]:
        return (self.command, *self.then) if self.command else ()


class Remedy(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What to do. Commands are exact for this host; hostdx shows them and never runs them.

    `no_command`: why there is none, where there is none. `settings`: the new values by sysctl, file or setting of
    `hostdx prove`, where all that the commands do is to set them.
    """

    title: str
    commands: tuple[str, ...] = ()
    persistent: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    warning: str = ""
    no_command: str = ""
    settings: dict[str, str] = {}

    @property
    def as_step(self) -> SuggestedStep:
        """Return the remedy as a step with all of its commands, because the first ones often only look."""
        return SuggestedStep(self.title, "".join(self.commands[:1]), self.commands[1:])


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """`id` is dotted and stable ("storage.pcie-link"); `prove` names the scenario that would measure it, `load` the
    load under which `hostdx prove` tries its remedy.
    """

    id: str
    severity: Severity
    title: str
    confidence: Confidence = "rule"
    evidence: tuple[Evidence, ...] = ()
    remedy: tuple[Remedy, ...] = ()
    references: tuple[str, ...] = ()
    subject: str = ""  # the device, interface or directory it is about
    subjects: tuple[str, ...] = ()  # where it is about several of one kind
    alike: str = ""  # what it says besides its subject: findings of one id that say the same become one
    prove: str = ""
    prove_options: tuple[str, ...] = ()
    load: str = ""
    answers: bool = False  # it answers the run's question, whatever a single verdict says

    @property
    def key(self) -> str:
        """Return the key of the finding: a later finding with the same key in a run replaces the earlier one."""
        return f"{self.id}|{self.subject}"


def finding_sort_key(finding: Finding) -> tuple[int, bool]:
    """Return a sort key: the worst severity first; within one severity, hints last."""
    return SEVERITIES.index(finding.severity), finding.confidence == "hint"


MAX_SHOWN_SUBJECTS = 8


def fold_alike_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with those that say the same (`alike`) of several subjects merged, where the first was."""
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for finding in findings:
        own = "" if finding.subject else f"{len(groups)}"  # a finding without a subject stands for itself
        groups.setdefault((finding.id, finding.severity, finding.alike, own), []).append(finding)
    return [group[0] if len(group) == 1 else _merge_into_first(group) for group in groups.values()]


def _join_remedies(remedies: Sequence[Remedy]) -> Remedy:
    """Return the first with the lines of all, each once."""
    names = ("commands", "persistent", "verify", "undo")
    lines = {n: tuple(dict.fromkeys(line for each in remedies for line in getattr(each, n))) for n in names}
    return msgspec.structs.replace(
        remedies[0], **lines, settings=dict(ChainMap(*(r.settings for r in remedies)))
    )


def _merge_into_first(group: list[Finding]) -> Finding:
    first, subjects = group[0], tuple(finding.subject for finding in group)
    if len(set(subjects)) < 2:
        return first
    subject_names = ", ".join(subjects[1:4]) + (", ..." if len(subjects) > 4 else "")
    evidence = [
        *first.evidence,
        *(finding.evidence[0] for finding in group[1:MAX_SHOWN_SUBJECTS] if finding.evidence),
    ]
    if len(group) > MAX_SHOWN_SUBJECTS:
        rest = ", ".join(subjects[MAX_SHOWN_SUBJECTS:])
        evidence.append(Evidence(f"and {len(group) - MAX_SHOWN_SUBJECTS} more: {rest}"[:2000]))
    remedies = [finding.remedy for finding in group]
    if len(set(map(len, remedies))) == 1:  # each helps its own subject
        first = msgspec.structs.replace(first, remedy=tuple(map(_join_remedies, zip(*remedies, strict=True))))
    return msgspec.structs.replace(
        first,
        title=f"{first.title}; the same for {len(group) - 1} more: {subject_names}",
        subject="",
        subjects=subjects,
        evidence=tuple(evidence),
    )
