"""How much a run may write: at most 8 GiB, by the devices' own counters."""

from __future__ import annotations

GIB = 1 << 30
MOST_WRITTEN_A_RUN = 8 * GIB
# An experiment plans at most 30 groups with two blocks of each variant, and a warm-up.
BLOCKS_OF_A_BENCH = 64
TELLING_BYTES = 1 << 20  # below it, a journal's own writes say nothing of the ratio
UNKNOWN_AMPLIFICATION = 4  # the first block of a load, the warm-up, is careful


class WriteBudget:
    """One for the whole run, shared by its benches. Bytes.

    What counts is what the devices' counters moved while we wrote (btrfs writes 148 KiB for a 4 KiB fdatasync),
    and never less than what we wrote. Others' writes show in the same counters, but they only ever add: so the
    smallest amplification that a load has shown is the nearest to its own, and what it is charged with. Charged
    with a busy neighbour's writes, blocks would shrink to a fraction of their length (seen: 0.13 s for 0.5 s).
    """

    def __init__(self, most_bytes: int = MOST_WRITTEN_A_RUN) -> None:
        self.most_bytes = most_bytes
        self.spent_bytes = 0
        self.benches = 0  # how many share it
        self._least: dict[str, float] = {}  # device bytes for a byte of ours, the smallest seen, by load
        self._a_block: dict[str, int] = {}

    @property
    def left_bytes(self) -> int:
        return max(0, self.most_bytes - self.spent_bytes)

    def amplification(self, load: str) -> float:
        """Device bytes for a byte of ours under this load, as far as is known; at least 1."""
        return self._least.get(load, 1.0)

    def spend(self, our_bytes: int, device_bytes: int | None, load: str = "") -> None:
        ratio = max(1.0, (device_bytes or 0) / our_bytes) if our_bytes else 1.0
        if our_bytes >= TELLING_BYTES or load not in self._least:
            ratio = min(ratio, self._least.get(load, ratio))
            self._least[load] = ratio
        self.spent_bytes += int(our_bytes * self._least[load])

    def a_block(self, load: str, share: float) -> int:
        """Bytes of ours that one block of this load may write, so that the budget lasts for all its blocks.

        `share` (0..1) of what is left when the load begins is for it; the same for all its blocks from then on.
        """
        if load not in self._a_block:
            self._a_block[load] = int(self.left_bytes * share / (BLOCKS_OF_A_BENCH * max(1, self.benches)))
        known = load in self._least
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
