"""The ledger: for each step what was written, deleted, claimed by fstrim and counted by the kernel, side by side."""

from functools import partial

from probes import units
from scenarios.fstrim.measurement.trim import Discards, Trimmed, discards
from scenarios.fstrim.results import LedgerRow
from scenarios.fstrim.trim_setup import TrimSetup
from scenarios.knowledge.trims import TrimKnowledge, trim_of
from scenarios.model import Run

# The counters round to sectors and a neighbour may discard too: alike within so much.
ALIKE = 0.02

_size = partial(units.size, digits=4)  # the device writes some KiB more than the files


class Ledger:
    """Kept while the run goes on; `begin` before a step, `end` after it."""

    def __init__(self, run: Run, layout: TrimSetup, release: str) -> None:
        self.run = run
        self.layout = layout
        self.knowledge: TrimKnowledge | None = trim_of(layout.fstype, release)
        self.rows: list[LedgerRow] = []
        self.since_trim = 0
        self._sizes = 0  # trims whose number was the size of the file system
        self._began = 0.0
        self._before: Discards | None = None

    def begin(self) -> None:
        self._began = self.run.clock.now()
        self._before = self._now()

    def end(
        self, step: str, *, written: int = 0, deleted: int = 0, trimmed: Trimmed | None = None
    ) -> LedgerRow:
        now = self._now()
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
            free_bytes=self.layout.free_bytes(),
            fstrim_says_bytes=trimmed.claimed if trimmed else None,
            discarded_bytes=trimmed.requested
            if trimmed
            else _difference(before.bytes if before else None, now.bytes if now else None),
            discard_requests=trimmed.requests
            if trimmed
            else _difference(before.requests if before else None, now.requests if now else None),
            came_to_rest_s=_rounded(trimmed.rest_s) if trimmed else None,
            explained=self._explained(trimmed, waiting) if trimmed else "",
        )
        self.rows.append(row)
        return row

    @property
    def trims(self) -> list[LedgerRow]:
        return [row for row in self.rows if row.explained]

    def _now(self) -> Discards | None:
        found = discards(self.run.host, self.layout.leaves)
        return found if isinstance(found, Discards) else None

    def _explained(self, trimmed: Trimmed, waiting: int) -> str:
        """What this trim's two numbers mean, on this file system and kernel."""
        parts: list[str] = []
        known, said, counted = self.knowledge, trimmed.claimed, trimmed.requested
        if said is None:
            parts.append("fstrim printed no number")
        elif said == 0:
            parts.append(f"0 B: {known.zero if known else 'nothing was offered to the disk'}")
        elif self._is_whole_size(said, counted):
            self._sizes += 1
            parts.append(f"{_size(said)} is the size of the file system, not what was trimmed")
        elif known is not None:
            free = self.layout.free_bytes()
            whole = free is not None and abs(said - free) <= ALIKE * free and said == counted
            parts.append(f"{_size(said)} is {known.says}" + (" (here: all that is free)" if whole else ""))
        if counted is None:
            parts.append("this kernel does not count discards (it does since 4.18)")
        elif counted:
            disks = len(self.layout.leaves)
            which = "the disk" if disks == 1 else f"all {disks} disks together"
            parts.append(f"the kernel asked {which} to discard {_size(counted)}")
        elif said:
            parts.append("the kernel asked the disk for nothing")
        if said or counted:
            when = "since the previous trim" if self.trims else "before it"
            parts.append(f"of this, this run had deleted {_size(waiting)} {when}")
        if trimmed.rest_s is None:
            parts.append("the disk was still busy when the waiting time ended")
        elif trimmed.rest_s > 1:
            parts.append(f"fstrim returned {trimmed.rest_s:.0f} s before the disk was idle")
        return "; ".join(parts)

    def _is_whole_size(self, said: int, counted: int | None) -> bool:
        whole = self.layout.size_bytes()
        if whole is None or counted is None:
            return False
        # statvfs leaves the file system's own structures out: within 5 %.
        return abs(said - whole) <= 0.05 * whole and abs(said - counted) > ALIKE * said

    def answer(self) -> list[str]:
        """The talk's question, answered from this run's own rows; one sentence an entry."""
        trims = self.trims
        sentences = [self.knowledge.memory] if self.knowledge else []
        said = [row.fstrim_says_bytes for row in trims if row.fstrim_says_bytes is not None]
        counted = [row.discarded_bytes for row in trims if row.discarded_bytes is not None]
        if len(said) > 1 and said[0] and max(said) - min(said) <= ALIKE * max(said):
            sentences.append(
                f"fstrim -v says the same {_size(said[0])} each time ({len(said)} trims)" + self._repeats()
            )
        elif len(said) > 1:
            sentences.append("fstrim -v said in turn " + ", ".join(map(_size, said)))
        if counted:
            sentences.append(
                "By the kernel's own counters the disk was asked to discard " + ", ".join(map(_size, counted))
            )
        sentences.append(
            "These are requests: how much of it was new to the drive is known to the drive only; the "
            "measured blocks show what it gained"
        )
        if self.knowledge and self.knowledge.waits:
            sentences.append(self.knowledge.waits)
        return sentences

    def _repeats(self) -> str:
        """Why the same number came back; the run's own counters have the last word on a vendor's kernel."""
        if self._sizes:
            return ": that is the size of the file system, which does not change with what is trimmed"
        known = self.knowledge
        return f": {known.repeats}" if known is not None and known.repeats else ""


def _difference(before: int | None, now: int | None) -> int | None:
    return None if before is None or now is None else now - before


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
