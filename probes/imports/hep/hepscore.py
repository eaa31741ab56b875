"""hep-score: the score file of 2019 to 2.x, and a workload's own summary.

Score (hep-score's hepscore.py): in a run every sub-score with a reference is divided by it and rounded to 4 digits,
their geometric mean rounded to 4 digits is the run's value; a workload's value is the median of its runs; the score
is the weighted geometric mean over the workloads × scaling.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.json_text import mapping_or_empty, numeric_members, text_or_number
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    Noted,
    compare_claim,
    make_facts,
    make_measures,
    parse_uname,
)
from hostdx.probes.imports.numbers import geometric_mean, parse_integer, parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.units import count_noun

_MAX_WORKLOADS = 200
_MAX_RUNS = 100


class HepscoreRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    scores: dict[str, float] = {}
    log: str | None = None
    seconds: float | None = None
    value: float | None = None  # normalised; None: a sub-score or its reference is missing


class HepWorkload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    version: str | None = None
    weight: float = 1.0
    copies: int | None = None
    threads_per_copy: int | None = None
    events_per_thread: int | None = None
    ref: dict[str, float] = {}
    runs: tuple[HepscoreRun, ...] = ()
    normalised: float | None = None
    chosen: dict[str, float] = {}  # the medians that the file stores


class HepScore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str | None = None
    score: float | None = None
    score_per_core: float | None = None
    status: str | None = None
    scaling: float | None = None
    repetitions: int | None = None
    reference: str | None = None
    version: str | None = None
    environment: dict[str, Any] = {}
    workloads: tuple[HepWorkload, ...] = ()
    recomputed: float | None = None
    measured: bool = True  # False: score −1 or 0, nothing ran


def parse_hepscore(source: ImportSource) -> ImportResult:
    document = json_text.decode_untyped(source.data, "hep-score")
    if not isinstance(document, dict) or not isinstance(document.get("benchmarks"), dict):
        raise ImportRefusedError('hep-score: no "benchmarks" in it', "import the HEPscore result file")
    detail = read_score(document)
    measures, contradictions, troubles = judge_hep(detail)
    when = detail.environment.get("start_at") or detail.environment.get("date")
    return ImportResult(
        kind="hepscore", tool="hep-score", version=detail.version, began=date_to_iso(when),
        host=parse_uname(detail.environment.get("system"))[0], measures=tuple(measures),
        contradictions=tuple(contradictions), troubles=tuple(troubles), facts=tuple(list_facts(detail)),
        recomputed=("score from the runs",),
        seconds=sum(r.seconds or 0.0 for w in detail.workloads for r in w.runs) or None, detail=detail,
    )  # fmt: skip


def read_score(document: Mapping[str, Any]) -> HepScore:
    """A score document, alone or as a profile of the suite."""
    settings, info = mapping_or_empty(document.get("settings")), mapping_or_empty(document.get("app_info"))
    merged = {**document, **info, **settings}
    chosen = mapping_or_empty(document.get("wl-scores"))
    workloads = tuple(
        _read_workload(str(name)[:120], mapping_or_empty(body), mapping_or_empty(chosen.get(name)))
        for name, body in list(document["benchmarks"].items())[:_MAX_WORKLOADS]
    )
    scaling = parse_number(merged.get("scaling"))
    version = merged.get("hepscore_ver", merged.get("version"))
    score = parse_number(document.get("score"))
    return HepScore(
        name=text_or_number(settings.get("name", document.get("name", info.get("name")))),
        score=score,
        score_per_core=parse_number(document.get("score_per_core")),
        status=text_or_number(document.get("status")),
        scaling=scaling,
        repetitions=parse_integer(merged.get("repetitions")),
        reference=text_or_number(merged.get("reference_machine")),
        version=text_or_number(version),
        environment={
            str(k)[:60]: v for k, v in mapping_or_empty(document.get("environment")).items() if _is_plain(v)
        },
        workloads=workloads,
        recomputed=_combined_score(workloads, scaling),
        measured=bool(workloads) and score is not None and score > 0,
    )


def _read_workload(name: str, body: dict[str, Any], chosen_scores: dict[str, Any]) -> HepWorkload:
    ref = {k.removesuffix("_ref"): v for k, v in numeric_members(chosen_scores).items() if k.endswith("_ref")}
    ref = ref or numeric_members(mapping_or_empty(body.get("ref_scores")))
    reports = [
        (key, value)
        for key, value in body.items()
        if key.startswith("run") and mapping_or_empty(value).get("report")
    ]
    info = mapping_or_empty(body.get("run_info"))
    runs = []
    for key, value in sorted(reports)[:_MAX_RUNS]:
        report = mapping_or_empty(mapping_or_empty(value)["report"])
        info = info or report
        scores = numeric_members(mapping_or_empty(report.get("wl-scores")))
        runs.append(
            HepscoreRun(
                name=key[:20], scores=scores, log=text_or_number(report.get("log")), value=_normalise_run(scores, ref),
                seconds=parse_number(value.get("duration")),
            )
        )  # fmt: skip
    values = [r.value for r in runs if r.value is not None]
    weight = parse_number(body.get("weight"))
    return HepWorkload(
        name=name,
        version=text_or_number(body.get("version")),
        weight=1.0 if weight is None else weight,
        copies=parse_integer(info.get("copies")),
        threads_per_copy=parse_integer(info.get("threads_per_copy")),
        events_per_thread=parse_integer(info.get("events_per_thread")),
        ref=ref,
        runs=tuple(runs),
        normalised=median(values) if values else None,
        chosen={k: v for k, v in numeric_members(chosen_scores).items() if not k.endswith("_ref")},
    )


def _normalise_run(scores: Mapping[str, float], references: Mapping[str, float]) -> float | None:
    """None where a sub-score is missing or its reference is 0."""
    if not references or any(k not in scores or scores[k] <= 0 or v <= 0 for k, v in references.items()):
        return None
    mean = geometric_mean(round(scores[k] / v, 4) for k, v in references.items())
    return round(mean, 4) if mean is not None else None


def _combined_score(workloads: tuple[HepWorkload, ...], scaling: float | None) -> float | None:
    counted = [(w.normalised, w.weight) for w in workloads if w.weight > 0]
    if not counted or scaling is None:
        return None
    total = math.fsum(weight for _, weight in counted)
    logs = []
    for value, weight in counted:
        if value is None or value <= 0:
            return None
        logs.append(weight * math.log(value))
    return math.exp(math.fsum(logs) / total) * scaling


def judge_hep(detail: HepScore) -> tuple[list[ImportedMeasure], list[Contradiction], list[ImportTrouble]]:
    """Measures in the tool's own unit (a score), with the spread of the runs."""
    name = detail.name or "HEPscore"
    troubles: list[ImportTrouble] = []
    contradictions: list[Contradiction] = []
    measures: list[ImportedMeasure] = []
    if not detail.measured:
        score_text = "none" if detail.score is None else f"{detail.score:g}"
        troubles.append(ImportTrouble(id="hepscore.not-measured", subject=name, said=score_text, fatal=True))
    elif detail.score is not None:
        measures += make_measures(
            name, ("score", detail.score, ""), conditions=_score_conditions(detail.workloads),
            invalid=f"its status is {detail.status}" if _has_failed(detail.status) else "",
        )  # fmt: skip
        if detail.recomputed is None:
            troubles.append(ImportTrouble(id="hepscore.not-recomputed", subject=name))
        else:
            contradictions += compare_claim(
                "hepscore.score", name, detail.score, detail.recomputed,
                "weighted geometric mean of the workloads' median runs × scaling",
                1e-5, 2e-4 * max(1.0, detail.scaling or 1.0) / 2,
            )  # fmt: skip
    if _has_failed(detail.status):
        troubles.append(ImportTrouble(id="hepscore.status", subject=name, said=detail.status or ""))
    for w in detail.workloads:
        if w.normalised is not None:
            values = tuple(r.value for r in w.runs if r.value is not None)
            seconds = sum(r.seconds or 0.0 for r in w.runs)
            measures += make_measures(
                w.name, ("score", w.normalised, ""), runs=values, of="median", seconds=seconds,
                conditions=_workload_conditions(w),
                invalid=next((f"its log says {r.log}"[:120] for r in w.runs if r.log not in (None, "ok")), ""),
            )  # fmt: skip
        troubles += [
            ImportTrouble(id="hepscore.workload-log", subject=f"{w.name} {r.name}", said=r.log)
            for r in w.runs
            if r.log is not None and r.log != "ok"
        ]
        if w.normalised is None:
            troubles.append(ImportTrouble(id="hepscore.workload-without-score", subject=w.name))
        if detail.repetitions and len(w.runs) < detail.repetitions:
            troubles.append(ImportTrouble(id="hepscore.runs-missing", subject=w.name, said=f"{len(w.runs)}"))
        contradictions += _check_stored_medians(w)
    return measures, contradictions, troubles[:100]


