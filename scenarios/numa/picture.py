"""The machine's picture: lines of plain ASCII, at most 80 columns, large hosts folded. A pure function of its shape."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby

from hostdx.probes import units
from hostdx.probes.cpu_list import MAX_CPUS, format_cpu_list, parse_cpu_list
from hostdx.probes.system.processor.caches import CacheKind
from hostdx.probes.units import count_noun, join_names
from hostdx.scenarios.numa.machine import CoreGroup, DrawnDevice, MachineShape, NodeOrSocket

COLUMNS = 80
_MAX_RUNS = 16
MAX_PLACES = 8  # more, and alike ones of a socket are folded into one line
_SAME_MEMORY = 0.1
_INDENT = " " * 10
_DEVICES_A_LINE = 6
_MAX_LIST_LINES = 3  # of one list of CPUs
_PLACE = re.compile(r"(node|socket)s? [0-9]")
_WORDS = {False: ("core", "thread"), True: ("module", "core")}


def draw_picture(shape: MachineShape, columns: int = COLUMNS) -> tuple[str, ...]:
    """Return what the machine is made of, where its memory is and which device is where."""
    if not shape.places:
        return ("no description of the processors could be read",)
    lines = [*_head_lines(shape), ""]
    folded, hang = _fold_places(shape), defaultdict[int | None, list[DrawnDevice]](list)
    for device in shape.devices:
        hang[device.node].append(device)
    for run in folded[:_MAX_RUNS]:
        lines += _lines_of_places(shape, run, hang)
    if more := sum(map(len, folded[_MAX_RUNS:])):
        lines.append(f"and {more} more nodes, unlike these")
    lines += [f"node unknown: {words}" for words in _format_devices(hang.get(None, []))]
    lines += [*_distance_lines(shape), *_limit_lines(shape)]
    return tuple(part for line in lines for part in _wrap_printable(line, columns))


def _head_lines(shape: MachineShape) -> Iterator[str]:
    if shape.model:
        yield shape.model
    core, thread = _WORDS[shape.modules]
    counts = [
        _count_text(shape.sockets, "socket"),
        _count_text(shape.cores, core),
        _count_text(shape.threads, thread),
    ]
    if shape.dies and shape.sockets and shape.dies > shape.sockets:
        counts.insert(1, f"{shape.dies} dies")
    counts[:0] = [
        f"{n} {word}" for n, word in ((shape.drawers, "drawers"), (shape.books, "books")) if n and n > 1
    ]
    if shape.places_are_nodes:
        counts.append(_node_count_text(shape))
    yield ", ".join(count for count in counts if count)
    if shape.caches:
        yield "caches: " + ", ".join(f"{c.name} {_instances_and_sizes(c)}" for c in shape.caches)
    if settings := [
        *([f"SMT {shape.smt}"] if shape.smt else ()),
        *([shape.setting] if shape.setting else ()),
    ]:
        yield ", ".join(settings)
    if shape.doubt:
        yield f"NUMA nodes not credible: {shape.doubt}"


def _instances_and_sizes(kind: CacheKind) -> str:
    """`8 x 32 KiB + 6 x 48 KiB`; recordings of old count all sizes together."""
    if sum(kind.counts) == kind.instances:
        return " + ".join(
            f"{n} x {units.format_size(b)}" for b, n in zip(kind.sizes_bytes, kind.counts, strict=False)
        )
    return f"{kind.instances} x {'/'.join(map(units.format_size, kind.sizes_bytes)) or '?'}"


def _node_count_text(shape: MachineShape) -> str:
    if shape.nodes == shape.nodes_with_cpus:
        return _count_text(shape.nodes, "NUMA node")
    return f"{_count_text(shape.nodes, 'NUMA node')} ({shape.nodes_with_cpus} with CPUs)"


def _fold_places(shape: MachineShape) -> tuple[tuple[NodeOrSocket, ...], ...]:
    """Places that look alike: neighbours of one socket where that is short enough; each alone where all fit."""
    if len(shape.places) <= MAX_PLACES:
        return tuple((place,) for place in shape.places)
    tried = (tuple(_runs_of_alike(shape.places, across)) for across in (False, True))
    return next((runs for runs in tried if len(runs) <= MAX_PLACES), None) or _group_alike(shape.places)


def _group_alike(places: tuple[NodeOrSocket, ...]) -> tuple[tuple[NodeOrSocket, ...], ...]:
    """Wherever they stand: two kinds of nodes in turn. What is only counted is not sorted: it may be thousands."""
    classes: list[list[NodeOrSocket]] = []
    for place in places:
        alike = next((some for some in classes[:_MAX_RUNS] if _has_same_hardware(some[0], place)), None)
        classes.append([place]) if alike is None else alike.append(place)
    return tuple(map(tuple, classes))


def _runs_of_alike(places: tuple[NodeOrSocket, ...], across: bool) -> Iterator[tuple[NodeOrSocket, ...]]:
    run: list[NodeOrSocket] = []
    for place in places:
        if run and not (_has_same_hardware(run[0], place) and (across or run[0].sockets == place.sockets)):
            yield tuple(run)
            run = []
        run.append(place)
    yield tuple(run)


def _has_same_hardware(place: NodeOrSocket, other: NodeOrSocket) -> bool:
    """Same cores, caches and kind, nearly the same memory: the kernel keeps some of the first node's."""
    sizes = place.memory_bytes, other.memory_bytes
    if None in sizes:
        near = sizes[0] is sizes[1]
    else:
        least, most = sorted(size or 0 for size in sizes)
        near = most - least <= most * _SAME_MEMORY
    return near and (place.cores, place.caches, place.kind) == (other.cores, other.caches, other.kind)


