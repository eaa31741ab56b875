"""A page in Markdown as lines of text with roles, laid out by Rich: on the screen and on the command line."""

from hostdx.app.terminal.lines import Line, merge_spans

MAX_PROSE_COLUMNS = 110  # longer lines of prose are hard to read
# of Rich's names for the parts of a page; all others are plain text
_ROLES = {
    **{f"markdown.h{level}": "title" for level in range(1, 7)},
    "markdown.code": "accent",
    "markdown.code_block": "accent",
    "markdown.strong": "strong",
}


def markdown_lines(page: str, width: int) -> list[Line]:
    """Return the page in at most `width` cells: headings, lists and tables without Markdown's marks."""
    from rich.console import Console  # 40 ms, which the other screens and commands do not need
    from rich.markdown import Markdown
    from rich.style import Style
    from rich.theme import Theme

    theme = Theme({name: Style.from_meta({"role": role}) for name, role in _ROLES.items()})
    console = Console(width=min(width, MAX_PROSE_COLUMNS), theme=theme, color_system=None)
    rows = console.render_lines(Markdown(page, hyperlinks=False), pad=False)
    return [
        merge_spans((part, style.meta.get("role", "text") if style else "text") for part, style, _ in row)
        for row in rows
    ]
