"""One check of a node, which ends in time whatever hangs: all that may hang is done by children that are given up."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from enum import StrEnum
from typing import Literal

import msgspec

from hostdx.app.features.health.leftovers import HostLeftover
from hostdx.app.features.health.node_class import LOADS, MIN_RUNS, NodeClass, undisturbed_log_values
from hostdx.app.features.health.speed import MIN_ROUNDS, LoadStanding, compare_rounds, is_surely_fit
from hostdx.app.recordings.session import RunSession
from hostdx.app.state import make_private_dir, state_dir
from hostdx.app.terminal.failure import Failure
from hostdx.probes.children.bounded_wait import wait_briefly
from hostdx.probes.children.environment import hostdx_environment
from hostdx.probes.children.own_module import start_module
from hostdx.probes.engine.command.process_tree import list_descendants
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.lossless_json import Decoder
from hostdx.probes.system.disk.mounts import NETWORK, read_mounts
from hostdx.probes.system.running.tasks import find_blocked_tasks, find_still_asleep
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.card import card_with_role

STOP_S = 2.0  # a stopped run has undone everything within 2 s
RULES_S = 6.0  # usually one
MIN_SPEED_S = 1.0
SIZE = "64M"  # of the test file
GIVEN_UP_S = 0.2
HUNG_S = 0.25  # who waits for a slow disk alone runs meanwhile: each page that was written wakes it
ANSWER_S = 0.5 + 3 * HUNG_S  # each of the three children may hang
_decoder = Decoder(ev.Common)


class Answer(StrEnum):
    """What a check answers."""

    FIT = "fit"
    NOT_FIT = "not fit"
    NOT_SURE = "not sure"


class UnfitReason(msgspec.Struct, frozen=True):
    """Why a node is not fit, or why nobody can be sure. `source`: what that was read from."""

    part: Literal["mount", "rule", "left behind", "speed", "time"]
    answer: Answer
    text: str
    source: str = ""


class HealthCheck(msgspec.Struct, kw_only=True):
    """What a check found. `notes`: what was not looked at, and why."""

    seconds: float = 0.0
    node_class: str = ""
    reasons: list[UnfitReason] = []
    standings: list[LoadStanding] = []
    notes: list[str] = []

    @property
    def answer(self) -> Answer:
        answers: set[Answer] = {reason.answer for reason in self.reasons}
        return Answer.NOT_FIT if Answer.NOT_FIT in answers else Answer.NOT_SURE if answers else Answer.FIT

    @property
    def sentence(self) -> str:
        """Return the answer with its first reason, in one line."""
        first = next((reason.text for reason in self.reasons if reason.answer == self.answer), "")
        more = sum(reason.answer == self.answer for reason in self.reasons) - 1
        return (
            f"{self.answer}: {first}" + (f" (and {more} more)" if more > 0 else "") if first else self.answer
        )


def check_node(began: float, within_s: float, node_class: NodeClass | None, directory: str) -> HealthCheck:
    """Return the answer for this node, so long after `began` (monotonic). `directory`: to measure in; empty: the
    benchmark set's own choice.
    """
    check = HealthCheck(node_class=node_class.name if node_class is not None else "")
    ends = began + within_s - ANSWER_S
    check.reasons += _hanging_mount_reasons()
    if not check.reasons:
        _add_rule_and_leftover_reasons(check, min(time.monotonic() + RULES_S, ends))
    if check.answer is Answer.NOT_FIT:
        check.notes.append("speed: not measured, the node is not fit anyway")
    elif node_class is None:
        check.notes.append(
            f"speed: not measured: no --class, and no baseline of this host with {MIN_RUNS} runs"
        )
    elif ends - STOP_S - time.monotonic() < MIN_SPEED_S:
        check.reasons.append(UnfitReason("time", Answer.NOT_SURE, "no time was left for the speed test"))
    else:
        _SpeedTest(check, node_class, ends).measure(directory)
    check.seconds = time.monotonic() - began
    return check


def _hanging_mount_reasons() -> Iterator[UnfitReason]:
    with closing(Host()) as host:
        mounts = read_mounts(host)
        for mount in () if isinstance(mounts, Absent) else mounts:
            if mount.fstype in NETWORK or mount.fstype.startswith("fuse"):
                answer = host.read_statvfs(mount.mountpoint)
                if isinstance(answer, Absent) and answer.kind == "timeout":
                    words = f"{mount.mountpoint} ({mount.fstype}) does not answer"
                    yield UnfitReason("mount", Answer.NOT_FIT, words, "/proc/self/mountinfo")
                    return


def _start_child_module(*module: str) -> subprocess.Popen[bytes]:
    return start_module(*module, env=hostdx_environment())


def _read_chunks(child: subprocess.Popen[bytes], ends: float) -> Iterator[bytes]:
    """Yield what the child writes until it ends. Raises TimeoutError when `ends` has come."""
    assert child.stdout is not None
    while True:
        if not select.select([child.stdout], [], [], max(0.0, ends - time.monotonic()))[0]:
            raise TimeoutError
        if not (data := os.read(child.stdout.fileno(), 1 << 16)):
            return
        yield data


def _kill_and_wait_briefly(child: subprocess.Popen[bytes]) -> None:
    """Kill a child. One that the kernel holds is left behind: it ends when its device answers."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    wait_briefly(child, GIVEN_UP_S)


