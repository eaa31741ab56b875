"""Limits of a recording, hostile ones, and files that are none."""

import gzip
import json
import os
import random
import re
import shutil
from pathlib import Path

import pytest

from hostdx.app.cli.entry import run_command_line
from hostdx.app.recordings import reader, store
from hostdx.app.recordings.limits import RATIO_LIMIT
from hostdx.app.recordings.reader import BrokenRecording, load_recording
from hostdx.app.recordings.session import CAPS, RunSession
from hostdx.app.recordings.store import examine_recording
from hostdx.app.report import json_document
from hostdx.app.report.delivery import summary_lines
from hostdx.app.report.forms import html as document_html
from hostdx.app.report.forms import markdown
from hostdx.app.report.forms import markdown as document_markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.app.state import make_private_dir, recordings_dir
from hostdx.app.terminal.output import print_result
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results import result as result_types
from tests.every_case import every_case
from tests.fakes.streams import hostile
from tests.fakes.streams.stories import write
from tests.fakes.streams.story import storage
from tests.needs import some_always

HEAD = json.dumps(
    {"type": "run", "t": 0, "schema": ev.SCHEMA, "version": "0", "scenario": "x", "command": [], "host": "h",
     "wall": "", "seed": 0, "pid": 1, "pid_start": 0, "boot_id": ""}
)  # fmt: skip


def test_a_small_packed_file_is_not_unpacked_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress((HEAD + '\n{"type":"note","t":1,"text":""}' * 300_000).encode()))
    with pytest.raises(BrokenRecording, match="more than 100 times as large as its packed file"):
        load_recording(path)


def test_our_own_recordings_pack_far_less(tmp_path: Path) -> None:
    data = write(tmp_path / "r.jsonl", storage()).read_bytes()
    assert len(data) / len(gzip.compress(data)) < RATIO_LIMIT / 2


def test_what_two_bytes_stand_for_is_counted_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "VALUES_LIMIT", 50_000)
    path = tmp_path / "bomb.jsonl"
    path.write_text(f'{HEAD}\n{{"type":"extra","t":1,"name":"x","value":[{"[]," * 30_000}1]}}\n')
    with pytest.raises(BrokenRecording, match="values, not read any further"):
        load_recording(path)


def collection_sizes(session: RunSession) -> dict[str, int]:
    fields = {name: value for name, value in vars(session).items() if isinstance(value, list | dict)}
    return {
        name: len(value) for name, value in fields.items() if name not in ("left_out", "results", "began_at")
    }