def _cpus_of_places(run: tuple[NodeOrSocket, ...]) -> frozenset[int]:
    """Their CPUs; no CPU is in two nodes, so lists of more than a machine has are not read."""
    all_cpus: set[int] = set()
    cpu_count = 0
    for place in run:
        cpus = parse_cpu_list(place.cpus) or frozenset()
        cpu_count += len(cpus)
        if cpu_count > MAX_CPUS:
            break
        all_cpus |= cpus
    return frozenset(all_cpus)


def _lines_of_places(
    shape: MachineShape, run: tuple[NodeOrSocket, ...], hang: Mapping[int | None, list[DrawnDevice]]
) -> Iterator[str]:
    first = run[0]
    word = "node" if shape.places_are_nodes else "socket"
    numbers = format_cpu_list(frozenset(place.number for place in run))
    name = f"{word} {numbers}" if len(run) == 1 else f"{word}s {numbers}, each"
    parts = [_format_cores(first.cores, shape.hybrid, _WORDS[shape.modules])]
    if first.kind == "memory only":
        parts = ["memory only, no CPU" if first.memory_bytes is not None else "no CPU, memory not known"]
    elif first.kind == "empty":
        parts = ["neither CPU nor memory online"]
    if first.memory_bytes is not None and first.kind != "empty":
        sizes = sorted({place.memory_bytes or 0 for place in run})
        span = dict.fromkeys((units.format_size(sizes[0]), units.format_size(sizes[-1])))
        parts.append(" to ".join(span) if sizes[-1] else "no memory of its own")
    if first.caches:
        parts.append(
            "L3 "
            + " + ".join(f"{n} x {units.format_size(size) if size else '?'}" for size, n in first.caches)
        )
    sockets = frozenset(socket for place in run for socket in place.sockets)
    if shape.places_are_nodes and sockets and (shape.sockets or 0) > 1:
        one_each = len(run) == len(sockets) > 1 and all(len(place.sockets) == 1 for place in run)
        words = "a socket each:" if one_each else "sockets" if len(sockets) > 1 else "socket"
        parts.append(f"{words} {format_cpu_list(sockets)}")
    yield f"{name:<9} {', '.join(part for part in parts if part)}"
    if first.cpus:
        yield f"{_INDENT}CPUs {format_cpu_list(_cpus_of_places(run))}"
    if not shape.places_are_nodes:
        return
    for place in run:
        for words in _format_devices(hang.get(place.number, [])):
            yield f"{_INDENT}{words}" if len(run) == 1 else f"{_INDENT}node {place.number}: {words}"


