"""Recordings as tables for notebooks and databases."""

from app.feature import Columns, CommandEntry, Feature

FEATURE = Feature(
    commands={
        "export": CommandEntry(
            "app.features.export.command:export",
            "Write recordings as tables: Parquet, CSV or NDJSON.",
            after="report",
        )
    },
    columns=(Columns("EXPORT", "app.features.export.schema:COLUMN_MEANINGS"),),
)
