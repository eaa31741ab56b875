"""A sample a second of the runs under way, as events; so many at most that a recording of days stays small."""

from __future__ import annotations

from probes.bench.run.supervised import TreeSample
from scenarios import events as ev
from scenarios.model import Run

MOST = 20_000  # of all variants together: 3 MB


class Curves:
    """Shared by the variants of a run of hostdx."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._told = 0

    def tell(self, variant: str, number: int, sample: TreeSample) -> None:
        """Of the variant's run with that number."""
        self._told += 1
        if self._told > MOST:
            if self._told == MOST + 1:
                self.run.note(f"samples inside the runs end here: {MOST} are recorded")
            return
        values = {
            "PSS": sample.pss_bytes,
            "CPU": sample.cpu_s,
            "processes": sample.processes,
            "threads": sample.threads,
            "read": sample.read_bytes,
            "written": sample.written_bytes,
            "temperature": sample.celsius,
            "frequency": sample.hertz,
        }
        known = {name: value for name, value in values.items() if value is not None}
        self.run.emit(
            ev.Inside(t=self.run.time(), variant=variant, run=number, at_s=sample.at_s, values=known)
        )
