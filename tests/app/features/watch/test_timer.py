"""The timer: its units and cron line, and that installing it is a change that stays until it is removed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hostdx.app.features.watch import timer as timers
from hostdx.app.features.watch.battery import NightSettings
from hostdx.app.features.watch.incidents import recorder as service
from hostdx.app.features.watch.incidents.recorder import NAME as INCIDENTS
from hostdx.app.features.watch.incidents.recorder import REMOVE as REMOVE_INCIDENTS
from hostdx.app.features.watch.incidents.recorder import IncidentService
from hostdx.app.features.watch.timer import NAME, REMOVE, WatchTimer
from hostdx.app.state import journal_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.undo import leftovers, undo
from hostdx.app.undo.journal import list_journals
from hostdx.app.undo.kinds import command as commands
from hostdx.app.undo.supervisor import SupervisorProcess
from tests.needs import ROOT, needs, program

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture
def timer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WatchTimer:
    """systemctl is a program that says yes."""
    monkeypatch.setattr(timers, "UNITS", tmp_path / "units")
    (tmp_path / "units").mkdir()
    monkeypatch.setattr(
        commands, "find_tool", lambda name: shutil.which("true") if name == "systemctl" else None
    )
    monkeypatch.setattr(SupervisorProcess, "hand_over", SupervisorProcess.end_watch)
    monkeypatch.setattr("sys.argv", ["hostdx"])
    return WatchTimer(
        at="02:05",
        wanted=NightSettings(directory=str(tmp_path), textfile="/var/lib/a b/100%.prom", fleet="/srv/nights"),
    )


def test_installed_it_stays_until_it_is_removed(timer: WatchTimer, tmp_path: Path) -> None:
    timers.install_units(timer, yes=True)
    units = tmp_path / "units"
    assert (units / f"{NAME}.service").read_text() == timer.service_unit
    assert (units / f"{NAME}.timer").read_text() == timer.timer_unit
    installation = timers.find_installation()
    assert (
        installation is not None
        and installation.header.kept == REMOVE
        and not installation.is_open
        and len(installation.entries) == 4
    )
    assert leftovers.leftover_lines() == []
    assert all(change.on_purpose and change.state == "kept" for change in undo.preview_undo(installation))
    journal = undo.lock_journal(installation.path)
    assert journal is not None and undo.undo_entries(journal) == []
    journal.close()
    with pytest.raises(Failure):
        timers.install_units(timer, yes=True)
    assert [change.outcome.state for change in timers.remove_units()] == ["reverted"] * 4
    assert (
        list(units.iterdir()) == []
        and list_journals(journal_dir()) == []
        and timers.find_installation() is None
    )
    with pytest.raises(Failure):
        timers.remove_units()


def test_the_service_of_incidents_is_installed_and_removed_alone(timer: WatchTimer, tmp_path: Path) -> None:
    incident_service = IncidentService()
    timers.install_units(incident_service, yes=True)
    assert (tmp_path / "units" / INCIDENTS).read_text() == incident_service.unit_text
    assert timers.find_installation() is None, "the timer of the nights is another installation"
    with pytest.raises(Failure):
        timers.install_units(incident_service, yes=True)
    with pytest.raises(Failure):
        timers.remove_units()
    assert [change.outcome.state for change in timers.remove_units(REMOVE_INCIDENTS)] == ["reverted"] * 3
    assert list((tmp_path / "units").iterdir()) == [] and timers.find_installation(REMOVE_INCIDENTS) is None


def test_not_without_consent(timer: WatchTimer, tmp_path: Path) -> None:
    with pytest.raises(Failure):
        timers.install_units(timer, yes=False)
    assert list((tmp_path / "units").iterdir()) == [] and list_journals(journal_dir()) == []


def test_all_or_nothing(timer: WatchTimer, tmp_path: Path) -> None:
    """Somebody's own timer of that name: nothing is left of ours, his is as it was."""
    other = tmp_path / "units" / f"{NAME}.timer"
    other.write_text("his")
    with pytest.raises(Failure):
        timers.install_units(timer, yes=True)
    assert [path.name for path in (tmp_path / "units").iterdir()] == [
        other.name
    ] and other.read_text() == "his"
    assert list_journals(journal_dir()) == []


def test_a_unit_that_somebody_changed_is_left(timer: WatchTimer, tmp_path: Path) -> None:
    timers.install_units(timer, yes=True)
    unit = tmp_path / "units" / f"{NAME}.service"
    unit.write_text(timer.service_unit + "# mine\n")
    assert sorted(change.outcome.state for change in timers.remove_units()) == [
        "kept",
        "reverted",
        "reverted",
        "reverted",
    ]
    assert unit.is_file()


@needs(program("systemd-analyze"))
def test_systemd_takes_the_units(timer: WatchTimer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "own_command", lambda: (str(shutil.which("true")),))
    monkeypatch.setattr(service, "own_command", lambda: (str(shutil.which("true")),))
    texts = {
        f"{NAME}.service": timer.service_unit,
        f"{NAME}.timer": timer.timer_unit,
        INCIDENTS: IncidentService().unit_text,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    units = [str(tmp_path / name) for name in texts]
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and NAME not in done.stderr and INCIDENTS not in done.stderr


@pytest.fixture
def other_hostdx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another user's `hostdx`, found first in PATH."""
    folder = tmp_path / "alice" / "bin"
    folder.mkdir(parents=True)
    (folder / "hostdx").write_text("#!/bin/sh\n")
    (folder / "hostdx").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder / "hostdx"


def test_the_unit_names_the_program_that_runs_now(
    timer: WatchTimer, other_hostdx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    genuine = tmp_path / "genuine" / "hostdx"
    genuine.parent.mkdir()
    genuine.write_text("#!/bin/sh\n")
    genuine.chmod(0o755)
    (tmp_path / "link").symlink_to(genuine)
    for command in (str(genuine), str(tmp_path / "link"), "hostdx"):
        monkeypatch.setattr("sys.argv", [command])
        assert str(other_hostdx) not in timer.service_unit + timer.cron_line
    monkeypatch.setattr("sys.argv", [str(tmp_path / "link")])
    assert timer.night_command[0] == str(genuine)
    assert any(str(genuine) in sentence for sentence in timer.install_plan().sentences)


@needs(ROOT)
def test_root_installs_no_program_of_others(
    timer: WatchTimer, other_hostdx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.chown(other_hostdx.parent, 65534, 65534)
    monkeypatch.setattr("sys.argv", [str(other_hostdx)])
    with pytest.raises(Failure):
        timers.install_units(timer, yes=True)
    assert list((tmp_path / "units").iterdir()) == [] and list_journals(journal_dir()) == []