def _has_failed(status: str | None) -> bool:
    return status is not None and status.lower() != "success"


def _score_conditions(workloads: Sequence[HepWorkload]) -> dict[str, str]:
    """Of a score: those of all its workloads, each under its name."""
    return {f"{w.name} {name}": value for w in workloads for name, value in _workload_conditions(w).items()}


def _workload_conditions(w: HepWorkload) -> dict[str, str]:
    conditions = {"version": w.version} if w.version else {}
    if w.copies is not None:
        conditions["copies"] = f"{w.copies} × {count_noun(w.threads_per_copy or 1, 'thread')}"
    if w.events_per_thread is not None:
        conditions["events a thread"] = str(w.events_per_thread)
    return conditions


def _check_stored_medians(w: HepWorkload) -> list[Contradiction]:
    """The stored value of every counted sub-score must lie within its runs."""
    contradictions = []
    for key in w.ref:
        runs = [r.scores[key] for r in w.runs if key in r.scores]
        stored = w.chosen.get(key)
        if stored is None or not runs:
            continue
        slack = 1e-3 * max(map(abs, runs))
        if not min(runs) - slack <= stored <= max(runs) + slack:
            contradictions.append(
                Contradiction(
                    id="hepscore.workload-score", subject=f"{w.name} {key}", claimed=stored,
                    recomputed=median(runs), rule="median of the runs",
                )
            )  # fmt: skip
    return contradictions


