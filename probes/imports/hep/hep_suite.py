"""The hep-benchmark-suite's document: the host and a profile a benchmark."""

from __future__ import annotations

from typing import Any

from hostdx.probes.imports import json_text
from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.hep import hepscore
from hostdx.probes.imports.json_text import mapping_or_empty, text_or_number
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    make_facts,
)
from hostdx.probes.imports.numbers import parse_number, parse_truncated
from hostdx.probes.imports.source import ImportSource

_UNKNOWN = ("not_available", "not_defined", "")


def parse_hep_suite(source: ImportSource) -> ImportResult:
    document = json_text.decode_untyped(source.data, "hep-benchmark-suite")
    if not isinstance(document, dict) or not isinstance(document.get("profiles"), dict):
        raise ImportRefusedError(
            'hep-benchmark-suite: no "profiles" in it', "import the suite's result document"
        )
    host = mapping_or_empty(document.get("host"))
    cpu = mapping_or_empty(mapping_or_empty(host.get("HW")).get("CPU"))
    suite = mapping_or_empty(document.get("suite"))
    is_recomputed = False
    measures: list[ImportedMeasure] = []
    contradictions: list[Contradiction] = []
    troubles: list[ImportTrouble] = []
    for name, body in list(document["profiles"].items())[:100]:
        body = mapping_or_empty(body)
        if isinstance(body.get("benchmarks"), dict):
            more, contradicted, doubts = hepscore.judge_hep(hepscore.read_score(body))
            measures += more
            contradictions += contradicted
            troubles += doubts
            is_recomputed = True
            continue
        value = parse_number(body.get("value", body.get("score")))
        if value is None or value <= 0:
            troubles.append(ImportTrouble(id="suite.profile-without-score", subject=str(name)[:80]))
        else:
            measures.append(ImportedMeasure(workload=str(name)[:80], metric="score", value=value, unit=""))
    memory = mapping_or_empty(mapping_or_empty(host.get("HW")).get("MEMORY"))
    software = mapping_or_empty(host.get("SW"))
    kib = parse_number(memory.get("Mem_Total"))
    facts = make_facts(
        ("model", _text_if_known(cpu.get("CPU_Model"))),
        ("threads", parse_truncated(_text_if_known(cpu.get("CPU")))),
        ("sockets", parse_truncated(_text_if_known(cpu.get("Sockets")))),
        ("threads per core", parse_truncated(_text_if_known(cpu.get("Threads_per_core")))),
        ("microcode", _text_if_known(cpu.get("Microcode"))),
        ("governor", _text_if_known(cpu.get("Power_Policy"))),
        subject="cpu",
    )
    facts += make_facts(("total", int(kib * 1024) if kib is not None else None, "B"), subject="memory")
    facts += make_facts(("release", _text_if_known(software.get("kernel_version"))), subject="kernel")
    facts += make_facts(("name", _text_if_known(software.get("os_version"))), subject="os")
    if not measures:
        troubles.append(ImportTrouble(id="suite.nothing", fatal=True))
    return ImportResult(
        kind="hep-suite", tool="hep-benchmark-suite", version=_text_if_known(suite.get("version")), facts=tuple(facts),
        host=_text_if_known(host.get("hostname")), began=date_to_iso(_text_if_known(document.get("_timestamp"))),
        measures=tuple(measures), contradictions=tuple(contradictions), troubles=tuple(troubles),
        recomputed=("score from the runs",) if is_recomputed else (),
    )  # fmt: skip


def _text_if_known(value: Any) -> str | None:
    """Text or a number as text; what the suite fills in for "could not be read" is absent."""
    return None if value in _UNKNOWN else text_or_number(value)
