"""The folder of a fleet run: what was asked (fleet.json), how each node ended (answers.jsonl), what it sent (nodes/).

Whatever launched the nodes may make one; the judgement reads nothing else.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from hostdx.app.state import make_private_dir
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.output_file import write_bytes
from hostdx.probes.files.rights import advice_for_failed_write
from hostdx.probes.files.safe_read import read_trusted_file
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.peers.judgement import AnswerState
from hostdx.scenarios.contract import ranges as of

SCHEMA = "hostdx-fleet/1"
TRIAGE = "triage"
MAX_HEAD_BYTES, MAX_ANSWERS_BYTES = 32 << 20, 256 << 20  # bytes


class FleetRunHead(msgspec.Struct, frozen=True, kw_only=True):
    """`scenario` is `triage` where the nodes were only looked at. `started`: UTC, ISO 8601. `together`: all of
    them begin at one time, by their clocks.
    """

    schema: str
    scenario: str
    nodes: list[str]
    seed: of.Whole
    started: str
    options: dict[str, Json] = {}
    together: bool = False


class NodeAnswer(msgspec.Struct, frozen=True):
    """How a call of a node ended. `round`: 0 is the first measurement of all, from 1 on a retest. `file` is below the
    folder."""

    node: str
    round: of.Number
    state: AnswerState
    reason: str = ""
    seconds: of.Seconds = 0.0
    file: str | None = None


_head = msgspec.json.Decoder(FleetRunHead)
_lines = msgspec.json.Decoder(NodeAnswer)


class FleetFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def make_new(cls, path: Path, head: FleetRunHead) -> FleetFolder:
        """A new one. Raises Failure, also where there is one already."""
        if path.exists() and any(path.iterdir()):
            raise Failure(
                f"fleet: {path}: is not empty; name a new directory, or take it up with --resume", USAGE
            )
        folder = cls(make_private_dir(path))
        write_bytes("fleet", str(path / "fleet.json"), 0o600, msgspec.json.encode(head) + b"\n")
        return folder

    def read_head(self) -> FleetRunHead:
        """Raises Failure."""
        path = self.path / "fleet.json"
        try:
            head = _head.decode(read_trusted_file(path, MAX_HEAD_BYTES))
        except OSError as error:
            raise Failure(f"fleet: {path}: cannot be read: {error.strerror}", USAGE) from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Failure(f"fleet: {path}: is no fleet run of hostdx: {error}", USAGE) from None
        if head.schema != SCHEMA:
            raise Failure(
                f"fleet: {path}: has the schema {head.schema[:40]}; this hostdx reads {SCHEMA}", USAGE
            )
        return head

    def read_answers(self) -> dict[tuple[str, int], NodeAnswer]:
        """The last word on each node and round. A half line at the end (a full disk, a kill) is left out."""
        answers_by_node: dict[tuple[str, int], NodeAnswer] = {}
        try:
            data = read_trusted_file(self.path / "answers.jsonl", MAX_ANSWERS_BYTES)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise Failure(
                f"fleet: {self.path}/answers.jsonl: cannot be read: {error.strerror}", USAGE
            ) from None
        for text in data.splitlines():
            try:
                line = _lines.decode(text)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            answers_by_node[line.node, line.round] = line
        return answers_by_node

    def answer_path(self, node: str, round: int, *, recording: bool) -> Path:
        """Where its answer goes. The name was checked: it is a file's."""
        return self.path / "nodes" / node / (f"round-{round}.jsonl" if recording else "triage.json")

    def append_answer(self, line: NodeAnswer) -> None:
        """At once: whatever ends us, what was measured is not lost."""
        path = self.path / "answers.jsonl"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            end = os.lseek(descriptor, 0, os.SEEK_END)
            cut = end > 0 and os.pread(descriptor, 1, end - 1) != b"\n"
            os.write(descriptor, (b"\n" if cut else b"") + msgspec.json.encode(line) + b"\n")
        except OSError as error:
            raise Failure(
                f"fleet: {path}: cannot be written: {error.strerror}; "
                f"{advice_for_failed_write(error.errno, 'write elsewhere')}, then --resume"
            ) from None
        finally:
            os.close(descriptor)
