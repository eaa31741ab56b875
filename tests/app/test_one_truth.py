"""What stands side by side agrees: values divide to the effect, and each statement has one source at every instant."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings import reader
from hostdx.app.recordings.interference import other_programs_io
from hostdx.app.recordings.reader import read_events
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.store import list_demo_arguments, resolve_recording
from hostdx.app.recordings.values import (
    baseline_and_variant_values,
    group_means,
    variant_value,
    with_difference_of_values,
)
from hostdx.app.report import json_document, wording
from hostdx.app.report.figures import verdict_table
from hostdx.app.report.figures.latency import latency_summaries
from hostdx.app.report.figures.tiles import summary_tiles
from hostdx.app.report.first_page import first_page
from hostdx.app.report.forms import csv_rows, html, markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.app.report.headline import find_headline_answer, list_remarks
from hostdx.app.report.numbers import number_parts
from hostdx.app.report.validity import list_trust_signs
from hostdx.app.tui.widgets.measuring.host_panel import OTHERS_IO, pulse_lines
from hostdx.app.tui.widgets.measuring.levels import variant_levels
from hostdx.app.tui.widgets.measuring.load_cards import VALUE_CELLS, format_short, row_lines
from hostdx.app.tui.widgets.measuring.standing import workloads_with_pairs
from hostdx.app.tui.widgets.verdict_list import list_effects
from hostdx.probes import units
from hostdx.scenarios.analysis.compare.bounding_box import Boxed
from hostdx.scenarios.box.measurement.corner import CORNERS
from hostdx.scenarios.box.results import CornersResult, JobsResult
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.results.document import Bullets, Table, plain_text, split_code
from hostdx.scenarios.fullstack.loads import DISK, NETWORK
from hostdx.scenarios.fullstack.results import StreamsResult
from hostdx.scenarios.null.findings import MINUTE_S
from hostdx.scenarios.null.results import Resolution
from hostdx.scenarios.rpfilter.measurement.variants import CHECK, NONE
from hostdx.scenarios.rpfilter.results import CostResult
from hostdx.scenarios.storage.results import Levels
from tests.contract.fake_runs import RUNS
from tests.every_case import every_case

FIXTURES = Path(__file__).parents[1] / "fixtures" / "recordings"
load = cache(reader.load_recording)  # no test here changes a session
RECORDINGS = [resolve_recording(name) for name in list_demo_arguments()] + sorted(FIXTURES.glob("*.jsonl"))
WITHIN = 0.01
RECORDED = 1e-3  # five digits of each number are recorded
INSTANTS = 20


def list_verdicts_with_values(session: RunSession) -> list[ev.RunVerdict]:
    """All that have an effect and groups, but those that close a circle: these rest on other groups."""
    linked: dict[tuple[str, str], list[set[str]]] = {}
    with_values = []
    for verdict in session.verdicts.values():
        left, right = group_means(session, verdict)
        if not verdict.ratio or min((*left, *right), default=0.0) <= 0:
            continue
        variants = linked.setdefault((verdict.workload, verdict.metric), [])
        near = [part for part in variants if part & {verdict.baseline, verdict.variant}]
        if not any({verdict.baseline, verdict.variant} <= part for part in near):
            with_values.append(verdict)
            variants[:] = [part for part in variants if part not in near]
            variants.append({verdict.baseline, verdict.variant}.union(*near))
    return with_values


@every_case("path", RECORDINGS)
def test_the_values_divide_to_the_effect_and_are_the_same_in_every_form(path: Path) -> None:
    session = load(path)
    full_report = make_report_document(session, path.name)
    page, text = html.render_html(full_report), markdown.render_markdown(full_report)
    of_csv = list(csv.DictReader(io.StringIO(csv_rows.csv_of_recording(session, path.name))))
    of_json = json.loads(json_document.document_json(session, path.name))["verdicts"]
    cells_of = {
        (v.workload, v.metric, v.baseline, v.variant): row
        for row in verdict_table.list_verdict_rows(session)
        for v in [row.verdict]
    }
    entries = {id(entry.verdict): entry for entry in list_effects(session) if entry.measured}
    with_values = list_verdicts_with_values(session)
    for verdict, row, document in zip(session.verdicts.values(), of_csv, of_json, strict=False):
        left, right = baseline_and_variant_values(session, verdict)
        assert document["values"] == [left, right]
        for value, name in ((left, "baseline_value"), (right, "variant_value")):
            assert row[name] == ("" if value is None else f"{value:.7g}")
        if verdict.ratio is None or not (left and right):
            assert verdict not in with_values
            continue
        metric = session.find_metric(verdict.workload, verdict.metric) or Metric(
            verdict.metric, verdict.metric
        )
        quotient = right / left if metric.better == "more" else left / right
        assert quotient == pytest.approx(verdict.ratio, rel=WITHIN)
        cells = cells_of[verdict.workload, verdict.metric, verdict.baseline, verdict.variant]
        entry = entries[id(verdict)]
        assert (entry.left, entry.right) == (cells.left, cells.right)
        for value in (cells.left, cells.right):
            assert str(value) in text and str(value) in page


@every_case("path", RECORDINGS)
def test_a_difference_is_the_one_of_the_values_beside_it_in_every_form(path: Path) -> None:
    """Whatever was recorded: older code took the median of the groups' differences."""
    session = load(path)
    for key, verdict in session.verdicts.items():
        session.verdicts[key] = msgspec.structs.replace(verdict, delta=123.0, delta_ci95=(122.0, 124.0))
    of_json = json.loads(json_document.document_json(session, path.name))["verdicts"]
    tables = [
        part for part in number_parts(session) if isinstance(part, Table) and "difference" in part.header
    ]
    rows = iter([row for table in tables for row in table.rows])
    for verdict, document in zip(session.verdicts.values(), of_json, strict=True):
        row = next(rows) if wording.is_measured(verdict) else ()
        left, right = baseline_and_variant_values(session, verdict)
        if verdict.ratio is None or left is None or right is None:
            continue
        delta = right - left
        assert document["delta"] == pytest.approx(delta)
        if verdict.ci95 is not None:
            low, high = document["delta_ci95"]
            assert low <= delta <= high
            assert (low <= 0 <= high) is (verdict.ci95[0] <= 1 <= verdict.ci95[1])
        text = str(units.metric_quantity(abs(delta), session.metric_of(verdict).unit)).strip()
        assert any(plain_text(cell)[1:] == text for cell in row)


