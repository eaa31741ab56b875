"""Who could rename what lies on the way: told for root, by owner and mode, over links, and not in sticky folders."""

import os
from pathlib import Path

import pytest

from hostdx.probes.files import path_ownership as module
from hostdx.probes.files.path_ownership import describe_exposure_of_root
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract.action import private_directory_action
from hostdx.scenarios.contract.model import make_directory_action


@pytest.fixture(autouse=True)
def as_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The test's own user stands for root, and what lies above the test's directory for what is root's."""
    me, lstat = os.geteuid(), os.lstat
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    def status_as_root(path: str) -> os.stat_result:
        status = list(lstat(path))
        if not str(path).startswith(f"{tmp_path}/"):
            status[0] = (status[0] & ~0o022) | 0o755
        status[4] = 0 if status[4] == me else status[4]
        status[5] = 7 if status[5] == os.getegid() else status[5]
        return os.stat_result(status)

    monkeypatch.setattr(module.os, "lstat", status_as_root)


@pytest.mark.parametrize(
    ("mode", "part"),
    [
        (0o755, ""),
        (0o1777, ""),
        (0o777, "may be written to by everybody"),
        (0o775, "may be written to by group 7"),
        (0o1775, ""),
    ],
)
def test_a_folder_above_by_its_mode(tmp_path: Path, mode: int, part: str) -> None:
    folder = tmp_path / "scratch"
    (folder / "mine").mkdir(parents=True)
    folder.chmod(mode)
    exposure = describe_exposure_of_root(str(folder / "mine"))
    assert (part in exposure and str(folder) in exposure) if part else not exposure


def test_over_a_link_and_where_it_lies(tmp_path: Path) -> None:
    free = tmp_path / "free"
    (tmp_path / "real").mkdir()
    free.mkdir()
    (free / "link").symlink_to("../real")
    assert not describe_exposure_of_root(str(free / "link"))
    free.chmod(0o777)
    assert str(free) in describe_exposure_of_root(str(free / "link"))
    free.chmod(0o755)
    (tmp_path / "real").chmod(0o777)
    assert f"{tmp_path}/real may be written to by everybody" in describe_exposure_of_root(str(free / "link"))


def test_only_root_and_only_this_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "free"
    folder.mkdir()
    folder.chmod(0o777)
    assert describe_exposure_of_root(str(folder))
    host = Host(str(tmp_path))
    assert make_directory_action(host, str(folder)) == private_directory_action(str(folder))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not describe_exposure_of_root(str(folder))
    assert not describe_exposure_of_root(str(tmp_path / "missing"))


def test_another_user_s_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alice").mkdir()
    original = module.os.lstat

    def status_of_alice(path: str) -> os.stat_result:
        status = list(original(path))
        status[4] = 4242 if path == f"{tmp_path}/alice" else status[4]
        return os.stat_result(status)

    monkeypatch.setattr(module.os, "lstat", status_of_alice)
    assert "alice belongs to uid 4242, who can rename" in describe_exposure_of_root(str(tmp_path / "alice"))
