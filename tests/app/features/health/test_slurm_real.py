"""A node of a real Slurm is drained while its CPUs are slowed, and resumed after; what others drained stays drained."""

import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.health.node_class import NodeClass, make_class_load
from tests.needs import ROOT, need, needs, not_here, program
from tests.syntax import ROOT as TREE

WRAPPER = TREE / "app/features/health/batch/hostdx-slurm-health"
NODE = "w1"
# What other tests leave on this machine for a while (loop devices) is no matter of this one.
WITHOUT_RULES = """
import sys
import hostdx.app.features.health.check as check
from hostdx.app.cli.entry import run_command_line
check._add_rule_and_leftover_reasons = lambda *_: None
sys.exit(run_command_line(sys.argv[1:]))
"""
pytestmark = [
    pytest.mark.real("cpu"),
    pytest.mark.soak("test_batch.py, with stand-ins for Slurm"),
    needs(ROOT, program("slurmctld", "slurmd", "munged", "scontrol")),
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def run_daemon(*command: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait(10)


class Cluster:
    """One controller and one node, in directories of the test's own."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(folder / "slurm.conf"),
            "HOSTDX_HEALTH_CONF": str(folder / "health.conf"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
        }
        for name in ("munge", "ctld", "slurmd"):
            (folder / name).mkdir(mode=0o700)
        key = folder / "munge" / "key"
        key.touch(0o600)
        key.write_bytes(os.urandom(64))
        munge = [f"--{name}-file={folder}/munge/{name}" for name in ("key", "log", "pid", "seed")]
        socket_path = folder / "munge" / "socket"
        stack.enter_context(
            run_daemon("munged", "-F", "-f", f"--socket={socket_path}", *munge, environment=self.environment)
        )
        exported = ("SLURM_CONF", "HOSTDX_HEALTH_CONF", "XDG_STATE_HOME", "XDG_RUNTIME_DIR")
        exports = "".join(
            f"export {name}={self.environment[name]}\n" for name in exported
        )  # slurmd passes nothing on
        (folder / "check").write_text(f"#!/bin/sh\n{exports}exec {WRAPPER}\n")
        (folder / "check").chmod(0o755)
        (folder / "slurm.conf").write_text(
            f"ClusterName=t\nSlurmctldHost=localhost\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n"
            f"AuthInfo=socket={socket_path}\nCryptoType=crypto/munge\nStateSaveLocation={folder}/ctld\n"
            f"SlurmctldPidFile={folder}/ctld.pid\nSlurmdPidFile={folder}/slurmd.pid\nSlurmdSpoolDir={folder}/slurmd\n"
            f"SlurmctldPort={free_port()}\nSlurmdPort={free_port()}\nProctrackType=proctrack/linuxproc\n"
            f"TaskPlugin=task/none\nSlurmctldLogFile={folder}/ctld.log\nSlurmdLogFile={folder}/slurmd.log\n"
            f"ReturnToService=2\nSchedulerType=sched/builtin\nSelectType=select/linear\nSwitchType=switch/none\n"
            f"HealthCheckProgram={folder}/check\nHealthCheckInterval=6\nHealthCheckNodeState=IDLE\n"
            f"NodeName={NODE} NodeHostname=localhost NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN\n"
            f"PartitionName=p Nodes={NODE} Default=YES MaxTime=60 State=UP\n"
        )
        self.wait_for(socket_path.exists, 20)
        stack.enter_context(run_daemon("slurmctld", "-D", environment=self.environment))
        self.slurmd = stack.enter_context(
            run_daemon("slurmd", "-D", "-N", NODE, environment=self.environment)
        )

    def wait_for(self, condition: object, seconds: float) -> bool:
        assert callable(condition)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition():
                return True
            time.sleep(0.5)
        return False

    def scontrol(self, *words: str) -> str:
        done = subprocess.run(
            ["scontrol", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.stdout

    @property
    def state(self) -> str:
        return self.scontrol("--oneliner", "show", "node", NODE).partition(" State=")[2].partition(" ")[0]

    @property
    def reason(self) -> str:
        return self.scontrol("--oneliner", "show", "node", NODE).partition(" Reason=")[2].strip()


@contextmanager
def slowed_to(pid: int, share: float) -> Iterator[None]:
    """The process and what it starts get so much of one CPU."""
    version_1, version_2 = Path("/sys/fs/cgroup/cpu/hostdx-test"), Path("/sys/fs/cgroup/hostdx-test")
    period, quota = 50_000, int(50_000 * share)
    group = version_1 if version_1.parent.is_dir() else version_2
    try:
        group.mkdir()
        if group == version_1:
            (group / "cpu.cfs_period_us").write_text(f"{period}")
            (group / "cpu.cfs_quota_us").write_text(f"{quota}")
        else:
            (group / "cpu.max").write_text(f"{quota} {period}")
        (group / "cgroup.procs").write_text(f"{pid}")
    except OSError as error:
        if group.is_dir():
            group.rmdir()
        not_here(f"no control group with a CPU quota can be made here: {error}")
    try:
        yield
    finally:
        for inside in (group / "cgroup.procs").read_text().split():
            (group.parent / "cgroup.procs").write_text(inside)
        until = time.monotonic() + 20
        while (group / "cgroup.procs").read_text() and time.monotonic() < until:
            time.sleep(0.1)
        group.rmdir()


def measured_level(folder: Path) -> float:
    """What this machine gives now, at least: the level of a class that it is fit for."""
    spread = [0.0, 0.01, -0.01] * 30
    node_class = NodeClass(
        schema="hostdx-class/1",
        name="t",
        loads=(make_class_load(("cpu-integer", "one"), spread, [0.01] * 90),),
    )
    (folder / "probe.json").write_bytes(msgspec.json.encode(node_class))
    command = [sys.executable, "-c", WITHOUT_RULES, "health", "--format", "json"]
    done = subprocess.run(
        [*command, "--class", str(folder / "probe.json")],
        capture_output=True,
        timeout=60,
        check=False,
        cwd=TREE,
    )
    document = msgspec.json.decode(done.stdout)
    if not document["loads"]:
        not_here(f"no load can be measured here: {document['sentence']}")
    return math.log(document["loads"][0]["ratio"])


def test_a_slowed_node_is_drained_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(program("hostname", "timeout"))
    for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    level = measured_level(tmp_path) - 0.3  # a busy machine may give less for a while
    spread = [level + 0.01 * (n % 3 - 1) for n in range(90)]
    load = make_class_load(("cpu-integer", "one"), spread, [0.01] * 90)
    (tmp_path / "t.json").write_bytes(
        msgspec.json.encode(NodeClass(schema="hostdx-class/1", name="t", loads=(load,)))
    )
    hostdx = tmp_path / "hostdx"
    hostdx.write_text(f"#!/bin/sh\ncd {TREE} && exec {sys.executable} -c '{WITHOUT_RULES}' \"$@\"\n")
    hostdx.chmod(0o755)
    (tmp_path / "health.conf").write_text(
        f"HOSTDX={hostdx}\nWITHIN=20\nCLASS={tmp_path}/t.json\nNODE={NODE}\n"
    )
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, stack)
        assert cluster.wait_for(lambda: cluster.state.startswith("IDLE"), 60), cluster.state
        time.sleep(20)  # a check of a fit node changes nothing
        assert cluster.state == "IDLE", cluster.reason
        with slowed_to(cluster.slurmd.pid, 0.4):
            assert cluster.wait_for(lambda: "DRAIN" in cluster.state, 90), cluster.state
            assert cluster.reason.startswith("hostdx:"), cluster.reason
        assert cluster.wait_for(lambda: cluster.state == "IDLE", 90), (cluster.state, cluster.reason)
        cluster.scontrol("update", f"nodename={NODE}", "state=drain", "reason=disk-ordered")
        time.sleep(30)
        assert "DRAIN" in cluster.state and cluster.reason.split(" ")[0] == "disk-ordered"
        cluster.slurmd.send_signal(signal.SIGTERM)
