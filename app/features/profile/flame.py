"""Call paths as a flame graph of the difference: an icicle as SVG, its largest changes in lines, and folded stacks.

A box is as wide as the larger side of its function: what one side alone has is there too. Red: more in the variant,
blue: less, by the share of the box that the difference is; grey: within its interval, or too small to be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import msgspec

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.failure import USAGE, Failure
from hostdx.app.terminal.printable import make_printable
from hostdx.probes.units import format_number, format_signed
from hostdx.scenarios.analysis.profile.results import CallNode, CallPaths, PathTree
from hostdx.scenarios.contract.results.document import Part, Picture

WIDE, HIGH = 720, 17  # of the drawing, of a row
MAX_ROWS = 40
MIN_BOX_WIDTH = 0.5
ADDRESS = re.compile(r"\[(.+)\+0x[0-9a-f]+\]")  # as probes name a place without a symbol
GREY, MORE, LESS = "#9e9e9e", (198, 40, 40), (21, 101, 192)
LINES = 15


def call_path_parts(result: CallPaths, _width: int) -> tuple[Part, ...]:
    """Return a flame graph of each tree, then what it holds inside system calls; the lines have their own width."""
    return tuple(
        part
        for tree in map(merge_unnamed_addresses, result.value)
        for part in (
            Picture(tuple(changed_function_lines(tree)), difference_svg(tree)),
            *tree.system_call_parts,
        )
    )


def folded_stacks_text(session: RunSession, name: str) -> str:
    """Return the folded stacks of a recording, a line each. Raises Failure where it holds no call paths."""
    call_paths = session.find_result(CallPaths)
    if call_paths is None:
        raise Failure(f"report: {name} holds no call paths: its run was made without --call-paths", USAGE)
    return "".join(f"{line}\n" for tree in call_paths.value for line in stack_lines(tree))


def merge_unnamed_addresses(tree: PathTree) -> PathTree:
    """Return the tree with one node for all addresses without a name in one library: neighbours below one caller, and
    those that call each other. Its interval is the sum of theirs, which is too wide rather than too narrow.
    """
    numbers: list[int] = []  # of each node's frame among the merged ones
    merged: list[CallNode] = []
    addresses: list[int] = []  # of each frame
    frames: dict[tuple[int, str], int] = {}  # a caller and a library to their frame
    libraries: dict[int, str] = {}
    for node in tree.nodes:
        up = numbers[node.up] if 0 <= node.up < len(numbers) else -1
        match = ADDRESS.fullmatch(node.name)
        library = match[1] if match else ""
        if library and libraries.get(up) == library:  # its time is the caller's already
            addresses[up] += 1
            numbers.append(up)
            continue
        at = frames.get((up, library)) if library else None
        if at is None:
            at = len(merged)
            merged.append(msgspec.structs.replace(node, up=up))
            addresses.append(1)
            if library:
                frames[up, library], libraries[at] = at, library
        else:
            merged[at] = _add_node_seconds(merged[at], node)
            addresses[at] += 1
        numbers.append(at)
    nodes = [
        node if count < 2 else msgspec.structs.replace(node, name=f"{libraries[at]} ({count} addresses)")
        for at, (node, count) in enumerate(zip(merged, addresses, strict=True))
    ]
    return msgspec.structs.replace(tree, nodes=tuple(nodes))


def _add_node_seconds(node: CallNode, other: CallNode) -> CallNode:
    return msgspec.structs.replace(
        node,
        baseline_s=node.baseline_s + other.baseline_s,
        variant_s=node.variant_s + other.variant_s,
        difference_s=node.difference_s + other.difference_s,
        ci95_s=(node.ci95_s[0] + other.ci95_s[0], node.ci95_s[1] + other.ci95_s[1]),
        differs=node.differs or other.differs,
    )


class FlameBox(NamedTuple):
    """`left` and `width` are shares of the whole, `depth` rows from the top."""

    number: int
    node: CallNode
    depth: int
    left: float
    width: float


def lay_out_boxes(tree: PathTree, root: int = -1) -> list[FlameBox]:
    """Of all nodes, or of one with what it calls; callers before what they call."""
    below: dict[int, list[int]] = {}
    for n, node in enumerate(tree.nodes):
        below.setdefault(node.up if node.up < n else -1, []).append(n)
    first = [root] if root >= 0 else below.get(-1, [])
    total_size = sum(_larger_side_seconds(tree.nodes[n]) for n in first) or 1.0
    out: list[FlameBox] = []
    waiting: list[tuple[int, int, float, float]] = []
    left = 0.0
    for n in first:
        width = _larger_side_seconds(tree.nodes[n]) / total_size
        waiting.append((n, 0, left, width))
        left += width
    while waiting:
        n, depth, left, width = waiting.pop()
        out.append(FlameBox(n, tree.nodes[n], depth, left, width))
        inner = below.get(n, [])
        sizes = [_larger_side_seconds(tree.nodes[m]) for m in inner]
        own = max(_larger_side_seconds(tree.nodes[n]), sum(sizes)) or 1.0
        for m, size in zip(inner, sizes, strict=True):
            waiting.append((m, depth + 1, left, width * size / own))
            left += width * size / own
    return out


def _larger_side_seconds(node: CallNode) -> float:
    return max(node.baseline_s, node.variant_s, 0.0)


def difference_share(node: CallNode) -> float:
    """Of the box, -1 to 1, that the difference is; 0 where it is within its interval."""
    return (
        max(-1.0, min(1.0, node.difference_s / _larger_side_seconds(node)))
        if node.differs and _larger_side_seconds(node) > 0
        else 0.0
    )


def describe_node(node: CallNode, tree: PathTree) -> str:
    low, high = node.ci95_s
    judged = "" if node.differs else "; within its interval"
    return make_printable(
        f"{node.name}: {tree.baseline} {format_number(node.baseline_s)} s, {tree.variant} "
        f"{format_number(node.variant_s)} s, "
        f"difference {format_signed(node.difference_s)} s (95 % CI {format_signed(low)} to "
        f"{format_signed(high)}){judged}"
    )


def difference_svg(tree: PathTree) -> str:
    drawn = [b for b in lay_out_boxes(tree) if b.depth < MAX_ROWS and b.width * WIDE >= MIN_BOX_WIDTH]
    rows = 1 + max((b.depth for b in drawn), default=0)
    title = make_printable(f"call paths: {tree.variant} against {tree.baseline}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH * rows}" role="img" font-size="10" '
        f'font-family="sans-serif"><title>{escape(title)}</title>'
    ]
    for box in drawn:
        x, y, wide = box.left * WIDE, box.depth * HIGH, box.width * WIDE
        letters = int(wide / 6)
        name = make_printable(box.node.name)
        shown = name if len(name) <= letters else name[: letters - 1] + "…" if letters > 3 else ""
        parts.append(
            f'<g><title>{escape(describe_node(box.node, tree))}</title><rect x="{x:.1f}" y="{y}" width="{wide:.1f}" '
            f'height="{HIGH - 1}" fill="{_difference_colour(difference_share(box.node))}" '
            'stroke="#fff" stroke-width="0.3"/>'
            + (f'<text x="{x + 2:.1f}" y="{y + 12}" fill="#000">{escape(shown)}</text>' if shown else "")
            + "</g>"
        )
    return "".join([*parts, "</svg>"])


def _difference_colour(difference: float) -> str:
    if not difference:
        return GREY
    strength = 0.35 + 0.65 * abs(difference)
    red, green, blue = (round(255 - (255 - c) * strength) for c in (MORE if difference > 0 else LESS))
    return f"#{red:02x}{green:02x}{blue:02x}"


def changed_function_lines(tree: PathTree) -> Iterator[str]:
    """The functions whose difference is beyond its interval and not in one that they call; the largest first."""
    yield make_printable(
        f"{tree.variant} against {tree.baseline}: thread seconds a run, over {tree.groups} groups"
    )
    changed = [n for n, node in enumerate(tree.nodes) if node.differs]
    callers = {tree.nodes[n].up for n in changed}
    leaves = sorted((n for n in changed if n not in callers), key=lambda n: -abs(tree.nodes[n].difference_s))
    for n in leaves[:LINES]:
        path = " > ".join(make_printable(name) for name in caller_path(tree, n)[-5:])
        yield f"{format_signed(tree.nodes[n].difference_s):>9} s  {path}"
    if not leaves:
        yield "no function differs beyond its interval"
    if not tree.kernel:
        yield "the kernel's functions are missing: they need root or kernel.perf_event_paranoid at 0 or less"
    if not tree.waits:
        yield "the waits are missing: they need root or kernel.perf_event_paranoid at 0 or less, and tracefs"
    if tree.lost:
        yield f"{tree.lost} records were lost: there were more switches than could be read in time"


def caller_path(tree: PathTree, number: int) -> Sequence[str]:
    """From the first caller on."""
    out: list[str] = []
    while number >= 0 and len(out) <= len(tree.nodes):
        out.append(tree.nodes[number].name)
        number = tree.nodes[number].up if tree.nodes[number].up < number else -1
    return out[::-1]


def stack_lines(tree: PathTree) -> Iterator[str]:
    """`VARIANT;caller;...;function MICROSECONDS` of either side: each function's own time, without what it calls."""
    inner = [[0.0, 0.0] for _ in tree.nodes]
    for n, node in enumerate(tree.nodes):
        if 0 <= node.up < n:
            inner[node.up][0] += node.baseline_s
            inner[node.up][1] += node.variant_s
    for side, variant in enumerate((tree.baseline, tree.variant)):
        for n, node in enumerate(tree.nodes):
            own = (node.baseline_s, node.variant_s)[side] - inner[n][side]
            if (count := round(own * 1e6)) > 0:
                names = [make_printable(name).replace(";", "?") for name in (variant, *caller_path(tree, n))]
                yield f"{';'.join(names)} {count}"