def list_facts(detail: HepScore) -> list[Noted]:
    facts = make_facts(
        ("scaling", detail.scaling),
        ("repetitions", detail.repetitions),
        ("reference machine", detail.reference),
        ("status", detail.status),
        ("score per core", detail.score_per_core),
    )
    for w in detail.workloads:
        if w.copies is not None and w.threads_per_copy is not None:
            both = (("copies", w.copies), ("threads per copy", w.threads_per_copy))
            facts += make_facts(*both, subject=f"workload:{w.name}")
    return [*facts, *parse_uname(detail.environment.get("system"))[1]]


def parse_hep_workload(source: ImportSource) -> ImportResult:
    """A workload's own `…_summary.json`, in its old layout (everything at the top) or the new one."""
    document = json_text.decode_untyped(source.data, "hep-workload")
    top = mapping_or_empty(document)
    report, info = mapping_or_empty(top.get("report")) or top, mapping_or_empty(top.get("run_info")) or top
    scores = numeric_members(mapping_or_empty(report.get("wl-scores")))
    if not scores:
        raise ImportRefusedError('hep-workload: no number in its "wl-scores"', "check the workload's own log")
    app = mapping_or_empty(top.get("app"))
    name = text_or_number(app.get("description")) or text_or_number(report.get("description")) or "workload"
    old_app = mapping_or_empty(report.get("app"))
    name = text_or_number(old_app.get("description")) or name if name == "workload" else name
    copies, threads = (
        parse_integer(info.get("copies", info.get("ncopies"))),
        parse_integer(info.get("threads_per_copy")),
    )
    log = report.get("log")
    troubles = []
    if isinstance(log, str) and log != "ok":
        troubles.append(ImportTrouble(id="hepscore.workload-log", subject=name, said=log[:200]))
    done = text_or_number(mapping_or_empty(report.get("status")).get("successful/all"))
    if done and done.partition("/")[0] != done.partition("/")[2]:
        troubles.append(ImportTrouble(id="hepscore.copies-failed", subject=name, said=done))
    events = parse_integer(info.get("events_per_thread"))
    app_values = (
        ("version", text_or_number(app.get("version"))), ("copies", copies), ("threads", threads),
        ("events a thread", events),
    )  # fmt: skip
    conditions = {label: str(value) for label, value in app_values if value is not None}
    return ImportResult(
        kind="hep-workload", tool="hep-workload", version=text_or_number(app.get("version")),
        measures=tuple(
            ImportedMeasure(
                workload=f"{name} {key}"[:200], metric="throughput", value=v, unit="events/s", conditions=conditions
            )
            for key, v in scores.items()
        ),
        facts=tuple(make_facts(("copies", copies), ("threads per copy", threads), ("events per thread", events))),
        troubles=tuple(troubles),
    )  # fmt: skip


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and len(str(value)) < 500
