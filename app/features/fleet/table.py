"""The fleet screen's parts: a strip a measure, and the table of nodes and measures that sorts and filters."""

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from hostdx.app.features.fleet.node_names import node_set_matcher
from hostdx.app.features.fleet.report import retested_effect_words, setting_words
from hostdx.app.features.fleet.strip import strip_lines
from hostdx.app.terminal.glyphs import SIGNS, clean_text
from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    crop_line,
    fit_line,
    shorten_middle,
    split_line,
    text_line,
    wrap_text,
)
from hostdx.app.tui.widgets.panel import Panel
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.probes.units import format_percent, join_names
from hostdx.scenarios.analysis.peers.judgement import FleetJudgement, FleetMeasure, MissingNode
from hostdx.scenarios.contract.verdict.verdict import OPEN

Order: TypeAlias = Literal["largest deviation", "this measure", "name"]
ORDERS: tuple[Order, ...] = ("largest deviation", "this measure", "name")
MAX_HEAD_LINES = 3
_NAME, _CELL = 18, 10  # cells of a column
_ROLES = {"odd": "critical", "suspect": "warning", "cleared": "ok", "": "text"}
_SIGNS = {"odd": SIGNS["critical"], "suspect": SIGNS["unknown"], "cleared": SIGNS["ok"], "": " "}


class NodeStanding(NamedTuple):
    """How a node stands: the worst of its measures says it for all."""

    state: str
    columns: frozenset[int]


class FleetView:
    """What the screen shows of a judgement, made once: thousands of nodes are drawn again at each key."""

    def __init__(self, judgement: FleetJudgement) -> None:
        self.judgement = judgement
        self.at = 0  # the measure that is looked at
        self.order: Order = "largest deviation"
        self.names = list(
            dict.fromkeys([*(n for m in judgement.measures for n in m.values), *judgement.files])
        )
        self.missing = {
            entry.node: entry
            for entry in judgement.missing
            if not entry.round and entry.node not in judgement.files
        }
        self.ratios = [
            {name: _ratio_to_centre(measure, value) for name, value in measure.values.items()}
            for measure in judgement.measures
        ]
        self.stands: dict[str, NodeStanding] = {}
        for state, standings in (
            ("odd", [s for odd in judgement.odd for s in odd.standings]),
            ("suspect", judgement.suspects),
            ("cleared", judgement.cleared),
        ):
            for entry in standings:
                before = self.stands.get(entry.node, NodeStanding(state, frozenset()))
                if before.state == state:
                    self.stands[entry.node] = NodeStanding(state, before.columns | {entry.column})
        self._off = {name: self._largest_log_deviation(name) for name in self.names}

    def state_of(self, name: str, column: int | None = None) -> str:
        stands = self.stands.get(name)
        return stands.state if stands is not None and (column is None or column in stands.columns) else ""

    def nodes_marked(self, column: int, state: str) -> set[str]:
        return {
            name
            for name, standing in self.stands.items()
            if standing.state == state and column in standing.columns
        }

    def ordered_names(self) -> list[str]:
        """Nodes without an answer come last."""
        names = sorted(self.names)
        if self.order == "largest deviation":
            first = {"odd": 0, "suspect": 1}
            names.sort(key=lambda name: (first.get(self.state_of(name), 2), -self._off[name]))
        elif self.order == "this measure" and self.ratios:
            ratios = self.ratios[self.at]
            names.sort(key=lambda name: ratios.get(name, math.inf))
        return [*names, *sorted(self.missing)]

    def _largest_log_deviation(self, name: str) -> float:
        return max((abs(math.log(ratios[name])) for ratios in self.ratios if name in ratios), default=0.0)


def _ratio_to_centre(measure: FleetMeasure, value: float) -> float:
    return value / measure.centre if measure.metric.better == "more" else measure.centre / value


class MeasureStrips(Panel):
    """Each measure a strip, beginning with the one that is looked at; settings that few nodes have, without any."""

    DEFAULT_CSS = "MeasureStrips { height: auto; margin: 1 0 0 0; }"

    def __init__(self, view: Callable[[], FleetView]) -> None:
        super().__init__(id="strips")
        self._view = view

    def draw(self, width: int, height: int) -> list[Line]:
        view = self._view()
        measures = view.judgement.measures
        most = 1 if self.screen.size.height < 32 else 4
        if not measures:
            rare = [setting_words(entry) for entry in view.judgement.rare[: 2 * most]]
            return [crop_line(text_line(words), width) for words in rare] or [
                text_line("nothing was measured", "dim")
            ]
        out: list[Line] = []
        for number in range(view.at, min(len(measures), view.at + most)):
            entry = measures[number]
            odd, suspects = view.nodes_marked(number, "odd"), view.nodes_marked(number, "suspect")
            sign = "▸ " if number == view.at else "  "
            left: Line = [
                (sign, "accent"),
                (clean_text(entry.title), "title"),
                (f" {len(entry.values)} nodes", "dim"),
            ]
            out.append(split_line(left, self._state_line(entry, odd, suspects), width))
            out += strip_lines(entry, odd, suspects, width)
        return out

    def _state_line(self, measure: FleetMeasure, odd: Collection[str], suspects: Collection[str]) -> Line:
        if odd:
            return [(clean_text(join_names(sorted(odd), 3)), "critical")]
        if measure.parts is not None:
            return [(f"two groups: {len(measure.parts.slow)} and {measure.parts.fast} nodes", "warning")]
        if suspects:
            again = OPEN if self._view().judgement.rounds else "to be measured again"
            return [(f"{len(suspects)} {again}", "warning")]
        return [(f"all nodes within {format_percent(measure.smallest)}", "ok")]


