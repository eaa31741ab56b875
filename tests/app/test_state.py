"""Where root keeps its recordings, journals and locks when others rule the place that the environment names."""

import errno
import os
from pathlib import Path

import pytest

from hostdx.app import state
from hostdx.app.state import ELSEWHERE, error_advice, make_private_dir, recordings_dir, runtime_dir
from hostdx.app.terminal.failure import Failure
from tests.needs import ROOT, needs


def refusal_of(path: str) -> str:
    return f"{path} belongs to alice" if "/alice" in path else ""


def test_root_makes_nothing_below_another_users_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "alice"
    home.mkdir()
    monkeypatch.setattr("hostdx.app.state.known_path_writers_text", refusal_of)
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    with pytest.raises(Failure, match="belongs to alice; as root set XDG_STATE_HOME"):
        make_private_dir(recordings_dir())
    assert list(home.iterdir()) == []


def test_roots_locks_do_not_lie_in_the_runtime_directory_of_who_called_su(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.app.state.known_path_writers_text", refusal_of)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "alice"))
    assert runtime_dir() == Path("/run/hostdx")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "root"))
    assert runtime_dir() == tmp_path / "root" / "hostdx"


@needs(ROOT)
def test_a_directory_that_belongs_to_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    monkeypatch.setenv("XDG_STATE_HOME", str(home))
    with pytest.raises(Failure, match="uid 65534"):
        make_private_dir(recordings_dir())
    assert list(home.iterdir()) == []


def test_each_error_has_advice_of_its_own() -> None:
    numbers = (
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EFBIG,
        errno.EMFILE,
    )
    advice = {error_advice(OSError(number, "")) for number in numbers}
    assert len(advice) == len(numbers) and all(ELSEWHERE in text for text in advice)
    assert error_advice(OSError(errno.ENXIO, "")) == ELSEWHERE


def test_open_files_are_asked_for_before_anything_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"set": (0, 0)}
    monkeypatch.setattr(state.resource, "setrlimit", lambda kind, limit: limits.update(set=limit))
    for soft, hard, expected in ((64, 4096, (1024, 4096)), (100, 700, (700, 700)), (16, -1, (1024, -1))):
        monkeypatch.setattr(state.resource, "getrlimit", lambda kind, limit=(soft, hard): limit)
        state.raise_descriptor_limit()
        assert limits["set"] == expected
    monkeypatch.setattr(state.resource, "getrlimit", lambda kind: (16, 100))
    with pytest.raises(Failure) as error:
        state.raise_descriptor_limit()
    assert "512" in error.value.text and "100" in error.value.text
