"""A document as one HTML page: no script, no link; dark or light, from 400 px; its first page prints on A4."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from app.printable import printable, printable_lines
from app.report.figures.interval_chart import legend, scale_of
from app.report.forms.svg import SMALL, WIDE, axis_svg, bar_svg, chart_svg, histogram_svg
from scenarios.results import document as doc

PAGE = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
STYLE = Path(__file__).with_name("style.css").read_text(encoding="utf-8").strip()


def rendered(document: doc.ReportDocument) -> str:
    body = [f"<h1>{_text(document.title)}</h1>", f'<p class="lead">{_words(document.lead)}</p>']
    apart = next((section for section in document.sections if section.appendix), None)
    for section in document.sections:
        body.append(_section(section, first=section is apart))
    return PAGE.format(title=_text(document.title), style=STYLE, body="\n".join(body))


def _section(section: doc.ReportSection, *, first: bool) -> str:
    """What is not on the first page is folded; drawings are there to be seen. `first`: of those."""
    title = f"<h2>{_text(section.title)}</h2>"
    parts = "\n".join(map(_part, section.parts))
    if not section.appendix:
        return f"{title}\n{parts}"
    kind = ' class="first"' if first else ""
    shown = " open" if any(isinstance(part, doc.Gallery) for part in section.parts) else ""
    return f"<details{kind}{shown}><summary>{title}</summary>\n{parts}\n</details>"


def _part(part: doc.Part) -> str:
    match part:
        case doc.Heading():
            return f"<h3>{_text(part.text)}</h3>"
        case doc.Paragraph():
            return f"<p>{_words(part.words)}</p>"
        case doc.Bullets():
            return "<ul>\n" + "\n".join(map(_item, part.items)) + "\n</ul>"
        case doc.Effects():
            return _effects(part)
        case doc.Tiles():
            return '<div class="tiles">\n' + "\n".join(map(_tile, part.tiles)) + "\n</div>"
        case doc.Chart() | doc.Histogram():
            return f"<h3>{_text(part.title)}</h3>\n<figure>\n{_drawn(part, WIDE)}\n</figure>"
        case doc.Gallery():
            return '<div class="many">\n' + "\n".join(map(_small, part.drawings)) + "\n</div>"
        case doc.Picture():
            return f"<figure>\n{part.svg}\n</figure>"
        case doc.Code():
            return f"<pre>{escape(printable_lines(chr(10).join(part.lines)))}</pre>"
        case doc.Table():
            return _table(part, [""] * (len(part.rows) + 1))


def _drawn(drawing: doc.Chart | doc.Histogram, wide: int) -> str:
    return chart_svg(drawing, wide) if isinstance(drawing, doc.Chart) else histogram_svg(drawing, wide)


def _small(drawing: doc.Chart | doc.Histogram) -> str:
    caption = f"<figcaption>{_text(drawing.title)}</figcaption>"
    return f"<figure>{caption}\n{_drawn(drawing, SMALL)}\n</figure>"


def _tile(tile: doc.Tile) -> str:
    more = f"<span>{_text(tile.more)}</span>" if tile.more else ""
    return f"<div{_kind(tile.role)}><span>{_text(tile.label)}</span><strong>{_text(tile.value)}</strong>{more}</div>"


def _item(words: doc.Words) -> str:
    """A list's item in the colour of its sign."""
    first = words[0] if words else ""
    return f"<li{_kind(first.role if isinstance(first, doc.Toned) else '')}>{_words(words)}</li>"


def _effects(part: doc.Effects) -> str:
    drawn = part.drawn
    scale = scale_of(drawn.bars)
    cells = [f'<th class="bar">{axis_svg(scale)}</th>', *['<td class="bar"></td>'] * len(part.table.rows)]
    for row, bar in zip(part.rows, drawn.bars, strict=True):
        cells[row + 1] = f'<td class="bar">{bar_svg(bar, scale, drawn.margin)}</td>'
    return _table(part.table, cells) + f'\n<p class="note">{_text(legend(drawn.margin))}</p>'


def _words(words: doc.Words) -> str:
    return " ".join(_word(word) for word in words)


def _word(word: doc.Cell | doc.Strong) -> str:
    match word:
        case doc.Mono():
            return f"<code>{_text(word.text)}</code>"
        case doc.Strong():
            return f"<strong>{_text(word.text)}</strong>"
        case doc.Toned():
            return _text(word.text)
        case str():
            return _text(word)


def _table(table: doc.Table, last: Sequence[str]) -> str:
    """`last`: of each row, its head's first, a cell of its own or nothing."""
    names = [f' data-of="{_text(name)}"' for name in table.header]

    def row(cells: tuple[doc.Cell, ...], tag: str, end: str) -> str:
        made = []
        for n, cell in enumerate(cells):
            number = "n" if n in table.right else ""
            kinds = _kind(number, cell.role if isinstance(cell, doc.Toned) else "")
            made.append(f"<{tag}{kinds}{names[n] if tag == 'td' else ''}>{_word(cell)}</{tag}>")
        return f"<tr>{''.join(made)}{end}</tr>"

    rows = [row(cells, "td", end) for cells, end in zip(table.rows, last[1:], strict=True)]
    head = f"<thead>{row(table.header, 'th', last[0])}</thead>"
    return f"<table>\n{head}\n<tbody>\n" + "\n".join(rows) + "\n</tbody></table>"


def _kind(*kinds: str) -> str:
    named = " ".join(filter(None, kinds))
    return f' class="{_text(named)}"' if named else ""


def _text(value: str) -> str:
    return escape(printable(value))
