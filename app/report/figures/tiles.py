"""The summary at a glance: what was found, the largest effect, its control, what disturbed, how long it took."""

from __future__ import annotations

from collections import Counter

from hostdx.app.recordings.session import RunSession
from hostdx.app.report import wording
from hostdx.app.report.figures import verdict_table
from hostdx.app.report.headline import find_headline_answer, list_remarks
from hostdx.probes import units
from hostdx.scenarios.contract.finding import severity_count_text
from hostdx.scenarios.contract.results.document import Tile, Tiles

_FROM = 2  # tiles: a single one is no summary


def summary_tiles(session: RunSession) -> tuple[Tiles, ...]:
    """Return one row of tiles, or none where there are fewer than `_FROM`."""
    all_tiles = [
        *_load_tiles(session),
        *_finding_tiles(session),
        *_control_tiles(session),
        *_disturbed_groups_tile(session),
        *_duration_tiles(session),
    ]
    return (Tiles(tuple(all_tiles)),) if len(all_tiles) >= _FROM else ()


def _load_tiles(session: RunSession) -> list[Tile]:
    """Return how many loads differ, and the largest effect; where none does, which could be missed."""
    judged = [
        row
        for row in verdict_table.list_verdict_rows(session)
        if not (row.verdict.control or verdict_table.is_kept_off_first_page(session, row.verdict))
    ]
    if not judged:
        return []
    first = judged[0]
    words = Counter(row.verdict.verdict for row in judged)
    (word, count), *others = words.items()  # decided ones stand first
    rest = ", ".join(f"{number} {other}" for other, number in others)
    role = wording.word_role(word)
    out = [Tile("loads" if len(judged) > 1 else "load", f"{count} of {len(judged)} {word}", rest, role)]
    if first.verdict.is_different:
        return [
            *out,
            Tile("largest effect", first.size, first.load, wording.verdict_role(first.verdict)),
        ]
    limited = wording.verdicts_that_may_miss(session)
    if not limited:
        return out
    title = wording.verdict_title(session, limited[0]) if len(judged) > 1 else ""
    return [*out, Tile("differences that could be missed", wording.resolution_text(limited[0]), title)]


def _finding_tiles(session: RunSession) -> list[Tile]:
    severities = list(Counter(f.severity for f in list_remarks(session)).items())  # worst first
    if not severities:
        return []
    (worst, count), *others = severities
    is_answer_counted = find_headline_answer(session).finding is None
    return [
        Tile(
            "findings" if is_answer_counted else "other findings",
            severity_count_text(worst, count),
            ", ".join(severity_count_text(other, number) for other, number in others),
            worst,
        )
    ]


def _control_tiles(session: RunSession) -> list[Tile]:
    controls = [v for v in session.verdicts.values() if v.control]
    if not controls:
        return []
    moved = next((v for v in controls if v.is_different), None)
    if moved is not None:
        return [
            Tile(
                "control",
                units.format_effect(moved.ratio),
                wording.workload_title(session, moved.workload),
                "critical",
            )
        ]
    equal = all(v.is_equal for v in controls)
    role = "ok" if equal else "unknown"
    return [
        Tile(
            "control",
            "equal" if equal else next(str(v.verdict) for v in controls if not v.is_equal),
            "",
            role,
        )
    ]


def _disturbed_groups_tile(session: RunSession) -> list[Tile]:
    total = sum(map(len, session.groups.values()))
    if not total:
        return []
    disturbed = session.disturbed_groups
    return [Tile("groups disturbed", f"{disturbed} of {total}", "", "warning" if disturbed else "ok")]


def _duration_tiles(session: RunSession) -> list[Tile]:
    if session.began is None or session.scenario_card.role == "import":
        return []
    moved = sum(block.bytes for blocks in session.blocks.values() for block in blocks)
    return [
        Tile(
            "took", units.format_duration(session.time), f"{units.format_size(moved)} moved" if moved else ""
        )
    ]
