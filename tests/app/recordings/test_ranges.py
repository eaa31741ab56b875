"""Every number of a recording has a range in its type: what is beyond it is left out, counted and said, never shown."""

import json
import math
from collections.abc import Callable
from itertools import product
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import inspect

from hostdx.app.recordings.reader import BrokenRecording, load_recording, read_events
from hostdx.app.recordings.sides import read_run_summaries, read_run_summary
from hostdx.app.recordings.store import examine_recording, list_demo_arguments, resolve_recording
from hostdx.app.report import json_document
from hostdx.app.report.delivery import summary_lines
from hostdx.app.report.forms import markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.app.report.headline import read_recording_answer
from hostdx.app.tui.widgets.measuring.graphs import block_graph_lines
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.ranges import is_showable
from tests.app.recordings.test_recording import HEAD, block, write_recording
from tests.every_case import every_case
from tests.soak.extremes import on_screens
from tests.soak.figures import Figures
from tests.soak.recordings import show_everywhere
from tests.soak.strategies import all_recordings, event_types, range_edges

FIXTURES = Path(__file__).parents[2] / "fixtures"
EXTREMES = sorted((FIXTURES / "extremes").glob("*.jsonl"))
TRUE_ONES = sorted((FIXTURES / "recordings").glob("*.jsonl"))


def unbounded_in(info: inspect.Type, place: str) -> list[str]:
    match info:
        case inspect.IntType() | inspect.FloatType():
            return [] if info.ge is not None and info.le is not None else [place]
        case inspect.UnionType():
            inner = [(inner_type, "") for inner_type in info.types]
        case inspect.ListType() | inspect.VarTupleType():
            inner = [(info.item_type, "[]")]
        case inspect.TupleType():
            inner = [(item_type, "[]") for item_type in info.item_types]
        case inspect.DictType():
            inner = [(info.key_type, "{}"), (info.value_type, "{}")]
        case inspect.StructType():
            inner = [(field.type, f".{field.name}") for field in info.fields]
        case _:
            inner = []
    return [path for kind, name in inner for path in unbounded_in(kind, place + name)]


def test_every_number_of_every_event_has_a_range() -> None:
    assert [place for tag, info in event_types().items() for place in unbounded_in(info, tag)] == []


def test_the_edges_of_a_range_can_be_scaled_inverted_and_raised() -> None:
    """What the views do with a number without looking at it first."""
    numbers = [field.type for info in event_types().values() for field in info.fields]
    floats = [number for number in numbers if isinstance(number, inspect.FloatType)]
    assert floats
    for value in {float(edge) for number in floats for edge in range_edges(number)}:
        assert math.isfinite(value * 100)
        assert abs(value) < 1e-300 or math.isfinite(1 / value)


@every_case("path", [*TRUE_ONES, *map(resolve_recording, list_demo_arguments())])
def test_nothing_that_a_run_wrote_is_left_out(path: Path) -> None:
    assert not [event for event in read_events(path) if isinstance(event, ev.LeftOutLine)]


def test_what_crashed_a_view_is_shown(tmp_path: Path) -> None:
    figures = Figures("one")
    for path in EXTREMES:
        show_everywhere(path, figures, path.stem)
    on_screens([path.read_bytes() for path in EXTREMES], tmp_path, figures)
    assert not figures.wrong.total(), figures.wrong
    assert figures.counts["shown"] == figures.counts["replayed"] == len(EXTREMES)


@given(all_recordings())
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_recording_at_the_edges_of_its_types_crashes_no_view(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    """Thousands of them: `python -m tests.soak extremes`."""
    path = tmp_path_factory.mktemp("extremes") / "r.jsonl"
    path.write_bytes(data)
    figures = Figures("one")
    show_everywhere(path, figures, "here")
    assert not figures.wrong.total()


def test_a_line_out_of_range_is_left_out_counted_and_told_everywhere(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "r.jsonl", block(1.0), block(2.0), ev.RunEnded(t=3.0, status="done"))
    lines = path.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b'"IOPS":1.0', b'"IOPS":1e300')
    lines.insert(3, b'{"type":"fact","t":2.5,"name":"n","source":"s","value":' + b"9" * 400 + b"}\n")
    path.write_bytes(b"".join(lines))
    session = load_recording(path)
    assert len(session.blocks["w"]) == 1
    assert session.unsound == 2
    assert session.ended is not None
    assert json_document.run_as_json(session, None)["left_out"] == {"lines out of range": 2}
    assert read_run_summaries([path])[0].left_out == 2
    without = load_recording(
        write_recording(tmp_path / "sound.jsonl", block(1.0), ev.RunEnded(t=3.0, status="done"))
    )
    assert len(summary_lines(session, path)) > len(summary_lines(without, path))
    assert session.unsound_why in markdown.render_markdown(make_report_document(session, "r")).replace(
        "\\", ""
    )
    assert [e.why.partition(": ")[0] for e in read_events(path) if isinstance(e, ev.LeftOutLine)] == [
        "line 3",
        "line 4",
    ]


