"""The page in a real browser: nothing is cut at any width, and the first page prints on one sheet."""

import msgspec
import pytest

from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.sides import read_run_summaries
from hostdx.app.recordings.store import list_demo_arguments, resolve_recording
from hostdx.app.report.forms import html
from hostdx.app.report.full_report import make_report_document
from hostdx.app.report.results.comparison import comparison_document
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.contract.results.document import ReportDocument
from tests.needs import needs, one_always, some_always
from tests.real.browser import BROWSER, count_sheets, find_overflows

pytestmark = [pytest.mark.real, needs(BROWSER)]


def make_documents() -> dict[str, ReportDocument]:
    reports = {
        name: make_report_document(load_recording(resolve_recording(name)), name)
        for name in list_demo_arguments()
    }
    sides = (read_run_summaries([resolve_recording(name)]) for name in ("demo:kernel-5-10", "demo:kernel"))
    return reports | {"compare": comparison_document(compare_recordings(*sides))}


@pytest.mark.noisy(
    "a browser without CPU time measures before it has laid out all pages", false_failures="2 of 12"
)
@pytest.mark.parametrize("widths", one_always((400, 1000), (640, 700, 1400)))
def test_nothing_is_cut_from_a_telephone_to_a_screen(widths: tuple[int, ...]) -> None:
    pages = {name: html.render_html(document) for name, document in make_documents().items()}
    too_wide = "<!doctype html><body><div style='width:1500px'>wide</div>"
    overflows = find_overflows(pages | {"too wide": too_wide}, widths)
    assert all(overflows.pop(f"too wide at {width}") for width in widths)  # the measure sees what stands over
    assert len(overflows) == len(widths) * len(pages)
    assert {page: overflow for page, overflow in overflows.items() if overflow} == {}


@pytest.mark.parametrize("name", some_always(("demo:box",), list_demo_arguments()))
def test_the_first_page_prints_on_one_sheet(name: str) -> None:
    document = make_report_document(load_recording(resolve_recording(name)), name)
    front = tuple(section for section in document.sections if not section.appendix)
    assert count_sheets(html.render_html(msgspec.structs.replace(document, sections=front))) == 1
