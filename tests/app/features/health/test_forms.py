"""What batch systems and monitors read of a check."""

import json

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hostdx.app.cli.entry import run_command_line
from hostdx.app.features.health.check import Answer, HealthCheck, UnfitReason
from hostdx.app.features.health.forms import FORMS, MAX_REASON, Form, exit_status_of, format_check
from hostdx.app.features.health.speed import LoadStanding
from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording

pytestmark = pytest.mark.usefixtures("own_state")
STANDING = LoadStanding("cpu-integer", "one", 0.7512, 0.88, 12, True)


def check(*answers: Answer) -> HealthCheck:
    reasons = [
        UnfitReason("speed", answer, f"x | {answer}\x1b[2J {'y' * 300}", "/proc/stat") for answer in answers
    ]
    return HealthCheck(seconds=4.25, node_class="c", reasons=reasons, standings=[STANDING])


@pytest.mark.parametrize(
    ("answers", "answer", "status", "nagios"),
    [
        ((), "fit", 0, 0),
        ((Answer.NOT_SURE,), "not sure", 3, 3),
        ((Answer.NOT_SURE, Answer.NOT_FIT), "not fit", 1, 2),
    ],
)
def test_answers_and_statuses(answers: tuple[Answer, ...], answer: str, status: int, nagios: int) -> None:
    result = check(*answers)
    assert result.answer == answer
    assert {form: exit_status_of(result, form) for form in FORMS} == {
        form: nagios if form == "nagios" else status for form in FORMS
    }
    document = json.loads(format_check(result, "json"))
    assert document["answer"] == answer and len(document["reasons"]) == len(answers)
    assert document["loads"][0]["ratio"] == 0.7512


@pytest.mark.parametrize("form", ["slurm", "nhc"])
def test_batch_systems_get_one_line_only_where_something_is_wrong(form: Form) -> None:
    assert format_check(check(), form) == ""
    text = format_check(check(Answer.NOT_FIT, Answer.NOT_SURE), form)
    assert "\n" not in text and "\x1b" not in text and len(text) <= MAX_REASON + 10


def test_nagios_has_one_line_with_figures() -> None:
    text = format_check(check(Answer.NOT_FIT), "nagios")
    words, bar, figures = text.partition(" | ")
    assert bar and "|" not in figures and "|" not in words and "\n" not in text
    assert "'cpu-integer one'=0.7512;;0.8800:;0" in figures and "'time'=4.25s" in figures


def test_nagios_is_told_what_was_not_measured() -> None:
    result = HealthCheck(notes=["note | 1", "note 2"])
    words = format_check(result, "nagios").partition(" | ")[0]
    assert "note / 1" in words and "note 2" in words and "\n" not in words


def test_a_usage_error_is_unknown_to_nagios(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["health", "--format", "nagios", "--within", "soon"]) == 3
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert run_command_line(["health", "--format", "nagios", "--class", "absent"]) == 3
    assert run_command_line(["health", "--within", "soon"]) == 2
    assert run_command_line(["health", "--class", "absent"]) == 2


def test_openmetrics_is_read_by_prometheus() -> None:
    families = {
        f.name: f for f in text_string_to_metric_families(format_check(check(Answer.NOT_FIT), "openmetrics"))
    }
    answers = {s.labels["answer"]: s.value for s in families["hostdx_health_answer"].samples}
    assert answers == {"fit": 0, "not fit": 1, "not sure": 0}
    (ratio,) = families["hostdx_health_load_ratio"].samples
    assert (ratio.labels, ratio.value) == ({"load": "cpu-integer", "slot": "one"}, 0.7512)


@pytest.mark.parametrize("name", store.list_example_names())
def test_findings_of_a_recording_are_read_by_prometheus(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command_line(["report", name, "--format", "openmetrics"]) == 0
    families = {f.name: f for f in text_string_to_metric_families(capsys.readouterr().out)}
    session = load_recording(store.resolve_recording(name))
    counts = {sample.labels["severity"]: sample.value for sample in families["hostdx_findings"].samples}
    assert sum(counts.values()) == len(session.findings) > 0
    ratios = [v.ratio for v in session.verdicts.values() if v.ratio is not None]
    if ratios:
        assert [sample.value for sample in families["hostdx_effect_ratio"].samples] == ratios
