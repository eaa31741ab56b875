"""The answer for a reader who knows no statistics."""

import pytest

from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.store import list_demo_arguments, resolve_recording
from hostdx.app.report.numbers import SAYS
from hostdx.app.report.plain_words import plain_answer
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict.verdict import Word
from tests.every_case import every_case


def make_verdict(load: str, word: Word, ratio: float) -> ev.RunVerdict:
    sides = {"baseline": "A", "variant": "B"}
    return ev.RunVerdict(t=9.0, workload=load, metric="IOPS", verdict=word, ratio=ratio, groups=12, **sides)


@every_case(
    ("verdicts", "line", "fields"),
    [
        ((make_verdict("small", "slower", 0.5),), "plain-different", {"load": "small", "time": "2 min"}),
        (
            (make_verdict("small", "slower", 0.5), make_verdict("large", "slower", 0.25)),
            "plain-differing",
            {"least": "2 min", "most": "4 min", "loads": 2},
        ),
        ((make_verdict("small", "no material difference", 1.0),), "plain-equal", {}),
        ((make_verdict("small", "inconclusive", 1.0),), "plain-undecided", {}),
        (
            (
                make_verdict("small", "inconclusive", 1.0),
                make_verdict("large", "no material difference", 1.0),
            ),
            "plain-equal-partly",
            {},
        ),
    ],
)
def test_one_sentence_says_what_the_verdicts_mean(
    verdicts: tuple[ev.RunVerdict, ...], line: str, fields: dict[str, str | int]
) -> None:
    sides = {"baseline": "A", "variant": "B"} if fields else {}
    session = RunSession()
    for event in (*verdicts, ev.RunEnded(t=9.0, status="done")):
        session.apply(event)
    assert plain_answer(session) == SAYS.text(line, **fields, **sides)


@pytest.mark.parametrize("name", list_demo_arguments())
def test_each_scenario_but_an_import_has_one(name: str) -> None:
    session = load_recording(resolve_recording(name))
    assert bool(plain_answer(session)) == (session.scenario_card.role not in ("import", "resolution"))
