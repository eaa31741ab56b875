"""Every night a measurement, and since when a load is slower."""

from hostdx.app.feature import CommandEntry, Feature, ScreenEntry

FEATURE = Feature(
    commands={
        "watch": CommandEntry(
            "hostdx.app.features.watch.command:watch",
            "Measure every night, and say when something became slower.",
            after="report",
        ),
        "history": CommandEntry(
            "hostdx.app.features.watch.history_command:history",
            "Show since when a load is slower, and what had changed then.",
            after="report",
        ),
        "incident": CommandEntry(
            "hostdx.app.features.watch.incidents.command:incident",
            "Show what happened at a time of the last days, and who did it.",
            after="report",
        ),
    },
    screens=(
        ScreenEntry(
            "nights", "W", "nights of this host", "recordings", "hostdx.app.features.watch.screen:open_nights"
        ),
        ScreenEntry(
            "incidents",
            "H",
            "incidents of this host",
            "recordings",
            "hostdx.app.features.watch.screen:open_incident_book",
        ),
    ),
    baselines={"watch": "hostdx.app.features.watch.nights:baseline_paths"},
)
