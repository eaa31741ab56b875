"""The report on the screen: no line is wider than the screen, and no letter is lost in folding."""

import re
from collections import Counter
from pathlib import Path

import msgspec

from hostdx.app.recordings.reader import load_recording
from hostdx.app.report.forms.cells import document_lines
from hostdx.app.report.full_report import make_report_document
from hostdx.app.terminal.lines import cell_width, wrap_text
from hostdx.scenarios.contract.results.document import (
    Bullets,
    Code,
    Heading,
    Mono,
    Paragraph,
    ReportDocument,
    ReportSection,
    Strong,
    Table,
)
from tests.every_case import every_case

DRAWN = ("Picture", "Chart", "Histogram", "Gallery", "Tiles")
DEMOS = Path(__file__).parents[4] / "app" / "recordings" / "demos"
WIDE = ReportDocument(
    "漢字 " * 30,
    ("the answer", Mono("a-path-that-is-longer-than-any-line/" * 5)),
    (
        ReportSection(
            "Table", (Table(("name", "value"), (("long " * 20, Mono("x" * 90)), ("", "1")), frozenset({1})),)
        ),
        ReportSection(
            "Rest",
            (
                Heading("h" * 70),
                Paragraph((Strong("now"), "then")),
                Bullets((("b " * 50,),)),
                Code(("c" * 99,)),
            ),
        ),
    ),
)


def count_letters(document: ReportDocument) -> Counter[str]:
    """Every letter of every text in it, in any order; a drawing is cut at the edge, not folded."""
    parts: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str):
            parts.extend(value)
        elif isinstance(value, dict) and value.get("type") not in DRAWN:
            for key, inner in value.items():
                if key not in ("type", "language", "right", "role", "drawn"):
                    walk(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                walk(inner)

    walk(msgspec.to_builtins(document))
    return Counter(re.sub(r"\W", "", "".join(parts)).lower())


@every_case("width", [40, 57, 78, 118])
@every_case("demo", ["storage", "rpfilter", "dstate", ""])
def test_words_survive_the_folding(demo: str, width: int) -> None:
    document = make_report_document(load_recording(DEMOS / f"{demo}.jsonl"), demo) if demo else WIDE
    decoded = msgspec.json.decode(msgspec.json.encode(document), type=ReportDocument)
    assert decoded == document
    lines = document_lines(document, width)
    assert max(cell_width(line) for line in lines) <= width
    text = "".join(part for line in lines for part, _ in line)
    missing = count_letters(document) - Counter(re.sub(r"\W", "", text).lower())
    assert not missing, missing


def test_a_number_keeps_its_unit_and_a_name_its_parts_at_the_end_of_a_line() -> None:
    """`2.5 to 75.2` ended a headline, and ` ×` began the next one."""
    rows = ["".join(part for part, _ in row) for row in wrap_text("is 2.5 to 75.2 × slower", 14)]
    assert rows == ["is 2.5 to", "75.2 × slower"]
    rows = ["".join(part for part, _ in row) for row in wrap_text("ext4_buffered_write_iter", 20)]
    assert rows == ["ext4_buffered_write_", "iter"]
    rows = ["".join(part for part, _ in row) for row in wrap_text("it does 3.05 M", 12)]
    assert rows == ["it does", "3.05 M"]
