"""hostdx as one file: made by `hostdx bundle`, started by any Python from 3.11 on."""

from app.feature import CommandEntry, Feature

FEATURE = Feature(
    commands={
        "bundle": CommandEntry(
            "app.features.bundle.command:bundle",
            "Make one file of hostdx, for hosts that have only a Python.",
            after="undo",
        )
    }
)
