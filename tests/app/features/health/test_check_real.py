"""A check of this very machine: in time, whatever hangs, with nothing left behind."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.health import check, leftovers
from hostdx.app.features.health.node_class import NodeClass, make_class_load, read_node_class
from hostdx.app.state import state_dir
from hostdx.probes.reading.host import Host
from tests.needs import LOOP, ROOT, needs, program
from tests.real.dead_mount import dead_mount
from tests.real.loop_disk import LoopDisk
from tests.real.own_disk import sh
from tests.real.polled import happens

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("own_state")]
KEY = ("cpu-integer", "one")
LATE_S = 3.0  # the start of a program and its end, where the CPUs are full


def write_class(path: Path, level: float, spread: float, key: tuple[str, str] = KEY) -> str:
    load = make_class_load(
        key, [level + spread * n for n in (-2, -1, -1, 0, 0, 0, 0, 1, 1, 2)], [spread] * 10
    )
    path.write_bytes(msgspec.json.encode(NodeClass(schema="hostdx-class/1", name="c", loads=(load,))))
    return str(path)


def run_health(*arguments: str) -> tuple[int, dict[str, object], float]:
    """Exit status, document and seconds, in a process of its own, as a batch system starts it."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "hostdx.app.cli", "health", "--format", "json", *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout), time.monotonic() - began


def parts_and_answers(document: dict[str, object]) -> set[tuple[str, str]]:
    reasons = document["reasons"]
    assert isinstance(reasons, list)
    return {(reason["part"], reason["answer"]) for reason in reasons}


@needs(ROOT)
def test_a_mount_that_never_answers_is_the_answer(tmp_path: Path) -> None:
    place = tmp_path / "dead"
    place.mkdir()
    with dead_mount(place):
        status, document, seconds = run_health("--within", "15s")
    assert status == 1 and ("mount", "not fit") in parts_and_answers(document)
    assert seconds < 15


@pytest.mark.real("cpu")
@needs(ROOT)
def test_a_directory_that_never_answers_ends_in_time(tmp_path: Path) -> None:
    """The look at the mounts finds none of its kind: the run that measures there must be given up."""
    place = tmp_path / "dead"
    place.mkdir()
    code = (
        "import sys, hostdx.app.features.health.check as c\n"
        "c._hanging_mount_reasons = lambda: []\n"
        "from hostdx.app.cli.entry import run_command_line\n"
        "sys.exit(run_command_line(sys.argv[1:]))\n"
    )
    node_class = write_class(tmp_path / "c.json", 8.0, 0.01)
    with dead_mount(place):
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", code, "health", "--within", "15s", "--dir", str(place), "--class", node_class],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        seconds = time.monotonic() - began
    assert done.returncode in (1, 3) and seconds < 15.5


@pytest.mark.real("cpu")
@needs(LOOP, program("fsfreeze"))
def test_a_disk_that_completes_nothing_is_named_by_what_hangs(tmp_path: Path) -> None:
    """The run that measures there hangs in state D, in a process that it started."""
    node_class = write_class(tmp_path / "c.json", 8.0, 0.01, ("randread-4k", "one"))
    with LoopDisk(tmp_path, "3G") as disk:
        directory = ("--within", "15s", "--dir", str(disk.directory), "--class", node_class)
        sh("fsfreeze", "-f", str(disk.directory))
        try:
            status, document, seconds = run_health(*directory)
        finally:
            sh("fsfreeze", "-u", str(disk.directory))
            assert happens(lambda: not list((state_dir() / "journal").glob("*.jsonl"))), "not undone"
    assert status == 1 and ("time", "not fit") in parts_and_answers(document), document["reasons"]
    assert seconds < 15 + LATE_S


@pytest.mark.real("cpu")
@pytest.mark.soak("a directory that never answers; the speed against a class: test_speed.py")
def test_a_slow_node_is_told_from_a_fit_one(tmp_path: Path) -> None:
    """The class's level is far above, then far below what this machine gives."""
    status, document, seconds = run_health("--class", write_class(tmp_path / "c.json", math.log(1e9), 0.005))
    assert (status, seconds < 15) == (1, True) and ("speed", "not fit") in parts_and_answers(document)
    assert not {answer for part, answer in parts_and_answers(document) if part == "time"}
    _, document, _ = run_health("--class", write_class(tmp_path / "c.json", math.log(1.0), 0.005))
    assert "speed" not in {part for part, _ in parts_and_answers(document)}
    state = Path(os.environ["XDG_STATE_HOME"]) / "hostdx"
    assert [path.name for path in (state / "health").glob("*.jsonl")] == ["last.jsonl"]
    assert not [*(state / "journal").glob("*.jsonl")]


@needs(ROOT)
def test_what_a_job_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process at work and a file of two users; the file of the user who runs something is not left behind."""
    tmp_path.chmod(0o755)
    for name, uid in (("idle", 65001), ("active", 65002)):
        (tmp_path / name).write_bytes(os.urandom(1 << 20))
        os.chown(tmp_path / name, uid, uid)
    monkeypatch.setattr(leftovers, "FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(leftovers, "GRAVE_SHARE", 1e-6)
    orphan = subprocess.run(  # an orphan: a child of this process would be of our own family
        ["/bin/sh", "-c", "(while :; do :; done) >/dev/null 2>&1 & echo $!"],
        user=65002, group=65002, capture_output=True, text=True, timeout=10, check=True,
    )  # fmt: skip
    pid = int(orphan.stdout)
    try:
        time.sleep(0.2)
        remains = [leftover for leftover in leftovers.find_left_behind(Host()) if "uid 6500" in leftover.text]
    finally:
        os.kill(pid, signal.SIGKILL)
    assert [(leftover.kind, leftover.grave) for leftover in remains] == [("processes", True), ("files", True)]
    assert f"[{pid}]" in remains[0].text and "65001" in remains[1].text
    time.sleep(0.2)
    assert not [leftover for leftover in leftovers.find_left_behind(Host()) if f"[{pid}]" in leftover.text]


@pytest.mark.real("cpu")
def test_children_that_never_answer_nor_end_are_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules, the look at leftovers and the run each hang, and none takes a signal that can be ignored."""
    children: list[subprocess.Popen[bytes]] = []

    def start_deaf_child(*_module: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-c",
            "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)",
        ]
        children.append(subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True))
        return children[-1]

    monkeypatch.setattr(check, "_start_child_module", start_deaf_child)
    monkeypatch.setattr(check, "RULES_S", 1.0)
    write_class(tmp_path / "c.json", 8.0, 0.01)
    began = time.monotonic()
    node = check.check_node(began, 6.0, read_node_class(str(tmp_path / "c.json")), "")
    assert time.monotonic() - began < 6.0
    assert node.answer is check.Answer.NOT_SURE and len(children) == 3
    assert all(child.poll() is not None for child in children)
