"""`hypothesis` strategies of whole recordings, made from the event types: the edges of every range first.

A new event, field or range is fuzzed by itself. Half of the recordings are made of nothing but the types; the others
are a true one whose numbers are pushed to their edges, so that views find the names and tables that they look for.
"""

import copy
import functools
from typing import Any

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from hostdx.app.recordings.reader import read_events
from hostdx.scenarios.contract import events as ev
from tests.fakes.streams.event_types import EVERY, as_formerly
from tests.soak.recordings import SOURCES

MAX_LINES = 40
LARGEST = 1e308
_NAMES = ("w", "A", "B", "IOPS", "null", "storage", "", "x" * 300, "\x1b[31m|`<b>")
_TEXTS: dict[str, tuple[str, ...]] = {
    "schema": (ev.SCHEMA,),
    "order": ("0110 1001", "ABBA", "BAAB ABBA", "", "0", "01" * 300, "zz zz"),
    "wall": ("2026-11-22T16:32:49Z", "2026-11-22", "", "9" * 30, "0000-00-00T99:99:99+99:99"),
    "unit": ("IOPS", "s", "ns", "B", "MB/s", "ns/packet", "1/s", "", "Hz"),
}
_KEYS = ("IOPS", "IOPS|A|B", "IOPS|B|A", "A", "B", "vda", "PSS", "|", "")
EDGES_OF_ANY: tuple[Any, ...] = (
    0, 1, -1, 1e308, -1e308, 5e-324, 2**63, 2**64, 10**40, int("9" * 400), None, True, "", "1e999", [], {},
    [[1e308] * 3], {"a": {"b": [None, -1e305]}},
)  # fmt: skip


@functools.cache
def event_types() -> dict[str, inspect.StructType]:
    types = {tag: inspect.type_info(kind) for tag, kind in EVERY.items()}
    return {tag: info for tag, info in types.items() if isinstance(info, inspect.StructType)}


def range_edges(info: inspect.IntType | inspect.FloatType) -> list[float]:
    """Where the range ends, and what is next to nothing."""
    low = info.ge if info.ge is not None else -LARGEST
    high = info.le if info.le is not None else LARGEST
    if isinstance(info, inspect.IntType):
        inner: list[float] = [int(low), int(high), 0, 1, 2]
    else:
        inner = [float(low), float(high), 0.0, 1.0, 5e-324, -5e-324, 1e-300, 0.5]
    return [value for value in inner if low <= value <= high]


def values_beyond(info: inspect.IntType | inspect.FloatType) -> list[float]:
    """What the range is there for."""
    if isinstance(info, inspect.IntType):
        return [-(2**63), 2**63, 10**400]
    return [-LARGEST, LARGEST, -1.0]


def numbers_of(info: inspect.IntType | inspect.FloatType) -> st.SearchStrategy[Any]:
    inner = range_edges(info)
    if isinstance(info, inspect.IntType):
        any_inside: st.SearchStrategy[Any] = st.integers(int(min(inner)), int(max(inner)))
    else:
        any_inside = st.floats(min(inner), max(inner), allow_nan=False)
    usual = st.sampled_from(inner)
    return st.one_of(usual, usual, usual, any_inside)


def any_value() -> st.SearchStrategy[Any]:
    return st.sampled_from(EDGES_OF_ANY)


def values_of(info: inspect.Type, name: str = "") -> st.SearchStrategy[Any]:
    match info:
        case inspect.StrType():
            return st.sampled_from(_TEXTS.get(name, _NAMES))
        case inspect.LiteralType():
            return st.sampled_from(info.values)
        case inspect.EnumType():
            return st.sampled_from([member.value for member in info.cls])
        case inspect.UnionType():
            return st.one_of(*(values_of(member, name) for member in info.types))
        case inspect.NoneType():
            return st.none()
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType() | inspect.FloatType():
            return numbers_of(info)
        case inspect.ListType() | inspect.VarTupleType():
            return st.lists(values_of(info.item_type, name), max_size=4)
        case inspect.TupleType():
            return st.tuples(*(values_of(item_type, name) for item_type in info.item_types)).map(list)
        case inspect.DictType():
            return st.dictionaries(st.sampled_from(_KEYS), values_of(info.value_type, name), max_size=3)
        case inspect.StructType():
            return struct_values(info.cls)
        case inspect.AnyType():
            return any_value()
    raise AssertionError(f"a type of field that is not fuzzed yet: {info}")