def _format_cores(groups: tuple[CoreGroup, ...], hybrid: bool, core_and_thread_words: tuple[str, str]) -> str:
    core, thread = core_and_thread_words
    if not groups:
        return "cores unknown"
    if len(groups) == 1 or all(g.kind for g in groups):
        words = [
            _count_text(g.cores, f"{g.kind} {core}".strip())
            + (f" x {g.threads} {thread}s" if g.threads > 1 else "")
            for g in groups
        ]
    else:
        words = [f"{_count_text(g.cores, core)} with {_count_text(g.threads, thread)}" for g in groups]
    return " + ".join(words) + (" (hybrid)" if hybrid else "")


def _format_devices(devices: list[DrawnDevice]) -> Iterator[str]:
    """`NVMe nvme0n1, nvme1n1; NIC eth0`: one line, or none."""
    parts = []
    for kind, some in groupby(sorted(devices, key=lambda d: d.kind), key=lambda d: d.kind):
        names = [d.name for d in some]
        parts.append(f"{kind} {join_names(names, _DEVICES_A_LINE)}")
    if parts:
        yield "; ".join(parts)


def _distance_lines(shape: MachineShape) -> Iterator[str]:
    rows = [p for p in shape.places if p.distances]
    if shape.distance_doubt and not shape.doubt:
        yield f"distances not credible: {shape.distance_doubt}"
        return
    if len(rows) < 2 or len(rows) != len(shape.places):
        return
    yield ""
    if len(rows) <= MAX_PLACES:
        yield "distances " + "".join(f"{p.number:>4}" for p in rows)
        for p in rows:
            yield f"node {p.number:<5}" + "".join(f"{value:>4}" for value in p.distances)
        return
    own, same, other, bare = "own memory", "same socket", "other sockets", "nodes without CPUs"
    by_way: dict[str, set[int]] = {own: set(), same: set(), other: set(), bare: set()}
    for here, p in enumerate(rows):
        for there, value in enumerate(p.distances[: len(rows)]):
            near = bool(p.sockets) and p.sockets == rows[there].sockets
            way = same if near else other if p.cpus and rows[there].cpus else bare
            by_way[own if here == there else way].add(value)
    yield "distances: " + ", ".join(
        f"{way} {_format_span(values)}" for way, values in by_way.items() if values
    )


def _limit_lines(shape: MachineShape) -> Iterator[str]:
    if shape.offline:
        yield f"offline: CPUs {shape.offline}"
    if shape.nowhere:
        yield f"in no node: CPUs {shape.nowhere}"
    if shape.isolated:
        yield f"isolated: CPUs {shape.isolated}"
    if shape.allowed:
        yield f"this process may use only CPUs {shape.allowed}"
    if shape.quota_cores is not None:
        yield f"a control group limits it to {shape.quota_cores:g} CPUs"


def _count_text(count: int | None, word: str) -> str:
    return "" if count is None else count_noun(count, word)


def _format_span(values: set[int]) -> str:
    return f"{min(values)}" if len(values) == 1 else f"{min(values)}-{max(values)}"


def _wrap_printable(line: str, columns: int) -> Iterator[str]:
    """Host text (a model's name) may hold anything; a list is broken at its commas, a sentence at its blanks."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in line)
    if len(plain) <= columns:
        yield plain
        return
    lead = len(plain) - len(plain.lstrip())
    indent = _INDENT if _PLACE.match(plain) else " " * (lead + 2)
    at, lines = "", 0
    for word in _split_for_wrapping(plain[lead:], (columns - len(indent)) // 2):
        if at.strip() and len(at) + len(word.rstrip()) > columns - (4 if lines == _MAX_LIST_LINES - 1 else 0):
            lines += 1
            if lines == _MAX_LIST_LINES:
                yield f"{at.rstrip()} ..."[:columns]
                return
            yield at.rstrip()
            at = indent
        at = (at or " " * lead) + word
        if len(at) > columns + 1:  # one word without an end
            yield f"{at[: columns - 4]} ..."
            return
    if at.strip():
        yield at.rstrip()


def _split_for_wrapping(text: str, most: int) -> Iterator[str]:
    """Yield what stays on one line: the members of a list, and the words of a member that is long."""
    for member in re.findall(r"[^,;]*[,;]? *", text):
        yield from re.findall(r"[^ ]* *", member) if len(member) > most else (member,)
