"""From a finding, all findings or a tuned profile to a run of the scenario `prove`."""

from hostdx.app.feature import CommandEntry, Feature

FEATURE = Feature(
    commands={
        "prove": CommandEntry(
            "hostdx.app.features.prove.command:prove",
            "Try a finding's remedy on this host before you believe it.",
            after="run",
        )
    },
)