@functools.cache
def struct_values(kind: type) -> st.SearchStrategy[dict[str, Any]]:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    fixed = {"type": st.just(info.tag)} if info.tag else {}
    return st.fixed_dictionaries(
        fixed | {field.encode_name: values_of(field.type, field.name) for field in info.fields}
    )


def made_recordings() -> st.SearchStrategy[bytes]:
    """`run` first, anything in any order after it."""
    others = st.one_of(*(struct_values(kind) for kind in EVERY.values()))
    begun = st.tuples(struct_values(ev.Began), struct_values(ev.Planned))
    rng = st.randoms(use_true_random=False)
    return st.tuples(begun, st.lists(others, max_size=MAX_LINES), rng).map(
        lambda drawn: encode_lines([*drawn[0], *(as_formerly(tree, drawn[2]) for tree in drawn[1])])
    )


@functools.cache
def _true_ones() -> list[list[dict[str, Any]]]:
    return [[msgspec.to_builtins(event) for event in read_events(path)] for path in sorted(SOURCES)]


@st.composite
def pushed_recordings(draw: st.DrawFn) -> bytes:
    """A true one, thinned out, some of its numbers at the edges of their ranges or just beyond."""
    rng = draw(st.randoms(use_true_random=False))
    source = rng.choice(_true_ones())
    trees = source[:1] + [tree for tree in source[1:] if rng.random() < 4 * MAX_LINES / len(source)]
    trees = copy.deepcopy(trees)
    for tree in rng.sample(trees[1:], min(len(trees) - 1, rng.choice((1, 3, 30)))):
        push(rng, event_types()[tree["type"]], tree, rng.choice((0.1, 0.5, 1.0)))
    return encode_lines([as_formerly(tree, rng) for tree in trees])


def push(rng: Any, info: inspect.Type, value: Any, share: float) -> Any:
    match info, value:
        case inspect.StructType(), dict():
            types = {field.encode_name: field.type for field in info.fields}
            for key in value:
                if key in types:
                    value[key] = push(rng, types[key], value[key], share)
            return value
        case inspect.UnionType(), _:
            fitting = [member for member in info.types if not isinstance(member, inspect.NoneType)]
            return value if value is None else push(rng, fitting[0], value, share)
        case inspect.DictType(), dict():
            return {key: push(rng, info.value_type, inner, share) for key, inner in value.items()}
        case ((inspect.ListType() | inspect.VarTupleType()), list()):
            return [push(rng, info.item_type, inner, share) for inner in value]
        case inspect.TupleType(), list():
            return [push(rng, *pair, share) for pair in zip(info.item_types, value, strict=False)]
        case inspect.AnyType(), dict():
            return {key: push(rng, info, inner, share / 3) for key, inner in value.items()}
        case inspect.AnyType(), list():
            return [push(rng, info, inner, share / 3) for inner in value]
        case inspect.AnyType(), _ if rng.random() < share / 3:
            return rng.choice(EDGES_OF_ANY)
        case ((inspect.IntType() | inspect.FloatType()), _) if rng.random() < share:
            return rng.choice(values_beyond(info) if rng.random() < 0.05 else range_edges(info))
    return value


def encode_lines(trees: list[dict[str, Any]]) -> bytes:
    return b"".join(msgspec.json.encode(_make_plain(tree)) + b"\n" for tree in trees)


def _make_plain(value: Any) -> Any:
    """Whole numbers of any length, which msgspec writes up to 64 bits only."""
    if isinstance(value, dict):
        return {key: _make_plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_make_plain(inner) for inner in value]
    return msgspec.Raw(str(value).encode()) if type(value) is int and abs(value) >= 1 << 63 else value


def all_recordings() -> st.SearchStrategy[bytes]:
    return st.one_of(made_recordings(), pushed_recordings())