def figures_of_results(session: RunSession) -> Iterator[tuple[str, float | None, float | None]]:
    """What a figure is of, as a result has it, and as it stands beside the verdicts."""
    verdicts = session.verdicts
    latencies = {(entry.workload, entry.variant): entry for entry in latency_summaries(session)}
    if (levels := session.find_result(Levels)) is not None:
        for level in levels.value:
            key = (level.workload, level.variant)
            yield f"{key}", level.median, variant_value(session, level.workload, level.metric, level.variant)
            if level.p50_ns is not None:
                yield f"{key}, p50", level.p50_ns, latencies[key].p50_ns
    if (streams := session.find_result(StreamsResult)) is not None:
        for rate in streams.value.levels:
            load_id = "zerocopy" if rate.side == "zerocopy" else rate.direction
            value = variant_value(session, load_id, "MB/s", rate.side)
            yield f"{load_id} {rate.side}", rate.rate / 1e6, value
        for limit in streams.value.limits:
            fastest = streams.value.find_level(limit.direction, limit.path)
            yield f"{limit.direction} limit", limit.rate, fastest and fastest.rate
            for part, ratio in ((DISK, limit.of_disk), (NETWORK, limit.of_network)):
                if ratio is not None:
                    verdict = verdicts[limit.direction, "MB/s", part, limit.path]
                    yield f"{limit.direction} of {part}", ratio, verdict.ratio
    if (corners := session.find_result(CornersResult)) is not None:
        boxes = [
            box
            for kind in (JobsResult, Boxed)
            if (result := session.find_result(kind))
            for box in result.value
        ]
        for end in (end for box in boxes for end in box.corners):
            yield f"{end.workload} of a box", end.median, corners.value.corner_median(end.workload)
        for corner in CORNERS:
            median = corners.value.corner_median(corner.id)
            value = variant_value(session, corner.load, corner.metric_name, corner.difficulty)
            if median is not None and value is not None:
                yield corner.id, median, value
    if (cost := session.find_result(CostResult)) is not None:
        [checked] = [v for v in verdicts.values() if v.variant == CHECK and v.metric == "ns/packet"]
        yield "path", cost.value.path_ns, variant_value(session, checked.workload, checked.metric, NONE)
        yield "check", cost.value.cost_ns, with_difference_of_values(session, checked).delta
    if (resolution := session.find_result(Resolution)) is not None:
        for reach in resolution.value.reaches:
            [verdict] = [v for v in verdicts.values() if v.workload == reach.workload]
            if reach.in_a_minute is not None and verdict.smallest_effect is not None:
                scaled = verdict.smallest_effect * (verdict.seconds / MINUTE_S) ** 0.5
                yield f"{reach.workload} in a minute", reach.in_a_minute, round(scaled, 4)


