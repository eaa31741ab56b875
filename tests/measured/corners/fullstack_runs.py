"""Whole runs of fullstack with a planted cap, and its rates beside fio and iperf3: `KIND DIR [N [FS [RATE [WAY]]]]`.

As root. KIND tbf: a token bucket of RATE Mbit/s on the private link; blkio: a limit of a control group (version 1) of
RATE MiB/s on a loop device with the file system FS, read (WAY out) or written (in). WAY both: whole runs by default, of
which the way out counts. rates: disk and network alone, in turn with fio (two files) and iperf3 (one stream, and four
by `-P`) between the same name spaces, on DIR (`rates DIR N WAY`), the link as fast as it is or of MBIT (`rates DIR N
WAY MBIT`).
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
from typing import TYPE_CHECKING, NamedTuple

from probes.reading.process_stat import read_own_stat
from tests.app.launcher import argv, environment
from tests.real.trim_disk import TrimDisk
from tests.scenarios.fullstack.test_fullstack_real import STATION, processes, stations

if TYPE_CHECKING:
    from probes.files.private_directory import PrivateDirectory

GROUP = Path("/sys/fs/cgroup/blkio/hostdx-fullstack-benchmark")
RUN = ("--streams", "2", "--size", "96M", "--yes", "--json", "--quiet")
ONLY = ("--only", "streams", "--budget", "68")  # seconds: what a direction gets of the default budget


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
    words = ("--dir", str(directory), "--direction", case.way, *RUN, *(() if case.way == "both" else ONLY))
    process = subprocess.Popen(
        argv("run", "fullstack", *words), env=environment(place),
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
            what = "write" if case.way == "in" else "read"
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
    "fio --rw={rw} --bs=512k --direct=1 --ioengine=psync --thread --time_based --runtime={seconds} --group_reporting "
    "--output-format=json --end_fsync=1 --size={size}"
)
TURN_S = 2


def rates(directory: Path, count: int, way: str, mbit: int) -> None:
    """In each turn ours and theirs, who is first in turn: the ratio of each, their median and its 95 % interval."""
    import asyncio

    from scenarios.experiment.statistics.stats import level_interval

    found = asyncio.run(_rates(directory, count, way, mbit))
    for name, pairs in found.items():
        middle, ends = level_interval([ours / theirs for ours, theirs in pairs])
        low, high = ends or (0.0, 0.0)
        told = ", ".join(f"{a:.0f}/{b:.0f}" for a, b in pairs)
        interval = f"{middle:.3f} ({low:.3f} to {high:.3f}) of {count}"
        print(f"{way} {name}: {interval}: {told} MB/s; load {os.getloadavg()[0]:.1f}", flush=True)


async def _rates(directory: Path, count: int, way: str, mbit: int) -> dict[str, list[tuple[float, float]]]:
    from probes.files.private_directory import PrivateDirectory, inode_of

    held = os.open(directory, os.O_RDONLY)
    private = PrivateDirectory.open(str(directory), inode_of(held))
    try:
        return {
            f"{name} by {streams}": await _turns(directory, private, count, way, name, streams, mbit)
            for name, streams in (("disk", 2), ("network", 1), ("network", 4))
            if name == "network" or not mbit
        }
    finally:
        private.close()
        os.close(held)


async def _turns(
    directory: Path, private: PrivateDirectory, count: int, way: str, name: str, streams: int, mbit: int
) -> list[tuple[float, float]]:
    from probes.engine.disk.budget import WriteBudget
    from probes.reading.host import Host
    from probes.system.disk.topology import DirectoryPlacement, find_placement
    from scenarios.fullstack.measurement.bench import StreamBench
    from scenarios.fullstack.measurement.messages import Open, Side

    size, found = 256 << 20, []
    place = find_placement(Host(), str(directory))
    assert isinstance(place, DirectoryPlacement)
    bench = StreamBench(Host(), private, place.leaves, streams * size, streams, WriteBudget(1 << 40), [way])
    side = Side(job=name, direction=way)  # type: ignore[arg-type]
    try:
        await bench.prepare_files(None)
        await bench.open("hostdx-fullstack-rates", Open(where="namespaces"))
        (station,) = (
            pid
            for pid in processes(STATION)
            if (stat := read_own_stat(str(pid))) and stat.parent_pid == os.getpid()
        )
        ends = _ends(station)
        if mbit:
            _plant(station, mbit)
        fds = [file.fd for file in bench._files.files_of_kind("read" if way == "out" else "write")]
        for turn in range(count):
            told = {}
            for whose in ("ours", "theirs")[:: 1 if turn % 2 else -1]:
                if whose == "ours":
                    told[whose] = (await bench.measure_batch([side], [0], TURN_S)).values["MB/s"][0]
                else:
                    told[whose] = _fio(fds, size, way) if name == "disk" else _iperf3(ends, way, streams)
            found.append((told["ours"], told["theirs"]))
        print(
            f"CPU s for 10^9 bytes, {way} {name}: {bench.costs[side].host_cpu_s / bench.costs[side].bytes * 1e9:.2f}"
        )
    finally:
        await bench.close()
    return found


def _told(words: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    return found


def _fio(fds: Sequence[int], size: int, way: str) -> float:
    """Of the very files that are ours, a job each: where they lie decides more than who reads them."""
    jobs = [word for fd in fds for word in (f"--name=file{fd}", f"--filename=/proc/{os.getpid()}/fd/{fd}")]
    rw = "read" if way == "out" else "write"
    found = _told([*FIO.format(seconds=TURN_S, size=size, rw=rw).split(), *jobs])
    return float(found["jobs"][0][rw]["bw_bytes"]) / 1e6  # type: ignore[index]


def _ends(station: int) -> dict[str, list[str]]:
    """How to enter each of the two name spaces, by the link there."""
    found = {}
    for fd in Path(f"/proc/{station}/fd").iterdir():
        for end in ("hdxs", "hdxr") if "net:" in str(fd.readlink()) else ():
            inside = ["nsenter", f"--net={fd}"]
            if not subprocess.run(
                [*inside, "ip", "link", "show", end], capture_output=True, check=False
            ).returncode:
                found[end] = inside
    return found


def _iperf3(ends: dict[str, list[str]], way: str, streams: int) -> float:
    """Between the same two name spaces, over the same link; without its first second, for ours has begun long ago."""
    told = json.loads(subprocess.check_output([*ends["hdxr"], "ip", "-j", "-4", "addr", "show", "hdxr"]))
    address = told[0]["addr_info"][0]["local"]
    server = subprocess.Popen([*ends["hdxr"], "iperf3", "-s", "-1", "-p", "47110"], stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    client = f"iperf3 -c {address} -p 47110 -O 1 -t {TURN_S} -P {streams} -J"
    found = _told([*ends["hdxs"], *client.split(), *(["-R"] if way == "in" else [])])
    server.wait()
    return float(found["end"]["sum_received"]["bits_per_second"]) / 8e6  # type: ignore[index]


if __name__ == "__main__":
    kind, place, *rest = sys.argv[1:]
    times = int(rest[0]) if rest else 10
    if kind == "rates":
        rates(Path(place), times, rest[1] if rest[1:] else "out", int(rest[2]) if rest[2:] else 0)
    else:
        rate = int(rest[2]) if rest[2:] else {"tbf": 1200, "blkio": 100}[kind]
        capped(Case(kind, *rest[1:2], rate=rate, way=rest[3] if rest[3:] else "out"), times, Path(place))
