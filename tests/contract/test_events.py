"""Events of a recording: every type, field and enumeration; each line of bundled and former recordings is one."""

import json
from pathlib import Path

import msgspec

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import read_events
from hostdx.probes.types import Json
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.result import Result
from tests.contract.frozen import assert_frozen, without_sentences
from tests.contract.test_documents import FORMER
from tests.every_case import every_case


def result_types() -> list[type[Result]]:
    """Return the types of results that scenarios of this tree record, by name."""
    for name in store.list_demo_arguments():  # reading one loads the types of its scenario
        list(read_events(store.resolve_recording(name)))
    kinds, stack = list[type[Result]](), [Result]
    while stack:
        kind = stack.pop()
        stack += kind.__subclasses__()
        if kind.__module__.startswith("hostdx.scenarios.") and kind.__struct_config__.tag:
            kinds.append(kind)
    return sorted(kinds, key=lambda kind: str(kind.__struct_config__.tag))


def test_types_and_fields_of_events() -> None:
    """JSON Schema of all that a recording may hold; docstrings are for people and left out."""
    _, schemas = msgspec.json.schema_components((ev.Common, *result_types()))
    text: dict[str, Json] = json.loads(json.dumps(schemas))
    frozen: dict[str, Json] = {}
    for schema in text.values():
        assert isinstance(schema, dict)
        schema.pop("description", None)
        schema.pop("title", None)
        properties = schema.get("properties")
        kind = properties.get("type") if isinstance(properties, dict) else None
        if isinstance(kind, dict) and isinstance(kind.get("enum"), list):
            frozen[str(kind["enum"])] = {"fields": without_sentences(schema)}
    assert len(frozen) > 40
    assert_frozen("events", json.loads(json.dumps(frozen, sort_keys=True)))


RECORDINGS = [*map(store.resolve_recording, store.list_demo_arguments()), *FORMER]


@every_case("path", RECORDINGS)
def test_each_line_of_a_recording_is_still_an_event(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    read = list(read_events(path))
    assert len(read) == len(lines)
    assert [event.why for event in read if isinstance(event, ev.LeftOutLine)] == []
