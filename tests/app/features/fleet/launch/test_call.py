"""One node's answer: what it may say, how long it may take, and the state that each end has."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hostdx.app.features.fleet.folder import NodeAnswer
from hostdx.app.features.fleet.launch.agent import MARK
from hostdx.app.features.fleet.launch.call import LOGIN_S, PATIENCE_S, SIGNS_S, START_S, NodeCall
from hostdx.app.features.fleet.launch.errand import NodeOrder
from hostdx.scenarios.analysis.peers.judgement import AnswerState

ERRAND = NodeOrder(
    argv=("triage",), size=3, sha256="", data=b"zip", parts=frozenset({"cp311-x86_64"}), most_bytes=1000,
    most_s=200.0, silence_s=40.0, connect_s=5.0,
)  # fmt: skip


class Wire:
    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.ended = self.aborted = False

    def send(self, data: bytes) -> None:
        self.sent.append(data)

    def end(self) -> None:
        self.ended = True

    def abort(self) -> None:
        self.aborted = True


class Node:
    """A node as a test has it talk; `t` is the time."""

    def __init__(self, into: Path, errand: NodeOrder = ERRAND) -> None:
        self.t = 0.0
        self.wire = Wire()
        self.judged: list[int] = []
        self.call = NodeCall("n1", errand, into / "n1/round-0.jsonl", self._judge, lambda: self.t)
        self.call.begin_call(self.wire)

    def _judge(self, _path: Path, status: int) -> tuple[AnswerState, str]:
        self.judged.append(status)
        return "answered", ""

    def words(self, **fields: object) -> Node:
        self.call.take_output_line(MARK + msgspec.json.encode(fields))
        return self

    def up_to(self, phase: str) -> Node:
        for name, fields in (
            ("looking", {"shell": 1}),
            ("sending", {"hello": 1, "python": "cp311-x86_64"}),
            ("running", {"began": 1}),
        ):
            if self.call.call_phase != phase:
                self.words(**fields)
            assert phase != name or self.call.call_phase == name
        return self

    def end(self, status: int | None = 0) -> NodeAnswer:
        return self.call.close_call(status)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_what_it_prints_is_kept_as_it_came(node: Node) -> None:
    node.call.take_output_line(b"Welcome to n1")
    node.up_to("running")
    assert node.wire.sent[1:] == [b"zip"], "the bundle goes to a node that has a Python for it, once"
    node.call.take_output_line(b'{"type":"run"}')
    node.call.take_output_line(b'{"type":"end"}')
    node.words(exit=0)
    answer = node.end()
    assert answer.state == "answered" and node.judged == [0]
    assert answer.file is not None and Path(answer.file).read_bytes() == b'{"type":"run"}\n{"type":"end"}\n'
    assert Path(answer.file).stat().st_mode & 0o777 == 0o600


def test_without_a_python(node: Node) -> None:
    assert node.up_to("looking").words(absent=1).end().state == "no_python"


def test_a_python_that_the_bundle_has_nothing_for(node: Node) -> None:
    node.up_to("looking").words(hello=1, python="cp315-riscv64")
    assert node.wire.aborted and len(node.wire.sent) == 1
    assert node.end(None).state == "no_python"


def test_sudo_that_asks_for_a_password(node: Node) -> None:
    node.up_to("looking").call.take_error_line(b"sudo: a password is required")
    answer = node.end(1)
    assert (answer.state, answer.reason) == ("refused", "sudo: a password is required")


@pytest.mark.parametrize(
    ("phase", "silence_s"),
    [
        ("connecting", 5.0 + LOGIN_S),
        ("looking", SIGNS_S["looking"]),
        ("sending", SIGNS_S["sending"]),
        ("running", START_S),
        ("talking", 40.0),
    ],
)
def test_silence_is_waited_for_so_long_and_no_longer(node: Node, phase: str, silence_s: float) -> None:
    node.up_to("running" if phase == "talking" else phase)
    if phase == "talking":
        node.call.take_output_line(b"{}")
    node.t += silence_s
    node.call.give_up_if_silent()
    assert not node.wire.aborted
    node.t += 0.1
    node.call.give_up_if_silent()
    assert node.wire.aborted and node.end(None).state == "hung"


@pytest.mark.parametrize("phase", ["connecting", "looking", "running"])
def test_a_time_in_which_the_launcher_was_busy_is_no_silence(node: Node, phase: str) -> None:
    """318 of 1,000 nodes were "hung" while the launcher started the others."""
    node.up_to(phase)
    node.t += 500.0
    node.call.discount_deaf_time(500.0)
    node.call.give_up_if_silent()
    assert not node.wire.aborted
    node.t += START_S + 1.0
    node.call.give_up_if_silent()
    assert node.wire.aborted and node.end(None).state == "hung"


def test_a_call_begun_while_the_launcher_was_busy_took_no_negative_time(node: Node) -> None:
    """Its answer's line could not be read again, and the node was lost."""
    node.t += 1.0
    node.up_to("running").call.discount_deaf_time(4.0)
    node.call.take_output_line(b"{}")
    assert node.words(exit=0).end().seconds == 0.0


def test_a_run_that_talks_is_ended_by_its_limit(node: Node) -> None:
    node.up_to("running")
    for _ in range(21):
        node.call.give_up_if_silent()
        assert not node.wire.aborted
        node.t += 10.0
        node.call.take_output_line(b"{}")
    node.call.give_up_if_silent()
    assert node.wire.aborted and node.end(None).state == "timed_out"


@pytest.mark.parametrize(
    "lines", [[b"[1]"], [b"{" + b"x" * 2000], [b"{}"] * 400, [MARK + b"{nonsense"], [MARK + b"[" * 10_000]]
)
def test_what_is_no_answer_is_dropped_at_once(node: Node, tmp_path: Path, lines: list[bytes]) -> None:
    node.up_to("running")
    for line in lines:
        node.call.take_output_line(line)
    assert node.wire.aborted
    answer = node.end(None)
    assert answer.state == "rubbish" and answer.file is None and not node.judged
    assert not list(tmp_path.iterdir())


def test_a_login_that_talks_without_end(node: Node) -> None:
    for _ in range(100):
        node.call.take_output_line(b"x" * 1000)
    assert node.wire.aborted and node.end(None).state == "rubbish"


def test_words_out_of_turn_change_nothing(node: Node) -> None:
    node.words(began=1).words(hello=1, python="cp311-x86_64")
    assert node.call.call_phase == "connecting" and len(node.wire.sent) == 1


def test_a_connection_that_breaks_off(node: Node, tmp_path: Path) -> None:
    node.up_to("running").call.take_output_line(b"{}")
    answer = node.end(255)
    assert answer.state == "unreachable" and answer.file is None and not list(tmp_path.iterdir())


def test_a_stop_that_nobody_answers(node: Node) -> None:
    node.up_to("running").call.ask_to_stop()
    node.t += PATIENCE_S + 1
    node.call.give_up_if_silent()
    assert node.wire.aborted and node.end(None).state == "interrupted"


def test_a_run_that_did_not_end_when_it_was_told_to(node: Node) -> None:
    node.up_to("running").call.ask_to_stop()
    answer = node.words(left=77, said="").end()
    assert answer.state == "interrupted" and "77" in answer.reason


def test_one_that_was_never_begun(tmp_path: Path) -> None:
    call = NodeCall("n1", ERRAND, tmp_path / "x", lambda _p, _s: ("answered", ""), lambda: 0.0)
    assert call.close_call(None).state == "interrupted"
