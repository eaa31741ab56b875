"""A document as one HTML page: no script, no link, no picture; it opens in any browser and prints well."""

from __future__ import annotations

from html import escape

from app.printable import printable, printable_lines
from app.report.forms.svg import chart_svg, histogram_svg, interval_svg
from scenarios.results.document import (
    Bullets,
    Cell,
    Chart,
    Code,
    Document,
    Heading,
    Histogram,
    Intervals,
    Mono,
    Paragraph,
    Part,
    Picture,
    Strong,
    Table,
    Toned,
    Words,
)

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2rem; } h3 { font-size: 1.05rem; }
.lead { font-size: 1.15rem; font-weight: 600; }
code, pre { font: 0.875rem/1.35 ui-monospace, monospace; background: #f4f4f4; border-radius: 3px; }
code { padding: 0.1rem 0.25rem; overflow-wrap: anywhere; }
pre { padding: 0.75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #ddd; }
figure { margin: 1rem 0; max-width: 45rem; } svg { width: 100%; height: auto; }
.appendix { border-top: 2px solid; padding-top: 1rem; margin-top: 3rem; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media (prefers-color-scheme: dark) {
  body { background: #141414; color: #e6e6e6; } code, pre { background: #262626; } th, td { border-color: #3a3a3a; }
}
@page { size: A4; margin: 14mm; }
@media print {
  body { max-width: none; margin: 0; padding: 0; font-size: 9pt; line-height: 1.3; background: #fff; color: #000; }
  h1 { font-size: 13pt; margin: 0; } h2 { font-size: 11pt; margin: 0.7rem 0 0; } h3 { font-size: 10pt; }
  .lead { font-size: 11pt; margin: 0.4rem 0; } p, ul, figure { margin: 0.35rem 0; } figure { max-width: 120mm; }
  code, pre { font-size: 8pt; background: none; color: #000; }
  pre { border: 1px solid #bbb; }
  .wide { overflow: visible; } table { width: 100%; font-size: 8pt; } th, td { border-color: #bbb; }
  th, td { padding: 0.1rem 0.4rem 0.1rem 0; overflow-wrap: break-word; } .n { white-space: normal; }
  tr, figure, li, pre { break-inside: avoid; } h1, h2, h3 { break-after: avoid; }
  .appendix { break-before: page; border-top: none; }
}
""".strip()


def rendered(document: Document) -> str:
    body = [f"<h1>{_text(document.title)}</h1>", f'<p class="lead">{_words(document.lead)}</p>']
    apart = next((section for section in document.sections if section.appendix), None)
    for section in document.sections:
        opened = '<h2 class="appendix">' if section is apart else "<h2>"
        body.append(f"{opened}{_text(section.title)}</h2>")
        body += [_part(part) for part in section.parts]
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_text(document.title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n"
    )
    return head + "<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"


def _part(part: Part) -> str:
    match part:
        case Heading():
            return f"<h3>{_text(part.text)}</h3>"
        case Paragraph():
            return f"<p>{_words(part.words)}</p>"
        case Bullets():
            return "<ul>\n" + "\n".join(f"<li>{_words(item)}</li>" for item in part.items) + "\n</ul>"
        case Intervals():
            return f"<figure>\n{interval_svg(part)}\n</figure>"
        case Chart() | Histogram():
            drawn = chart_svg(part) if isinstance(part, Chart) else histogram_svg(part)
            return f"<h3>{_text(part.title)}</h3>\n<figure>\n{drawn}\n</figure>"
        case Picture():
            return f"<figure>\n{part.svg}\n</figure>"
        case Code():
            return f"<pre>{escape(printable_lines(chr(10).join(part.lines)))}</pre>"
        case Table():
            return _table(part)


def _words(words: Words) -> str:
    return " ".join(_word(word) for word in words)


def _word(word: Cell | Strong) -> str:
    match word:
        case Mono():
            return f"<code>{_text(word.text)}</code>"
        case Strong():
            return f"<strong>{_text(word.text)}</strong>"
        case Toned():
            return _text(word.text)
        case str():
            return _text(word)


def _table(table: Table) -> str:
    def row(cells: tuple[Cell, ...], tag: str) -> str:
        kinds = [' class="n"' if n in table.right else "" for n in range(len(cells))]
        return (
            "<tr>"
            + "".join(f"<{tag}{kind}>{_word(cell)}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))
            + "</tr>"
        )

    rows = [row(table.header, "th"), *(row(cells, "td") for cells in table.rows)]
    return '<div class="wide"><table>\n' + "\n".join(rows) + "\n</table></div>"


def _text(value: str) -> str:
    return escape(printable(value))
