"""The comparison's document: the answer first, the doubts named, every effect drawn on one axis."""

from __future__ import annotations

import random

from app.report.figures.interval_chart import interval_lines, scale_for_bars
from app.report.forms import html, markdown
from app.report.forms.svg import bar_svg
from app.report.results.comparison import comparison_document, headline_text
from probes.imports.model import Better, ImportedMeasure, ImportResult
from scenarios.analysis.compare.comparison import ComparedRecordings, compare_recordings
from scenarios.analysis.compare.run_summary import RunSummary
from scenarios.analysis.compare.snapshot import summarise_import
from scenarios.contract.results.document import Bar, Effects, Intervals
from scenarios.contract.verdict.verdict import Word
from tests.fakes.streams.takes import boots, take

WIDE = 78
LOADS = [f"syscall-{n}" for n in range(8)]


def drawn(found: ComparedRecordings) -> Intervals:
    parts = [part for section in comparison_document(found).sections for part in section.parts]
    (one,) = (part.drawn for part in parts if isinstance(part, Effects))
    return one


def lines_of(found: Intervals) -> list[str]:
    return ["".join(words for words, _ in line) for line in interval_lines(found, WIDE)]


def test_nothing_different_says_how_small_an_effect_would_have_shown() -> None:
    rng = random.Random(1)
    found = compare_recordings(
        boots(rng, LOADS, 3, "a", deviation=0.02), boots(rng, LOADS, 3, "b", deviation=0.02)
    )
    assert headline_text(found).startswith("No difference found between A and B in 8 loads")
    assert "smallest detectable effect" in headline_text(found)


def test_several_changes_are_a_plain_warning_with_the_experiments_that_split_them() -> None:
    old = {("kernel", "release"): "5.10.0", ("mount:/data", "type"): "ext4", ("disk:sda", "model"): "A"}
    new = {("kernel", "release"): "6.1.0", ("mount:/data", "type"): "xfs", ("disk:sda", "model"): "B"}
    found = compare_recordings(
        [take({"fsync-4k": 1000.0}, facts=old)], [take({"fsync-4k": 100.0}, name="b", facts=new)]
    )
    text = markdown.render_markdown(comparison_document(found))
    assert "AND" in text and "cannot be attributed" in text
    assert "grubby --set-default" in text and "hostdx run storage" in text
    assert text.index("10 × slower") < text.index("cannot be attributed")  # the answer comes first


def test_a_control_that_moved_is_said() -> None:
    rng = random.Random(1)
    a, b = boots(rng, LOADS, 3, "a", deviation=0.01), boots(rng, LOADS, 3, "b", deviation=0.01, syscall_1=0.5)
    for run in (*a, *b):
        run.loads.update({key: type(load)(load.title, load.metric, True) for key, load in run.loads.items()})
    assert "The control changed" in markdown.render_markdown(comparison_document(compare_recordings(a, b)))


def test_host_text_is_data_in_every_format() -> None:
    facts = {("kernel", "release"): "<script>alert(1)</script>`x`"}
    found = compare_recordings([take({"a": 1.0})], [take({"a": 1.0}, name="b", facts=facts)])
    assert "<script>" not in html.render_html(comparison_document(found))
    text = markdown.render_markdown(comparison_document(found))
    assert text.count("<script>") == text.count("\\<script>") > 0


def test_every_effect_is_drawn_within_the_axis() -> None:
    rng = random.Random(1)
    found = compare_recordings(
        boots(rng, LOADS, 3, "a", deviation=0.02), boots(rng, LOADS, 3, "b", deviation=0.02, syscall_0=1e-9)
    )
    lines = lines_of(drawn(found))
    assert len(lines) == 1 + len(found.effects)
    assert all(len(line) <= WIDE for line in lines)
    assert "◀" in lines[1]
    order = [e.ratio for e in found.effects]
    assert order == sorted(order)


def test_one_wild_load_does_not_flatten_the_picture() -> None:
    """Forty loads that repeat within a per cent and one that scatters by a factor: the axis is that of the forty."""
    calm = {f"syscall-{n}": 1000.0 for n in range(12)}
    a = take(calm, name="a", within=1e-6)
    b = take(calm | {"syscall-0": 300.0}, name="b", boot="n1/2", within=1e-6)
    for run in (a, b):
        wild = take({"randread-4k": 100.0}, within=4.0)
        run.figures.update(wild.figures)
        run.loads.update(wild.loads)
    found = compare_recordings([a], [b])
    lines = lines_of(drawn(found))
    assert lines[0].split()[0] == "5"  # a little beyond the effect called
    assert any("◀" in line and "▶" in line for line in lines)
    page = html.render_html(comparison_document(found))
    assert page.count("<circle") == len(found.effects)
    assert page.count("l6 5") == page.count("l-6 5") == 1  # the wild one's interval ends in two arrows
    text = markdown.render_markdown(comparison_document(found))
    assert "wider than a factor of 100" in text and "over 100 ×" in text


def test_what_tells_two_loads_apart_is_not_cut_off() -> None:
    bars = tuple(
        Bar(f"UDP round trip within the host ({slot})", 1.0, None, Word.EQUAL, "") for slot in ("one", "all")
    )
    labels = [line[:44] for line in lines_of(Intervals(bars, 0.05))[1:]]
    assert [label.split()[-1] for label in labels] == ["(one)", "(all)"]


def test_the_title_says_what_tells_the_sides_apart() -> None:
    old = {("kernel", "release"): "6.1.0", ("kernel", "parameters"): "none"}
    new = old | {("kernel", "parameters"): "mitigations=off"}
    found = compare_recordings([take({"x": 1.0}, facts=old)], [take({"x": 1.0}, name="b", facts=new)])
    assert comparison_document(found).lead[0] == "6.1.0, none (A) against 6.1.0, mitigations=off (B)"


def test_no_direction_is_named_before_the_interval_allows_it() -> None:
    """`33 % slower` stood beside `inconclusive`, in the table and in the picture."""
    rng = random.Random(3)
    found = compare_recordings(
        boots(rng, LOADS, 2, "a", deviation=0.3), boots(rng, LOADS, 2, "b", deviation=0.3)
    )
    assert any(e.verdict == "inconclusive" and abs(e.ratio - 1) > 0.05 for e in found.effects)
    assert not any(e.is_different for e in found.effects)
    parts = [
        part
        for section in comparison_document(found).sections
        if section.title == "Effects"
        for part in section.parts
    ]
    (table,) = (part.table for part in parts if isinstance(part, Effects))
    column = table.header.index("B against A")
    assert {row[column] for row in table.rows} <= {"inconclusive", "no material difference"}
    bars = drawn(found).bars
    page = "".join(bar_svg(bar, scale_for_bars(bars), 0.05) for bar in bars)
    assert "inconclusive" in page and " % slower" not in page and " % faster" not in page


def test_a_change_of_memory_stands_in_the_headline() -> None:
    def of(name: str, mib: float) -> RunSummary:
        named: dict[Better, tuple[str, float, str]] = {
            "more": ("rate", 1000.0, "1/s"),
            "less": ("max pss", mib * 2**20, "B"),
        }
        measures = [
            ImportedMeasure(workload="other", metric=metric, value=value, unit=unit, better=better)
            for better, (metric, value, unit) in named.items()
        ]
        return summarise_import(ImportResult(kind="prmon", tool="prmon", measures=tuple(measures)), name)

    found = headline_text(compare_recordings([of("a", 977)], [of("b", 586)]))
    assert "1 of 1 figures of memory less" in found and "40 % less" in found
    assert "none of 1 load" in found
