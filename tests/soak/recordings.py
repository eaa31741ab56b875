"""Recordings as nobody would write them, in every form that hostdx shows: refused in one line or shown, never a crash.

A third has broken bytes, the rest are well-formed lines with values, keys and orders that the schema does not expect.
"""

import contextlib
import copy
import functools
import gzip
import io
import json
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hostdx.app.cli.measuring import progress
from hostdx.app.recordings.playback import Playback
from hostdx.app.recordings.reader import load_recording, read_events
from hostdx.app.recordings.sides import read_run_summaries
from hostdx.app.recordings.store import examine_recording
from hostdx.app.report import json_document
from hostdx.app.report.delivery import summary_lines
from hostdx.app.report.forms import html, markdown
from hostdx.app.report.forms.cells import document_lines
from hostdx.app.report.full_report import make_report_document
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.results.comparison import comparison_document
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.lines import clean_line
from hostdx.app.terminal.printable import make_printable
from hostdx.app.tui.screens.recordings import RecordingRow, _recording_line
from hostdx.probes.units import format_duration
from hostdx.scenarios.analysis.compare import worse
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.analysis.compare.run_summary import RunSummary
from tests.fakes.streams import hostile
from tests.soak.figures import Figures

ROOT = Path(__file__).parents[2]
SOURCES = [
    *(ROOT / "tests/fixtures/recordings").glob("*.jsonl"),
    *(ROOT / "app/recordings/demos").glob("*.jsonl"),
]
MAX_LINES = 250  # of a source: what is wrong with a long one is wrong with a short one
DIGITS = "9" * 5000  # more than int() of text takes (sys.set_int_max_str_digits)
VALUES: tuple[Any, ...] = (
    0, -1, 1, -0.0, 1e308, -1e308, 5e-324, 1e-300, 2**63, -(2**70), 10**300, "", "0", hostile.ATTACK, "x" * 5000,
    "漢" * 300, "a\nb", "|", "%s{0}", None, True, [], {}, [[1, 2]], [0] * 300, {"a": {"b": [None]}}, [1e308, -1e308],
)  # fmt: skip
BYTES = (
    b"",
    b"\n",
    b"\r",
    b"\xff",
    b"\0",
    b"]}",
    b"9" * 30,
    DIGITS.encode(),
    b"1e999",
    b"-",
    b"\\ud800",
    b"NaN",
)


def soak(count: int, seed: int) -> Figures:
    figures = Figures(f"{count} mutated recordings (seed {seed})")
    rng = random.Random(seed)
    sources = [path.read_bytes() for path in sorted(SOURCES)]
    with tempfile.TemporaryDirectory(prefix="hostdx-soak-") as place:
        path = Path(place) / "r.jsonl"
        for number in range(count):
            path.write_bytes(mutate_recording(rng, rng.choice(sources)))
            show_everywhere(path, figures, f"number {number}")
    return figures


def mutate_recording(rng: random.Random, source: bytes) -> bytes:
    lines = source.splitlines()
    if len(lines) > MAX_LINES:
        sample = sorted(rng.sample(range(1, len(lines)), MAX_LINES))
        lines = [lines[0], *(lines[n] for n in sample)]
    if rng.random() < 0.33:
        data = bytearray(b"\n".join(lines) + b"\n")
        for _ in range(rng.choice((1, 3, 50))):
            at = rng.randrange(len(data) + 1)  # at its end too, and where nothing is left of it
            data[at : at + rng.choice((0, 1, 1, 40, 4000))] = rng.choice(BYTES)
    else:
        trees = [json.loads(line) for line in lines]
        for _ in range(rng.choice((1, 1, 5, 40))):
            change_value(rng, rng.choice(trees))
        _reorder(rng, trees)
        data = bytearray("\n".join(json.dumps(tree) for tree in trees).encode() + b"\n")
        if rng.random() < 0.1:
            data = data.replace(b"12", DIGITS.encode(), 1)
    return gzip.compress(bytes(data), 1) if rng.random() < 0.05 else bytes(data)


def _reorder(rng: random.Random, trees: list[Any]) -> None:
    draw = rng.random()
    if draw < 0.1:
        trees[1:] = rng.sample(trees[1:], len(trees) - 1)
    elif draw < 0.2:
        trees[1:1] = trees[1:] * 3
    elif draw < 0.3:
        del trees[rng.randrange(1, len(trees) + 1) :]
    elif draw < 0.4:
        del trees[1 : rng.randrange(1, len(trees) + 1)]


