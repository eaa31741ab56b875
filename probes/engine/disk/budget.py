"""How much a run may write: at most 8 GiB, by the devices' own counters."""

from hostdx.probes import units
from hostdx.probes.engine.measured import WriteBudgetSpent

GIB = 1 << 30
MIB = 1 << 20
MAX_WRITTEN_BYTES = 8 * GIB
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

    def __init__(self, most_bytes: int = MAX_WRITTEN_BYTES) -> None:
        self.most_bytes = most_bytes
        self.benches = 0  # how many share it
        self._loads: dict[str, _LoadAccount] = {}

    @property
    def spent_bytes(self) -> int:
        return sum(account.spent_bytes for account in self._loads.values())

    @property
    def left_bytes(self) -> int:
        return max(0, self.most_bytes - self.spent_bytes)

    def write_amplification(self, load: str) -> float:
        """Device bytes for a byte of ours under this load, as far as is known; at least 1."""
        return self._loads[load].write_amplification if load in self._loads else 1.0

    def set_load_share(self, load: str, share: float, presumed: float = 1.0) -> None:
        """`share` (0..1) of what is left now is for this load, which may amplify by `presumed`. Once a load."""
        if load not in self._loads:
            self._loads[load] = _LoadAccount(presumed, int(self.left_bytes * share), share)

    def charge(self, our_bytes: int, device_bytes: int | None, load: str = "") -> None:
        self._loads.setdefault(load, _LoadAccount(1.0, None)).add(our_bytes, device_bytes)

    def bytes_left_for(self, load: str) -> int:
        """Bytes of ours that this load may still write."""
        account = self._loads.get(load)
        left = self.left_bytes
        if account is not None and account.most_bytes is not None:
            left = min(left, max(0, account.most_bytes - account.spent_bytes))
        return int(left / self.write_amplification(load))

    def check(self, wanted_bytes: int, load: str = "", times: int = 1) -> None:
        """Raises WriteBudgetSpent where `wanted_bytes` of ours must not be written (any more), so many times."""
        if refusal := self.refusal_text(wanted_bytes, load, times):
            lacking = (wanted_bytes * times - self.bytes_left_for(load)) * self.write_amplification(load)
            account = self._loads.get(load, _LoadAccount(1.0, None))
            raise WriteBudgetSpent(refusal, self.most_bytes, account.spent_bytes, int(lacking), account.share)

    def refusal_text(self, wanted_bytes: int, load: str = "", times: int = 1) -> str:
        """Return why `wanted_bytes` of ours must not be written (any more), so many times; empty where they may."""
        if wanted_bytes * times <= self.bytes_left_for(load):
            return ""
        spent = (
            f"the run's write limit is reached: {units.format_size(self.spent_bytes)} of "
            f"{units.format_size(self.most_bytes)} by "
            "the device's own counters"
        )
        account = self._loads.get(load)
        if account is None or account.most_bytes is None:
            return f"{spent}, so nothing more is written"
        block = wanted_bytes * account.write_amplification
        blocks = (
            f"{times} blocks of {units.format_size(block)}"
            if times > 1
            else f"a block of {units.format_size(block)}"
        )
        left = max(0, min(self.left_bytes, account.most_bytes - account.spent_bytes))
        return f"{spent}, {units.format_size(left)} are left for this load, and {blocks} at full length need more"


class _LoadAccount:
    """What one load wrote, and how much of it the device saw."""

    def __init__(self, presumed: float, most_bytes: int | None, share: float = 1.0) -> None:
        self.share = share
        self.most_bytes = most_bytes  # by the device's counters; None: whatever the run has left
        self._presumed = presumed
        self._our_bytes = 0
        self._least = 0.0  # the smallest ratio of a stretch; 0 before one was long enough
        self._stretches = 0
        self._stretch = (0, 0)  # ours and the device's since the last one

    @property
    def write_amplification(self) -> float:
        if not self._stretches:
            return self._presumed
        if self.most_bytes is None or self._stretches >= SEVERAL:
            return self._least
        # Until several have told, a ratio may be a neighbour's: it is believed up to what was presumed.
        return min(self._least, self._presumed)

    @property
    def spent_bytes(self) -> int:
        return int(self._our_bytes * self.write_amplification)

    def add(self, our_bytes: int, device_bytes: int | None) -> None:
        self._our_bytes += our_bytes
        our_stretch_bytes = self._stretch[0] + our_bytes
        device = self._stretch[1] + (our_bytes if device_bytes is None else device_bytes)
        self._stretch = (our_stretch_bytes, device)
        if our_stretch_bytes >= TELLING_BYTES:
            ratio = max(1.0, device / our_stretch_bytes)
            self._least = min(self._least, ratio) if self._stretches else ratio
            self._stretches += 1
            self._stretch = (0, 0)
