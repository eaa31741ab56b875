"""`fleet judge` as it is typed: every form of one judgement, and hostile names in all of them."""

import html
import json
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.features.fleet.rows import COLUMNS
from tests.app.features.fleet.test_reading import HOSTILE, write_run, write_triage
from tests.needs import module, needs

pytestmark = pytest.mark.usefixtures("own_state")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    answers = tmp_path_factory.mktemp("answers")
    for n in range(11):
        write_run(answers / f"{n}.jsonl", f"host{n}", 1 + n / 1000)
    write_run(answers / "odd.jsonl", HOSTILE, 0.6, {"memory/transparent_huge_pages": "<b>\x1b[31mnever"})
    (answers / "bad.jsonl").write_text("rubbish\n")
    return answers


def enter(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = run_command_line(["fleet", "judge", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize("form", ["md", "html", "json", "ndjson"])
def test_no_name_is_markup_or_an_escape(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = enter(capsys, "--format", form, str(folder))
    assert status == 0 and "\x1b" not in out and "\x07" not in out
    if form == "html":
        assert "<script" not in out and html.escape("<script>") in out and "<svg" in out


@needs(module("pyarrow"))
def test_parquet_has_the_same_rows(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from pyarrow import parquet

    _, out, _ = enter(capsys, "--format", "ndjson", "--parquet", str(tmp_path / "fleet.parquet"), str(folder))
    table = parquet.read_table(tmp_path / "fleet.parquet")
    assert table.column_names == list(COLUMNS)
    assert table.to_pylist() == [json.loads(line) for line in out.splitlines()]


def test_refusals_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.jsonl").write_text("rubbish\n")
    for arguments, expected in (
        ((str(tmp_path / "nosuch"),), 2),
        ((str(tmp_path),), 3),
        (("--margin", "2"), 2),
    ):
        status, _, err = enter(capsys, *arguments)
        assert status == expected and len(err.strip().splitlines()) in (1, 2)


def test_triages_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for n in range(3):
        write_triage(tmp_path / f"{n}.json", f"host{n}")
    assert enter(capsys, str(tmp_path))[0] == 0
