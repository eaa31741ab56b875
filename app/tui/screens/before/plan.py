"""Plan: what a run would do, before anything happens. Follows `plan SCENARIO … --events -`, which changes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from textual import events
from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.locks import LockHolder, measuring_lock_holder
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.plan_text import NAME
from hostdx.app.run.launch import HOSTDX
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.invocation import command_to_paste
from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    cell_width,
    line_with_key_names,
    split_line,
    text_line,
    tinted_line,
    wrap_keys,
    wrap_text,
)
from hostdx.app.tui.children.event_child import EventChild
from hostdx.app.tui.option_values import (
    explain_bad_value,
    format_value,
    parse_proposable_options,
    parse_value,
)
from hostdx.app.tui.plan_text import (
    missing_option_lines,
    panel_lines,
    plan_lines,
    planning_lines,
    resolution_lines,
    whole_plan_lines,
)
from hostdx.app.tui.screens.ask import AskScreen
from hostdx.app.tui.screens.base import Base, TopBar
from hostdx.app.tui.widgets.panel import Box, DrawnPanel
from hostdx.app.tui.widgets.reader import Reader
from hostdx.probes import units
from hostdx.probes.types import Json
from hostdx.scenarios.contract.events import ScenarioOffer
from hostdx.scenarios.contract.option_value import command_arguments
from hostdx.scenarios.contract.plan import Option, Plan

ASKING_KEYS = frozenset(
    {"d", "b", "O", "plus", "minus", "equals_sign"}
)  # for which the options must be known
AROUND = 2  # lines of head and keys
PAGE_OPENS_S = 3.0  # within which a page of explanation comes on top
ALONE = "one directory: nothing to compare it with; [d] adds one"
Proposal = Callable[[], Sequence[str]]


def start_planner(argv: Sequence[str]) -> EventChild:
    return EventChild([*HOSTDX, "plan", *argv, "--events", "-"])


class PlanHead(TopBar):
    """Below the bar, the run that goes on meanwhile."""

    def draw(self, width: int, height: int) -> list[Line]:
        screen = self.screen
        assert isinstance(screen, PlanScreen)
        out = super().draw(width, height)
        if screen.blocking_run is not None:
            under_way: Line = [
                (f" ● {screen.blocking_run.scenario} measures since {screen.blocking_run.since}", "warning")
            ]
            then = (
                "this starts when it has ended" if screen.waits_for_end else "[Enter] starts this afterwards"
            )
            for words in (f"[a] follows it; {then} ", "[a] follows it "):
                follow = line_with_key_names(words, "strong")
                if cell_width(under_way) + cell_width(follow) < width:
                    break
            out.append(tinted_line(split_line(under_way, follow, width), width, "warning"))
        return out


class PlanScreen(Base):
    DEFAULT_CSS = """
    PlanScreen #beside { display: none; }
    PlanScreen.-broad #parts { layout: horizontal; }
    PlanScreen.-broad.-planned Reader { width: 56%; padding: 0 3 0 0; }
    PlanScreen.-broad.-planned #beside { display: block; width: 44%; }
    """
    BINDINGS = [
        Binding("enter", "start", "start"),
        Binding("enter", "wait", "start when it has ended"),  # while another run measures
        Binding("a", "attach", "follow the run"),
        Binding("enter", "name", "name it", priority=True),  # as long as something needed has no value
        Binding("d", "directories", "directory", priority=True),
        Binding("b", "budget", "budget", priority=True),
        Binding("plus,equals_sign", "longer(30)", "longer", show=False),
        Binding("minus", "longer(-30)", "shorter", show=False),
        Binding("O", "options", "options"),
        Binding("e", "explain", "explain"),
        Binding("x", "exact", "exact steps"),
        Binding("c", "copy", "copy the command", show=False),
    ]
    title_words = "plan"

    def __init__(
        self, offer: ScenarioOffer, values: dict[str, Json], *, propose: Proposal | None = None, ask: str = ""
    ) -> None:
        """`propose` gives the options anew for as long as the host is read and the user has set none; `ask`: the option
        that is asked for at once."""
        super().__init__()
        self._ask = ask
        self._propose = propose
        self.offer = offer
        self.values = values
        self._planned_values = dict(values)  # those that the planner was asked with
        self._exact = False
        self._child: EventChild | None = None
        self._busy: LockHolder | None = None  # whose run goes on meanwhile
        self.waits_for_end = False  # this one starts when that run has ended
        self._former: tuple[EventChild, dict[str, Json]] | None = None  # the last plan that could be made
        self._held_keys: list[events.Key] = []  # typed before the scenario's options were known
        self._asked: tuple[Option, str] | None = None  # the option set last, and the words for it
        self._opens_page = False  # an explanation is being read: it comes on top
        self._awaits_page = False  # the same, however long it takes; Esc ends it

    @property
    def session(self) -> RunSession:
        return self._child.session if self._child is not None else RunSession()

    @property
    def blocking_run(self) -> LockHolder | None:
        """The run that this one would be refused for: two loads disturb each other."""
        return self._busy if self.plan is not None and self.plan.measuring_s > 0 else None

    @property
    def is_plan_final(self) -> bool:
        """The planner has said all it had to say, or is not asked as long as an option is missing."""
        return bool(self.missing_options) or (self._child is not None and self._child.ended)

    @property
    def is_made_again(self) -> bool:
        """A value was changed, and the plan for it is not there yet: the former one is still shown."""
        return (
            self._former is not None and self._child is not None and not self._child.ended and not self.plan
        )

    @property
    def missing_options(self) -> list[Option]:
        """Needed options that have no value yet."""
        return [o for o in self.offer.options if o.required and not self.values.get(o.name)]

    @property
    def is_single(self) -> bool:
        """One directory, where several could be compared."""
        several = any(o.name == "dir" and o.multiple for o in self.offer.options)
        return several and self.plan is not None and len(self.plan.variants) == 1

    @property
    def plan(self) -> Plan | None:
        return self.session.plan

    @property
    def head_words(self) -> tuple[str, str, str]:
        after = " › exact steps" if self._exact else " › live › verdict"
        return self.offer.id, after, self.offer.title

    def compose_head(self) -> Iterable[Widget]:
        yield PlanHead()

    def compose_body(self) -> Iterable[Widget]:
        with Box(id="parts"):
            yield Reader(self._plan_lines)
            yield DrawnPanel(self._whole_plan_beside, id="beside")

    def _whole_plan_beside(self, width: int, height: int) -> list[Line]:
        """On a broad screen: what the plan's words stand for, step by step and load by load."""
        rows = whole_plan_lines(self.plan, width) if self.plan is not None else [BLANK]
        return (
            rows if len(rows) <= height else [*rows[: height - 1], line_with_key_names("[x] shows all of it")]
        )

    def show(self) -> None:
        self.set_class(self.plan is not None and not self._exact, "-planned")
        super().show()

    def on_mount(self) -> None:
        self.set_interval(0.1, self._poll_triage_and_child)
        self.set_interval(2, self._start_when_host_is_free)
        self._busy = measuring_lock_holder()
        self._restart_planner()
        self._ask_option_once()

    def _ask_option_once(self) -> None:
        """Once, as soon as triage has told that there is such an option."""
        option = next((o for o in self.offer.options if o.name == self._ask), None)
        if option is None:
            return
        self._ask = ""
        if option.kind != "path":
            self.change_option(option)
            return
        self._choose_directories(option, proposed=True)

    def on_unmount(self) -> None:
        if self._child is not None:
            self._child.close()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        names = {o.name for o in self.offer.options}
        if action in ("start", "name"):
            if action == "name" or self.missing_options:
                return bool(self.missing_options) == (action == "name")
            return self.plan is not None and not self.plan.refusal and self.blocking_run is None
        if action == "wait":
            return self.plan is not None and not self.plan.refusal and self.blocking_run is not None
        if action == "attach":
            return self.blocking_run is not None
        if action == "exact":
            return self.plan is not None
        if action == "directories":
            return "dir" in names
        if action in ("budget", "longer"):
            return "budget" in names
        if action == "options":
            return bool(names)
        return True

    def keeps_key(self, event: events.Key) -> bool:
        """Keep a key that asks for a value, and what is typed after it, until triage has told the options.

        The first of them would be dropped, and the others taken for single keys.
        """
        triage = self.shell.triage
        if self.offer.options or triage is None or triage.ended or event.key == "ctrl+c":
            return False
        if event.key == "escape" and self._held_keys:
            self._held_keys = []
            self.shell.show_message("the keys that waited are dropped")
            return True
        first_keys = ASKING_KEYS | ({"slash", "space"} if self._ask else set())
        if not self._held_keys and event.key not in first_keys:
            return False
        self._held_keys.append(event)
        self.call_after_refresh(self.shell.show_message, "reading the host first; what you type is kept")
        return True

    def _replay_held_keys(self) -> None:
        held, self._held_keys = self._held_keys, []
        if held:
            self.shell.show_message("")
        for event in held:
            self.app.post_message(events.Key(event.key, event.character))

    def footer_words(self, binding: Binding) -> str:
        """Beside the key that starts a run stands what the run writes, and where."""
        writes = self.plan.writes if self.plan is not None else ()
        if binding.action == "start" and writes:
            size = units.format_size(sum(item.bytes for item in writes))
            if not self.has_class("-wide"):
                devices = ", ".join(dict.fromkeys(item.device for item in writes))
                return f"start: ≤ {size} to {clean_text(devices)}"
            where = ", ".join(dict.fromkeys(item.where or item.device for item in writes))
            return f"start: writes ≤ {size} to {clean_text(where)}"
        return super().footer_words(binding)

    def _restart_planner(self) -> None:
        if self._child is not None:
            self._child.close()
        if self._child is not None and self.plan is not None:
            self._former = self._child, self._planned_values
        self._planned_values = dict(self.values)
        asked = [self.offer.id, *command_arguments(self.values, self.offer.options)]
        self._child = None if self.missing_options else start_planner(asked)
        self.shell.draw()  # the list of options may be on top

    def _poll_triage_and_child(self) -> None:
        self._take_offer_and_proposal()
        triage = self.shell.triage
        if self.offer.options or triage is None or triage.ended:
            self._replay_held_keys()
        if self._child is not None and not self._child.ended and self._child.poll():
            if self._child.ended and self.plan is None and self._former is not None:
                self._restore_former_plan(self._child.error)
            self.show()

    def _restore_former_plan(self, error: str) -> None:
        """Go back to the plan before an option that the planner refuses, and ask for that option again."""
        assert self._former is not None
        (self._child, self.values), asked = self._former, self._asked
        self._former, self._asked, self._planned_values = None, None, dict(self.values)
        if asked is not None and asked[0].name != "dir" and self.app.screen is self:
            self.change_option(*asked, trouble=error)
        else:
            self.shell.show_message(f"no plan with that: {error}")

    def _take_offer_and_proposal(self) -> None:
        """What triage has told since the plan was opened: the scenario's options, and what the host proposes."""
        current_offer = next((o for o in self.shell.home_session().offers if o.id == self.offer.id), None)
        if self._propose is None or current_offer is None:
            return
        values = parse_proposable_options(self._propose(), current_offer.options)
        if self.shell.triage is None or self.shell.triage.ended:
            self._propose = None
        if current_offer != self.offer or values != self.values:
            self.offer, self.values = current_offer, values
            self._restart_planner()
            self.show()
        self._ask_option_once()

    def _start_when_host_is_free(self) -> None:
        before, self._busy = self._busy, measuring_lock_holder()
        if before != self._busy:
            self.show()
        if self.waits_for_end and self._busy is None and self.app.screen is self:  # never below another page
            self.waits_for_end = False
            self.action_start()

    def _plan_lines(self, width: int) -> list[Line]:
        child, plan = self._child, self.plan
        if self.missing_options:
            return missing_option_lines(self.offer, self.missing_options, width)
        if self.is_made_again:
            assert self._former is not None
            before = self._former[0].session.plan
            words = "the plan is made again; below is the one before the change. [Esc] keeps that one"
            shown = plan_lines(before, width) if before is not None else []
            return [*wrap_keys(words, width, "warning"), BLANK, *shown]
        if plan is None:
            if child is not None and child.ended:
                words = child.error or "no plan was made"
                keys = {"directories": "[d] names directories;", "budget": "[b] changes the budget;"}
                ways = [way for action, way in keys.items() if self.check_action(action, ())]
                return [
                    *wrap_text(f"No plan: {words}", width, "critical"),
                    BLANK,
                    *wrap_keys(" ".join([*ways, "[O] sets any option."]), width, "text"),
                ]
            return planning_lines(self.offer, width)
        if self._exact:
            return whole_plan_lines(plan, width)
        chosen = " ".join(command_arguments(self.values, self.offer.options))
        if self.has_class("-wide") and self.has_class("-high") and not self.has_class("-broad"):
            warned = [ALONE] if self.is_single else []
            room = self.app.size.height - AROUND - (self.blocking_run is not None)
            able = {
                action_name for action_name in ("directories", "budget") if self.check_action(action_name, ())
            }
            return panel_lines(
                plan, width, room, warned, self._command_line(), self.shell.earlier_results.detects, able
            )
        return [
            *([*wrap_keys(ALONE, width, "warning"), BLANK] if self.is_single else []),
            *plan_lines(plan, width),
            *resolution_lines(plan, self.shell.earlier_results.detects, width),
            *([BLANK, text_line(f"{'options':<{NAME}}{chosen}", "dim")] if chosen else []),
        ]

    def default_text(self, option: Option) -> str:
        """Return what an option is as long as nobody set it, as the plan has it."""
        if self.plan is not None and option.name == "budget":
            return units.format_duration(self.plan.measuring_s)
        return (
            clean_text(", ".join(self._default_directories())) if option.name == "dir" else ""
        ) or "not set"

    def _default_directories(self) -> list[str]:
        """The directories that are measured unasked."""
        actions = self.plan.actions if self.plan is not None else ()
        return list(dict.fromkeys(str(Path(a.target).parent) for a in actions if a.resource == "directory"))

    def _command_line(self) -> str:
        return command_to_paste(
            shlex.join(["hostdx", "run", self.offer.id, *command_arguments(self.values, self.offer.options)])
        )

    def action_copy(self) -> None:
        self.shell.copy(self._command_line(), "the command")

    def action_back(self) -> None:
        """From the exact steps to the plan: they look like a page, so they are left like one.

        So is a page that is only coming, and a plan that is made again: what was chosen before stays.
        """
        if self._awaits_page:
            self._opens_page = self._awaits_page = False
            self.shell.show_message("the page is not opened")
        elif self.is_made_again and self._former is not None and self._child is not None:
            self._child.close()
            (self._child, self.values), self._former, self._asked = self._former, None, None
            self._planned_values = dict(self.values)
            self.show()
        elif self._exact:
            self.action_exact()
        else:
            super().action_back()

    def action_exact(self) -> None:
        self._exact = not self._exact
        self.query_one(Reader).to_top()
        self.show()

    def action_explain(self) -> None:
        if not self._opens_page:
            self._opens_page = self._awaits_page = True
            self.set_timer(PAGE_OPENS_S, self._stop_holding_enter)
            self.shell.show_message("opening the explanation")
            self.shell.open_explanation(self.offer.id, lambda: self._awaits_page)

    def _stop_holding_enter(self) -> None:
        self._opens_page = False

    def on_screen_suspend(self) -> None:
        """The page stands on top."""
        self._opens_page = self._awaits_page = False

    def action_name(self) -> None:
        self.change_option(self.missing_options[0])

    def action_attach(self) -> None:
        self.shell.look_for_runs()
        self.shell.open_running_recording()

    def action_wait(self) -> None:
        """Start this when the other run has ended; pressed once more, do not."""
        self.waits_for_end = not self.waits_for_end
        self.show()

    def action_start(self) -> None:
        plan = self.plan
        if self._opens_page:
            self.shell.show_message("a page is opening; Enter starts the run once it is closed")
            return
        if plan is None:
            self.shell.show_message(
                "there is no plan to start" if self.is_plan_final else "there is no plan yet"
            )
            return
        if plan.refusal:
            self.shell.show_message(f"it cannot be done here: {plan.refusal}")
            return
        if not plan.needs_consent and not plan.commands:
            self._start_run_or_wait(plan)
            return
        from hostdx.app.tui.screens.before.consent import ConsentScreen

        self.app.push_screen(ConsentScreen(plan), lambda yes: self._start_run_or_wait(plan) if yes else None)

    def _start_run_or_wait(self, plan: Plan) -> None:
        self._start_when_host_is_free()
        if self.blocking_run is not None:  # it began while this was read
            self.waits_for_end = True
            self.shell.show_message(
                f"{self.blocking_run.scenario} is measuring; this starts when it has ended"
            )
            return
        self.shell.start_run(self.offer.id, command_arguments(self.values, self.offer.options), plan)

    def set_option(self, option: Option, words: str) -> None:
        self._propose = None
        self._asked = option, words
        value = parse_value(option, words)
        if value is None:
            self.values.pop(option.name, None)
        else:
            self.values[option.name] = value
        self._restart_planner()

    def change_option(self, option: Option, typed: str = "", trouble: str = "") -> None:
        """`typed`: what was refused by the planner, with its reason in `trouble`; it stands in the field again."""
        if option.name == "dir" and option.kind == "path":
            self._choose_directories(option)
            return
        if option.kind == "flag":
            self.set_option(option, "" if self.values.get(option.name) else "yes")
            return
        hint = option.help + (f"; one of {', '.join(option.choices)}" if option.choices else "")
        if option.name == "budget" and self.plan is not None and not self.values.get("budget"):
            hint += f"; now {self.plan.measuring_s:.0f}"
        hint += "; several with blanks between" if option.multiple else ""
        self.app.push_screen(
            AskScreen(
                option.name,
                typed or format_value(option, self.values),
                hint=clean_text(trouble or hint),
                check=lambda words: explain_bad_value(option, words),
                replaced=True,
            ),
            lambda words: None if words is None else self.set_option(option, words),
        )

    def _choose_directories(self, option: Option, *, proposed: bool = False) -> None:
        """`proposed`: nobody has chosen what is marked, so the first choice replaces it."""
        from hostdx.app.tui.screens.before.directories import DirectoriesScreen

        now = self.values.get("dir")
        chosen = [str(path) for path in now] if isinstance(now, list) else [str(now)] if now else []
        if not chosen and option.multiple:
            chosen = self._default_directories()
        known_directories = self.shell.earlier_results.directories
        self.app.push_screen(
            DirectoriesScreen(
                chosen, option.multiple, self._set_directories, known_directories, proposed=proposed
            )
        )

    def _set_directories(self, paths: list[str]) -> None:
        self._propose = None
        several: list[Json] = list(paths)
        if not paths:
            self.values.pop("dir", None)
        else:
            self.values["dir"] = several if self._find_option("dir").multiple else paths[0]
        self._restart_planner()

    def _find_option(self, name: str) -> Option:
        return next(o for o in self.offer.options if o.name == name)

    def action_directories(self) -> None:
        self.change_option(self._find_option("dir"))

    def action_budget(self) -> None:
        self.change_option(self._find_option("budget"))

    def action_longer(self, seconds: int) -> None:
        option = self._find_option("budget")
        now = (
            self.values.get("budget") or option.default or (self.plan.measuring_s if self.plan else 0) or 120
        )
        if isinstance(now, int | float):
            self.set_option(option, str(max(10, round(now + seconds))))

    def action_options(self) -> None:
        from hostdx.app.tui.screens.before.options import OptionsScreen

        self.app.push_screen(OptionsScreen(self))
