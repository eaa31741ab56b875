"""`numactl -H` as facts. A node can have no CPUs; sizes are MiB though printed as MB; distance 10 is local."""

import re

from hostdx.probes.imports.model import (
    Contradiction,
    ImportRefusedError,
    ImportResult,
    compare_claim,
    make_facts,
)
from hostdx.probes.imports.numbers import MIB, parse_number
from hostdx.probes.imports.source import ImportSource

_NODES = re.compile(r"^available: (\d{1,6}) nodes?")
_CPUS = re.compile(r"^node (\d{1,6}) cpus:(.*)$")
_SIZE = re.compile(r"^node (\d{1,6}) (size|free): (\d{1,15}) MB")
_ROW = re.compile(r"^\s*(\d{1,6}):\s+([\d ]+)$")
_MAX_NODES = 4096


def parse_numactl(source: ImportSource) -> ImportResult:
    nodes: int | None = None
    cpus: dict[int, int] = {}  # how many a node has
    sizes: dict[str, dict[int, int]] = {"size": {}, "free": {}}
    distances: dict[int, tuple[int, ...]] = {}
    for line in source.read_lines():
        if match := _NODES.match(line):
            nodes = int(match[1])
        elif (match := _CPUS.match(line)) and len(cpus) < _MAX_NODES:
            cpus[int(match[1])] = len(match[2].split())
        elif (match := _SIZE.match(line)) and len(sizes[match[2]]) < _MAX_NODES:
            sizes[match[2]][int(match[1])] = int(match[3])
        elif (match := _ROW.match(line)) and len(distances) < _MAX_NODES:
            distances[int(match[1])] = tuple(int(f) for f in match[2].split()[:_MAX_NODES] if len(f) < 9)
    if nodes is None or not sizes["size"]:
        raise ImportRefusedError("numactl: no nodes in it", "import the output of numactl -H")
    facts = make_facts(("memory nodes", nodes))
    for node, size in sizes["size"].items():
        free = sizes["free"].get(node)
        facts += make_facts(
            ("memory", size * MIB, "B"), ("free memory", free and free * MIB, "B"), ("CPUs", cpus.get(node, 0)),
            ("distances", list(distances[node]) if node in distances else None), subject=f"node:{node}",
        )  # fmt: skip
    counted = len(sizes["size"])
    contradictions = compare_claim(
        "numactl.nodes", "nodes", float(nodes), float(counted), "nodes that follow", 0.0
    )
    local = [row[i] for i, row in enumerate(distances.values()) if i < len(row)]
    if any(parse_number(d) != 10 for d in local):
        contradictions.append(
            Contradiction(
                id="numactl.local-distance", subject="distances", claimed=" ".join(map(str, local))[:200],
                recomputed="10", rule="a node's distance to itself",
            )
        )  # fmt: skip
    return ImportResult(
        kind="numactl", tool="numactl", facts=tuple(facts), contradictions=tuple(contradictions)
    )