def change_value(rng: random.Random, tree: Any) -> None:
    """One value, at any depth: replaced, by another type, gone, or given to another key."""
    if not isinstance(tree, dict) or not tree:
        return
    key = rng.choice(list(tree))
    inner = tree[key]
    if isinstance(inner, dict) and inner and rng.random() < 0.7:
        change_value(rng, inner)
    elif isinstance(inner, list) and inner and rng.random() < 0.7:
        at = rng.randrange(len(inner))
        if isinstance(inner[at], dict):
            change_value(rng, inner[at])
        else:
            inner[at] = other_value(rng, inner[at])
    elif key != "type":
        if rng.random() < 0.1:
            del tree[key]
        else:
            tree[key] = other_value(rng, inner)


def other_value(rng: random.Random, value: Any) -> Any:
    """Mostly of the same type: a field of another one is refused, and nothing is tried."""
    kinds = (int, float) if isinstance(value, float) else (type(value),)
    alike = [v for v in VALUES if type(v) in kinds]
    # a copy: a later change goes on into it, and one that is its own part cannot be written
    return copy.deepcopy(rng.choice(VALUES if rng.random() < 0.1 or not alike else alike))


def show_everywhere(path: Path, figures: Figures, about: str) -> None:
    for kind, text in _all_texts(path, figures, about):
        if leaks := hostile.find_leaks(text):
            figures.bad("escapes", f"{kind}: {', '.join(leaks)} ({about})")


def _all_texts(path: Path, figures: Figures, about: str) -> Iterator[tuple[str, str]]:
    try:
        examine_recording(path)
        session = load_recording(path)
    except Failure as failure:
        figures.good("refused")
        if "\n" in failure.text or not re.search(r": line \d+: ", failure.text):
            figures.bad("crashes", f"not one line with a number: {failure.text[:200]!r} ({about})")
        return
    except Exception as error:
        figures.crash(error, about)
        return
    figures.good("shown")
    for kind, make in (
        ("markdown", lambda: markdown.render_markdown(make_report_document(session, path.name))),
        ("html", lambda: html.render_html(make_report_document(session, path.name, with_arguments=True))),
        (
            "json",
            lambda: json.dumps(
                json.loads(json_document.document_json(session, path.name)), ensure_ascii=True
            ),
        ),
        ("screen", lambda: _cells_text(session, path)),
        (
            "summary",
            lambda: "\n".join("".join(text for text, _ in line) for line in summary_lines(session, path)),
        ),
        ("progress", lambda: _progress_text(path)),
        ("playback", lambda: _play_text(path)),
        ("list", lambda: _row_text(path)),
        ("compare", lambda: _compare_texts(path)),
    ):
        try:
            yield kind, make()
        except Exception as error:
            figures.crash(error, f"{kind}, {about}")


def _cells_text(session: Any, path: Path) -> str:
    lines = document_lines(make_report_document(session, path.name), 78)
    return "\n".join("".join(part for part, _ in clean_line(line)) for line in lines)


def _progress_text(path: Path) -> str:
    view, errors = progress.PlainProgress(), io.StringIO()
    with contextlib.redirect_stderr(errors):
        for event in read_events(path):
            view.show(event)
    return errors.getvalue()


def _row_text(path: Path) -> str:
    """Of `hostdx recordings` and of the app's list, which catch what a headline cannot be made of: here it is told."""
    entry = examine_recording(path)
    headline = find_headline_answer(load_recording(path))
    row = RecordingRow(entry, entry.name, "", "text", "")
    lines = [_recording_line(row, headline, width) for width in (80, 120)]
    cells = ("".join(part for part, _ in clean_line(line)) for line in lines)
    return "\n".join((*cells, make_printable(headline.sentence), format_duration(entry.seconds)))


def _compare_texts(path: Path) -> str:
    """With itself, and as either side beside a sound one; what `--against` says of it."""
    summaries, sound = read_run_summaries([path]), _sound_summaries()
    texts = []
    for a, b in ((summaries, summaries), (summaries, sound), (sound, summaries)):
        recordings = compare_recordings(a, b)
        document = comparison_document(recordings)
        texts += [
            markdown.render_markdown(document),
            html.render_html(document),
            json_document.to_json_text(msgspec.to_builtins(recordings)),
        ]
        texts.append(make_printable(str(worse.worse_finding(recordings, "before", "r.jsonl"))))
    return "\n".join(texts)


@functools.cache
def _sound_summaries() -> list[RunSummary]:
    return read_run_summaries([ROOT / "app/recordings/demos/storage.jsonl"])


def _play_text(path: Path) -> str:
    playback = Playback(list(read_events(path)))
    playback.seek_end()
    for _ in range(4):
        playback.step_group(-1)
        playback.jump_to_mark(-1)
    return playback.next_mark_text.replace("\n", " ") if playback.next_mark_text.isprintable() else ""
