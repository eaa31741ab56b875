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
from hostdx.app.report.full_report import report
from hostdx.app.report.json_document import make_document
from hostdx.app.tui.questions import all_questions, card_for
from hostdx.probes.engine.measured import Measured
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import Applied, RunRefused, missing_attributes
from hostdx.scenarios.contract.results.document import paragraph_of
from tests.app import forked
from tests.fakes.noise import white
from tests.fakes.run import FakeRun, conduct
from tests.needs import MOUNT_NAMESPACE, need, not_here
from tests.plugin import hostdx_thp

HERE = Path(__file__).parent
DEFRAG = "/sys/kernel/mm/transparent_hugepage/defrag"


class TreeRun(FakeRun):
    """Its changes go into a captured tree, as the kernel would show them."""

    def apply_change(self, action: Action):  # type: ignore[no-untyped-def]
        return self._written(action) if action.kind == "attribute" else super().apply_change(action)

    @asynccontextmanager
    async def _written(self, action: Action) -> AsyncIterator[Applied]:
        path = Path(f"{self.host.root}{action.target}")
        before = path.read_text()
        path.write_text(f"[{action.new}]")
        self.applied.append(action)
        try:
            yield Applied(id="a", action=action, value=action.new or "")
        finally:
            path.write_text(before)
            self.reverted.append(action)


class Command:
    """Takes as long as the active setting lets it."""

    def __init__(self, run: TreeRun, never: float) -> None:
        self.run, self.never, self.noise = run, never, white(4, 0.03)

    async def measure_block(self, seconds: float) -> Measured:
        slow = self.never if hostdx_thp.active(self.run.host) == "never" else 1.0
        took = slow / self.noise(self.run.clock.now())
        await self.run.clock.sleep(took)
        return Measured(seconds=took, values={"seconds": took}, operations=1)

    async def wait_until_idle(self) -> None:
        pass


async def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, never: float) -> TreeRun:
    setting = tmp_path / "tree" / hostdx_thp.SETTING.lstrip("/")
    setting.parent.mkdir(parents=True)
    setting.write_text("always [madvise] never\n")
    scenario = hostdx_thp.Thp()
    options = {"command": "true", "dir": str(tmp_path)}
    run = TreeRun(host=Host(str(tmp_path / "tree")), options=options, declared=scenario.options)
    run.plan = scenario.prepare(run.host, run.options).plan
    monkeypatch.setattr(hostdx_thp, "CommandBench", lambda *_: Command(run, never))
    await conduct(scenario, run)
    assert (
        setting.read_text() == "always [madvise] never\n"
        and run.applied
        and len(run.reverted) == len(run.applied)
    )
    return run


def verdicts(run: TreeRun) -> dict[str, ev.RunVerdict]:
    return {verdict.variant: verdict for verdict in run.of(ev.RunVerdict)}


async def test_a_command_that_huge_pages_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await ran(tmp_path, monkeypatch, never=1.25)
    said = verdicts(run)
    assert said["never"].verdict == "slower" and said["again"].verdict != "slower" and said["again"].control
    [finding] = [event.finding for event in run.of(ev.Found)]
    assert "always" in finding.title and finding.remedy[0].commands == (
        f"echo always > {hostdx_thp.SETTING}",
    )
    assert [action.new for action in run.applied if action.kind == "attribute"].count("never") > 4


