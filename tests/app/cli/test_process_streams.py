"""The process and its streams: what it loads, and what it says when they are closed or full."""

import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.app import __version__

pytestmark = pytest.mark.usefixtures("own_state")


def test_version_imports_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['hostdx', '--version']\n"
        "from hostdx.app.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('click', 'msgspec', 'rich', 'textual', 'asyncio')))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == f"hostdx {__version__}\n[]\n"


@pytest.mark.parametrize("close", ["1>&-", "2>&-", "1>&- 2>&- 0<&-", "| true", "2>/dev/full"])
def test_closed_streams_are_quiet(tmp_path: Path, close: str) -> None:
    argv = f"{sys.executable} -P -m hostdx.app.cli places {close}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", argv], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_result_that_its_file_cannot_take_is_said(tmp_path: Path) -> None:
    argv = f"{sys.executable} -P -m hostdx.app.cli triage 1>/dev/full"
    done = subprocess.run(["bash", "-c", argv], capture_output=True, text=True, timeout=60)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 3 and "stdout: cannot be written: No space left on device" in line
