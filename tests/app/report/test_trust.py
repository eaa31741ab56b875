"""What a recording claims beyond all measure is left out of the signs of trust; it overflowed a sum."""

import json
from pathlib import Path

import pytest

from app.recording.reader import load
from app.report import trust

DEMO = Path(__file__).parents[3] / "app" / "recording" / "demos" / "iosched.jsonl"


@pytest.mark.parametrize("value", [1e308, -1e308, 0.0, 5e-324])
def test_blocks_beyond_all_measure(tmp_path: Path, value: float) -> None:
    made = []
    for line in DEMO.read_text().splitlines():
        event = json.loads(line)
        if event["type"] == "block":
            event["values"] = dict.fromkeys(event["values"], value)
        if event["type"] == "verdict":
            event["drift"] = {}
        made.append(json.dumps(event))
    (tmp_path / "r.jsonl").write_text("\n".join(made) + "\n")
    assert trust.trust(load(tmp_path / "r.jsonl"))
