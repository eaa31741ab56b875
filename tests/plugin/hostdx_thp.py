"""Scenario `thp`: is a command faster with transparent huge pages `always` or `never`? Switched, measured, undone."""

import os
from functools import partial
from typing import ClassVar

from hostdx.probes.engine.command.command import CommandBench
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.memory import read_memory
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.card import Card, Complaint
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.model import (
    OptionMap,
    PreparedRun,
    Run,
    Scenario,
    make_directory_action,
    own_test_directory,
)
from hostdx.scenarios.contract.plan import Option, PlannedStep, Variant, timed_command_workload
from hostdx.scenarios.contract.results.result import Result
from hostdx.scenarios.experiment.guards.watch import watch_for
from hostdx.scenarios.experiment.load_schedule import measure_workload
from hostdx.scenarios.experiment.schedule.switch import SettingSwitch, SwitchedVariantBench, attribute_change
from hostdx.scenarios.experiment.wording import effect_words

SETTING = "/sys/kernel/mm/transparent_hugepage/enabled"
BUDGET_S = 120.0
VALUES = {"always": "always", "never": "never", "again": "always"}
LOAD = timed_command_workload("command", "the command", controls=("again",))  # "again": must not differ


def active(host: Host) -> str:
    return value if is_present(value := read_memory(host).transparent_huge_pages) else ""


class Pages(Result, frozen=True, tag="thp.pages/1"):
    name: ClassVar[str] = "huge pages"
    value: str


def change(old: str, value: str) -> Action:
    return attribute_change(
        SETTING, old, value, risk="what starts meanwhile gets its pages by the other rule"
    )


def make_finding(old: str, best: str, proof: str) -> Finding:
    title = f"the command is faster with huge pages {best}"
    set_it, undo = (f"echo {best} > {SETTING}",), (f"echo {old} > {SETTING}",)
    boot, see = (f"add transparent_hugepage={best} to the kernel command line",), (f"cat {SETTING}",)
    remedy = Remedy(title=f"set it to {best}", commands=set_it, persistent=boot, verify=see, undo=undo)
    return Finding(id="thp", severity="notice", title=title, evidence=(Evidence(proof),), remedy=(remedy,))


class Thp(Scenario):
    id: ClassVar[str] = "thp"
    title: ClassVar[str] = "Transparent huge pages"
    question: ClassVar[str] = "Is this command faster with transparent huge pages always or never?"
    why: ClassVar[str] = "Huge pages save address translations, and cost time where memory must be compacted."
    answers: ClassVar[str] = "always against never, for your command"
    takes_s: ClassVar[float] = BUDGET_S + 5
    needs: ClassVar[str] = "root, --command"
    card: ClassVar[Card] = Card(complaint=Complaint("much memory, and slow"))
    suspect: ClassVar[str] = "huge pages"
    checkup_s: ClassVar[float] = 30.0
    options: ClassVar[tuple[Option, ...]] = (
        Option(name="command", kind="text", required=True, help="what is run and timed"),
        Option(name="dir", kind="path", default="/var/tmp", help="where its working directory is made"),
        *Scenario.options,
    )

    def blocking_reason(self, host: Host) -> str:
        if not host.live or not active(host):
            return "no transparent huge pages here" if host.live else "a captured tree cannot be measured"
        return "" if os.geteuid() == 0 else "switching transparent huge pages needs root"

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        old, budget = active(host), options.as_number("budget", BUDGET_S)
        changes = [change(old, value) for value in ("always", "never") if value != old]
        plan = self.make_plan(
            options=dict(options.values),
            variants=tuple(Variant(id=name, label=value) for name, value in VALUES.items()),
            workloads=(LOAD,),
            steps=(PlannedStep("measure", "measure and judge", budget),),
            actions=(*changes, make_directory_action(host, options.as_string("dir"))),
            seconds=budget + 5,
            measuring_s=budget,
            sentences=(f"runs the command in turn with always and never; {old} comes back",),
        )
        return PreparedRun(plan, partial(self._run, old))

    async def _run(self, old: str, run: Run) -> None:
        run.emit(Pages(t=run.elapsed_s(), value=old))
        with run.begin_step("measure", "measure and judge"):
            async with (
                own_test_directory(run, run.options.as_string("dir")) as private,
                SettingSwitch(run, old, lambda value: change(old, value), lambda: active(run.host)) as switch,
            ):
                bench = CommandBench(run.host, run.options.as_string("command"), private)
                sides = [SwitchedVariantBench(name, switch, bench, value) for name, value in VALUES.items()]
                budget = run.plan.measuring_s
                verdicts, _ = await measure_workload(
                    run, LOAD, sides, budget_s=budget, family=2, watch=watch_for(run)
                )
        if verdicts[0].is_different:
            faster = "always" if verdicts[0].is_slower else "never"
            run.emit_finding(make_finding(old, faster, effect_words(verdicts[0])))
