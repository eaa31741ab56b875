"""`hostdx import`: recordings that load, report and compare; one line for what is refused; nothing foreign believed."""

import json
from pathlib import Path

import msgspec
import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.recordings.reader import load_recording
from hostdx.app.report.forms import html, markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.app.report.results.result_parts import result_parts
from hostdx.scenarios.analysis.compare.bounding_box import BoundingBoxFigures, BoxCorner
from hostdx.scenarios.analysis.imported.results import Boxes, Histories, HistoriesResult, WorkloadHistory
from hostdx.scenarios.contract.results.document import Picture
from tests.probes.imports import originals as texts

TABLE = "ior_hard_GiBps\tior_easy_GiBps\tmdtest_hard_kIOPS\tmdtest_easy_kIOPS\n"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def write_files(tmp_path: Path, **texts: str) -> list[str]:
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in texts]


@pytest.mark.parametrize("kind", texts.ALL)
def test_every_kind_becomes_a_recording_that_loads_and_reports(kind: str, tmp_path: Path) -> None:
    assert run_command_line(["import", "-o", "r.jsonl", *write_files(tmp_path, result=texts.ALL[kind])]) == 0
    session = load_recording(Path("r.jsonl"))
    assert session.ended is not None and session.ended.status == "done"
    assert session.began is not None and session.began.scenario == "import"
    document = make_report_document(session, "r.jsonl")
    assert "Nothing was measured on this host" in markdown.render_markdown(document)
    assert "</html>" in html.render_html(document)
    assert session.facts or session.blocks


def test_each_file_has_its_own_recording_and_all_have_one_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = write_files(tmp_path, **{f"r{n}": texts.hepscore() for n in range(7)})
    assert run_command_line(["import", *names]) == 0
    entries = list((tmp_path / "state/hostdx/recordings").iterdir())
    assert len(entries) == 8 and sum("together" in p.name for p in entries) == 1
    together = load_recording(next(p for p in entries if "together" in p.name))
    assert {s.workload for s in together.series} == {"HEPscoreTEST", "a-bmk"}
    assert "7 files together" in capsys.readouterr().out


def test_the_odd_runs_are_the_answer_and_the_box_is_drawn(tmp_path: Path) -> None:
    rows = "".join(f"0.9\t{0.47 if n % 2 else 1.9}\t11\t130\n" for n in range(9))
    assert run_command_line(["import", "-o", "r.jsonl", *write_files(tmp_path, t=TABLE + rows)]) == 0
    document = make_report_document(load_recording(Path("r.jsonl")), "r.jsonl")
    text, page = markdown.render_markdown(document), html.render_html(document)
    assert "IOR easy lies below IOR hard in 4 of 9 runs: runs 2, 4, 6, 8" in text.splitlines()[0]
    assert "| ior-easy |" in text
    assert page.count("<svg") == 2 and "<script" not in page and page.count('stroke="#c62828" fill') == 4


def test_a_summary_of_another_run_is_contradicted(tmp_path: Path) -> None:
    other = texts.PRMON_JSON.replace('"wtime": 4', '"wtime": 40')
    names = write_files(tmp_path, **{"job.txt": texts.PRMON_TEXT, "job.json": other})
    assert run_command_line(["import", *names]) == 0
    paths = (tmp_path / "state/hostdx/recordings").glob("import-prmon-json*")
    findings = load_recording(next(paths)).findings.values()
    assert "import.prmon.other-run" in {f.id for f in findings}


def test_what_is_refused_is_one_line_and_the_rest_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = write_files(tmp_path, good=texts.IO500, bad="error: failed to setup shm segment\n")
    assert run_command_line(["import", *names]) == 3
    out, err = capsys.readouterr()
    assert err.count("\n") == 1 and "bad: is 35 B of text, and of no kind" in err
    assert "good: IO500" in out


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["import"], 2), (["import", "--kind", "no", "x"], 2), (["import", "none"], 3), (["import", "/"], 3)],
)
def test_exit_statuses(arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(arguments) == status
    assert capsys.readouterr().err.count("\n") == 1


def test_an_existing_file_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, other = write_files(tmp_path, f=texts.IO500, r="mine")
    assert run_command_line(["import", "-o", other, name]) == 3
    assert Path(other).read_text() == "mine" and "exists already" in capsys.readouterr().err


def test_json_has_values_findings_and_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = write_files(tmp_path, f=texts.fio(texts.fio_job()), bad="x")
    assert run_command_line(["import", "--json", *names]) == 3
    document = json.loads(capsys.readouterr().out)
    [file] = document["imported"]
    measure = file["result"]["measures"][0]
    assert (measure["workload"], measure["metric"], measure["value"]) == ("job read", "IOPS", 10000.0)
    assert measure["conditions"]["iodepth"] == "8" and measure["conditions"]["block size"] == "4 KiB"
    assert Path(file["recording"]).exists() and document["refused"][0]["file"].endswith("bad")


def test_hostile_names_in_a_file_reach_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "\x1b]0;owned\x07\u202e[red]<script>"
    text = texts.fio(texts.fio_job(name)).replace("3.33", "3.33\\u001b[2J")
    assert run_command_line(["import", "-o", "r.jsonl", *write_files(tmp_path, f=text)]) == 0
    out, err = capsys.readouterr()
    document = make_report_document(load_recording(Path("r.jsonl")), "r.jsonl")
    page = html.render_html(document)
    for output in (out, err, markdown.render_markdown(document), page):
        assert "\x1b" not in output and "\x07" not in output and "\u202e" not in output
    assert "<script" not in page


def test_a_foreign_box_and_history_are_drawn_as_letters_or_not_at_all() -> None:
    corner = BoxCorner(workload="\x1b[2Jw", unit="B/s", values=(1.0,), median=1.0, low=1.0, high=1.0)
    hostile = BoundingBoxFigures(title="\x1b]0;x\x07<script>", runs=("\u202e<b>",), corners=(corner,) * 4)
    session = load_recording(Path(__file__).parents[4] / "app/recordings/demos/io500.jsonl")
    [picture] = result_parts(session, Boxes(t=1.0, value=(hostile,)))
    assert isinstance(picture, Picture)
    text = "".join((*picture.lines, picture.svg))
    assert not set("\x1b\x07\u202e") & set(text) and "<script" not in picture.svg and "<b>" not in picture.svg
    without = msgspec.structs.replace(hostile, corners=(msgspec.structs.replace(corner, median=-1.0),) * 4)
    for none in (Boxes(t=1.0, value=()), Boxes(t=1.0, value=(without,))):
        assert result_parts(session, none) == ()
    flat = WorkloadHistory(
        workload="w", metric="m", unit="s", better="less", values=(0.0, 1.0), verdict="slower"
    )
    for workloads in ((), (flat,)):
        empty = HistoriesResult(t=1.0, value=Histories(("a", "b"), (None, None), workloads))
        assert result_parts(session, empty) == ()
