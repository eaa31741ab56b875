"""How likely one fact of an odd node is what makes it odd, by what its peers have in that place.

PeerPressure (Wang, Platt, Chen, Zhang, Wang: "Automatic Misconfiguration Troubleshooting with PeerPressure", OSDI 2004,
section 4): with a uniform prior over the values of an entry, the posterior that this entry is the culprit. A fact that
differs on every node has as many values as there are nodes, and sinks by that; one that all peers share and this node
alone has otherwise comes first.
"""

from __future__ import annotations


def suspicion(*, peers: int, values: int, entries: int, matching: int) -> float:
    """(N + c) / (N + ct + cm(t - 1)), in 0..1.

    peers (N): how many have the fact. values (c): how many different ones they and the odd node have. entries (t): how
    many facts are compared. matching (m): peers with the odd node's value.
    """
    return (peers + values) / (peers + values * entries + values * matching * (entries - 1))