def test_no_comparison_holds_more_facts_than_a_host_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.scenarios.analysis.compare.run_summary.MAX_FACTS", 5)
    facts = [ev.FactRead(t=1.0, name=f"n{n}", value=n, source="s") for n in range(9)]
    [summary] = read_run_summaries([write_recording(tmp_path / "r.jsonl", *facts)])
    assert {name for subject, name in summary.facts if not subject} == {f"n{n}" for n in range(5)}
    assert summary.left_out == 4


def test_a_head_out_of_range_is_a_bad_recording_in_the_list(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(msgspec.json.encode(HEAD).replace(b'"seed":1', b'"seed":' + b"9" * 40) + b"\n")
    with pytest.raises(BrokenRecording, match=": line 1: "):
        load_recording(path)
    assert examine_recording(path).state == "unreadable"


def test_a_wrong_type_is_still_a_damaged_recording(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "r.jsonl", block(1.0))
    path.write_bytes(path.read_bytes().replace(b'"seconds":0.5', b'"seconds":"half"'))
    with pytest.raises(BrokenRecording, match=": line 2: "):
        load_recording(path)


@pytest.mark.parametrize("read", [load_recording, lambda path: read_run_summaries([path])])
def test_a_line_that_is_no_json_is_damaged_whatever_was_out_of_range_before(
    read: Callable[[Path], object], tmp_path: Path
) -> None:
    """A reader of some fields only came as far as the damage, and refused what the others had left out."""
    path = write_recording(tmp_path / "r.jsonl", block(1.0))
    line = b'{"type":"block","t":1.0,"seconds":-1.0,"workload":"w","variant":"A","histogram":[[1,2]x]}'
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(BrokenRecording, match=": line 3: "):
        read(path)


def test_a_headline_that_cannot_be_made_ends_no_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_recording(tmp_path / "r.jsonl", ev.RunEnded(t=3.0, status="done"))

    def raise_overflow(_session: object) -> None:
        raise OverflowError("cannot convert float infinity to integer")

    monkeypatch.setattr("hostdx.app.report.headline.find_headline_answer", raise_overflow)
    headline = read_recording_answer(examine_recording(path))[0]
    assert headline is not None
    assert headline.weight == "unknown"


def test_a_clock_that_jumped_back_draws_no_time_before_the_beginning() -> None:
    session = load_recording(FIXTURES / "extremes" / "clock-jumped-back.jsonl")
    for width, height in ((80, 20), (40, 8)):
        chart = "\n".join(
            "".join(part for part, _ in line) for line in block_graph_lines(session, "w", width, height)
        )
        assert "-8" not in chart
        assert "−8" not in chart


def test_values_without_a_type_are_bounded_in_size_and_depth() -> None:
    deep: list[object] = []
    for _ in range(100):
        deep = [deep]
    assert all(is_showable(value) for value in (None, True, "9" * 5000, 1 << 63, -1.5, [1, {"a": [2.0]}]))
    assert not any(is_showable(value) for value in (10**30, -1e308, [[1e306]], {"a": {"b": 10**400}}, deep))


def test_what_a_reader_of_all_fields_takes_one_of_some_takes_too(tmp_path: Path) -> None:
    """A line with two faults was left out by `report`, and damaged for `compare`."""
    lines = resolve_recording("demo:box").read_text().splitlines()
    events: dict[str, int] = {}
    for at, line in enumerate(lines):
        if "workload" in (event := json.loads(line)):
            events.setdefault(event["type"], at)
    outcomes = set()
    for at in events.values():
        event = json.loads(lines[at])
        for field, value in product(event.keys() - {"type", "workload"}, (-1e308, -1)):
            faulty = {name: value for name, value in event.items() if name != "workload"} | {field: value}
            faulty = {field: faulty[field], **faulty}  # the first fault of the line is this one
            path = tmp_path / f"{at}-{field}.jsonl"
            path.write_text("\n".join([*lines[:at], json.dumps(faulty), lines[-1]]) + "\n")
            is_readable = [_is_readable(read, path) for read in (load_recording, _summarise)]
            assert is_readable[1] or not is_readable[0], (event["type"], field)
            outcomes.add(is_readable[0])
    assert outcomes == {True, False}


def _summarise(path: Path) -> object:
    return read_run_summary(path, "a")


def _is_readable(read: Callable[[Path], object], path: Path) -> bool:
    try:
        read(path)
    except BrokenRecording:
        return False
    return True
