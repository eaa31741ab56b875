"""What a killed run left, also below paths that are no text."""

import json
import os
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.cli.telling import triage
from hostdx.app.state import journal_dir, make_private_dir
from hostdx.app.terminal.process import ProcessIdentity, process_identity
from hostdx.app.undo import effects, leftovers, undo
from hostdx.app.undo.journal import SCHEMA, Journal, JournalEntry, JournalHeader, peek_journal
from hostdx.app.undo.undo import Leftover
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.action import Action, private_directory_action
from hostdx.scenarios.contract.plan import Plan, PlannedWrite
from tests.app.launcher import run_hostdx

pytestmark = pytest.mark.usefixtures("own_state")


TARGET = "/sys/block/sdz/queue/scheduler"
SWITCH = Action(kind="attribute", title="switch sdz", target=TARGET, new="bfq", consent=True)
DEAD = ProcessIdentity(2**22 + 1, 1, process_identity().boot_id)


def leave_journal(action: Action = SWITCH, owner: ProcessIdentity = DEAD) -> None:
    header = JournalHeader(schema=SCHEMA, run="r", who=owner, command=["hostdx"], recording="", began_s=0.0)
    book = Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", header)
    book.record_intent(JournalEntry(id="1", action=action, value="bfq", old="mq-deadline"))
    os.close(book.descriptor)


def make_leftover(action: Action = SWITCH, owner: ProcessIdentity = DEAD) -> Leftover:
    header = JournalHeader(schema=SCHEMA, run="r", who=owner, command=["hostdx"], recording="", began_s=0.0)
    return Leftover(Path("r"), header, (JournalEntry(id="1", action=action, value="bfq", old="none"),), False)


def plan(*actions: Action, writes: tuple[str, ...] = ()) -> Plan:
    return Plan(
        scenario="s",
        title="t",
        question="q",
        actions=actions,
        writes=tuple(PlannedWrite(d, 1) for d in writes),
    )


def test_said_in_one_line() -> None:
    leave_journal()
    assert leftovers.leftover_lines() == [
        f"an earlier run (r) ended without undoing 1 change: {TARGET} is bfq, was mq-deadline; see `hostdx undo`"
    ]


def test_said_of_a_run_under_way_too() -> None:
    leave_journal(owner=process_identity())
    assert f"a run is under way (r, pid {os.getpid()}) and holds 1 change" in leftovers.leftover_lines()[0]


def test_after_a_reboot_no_setting_is_named() -> None:
    leave_journal(owner=ProcessIdentity(1, 1, "another boot"))
    assert "a reboot undid the settings" in leftovers.leftover_lines()[0]


@pytest.mark.parametrize(
    ("leftover", "plan", "stops"),
    [
        (make_leftover(), plan(), False),  # a watch, as for tasks in D
        (make_leftover(), plan(SWITCH), True),
        (make_leftover(), plan(private_directory_action("/data"), writes=("sdz",)), True),
        (make_leftover(), plan(private_directory_action("/data"), writes=("sdy",)), False),
        (
            make_leftover(private_directory_action("/data")),
            plan(SWITCH),
            False,
        ),  # a directory bears on nothing
        (make_leftover(owner=ProcessIdentity(1, 1, "another boot")), plan(SWITCH), False),
        (
            make_leftover(
                Action(kind="attribute", title="t", target="/proc/sys/vm/swappiness", new="1", consent=True)
            ),
            plan(private_directory_action("/data"), writes=("sdy",)),
            True,
        ),
    ],
)
def test_who_is_stopped(monkeypatch: pytest.MonkeyPatch, leftover: Leftover, plan: Plan, stops: bool) -> None:
    monkeypatch.setattr(leftovers, "devices_with_loops_under", lambda *_: {})
    assert leftovers.is_in_the_way(Host("/nonexistent"), leftover, plan) is stops


@pytest.mark.parametrize("under", [{"sdz": ""}, Absent("an overlay")])
def test_stopped_where_it_lies_on_the_device_or_may(
    monkeypatch: pytest.MonkeyPatch, under: dict[str, str] | Absent
) -> None:
    monkeypatch.setattr(leftovers, "devices_with_loops_under", lambda *_: under)
    assert leftovers.is_in_the_way(
        Host("/nonexistent"), make_leftover(), plan(private_directory_action("/data"))
    )


