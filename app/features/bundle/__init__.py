"""hostdx as one file: made by `hostdx bundle`, started by any Python from 3.11 on."""

from hostdx.app.feature import CommandEntry, Feature

FEATURE = Feature(
    commands={
        "bundle": CommandEntry(
            "hostdx.app.features.bundle.command:bundle",
            "Make one file of hostdx, for hosts that have only a Python.",
            after="undo",
        )
    }
)
