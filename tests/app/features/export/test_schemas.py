"""The published JSON Schemas fit the documents that the commands print, and the types that they were made from."""

import json
import os
from collections import Counter
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.features.export.schema import RESULTS, document_schema, schema_names
from hostdx.app.features.health.check import Answer, HealthCheck, UnfitReason
from hostdx.app.features.health.forms import format_check
from hostdx.app.features.health.speed import LoadStanding
from hostdx.app.recordings import store
from hostdx.app.recordings.reader import FORMER
from hostdx.app.report.json_document import to_json_text
from hostdx.app.undo.change_report import ChangeReport, UndoneChange
from hostdx.scenarios.contract.events import SCHEMA
from tests.app.features.export.schemas import published_schemas
from tests.every_case import every_case
from tests.probes.imports import originals
from tests.syntax import ROOT

FOLDER = ROOT / "app/features/export/documents"
pytestmark = pytest.mark.usefixtures("own_state")


@every_case("name", sorted(published_schemas()))
def test_the_published_schema_is_of_todays_types(name: str) -> None:
    path, text = FOLDER / f"{name}.schema.json", published_schemas()[name]
    if os.environ.get("HOSTDX_GOLDEN") == "write":
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text, "HOSTDX_GOLDEN=write writes it; the diff is what programs see"


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(document_schema(name))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def read_printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> object:
    assert run_command_line(arguments) == 0
    return json.loads(capsys.readouterr().out)


def shape_of(value: object) -> object:
    """Return the keys and types of a document, each kind of entry of a list once."""
    if isinstance(value, dict):
        return tuple((key, shape_of(entry)) for key, entry in sorted(value.items()))
    return frozenset(map(shape_of, value)) if isinstance(value, list) else type(value)


def test_reports_and_events_of_bundled_recordings(capsys: pytest.CaptureFixture[str]) -> None:
    """An event of each shape: the same keys with values of the same types."""
    shapes: set[object] = set()
    for name in store.list_demo_arguments():
        validator("report").validate(read_printed(capsys, "report", name, "--format", "json"))
        types = Counter[str]()
        for line in store.resolve_recording(name).read_bytes().splitlines():
            event = json.loads(line)
            types[event["type"]] += 1
            shape = (event["type"], shape_of(event))
            if event["type"] != FORMER and shape not in shapes:
                shapes.add(shape)
                validator(RESULTS if "." in event["type"] else "events").validate(event)
        assert types["run"] == types["end"] == 1, name


@pytest.mark.parametrize("answer", [*Answer])
def test_checks_of_nodes(answer: Answer) -> None:
    standing = LoadStanding("cpu-integer", "one", 0.7, 0.9, 12, True)
    check = HealthCheck(
        reasons=[UnfitReason("speed", answer, "text", "source")], standings=[standing], notes=["note"]
    )
    validator("health").validate(json.loads(format_check(check, "json")))


def test_other_documents(capsys: pytest.CaptureFixture[str]) -> None:
    demos = [str(store.resolve_recording(f"demo:kernel{kernel}")) for kernel in ("", "-5-10", "-6-1")]
    validator("history").validate(read_printed(capsys, "history", *demos, "--format", "json"))
    validator("compare").validate(read_printed(capsys, "compare", *demos[1:], "--format", "json"))
    validator("fleet-judge").validate(read_printed(capsys, "fleet", "judge", *demos, "--json"))


def test_lists_and_undone_changes(capsys: pytest.CaptureFixture[str]) -> None:
    demo = "demo:null"
    assert run_command_line(["baseline", "save", "before", demo]) == 0
    capsys.readouterr()
    validator("baselines").validate(read_printed(capsys, "baseline", "list", "--json"))
    for command in ("recordings", "scenarios", "rules"):
        validator(command).validate(read_printed(capsys, command, "--json"))
    change = UndoneChange(title="sysctl a 1 → 2", state="failed", reason="read-only")
    validator("undo").validate(json.loads(to_json_text(ChangeReport(schema=SCHEMA, changes=(change,)))))
    validator("undo").validate(read_printed(capsys, "undo", "--json"))


def test_imports_of_every_kind(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for kind, text in originals.ALL.items():
        (tmp_path / kind).write_text(text)
    (tmp_path / "none").write_text("x")
    names = [str(tmp_path / name) for name in (*originals.ALL, "none")]
    assert run_command_line(["import", "--json", *names]) == 3
    document = json.loads(capsys.readouterr().out)
    assert len(document["imported"]) == len(originals.ALL) and len(document["refused"]) == 1
    validator("import").validate(document)


def test_a_wrong_document_is_refused() -> None:
    event = {"type": "fact", "t": "soon", "name": "cpus", "value": 2, "source": "/proc/cpuinfo"}
    assert [*validator("events").iter_errors(event)]
    assert [*validator("report").iter_errors({"schema": "hostdx/1", "scenario": "storage", "status": "fine"})]


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for name in schema_names():
        assert read_printed(capsys, "export", "--document", name) == json.loads(document_schema(name))
    assert run_command_line(["export", "--document", "../../x"]) == 2