def figures_of_findings(session: RunSession) -> Iterator[tuple[str, str]]:
    """A finding's key, and a figure that it must have as the verdicts have it."""
    if (levels := session.find_result(Levels)) is not None:
        for level in levels.value:
            value = variant_value(session, level.workload, level.metric, level.variant)
            for key, finding in session.findings.items():
                is_about = finding.id == "storage.below-class" and finding.subject.endswith(
                    f" {level.workload}"
                )
                if is_about and value is not None and level.usual and level.median < level.usual[0]:
                    yield key, str(units.metric_quantity(value, level.unit))
    if (streams := session.find_result(StreamsResult)) is not None:
        for key, finding in session.findings.items():
            for limit in streams.value.limits:
                if finding.id == f"fullstack.limit.{limit.direction}":
                    value = variant_value(session, limit.direction, "MB/s", limit.path)
                    yield key, units.format_rate((value or 0.0) * 1e6)
            for rate in streams.value.levels if finding.id == "fullstack.rates" else ():
                value = variant_value(session, rate.direction, "MB/s", rate.side)
                if rate.side in (DISK, NETWORK) and value is not None:
                    yield key, units.format_rate(value * 1e6)
    if session.find_result(CostResult) is not None:
        for verdict in session.verdicts.values():
            delta = with_difference_of_values(session, verdict).delta
            if verdict.variant == CHECK and verdict.is_slower and delta is not None:
                yield from (
                    (key, str(units.metric_quantity(delta, "ns")))
                    for key, finding in session.findings.items()
                    if finding.id == "rpfilter.cost"
                )


def list_unlike_figures(session: RunSession) -> list[str]:
    unlike = [
        f"{name}: {of_result} and {shown}"
        for name, of_result, shown in figures_of_results(session)
        if shown is not None and of_result != pytest.approx(shown, rel=RECORDED, abs=RECORDED * 0.1)
    ]
    for key, figure in figures_of_findings(session):
        finding = session.findings[key]
        if not any(figure in text for text in (finding.title, *(line.text for line in finding.evidence))):
            unlike.append(f"{finding.title}: no {figure}")
    return unlike


@every_case("path", RECORDINGS)
def test_results_and_findings_have_the_figures_that_stand_beside_the_verdicts(path: Path) -> None:
    assert list_unlike_figures(load(path)) == []


@every_case("name", RUNS)
def test_so_have_those_of_todays_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, run = RunSession(), RUNS[name](tmp_path, monkeypatch)
    for event in (ev.Planned(t=0.0, plan=run.plan), *run.events):
        session.apply(event)
    assert list_unlike_figures(session) == []
    for verdict in session.verdicts.values():
        paired = with_difference_of_values(session, verdict)
        assert verdict.delta is None or verdict.delta == pytest.approx(paired.delta, rel=RECORDED)


@every_case("path", RECORDINGS)
def test_a_variant_has_one_value_on_the_screens_and_in_the_report(path: Path) -> None:
    session = load(path)
    by_key: dict[tuple[str, str, str], set[str]] = {}
    for row in verdict_table.list_verdict_rows(session):
        verdict = row.verdict
        for variant, value in ((verdict.baseline, row.left), (verdict.variant, row.right)):
            if value is not None:
                by_key.setdefault((verdict.workload, verdict.metric, variant), set()).add(str(value))
    for workload in session.blocks:
        leading = session.find_workload(workload)
        for level in variant_levels(session, workload, 40):
            key = (workload, leading.metrics[0].name if leading else "", level.variant)
            if key in by_key:
                by_key[key].add(str(level.level))
    for part in number_parts(session):
        if isinstance(part, Table) and "variant" in part.header:
            values = {"".join(map(plain_text, row)): row for row in part.rows}
            for (workload, metric, variant), texts in by_key.items():
                names = (wording.workload_title(session, workload), wording.variant_title(session, variant))
                rows = [row for row in values.values() if set(names) <= set(map(plain_text, row))]
                value = variant_value(session, workload, metric, variant)
                assert value is not None
                digits = units.format_number(value, 4)  # in a table of one unit a row
                assert not rows or any({digits, *texts} & set(map(plain_text, row)) for row in rows)
    assert {key: texts for key, texts in by_key.items() if len(texts) > 1} == {}


