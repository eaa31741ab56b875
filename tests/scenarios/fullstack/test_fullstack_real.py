"""Whole runs on a disk and links of our own: measured, killed at both ends, cut off; nothing is left of any."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.probes.reading.process_stat import read_live_stat
from tests.app.launcher import argv, own_env, run_hostdx, start_hostdx
from tests.needs import NET_NAMESPACE, ROOT, needs, one_always, program
from tests.real.iosched_kill import list_journals, own_processes
from tests.real.network_state import namespaces_in_use
from tests.real.polled import happens
from tests.real.trim_disk import TrimDisk

pytestmark = [pytest.mark.real, needs(ROOT, NET_NAMESPACE, program("ip", "nsenter"))]
STATION, TEXT = b"hostdx.scenarios.fullstack.measurement.station", b"hostdx_peer"
SMALL = ("--streams", "2", "--size", "96M", "--yes", "--budget")
SSH = '#!/bin/sh\nexec {ssh} -F {config} "$@"\n'
CONFIG = """Host node
Hostname 127.0.0.1
ProxyCommand /usr/sbin/sshd -i -e -f {place}/sshd.conf
IdentityFile {place}/user
UserKnownHostsFile /dev/null
StrictHostKeyChecking no
LogLevel ERROR
User root
"""
SSHD = """HostKey {place}/host
AuthorizedKeysFile {place}/user.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
"""


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-test-") as folder:
        yield Path(folder)


@pytest.fixture
def disk(place: Path) -> Iterator[TrimDisk]:
    with TrimDisk(place, "ext4", 3) as trim_disk:
        yield trim_disk


def run_arguments(disk: TrimDisk, budget: str, *more: str) -> tuple[str, ...]:
    return ("run", "fullstack", "--dir", str(disk.mountpoint), *SMALL, budget, *more)


def pids_of(word: bytes) -> set[int]:
    pids = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in path.read_bytes() and int(path.parts[2]) != os.getpid():
                pids.add(int(path.parts[2]))
        except OSError:
            continue
    return pids


def find_stations(runner: int) -> list[int]:
    """Of that run, once they stream: with the peer that was forked from it."""
    pids = []
    for pid in pids_of(STATION):
        stat = read_live_stat(str(pid))
        if (
            stat is not None
            and stat.parent_pid == runner
            and len(list(Path(f"/proc/{pid}/task").iterdir())) > 2
        ):
            pids.append(pid)
    return pids


def find_remains(place: Path, disk: TrimDisk) -> list[str]:
    """What a run left behind, after `hostdx undo` where the supervisor was not faster."""
    happens(lambda: not own_processes(place), 30)
    if list_journals(place):
        run_hostdx(place, "undo")
    names = [str(name) for name in disk.names]
    return [*names, *(str(j) for j in list_journals(place)), *(str(pid) for pid in own_processes(place))]


@pytest.mark.soak("a peer by hand and its cable; killed at both ends")
def test_both_directions_to_the_end(place: Path, disk: TrimDisk) -> None:
    before = namespaces_in_use()
    done = run_hostdx(place, *run_arguments(disk, "22"), "--json", "--quiet", timeout=200)
    assert done.returncode == 0, done.stderr
    loads = json.loads(done.stdout)
    sides = {(level["direction"], level["side"]): level for level in loads["streams"]["levels"]}
    assert {
        ("out", "disk"),
        ("out", "network"),
        ("out", "sendfile"),
        ("in", "splice"),
        ("in", "direct"),
    } <= set(sides)
    assert all(side["rate"] > 0 and side["cpu_s_per_gb"] > 0 for side in sides.values())
    assert {limit["direction"] for limit in loads["streams"]["limits"]} == {"out", "in"}
    assert loads["streams"]["private"]
    assert find_remains(place, disk) == []
    assert happens(lambda: namespaces_in_use() <= before)


@pytest.mark.parametrize("whom", one_always("runner", "station", "interrupt"))
def test_nothing_is_left_where_it_is_killed(place: Path, disk: TrimDisk, whom: str) -> None:
    before, free = namespaces_in_use(), os.statvfs(disk.mountpoint).f_bavail
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = start_hostdx(place, *run_arguments(disk, "60"), **quiet)
    assert happens(lambda: find_stations(running.pid), 60)
    (station,) = find_stations(running.pid)
    if whom == "station":
        os.kill(station, signal.SIGKILL)
    else:
        running.send_signal(signal.SIGKILL if whom == "runner" else signal.SIGINT)
    running.wait(timeout=60)
    assert running.returncode == {"runner": -9, "station": 3, "interrupt": 130}[whom]
    assert find_remains(place, disk) == []
    assert happens(lambda: namespaces_in_use() <= before)
    subprocess.run(["sync", "-f", str(disk.mountpoint)], check=True)
    assert happens(lambda: os.statvfs(disk.mountpoint).f_bavail > free - (16 << 20) // 4096)


@pytest.fixture
def ssh(place: Path) -> dict[str, str]:
    """The environment in which `ssh node` is a real sshd of the test's own, without a network in between."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", place / name], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    (place / "sshd.conf").write_text(SSHD.format(place=place))
    (place / "ssh.conf").write_text(CONFIG.format(place=place))
    (place / "bin").mkdir()
    (place / "bin/ssh").write_text(SSH.format(ssh="/usr/bin/ssh", config=place / "ssh.conf"))
    (place / "bin/ssh").chmod(0o755)
    return own_env(place) | {"PATH": f"{place}/bin:{os.environ['PATH']}"}


