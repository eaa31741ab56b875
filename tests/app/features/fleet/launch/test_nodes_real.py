"""Real ssh to nodes that are namespaces of this machine, with the real bundle and nothing installed there."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.app.features.fleet.folder import FleetFolder
from tests.app.features.bundle.conftest import bundle  # noqa: F401 (a fixture)
from tests.app.launcher import own_env
from tests.needs import MOUNT_NAMESPACE, NET_NAMESPACE, ROOT, module, needs, program
from tests.real.node_spaces import NodeSpaces

pytestmark = [
    pytest.mark.real,
    needs(ROOT, NET_NAMESPACE, MOUNT_NAMESPACE, program("ssh", "sshd", "nsenter"), module("ClusterShell")),
]
NODES = {"node1": "", "node2": "", "node3": "sysctl -qw net.ipv4.tcp_sack=0"}


@pytest.fixture
def place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-test-") as folder:
        yield Path(folder)


@pytest.fixture
def nodes(place: Path) -> Iterator[NodeSpaces]:
    with NodeSpaces(place, NODES) as node_spaces:
        yield node_spaces


def run_fleet(place: Path, nodes: NodeSpaces, bundle: Path, *words: str) -> subprocess.CompletedProcess[str]:  # noqa: F811
    options = ["--rsh", f"ssh -F {nodes.config}", "-o", str(place / "answers")]
    return subprocess.run(
        [sys.executable, "-P", "-m", "hostdx.app.cli", "fleet", *words, *options, "--python", sys.executable],
        env=own_env(place) | {"HOSTDX_STARTED_AS": str(bundle)}, capture_output=True, text=True, timeout=400,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip


def test_triage_over_ssh(place: Path, nodes: NodeSpaces, bundle: Path) -> None:  # noqa: F811
    done = run_fleet(place, nodes, bundle, "triage", "-w", "node[1,3]")
    assert done.returncode == 0, done.stderr
    answers = FleetFolder(place / "answers").read_answers()
    assert {node: line.state for (node, _), line in answers.items()} == dict.fromkeys(
        ("node1", "node3"), "answered"
    )
    for line in answers.values():
        document = json.loads((place / "answers" / str(line.file)).read_text())
        assert document["facts"], "with its facts, for the judgement"
    assert not nodes.in_memory()


@pytest.mark.soak("triage over ssh; nodes of a fake ssh")
def test_nodes_measure_one_at_a_time_and_each_has_a_lock_of_its_own(
    place: Path,
    nodes: NodeSpaces,
    bundle: Path,  # noqa: F811
) -> None:
    (place / "data").mkdir()
    options = (
        "-w",
        "node[1-2]",
        "--dir",
        str(place / "data"),
        "--budget",
        "5",
        "--size",
        "64M",
        "--at-once",
        "1",
    )
    done = run_fleet(place, nodes, bundle, "run", "null", *options)
    assert done.returncode == 0, done.stderr
    answers = FleetFolder(place / "answers").read_answers()
    assert {node: line.state for (node, _), line in answers.items()} == dict.fromkeys(
        ("node1", "node2"), "answered"
    )
    first = (place / "answers" / str(answers["node2", 0].file)).read_bytes().partition(b"\n")[0]
    assert json.loads(first)["host"] == "node2"
    assert not nodes.in_memory() and not list((place / "data").iterdir())