class NodePicker(Picker):
    """Nodes by measures, each as a change from the median of its group. The filter takes a set of nodes, or words."""

    def __init__(self, view: Callable[[], FleetView]) -> None:
        super().__init__(id="nodes", title="NODES, first run", empty="no node answered")
        self._view = view
        self._picker_rows: list[PickerRow] = []

    def sort_rows(self) -> None:
        """After the order, or what it shows, has changed."""
        view = self._view()
        self._picker_rows = [
            PickerRow(
                name,
                partial(_node_row, view, name),
                f"{name} {view.state_of(name)}",
                full_lines=partial(_node_verdict_lines, view, name),
            )
            for name in view.ordered_names()
        ]
        cleared = (
            f"{SIGNS['ok']} measured again, no outlier   "
            if "cleared" in map(view.state_of, view.stands)
            else ""
        )
        self.note = [(f"{cleared}sorted by {view.order}", "dim")]

    def build_rows(self) -> list[PickerRow]:
        return self._picker_rows

    @property
    def shown_rows(self) -> list[PickerRow]:
        fits = node_set_matcher(self.filter.strip()) if self.filter else None
        return [row for row in self._picker_rows if fits(row.key)] if fits is not None else super().shown_rows

    def draw_column_heads(self, width: int) -> list[Line]:
        """Each measure on so many lines as the screen has room for; what tells two of one name apart stands last."""
        view = self._view()
        names = [
            clean_text(m.title) for m in view.judgement.measures[view.at : view.at + _cells_that_fit(width)]
        ]
        most = MAX_HEAD_LINES if self.has_borders else 2
        heads = [_heading_lines(name, most) for name in names]
        high = max(map(len, heads), default=0)
        out = [fit_line([("    node" if line == high - 1 else "", "dim")], _NAME + 4) for line in range(high)]
        for n, words in enumerate(heads):
            for line, word in zip(out, [""] * (high - len(words)) + words, strict=True):
                line += fit_line([(word, "dim" if n else "accent")], _CELL)
        return [crop_line(line, width) for line in out]


def _heading_lines(name: str, most: int) -> list[str]:
    title, _, variant = name.rpartition(", ")
    room = most - bool(title)
    fitting = " ".join(
        word if len(word) < _CELL else word[: _CELL - 2] + "…" for word in (title or variant).split()
    )
    words = ["".join(part for part, _ in line) for line in wrap_text(fitting, _CELL - 1)]
    if len(words) > room:
        rest = crop_line(text_line(" ".join(words[room - 1 :])), _CELL - 1)
        words = [*words[: room - 1], "".join(part for part, _ in rest)]
    return [*words, shorten_middle(variant, _CELL - 1)] if title else words


def _cells_that_fit(width: int) -> int:
    return max(1, (width - _NAME - 4) // _CELL)


def _node_row(view: FleetView, name: str, width: int) -> Line:
    if (missing := view.missing.get(name)) is not None:
        return crop_line(_missing_line(missing), width)
    state = view.state_of(name)
    line: Line = [
        (f"{_SIGNS[state]} ", _ROLES[state]),
        *fit_line(crop_line([(clean_text(name), "strong" if state else "text")], _NAME), _NAME),
    ]
    for column in range(view.at, min(len(view.ratios), view.at + _cells_that_fit(width + 2))):
        ratio = view.ratios[column].get(name)
        words = "–" if ratio is None else _change_or_factor(ratio)
        line += [*fit_line([(words.rjust(_CELL - 2), _ROLES[view.state_of(name, column)])], _CELL)]
    return crop_line(line, width)


def _change_or_factor(ratio: float) -> str:
    return (
        f"{ratio:.2g} ×"
        if not 0.5 < ratio < 2
        else f"{'−' if ratio < 0.9995 else '+'}{100 * abs(ratio - 1):.1f} %"
    )


def _missing_line(missing_node: MissingNode) -> Line:
    head = fit_line(crop_line([("– ", "dim"), (clean_text(missing_node.node), "dim")], _NAME + 2), _NAME + 3)
    return [
        *head,
        (
            clean_text(" ".join(filter(None, (missing_node.state.replace("_", " "), missing_node.reason)))),
            "dim",
        ),
    ]


def _node_verdict_lines(view: FleetView, name: str, width: int) -> list[Line]:
    """Its verdicts, and what it alone has."""
    if (missing := view.missing.get(name)) is not None:
        return [crop_line(_missing_line(missing), width)]
    odd = next((entry for entry in view.judgement.odd if entry.node == name), None)
    if odd is not None:
        sentences = [retested_effect_words(view.judgement, entry) for entry in odd.standings[:2]]
        sentences += [
            setting_words(entry)
            for entry in odd.settings[:2]
            if entry.suspicion > odd.settings[0].suspicion / 2
        ]
        return [line for words in sentences for line in wrap_text(words, width)]
    mine = [entry for entry in (*view.judgement.suspects, *view.judgement.cleared) if entry.node == name]
    sentences = [retested_effect_words(view.judgement, entry) for entry in mine[:1]]
    if not sentences and (ratios := {n: each[name] for n, each in enumerate(view.ratios) if name in each}):
        at = max(ratios, key=lambda n: abs(math.log(ratios[n])))
        measure = view.judgement.measures[at]
        slow = measure.parts is not None and name in measure.parts.slow
        group = "in the slower of two groups" if slow else "not told apart from its peers"
        sentences = [f"{measure.title}: {_change_or_factor(ratios[at])} against the median, {group}"]
    return [line for words in sentences for line in wrap_text(words, width, "dim")] or [BLANK]
