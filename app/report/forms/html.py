"""A document as one HTML page: no script, no link; dark or light, from 400 px; its first page prints on A4."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from hostdx.app.report.figures.interval_chart import legend_text, scale_for_bars
from hostdx.app.report.forms.svg import SMALL, WIDE, axis_svg, bar_svg, chart_svg, histogram_svg
from hostdx.app.terminal.printable import make_lines_printable, make_printable
from hostdx.scenarios.contract.results import document as doc

PAGE = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8").strip()


def render_html(document: doc.ReportDocument) -> str:
    body = [f"<h1>{_escape_text(document.title)}</h1>", f'<p class="lead">{_words_html(document.lead)}</p>']
    first_appendix = next((section for section in document.sections if section.appendix), None)
    for section in document.sections:
        body.append(_section_html(section, first_folded=section is first_appendix))
    return PAGE.format(title=_escape_text(document.title), style=STYLE, body="\n".join(body))


def _section_html(section: doc.ReportSection, *, first_folded: bool) -> str:
    """What is not on the first page is folded; drawings are there to be seen. `first_folded`: of those."""
    title = f"<h2>{_escape_text(section.title)}</h2>"
    parts = "\n".join(map(_part_html, section.parts))
    if not section.appendix:
        return f"{title}\n{parts}"
    kind = ' class="first"' if first_folded else ""
    shown = " open" if any(isinstance(part, doc.Gallery) for part in section.parts) else ""
    return f"<details{kind}{shown}><summary>{title}</summary>\n{parts}\n</details>"


def _part_html(part: doc.Part) -> str:
    match part:
        case doc.Heading():
            return f"<h3>{_escape_text(part.text)}</h3>"
        case doc.Paragraph():
            return f"<p>{_words_html(part.words)}</p>"
        case doc.Bullets():
            return "<ul>\n" + "\n".join(map(_list_item_html, part.items)) + "\n</ul>"
        case doc.Effects():
            return _effects_html(part)
        case doc.Tiles():
            return '<div class="tiles">\n' + "\n".join(map(_tile_html, part.tiles)) + "\n</div>"
        case doc.Chart() | doc.Histogram():
            return f"<h3>{_escape_text(part.title)}</h3>\n<figure>\n{_drawing_svg(part, WIDE)}\n</figure>"
        case doc.Gallery():
            return '<div class="many">\n' + "\n".join(map(_small_figure_html, part.drawings)) + "\n</div>"
        case doc.Picture():
            return f"<figure>\n{part.svg}\n</figure>"
        case doc.Code():
            return f"<pre>{escape(make_lines_printable(chr(10).join(part.lines)))}</pre>"
        case doc.Table():
            return _table_html(part, [""] * (len(part.rows) + 1))


def _drawing_svg(drawing: doc.Chart | doc.Histogram, width: int) -> str:
    return chart_svg(drawing, width) if isinstance(drawing, doc.Chart) else histogram_svg(drawing, width)


def _small_figure_html(drawing: doc.Chart | doc.Histogram) -> str:
    caption = f"<figcaption>{_escape_text(drawing.title)}</figcaption>"
    return f"<figure>{caption}\n{_drawing_svg(drawing, SMALL)}\n</figure>"


def _tile_html(tile: doc.Tile) -> str:
    more = f"<span>{_escape_text(tile.more)}</span>" if tile.more else ""
    label, value = _escape_text(tile.label), _escape_text(tile.value)
    return f"<div{_class_attribute(tile.role)}><span>{label}</span><strong>{value}</strong>{more}</div>"


def _list_item_html(words: doc.Words) -> str:
    """A list's item in the colour of its sign."""
    first = words[0] if words else ""
    return (
        f"<li{_class_attribute(first.role if isinstance(first, doc.Toned) else '')}>{_words_html(words)}</li>"
    )


def _effects_html(part: doc.Effects) -> str:
    drawn = part.drawn
    scale = scale_for_bars(drawn.bars)
    cells = [f'<th class="bar">{axis_svg(scale)}</th>', *['<td class="bar"></td>'] * len(part.table.rows)]
    for row, bar in zip(part.rows, drawn.bars, strict=True):
        cells[row + 1] = f'<td class="bar">{bar_svg(bar, scale, drawn.margin)}</td>'
    return _table_html(part.table, cells) + f'\n<p class="note">{_escape_text(legend_text(drawn.margin))}</p>'


def _words_html(words: doc.Words) -> str:
    return " ".join(_word_html(word) for word in words)


def _word_html(word: doc.Cell | doc.Strong) -> str:
    match word:
        case doc.Mono():
            return f"<code>{_escape_text(word.text)}</code>"
        case doc.Strong():
            return f"<strong>{_escape_text(word.text)}</strong>"
        case doc.Toned():
            return _escape_text(word.text)
        case str():
            return _escape_text(word)


def _table_html(table: doc.Table, last_cells: Sequence[str]) -> str:
    """`last_cells`: of each row, its head's first, a cell of its own or nothing."""
    names = [f' data-of="{_escape_text(name)}"' for name in table.header]

    def row_html(cells: tuple[doc.Cell, ...], tag: str, end: str) -> str:
        cells_html = []
        for n, cell in enumerate(cells):
            number = "n" if n in table.right else ""
            kinds = _class_attribute(number, cell.role if isinstance(cell, doc.Toned) else "")
            cells_html.append(f"<{tag}{kinds}{names[n] if tag == 'td' else ''}>{_word_html(cell)}</{tag}>")
        return f"<tr>{''.join(cells_html)}{end}</tr>"

    rows = [row_html(cells, "td", end) for cells, end in zip(table.rows, last_cells[1:], strict=True)]
    head = f"<thead>{row_html(table.header, 'th', last_cells[0])}</thead>"
    return f"<table>\n{head}\n<tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def _class_attribute(*kinds: str) -> str:
    class_names = " ".join(filter(None, kinds))
    return f' class="{_escape_text(class_names)}"' if class_names else ""


def _escape_text(value: str) -> str:
    return escape(make_printable(value))
