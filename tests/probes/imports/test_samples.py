"""Real results, where the folder with them stands beside the project: every value as its facts say."""

import json
from pathlib import Path

import pytest

from hostdx.probes.imports import kinds
from hostdx.probes.imports.source import ImportSource
from tests.measured.reading.imports_expected import FOLDERS, find_differences
from tests.needs import not_here

SAMPLES = Path(__file__).parents[4] / "shared" / "samples"
NOT_HERE = ("darshan",)  # needs PyDarshan


def _expected_facts(folder: str) -> dict[str, object]:
    file = SAMPLES / folder / "expected.json"
    return json.loads(file.read_text()) if file.exists() else {}


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f not in NOT_HERE])
def test_every_value_is_that_of_the_facts(folder: str) -> None:
    facts = _expected_facts(folder)
    if not facts:
        not_here(f"no {SAMPLES / folder}")
    wrong = {}
    for name, want in facts.items():
        source = ImportSource.read(SAMPLES / folder / name)
        if kinds.recognise_kind(source) is None or not _is_importable(name, want):
            continue
        wrong[name] = find_differences(folder, kinds.parse(source), want)
    assert len(wrong) > 6 and not any(wrong.values()), wrong


def _is_importable(name: str, want: object) -> bool:
    """What the facts themselves call no result."""
    broken = isinstance(want, dict) and (want.get("valid_json") is False or want.get("empty"))
    return not broken and "invalid-utf16" not in name
