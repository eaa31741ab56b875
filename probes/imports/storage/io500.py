"""IO500: `result_summary.txt` and stdout of the script (to 2020) and of the program, and the program's `result.txt`.

"GB/s" of the script is GiB/s (its ior files say MiB/s ÷ 1024). A line that begins with `[      ]` never counts.
"""

import re
from collections.abc import Sequence

import msgspec

from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    MissingValue,
    Noted,
    make_measures,
    make_troubles,
)
from hostdx.probes.imports.numbers import GIB, parse_number, parse_printed_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage import io500_score as score

_TAG = r"\[(RESULT|SCOREX?|\s*)(-invalid)?\s*\]"
_PHASE = re.compile(
    rf"^{_TAG}\s+(?:(?:BW|IOPS)\s+phase\s+\w+\s+)?([A-Za-z][\w.-]*)\s+(\S+)\s+(GiB/s|GB/s|kIOPS|kiops)"
    r"\s*:\s*time\s+(\S+)\s+seconds(.*)$"
)
_SCORE = re.compile(
    rf"^{_TAG}\s+Bandwidth\s+(\S+)\s+(GiB/s|GB/s)\s*:\s*IOPS\s+(\S+)\s+kiops\s*:\s*TOTAL\s+(\S+)(.*)$"
)
_VERSION = re.compile(r"^IO500 version ?(.*?)\s*(?:\((standard|extended)\))?\s*$")
_SECTION = re.compile(r"^\[([A-Za-z][\w-]*)\]\s*$")
_PAIR = re.compile(r"^([A-Za-z][\w-]*)\s*=\s?(.*?)\s*$")
_MAX_PHASES = 1000
_MAX_NOTES = 50


class Io500Phase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`value` in GiB/s (IOR) or thousand operations a second; `text` as printed; `counted`: part of the score."""

    name: str
    value: float
    half: float
    text: str
    unit: str
    seconds: float | None = None
    counted: bool = True
    invalid: bool = False


def is_io500_result(source: ImportSource) -> bool:
    if source.contains_all(b"[ior-easy-write]", b"score") or source.contains_all(b"config-hash", b"[ior-"):
        return True
    return b"[RESULT" in source.data and (b"ior" in source.data or b"mdtest" in source.data)


def parse_io500(source: ImportSource) -> ImportResult:
    if b"\n[RESULT" in b"\n" + source.data:
        return _import_summary(source)
    return _import_result_file(source)


def _import_summary(source: ImportSource) -> ImportResult:
    phases: dict[str, Io500Phase] = {}
    scores: list[tuple[str, score.Scores]] = []
    version, mode, runs = None, None, 1
    errors: list[str] = []
    broken: list[str] = []
    for line in source.read_lines():
        text = line.strip()
        if match := _PHASE.match(text):
            phase = _make_phase(match)
            if phase is None:
                broken.append(text[:200])
                continue
            if scores and scores[-1][0] == "SCORE" and phase.counted and phase.name == "ior-easy-write":
                runs += 1  # another run's output follows: the last one stands
                phases, scores = {}, []
            if len(phases) < _MAX_PHASES:
                phases[phase.name] = phase
        elif match := _SCORE.match(text):
            scores.append(
                (
                    match[1],
                    score.Scores.from_texts(match[3], match[5], match[6], match[7], match[2], match[4]),
                )
            )
        elif (match := _VERSION.match(text)) and not phases:
            version, mode = match[1], match[2]
        elif "ERROR" in text and len(errors) < _MAX_NOTES:
            errors.append(text.lstrip("; ")[:300])
        elif text.startswith("[RESULT") and len(broken) < _MAX_NOTES:
            broken.append(text[:200])
    return _make_result(phases, scores, version=version, mode=mode, errors=errors, broken=broken, runs=runs)


def _make_phase(phase_line: re.Match[str]) -> Io500Phase | None:
    value = parse_printed_number(phase_line[4], significant=6)
    if value is None:
        return None
    counted = phase_line[1] == "RESULT"
    name = phase_line[3].replace("_", "-")
    bad = phase_line[2] is not None or "INVALID" in phase_line[7].upper()
    unit = "kIOPS" if phase_line[5].lower() == "kiops" else "GiB/s"
    return Io500Phase(
        name=name, value=value.value, half=value.half, text=phase_line[4], unit=unit,
        seconds=parse_number(phase_line[6]), counted=counted, invalid=bad,
    )  # fmt: skip


def _import_result_file(source: ImportSource) -> ImportResult:
    """The program's `result.txt`: a section a phase, `score = …`, and a hash over the scores."""
    section = ""
    head: dict[str, str] = {}
    sections: dict[str, dict[str, str]] = {}
    errors: list[str] = []
    began: str | None = None
    for line in source.read_lines():
        text = line.strip()
        if match := _SECTION.match(text):
            section = match[1]
            if len(sections) < _MAX_PHASES:
                sections.setdefault(section, {})
        elif text.startswith(";"):
            if "ERROR" in text and len(errors) < _MAX_NOTES:
                errors.append(text.lstrip("; ")[:300])
            elif "START" in text:
                began = text.partition("START")[2].strip()[:40] or None
        elif match := _PAIR.match(text):
            (sections.get(section, {}) if section and section != "run" else head)[match[1]] = match[2]
    phases: dict[str, Io500Phase] = {}
    for name, pairs in sections.items():
        if name in ("SCORE", "SCOREX", "run") or "score" not in pairs:
            continue
        word, _, rest = pairs["score"].partition(" ")
        value = parse_printed_number(word)
        if value is not None and (name in score.BW or name in score.MD or value.value > 0):
            phases[name] = Io500Phase(
                name=name, value=value.value, half=value.half, text=word, seconds=parse_number(pairs.get("t_delta")),
                unit="GiB/s" if name.startswith("ior") else "kIOPS",
                counted=name in score.BW or name in score.MD, invalid="INVALID" in rest.upper(),
            )  # fmt: skip
    scores = [
        (
            name,
            score.Scores.from_texts(s.get("BW", ""), s.get("MD", ""), *_split_first_word(s.get("SCORE", ""))),
        )
        for name in ("SCORE", "SCOREX")
        if (s := sections.get(name)) is not None
    ]
    version = head.get("version")
    return _make_result(
        phases, scores, version=version, mode=head.get("mode"), errors=errors, broken=[],
        hashes=_check_hashes(version or "", sections), began=began, processes=parse_number(head.get("procs")),
    )  # fmt: skip


