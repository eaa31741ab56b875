"""lstopo's XML (hwloc 1, 2 and 3) as facts: streamed, without entities, without a document type's file.

hwloc 1 says Socket where 2 and 3 say Package; a NUMANode is a parent in 1 and a memory child from 2 on.
"""

from xml.parsers import expat

from hostdx.probes.imports.model import ImportRefusedError, ImportResult, make_facts
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource

_MAX_TYPES = 200
_MAX_DEPTH = 1000


class _HwlocReader:
    def __init__(self) -> None:
        self.objects: dict[str, int] = {}
        self.infos: dict[str, str] = {}
        self.caches: dict[str, int] = {}
        self.memory = 0
        self.has_topology = False
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ImportRefusedError("hwloc: nested too deeply", "export it again: lstopo --of xml FILE")
        if name == "topology":
            self.has_topology = True
        elif name == "object":
            kind = attributes.get("type", "")[:40]
            if kind in self.objects or len(self.objects) < _MAX_TYPES:
                self.objects[kind] = self.objects.get(kind, 0) + 1
            size = parse_number(attributes.get("cache_size"))
            if size:
                self.caches.setdefault(kind, int(size))
            self.memory += int(parse_number(attributes.get("local_memory")) or 0)
        elif name == "info" and len(self.infos) < 200:
            self.infos.setdefault(attributes.get("name", "")[:60], attributes.get("value", "")[:200])

    def end(self, _name: str) -> None:
        self._depth -= 1


def parse_hwloc(source: ImportSource) -> ImportResult:
    reader = _HwlocReader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.EntityDeclHandler = _refuse_entities
    try:
        parser.Parse(source.data, True)
    except expat.ExpatError as error:
        raise ImportRefusedError(
            f"hwloc: line {error.lineno} column {error.offset + 1}: {expat.ErrorString(error.code)}",
            "export it again: lstopo --of xml FILE",
        ) from None
    objects = reader.objects
    if not reader.has_topology or not objects:
        raise ImportRefusedError("hwloc: no object in its topology", "export it again: lstopo --of xml FILE")
    facts = make_facts(
        ("CPUs", objects.get("PU", 0)), ("cores", objects.get("Core", 0)),
        ("packages", objects.get("Package", objects.get("Socket", 0))), ("memory nodes", objects.get("NUMANode", 0)),
        ("CPU model", reader.infos.get("CPUModel") or None), ("memory", reader.memory or None, "B"),
        *((f"{name} size", size, "B") for name, size in reader.caches.items()),
    )  # fmt: skip
    return ImportResult(
        kind="hwloc", tool="hwloc", version=reader.infos.get("hwlocVersion"), host=reader.infos.get("HostName"),
        facts=tuple(facts),
    )  # fmt: skip


def _refuse_entities(*_arguments: object) -> None:
    raise ImportRefusedError(
        "hwloc: it declares entities, which no lstopo writes", "export it again: lstopo --of xml FILE"
    )
