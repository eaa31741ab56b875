"""A live host whose programs were asked: what they printed lies where a sosreport has it, so one rule reads both."""

import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import msgspec

from hostdx.probes.children.command import find_tool, run_command
from hostdx.probes.files.path_ownership import find_root_objection
from hostdx.probes.files.safe_read import read_regular
from hostdx.probes.reading.captured.sosreport import FOLDER, captured_file_name
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.parsed_toml import MAX_BYTES, parse_toml
from hostdx.probes.reading.patterns import matches_glob
from hostdx.probes.reading.read_trace import note_read
from hostdx.probes.types import Absent

AT_ONCE = 8  # programs; most of them wait for a device or a daemon
MAX_NAMES = 256  # disks or cards that a program is asked for


class AskedProgram(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of programs.toml, which says what the fields mean. `folder`: sos' plugin."""

    folder: str
    commands: tuple[tuple[str, ...], ...]
    needs: tuple[str, ...]
    each: str = ""
    root: bool = False
    private: bool = False
    timeout_s: float = 5.0


@cache
def load_programs() -> tuple[AskedProgram, ...]:
    path = Path(__file__).with_name("programs.toml")
    table = parse_toml(path, read_regular(str(path), MAX_BYTES))
    return msgspec.convert(table["program"], tuple[AskedProgram, ...])


def _program_name(argv: tuple[str, ...]) -> str:
    return argv[0].rpartition("/")[2]


class AskingHost(Host):
    """The live machine, with what its programs printed. Until `ask_programs` it is a Host as any other."""

    def __init__(self) -> None:
        super().__init__()
        self._outputs: dict[str, str] = {}  # by the path that a sosreport has for it
        self._commands: dict[str, str] = {}  # by the same path
        self._paths: dict[str, str] = {}  # that path by its last name
        self._silent: dict[str, Absent] = {}  # by the program's name

    @property
    def answering_programs(self) -> tuple[str, ...]:
        names = (command.split(" ")[0].rpartition("/")[2] for command in self._commands.values())
        return tuple(sorted(set(names)))

    @property
    def silent_programs(self) -> dict[str, Absent]:
        """By name of each installed program of the table that answered nothing: why. Empty before they are asked."""
        answering = self.answering_programs
        return {
            name: absent
            for name, absent in sorted(self._silent.items())
            if name not in answering and find_tool(name) is not None
        }

    def ask_programs(self, most_s: float) -> tuple[Absent, ...]:
        """Ask all programs of the table that fit this host; return one Absent for each that hangs. What was not asked
        within `most_s` is left out.
        """
        until_s = time.monotonic() + most_s

        def ask(call: tuple[AskedProgram, tuple[str, ...]]) -> str | Absent:
            program, argv = call
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return Absent("the time for programs is over", "unsupported", " ".join(argv))
            # as in a sosreport: with its warnings, and also where its status says that something is wrong
            return run_command(argv, min(program.timeout_s, left_s), any_status=True, with_errors=True)

        calls = [*self._programs_to_ask()]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = [*pool.map(ask, calls)]
        for (program, argv), answer in zip(calls, answers, strict=True):
            if isinstance(answer, str):
                self._keep_output_at_path(program, argv, answer.rstrip("\n"))
            else:
                self._silent[_program_name(argv)] = answer
        hung = (a for a in answers if isinstance(a, Absent) and a.kind == "timeout")
        return tuple({answer.source.split(" ")[0]: answer for answer in hung}.values())

    def _keep_output_at_path(self, program: AskedProgram, argv: tuple[str, ...], text: str) -> str:
        """Return the path at which it is read from now on."""
        path = f"{FOLDER}/{program.folder}/{captured_file_name(argv)}"
        self._outputs[path], self._commands[path] = text, " ".join(argv)
        self._paths[path.rpartition("/")[2]] = path
        return path

    def _programs_to_ask(self) -> Iterator[tuple[AskedProgram, tuple[str, ...]]]:
        is_root = os.geteuid() == 0
        for program in load_programs():
            if (why := self._reason_not_to_ask(program, is_root=is_root)) is not None:
                self._silent |= {_program_name(argv): why for argv in program.commands}
                continue
            place = program.each.partition("*")[0].count("/")
            names = (
                [path.split("/")[place] for path in self.glob_paths(program.each)] if program.each else [""]
            )
            for name in dict.fromkeys(names[:MAX_NAMES]):
                for argv in program.commands if not name.startswith("-") else ():
                    if not (is_root and argv[0].startswith("/") and find_root_objection(argv[0])):
                        yield program, tuple(word.replace("{name}", name) for word in argv)

    def _reason_not_to_ask(self, program: AskedProgram, *, is_root: bool) -> Absent | None:
        if not any(map(self.glob_paths, program.needs)):
            return Absent(f"not asked: this host has no {' or '.join(program.needs)}", "unsupported")
        return (
            Absent("not asked: only root may ask it", "permission") if program.root and not is_root else None
        )

    def commands_for_paths(self, text: str) -> str:
        def command_at(match: re.Match[str]) -> str:
            paths = self.glob_paths(match[0])
            return self._commands[paths[0]] if paths else match[0]

        return re.sub(rf"{FOLDER}/[^\s,;:()\"'\\]+", command_at, text)

    def glob_paths(self, pattern: str) -> tuple[str, ...]:
        if not pattern.startswith(f"{FOLDER}/"):
            return super().glob_paths(pattern)
        parts = pattern.split("/")
        return tuple(
            sorted(
                path
                for path in self._outputs
                if len(names := path.split("/")) == len(parts) and all(map(matches_glob, names, parts))
            )
        )

    def read_file_text(
        self, path: str, limit_bytes: int = 1 << 20, *, may_hang: bool = False
    ) -> str | Absent:
        if path not in self._outputs:
            return super().read_file_text(path, limit_bytes, may_hang=may_hang)
        note_read(path)
        return self._outputs[path]

    def read_command(self, *argv: str, timeout_s: float = 2.0, any_status: bool = False) -> str | Absent:
        path = self._paths.get(captured_file_name(argv))
        if path is None:
            return super().read_command(*argv, timeout_s=timeout_s, any_status=any_status)
        return self._outputs[path]
