"""`fleet run kernel` over ssh to twelve name spaces of this machine, measured one at a time: is the odd one found?

    python -m tests.benchmarks.nodes.name_spaces planted like planted … (root; a control group of its own a node)

In a copy of the tree that nobody works on: it takes 40 minutes a run of `planted` on a machine with a load of 15.

`planted`: one drawn node has a fifth of a CPU, another one a receive buffer of 16 KiB (net.ipv4.tcp_rmem, its own name
space's). `like`: nothing. `limit`: the fifth of a CPU alone, by `null` (a third of the time). Each
line says who was named, and the setting that stands first.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.app.bundle.conftest import made
from tests.real.node_spaces import NodeSpaces

NODES = [f"node{number:02}" for number in range(1, 13)]
GROUPS = Path("/sys/fs/cgroup/cpu")
BUFFER = "sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384'"
KERNEL = ("kernel", "--budget", "12", "--size", "64M", "--writes", "1G", "--at-once", "1", "--yes")
NULL = ("null", "--budget", "5", "--size", "64M", "--at-once", "1", "--yes")
FIRST = {"limit": ("cgroup", "cpu"), "buffer": ("sysctl", "net.ipv4.tcp_rmem")}


@contextmanager
def groups(limited: str) -> Iterator[dict[str, str]]:
    found = {node: GROUPS / f"hostdx-fleet-{os.getpid()}-{node}" for node in NODES}
    for folder in found.values():
        folder.mkdir()
    if limited:
        (found[limited] / "cpu.cfs_quota_us").write_text("20000")
    try:
        yield {node: str(folder) for node, folder in found.items()}
    finally:
        for folder in found.values():
            while folder.joinpath("cgroup.procs").read_text():  # who was told to stop ends by itself
                time.sleep(0.2)
            folder.rmdir()


def run(place: Path, bundle: Path, what: tuple[str, ...], planted: dict[str, str]) -> dict[str, Any]:
    extra = dict.fromkeys(NODES, "ip link set lo up")
    if "buffer" in planted:
        extra[planted["buffer"]] += f"; {BUFFER}"
    command = [sys.executable, "-P", "-m", "app.cli", "fleet"]
    environment = {**os.environ, "HOSTDX_STARTED_AS": str(bundle), "XDG_STATE_HOME": str(place)}
    (place / "data").mkdir()
    with groups(planted.get("limit", "")) as own, NodeSpaces(place, extra, own) as nodes:
        how = ["-w", "node[01-12]", "--rsh", f"ssh -F {nodes.config}", "--python", sys.executable]
        done = subprocess.run(
            [*command, "run", *what, "--dir", str(place / "data"), *how, "-o", str(place / "answers")],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        left = nodes.in_memory()
    if done.returncode or left:
        raise SystemExit(f"{done.returncode}, left {left}: {done.stderr[-2000:]}")
    said = subprocess.run(
        [*command, "judge", "--json", str(place / "answers")],
        env=environment,
        capture_output=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def main() -> None:
    draw = random.Random()
    for kind in sys.argv[1:] or ["planted", "like"]:
        odd = draw.sample(NODES, {"planted": 2, "limit": 1}.get(kind, 0))
        planted = dict(zip(FIRST, odd, strict=False))
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-fleet-") as made_here:
            bundle = Path(made_here) / "hostdx.pyz"
            bundle.write_bytes(made())
            found = run(Path(made_here), bundle, NULL if kind == "limit" else KERNEL, planted)
        named = {one["node"]: one for one in found["odd"]}
        told = []
        for what, node in planted.items():
            first = next(iter(named[node]["settings"]), {}) if node in named else {}
            right = (first.get("subject"), first.get("name")) == FIRST[what]
            told.append(
                f"{what} {'named' if node in named else 'not named'}, setting {'first' if right else first}"
            )
        innocent = {
            node: [(found["measures"][s["column"]]["title"], round(s["ratio"], 2)) for s in one["standings"]]
            for node, one in named.items() if node not in odd
        }  # fmt: skip
        print(
            f"{kind}: {'; '.join(told)}; others named {innocent or 'none'}; {len(found['suspects'])} still open, "
            f"{len(found['cleared'])} cleared, {found['rounds']} rounds, {len(found['missing'])} missing, "
            f"{time.monotonic() - began:.0f} s at a load of {os.getloadavg()[0]:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
