"""A scenario that another package brings: its verdicts on planted speeds; installed, listed, planned, run for real."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from hostdx.app import feature
from hostdx.app.feature import REPORT_PARTS
from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.report.full_report import make_report_document
from hostdx.app.report.json_document import run_as_json
from hostdx.app.tui.questions import all_questions, scenario_for
from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import AppliedChange, RunRefused, missing_attributes
from hostdx.scenarios.contract.results.document import paragraph_of
from tests.app import forked
from tests.fakes.noise import white
from tests.fakes.run import FakeRun, conduct_fake
from tests.needs import MOUNT_NAMESPACE, need, not_here
from tests.plugin import hostdx_thp

HERE = Path(__file__).parent
DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"


class SettingRun(FakeRun):
    """Its changes go into a captured tree, as the kernel would show them."""

    def apply_change(self, action: Action):  # type: ignore[no-untyped-def]
        return self._written(action) if action.kind == "attribute" else super().apply_change(action)

    @asynccontextmanager
    async def _written(self, action: Action) -> AsyncIterator[AppliedChange]:
        path = Path(f"{self.host.root}{action.target}")
        before = path.read_text()
        path.write_text(f"[{action.new}]")
        self.applied.append(action)
        try:
            yield AppliedChange(id="a", action=action, value=action.new or "")
        finally:
            path.write_text(before)
            self.reverted.append(action)


class Command:
    """Takes as long as the active setting lets it."""

    def __init__(self, run: SettingRun, never: float) -> None:
        self.run, self.never, self.noise = run, never, white(4, 0.03)

    async def measure_block(self, seconds: float) -> Measured:
        slow = self.never if hostdx_thp.active(self.run.host) == "never" else 1.0
        took = slow / self.noise(self.run.clock.now())
        await self.run.clock.sleep(took)
        return Measured(seconds=took, values={"seconds": took}, operations=1)

    async def finish_requests(self) -> None:
        pass


async def run_thp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, never: float) -> SettingRun:
    setting = tmp_path / "tree" / hostdx_thp.SETTING.lstrip("/")
    setting.parent.mkdir(parents=True)
    setting.write_text("always [madvise] never\n")
    scenario = hostdx_thp.Thp()
    options = {"command": "true", "dir": str(tmp_path)}
    run = SettingRun(host=Host(str(tmp_path / "tree")), options=options, declared=scenario.options)
    run.plan = scenario.prepare(run.host, run.options).plan
    monkeypatch.setattr(hostdx_thp, "CommandBench", lambda *_: Command(run, never))
    await conduct_fake(scenario, run)
    assert (
        setting.read_text() == "always [madvise] never\n"
        and run.applied
        and len(run.reverted) == len(run.applied)
    )
    return run


def verdicts_of(run: SettingRun) -> dict[str, ev.RunVerdict]:
    return {verdict.variant: verdict for verdict in run.of(ev.RunVerdict)}


async def test_a_command_that_huge_pages_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await run_thp(tmp_path, monkeypatch, never=1.25)
    by_id = verdicts_of(run)
    assert (
        by_id["never"].verdict == "slower" and by_id["again"].verdict != "slower" and by_id["again"].control
    )
    [finding] = [event.finding for event in run.of(ev.Found)]
    assert "always" in finding.title and finding.remedy[0].commands == (
        f"echo always > {hostdx_thp.SETTING}",
    )
    assert [action.new for action in run.applied if action.kind == "attribute"].count("never") > 4


async def test_a_command_that_does_not_care(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await run_thp(tmp_path, monkeypatch, never=1.0)
    assert verdicts_of(run)["never"].verdict in ("no material difference", "inconclusive") and not run.of(
        ev.Found
    )


async def test_a_setting_that_somebody_else_changes_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = Command.measure_block

    async def measure_and_meddle(self: Command, seconds: float) -> Measured:
        measured = await block(self, seconds)
        Path(f"{self.run.host.root}{hostdx_thp.SETTING}").write_text("always [defer] never")
        return measured

    monkeypatch.setattr(Command, "measure_block", measure_and_meddle)
    with pytest.raises(RunRefused, match="defer where always was set"):
        await run_thp(tmp_path, monkeypatch, never=1.0)


async def test_its_result_stands_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await run_thp(tmp_path, monkeypatch, never=1.0)
    session = RunSession()
    for event in run.events:
        session.apply(event)
    titles = [section.title.lower() for section in make_report_document(session, "r.jsonl").sections]
    assert any(hostdx_thp.Pages.name in title for title in titles)
    assert run_as_json(session, None)[hostdx_thp.Pages.name] == "madvise"


def test_it_declares_everything_in_at_most_110_lines() -> None:
    assert not missing_attributes(hostdx_thp.Thp())
    assert len((HERE / "hostdx_thp.py").read_text().splitlines()) <= 110


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the example is installed, as its own package, beside hostdx."""
    tmp_path = tmp_path_factory.mktemp("plugin")
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(HERE, source, ignore=shutil.ignore_patterns("test_*", "__pycache__"))
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(source)], check=True, capture_output=True, text=True)
    return site


@pytest.fixture
def env(site: Path, tmp_path: Path) -> dict[str, str]:
    """The environment in which the example is found."""
    for name in ("state", "run", "work"):
        (tmp_path / name).mkdir(mode=0o700)
    return {
        **os.environ,
        "PYTHONPATH": str(site),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
        "LC_ALL": "C.UTF-8",
    }


HOSTDX = (sys.executable, "-P", "-m", "hostdx.app.cli")