@every_case("path", RECORDINGS)
def test_a_row_of_a_load_holds_its_values_whole(path: Path) -> None:
    for session, width in ((session, width) for session in sessions_of(path) for width in (66, 76)):
        pairs = workloads_with_pairs(session)
        for (load, _), line in zip(pairs, row_lines(session, pairs, width, len(pairs)), strict=True):
            text = "".join(part for part, _ in line)
            levels = [side.level for side in variant_levels(session, load.id, 12)[:2] if side.level]
            assert all(format_short(level, VALUE_CELLS - 2) in text for level in levels)


@every_case("path", RECORDINGS)
def test_the_smallest_effects_are_one_range(path: Path) -> None:
    session = load(path)
    limited = wording.verdicts_that_may_miss(session)
    if not limited:
        return
    effects = wording.resolution_text(limited[0])
    assert any(f" {effects}" in sign.text for sign in list_trust_signs(session))
    tiles = [tile.value for group in summary_tiles(session) for tile in group.tiles]
    rows_on_page = [row.verdict for row in verdict_table.rows_on_page(session) if not row.verdict.control]
    if tiles and rows_on_page and not rows_on_page[0].is_different:
        assert effects in tiles


@every_case("path", RECORDINGS)
def test_no_claim_of_a_recording_is_one_of_an_order_alone(path: Path) -> None:
    """Recordings from before the orders were looked at are judged by them when they are read."""
    session = load(path)
    for verdict in session.verdicts.values():
        orders = {group.order for group in session.groups_behind(verdict)}
        if not verdict.is_decided or len(orders) < 2 or verdict.groups < 4:
            continue
        assert verdict.order is not None
        first, second = verdict.order.ratios
        assert not verdict.is_different or (first < 1) is (second < 1) is verdict.is_slower


def sessions_of(path: Path) -> Iterator[RunSession]:
    events = list(read_events(path))
    session = RunSession()
    for number, event in enumerate(events, 1):
        session.apply(event)
        if number % max(1, len(events) // INSTANTS) == 0 or number == len(events):
            yield session


def test_what_a_guard_knows_of_others_is_known_without_a_pulse() -> None:
    session = RunSession()
    disturbance = Disturbance(kind="device", figure=4e8, unit="B/s", subject="sda")
    session.apply(ev.Guard(t=3.0, kind="device", disturbance=disturbance))
    others = other_programs_io(session)
    assert others is not None and others.figure == 4e8


REPEATED = re.compile(r"\b([a-z]+(?: [a-z]+){1,3})[:;] \1\b")  # whatever was put before what has it already


@every_case("path", RECORDINGS)
def test_no_statement_is_put_together_twice(path: Path) -> None:
    """At any moment, of a runner that lives and of one that does not."""
    for session in sessions_of(path):
        sentences = [find_headline_answer(session, is_running=growing).sentence for growing in (True, False)]
        sentences += [sign.text for sign in list_trust_signs(session)]
        assert [text for text in sentences if REPEATED.search(text)] == []


@every_case("path", RECORDINGS)
def test_nothing_is_unknown_in_one_place_and_known_in_another(path: Path) -> None:
    for session in sessions_of(path):
        disturbances = [
            cause
            for w in session.watched
            for cause in w.told
            if cause.kind == "device" and cause.figure is not None
        ]
        others = other_programs_io(session)
        assert others is not None or not disturbances
        if session.pulses and session.pulses[-1].devices:
            spans = [text for line in pulse_lines(session, 400, 9) for text, _ in line]
            assert spans.count(OTHERS_IO) == (others is not None)
        remarks = list_remarks(session)
        labels = ("findings", "other findings")  # beside an answer that is one itself
        tiles = [tile for group in summary_tiles(session) for tile in group.tiles if tile.label in labels]
        worst = Counter(f.severity for f in remarks)
        assert bool(tiles) == bool(remarks) or not summary_tiles(session)
        for tile in tiles:
            assert (
                sum(int(word) for word in f"{tile.value} {tile.more}".split() if word.isdigit())
                == worst.total()
            )
        items = first_page(session, path.name)[-1]
        lines = [item for part in items.parts if isinstance(part, Bullets) for item in part.items]
        for remark, line in zip(remarks, lines, strict=False):
            title = split_code(remark.title)
            assert line[-len(title) :] == title
