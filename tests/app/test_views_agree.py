"""Live line, list, verdict page, report and `--json` of every demo, at each event: of one pair they say one thing."""

from collections.abc import Iterator

import pytest

from hostdx.app.recordings.reader import read_events
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.store import list_demo_arguments, resolve_recording
from hostdx.app.report import json_document
from hostdx.app.report.figures import verdict_table
from hostdx.app.report.figures.interval_chart import drawable_interval, is_drawable_value
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.wording import effect_heading, is_measured, verdict_role
from hostdx.app.tui.widgets.measuring.standing import list_standings
from hostdx.app.tui.widgets.verdict_list import list_effects
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results.document import Toned
from tests.needs import some_always

CHANGING = (
    ev.RunningEstimate,
    ev.RunVerdict,
    ev.RunStep,
    ev.RunEnded,
)  # after any other event every view says what it said


def sessions_of(demo: str) -> Iterator[RunSession]:
    session = RunSession()
    for event in read_events(resolve_recording(demo)):
        session.apply(event)
        if isinstance(event, CHANGING):
            yield session


LARGEST = "demo:fullstack"  # the most events by far


@pytest.mark.parametrize(
    "demo", some_always([demo for demo in list_demo_arguments() if demo != LARGEST], list_demo_arguments())
)
def test_one_pair_has_one_verdict_in_every_view_at_every_moment(demo: str) -> None:
    judged = 0
    for session in sessions_of(demo):
        verdicts = {key: verdict for key, verdict in session.verdicts.items() if is_measured(verdict)}
        judged = max(judged, len(verdicts))
        loads = dict.fromkeys(key[0] for key in session.verdicts)
        live = [pair for load in loads for pair in list_standings(session, load) if pair.verdict is not None]
        assert {id(pair.verdict) for pair in live if is_measured(pair.verdict)} == {
            id(v) for v in verdicts.values()
        }
        for pair in live:
            assert pair.verdict is not None and pair.role == verdict_role(pair.verdict)
            if pair.bar is not None:
                assert (pair.bar.ratio, pair.bar.ci95) == (
                    pair.verdict.ratio,
                    drawable_interval(pair.verdict.ci95),
                )
        entries = [entry for entry in list_effects(session) if entry.measured]
        table = verdict_table.list_verdict_rows(session)
        assert [entry.verdict for entry in entries] == [row.verdict for row in table]
        assert {id(row.verdict) for row in table} == {id(verdict) for verdict in verdicts.values()}
        bars = verdict_table.make_bars(table).values()
        drawn_bars = [(e.ratio, e.ci95, e.size) for e in entries if is_drawable_value(e.ratio)]
        assert [(bar.ratio, bar.ci95, bar.size) for bar in bars] == drawn_bars
        pages = [verdict_table.verdicts_table(session, appendix=appendix) for appendix in (False, True)]
        headings = {effect_heading({(v.baseline, v.variant)}) for v in verdicts.values()} | {"effect"}
        effects = [
            row[next(n for n, heading in enumerate(page.header) if heading in headings)]
            for page in pages
            if page
            for row in page.rows
        ]
        assert effects == [Toned(entry.size, entry.role) for entry in entries]
        answer = find_headline_answer(session)
        if answer.verdict is not None:
            assert any(answer.verdict is verdict for verdict in session.verdicts.values())
        if (
            answer.verdict is not None
            and answer.finding is None
            and answer.verdict.verdict in ("slower", "faster")
        ):
            assert answer.weight in (
                {"slower": "critical", "faster": "ok"}[answer.verdict.verdict],
                "warning",
            )
        document = json_document.run_as_json(session, None)["verdicts"]
        assert [entry["verdict"] for entry in document] == [v.verdict for v in session.verdicts.values()]  # type: ignore[union-attr,call-overload,index]
    assert judged == sum(is_measured(verdict) for verdict in session.verdicts.values())