async def test_a_command_that_does_not_care(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await ran(tmp_path, monkeypatch, never=1.0)
    assert verdicts(run)["never"].verdict in ("no material difference", "inconclusive") and not run.of(
        ev.Found
    )


async def test_a_setting_that_somebody_else_changes_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    block = Command.measure_block

    async def meddled(self: Command, seconds: float) -> Measured:
        measured = await block(self, seconds)
        Path(f"{self.run.host.root}{hostdx_thp.SETTING}").write_text("always [defer] never")
        return measured

    monkeypatch.setattr(Command, "measure_block", meddled)
    with pytest.raises(RunRefused, match="defer where always was set"):
        await ran(tmp_path, monkeypatch, never=1.0)


async def test_its_result_stands_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await ran(tmp_path, monkeypatch, never=1.0)
    session = RunSession()
    for event in run.events:
        session.apply(event)
    titles = [section.title.lower() for section in report(session, "r.jsonl").sections]
    assert any(hostdx_thp.Pages.name in title for title in titles)
    assert make_document(session, None)[hostdx_thp.Pages.name] == "madvise"


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
def installed(site: Path, tmp_path: Path) -> dict[str, str]:
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


def test_installed_it_is_offered_and_planned(installed: dict[str, str], tmp_path: Path) -> None:
    listed = forked.run([*HOSTDX, "scenarios", "--json"], env=installed, capture_output=True, text=True)
    [offer] = [scenario for scenario in json.loads(listed.stdout)["scenarios"] if scenario["id"] == "thp"]
    assert offer["question"] == hostdx_thp.Thp.question
    # the home screen: its complaint comes with its offer
    told = tmp_path / "triage.jsonl"
    with told.open("wb") as file:
        forked.run([*HOSTDX, "triage", "--events", "-"], env=installed, stdout=file)
    session = load_recording(told)
    asked_for = all_questions(session.offers)[-1]
    assert hostdx_thp.Thp.card.complaint is not None
    assert asked_for.words == hostdx_thp.Thp.card.complaint.words
    assert card_for(asked_for, session).id == "thp"
    # a checkup names it, with why it is not run unasked
    checked = [*HOSTDX, "plan", "checkup", "--only", "thp", "--dir", str(tmp_path / "work"), "--json"]
    left_out = json.loads(forked.run(checked, env=installed, capture_output=True, text=True).stdout)[
        "left_out"
    ]
    assert any("thp" in line for line in left_out)
    asked = [*HOSTDX, "plan", "thp", "--command", "true", "--dir", str(tmp_path / "work"), "--json"]
    plan = json.loads(forked.run(asked, env=installed, capture_output=True, text=True).stdout)
    assert plan["scenario"] == "thp"
    assert plan.get("refusal") or {a["target"] for a in plan["actions"]} >= {hostdx_thp.SETTING}


def test_installed_it_brings_one_of_each(installed: dict[str, str], tmp_path: Path) -> None:
    def told(*words: str) -> str:
        return forked.run([*HOSTDX, *words], env=installed, capture_output=True, text=True, check=True).stdout

    tree = tmp_path / "tree"
    for path, text in ((hostdx_thp.SETTING, "[always] madvise never\n"), (DEFRAG, "[always] defer never\n")):
        (tree / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (tree / path.lstrip("/")).write_text(text)
    recorded = tmp_path / "triage.jsonl"
    recorded.write_text(told("triage", "--root", str(tree), "--events", "-"))
    session = load_recording(recorded)
    assert "thp.defrag" in {finding.id for finding in session.worst_first}
    assert any(fact.name == "huge pages" and fact.value == "always" for fact in session.facts.values())
    assert told("thp", "--root", str(tree)).strip() == "always"
    assert " thp " in told("--help")
    (tmp_path / "result.txt").write_text("thpbench: 12.5 GB/s\n")
    told("import", str(tmp_path / "result.txt"))
    listed = json.loads(told("recordings", "--json"))
    assert "thpbench" in json.dumps(listed) or listed
    names = "from app.feature import external_screens; print(*(one.name for one in external_screens()))"
    shown = subprocess.run(
        [sys.executable, "-c", names], env=installed, capture_output=True, text=True, check=True
    )
    assert shown.stdout.split() == ["huge-pages"]


async def test_its_part_stands_in_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = await ran(tmp_path, monkeypatch, never=1.0)
    session = RunSession()
    for event in run.events:
        session.apply(event)
    entry = EntryPoint("The host before", "tests.plugin.hostdx_thp:part", REPORT_PARTS)
    broken = EntryPoint("Broken", "no.such.module:part", REPORT_PARTS)
    monkeypatch.setattr(hostdx_thp, "part", lambda session: (paragraph_of("own"),), raising=False)
    monkeypatch.setattr(feature, "entry_points_of", lambda group: (entry, broken))
    sections = {section.title: section for section in report(session, "r.jsonl").sections}
    assert sections["The host before"].parts == (paragraph_of("own"),) and sections["Broken"].parts


# The setting is a file of the test's own in a mount namespace of its own: the host's is never touched.
INSIDE = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'


@pytest.mark.real("cpu")
@pytest.mark.soak("installed it is planned; its run in a captured tree")
@pytest.mark.noisy(
    "what else runs decides whether the first interim look fits into the budget", false_failures="0 of 4"
)
def test_installed_it_runs_journalled_and_undone(installed: dict[str, str], tmp_path: Path) -> None:
    if not Path(hostdx_thp.SETTING).exists():
        not_here("this kernel has no transparent huge pages")
    need(MOUNT_NAMESPACE)
    setting = tmp_path / "setting"
    setting.write_text("madvise\n")
    inside = ["unshare", "--mount", "sh", "-c", INSIDE, "sh", str(setting), hostdx_thp.SETTING, *HOSTDX]
    asked = [
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
    refused = subprocess.run(asked, env=installed, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert refused.returncode == 3 and "--yes" in refused.stderr and setting.read_text() == "madvise\n"
    done = subprocess.run([*asked, "--yes"], env=installed, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {v["variant"] for v in document["verdicts"]} == {"never", "again"}
    lines = Path(document["recording"]).read_text().splitlines()
    changes = [
        e for e in map(json.loads, lines) if e["type"] == "action" and e["action"]["kind"] == "attribute"
    ]
    assert {e["action"]["new"] for e in changes} == {"always", "never"}
    applied = [e["id"] for e in changes if e["state"] == "applied"]
    assert applied == [e["id"] for e in changes if e["state"] == "reverted"] and len(applied) > 2
    assert setting.read_text() == "madvise\n" and not list((tmp_path / "work").iterdir())
    assert not list((tmp_path / "state").glob("**/journal*/*"))
