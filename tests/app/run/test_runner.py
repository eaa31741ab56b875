"""However a scenario ends, the run ends with one `RunEnded` event and everything undone; nothing here waits."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hostdx.app.recordings.session import _FOLDS, RunSession
from hostdx.app.run import signals
from hostdx.app.run.runner import CANCELLED, Runner
from hostdx.app.run.signals import StopRequests, finish_despite_cancel
from hostdx.app.state import journal_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import process_identity
from hostdx.app.undo import effects
from hostdx.app.undo.changes import HostChanges
from hostdx.app.undo.journal import SCHEMA, JournalHeader, UndoOutcome, list_journals
from hostdx.app.undo.supervisor import SupervisorProcess
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.processes import Process
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action, private_directory_action
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, RunRefused, UsageError
from hostdx.scenarios.contract.plan import Plan
from tests.app.fake_scenario import Fake
from tests.fakes import FakeClock

Work = Callable[[Run], Awaitable[None]]


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    # this process is the runner and does not end with a test: nobody is to wait for that
    monkeypatch.setattr(SupervisorProcess, "hand_over", SupervisorProcess.end_watch)


class RunnerBench:
    """A runner whose scenario is one function; `changes` may be replaced."""

    def __init__(self, work: Work, actions: tuple[Action, ...] = ()) -> None:
        self.session = RunSession()
        self.events: list[ev.AnyEvent] = []
        self.stops = StopRequests()
        self.saved: list[BaseException] = []
        plan = Plan(scenario="fake", title="t", question="q", actions=actions)
        head = JournalHeader(
            schema=SCHEMA, run="r", who=process_identity(), command=["hostdx"], recording="", began_s=0.0
        )
        self.changes: Any = HostChanges(
            plan=plan, consented=True, header=head, lies_on=lambda _: "", warn=lambda _: None
        )
        self.runner = Runner(
            scenario=Fake.id, host=Host("/nonexistent"), clock=FakeClock(), options=OptionMap({}), seed=7,
            prepared=PreparedRun(plan, work),
            changes=self.changes, began_s=0.0, publish=self._emit, save_bug=self._save,
        )  # fmt: skip

    def _emit(self, event: ev.AnyEvent) -> None:
        self.session.apply(event)
        self.events.append(event)

    def _save(self, error: BaseException) -> str:
        self.saved.append(error)
        return "a mistake"

    async def conduct(self) -> ev.RunEnded:
        ended = await self.runner.run_to_end(lambda: [ev.Note(t=0, text="facts")], self.stops)
        assert self.events[-1] is ended
        assert [e for e in self.events if isinstance(e, ev.RunEnded)] == [ended]
        self.changes.close_journal()
        return ended


def work_raising(error: BaseException) -> Work:
    async def work(run: Run) -> None:
        run.emit(ev.Note(t=run.elapsed_s(), text="worked"))
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "status", "code", "reason"),
    [
        (RunRefused("no room"), "skipped", 3, "no room"),
        (BenchRefused("no disk"), "skipped", 3, "no disk"),
        (UsageError("not so"), "failed", 2, "not so"),
        (Failure("gone", 3), "failed", 3, "gone"),
        (RuntimeError("oops"), "failed", 3, "a mistake"),
        (asyncio.CancelledError(), "failed", 3, CANCELLED),
    ],
)
async def test_every_end_is_an_event(error: BaseException, status: str, code: int, reason: str) -> None:
    bench = RunnerBench(work_raising(error))
    ended = await bench.conduct()
    assert (ended.status, ended.exit, ended.reason) == (status, code, reason)
    assert [note.text for note in bench.session.notes] == ["facts", "worked"]
    assert bench.saved == ([error] if isinstance(error, RuntimeError) else [])


NOTHING = ev.RunVerdict(
    t=0, workload="w", metric="IOPS", baseline="A", variant="B", verdict="not measured", reason="why"
)
SOMETHING = ev.RunVerdict(t=0, workload="v", metric="IOPS", baseline="A", variant="B", verdict="inconclusive")
UNFIT = msgspec.structs.replace(NOTHING, verdict="not applicable")
DRIFTED = msgspec.structs.replace(UNFIT, groups=12)
ANSWER = ev.Found(t=0, finding=Finding(id="a", severity="ok", title="t", confidence="measured", answers=True))
REMARK = ev.Found(
    t=0, finding=Finding(id="a", severity="warning", title="t", confidence="rule", answers=True)
)
TREND = ev.SeriesVerdict(t=0, workload="w", rounds=9, verdict="inconclusive")


@pytest.mark.parametrize(
    ("events", "status", "code"),
    [
        ([NOTHING, NOTHING], "skipped", 3),
        ([UNFIT, UNFIT], "skipped", 3),
        ([UNFIT, NOTHING], "skipped", 3),
        ([UNFIT, REMARK], "skipped", 3),
        ([UNFIT, DRIFTED], "done", 0),
        ([UNFIT, ANSWER], "done", 0),
        ([NOTHING, SOMETHING], "done", 0),
        ([NOTHING, TREND], "done", 0),
        ([], "done", 0),
    ],
)
async def test_nothing_measured_is_skipped(events: list[ev.AnyEvent], status: str, code: int) -> None:
    async def work(run: Run) -> None:
        for event in events:
            run.emit(event)

    bench = RunnerBench(work)
    ended = await bench.conduct()
    assert (ended.status, ended.exit) == (status, code)
    assert (NOTHING.reason or "") in (ended.reason or "") if code else ended.reason is None
    assert not bench.saved


@pytest.mark.parametrize(
    ("state", "undoing", "waits_for"),
    [
        ("D", "", "worker (pid 7), which hangs"),
        ("R", "", "waits for worker (pid 7) to end"),
        ("", "", "waits for its own threads to end"),
        ("R", "private directory", "private directory is being undone"),
    ],
)
async def test_a_stop_that_takes_longer_says_why(
    state: str, undoing: str, waits_for: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "PROMISED_S", 0.0)
    process = Process(7, "worker", state, 1, 1, 0.0, 0.0)
    monkeypatch.setattr(
        "hostdx.app.run.runner.process_with_descendants", lambda host: {7: process} if state else {}
    )
    note_shown = asyncio.Event()

    async def work(run: Run) -> None:
        bench.stops.request_stop(signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            await note_shown.wait()  # what is being cleaned up hangs

    bench = RunnerBench(work)
    bench.runner.host = Host()
    bench.runner._undoing = undoing
    emit = bench.runner.publish

    def emit_and_note(event: ev.AnyEvent) -> None:
        emit(event)
        if isinstance(event, ev.Note) and waits_for in event.text:
            note_shown.set()

    bench.runner.publish = emit_and_note
    assert (await bench.conduct()).status == "interrupted"
    text = bench.session.notes[-1].text
    assert waits_for in text


async def test_a_stop_in_time_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(run: Run) -> None:
        bench.stops.request_stop(signal.SIGINT)
        await asyncio.Event().wait()

    bench = RunnerBench(work)
    await bench.conduct()
    bench.stops._call_late_if_not_over()
    assert [note.text for note in bench.session.notes] == ["facts"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_stopped_with_everything_undone(tmp_path: Path, number: int, code: int) -> None:
    target = tmp_path / "attribute"
    target.write_text("old\n")
    action = Action(kind="attribute", title="set", target=str(target), new="new", consent=True)

    async def work(run: Run) -> None:
        async with (
            run.apply_change(private_directory_action(str(tmp_path))) as journal,
            run.apply_change(action),
        ):
            assert Path(journal.value).is_dir() and target.read_text() == "new\n"
            bench.stops.request_stop(number)
            bench.stops.request_stop(signal.SIGINT)
            await asyncio.Event().wait()

    bench = RunnerBench(work, (action,))
    ended = await bench.conduct()
    assert (ended.status, ended.exit) == ("interrupted", code)
    assert target.read_text() == "old\n"
    assert not list(tmp_path.glob(".hostdx-*"))
    assert {a.state for a in bench.session.actions.values()} == {"reverted"}
    assert list_journals(journal_dir()) == []


async def test_stopped_while_a_change_is_made(tmp_path: Path) -> None:
    """It is made to its end, and then undone: what is half made could not be."""

    async def work(run: Run) -> None:
        apply = bench.changes.apply_action

        def apply_slowly(action: Action) -> Any:
            applied = apply(action)
            loop.call_soon_threadsafe(bench.stops.request_stop, signal.SIGTERM)
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()  # the cancellation has come in
            return applied

        bench.changes.apply_action = apply_slowly
        async with run.apply_change(private_directory_action(str(tmp_path))):
            raise AssertionError("never reached")

    loop = asyncio.get_running_loop()
    bench = RunnerBench(work)
    assert (await bench.conduct()).exit == 143
    assert not list(tmp_path.glob(".hostdx-*"))


async def test_cancelled_again_while_it_is_undone(tmp_path: Path) -> None:
    async def work(run: Run) -> None:
        revert = bench.changes.revert_action
        task = asyncio.current_task()
        assert task is not None

        def revert_slowly(identifier: str) -> UndoOutcome:
            for _ in range(3):
                loop.call_soon_threadsafe(task.cancel)
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
            outcome: UndoOutcome = revert(identifier)
            return outcome

        bench.changes.revert_action = revert_slowly
        async with run.apply_change(private_directory_action(str(tmp_path))):
            pass

    loop = asyncio.get_running_loop()
    bench = RunnerBench(work)
    await bench.conduct()
    assert [a.state for a in bench.session.actions.values()] == ["reverted"]
    assert not list(tmp_path.glob(".hostdx-*"))


async def test_a_refused_change_is_an_event_and_the_scenario_may_go_on(tmp_path: Path) -> None:
    async def work(run: Run) -> None:
        with pytest.raises(RunRefused, match="not in the plan"):
            async with run.apply_change(
                Action(kind="attribute", title="set", target="/x", new="y", consent=True)
            ):
                raise AssertionError("never reached")
        run.emit(ev.Note(t=run.elapsed_s(), text="went on"))

    bench = RunnerBench(work)
    assert (await bench.conduct()).status == "done"
    assert [a.state for a in bench.session.actions.values()] == ["refused"]


def fail_undo(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Undoing fails that often, as on a device that does not answer."""
    revert, calls = effects.revert_entry, iter(range(times))

    def revert_or_fail(*arguments: Any) -> UndoOutcome:
        return UndoOutcome("failed", "stuck") if next(calls, None) is not None else revert(*arguments)

    monkeypatch.setattr(effects, "revert_entry", revert_or_fail)


