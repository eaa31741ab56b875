"""Root works in a folder of an unprivileged user, who renames what lies there: nothing else is deleted or written.

Each of these attacks worked once. The user acts through a descriptor of his folder: the test's own directories above
are closed to him, a real one's are not.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hostdx.app import locks
from hostdx.app.state import journal_dir, make_private_dir
from hostdx.app.terminal.process import ProcessIdentity, process_identity
from hostdx.app.undo import effects
from hostdx.app.undo.journal import SCHEMA, Journal, JournalHeader
from hostdx.scenarios.contract.action import private_directory_action
from tests.app.launcher import run_hostdx
from tests.needs import ROOT, needs
from tests.real.iosched_kill import list_journals
from tests.real.trim_disk import TrimDisk

pytestmark = [pytest.mark.real, needs(ROOT)]
USER = 65534
ROUND = ("--round", "--budget", "3", "--yes")

# Renames the private directory that lies in folder argv[1] and puts a link to argv[2] there; once, or as soon as it
# appears (argv[3]: "wait").
ATTACK = f"""
import os, sys
folder = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
os.setgroups([]); os.setgid({USER}); os.setuid({USER})
while True:
    names = [n for n in os.listdir(folder) if n.startswith(".hostdx-")]
    if names or sys.argv[3] != "wait":
        break
for name in names:
    if not os.path.islink(f"/proc/self/fd/{{folder}}/{{name}}"):
        os.rename(name, "moved", src_dir_fd=folder, dst_dir_fd=folder)
        os.symlink(sys.argv[2], name, dir_fd=folder)
"""
# Where the user's own command of root's was started, and a file that it leaves there.
COMMAND = """
import os, sys
open(sys.argv[1], "a").write(os.path.realpath(os.getcwd()) + "\\n" + os.path.realpath(os.environ["TMPDIR"]) + "\\n")
open("left", "w").write("x")
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[TrimDisk]:
    with TrimDisk(tmp_path, "ext4") as trim_disk:
        yield trim_disk


@pytest.fixture
def folder(disk: TrimDisk) -> Path:
    users_folder = disk.mountpoint / "alice"
    users_folder.mkdir()
    os.chown(users_folder, USER, USER)
    return users_folder


@pytest.fixture
def precious(disk: TrimDisk) -> Path:
    """Root's own, where the user may do nothing."""
    roots_folder = disk.mountpoint / "precious"
    (roots_folder / "deep").mkdir(parents=True)
    for path in (roots_folder / "passwd", roots_folder / "deep" / "shadow"):
        path.write_text("root")
    return roots_folder


def read_tree(place: Path) -> dict[str, tuple[str, int]]:
    """Every file's text, and when each directory's names were last changed."""
    files = {str(p.relative_to(place)): (p.read_text(), 0) for p in place.rglob("*") if p.is_file()}
    return files | {str(p): ("", p.stat().st_mtime_ns) for p in (place, *place.rglob("*")) if p.is_dir()}


def attack_command(folder: Path, target: Path, when: str) -> list[str]:
    return [sys.executable, "-c", ATTACK, str(folder), str(target), when]


@pytest.mark.soak("the same where nothing may be made, and where undo may not delete")
def test_what_a_link_leads_to_is_not_deleted_by_a_run(tmp_path: Path, folder: Path, precious: Path) -> None:
    before = read_tree(precious)
    workload = shlex.join(attack_command(folder, precious, "now"))
    done = run_hostdx(
        tmp_path, "run", "fstrim", "--dir", str(folder), *ROUND, "--workload", workload, timeout=90
    )
    assert any(path.is_symlink() for path in folder.iterdir()), "the attack was not made"
    assert read_tree(precious) == before
    assert done.returncode == 3 and "is not the directory that hostdx made" in done.stderr
    # nor later; and there is a way out
    second = run_hostdx(tmp_path, "undo")
    assert second.returncode == 3 and read_tree(precious) == before
    [journal] = list_journals(tmp_path)
    forget = run_hostdx(tmp_path, "undo", "--forget", journal.stem)
    assert (
        forget.returncode == 3
        and "would stay as it is now" in forget.stdout
        and list_journals(tmp_path) == [journal]
    )
    assert run_hostdx(tmp_path, "undo", "--forget", journal.stem, "--yes").returncode == 0
    assert list_journals(tmp_path) == [] and read_tree(precious) == before


