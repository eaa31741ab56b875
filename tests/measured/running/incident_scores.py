"""What the incident book, sar and atop say of the faults that `incident_faults` planted.

    python -m tests.measured.running.incident_scores FOLDER

A fault's incident is the one that has most in common with its time. Right are its cause, its culprit (nobody, where
nobody takes anything) and a begin at most 20 s off. Everything else that was reported is listed: the machine's
neighbours are no part of the plan.
"""

import argparse
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hostdx.app.features.watch.incidents.answer import judge_book
from hostdx.app.features.watch.incidents.book import read_book
from hostdx.probes.imports import kinds
from hostdx.probes.imports.source import ImportSource
from hostdx.scenarios.analysis.incidents.findings import symptom_text
from hostdx.scenarios.analysis.incidents.incidents import Incident, Timeline, judge_samples

MAX_BEGIN_OFF_S = 20.0
CONVERSIONS = {
    "sar": ("sar.data", ["sadf", "-j", "sar.data", "--", "-A"]),
    "sar text": ("sar.data", ["sar", "-A", "-f", "sar.data"]),
    "atop -P": ("atop.data", ["atop", "-r", "atop.data", "-P", "ALL"]),
    "atop -J": ("atop.data", ["atop", "-r", "atop.data", "-J", "ALL"]),
}


def read_timelines(folder: Path) -> Iterator[tuple[str, Timeline, float]]:
    """Yield what each recorder's file says, with the epoch of its first sample."""
    book = folder / "state/hostdx/incidents"
    answer = judge_book(read_book(book), book)
    if answer.timeline is not None:
        yield "book", answer.timeline, answer.first_s
    for name, (file, command) in CONVERSIONS.items():
        if not (folder / file).exists():
            continue
        text = folder / f"{name.replace(' ', '')}.txt"
        with text.open("wb") as output:
            environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
            subprocess.run(command, cwd=folder, stdout=output, env=environment, check=True)
        timeline = judge_samples(kinds.parse_import(ImportSource.read(text)))
        if timeline is not None:
            yield name, timeline, datetime.fromisoformat(timeline.times.first).replace(tzinfo=UTC).timestamp()


def common_share(incident: Incident, fault: dict[str, Any], first_s: float) -> float:
    """Return how much of both together is common to both."""
    began, ended = first_s + incident.began_s, first_s + incident.ended_s
    common = min(ended, fault["ended"]) - max(began, fault["began"])
    return max(0.0, common) / (max(ended, fault["ended"]) - min(began, fault["began"]))


def print_score(name: str, timeline: Timeline, first_s: float, faults: Sequence[dict[str, Any]]) -> None:
    print(f"{name}: {timeline.samples} samples")
    incidents = list(timeline.incidents)
    right = {"found": 0, "cause": 0, "culprit": 0, "begin": 0}
    for fault in faults:
        best = max(incidents, key=lambda incident: common_share(incident, fault, first_s), default=None)
        words = f"  {fault['kind']:<8}"
        if best is None or common_share(best, fault, first_s) < 0.1:
            print(f"{words}not found")
            continue
        incidents.remove(best)
        culprit = best.culprit.name if best.culprit is not None else ""
        begin_off, end_off = (
            first_s + best.began_s - fault["began"], first_s + best.ended_s - fault["ended"],
        )  # fmt: skip
        marks = {
            "found": True,
            "cause": best.cause in fault["causes"],
            "culprit": culprit == fault["culprit"] and culprit not in fault["decoys"],
            "begin": abs(begin_off) <= MAX_BEGIN_OFF_S,
        }
        for mark, is_right in marks.items():
            right[mark] += is_right
        wrong = ", ".join(mark for mark, is_right in marks.items() if not is_right)
        share = f" {best.culprit.share:.2f} {best.culprit.metric}" if best.culprit is not None else ""
        print(
            f"{words}{best.cause:<12}{culprit or '–'}{share}; begin {begin_off:+.0f} s, end {end_off:+.0f} s"
            f"{'; WRONG: ' + wrong if wrong else ''}; load {fault['load']:.1f}; {symptom_text(best.symptoms[0])}"
        )
    print("  right of", len(faults), ":", ", ".join(f"{mark} {count}" for mark, count in right.items()))
    for incident in incidents:
        began, ended = (
            datetime.fromtimestamp(first_s + at_s, UTC).strftime("%H:%M:%S")
            for at_s in (incident.began_s, incident.ended_s)
        )
        culprit = incident.culprit.name if incident.culprit is not None else "–"
        symptoms = "; ".join(map(symptom_text, incident.symptoms[:3]))
        print(f"  beside: {began} to {ended} {incident.cause}, {culprit}: {symptoms}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    entries = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
    faults = [entry for entry in entries if "culprit" in entry]
    for fault in faults:
        began = datetime.fromtimestamp(fault["began"], UTC).strftime("%H:%M:%S")
        print(f"{began} {fault['kind']}, {fault['ended'] - fault['began']:.0f} s")
    for name, timeline, first_s in read_timelines(folder):
        print_score(name, timeline, first_s, faults)
    print(*(entry for entry in entries if entry["kind"] == "cost"))


if __name__ == "__main__":
    main()
