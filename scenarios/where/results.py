"""Call paths and locks of two variants, as they are recorded: where a run of either computes and waits."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from probes.units import number, signed
from scenarios import ranges as of
from scenarios.results.document import Cell, Mono, Part, Table, say
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


class Lock(msgspec.Struct, frozen=True, kw_only=True):
    """Thread seconds a run of waiting for the locks of a kind at a place. `path`: the way there that took most of it,
    `holder`: of who had taken it before (as far as that one had waited too), both from the place to the system call.
    """

    kind: str
    place: str
    path: tuple[str, ...]
    holder: tuple[str, ...]
    baseline_s: of.Value
    variant_s: of.Value
    difference_s: of.Value
    ci95_s: tuple[of.Value, of.Value]
    differs: bool = False


class LockTable(msgspec.Struct, frozen=True, kw_only=True):
    """The longest wait first."""

    baseline: str
    variant: str
    groups: of.Number
    lost: of.Count
    locks: tuple[Lock, ...]


class Locks(Result, frozen=True, tag="where.locks/1"):
    name: ClassVar[str] = "locks of the kernel"
    value: tuple[LockTable, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for table in self.value for part in _locks(table))


def _locks(table: LockTable) -> tuple[Part, ...]:
    if not table.locks:
        return (say(f"{table.variant} against {table.baseline}: no wait for a lock of the kernel"),)
    header = ("lock", "who waits", "who had it", f"{table.baseline} s", f"{table.variant} s", "difference s",
              "95 % CI s", "differs")  # fmt: skip
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            lock.kind,
            Mono(" < ".join(lock.path) or "?"),
            Mono(" < ".join(lock.holder)) if lock.holder else "not seen",
            number(lock.baseline_s),
            number(lock.variant_s),
            signed(lock.difference_s),
            " to ".join(map(signed, lock.ci95_s)),
            "yes" if lock.differs else "not shown",
        )
        for lock in table.locks
    )
    lost = f"; {table.lost} records were lost" if table.lost else ""
    return (
        Table(header, rows, frozenset({3, 4, 5, 6})),
        say(f"thread seconds a run, asleep or spinning, over {table.groups} groups{lost}"),
    )
