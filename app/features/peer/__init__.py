"""The other end of network streams, for one client."""

from hostdx.app.feature import CommandEntry, Feature

FEATURE = Feature(
    commands={
        "peer": CommandEntry(
            "hostdx.app.features.peer.command:peer",
            "Act as the network test partner for one client.",
            after="pin",
        )
    }
)
