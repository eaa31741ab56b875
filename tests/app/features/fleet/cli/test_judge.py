"""`fleet judge` as it is typed: every form of one judgement, and hostile names in all of them."""

from __future__ import annotations

import html
import json
from pathlib import Path

import msgspec
import pytest

from app.cli.entry import run_command_line
from app.features.fleet.rows import COLUMNS, NodeFigure
from scenarios.analysis.peers.judgement import FleetJudgement
from tests.app.features.fleet.test_reading import HOSTILE, recording, triage
from tests.needs import module, needs

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("answers")
    for n in range(11):
        recording(made / f"{n}.jsonl", f"host{n}", 1 + n / 1000)
    recording(made / "odd.jsonl", HOSTILE, 0.6, {"memory/transparent_huge_pages": "<b>\x1b[31mnever"})
    (made / "bad.jsonl").write_text("rubbish\n")
    return made


def typed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run_command_line(["fleet", "judge", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_json_is_the_judgement(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = typed(capsys, "--json", str(folder))
    found = msgspec.json.decode(out, type=FleetJudgement)
    assert (status, err) == (0, "") and found.schema == "hostdx-fleet-judgement/1"
    assert {one.node for one in found.suspects} == {HOSTILE} and not found.odd
    assert [one.node for one in found.missing] == ["bad.jsonl"]


@pytest.mark.parametrize("form", ["md", "html", "json", "ndjson"])
def test_no_name_is_markup_or_an_escape(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = typed(capsys, "--format", form, str(folder))
    assert status == 0 and "\x1b" not in out and "\x07" not in out
    if form == "html":
        assert "<script" not in out and html.escape("<script>") in out and "<svg" in out


def test_ndjson_has_a_row_a_node_and_measure_with_the_columns_that_are_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = typed(capsys, "--format", "ndjson", str(folder))
    rows = [msgspec.json.decode(line, type=NodeFigure) for line in out.splitlines()]
    assert all(list(json.loads(line)) == list(COLUMNS) for line in out.splitlines())
    assert {row.node for row in rows} == {HOSTILE, "bad.jsonl", *(f"host{n}" for n in range(11))}
    assert [row.state for row in rows if not row.workload] == ["unreadable"]
    assert all(0.55 < (row.ratio or 0) < 0.65 for row in rows if row.node == HOSTILE and row.better == "more")


@needs(module("pyarrow"))
def test_parquet_has_the_same_rows(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pyarrow import parquet

    _, out, _ = typed(capsys, "--format", "ndjson", "--parquet", str(tmp_path / "fleet.parquet"), str(folder))
    table = parquet.read_table(tmp_path / "fleet.parquet")
    assert table.column_names == list(COLUMNS)
    assert table.to_pylist() == [json.loads(line) for line in out.splitlines()]


def test_a_file_is_written_where_it_was_asked_for(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(capsys, "-o", str(tmp_path / "fleet.md"), str(folder))[:2] == (0, "")
    assert (tmp_path / "fleet.md").stat().st_size > 1000


def test_refusals_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.jsonl").write_text("rubbish\n")
    for arguments, wanted in (
        ((str(tmp_path / "nosuch"),), 2),
        ((str(tmp_path),), 3),
        (("--margin", "2"), 2),
    ):
        status, _, err = typed(capsys, *arguments)
        assert status == wanted and len(err.strip().splitlines()) in (1, 2)


def test_triages_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for n in range(3):
        triage(tmp_path / f"{n}.json", f"host{n}")
    assert typed(capsys, str(tmp_path))[0] == 0
