"""What `hostdx undo` tells of each change: the same fields for its lines, its JSON document and the screen."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.triage.rules.texts import FindingTexts

SAYS = FindingTexts(Path(__file__).with_name("findings.toml"))


class UndoneChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`open`: not undone yet, `would` says what undoing it would do; else how undoing it went, and
    why so. `id`: the journal's entry, RUN#N, as `undo --forget` takes it.
    """

    title: str
    state: Literal["open", "reverted", "kept", "failed"]
    would: str = ""
    reason: str = ""
    on_purpose: bool = False  # it was made to stay
    id: str = ""

    @property
    def change_line(self) -> str:
        if self.state == "open":
            return f"{self.title}: would {self.would}"
        return f"{self.title}: {self.state}" + (f": {self.reason}" if self.reason else "")


class ChangeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The document of `hostdx undo --json`, in the order in which the changes are undone."""

    schema: str
    changes: tuple[UndoneChange, ...] = ()


def leftover_finding(changes: Sequence[UndoneChange]) -> Finding:
    return SAYS.finding("left-over", changes="; ".join(change.title for change in changes))
