"""How long 1,000 recordings of one shape take to compare, and in how much memory.

`python -m tests.measured.reading.many`.

Copies of the bundled recordings of two kernels, half of them a side, compared by the program itself in a process of
its own. A count may be given.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from app.recordings import store


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        sides = {name: Path(folder) / name for name in ("kernel-5-10", "kernel")}
        for name, side in sides.items():
            side.mkdir()
            recorded = store.resolve_recording(f"demo:{name}").read_bytes()
            for number in range(count // 2):
                (side / f"{number}.jsonl").write_bytes(recorded)
        began = time.perf_counter()
        a, b = map(str, sides.values())
        subprocess.run(
            [sys.executable, "-m", "app.cli", "compare", a, "--", b], check=True, stdout=subprocess.DEVNULL
        )
        took = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{count} recordings compared in {took:.1f} s ({used.ru_utime + used.ru_stime:.1f} s of CPU), "
        f"{used.ru_maxrss / 1024:.0f} MiB; asked: 10 s, 500 MB"
    )


if __name__ == "__main__":
    main()
