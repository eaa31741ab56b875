"""Call paths of two variants, as they are recorded: where a run of either computes and waits."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from scenarios import ranges as of
from scenarios.results.result import Result


class Node(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A function on the way from the first caller, with all that it calls: thread seconds a run, of either side.

    `up`: the number of its caller among the nodes, which comes before it; -1: none. `differs`: the difference's
    interval, adjusted for the number of nodes that are large enough to be judged, does not hold 0.
    """

    name: str
    up: of.Number
    baseline_s: of.Value
    variant_s: of.Value
    difference_s: of.Value
    ci95_s: tuple[of.Value, of.Value]
    differs: bool = False


class PathTree(msgspec.Struct, frozen=True, kw_only=True):
    """`kernel`: its functions are in it; `waits`: where threads wait too. `lost`: records not read in time."""

    baseline: str
    variant: str
    groups: of.Number
    kernel: bool
    waits: bool
    lost: of.Count
    nodes: tuple[Node, ...]

    def depths(self) -> list[int]:
        """How far each node is from the first caller; one whose caller does not come before it stands at 0."""
        found: list[int] = []
        for n, node in enumerate(self.nodes):
            found.append(found[node.up] + 1 if 0 <= node.up < n else 0)
        return found


class CallPaths(Result, frozen=True, tag="where.calls/1"):
    name: ClassVar[str] = "call paths"
    value: tuple[PathTree, ...]
