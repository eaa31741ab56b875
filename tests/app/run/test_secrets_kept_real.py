"""A secret on a run's command line stands in none of the files that hostdx keeps, and in no report."""

import os
import signal
from pathlib import Path

import pytest

from hostdx.app.recordings.reader import load_recording
from tests.app.launcher import run_hostdx, start_hostdx
from tests.app.run.test_runner_real import fake_run, wait_measured

SECRET = "hunter2"


def read_files(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


@pytest.mark.real
def test_a_run_keeps_no_secret_of_its_command_line(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "attribute").write_text("old\n")
    odd = f"/job --password={SECRET} --token {SECRET} DB_PASSWORD={SECRET}"
    run = start_hostdx(tmp_path, *fake_run(tmp_path, "--how", "hang", "--blocks", "1", "--dir", odd))
    try:
        wait_measured(run)
        files = read_files(tmp_path / "state") | read_files(tmp_path / "run")
    finally:
        os.killpg(run.pid, signal.SIGINT)
        run.communicate(timeout=20)
    assert [name for name, data in files.items() if SECRET.encode() in data] == []
    (claim,) = (data for name, data in files.items() if name.endswith("measuring.json"))
    assert b'"scenario":"fake"' in claim and b"--" not in claim
    (journal,) = (data for name, data in files.items() if "/journal/" in name)
    assert b"--attribute" in journal and b"password=***" in journal
    (path,) = (tmp_path / "state/hostdx/recordings").iterdir()
    began = load_recording(path).began
    assert began is not None and began.command[-1].count("***") == 3
    short, full = (
        run_hostdx(tmp_path, "report", str(path), *more).stdout for more in ((), ("--with-arguments",))
    )
    assert "--attribute" not in short and "--with-arguments shows" in short
    assert "--attribute" in full and "password=***" in full and SECRET not in full


@pytest.mark.real
def test_a_run_keeps_no_secret_of_the_users_command_and_variants(tmp_path: Path) -> None:
    """`tiger7` looks like no secret, and no place tells that it is none; names of hosts are kept if asked for."""
    words = (
        "--cmd",
        "sh -c 'exit 1' tiger7 --host lion9",
        "--variant",
        "a: CODE=tiger7 DBPASS=hunter2 TMPDIR=/tmp",
        "--series=6",
    )
    run_hostdx(tmp_path, "run", "workload", *words, "--events", str(tmp_path / "events"))
    files = read_files(tmp_path / "state") | {"events": (tmp_path / "events").read_bytes()}
    assert [
        name
        for name, data in files.items()
        if any(word in data for word in (b"tiger7", b"hunter2", b"lion9"))
    ] == []
    assert b"TMPDIR=/tmp" in files["events"] and b"sh -c" in files["events"]
    run_hostdx(tmp_path, "run", "workload", *words, "--with-arguments", "--events", str(tmp_path / "masked"))
    masked = (tmp_path / "masked").read_bytes()
    assert b"lion9" in masked and b"tiger7" not in masked and b"hunter2" not in masked


@pytest.mark.real
def test_a_private_run_keeps_digests_only(tmp_path: Path) -> None:
    code = "tiger7"
    words = ("--cmd", f"sh -c 'echo {code} >&2; exit 1' {code}", "--variant", f"a: CODE={code}")
    more = ("--series", "6", "--private", "--json", "--events", str(tmp_path / "events"))
    done = run_hostdx(tmp_path, "run", "workload", *words, *more)
    assert "3 runs in a row failed" in done.stdout
    files = (
        read_files(tmp_path / "state")
        | read_files(tmp_path / "run")
        | {"events": (tmp_path / "events").read_bytes()}
    )
    assert [name for name, data in files.items() if code.encode() in data] == []
    assert b"sha256:" in files["events"] and code not in done.stdout + done.stderr
