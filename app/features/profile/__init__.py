"""Call paths of a command: as a flame graph in a report, to zoom on the screen, as folded stacks for other tools."""

from hostdx.app.feature import Feature, ReportFormEntry, ScreenEntry

CALLS = "where.calls/1"

FEATURE = Feature(
    screens=(
        ScreenEntry(
            "paths",
            "z",
            "call paths",
            "run",
            "hostdx.app.features.profile.icicle:CallPathsScreen",
            result_tag=CALLS,
        ),
    ),
    result_parts={CALLS: "hostdx.app.features.profile.flame:call_path_parts"},
    report_forms={
        "folded": ReportFormEntry(
            "hostdx.app.features.profile.flame:folded_stacks_text",
            "call paths, for speedscope or flamegraph.pl, in microseconds a run",
        )
    },
)
