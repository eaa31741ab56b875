"""One file that a node answered with, made small: a recording, another tool's result, or the JSON of a triage.

It is hostile input: bounded bytes and values, checked against types, and never more than a text or a number to us.
"""

import os
from pathlib import Path
from typing import Union

import msgspec

from app.failure import Failure
from app.recording.reader import BrokenRecording, events_of, uncollected
from app.recording.sides import another_tools
from probes.lossless_json import Decoder
from probes.safe_read import read_named
from probes.types import Json
from scenarios import events as ev
from scenarios.compare.run_summary import MOST_FACTS, MOST_FINDINGS, READ, FactKey, FigureKey, Load, take
from scenarios.peers.facts import spelt
from scenarios.peers.node import Hardware, hardware, loads_of, measured
from scenarios.ranges import is_showable

MOST_JSON = 16 << 20  # bytes: a host of a thousand disks has 2 MiB
_NAME = 255  # characters of a host's name

_decoder = Decoder(Union[READ])  # noqa: UP007


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one answer. `host`: as it calls itself. `wrong`: why there is nothing else. `facts` are spelt."""

    host: str = ""
    what: str = ""
    wrong: str = ""
    skipped: bool = False  # it said itself that it did not measure
    logs: dict[FigureKey, float] = {}
    loads: dict[FigureKey, Load] = {}
    hardware: Hardware = ()
    findings: tuple[str, ...] = ()
    looked: bool = False
    facts: dict[FactKey, str] = {}
    unread: tuple[FactKey, ...] = ()


class _Finding(msgspec.Struct):
    id: str


class _Absent(msgspec.Struct):
    fact: str


class _Triage(msgspec.Struct):
    schema: str
    scenario: str
    status: str
    facts: dict[str, Json]
    findings: list[_Finding] = []
    absent: list[_Absent] = []
    reason: str | None = None


_triage = msgspec.json.Decoder(_Triage)
_loads: dict[FigureKey, Load] = {}


def summary(path: Path) -> Summary:
    """Never raises for what the file holds."""
    with uncollected():
        try:
            return _of_json(path) if path.name.endswith(".json") else _of_recording(path)
        except (Failure, OSError, ValueError) as why:
            words = str(getattr(why, "text", why)).removeprefix(f"{path}: ")  # alike for many nodes
            return Summary(wrong=words[:400])


def _of_recording(path: Path) -> Summary:
    try:
        run = take(events_of(path, _decoder), path.name, spread=False)
    except BrokenRecording as no_recording:
        run = another_tools(path, path.name, no_recording)
    global _loads
    node = measured(run, run.host)
    if _loads != (loads := loads_of(run)):
        _loads = loads  # like nodes have them alike: one object crosses to another process once a batch
    return Summary(
        host=run.host[:_NAME], what=run.scenario, logs=node.logs, loads=_loads, hardware=node.hardware,
        findings=run.findings, looked=run.looked, facts=spelt(run.facts), unread=tuple(run.absent),
        skipped=run.status == "skipped" and not node.logs,
    )  # fmt: skip


def _of_json(path: Path) -> Summary:
    data = read_named(path, MOST_JSON)
    try:
        found = _triage.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"is no triage of hostdx: {' '.join(str(error).split())[:200]}") from None
    if found.schema != ev.SCHEMA or found.scenario != "triage":
        raise ValueError("is no triage of hostdx (`hostdx triage --json`)")
    facts = {
        _key(label): value for label, value in list(found.facts.items())[:MOST_FACTS] if is_showable(value)
    }
    name = facts.get(("host", "name"))
    return Summary(
        host=name[:_NAME] if isinstance(name, str) else "",
        what=found.scenario,
        hardware=hardware(facts),
        findings=tuple(dict.fromkeys(one.id[:_NAME] for one in found.findings[:MOST_FINDINGS])),
        looked=True,
        facts=spelt(facts),
        unread=tuple(_key(one.fact) for one in found.absent[:MOST_FACTS]),
        skipped=found.status == "skipped",
    )


def _key(label: str) -> FactKey:
    """`disk:sda model` → ("disk:sda", "model"), as the JSON of a triage spells them."""
    subject, space, name = label.partition(" ")
    return (subject, name) if space else ("", label)


def readable(path: str) -> bool:
    """By its name: what a folder of answers may hold beside others' files."""
    name = os.path.basename(path)  # noqa: PTH119 (a hundred thousand of them)
    return name.endswith((".jsonl", ".jsonl.gz", ".json")) and not name.startswith(".")
