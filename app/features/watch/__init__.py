"""Every night a measurement, and since when a load is slower."""

from app.feature import CommandEntry, Feature, ScreenEntry

FEATURE = Feature(
    commands={
        "watch": CommandEntry(
            "app.features.watch.command:watch",
            "Measure every night, and say when something became slower.",
            after="report",
        ),
        "history": CommandEntry(
            "app.features.watch.history_command:history",
            "Show since when a load is slower, and what had changed then.",
            after="report",
        ),
        "incident": CommandEntry(
            "app.features.watch.incidents.command:incident",
            "Show what happened at a time of the last days, and who did it.",
            after="report",
        ),
    },
    screens=(
        ScreenEntry(
            "nights", "W", "nights of this host", "recordings", "app.features.watch.screen:open_nights"
        ),
        ScreenEntry(
            "incidents",
            "H",
            "incidents of this host",
            "recordings",
            "app.features.watch.screen:open_incidents",
        ),
    ),
    baselines={"watch": "app.features.watch.nights:baseline_paths"},
)
