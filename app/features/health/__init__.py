"""Whether a node may take the next job: rules, leftovers, and a short test of its speed, in bounded time."""

from hostdx.app.feature import CommandEntry, Feature, ReportFormEntry

FEATURE = Feature(
    commands={
        "health": CommandEntry(
            "hostdx.app.features.health.command:health",
            "Say within seconds whether this node is fit for the next job.",
            after="report",
        )
    },
    report_forms={
        "openmetrics": ReportFormEntry(
            "hostdx.app.features.health.metrics:openmetrics_of_session",
            "findings and effects for node_exporter's textfile collector",
        )
    },
)
