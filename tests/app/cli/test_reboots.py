"""`run kernel --before` and `--after` as they are typed, over recordings made by hand."""

from pathlib import Path

import msgspec
import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.cli.measuring import several_runs
from hostdx.app.state import recordings_dir
from hostdx.app.terminal.failure import Failure
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric, Plan, Workload
from hostdx.scenarios.kernel.scenario import KernelScenario

HOST = "n1"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    recordings_dir().mkdir(parents=True)
    uname = type("Uname", (), {"nodename": HOST})
    monkeypatch.setattr("hostdx.app.cli.measuring.several_runs.os.uname", lambda: uname)


def now_in(monkeypatch: pytest.MonkeyPatch, boot: str) -> None:
    monkeypatch.setattr(several_runs, "boot_id", lambda: boot)


def check(**options: Json) -> bool:
    return several_runs.check_follows_earlier_runs("run", KernelScenario(), options)


def after_run() -> list[str]:
    return list(several_runs.describe_series_progress(KernelScenario()))


def record(
    day: int, boot: str, kernel: str, *, host: str = HOST, status: ev.Status = "done", **options: object
) -> None:
    workload = Workload(id="syscall", title="system call", metrics=(Metric("calls/s", "calls/s"),))
    events: list[ev.AnyEvent] = [
        ev.Began(
            t=0.0, schema=ev.SCHEMA, version="0.1.0", scenario="kernel", command=[], host=host,
            wall=f"2026-11-{day:02}T10:00:00Z", seed=1, pid=1, pid_start=1, boot_id=boot,
            options=options,  # type: ignore[arg-type]
        ),
        ev.Planned(t=0.0, plan=Plan(scenario="kernel", title="", question="", workloads=(workload,))),
        ev.FactRead(t=0.0, subject="kernel", name="release", value=kernel, source="uname -r"),
        ev.Block(
            t=1.0, workload="syscall", variant="one", group=0, index=0, seconds=0.04,
            values={"calls/s": 1000.0 if kernel == "5.10" else 400.0},
        ),
        ev.RunEnded(t=2.0, status=status),
    ]  # fmt: skip
    path = recordings_dir() / f"202611{day:02}T100000Z-kernel-{day}.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))


def test_the_way_through_a_series(monkeypatch: pytest.MonkeyPatch) -> None:
    now_in(monkeypatch, "b1")
    assert check(before=True)
    record(1, "b1", "5.10", before=True, order="ABBA")
    measured, to_do = after_run()
    assert measured == "boots measured: A of ABBA; A (before): 5.10; B (after): not measured yet"
    assert to_do == (
        "next: reboot into the other kernel (or with the other setting), then `hostdx run kernel --after`; "
        "3 boots are left"
    )
    with pytest.raises(Failure, match="reboot first"):
        check(after=True)
    now_in(monkeypatch, "b2")
    assert check(after=True)
    record(2, "b2", "6.1", after=True, order="ABBA")
    _, answer, command, to_do = after_run()
    assert "2.5 × slower" in answer
    assert (
        command
        == "comparison: hostdx compare 20261101T100000Z-kernel-1.jsonl -- 20261102T100000Z-kernel-2.jsonl"
    )
    assert to_do.startswith("next: reboot into 6.1 once more, then `hostdx run kernel --after`; 2 boots")
    record(3, "b3", "6.1", after=True, order="ABBA")
    record(4, "b4", "5.10", before=True, order="ABBA")
    lines = after_run()
    assert lines[0].startswith("boots measured: ABBA of ABBA") and not any(
        x.startswith("next") for x in lines
    )


def test_an_after_needs_a_before(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    now_in(monkeypatch, "b1")
    record(1, "b0", "5.10", before=True, host="another")
    record(2, "b0", "5.10", before=True, status="interrupted")
    record(3, "b0", "5.10")
    assert run_command_line(["plan", "kernel", "--after"]) == 2  # as the run itself
    assert "begin with that one" in capsys.readouterr().err
    with pytest.raises(Failure, match="begin with that one"):
        check(after=True)


def test_before_and_after_exclude_each_other() -> None:
    with pytest.raises(Failure, match="exclude"):
        check(before=True, after=True)
    assert not check()
