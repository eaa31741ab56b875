"""`hostdx run rpfilter` for real: judged, stopped in every way, and the live system byte for byte as before."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.probes.reading.process_stat import read_live_stat
from tests.app.launcher import run_hostdx, start_hostdx
from tests.fakes.private_net import PrivateNet, private_net
from tests.needs import NET_NAMESPACE, need, program
from tests.real.network_state import namespaces_in_use, network_state

pytestmark = pytest.mark.real
BRIEF_RUN = ("run", "rpfilter", "--yes", "--block", "0.1", "--routes", "3", "--rates", "0.1")
HOLDER = b"hostdx.scenarios.rpfilter.measurement.lab"
FIREWALLD = Path(__file__).parents[2] / "fixtures" / "rulesets" / "with" / "firewalld-1.3.nft"


@pytest.fixture(autouse=True)
def net() -> Iterator[PrivateNet]:
    """A host of the test's own, with rules like firewalld's, routes, policy and settings.

    Whatever a test does to its run: it is the same afterwards, and so is the machine that the test runs on.
    """
    need(program("nft", "ip"), NET_NAMESPACE)
    before = network_state()
    with private_net(FIREWALLD) as private:
        inside = private.state()
        for part in (
            "chain filter_PREROUTING",
            "fib saddr",
            " table 77",
            "eth7/rp_filter:1",
            "core/rmem_max:",
        ):
            assert part in inside  # else nothing would be compared with nothing
        yield private
        assert private.state() == inside
    assert network_state() == before


def holder_of(runner: int) -> int:
    """The process with the namespaces, a child of the runner; waits until the rules are measured."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for path in Path("/proc").glob("[0-9]*"):
            try:
                stat = read_live_stat(path.name)
                if (
                    stat is not None
                    and stat.parent_pid == runner
                    and HOLDER in (path / "cmdline").read_bytes().split(b"\0")
                ):
                    return int(path.name)
            except (OSError, ValueError):
                continue
        time.sleep(0.02)
    raise AssertionError("no process with namespaces was started")


def wait_measuring(process: subprocess.Popen[bytes], net: PrivateNet) -> tuple[int, str]:
    """(holder, its namespace) once the experiment is under way."""
    assert process.stderr is not None
    for line in process.stderr:
        if b" groups" in line:
            break
    holder = holder_of(process.pid)
    namespace = str(Path(f"/proc/{holder}/ns/net").readlink())
    assert namespace not in (net.name, str(Path("/proc/self/ns/net").readlink()))
    assert str(Path(f"/proc/{process.pid}/ns/net").readlink()) == net.name
    return holder, namespace


def assert_gone(holder: int, namespace: str) -> None:
    deadline = time.monotonic() + 20
    while Path(f"/proc/{holder}/ns").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    # its senders end on their own, a moment later
    while namespace in namespaces_in_use() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert namespace not in namespaces_in_use()
    path = Path("/run/netns")
    assert not [n for n in (path.iterdir() if path.exists() else ()) if "hostdx" in n.name]


def list_journals(place: Path) -> list[Path]:
    return list((place / "state/hostdx/journal").iterdir())


@pytest.mark.noisy(
    "two verdicts at 95 %", false_failures="5 % at most, computed (the verdict on the control); 0 of 4"
)
def test_to_its_end(tmp_path: Path, net: PrivateNet) -> None:
    done = run_hostdx(tmp_path, *BRIEF_RUN, "--budget", "8", "--json", timeout=120, preexec_fn=net.join)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["rpfilter"]["loaded"] is True
    assert document["rpfilter"]["place"].startswith("table inet firewalld, chain filter_PREROUTING")
    by = {v["variant"]: v for v in document["verdicts"]}
    assert set(by) == {"check", "trivial"}
    assert by["check"]["delta_unit"] == "ns/packet"
    assert by["check"]["verdict"] in (
        "slower",
        "inconclusive",
    )  # inconclusive on a machine that is busy with others
    assert by["trivial"]["verdict"] in ("no material difference", "inconclusive")
    assert list_journals(tmp_path) == []


@pytest.mark.soak("killed and undone")
def test_told_to_stop(tmp_path: Path, net: PrivateNet) -> None:
    process = start_hostdx(tmp_path, *BRIEF_RUN, "--budget", "60", preexec_fn=net.join)
    holder, namespace = wait_measuring(process, net)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert_gone(holder, namespace)
    assert list_journals(tmp_path) == []


def test_killed_and_undone(tmp_path: Path, net: PrivateNet) -> None:
    process = start_hostdx(tmp_path, *BRIEF_RUN, "--budget", "60", preexec_fn=net.join)
    holder, namespace = wait_measuring(process, net)
    process.kill()
    process.communicate(timeout=30)
    assert_gone(holder, namespace)
    deadline = time.monotonic() + 20
    while list_journals(tmp_path) and time.monotonic() < deadline:  # the supervisor may be at it
        undo = run_hostdx(tmp_path, "undo")
        assert undo.returncode in (0, 3), undo.stderr
        time.sleep(0.1)
    assert list_journals(tmp_path) == []


@pytest.mark.soak("killed and undone")
def test_the_namespaces_end_under_it(tmp_path: Path, net: PrivateNet) -> None:
    process = start_hostdx(tmp_path, *BRIEF_RUN, "--budget", "60", preexec_fn=net.join)
    holder, namespace = wait_measuring(process, net)
    os.kill(holder, signal.SIGKILL)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 3
    assert b"Traceback" not in err
    assert_gone(holder, namespace)
    assert list_journals(tmp_path) == []
