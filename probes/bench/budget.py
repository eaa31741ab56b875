"""How much a run may write: at most 8 GiB, by the devices' own counters."""

from __future__ import annotations

GIB = 1 << 30
MOST_WRITTEN_A_RUN = 8 * GIB


class WriteBudget:
    """One for the whole run, shared by its benches. Bytes.

    What counts is what the devices' counters moved while we wrote (btrfs writes 148 KiB for a 4 KiB fdatasync),
    and never less than what we wrote. Others' writes in that time count as well: it errs on the careful side.
    """

    def __init__(self, most_bytes: int = MOST_WRITTEN_A_RUN) -> None:
        self.most_bytes = most_bytes
        self.spent_bytes = 0
        self.our_bytes = 0

    @property
    def left_bytes(self) -> int:
        return max(0, self.most_bytes - self.spent_bytes)

    @property
    def amplification(self) -> float:
        """Device bytes for a byte of ours, so far; at least 1."""
        return max(1.0, self.spent_bytes / self.our_bytes) if self.our_bytes else 1.0

    def spend(self, our_bytes: int, device_bytes: int | None) -> None:
        self.our_bytes += our_bytes
        self.spent_bytes += max(our_bytes, device_bytes or 0)

    def refusal(self, wanted_bytes: int) -> str:
        """Why `wanted_bytes` of ours must not be written any more; empty where they may."""
        expected = wanted_bytes * self.amplification
        if self.spent_bytes + expected <= self.most_bytes:
            return ""
        return (
            f"the run's write budget is spent: {self.spent_bytes / GIB:.1f} of {self.most_bytes / GIB:.1f} GiB by "
            "the device's own counters, so nothing more is written; a smaller --size leaves more for measuring"
        )
