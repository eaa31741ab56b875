"""Captured trees with anything at all in them: triage reads what it can, believes nothing, and stays inside.

The tree is this machine's, as far as triage reads it; links lead out of it to a file that nobody may be shown.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.writer import encode_event
from hostdx.app.report import json_document
from hostdx.app.report.forms import markdown
from hostdx.app.report.full_report import make_report_document
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.triage.triage import examine_host
from tests.fakes.streams import hostile
from tests.soak.figures import Figures

CANARY = "CANARY-6f1d0b"
SLOW_S = 20.0  # of processor time, of which a tree takes 0.2: a loaded machine makes none slow
HANGS_S = 600.0  # of the wall's clock: waits for something, and does nothing
AT_ONCE = 25  # damages that add up before the tree is whole again
TEXTS: tuple[bytes, ...] = (
    b"", b"\n", b"0\n", b"-1\n", b"9" * 5000, b"1e999\n", b"nan\n", b"18446744073709551616\n", b"\xff\xfe\0",
    b"\0" * 4096, hostile.ATTACK.encode(), b"a:b:c\n" * 3000, b"0-4294967295\n", b"[none] [bfq\n", b"(" * 500,
    b"/../../../etc\n", b"x" * 70_000, b" " * 70_000, b"9" * 70_000, b"\n" * 70_000, b"a/" * 35_000, b"[a " * 20_000,
)  # fmt: skip

FIGURES = (
    b"0",
    b"-1",
    b"9" * 400,
    b"9" * 5000,
    b"18446744073709551615",
    b"1e308",
    b"nan",
    b"1.2.3.4",
    "٣".encode(),
)


class TooLong(BaseException):
    """No rule's own `except Exception` takes it for a mistake of the rule's."""


class PathLogHost(Host):
    """The live host; every path that was read."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: set[str] = set()

    def read_file_text(
        self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
    ) -> str | Absent:
        self.paths.add(path)
        return super().read_file_text(path, limit_bytes, may_hang=may_hang)

    def read_link(self, path: str) -> str | Absent:
        self.paths.add(path)
        return super().read_link(path)

    def list_names(self, path: str) -> list[str] | Absent:
        self.paths.add(path)
        return super().list_names(path)


def soak(count: int, seed: int) -> Figures:
    figures = Figures(f"{count} damaged trees (seed {seed})")
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="hostdx-soak-") as place:
        outside = Path(place) / "outside"
        outside.mkdir()
        (outside / "secret").write_text(f"{CANARY}\n" * 3)
        sound, tree = Path(place) / "whole", Path(place) / "tree"
        capture_tree(sound)
        for number in range(count):
            if number % AT_ONCE == 0:
                shutil.rmtree(tree, ignore_errors=True)
                shutil.copytree(sound, tree, symlinks=True)
            for _ in range(rng.choice((1, 3, 10))):
                damage_tree(rng, tree, outside)
            looked_at(tree, figures, f"number {number}")
    return figures


def capture_tree(root: Path) -> None:
    host = PathLogHost()
    for _ in examine_host(host, lambda: 0.0):
        pass
    host.close()
    for path in sorted(host.paths):
        if not path.startswith(("/sys", "/proc", "/etc", "/run", "/usr")) or ".." in path:
            continue
        place = root / path.lstrip("/")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            real = Path(path)
            if real.is_symlink() and not place.exists():
                place.symlink_to(real.readlink())
            elif real.is_dir():
                place.mkdir(exist_ok=True)
            elif real.is_file():
                with real.open("rb") as file:
                    place.write_bytes(file.read(1 << 18))
        except OSError:
            continue
    for name in ("sys", "proc"):
        (root / name).mkdir(parents=True, exist_ok=True)


def damage_tree(rng: random.Random, tree: Path, outside: Path) -> None:
    # sorted: a seed gives the same damage on another file system
    paths = sorted(Path(folder) / name for folder, below, files in os.walk(tree) for name in (*files, *below))
    victim = rng.choice([p for p in paths if p.parent != tree] or paths)
    draw = rng.random()
    try:
        if draw < 0.5 and victim.is_file() and not victim.is_symlink():
            data = victim.read_bytes()
            at = rng.randrange(len(data) + 1)
            numbers = [number.span() for number in re.finditer(rb"[0-9]+", data)] or [(at, at)]
            first, last = rng.choice(numbers)
            victim.write_bytes(
                rng.choice(
                    (
                        rng.choice(TEXTS),
                        data[:at],
                        data[:at] + rng.choice(TEXTS) + data[at:],
                        data[:first] + rng.choice(FIGURES) + data[last:],
                    )
                )
            )
            return
        if victim.is_symlink() or not victim.is_dir():
            victim.unlink()
        else:
            shutil.rmtree(victim)
        choice: Callable[[], object] = rng.choice((
            lambda: None,
            lambda: victim.mkdir(),
            lambda: os.mkfifo(victim),
            lambda: victim.symlink_to(victim.name),
            lambda: victim.symlink_to(outside / "secret"),
            lambda: victim.symlink_to(outside),
            lambda: victim.symlink_to(os.path.relpath(outside / "secret", victim.parent)),
            lambda: victim.symlink_to("../" * 40 + str(outside / "secret")),
            lambda: victim.write_bytes(rng.choice(TEXTS)),
        ))  # fmt: skip
        choice()
    except OSError:
        return


def looked_at(tree: Path, figures: Figures, about: str) -> None:
    session = RunSession()
    host = Host(str(tree))
    began = time.process_time()
    try:
        with limit_time():
            show_tree(host, session, figures, about)
        figures.good("read")
    except TooLong as error:
        figures.crash(error, f"{about}, kept as {keep_tree(tree)}")
    except Exception as error:
        figures.crash(error, about)
    finally:
        host.close()
    figures.most("s of processor time for a tree", time.process_time() - began)


def show_tree(host: Host, session: RunSession, figures: Figures, about: str) -> None:
    for event in examine_host(host, lambda: 0.0):
        session.apply(event)
        if isinstance(event, ev.Checked) and event.fault:
            figures.bad("crashes", f"{event.rule}: {event.reason[:160]}")
        line = encode_event(event).decode()
        if CANARY in line:
            figures.bad("escapes", f"read outside of the tree: {line[:200]} ({about})")
    for text in (
        json_document.document_json(session, None),
        markdown.render_markdown(make_report_document(session, "tree")),
    ):
        if leaks := hostile.find_leaks(text):
            figures.bad("escapes", f"{', '.join(leaks)} ({about})")
    msgspec.json.decode(json_document.document_json(session, None))


@contextmanager
def limit_time() -> Iterator[None]:
    """Raises `TooLong` where the processor's time or the wall's is used up, so that the traceback says where."""

    def raise_too_long(number: int, _frame: object) -> None:
        raise TooLong(
            f"{SLOW_S:.0f} s of processor time" if number == signal.SIGPROF else f"hangs for {HANGS_S:.0f} s"
        )

    before = {number: signal.signal(number, raise_too_long) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, SLOW_S)
    signal.setitimer(signal.ITIMER_REAL, HANGS_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, was in before.items():
            signal.signal(number, was)


def keep_tree(tree: Path) -> str:
    """Python's own copy stops at a pipe, a node, a name or a time that it cannot copy; cp goes on with the rest."""
    place = tempfile.mkdtemp(prefix="hostdx-slow-")
    done = subprocess.run(
        ["cp", "-a", "--", str(tree), place], capture_output=True, errors="replace", check=False
    )
    return f"{place}/{tree.name}" + (f" (not whole: {done.stderr[:120]!r})" if done.returncode else "")
