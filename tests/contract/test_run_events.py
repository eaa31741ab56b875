"""The events of one run of every scenario on fakes: keys, numbers and enumerations, byte for byte."""

import hashlib
import json
import re
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.types import Json
from hostdx.scenarios.contract import registry
from hostdx.scenarios.contract.events import AnyEvent
from tests.contract.fake_runs import RUNS
from tests.contract.frozen import assert_frozen, without_sentences
from tests.every_case import every_case

TREE = Path(__file__).parents[2]  # wherever this checkout lies
MADE_DIRECTORY = re.compile(r"\.hostdx-\w+")


def test_every_scenario_has_a_run() -> None:
    assert set(RUNS) == set(registry.scenario_names())


@every_case("name", RUNS)
def test_events_of_a_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RUNS[name](tmp_path, monkeypatch)
    events = [to_json(event, tmp_path) for event in run.events]
    lines = "\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    assert_frozen(
        f"run-{name}",
        {
            "events": len(events),
            "sha256": hashlib.sha256(lines.encode()).hexdigest(),
            "first_of_each_and_all_that_conclude": drop_repeats(events),
        },
    )


def to_json(event: AnyEvent, folder: Path) -> dict[str, Json]:
    """Return the event as a recording has it, without sentences, its numbers to six digits: sums differ by Python."""
    text = msgspec.json.encode(event).decode().replace(str(folder), "/OWN").replace(str(TREE), "/TREE")
    plain = without_sentences(json.loads(MADE_DIRECTORY.sub(".hostdx-MADE", text)))
    rounded = round_numbers(plain)
    assert isinstance(rounded, dict)
    return rounded


def round_numbers(value: Json) -> Json:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [round_numbers(item) for item in value]
    if isinstance(value, dict):
        return {key: round_numbers(item) for key, item in value.items()}
    return value


REPEATED = frozenset(
    (
        *("block", "train", "group", "estimate", "progress"),
        *("sample", "pulse", "slices", "inside", "watched"),
    )
)


def drop_repeats(events: list[dict[str, Json]]) -> list[Json]:
    """Return all but what repeats: of blocks and the like the first of each load and variant, of results the last."""
    last = {event["type"]: number for number, event in enumerate(events)}
    keys: set[tuple[Json, ...]] = set()
    chosen: list[Json] = []
    for number, event in enumerate(events):
        kind = str(event["type"])
        key = (kind, *(str(event.get(name)) for name in ("workload", "variant", "series", "step")))
        replaced = "/" in kind and last[kind] != number
        if not replaced and (kind not in REPEATED or key not in keys):
            chosen.append(event)
        keys.add(key)
    return chosen
