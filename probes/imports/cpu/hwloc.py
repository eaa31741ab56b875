"""lstopo's XML (hwloc 1, 2 and 3) as facts: streamed, without entities, without a document type's file.

hwloc 1 says Socket where 2 and 3 say Package; a NUMANode is a parent in 1 and a memory child from 2 on.
"""

from xml.parsers import expat

import msgspec

from hostdx.probes.imports.model import ImportRefusedError, ImportResult, file_facts
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource

_MAX_TYPES = 200
_MAX_DEPTH = 1000


class Hwloc(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    objects: dict[str, int] = {}
    pus: int = 0
    cores: int = 0
    packages: int = 0
    numa: int = 0
    cpu_model: str | None = None
    format: str | None = None
    cache_bytes: dict[str, int] = {}
    memory_bytes: int = 0


class _HwlocReader:
    def __init__(self) -> None:
        self.objects: dict[str, int] = {}
        self.infos: dict[str, str] = {}
        self.caches: dict[str, int] = {}
        self.memory = 0
        self.format: str | None = None
        self.has_topology = False
        self._depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ImportRefusedError("hwloc: nested too deeply", "export it again: lstopo --of xml FILE")
        if name == "topology":
            self.has_topology, self.format = True, attributes.get("version", "1")[:20]
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
    detail = Hwloc(
        objects=objects,
        pus=objects.get("PU", 0),
        cores=objects.get("Core", 0),
        packages=objects.get("Package", objects.get("Socket", 0)),
        numa=objects.get("NUMANode", 0),
        cpu_model=reader.infos.get("CPUModel") or None,
        format=reader.format,
        cache_bytes=reader.caches,
        memory_bytes=reader.memory,
    )
    facts = file_facts(
        ("CPUs", detail.pus), ("cores", detail.cores), ("packages", detail.packages), ("memory nodes", detail.numa),
        ("CPU model", detail.cpu_model), ("memory", detail.memory_bytes or None, "B"),
        *((f"{name} size", size, "B") for name, size in detail.cache_bytes.items()),
    )  # fmt: skip
    return ImportResult(
        kind="hwloc", tool="hwloc", version=reader.infos.get("hwlocVersion"), host=reader.infos.get("HostName"),
        facts=tuple(facts), detail=detail,
    )  # fmt: skip


def _refuse_entities(*_arguments: object) -> None:
    raise ImportRefusedError(
        "hwloc: it declares entities, which no lstopo writes", "export it again: lstopo --of xml FILE"
    )
