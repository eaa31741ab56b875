"""The JSON Schemas that the package publishes, made from the types that read and write the documents."""

import inspect
import json
from typing import Any, get_type_hints

import msgspec

from hostdx.app.features.health.check import Answer, UnfitReason
from hostdx.app.features.health.speed import LoadStanding
from hostdx.app.recordings.store import ListedRecording
from hostdx.app.report import json_document
from hostdx.app.report.figures.latency import LatencySummary
from hostdx.app.undo.change_report import ChangeReport
from hostdx.probes.imports.model import ImportResult
from hostdx.scenarios.analysis.compare.comparison import ComparedRecordings
from hostdx.scenarios.analysis.compare.snapshot import ParsedImportFile
from hostdx.scenarios.analysis.nights.history import HostHistory
from hostdx.scenarios.analysis.peers.judgement import FleetJudgement
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.plan import Option

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Fields = list[tuple[str, Any]]


def _fields_of(kind: type[msgspec.Struct], *names: str) -> Fields:
    return [(f.name, f.type) for f in msgspec.structs.fields(kind) if f.name in names]


def _make_report() -> type[msgspec.Struct]:
    verdict = _fields_of(ev.RunVerdict, *json_document._VERDICT)
    assert len(verdict) == len(json_document._VERDICT)
    value_fields: Fields = [("values", list[float | None]), ("explain", str)]
    finding = msgspec.defstruct(
        "FindingDocument",
        [
            *_fields_of(Finding, "id", "severity", "confidence", "title", "evidence", "remedy", "references"),
            ("subjects", list[str], []),
        ],
    )
    absent = msgspec.defstruct("AbsentDocument", [("fact", str), ("reason", str)])
    series = msgspec.defstruct("SeriesDocument", _fields_of(ev.SeriesVerdict, *json_document._SERIES))
    latency = msgspec.defstruct("LatencyDocument", [*get_type_hints(LatencySummary).items()])
    return msgspec.defstruct(
        "ReportDocument",
        [
            ("schema", str),
            ("scenario", str),
            ("status", ev.Status),
            ("reason", str | None),
            ("verdicts", list[msgspec.defstruct("VerdictDocument", verdict + value_fields)]),  # type: ignore[misc]
            ("latency", list[latency]),
            ("series", list[series]),
            ("findings", list[finding]),
            ("facts", dict[str, Any]),
            ("absent", list[absent]),
            ("recording", str | None),
        ],
    )


def _make_listing(name: str, entry: str, fields: Fields, *more: tuple[str, Any]) -> type[msgspec.Struct]:
    """A document with the schema's name and a list of entries."""
    of = msgspec.defstruct(entry, fields)
    return msgspec.defstruct(entry + "Document", [("schema", str), (name, list[of]), *more])  # type: ignore[valid-type]


def _make_lists() -> dict[str, tuple[str, Any]]:
    fields = _fields_of(
        ListedRecording, "name", "state", "scenario", "host", "wall", "seconds", "pid", "reason"
    )
    fields += [("path", str), ("label", str), ("bytes", int)]
    offers = _fields_of(ev.ScenarioOffer, "id", "title", "question", "takes_s", "needs", "answers", "blocked")
    offers.append(("options", list[Option]))
    rule: Fields = [("id", str), ("title", str), ("detail", list[str])]
    baseline: Fields = [("name", str), ("recordings", list[str])]
    file: Fields = [("file", str), ("sha256", str), ("bytes", int), ("recording", str | None)]
    # No document has the samples themselves; `detail` is what the program's own file says, of many forms.
    result = [f for f in _all_fields(ImportResult) if f[0] not in ("series", "detail")]
    result_document = msgspec.defstruct("ResultDocument", [*result, ("detail", dict[str, Any] | None, None)])
    file += [
        ("findings", list[Finding]),
        ("result", result_document),
        *_fields_of(ParsedImportFile, "timeline"),
    ]
    refusal = msgspec.defstruct("RefusedFile", [("file", str), ("reason", str)])
    file_fields: Fields = [("together", str | None), ("pile", list[Finding]), ("refused", list[refusal])]  # type: ignore[valid-type]
    return {
        "recordings": (
            "`recordings --json`",
            _make_listing("recordings", "Listed", fields, ("demos", list[str])),
        ),
        "scenarios": ("`scenarios --json`", _make_listing("scenarios", "Offer", offers)),
        "rules": ("`rules --json`", _make_listing("rules", "Rule", rule, ("problems", list[str]))),
        "baselines": ("`baseline list --json`", _make_listing("baselines", "Baseline", baseline)),
        "import": ("`import --json`", _make_listing("imported", "ReadFile", file, *file_fields)),
        "undo": ("`undo --json`", ChangeReport),
    }


def published_schemas() -> dict[str, str]:
    """Return the text of each schema, by the document's name."""
    history = msgspec.defstruct(
        "HistoryDocument", [("schema", str), ("findings", list[Finding]), *_all_fields(HostHistory)]
    )
    compare = msgspec.defstruct("CompareDocument", [("schema", str), *_all_fields(ComparedRecordings)])
    load = msgspec.defstruct("LoadDocument", [*get_type_hints(LoadStanding).items(), ("slow", bool)])
    checked = msgspec.defstruct(
        "HealthDocument",
        [
            ("schema", str),
            ("answer", Answer),
            ("sentence", str),
            ("seconds", float),
            ("class", str | None),
            ("reasons", list[UnfitReason]),
            ("loads", list[load]),  # type: ignore[valid-type]
            ("notes", list[str]),
        ],
    )
    kinds: dict[str, tuple[str, Any]] = {
        "events": (
            "One line of a recording (`run --events`, *.jsonl); `results` has the types with a dot",
            ev.Common,
        ),
        "report": ("`report --format json`, `run --json` and `triage --json`", _make_report()),
        "history": ("`history --format json`", history),
        "compare": ("`compare --format json`", compare),
        "health": ("`health --format json`", checked),
        "fleet-judge": ("`fleet judge --json`", FleetJudgement),
        **_make_lists(),
    }
    return {
        name: _spell_schema({"$schema": DIALECT, "title": title, **msgspec.json.schema(kind)})
        for name, (title, kind) in kinds.items()
    }


def _spell_schema(schema: dict[str, Any]) -> str:
    """A line a definition, so that a diff names what changed."""
    _clean_descriptions(schema)
    definitions = ",\n".join(
        f" {json.dumps(name)}: {json.dumps(definition)}" for name, definition in schema.pop("$defs").items()
    )
    return f'{json.dumps(schema)[:-1]}, "$defs": {{\n{definitions}\n}}}}\n'


def _clean_descriptions(node: object) -> None:
    """Docstrings without their indentation: msgspec leaves it in up to 0.22, and takes it out from 0.23 on."""
    if isinstance(node, dict):
        if isinstance(text := node.get("description"), str):
            node["description"] = inspect.cleandoc(text)
        for value in node.values():
            _clean_descriptions(value)
    elif isinstance(node, list):
        for value in node:
            _clean_descriptions(value)


def _all_fields(kind: type[msgspec.Struct]) -> list[Any]:
    return [
        (f.name, f.type) if f.required else (f.name, f.type, f.default) for f in msgspec.structs.fields(kind)
    ]