def test_nothing_is_made_where_a_link_leads(tmp_path: Path, folder: Path, precious: Path) -> None:
    """The user's process waits for the directory, and is there before it is worked in."""
    before = read_tree(precious)
    log = tmp_path / "log"
    workload = shlex.join([sys.executable, "-c", COMMAND, str(log)])
    attacker = subprocess.Popen(attack_command(folder, precious, "wait"))
    try:
        done = run_hostdx(
            tmp_path, "run", "fstrim", "--dir", str(folder), *ROUND, "--workload", workload, timeout=90
        )
    finally:
        attacker.kill()
        attacker.wait()
    assert any(path.is_symlink() for path in folder.iterdir()), "the attack was not made"
    assert read_tree(precious) == before
    assert not log.exists() or str(precious) not in log.read_text()
    assert done.returncode == 3


def abandon_run(folder: Path, *, is_recorded: bool) -> Path:
    """What a killed run left: a directory, and its journal with or without the line that says which one."""
    header = JournalHeader(
        schema=SCHEMA, run="r", who=ProcessIdentity(2**22 + 1, 1, process_identity().boot_id), command=["hostdx"],
        recording="", began_s=0.0,
    )  # fmt: skip
    book = Journal.create_new(make_private_dir(journal_dir()) / "r.jsonl", header)
    entry = effects.prepare_entry(private_directory_action(str(folder)), "r#1")
    book.record_intent(entry)
    action = effects.carry_out_entry(entry, ())
    if is_recorded:
        book.record_made(action)
    os.close(book.descriptor)
    return Path(entry.value)


def as_user(act: Callable[[int], None], folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(USER)
            os.setuid(USER)
            act(fd)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(fd)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("is_recorded", [True, False])
def test_undo_spares_another_directory_of_root_s_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_recorded: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "alice"
    folder.mkdir()
    os.chown(folder, USER, USER)
    own_folder = abandon_run(folder, is_recorded=is_recorded)
    admin = folder / "admin-data"
    admin.mkdir(mode=0o700)
    (admin / "precious").write_text("root")

    def swap_names(fd: int) -> None:
        os.rename(own_folder.name, "moved", src_dir_fd=fd, dst_dir_fd=fd)
        os.rename("admin-data", own_folder.name, src_dir_fd=fd, dst_dir_fd=fd)

    as_user(swap_names, folder)
    done = run_hostdx(tmp_path, "undo")
    assert (own_folder / "precious").read_text() == "root"
    assert done.returncode == 3 and "not touched" in done.stderr
    assert len(list_journals(tmp_path)) == 1
    assert run_hostdx(tmp_path, "undo", "--forget", "r#1", "--yes").returncode == 0
    assert list_journals(tmp_path) == [] and (own_folder / "precious").read_text() == "root"


def test_root_agrees_to_a_folder_that_others_rule(tmp_path: Path, folder: Path) -> None:
    plan = run_hostdx(tmp_path, "plan", "fstrim", "--round", "--dir", str(folder))
    assert f"{folder} belongs to" in plan.stdout and "can rename what lies below it" in plan.stdout
    done = run_hostdx(tmp_path, "run", "fstrim", "--round", "--budget", "3", "--dir", str(folder))
    assert done.returncode == 3 and "can rename what lies below it" in done.stderr and "--yes" in done.stderr
    assert list(folder.iterdir()) == []


def test_a_user_cannot_hold_roots_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    locks.lock_measuring("null", "12:00:00 UTC", print).release_lock()
    (tmp_path / "hostdx" / "measuring.lock").chmod(0o644)  # as an earlier version left it
    locks.lock_measuring("null", "12:00:00 UTC", print).release_lock()

    def try_lock(fd: int) -> None:
        with pytest.raises(PermissionError):
            os.open("measuring.lock", os.O_RDONLY, dir_fd=fd)

    as_user(try_lock, tmp_path / "hostdx")


def test_a_users_claim_in_roots_name_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any text in a shared temporary directory, about a process that lives."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    me = process_identity()
    claim = tmp_path / "measuring.json"
    claim.write_text(f'{{"pid":{me.pid},"start":{me.start},"scenario":"null","since":"now"}}')
    os.chown(claim, USER, USER)
    monkeypatch.setattr(locks, "_claims_of_other_users", lambda: [claim])
    monkeypatch.setattr(locks, "is_running_hostdx", lambda pid: True)
    locks.lock_measuring("null", "12:00:00 UTC", print).release_lock()
    assert capsys.readouterr().out == ""
    os.chown(claim, 0, 0)  # the test can fail: in root's own name it is warned of
    locks.lock_measuring("null", "12:00:00 UTC", print).release_lock()
    assert "pid" in capsys.readouterr().out
