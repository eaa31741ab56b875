"""Recordings of many nodes."""

import gzip
import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from hostdx.app.features.fleet import reading, summary
from hostdx.app.features.fleet.folder import SCHEMA, FleetFolder, FleetRunHead, NodeAnswer
from hostdx.app.features.fleet.node_names import _matcher_without_clustershell
from hostdx.app.features.fleet.reading import read_fleet_answers
from hostdx.app.features.fleet.report import (
    fleet_document,
    lead_sentences,
    total_rate_sections,
    total_rate_sentences,
)
from hostdx.app.features.fleet.rows import judgement_rows
from hostdx.app.recordings import store
from hostdx.app.report.forms import html, markdown
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, PlannedLoad
from hostdx.scenarios.analysis.peers.facts import FactTable
from hostdx.scenarios.analysis.peers.judge import judge_fleet
from hostdx.scenarios.analysis.peers.node import PeerNode
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.results.document import Table
from tests.every_case import every_case

DEMO = store.resolve_recording("demo:kernel").read_text(encoding="utf-8").splitlines()
HOSTILE = "node\x1b]0;owned\x07[red]<script>alert(1)</script>/../../etc/passwd"


def write_run(path: Path, host: str, scale: float = 1.0, facts: dict[str, Any] | None = None) -> Path:
    """The demo as another host's, each block's values times `scale`."""
    lines = []
    for line in DEMO:
        event = json.loads(line)
        if event["type"] == "run":
            event |= {"host": host, "boot_id": host}
        elif event["type"] == "block":
            event["values"] = {name: value * scale for name, value in event["values"].items()}
        elif event["type"] == "train":
            event["values"] = {name: [v * scale for v in vs] for name, vs in event["values"].items()}
        elif event["type"] == "fact" and f"{event.get('subject')}/{event['name']}" in (facts or {}):
            event["value"] = (facts or {})[f"{event['subject']}/{event['name']}"]
        lines.append(json.dumps(event))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_triage(path: Path, host: str, **facts: Any) -> Path:
    document = {
        "schema": "hostdx/1", "scenario": "triage", "status": "done", "absent": [{"fact": "cpu governor"}],
        "facts": {"host name": host, "cpu model": "a model", **facts}, "findings": [{"id": "host.pressure"}],
    }  # fmt: skip
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_nodes_of_one_name_are_named_by_their_paths(tmp_path: Path) -> None:
    for n in range(6):
        write_run(tmp_path / f"n{n}" / "run.jsonl", "localhost")
    assert sorted(read_fleet_answers([str(tmp_path)]).rounds[0]) == [f"n{n}" for n in range(6)]


def test_several_runs_of_a_node_are_one_measure(tmp_path: Path) -> None:
    recordings = [write_run(tmp_path / f"{n}.jsonl", "a", scale) for n, scale in enumerate((1.0, 1.0, 8.0))]
    write_run(tmp_path / "b.jsonl", "b")
    fleet = read_fleet_answers([str(tmp_path)])
    a, b = fleet.rounds[0]["a"], fleet.rounds[0]["b"]
    assert len(recordings) == 3 and len(fleet.rounds[0]) == 2
    assert all(abs(abs(a.logs[key] - b.logs[key]) - 0.6931) < 0.01 for key in b.logs)  # a cube root of 8


def test_what_is_no_answer_of_a_node_is_missing_or_passed_over(tmp_path: Path) -> None:
    for name, change in {"a": {}, "other": {"scenario": "x"}, "skipped": {"status": "skipped"}}.items():
        path = write_triage(tmp_path / f"{name}.json", name)
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
    write_triage(tmp_path / ".hidden.json", "hidden")
    fleet = read_fleet_answers([str(tmp_path)])
    assert list(fleet.rounds[0]) == ["a"]
    assert {(node.node, node.state) for node in fleet.missing} == {
        ("other.json", "unreadable"),
        ("skipped", "skipped"),
    }


