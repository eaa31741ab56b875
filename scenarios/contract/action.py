"""A change to the host, as data: declared, shown, consented to, journalled, applied, undone.

Nothing here applies anything: one file in `app` does (`app/undo/effects.py`), so that every change
goes through consent and the journal.
"""

from typing import Literal, TypeAlias

import msgspec

ActionKind: TypeAlias = Literal["attribute", "command", "resource"]
ResourceKind: TypeAlias = Literal["directory", "namespace", "cgroup", "file"]


class Action(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One change. Exactly what is written to the journal and shown in the plan.

    kind       attribute: write `new` to the sysfs/procfs file `target`; `old` is read again when it is applied.
               command:   run `apply`; the inverse is `undo` (empty where `irreversible`).
               resource:  create `resource` at `target`; the inverse removes it. A file holds the text `new`.
    consent    True where a setting of the host changes; a private directory needs none.
    side_paths attributes that applying silently resets (tunables, nr_requests): saved and restored with it.
    exposed    others could interfere while root makes it (`risk` says who): it needs consent too.
    parameters what is told beside it, as text: a command's `timeout_s`, a control group's limits.
    """

    kind: ActionKind
    title: str
    target: str
    resource: ResourceKind | None = None
    old: str | None = None
    new: str | None = None
    apply: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    irreversible: bool = False
    consent: bool = False
    risk: str = ""
    rights: str = ""
    survives_reboot: bool = False
    side_paths: tuple[str, ...] = ()
    parameters: dict[str, str] = {}
    exposed: bool = False

    @property
    def needs_consent(self) -> bool:
        """Return whether a person must agree to it first."""
        return self.consent or self.exposed


def private_directory_action(parent: str, exposed: str = "") -> Action:
    """A directory of hostdx's own (mode 0700) under `parent`; removed with all it holds.

    The name is chosen when it is made: `parent/.hostdx-<random>`. `exposed`: who could interfere (see
    `hostdx.probes.files.path_ownership`).
    """
    return Action(
        kind="resource",
        resource="directory",
        title=f"private directory under {parent}",
        target=f"{parent.rstrip('/') or '/'}/.hostdx-*".replace("//", "/"),
        risk=exposed or "none: removed when the run ends",
        exposed=bool(exposed),
        survives_reboot=True,
    )
