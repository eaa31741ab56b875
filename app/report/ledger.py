"""The report's ledger of a trimming session: the steps side by side, and below what each trim's numbers mean."""

from __future__ import annotations

from app.printable import printable
from app.report.document import Bullets, Part, Table, say
from probes.types import Json
from probes.units import number

_COLUMNS = (
    ("step", "step", ""),
    ("seconds", "s", "s"),
    ("written_bytes", "we wrote", "B"),
    ("device_written_bytes", "the disk wrote", "B"),
    ("deleted_bytes", "deleted", "B"),
    ("deleted_since_trim_bytes", "deleted since the last trim", "B"),
    ("free_bytes", "free", "B"),
    ("fstrim_says_bytes", "fstrim -v says", "B"),
    ("discarded_bytes", "the kernel asked to discard", "B"),
    ("came_to_rest_s", "at rest after, s", "s"),
)


def ledger(value: Json) -> tuple[Part, ...]:
    """Total: what is no ledger gives no part."""
    rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
    if not rows:
        return ()
    table = Table(  # without a trim half of the columns have nothing to say
        tuple(title for _, title, _ in _COLUMNS),
        tuple(tuple(_cell(row.get(key), unit) for key, _, unit in _COLUMNS) for row in rows),
        frozenset(range(1, len(_COLUMNS))),
    ).without_empty_columns()
    explained = tuple((f"{row.get('step')}: {row['explained']}",) for row in rows if row.get("explained"))
    return (
        table,
        *((say("What the numbers of the trims mean:"), Bullets(explained)) if explained else ()),
    )


def _cell(value: Json, unit: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else printable(str(value))
    if unit == "B":
        return "0" if value == 0 else _size(float(value))
    return f"{value:.4g}"


def _size(value: float) -> str:
    """Binary units, as fstrim prints them."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{number(value, 4)} {unit}"
        value /= 1024
    return f"{number(value, 4)} TiB"