def _add_rule_and_leftover_reasons(check: HealthCheck, ends: float) -> None:
    """Ask the read-only rules, and what the last job left behind, at the same time."""
    rules = _start_child_module("hostdx.app.cli", "triage", "--events", "-")
    leftovers = _start_child_module("hostdx.app.features.health.leftovers")
    try:
        for line in b"".join(_read_chunks(rules, ends)).splitlines():
            with suppress(msgspec.MsgspecError):
                event = _decoder.decode(line)
                finding = event.finding if isinstance(event, ev.Found) else None
                if finding is not None and finding.severity == "critical" and finding.confidence != "hint":
                    source = finding.evidence[0].source if finding.evidence else finding.id
                    check.reasons.append(
                        UnfitReason("rule", Answer.NOT_FIT, f"{finding.title} ({finding.id})", source)
                    )
    except TimeoutError:
        check.reasons.append(_hang_or_slow_reason("the read-only rules", rules))
    finally:
        _kill_and_wait_briefly(rules)
    try:
        all_leftovers = msgspec.json.decode(b"".join(_read_chunks(leftovers, ends)), type=list[HostLeftover])
        for left in all_leftovers:
            answer: Answer = Answer.NOT_FIT if left.grave else Answer.NOT_SURE
            check.reasons.append(UnfitReason("left behind", answer, f"left behind: {left.text}", left.source))
    except TimeoutError:
        check.reasons.append(_hang_or_slow_reason("the look at what the last job left behind", leftovers))
    except msgspec.MsgspecError:
        check.reasons.append(
            UnfitReason("left behind", Answer.NOT_SURE, "the look at what the last job left behind failed")
        )
    finally:
        _kill_and_wait_briefly(leftovers)


def _hang_or_slow_reason(part: str, child: subprocess.Popen[bytes]) -> UnfitReason:
    """Return the reason for a part that gave no answer in time, of a child that still runs.

    That is what it, or a process that it started, waits in, where the kernel says it.
    """
    pids = {child.pid, *list_descendants(child.pid)}
    with closing(Host()) as host:
        before = find_blocked_tasks(host, pids)
        time.sleep(HUNG_S)
        hung = find_still_asleep(before, find_blocked_tasks(host, pids)) if is_present(before) else []
    if not hung:
        return UnfitReason("time", Answer.NOT_SURE, f"{part} took too long")
    waits_in = hung[0].wchan if is_present(hung[0].wchan) else "unknown"
    return UnfitReason(
        "time", Answer.NOT_FIT, f"{part} hangs in the kernel: {waits_in}", hung[0].wchan_source
    )


