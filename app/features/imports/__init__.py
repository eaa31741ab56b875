"""Other tools' results as recordings: the command, and the course of several results over time."""

from hostdx.app.feature import CommandEntry, Feature

FEATURE = Feature(
    commands={
        "import": CommandEntry(
            "hostdx.app.features.imports.command:import_",
            "Make recordings of other tools' results and recompute their figures.",
            after="baseline",
        )
    },
    result_parts={
        "imported.history/1": "hostdx.app.features.imports.course:history_parts",
        "imported.timeline/1": "hostdx.app.report.figures.timeline:timeline_parts",
    },
)
