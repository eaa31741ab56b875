"""Whatever a host says, it stays text: judged by a CommonMark parser, as a ticket system would read it."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hostdx.app.report.forms.html import render_html as html
from hostdx.app.report.forms.markdown import (
    escape_cell,
    escape_text,
    fenced_block,
    inline_code,
    render_markdown,
)
from hostdx.app.terminal.printable import make_printable
from hostdx.scenarios.contract.results.document import (
    Bullets,
    Code,
    Heading,
    Mono,
    ReportDocument,
    ReportSection,
    Strong,
    Table,
    paragraph_of,
)
from tests.every_case import every_case

PARSER = MarkdownIt("gfm-like", {"html": True})
assert PARSER.linkify is not None
PARSER.linkify.set({"fuzzy_link": False})  # GFM links no bare `example.com`
HOSTILE = st.one_of(
    st.text(alphabet=st.characters()),
    st.text(alphabet="\\`*_[]()<>#+-.!|~&:=1 \n\t$@/ahtp", max_size=40),
    st.sampled_from([
        "# x", "1. x", "1) x", "- x", "+ x", "> x", "===", "---", "***", "    code", "<script>alert(1)</script>",
        "[a](javascript:x)", "![a](http://x)", "http://x.example/", "www.example.com", "a@b.example", "`", "``` sh",
        "| a | b |", "~~x~~", "&lt;", "&#35;", "\\", "a\\", "__x__", "$x$", "a|b", "`|`", "\u202eevil", "\x1b[2J", "",
    ]),
)  # fmt: skip


def parse(source: str) -> list[Token]:
    return PARSER.parse(source)


def flatten(tokens: list[Token]) -> list[Token]:
    return [inner for token in tokens for inner in (token.children or [token])]


def squeeze_spaces(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@settings(deadline=None, max_examples=60)
@given(HOSTILE)
def test_text_is_a_paragraph_of_text(value: str) -> None:
    kinds = {token.type for token in flatten(parse(escape_text(value)))}
    assert kinds <= {"paragraph_open", "paragraph_close", "text", "text_special"}, kinds
    text = "".join(t.content for t in flatten(parse(escape_text(value))) if t.type.startswith("text"))
    assert squeeze_spaces(text) == squeeze_spaces(make_printable(value).strip())


@settings(deadline=None, max_examples=60)
@given(HOSTILE, HOSTILE)
def test_words_of_one_paragraph_or_row_mean_nothing_together(text: str, other: str) -> None:
    words = (text, Mono("x"), Strong("y"), other, text)
    section = ReportSection(
        "", (paragraph_of(*words), Bullets(((*words,),)), Table(("a", "b"), ((text, other),)))
    )
    source = render_markdown(ReportDocument("", (), (section,)))
    kinds = [
        token.type for token in flatten(parse(source)) if not token.type.startswith(("text", "softbreak"))
    ]
    plain = source.replace("\\", "")
    assert kinds.count("code_inline") == 2 and kinds.count("strong_open") == 2, plain
    assert not {"em_open", "s_open", "link_open", "html_inline", "html_block", "image", "fence"} & {*kinds}, (
        plain
    )
    assert kinds.count("td_open") == 2 and kinds.count("bullet_list_open") == 1, plain


@every_case(
    "plain",
    [
        "12.117-1~deb12u1",
        "python3 [9013], root",
        "2 * 3 < 7",
        "x_1",
        "user@host",
        "a & b",
        "'%s\\n'",
        "C:\\x",
        "5 $",
        "-1",
    ],
)
def test_what_means_nothing_is_not_escaped(plain: str) -> None:
    assert escape_text(plain) == escape_cell(plain) == plain


@settings(deadline=None, max_examples=60)
@given(HOSTILE)
def test_code_is_code(value: str) -> None:
    tokens = flatten(parse(f"x {inline_code(value)} y"))
    kinds = {token.type for token in tokens} - {"paragraph_open", "paragraph_close", "text"}
    contents = [token.content for token in tokens if token.type == "code_inline"]
    if make_printable(value).strip():
        assert kinds == {"code_inline"}
        assert squeeze_spaces(contents[0]) == squeeze_spaces(make_printable(value))


@settings(deadline=None, max_examples=60)
@given(HOSTILE)
def test_block_stays_one_block(value: str) -> None:
    tokens = parse(f"{fenced_block(value)}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


def make_document(value: str) -> ReportDocument:
    return ReportDocument(
        value,
        (value,),
        (
            ReportSection(
                value,
                (
                    paragraph_of(value, Mono(value), Strong(value)),
                    Bullets(((value,), (Mono(value), value))),
                    Table(("a", "b"), ((value, Mono(value)), (Mono(value), value))),
                    Heading(value),
                    Code((value,), "sh"),
                ),
            ),
        ),
    )


@settings(deadline=None, max_examples=60)
@given(HOSTILE.filter(lambda value: bool(make_printable(value).strip())))
def test_a_document_keeps_its_shape(value: str) -> None:
    shape = [t.type for t in parse(render_markdown(make_document(value))) if t.type != "inline"]
    assert shape == [t.type for t in parse(render_markdown(make_document("plain"))) if t.type != "inline"]
    inner = {t.type for t in flatten(parse(render_markdown(make_document(value))))}
    assert not inner & {"html_inline", "html_block", "image", "link_open"}


@settings(deadline=None, max_examples=60)
@given(HOSTILE)
def test_a_page_keeps_its_tags(value: str) -> None:
    def find_tags(page: str) -> list[str]:
        return re.findall(r"<[^>]*>", page)

    assert find_tags(html(make_document(value))) == find_tags(html(make_document("plain")))
