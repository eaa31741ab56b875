"""A variant in words: `sata: TMPDIR=/data cpus=0-3`. What is wrong with it is said before anything runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hostdx.probes.cpu_list import parse_cpu_list
from hostdx.probes.engine.command.supervised import CommandOrder
from hostdx.probes.number_text import parse_signed, parse_unsigned
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import UsageError
from hostdx.scenarios.experiment.schedule.host_settings import KINDS, setting_change
from hostdx.scenarios.workload.group import LIMITS, parse_limit

WORDS = ("cmd", "cwd", "wrap", "cpus", "node", "nice", "ionice", *LIMITS, "env")
IONICE = {"realtime": 1, "best-effort": 2, "idle": 3}  # ioprio_set(2)
_SHELL = {"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"}
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,31}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class CommandVariant(msgspec.Struct, frozen=True, kw_only=True):
    """What one variant runs. `own` is what sets it apart, word by word; `env` only what it names itself.

    `limits`: of the control group that it runs in, by the kernel's names and in its words. `settings`: changes of the
    host while it runs.
    """

    id: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str] = {}
    cpus: tuple[int, ...] = ()
    node: int | None = None
    nice: int = 0
    ionice: tuple[int, ...] = ()
    limits: dict[str, str] = {}
    settings: tuple[Action, ...] = ()
    own: dict[str, str] = {}

    def make_order(
        self,
        argv: Sequence[str] = (),
        *,
        keep: int = 0,
        group: str = "",
        chains: bool = False,
        most_bytes: int = 0,
        at_most_s: float,
    ) -> CommandOrder:
        """Of its command; of another one in the same place, neither pinned nor niced, where `argv` is given."""
        env = {**os.environ, **self.env}
        if argv:
            return CommandOrder(
                argv=tuple(argv), cwd=self.cwd, env=env, max_written_bytes=most_bytes, at_most_s=at_most_s
            )
        return CommandOrder(
            argv=self.argv,
            cwd=self.cwd,
            env=env,
            cpus=self.cpus,
            node=self.node,
            nice=self.nice,
            ionice=self.ionice,
            kept_bytes=keep,
            group=group,
            chains=chains,
            max_written_bytes=most_bytes,
            at_most_s=at_most_s,
        )


def parse_variant(text: str, command: str, cwd: str) -> CommandVariant:
    """`name: words`. Raises UsageError in one line."""
    name, colon, rest = text.partition(":")
    if not colon:
        raise UsageError(f"variant {text!r}: write it as 'name: words', as in 'sata: TMPDIR=/data cpus=0-3'")
    words: list[tuple[str, str]] = []
    for word in shell_words(rest, f"variant {name.strip()}"):
        key, equals, value = word.partition("=")
        if not equals:
            raise UsageError(
                f"variant {name.strip()}: {word!r} has no '='; known are NAME=VALUE, {', '.join((*WORDS, *KINDS))}"
            )
        words.append((key, value))
    return make_variant(name.strip(), words, command, cwd)


def make_variant(name: str, words: Sequence[tuple[str, str]], command: str, cwd: str) -> CommandVariant:
    """From its name and its words, each with its value. Raises UsageError in one line."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"variant {name!r}: its name is 1 to 32 letters, digits or . + - _")
    context = f"variant {name}"
    env: dict[str, str] = {}
    own: dict[str, str] = {}
    settings: list[Action] = []
    for key, value in words:
        if key == "env":
            key, equals, value = value.partition("=")
            if not equals:
                raise UsageError(f"{context}: write env=NAME=VALUE")
        elif key in WORDS:
            if key in own:
                raise UsageError(f"{context}: {key}= is given twice")
            own[key] = value
            continue
        elif key.startswith(KINDS):
            if key in own:
                raise UsageError(f"{context}: {key}= is given twice")
            own[key] = value
            settings.append(setting_change(key, value, context))
            continue
        elif key.upper() != key:
            raise UsageError(
                f"{context}: {key}= is not one of {', '.join((*WORDS, *KINDS))}; "
                f"a variable in small letters is env={key}=VALUE"
            )
        if not _VARIABLE.fullmatch(key) or "\0" in value:
            raise UsageError(f"{context}: {key!r} is not a variable's name, or its value holds a zero byte")
        if key in env:
            raise UsageError(f"{context}: {key}= is given twice")
        env[key] = value
    directory = os.path.join(cwd, own["cwd"]) if "cwd" in own else cwd  # noqa: PTH118 (as text)
    if not os.path.isdir(directory):  # noqa: PTH112
        raise UsageError(f"{context}: cwd={directory}: no such directory")
    argv = (*shell_words(own.get("wrap", ""), context), *shell_words(own.get("cmd", command), context))
    if not shell_words(own.get("cmd", command), context):
        raise UsageError(f"{context}: no command; give --cmd or cmd=")
    check_startable(argv, env, directory, context)
    return CommandVariant(
        id=name,
        argv=argv,
        cwd=directory,
        env=env,
        cpus=_parse_usable_cpus(own["cpus"], context) if "cpus" in own else (),
        node=_parse_memory_node(own["node"], context) if "node" in own else None,
        nice=_parse_allowed_nice(own["nice"], context) if "nice" in own else 0,
        ionice=_parse_class_and_level(own["ionice"], context) if "ionice" in own else (),
        limits={name: parse_limit(name, own[name], context) for name in LIMITS if name in own},
        settings=tuple(settings),
        own=own | env,
    )


