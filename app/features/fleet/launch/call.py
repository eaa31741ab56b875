"""One call of a node: what it is sent, what it may answer and how long it may take. Its answer is hostile data.

The connection itself is somebody else's (`engine.py`): bytes come in by `take_output_line` and `take_error_line`,
time by `give_up_if_silent`.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from hostdx.app.features.fleet.folder import NodeAnswer
from hostdx.app.features.fleet.launch.agent import MARK
from hostdx.app.features.fleet.launch.errand import NodeOrder
from hostdx.probes.units import format_size
from hostdx.scenarios.analysis.peers.judgement import AnswerState

Phase: TypeAlias = Literal["waiting", "connecting", "looking", "sending", "ready", "running", "over"]

SSH_FAILED = 255  # ssh(1), EXIT STATUS
MAX_REASON_CHARACTERS = 300  # characters
MAX_STDERR_BYTES = 4096  # bytes of what ssh and the node's shell said last
PATIENCE_S = 20.0  # after a stop, for the node to undo and to say so
LOGIN_S = 20.0  # beside the time for the connection, at the end of which ssh itself gives up
# without a sign of life: a Python starts; a transfer stands still
SIGNS_S = {"looking": 60.0, "sending": 60.0}
START_S = 180.0  # until a run's first word: the bundle is unpacked and compiled
# ssh's own words (clientloop.c, sshconnect.c, readconf.c): there is something, and it does not let us in
_REFUSES = (
    b"Permission denied",
    b"Connection refused",
    b"Host key verification failed",
    b"Too many authentication",
)


class NodeInput(Protocol):
    """A connection. `send` takes no part of it twice; `end` closes the node's standard input."""

    def send(self, data: bytes) -> None: ...

    def end(self) -> None: ...

    def abort(self) -> None: ...


class _AgentMessage(msgspec.Struct):
    """What the node's shell and the agent say; each word has its own fields."""

    shell: int = 0
    absent: int = 0
    hello: int = 0
    python: str = ""
    ready: int = 0
    began: int = 0
    exit: int | None = None
    said: str = ""
    cut: bool = False
    left: int = 0
    trouble: str = ""

    @property
    def is_last(self) -> bool:
        return bool(self.absent or self.left or self.trouble or self.exit is not None)


_words = msgspec.json.Decoder(_AgentMessage)


