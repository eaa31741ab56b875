"""A scenario's own results in the report: by their type a view of its own, a drawing, or a table of the fields."""

from hostdx.app.feature import parts_of_result
from hostdx.app.recordings.session import RunSession
from hostdx.app.report import wording
from hostdx.probes import units
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.bounding_box import Boxed
from hostdx.scenarios.contract.results.document import Heading, Part, Picture, Table, paragraph_of
from hostdx.scenarios.contract.results.result import Result

WIDTH = 78  # cells of a drawing
MAX_DEPTH = 8  # a foreign recording's facts nest as deeply as they like


def result_parts(session: RunSession, result: Result) -> tuple[Part, ...]:
    if result.appendix_parts is not None:
        return result.appendix_parts
    if isinstance(result, Boxed):
        from hostdx.app.report.figures.box import box_lines, box_svg, corner_table, drawable_boxes

        boxes = drawable_boxes(result.value)
        return tuple(
            Picture(tuple(box_lines(box, WIDTH, 20)), box_svg(box), corner_table(box)) for box in boxes
        )
    drawn = parts_of_result(result, WIDTH)
    if drawn is not None:
        return drawn
    return _parts_of_json(session, result.as_json)


def _parts_of_json(session: RunSession, value: Json) -> tuple[Part, ...]:
    """A list of records is a table without its empty columns, a record its fields, anything else as it is."""
    if isinstance(value, list | tuple) and value and all(isinstance(row, dict) for row in value):
        records = [row for row in value if isinstance(row, dict)]
        header = tuple(dict.fromkeys(key for row in records for key in row))
        numeric = frozenset(
            n
            for n, key in enumerate(header)
            if all(isinstance(row.get(key), int | float | None) for row in records)
        )
        rows = tuple(tuple(_cell_text(session, key, row.get(key)) for key in header) for row in records)
        table = Table(tuple(map(_words_of_key, header)), rows, numeric).without_empty_columns()
        return (table,) if table.header else ()
    if isinstance(value, dict):
        return _parts_of_record(session, value)
    return (paragraph_of(value_text(value)),)


def _parts_of_record(session: RunSession, value: dict[str, Json]) -> tuple[Part, ...]:
    """Return a table of the single values, then each larger value under its own name."""
    nested = {key: inner for key, inner in value.items() if _is_nested(inner)}
    rows = tuple(
        (_words_of_key(key), _cell_text(session, key, inner))
        for key, inner in value.items()
        if key not in nested
    )
    parts: list[Part] = [Table(("what", "value"), rows)] if rows else []
    for key, inner in nested.items():
        below = _parts_of_json(session, inner)
        parts += [Heading(_words_of_key(key)), *below] if below else []
    return tuple(parts)


def _is_nested(value: Json) -> bool:
    many = isinstance(value, list | tuple) and bool(value) and all(isinstance(row, dict) for row in value)
    return many or (isinstance(value, dict) and bool(value))


def _words_of_key(key: str) -> str:
    return key.removesuffix("_ns").replace("_", " ")


def _cell_text(session: RunSession, key: str, value: Json) -> str:
    if key == "workload" and isinstance(value, str):
        return wording.workload_title(session, value)
    if key.endswith("_ns") and isinstance(value, int | float):
        return units.format_latency(value)
    return value_text(value)


def value_text(value: Json, unit: str = "", depth: int = 0) -> str:
    """In one line; bytes in binary multiples beside the exact number. What is nested deeper than 8 is left out."""
    if depth > MAX_DEPTH:
        return "…"
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit == "B" and isinstance(value, int) and value >= 1 << 20:
        return f"{units.format_size(value)} ({value} B)"
    if isinstance(value, float):
        text = units.format_number(value, 5)
    elif isinstance(value, list | tuple):
        text = ", ".join(value_text(inner, depth=depth + 1) for inner in value)
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {value_text(inner, depth=depth + 1)}" for key, inner in value.items())
    else:
        text = str(value)
    return f"{text} {unit}".rstrip()
