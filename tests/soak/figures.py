"""What a soak counts, and how it is told: one line of figures, and a line for each thing that went wrong."""

import resource
import time
import traceback
from collections import Counter

MAX_PRINTED = 20
MAX_MEMORY_MB = 300.0
TELL_EVERY_S = 120.0


class Figures:
    """`bad(kind, text)` for a crash, an escape, something left; `good(kind)` for everything else that is counted."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.counts: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter({"crashes": 0, "escapes": 0, "left": 0})
        self.largest: dict[str, float] = {}
        self._printed: set[str] = set()
        self._next = time.monotonic() + TELL_EVERY_S

    def good(self, kind: str) -> None:
        """Every few minutes what is counted so far is told: a soak that somebody ends was not for nothing."""
        self.counts[kind] += 1
        if time.monotonic() > self._next:
            self._next = time.monotonic() + TELL_EVERY_S
            print(f"  so far: {self.summary()}", flush=True)

    def most(self, quantity: str, value: float) -> None:
        self.largest[quantity] = max(value, self.largest.get(quantity, 0.0))

    def bad(self, kind: str, text: str) -> None:
        """Each kind of trouble is told once, however often it comes."""
        self.wrong[kind] += 1
        if text not in self._printed and len(self._printed) < MAX_PRINTED:
            self._printed.add(text)
            print(f"  {kind}: {text}", flush=True)

    def crash(self, error: BaseException, about: str) -> None:
        """By where it was raised: the same mistake met a thousand times is one line."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tests/" not in f.filename]
        at = f"{frames[-1].filename.rpartition('/hostdx/')[2]}:{frames[-1].lineno}" if frames else "?"
        self.wrong["crashes"] += 1
        if at not in self._printed and len(self._printed) < MAX_PRINTED:
            self._printed.add(at)
            print(f"  crash: {type(error).__name__} at {at}: {str(error)[:120]!r} ({about})", flush=True)

    def summary(self) -> str:
        counts = ", ".join(f"{n} {kind}" for kind, n in sorted(self.counts.items()))
        trouble = ", ".join(f"{n} {kind}" for kind, n in self.wrong.items())
        largest = "".join(f"at most {value:.3g} {quantity}; " for quantity, value in self.largest.items())
        return f"{self.title}: {counts}; {trouble}; {largest}peak memory {peak_mb():.0f} MB"

    @property
    def well(self) -> bool:
        return not any(self.wrong.values()) and peak_mb() <= MAX_MEMORY_MB


def peak_mb() -> float:
    """Of this process or of its largest child that has ended, as the kernel counts it."""
    processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(process).ru_maxrss for process in processes) / 1024
