"""Options and commands that only look."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.live import Live

from hostdx.app import __version__
from hostdx.app.cli.entry import run_command_line
from hostdx.app.cli.measuring.progress import PlainProgress
from hostdx.app.cli.measuring.progress_rich import DrawnProgress
from hostdx.app.cli.root_option import captured_host_name
from hostdx.app.recordings.reader import read_events
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms import markdown
from hostdx.app.report.triage_text import triage_document, triage_lines
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.triage.rules.known import TABLES, load_written_rules
from tests.app import forked, launcher
from tests.every_case import every_case
from tests.syntax import ROOT


@pytest.mark.parametrize("command", ["replay", "attach"])
def test_the_look_may_stand_before_the_command(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[dict[str, object]] = []

    def record_look(_mode: str, _path: str, look: dict[str, object], _speed: float = 1.0) -> int:
        looks.append(look)
        return 0

    monkeypatch.setattr("hostdx.app.cli.screen.open_screen", record_look)
    name = "demo:storage"
    assert run_command_line(["--ascii", "--theme", "light", command, name]) == 0
    assert run_command_line([command, "--ascii", "--theme", "light", name]) == 0
    assert run_command_line(["--theme", "light", command, "--theme", "dark", name]) == 0
    assert looks[0] == looks[1] and (looks[0]["ascii_only"], looks[0]["theme"]) == (True, "light")
    assert looks[2]["theme"] == "dark"


@every_case(
    ("path", "content", "name"),
    [
        ("etc/hostname", "wn104.example.org\n", "wn104.example.org"),
        ("hostname", "wn7\n", "wn7"),
        ("etc/hostname", " \n", "wn104-capture"),
        ("proc/stat", "cpu 1\n", "wn104-capture"),
    ],
)
def test_a_captured_host_has_its_own_name_or_that_of_its_archive(
    tmp_path: Path, path: str, content: str, name: str
) -> None:
    (tmp_path / path).parent.mkdir(exist_ok=True)
    (tmp_path / path).write_text(content)
    assert captured_host_name(Host(str(tmp_path)), "/captures/wn104-capture.tar.gz") == name


def test_each_table_is_shown_with_its_columns_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["rules", "--tables"]) == 0
    lines = capsys.readouterr().out.splitlines()
    columns = dict(zip((line.split()[0] for line in lines[::2]), lines[1::2], strict=True))
    assert list(columns) == list(TABLES)
    assert {"kernel", "cmdline", "smt"} <= set(columns["host"].replace(",", "").split())


def test_a_rule_says_what_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["rules", "--explain", "log.heat"]) == 0
    [heat] = [rule for rule in load_written_rules(Path("/nonexistent")).rules if rule.id == "log.heat"]
    assert heat.log in capsys.readouterr().out


def test_a_finding_is_printed_with_its_remedy() -> None:
    remedy = Remedy(
        title="Use none on sda",
        commands=("echo none > /sys/block/sda/queue/scheduler",),
        persistent=("echo rule > /etc/udev/rules.d/x.rules",),
        undo=("rm -f /etc/udev/rules.d/x.rules",),
        warning="tuned sets it too",
    )
    finding = Finding(
        id="iosched.choice",
        severity="notice",
        title="sda runs bfq",
        evidence=(Evidence("sda"),),
        remedy=(remedy,),
    )
    session = RunSession()
    session.apply(ev.Found(t=0.0, finding=finding))
    session.apply(ev.Checked(t=0.0, rule="iosched.choice", state="spoke"))
    lines = ["".join(words for words, _ in line) for line in triage_lines(session)]
    assert "1 of 1 checks found something: 1 notice" in lines
    commands = [line.strip() for line in lines if line.startswith("    ")]
    assert commands == [*remedy.commands, *remedy.persistent, *remedy.undo]
    assert any(remedy.warning in line for line in lines)
    assert "```sh\necho none > /sys/block/sda/queue/scheduler" in markdown.render_markdown(
        triage_document(session)
    )


def test_the_version_for_machines(tmp_path: Path) -> None:
    done = forked.run(
        [sys.executable, "-P", "-m", "hostdx.app.cli", "--version", "--json"],
        env=launcher.own_env(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    loads = json.loads(done.stdout)
    assert loads["version"] == __version__ and loads["bundle"] is None
    assert loads["code"] == str(ROOT) and loads["interpreter"] == sys.executable


CHILD = "import os; print(sorted(os.sched_getaffinity(0)))"


def _run_pin(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "hostdx.app.cli", "pin", *arguments]
    return forked.run(
        command, env=os.environ | {"LC_ALL": forked.LOCALE}, capture_output=True, text=True, check=False
    )


@pytest.mark.real
def test_a_command_on_one_core() -> None:
    done = _run_pin("--cores", "1", "--", sys.executable, "-c", CHILD)
    cpus = eval(done.stdout)
    assert (done.returncode == 0 and set(cpus) < set(os.sched_getaffinity(0))) or len(cpus) == os.cpu_count()
    assert done.stderr.startswith("hostdx: pin: 1 core, CPU") and done.stderr.count("\n") == 1


@pytest.mark.real
@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (("--cores", "1", "--", "false"), 1, "1 core"),
        (("--cores", "1", "--", "/nonexistent/x"), 127, "No such file"),
        (("--cores", "100000", "--", "true"), 3, "100000"),
        (("--cores", "0", "--", "true"), 2, "--cores"),
        (("--cores", "1"), 2, "name a command"),
    ],
)
def test_how_it_ends(arguments: tuple[str, ...], status: int, part: str) -> None:
    done = _run_pin(*arguments)
    assert done.returncode == status and part in done.stderr, done.stderr


@pytest.mark.real
def test_the_command_gets_its_signals_as_a_shell_gives_them() -> None:
    done = _run_pin("--cores", "1", "--", "grep", "^SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)), done.stdout


FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "recordings").glob("*.jsonl"))
# what rich itself writes: colours, cursor up, erase line, cursor on and off
OURS = re.compile(r"\x1b\[(?:[0-9;]*m|\d*A|2K|1A|\?25[lh])")


@every_case("path", FIXTURES)
def test_drawn(path: Path) -> None:
    screen = io.StringIO()
    view = DrawnProgress()
    view._console = Console(file=screen, force_terminal=True, width=80, height=24, highlight=False)
    view._live = Live(console=view._console, auto_refresh=False, transient=True)
    with view:
        for event in read_events(path):
            view.show(event)
    rest = OURS.sub("", screen.getvalue())
    assert "\x1b" not in rest and "\x07" not in rest and "\u202e" not in rest


def test_who_disturbs_all_along_is_told_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainProgress()
    for t in range(0, 120, 3):
        for kind in ("queue", "cpu"):
            view.show(ev.Guard(t=t, kind=kind, disturbance=Disturbance(kind, figure=4.0)))
    view.show(ev.Guard(t=120, kind="cpu", disturbance=Disturbance("cpu", figure=4.0), again="train"))
    view.show(
        ev.Guard(
            t=120,
            kind="cpu",
            disturbance=Disturbance(
                "cpu", figure=4.0, culprit=InterferenceCulprit(name="dd", pid=7, rate=1, unit="CPUs")
            ),
        )
    )
    assert len(capsys.readouterr().err.splitlines()) == 2 * 2 + 2