def test_nothing_in_a_session_grows_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every type of event in three copies of different names: with bounds of one, one is kept of each.

    Of results one a type is kept, and there are as many types as scenarios declare.
    """
    for kind, cap in list(CAPS.items()):
        monkeypatch.setitem(CAPS, kind, cap._replace(most=1))
    session = RunSession()
    for event in hostile.stream():
        session.apply(event)
    assert set(collection_sizes(session).values()) <= {1}, collection_sizes(session)
    assert session.began_at.keys() <= session.steps.keys()
    assert len(session.results) == len(result_types.bundled_results())
    assert set(session.left_out) == {cap.name for cap in CAPS.values()}


def test_what_is_there_is_still_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CAPS, ev.FactRead, CAPS[ev.FactRead]._replace(most=1))
    session = RunSession()
    for name, value in (("a", 1), ("b", 2), ("a", 3)):
        session.apply(ev.FactRead(t=0, name=name, value=value, source="s"))
    assert [fact.value for fact in session.facts.values()] == [3] and session.left_out == {"facts": 1}


def test_what_is_not_kept_is_said_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    verdict = next(e for e in storage() if isinstance(e, ev.RunVerdict))
    many = [ev.Note(t=1.0, text=f"note {n}") for n in range(CAPS[ev.Note].most + 7)]
    session = load_recording(write(path, [storage()[0], verdict, *many]))
    notice = "7 more notes"
    assert notice in markdown.render_markdown(make_report_document(session, "r"))
    summary = " ".join(text.strip() for line in summary_lines(session, path) for text, _ in line)
    assert notice in " ".join(summary.split())
    assert json.loads(json_document.document_json(session, "r"))["left_out"] == {"notes": 7}


FAILS = "/proc/self/mem"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of recordings: one that can be read, and a newer one that cannot."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    folder = make_private_dir(recordings_dir())
    shutil.copy(store.resolve_recording("demo:null"), folder / "a-null.jsonl")
    os.utime(folder / "a-null.jsonl", (1, 1))
    (folder / "b-null.jsonl").symlink_to(FAILS)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("report", FAILS),
        ("report", FAILS, "--format", "json"),
        ("compare", FAILS, "demo:null"),
        ("compare", "demo:null", "--", FAILS),
        ("compare", "--odd", "demo:null", FAILS, "demo:box"),
        ("history", FAILS),
        ("stop", FAILS),
        ("import", FAILS),
        ("run", "box", "--job", FAILS, "--dir", "/tmp"),
        ("triage", "--root", FAILS),
    ],
    ids=lambda words: "-".join(words[:2]),
)
def test_one_line_and_no_bug(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert run_command_line(words) in (2, 3)
    err = capsys.readouterr().err
    assert len([line for line in err.splitlines() if line.startswith("hostdx: ")]) == 1
    assert not (folder.parent / "bugs").exists()


def test_last_is_the_newest_that_can_be_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert store.resolve_recording("last") == folder / "a-null.jsonl"
    assert run_command_line(["report", "last"]) == 0
    (folder / "a-null.jsonl").unlink()
    assert run_command_line(["report", "last"]) in (2, 3)


FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "recordings").glob("*.jsonl"))
EXTREMES = (
    0,
    -1,
    1e308,
    -1e308,
    5e-324,
    2**63,
    -(2**70),
    "",
    "\u202e\x1b[31m|`<b>",
    "/r\\xe9\\xc2\\x9b\\",
    None,
    [],
    {},
    True,
    [[1, 2]],
    "x" * 5000,
)


def survives(path: Path) -> bool:
    """Loads and shows it in every form; False where it was refused in one line."""
    entry = examine_recording(path)
    try:
        session = load_recording(path)
    except BrokenRecording as error:
        assert "\n" not in error.text and re.search(r": line \d+: ", error.text)
        return False
    assert entry.state != "unreadable"
    document = make_report_document(session, path.name)
    assert "\x1b" not in document_markdown.render_markdown(document)
    assert "<b>" not in document_html.render_html(document)
    json.loads(json_document.document_json(session, path.name))
    assert not any(
        "\x1b" in text or "\n" in text for line in summary_lines(session, path) for text, _ in line
    )
    return True


@every_case("source", FIXTURES)
def test_flipped_and_cut_bytes(tmp_path: Path, source: Path) -> None:
    rng = random.Random(source.stem)
    data = source.read_bytes()
    path = tmp_path / "r.jsonl"
    for _ in range(25):
        broken = bytearray(data)
        for _ in range(rng.choice((1, 3, 50))):
            position = rng.randrange(len(broken))
            broken[position : position + rng.choice((0, 1, 40))] = rng.choice(
                (b"", b"\n", b"\xff", b"\0", b"]}", b"9" * 30)
            )
        path.write_bytes(broken)
        survives(path)


@pytest.mark.parametrize("source", some_always(FIXTURES[:3], FIXTURES), ids=lambda p: p.stem)
def test_any_value_in_any_field(tmp_path: Path, source: Path) -> None:
    """Well-formed lines whose values nobody would write: what the schema lets through must be shown."""
    rng = random.Random(source.stem)
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    path = tmp_path / "r.jsonl"
    count = 0
    for _ in range(40):
        victim = rng.randrange(1, len(lines))
        event = json.loads(json.dumps(lines[victim]))
        replace_value(rng, event)
        texts = [json.dumps(event if n == victim else line) for n, line in enumerate(lines)]
        path.write_text("\n".join(texts) + "\n")
        count += survives(path)
    assert count > 0


def replace_value(rng: random.Random, value: dict[str, object]) -> None:
    """One of its values, at any depth."""
    key = rng.choice(list(value))
    inner = value[key]
    if isinstance(inner, dict) and inner and rng.random() < 0.7:
        replace_value(rng, inner)
    elif key != "type":
        value[key] = rng.choice(EXTREMES)


@pytest.mark.parametrize("pair", ["[]", '{"a":}'])
def test_what_is_nested_deeply_is_shown_cut_or_refused(tmp_path: Path, pair: str) -> None:
    head = FIXTURES[0].read_text().split("\n")[0]
    for depth, loads in ((400, True), (100_000, False)):
        opened, closed = pair[:-1] * depth, pair[-1] * depth
        value = opened + ("1" if pair != "[]" else "") + closed
        path = tmp_path / f"{depth}.jsonl"
        path.write_text(f'{head}\n{{"type":"extra","t":1,"name":"x","value":{value}}}\n')
        assert survives(path) is loads


def test_a_result_can_always_be_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_result("half a character \ud800")
    assert "\\ud800" in capsys.readouterr().out