def shell_words(text: str, context: str) -> tuple[str, ...]:
    """Like a shell would; a word that only a shell understands is refused. Raises UsageError."""
    if "\0" in text:
        raise UsageError(f"{context}: {text!r} holds a zero byte")
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{context}: {text!r} cannot be split into words: {error}") from None
    if shell_word := next((word for word in words if word in _SHELL), None):
        raise UsageError(f"{context}: {shell_word!r} needs a shell, and hostdx uses none: write sh -c '...'")
    return words


def check_startable(argv: Sequence[str], env: Mapping[str, str], cwd: str, context: str) -> None:
    """Raises UsageError unless its first word is found there."""
    path = env.get("PATH", os.environ.get("PATH", os.defpath))
    first = os.path.join(cwd, argv[0]) if "/" in argv[0] else argv[0]  # noqa: PTH118 (as text)
    if not argv[0] or shutil.which(first, path=path) is None:
        raise UsageError(
            f"{context}: {argv[0] or 'an empty word'}: no such command, or it may not be executed"
        )


def _parse_usable_cpus(text: str, context: str) -> tuple[int, ...]:
    wanted = parse_cpu_list(text)
    if not wanted:
        raise UsageError(f"{context}: cpus={text}: write CPU numbers as 0-3,8")
    if missing := sorted(wanted - os.sched_getaffinity(0)):
        raise UsageError(f"{context}: cpus={text}: CPU {missing[0]} is not there or may not be used")
    return tuple(sorted(wanted))


def _parse_memory_node(text: str, context: str) -> int:
    number = parse_unsigned(text)
    if number is None or not Path(f"/sys/devices/system/node/node{number}").is_dir():
        raise UsageError(f"{context}: node={text}: this host has no such memory node")
    return number


def _parse_allowed_nice(text: str, context: str) -> int:
    value = parse_signed(text)
    if value is None or not -20 <= value <= 19:
        raise UsageError(f"{context}: nice={text}: a number from -20 to 19")
    if value < 0 and os.geteuid() != 0:
        raise UsageError(f"{context}: nice={text}: below 0 needs root")
    return value


def _parse_class_and_level(text: str, context: str) -> tuple[int, ...]:
    name, _, level = text.partition(":")
    is_known = name in IONICE and (level in "01234567" if level else True) and len(level) <= 1
    if not is_known or (name == "idle" and level):
        raise UsageError(f"{context}: ionice={text}: idle, best-effort:0 to :7 or realtime:0 to :7")
    if name == "realtime" and os.geteuid() != 0:
        raise UsageError(f"{context}: ionice={text}: realtime needs root")
    return IONICE[name], int(level or (0 if name == "idle" else 4))
