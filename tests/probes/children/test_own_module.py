"""Children of hostdx: their environment and their limits."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostdx.app.cli import main
from hostdx.probes.children import environment
from hostdx.probes.children.bounded_wait import reap_or_kill
from hostdx.probes.system.bios.redfish import PASSWORD, USER, Credentials, find_bmc_credentials
from hostdx.scenarios.fullstack.measurement import own_links
from tests.syntax import ROOT, modules

ASKS = (
    "from hostdx.probes.children.own_module import own_module; "
    "print(*own_module('hostdx.app.asked', 'a b'), sep='\\n')"
)
ASKED = (
    "import hostdx.app, sys, os; "
    "print(hostdx.app.__file__, sys.flags.isolated, sys.argv[1:], os.environ.get('PYTHONPATH'))"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Somewhere that no interpreter looks by itself."""
    place = tmp_path / "some where"
    shutil.copytree(ROOT / "probes", place / "hostdx/probes", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "hostdx/app").mkdir()
    (place / "hostdx/__init__.py").touch()
    (place / "hostdx/app/__init__.py").touch()
    (place / "hostdx/app/asked.py").write_text(f"if __name__ == '__main__':\n    {ASKED}\n")
    return place


@pytest.mark.parametrize("flags", (["-P", "-S"], ["-I", "-S"]))
def test_a_child_finds_its_parents_code(tree: Path, tmp_path: Path, flags: list[str]) -> None:
    other = tmp_path / "other" / "hostdx/app"
    other.mkdir(parents=True)
    (other / "__init__.py").touch()
    env = {"PATH": os.environ["PATH"]}
    asks = f"import sys; sys.path.insert(0, {str(tree)!r}); {ASKS}"
    [*argv] = subprocess.run(
        [sys.executable, *flags, "-c", asks], env=env, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    stdout = subprocess.run(
        argv, env=env, cwd=other.parents[1], capture_output=True, text=True, check=True
    ).stdout
    assert stdout.split() == [
        *f"{tree}/hostdx/app/__init__.py".split(),
        str(int("-I" in flags)),
        "['a",
        "b']",
        "None",
    ]


def test_every_starter_asks_it() -> None:
    starters = {
        str(p.relative_to(ROOT))
        for p in modules("app", "scenarios", "probes")
        if "sys.executable" in p.read_text()
    }
    assert starters == {
        "app/features/bundle/unpack.py",  # nothing of ours is there yet
        "app/features/bundle/build.py",  # pip
        "app/features/fleet/launch/agent.py",  # on another node, where nothing of ours is there yet
        "probes/children/own_module.py",
        "probes/reading/hang_safe/client.py",
        "app/terminal/invocation.py",
        "app/cli/__init__.py",
    }


def test_no_program_that_is_started_inherits_it(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs: list[str] = []

    def command_line(_arguments: object) -> int:
        outputs.append(subprocess.run(["env"], capture_output=True, text=True, check=True).stdout)
        for_ourselves = environment.hostdx_environment()
        outputs.append(
            subprocess.run(["env"], capture_output=True, text=True, check=True, env=for_ourselves).stdout
        )
        assert isinstance(find_bmc_credentials("bmc"), Credentials)
        return 0

    monkeypatch.setattr(environment, "_withheld", {})
    monkeypatch.setenv(USER, "admin")
    monkeypatch.setenv(PASSWORD, "correct-horse")
    monkeypatch.setattr("hostdx.app.cli.entry.run_command_line", command_line)
    monkeypatch.setattr(sys, "argv", ["hostdx", "scenarios"])
    with pytest.raises(SystemExit):
        main()
    others, of_own = outputs
    assert "correct-horse" not in others and USER not in others and f"PATH={os.environ['PATH']}" in others
    assert f"{PASSWORD}=correct-horse" in of_own


def test_one_that_ends_tells_what_it_used() -> None:
    if (pid := os.fork()) == 0:
        os._exit(0)
    usage = reap_or_kill(pid)
    assert usage is not None and usage.ru_maxrss > 0


@pytest.mark.parametrize("number", [signal.SIGSTOP, None])
def test_one_that_lives_on_is_killed(number: signal.Signals | None) -> None:
    if (pid := os.fork()) == 0:
        while True:
            signal.pause()
    if number:
        os.kill(pid, number)
    began = time.monotonic()
    assert reap_or_kill(pid, 0.1) is None
    assert time.monotonic() - began < 5.0
    assert not Path(f"/proc/{pid}").exists()


def test_settings_that_are_never_written_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_links, "SETTINGS_S", 0.1)
    monkeypatch.setattr(own_links, "_enter_own_mounts_and_write", lambda place, settings: time.sleep(600))
    assert own_links._apply_sysfs_settings_or_reason("/sys/x", {"a": "1"}) == own_links.SILENT
    monkeypatch.setattr(own_links, "SETTINGS_S", 5.0)
    monkeypatch.setattr(own_links, "_enter_own_mounts_and_write", lambda place, settings: None)
    assert own_links._apply_sysfs_settings_or_reason("/sys/x", {"a": "1"}) == ""
