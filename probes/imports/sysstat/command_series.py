"""What each command did over the samples of a file, and what all of them did together."""

from array import array
from collections import defaultdict

from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.sample_series import SampleClock, SampleSeries, SeriesTable

ALL_PROCESSES, PROCESS_PREFIX = "processes", "process:"
KERNEL_WORKER = "kworker/"
_MAX_COMMANDS = 40  # of a metric: those that did most


class CommandSeries:
    """The processes of one command are summed up; a sample that does not list a command is one of zero."""

    def __init__(self) -> None:
        self.clock = SampleClock()
        self._at_s: list[float] = []
        self._values: dict[tuple[str, str], defaultdict[str, defaultdict[int, float]]] = {}
        self._time_text = ""

    def begin_sample(self, time_text: str) -> float:
        """Return its time; lines of the same text are one sample. A number is of seconds since 1970."""
        if time_text != self._time_text or not self._at_s:
            self._time_text = time_text
            epoch_s = parse_number(time_text)
            at_s = self.clock.read(time_text) if epoch_s is None else self.clock.read_epoch(epoch_s)
            self._at_s.append(float(len(self._at_s)) if at_s is None else at_s)
        return self._at_s[-1]

    def add(self, command: str, metric: str, unit: str, value: float) -> None:
        """Bytes that a worker of the kernel moves (of a loop device, say) count for the process that asked for it."""
        if unit == "B/s" and command.startswith(KERNEL_WORKER):
            return
        values = self._values.setdefault((metric, unit), defaultdict(lambda: defaultdict(float)))
        values[command][len(self._at_s) - 1] += value

    def series(self) -> tuple[SampleSeries, ...]:
        """Those of the commands that did most, and that of all together."""
        table = SeriesTable()
        for (metric, unit), values_by_command in self._values.items():
            total = array("d", [0.0]) * len(self._at_s)
            ranked = sorted(values_by_command, key=lambda command: -sum(values_by_command[command].values()))
            for rank, command in enumerate(ranked):
                values = array("d", [0.0]) * len(self._at_s)
                for sample, value in values_by_command[command].items():
                    values[sample] = value
                    total[sample] += value
                if rank < _MAX_COMMANDS and any(values):
                    table.add(f"{PROCESS_PREFIX}{command}", metric, unit, self._at_s, values)
            table.add(ALL_PROCESSES, metric, unit, self._at_s, total)
        return table.as_tuple()
