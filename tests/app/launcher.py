"""`hostdx` as a real process that knows the fake scenario beside the built-in ones."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.app import forked

ROOT = Path(__file__).resolve().parents[2]
CODE = (
    "import sys; sys.path.insert(0, {root!r}); del sys.argv[1]; from importlib.metadata import EntryPoint; "
    "from hostdx.probes.reading import other_package; from hostdx.app.cli import main; "
    "other_package.entry_points_of = lambda group: [EntryPoint('fake', 'tests.app.fake_scenario:Fake', group)]; main()"
)


def argv(*arguments: str) -> list[str]:
    # the word by which a process is known as hostdx comes first
    return [sys.executable, "-P", "-c", CODE.format(root=str(ROOT)), "hostdx.app.cli", *arguments]


def own_env(directory: Path) -> dict[str, str]:
    """State and locks of its own."""
    return {**os.environ, **own_state(directory), "LC_ALL": "C.UTF-8"}


def own_state(directory: Path) -> dict[str, str]:
    variables = {"XDG_STATE_HOME": str(directory / "state"), "XDG_RUNTIME_DIR": str(directory / "run")}
    for path in variables.values():
        Path(path).mkdir(mode=0o700, exist_ok=True)
    return variables


def run_hostdx(directory: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    settings: dict[str, Any] = {
        "capture_output": True,
        "text": True,
        "timeout": 60,
        "stdin": subprocess.DEVNULL,
    }
    return forked.run(argv(*arguments), env=own_env(directory), **(settings | options))


def start_hostdx(directory: Path, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    settings: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "start_new_session": True,
    }
    return forked.Popen(argv(*arguments), env=own_env(directory), **(settings | options))
