"""One struct: what an event records is what was decided, and lines written before it was one struct are read and
written with the same fields."""

import json
from pathlib import Path

import pytest

from hostdx.probes.reading.lossless_json import Decoder, encode
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict.verdict import GroupVerdict, Trend, Word, with_figures
from hostdx.scenarios.experiment.before_after import BeforeAfter

DEMOS = Path(__file__).parents[4] / "app/recordings/demos"
OPEN = ev.RunVerdict(t=3.0, workload="w", metric="m", baseline="A", variant="B", verdict=Word.NOT_MEASURED)


def test_recorded_lines_keep_every_field() -> None:
    decoder, seen = Decoder(ev.Common), 0
    for path in sorted(DEMOS.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            if line.startswith((b'{"type":"verdict"', b'{"type":"series"')):
                seen += 1
                assert json.loads(encode(decoder.decode(line))) == json.loads(line), path.name
    assert seen > 20


@pytest.mark.parametrize(
    "found",
    [
        GroupVerdict(
            verdict=Word.SLOWER,
            ratio=0.5,
            ci95=(0.4, 0.6),
            smallest_effect=0.1,
            alpha=0.01,
            margin=0.02,
            reason="r",
            groups=12,
            look=2,
            slower_in=11,
            batch=3,
            pairs=16,
            place_scatter=0.01,
            slice_scatter=0.2,
            seconds_to_decide=5.0,
        ),
        BeforeAfter(
            verdict=Word.FASTER, ratio=2.0, ci95=(1.5, 3.0), smallest_effect=0.3, margin=0.02, blocks=24
        ),
    ],
)
def test_an_event_takes_all_that_was_found_and_keeps_the_rest(found: GroupVerdict | BeforeAfter) -> None:
    event = with_figures(OPEN, found)
    own = set(ev.RunVerdict.__struct_fields__) & set(found.__struct_fields__)
    assert own >= {"verdict", "ratio", "ci95", "smallest_effect", "alpha", "margin", "reason"}
    assert {name: getattr(event, name) for name in own} == {name: getattr(found, name) for name in own}
    assert (event.t, event.workload, event.metric) == (OPEN.t, OPEN.workload, OPEN.metric)


def test_a_series_event_is_a_trend() -> None:
    found = Trend(verdict=Word.SLOWER, rounds=9, slope_per_round=-0.02, ci95=(-0.03, -0.01), p=0.001)
    event = with_figures(ev.SeriesVerdict(t=1.0, workload="w", rounds=0, verdict=Word.NOT_MEASURED), found)
    assert (event.verdict, event.rounds, event.slope_per_round, event.ci95, event.p) == (
        Word.SLOWER, 9, -0.02, (-0.03, -0.01), 0.001,
    )  # fmt: skip