@pytest.mark.parametrize(
    "arguments", [("plan", "dstate"), ("plan", "dstate", "--json"), ("plan", "dstate", "--events", "-")]
)
def test_a_plan_says_it(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    leave_journal()
    assert run_command_line(arguments) == 0
    captured = capsys.readouterr()
    assert (captured.out if "--events" in arguments else captured.err).count(
        "an earlier run (r) ended without undoing"
    ) == 1


def test_triage_says_it_first(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    leave_journal()
    monkeypatch.setattr("hostdx.scenarios.triage.triage.examine_host", lambda *_, **__: iter(()))
    assert triage.triage.main([], standalone_mode=False) == 0
    assert "! an earlier run (r) ended without undoing" in capsys.readouterr().out


def test_of_another_host_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    leave_journal()
    (tmp_path / "sys").mkdir()
    (tmp_path / "proc").mkdir()
    run_command_line(("plan", "dstate", "--root", str(tmp_path)))
    captured = capsys.readouterr()
    assert "an earlier run" not in captured.out + captured.err


@pytest.mark.real("cpu")
def test_a_watch_runs_beside_what_is_left(capfd: pytest.CaptureFixture[str]) -> None:
    leave_journal()
    assert run_command_line(("run", "dstate", "--seconds", "1", "--quiet")) == 0
    assert "an earlier run (r) ended without undoing" in capfd.readouterr().err


def test_undo_tells_the_same_as_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    leave_journal()
    assert run_command_line(("undo", "--dry-run")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert run_command_line(("undo", "--dry-run", "--json")) == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert lines == [f"{change['title']}: would {change['would']}"] and change["state"] == "open"
    assert run_command_line(("undo", "--json")) == 0
    (done,) = json.loads(capsys.readouterr().out)["changes"]
    assert (done["title"], done["state"]) == (change["title"], "reverted")
    assert run_command_line(("undo", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == []


@pytest.mark.parametrize(("uid", "is_named"), [(0, False), (1000, True)])
def test_undo_names_the_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], uid: int, is_named: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert run_command_line(("undo",)) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"nothing to undo in {journal_dir()}")
    assert ("/var/lib/hostdx" in out) is is_named


# the same name to a reader; a journal that wrote what a reader sees would not know them apart
NAMES = (b"r\xe9sultats", b"r\\xe9sultats", "résultats".encode(), b"r\\\\xe9sultats", b"r\\udce9sultats")


@pytest.mark.parametrize("name", NAMES)
def test_undo_removes_that_path_and_no_other(tmp_path: Path, name: bytes) -> None:
    folders = [tmp_path / os.fsdecode(raw_name) for raw_name in NAMES]
    for folder in folders:
        folder.mkdir()
    (folder,) = (folder for folder in folders if os.fsencode(folder.name) == name)
    nobody = ProcessIdentity(2**22 + 1, 1, process_identity().boot_id)
    head = JournalHeader(schema=SCHEMA, run="r", who=nobody, command=[str(folder)], recording="", began_s=0.0)
    book = Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", head)
    entry = effects.prepare_entry(private_directory_action(str(folder)), "1")
    book.record_intent(entry)
    book.record_made(effects.carry_out_entry(entry, ()))
    os.close(book.descriptor)
    path = Path(entry.value)
    assert path.parent == folder and path.is_dir()
    for other in folders:  # of that name, not ours
        (other / path.name).mkdir(exist_ok=True)

    header, (read,) = peek_journal(book.path)
    assert header.command == [str(folder)] and read.value == entry.value
    journal = undo.lock_journal(book.path)
    assert journal is not None
    assert [undo_entry.outcome.state for undo_entry in undo.undo_entries(journal)] == ["reverted"]
    journal.close()
    assert [folder for folder in folders if not (folder / path.name).exists()] == [folder]


@pytest.mark.disk
def test_a_plan_has_one_digest_and_two_directories_have_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a process of its own as in this one."""
    digests = []
    for name in NAMES:
        folder = tmp_path / os.fsdecode(name)
        folder.mkdir(exist_ok=True)
        command = ("plan", "null", "--dir", str(folder), "--json")
        done = run_hostdx(tmp_path, *command)
        assert done.returncode == 0, done.stderr
        assert run_command_line(command) == 0
        shown, of_child = capsys.readouterr().out, done.stdout
        assert json.loads(shown)["digest"] == json.loads(of_child)["digest"]
        digests.append(json.loads(shown)["digest"])
    assert len(set(digests)) == len(NAMES)
