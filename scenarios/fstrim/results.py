"""What a run of `fstrim` records beside its verdicts: the ledger of a session, the rounds of a series."""

from typing import ClassVar

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Bullets, Part, Table, paragraph_of
from hostdx.scenarios.contract.results.result import Result

_COLUMNS = (
    ("step", "step", ""),
    ("seconds", "s", "s"),
    ("written_bytes", "hostdx wrote", "B"),
    ("device_written_bytes", "the disk wrote", "B"),
    ("deleted_bytes", "deleted", "B"),
    ("deleted_since_trim_bytes", "deleted since the last trim", "B"),
    ("free_bytes", "free", "B"),
    ("fstrim_says_bytes", "fstrim -v says", "B"),
    ("discarded_bytes", "the kernel asked to discard", "B"),
    ("came_to_rest_s", "idle again after, s", "s"),
)


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One step. Bytes and seconds; None: does not apply, or is not known. `discarded` are requests, by the kernel.

    `deleted_since_trim_bytes`: what this run deleted and no trim has offered yet, at the end of the step.
    `came_to_rest_s`: from fstrim's return until the counters stood still.
    """

    step: str
    seconds: of.Seconds
    written_bytes: of.Count = 0
    device_written_bytes: of.Whole | None = None
    deleted_bytes: of.Count = 0
    deleted_since_trim_bytes: of.Count = 0
    free_bytes: of.Count | None = None
    fstrim_says_bytes: of.Count | None = None
    discarded_bytes: of.Whole | None = None
    discard_requests: of.Whole | None = None
    came_to_rest_s: of.Seconds | None = None
    explained: str = ""


class TrimLedger(Result, frozen=True, tag="fstrim.ledger/1"):
    """The steps of a session side by side, and below what each trim's numbers mean."""

    name: ClassVar[str] = "ledger"
    value: tuple[LedgerRow, ...]

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        table = Table(  # without a trim half of the columns have nothing to say
            tuple(title for _, title, _ in _COLUMNS),
            tuple(
                tuple(_format_cell(getattr(row, key), unit) for key, _, unit in _COLUMNS)
                for row in self.value
            ),
            frozenset(range(1, len(_COLUMNS))),
        ).without_empty_columns()
        explained = tuple((f"{row.step}: {row.explained}",) for row in self.value if row.explained)
        if not explained:
            return (table,) if table.header else ()
        return (table, paragraph_of("What the numbers of the trims mean:"), Bullets(explained))


def _format_cell(value: str | float | None, unit: str) -> str:
    if value is None or isinstance(value, str):
        return "–" if value is None else value
    return units.format_size(value, 4) if unit == "B" and value else f"{value:.4g}"


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One line. `written_bytes`: to the leaves, between the round before and this one, by `device_written_bytes`.

    `trim_before`: the file system was trimmed since the round before, as `trim_seen_by` tells. `trimmed_bytes`: what
    was asked to be discarded since, by the counter `device_discarded_bytes` of the devices `discards_of`, the file
    system's own ("": a line of older hostdx, the leaves' counter). `deleted_bytes`: what the round itself deleted.
    """

    value: of.Value
    reference: of.Value | None = None
    written_bytes: of.Whole | None = None
    trim_before: bool = False
    source: str = "hostdx"
    workload: str = ""
    metric: str = ""
    wall: str = ""
    trimmed_bytes: of.Whole | None = None
    boot_id: str = ""
    device_written_bytes: of.Whole | None = None
    device_discarded_bytes: of.Whole | None = None
    discards_of: str = ""
    deleted_bytes: of.Whole | None = None
    free_bytes: of.Whole | None = None
    trim_seen_by: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.source, self.workload, self.metric


class TrimRoundsResult(Result, frozen=True, tag="fstrim.rounds/1"):
    name: ClassVar[str] = "rounds"
    value: tuple[Round, ...]