async def test_what_cannot_be_undone_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(run: Run) -> None:
        async with run.apply_change(private_directory_action(str(tmp_path))):
            run.emit(ev.Note(t=run.elapsed_s(), text="measured"))
        run.emit(ev.Note(t=run.elapsed_s(), text="went on"))

    fail_undo(monkeypatch, 2)
    bench = RunnerBench(work)
    ended = await bench.conduct()
    assert (ended.status, ended.exit) == ("failed", 3)
    assert "stuck" in str(ended.reason)
    assert [note.text for note in bench.session.notes] == ["facts", "measured"]
    (finding,) = bench.session.worst_first
    assert finding.severity == "critical" and finding.remedy[0].commands == ("hostdx undo",)
    assert len(list_journals(journal_dir())) == 1


async def test_what_can_be_undone_at_the_end_only_is_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(run: Run) -> None:
        async with run.apply_change(private_directory_action(str(tmp_path))):
            pass

    fail_undo(monkeypatch, 1)
    bench = RunnerBench(work)
    ended = await bench.conduct()
    assert (ended.status, ended.exit) == ("failed", 3) and ended.reason
    assert bench.session.worst_first == []
    assert [a.state for a in bench.session.actions.values()] == ["reverted"]
    assert list_journals(journal_dir()) == [] and not list(tmp_path.glob(".hostdx-*"))


async def test_a_stop_stays_a_stop_where_something_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(run: Run) -> None:
        async with run.apply_change(private_directory_action(str(tmp_path))):
            bench.stops.request_stop(signal.SIGINT)
            await asyncio.sleep(3600)

    fail_undo(monkeypatch, 2)
    bench = RunnerBench(work)
    ended = await bench.conduct()
    assert (ended.status, ended.exit) == ("interrupted", 130)
    assert "hostdx undo" in str(ended.reason)


async def test_through_gives_the_result_whatever_comes() -> None:
    gate = asyncio.Event()

    async def wait_for_gate() -> str:
        await gate.wait()
        return "result"

    outer = asyncio.ensure_future(finish_despite_cancel(wait_for_gate()))
    for _ in range(3):
        await asyncio.sleep(0)
        outer.cancel()
    gate.set()
    assert await outer == ("result", True)


def test_every_event_has_its_place_in_the_session() -> None:
    assert set(_FOLDS) == set(ev.Common.__args__)
