"""The speed of a node against its class, and the forms of the answer."""

import json
import math
import os
import random
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hostdx.app.cli.entry import run_command_line
from hostdx.app.features.health.check import Answer, HealthCheck, UnfitReason
from hostdx.app.features.health.forms import FORMS, MAX_REASON, Form, exit_status_of, format_check
from hostdx.app.features.health.node_class import (
    LOADS,
    MIN_RUNS,
    NodeClass,
    class_of_own_baseline,
    make_class_load,
    read_node_class,
    save_node_class,
)
from hostdx.app.features.health.speed import (
    FALSE_DRAINS,
    FULL_ROUNDS,
    MIN_ROUNDS,
    LoadStanding,
    compare_rounds,
    is_surely_fit,
    predicted_error_rates,
)
from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from hostdx.app.terminal.failure import Failure
from tests.every_case import every_case
from tests.measured.simulation import health as simulation

pytestmark = pytest.mark.usefixtures("own_state")


KEY = ("cpu-integer", "one")


def node_class(spread: float, *, nodes: int = 30, scatter: float = 0.01) -> NodeClass:
    rng = random.Random(1)
    levels = [5 + rng.gauss(0, spread) for _ in range(nodes)]
    return NodeClass(
        schema="hostdx-class/1", name="c", loads=(make_class_load(KEY, levels, [scatter] * nodes),)
    )


def rounds_at(ratio: float, count: int = FULL_ROUNDS) -> dict[tuple[str, str], list[float]]:
    return {KEY: [5 + math.log(ratio) + 0.001 * n for n in range(count)]}


@pytest.mark.parametrize(
    ("ratio", "slow", "fit"), [(1.0, False, True), (0.8, True, False), (0.93, False, True)]
)
def test_a_node_of_an_even_class(ratio: float, slow: bool, fit: bool) -> None:
    even = node_class(0.01)
    (standing,) = standings = compare_rounds(even, rounds_at(ratio))
    assert (standing.is_slow, is_surely_fit(even, standings)) == (slow, fit)
    assert standing.decides and standing.ratio == pytest.approx(ratio, rel=0.02)


def test_few_rounds_decide_nothing() -> None:
    even = node_class(0.01)
    for ratio in (1.0, 0.5):
        (standing,) = standings = compare_rounds(even, rounds_at(ratio, MIN_ROUNDS - 1))
        assert not standing.is_slow and not is_surely_fit(even, standings)
    assert not is_surely_fit(even, [])


def test_rates_of_explain_are_those_of_the_test() -> None:
    (even,), (uneven,) = predicted_error_rates(node_class(0.01)), predicted_error_rates(node_class(0.06))
    assert even.false_drain < FALSE_DRAINS and even.keeps_promise and even.found_in_two_share > 0.999
    assert uneven.false_drain < FALSE_DRAINS and not uneven.keeps_promise
    assert (
        uneven.found_share < uneven.found_in_two_share < 1 - (1 - uneven.found_share) ** 2
    )  # both checks are of one node


@pytest.mark.parametrize("noise", ["cpu", "cpu-2", "fsync4k-qd1"])
def test_slow_nodes_are_found_and_fit_ones_kept_on_recorded_noise(noise: str) -> None:
    """A hundredth of the simulation; the whole is `tests/measured/simulation/health.py`."""
    draw = simulation.series_draw(noise, 0.5)
    simulated = simulation.SimulatedClass(noise, {KEY: draw}, {KEY: 0.01})
    assert simulation.drained_share(simulated, 400, None, seed=7, classes=4)[0] == 0
    assert simulation.drained_share(simulated, 100, KEY, seed=7, checks=2, classes=4) >= (0.95, 0.75)


def test_a_class_is_kept_and_read(tmp_path: Path) -> None:
    session = load_recording(store.resolve_recording("demo:kernel"))
    runs = [(f"n{number}", session) for number in range(MIN_RUNS)]
    for name in ("wn", str(tmp_path / "wn.json")):
        save_node_class(name, runs)
        speed_class = read_node_class(name)
        assert {load.load for load in speed_class.loads} == set(LOADS) and all(
            load.runs == MIN_RUNS for load in speed_class.loads
        )
    with pytest.raises(Failure):
        save_node_class("few", [("n1", session)] * MIN_RUNS)  # one node
    for name in ("absent", "../x y"):
        with pytest.raises(Failure):
            read_node_class(name)
    (tmp_path / "bad.json").write_text(
        '{"schema": "hostdx-class/1", "name": "x", "loads": [{"level": 1e999}]}'
    )
    with pytest.raises(Failure):
        read_node_class(str(tmp_path / "bad.json"))
    assert class_of_own_baseline() is None


def test_a_host_is_its_own_class(tmp_path: Path) -> None:
    """As many runs of this host as are needed, kept as a baseline; one fewer is no class."""
    lines = store.resolve_recording("demo:kernel").read_bytes().splitlines(keepends=True)
    names = []
    for n in range(MIN_RUNS):
        head = json.dumps({**json.loads(lines[0]), "host": os.uname().nodename, "seed": n}).encode() + b"\n"
        names.append(tmp_path / f"{n}.jsonl")
        names[-1].write_bytes(head + b"".join(lines[1:]))
    assert run_command_line(["baseline", "save", "own", *map(str, names[1:])]) == 0
    assert class_of_own_baseline() is None
    assert run_command_line(["baseline", "save", "own", str(names[0])]) == 0
    own_class = class_of_own_baseline()
    assert own_class is not None and {load.runs for load in own_class.loads} == {MIN_RUNS}


def test_a_fleet_makes_a_class(tmp_path: Path) -> None:
    """Ten nodes from one recording, each 1 % apart; what is no recording is left out."""
    lines = store.resolve_recording("demo:kernel").read_bytes().splitlines(keepends=True)
    for n in range(10):
        head = json.dumps({**json.loads(lines[0]), "host": f"n{n}"}).encode() + b"\n"
        (tmp_path / f"n{n}.jsonl").write_bytes(head + b"".join(lines[1:]))
    (tmp_path / "rubbish.jsonl").write_text("no\n")
    judge = ["fleet", "judge", "-o", str(tmp_path / "out.md"), "--save-class"]
    assert run_command_line([*judge, "wn", str(tmp_path)]) == 0
    assert {load.runs for load in read_node_class("wn").loads} == {10}
    assert run_command_line(["health", "--class", "wn", "--explain"]) == 0
    few = [str(tmp_path / f"n{n}.jsonl") for n in range(3)]
    assert run_command_line([*judge, "few", *few]) == 3


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


@every_case("name", store.list_demo_arguments())
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
