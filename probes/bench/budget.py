"""How much a run may write: at most 8 GiB, by the devices' own counters."""

from __future__ import annotations

GIB = 1 << 30
MOST_WRITTEN_A_RUN = 8 * GIB
# An experiment plans at most 30 groups with two blocks of each variant, and a warm-up.
BLOCKS_OF_A_BENCH = 64
UNKNOWN_AMPLIFICATION = 4  # the first block of a load, the warm-up, is careful


class WriteBudget:
    """One for the whole run, shared by its benches. Bytes.

    What counts is what the devices' counters moved while we wrote (btrfs writes 148 KiB for a 4 KiB fdatasync),
    and never less than what we wrote. Others' writes in that time count as well: it errs on the careful side.
    """

    def __init__(self, most_bytes: int = MOST_WRITTEN_A_RUN) -> None:
        self.most_bytes = most_bytes
        self.spent_bytes = 0
        self.benches = 0  # how many share it
        self._by_load: dict[str, tuple[int, int]] = {}  # ours, the device's
        self._a_block: dict[str, int] = {}

    @property
    def left_bytes(self) -> int:
        return max(0, self.most_bytes - self.spent_bytes)

    def amplification(self, load: str) -> float:
        """Device bytes for a byte of ours under this load, so far; at least 1."""
        ours, device = self._by_load.get(load, (0, 0))
        return max(1.0, device / ours) if ours else 1.0

    def spend(self, our_bytes: int, device_bytes: int | None, load: str = "") -> None:
        spent = max(our_bytes, device_bytes or 0)
        self.spent_bytes += spent
        ours, device = self._by_load.get(load, (0, 0))
        self._by_load[load] = ours + our_bytes, device + spent

    def a_block(self, load: str, share: float) -> int:
        """Bytes of ours that one block of this load may write, so that the budget lasts for all its blocks.

        `share` (0..1) of what is left when the load begins is for it; the same for all its blocks from then on.
        """
        if load not in self._a_block:
            self._a_block[load] = int(self.left_bytes * share / (BLOCKS_OF_A_BENCH * max(1, self.benches)))
        known = load in self._by_load
        return int(self._a_block[load] / (self.amplification(load) if known else UNKNOWN_AMPLIFICATION))

    def refusal(self, wanted_bytes: int, load: str = "") -> str:
        """Why `wanted_bytes` of ours must not be written any more; empty where they may."""
        expected = wanted_bytes * self.amplification(load)
        if self.spent_bytes + expected <= self.most_bytes:
            return ""
        return (
            f"the run's write budget is spent: {self.spent_bytes / GIB:.1f} of {self.most_bytes / GIB:.1f} GiB by "
            "the device's own counters, so nothing more is written; a smaller --size leaves more for measuring"
        )
