"""The ledger: for each step what was written, deleted, claimed by fstrim and counted by the kernel, side by side."""

from functools import partial

from hostdx.probes import units
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.fstrim.measurement.trim import DiscardCounters, TrimOutcome, read_discard_counters
from hostdx.scenarios.fstrim.results import LedgerRow
from hostdx.scenarios.fstrim.trim_setup import TrimSetup
from hostdx.scenarios.triage.knowledge.trims import TrimBehaviour, trim_behaviour_of

# The counters round to sectors and a neighbour may discard too: alike within so much.
ALIKE = 0.02

_size = partial(units.format_size, digits=4)  # the device writes some KiB more than the files


class TrimLedgerKeeper:
    """Kept while the run goes on; `begin` before a step, `end` after it."""

    def __init__(self, run: Run, layout: TrimSetup, release: str) -> None:
        self.run = run
        self.layout = layout
        self.knowledge: TrimBehaviour | None = trim_behaviour_of(layout.file_system_type, release)
        self.rows: list[LedgerRow] = []
        self.since_trim = 0
        self._sizes = 0  # trims whose number was the size of the file system
        self._began = 0.0
        self._before: DiscardCounters | None = None

    def begin_row(self) -> None:
        self._began = self.run.clock.now()
        self._before = self._read_discards()

    def end_row(
        self, step: str, *, written: int = 0, deleted: int = 0, trimmed: TrimOutcome | None = None
    ) -> LedgerRow:
        now = self._read_discards()
        before, self._before = self._before, None
        waiting, self.since_trim = self.since_trim, self.since_trim + deleted
        if trimmed is not None:
            self.since_trim = 0
        row = LedgerRow(
            step=step,
            seconds=round(self.run.clock.now() - self._began, 2),
            written_bytes=written,
            device_written_bytes=now.written - before.written if now and before else None,
            deleted_bytes=deleted,
            deleted_since_trim_bytes=self.since_trim,
            free_bytes=self.layout.read_free_bytes(),
            fstrim_says_bytes=trimmed.claimed if trimmed else None,
            discarded_bytes=trimmed.requested
            if trimmed
            else _difference_if_known(before.bytes if before else None, now.bytes if now else None),
            discard_requests=trimmed.requests
            if trimmed
            else _difference_if_known(before.requests if before else None, now.requests if now else None),
            came_to_rest_s=_round_if_known(trimmed.rest_s) if trimmed else None,
            explained=self._explain_numbers(trimmed, waiting) if trimmed else "",
        )
        self.rows.append(row)
        return row

    @property
    def trim_rows(self) -> list[LedgerRow]:
        return [row for row in self.rows if row.explained]

    def _read_discards(self) -> DiscardCounters | None:
        counters = read_discard_counters(self.run.host, self.layout.leaf_names)
        return counters if isinstance(counters, DiscardCounters) else None

    def _explain_numbers(self, trimmed: TrimOutcome, waiting: int) -> str:
        """Return what this trim's two numbers mean, on this file system and kernel."""
        parts: list[str] = []
        knowledge, claimed, counted = self.knowledge, trimmed.claimed, trimmed.requested
        if claimed is None:
            parts.append("fstrim printed no number")
        elif claimed == 0:
            parts.append(f"0 B: {knowledge.zero if knowledge else 'nothing was offered to the disk'}")
        elif self._is_file_system_size(claimed, counted):
            self._sizes += 1
            parts.append(f"{_size(claimed)} is the size of the file system, not what was trimmed")
        elif knowledge is not None:
            free = self.layout.read_free_bytes()
            is_all_free = free is not None and abs(claimed - free) <= ALIKE * free and claimed == counted
            parts.append(
                f"{_size(claimed)} is {knowledge.says}" + (" (here: all that is free)" if is_all_free else "")
            )
        if counted is None:
            parts.append("this kernel does not count discards (it does since 4.18)")
        elif counted:
            disks = len(self.layout.leaf_names)
            which = "the disk" if disks == 1 else f"all {disks} disks together"
            parts.append(f"the kernel asked {which} to discard {_size(counted)}")
        elif claimed:
            parts.append("the kernel asked the disk for nothing")
        if claimed or counted:
            when = "since the previous trim" if self.trim_rows else "before it"
            parts.append(f"of this, this run had deleted {_size(waiting)} {when}")
        if trimmed.rest_s is None:
            parts.append("the disk was still busy when the waiting time ended")
        elif trimmed.rest_s > 1:
            parts.append(f"fstrim returned {trimmed.rest_s:.0f} s before the disk was idle")
        return "; ".join(parts)

    def _is_file_system_size(self, claimed: int, counted: int | None) -> bool:
        file_system_bytes = self.layout.read_file_system_bytes()
        if file_system_bytes is None or counted is None:
            return False
        # statvfs leaves the file system's own structures out: within 5 %.
        return (
            abs(claimed - file_system_bytes) <= 0.05 * file_system_bytes
            and abs(claimed - counted) > ALIKE * claimed
        )

    @property
    def first_claim(self) -> str:
        """Return what `fstrim -v` said of the first trim; "" where it said nothing."""
        return next(
            (_size(r.fstrim_says_bytes) for r in self.trim_rows if r.fstrim_says_bytes is not None), ""
        )

    @property
    def first_count(self) -> str:
        """Return what the disk was asked to discard by then, by the kernel's counters; "" where none are read."""
        return next((_size(r.discarded_bytes) for r in self.trim_rows if r.discarded_bytes is not None), "")

    def answer_sentences(self) -> list[str]:
        """The talk's question, answered from this run's own rows; one sentence an entry."""
        trims = self.trim_rows
        sentences = [self.knowledge.memory] if self.knowledge else []
        claims = [row.fstrim_says_bytes for row in trims if row.fstrim_says_bytes is not None]
        counted = [row.discarded_bytes for row in trims if row.discarded_bytes is not None]
        if len(claims) > 1 and claims[0] and max(claims) - min(claims) <= ALIKE * max(claims):
            sentences.append(
                f"fstrim -v says the same {_size(claims[0])} each time ({len(claims)} trims)"
                + self._same_number_reason()
            )
        elif len(claims) > 1:
            sentences.append("fstrim -v said in turn " + ", ".join(map(_size, claims)))
        if counted:
            sentences.append(
                "By the kernel's own counters the disk was asked to discard " + ", ".join(map(_size, counted))
            )
        sentences.append(
            "These are requests: how much of it was new to the drive is known to the drive only; the "
            "measured windows show what the drive gained"
        )
        if self.knowledge and self.knowledge.waits:
            sentences.append(self.knowledge.waits)
        return sentences

    def _same_number_reason(self) -> str:
        """Return why the same number came back; the run's own counters have the last word on a vendor's kernel."""
        if self._sizes:
            return ": that is the size of the file system, which does not change with what is trimmed"
        knowledge = self.knowledge
        return f": {knowledge.repeats}" if knowledge is not None and knowledge.repeats else ""


def _difference_if_known(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else now - before


def _round_if_known(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
