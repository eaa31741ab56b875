"""Other ways to a node than ssh alone: srun, ClusterShell's tree over a gateway, and sudo on the node."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.app.features.fleet.folder import FleetFolder
from tests.app import forked
from tests.app.features.fleet.launch.test_campaign import make_campaign
from tests.app.launcher import own_env
from tests.fakes.fake_fleet import FakeFleet
from tests.needs import module, needs

pytestmark = [needs(module("ClusterShell"))]

SUDO = """#!/bin/sh
[ "$1 $2" = "-n --" ] || { echo "sudo: would ask" >&2; exit 1; }
shift 2
[ "$NODE" = user3 ] && { echo "sudo: a password is required" >&2; exit 1; }
echo "$NODE" >> "${0%/*}/became"
exec "$@"
"""


def write_script(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def triage(fleet: FakeFleet, nodes: str, *words: str, rsh: Path, **extra: str) -> dict[str, tuple[str, str]]:
    """Each node's state and reason."""
    argv = [sys.executable, "-P", "-m", "hostdx.app.cli", "fleet", "triage", "-w", nodes, "--rsh", str(rsh)]
    options = ["--bundle", str(fleet.bundle), "-o", str(fleet.place / "answers"), "--python", sys.executable]
    done = forked.run(
        [*argv, *options, *words], env=own_env(fleet.place) | extra, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=200, check=False,
    )  # fmt: skip
    lines = FleetFolder(fleet.place / "answers").read_answers()
    assert lines, done.stderr
    return {node: (line.state, line.reason) for (node, _), line in lines.items()}


def test_as_root_by_sudo(tmp_path: Path) -> None:
    fleet = FakeFleet(tmp_path)
    sudo = write_script(tmp_path / "bin" / "sudo", SUDO)
    path = f"{sudo.parent}:/usr/bin:/bin"
    answers = triage(fleet, "n1,root2,user3", "--become", "sudo", rsh=fleet.ssh, PATH=path)
    assert {node: state for node, (state, _) in answers.items()} == {
        "n1": "answered", "root2": "answered", "user3": "refused",
    }  # fmt: skip
    assert sorted((sudo.parent / "became").read_text().split()) == ["n1", "root2"]


def test_plans_and_runs_over_a_gateway(
    tmp_path: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is given up breaks nothing for the calls after it."""
    from ClusterShell.Task import Task, task_self

    routes = tmp_path / "topology.conf"
    host_name = socket.gethostname().split(".")[0]
    routes.write_text(f"[routes]\n{host_name}: gw1\ngw1: n[1-9],rubbish1\n")
    monkeypatch.setattr(Task, "TOPOLOGY_CONFIGS", [str(routes)])
    monkeypatch.setattr(task_self(), "topology", None)
    monkeypatch.setenv("CLUSTERSHELL_GW_PYTHON_EXECUTABLE", sys.executable)
    fleet_run = make_campaign(FakeFleet(tmp_path), "fake", "n1", "rubbish1", "n2")
    for round in (0, 1):
        plans = fleet_run.ask_consents(
            fleet_run.fetch_plans(fleet_run.unanswered_nodes(fleet_run.head.nodes, round), [], round), round
        )
        fleet_run.measure_nodes(round, plans, [])
    assert {key: line.state for key, line in fleet_run.folder.read_answers().items()} == {
        (node, round): state for round in (0, 1) for node, state in
        {"n1": "answered", "n2": "answered", "rubbish1": "rubbish"}.items()
    }  # fmt: skip