def test_a_fleet_runs_folder_with_its_rounds_and_who_did_not_answer(tmp_path: Path) -> None:
    outside_path = write_run(tmp_path / "elsewhere.jsonl", "another")
    tmp_path = tmp_path / "fleet"
    lines = []
    for n in range(6):
        write_run(tmp_path / "nodes" / f"n{n}" / "round-0.jsonl", "same")
        lines.append({"node": f"n{n}", "round": 0, "state": "answered", "file": f"nodes/n{n}/round-0.jsonl"})
    write_run(tmp_path / "nodes" / "n1" / "round-1.jsonl", "same", 0.5)
    lines += [
        {"node": "n1", "round": 1, "state": "answered", "file": "nodes/n1/round-1.jsonl"},
        {"node": "n6", "round": 0, "state": "hung", "reason": "in D state", "seconds": 60},
        {"node": "n7", "round": 0, "state": "answered", "file": "../elsewhere.jsonl"},
        {"node": "n8", "round": 0, "state": "answered", "file": str(outside_path)},
    ]
    head = {"schema": "hostdx-fleet/1", "scenario": "kernel", "options": {}, "seed": 1, "started": "",
            "nodes": [f"n{n}" for n in range(10)]}  # fmt: skip
    (tmp_path / "fleet.json").write_text(json.dumps(head))
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)) + '\n{"half')
    fleet = read_fleet_answers([str(tmp_path)])
    assert sorted(fleet.rounds[0]) == [f"n{n}" for n in range(6)] and list(fleet.rounds[1]) == ["n1"]
    states = {node.node: node.state for node in fleet.missing}
    assert states == {"n6": "hung", "n7": "rubbish", "n8": "rubbish", "n9": "interrupted"}


