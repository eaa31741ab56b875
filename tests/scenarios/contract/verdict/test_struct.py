"""One struct: what an event records is what was decided, and lines written before it was one struct are read and
written with the same fields."""

import json
from pathlib import Path

from hostdx.probes.reading.lossless_json import Decoder, encode
from hostdx.scenarios.contract import events as ev

DEMOS = Path(__file__).parents[4] / "app/recordings/demos"


def test_recorded_lines_keep_every_field() -> None:
    decoder, count = Decoder(ev.Common), 0
    for path in sorted(DEMOS.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            if line.startswith((b'{"type":"verdict"', b'{"type":"series"')):
                count += 1
                assert json.loads(encode(decoder.decode(line))) == json.loads(line), path.name
    assert count > 20
