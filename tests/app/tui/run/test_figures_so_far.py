"""What stands on the live screen where no load is under way, and the words of an axis, a legend and a list's head."""

from hostdx.app.recordings import store
from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.next_steps import next_steps_for
from hostdx.app.terminal.lines import Line
from hostdx.app.tui.screens.live import has_comparison
from hostdx.app.tui.widgets.home.live_line import pulse_strip
from hostdx.app.tui.widgets.measuring.loads_panel import LoadsPanel, figure_lines
from hostdx.app.tui.widgets.measuring.variants import variant_label
from hostdx.scenarios.contention.results import ScalingCurve, ScalingCurves, WorkersLevel
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding, Remedy
from hostdx.scenarios.contract.plan import Plan, Variant, Workload
from tests.every_case import every_case


def texts_of(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in line).rstrip() for line in lines]


def sample(series: str, value: float, unit: str, variant: str = "", block: int = 0) -> ev.SampleTaken:
    return ev.SampleTaken(t=float(block), series=series, variant=variant, block=block, value=value, unit=unit)


def test_a_plots_title_has_a_whole_name_instead_of_a_torn_label() -> None:
    session = load_recording(store.resolve_recording("demo:numa"))
    assert variant_label(session, "far") == "far" and variant_label(session, "small") == "small pages"
    assert figure_lines(RunSession(), 78, 11) == ([], [])


def test_a_watchs_figures_have_their_course_and_what_has_no_room_is_counted() -> None:
    session = RunSession()
    for series in range(9):
        session.apply(sample(f"figure {series}", 0.25, "share", block=series))
    lines = texts_of(figure_lines(session, 78, 5)[1])
    assert len(lines) == 5 and "25 %" in lines[0] and lines[-1] == "and 5 more in the report"


def scaling_session(*values: ScalingCurve) -> RunSession:
    """A run of `contention` under way."""
    session = begin_session("contention")
    loads = tuple(
        Workload(id=load, title="CPU only", metrics=(), control=True) for load in ("cpu", "create", "sockets")
    )
    plan = Plan(
        scenario="contention",
        title="t",
        question="q",
        workloads=loads,
        variants=(Variant(id="A", label="xfs"), Variant(id="B", label="ext4")),
    )
    session.apply(ev.Planned(t=0.0, plan=plan))
    if values:
        session.apply(ScalingCurves(t=7.0, value=values))
    return session


@every_case("state", ["begun", "under way", "ended"])
def test_what_compares_no_sides_shows_its_own_figures_and_no_effect(state: str) -> None:
    """All its loads were `to come` until the end, and `not measured` from then on, beside a chart of no effect."""
    level = WorkersLevel(workers=1, rate=5.4e3, ci95=None, queued=0.0, system_share=0.1, switches=0.0)
    curve = ScalingCurve(load="create", title="create", side="xfs", serial=False, groups=1, levels=(level,), steps=(),
                  scales_to=None, stops_after=None, usl=None, waits=())  # fmt: skip
    session = scaling_session(*([curve] if state != "begun" else []))
    if state == "ended":
        session.apply(ev.RunEnded(t=14.0, status="done"))
    text = "\n".join(texts_of(LoadsPanel(lambda: session).draw_session(session, 118, 20)))
    assert ("5.4 k" in text) == (state != "begun")
    assert "not measured" not in text and "waiting" not in text and not has_comparison(session)


def begin_session(scenario: str) -> RunSession:
    session = RunSession()
    session.apply(ev.Began(t=0.0, schema=ev.SCHEMA, version="1", scenario=scenario, command=[], host="h", wall="",
                           seed=1, pid=1, pid_start=1, boot_id="", options={}))  # fmt: skip
    return session


def stopped_run(*findings: Finding) -> RunSession:
    session = begin_session("dstate")
    for finding in findings:
        session.apply(ev.Found(t=1.0, finding=finding))
    session.apply(ev.RunEnded(t=14.0, status="interrupted", reason="stopped by request"))
    return session


def test_a_watch_that_was_stopped_still_says_what_it_found_and_what_to_do() -> None:
    frozen = Finding(
        id="dstate.frozen",
        severity="warning",
        confidence="measured",
        title="touch waits for /mnt to be thawed",
        remedy=(Remedy(title="thaw it", commands=("fsfreeze -u /mnt",)),),
    )
    answer = find_headline_answer(stopped_run(frozen))
    assert frozen.title in answer.sentence and answer.weight == "warning"
    assert [step.command for step in next_steps_for(stopped_run(frozen))] == ["fsfreeze -u /mnt"]
    assert (find_headline_answer(stopped_run()).weight, find_headline_answer(stopped_run()).finding) == (
        "warning",
        None,
    )
    assert [step.command for step in next_steps_for(stopped_run())] == ["hostdx run dstate"]


def test_the_line_of_now_has_room_for_all_that_a_busy_host_says() -> None:
    pulse = ev.Pulse(
        t=0.0, cpu=1.0, load1=15.5, psi_cpu=0.93, psi_io=0.37, psi_memory=0.0, steal=0.0,
        devices={"vda": (1.0e8, 1.05e8, 0.56)},
    )  # fmt: skip
    line = texts_of([pulse_strip([pulse], 74)])[0]
    assert len(line) <= 74 and line.endswith("disk waits 37 %")