@every_case(
    "content",
    [
        b"", b"{", b"[]", b"\x00" * 100, b"[" * 100_000, b'{"type":"run"}\n', b"\xff\xfe\n", b"Permission denied\n",
        gzip.compress(b"0" * (8 << 20)),
    ],
)  # fmt: skip
@every_case("name", ["bad.jsonl", "bad.json", "bad.jsonl.gz"])
def test_rubbish_is_a_node_without_an_answer(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    for n in range(2):
        write_run(tmp_path / f"{n}.jsonl", f"host{n}")
    fleet = read_fleet_answers([str(tmp_path)])
    assert [(node.node, node.state) for node in fleet.missing] == [(name, "unreadable")]
    assert len(fleet.rounds[0]) == 2 and fleet.missing[0].reason


def test_what_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MAX_JSON_BYTES", 1000)
    write_triage(tmp_path / "a.json", "a", **{"x y": "z" * 2000})
    write_triage(tmp_path / "b.json", "b")
    fleet = read_fleet_answers([str(tmp_path)])
    assert [node.node for node in fleet.missing] == ["a.json"] and list(fleet.rounds[0]) == ["b"]


@every_case("scale", [1e-300, 1e-24, 1e20])
def test_wild_figures_end_nothing(tmp_path: Path, scale: float) -> None:
    """As few nodes as are judged: the interval of a retest is as wide as it can be."""
    for n in range(5):
        write_run(tmp_path / "nodes" / f"{n}.jsonl", f"host{n}", scale ** (n / 4))
    answers = read_fleet_answers([str(tmp_path / "nodes")]).judge_answers(0.05)
    reread = read_fleet_answers([str(tmp_path / "nodes")])
    reread.rounds |= dict.fromkeys((1, 2, 3), reread.rounds[0])
    for judgement in (answers, reread.judge_answers(0.05)):
        for render in (markdown.render_markdown, html.render_html):
            assert render(fleet_document(judgement))
        assert list(judgement_rows(judgement)) and not judgement.odd


def test_links_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    write_run(tmp_path / "elsewhere" / "secret.jsonl", "secret")
    write_run(folder / "a.jsonl", "a")
    (folder / "link.jsonl").symlink_to(tmp_path / "elsewhere" / "secret.jsonl")
    (folder / "folder").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(folder / "pipe.jsonl")
    fleet = read_fleet_answers([str(folder)])
    assert list(fleet.rounds[0]) == ["a"]
    reasons = {node.node: node.reason for node in fleet.missing}
    assert set(reasons) == {"link.jsonl", "pipe.jsonl"} and len(set(reasons.values())) == 2
    head = {"schema": "hostdx-fleet/1", "scenario": "kernel", "seed": 1, "started": "", "nodes": ["a", "b"]}
    (folder / "fleet.json").write_text(json.dumps(head))
    answers = [{"node": "a", "round": 0, "state": "answered", "file": "link.jsonl"},
               {"node": "b", "round": 0, "state": "answered", "file": "folder/secret.jsonl"}]  # fmt: skip
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    assert [node.state for node in read_fleet_answers([str(folder)]).missing] == ["rubbish", "rubbish"]


def test_names_are_data(tmp_path: Path) -> None:
    for n in range(5):
        write_run(tmp_path / f"{n}.jsonl", f"host{n}")
    write_run(tmp_path / "hostile.jsonl", HOSTILE, 0.5)
    assert HOSTILE in read_fleet_answers([str(tmp_path)]).rounds[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *(f"{n}.jsonl" for n in range(5)),
        "hostile.jsonl",
    ]


def test_many_are_read_by_several_processes_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(8):
        write_triage(tmp_path / f"{n}.json", f"host{n}", **{"os name": "Debian"})
    (tmp_path / "x.json").write_text("no JSON")
    serial = read_fleet_answers([str(tmp_path)])
    monkeypatch.setattr(reading, "_ALONE", 2)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    together = read_fleet_answers([str(tmp_path)])
    assert serial.judge_answers(0.05) == together.judge_answers(0.05) and serial.missing == together.missing


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    for arguments in ([str(tmp_path)], [str(tmp_path / "nosuch")]):
        with pytest.raises(Failure):
            read_fleet_answers(arguments)


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


@every_case(
    ("words", "name", "is_meant"),
    [
        ("node[001-003]", "node002", True),
        ("node[001-003]", "node2", False),  # another name
        ("node[001-003]", "node004", False),
        ("node[1-3]", "node2", True),
        ("node[001-003,205],gpu3", "node205", True),
        ("node[001-003,205],gpu3", "gpu3", True),
        ("node[001-003],!node002", "node002", False),
        ("node[001-003],!node002", "node003", True),
        ("!node002", "gpu3", True),
    ],
)
def test_who_is_meant(words: str, name: str, is_meant: bool) -> None:
    fits = _matcher_without_clustershell(words)
    assert fits is not None and fits(name) is is_meant


@every_case("words", ["node[1-3", "node[a]", "node[1-]", "@group"])
def test_what_is_no_expression(words: str) -> None:
    assert _matcher_without_clustershell(words) is None


def test_rates_add_up_and_times_do_not() -> None:
    rate, time = FigureKey("easy", "rate"), FigureKey("wait", "seconds")
    loads = {
        rate: PlannedLoad("easy", Metric("rate", "1/s")),
        time: PlannedLoad("wait", Metric("seconds", "s", better="less")),
    }
    nodes = [
        PeerNode(name="n1", logs={rate: math.log(300), time: -1.0}), PeerNode(name="n2", logs={rate: math.log(100)}),
        PeerNode(name="n3"),
    ]  # fmt: skip
    later_rounds = [
        {
            "n1": PeerNode(name="n1", logs={rate: math.log(200)}),
            "n2": PeerNode(name="n2", logs={rate: math.log(100)}),
        },
        {"n1": PeerNode(name="n1", logs={rate: math.log(200)})},  # without one of them it is another sum
    ]
    fleet = judge_fleet(nodes, FactTable(), loads, later_rounds, together=True)
    (section,) = total_rate_sections(fleet.sums)
    (table,) = (part for part in section.parts if isinstance(part, Table))
    assert table.rows == (("easy", "2", "400 /s", "300 /s", "75 %", "25 %"),)
    assert len(total_rate_sentences(fleet.sums)) == 1 and "400 /s" in " ".join(lead_sentences(fleet))
    without_start = judge_fleet(nodes, FactTable(), loads)
    assert not without_start.sums and not total_rate_sections(without_start.sums)
