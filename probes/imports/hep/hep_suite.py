"""The hep-benchmark-suite's document: the host and a profile a benchmark."""

from __future__ import annotations

from typing import Any

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.dates import to_iso
from hostdx.probes.imports.hep import hepscore
from hostdx.probes.imports.json_text import mapping_or_empty, text_or_number
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    file_facts,
)
from hostdx.probes.imports.numbers import parse_and_truncate, parse_number
from hostdx.probes.imports.source import ImportSource

_UNKNOWN = ("not_available", "not_defined", "")


class Profile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    value: float | None = None
    unit: str | None = None
    hepscore: hepscore.HepScore | None = None


class Suite(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    hostname: str | None = None
    cpu_model: str | None = None
    cpus: str | None = None
    sockets: str | None = None
    threads_per_core: str | None = None
    smt: bool | None = None
    json_version: str | None = None
    suite_version: str | None = None
    start: str | None = None
    end: str | None = None
    profiles: tuple[Profile, ...] = ()


def parse_hep_suite(source: ImportSource) -> ImportResult:
    document = json_text.decode_untyped(source.data, "hep-benchmark-suite")
    if not isinstance(document, dict) or not isinstance(document.get("profiles"), dict):
        raise ImportRefusedError(
            'hep-benchmark-suite: no "profiles" in it', "import the suite's result document"
        )
    host = mapping_or_empty(document.get("host"))
    cpu = mapping_or_empty(mapping_or_empty(host.get("HW")).get("CPU"))
    suite = mapping_or_empty(document.get("suite"))
    profiles: list[Profile] = []
    measures: list[ImportedMeasure] = []
    contradictions: list[Contradiction] = []
    troubles: list[ImportTrouble] = []
    for name, body in list(document["profiles"].items())[:100]:
        body = mapping_or_empty(body)
        if isinstance(body.get("benchmarks"), dict):
            detail = hepscore.read_score(body)
            more, contradicted, doubts = hepscore.judge_score(detail)
            measures += more
            contradictions += contradicted
            troubles += doubts
            profiles.append(Profile(name=str(name)[:80], value=detail.score, hepscore=detail))
            continue
        value = parse_number(body.get("value", body.get("score")))
        unit = body.get("unit")
        profiles.append(
            Profile(name=str(name)[:80], value=value, unit=unit[:40] if isinstance(unit, str) else None)
        )
        if value is None or value <= 0:
            troubles.append(ImportTrouble(id="suite.profile-without-score", subject=str(name)[:80]))
        else:
            measures.append(ImportedMeasure(workload=str(name)[:80], metric="score", value=value, unit=""))
    memory = mapping_or_empty(mapping_or_empty(host.get("HW")).get("MEMORY"))
    software = mapping_or_empty(host.get("SW"))
    detail_suite = Suite(
        hostname=_known_text(host.get("hostname")),
        cpu_model=_known_text(cpu.get("CPU_Model")),
        cpus=_known_text(cpu.get("CPU")),
        sockets=_known_text(cpu.get("Sockets")),
        threads_per_core=_known_text(cpu.get("Threads_per_core")),
        smt=smt if isinstance(smt := cpu.get("SMT_Enabled?"), bool) else None,
        json_version=_known_text(document.get("json_version")),
        suite_version=_known_text(suite.get("version")),
        start=_known_text(document.get("_timestamp")),
        end=_known_text(document.get("_timestamp_end")),
        profiles=tuple(profiles),
    )
    kib = parse_number(memory.get("Mem_Total"))
    facts = file_facts(
        ("model", detail_suite.cpu_model),
        ("threads", parse_and_truncate(detail_suite.cpus)),
        ("sockets", parse_and_truncate(detail_suite.sockets)),
        ("threads per core", parse_and_truncate(detail_suite.threads_per_core)),
        ("microcode", _known_text(cpu.get("Microcode"))),
        ("governor", _known_text(cpu.get("Power_Policy"))),
        subject="cpu",
    )
    facts += file_facts(("total", int(kib * 1024) if kib is not None else None, "B"), subject="memory")
    facts += file_facts(("release", _known_text(software.get("kernel_version"))), subject="kernel")
    facts += file_facts(("name", _known_text(software.get("os_version"))), subject="os")
    if not measures:
        troubles.append(ImportTrouble(id="suite.nothing", fatal=True))
    return ImportResult(
        kind="hep-suite", tool="hep-benchmark-suite", version=detail_suite.suite_version, facts=tuple(facts),
        host=detail_suite.hostname, began=to_iso(detail_suite.start), measures=tuple(measures),
        contradictions=tuple(contradictions), troubles=tuple(troubles),
        recomputed=("score from the runs",) if any(p.hepscore for p in profiles) else (), detail=detail_suite,
    )  # fmt: skip


def _known_text(value: Any) -> str | None:
    """Text or a number as text; what the suite fills in for "could not be read" is absent."""
    return None if value in _UNKNOWN else text_or_number(value)
