"""The fleet screen's parts: a strip a measure, and the table of nodes and measures that sorts and filters."""

import math
from collections.abc import Callable, Collection
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from app.fleet.node_names import matcher
from app.glyphs import SIGNS, clean
from app.lines import BLANK, Line, crop, pad, split, text, wrapped
from app.report.figures.strip import strip_lines
from app.report.results.fleet import lead, setting_words, standing_words
from app.tui.widgets.panel import Panel
from app.tui.widgets.picker import Picker, PickerRow
from probes.units import listed, percent
from scenarios.peers.judgement import FleetJudgement, Measure, Missing
from scenarios.verdict.verdict import OPEN

Order: TypeAlias = Literal["farthest off", "this measure", "name"]
ORDERS: tuple[Order, ...] = ("farthest off", "this measure", "name")
MOST_LEAD = 3  # lines
_NAME, _CELL = 18, 10  # cells of a column
_ROLES = {"odd": "critical", "suspect": "warning", "cleared": "ok", "": "text"}
_SIGNS = {"odd": SIGNS["critical"], "suspect": SIGNS["unknown"], "cleared": SIGNS["ok"], "": " "}


class NodeStanding(NamedTuple):
    """How a node stands: the worst of its measures says it for all."""

    state: str
    columns: frozenset[int]


class FleetView:
    """What the screen shows of a judgement, made once: thousands of nodes are drawn again at each key."""

    def __init__(self, found: FleetJudgement) -> None:
        self.found = found
        self.at = 0  # the measure that is looked at
        self.order: Order = "farthest off"
        self.names = list(dict.fromkeys([*(n for m in found.measures for n in m.values), *found.files]))
        self.missing = {
            one.node: one for one in found.missing if not one.round and one.node not in found.files
        }
        self.ratios = [
            {name: _ratio(measure, value) for name, value in measure.values.items()}
            for measure in found.measures
        ]
        self.stands: dict[str, NodeStanding] = {}
        for state, standings in (
            ("odd", [s for odd in found.odd for s in odd.standings]),
            ("suspect", found.suspects),
            ("cleared", found.cleared),
        ):
            for one in standings:
                before = self.stands.get(one.node, NodeStanding(state, frozenset()))
                if before.state == state:
                    self.stands[one.node] = NodeStanding(state, before.columns | {one.column})
        self._off = {name: self._farthest(name) for name in self.names}

    def state(self, name: str, column: int | None = None) -> str:
        stands = self.stands.get(name)
        return stands.state if stands is not None and (column is None or column in stands.columns) else ""

    def marked(self, column: int, state: str) -> set[str]:
        return {name for name, one in self.stands.items() if one.state == state and column in one.columns}

    def ordered(self) -> list[str]:
        """Nodes without an answer come last."""
        names = sorted(self.names)
        if self.order == "farthest off":
            first = {"odd": 0, "suspect": 1}
            names.sort(key=lambda name: (first.get(self.state(name), 2), -self._off[name]))
        elif self.order == "this measure" and self.ratios:
            ratios = self.ratios[self.at]
            names.sort(key=lambda name: ratios.get(name, math.inf))
        return [*names, *sorted(self.missing)]

    def _farthest(self, name: str) -> float:
        return max((abs(math.log(ratios[name])) for ratios in self.ratios if name in ratios), default=0.0)


def _ratio(measure: Measure, value: float) -> float:
    return value / measure.centre if measure.metric.better == "more" else measure.centre / value


class FleetLead(Panel):
    DEFAULT_CSS = "FleetLead { height: auto; max-height: 3; }"

    def __init__(self, view: Callable[[], FleetView]) -> None:
        super().__init__(id="lead")
        self._view = view

    def draw(self, width: int, height: int) -> list[Line]:
        lines = wrapped(clean(lead(self._view().found)), width, "strong")
        if len(lines) > MOST_LEAD:  # o has all of it
            lines[MOST_LEAD - 1] = [*crop(lines[MOST_LEAD - 1], width - 2), (" …", "strong")]
        return lines[:MOST_LEAD]