def _check_hashes(version: str, sections: dict[str, dict[str, str]]) -> list[list[Contradiction]]:
    """Of the score and, in an extended run, of SCOREX, which is over the optional phases, without the version: what the
    hash of each contradicts.
    """
    checked: list[list[Contradiction]] = []
    for section, belong, of in (
        ("SCORE", (*score.BW, *score.MD), version),
        ("SCOREX", score.EXTENDED, None),
    ):
        totals = sections.get(section, {})
        if not (stored := totals.get("hash")):
            continue
        texts = {
            name: sections[name]["score"].partition(" ")[0]
            for name in belong
            if "score" in sections.get(name, {})
        }
        is_invalid = "INVALID" in totals.get("SCORE", "").upper()
        hashed = score.matching_result_hash(of, texts, totals, stored, invalid=is_invalid)
        rule = f"hash over {'version, ' if of is not None else ''}phase scores, MD, BW and SCORE"
        wrong = Contradiction(id="io500.hash", subject=section, claimed=stored, recomputed=hashed, rule=rule)
        checked.append([wrong] if hashed != stored.upper() else [])
    return checked


def _split_first_word(text: str) -> tuple[str, str]:
    word, _, rest = text.partition(" ")
    return word, rest


def _make_result(
    phases: dict[str, Io500Phase], scores: list[tuple[str, score.Scores]], *, version: str | None,
    mode: str | None, errors: list[str], broken: list[str], runs: int = 1, hashes: Sequence[list[Contradiction]] = (),
    began: str | None = None, processes: float | None = None,
) -> ImportResult:  # fmt: skip
    if not any(p.counted for p in phases.values()):
        raise ImportRefusedError(
            "IO500: no phase has a value", "import result_summary.txt or result.txt of a finished run"
        )
    plain = next((s for tag, s in reversed(scores) if tag == "SCORE"), None)
    extended = next((s for tag, s in reversed(scores) if tag == "SCOREX"), None)
    again = score.recompute_scores({n: (p.value, p.half) for n, p in phases.items()})
    lost = tuple(n for n in (*score.BW, *score.MD) if n not in phases)
    contradictions = score.find_contradictions(plain, again)
    bad = [n for n, p in phases.items() if p.invalid]
    troubles = [ImportTrouble(id="io500.phase-invalid", subject=n) for n in bad]
    if plain is not None and plain.invalid:
        troubles.append(ImportTrouble(id="io500.run-invalid", subject="TOTAL"))
    troubles += make_troubles(("io500.no-score", plain is None))
    dropped = [n for n, p in phases.items() if p.value <= 0 and (n in score.BW or n in score.MD)]
    troubles += [ImportTrouble(id="io500.phase-dropped", subject=n, said=phases[n].text) for n in dropped]
    troubles += [ImportTrouble(id="io500.error-line", said=line) for line in errors]
    troubles += [ImportTrouble(id="io500.line-broken", said=line) for line in broken[:5]]
    troubles += make_troubles(("io500.several-runs", runs > 1 and runs))
    if extended is not None:
        beyond = score.recompute_scores({n: (p.value, p.half) for n, p in phases.items()}, extended=True)
        contradictions += score.find_contradictions(extended, beyond, "SCOREX ")
    contradictions += [claim for claims in hashes for claim in claims]
    facts = [Noted(name="processes", value=int(processes))] if processes is not None else []
    if mode:
        facts.append(Noted(name="mode", value=mode))
    return ImportResult(
        kind="io500",
        tool="IO500",
        version=version or None,
        began=began,
        measures=_phase_measures(phases, again, version),
        seconds=sum(p.seconds or 0.0 for p in phases.values()),
        facts=tuple(facts),
        missing=tuple(MissingValue(name=n, reason="no such phase in the file") for n in lost),
        contradictions=tuple(contradictions),
        troubles=tuple(troubles),
        recomputed=("bandwidth score", "metadata score", "total score", *(("hash",) if hashes else ())),
    )


def _phase_measures(
    phases: dict[str, Io500Phase], again: score.Scores, version: str | None
) -> tuple[ImportedMeasure, ...]:
    conditions = {"version": version or "not given"}
    measures = [
        score.phase_measure(
            p.name, p.value, bandwidth=p.unit == "GiB/s", seconds=p.seconds or 0.0, conditions=conditions,
            invalid="[INVALID] in the result" if p.invalid else "",
        )
        for p in phases.values()
        if p.value > 0
    ]  # fmt: skip
    for name, value, scale, unit in (
        ("io500 total", again.total, 1, ""),
        ("io500 bandwidth", again.bw, GIB, "B/s"),
        ("io500 metadata", again.md, 1000, "IOPS"),
    ):
        # follows from the phases, so it is not judged beside them
        scaled = value * scale if value is not None else None
        measures += make_measures(name, ("score", scaled, unit), judged=False, conditions=conditions)
    return tuple(measures)
