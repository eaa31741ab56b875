"""A page in Markdown as lines: its marks are roles, its commands stay as they are, no line is too long."""

from hostdx.app.terminal.lines import Line, cell_width
from hostdx.app.terminal.markdown import markdown_lines

PAGE = """# one: two

prose that
goes on **`a`: b** `co de`, [a link](x/y.md)

- an item
  of two lines

```
| a  `command`
```

| a | bee |
|---|---|
| `cc` | d |
"""


def _text(lines: list[Line]) -> str:
    return "\n".join("".join(part for part, _ in line).strip() for line in lines)


def test_a_page_is_folded_for_the_width_and_its_commands_stay_as_they_are() -> None:
    for width in (12, 40, 200):
        lines = markdown_lines(PAGE, width)
        assert max(map(cell_width, lines)) <= width
        assert " ".join(_text(lines).split()).startswith("one: two prose that goes on a: b co de, a link")
    assert "| a  `command`" in _text(markdown_lines(PAGE, 40)).splitlines()


def test_marks_are_roles() -> None:
    spans = {(part.rstrip(), role) for line in markdown_lines(PAGE, 80) for part, role in line}
    assert {("co de", "accent"), ("cc", "accent"), (": b", "strong")} <= spans
