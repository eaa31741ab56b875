"""What the launcher costs: `fleet triage` of many nodes and `clush` of the same commands, interleaved.

`python -m tests.benchmarks.reading.launcher [--nodes 1000] [--rounds 3] [--bundle FILE]`: the nodes are an `ssh` that
is a shell here. Without a bundle a small program answers, so that the figures are the launcher's; with one, its triage
of this machine. Some nodes are gone, refuse, or talk rubbish: one in fifty each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fakes.fake_fleet import FakeFleet

FANOUT = 64
ODD = ("gone", "deny", "rubbish")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bundle", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        fleet = FakeFleet(Path(place))
        if asked.bundle:
            fleet.bundle = asked.bundle
        names = [f"{ODD[n % 50]}{n}" if n % 50 < len(ODD) else f"n{n}" for n in range(asked.nodes)]
        seen = [(_hostdx(fleet, names, n), _clush(fleet, names)) for n in range(asked.rounds)]
    print(f"{asked.nodes} nodes, {FANOUT} at once")
    for (took, mib, states), (bare, bare_mib) in seen:
        print(
            f"fleet triage {took:6.1f} s, {mib:4.0f} MiB; clush {bare:6.1f} s, {bare_mib:4.0f} MiB; "
            f"{took - bare:+.1f} s; {states}"
        )


def _hostdx(fleet: FakeFleet, names: list[str], number: int) -> tuple[float, float, dict[str, int]]:
    folder = fleet.place / f"answers-{number}"
    argv = [
        sys.executable, "-P", "-m", "app.cli", "fleet", "triage", "-w", ",".join(names), "--rsh", str(fleet.ssh),
        "--bundle", str(fleet.bundle), "--fanout", str(FANOUT), "--python", sys.executable, "-o", str(folder),
    ]  # fmt: skip
    own = {"XDG_STATE_HOME": str(fleet.place), "XDG_RUNTIME_DIR": str(fleet.place)}
    took, mib = _timed(argv, {**os.environ, **own, "PYTHONPATH": str(Path(__file__).parents[3])})
    states: dict[str, int] = {}
    for line in (folder / "answers.jsonl").read_text().splitlines():
        state = json.loads(line)["state"]
        states[state] = states.get(state, 0) + 1
    assert sum(states.values()) == len(names), "every node answered, or has its reason"
    return took, mib, states


def _clush(fleet: FakeFleet, names: list[str]) -> tuple[float, float]:
    command = f"{sys.executable} -I {fleet.bundle} triage --json"
    options = ["-O", f"ssh_path={fleet.ssh}", "-f", str(FANOUT), "-w", ",".join(names)]
    return _timed([sys.executable, "-m", "ClusterShell.CLI.Clush", *options, command], dict(os.environ))


def _timed(argv: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds, and the most memory that one of its processes had, in MiB."""
    began = time.monotonic()
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(argv, env=environment, stdin=nowhere, stdout=nowhere, stderr=nowhere)
    usage = os.wait4(process.pid, 0)[2]
    process.returncode = 0
    return time.monotonic() - began, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