def run_with(env: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv(*words), env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip


@needs(program("ssh", "sshd"))
@pytest.mark.parametrize("whom", ["nobody", "runner", "peer", "station"])
@pytest.mark.soak("a peer by hand")
def test_a_peer_over_ssh_ends_with_its_run(
    place: Path, disk: TrimDisk, ssh: dict[str, str], whom: str
) -> None:
    before = pids_of(TEXT)
    more = ("--peer", "node", "--direction", "out", "--json", "--quiet")
    running = run_with(ssh, *run_arguments(disk, "12" if whom == "nobody" else "60", *more))
    assert happens(lambda: find_stations(running.pid), 60)
    new = pids_of(TEXT) - before
    peers = {pid for pid in new if b"ssh" not in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]}
    assert peers
    if whom == "runner":
        running.kill()
    elif whom in ("peer", "station"):
        for pid in peers if whom == "peer" else find_stations(running.pid):
            os.kill(pid, signal.SIGKILL)
    out, err = running.communicate(timeout=120)
    assert running.returncode == {"nobody": 0, "runner": -9, "peer": 3, "station": 3}[whom], err
    if whom == "nobody":
        assert not json.loads(out)["streams"]["private"]
    assert happens(lambda: not (pids_of(TEXT) - before), 30)
    assert find_remains(place, disk) == []


UP = """set -e
ip link set lo up
ip link add near type veth peer name far netns {other}
ip addr add 10.77.0.1/24 dev near
ip link set near up
nsenter -t {other} -n ip addr add 10.77.0.2/24 dev far
nsenter -t {other} -n ip link set far up
nsenter -t {other} -n ip link set lo up
"""


def hold_namespace() -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo up; exec sleep infinity"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"up\n"
    return process


@pytest.fixture
def two_hosts() -> Iterator[tuple[int, int]]:
    """Two name spaces with a cable between them: the process that holds each."""
    near, far = hold_namespace(), hold_namespace()
    try:
        script = UP.format(other=far.pid)
        subprocess.run(["nsenter", "-t", str(near.pid), "-n", "sh", "-c", script], check=True)
        yield near.pid, far.pid
    finally:
        for process in (near, far):
            process.kill()
            process.communicate()


@pytest.mark.parametrize("ending", one_always("cut", "end", "kill", "runner", "both"))
def test_a_peer_by_hand_and_its_cable(
    place: Path, disk: TrimDisk, two_hosts: tuple[int, int], ending: str
) -> None:
    near, far = two_hosts
    other = place / "other"
    other.mkdir()
    inside = ["nsenter", "-t", str(far), "-n"]
    peer = subprocess.Popen(
        [*inside, *argv("peer", "--bind", "10.77.0.2", "--seconds", "300")], env=own_env(other),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert peer.stderr is not None
    text = ""
    while not (match := re.search(r"--peer (\S+) --token (\S+)", text)):
        text += peer.stderr.readline()
    more = ("--peer", match[1], "--token", match[2], "--direction", "out", "--quiet")
    running = subprocess.Popen(
        ["nsenter", "-t", str(near), "-n", *argv(*run_arguments(disk, "12" if ending == "end" else "100", *more))],
        env=own_env(place), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert happens(lambda: find_stations(running.pid), 60)
    assert count_connections(far) > 0
    if ending in ("kill", "both"):
        peer.kill()
    if ending in ("runner", "both"):
        running.kill()
    elif ending == "cut":
        time.sleep(1.0)
        subprocess.run([*inside, "ip", "link", "set", "far", "down"], check=True)
    running.communicate(timeout=150)
    assert running.returncode == {"end": 0, "runner": -9, "both": -9}.get(ending, 3)
    peer.communicate(timeout=60)
    assert peer.returncode == (-9 if ending in ("kill", "both") else 0)
    assert happens(lambda: count_connections(far) == 0, 40)
    assert find_remains(place, disk) == []
    assert not own_processes(other) and list_journals(other) == []


def count_connections(pid: int) -> int:
    """Listening or connected, in that name space."""
    table = subprocess.run(
        ["nsenter", "-t", str(pid), "-n", "cat", "/proc/net/tcp"],
        capture_output=True,
        text=True,
        check=True,
    )
    lines = table.stdout.splitlines()[1:]
    return sum(line.split()[3] in ("01", "0A") for line in lines)


def test_the_token_of_another_peer_is_refused(place: Path, disk: TrimDisk) -> None:
    with subprocess.Popen(
        argv("peer", "--bind", "127.0.0.1"), env=own_env(place), stderr=subprocess.PIPE, text=True
    ) as peer:
        assert peer.stderr is not None
        text = ""
        while not (match := re.search(r"--peer (\S+) --token (\S+)", text)):
            text += peer.stderr.readline()
        done = run_hostdx(place, *run_arguments(disk, "12"), "--peer", match[1], "--token", "0" * 32)
        assert done.returncode == 3 and disk.names == set()
        peer.kill()
