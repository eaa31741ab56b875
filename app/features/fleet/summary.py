"""One file that a node answered with, made small: a recording, another tool's result, or the JSON of a triage.

It is hostile input: bounded bytes and values, checked against types, and never more than a text or a number to us.
"""

import os
from pathlib import Path
from typing import Union

import msgspec

from hostdx.app.recordings.reader import BrokenRecording, pause_garbage_collection, read_events
from hostdx.app.recordings.sides import read_foreign_run_summary
from hostdx.app.terminal.failure import Failure
from hostdx.probes.files.safe_read import read_trusted_file
from hostdx.probes.reading.lossless_json import Decoder
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import (
    MAX_FACTS,
    MAX_FINDINGS,
    READ,
    FactKey,
    FigureKey,
    PlannedLoad,
    summarise_run,
)
from hostdx.scenarios.analysis.peers.facts import comparable_fact_texts
from hostdx.scenarios.analysis.peers.node import Hardware, hardware_of_facts, node_of_run, planned_loads_of
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.ranges import is_showable

MAX_JSON_BYTES = 16 << 20  # bytes: a host of a thousand disks has 2 MiB
_NAME = 255  # characters of a host's name

_decoder = Decoder(Union[READ])  # noqa: UP007


class AnswerSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one answer. `host`: as it calls itself. `wrong`: why there is nothing else. `facts` are spelt."""

    host: str = ""
    scenario: str = ""
    wrong: str = ""
    skipped: bool = False  # it said itself that it did not measure
    logs: dict[FigureKey, float] = {}
    loads: dict[FigureKey, PlannedLoad] = {}
    hardware: Hardware = ()
    findings: tuple[str, ...] = ()
    looked: bool = False
    facts: dict[FactKey, str] = {}
    unread: tuple[FactKey, ...] = ()


class _TriageFinding(msgspec.Struct):
    id: str


class _TriageAbsent(msgspec.Struct):
    fact: str


class _TriageAnswer(msgspec.Struct):
    schema: str
    scenario: str
    status: str
    facts: dict[str, Json]
    findings: list[_TriageFinding] = []
    absent: list[_TriageAbsent] = []
    reason: str | None = None


_triage = msgspec.json.Decoder(_TriageAnswer)
_loads: dict[FigureKey, PlannedLoad] = {}


def summarise_answer(path: Path) -> AnswerSummary:
    """Never raises for what the file holds."""
    with pause_garbage_collection():
        try:
            return _summary_of_triage(path) if path.name.endswith(".json") else _summary_of_recording(path)
        except (Failure, OSError, ValueError) as why:
            words = str(getattr(why, "text", why)).removeprefix(f"{path}: ")  # alike for many nodes
            return AnswerSummary(wrong=words[:400])


def _summary_of_recording(path: Path) -> AnswerSummary:
    try:
        run = summarise_run(read_events(path, _decoder), path.name, spread=False)
    except BrokenRecording as no_recording:
        run = read_foreign_run_summary(path, path.name, no_recording)
    global _loads
    node = node_of_run(run, run.host)
    if _loads != (loads := planned_loads_of(run)):
        _loads = loads  # like nodes have them alike: one object crosses to another process once a batch
    return AnswerSummary(
        host=run.host[:_NAME], scenario=run.scenario, logs=node.logs, loads=_loads, hardware=node.hardware,
        findings=run.findings, looked=run.looked, facts=comparable_fact_texts(run.facts), unread=tuple(run.absent),
        skipped=run.status == "skipped" and not node.logs,
    )  # fmt: skip


def _summary_of_triage(path: Path) -> AnswerSummary:
    data = read_trusted_file(path, MAX_JSON_BYTES)
    try:
        triage = _triage.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"is no triage of hostdx: {' '.join(str(error).split())[:200]}") from None
    if triage.schema != ev.SCHEMA or triage.scenario != "triage":
        raise ValueError("is no triage of hostdx (`hostdx triage --json`)")
    facts = {
        _fact_key(label): value
        for label, value in list(triage.facts.items())[:MAX_FACTS]
        if is_showable(value)
    }
    name = facts.get(("host", "name"))
    return AnswerSummary(
        host=name[:_NAME] if isinstance(name, str) else "",
        scenario=triage.scenario,
        hardware=hardware_of_facts(facts),
        findings=tuple(dict.fromkeys(item.id[:_NAME] for item in triage.findings[:MAX_FINDINGS])),
        looked=True,
        facts=comparable_fact_texts(facts),
        unread=tuple(_fact_key(item.fact) for item in triage.absent[:MAX_FACTS]),
        skipped=triage.status == "skipped",
    )


def _fact_key(label: str) -> FactKey:
    """`disk:sda model` → ("disk:sda", "model"), as the JSON of a triage spells them."""
    subject, space, name = label.partition(" ")
    return (subject, name) if space else ("", label)


def is_answer_file(path: str) -> bool:
    """By its name: what a folder of answers may hold beside others' files."""
    name = os.path.basename(path)  # noqa: PTH119 (a hundred thousand of them)
    return name.endswith((".jsonl", ".jsonl.gz", ".json")) and not name.startswith(".")
