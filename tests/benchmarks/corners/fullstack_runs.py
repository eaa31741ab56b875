"""Whole runs of fullstack with a planted cap, and its rates beside fio and iperf3: `KIND DIR [N [FS [RATE [WAY]]]]`.

As root. KIND tbf: a token bucket of RATE Mbit/s on the private link; blkio: a limit of a control group (version 1) of
RATE MiB/s on a loop device with the file system FS, read (WAY out) or written (in); rates: disk and network alone, in
turn with fio and iperf3, on the loopback and DIR.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.app.launcher import argv, environment
from tests.real.trim_disk import TrimDisk
from tests.scenarios.fullstack.test_fullstack_real import stations

GROUP = Path("/sys/fs/cgroup/blkio/hostdx-fullstack-benchmark")
BUDGET = "49"  # seconds: what a direction gets of the default budget
RUN = (
    "--only",
    "streams",
    "--streams",
    "2",
    "--size",
    "96M",
    "--yes",
    "--json",
    "--quiet",
    "--budget",
    BUDGET,
)


class Case(NamedTuple):
    kind: str
    file_system: str = "ext4"
    rate: int = 0
    way: str = "out"


def run(place: Path, directory: Path, case: Case, group: Path | None) -> dict[str, object]:
    def join() -> None:
        if group is not None:
            (group / "cgroup.procs").write_text(str(os.getpid()))

    began = time.monotonic()
    process = subprocess.Popen(
        argv("run", "fullstack", "--dir", str(directory), "--direction", case.way, *RUN), env=environment(place),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=join,
    )  # fmt: skip
    while case.kind == "tbf" and not (found := stations(process.pid)):
        assert process.poll() is None
        time.sleep(0.01)
    if case.kind == "tbf":
        _plant(found[0], case.rate)
    out, _ = process.communicate()
    told: dict[str, object] = json.loads(out)
    told["took"] = time.monotonic() - began
    return told


def _plant(station: int, mbit: int) -> None:
    """On each link that it holds, at both ends: the one that sends is delayed."""
    done = []
    for fd in Path(f"/proc/{station}/fd").iterdir():
        for end in ("hdxs", "hdxr") if "net:" in str(fd.readlink()) else ():
            shape = f"tc qdisc add dev {end} root tbf rate {mbit}mbit burst 1mb latency 50ms"
            words = ["nsenter", f"--net={fd}", *shape.split()]
            done.append(subprocess.run(words, capture_output=True, check=False).returncode)
    assert 0 in done


def capped(case: Case, count: int, directory: Path) -> None:
    named = 0
    with (
        tempfile.TemporaryDirectory(dir=directory, prefix="hostdx-fullstack-") as made,
        TrimDisk(Path(made), case.file_system, 3) as disk,
    ):
        group = GROUP if case.kind == "blkio" else None
        if group is not None:
            group.mkdir(exist_ok=True)
            device = Path(f"/sys/block/{disk.device}/dev").read_text().strip()
            what = "read" if case.way == "out" else "write"
            (group / f"blkio.throttle.{what}_bps_device").write_text(f"{device} {case.rate << 20}")
        try:
            for number in range(count):
                told = run(Path(made), disk.mountpoint, case, group)
                streams = told["streams"]
                assert isinstance(streams, dict)
                limits = [(one["what"], one["path"], round(one["rate"] / 1e6)) for one in streams["limits"]]
                levels = {one["side"]: round(one["rate"] / 1e6) for one in streams["levels"]}
                wanted = "network" if case.kind == "tbf" else "disk cap"
                right = bool(limits) and limits[0][0] == wanted
                named += right
                why = [
                    (one["of_disk_ci95"], one["of_network_ci95"], one["reason"]) for one in streams["limits"]
                ]
                print(number, right, limits, levels, why, f"{told['took']:.0f} s", flush=True)
        finally:
            if group is not None:
                time.sleep(0.5)
                group.rmdir()
    print(f"{case}: named in {named} of {count}", flush=True)


FIO = (
    "fio --rw=read --bs=512k --direct=1 --ioengine=psync --thread --time_based --runtime={seconds} --group_reporting "
    "--output-format=json"
)


def rates(directory: Path, count: int) -> None:
    """Turns of 3 s: ours, fio, ours, iperf3; the ratio in each turn, its median and extent."""
    import asyncio

    found = asyncio.run(_rates(directory, count))
    for name, pairs in found.items():
        ratios = sorted(ours / theirs for ours, theirs in pairs)
        told = ", ".join(f"{a:.0f}/{b:.0f}" for a, b in pairs)
        print(
            f"{name}: median {median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f}) of {count}: {told} MB/s"
        )


async def _rates(directory: Path, count: int) -> dict[str, list[tuple[float, float]]]:
    from probes.bench.disk.budget import WriteBudget
    from probes.bench.streams.bench import StreamBench
    from probes.bench.streams.messages import Open, Side
    from probes.host import Host
    from probes.private_directory import PrivateDirectory, inode_of
    from probes.system.disk.topology import Placement, placement

    streams, size = 2, 256 << 20
    held = os.open(directory, os.O_RDONLY)
    private = PrivateDirectory.open(str(directory), inode_of(held))
    place = placement(Host(), str(directory))
    assert isinstance(place, Placement)
    bench = StreamBench(Host(), private, place.leaves, streams * size, streams, WriteBudget(), ["out"])
    found: dict[str, list[tuple[float, float]]] = {"disk": [], "network": []}
    try:
        await bench.prepare(None)
        await bench.open("hostdx-fullstack-rates", Open(where="loopback"))
        sides = [Side(job="disk"), Side(job="network")]
        fds = [file.fd for file in bench._files.of("read")]
        for turn in range(count):
            for number, name in enumerate(found):
                ours: list[float] = []
                theirs: list[float] = []
                for whose in ("ot", "to")[turn % 2]:
                    if whose == "o":
                        train = await bench.train(sides, [number], 3.0)
                        ours += train.values["MB/s"]
                    else:
                        theirs.append(_fio(fds) if name == "disk" else _iperf3(streams))
                found[name].append((ours[0], theirs[0]))
    finally:
        await bench.close()
        private.close()
        os.close(held)
    return found


def _told(words: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    return found


def _fio(fds: Sequence[int]) -> float:
    """Of the very files that ours reads, a job each: where they lie decides more than who reads them."""
    jobs = [word for fd in fds for word in (f"--name=file{fd}", f"--filename=/proc/{os.getpid()}/fd/{fd}")]
    found = _told([*FIO.format(seconds=3).split(), *jobs])
    return float(found["jobs"][0]["read"]["bw_bytes"]) / 1e6  # type: ignore[index]


def _iperf3(streams: int) -> float:
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", "47110"], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    found = _told(f"iperf3 -c 127.0.0.1 -p 47110 -P {streams} -t 3 -l 512K -J".split())
    server.wait()
    return float(found["end"]["sum_received"]["bits_per_second"]) / 8e6  # type: ignore[index]


if __name__ == "__main__":
    kind, place, *rest = sys.argv[1:]
    times = int(rest[0]) if rest else 10
    if kind == "rates":
        rates(Path(place), times)
    else:
        rate = int(rest[2]) if rest[2:] else {"tbf": 1200, "blkio": 100}[kind]
        capped(Case(kind, *rest[1:2], rate=rate, way=rest[3] if rest[3:] else "out"), times, Path(place))
