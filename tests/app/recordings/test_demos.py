"""Each bundled recording can be named, loads, has an end and a report."""

from hostdx.app.recordings import store as recordings
from hostdx.app.recordings.reader import load_recording
from hostdx.app.report.forms import markdown as document_markdown
from hostdx.app.report.full_report import make_report_document
from tests.every_case import every_case


@every_case("name", recordings.list_example_names())
def test_a_demo_is_whole(name: str) -> None:
    path = recordings.resolve_recording(name)
    session = load_recording(path)
    assert session.ended is not None and session.ended.status == "done"
    assert session.plan is not None and session.began is not None
    text = document_markdown.render_markdown(make_report_document(session, path.name))
    assert "How it was measured" in text
    assert recordings.examine_recording(path).state == "done"