class Strips(Panel):
    """Each measure a strip, beginning with the one that is looked at; settings that few nodes have, without any."""

    DEFAULT_CSS = "Strips { height: auto; margin: 1 0 0 0; }"

    def __init__(self, view: Callable[[], FleetView]) -> None:
        super().__init__(id="strips")
        self._view = view

    def draw(self, width: int, height: int) -> list[Line]:
        view = self._view()
        measures = view.found.measures
        most = 1 if self.screen.size.height < 32 else 4
        if not measures:
            rare = [setting_words(one) for one in view.found.rare[: 2 * most]]
            return [crop(text(clean(words)), width) for words in rare] or [
                text("nothing was measured", "dim")
            ]
        out: list[Line] = []
        for number in range(view.at, min(len(measures), view.at + most)):
            one = measures[number]
            odd, suspects = view.marked(number, "odd"), view.marked(number, "suspect")
            sign = "▸ " if number == view.at else "  "
            left: Line = [(sign, "accent"), (clean(one.title), "title"), (f" {len(one.values)} nodes", "dim")]
            out.append(split(left, self._named(one, odd, suspects), width))
            out += strip_lines(one, odd, suspects, width)
        return out

    def _named(self, one: Measure, odd: Collection[str], suspects: Collection[str]) -> Line:
        if odd:
            return [(clean(listed(sorted(odd), 3)), "critical")]
        if one.parts is not None:
            return [(f"two groups: {len(one.parts.slow)} and {one.parts.fast} nodes", "warning")]
        if suspects:
            again = OPEN if self._view().found.rounds else "to be measured again"
            return [(f"{len(suspects)} {again}", "warning")]
        return [(f"within {percent(one.smallest)}", "ok")]


class NodePicker(Picker):
    """Nodes by measures, each as a change from the median of its group. The filter takes a set of nodes, or words."""

    def __init__(self, view: Callable[[], FleetView]) -> None:
        super().__init__(id="nodes", title="NODES", empty="no node answered")
        self._view = view
        self._made: list[PickerRow] = []

    def sort_rows(self) -> None:
        """After the order, or what it shows, has changed."""
        view = self._view()
        self._made = [
            PickerRow(
                name,
                partial(_line, view, name),
                f"{name} {view.state(name)}",
                whole=partial(_whole, view, name),
            )
            for name in view.ordered()
        ]
        self.note = [(f"by {view.order}", "dim")]

    def rows(self) -> list[PickerRow]:
        return self._made

    @property
    def shown(self) -> list[PickerRow]:
        fits = matcher(self.filter.strip()) if self.filter else None
        return [row for row in self._made if fits(row.key)] if fits is not None else super().shown

    def columns(self, width: int) -> list[Line]:
        view = self._view()
        names = [clean(m.title) for m in view.found.measures[view.at : view.at + _count(width)]]
        head: Line = pad([("    node", "dim")], _NAME + 4)
        for n, name in enumerate(names):
            head += pad(crop([(name, "dim" if n else "accent")], _CELL - 1), _CELL)
        return [crop(head, width)] if names else []


def _count(width: int) -> int:
    return max(1, (width - _NAME - 4) // _CELL)


def _line(view: FleetView, name: str, width: int) -> Line:
    if (missing := view.missing.get(name)) is not None:
        return crop(_gone(missing), width)
    state = view.state(name)
    line: Line = [
        (f"{_SIGNS[state]} ", _ROLES[state]),
        *pad(crop([(clean(name), "strong" if state else "text")], _NAME), _NAME),
    ]
    for column in range(view.at, min(len(view.ratios), view.at + _count(width + 2))):
        ratio = view.ratios[column].get(name)
        words = "–" if ratio is None else _change(ratio)
        line += [*pad([(words.rjust(_CELL - 2), _ROLES[view.state(name, column)])], _CELL)]
    return crop(line, width)


def _change(ratio: float) -> str:
    return (
        f"{ratio:.2g} ×"
        if not 0.5 < ratio < 2
        else f"{'−' if ratio < 0.9995 else '+'}{100 * abs(ratio - 1):.1f} %"
    )


def _gone(one: Missing) -> Line:
    head = pad(crop([("– ", "dim"), (clean(one.node), "dim")], _NAME + 2), _NAME + 3)
    return [*head, (clean(" ".join(filter(None, (one.state.replace("_", " "), one.reason)))), "dim")]


def _whole(view: FleetView, name: str, width: int) -> list[Line]:
    """Its verdicts, and what it alone has."""
    if (missing := view.missing.get(name)) is not None:
        return [crop(_gone(missing), width)]
    odd = next((one for one in view.found.odd if one.node == name), None)
    if odd is not None:
        told = [standing_words(view.found, one) for one in odd.standings[:2]]
        told += [
            setting_words(one) for one in odd.settings[:2] if one.suspicion > odd.settings[0].suspicion / 2
        ]
        return [line for words in told for line in wrapped(clean(words), width)]
    mine = [one for one in (*view.found.suspects, *view.found.cleared) if one.node == name]
    told = [standing_words(view.found, one) for one in mine[:1]]
    if not told and (ratios := {n: each[name] for n, each in enumerate(view.ratios) if name in each}):
        at = max(ratios, key=lambda n: abs(math.log(ratios[n])))
        measure = view.found.measures[at]
        slow = measure.parts is not None and name in measure.parts.slow
        group = "in the slower of two groups" if slow else "not told apart from its peers"
        told = [f"{measure.title}: {_change(ratios[at])} against the median, {group}"]
    return [line for words in told for line in wrapped(clean(words), width, "dim")] or [BLANK]
