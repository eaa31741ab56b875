"""How long triage takes and how much memory it needs on a captured host: 200 disks, 256 CPUs, 64 cards, and half of it.

python -m tests.measured.reading.triage
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fakes.hosts.server import Server


def main() -> None:
    for share in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            Server(Path(folder), cpus=256 // share, disks=200 // share, cards=64 // share)
            for form in ([], ["--json"]):
                argv = [sys.executable, "-P", "-m", "hostdx.app.cli", "triage", "--root", folder, *form]
                began = time.monotonic()
                child = subprocess.Popen(argv, stdout=subprocess.PIPE)
                assert child.stdout is not None
                size = len(child.stdout.read())
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = status
                print(
                    f"1/{share} {' '.join(form) or 'text'}: {time.monotonic() - began:.2f} s wall, "
                    f"{usage.ru_utime + usage.ru_stime:.2f} s CPU, {usage.ru_maxrss / 1024:.0f} MiB, {size} bytes"
                )


if __name__ == "__main__":
    main()
