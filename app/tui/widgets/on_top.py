"""What a result shows on the first page and on the live screen, and what features draw of an import."""

from typing import NamedTuple

from hostdx.app.feature import parts_of_result
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    clean_line,
    crop_line,
    line_with_key_names,
    ruled_head,
    text_line,
)
from hostdx.probes import units
from hostdx.scenarios.analysis.compare.bounding_box import Boxed
from hostdx.scenarios.contract.results.document import Chart, Paragraph, Picture, Strong, Table, plain_text


class SectionOnTop(NamedTuple):
    title: Line
    note: Line
    rows: list[Line]
    charts: list[Line]  # where there is room below the rows
    hidden_count: int = 0  # rows without room, where none is shown


def lay_out_section_on_top(session: RunSession, width: int, most: int) -> SectionOnTop | None:
    """None where no result has anything to stand here; at most `most` rows."""
    from hostdx.app.report.forms.cells import panel_lines  # only where a table is drawn

    sections = (result.section_on_top(session.time) for result in session.results.values())
    section = next(filter(None, sections), None)
    if section is None or most < 2:
        return None
    words = [
        word.text if isinstance(word, Strong) else plain_text(word)
        for part in section.parts
        if isinstance(part, Paragraph)
        for word in part.words
    ]
    rows = [line for part in section.parts if isinstance(part, Table) for line in panel_lines(part, width)]
    # A table's first line names its columns: without a row below them it tells nothing.
    shown = rows if len(rows) <= most else rows[: most - 1] if most > 2 else []
    out = [crop_line(clean_line(line), width) for line in shown]
    if left_out := len(rows) - len(shown):
        more = f"{units.count_noun(left_out, 'more line')} in the report"
        out.append(text_line(f"and {more}" if shown else more, "dim"))
    charts = [line for part in section.parts if isinstance(part, Chart) for line in _chart_lines(part, width)]
    note = text_line(" ".join(words), "dim")
    return SectionOnTop(
        text_line(section.title.upper(), "title"), note, out, charts, 0 if shown else left_out
    )


def _chart_lines(part: Chart, width: int) -> list[Line]:
    from hostdx.app.report.figures.plot import chart_lines  # only where there is something to draw

    lines = (crop_line(text_line(line), width) for line in chart_lines(part, min(width, _WIDEST), _LOW_CHART))
    return [BLANK, text_line(part.title, "dim"), *lines]


def section_on_top_lines(session: RunSession, width: int, most: int) -> list[Line]:
    """Under a head of its own, which counts the rows if none has room; empty where nothing can stand here."""
    section = lay_out_section_on_top(session, width, most - 1)
    if section is None:
        return []
    if section.hidden_count:
        count = units.count_noun(section.hidden_count, "line")
        return [ruled_head(section.title, line_with_key_names(f"{count}: [o]", "dim"), width)]
    return [ruled_head(section.title, section.note, width), *section.rows]


_WIDEST, _HIGHEST = 100, 16
_NARROW_ROWS = 8
_LOW_CHART = 11
AROUND = 30  # lines of the screen that figures, steps and findings take


def imported_lines(session: RunSession, width: int, height: int) -> list[Line]:
    """What other tools' results are drawn as. `height` is the panel's: on a low screen the box is drawn lower."""
    room = min(width, _WIDEST)
    rows = max(_NARROW_ROWS, min(_HIGHEST, height - AROUND))
    out: list[Line] = []
    boxes = session.find_result(Boxed)
    if boxes is not None:
        from hostdx.app.report.figures.box import (  # only where there is something to draw
            box_lines,
            drawable_boxes,
        )

        for box in drawable_boxes(boxes.value):
            out += [BLANK, *(text_line(line) for line in box_lines(box, room, rows))]
    for picture in import_pictures(session, room):
        out += [BLANK, *(text_line(line) for line in picture.lines)]
    return out


def import_pictures(session: RunSession, width: int) -> list[Picture]:
    """Return what features draw of an import's results."""
    if session.scenario_card.role != "import":
        return []
    parts = (parts_of_result(result, width) or () for result in session.results.values())
    return [part for result_parts in parts for part in result_parts if isinstance(part, Picture)]
