"""What a person types, right and wrong: one line, the right status, and stdout only for the result."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.recordings import store
from hostdx.probes.reading import other_package
from hostdx.scenarios.contract.finding import SEVERITIES

FIXTURES = Path(__file__).parents[2] / "fixtures" / "recordings"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    fake = EntryPoint("fake", "tests.app.fake_scenario:Fake", "hostdx.scenarios")
    monkeypatch.setattr(other_package, "entry_points_of", lambda group: (fake,))


def enter(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run_command_line(arguments)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("arguments", "status", "part"),
    [
        (["nonsense"], 2, "nonsense"),
        (["--nonsense"], 2, "--nonsense"),
        (["reprt"], 2, "did you mean `hostdx report`?"),
        (["run"], 2, "name a scenario: "),
        (["run", "storge"], 2, "did you mean `storage`?"),
        (["storge"], 2, "did you mean `hostdx run storage`?"),
        (["plan", "iosched"], 2, "missing option '--dir'"),
        (["plan", "storage", "/nonexistent"], 3, "/nonexistent"),
        (["plan", "/a", "/b"], 2, "hostdx plan storage /a"),
        (["plan", "storage", "--dir", "/a", "/b"], 2, "not both"),
        (["run", "null", "/a", "/b"], 2, "/b"),
        (["run", "fake", "--budget", "2x"], 2, "90s or 2m"),
        (["run", "fake", "--budget", "2d"], 2, "at most 86400 s"),
        (["run", "fake", "--margin", "60%"], 2, "at most 0.5 (50 %)"),
        (["run", "dstate", "--budget", "9"], 2, "no such option"),
        (["compare", "a", "b", "--margin", "x%"], 2, "0.05 or 5%"),
        (["completion"], 2, "bash"),
        (["run", "nonsense"], 2, "unknown scenario"),
        (["plan", "nonsense"], 2, "hostdx scenarios"),
        (["explain", "nosuch"], 2, "hostdx scenarios"),
        (["--ascii", "triage"], 2, "does not open it"),
        (["--theme", "light", "report", "demo:storage"], 2, "does not open it"),
        (["run", "fake", "--nonsense"], 2, "hostdx run fake --help"),
        (["run", "fake", "--blocks", "many"], 2, "'many'"),
        (["run", "fake", "--size", "12Q"], 2, "512M"),
        (["run", "fake", "--size", "0"], 2, "1 byte"),
        (["run", "fake", "--size", "nan"], 2, "1 byte"),
        (["run", "fake", "--budget", "nan"], 2, "'nan' is not a number to work with"),
        (["run", "fake", "--budget", "inf"], 2, "'inf'"),
        (["run", "fake", "--budget", "-5"], 2, "too small: at least 1"),
        (["run", "fake", "--budget", "0"], 2, "too small: at least 1"),
        (["run", "null", "--dir", "/tmp", "--dir", "/var/tmp"], 2, "given twice"),
        (["run", "fake", "--margin", "-1"], 2, "at least 0.005"),
        (["run", "fake", "--margin", "2"], 2, "at most 0.5"),
        (["run", "fake", "--seed", "1.5"], 2, "not a valid integer"),
        (["run", "fake", "--dir", ""], 2, "an empty path"),
        (["run", "storage", "--pid", "0"], 2, "at least 1"),
        (["run", "fake", "--colour", "blue"], 2, "blue"),
        (["run", "fake", "--how", "usage"], 2, "cannot be `usage`"),
        (["run", "fake", "--how", "refusal"], 3, "no good reason"),
        (["run", "fake", "--fast", "--how", "refused"], 3, "found out late"),
        (["run", "fake", "--json", "--events", "-"], 2, "stdout"),
        (["run", "fake", "--fast", "--consent", "0123"], 3, "something changed since"),
        (["run", "fake", "--fast", "--events", "/nonexistent/x"], 3, "/nonexistent/x"),
        (["run", "fake", "--fast", "--attribute", "/nonexistent"], 3, "--yes"),
        (
            ["run", "fake", "--fast", "--attribute", "/nonexistent", "--yes"],
            3,
            "/nonexistent: cannot be read",
        ),
        (["run", "fake", "--fast", "--dir", "/nonexistent"], 3, "/nonexistent/.hostdx-"),
        (["plan", "fake", "--how", "refusal"], 3, "no good reason"),
        (["plan", "fake", "--events", "file"], 2, "only `-`"),
        (["report", "nonsense"], 2, "no such recording"),
        (["report", "last"], 2, "no recording"),
        (["report"], 2, "no recording"),
        (["replay"], 2, "needs a terminal"),
        (["report", "demo:nonsense"], 2, "no such demo"),
        (["report", "/etc/passwd"], 3, "line 1"),
        (["report", "/"], 3, "not a regular file"),
        (["baseline"], 2, "baseline: which command? save, list; see `hostdx baseline --help`"),
        (["completion", "tcsh"], 2, "tcsh"),
        ([], 2, "needs a terminal"),
        (["attach"], 3, "no run is under way"),
        (["replay", "nonsense"], 2, "no such recording"),
        (["triage", "--root", "/nonexistent"], 2, "/nonexistent"),
        (["triage", "--root", str(FIXTURES)], 2, "holds neither sys nor proc"),
        (
            ["plan", "fstrim", "--dir", "/var/tmp", "--workload", "'"],
            2,
            "hostdx: plan fstrim: --workload cannot",
        ),
        (["plan", "storage", "--root", str(FIXTURES)], 2, "holds neither sys nor proc"),
    ],
)
def test_each_bad_input_gets_its_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, part: str
) -> None:
    exit_status, out, err = enter(capsys, *arguments)
    lines = [line for line in err.splitlines() if line.startswith("hostdx: ")]
    assert (exit_status, len(lines)) == (status, 1), err
    assert part in lines[0]
    assert "Traceback" not in err
    assert "report: hostdx" in out or out == "" or "refus" in out or arguments[0] == "plan"


@pytest.mark.parametrize(
    ("name", "typed_as", "value"),
    [
        ("budget", "90", 90), ("budget", "90s", 90), ("budget", "2m", 120), ("budget", "1h 30 min", 5400),
        ("margin", "0.1", 0.1), ("margin", "5%", 0.05), ("margin", "2.5 %", 0.025),
    ],
)  # fmt: skip
def test_a_number_may_have_its_unit(
    capsys: pytest.CaptureFixture[str], name: str, typed_as: str, value: float
) -> None:
    status, out, _ = enter(capsys, "plan", "fake", f"--{name}", typed_as, "--json")
    assert status == 0 and json.loads(out)["options"][name] == value


def test_a_journal_on_the_device_under_test_is_refused_before_anything_is_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "the undo journal lies on sda itself"
    monkeypatch.setattr(
        "hostdx.app.undo.journal_disk.journal_on_device_reason",
        lambda host, place, target: reason if target else "",
    )
    (tmp_path / "there").mkdir()
    (tmp_path / "attribute").write_text("old")
    options = ("--dir", str(tmp_path / "there"), "--attribute", str(tmp_path / "attribute"))
    status, out, err = enter(
        capsys, "run", "fake", "--fast", "--yes", *options, "--events", str(tmp_path / "e")
    )
    assert status == 3 and reason in err and "not started" not in out
    foreseen, out, err = enter(capsys, "plan", "fake", *options)  # in the same words
    assert (foreseen, out, err) == (3, "", f"hostdx: plan fake: {reason}\n")
    _, out, _ = enter(capsys, "plan", "fake", *options, "--json")
    assert json.loads(out)["refusal"] == reason
    assert '"type":"action"' not in (tmp_path / "e").read_text()
    assert list((tmp_path / "there").iterdir()) == [] and (tmp_path / "attribute").read_text() == "old"


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("done", "done"),
        ("refused", "skipped"),
        ("bug", "failed"),
        ("usage", "failed"),
        ("refusal", "skipped"),
    ],
)
def test_json_is_one_document_however_it_ends(
    capsys: pytest.CaptureFixture[str], ending: str, status: str
) -> None:
    _, out, _ = enter(capsys, "run", "fake", "--fast", "--json", "--how", ending)
    document = json.loads(out)
    assert document["status"] == status
    assert (document["reason"] is None) == (status == "done")
    assert list(document) == [
        "schema", "scenario", "status", "reason", "verdicts", "latency", "series", "findings", "facts", "absent",
        "recording",
    ]  # fmt: skip


@pytest.mark.parametrize("severity", SEVERITIES)
def test_fail_on(capsys: pytest.CaptureFixture[str], severity: str) -> None:
    status, _, _ = enter(capsys, "run", "fake", "--fast", "--how", "finding", "--fail-on", severity)
    assert status == (0 if severity == "critical" else 1)  # it finds a warning


def test_events_to_a_file_are_the_recording(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chosen = tmp_path / "chosen.jsonl"
    status, out, _ = enter(
        capsys, "run", "fake", "--fast", "--events", str(tmp_path / "e"), "--recording", str(chosen)
    )
    assert status == 0 and f"report: hostdx report {chosen}" in out
    assert chosen.read_bytes() == (tmp_path / "e").read_bytes()


def test_a_refused_run_leaves_a_recording_only_where_it_was_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    enter(capsys, "run", "fake", "--how", "refusal")
    assert not (tmp_path / "state/hostdx/recordings").exists()
    enter(capsys, "run", "fake", "--how", "refusal", "--recording", str(tmp_path / "r.jsonl"))
    kinds = [json.loads(line)["type"] for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert kinds == ["run", "plan", "end"]


def test_plan_says_it_and_its_digest_is_consent(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "attribute"
    target.write_text("old\n")
    more = ("fake", "--fast", "--attribute", str(target))
    status, out, _ = enter(capsys, "plan", *more)
    assert status == 0 and "1 MiB" in out and "vda" in out
    values = out.split(str(target))[1].splitlines()[1]  # the line below the target
    assert re.search(r"\bnew\b", values)
    _, out, _ = enter(capsys, "plan", *more, "--json")
    digest = json.loads(out)["digest"]
    assert enter(capsys, "run", *more, "--consent", digest)[0] == 0
    assert enter(capsys, "run", *more, "--blocks", "5", "--consent", digest)[0] == 3
    assert target.read_text() == "old\n"


def test_plan_events(capsys: pytest.CaptureFixture[str]) -> None:
    for ending, kinds in (
        ("done", ["run", "plan", "end"]),
        ("refusal", ["run", "plan", "end"]),
        ("usage", ["run", "end"]),
    ):
        _, out, _ = enter(capsys, "plan", "fake", "--how", ending, "--events", "-")
        assert [json.loads(line)["type"] for line in out.splitlines()] == kinds


def test_recordings_are_listed_and_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    enter(capsys, "run", "fake", "--fast")
    _, out, _ = enter(capsys, "recordings", "--json")
    (entry,) = json.loads(out)["recordings"]
    assert (entry["state"], entry["scenario"], entry["pid"]) == ("done", "fake", None)
    (tmp_path / "state/hostdx/recordings/broken.jsonl").write_text("x\n")
    _, out, _ = enter(capsys, "recordings")
    assert "unreadable" in out and entry["name"] in out
    assert out.startswith("RECORDING ") and max(map(len, out.splitlines())) <= 140
    (storage,) = (line for line in out.splitlines() if line.startswith("demo:storage"))
    assert "bundled" in storage and " slower than A" in storage  # the answer, not only the name
    for name in (
        "last",
        entry["name"],
        entry["name"].removesuffix(".jsonl"),
        entry["name"][:20],
        entry["path"],
    ):
        if name == "last":
            (tmp_path / "state/hostdx/recordings/broken.jsonl").unlink()
        status, out, _ = enter(capsys, "report", name)
        assert status == 0 and out.startswith("# ")


def test_report_forms(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = str(FIXTURES / "storage.jsonl")
    assert enter(capsys, "report", source, "-o", str(tmp_path / "r.md"))[1] == ""
    assert (tmp_path / "r.md").read_text() == enter(capsys, "report", source)[1]
    assert enter(capsys, "report", source, "--format", "html")[1].startswith("<!doctype html>")
    assert json.loads(enter(capsys, "report", source, "--format", "json")[1])["scenario"] == "storage"
    assert enter(capsys, "report", source, "-o", "/nonexistent/r.md")[0] == 3


def test_colour_is_where_a_terminal_is_or_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    run = ("run", "fake", "--fast", "--how", "finding")
    assert "\x1b[" not in enter(capsys, *run)[1]
    assert "\x1b[" in enter(capsys, *run, "--color", "always")[1]
    assert "\x1b[" not in enter(capsys, *run, "--color", "never")[1]
    assert "\x1b[" not in enter(capsys, *run)[1]  # nothing is left of what another one asked for


@pytest.mark.parametrize(
    "command", [("plan", "fake"), ("report", "demo:storage"), ("recordings",), ("rules",)]
)
def test_colour_adds_nothing_but_colour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    plain = enter(capsys, *command)[1]
    coloured = enter(capsys, *command, "--color", "always")[1]
    assert ("\x1b[" not in plain and "\x1b[1m" in coloured) or "\x1b[2m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines() == plain.splitlines()


def test_help_lists_what_works(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = enter(capsys, "--help")
    for name in ("triage", "scenarios", "plan", "run", "report", "recordings", "undo"):
        assert f"\n  {name} " in out
    _, out, _ = enter(capsys, "run", "fake", "--help")
    assert "--dir PATH" in out and "--budget" in out and "default: red" not in out.split("--colour")[0]
    assert "--recording" not in out  # for the app's own use


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    status, out, _ = enter(capsys, "completion", shell)
    assert status == 0 and "_HOSTDX_COMPLETE" in out


@pytest.mark.parametrize(
    ("line", "replies"),
    [
        ("hostdx run dst", ["dstate"]),
        ("hostdx report demo:st", ["storage"]),  # behind the colon, at which bash breaks words
        ("hostdx report demo:", sorted(name.removeprefix("demo:") for name in store.list_demo_arguments())),
        ("hostdx 'run' dsta", ["dstate"]),
    ],
)
def test_bash_itself_completes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, replies: list[str]
) -> None:
    """As bash calls it: the words split at its own COMP_WORDBREAKS, the function from the printed script."""
    (tmp_path / "hostdx").write_text(
        f"#!{sys.executable} -P\nimport sys; sys.argv[0] = 'hostdx'; from hostdx.app.cli import main; main()\n"
    )
    (tmp_path / "hostdx").chmod(0o755)
    ask = """
    eval "$2"
    COMP_LINE=$1 COMP_POINT=${#1}
    _hostdx_completion hostdx
    printf '%s,' "${COMPREPLY[@]}"
    """  # COMP_WORDBREAKS as bash sets it
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    _, script, _ = enter(capsys, "completion", "bash")
    done = subprocess.run(
        ["bash", "-c", ask, "bash", line, script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.stderr, done.stdout.rstrip(",").split(",")) == ("", replies)
