"""`rm` with its confirmation, the manual page, and what the screen asks for when directories are chosen."""

from pathlib import Path

import pytest

from hostdx.app.cli import places
from hostdx.app.cli.entry import run_command_line
from hostdx.app.recordings import store

RECORDINGS = Path(__file__).parents[2] / "fixtures/recordings"


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory with two recordings, one of them with a part."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "hostdx/recordings"
    (folder / "a.parts").mkdir(parents=True)
    line = next(path for path in sorted(RECORDINGS.rglob("storage.jsonl"))).read_bytes()
    for path in (folder / "a.jsonl", folder / "b.jsonl", folder / "a.parts/1-null.jsonl"):
        path.write_bytes(line)
    (folder / "a.log").write_text("")
    return folder


def list_files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_rm_deletes_the_recording_with_its_parts_and_nothing_without_a_yes(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert store.list_part_recordings(recordings / "a.jsonl") == [recordings / "a.parts/1-null.jsonl"]
    assert run_command_line(["rm", "a"]) == 3 and "add --yes" in capsys.readouterr().err
    assert len(list_files(recordings)) == 5
    assert run_command_line(["rm", "a", "--yes"]) == 0
    assert list_files(recordings) == ["b.jsonl"]
    assert run_command_line(["rm", "demo:storage", "--yes"]) == 2 == run_command_line(["rm", "gone", "--yes"])
    (recordings / "link.jsonl").symlink_to(recordings / "b.jsonl")
    assert run_command_line(["rm", str(recordings / "link.jsonl"), "--yes"]) == 2
    (recordings.parent / "notes.txt").write_text("mine")
    assert run_command_line(["rm", str(recordings.parent / "notes.txt"), "--yes"]) == 2
    assert list_files(recordings) == ["b.jsonl", "link.jsonl"]


def test_rm_deletes_no_file_that_only_has_a_recordings_name(
    recordings: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "train.jsonl"
    data.write_text('{"text": "somebody else\'s data"}\n')
    assert run_command_line(["rm", "--yes", str(data)]) == 2 and data.exists()
    assert capsys.readouterr().err.count("\n") == 1
    journal = tmp_path / "hostdx/journal/r.jsonl"
    journal.parent.mkdir()
    journal.write_text('{"line":"header"}\n')
    assert run_command_line(["rm", "--yes", str(journal)]) == 2 and journal.exists()
    (recordings / "b.jsonl").write_text("damaged")  # of one's own: how else would it go away
    assert run_command_line(["rm", "--yes", "b"]) == 0 and not (recordings / "b.jsonl").exists()


def test_the_manual_page_has_every_command_and_no_stray_roff(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["man"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(".TH HOSTDX 1")
    for words in (
        "hostdx rm ",
        "hostdx run ",
        "\\-\\-most\\-written",
        "\\fB\\-\\-root",
        "checkup",
        ".SH EXIT STATUS",
    ):
        assert words in page, words
    assert "hostdx pulse" not in page and "hostdx places" not in page
    requests = {row.split()[0] for row in page.splitlines() if row.startswith((".", "'"))}
    assert requests <= {".TH", ".ad", ".SH", ".SS", ".TP", ".B", ".I", ".RS", ".RE"}


def test_a_path_is_completed_as_far_as_it_is_certain(tmp_path: Path) -> None:
    for name in ("data one", "data two", "other", ".hidden"):
        (tmp_path / name).mkdir()
    (tmp_path / "data.txt").write_text("no directory")
    base = str(tmp_path)
    assert places.complete_path(f"{base}/d") == (f"{base}/data ", ["data one", "data two"])
    assert places.complete_path(f"{base}/o") == (f"{base}/other/", [])
    assert places.complete_path(f"{base}/.h") == (f"{base}/.hidden/", [])
    assert places.complete_path(f"{base}/x") == (f"{base}/x", []) == (f"{base}/x", [])
    assert places.complete_path(f"{base}/") == (f"{base}/", ["data one", "data two", "other"])
    assert places.complete_path("/nowhere/at/all") == ("/nowhere/at/all", [])


def test_the_places_are_told_with_what_carries_them(capsys: pytest.CaptureFixture[str]) -> None:
    import msgspec

    assert run_command_line(["places", "--mounts", "--", str(Path.cwd()), "/proc"]) == 0
    places = {place["path"]: place for place in msgspec.json.decode(capsys.readouterr().out)}
    assert places["/proc"]["refusal"] and str(Path.cwd()) in places


def test_a_recording_is_given_a_name_that_every_command_takes(
    recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["recordings", "--name", "a", "before firmware"]) == 0
    assert (
        store.read_label(recordings / "a.jsonl") == "before firmware"
        and store.read_label(recordings / "b.jsonl") == ""
    )
    assert store.resolve_recording("before firmware") == recordings / "a.jsonl"
    assert run_command_line(["recordings"]) == run_command_line(["report", "before firmware"]) == 0
    assert run_command_line(["compare", "a", "--", "b", "--anyway"]) in (0, 3)
    assert capsys.readouterr().out.count("before firmware") >= 3  # in each of them
    for argv in (["demo:null", "x"], ["a", "two\nlines"], ["a", "x" * 61], ["nosuch", "x"]):
        assert run_command_line(["recordings", "--name", *argv]) == 2, argv
    (recordings / "b.name").write_bytes(b"\x1b[31m\xff red")  # by another hand
    assert store.read_label(recordings / "b.jsonl").isprintable()
    assert run_command_line(["recordings", "--name", "a", ""]) == 0
    assert store.read_label(recordings / "a.jsonl") == "" and not (recordings / "a.name").exists()
    assert (
        run_command_line(["recordings", "--name", "a", "again"])
        == run_command_line(["rm", "a", "--yes"])
        == 0
    )
    assert list_files(recordings) == ["b.jsonl", "b.name"]
