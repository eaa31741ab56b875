"""`--json` documents, CSV and exit codes: of every bundled and every former recording, and of the commands on them."""

import json
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.recordings import store
from hostdx.probes.types import Json
from tests.contract.frozen import FROZEN, assert_frozen, without_sentences
from tests.every_case import every_case
from tests.fakes.hosts.server import Server

FIXTURES = Path(__file__).parents[1] / "fixtures"
FORMER = sorted((FIXTURES / "former").glob("*.jsonl"))
MADE = sorted((FIXTURES / "recordings").glob("*.jsonl"))


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit status and what stood on stdout."""
    status = run_command_line(arguments)
    return status, capsys.readouterr().out


def frozen_document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Json]:
    status, out = run(capsys, *arguments)
    return {"exit": status, "document": without_sentences(json.loads(out)) if out else None}


@every_case("name", store.list_demo_arguments())
def test_report_of_a_bundled_recording(capsys: pytest.CaptureFixture[str], name: str) -> None:
    document = frozen_document(capsys, "report", name, "--format", "json")
    status, table = run(capsys, "report", name, "--format", "csv")
    document["csv"] = {"exit": status, "columns": table.partition("\n")[0].split(",")}
    assert_frozen(f"report-{name.partition(':')[2]}", document)


@every_case("path", [*FORMER, *MADE])
def test_report_of_a_former_recording(capsys: pytest.CaptureFixture[str], path: Path) -> None:
    assert_frozen(
        f"{path.parent.name}-{path.stem}", frozen_document(capsys, "report", str(path), "--format", "json")
    )


def test_documents_of_the_other_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    server.put("proc/sys/vm/zone_reclaim_mode", "1")
    commands = {
        "compare": ("compare", "demo:kernel-5-10", "demo:kernel-6-1", "--format", "json"),
        "triage": ("triage", "--root", str(server.root), "--json"),
        "undo": ("undo", "--json"),
        "recordings": ("recordings", "--json"),
        "baseline-list": ("baseline", "list", "--json"),
        "rule": ("rules", "--json"),
        "scenarios": ("scenarios", "--json"),
    }
    for name, arguments in commands.items():
        document = frozen_document(capsys, *arguments)
        if name in (
            "rule",
            "scenarios",
            "triage",
        ):  # what each row holds; the rows are knowledge, which grows
            document["document"] = keys_of(document["document"])
        assert_frozen(f"command-{name}", document)


def keys_of(value: Json) -> Json:
    """Return only the keys and the kinds of values; a list by all that its elements hold."""
    if isinstance(value, dict):
        return {key: keys_of(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        merged: Json = None
        for item in value:
            merged = merge_keys(merged, keys_of(item))
        return [merged] if value else []
    return type(value).__name__


def merge_keys(a: Json, b: Json) -> Json:
    if isinstance(a, dict) and isinstance(b, dict):
        return {key: merge_keys(a.get(key), b.get(key)) for key in sorted(a.keys() | b.keys())}
    if isinstance(a, list) and isinstance(b, list) and a and b:
        return [merge_keys(a[0], b[0])]
    return b if a in (None, "NoneType", []) else a


# What a person types wrong, and the status: 2 usage, 3 skipped or impossible.
EXITS = [
    (("nonsense",), 2),
    (("run",), 2),
    (("run", "nonsense"), 2),
    (("plan", "iosched"), 2),
    (("plan", "storage", "/nonexistent"), 3),
    (("run", "null", "--budget", "0"), 2),
    (("run", "null", "--margin", "2"), 2),
    (("report", "nonsense"), 2),
    (("report", "last"), 2),
    (("report", "/etc/passwd"), 3),
    (("report", "demo:storage", "--format", "csv"), 0),
    (("compare", "demo:kernel", "demo:storage"), 3),
    (("triage", "--root", "/nonexistent"), 2),
    (("import", "/etc/passwd"), 3),
    (("attach",), 3),
    (("undo",), 0),
    (("stop",), 3),
    (("history",), 2),
    (("explain", "nonsense"), 2),
    (("--version",), 0),
    (("-h",), 0),
    (("report", "-h"), 0),
    (("run", "storage", "--help"), 0),
    (("fleet", "run", "-h"), 0),
]


@every_case(("arguments", "status"), EXITS)
def test_exit_status(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int) -> None:
    assert run(capsys, *arguments)[0] == status


def test_exit_status_of_findings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    server = Server(tmp_path / "server")
    server.put("proc/sys/vm/zone_reclaim_mode", "1")
    for severity, status in (("notice", 1), ("critical", 0)):
        assert run(capsys, "triage", "--root", str(server.root), "--fail-on", severity)[0] == status


def test_no_frozen_file_is_left_over() -> None:
    names = {path.stem for path in FROZEN.glob("*.json")}
    reports = {f"report-{name.partition(':')[2]}" for name in store.list_demo_arguments()}
    expected = reports | {f"{path.parent.name}-{path.stem}" for path in (*FORMER, *MADE)}
    assert {name for name in names if name.startswith(("report-", "former-", "recordings-"))} == expected
