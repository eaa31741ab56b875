"""A node against its class: what is slow, what is fit early, and a class that is too uneven to drain anybody."""

import json
import math
import os
import random
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
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
    compare_rounds,
    error_rates,
    is_surely_fit,
)
from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from hostdx.app.terminal.failure import Failure
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
    (even,), (uneven,) = error_rates(node_class(0.01)), error_rates(node_class(0.06))
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
