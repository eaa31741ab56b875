"""Call paths and locks of two variants, as they are recorded: where a run of either computes and waits."""

import re
from typing import ClassVar

import msgspec

from hostdx.probes.units import format_number, format_signed
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Cell, Mono, Part, Table, paragraph_of
from hostdx.scenarios.contract.results.result import Result

MAX_CALLS = 8
# The kernel's function for a call: __x64_sys_fsync; ksys_read where __x64_sys_read ended by jumping to it.
SYSTEM_CALL = re.compile(r"(?:__\w+?_|k)?sys_(\w+)")


class ComparedSeconds(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds a run: mean of either side, difference (variant - baseline) with its 95 % interval. `differs`: another
    interval, adjusted for the number of all that are judged beside it, does not hold 0.
    """

    baseline_s: of.Value
    variant_s: of.Value
    difference_s: of.Value
    ci95_s: tuple[of.Value, of.Value]
    differs: bool = False


def differs_word(differs: bool, ci95: tuple[float, float]) -> str:
    return "yes" if differs else "not shown" if ci95[0] <= 0 <= ci95[1] else "likely"


class CallNode(ComparedSeconds, frozen=True, kw_only=True, omit_defaults=True):
    """A function on the way from the first caller, with all that it calls, in thread seconds.

    `up`: the number of its caller among the nodes, which comes before it; -1: none.
    """

    name: str
    up: of.Number


class PathTree(msgspec.Struct, frozen=True, kw_only=True):
    """`kernel`: its functions are in it; `waits`: where threads wait too. `lost`: records not read in time."""

    baseline: str
    variant: str
    groups: of.Number
    kernel: bool
    waits: bool
    lost: of.Count
    nodes: tuple[CallNode, ...]

    @property
    def system_call_parts(self) -> tuple[Part, ...]:
        """Thread seconds within each system call: `strace -w` and `perf trace` count them so, computing included."""
        within: list[tuple[str, str]] = []  # of each node: the first caller of all, the call that it lies in
        sums: dict[str, dict[str, list[float]]] = {}
        for n, node in enumerate(self.nodes):
            first, call = within[node.up] if 0 <= node.up < n else (node.name, "")
            if not call and (entry := SYSTEM_CALL.fullmatch(node.name)):
                call = entry[1]
                spent = sums.setdefault(call, {}).setdefault(first, [0.0, 0.0])
                spent[0] += node.baseline_s
                spent[1] += node.variant_s
            within.append((first, call))
        rows: list[tuple[Cell, ...]] = []
        for call in sorted(sums, key=lambda call: -max(map(sum, zip(*sums[call].values(), strict=True))))[
            :MAX_CALLS
        ]:
            totals = [sum(side) for side in zip(*sums[call].values(), strict=True)]
            for name, (baseline_s, variant_s) in (
                (call, totals),
                *((f"{call}, {detail}", s) for detail, s in sums[call].items()),
            ):
                rows.append(
                    (
                        Mono(name),
                        format_number(baseline_s),
                        format_number(variant_s),
                        format_signed(variant_s - baseline_s),
                    )
                )
        header = ("inside system calls", f"{self.baseline} s", f"{self.variant} s", "difference s")
        return (Table(header, tuple(rows), frozenset({1, 2, 3})),) if rows else ()


class CallPaths(Result, frozen=True, tag="where.calls/1"):
    name: ClassVar[str] = "call paths"
    value: tuple[PathTree, ...]


class LockWaits(ComparedSeconds, frozen=True, kw_only=True):
    """Thread seconds of waiting for the locks of a kind at a place. `path`: the way there that took most of it,
    `holder`: of who had taken it before (as far as that one had waited too), both from the place to the system call.
    """

    kind: str
    place: str
    path: tuple[str, ...]
    holder: tuple[str, ...]


class LockTable(msgspec.Struct, frozen=True, kw_only=True):
    """The longest wait first."""

    baseline: str
    variant: str
    groups: of.Number
    lost: of.Count
    locks: tuple[LockWaits, ...]


class LocksResult(Result, frozen=True, tag="where.locks/1"):
    name: ClassVar[str] = "locks of the kernel"
    value: tuple[LockTable, ...]

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        return tuple(part for table in self.value for part in _lock_parts(table))


def _lock_parts(table: LockTable) -> tuple[Part, ...]:
    if not table.locks:
        return (paragraph_of(f"{table.variant} against {table.baseline}: no wait for a lock of the kernel"),)
    header = ("lock", "who waits", "who had it", f"{table.baseline} s", f"{table.variant} s", "difference s",
              "95 % CI s", "differs")  # fmt: skip
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            lock.kind,
            Mono(" < ".join(lock.path) or "?"),
            Mono(" < ".join(lock.holder)) if lock.holder else "not seen",
            format_number(lock.baseline_s),
            format_number(lock.variant_s),
            format_signed(lock.difference_s),
            " to ".join(map(format_signed, lock.ci95_s)),
            differs_word(lock.differs, lock.ci95_s),
        )
        for lock in table.locks
    )
    lost = f"; {table.lost} records were lost" if table.lost else ""
    return (
        Table(header, rows, frozenset({3, 4, 5, 6})),
        paragraph_of(f"thread seconds a run, asleep or spinning, over {table.groups} groups{lost}"),
    )
