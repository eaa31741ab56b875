"""The build with a Python of its own: what its program leaves to others, and the glibc that its files ask for."""

import os
import runpy
import sys
from pathlib import Path

import pytest

from tests.release.own_python import archive_folder, newest_glibc
from tests.release.packages import RECIPES

PROGRAM = str(RECIPES / "own_python.py")


@pytest.fixture
def frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    start = tmp_path / "hostdx/hostdx/probes/children/start.py"
    start.parent.mkdir(parents=True)
    start.write_text("import sys; sys.told = (__name__, list(sys.argv))", encoding="utf-8")
    for name in ("LD_LIBRARY_PATH", "LD_LIBRARY_PATH_ORIG", "_PYI_ARCHIVE_FILE", "HOSTDX_STARTED_AS"):
        monkeypatch.setenv(name, "/ours")
    return start


def test_it_starts_itself_anew_as_every_child_is_started(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda path, argv: calls.append([path, *argv]))
    monkeypatch.setattr(sys, "argv", ["hostdx", "triage", "--json"])
    runpy.run_path(PROGRAM, run_name="__main__")
    assert calls == [
        [sys.executable, sys.executable, "-I", str(frozen), "hostdx.app.cli", "triage", "--json"]
    ]
    assert os.environ["HOSTDX_STARTED_AS"] == sys.executable


@pytest.mark.parametrize("flag", ["-I", "-P"])
def test_as_an_interpreter_it_runs_our_start_alone(
    frozen: Path, monkeypatch: pytest.MonkeyPatch, flag: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["hostdx", flag, str(frozen), "hostdx.app.cli", "triage"])
    monkeypatch.setattr(sys, "told", None, raising=False)
    runpy.run_path(PROGRAM, run_name="__main__")
    assert getattr(sys, "told", None) == ("__main__", [str(frozen), "hostdx.app.cli", "triage"])


@pytest.mark.parametrize("before", ["/the/users", None])
def test_the_hosts_programs_do_not_take_our_libraries(
    frozen: Path, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    if before is None:
        monkeypatch.delenv("LD_LIBRARY_PATH_ORIG")
    else:
        monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", before)
    monkeypatch.setattr(os, "execv", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["hostdx"])
    runpy.run_path(PROGRAM, run_name="__main__")
    assert os.environ.get("LD_LIBRARY_PATH") == before
    assert not {"LD_LIBRARY_PATH_ORIG", "_PYI_ARCHIVE_FILE"} & set(os.environ)


def test_the_newest_glibc_of_all_elf_files(tmp_path: Path) -> None:
    (tmp_path / "old.so").write_bytes(b"\x7fELF..GLIBC_2.9\0GLIBC_2.2.5\0GLIBC_PRIVATE\0")
    (tmp_path / "new.so").write_bytes(b"\x7fELF..GLIBC_2.28\0GLIBC_2.4\0")
    (tmp_path / "text").write_bytes(b"GLIBC_9.9\0")
    assert newest_glibc(tmp_path) == ((2, 28), "new.so")


def test_an_archive_of_the_same_files_has_the_same_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "hostdx"
    folder.mkdir()
    (folder / "b").write_text("b", encoding="utf-8")
    first = archive_folder(folder, tmp_path, "1", "x").read_bytes()
    (folder / "b").touch()
    assert archive_folder(folder, tmp_path, "1", "x").read_bytes() == first
