"""Events whose every text is an attack, made from the event types themselves: a new field is attacked by itself."""

import json
import unicodedata
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from hostdx.app.recordings.reader import read_events
from hostdx.probes.reading.lossless_json import encode
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Plan
from tests.fakes.streams.event_types import EVERY

# ESC ] sets the title, ESC c resets, U+009B is CSI; DEL; direction changes; invisible ones; line separators; a mark
ATTACK = "\x1b]0;owned\x07\x1bc\x9b6n\x7f\x00\r\x08\u202e\u2066\u2069\u200e\u200f\u061c\u200b\ufeff\u2028\u2029\u0085!"
IN_EVENTS = ATTACK + "\udce9\udcc2\udc9b"  # bytes that are no UTF-8; two would be CSI
COPIES = 3  # of every event, each with names of its own that fit together
_FIXED = {"schema": ev.SCHEMA, "pid": 1 << 30, "survives_reboot": False}  # of no living process
_SAFE_CONTROLS = "\n"


def find_leaks(text: str) -> list[str]:
    """The code points that a terminal could act on, or that a reader does not see; line feeds are layout."""
    bad = (c for c in text if c not in _SAFE_CONTROLS and not c.isprintable() and c != "\xa0")
    return sorted({f"U+{ord(c):04X} {unicodedata.category(c)}" for c in bad})


def stream(status: ev.Status = "done") -> list[ev.AnyEvent]:
    """Every type of event in `COPIES` copies, `run` first and `end` last; the same name in every field."""
    infos = {kind: inspect.type_info(kind) for kind in EVERY.values()}
    events = [_build_event(infos[ev.Began], 0, 0.0)]
    between = [kind for kind in infos if kind not in (ev.Began, ev.RunEnded)]
    for copy in range(COPIES):
        events += [_build_event(infos[kind], copy, 1.0 + copy + n / 100) for n, kind in enumerate(between)]
    ended = _build_event(infos[ev.RunEnded], 0, 9.0)
    return [*events, msgspec.structs.replace(ended, status=status)]


def attack(recording: Path) -> list[ev.AnyEvent]:
    """A recording with the attack inside every text of it, the names of facts apart: views look for them."""
    out = []
    for event in read_events(recording):
        unchanged = {"name": event.name} if isinstance(event, ev.FactRead) else {}
        tree = _spoil(inspect.type_info(type(event)), "", json.loads(encode(event)))
        out.append(msgspec.convert(tree | unchanged, type(event)))
    return out


def write(path: Path, events: list[ev.AnyEvent]) -> Path:
    """As a stranger writes it, with the characters as they are where JSON allows that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(encode(event) + b"\n" for event in events))
    return path


def plan() -> Plan:
    return next(event.plan for event in stream() if isinstance(event, ev.Planned))


def _build_event(info: inspect.Type, copy: int, t: float) -> ev.AnyEvent:
    tree = _value(info, "", copy)
    assert isinstance(info, inspect.StructType) and isinstance(tree, dict)
    built: ev.AnyEvent = msgspec.convert({**tree, "type": info.tag, "t": t}, info.cls)
    return built


def _value(info: inspect.Type, name: str, copy: int) -> Any:
    text = f"n{copy}{IN_EVENTS}"
    if name in _FIXED:
        return _FIXED[name]
    match info:
        case inspect.StrType():
            return text
        case inspect.LiteralType():
            return info.values[copy % len(info.values)]
        case inspect.EnumType():
            return list(info.cls)[copy % len(info.cls)]
        case inspect.UnionType():
            members = [member for member in info.types if not isinstance(member, inspect.NoneType)]
            return _value(members[copy % len(members)], name, copy)
        case inspect.ListType() | inspect.VarTupleType():
            return [_value(info.item_type, name, n) for n in range(COPIES)]
        case inspect.TupleType():
            return [_value(item_type, name, copy) for item_type in info.item_types]
        case inspect.DictType() if name == "log_ratios":
            return {f"{text}|{text}|{text}": _value(info.value_type, "", copy)}
        case inspect.DictType():
            return {_value(info.key_type, name, n): _value(info.value_type, name, n) for n in range(COPIES)}
        case inspect.StructType():
            return {field.encode_name: _value(field.type, field.name, copy) for field in info.fields}
        case inspect.BoolType():
            return copy % 2 == 0
        case inspect.IntType():
            return 100 + copy
        case inspect.FloatType():
            return 0.5 + copy / 8
        case inspect.AnyType():
            return (text, [text, {text: text}], {text: [text, 1], f"{text}2": {text: text}})[copy % 3]
    raise AssertionError(f"a type of field that is not attacked yet: {info}")


def _spoil(info: inspect.Type, name: str, value: Any) -> Any:
    match info, value:
        case (inspect.LiteralType() | inspect.EnumType(), _) | (_, None):
            return value
        case inspect.UnionType(), _:
            members = [member for member in info.types if not isinstance(member, inspect.NoneType)]
            return _spoil(members[0], name, value)
        case inspect.StructType(), dict():
            types = {field.encode_name: field.type for field in info.fields}
            return {
                key: _spoil(types[key], key, inner) if key in types else inner for key, inner in value.items()
            }
        case inspect.DictType(), dict():
            return {_mix_in(key): _spoil(info.value_type, "", inner) for key, inner in value.items()}
        case ((inspect.ListType() | inspect.VarTupleType()), list()):
            return [_spoil(info.item_type, name, inner) for inner in value]
        case inspect.AnyType(), dict():
            return {_mix_in(key): _spoil(info, "", inner) for key, inner in value.items()}
        case inspect.AnyType(), list():
            return [_spoil(info, "", inner) for inner in value]
        case _, str():
            return value if name in _FIXED else _mix_in(value)
    return value


def _mix_in(text: str) -> str:
    """At its beginning too, so that no list cuts it off."""
    return "|".join(part[:1] + IN_EVENTS + part[1:] for part in text.split("|"))
