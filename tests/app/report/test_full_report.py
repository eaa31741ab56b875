"""The report and the result document, made from recordings."""

import os
from pathlib import Path
from typing import ClassVar

import pytest
from markdown_it import MarkdownIt

from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report import json_document
from hostdx.app.report.forms import html as document_html
from hostdx.app.report.forms import markdown as document_markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.short_forms import MAX_LINES, cut_to_first_page, shorten_document
from hostdx.app.report.title import MAX_TITLE_LENGTH, split_title
from hostdx.app.report.wording import is_measured, too_few_groups_text
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.plan import Metric, Plan, Workload
from hostdx.scenarios.contract.results.document import Code, Effects, ReportDocument, ReportSection, Table
from hostdx.scenarios.fstrim.results import LedgerRow, TrimLedger
from tests.every_case import every_case

FIXTURES = Path(__file__).parents[2] / "fixtures" / "recordings"
GOLDEN = Path(__file__).parent / "golden"
DEMOS = Path(__file__).parents[3] / "app" / "recordings" / "demos"
RECORDINGS = sorted(FIXTURES.glob("*.jsonl"))


def compare(name: str, text: str) -> None:
    """`HOSTDX_GOLDEN=write` makes the files anew; look at the diff."""
    path = GOLDEN / name
    if os.environ.get("HOSTDX_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8"), f"differs from {path}"


class Status(ev.Result, frozen=True, tag="test.status/1"):
    name: ClassVar[str] = "status"
    value: str


def small_session() -> RunSession:
    """One of everything that the result document sums up."""
    session = RunSession()
    for event in (
        ev.Began(t=0, schema=ev.SCHEMA, version="1", scenario="storage", command=["hostdx", "run"], host="h",
                 wall="2026-01-01T00:00:00Z", seed=1, pid=1, pid_start=1, boot_id="b"),
        ev.FactRead(t=0, subject="disk:sda", name="size", value=1 << 40, source="/sys/block/sda/size", unit="B"),
        ev.AbsentFact(t=0, subject="disk:sda", name="smart", reason="smartctl is not installed"),
        ev.RunVerdict(t=9, workload="randread-4k-qd1", metric="IOPS", baseline="A", variant="B", verdict="slower",
           ratio=0.73, ci95=(0.71, 0.76), delta=-4120, delta_ci95=(-4400, -3900), delta_unit="IOPS", groups=12, look=1,
                   smallest_effect=0.03, seconds=24.1),
        ev.RunVerdict(t=9, workload="metadata", metric="1/s", baseline="A", variant="B", verdict="not applicable",
                   reason="served by a cache"),
        ev.SeriesVerdict(t=9, workload="w", rounds=8, verdict="slower", slope_per_round=-0.021, ci95=(-0.03, -0.01),
                         p=0.004, per_gb=-0.002),
        ev.Found(t=9, finding=Finding(id="b.ok", severity="ok", title="fine")),
        ev.Found(t=9, finding=Finding(id="a.b", severity="warning", title="slow", confidence="measured",
                                      evidence=(Evidence("so", "/sys/x"),), references=("man 5 x",),
                                      remedy=(Remedy(title="do", commands=("true",), undo=("false",)),))),
        TrimLedger(t=9, value=(LedgerRow(step="trim", seconds=4.0, written_bytes=5),)),
        Status(t=9, value="a scenario's own part never hides ours"),
        ev.RunEnded(t=10, status="done"),
    ):  # fmt: skip
        session.apply(event)
    return session


def test_the_result_document_is_pinned() -> None:
    compare("result.json", json_document.document_json(small_session(), "r.jsonl") + "\n")


@pytest.mark.parametrize("name", ["storage", "interrupted"])
def test_the_report_is_pinned(name: str) -> None:
    session = load_recording(FIXTURES / f"{name}.jsonl")
    compare(f"{name}.md", document_markdown.render_markdown(make_report_document(session, f"{name}.jsonl")))


@every_case("path", sorted(DEMOS.glob("*.jsonl")))
def test_the_report_of_a_bundled_recording_is_pinned(path: Path) -> None:
    compare(
        f"demo-{path.stem}.md",
        document_markdown.render_markdown(make_report_document(load_recording(path), path.name)),
    )


