"""How long a recording of 200,000 events takes to write, to read, and to fold; and how much memory following takes.

`python -m tests.measured.reading.recordings [EVENTS]`. Measured on 2 cores of a Xeon virtual machine (Python 3.11):
see the table it prints. The limit that issue 2 sets is half a second for loading 200,000 events.
"""

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from hostdx.app.recordings.reader import RecordingFollower, load_recording, read_events
from hostdx.app.recordings.writer import RecordingWriter
from hostdx.scenarios.contract import events as ev


def make_stream(count: int) -> Iterator[ev.AnyEvent]:
    """Blocks with histograms, pulses and samples in the proportion of a storage run."""
    yield ev.Began(
        t=0, schema=ev.SCHEMA, version="0", scenario="storage", command=["hostdx"], host="h", wall="", seed=1, pid=1,
        pid_start=1, boot_id="b",
    )  # fmt: skip
    histogram = [(1000 * 2**n, 17 * n) for n in range(4)]
    for n in range(count - 1):
        t = n / 100
        if n % 10 == 0:
            yield ev.Block(t=t, workload="w", variant="AB"[n % 2], group=n // 40, index=n, seconds=0.5,
                           values={"IOPS": 15000.5 + n % 100, "p99 us": 120.5}, operations=7500, bytes=30720000,
                           device_bytes=30720000, cpu_s=0.21, p50_ns=62000, p99_ns=120000,
                           histogram=histogram)  # fmt: skip
        elif n % 10 == 1:
            yield ev.Pulse(t=t, load1=1.5, cpu=0.4, psi_io=0.2, devices={"sda": (1e6, 2e6, 0.4)})
        else:
            yield ev.SampleTaken(t=t, series="IOPS", variant="A", block=n, value=15000.25, unit="1/s")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "r.jsonl"
        events = list(make_stream(count))
        began = time.perf_counter()
        recorder = RecordingWriter(path, print)
        for event in events:
            recorder.write(event)
        recorder.close()
        writing = time.perf_counter() - began
        del events
        size = path.stat().st_size
        print(f"{count} events, {size / 1e6:.1f} MB")
        print(f"write, each event at once    {writing:6.2f} s   {writing / count * 1e6:5.1f} us an event")
        for name, work in (
            ("read", lambda: sum(1 for _ in read_events(path))),
            ("read and fold", lambda: load_recording(path)),
        ):
            times = []
            for _ in range(5):
                began = time.perf_counter()
                work()
                times.append(time.perf_counter() - began)
            print(f"{name:<28} {min(times):6.2f} s   worst of five {max(times):.2f} s")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        follower = RecordingFollower(path)
        while follower.poll():
            pass
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"following it to its end      {(after - before) / 1024:6.1f} MiB more at most")


if __name__ == "__main__":
    main()
