"""What the launcher costs: `fleet triage` of many nodes and `clush` of the very same agent and order, interleaved.

    python -m tests.measured.nodes.launcher [--nodes 1000] [--rounds 3] [--bundle FILE | --light]

The nodes are an `ssh` that is a shell here, so what they do (two starts of a Python, then the bundle's) is done on the
launcher's cores: CPU seconds are told apart, the launcher's own and its nodes'. Without a bundle a small program
answers; with one, its triage of this machine; `--light`: nodes that say at once what an agent says, and cost next to
nothing. Some nodes are gone, refuse, or talk rubbish: one in fifty each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from app.features.fleet.launch.campaign import MAX_LOOK_BYTES
from app.features.fleet.launch.errand import Errand
from app.features.fleet.launch.parcel import make_parcel
from tests.fakes.fake_fleet import FakeFleet

FANOUT = 64
ODD = ("gone", "deny", "rubbish")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--light", action="store_true")
    asked = parser.parse_args()
    usual = "light" if asked.light else "n"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        fleet = FakeFleet(Path(place))
        if asked.bundle:
            fleet.bundle = asked.bundle
        names = [f"{ODD[n % 50]}{n}" if n % 50 < len(ODD) else f"{usual}{n}" for n in range(asked.nodes)]
        print(f"{asked.nodes} nodes, {FANOUT} at once")
        for number in range(asked.rounds):
            ours, states = _hostdx(fleet, names, number)
            same, bare = (_clush(fleet, names, agent=agent) for agent in (True, False))
            load = f"{os.getloadavg()[0]:.0f}"
            print(
                f"fleet triage {ours}; clush, same agent {same}; clush, bundle alone {bare}; load {load}; {states}"
            )


class Cost(NamedTuple):
    """Seconds on the clock, of the launcher's own CPU and of its nodes'; MiB at most of the launcher."""

    took: float
    own: float
    nodes: float
    mib: float

    def __str__(self) -> str:
        return f"{self.took:.1f} s ({self.own:.1f} s of CPU, nodes {self.nodes:.0f} s), {self.mib:.0f} MiB"


def _hostdx(fleet: FakeFleet, names: list[str], number: int) -> tuple[Cost, dict[str, int]]:
    folder = fleet.place / f"answers-{number}"
    argv = [
        "app.cli", "fleet", "triage", "-w", ",".join(names), "--rsh", str(fleet.ssh), "--bundle", str(fleet.bundle),
        "--fanout", str(FANOUT), "--python", sys.executable, "-o", str(folder),
    ]  # fmt: skip
    own = {"XDG_STATE_HOME": str(fleet.place), "XDG_RUNTIME_DIR": str(fleet.place)}
    cost = _timed(argv, {**os.environ, **own, "PYTHONPATH": str(Path(__file__).parents[3])})
    states = Counter(
        json.loads(line)["state"] for line in (folder / "answers.jsonl").read_text().splitlines()
    )
    assert sum(states.values()) == len(names), "every node answered, or has its reason"
    return cost, dict(states)


def _clush(fleet: FakeFleet, names: list[str], *, agent: bool) -> Cost:
    """With the agent: what a node is sent is the same for all of them, but for the node's name in its order."""
    command, sent = f"{sys.executable} -I {fleet.bundle} triage --json", b""
    if agent:
        given = make_parcel(str(fleet.bundle))
        errand = Errand(
            argv=("triage", "--json"), shared=given.shared, size=given.size, sha256=given.sha256,
            parts=given.parts, python=sys.executable, most_bytes=MAX_LOOK_BYTES,
        )  # fmt: skip
        command, sent = errand.shell_command(), errand.order_head("n0")
    options = ["-O", f"ssh_path={fleet.ssh}", "-f", str(FANOUT), "-w", ",".join(names)]
    return _timed(["ClusterShell.CLI.Clush", *options, command], dict(os.environ), sent)


_TOLD = (  # what a module used when it ended, and its children
    "import atexit, os, resource as r, runpy, sys; told = int(sys.argv[1]); module = sys.argv[2]; del sys.argv[:2]\n"
    "said = lambda: [r.getrusage(who) for who in (r.RUSAGE_SELF, r.RUSAGE_CHILDREN)]\n"
    "line = lambda: ' '.join(f'{x.ru_utime + x.ru_stime} {x.ru_maxrss}' for x in said())\n"
    "atexit.register(lambda: os.write(told, line().encode()))\n"
    "runpy.run_module(module, run_name='__main__', alter_sys=True)"
)


def _timed(argv: list[str], environment: dict[str, str], sent: bytes = b"") -> Cost:
    reader, writer = os.pipe()
    began = time.monotonic()
    quiet = subprocess.DEVNULL
    subprocess.run(
        [sys.executable, "-P", "-c", _TOLD, str(writer), *argv], env=environment, input=sent, stdout=quiet,
        stderr=quiet, pass_fds=(writer,), check=False,
    )  # fmt: skip
    took = time.monotonic() - began
    os.close(writer)
    with os.fdopen(reader) as told:
        own, kib, nodes, _ = map(float, told.read().split())
    return Cost(took, own, nodes, kib / 1024)


if __name__ == "__main__":
    main()
