"""The folder of a fleet run: the last word on a node and round counts, and a half line harms nothing."""

from pathlib import Path

import pytest

from hostdx.app.features.fleet.folder import SCHEMA, FleetFolder, FleetRunHead, NodeAnswer
from hostdx.app.terminal.failure import USAGE, Failure
from tests.every_case import every_case

HEAD = FleetRunHead(
    schema=SCHEMA, scenario="null", nodes=["n1", "n2"], seed=7, started="2026-01-01T00:00:00Z"
)


def test_the_last_word_on_a_node_and_round(tmp_path: Path) -> None:
    folder = FleetFolder.make_new(tmp_path / "f", HEAD)
    folder.append_answer(NodeAnswer(node="n1", round=0, state="unreachable", reason="no route"))
    with (folder.path / "answers.jsonl").open("ab") as file:
        file.write(b'{"node": "n2", "rou')
    folder.append_answer(NodeAnswer(node="n1", round=0, state="answered", file="nodes/n1/round-0.jsonl"))
    folder.append_answer(NodeAnswer(node="n1", round=1, state="hung"))
    answers = FleetFolder(folder.path).read_answers()
    assert {key: line.state for key, line in answers.items()} == {("n1", 0): "answered", ("n1", 1): "hung"}
    assert folder.read_head() == HEAD


def test_one_that_holds_something_is_not_written_over(tmp_path: Path) -> None:
    FleetFolder.make_new(tmp_path / "f", HEAD)
    with pytest.raises(Failure) as error:
        FleetFolder.make_new(tmp_path / "f", HEAD)
    assert error.value.status == USAGE


@every_case("text", ["", "{}", '{"schema": "hostdx-fleet/9"', "[" * 5000])
def test_what_is_no_fleet_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "fleet.json").write_text(text)
    with pytest.raises(Failure):
        FleetFolder(tmp_path).read_head()