class NodeCall:
    """From the first byte to an answer. `judge` reads the file of a node that answered: its state and the reason."""

    def __init__(
        self,
        node: str,
        errand: NodeOrder,
        into: Path,
        judge: Callable[[Path, int], tuple[AnswerState, str]],
        now: Callable[[], float],
    ) -> None:
        self.node = node
        self.errand = errand
        self.going = not errand.ahead  # else it waits for its turn
        self.answer: NodeAnswer | None = None
        self._into = into
        self._judge = judge
        self._now = now
        self._phase: Phase = "waiting"
        self._began_s = self._sign_s = 0.0
        self._stop_s: float | None = None
        self._file = -1
        self._bytes = 0
        self._last: _AgentMessage | None = None
        self._stderr = b""
        self._verdict: tuple[AnswerState, str] | None = None
        self._wire: NodeInput | None = None

    @property
    def call_phase(self) -> Phase:
        return self._phase

    @property
    def max_line_bytes(self) -> int:
        """Bytes of one line of its: before the command runs there are words only."""
        return self.errand.max_line_bytes if self._phase == "running" else MAX_STDERR_BYTES * 16

    def begin_call(self, wire: NodeInput) -> None:
        self._wire = wire
        self._began_s = self._sign_s = self._now()
        self._phase = "connecting"
        wire.send(self.errand.order_header_line(self.node))

    @property
    def is_starting(self) -> bool:
        """True until its Python has said its first word: until then ssh and the login cost this host CPU time."""
        return self._phase in ("waiting", "connecting", "looking")

    def discount_deaf_time(self, seconds: float) -> None:
        """Leave out a time in which the launcher did not listen: an answer may lie in the pipe unread."""
        now = self._now()  # what began in that time began no later than now
        self._began_s = min(now, self._began_s + seconds)
        self._sign_s = min(now, self._sign_s + seconds)
        if self._stop_s is not None:
            self._stop_s = min(now, self._stop_s + seconds)

    def let_command_start(self) -> None:
        """Its turn has come: it begins, at once or when it is ready."""
        self.going = True
        if self._phase == "ready" and self._wire is not None:
            self._wire.send(b"g")

    def restart_silence_clock(self) -> None:
        """A part of the bundle went out."""
        self._sign_s = self._now()

    def take_output_line(self, line: bytes) -> None:
        """One of standard output, without its end."""
        if self._verdict is not None or self._phase == "over":
            return
        if line.startswith(MARK):
            self._sign_s = self._now()
            self._take_message(line.removeprefix(MARK))
        elif self._phase == "running":
            self._sign_s = self._now()
            self._write_answer_line(line)
        else:
            self._bytes += len(line)  # a login that greets
            if self._bytes > MAX_STDERR_BYTES * 16:
                self._give_up("rubbish", "talks, but does not run the command: what does its login print?")

    def take_error_line(self, line: bytes) -> None:
        """One of standard error, by ssh or the node's shell."""
        self._stderr = (self._stderr + line + b"\n")[-MAX_STDERR_BYTES:]

    def ask_to_stop(self) -> None:
        """Asks the node to end its run and undo it. It is waited for, but not for long."""
        if self._phase in ("over", "waiting") or self._stop_s is not None:
            return
        self._stop_s = self._now()
        if self._wire is not None:
            self._wire.end()

    def give_up_if_silent(self) -> None:
        """Gives up where nothing comes any more."""
        now = self._now()
        if self._phase == "ready" and not self.going and self._stop_s is None:
            self._began_s = self._sign_s = now
        if self._verdict is not None or self._phase in ("waiting", "over"):
            return
        if self._stop_s is not None and now > self._stop_s + PATIENCE_S:
            self._give_up(
                "interrupted", "did not say that it stopped; it does when it sees that nobody waits"
            )
        elif now > self._began_s + self.errand.most_s:
            after = f"{self.errand.most_s:.0f} s, while {_DOING[self._phase]}"
            self._give_up("timed_out", f"not done after {after} (--most gives it longer)")
        elif now > self._sign_s + self._max_silence_s():
            self._give_up("hung", f"no answer for {now - self._sign_s:.0f} s while {_DOING[self._phase]}")

    def close_call(self, ssh_status: int | None) -> NodeAnswer:
        """The connection is gone; `ssh_status` is ssh's, None where it was cut off. The first call decides. `file` is
        what the node sent, whole and as it came; None where there is nothing to read."""
        if self.answer is None:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
            state, reason = self._verdict or self._final_state_and_reason(ssh_status)
            self._phase = "over"
            is_answered = state == "answered"
            if not is_answered:
                self._into.unlink(missing_ok=True)
                with suppress(OSError):  # another round's answer may lie there
                    self._into.parent.rmdir()
            seconds = self._now() - self._began_s if self._began_s else 0.0
            reason = " ".join(reason.split())[:MAX_REASON_CHARACTERS]
            file = str(self._into) if is_answered else None
            self.answer = NodeAnswer(self.node, 0, state, reason, round(seconds, 2), file)
        return self.answer

    def _max_silence_s(self) -> float:
        if self._phase == "connecting":
            return self.errand.connect_s + LOGIN_S
        most_s = self.errand.silence_s if self._bytes else max(START_S, self.errand.silence_s)
        return SIGNS_S.get(self._phase, most_s)

    def _take_message(self, text: bytes) -> None:
        try:
            word: _AgentMessage = _words.decode(text)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            self._give_up("rubbish", "its answer is not valid JSON")
            return
        if word.shell and self._phase == "connecting":
            self._phase = "looking"
        elif word.hello and self._phase == "looking":
            if why := self.errand.unfit_reason(word.python):
                self._give_up("no_python", why)
                return
            self._phase = "sending"
            if self._wire is not None and self.errand.data:
                self._wire.send(self.errand.data)
        elif word.ready and self._phase == "sending":
            self._phase = "ready"
            if self.going:
                self.let_command_start()
        elif word.began and self._phase in ("sending", "ready"):
            self._phase, self._bytes = "running", 0
        elif word.is_last:
            self._last = word

    def _write_answer_line(self, line: bytes) -> None:
        self._bytes += len(line) + 1
        if self._bytes > self.errand.most_bytes:
            self._give_up("rubbish", f"answers with more than {format_size(self.errand.most_bytes)}")
            return
        if self._bytes == len(line) + 1 and not line.startswith(b"{"):
            self._give_up("rubbish", "its answer is not JSON")
            return
        if self._file < 0:
            self._into.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            self._file = os.open(self._into, flags, 0o600)
        os.write(self._file, line + b"\n")

    def _give_up(self, state: AnswerState, reason: str) -> None:
        """Its run ends there when it sees that the connection is gone."""
        self._verdict = state, reason
        if self._wire is not None:
            self._wire.abort()

    def _final_state_and_reason(self, status: int | None) -> tuple[AnswerState, str]:
        word, stderr = self._last, _last_line(self._stderr)
        if self._phase == "waiting":
            return "interrupted", "not started"
        if word is None:
            return self._state_without_message(status, stderr)
        if word.absent:
            return "no_python", "no Python from 3.11 on was found; name one with --python"
        if word.trouble:
            return ("interrupted" if self._stop_s is not None else "refused"), word.trouble
        if word.left:
            return "interrupted", f"its run (pid {word.left}) was told to stop and has not ended yet"
        if word.cut:
            return "rubbish", "answers with more than was asked for"
        if self._bytes == 0:
            state: AnswerState = "interrupted" if self._stop_s is not None else "refused"
            return state, _last_line(
                word.said.encode("utf-8", "replace")
            ) or f"exit status {word.exit}, no answer"
        return self._judge(self._into, word.exit or 0)

    def _state_without_message(self, status: int | None, stderr: str) -> tuple[AnswerState, str]:
        """Without a last word of the agent's."""
        if self._stop_s is not None:
            return "interrupted", "the connection ended before it said that it stopped"
        if self._phase == "connecting" and (status == SSH_FAILED or status is None):
            refuses = any(words in self._stderr for words in _REFUSES)
            return ("refused" if refuses else "unreachable"), stderr or f"exit status {status}"
        if self._phase == "looking":
            return "refused", stderr or "its Python did not start"
        if self._phase == "connecting":
            state: AnswerState = "refused" if status else "rubbish"
            return state, stderr or f"ended with status {status} and ran nothing"
        return (
            "unreachable",
            f"the connection broke off while {_DOING[self._phase]}: {stderr or 'no reason given'}",
        )


_DOING = {
    "connecting": "logging in",
    "looking": "starting its Python",
    "sending": "receiving the bundle",
    "ready": "waiting for its turn",
    "running": "running",
}


def _last_line(data: bytes) -> str:
    lines = [line for line in data.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    return lines[-1] if lines else ""
