"""Foreign and damaged recordings: one clear line, or a report; never a traceback, never markup."""

import json
import random
import re
from pathlib import Path

import pytest

from hostdx.app.recordings.reader import BrokenRecording, load_recording
from hostdx.app.recordings.store import examine_recording
from hostdx.app.report import json_document
from hostdx.app.report.delivery import summary_lines
from hostdx.app.report.forms import html as document_html
from hostdx.app.report.forms import markdown as document_markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.app.terminal.output import print_result
from tests.every_case import every_case
from tests.needs import some_always

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
