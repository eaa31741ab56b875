"""Many nodes: launched over ssh, judged against each other, and looked at as one."""

from hostdx.app.feature import ColumnsForManual, CommandEntry, Feature, ScreenEntry

FEATURE = Feature(
    commands={
        "fleet": CommandEntry(
            "hostdx.app.features.fleet.cli.group:fleet",
            "Find the outlier among many nodes, and the setting that differs on it.",
            after="rm",
        )
    },
    screens=(
        ScreenEntry(
            "fleet", "F", "many nodes", "recordings", "hostdx.app.features.fleet.screen:ask_for_folder"
        ),
    ),
    columns=(
        ColumnsForManual(
            "FLEET JUDGE \\-\\-FORMAT NDJSON, \\-\\-PARQUET", "hostdx.app.features.fleet.rows:COLUMNS"
        ),
    ),
)