@every_case("path", RECORDINGS)
def test_every_recording_has_a_report(path: Path) -> None:
    document = make_report_document(load_recording(path), path.name)
    tokens = MarkdownIt("gfm-like", {"html": True}).parse(document_markdown.render_markdown(document))
    inner = {inner.type for token in tokens for inner in (token.children or [token])}
    assert not inner & {"html_inline", "html_block", "image"}
    headings = [
        tokens[n + 1].content
        for n, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    assert "How it was measured" in headings
    assert "<script" not in document_html.render_html(document)
    assert find_headline_answer(load_recording(path)).sentence


def test_the_answer_comes_first() -> None:
    lines = document_markdown.render_markdown(make_report_document(small_session(), "r.jsonl")).splitlines()
    assert lines[0].startswith("# randread-4k-qd1: B is 27 % slower than A in IOPS (95 % CI 24 to 29 %)")


@every_case(
    "clauses",
    [
        ("a" * 40, "; ", "b" * 90),
        ("a" * 40 + " (x, y; z)", ", ", "b" * 90),
        ("a" * 20 + ": " + "b" * 60, "; ", "c" * 60),
        ("a" * 90, " ", "(" + "b" * 90 + ")"),
    ],
)
def test_a_title_is_cut_between_clauses_and_loses_nothing(clauses: tuple[str, str, str]) -> None:
    assert split_title("".join(clauses)) == (clauses[0], clauses[2])


def test_a_title_names_no_process_id_and_always_fits() -> None:
    assert not any(map(str.isdigit, split_title("sh [2510, 2511] and python [7] of root").text))
    for length in range(1, 300):
        answer = "ab " * length
        title = split_title(answer)
        assert len(title.text) <= MAX_TITLE_LENGTH + 2
        assert answer.split() == f"{title.text.removesuffix('…')} {title.rest}".split()


def test_a_truncated_recording_says_so(tmp_path: Path) -> None:
    lines = (FIXTURES / "storage.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "r.jsonl"
    for cut in range(1, len(lines), 25):
        path.write_bytes(b"".join(lines[:cut]))
        session = load_recording(path)
        assert "has no end" in document_markdown.render_markdown(make_report_document(session, "r.jsonl"))
        assert json_document.run_as_json(session, "r.jsonl")["status"] == "failed"


def test_an_own_commands_arguments_are_shown_only_where_asked_for() -> None:
    command = "/opt/job --account=7"
    load_ = Workload(
        id="command", title="your own command", metrics=(Metric("runs/h", "runs/h"),), equivalent=command
    )
    plan = Plan(scenario="fstrim", title="t", question="q?", workloads=(load_,), commands=(command,))
    session = small_session()
    session.apply(ev.Planned(t=0, plan=plan))
    short = document_markdown.render_markdown(make_report_document(session, "r"))
    assert "/opt/job" in short and "--account" not in short
    assert "/opt/job --account=7" in document_markdown.render_markdown(
        make_report_document(session, "r", with_arguments=True)
    )


def test_what_a_rule_could_not_read_is_unknown_and_not_fine() -> None:
    states = {"spoke": "found", "ok": "fine", "unreadable": "unknown", "not applicable": "not applicable"}
    session = RunSession()
    for state in states:
        session.apply(ev.Checked(t=0.0, rule=state, state=state))  # type: ignore[arg-type]
    assert {check["rule"]: check["answer"] for check in json_document.list_checks(session)} == states  # type: ignore[index,call-overload]


@every_case("path", sorted(DEMOS.glob("*.jsonl")))
def test_a_run_has_at_most_200_lines_of_markdown_and_a_first_page_that_stands_alone(path: Path) -> None:
    session = load_recording(path)
    document = make_report_document(session, path.name)
    short, page = shorten_document(document, "all"), cut_to_first_page(document, "all")
    assert document_markdown.render_markdown(short).count("\n") <= MAX_LINES
    title = split_title(find_headline_answer(session).sentence)
    assert page.title == short.title == title.text and len(title.text) <= MAX_TITLE_LENGTH + 2
    parts = [part for section in page.sections for part in section.parts]
    assert not any(section.appendix for section in page.sections)
    assert any(isinstance(part, Table | Effects) for part in parts) or session.series
    asides = {load.id for load in session.planned_workloads if load.aside}
    compared = {
        v.workload
        for v in session.verdicts.values()
        if is_measured(v) and v.workload not in asides and not too_few_groups_text(session, v)
    }
    row_count = sum(len(part.table.rows) for part in parts if isinstance(part, Effects))
    assert row_count >= len(compared)
    assert {"Result", "What to do"} <= {section.title for section in page.sections}
    left_out = {section.title for section in document.sections} - {
        section.title for section in short.sections
    }
    pointer = document_markdown.render_markdown(short).rpartition("## The whole report")[2]
    assert all(document_markdown.escape_text(title) in pointer for title in left_out)


def test_a_first_page_of_hundreds_of_rows_is_cut_and_its_commands_are_not() -> None:
    table = Table(("load", "value"), tuple((f"load {n}", str(n)) for n in range(900)))
    commands = Code(tuple(f"command {n}" for n in range(40)), "sh")
    report_document = ReportDocument("t", ("q",), (ReportSection("Result", (table, commands)),))
    text = document_markdown.render_markdown(shorten_document(report_document, "all"))
    assert text.count("\n") <= MAX_LINES and "command 39" in text and "| load 0 |" in text
