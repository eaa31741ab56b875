"""The schema of the tables as data: what `--schema` prints, what Parquet carries, what the manual page lists."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Literal, TypeAlias, get_args, get_type_hints

import msgspec

from app.features.export.tables import TABLES
from probes.files.safe_read import read_own_data
from probes.types import Json

SCHEMA = "hostdx-export/1"
ColumnType: TypeAlias = Literal["text", "integer", "real", "flag", "time"]
_TYPES: dict[type, ColumnType] = {str: "text", int: "integer", float: "real", bool: "flag", datetime: "time"}
_meanings = read_own_data(__file__, "tables.toml", dict[str, dict[str, tuple[str, str]]])
_DOCUMENTS = Path(__file__).with_name("documents")


class ColumnSchema(msgspec.Struct, frozen=True):
    """`time` is UTC; `nullable` columns may hold nothing."""

    name: str
    type: ColumnType
    unit: str
    description: str
    nullable: bool


def _make_column(table: str, name: str, hint: object) -> ColumnSchema:
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    (kind,) = (kind for kind in kinds if kind is not NoneType)
    meaning, unit = _meanings[table][name]
    return ColumnSchema(name, _TYPES[kind], unit, meaning, NoneType in kinds)


COLUMNS: dict[str, tuple[ColumnSchema, ...]] = {
    table: tuple(_make_column(table, name, hint) for name, hint in get_type_hints(row).items())
    for table, row in TABLES.items()
}
COLUMN_MEANINGS = {
    f"{table}.{column.name}": f"{column.description} ({column.unit})" if column.unit else column.description
    for table, columns in COLUMNS.items()
    for column in columns
}


def schema_document() -> dict[str, Json]:
    """Return the document of `export --schema`."""
    tables: dict[str, Json] = {
        table: [msgspec.to_builtins(column) for column in columns] for table, columns in COLUMNS.items()
    }
    return {"schema": SCHEMA, "tables": tables, "documents": [*document_names()]}


def document_names() -> list[str]:
    """Return the JSON Schemas that the package publishes, by name."""
    return sorted(path.name.removesuffix(".schema.json") for path in _DOCUMENTS.glob("*.schema.json"))


def document_schema(name: str) -> str:
    """Return the text of a published JSON Schema."""
    return (_DOCUMENTS / f"{name}.schema.json").read_text("utf-8")
