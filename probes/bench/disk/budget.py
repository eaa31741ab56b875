"""How much a run may write: at most 8 GiB, by the devices' own counters."""

from probes import units
from probes.bench.measured import WriteBudgetSpent

GIB = 1 << 30
MIB = 1 << 20
MOST_WRITTEN_A_RUN = 8 * GIB
TELLING_BYTES = MIB  # below it, a journal's own writes say nothing of the ratio
SEVERAL = 3  # stretches in which a neighbour may have written: one of them alone proves nothing
# Of small synced writes until several stretches have told: ext4 showed 2 to 6, btrfs 37 (148 KiB for 4 KiB).
PRESUMED_SYNCED = 4.0


class WriteBudget:
    """One for the whole run, shared by its benches. Bytes.

    What counts is what the devices' counters moved while we wrote (btrfs writes 148 KiB for a 4 KiB fdatasync),
    and never less than what we wrote. Others' writes show in the same counters, but they only ever add: so the
    smallest amplification that a load has shown is the nearest to its own. All that a load has written is charged
    with it, also what was written before it was known. A block is never shortened to save bytes: what cannot be
    afforded at full length is refused (shortened, blocks of 3 ms and 16 operations passed as measurements).
    """

    def __init__(self, most_bytes: int = MOST_WRITTEN_A_RUN) -> None:
        self.most_bytes = most_bytes
        self.benches = 0  # how many share it
        self._loads: dict[str, _Account] = {}

    @property
    def spent_bytes(self) -> int:
        return sum(one.spent_bytes for one in self._loads.values())

    @property
    def left_bytes(self) -> int:
        return max(0, self.most_bytes - self.spent_bytes)

    def amplification(self, load: str) -> float:
        """Device bytes for a byte of ours under this load, as far as is known; at least 1."""
        return self._loads[load].amplification if load in self._loads else 1.0

    def begin(self, load: str, share: float, presumed: float = 1.0) -> None:
        """`share` (0..1) of what is left now is for this load, which may amplify by `presumed`. Once a load."""
        if load not in self._loads:
            self._loads[load] = _Account(presumed, int(self.left_bytes * share), share)

    def spend(self, our_bytes: int, device_bytes: int | None, load: str = "") -> None:
        self._loads.setdefault(load, _Account(1.0, None)).add(our_bytes, device_bytes)

    def left_for(self, load: str) -> int:
        """Bytes of ours that this load may still write."""
        one = self._loads.get(load)
        left = self.left_bytes
        if one is not None and one.most_bytes is not None:
            left = min(left, max(0, one.most_bytes - one.spent_bytes))
        return int(left / self.amplification(load))

    def check(self, wanted_bytes: int, load: str = "", times: int = 1) -> None:
        """Raises Spent where `wanted_bytes` of ours must not be written (any more), so many times."""
        if refusal := self.refusal(wanted_bytes, load, times):
            lacking = (wanted_bytes * times - self.left_for(load)) * self.amplification(load)
            one = self._loads.get(load, _Account(1.0, None))
            raise WriteBudgetSpent(refusal, self.most_bytes, one.spent_bytes, int(lacking), one.share)

    def refusal(self, wanted_bytes: int, load: str = "", times: int = 1) -> str:
        """Why `wanted_bytes` of ours must not be written (any more), so many times; empty where they may."""
        if wanted_bytes * times <= self.left_for(load):
            return ""
        spent = (
            f"the run's write limit is reached: {units.size(self.spent_bytes)} of {units.size(self.most_bytes)} by "
            "the device's own counters"
        )
        one = self._loads.get(load)
        if one is None or one.most_bytes is None:
            return f"{spent}, so nothing more is written"
        block = wanted_bytes * one.amplification
        blocks = f"{times} blocks of {units.size(block)}" if times > 1 else f"a block of {units.size(block)}"
        left = max(0, min(self.left_bytes, one.most_bytes - one.spent_bytes))
        return f"{spent}, {units.size(left)} are left for this load, and {blocks} at full length need more"


class _Account:
    """What one load wrote, and how much of it the device saw."""

    def __init__(self, presumed: float, most_bytes: int | None, share: float = 1.0) -> None:
        self.share = share
        self.most_bytes = most_bytes  # by the device's counters; None: whatever the run has left
        self._presumed = presumed
        self._ours = 0
        self._least = 0.0  # the smallest ratio of a stretch; 0 before one was long enough
        self._stretches = 0
        self._stretch = (0, 0)  # ours and the device's since the last one

    @property
    def amplification(self) -> float:
        if not self._stretches:
            return self._presumed
        if self.most_bytes is None or self._stretches >= SEVERAL:
            return self._least
        # Until several have told, a ratio may be a neighbour's: it is believed up to what was presumed.
        return min(self._least, self._presumed)

    @property
    def spent_bytes(self) -> int:
        return int(self._ours * self.amplification)

    def add(self, our_bytes: int, device_bytes: int | None) -> None:
        self._ours += our_bytes
        ours = self._stretch[0] + our_bytes
        device = self._stretch[1] + (our_bytes if device_bytes is None else device_bytes)
        self._stretch = (ours, device)
        if ours >= TELLING_BYTES:
            ratio = max(1.0, device / ours)
            self._least = min(self._least, ratio) if self._stretches else ratio
            self._stretches += 1
            self._stretch = (0, 0)
