"""Every command of the README where the current directory, $TMPDIR, the state's and every named directory and file has
a name that is not UTF-8, and holds a backslash: it works, or refuses in one line."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostdx.app.cli.commands import core_and_feature_commands
from hostdx.app.recordings.reader import load_recording
from hostdx.app.report.forms import html
from hostdx.app.report.full_report import make_report_document
from hostdx.app.report.json_document import document_json
from tests.app import forked
from tests.app.launcher import ROOT
from tests.needs import need, one_always, some_always
from tests.real.loop_disk import LoopDisk
from tests.real.short_runs import NEEDS, OPTIONS

pytestmark = [pytest.mark.real]

RAW = os.fsdecode(b"r\xe9sul\\tats")
# how it ends: 0, or with the status of a refusal
LINES: dict[str, tuple[str, int]] = {
    "triage": ("triage --format md --facts", 0),
    "triage-json": ("triage --json", 0),
    "triage-no-tree": ("triage --root {raw}", 2),
    "rules": ("rules --explain {raw}", 2),
    "capture": ("capture -o {raw}/{raw}.tar.gz", 0),
    "triage-tree": ("triage --root {raw}/{raw}.tar.gz", 0),
    "scenarios": ("scenarios", 0),
    "explain": ("explain storage", 0),
    "explain-raw": ("explain {raw}", 2),
    "run-raw": ("run {raw}", 2),
    "attach": ("attach {raw}/{raw}.jsonl", 2),  # without a terminal
    "stop": ("stop {raw}/{raw}.jsonl", 3),
    "replay": ("replay {raw}/{raw}.jsonl", 2),
    "report": ("report {raw}/{raw}.jsonl", 0),
    "report-html": ("report {raw}/{raw}.jsonl --format html -o {raw}/{raw}.html", 0),
    "report-json": ("report {raw}/{raw}.jsonl --format json", 0),
    "report-one-page": ("report {raw}/{raw}.jsonl --one-page", 0),
    "report-missing": ("report {raw}/{raw}/{raw}", 3),
    "compare": ("compare {raw}/{raw}.jsonl -- demo:dstate", 3),
    "fleet": ("fleet judge {raw}/{raw}.jsonl", 0),
    "fleet-missing": ("fleet judge {raw}/{raw}/{raw}", 2),
    "baseline": ("baseline save site {raw}/{raw}.jsonl", 0),
    "baseline-raw": ("baseline save {raw}", 2),
    "import": ("import {raw}/{raw}.tsv", 0),
    "import-output": ("import {raw}/{raw}.tsv -o {raw}/out{raw}.jsonl", 0),
    "import-missing": ("import {raw}/{raw}/{raw}", 3),
    "bundle-nowhere": ("bundle -o {raw}/{raw}/{raw}.pyz", 3),
    "watch": ("watch --units --dir {raw} --textfile {raw}/{raw}.prom", 0),
    "history": ("history {raw}/{raw}.jsonl", 0),
    "history-missing": ("history {raw}/{raw}/{raw}", 3),
    "export": ("export {raw}/{raw}.jsonl -o {raw}/out --format csv", 0),
    "export-missing": ("export {raw}/{raw}/{raw} -o {raw}/out2 --format csv", 2),
    "health": ("health --class {raw}/{raw} --within 15s", 2),
    "incident": ("incident -o {raw}/{raw}.md", 3),  # without a book
    "prove": ("prove {raw}", 2),
    "peer": ("peer --bind {raw}", 3),
    "pin": ("pin --cores 1 -- test -d {raw}", 0),
    "pin-raw": ("pin --cores 1 -- {raw}", 127),
    "recordings": ("recordings", 0),
    "recordings-json": ("recordings --json", 0),
    "rm": ("rm --yes {raw}/out{raw}.jsonl", 0),
    "man": ("man", 0),
    "completion": ("completion bash", 0),
    "undo": ("undo --dry-run --json", 0),
    "undo-raw": ("undo --forget {raw}", 3),
    "places": ("places --mounts {raw}", 0),
    "places-complete": ("places --complete={raw}/", 0),
    "plan": ("plan storage", 0),  # in $TMPDIR
    "plan-events": ("plan storage --dir {raw} --events -", 0),
    "run-events": ("run dstate --seconds 1 --events {raw}/{raw}.events", 0),
}
# of a command that another line runs with the same path
OTHER_FORMS = ("report-html", "report-json", "report-one-page", "history-missing", "baseline-raw", "pin-raw",
               "recordings-json", "places-complete", "plan-events", "triage-json", "fleet-missing")  # fmt: skip


class Hostdx:
    """All below one directory of such a name."""

    def __init__(self, base: Path) -> None:
        self.raw = base / RAW
        folders = {"XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp"}
        for name in folders.values():
            (self.raw / name / RAW).mkdir(mode=0o700, parents=True)
            (self.raw / name).chmod(0o700)
        self.environment = (
            os.environ | {k: str(self.raw / v / RAW) for k, v in folders.items()} | {"LC_ALL": "C.UTF-8"}
        )

    def __call__(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        argv = [sys.executable, "-P", "-m", "hostdx.app.cli", *words]
        return forked.run(
            argv, env=self.environment | {"PYTHONPATH": str(ROOT)}, cwd=self.raw, capture_output=True, timeout=120,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def ends(self, status: int, *words: str) -> bytes:
        """What it wrote: text, no traceback; a refusal is one line. Fails where it ends otherwise."""
        done = self(*words)
        errors = done.stderr.decode()  # UTF-8
        done.stdout.decode()
        assert done.returncode == status, errors
        assert "a bug in hostdx" not in errors and "Traceback" not in errors
        if status:
            assert sum("hostdx: " in line for line in errors.splitlines()) in (1, 2), errors
        return done.stdout


@pytest.fixture(scope="module")
def hostdx(disk_folder: Path) -> Hostdx:
    program = Hostdx(disk_folder)
    folder = program.raw / RAW
    folder.mkdir()
    program.ends(0, "run", "dstate", "--seconds", "1", "--recording", str(folder / f"{RAW}.jsonl"))
    shutil.copy(ROOT / "tests/data/io500-claix.tsv", folder / f"{RAW}.tsv")
    return program


def test_each_command_is_among_them() -> None:
    assert {line.split()[0] for line, _ in LINES.values()} == set(core_and_feature_commands()) - {
        "pulse"
    }  # has no end


@pytest.mark.parametrize("name", some_always([name for name in LINES if name not in OTHER_FORMS], LINES))
def test_a_command(hostdx: Hostdx, name: str) -> None:
    line, status = LINES[name]
    hostdx.ends(status, *(word.format(raw=RAW) for word in line.split()))


@pytest.mark.parametrize("scenario", one_always("storage", *sorted({*OPTIONS} - {"storage"})))
def test_a_run(tmp_path: Path, scenario: str) -> None:
    """In a directory of such a name on a disk of its own: measured and undone, recorded under that name."""
    need(*NEEDS.get(scenario, ()))
    hostdx = Hostdx(tmp_path)
    with LoopDisk(tmp_path) as disk:
        directory = disk.directory / RAW
        directory.mkdir()
        before = disk.queue()
        words = [word.format(dir=directory, device=disk.device) for word in OPTIONS[scenario]]
        for _ in range(5):
            done = hostdx("run", scenario, *words, "--json")
            if done.returncode != 3:
                break
            time.sleep(
                15
            )  # refused: another test's disk hangs beside it, and no scheduler is switched meanwhile
        assert done.returncode == 0, done.stderr.decode()
        loads = json.loads(done.stdout)
        assert loads["status"] == "done"
        assert list(directory.iterdir()) == [] and list((hostdx.raw / "tmp" / RAW).iterdir()) == []
        if scenario != "iosched":
            assert disk.queue() == before
    session = load_recording(
        hostdx.raw / "state" / RAW / "hostdx/recordings" / loads["recording"].rpartition("/")[2]
    )
    assert session.began is not None
    if str(directory) in words:
        assert session.began.options["dir"] in (str(directory), [str(directory)])
    assert json.loads(hostdx.ends(0, "undo", "--json"))["changes"] == []
    hostdx.ends(0, "report", "last")
    # the other forms hold the same texts; that a command writes them is among LINES
    html.render_html(make_report_document(session, scenario)).encode("utf-8", "backslashreplace")
    assert json.loads(document_json(session, scenario))["scenario"] == scenario
