"""`watch` and `history` as they are typed: what each prints, its status, and what is refused in one line."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from hostdx.app.features.watch import night as nights
from hostdx.app.features.watch import timer as timers
from hostdx.app.features.watch.nights import INDEX, NightsFolder
from hostdx.app.terminal.failure import Failure
from tests.app.cli.test_compare import enter
from tests.app.features.watch.test_night import Clocked, host  # noqa: F401

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.mark.parametrize("option", ["--units", "--install"])
@pytest.mark.parametrize("wrong", [["--dir"], ["--textfile"]])
def test_what_is_not_there_is_no_timer(
    option: str, wrong: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "none" / "x.prom"
    status, out, err = enter(capsys, "watch", option, *wrong, str(place))
    assert (status, out) == (2, "") and "none" in err and len(err.splitlines()) == 1
    (tmp_path / "none").touch()  # a file is no directory to measure in
    assert enter(capsys, "watch", option, "--dir", str(tmp_path / "none"))[0] == 2


def test_units_and_a_cron_line_change_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = enter(
        capsys, "watch", "--units", "--dir", str(tmp_path), "--at", "04:05", "--keep", "9"
    )
    assert (status, err) == (0, "")
    assert (
        out.startswith("5 4 * * * ")
        and f"--keep 9 --dir {tmp_path}" in out
        and "OnCalendar=*-*-* 04:05:00" in out
    )
    assert not nights.nights_folder().exists()


def test_without_systemd_the_lines_are_printed_and_it_is_no_success(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timers, "has_systemd", lambda: False)
    status, out, err = enter(capsys, "watch", "--install", "--yes")
    assert status == 3 and out.splitlines()[0].startswith("30 2 * * * ") and len(err.splitlines()) == 1


def test_the_plan_is_shown_and_nothing_done(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = enter(capsys, "watch", "--install", "--dry-run")
    assert (status, err) == (0, "") and timers.REMOVE in out and timers.find_installation() is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["--install", "--night"],
        ["--units", "--remove"],
        ["--at", "25:00"],
        ["--keep", "2"],
        ["--textfile", "x.txt"],
    ],
)
def test_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = enter(capsys, "watch", *arguments)
    assert (status, out) == (2, "") and err


def test_what_is_not_installed_is_not_removed(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = enter(capsys, "watch", "--remove")
    assert status == 3 and not out and len(err.splitlines()) == 1
    assert enter(capsys, "watch")[0] == 0


def test_a_night_as_the_timer_runs_it(
    host: Clocked,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nights, "make_night_measure", lambda *more: host.measure)
    monkeypatch.setattr(nights, "busy_reason", lambda host: "")
    arguments = ["watch", "--night", "--json", "--textfile", str(tmp_path / "x.prom")]
    status, out, _ = enter(capsys, *arguments)
    document = json.loads(out)
    assert status == 0 and document["schema"] == "hostdx/1" and len(document["nights"]) == 1
    assert (tmp_path / "x.prom").read_text().endswith("# EOF\n")
    assert enter(capsys, "watch")[1].count("\n") >= 2
    monkeypatch.setattr(nights, "busy_reason", lambda host: "others are at work")
    host.now += timedelta(days=-3)
    status, out, err = enter(capsys, "watch", "--night")
    assert (
        status == 3
        and "others are at work" in err
        and len(NightsFolder(nights.nights_folder()).recording_paths) == 2
    )


@pytest.fixture(scope="module")
def slowed_nights(tmp_path_factory: pytest.TempPathFactory) -> tuple[Clocked, Path]:
    """Return the host after 36 nights, and the state directory that holds them: made once, copied by each test."""
    place = tmp_path_factory.mktemp("nights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        patch.setenv("XDG_RUNTIME_DIR", str(place / "run"))
        clocked = Clocked(place)
        clocked.nights(30)
        clocked.rate = 850.0
        clocked.nights(6)
    return clocked, place / "state"


@pytest.fixture
def slow_host(host: Clocked, slowed_nights: tuple[Clocked, Path], tmp_path: Path) -> Clocked:  # noqa: F811
    night_host, state = slowed_nights
    shutil.copytree(state, tmp_path / "state", dirs_exist_ok=True)
    host.now, host.rate = night_host.now, night_host.rate
    return host


@pytest.mark.parametrize("form", ["md", "html", "json", "openmetrics"])
def test_history_in_every_form(form: str, slow_host: Clocked, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = enter(capsys, "history", "--format", form)
    assert (status, err) == (0, "") and out.endswith("\n")
    assert enter(capsys, "history", "--format", form, "watch")[1] == out
    if form == "json":
        document = json.loads(out)
        assert document["events"] and document["findings"][0]["id"] == "watch.slower"
    if form == "html":
        assert "<svg" in out


def test_fail_on_by_severity(slow_host: Clocked, capsys: pytest.CaptureFixture[str]) -> None:
    assert [
        enter(capsys, "history", "--fail-on", level)[0] for level in ("critical", "warning", "notice")
    ] == [0, 1, 1]
    slow_host.rate = 1000.0
    slow_host.nights(14)
    assert enter(capsys, "history", "--fail-on", "warning")[0] == 0


def test_history_of_recordings_and_of_a_host(slow_host: Clocked, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(path) for path in NightsFolder(nights.nights_folder()).recording_paths]
    history = json.loads(enter(capsys, "history", "--format", "json")[1])
    loads = json.loads(enter(capsys, "history", "--format", "json", *files)[1])
    assert [turn["ratio"] for event in loads["events"] for turn in event["turns"]] == [
        turn["ratio"] for event in history["events"] for turn in event["turns"]
    ]
    status, out, err = enter(capsys, "history", "no-such-host")
    assert (status, out) == (2, "") and len(err.splitlines()) == 1


def test_a_fleets_recordings_that_cannot_be_read_are_one_line(
    slow_host: Clocked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fleet").mkdir()
    for name in "ab":
        (tmp_path / f"fleet/{name}.jsonl").write_text("nonsense\n")
    status, out, err = enter(capsys, "history", "--fleet", str(tmp_path / "fleet"))
    assert (status, out != "") == (0, True) and len(err.splitlines()) == 1 and "a.jsonl" in err


def test_two_nights_with_everything_that_goes_wrong_lose_nothing(
    host: Clocked,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A clock moved by years, a full disk, a reboot in the middle and a broken index, one after the other."""
    host.nights(1)
    host.now += timedelta(days=-4000)
    host.cut = True
    host.night()
    host.cut, host.full = False, True
    with pytest.raises(Failure):
        host.night()
    host.full = False
    (nights.nights_folder() / INDEX).write_bytes(b"{")
    host.now += timedelta(days=8000)
    host.nights(1)
    document = json.loads(enter(capsys, "history", "--format", "json")[1])
    assert [night["state"] for night in document["nights"]] == ["measured", "cut off", "measured"]
    assert [night["night"] for night in document["nights"]] == [1, 2, 3]
