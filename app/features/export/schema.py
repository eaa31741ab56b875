"""The schema of the tables as data: what `--schema` prints, what Parquet carries, what the manual page lists."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, Union, cast

import msgspec

from hostdx.probes.files.safe_read import read_shipped_toml
from hostdx.probes.types import Json

SCHEMA = "hostdx-export/1"
RESULTS = "results"  # of scenarios: lines of a recording whose type has a dot
ColumnType: TypeAlias = Literal["text", "integer", "real", "flag", "time"]
_declared = read_shipped_toml(__file__, "tables.toml", dict[str, dict[str, tuple[str, str, str]]])
_DOCUMENTS = Path(__file__).with_name("documents")


class ColumnSchema(msgspec.Struct, frozen=True):
    """`time` is UTC; `nullable` columns may hold nothing."""

    name: str
    type: ColumnType
    unit: str
    description: str
    nullable: bool


COLUMNS: dict[str, tuple[ColumnSchema, ...]] = {
    table: tuple(
        ColumnSchema(name, cast(ColumnType, kind.removesuffix("?")), unit, meaning, kind.endswith("?"))
        for name, (kind, meaning, unit) in columns.items()
    )
    for table, columns in _declared.items()
}
COLUMN_MEANINGS = {
    f"{table}.{column.name}": f"{column.description} ({column.unit})" if column.unit else column.description
    for table, columns in COLUMNS.items()
    for column in columns
}


def table_columns_document() -> dict[str, Json]:
    """Return the document of `export --schema`."""
    tables: dict[str, Json] = {
        table: [msgspec.to_builtins(column) for column in columns] for table, columns in COLUMNS.items()
    }
    return {"schema": SCHEMA, "tables": tables, "documents": [*schema_names()]}


def schema_names() -> list[str]:
    """Return the JSON Schemas that there are: files of the package, and the results of the scenarios that are here."""
    return [
        *sorted(path.name.removesuffix(".schema.json") for path in _DOCUMENTS.glob("*.schema.json")),
        RESULTS,
    ]


def document_schema(schema_name: str) -> str:
    """Return the text of a JSON Schema."""
    if schema_name != RESULTS:
        return (_DOCUMENTS / f"{schema_name}.schema.json").read_text("utf-8")
    from hostdx.scenarios.contract.results.result import bundled_results

    schema = msgspec.json.schema(Union[*bundled_results().values()])
    return msgspec.json.format(msgspec.json.encode(schema), indent=1).decode()
