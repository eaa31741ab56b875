"""Planted mistakes: each is made in a copy of this tree, and a test near it must fail.

    python -m tests.mutations [--few] [--only WORD]

`--few`: those that are marked so, in under a minute. `--only`: those with the word in their name or their file. The
lists stand beside this file. Exit status: 0 all were noticed, 1 some were not (they are named), 2 a list is wrong: an
old text is not there exactly once, or the tests near it do not pass without the mistake.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Literal, TypeAlias

import msgspec

ROOT = Path(__file__).parent.parent.parent
COPIED = (".packaging", "app", "probes", "scenarios", "tests", "pyproject.toml", "README.md")
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".hypothesis", ".mypy_cache", ".venv")
LINKS = ".packaging/links"  # by which the folders are hostdx.app, hostdx.probes, hostdx.scenarios
AT_ONCE = 2
FILES_AT_ONCE = 12  # tests that must pass without a mistake
LONGEST_S = 300.0  # the tests near a mistake; a mutation that makes them hang belongs to another place
PASSED, FAILED = 0, 1  # pytest's exit status; others say that no test, or not every file, could be run

Word: TypeAlias = Literal["noticed", "survived", "invalid"]


class Mutation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`old` stands once in `file`; `near` are the tests, as pytest takes them, of which one must fail with `new`."""

    name: str
    file: str
    old: str
    new: str
    near: tuple[str, ...]
    why: str
    few: bool = False


class _List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mutation: tuple[Mutation, ...]


class MutatedCopy:
    """A copy that is mutated, tested and mended again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, root / name, symlinks=True, ignore=NOT_COPIED)
            else:
                shutil.copy2(ROOT / name, root / name)

    def judge(self, mutation: Mutation) -> tuple[Word, str]:
        """What the tests near it say of it, and the first of them that failed."""
        path = self.root / mutation.file
        text = path.read_text(encoding="utf-8")
        try:
            self._write(path, text.replace(mutation.old, mutation.new))
            status, output = self.run_tests(mutation.near)
        finally:
            self._write(path, text)
        failed = [
            line.partition(" - ")[0] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))
        ]
        if status == FAILED and all("::" in test for test in failed):  # else a file that could not be read
            return "noticed", failed[0]
        return ("survived", "") if status == PASSED else ("invalid", output[-2000:])

    def run_tests(self, tests: Sequence[str]) -> tuple[int, str]:
        """pytest's exit status and output. What the tests start finds this copy first, and nothing is drawn anew."""
        command = (
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-n0",
            "-m",
            "not real",
            "-rfE",
            "--tb=no",
            "--hypothesis-seed=0",
        )
        env = os.environ | {"PYTHONPATH": f"{self.root / LINKS}:{self.root}"}
        try:
            done = subprocess.run(
                [*command, *tests], cwd=self.root, env=env, capture_output=True, text=True, timeout=LONGEST_S
            )
        except subprocess.TimeoutExpired:
            return -1, f"took longer than {LONGEST_S:g} s"
        return done.returncode, done.stdout + done.stderr

    def _write(self, path: Path, text: str) -> None:
        """Python takes compiled code for that of a source of the same second and the same size."""
        path.write_text(text, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


def read_mutations() -> list[Mutation]:
    lists = sorted(Path(__file__).parent.glob("*.toml"))
    read = (msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _List) for path in lists)
    return [entry for listed in read for entry in listed.mutation]


def trouble_of(entry: Mutation) -> str:
    """Why it cannot be made here; empty where it can."""
    path = ROOT / entry.file
    count = path.read_text(encoding="utf-8").count(entry.old) if path.is_file() else 0
    if count != 1:
        return f"{entry.file} has the old text {count} times: {entry.old!r}"
    absent = [name for name in entry.near if not (ROOT / name.partition("::")[0]).exists()]
    return f"not found: {', '.join(absent)}" if absent else ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--few", action="store_true", help="those that are marked so")
    parser.add_argument("--only", default="", metavar="WORD", help="in a mutation's name or file")
    options = parser.parse_args()
    every = read_mutations()
    wrong = [f"{entry.name}: {trouble}" for entry in every if (trouble := trouble_of(entry))]
    twice = len(every) - len({entry.name for entry in every})
    if wrong or twice:
        print(*wrong, *(["two mutations have one name"] if twice else []), sep="\n")
        return 2
    chosen = [
        entry
        for entry in every
        if (entry.few or not options.few) and options.only in f"{entry.name} {entry.file}"
    ]
    if not chosen:
        print(f"no mutation has {options.only!r} in its name or file")
        return 2
    with tempfile.TemporaryDirectory(prefix="hostdx-mutations-") as place:
        return _judge_mutations(chosen, Path(place))


def _judge_mutations(chosen: Sequence[Mutation], place: Path) -> int:
    began = time.monotonic()
    trees: SimpleQueue[MutatedCopy] = SimpleQueue()
    for number in range(AT_ONCE):
        (place / str(number)).mkdir()
        trees.put(MutatedCopy(place / str(number)))

    def failure_of(tests: Sequence[str]) -> str:
        tree = trees.get()
        try:
            status, output = tree.run_tests(tests)
        finally:
            trees.put(tree)
        return "" if status == PASSED else output[-3000:]

    def judge_mutation(mutation: Mutation) -> Word:
        tree = trees.get()
        try:
            word, detail = tree.judge(mutation)
        finally:
            trees.put(tree)
        print(f"{word:8}  {mutation.name}  {detail or mutation.why}", flush=True)
        return word

    near = sorted({test for mutation in chosen for test in mutation.near})
    parts = max(1, len(near) // FILES_AT_ONCE)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        failing = [text for text in pool.map(failure_of, (near[n::parts] for n in range(parts))) if text]
        if failing:
            print("the tests do not pass without a mutation:", *failing, sep="\n")
            return 2
        words = list(pool.map(judge_mutation, chosen))
    print(
        f"{words.count('survived')} of {len(words)} survived, {words.count('invalid')} could not be judged; "
        f"{time.monotonic() - began:.0f} s"
    )
    return 2 if "invalid" in words else 1 if "survived" in words else 0


if __name__ == "__main__":
    sys.exit(main())
