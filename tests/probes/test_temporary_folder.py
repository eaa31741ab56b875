"""A folder of a killed process is removed by the next one; of a process that lives, or of nobody's, none is."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hostdx.probes.reading.captured import temporary_folder as module
from hostdx.probes.reading.captured.temporary_folder import remove_leftovers, temporary_folder

KILLED = """
import os, signal
from hostdx.probes.reading.captured.temporary_folder import temporary_folder
made = temporary_folder()
open(made.name + "/file", "w").close()
print(made.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_of_a_killed_process_it_goes_with_the_next_start(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    leftover = Path(done.stdout.strip())
    assert leftover.parent == tmp_path and leftover.is_dir()
    (tmp_path / "hostdx-of-nobody").mkdir()
    with temporary_folder() as folder:
        assert not leftover.exists()
        assert remove_leftovers() == 0 and Path(folder).is_dir()
    assert [path.name for path in tmp_path.iterdir()] == ["hostdx-of-nobody"]


def test_a_link_of_that_name_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").touch()
    name = f"{module.PREFIX}4194304-1-{module._pid_namespace_inode()}-x"
    (tmp_path / name).symlink_to(precious)
    remove_leftovers()
    assert (precious / "file").exists()
    monkeypatch.setattr(module, "known_path_writers_text", lambda place: "belongs to alice")
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    assert remove_leftovers() == 0
