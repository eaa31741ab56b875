"""The whole suite on two CPUs, in four processes. Real tests make their own disks, name spaces, terminals and state
directories, so they run side by side. Only the CPUs cannot be made: tests marked `real("cpu")` run one after another
in one process. A part of the suite, named on the command line, runs in this process.
"""

import ast
import asyncio
import compileall
import gc
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.abc import Loader
from pathlib import Path
from typing import Any

# Hundreds of children are started: where the environment forbids compiled modules each of them compiles 350 again.
# Before the imports: pytest rewrites the assertions of all 93 modules of Hypothesis, in four seconds of each process.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.pop("PYTHONUNBUFFERED", None)  # an admin has none
sys.dont_write_bytecode = False

MEMORY = "/dev/shm"
MEMORY_BYTES = 512 << 20  # free


def memory_folder() -> str:
    """A file system in memory from which programs may be run; empty where there is none with room."""
    try:
        there = os.statvfs(MEMORY)
    except OSError:
        return ""
    has_room = there.f_bavail * there.f_frsize >= MEMORY_BYTES and not there.f_flag & os.ST_NOEXEC
    return MEMORY if has_room and os.access(MEMORY, os.W_OK | os.X_OK) else ""


# The trees of fake hosts are 100,000 small files, each a wait for a journal and a discard where they lie on a disk.
if memory_folder():
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", memory_folder())

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from hostdx.probes.engine.command.supervised import Supervisors  # noqa: E402
from hostdx.scenarios.triage.rules import words  # noqa: E402
from tests.app import forked  # noqa: E402
from tests.needs import need  # noqa: E402

WORKERS = 4  # most real tests wait half of their time
SLOW = re.compile(r"_real\.py$|/tui/")  # files with few tests that take long
AGAIN, PAUSE_S = 4, 5  # runs more, of a test that is marked `noisy`; any other that fails once is a failure

# machines are shared and noisy: how long an example takes is no property of the code
settings.register_profile("untimed", deadline=None, max_examples=40)
settings.load_profile("untimed")

# A collection for every 700 new objects is a tenth of the screens' time, and finds next to nothing. With the thousands
# of tests that a process keeps, a full one takes half a second.
gc.set_threshold(100_000, 20, 100)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--failed-to", metavar="FILE", help="write the ids of what failed, one a line: pytest @FILE"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Before pytest-xdist reads its options; without it, or with `-n` given, nothing changes."""
    is_suite = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.getoption(
        "collectonly"
    )
    started_here = hasattr(config, "workerinput")
    if started_here or not is_suite:
        return
    config.option.markexpr = config.option.markexpr or "not soak"
    if not config.pluginmanager.hasplugin("xdist"):
        return
    enough = len(os.sched_getaffinity(0)) >= 2
    if (
        enough
        and config.option.numprocesses is None
        and config.option.dist == "no"
        and not config.option.usepdb
    ):
        config.option.numprocesses = WORKERS
        config.option.dist = "loadscope"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Before the workers start."""
    if __spec__ and __spec__.loader:
        write_compiled_modules(__spec__.loader)


def write_compiled_modules(rewriting: Loader) -> None:
    """Write what a fresh clone must compile, in two processes: each worker would compile all of it by itself.
    `rewriting` loads tests: pytest's loader, which rewrites assertions.
    """
    root = Path(__file__).resolve().parents[1]
    modules = sorted(
        path for room in ("app", "probes", "scenarios", "tests") for path in (root / room).rglob("*.py")
    )
    child = os.fork()
    for path in modules[bool(child) :: 2]:
        with suppress(OSError):  # where it may not write, each worker compiles in memory
            if path.name.startswith("test_"):
                compile_test(rewriting, path)
            else:
                compileall.compile_file(path, quiet=2)
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def compile_test(rewriting: Loader, path: Path) -> None:
    """Load it, but end at its first import: pytest's loader compiles a module only to run it."""
    spec = importlib.util.spec_from_file_location(path.stem, path, loader=rewriting)
    assert spec
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__builtins__"] = {}
    with suppress(ImportError, SyntaxError):  # a worker tells
        rewriting.exec_module(module)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker is started with the words of the command line alone."""
    node.workerinput["markexpr"] = node.config.option.markexpr


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        config.option.markexpr = config.workerinput["markexpr"]


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: no collection of garbage looks at it again."""
    gc.freeze()