def test_installed_it_is_offered_and_planned(env: dict[str, str], tmp_path: Path) -> None:
    done = forked.run([*HOSTDX, "scenarios", "--json"], env=env, capture_output=True, text=True)
    [offer] = [scenario for scenario in json.loads(done.stdout)["scenarios"] if scenario["id"] == "thp"]
    assert offer["question"] == hostdx_thp.Thp.question
    # the home screen: its complaint comes with its offer
    triage_events = tmp_path / "triage.jsonl"
    with triage_events.open("wb") as file:
        forked.run([*HOSTDX, "triage", "--events", "-"], env=env, stdout=file)
    session = load_recording(triage_events)
    asked_for = all_questions(session.offers)[-1]
    assert hostdx_thp.Thp.card.complaint is not None
    assert asked_for.words == hostdx_thp.Thp.card.complaint.words
    assert scenario_for(asked_for, session).id == "thp"
    # a checkup names it, with why it is not run unasked
    checked = [*HOSTDX, "plan", "checkup", "--only", "thp", "--dir", str(tmp_path / "work"), "--json"]
    left_out = json.loads(forked.run(checked, env=env, capture_output=True, text=True).stdout)["left_out"]
    assert any("thp" in line for line in left_out)
    argv = [*HOSTDX, "plan", "thp", "--command", "true", "--dir", str(tmp_path / "work"), "--json"]
    plan = json.loads(forked.run(argv, env=env, capture_output=True, text=True).stdout)
    assert plan["scenario"] == "thp"
    assert plan.get("refusal") or {a["target"] for a in plan["actions"]} >= {hostdx_thp.SETTING}


def test_installed_it_brings_one_of_each(env: dict[str, str], tmp_path: Path) -> None:
    def output_of(*words: str) -> str:
        return forked.run([*HOSTDX, *words], env=env, capture_output=True, text=True, check=True).stdout

    tree = tmp_path / "tree"
    for path, text in ((hostdx_thp.SETTING, "[always] madvise never\n"), (DEFRAG, "[always] defer never\n")):
        (tree / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (tree / path.lstrip("/")).write_text(text)
    events = tmp_path / "triage.jsonl"
    events.write_text(output_of("triage", "--root", str(tree), "--events", "-"))
    session = load_recording(events)
    assert "thp.defrag" in {finding.id for finding in session.worst_first}
    assert any(fact.name == "huge pages" and fact.value == "always" for fact in session.facts.values())
    assert output_of("thp", "--root", str(tree)).strip() == "always"
    assert " thp " in output_of("--help")
    (tmp_path / "result.txt").write_text("thpbench: 12.5 GB/s\n")
    output_of("import", str(tmp_path / "result.txt"))
    recordings = json.loads(output_of("recordings", "--json"))
    assert "thpbench" in json.dumps(recordings) or recordings
    names = "from app.feature import external_screens; print(*(one.name for one in external_screens()))"
    done = subprocess.run([sys.executable, "-c", names], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["huge-pages"]


async def test_its_part_stands_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await run_thp(tmp_path, monkeypatch, never=1.0)
    session = RunSession()
    for event in run.events:
        session.apply(event)
    entry = EntryPoint("The host before", "tests.plugin.hostdx_thp:part", REPORT_PARTS)
    broken = EntryPoint("Broken", "no.such.module:part", REPORT_PARTS)
    monkeypatch.setattr(hostdx_thp, "part", lambda session: (paragraph_of("own"),), raising=False)
    monkeypatch.setattr(feature, "entry_points_of", lambda group: (entry, broken))
    sections = {section.title: section for section in make_report_document(session, "r.jsonl").sections}
    assert sections["The host before"].parts == (paragraph_of("own"),) and sections["Broken"].parts


# The setting is a file of the test's own in a mount namespace of its own: the host's is never touched.
INSIDE = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'


@pytest.mark.real("cpu")
@pytest.mark.soak("installed it is planned; its run in a captured tree")
@pytest.mark.noisy(
    "what else runs decides whether the first interim look fits into the budget", false_failures="0 of 4"
)
def test_installed_it_runs_journalled_and_undone(env: dict[str, str], tmp_path: Path) -> None:
    if not Path(hostdx_thp.SETTING).exists():
        not_here("this kernel has no transparent huge pages")
    need(MOUNT_NAMESPACE)
    setting = tmp_path / "setting"
    setting.write_text("madvise\n")
    inside = ["unshare", "--mount", "sh", "-c", INSIDE, "sh", str(setting), hostdx_thp.SETTING, *HOSTDX]
    argv = [
        *inside,
        "run",
        "thp",
        "--command",
        "true",
        "--dir",
        str(tmp_path / "work"),
        "--budget",
        "30",
        "--json",
    ]
    first = subprocess.run(argv, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert first.returncode == 3 and "--yes" in first.stderr and setting.read_text() == "madvise\n"
    done = subprocess.run([*argv, "--yes"], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {v["variant"] for v in document["verdicts"]} == {"never", "again"}
    lines = Path(document["recording"]).read_text().splitlines()
    changes = [
        e for e in map(json.loads, lines) if e["type"] == "action" and e["action"]["kind"] == "attribute"
    ]
    assert {e["action"]["new"] for e in changes} == {"always", "never"}
    ids = [e["id"] for e in changes if e["state"] == "applied"]
    assert ids == [e["id"] for e in changes if e["state"] == "reverted"] and len(ids) > 2
    assert setting.read_text() == "madvise\n" and not list((tmp_path / "work").iterdir())
    assert not list((tmp_path / "state").glob("**/journal*/*"))
