"""`fleet run kernel` over ssh to twelve name spaces of this machine, measured one at a time: is the odd one found?

    python -m tests.measured.nodes.name_spaces planted disk like … (root; a control group of its own a node)

`planted`: one drawn node has a fifth of a CPU, another one a receive buffer of 16 KiB (net.ipv4.tcp_rmem, its own name
space's). `disk`: one may make 100 reads a second, another one has that buffer. `like`: nothing. Each line says who was
named, and the setting that stands first. In a copy of the tree that nobody works on. Three nodes at a time make their
plans: all of them are this one machine.
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

from tests.app.features.bundle.conftest import made
from tests.real.node_spaces import NodeSpaces

NODES = [f"node{number:02}" for number in range(1, 13)]
PLACE = "/var/tmp"
BUFFER = "sysctl -qw net.ipv4.tcp_rmem='4096 16384 16384'"
LOADS = ("cpu-integer", "syscall", "tcp-stream")  # one that each plant touches, and another
HOW = ("--budget", "2", "--at-once", "1", "--fanout", "3", "--yes")
DISK = ("--only", "randread-4k", "--size", "64M", "--writes", "1G")
KINDS = {"planted": ("cpu", "buffer"), "disk": ("blkio", "buffer"), "like": ()}


def first(what: str) -> tuple[str, str]:
    """The fact that is to be found first."""
    device = Path(PLACE).stat().st_dev
    return {
        "cpu": ("cgroup", "cpu"),
        "blkio": ("cgroup", f"io {os.major(device)}:{os.minor(device)} riops"),
        "buffer": ("sysctl", "net.ipv4.tcp_rmem"),
    }[what]


@contextmanager
def groups(planted: dict[str, str]) -> Iterator[dict[str, str]]:
    controller = "blkio" if "blkio" in planted else "cpu"
    found = {node: Path(f"/sys/fs/cgroup/{controller}/hostdx-fleet-{os.getpid()}-{node}") for node in NODES}
    for folder in found.values():
        folder.mkdir()
    if "cpu" in planted:
        (found[planted["cpu"]] / "cpu.cfs_quota_us").write_text("20000")
    elif "blkio" in planted:
        device = first("blkio")[1].split()[1]
        (found[planted["blkio"]] / "blkio.throttle.read_iops_device").write_text(f"{device} 100")
    try:
        yield {node: str(folder) for node, folder in found.items()}
    finally:
        for folder in found.values():
            while folder.joinpath("cgroup.procs").read_text():  # who was told to stop ends by itself
                time.sleep(0.2)
            folder.rmdir()


def run(place: Path, bundle: Path, kind: str, planted: dict[str, str]) -> dict[str, Any]:
    extra = dict.fromkeys(NODES, "ip link set lo up")
    if "buffer" in planted:
        extra[planted["buffer"]] += f"; {BUFFER}"
    command = [sys.executable, "-P", "-m", "app.cli", "fleet"]
    tree = str(Path(__file__).parents[3])
    environment = {
        **os.environ, "PYTHONPATH": tree, "HOSTDX_STARTED_AS": str(bundle), "XDG_STATE_HOME": str(place),
    }  # fmt: skip
    (place / "data").mkdir()
    what = [*(word for load in LOADS for word in ("--only", load)), *HOW]
    if kind == "disk":
        what += [*DISK, "--dir", str(place / "data")]
    with groups(planted) as own, NodeSpaces(place, extra, own) as nodes:
        how = ["-w", "node[01-12]", "--rsh", f"ssh -F {nodes.config}", "--python", sys.executable]
        done = subprocess.run(
            [*command, "run", "kernel", *what, *how, "-o", str(place / "answers")],
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


def told(kind: str, planted: dict[str, str], found: dict[str, Any]) -> str:
    named = {one["node"]: one for one in found["odd"]}
    words = []
    for what, node in planted.items():
        setting = next(iter(named[node]["settings"]), {}) if node in named else {}
        right = (setting.get("subject"), setting.get("name")) == first(what)
        said = f"setting {'first' if right else setting}" if node in named else "not named"
        words.append(f"{what} {'named' if node in named else ''} {said}")
    innocent = {
        node: [(found["measures"][s["column"]]["title"], round(s["ratio"], 2)) for s in one["standings"]]
        for node, one in named.items()
        if node not in planted.values()
    }
    return (
        f"{kind}: {'; '.join(words)}; others named {innocent or 'none'}; {len(found['suspects'])} still open, "
        f"{len(found['cleared'])} cleared, {found['rounds']} rounds, {len(found['missing'])} missing"
    )


def main() -> None:
    draw = random.Random()
    for kind in sys.argv[1:] or list(KINDS):
        planted = dict(zip(KINDS[kind], draw.sample(NODES, len(KINDS[kind])), strict=True))
        began = time.monotonic()
        with tempfile.TemporaryDirectory(dir=PLACE, prefix="hostdx-fleet-") as made_here:
            bundle = Path(made_here) / "hostdx.pyz"
            bundle.write_bytes(made())
            found = run(Path(made_here), bundle, kind, planted)
        took, load = time.monotonic() - began, os.getloadavg()[0]
        print(f"{told(kind, planted, found)}, {took:.0f} s at a load of {load:.0f}", flush=True)


if __name__ == "__main__":
    main()