FOLDERS = pytest.StashKey[list[Path]]()
HANGUP = signal.getsignal(signal.SIGHUP)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """A test's directory goes when nothing of `os` is patched any more."""
    result = yield
    # A run in this process ignores it, as it shall; the commands of all later tests would be started, not forked.
    signal.signal(signal.SIGHUP, HANGUP)
    for path in item.stash.get(FOLDERS, []):
        shutil.rmtree(path, ignore_errors=True)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        need(*mark.args)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reruns = config.pluginmanager.hasplugin("rerunfailures")  # -p no:rerunfailures: none is run again
    for item in items:
        for name in ("soak", "noisy"):
            mark = item.get_closest_marker(name)
            has_reason = mark is None or (len(mark.args) == 1 and mark.args[0])
            real = item.get_closest_marker("real")
            if real is not None and real.args not in ((), ("cpu",)):
                raise pytest.UsageError(f'{item.nodeid}: a real test needs nothing or "cpu" alone')
            rate = mark is None or name == "soak" or mark.kwargs.get("false_failures")
            if not rate:
                raise pytest.UsageError(f"{item.nodeid}: says no rate of false failures (tests/README.md)")
            if not has_reason or (mark and name == "noisy" and real is None):
                raise pytest.UsageError(
                    f"{item.nodeid}: says why it is {name}; only a real test may be noisy"
                )
        if mark is None:
            continue
        cause = f"{mark.args[0]}; false failures of one run: {mark.kwargs['false_failures']}"
        item.user_properties.append(("noisy", cause))
        if reruns:
            item.add_marker(pytest.mark.flaky(reruns=AGAIN, reruns_delay=PAUSE_S))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Each rerun with its cause, and why it may be run again; what failed, for who asked."""
    if place := terminalreporter.config.getoption("--failed-to"):
        failed = [
            report.nodeid for word in ("failed", "error") for report in terminalreporter.stats.get(word, ())
        ]
        Path(place).write_text("".join(f"{test_id}\n" for test_id in dict.fromkeys(failed)), encoding="utf-8")
    for report in terminalreporter.stats.get("rerun", ()):
        crash = getattr(report.longrepr, "reprcrash", None)
        spot = f"{Path(crash.path).name}:{crash.lineno}" if crash else report.when
        text = str(crash.message if crash else report.longrepr).strip().splitlines() or ["no message"]
        cause = dict(report.user_properties).get("noisy", "")
        terminalreporter.write_line(f"RERUN {report.nodeid}: {spot}: {' '.join(text[:3])[:300]} ({cause})")


def _marks_of(node: ast.stmt) -> list[ast.expr]:
    """Of a test, or of all that a file holds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.decorator_list
    is_mark = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    return [node.value] if isinstance(node, ast.Assign) and is_mark else []


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Not `loadgroup`: pytest-xdist 3.8 hands no group over with pytest 9."""
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    @cache
    def real_marks(file: str) -> dict[str, str]:
        """The `real` mark of each test of a file that has one; under "" that of the whole file."""
        text = (config.rootpath / file).read_text(encoding="utf-8")
        return {
            "" if isinstance(node, ast.Assign) else node.name: mark
            for node in ast.parse(text if "mark.real" in text else "").body
            for mark in map(ast.unparse, _marks_of(node))
            if "mark.real" in mark
        }

    def needs_cpus_alone(file: str, test: str) -> bool:
        marks = real_marks(file)
        return "'cpu'" in marks.get(test, marks.get("", ""))

    class CpuTestsTogether(LoadScopeScheduling):  # type: ignore[misc,unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            if file.startswith("tests/test_") or file == "tests/app/test_knows_no_scenario.py":
                return "tests"  # they read the same modules: each is parsed once in a process
            return "cpu" if needs_cpus_alone(file, test.partition("[")[0]) else file

        def _assign_work_unit(self, node: Any) -> None:
            """Files that take long go first, lest one process waits for the other at the end."""
            first = min(self.workqueue, key=lambda scope: (scope != "cpu", not SLOW.search(scope)))
            self.workqueue.move_to_end(first, last=False)
            super()._assign_work_unit(node)

    return CpuTestsTogether(config, log)


@pytest.fixture(scope="module")
def disk_folder() -> Iterator[Path]:
    """A directory on a disk for all tests of a file."""
    with tempfile.TemporaryDirectory(prefix="hostdx-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """As pytest's, in memory where there is room; a real test's, and one that asks for it, on a disk."""
    if not any(map(request.node.get_closest_marker, ("real", "disk"))):
        path = tmp_path_factory.mktemp(re.sub(r"\W", "_", request.node.name)[:30])
        request.node.stash.setdefault(FOLDERS, []).append(path)
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="hostdx-test-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session", autouse=True)
def shown_to_root() -> Iterator[None]:
    """Whoever runs the tests: a user's commands begin with sudo."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "is_root", lambda: True)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_modules_are_forked() -> Iterator[None]:
    """The children that hostdx starts in this process, many hundred, without the imports of a start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", forked.OwnModulePopen)
        yield


@pytest.fixture
def own_modules_are_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a test that finds a child by its words or its environment."""
    monkeypatch.setattr(subprocess, "Popen", forked.StartingPopen)


@pytest.fixture
def supervisors() -> Iterator[Supervisors]:
    own_supervisors = Supervisors()
    yield own_supervisors
    asyncio.run(own_supervisors.close())
