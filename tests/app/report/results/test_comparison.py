"""The comparison's document: the answer first, the doubts named, every effect drawn on one axis."""

import random

from hostdx.app.report.forms import html, markdown
from hostdx.app.report.results.comparison import comparison_document, headline_text
from hostdx.probes.imports.model import Better, ImportedMeasure, ImportResult
from hostdx.scenarios.analysis.compare.comparison import compare_recordings
from hostdx.scenarios.analysis.compare.run_summary import RunSummary
from hostdx.scenarios.analysis.compare.snapshot import summarise_import
from tests.fakes.streams.takes import boots, summary

LOADS = [f"syscall-{n}" for n in range(8)]


def test_a_control_that_moved_is_said() -> None:
    rng = random.Random(1)
    a, b = boots(rng, LOADS, 3, "a", deviation=0.01), boots(rng, LOADS, 3, "b", deviation=0.01, syscall_1=0.5)
    for run in (*a, *b):
        run.loads.update({key: type(load)(load.title, load.metric, True) for key, load in run.loads.items()})
    assert "The control changed" in markdown.render_markdown(comparison_document(compare_recordings(a, b)))


def test_host_text_is_data_in_every_format() -> None:
    facts = {("kernel", "release"): "<script>alert(1)</script>`x`"}
    recordings = compare_recordings([summary({"a": 1.0})], [summary({"a": 1.0}, name="b", facts=facts)])
    assert "<script>" not in html.render_html(comparison_document(recordings))
    text = markdown.render_markdown(comparison_document(recordings))
    assert text.count("<script>") == text.count("\\<script>") > 0


def test_the_title_says_what_tells_the_sides_apart() -> None:
    old = {("kernel", "release"): "6.1.0", ("kernel", "parameters"): "none"}
    new = old | {("kernel", "parameters"): "mitigations=off"}
    recordings = compare_recordings(
        [summary({"x": 1.0}, facts=old)], [summary({"x": 1.0}, name="b", facts=new)]
    )
    assert comparison_document(recordings).lead[0] == "6.1.0, none (A) against 6.1.0, mitigations=off (B)"


def test_a_change_of_memory_stands_in_the_headline() -> None:
    def make_summary(name: str, mib: float) -> RunSummary:
        figures: dict[Better, tuple[str, float, str]] = {
            "more": ("rate", 1000.0, "1/s"),
            "less": ("max pss", mib * 2**20, "B"),
        }
        measures = [
            ImportedMeasure(workload="other", metric=metric, value=value, unit=unit, better=better)
            for better, (metric, value, unit) in figures.items()
        ]
        return summarise_import(ImportResult(kind="prmon", tool="prmon", measures=tuple(measures)), name)

    text = headline_text(compare_recordings([make_summary("a", 977)], [make_summary("b", 586)]))
    assert "1 of 1 figures of memory less" in text and "40 % less" in text
    assert "none of 1 load" in text
