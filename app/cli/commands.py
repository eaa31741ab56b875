"""The commands, each in a module of its own that is imported when it is called for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from hostdx.app import __version__
from hostdx.app.cli.lazy_group import LazyGroup
from hostdx.app.cli.look import appearance_options
from hostdx.app.feature import COMMANDS as EXTERNAL
from hostdx.app.feature import command_entries
from hostdx.app.terminal.failure import COULD_NOT, USAGE, Failure
from hostdx.app.terminal.output import print_result
from hostdx.probes.reading.other_package import entry_points_of, load_entry_point

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

# name -> (module, what its line in --help says); a command that does not work yet is not here
COMMANDS: dict[str, tuple[str, str]] = {
    "triage": (
        "hostdx.app.cli.telling.triage",
        "Check this host with every read-only rule, in about a second.",
    ),
    "rules": (
        "hostdx.app.cli.telling.rules",
        "List the read-only rules; explain what one reads, when it finds something, and why.",
    ),
    "capture": (
        "hostdx.app.cli.telling.capture",
        "Save what the rules read in a file, to check it on another host.",
    ),
    "scenarios": (
        "hostdx.app.cli.telling.scenarios",
        "List the scenarios: what can be run here, and what cannot and why.",
    ),
    "explain": (
        "hostdx.app.cli.telling.explain",
        "Explain what a scenario measures, how, and what it cannot tell.",
    ),
    "plan": ("hostdx.app.cli.measuring.plan", "Show what a run would do; changes nothing."),
    "run": ("hostdx.app.cli.measuring.run", "Run an experiment: measure, judge, record."),
    "attach": ("hostdx.app.cli.screen", "Follow a run that is under way."),
    "stop": ("hostdx.app.cli.screen", "Stop a run that is under way; its changes are undone."),
    "replay": ("hostdx.app.cli.screen", "Play a recording in the app."),
    "compare": (
        "hostdx.app.cli.recorded.compare",
        "Compare two sets of recordings: what differs, and how sure that is.",
    ),
    "report": ("hostdx.app.cli.recorded.report", "Make a report of a recording, for a ticket."),
    "baseline": ("hostdx.app.cli.recorded.baseline", "Keep recordings, to compare later runs with them."),
    "recordings": ("hostdx.app.cli.recorded.recordings", "List the recordings and the runs under way."),
    "rm": ("hostdx.app.cli.recorded.rm", "Delete recordings."),
    "pin": (
        "hostdx.app.cli.measuring.pin",
        "Run a command on dedicated cores (on one NUMA node if possible).",
    ),
    "undo": ("hostdx.app.cli.telling.undo", "Undo what a killed run left behind."),
    "completion": ("hostdx.app.cli.telling.completion", "Print the completion script for bash, zsh or fish."),
    "man": ("hostdx.app.cli.telling.man", "Print the manual page."),
    "pulse": ("hostdx.app.cli.pulse", ""),
    "places": ("hostdx.app.cli.places", ""),
}
NEED_THE_APP = frozenset({"attach", "replay"})
FOR_THE_SCREEN = frozenset({"pulse", "places"})  # what it asks a child for; nobody types them


MIN_SIMILARITY = 0.7  # below it a name is another word: `nosuch` was taken for `iosched`


def core_and_feature_commands() -> dict[str, tuple[str, str]]:
    """Return the core's commands and those of our features, in the order of `--help`."""
    entries = command_entries()
    ordered: dict[str, tuple[str, str]] = {}
    for name, command in COMMANDS.items():
        ordered[name] = command
        ordered |= {
            other: (entry.target, entry.help) for other, entry in entries.items() if entry.after == name
        }
    return ordered


class RootCommands(LazyGroup):
    """The core's commands, our features', then those of other packages."""

    @property
    def command_modules(self) -> dict[str, tuple[str, str]]:  # type: ignore[override]
        return core_and_feature_commands()

    def external_commands(self) -> dict[str, EntryPoint]:
        own = self.command_modules
        return {entry.name: entry for entry in entry_points_of(EXTERNAL) if entry.name not in own}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.command_modules, *sorted(self.external_commands())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Raises Failure where another package's command cannot be loaded."""
        if cmd_name in self.command_modules or (entry := self.external_commands().get(cmd_name)) is None:
            return super().get_command(ctx, cmd_name)
        try:
            command = load_entry_point(entry)
        except Exception as error:  # another package's module raises what it likes
            raise Failure(
                f"{cmd_name}: cannot be loaded: {type(error).__name__}: {error}", COULD_NOT
            ) from None
        if not isinstance(command, click.Command):
            raise Failure(f"{cmd_name}: {entry.value} is no click command", COULD_NOT)
        return command

    def help_lines(self) -> list[tuple[str, str]]:
        lines = super().help_lines()
        for name, entry in sorted(self.external_commands().items()):
            try:
                command = load_entry_point(entry)
                lines.append((name, cast("click.Command", command).get_short_help_str(400)))
            except Exception as error:
                lines.append((name, f"cannot be loaded: {type(error).__name__}: {error}"))
        return lines

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        own = self.command_modules  # other packages are asked only for a name that is not ours
        if (
            args[0] not in own
            and not args[0].startswith("-")
            and args[0] not in (names := self.list_commands(ctx))
        ):
            from difflib import get_close_matches  # 3 ms of a start

            from hostdx.scenarios.contract import registry

            suggestions = {name: name for name in names} | {
                name: f"run {name}" for name in registry.scenario_names()
            }
            near = get_close_matches(args[0], suggestions, n=1, cutoff=MIN_SIMILARITY)
            instead = (
                f"did you mean `hostdx {suggestions[near[0]]}`?"
                if near
                else "`hostdx --help` lists the commands"
            )
            raise Failure(f"{args[0]}: no such command; {instead}", USAGE)
        return super().resolve_command(ctx, args)


def _pass_look_options(ctx: click.Context, command: str, **app_options: object) -> None:
    """What was said of the app's look before a command that opens it. Raises UsageError where no app is opened."""
    set_options = {name: value for name, value in app_options.items() if value}
    if set_options and command not in NEED_THE_APP:
        raise click.UsageError(
            f"--ascii, --no-mouse and --theme are the app's, and `{command}` does not open it"
        )
    ctx.default_map = {command: set_options}


def _print_version(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        print_result(f"hostdx {__version__}")
        ctx.exit()


@click.command(
    cls=RootCommands,
    params=appearance_options(),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Show the version; with --json also Python and where the code lies.",
)
@click.pass_context
def hostdx(ctx: click.Context, /, **look: object) -> int | None:
    """Finds out why this host is slower than it should be, and proves it. Without a command: the app."""
    if ctx.invoked_subcommand is not None:
        _pass_look_options(ctx, ctx.invoked_subcommand, **look)
        return None
    from hostdx.app.cli.screen import open_screen

    return open_screen("home", None, look)
