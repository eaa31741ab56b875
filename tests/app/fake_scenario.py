"""A scenario for the runner's tests: its options say what it does and how it ends."""

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import ClassVar

from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action, private_directory_action
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, RunRefused, Scenario, UsageError
from hostdx.scenarios.contract.plan import Metric, Option, Plan, PlannedWrite, Variant, Workload


class Fake(Scenario):
    """`--dir` makes a private directory with a file in it, `--attribute FILE` writes `new` there, then `--how`."""

    id: ClassVar[str] = "fake"
    title: ClassVar[str] = "a fake"
    question: ClassVar[str] = "Does the runner work?"
    why: ClassVar[str] = "Because everything stands on it."
    answers: ClassVar[str] = "yes or no"
    takes_s: ClassVar[float] = 1.0
    options: ClassVar[tuple[Option, ...]] = (
        Option(name="dir", kind="path", help="a directory", multiple=True),
        Option(name="attribute", kind="path", help="a file that takes the part of an attribute"),
        Option(name="how", kind="text", help="how it ends", default="done"),
        Option(name="blocks", kind="integer", help="how many blocks", default=4),
        Option(name="size", kind="bytes", help="how much", default=1024),
        Option(name="colour", kind="choice", help="which", choices=("red", "green"), default="red"),
        Option(name="fast", kind="flag", help="no waiting"),
    )

    def blocking_reason(self, host: Host) -> str:
        return ""

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        ending = options.as_string("how")
        if ending == "usage":
            raise UsageError("--how: cannot be `usage`")
        target = options.as_string("attribute")
        change = Action(kind="attribute", title="set it", target=target, new="new", consent=True, risk="none")
        plan = Plan(
            scenario=self.id,
            title=self.title,
            question=self.question,
            options=options.values,
            variants=(Variant(id="A", label="left"), Variant(id="B", label="right")),
            workloads=(Workload(id="w", title="work", metrics=(Metric("IOPS", "1/s"),)),),
            actions=(
                *(private_directory_action(parent) for parent in options.as_strings("dir")),
                *((change,) if target else ()),
            ),
            writes=(PlannedWrite("vda", 1 << 20),),
            seconds=2.0,
            refusal="no good reason" if ending == "refusal" else "",
        )
        return PreparedRun(plan, self._run)

    async def _run(self, run: Run) -> None:
        ending = run.options.as_string("how")
        parents = run.options.as_strings("dir")
        if parents:
            async with run.apply_change(private_directory_action(parents[0])) as journal:
                await asyncio.to_thread(Path(journal.value, "file").write_text, "something")
                await self._measure_changed(run, ending)
        else:
            await self._measure_changed(run, ending)

    async def _measure_changed(self, run: Run, ending: str) -> None:
        target = run.options.as_string("attribute")
        if target:
            action = Action(kind="attribute", title="set it", target=target, new="new", consent=True)
            async with run.apply_change(action):
                await self._measure(run, ending)
        else:
            await self._measure(run, ending)

    async def _measure(self, run: Run, ending: str) -> None:
        run.emit(ev.RunStep(t=run.elapsed_s(), id="w", title="work", state="started"))
        for index in range(run.options.as_integer("blocks")):
            await run.clock.sleep(0.0 if run.options.is_set("fast") else 0.1)
            values = {"IOPS": 1000.0 + index}
            run.emit(ev.Block(t=run.elapsed_s(), workload="w", variant="AB"[index % 2], group=index // 2, index=index,
                              seconds=0.1, values=values))  # fmt: skip
        with contextlib.suppress(OSError):
            print("measured", file=sys.stderr, flush=True)
        if ending == "refused":
            raise RunRefused("found out late")
        if ending == "bug":
            raise RuntimeError("a mistake\nof two lines")
        if ending == "hang":
            await asyncio.Event().wait()
        if ending == "finding":
            finding = Finding(
                id="fake.found", severity="warning", title="something", evidence=(Evidence("so"),)
            )
            run.emit(ev.Found(t=run.elapsed_s(), finding=finding))
        if ending == "unmeasured":
            run.emit(ev.RunVerdict(t=run.elapsed_s(), workload="w", metric="IOPS", baseline="A", variant="B",
                                verdict="not measured", reason="needs 9 s"))  # fmt: skip
            return
        run.emit(
            ev.RunVerdict(t=run.elapsed_s(), workload="w", metric="IOPS", baseline="A", variant="B", verdict="slower",
                       ratio=0.73, ci95=(0.71, 0.76), groups=12, look=1, smallest_effect=0.03, seconds=24.1)
        )  # fmt: skip
