"""Recordings as tables for notebooks and databases."""

from hostdx.app.feature import ColumnsForManual, CommandEntry, Feature

FEATURE = Feature(
    commands={
        "export": CommandEntry(
            "hostdx.app.features.export.command:export",
            "Write recordings as tables: Parquet, CSV or NDJSON.",
            after="report",
        )
    },
    columns=(ColumnsForManual("EXPORT", "hostdx.app.features.export.schema:COLUMN_MEANINGS"),),
)
