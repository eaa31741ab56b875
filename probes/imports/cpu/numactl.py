"""`numactl -H` as facts. A node can have no CPUs; sizes are MiB though printed as MB; distance 10 is local."""

import re

import msgspec

from probes.imports.model import Contradiction, Noted, Refused, Result
from probes.imports.numbers import MIB, number
from probes.imports.source import Source
from probes.number_text import whole

_NODES = re.compile(r"^available: (\d{1,6}) nodes?")
_CPUS = re.compile(r"^node (\d{1,6}) cpus:(.*)$")
_SIZE = re.compile(r"^node (\d{1,6}) (size|free): (\d{1,15}) MB")
_ROW = re.compile(r"^\s*(\d{1,6}):\s+([\d ]+)$")
_MOST = 4096


class Numactl(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """By node number. Sizes in MiB."""

    nodes: int = 0
    cpus: dict[int, tuple[int, ...]] = {}
    size_mb: dict[int, int] = {}
    free_mb: dict[int, int] = {}
    distances: dict[int, tuple[int, ...]] = {}


def recognised(source: Source) -> bool:
    return source.has(b"available: ", b" nodes", b"node 0 ") and b" size: " in source.head


def parse(source: Source) -> Result:
    nodes: int | None = None
    cpus: dict[int, tuple[int, ...]] = {}
    sizes: dict[str, dict[int, int]] = {"size": {}, "free": {}}
    distances: dict[int, tuple[int, ...]] = {}
    for line in source.lines():
        if found := _NODES.match(line):
            nodes = int(found[1])
        elif (found := _CPUS.match(line)) and len(cpus) < _MOST:
            cpus[int(found[1])] = tuple(
                cpu for f in found[2].split()[:100_000] if (cpu := whole(f)) is not None
            )
        elif (found := _SIZE.match(line)) and len(sizes[found[2]]) < _MOST:
            sizes[found[2]][int(found[1])] = int(found[3])
        elif (found := _ROW.match(line)) and len(distances) < _MOST:
            distances[int(found[1])] = tuple(int(f) for f in found[2].split()[:_MOST] if len(f) < 9)
    if nodes is None or not sizes["size"]:
        raise Refused("numactl: no nodes in it", "import the output of numactl -H")
    facts = [Noted(name="memory nodes", value=nodes)]
    for node, size in sizes["size"].items():
        subject = f"node:{node}"
        facts.append(Noted(name="memory", value=size * MIB, unit="B", subject=subject))
        if node in sizes["free"]:
            facts.append(
                Noted(name="free memory", value=sizes["free"][node] * MIB, unit="B", subject=subject)
            )
        facts.append(Noted(name="CPUs", value=len(cpus.get(node, ())), subject=subject))
        if node in distances:
            facts.append(Noted(name="distances", value=list(distances[node]), subject=subject))
    found_all = []
    if nodes != len(sizes["size"]):
        found_all.append(
            Contradiction(
                id="numactl.nodes", subject="nodes", claimed=float(nodes), recomputed=float(len(sizes["size"])),
                rule="nodes that follow",
            )
        )  # fmt: skip
    local = [row[i] for i, row in enumerate(distances.values()) if i < len(row)]
    if any(number(d) != 10 for d in local):
        found_all.append(
            Contradiction(
                id="numactl.local-distance", subject="distances", claimed=" ".join(map(str, local))[:200],
                recomputed="10", rule="a node's distance to itself",
            )
        )  # fmt: skip
    return Result(
        kind="numactl", tool="numactl", facts=tuple(facts), contradictions=tuple(found_all),
        detail=Numactl(
            nodes=nodes, cpus=cpus, size_mb=sizes["size"], free_mb=sizes["free"], distances=distances
        ),
    )  # fmt: skip