class _SpeedTest:
    """Runs the benchmark set's short loads as a child, and judges after each round."""

    def __init__(self, check: HealthCheck, node_class: NodeClass, ends: float) -> None:
        self._check = check
        self._class = node_class
        self._ends = ends - STOP_S
        self._session = RunSession()
        self._rest = b""

    def measure(self, directory: str) -> None:
        budget = self._ends - time.monotonic()
        recording = make_private_dir(state_dir() / "health") / "last.jsonl"
        with suppress(OSError):
            recording.unlink()
        loads = [load for load in LOADS if any(load == own.load for own in self._class.loads)]
        child = _start_child_module(
            "hostdx.app.cli", "run", card_with_role("battery").id, "--quiet", "--events", "-", "--size", SIZE,
            "--recording", str(recording), "--tied", str(os.getpid()), "--budget", f"{max(4.0, budget):.1f}",
            *(word for load in loads for word in ("--only", load)),
            *(("--dir", directory) if directory else ()),
        )  # fmt: skip
        decided = False
        unanswered: UnfitReason | None = None
        try:
            for data in _read_chunks(child, self._ends):
                if self._apply_and_has_new_round(data) and is_surely_fit(self._class, self._standings()):
                    decided = True
                    break
        except TimeoutError:
            if not self._standings():
                unanswered = _hang_or_slow_reason("the speed test", child)
        finally:
            self._stop_child_or_kill(child)
        self._check.standings = self._standings()
        if not decided:
            self._check.reasons += self._speed_reasons(unanswered, source=str(recording))

    def _apply_and_has_new_round(self, data: bytes) -> bool:
        *lines, self._rest = (self._rest + data).split(b"\n")
        rounds = False
        for line in lines:
            with suppress(msgspec.MsgspecError):  # a scenario's own event
                event = _decoder.decode(line)
                self._session.apply(event)
                rounds = rounds or isinstance(event, ev.Group)
        return rounds

    def _standings(self) -> list[LoadStanding]:
        return compare_rounds(self._class, undisturbed_log_values(self._session))

    def _stop_child_or_kill(self, child: subprocess.Popen[bytes]) -> None:
        """Stop the run, which then undoes what it changed; its supervisor does so where it must be killed."""
        child.terminate()
        if wait_briefly(child, STOP_S - GIVEN_UP_S) is None:
            _kill_and_wait_briefly(child)

    def _speed_reasons(self, time_reason: UnfitReason | None, source: str) -> Iterator[UnfitReason]:
        slow = [standing for standing in self._check.standings if standing.is_slow]
        for s in slow:
            words = (
                f"{s.load} on {s.slot} CPU{'s' if s.slot == 'all' else ''} has {s.ratio:.0%} of class "
                f"{self._class.name} (limit {s.limit:.0%}, {s.rounds} rounds)"
            )
            yield UnfitReason("speed", Answer.NOT_FIT if s.decides else Answer.NOT_SURE, words, source)
        if slow:
            return
        if time_reason is not None:
            yield time_reason
            return
        if is_surely_fit(self._class, self._check.standings):
            return
        elif (ended := self._session.ended) is not None and ended.status != "done":
            words = f"the speed test did not run: {ended.reason or ended.status}"
            yield UnfitReason("speed", Answer.NOT_SURE, words, source)
            return
        disturbed = [g.guard_sentence for g in self._session.guards if g.again and g.disturbance is not None]
        few = [s for s in self._check.standings if s.rounds < MIN_ROUNDS]
        near = min(self._check.standings, key=lambda s: s.ratio / s.limit, default=None)
        if few or near is None:
            words = f": {disturbed[-1]}" if disturbed else ""
            yield UnfitReason(
                "speed", Answer.NOT_SURE, f"too few undisturbed rounds of the speed test{words}", source
            )
        else:
            words = (
                f"{near.load} has {near.ratio:.0%} of class {self._class.name}, not below {near.limit:.0%}"
            )
            yield UnfitReason("speed", Answer.NOT_SURE, words, source)


def make_failed_check(why: Failure) -> HealthCheck:
    """Return the check of a node that could not be checked."""
    return HealthCheck(reasons=[UnfitReason("time", Answer.NOT_SURE, why.text)])
